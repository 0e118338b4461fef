"""CuSha's G-Shards on a GPU, as a rival in the reproduction of Zhong et al. 2016 (section 5.4).

Vertices are cut into windows of consecutive ones. Shard i holds the edges whose targets are in window i, ordered by the
window of their sources; an entry is a source, the source's value, a target, and with weights a weight. A team of
threads takes a shard at a time: it puts its window's values into shared memory, goes over the shard's entries side by
side and combines them with the targets by atomic operations in shared memory, compares the window with what it was, and
if it changed, writes its values to the entries of all shards whose sources are in the window. All supersteps are in one
cooperative launch.

As in CuSha's own program: indices take 32 bits; entries of one window of a shard have no order among themselves (here
that of the input); SSSP and components work in place, so that a shard may see what another one wrote in the same
superstep. PageRank has two arrays of sources' values by turns: its iterations are those of the power method.

What differs, for the sake of speed: a team is a part of a block of 1,024 threads, four, two or one to a block as shared
memory allows, where CuSha launches a smaller block for each shard, and teams take further shards by a counter. A warp
writes back to 32 shards at a time, their entries dealt out to its lanes, where CuSha has a warp for each shard, so that
no lane is idle in a window of few entries. A warp adds up what it has for one vertex of many in-edges before it adds
that to shared memory. Accesses are overlapped by hand.

References. Khorasani, Vora, Gupta, Bhuyan, "CuSha: Vertex-Centric Graph Processing on GPUs", HPDC 2014, sections 3 and
4, and the authors' program (github.com/farkhor/CuSha). Of their two forms this is G-Shards, not concatenated windows.
"""

import functools
import time
from dataclasses import dataclass
from typing import Any

import numpy as np
from numba import cuda, types

from edgewise.graph.csr import build_rows
from edgewise.kernels.cache import compile_seconds
from edgewise.kernels.cuda.arguments import array, pointer, tuple_of, words
from edgewise.kernels.cuda.device import (
    HALVES,
    INT64,
    SIMULATED,
    THREADS,
    WARP,
    atomic_add,
    atomic_min,
    ballot,
    block_barrier,
    block_index,
    block_thread,
    count_bits,
    device_function,
    grid_barrier,
    lane,
    load_once,
    num_blocks,
    num_threads,
    numba_type,
    shuffle,
    shuffle_down,
    shuffle_up,
    thread_index,
)
from edgewise.kernels.cuda.launch import Kernel, fixed_kernel
from edgewise.kernels.cuda.memory import copy_of, cupy, empty, finish, zeros

#: Vertices of a window at most: their values take 47 of the 48 KiB of shared memory that a block has.
MAX_WINDOW = 12_000
#: Teams that a block may have.
TEAMS = (4, 1) if SIMULATED else (4, 2, 1)
#: Messages from one warp to one vertex that are not worth adding up beforehand.
FEW = 4
#: Entries that a window of a shard should have on average.
WINDOW_ENTRIES = 32
#: The distance of vertices that were not reached.
UNREACHED = 2**31 - 1
DAMPING = 0.85
#: Words of `control`, 128 bytes apart: word 0 counts arrivals at the barrier; shards that were taken, in all
#: supersteps; the last superstep that changed a value.
TAKEN, CHANGED = 16, 32
CONTROL_WORDS = 48
DTYPES = {"pagerank": np.dtype(np.float32), "sssp": np.dtype(np.int32), "components": np.dtype(np.int32)}


@dataclass(frozen=True)
class Shards:
    """A graph in shards, on the GPU.

    Attributes:
        num_vertices, num_edges: of the graph.
        window: vertices of a window; the last one may have fewer.
        count: windows, and shards.
        windows: int32, shape ((count + 1) * count,): ``windows[i * count + j]`` is where the entries of window i begin
            in shard j, and ``windows[count * count + j]`` is the end of shard j.
        source, target: uint32, shape (num_edges,), of the entries.
        weight: int32, shape (num_edges,), or empty.
        scale: float32, shape (num_vertices,): 1 / out-degree, or 0.
        preprocessing_seconds: what it took to sort the edges in the host's memory and to copy them to the GPU, without
            compiling edgewise's kernels; in a process's first call, with loading those of CuPy.
    """

    num_vertices: int
    num_edges: int
    window: int
    count: int
    windows: Any
    source: Any
    target: Any
    weight: Any
    scale: Any
    preprocessing_seconds: float


