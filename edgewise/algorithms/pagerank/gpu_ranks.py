"""PageRank on several ranks with GPUs: each makes the ranks of its own vertices, and ranks tell each other all shares.

A launch is an iteration over the rows of `gpu_rows`, by the functions of `cuda`. Then each rank sends its region of
shares, those of vertices with out-edges, to the others as it lies, with its sums at the end, which the next launch adds
up. A row is summed up in one order, whoever does it, and sums over all vertices are in fixed point: so answers do not
depend on the number of ranks, bit for bit. The launch after the last iteration sees in the sums that it was the last,
and neither it nor those after it change anything. The host waits for an exchange when the next one is under way, so the
GPU does not wait for it.
"""

import functools
from collections import deque
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from edgewise.algorithms.common.device_graph import laid_out
from edgewise.algorithms.pagerank.cuda import SUMS as SHARED_SUMS
from edgewise.algorithms.pagerank.cuda import (
    InEdgeRows,
    Ranks,
    make_gathering,
    make_iterate,
    make_number_of,
)
from edgewise.algorithms.pagerank.gpu_rows import SUMS, RankRows, lay_out, running
from edgewise.algorithms.pagerank.sums import IN_FIXED_POINT, as_number
from edgewise.algorithms.pagerank.walk import Ranked, Walk
from edgewise.engine.distributed.channel import Channel
from edgewise.engine.distributed.channel_cuda import channel_of
from edgewise.engine.distributed.group import connect
from edgewise.execution import Execution, check_limit
from edgewise.kernels.cuda.arguments import AtomicInt64s, Float64s, Int64s, type_of
from edgewise.kernels.cuda.device import (
    FLOAT64,
    UINT32,
    WARP,
    atomic_add,
    cuda,
    lane,
    num_threads,
    thread_index,
    warp_sums,
)
from edgewise.kernels.cuda.launch import Kernel, fixed_kernel
from edgewise.kernels.cuda.memory import (
    copy_of,
    cupy,
    device_number,
    empty,
    host_copy,
    pinned,
    signals,
    wait,
    zeros,
)
from edgewise.primitives.control import host_words

#: Words of the host's array: iterations done; the launch that found that they were all, or 0.
HOST = host_words()
DONE, ENDED = HOST.take(), HOST.take()
#: How many exchanges may be under way when the host starts a launch.
_AHEAD = 2


class RankIteration(NamedTuple):
    """What the kernel takes.

    Attributes:
        rows, ranks: see there; shares are those that are read, other shares those that are written.
        sums: the words of the shares that are read, int64.
        new_sums: those of the shares that are written; this rank's sums are 0.
        places: int64, (size,): where each rank's sums are among the words; this rank's comes first.
        ended: one word, 0; not 0 when all iterations are done.
        host: words in the host's memory, see `HOST`.
        residual: one word in the host's memory, for the change of the last iteration.
        damping, enough: see `edgewise.algorithms.pagerank.cuda.Iteration`.
        n, heaviest, heavy, groups: the rows of this rank; see `InEdges`.
        num_vertices, size: of the graph; the number of ranks.
        limit, iteration: iterations at most; which one this is, from 1 on. 0 makes the shares to begin with.
    """

    rows: InEdgeRows
    ranks: Ranks
    sums: Int64s
    new_sums: AtomicInt64s
    places: Int64s
    ended: Int64s
    host: Int64s
    residual: Float64s
    damping: float
    enough: float
    n: int
    heaviest: int
    heavy: int
    groups: int
    num_vertices: int
    size: int
    limit: int
    iteration: int


def signature(dtype: np.dtype) -> tuple[Any, ...]:
    """The types of the kernel's arguments for ranks of this dtype."""
    return (type_of(RankIteration, rank=dtype),)


@functools.cache
def _kernel(device: int, dtype: np.dtype, weighted: bool, jumps: bool) -> Kernel:
    return fixed_kernel(make_kernel, signature(dtype), dtype, weighted, jumps)


def rank(
    walk: Walk, start: np.ndarray | None, dtype: np.dtype, enough: float, limit: int, run: Execution
) -> Ranked:
    """Iterate, on all ranks; arguments and answers are those of `edgewise.algorithms.pagerank.cuda.rank`."""
    group, graph = connect(), walk.graph
    channel = channel_of(group)
    with group.in_run():
        run.make_in_edges(graph)
        needed = running(graph, dtype, walk.weighted, group.size).most
        check_limit("pagerank", run.memory_limit, needed, where="on the GPU")
        what = "laid the in-edges of this rank's vertices out on its GPU"
        made = laid_out(run, what, graph, lay_out, walk.weighted, dtype, group.rank, group.size)
        group.everywhere(np.empty(0, np.uint8))  # a rank that has no room says so here
    with channel.in_run():
        found = _iterate(walk, made, start, enough, limit, run, channel, group.rank)
    alone = made.in_edges.heavy + made.in_edges.heaviest
    run.explain(f"pull on GPU {device_number()}; ranks speak by {channel.name}")
    run.explain(f"{made.in_edges.groups:,} groups of {WARP} rows, {alone:,} rows by themselves on this rank")
    return found


