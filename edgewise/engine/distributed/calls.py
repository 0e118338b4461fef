"""Whether all ranks make the same call: digests of what a run depends on, which they tell each other."""

import json
from typing import Any

import numpy as np

from edgewise.engine.distributed.checkpoint import Checkpoints, Digests, differing_parts, digest_of
from edgewise.engine.distributed.group import Group
from edgewise.engine.lowering.binding import Binding
from edgewise.engine.lowering.constants import Constants
from edgewise.errors import DistributedError, ProgramError
from edgewise.graph.attributes import ArcAttribute
from edgewise.graph.likeness import digest_of_array, digest_of_attribute, digest_of_graph
from edgewise.program.key import declared_text, program_text


def check_same_call(
    binding: Binding, what: Digests, limit: int | None, checkpoints: Checkpoints | None, group: Group
) -> None:
    """Refuse runs that differ between ranks in their values, their limit, or in whether they keep checkpoints.

    Args:
        binding: the program on its graph.
        what: digests of all that the state depends on, see `digests_of_run`.
        limit: the most supersteps, or None.
        checkpoints: where the state is kept, or None.
        group: the ranks.
    """
    name = binding.spec.name
    kept = checkpoints and (checkpoints.every, str(checkpoints.folder))
    own = what | {"max_supersteps": digest_of(limit), "checkpoint, or every": digest_of(kept)}
    text = json.dumps(own).encode()
    for rank, told in enumerate(group.everywhere(np.frombuffer(text, np.uint8))[0]):
        if told.tobytes() != text:
            try:
                differing = differing_parts(own, json.loads(told.tobytes()))
            except (ValueError, RecursionError):  # it is no run of a program
                differing = "call"
            raise DistributedError(
                f"{name}: rank {group.rank} has another {differing} than rank {rank}; "
                "expected the same call on all ranks, with the same values, max_supersteps, seed and checkpoint"
            )
    group.runs += 1
    if checkpoints and binding.spec.key is None:
        raise ProgramError(
            f"{name}: a checkpoint cannot tell whether the program is the same when it goes on, for it refers to "
            "something whose value cannot be told; declare it as ew.parameter"
        )


def digests_of_run(
    binding: Binding,
    message: np.dtype,
    parameters: dict[str, Any],
    given: dict[str, Any],
    constants: Constants,
) -> Digests:
    """Digests of what the state of a run depends on: all of the program, as far as it can be told, of the graph, and
    of what is given."""
    spec, graph = binding.spec, binding.graph
    values = Digests()
    for name in sorted(given):
        kind = "initial" if name in spec.vertex_fields else "edge"
        array = constants.arrays[kind, name]
        of_graph = isinstance(given[name], ArcAttribute)
        values[f"array for {name}"] = str(
            digest_of_attribute(graph, name, array) if of_graph else digest_of_array(array)
        )
    code = spec.key or program_text(spec)
    return {
        "program": digest_of(code, declared_text(spec), str(message)),
        "graph": digest_of(graph.num_vertices, graph.num_arcs, digest_of_graph(graph)),
        **{f"value of {name}": digest_of(value) for name, value in sorted(parameters.items())},
        **values,
    }
