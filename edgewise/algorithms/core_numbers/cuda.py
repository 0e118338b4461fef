# mypy: disable-error-code="assignment"
# (A variable of a kernel may be a Python and a NumPy integer by turns: numba unifies them.)
"""Core numbers on a GPU: one cooperative launch, the same levels as `cpu_peel` on the CPU.

A step is a scan of the vertices that are left, which lists those of this level, or a wave, which takes listed vertices
away and lists those that follow. The threads of a warp share the edges of their vertices. Threads lower degrees by
atomic additions: the one that lowers a degree to the level lists the vertex, and those that would lower it further add
again what they took.

References. Dasari, Desh and Zubair, "ParK: an efficient algorithm for k-core decomposition on multicore processors",
IEEE Big Data 2014.
"""

import functools
from typing import Any, NamedTuple

import numpy as np

from edgewise.algorithms.common.device_graph import GraphOnGpu, graph_on_gpu, offset_dtype
from edgewise.execution import Execution
from edgewise.graph import Graph
from edgewise.kernels.cuda.arguments import AtomicInt32s, AtomicInt64s, Int64s, Uint32s, type_of
from edgewise.kernels.cuda.device import (
    atomic_add,
    atomic_min,
    device_function,
    grid_barrier,
    lane,
    num_threads,
    thread_index,
    warp_min,
)
from edgewise.kernels.cuda.launch import Kernel, fixed_kernel
from edgewise.kernels.cuda.memory import CANCEL, PROGRESS, empty, signals, wait, zeros
from edgewise.primitives.control import LOOK, TURNS, control_words, host_words, turns_after
from edgewise.primitives.deal import append, degree, make_deal

#: Words of `control`, in turns: how many vertices a step lists, how many it keeps, the least degree among these, and
#: whether the run is to end.
CONTROL, HOST = control_words(), host_words()
LISTED, KEPT, LEAST, ENDED = (CONTROL.take_line(TURNS) for _ in range(4))
LEVELS, STEPS = (HOST.take() for _ in range(2))
#: More than any degree, and less than any level.
_LARGEST, _NONE = 1 << 62, -2


class Peeling(NamedTuple):
    """What the kernel takes.

    Attributes:
        graph: in-edges are those of a directed graph.
        core: shape (n,): the edges that each vertex has left, at last the core numbers.
        left, other_left: shape (n,): a list of the vertices that are left, and room for the next one.
        listed, other_listed: shape (n,): vertices that are to be taken away, and room for the next ones.
        control: zeros, see `CONTROL`.
        host: words in the host's memory, see `HOST`, for results.
        n, directed, loops: vertices; whether there are in-edges beside out-edges; whether there may be loops.
    """

    graph: GraphOnGpu
    core: AtomicInt32s
    left: Uint32s
    other_left: Uint32s
    listed: Uint32s
    other_listed: Uint32s
    control: AtomicInt64s
    host: Int64s
    n: int
    directed: bool
    loops: bool


def signature(offsets: np.dtype) -> tuple[Any, ...]:
    """The types of the kernel's arguments for graphs with offsets of this dtype."""
    return (type_of(Peeling, offset=offsets),)


@device_function
def _drop_loop(takes: Any, v: Any, key: Any, k: Any, context: Any) -> Any:
    """Take an arc from the edges of its vertex if it is a loop; `context` has the targets, degrees, and its ends."""
    targets, core, ends = context
    if takes and np.int64(targets[k]) == v:
        atomic_add(core, v, np.int32(-ends))
    return np.int64(0), np.int64(0)


_drop_loops = make_deal(_drop_loop)


@device_function
def _lower(takes: Any, v: Any, level: Any, k: Any, context: Any) -> Any:
    """Lower the degree of an arc's end if it is above the level, and list that vertex if it is no more."""
    ends, core, listed, control, counter = context
    u, reached = np.int64(0), False
    if takes:
        u = np.int64(ends[k])
        if core[u] > level:
            before = np.int64(atomic_add(core, u, np.int32(-1)))
            reached = before == level + 1
            if before <= level:
                atomic_add(core, u, np.int32(1))
    append(listed, control, counter, u, reached)
    return np.int64(0), np.int64(0)


_lower_all = make_deal(_lower, vertex=False, key=True)


@device_function
def _fill(it: Any) -> None:
    """List all vertices, with the number of their edges."""
    for v in range(thread_index(), it.n, num_threads()):
        edges = degree(v, it.graph.offsets)
        if it.directed:
            edges += degree(v, it.graph.in_offsets)
        it.core[v] = edges
        it.left[v] = v


@device_function
def _leave_loops_out(it: Any) -> None:
    """Leave loops out: one end in a row of an undirected graph, two ends of an out-edge of a directed one."""
    for begin in range(thread_index() - lane(), it.n, num_threads()):
        v, start, count = begin + lane(), np.int64(0), np.int64(0)
        if v < it.n:
            start, count = np.int64(it.graph.offsets[v]), degree(v, it.graph.offsets)
        _drop_loops(v, start, count, np.int64(0), (it.graph.targets, it.core, 1 + it.directed))


