"""Schedules: how a run is carried out, never what it computes."""

import functools
import os
import weakref
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np

from edgewise.errors import ScheduleError
from edgewise.layout.bucket_sort import LIMIT, SCALES
from edgewise.numeric import is_integer
from edgewise.text import shown


@dataclass(frozen=True)
class Push:
    """Deliver along the out-edges of active vertices, through the combiner (atomically where threads meet)."""


@dataclass(frozen=True)
class Pull:
    """Deliver by letting each vertex gather over its in-edges, in their order and without atomics."""


@dataclass(frozen=True, repr=False)
class Buffered:
    """Deliver through a message buffer: each in-edge has a slot of its own, those of a vertex lie together.

    There are no atomic operations, and every combiner works, also one that needs all messages at once
    (`edgewise.program.declare.MESSAGES`, which is delivered only so). For each edge it takes a slot and 4 bytes that
    name it, 12 on a GPU (8 and 20 from 2**31 edges on).

    Reference: Zhong et al. (2016), section 3.2.4.

    Attributes:
        send: who writes to slots on a GPU in a superstep in which more than a fifth of the edges send: "slots", a
            thread for each slot, so that writes lie side by side; or "edges", a thread for each edge as in the paper,
            so that reads do. Otherwise the edges of active vertices are shared out as `Schedule.balance` says.

    Raises:
        ScheduleError: `send` is neither.
    """

    send: Literal["slots", "edges"] = "slots"

    def __post_init__(self) -> None:
        if self.send not in ("slots", "edges"):
            raise ScheduleError(f"Buffered: send is {shown(self.send)}; expected 'slots' or 'edges'")

    def __repr__(self) -> str:
        return "Buffered()" if self.send == "slots" else f"Buffered(send={self.send!r})"


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
        chunking: whether the edges of a vertex are listed together, by one atomic operation, rather than one by one.
    """

    chunking: bool = True

    def __post_init__(self) -> None:
        if not isinstance(self.chunking, bool):
            raise ScheduleError(f"EdgeBased: chunking is {shown(self.chunking)}; expected True or False")


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
        if self.depth is not None and not _is_whole(self.depth, 0):
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


def _is_whole(value: object, least: int) -> bool:
    return is_integer(value) and bool(value >= least)  # type: ignore[operator]


def _check_bound(balance: object, max_degree: object, bins: object) -> None:
    """Refuse values that are not a bound on degrees."""
    if _is_whole(bins, _MOST_BINS + 1):
        raise ScheduleError(
            f"{type(balance).__name__}: bins is {shown(bins)}; expected at most {_MOST_BINS:,}"
        )
    for name, value in (("max_degree", max_degree), ("bins", bins)):
        if not _is_whole(value, 1) and not (
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


@dataclass(frozen=True)
class Layout:
    """The order of in-edges, or of their slots in a message buffer, on a GPU: rows are sorted by in-degree, and groups
    of rows lie column by column. A thread gathers over each row.

    Reference: Zhong et al. (2016), sections 4.1 and 4.2.

    Attributes:
        sort: by buckets, of equal ratio ("logarithmic") or of equal width ("linear", as in the paper); "exact"; or None
            to leave vertices in their order. All are stable: vertices of one bucket stay in their order.
        num_buckets: the number of buckets of these two sorts, 1 to 1,000,000.
        threshold: vertices are left in their order if the largest and the smallest in-degree differ by less than this.
        group_size: the rows in a group, at least 1. A warp has 32; 1 leaves the places of a row together (row-major).
        split: whether rows of more than 48 edges lie apart, for a warp each, from 2049 edges for a block each.
        made_on: "gpu" or "cpu", where the layout is computed.
    """

    sort: Literal["logarithmic", "linear", "exact"] | None = "logarithmic"
    num_buckets: int = 1000
    threshold: int = 8
    group_size: int = 32
    split: bool = True
    made_on: Literal["gpu", "cpu"] = "gpu"

    def __post_init__(self) -> None:
        for name, expected in (
            ("sort", (None, *SCALES)),
            ("split", (True, False)),
            ("made_on", ("gpu", "cpu")),
        ):
            value = getattr(self, name)
            if not any(value is each or (isinstance(value, str) and value == each) for each in expected):
                possible = " or ".join(map(repr, expected))
                raise ScheduleError(f"Layout: {name} is {shown(value)}; expected {possible}")
        for name, least, most in (
            ("num_buckets", 1, LIMIT),
            ("threshold", 1, 2**32),
            ("group_size", 1, 2**20),
        ):
            value = getattr(self, name)
            if not _is_whole(value, least) or value > most:
                raise ScheduleError(
                    f"Layout: {name} is {shown(value)}; expected an integer from {least} to {most:,}"
                )


@dataclass(frozen=True, eq=False, repr=False)
class Layered:
    """The rows of a graph in the order of its breadth-first layers from some roots: those of a layer, and those of the
    next one, lie side by side. Made once, kept with the graph, and in a file if one is named.

    A search from the roots themselves then reads its levels from the layers, and searches nothing; other searches, and
    programs, run over the rows in that order. Shortest paths sweep over the layers on a GPU: consecutive layers are
    joined to lists, and the first list in which a distance has fallen is swept until none falls any more.

    Reference: Zhu et al. (2019), sections 3 and 4.

    Attributes:
        roots: the user's id of a vertex, or a sequence of them, which is copied.
        file: the name of a file: it is read if it is there, and must then be that of this graph, with these weights,
            and of these roots; else it is written. "beside" stands for one beside the file of a graph that was loaded
            from one; it is made anew if the graph has changed, or the file is damaged. None for no file.
        min_edges: the fewest edges of a list but the last, at least 1; None for as many as threads run at a time on the
            GPU (equation 1).
    """

    roots: Any
    file: str | os.PathLike[str] | None = None
    min_edges: int | None = None

    def __post_init__(self) -> None:
        roots = self.roots.to_numpy() if hasattr(self.roots, "to_numpy") else self.roots
        if isinstance(roots, np.ndarray):
            roots = roots.copy()
            roots.flags.writeable = False
        object.__setattr__(self, "roots", tuple(roots) if isinstance(roots, list | range) else roots)
        if not (self.file is None or isinstance(self.file, str | os.PathLike)) or self.file == "":
            raise ScheduleError(
                f"Layered: file is {shown(self.file)}; expected the name of a file, 'beside' or None"
            )
        if self.min_edges is not None and not _is_whole(self.min_edges, 1):
            raise ScheduleError(
                f"Layered: min_edges is {shown(self.min_edges)}; expected an integer of at least 1, or None"
            )

    def __repr__(self) -> str:
        given = ((name, value) for name, value in vars(self).items() if name == "roots" or value is not None)
        return f"Layered({', '.join(f'{name}={shown(value)}' for name, value in given)})"

    def __eq__(self, other: object) -> bool:
        return self._key == other._key if isinstance(other, Layered) else NotImplemented

    def __hash__(self) -> int:
        return hash(self._key)

    @property
    def _key(self) -> tuple[Any, ...]:
        """What tells this from others."""
        roots = tuple(self.roots.tolist()) if isinstance(self.roots, np.ndarray) else self.roots
        return roots, None if self.file is None else os.fsdecode(self.file), self.min_edges


@dataclass(frozen=True)
class Schedule:
    """The choices for one run. Every part left at its default is chosen for the graph and at each superstep.

    Attributes:
        delivery: `Push()`, `Pull()`, `Buffered()`, or "auto" to choose at each superstep from the frontier's edges.
        balance: which threads do which edges on a GPU: `ThreadMapped()`, `WarpMapped()`, `BlockMapped()`, `Binned()`,
            `EdgeBased()`, `WorkloadDecomposition()`, `MergePath()`, `NodeSplitting()`, `HierarchicalProcessing()`, or
            the `Replicated` of an approximate graph, with which algorithms run as programs; `Clustered()` for searches,
            shortest paths and asynchronous programs; or "auto": eight lanes for each vertex that sends, or equal blocks
            of edges if one has many; where vertices gather, lanes by degree, or equal blocks of edges.
        layout: on a GPU, the order of what vertices gather over: `Layout`, for `Pull()` and `Buffered()`. For searches,
            shortest paths and programs, `Layered`, on the CPU, too. Or "auto": on a GPU, searches from vertices for
            which there are layers read their levels from these.
        num_threads: the exact number of CPU threads, on the CPU; or None for as many as the work is worth, at most the
            processors that the process may use, or ``$EDGEWISE_NUM_THREADS``. Answers do not depend on it.
    """

    delivery: Push | Pull | Buffered | Literal["auto"] = "auto"
    num_threads: int | None = None
    balance: Balance = "auto"
    layout: Layout | Layered | Literal["auto"] = "auto"


def is_auto(choice: Any) -> bool:
    """Whether a part of a schedule is "auto". Only strings are compared with it: arrays, say, cannot be."""
    return isinstance(choice, str) and choice == "auto"


def check_schedule(name: str, schedule: Schedule, on_gpu: bool) -> None:
    """Refuse a balance or a layout that is unknown, or on a CPU, or that contradicts the rest of the schedule.

    Raises:
        ScheduleError: with what is possible.
    """
    if not is_auto(schedule.layout):
        if not (on_gpu and isinstance(schedule.layout, Layout)):
            raise ScheduleError(
                f"{name}: layout is {shown(schedule.layout)}; only runs on a GPU can be told where edges lie, by "
                "edgewise.Layout(), and only bfs, sssp and programs run over edgewise.Layered(). Leave it at 'auto'"
            )
        if isinstance(schedule.delivery, Push):
            raise ScheduleError(
                f"{name}: a layout says where what vertices gather over lies, and Push() has them gather nothing; set "
                "delivery to Pull() or Buffered()"
            )
        if not is_auto(schedule.balance) and not isinstance(schedule.delivery, Buffered):
            raise ScheduleError(
                f"{name}: a layout says who gathers over which edges, and so does balance={shown(schedule.balance)}; "
                "give one of them, or set delivery to Buffered(), where the balance says who sends"
            )
    if isinstance(schedule.balance, Clustered) and not on_gpu:
        raise ScheduleError(
            f"{name}: {FOR_CLUSTERED}; this run is on the CPU: leave balance at 'auto', or give device='cuda', which "
            "tells why if none can be used"
        )
    if isinstance(schedule.balance, Clustered) and not is_auto(schedule.delivery):
        raise ScheduleError(
            f"{name}: delivery is {shown(schedule.delivery)}, and runs by clusters have none; leave it, or balance, at "
            "'auto'"
        )
    if is_auto(schedule.balance):
        return
    kinds = (*(kind for kind in get_args(View) if kind is not Replicated), Clustered)
    possible = (
        f"{', '.join(f'{kind.__name__}()' for kind in kinds)}, or by the balance of an approximate graph"
    )
    if not isinstance(schedule.balance, View | Clustered):
        raise ScheduleError(
            f"{name}: balance is {shown(schedule.balance)}{_hint(schedule.balance, kinds)}; expected 'auto', or, on a "
            f"GPU, who does which edges, by {possible}"
        )
    if not on_gpu:
        raise ScheduleError(
            f"{name}: balance is {shown(schedule.balance)}; only runs on a GPU can be told who does which edges, by "
            f"{possible}. Leave it at 'auto'"
        )


def _hint(balance: Any, kinds: tuple[type, ...]) -> str:
    """What to write for the name of a kind, or for a kind itself; nothing for anything else."""
    given = balance.__name__ if isinstance(balance, type) else balance
    for kind in kinds:
        if isinstance(given, str) and given.lower().replace("_", "") == kind.__name__.lower():
            return f", which is written ew.{kind.__name__}()"
    return ""
