"""Whether all ranks make the same call: a digest of what a run depends on, which they tell each other."""

from typing import Any

import numpy as np

from edgewise.engine.distributed.checkpoint import Checkpoints, digest_of
from edgewise.engine.distributed.group import Group
from edgewise.engine.lowering.binding import Binding
from edgewise.engine.lowering.constants import Constants
from edgewise.errors import DistributedError, ProgramError
from edgewise.graph.attributes import ArcAttribute
from edgewise.graph.likeness import digest_of_array, digest_of_attribute, digest_of_graph
from edgewise.program.key import program_text


def check_same_call(
    binding: Binding, what: str, limit: int | None, checkpoints: Checkpoints | None, group: Group
) -> None:
    """Refuse runs that differ between ranks in their values, their limit, or in whether they keep checkpoints.

    Args:
        binding: the program on its graph.
        what: a digest of all that the state depends on, see `digest_of_run`.
        limit: the most supersteps, or None.
        checkpoints: where the state is kept, or None.
        group: the ranks.
    """
    name = binding.spec.name
    own = digest_of(what, limit, checkpoints and (checkpoints.every, str(checkpoints.folder)))
    rank = group.differing(own.encode())
    if rank is not None:
        raise DistributedError(
            f"{name}: rank {group.rank} has another program, or other parameters, values or options than rank "
            f"{rank}; expected the same call on all ranks, with the same max_supersteps, seed and checkpoint"
        )
    if checkpoints and binding.spec.key is None:
        raise ProgramError(
            f"{name}: a checkpoint cannot tell whether the program is the same when it goes on, for it refers to "
            "something whose value cannot be told; declare it as ew.parameter"
        )


def digest_of_run(
    binding: Binding,
    message: np.dtype,
    parameters: dict[str, Any],
    given: dict[str, Any],
    constants: Constants,
) -> str:
    """A digest of what the state of a run depends on: all of the program, as far as it can be told, of the graph, and
    of what is given."""
    spec, graph = binding.spec, binding.graph
    values: list[Any] = []
    for name in sorted(given):
        kind = "initial" if name in spec.vertex_fields else "edge"
        array = constants.arrays[kind, name]
        of_graph = isinstance(given[name], ArcAttribute)
        values += name, digest_of_attribute(graph, name, array) if of_graph else digest_of_array(array)
    code = spec.key or program_text(spec)
    counts = graph.num_vertices, graph.num_arcs, str(message)
    return digest_of(code, sorted(parameters.items()), *counts, digest_of_graph(graph), *values)