def window_for(num_vertices: int, num_edges: int) -> int:
    """The vertices of a window, as CuSha chooses them.

    A shard's window has ``num_edges * (window / num_vertices) ** 2`` entries on average. That is to be 32, so that a
    warp is full when it writes them, as far as shared memory allows. CuSha then rounds up to a fraction of the shared
    memory.
    """
    wanted = np.sqrt(WINDOW_ENTRIES * num_vertices**2 / max(num_edges, 1))
    return int(min(max(np.ceil(wanted), 1), MAX_WINDOW, num_vertices))


def make_shards(
    num_vertices: int,
    source: np.ndarray,
    target: np.ndarray,
    weight: np.ndarray | None = None,
    window: int | None = None,
) -> Shards:
    """Sort edges into shards, by one counting sort on all cores of the CPU (`build_rows`), and copy them to the GPU.

    Args:
        num_vertices: at least 1.
        source, target: int32, shape (num_edges,), in the host's memory; num_edges < 2**31.
        weight: int32, shape (num_edges,), or None.
        window: vertices of a window, at most `MAX_WINDOW`; None for `window_for`.
    """
    started, compiled = time.perf_counter(), compile_seconds()
    window = window or window_for(num_vertices, len(source))
    count = -(-num_vertices // window)
    ends = target if weight is None else np.stack([target, weight], axis=1).view(np.int64).ravel()
    key = target // window * np.int32(count) + source // window
    rows, _ = build_rows(key, source, ends, max(count**2, num_vertices))
    begin = rows.offsets[: count**2 + 1]
    windows = np.empty((count + 1, count), np.int32)
    windows[:count] = begin[:-1].reshape(count, count).T
    windows[count] = begin[count::count]
    assert rows.weights is not None
    moved = rows.weights.view(np.int32).reshape(len(source), 1 if weight is None else 2)
    columns = [rows.targets, *(np.ascontiguousarray(column) for column in moved.T)]
    on_gpu = [copy_of(column) for column in (windows.ravel(), *columns)]
    scale = _scale(on_gpu[1], num_vertices)
    finish()
    return Shards(
        num_vertices,
        len(source),
        window,
        count,
        *on_gpu[:3],
        on_gpu[3] if weight is not None else empty(0, np.int32),
        scale,
        time.perf_counter() - started - (compile_seconds() - compiled),
    )


def _scale(source: Any, num_vertices: int) -> Any:
    """1 / out-degree, or 0, float32, on the GPU."""
    xp = cupy()
    degree = xp.bincount(source, minlength=num_vertices)
    return xp.where(xp.greater(degree, 0), xp.divide(1, xp.maximum(degree, 1)), 0).astype(np.float32)


def pagerank(shards: Shards, iterations: int = 50) -> Any:
    """Ranks after so many iterations with damping 0.85, float32, shape (num_vertices,), on the GPU.

    Vertices without out-edges give their rank to all alike. Sums of messages are float32, in any order.
    """
    buffers = [empty(shards.num_edges, np.float32) for _ in range(2)]
    return _run("pagerank", shards, buffers, zeros(iterations + 1, np.float64), iterations)


def sssp(shards: Shards, source: int) -> Any:
    """The least sum of weights over all paths from a vertex, int32, shape (num_vertices,), on the GPU.

    2**31 - 1 where there is no path. Weights are not negative, and no distance reaches 2**31 - 1.

    Raises:
        ValueError: the edges have no weights.
    """
    if len(shards.weight) < shards.num_edges:
        raise ValueError("sssp: the shards have no weights; expected make_shards(..., weight=...)")
    return _run("sssp", shards, [empty(shards.num_edges, np.int32)] * 2, zeros(1, np.float64), source)


def components(shards: Shards) -> Any:
    """The smallest vertex of each vertex's component, int32, shape (num_vertices,), on the GPU.

    Each edge is given both ways.
    """
    return _run("components", shards, [empty(shards.num_edges, np.int32)] * 2, zeros(1, np.float64), 0)


def _run(kind: str, shards: Shards, buffers: list[Any], sums: Any, argument: int) -> Any:
    """Run a program to the end."""
    values = empty(shards.num_vertices, DTYPES[kind])
    kernel = _kernel(kind, teams_for(shards.window))
    scale = shards.scale if kind == "pagerank" else values
    arrays = (shards.windows, shards.source, shards.target, shards.weight, values, *buffers, scale)
    control = zeros(CONTROL_WORDS, np.int64)
    sizes = (shards.num_vertices, shards.num_edges, shards.window, shards.count, argument)
    kernel.start([*arrays, words(sums), words(control), *sizes])
    finish()
    return values


def signature(kind: str) -> tuple[Any, ...]:
    """The types of the arguments of a program's kernel."""
    vertex, place = pointer(np.dtype(np.uint32)), pointer(np.dtype(np.int32))
    return (
        tuple_of([place, vertex, vertex, place]),
        tuple_of([pointer(DTYPES[kind])] * 4),
        array(np.dtype(np.float64)),
        array(np.dtype(np.int64)),
        *[INT64] * 5,
    )


def teams_for(window: int) -> int:
    """The most teams whose windows have room in shared memory."""
    return next(teams for teams in TEAMS if window <= MAX_WINDOW // teams)


@functools.cache
def _kernel(kind: str, teams: int) -> Kernel:
    return fixed_kernel(make_kernel, signature(kind), kind, teams)


if SIMULATED:

    @device_function
    def team_barrier(team, size):
        if size > 1:
            cuda.syncthreads()

else:
    from llvmlite import ir
    from numba.cuda.extending import intrinsic

    @intrinsic
    def _named_barrier(context, number, size):
        """Wait until so many threads of the block have come to the barrier of this number."""

        def generate(context, builder, signature, arguments):
            kind = ir.FunctionType(ir.VoidType(), [ir.IntType(32)] * 2)
            barrier = builder.module.globals.get("llvm.nvvm.barrier.sync.cnt")
            barrier = barrier or ir.Function(builder.module, kind, "llvm.nvvm.barrier.sync.cnt")
            builder.call(barrier, arguments)
            return context.get_dummy_value()

        return types.none(types.int32, types.int32), generate

    @device_function
    def team_barrier(team, size):
        """Wait for all threads of the team."""
        _named_barrier(np.int32(team + 1), np.int32(size))


def make_kernel(kind: str, teams: int) -> Any:
    """The kernel of a program, "pagerank", "sssp" or "components", for so many teams in a block."""
    ranks, weighted, dtype = kind == "pagerank", kind == "sssp", DTYPES[kind]
    shared_type, word_type, real_type = (numba_type(np.dtype(t)) for t in (dtype, np.int64, np.float64))
    cast, warps = dtype.type, THREADS // WARP
    size, room = THREADS // teams, MAX_WINDOW // teams
    team_warps = size // WARP

    @device_function
    def member():
        """The number of this thread in its team."""
        return np.int32(cuda.threadIdx.x % size)

    @device_function
    def place(v, shift):
        """Where a vertex's value is in shared memory. An unsigned place is not checked for being negative."""
        return np.uint32(v + shift)

    @device_function
    def first_value(v, values, part, argument):
        """What a source is worth at first; `part` is a rank's."""
        if ranks:
            return cast(values[3][v] * part)
        if weighted:
            return cast(0) if v == argument else cast(UNREACHED)
        return cast(v)

    @device_function
    def message(k, old, weight):
        """What entry k sends."""
        value = load_once(old, k)
        if weighted:
            length = cast(np.int64(value) + load_once(weight, k))
            return value if value == UNREACHED else length
        return value

    @device_function
    def deliver(local, i, sent, value, hub):
        """Combine a message, if one was sent, with the i-th value. All lanes of the warp take part.

        Additions to one float in shared memory by many lanes come one after the other, each after a failed attempt of
        all others. So those to one vertex, `hub`, are added up before, if they are more than a few. Most messages do
        not lower an integer, which reading it tells.

        Returns:
            The vertex to try next.
        """
        if ranks:
            same = sent and np.int32(i) == hub
            if count_bits(ballot(same)) > FEW:
                total = value if same else cast(0)
                for step in HALVES:
                    total += shuffle_down(total, step)
                if lane() == 0:
                    atomic_add(local, np.uint32(hub), total)
                if sent and not same:
                    atomic_add(local, i, value)
            else:
                if sent:
                    atomic_add(local, i, value)
                hub = shuffle(np.int32(i), 0)
        elif sent and value < local[i]:
            atomic_min(local, i, value)
        return hub

    @device_function
    def gather(begin, end, shift, graph, old, local):
        """Go over a shard's entries, four a thread at a time, so that accesses overlap."""
        target, weight, last, hub = graph[2], graph[3], np.int32(end - 1), np.int32(-1)
        first, me = np.int32(begin + member() - lane()), np.int32(lane())
        while first < end:
            k, k1 = np.int32(first + me), np.int32(first + me + size)
            k2, k3 = np.int32(first + me + 2 * size), np.int32(first + me + 3 * size)
            at, at1, at2, at3 = min(k, last), min(k1, last), min(k2, last), min(k3, last)
            to, to1 = load_once(target, at), load_once(target, at1)
            to2, to3 = load_once(target, at2), load_once(target, at3)
            value, value1 = message(at, old, weight), message(at1, old, weight)
            value2, value3 = message(at2, old, weight), message(at3, old, weight)
            hub = deliver(local, place(to, shift), k < end, value, hub)
            hub = deliver(local, place(to1, shift), k1 < end, value1, hub)
            hub = deliver(local, place(to2, shift), k2 < end, value2, hub)
            hub = deliver(local, place(to3, shift), k3 < end, value3, hub)
            first = np.int32(first + 4 * size)

    @device_function
    def settle(base, upto, shift, kept, values, local):
        """Compare the window with what it was; whether a value of this thread changed, and its dangling rank."""
        changed, dangling = False, 0.0
        for v in range(base + member(), upto, size):
            if ranks:
                rank, scale = cast(kept + DAMPING * np.float64(local[place(v, shift)])), values[3][v]
                values[0][v] = rank
                local[place(v, shift)] = rank * scale
                if scale == cast(0):
                    dangling += np.float64(rank)
            elif local[place(v, shift)] < values[0][v]:
                values[0][v] = local[place(v, shift)]
                changed = True
        return changed, dangling

    @device_function
    def holder_of(p, upto):
        """The lane whose entries p is among, where those of a lane end before `upto`."""
        holder = np.int32(0)
        for step in HALVES:
            if shuffle(upto, np.int32(holder + step - 1)) <= p:
                holder = np.int32(holder + step)
        return holder

    @device_function
    def entry(p, upto, start):
        """The p-th of the entries of all lanes; the first of a lane are from `start` on, less those before."""
        return np.int32(p + shuffle(start, holder_of(p, upto)))

    @device_function
    def write_back(i, count, shift, graph, new, local):
        """Write the values of window i to the entries of all shards, each warp to those of adjacent shards."""
        windows, source, warp = graph[0], graph[1], member() // WARP
        share = (count + team_warps - 1) // team_warps
        for first in range(warp * share, min((warp + 1) * share, count), WARP):
            many = min((warp + 1) * share, count) - first
            begin, length = np.int32(0), np.int32(0)
            if lane() < many:
                begin = windows[i * count + first + lane()]
                length = np.int32(windows[(i + 1) * count + first + lane()] - begin)
            upto = length
            for step in HALVES[::-1]:
                before = shuffle_up(upto, step)
                if lane() >= step:
                    upto = np.int32(upto + before)
            start, total, p = np.int32(begin + length - upto), shuffle(upto, WARP - 1), np.int32(lane())
            last = np.int32(total - 1)
            while p - lane() < total:
                p1, p2, p3 = np.int32(p + WARP), np.int32(p + 2 * WARP), np.int32(p + 3 * WARP)
                k0, k1 = entry(min(p, last), upto, start), entry(min(p1, last), upto, start)
                k2, k3 = entry(min(p2, last), upto, start), entry(min(p3, last), upto, start)
                from0, from1 = load_once(source, k0), load_once(source, k1)
                from2, from3 = load_once(source, k2), load_once(source, k3)
                if p < total:
                    new[k0] = local[place(from0, shift)]
                if p1 < total:
                    new[k1] = local[place(from1, shift)]
                if p2 < total:
                    new[k2] = local[place(from2, shift)]
                if p3 < total:
                    new[k3] = local[place(from3, shift)]
                p = np.int32(p + 4 * WARP)

    @device_function
    def add_up(value, sums, i, tally):
        """Add the values of all threads of the block to a sum."""
        for step in HALVES:
            value += shuffle_down(value, step)
        if lane() == 0:
            tally[block_thread() // WARP] = value
        block_barrier()
        if block_thread() < WARP:
            value = 0.0
            for warp in range(lane(), warps, WARP):
                value += tally[warp]
            for step in HALVES:
                value += shuffle_down(value, step)
            if lane() == 0:
                atomic_add(sums, i, value)

    @device_function
    def begin_all(graph, values, sums, n, entries, argument, tally):
        """Values of vertices and of entries' sources before the first superstep."""
        dangling, part = 0.0, 1.0 / n
        for v in range(thread_index(), n, num_threads()):
            if ranks:
                dangling += part if values[3][v] == cast(0) else 0.0
            values[0][v] = cast(part) if ranks else first_value(v, values, part, argument)
        step, last = num_threads(), entries - 1
        for k in range(thread_index(), entries, 4 * step):
            # Beyond the last entry, that one is written again.
            k1, k2, k3 = min(k + step, last), min(k + 2 * step, last), min(k + 3 * step, last)
            source, source1 = load_once(graph[1], k), load_once(graph[1], k1)
            source2, source3 = load_once(graph[1], k2), load_once(graph[1], k3)
            value, value1 = (
                first_value(source, values, part, argument),
                first_value(source1, values, part, argument),
            )
            value2, value3 = (
                first_value(source2, values, part, argument),
                first_value(source3, values, part, argument),
            )
            values[1][k] = value
            values[1][k1] = value1
            values[1][k2] = value2
            values[1][k3] = value3
        if ranks:
            add_up(dangling, sums, 0, tally)

    @device_function
    def superstep(graph, old, new, values, control, n, window, count, step, kept, last, local, taken, flags):
        """All shards that this team takes; whether a value changed, and the dangling rank of this thread's."""
        windows, changed, dangling = graph[0], False, 0.0
        team = block_thread() // size
        i = team * num_blocks() + block_index()
        while i < count:
            base, upto = i * window, min((i + 1) * window, n)
            shift = np.int32(team * room - base)
            for v in range(base + member(), upto, size):
                local[place(v, shift)] = cast(0) if ranks else values[0][v]
            team_barrier(team, size)
            if member() == 0:
                # In each superstep there are as many additions as shards.
                before = atomic_add(control, TAKEN, 1) - step * count
                taken[team] = teams * num_blocks() + before
            gather(windows[i], windows[count * count + i], shift, graph, old, local)
            team_barrier(team, size)
            lower, hanging = settle(base, upto, shift, kept, values, local)
            dangling += hanging
            if lower:
                flags[team] = step * count + i
            team_barrier(team, size)
            lower = flags[team] == step * count + i
            changed = changed or lower
            if (ranks and not last) or lower:
                write_back(i, count, shift, graph, new, local)
            i = taken[team]
            team_barrier(team, size)
        return changed, dangling

    def cusha_kernel(graph, values, sums, control, n, entries, window, count, argument):
        """Run a program to the end.

        Args:
            graph: windows, sources, targets and weights of `Shards`.
            values: the result by vertex; two arrays of entries' sources' values, or the same one twice; scale.
            sums: for ranks, zeros, (iterations + 1,): the dangling rank before each iteration.
            control: CONTROL_WORDS zeros.
            n, entries, window, count: the numbers of `Shards`.
            argument: iterations, or the source.
        """
        local = cuda.shared.array(MAX_WINDOW, shared_type)
        taken = cuda.shared.array(teams, word_type)
        flags = cuda.shared.array(teams, word_type)
        tally = cuda.shared.array(warps, real_type)
        if block_thread() < teams:
            flags[block_thread()] = -1
        begin_all(graph, values, sums, n, entries, argument, tally)
        generation, step = grid_barrier(control, np.int64(0)), np.int64(0)
        going = not ranks or argument > 0
        while going:
            old, new = (values[2], values[1]) if step & 1 else (values[1], values[2])
            kept = (1.0 - DAMPING + DAMPING * sums[step]) / n if ranks else 0.0
            last = step + 1 == argument
            changed, dangling = superstep(
                graph, old, new, values, control, n, window, count, step, kept, last, local, taken, flags
            )
            step += 1
            if ranks:
                add_up(dangling, sums, step, tally)
            elif changed and member() == 0:
                control[CHANGED] = step
            generation = grid_barrier(control, generation)
            # A block that is ahead may have written a later superstep already.
            going = step < argument if ranks else control[CHANGED] >= step

    return cusha_kernel
