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
        weights: of the rows' arcs; their ends in place of none.
        has_in_edges: whether in-edges of a directed graph are there, on all ranks.
    """

    rows: GraphOnGpu
    weights: Any
    has_in_edges: bool


def _arcs(graph: Graph, group: Group, inward: bool, weight: np.dtype | None) -> tuple[Any, Any, Any]:
    """The rows of this rank's vertices on its GPU, to be kept with the graph. All ranks call it.

    Args:
        graph, group: the graph, and the ranks.
        inward: whether in-edges are meant; the graph has them.
        weight: the dtype of weights; None for none.

    Returns:
        Offsets for all vertices, shape (n + 1,), of which other ranks' rows are empty; ends; and weights, or the ends
        in place of none.

    Raises:
        MemoryLimitError: the GPU has no room.
    """
    part = own_part(graph, group, weighted=weight is not None, inward=inward)
    offsets = part.offsets.astype(csr.offset_dtype(graph.num_arcs), copy=False)
    with room("the arcs of a rank", _bytes_of(graph, group, inward, weight)):
        ends = copy_of(part.targets)
        weights = ends if part.weights is None else copy_of(part.weights.astype(weight, copy=False))
        return copy_of(offsets), ends, weights


def _bytes_of(graph: Graph, group: Group, inward: bool, weight: np.dtype | None) -> int:
    """The bytes of what `_arcs` gives."""
    _, arcs = own_arcs(graph, group, inward=inward)
    of_arc = 4 + (0 if weight is None else weight.itemsize)
    return np.dtype(csr.offset_dtype(graph.num_arcs)).itemsize * (graph.num_vertices + 1) + of_arc * arcs


def own_rows(
    name: str,
    graph: Graph,
    run: Execution,
    group: Group,
    beside: int,
    make: Callable[[], _Made],
    *,
    in_edges: bool = True,
    weight: np.dtype | None = None,
    more: int = 0,
) -> tuple[OwnRows, _Made]:
    """The rows of this rank's vertices, and what the run needs beside them. All ranks call it.

    In-edges are there if a directed graph has them on all ranks, and all of these have room.

    Args:
        name: what runs, for messages.
        graph, run, group: the graph, the run, and the ranks.
        beside: the bytes that the run needs beside the rows.
        make: makes the arrays that it begins with.
        in_edges: whether in-edges are of use; they have no weights.
        weight: the dtype in which weights are needed, which holds all of them; None if they are not.
        more: the bytes beyond those beside the rows that the run may find that it needs, to be explained.

    Raises:
        MemoryLimitError: on all ranks, if one of them has no room.
    """
    gpu, limit = graph.gpu, run.memory_limit
    outward, inward = (group, False, weight), (group, True, None)
    there, in_there = gpu.has(_arcs, *outward), gpu.has(_arcs, *inward)
    least, of_in_edges = beside + _bytes_of(graph, *outward), 0
    needed = beside if there else least
    wanted = in_edges and graph.directed and graph.has_in_edges
    made, refused, has_in_edges = None, None, wanted
    try:
        check_limit(name, limit, least, where="on the GPU")
        with room(name, needed):
            made = make()
    except MemoryLimitError as error:
        refused = error
    if has_in_edges:
        of_in_edges = _bytes_of(graph, *inward)
        has_in_edges = (limit is None or least + of_in_edges <= limit) and (
            in_there or fits(needed + of_in_edges)
        )
    told = group.refuse_together(refused, _THERE * there + _IN_THERE * in_there + _HAS_ROOM * has_in_edges)
    assert made is not None
    has_in_edges = all(word & _HAS_ROOM for word in told)
    stop_if_explained(run, graph, needed + more + of_in_edges * (has_in_edges and not in_there))
    if not all(word & _THERE for word in told):
        _bring(graph, run, *outward)
    if has_in_edges and not all(word & _IN_THERE for word in told):
        try:
            _bring(graph, run, *inward)
        except MemoryLimitError:
            has_in_edges = False
    if in_edges and not has_in_edges:
        gpu.drop(_arcs, *inward)
        if wanted:
            run.explain("a rank has no in-edges, or no room for them on its GPU")
    run.begun = True
    *rows, weights = gpu.kept(_arcs, *outward)
    *in_rows, _ = gpu.kept(_arcs, *inward) if has_in_edges else (*rows, weights)
    return OwnRows(GraphOnGpu(*rows, *in_rows), weights, has_in_edges), made


def _bring(graph: Graph, run: Execution, group: Group, inward: bool, weight: np.dtype | None) -> None:
    """Keep `_arcs` on the GPUs of all ranks. Raises MemoryLimitError on all of them if one has no room."""
    refused, what = None, "in-edges" if inward else "arcs"
    how = group, inward, weight
    graph.gpu.drop(_arcs, *how)
    try:
        laid_out(run, f"brought the {what} of this rank to the GPU", graph, _arcs, *how)
    except MemoryLimitError as error:
        refused = error
    group.refuse_together(refused)
