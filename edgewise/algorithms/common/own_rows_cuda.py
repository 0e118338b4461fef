"""The arcs of a rank's vertices on its GPU, and their in-edges: of a graph that ranks with GPUs go over by ranges of
vertices."""

from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar

import numpy as np

from edgewise.algorithms.common.device_graph import GraphOnGpu, laid_out
from edgewise.algorithms.common.ranks import own_arcs, own_part
from edgewise.engine.distributed.group import Group
from edgewise.errors import MemoryLimitError
from edgewise.execution import Execution, check_limit, stop_if_explained
from edgewise.graph import Graph, csr
from edgewise.kernels.cuda.memory import copy_of, fits, room

_Made = TypeVar("_Made")
#: What ranks tell each other: whether rows are there, whether in-edges are, and whether there is room for in-edges.
_THERE, _IN_THERE, _HAS_ROOM = 1, 2, 4


class OwnRows(NamedTuple):
    """Rows of a rank's vertices on its GPU; other rows are empty.

    Attributes:
        rows: with the rows in place of in-edges that are not there.
        has_in_edges: whether in-edges of a directed graph are there, on all ranks.
    """

    rows: GraphOnGpu
    has_in_edges: bool


def rows_of_rank(graph: Graph, group: Group, inward: bool, weighted: bool) -> tuple[Any, Any, Any]:
    """The rows of this rank's vertices on its GPU, to be kept with the graph. All ranks call it.

    Args:
        graph, group: the graph, and the ranks.
        inward: whether in-edges are meant; the graph has them.
        weighted: whether with weights.

    Returns:
        Offsets for all vertices, shape (n + 1,), of which other ranks' rows are empty; ends; and weights, or the ends
        in place of none.

    Raises:
        MemoryLimitError: the GPU has no room.
    """
    part = own_part(graph, group, weighted=weighted, inward=inward)
    offsets = part.offsets.astype(csr.offset_dtype(graph.num_arcs), copy=False)
    with room("the arcs of a rank", row_bytes(graph, group, inward, weighted)):
        ends = copy_of(part.targets)
        return copy_of(offsets), ends, copy_of(part.weights) if weighted else ends


def row_bytes(graph: Graph, group: Group, inward: bool, weighted: bool) -> int:
    """The bytes of what `rows_of_rank` gives."""
    _, arcs = own_arcs(graph, group, inward=inward)
    of_arc = 4 + (np.dtype(graph.weight_dtype).itemsize if weighted else 0)
    return np.dtype(csr.offset_dtype(graph.num_arcs)).itemsize * (graph.num_vertices + 1) + of_arc * arcs


def own_rows(
    name: str, graph: Graph, run: Execution, group: Group, beside: int, make: Callable[[], _Made]
) -> tuple[OwnRows, _Made]:
    """The rows of this rank's vertices, and what the run needs beside them. All ranks call it.

    In-edges are there if a directed graph has them on all ranks, and all of these have room.

    Args:
        name: what runs, for messages.
        graph, run, group: the graph, the run, and the ranks.
        beside: the bytes that the run needs beside the rows.
        make: makes the arrays that it begins with.

    Raises:
        MemoryLimitError: on all ranks, if one of them has no room.
    """
    gpu, limit = graph.gpu, run.memory_limit
    there, in_there = (gpu.has(rows_of_rank, group, inward, False) for inward in (False, True))
    least, of_in_edges = beside + row_bytes(graph, group, False, False), 0
    needed = beside if there else least
    made, refused, has_in_edges = None, None, graph.directed and graph.has_in_edges
    try:
        check_limit(name, limit, least, where="on the GPU")
        with room(name, needed):
            made = make()
    except MemoryLimitError as error:
        refused = error
    if has_in_edges:
        of_in_edges = row_bytes(graph, group, True, False)
        has_in_edges = (limit is None or least + of_in_edges <= limit) and (
            in_there or fits(needed + of_in_edges)
        )
    told = group.refuse_together(refused, _THERE * there + _IN_THERE * in_there + _HAS_ROOM * has_in_edges)
    assert made is not None
    has_in_edges = all(word & _HAS_ROOM for word in told)
    stop_if_explained(run, graph, needed + of_in_edges * (has_in_edges and not in_there))
    if not all(word & _THERE for word in told):
        bring_rows(graph, run, group, False, False)
    if has_in_edges and not all(word & _IN_THERE for word in told):
        try:
            bring_rows(graph, run, group, True, False)
        except MemoryLimitError:
            has_in_edges = False
    if not has_in_edges:
        gpu.drop(rows_of_rank, group, True, False)
        if graph.directed and graph.has_in_edges:
            run.explain("a rank has no in-edges, or no room for them on its GPU")
    run.begun = True
    rows = gpu.kept(rows_of_rank, group, False, False)[:2]
    in_rows = gpu.kept(rows_of_rank, group, True, False)[:2] if has_in_edges else rows
    return OwnRows(GraphOnGpu(*rows, *in_rows), has_in_edges), made


def bring_rows(graph: Graph, run: Execution, group: Group, inward: bool, weighted: bool) -> None:
    """Keep `rows_of_rank` on the GPUs of all ranks. Raises MemoryLimitError on all of them if one has no room."""
    refused, what = None, "in-edges" if inward else "arcs"
    how = group, inward, weighted
    graph.gpu.drop(rows_of_rank, *how)
    try:
        laid_out(run, f"brought the {what} of this rank to the GPU", graph, rows_of_rank, *how)
    except MemoryLimitError as error:
        refused = error
    group.refuse_together(refused)
