"""Whether all ranks make the same call: a digest of what a run depends on, which they tell each other."""

from typing import Any

import numpy as np

from edgewise.engine.distributed.checkpoint import Checkpoints, digest_of
from edgewise.engine.distributed.group import Group
from edgewise.engine.lowering.binding import Binding
from edgewise.engine.lowering.constants import Constants
from edgewise.errors import DistributedError, ProgramError
from edgewise.graph.attributes import ArcAttribute
from edgewise.graph.likeness import digest_in_file, digest_in_memory

#: Rows and arcs of a graph that a checkpoint's digest is made of.
_LOOKED_AT = 1 << 16


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
    """A digest of what the state of a run depends on; of arcs and attributes of a large graph, of some of them."""
    spec, graph = binding.spec, binding.graph
    some = np.linspace(0, max(0, graph.num_arcs - 1), min(graph.num_arcs, _LOOKED_AT)).astype(np.int64)
    values: list[Any] = []
    for name in sorted(given):
        kind = "initial" if name in spec.vertex_fields else "edge"
        of_graph = isinstance(given[name], ArcAttribute)
        values += name, constants.arrays[kind, name][some] if of_graph else constants.arrays[kind, name]
    code = spec.key or f"{spec.program.__module__}.{spec.program.__qualname__}"
    counts = graph.num_vertices, graph.num_arcs, str(message)
    content = digest_in_file(graph) or digest_in_memory(graph, _LOOKED_AT)
    return digest_of(code, sorted(parameters.items()), *counts, content, *values)