@device_function
def _scan(left: Any, length: Any, level: Any, other: Any, listed: Any, turn: Any, it: Any) -> None:
    """List the vertices of this level, and keep those of higher degrees in the other list."""
    least = np.int64(_LARGEST)
    for begin in range(thread_index() - lane(), length, num_threads()):
        i, v, edges = begin + lane(), np.int64(0), np.int64(_NONE)
        if i < length:
            v = np.int64(left[i])
            edges = np.int64(it.core[v])
        append(listed, it.control, LISTED + turn, v, edges == level)
        append(other, it.control, KEPT + turn, v, edges > level)
        if edges > level:
            least = min(least, edges)
    least = warp_min(least)
    if lane() == 0:
        atomic_min(it.control, LEAST + turn, least)


@device_function
def _take(listed: Any, length: Any, level: Any, following: Any, turn: Any, it: Any) -> None:
    """Take listed vertices away from their neighbours, and list those that follow."""
    graph, nothing = it.graph, np.int64(0)
    for begin in range(thread_index() - lane(), length, num_threads()):
        i, start, count, in_start, in_count = begin + lane(), nothing, nothing, nothing, nothing
        if i < length:
            v = np.int64(listed[i])
            start, count = np.int64(graph.offsets[v]), degree(v, graph.offsets)
            if it.directed:
                in_start, in_count = np.int64(graph.in_offsets[v]), degree(v, graph.in_offsets)
        _lower_all(
            nothing, start, count, level, (graph.targets, it.core, following, it.control, LISTED + turn)
        )
        if it.directed:
            _lower_all(
                nothing, in_start, in_count, level,
                (graph.in_sources, it.core, following, it.control, LISTED + turn),
            )  # fmt: skip


def peel_kernel(it):
    """Core numbers; see the module, and `Peeling`."""
    control, host, me, generation = it.control, it.host, thread_index(), np.int64(0)
    _fill(it)
    if it.loops:
        generation = grid_barrier(control, generation)
        _leave_loops_out(it)
    length, level, listed, levels, step = it.n, np.int64(-1), np.int64(0), np.int64(0), np.int64(0)
    flipped, moved, turn = False, False, np.int64(0)
    if me == 0:
        control[LEAST] = _LARGEST
    generation = grid_barrier(control, generation)
    while length > 0 or listed > 0:
        following, _ = turns_after(turn)
        if me == 0:
            control[LISTED + following] = 0
            control[KEPT + following] = 0
            control[LEAST + following] = _LARGEST
            if step % LOOK == 0:
                host[PROGRESS] = levels
                control[ENDED + following] = host[CANCEL]
        now, then = (it.other_listed, it.listed) if moved else (it.listed, it.other_listed)
        left, other = (it.other_left, it.left) if flipped else (it.left, it.other_left)
        if listed > 0:
            _take(now, listed, level, then, turn, it)
        else:
            _scan(left, length, level, other, then, turn, it)
        generation = grid_barrier(control, generation)
        if listed == 0:
            length, flipped = control[KEPT + turn], not flipped
            levels += control[LISTED + turn] > 0
            if control[LISTED + turn] == 0:  # nothing has changed since: the least degree is the next level
                level = control[LEAST + turn]
        elif control[LISTED + turn] == 0:
            level += 1
        listed, moved, step = control[LISTED + turn], not moved, step + 1
        if control[ENDED + turn] != 0:
            break
        turn = following
    if me == 0:
        host[LEVELS] = levels
        host[STEPS] = step


@functools.cache
def _kernel(offsets: np.dtype) -> Kernel:
    return fixed_kernel(peel_kernel, signature(offsets))


def core_numbers(graph: Graph, run: Execution) -> tuple[Any, int]:
    """The core numbers, int32 on the GPU, and how many different ones there are. In-edges are made if a directed graph
    has none."""
    n = graph.num_vertices
    on_gpu = graph_on_gpu(graph, run, graph.directed)
    kernel = _kernel(offset_dtype(on_gpu))
    core, host = empty(n, np.int32), signals(HOST.size)
    left, other_left, listed, other_listed = (empty(n, np.uint32) for _ in range(4))
    loops = graph.directed or 2 * graph.num_edges > graph.num_arcs
    given = Peeling(
        graph=on_gpu,
        core=core,
        left=left,
        other_left=other_left,
        listed=listed,
        other_listed=other_listed,
        control=zeros(CONTROL.size, np.int64),
        host=host,
        n=n,
        directed=graph.directed,
        loops=loops,
    )
    kernel.start([given])
    wait(host, run.progress)
    run.explain(f"{host[LEVELS]:,} levels in {host[STEPS]:,} steps on the GPU")
    return core, int(host[LEVELS])
