"""Which threads do which arcs on a GPU: what `edgewise.schedule.Schedule` may say of it."""

import functools
import weakref
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from edgewise.errors import ScheduleError
from edgewise.numeric import is_integer
from edgewise.text import shown


@dataclass(frozen=True)
class ThreadMapped:
    """One thread for each vertex, on a GPU."""


@dataclass(frozen=True)
class WarpMapped:
    """A warp of 32 lanes for each vertex, or a virtual warp of 2, 4, 8 or 16, on a GPU (Hong et al., PPoPP 2011).

    Attributes:
        lanes: the size of the virtual warp.
    """

    lanes: int = 32

    def __post_init__(self) -> None:
        if not isinstance(self.lanes, int) or self.lanes not in (2, 4, 8, 16, 32):
            raise ScheduleError(f"WarpMapped: lanes is {shown(self.lanes)}; expected 2, 4, 8, 16 or 32")


@dataclass(frozen=True)
class BlockMapped:
    """A block of 1024 threads for each vertex, on a GPU."""


@dataclass(frozen=True)
class Binned:
    """A lane, eight lanes, a warp or a block for each vertex, by its degree, on a GPU (Merrill et al., PPoPP 2012)."""


@dataclass(frozen=True)
class EdgeBased:
    """Edges of active vertices are listed and handed out to threads one by one (EP), on a GPU.

    It takes 4 to 16 bytes more for each edge. Where vertices gather, messages are combined by atomic operations, so
    programs with float sums or a combiner of their own are refused.

    Reference: Raval et al., sections II.B and IV.D.

    Attributes:
        chunking: which edges are listed together, by one atomic operation: those of the 32 vertices of a warp (True);
            those of a "vertex", by one thread, as in the paper; or none (False).
    """

    chunking: bool | Literal["vertex"] = True

    def __post_init__(self) -> None:
        by_vertex = isinstance(self.chunking, str) and self.chunking == "vertex"
        if not (isinstance(self.chunking, bool) or by_vertex):
            raise ScheduleError(
                f"EdgeBased: chunking is {shown(self.chunking)}; expected True, False or 'vertex'"
            )


@dataclass(frozen=True)
class WorkloadDecomposition:
    """Equal blocks of edges of the active vertices, found by a scan of their degrees (WD), on a GPU.

    Reference: Raval et al., section III.A.
    """


@dataclass(frozen=True)
class MergePath:
    """Equal blocks of edges and vertices together, on a GPU (Merrill and Garland, SC 2016)."""


@dataclass(frozen=True)
class NodeSplitting:
    """Vertices with many edges are split into children with few, and each child has a thread, on a GPU (NS).

    Programs see nothing of it: ids, degrees and fields are those of the graph.

    Reference: Raval et al., section III.B.

    Attributes:
        max_degree: the most edges that a child has, or "auto": of `bins` ranges of degrees of equal width, the upper
            end of the range with most vertices.
        bins: the number of ranges, 1 to 1,000,000.
    """

    max_degree: int | Literal["auto"] = "auto"
    bins: int = 10

    def __post_init__(self) -> None:
        _check_bound(self, self.max_degree, self.bins)


@dataclass(frozen=True)
class HierarchicalProcessing:
    """A thread for each vertex, which does at most `max_degree` of its edges in a sub-iteration (HP), on a GPU.

    Edges left after the last sub-iteration, and lists of fewer vertices than a block has threads (1024), go to workload
    decomposition.

    Reference: Raval et al., section III.C.

    Attributes:
        max_degree, bins: the most edges of a vertex in a sub-iteration; chosen as for `NodeSplitting`.
        depth: the number of sub-iterations, at least 0, or None for as many as it takes.
    """

    max_degree: int | Literal["auto"] = "auto"
    bins: int = 10
    depth: int | None = None

    def __post_init__(self) -> None:
        _check_bound(self, self.max_degree, self.bins)
        if self.depth is not None and not is_whole(self.depth, 0):
            raise ScheduleError(
                f"HierarchicalProcessing: depth is {shown(self.depth)}; expected None or an integer of at least 0"
            )


@dataclass(frozen=True, eq=False, repr=False)
class Replicated:
    """A thread for each slot of a table, on a GPU: a vertex has several, each with some of its edges.

    Approximate graphs have such a balance (`edgewise.approx.coalesce`): threads that lie side by side then reach
    vertices that lie side by side. Where vertices gather, one thread has each. It belongs to one graph.

    Reference: Singh and Nasre, ICPP 2020, section 2.3.

    Attributes:
        graph: the graph, which is not kept alive.
        vertex: int32, shape (s,): the vertex of each slot, -1 for none.
        first, end: integers, shape (s,): which arcs a slot has, first to end - 1. Each arc of the graph is in one slot
            of its vertex.
    """

    graph: Any
    vertex: np.ndarray
    first: np.ndarray
    end: np.ndarray

    def __post_init__(self) -> None:
        _check_slots(self.graph, self.vertex, self.first, self.end)
        object.__setattr__(self, "graph", weakref.ref(self.graph.itself))

    def __repr__(self) -> str:
        return f"Replicated({len(self.vertex):,} slots)"

    def is_of(self, graph: Any) -> bool:
        """Whether it is that of a graph."""
        return self.graph() is graph.itself