def _iterate(
    walk: Walk,
    made: RankRows,
    start: np.ndarray | None,
    enough: float,
    limit: int,
    run: Execution,
    channel: Channel,
    rank: int,
) -> Ranked:
    """Iterate over the rows of this rank."""
    xp, dtype, (num_vertices, own) = cupy(), made.scale.dtype, (walk.graph.num_vertices, made.own(rank))
    in_edges, regions, n = made.in_edges, made.regions, own.stop - own.start

    def by_rows(values: np.ndarray) -> Any:
        return copy_of(values[own].astype(dtype))[in_edges.vertices]

    values = xp.full(n, 1 / num_vertices, dtype) if start is None else by_rows(start)
    jumps = made.scale if walk.jump is None else by_rows(walk.jump)
    shares = [zeros(max(each.stop for each in regions), dtype) for _ in range(2)]
    words = [each.view(np.int64) for each in shares]
    places = [region.stop * dtype.itemsize // 8 - SUMS for region in regions]
    places = [*places[rank:], *places[:rank]]
    host, residual = signals(HOST.size), pinned(1, np.float64)
    given = RankIteration(
        rows=made.rows,
        ranks=Ranks(values, shares[1], shares[0], made.scale, jumps, values),
        sums=words[1],
        new_sums=words[0],
        places=copy_of(np.array(places, np.int64)),
        ended=zeros(1, np.int64),
        host=host,
        residual=residual,
        damping=walk.damping,
        enough=enough,
        n=n,
        heaviest=in_edges.heaviest,
        heavy=in_edges.heavy,
        groups=in_edges.groups,
        num_vertices=num_vertices,
        size=len(regions),
        limit=limit,
        iteration=0,
    )
    kernel = _kernel(device_number(), dtype, walk.weighted, walk.jump is not None)
    parts = [[each[region].view(np.uint8) for region in regions] for each in shares]

    def begin(iteration: int) -> None:
        old, new = (iteration + 1) & 1, iteration & 1
        words[new][places[0] : places[0] + SUMS] = 0
        ranks = given.ranks._replace(shares=shares[old], other_shares=shares[new])
        passed = {"ranks": ranks, "sums": words[old], "new_sums": words[new], "iteration": iteration}
        kernel.start([given._replace(**passed)], kernel.blocks)

    def exchange(iteration: int) -> Callable[[], None]:
        return channel.share(parts[iteration & 1])

    _run_all(begin, exchange, host, limit, run)
    iterations, result = int(host[DONE]), empty(num_vertices, dtype)
    of_own = result[own]
    of_own[in_edges.vertices] = values
    of_ranks = [result[made.own(other)].view(np.uint8) for other in range(len(regions))]
    channel.share(of_ranks)()
    last, numbers = shares[(iterations + 1) & 1], made.numbers
    return Ranked(result, iterations, float(residual[0]), lambda: host_copy(last[numbers]))


def _run_all(
    begin: Callable[[int], None],
    exchange: Callable[[int], Callable[[], None]],
    host: np.ndarray,
    limit: int,
    run: Execution,
) -> None:
    """Start launches and exchanges, the same ones on all ranks, until all iterations are done.

    Args:
        begin: starts the launch of an iteration.
        exchange: starts the exchange after it, and returns a function that waits for that.
        host: see `HOST`.
        limit: iterations at most.
        run: progress.
    """
    under_way = deque[Callable[[], None]]()
    for iteration in range(limit + 2):
        if len(under_way) == _AHEAD:
            under_way.popleft()()
            # Launches up to this one are done on all ranks; those after it may be done on some of them.
            done = iteration - _AHEAD
            if 0 < host[ENDED] <= done:
                break
            if run.progress is not None and done > 0:
                run.progress(done)
        begin(iteration)
        if iteration <= limit:
            under_way.append(exchange(iteration))
    for finish in under_way:
        finish()
    wait(host, None)


def make_kernel(dtype: np.dtype, weighted: bool, jumps: bool) -> Any:
    """The kernel for ranks of this dtype, with or without weights and a jump distribution."""
    zero, (none, add) = dtype.type(0), IN_FIXED_POINT
    number_of = make_number_of(False)
    iterate = make_iterate(dtype.type, make_gathering(zero, weighted), jumps, number_of, IN_FIXED_POINT)

    def pagerank_rank_kernel(it):
        """Do one iteration, unless all are done; see the module, and `RankIteration`."""
        rows, ranks, sums = it.rows, it.ranks, it.sums
        shared = cuda.shared.array(SHARED_SUMS, FLOAT64)
        box = cuda.shared.array(1, UINT32)
        me, last = thread_index(), it.iteration - 1
        changed, dangling = none, none
        if last < 0:
            for row in range(me, it.n, num_threads()):
                value, scale = ranks.ranks[row], ranks.scale[row]
                ranks.other_shares[np.int64(rows.numbers[row])] = value * scale
                if scale == zero:
                    dangling = add(dangling, np.float64(value))
        else:
            c0, c1, d0, d1 = np.int64(0), np.int64(0), np.int64(0), np.int64(0)
            for i in range(it.size):
                at = it.places[i]
                c0 += sums[at]
                c1 += sums[at + 1]
                d0 += sums[at + 2]
                d1 += sums[at + 3]
            change = as_number(c0, c1)
            if it.ended[0] != 0:
                return
            if last >= it.limit or (last > 0 and it.enough > 0.0 and change <= it.enough):
                if me == 0:
                    it.ended[0] = 1
                    it.residual[0] = change
                    it.host[DONE] = last
                    it.host[ENDED] = it.iteration
                return
            spread = 1.0 - it.damping + it.damping * as_number(d0, d1)
            if not jumps:
                spread /= it.num_vertices
            keep = it.enough > 0.0 or it.iteration >= it.limit - 1
            changed, dangling = iterate(spread, keep, it, ranks.shares, ranks.other_shares, shared, box)
        (c0, c1), (d0, d1) = changed, dangling
        c0, c1 = warp_sums(c0, c1)
        d0, d1 = warp_sums(d0, d1)
        if lane() == 0:
            at = it.places[0]
            atomic_add(it.new_sums, at, c0)
            atomic_add(it.new_sums, at + 1, c1)
            atomic_add(it.new_sums, at + 2, d0)
            atomic_add(it.new_sums, at + 3, d1)

    return pagerank_rank_kernel
