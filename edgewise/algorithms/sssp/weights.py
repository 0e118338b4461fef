"""What follows from the weights of a graph: whether they have signs, the range of distances, the width of buckets."""

import numpy as np

from edgewise.algorithms.common.lengths import weight_range
from edgewise.algorithms.sssp.path_tree import mark_targets, named_sources
from edgewise.errors import GraphError
from edgewise.graph import Graph
from edgewise.kernels.cpu.team import run_alone
from edgewise.text import shown

#: The narrowest bucket: its reciprocal is finite.
LEAST_DELTA = float(np.finfo(np.float64).tiny)


def is_signed(graph: Graph) -> bool:
    """Whether there are negative weights."""
    return bool(weight_range(graph)[0] < 0)


def may_overflow(graph: Graph, dtype: np.dtype) -> bool:
    """Whether a path can be longer than floats of this dtype hold."""
    heaviest = max(map(abs, weight_range(graph)))
    return dtype.kind == "f" and heaviest * graph.num_vertices > float(np.finfo(dtype).max)


def may_have_orphans(graph: Graph, dtype: np.dtype) -> bool:
    """Whether arcs can join vertices of equal distance."""
    return dtype.kind == "f" or weight_range(graph)[0] == 0


def narrow_dtype(graph: Graph) -> np.dtype | None:
    """The narrowest dtype that holds all weights, for kernels that take no negative ones; None without weights."""
    if graph.weight_dtype is None or graph.weight_dtype.kind == "f":
        return graph.weight_dtype
    heaviest = weight_range(graph)[1]
    fitting = (np.dtype(each) for each in (np.uint8, np.uint16) if heaviest <= np.iinfo(each).max)
    return next(fitting, graph.weight_dtype)


def refuse_overflow(graph: Graph, sources: np.ndarray, distance: np.ndarray) -> None:
    """Refuse distances that left the range of floats: those that are infinite, though the vertex can be reached.

    Raises:
        GraphError: naming a vertex that has no finite distance, though it can be reached.
    """
    dtype = np.dtype(distance.dtype)
    if not may_overflow(graph, dtype):
        return
    lost = distance == -np.inf
    run_alone(mark_targets, graph.offsets, graph.targets, distance != np.inf, lost)
    lost &= ~np.isfinite(distance)
    if lost.any():
        (v,) = graph.ids_of(np.array([np.argmax(lost)])).tolist()
        wider = ", or convert them with .astype(np.float64)" if dtype.itemsize == 4 else ""
        raise GraphError(
            f"sssp: vertex {shown(v)} can be reached from {named_sources(graph, sources)}, but its distance, or one on "
            f"the way, is more than {dtype} holds; scale the weights down{wider}"
        )


def auto_delta(graph: Graph) -> float:
    """A width that was fast on graphs of every kind.

    The fewer neighbours vertices have, the fewer vertices a bucket of a given width holds, and the less work a wider
    bucket wastes: both grow with about the square of the degree.
    """
    if not graph.weighted or graph.num_arcs == 0:
        return 1.0
    with np.errstate(over="ignore"):
        mean = float(graph.stored.weights[:: max(1, graph.num_arcs // 4096)].mean(dtype=np.float64))
    degree = graph.num_arcs / graph.num_vertices
    return max(mean * min(8.0, (6.4 / degree) ** 2), LEAST_DELTA) if mean > 0 else 1.0