def _check_slots(graph: Any, vertex: Any, first: Any, end: Any) -> None:
    """Refuse slots that have not each arc of a graph once, at its vertex."""
    if not all(hasattr(graph, name) for name in ("itself", "offsets", "num_arcs")):
        raise ScheduleError(f"Replicated: graph is {shown(graph)}; expected an edgewise.Graph")
    for name, values in (("vertex", vertex), ("first", first), ("end", end)):
        is_right = isinstance(values, np.ndarray) and values.dtype.kind == "i" and values.ndim == 1
        if not is_right or values.shape != vertex.shape:
            raise ScheduleError(f"Replicated: {name} is {shown(values)}; expected an integer for each slot")
    n, used = graph.num_vertices, np.flatnonzero(first < end)
    used = used[np.argsort(first[used], kind="stable")]
    begins, ends, of = first[used], end[used], vertex[used]
    tiles = np.array_equal(np.append(begins, graph.num_arcs), np.append(0, ends))
    if (first > end).any() or not tiles or (len(of) and not 0 <= of.min() <= of.max() < n):
        raise ScheduleError("Replicated: the slots have some arc twice or not at all; expected each once")
    if (begins < graph.offsets[of]).any() or (ends > graph.offsets[of + 1]).any():
        raise ScheduleError("Replicated: a slot has arcs of another vertex; expected those of its own")
    if len(vertex) and not -1 <= vertex.min() <= vertex.max() < n:
        raise ScheduleError(f"Replicated: a slot has no vertex of the graph; expected -1 to {n - 1:,}")


@dataclass(frozen=True, eq=False, repr=False)
class Clustered:
    """Clusters of up to 2048 vertices, each of which a block keeps in shared memory until nothing changes, on a GPU.

    For searches, shortest paths with weights of at least 0, and asynchronous programs that combine by MIN or MAX, with
    no limit of supersteps and none of their numbers read, as there are none. It pays where few arcs lead from one
    cluster to another, as on roads and lattices, and is chosen there by itself from the second run on. The whole graph
    has to lie on the GPU.

    It takes 32 bytes for each vertex, and four weights; for programs 32 for each vertex and 4 for each arc. Growing
    clusters takes about 100 for each vertex, and 8 for each arc.

    Attributes:
        begins: None to grow clusters, once for a graph. Or parts of the graph whose vertices lie side by side: the
            first vertex of each, ascending, and the end of the last one, shape (parts + 1,): those of an approximate
            graph (`edgewise.approx.form_clusters`), or of a graph in the order of a partition. Parts side by side that
            are small share a cluster, larger ones are cut, and vertices in none are taken in their order.

    Raises:
        ScheduleError: `begins` are not ascending integers of at least 0.
    """

    begins: Any = None

    def __post_init__(self) -> None:
        begins = self.begins
        if begins is not None:
            try:
                begins = np.array(begins)
            except ValueError:  # lists of different lengths
                begins = np.array(None)
            if begins.ndim != 1 or (begins.dtype.kind not in "iu" and len(begins) > 0):
                raise ScheduleError(f"Clustered: begins is {shown(self.begins)}; expected integers, or None")
            if (begins < 0).any() or (begins[1:] < begins[:-1]).any() or begins.max(initial=0) >= 2**31:
                raise ScheduleError(
                    "Clustered: begins are not ascending from at least 0 to at most 2**31 - 1; expected the first "
                    "vertex of each part, and the end of the last one"
                )
            begins = begins.astype(np.int64)
            begins.setflags(write=False)
        object.__setattr__(self, "begins", begins)

    def __repr__(self) -> str:
        return "Clustered()" if self.begins is None else f"Clustered({max(0, len(self.begins) - 1):,} parts)"

    def __eq__(self, other: object) -> bool:
        return self._key == other._key if isinstance(other, Clustered) else NotImplemented

    def __hash__(self) -> int:
        return hash(self._key)

    @functools.cached_property
    def _key(self) -> bytes | None:
        """What tells this from others."""
        return None if self.begins is None else self.begins.tobytes()


#: What is told where clusters are asked for and cannot be.
FOR_CLUSTERED = (
    "Clustered() is for ew.bfs, ew.sssp with weights of at least 0, ew.connected_components, and programs that say "
    "asynchronous = True, combine numbers by MIN or MAX, have no aggregates, proceed or resume, write no edge fields "
    "and read no superstep, on a GPU, whose blocks then keep clusters of vertices in shared memory"
)
#: The most ranges of degrees.
_MOST_BINS = 1_000_000


def is_whole(value: object, least: int) -> bool:
    return is_integer(value) and bool(value >= least)  # type: ignore[operator]


def _check_bound(balance: object, max_degree: object, bins: object) -> None:
    """Refuse values that are not a bound on degrees."""
    if is_whole(bins, _MOST_BINS + 1):
        raise ScheduleError(
            f"{type(balance).__name__}: bins is {shown(bins)}; expected at most {_MOST_BINS:,}"
        )
    for name, value in (("max_degree", max_degree), ("bins", bins)):
        if not is_whole(value, 1) and not (
            name == "max_degree" and isinstance(value, str) and value == "auto"
        ):
            kind = type(balance).__name__
            raise ScheduleError(f"{kind}: {name} is {shown(value)}; expected an integer of at least 1")


View = (
    ThreadMapped
    | WarpMapped
    | BlockMapped
    | Binned
    | EdgeBased
    | WorkloadDecomposition
    | MergePath
    | NodeSplitting
    | HierarchicalProcessing
    | Replicated
)
Balance = View | Clustered | Literal["auto"]
