"""What a rank reads of the graph: of a file that has it only the rows of its own vertices, else all of it."""

from typing import NamedTuple

import numpy as np

from edgewise.engine.cpu.arguments import SizedArcs
from edgewise.engine.distributed.group import Group
from edgewise.engine.distributed.partition import Ranges, by_arcs
from edgewise.engine.lowering.binding import Binding, starts_as_weights
from edgewise.errors import DistributedError
from edgewise.graph import Graph
from edgewise.graph.file_part import FilePart
from edgewise.kernels.cpu.launch import sealed
from edgewise.program.declarations import STATE_ARRAYS


class OwnArrays(NamedTuple):
    """Arrays of the graph with the values of a rank's own rows, for `constant_arrays`; degrees are those of all
    vertices, or None if the program does not read them."""

    weights: np.ndarray | None
    in_weights: np.ndarray | None
    out_degree: np.ndarray | None
    in_degree: np.ndarray | None


def reads_part(binding: Binding, group: Group, pulls: bool) -> bool:
    """Whether a rank reads its own rows alone. It cannot if the program keeps values of edges, or finds edges by their
    places, nor if in-edges have to be made."""
    spec, graph = binding.spec, binding.graph
    if group.size == 1 or spec.edge_writes or spec.state_reads & set(spec.edge_fields):
        return False
    if pulls and (spec.needs_arc_index or (spec.keeps_messages and not graph.directed)):
        return False
    return graph.part(slice(0, 0), inward=pulls) is not None and _in_degree_is_there(binding)


def _in_degree_is_there(binding: Binding) -> bool:
    """Whether degrees that a program reads follow from rows in the file."""
    spec, graph = binding.spec, binding.graph
    return "in_degree" not in spec.state_reads or graph.part(slice(0, 0), inward=True) is not None


def ranges_of(graph: Graph, group: Group, pulls: bool, in_part: bool) -> Ranges:
    """The vertices of all ranks, of about equally many arcs, those that they go over."""
    if in_part:
        return by_arcs(group.rank, group.size, graph.unchecked_offsets(inward=pulls))
    return by_arcs(group.rank, group.size, graph.in_offsets if pulls else graph.offsets)


def all_rows(binding: Binding, pulls: bool) -> SizedArcs:
    """The rows of all vertices."""
    graph = binding.graph
    in_offsets, in_sources, in_arcs = graph.offsets, graph.targets, graph.offsets
    if pulls:
        in_offsets, in_sources = graph.in_offsets, graph.in_sources
        in_arcs = graph.in_arcs if binding.spec.needs_arc_index else in_arcs
    return SizedArcs(
        graph.num_vertices, graph.num_arcs, graph.offsets, graph.targets, in_offsets, in_sources, in_arcs
    )


def own_rows(binding: Binding, group: Group, ranges: Ranges, pulls: bool) -> tuple[SizedArcs, OwnArrays]:
    """The rows of this rank's vertices, in arrays with room for those of all vertices, as `all_rows` has them.

    All ranks call it. What a rank that reads all rows would find wrong in them is found by one of the ranks, and all of
    them refuse the file.

    Raises:
        ParseError: the file is damaged.
        FileChangedError: the file was written to.
        DistributedError: ranks have files of other contents.
    """
    spec, graph, own = binding.spec, binding.graph, ranges.own
    weighs = any(starts_as_weights(binding, name, {}) for name in spec.edge_fields)
    rows, out = checked_part(graph, group, ranges, inward=pulls, weights=weighs), graph.part(own)
    assert out is not None
    offsets, ends, weights = out.offsets, rows.targets, rows.weights if weighs else None
    degrees = {name: _degrees(binding, group, own, name) for name in STATE_ARRAYS}
    arcs = SizedArcs(graph.num_vertices, graph.num_arcs, offsets, ends, rows.offsets, ends, offsets)
    return arcs, OwnArrays(weights, weights, **degrees)


def checked_part(
    graph: Graph, group: Group, ranges: Ranges, *, inward: bool = False, weights: bool = False
) -> FilePart:
    """The rows of this rank's vertices in the graph's file, or their in-edges, checked; see `own_rows`.

    Args:
        graph, group, ranges: the graph, the ranks and their vertices.
        inward: whether in-edges are meant.
        weights: whether weights are used.
    """
    part = graph.part(ranges.own, inward=inward)
    assert part is not None
    _ = part.targets, part.weights if weights else None
    told = np.concatenate([np.array(ranges.begins, np.uint64), part.sums])
    seen = [each.view(np.uint64) for each in group.everywhere(told.view(np.uint8))[0]]
    begins = len(ranges.begins)
    for rank, other in enumerate(seen):
        if len(other) != len(told) or (other[:begins] != told[:begins]).any():
            raise DistributedError(
                f"rank {group.rank} and rank {rank} find other offsets in the graph's file; expected the same content "
                "for all ranks: copy the file again"
            )
    part.join(np.array([each[begins:] for each in seen]).sum(axis=0, dtype=np.uint64))
    return part


def _degrees(binding: Binding, group: Group, own: slice, name: str) -> np.ndarray | None:
    """The degrees of all vertices, each told by its rank, if the program reads them."""
    if name not in binding.spec.state_reads:
        return None
    part = binding.graph.part(own, inward=name == "in_degree")
    assert part is not None
    degrees = np.diff(part.offsets[own.start : own.stop + 1]).astype(np.int32)
    parts = group.everywhere(degrees.view(np.uint8))[0]
    return sealed(np.concatenate([each.view(np.int32) for each in parts]))
