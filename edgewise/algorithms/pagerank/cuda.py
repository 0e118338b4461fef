# mypy: disable-error-code="assignment"
# (A variable of a kernel may be a Python and a NumPy integer by turns: numba unifies them.)
"""PageRank on a GPU: all iterations in one cooperative launch with one barrier each, over the layout of `cuda_layout`.

A lane sums up one row, eight arcs at a time; a heavy row has a warp or a block. Ranks and scales lie in the order of
rows. Shares, which are what vertices give, lie in the order of the numbers of vertices. Sums have a fixed
order, so the same call gives the same ranks.
"""

import functools
from enum import Enum
from typing import Any, NamedTuple

import numpy as np

from edgewise.algorithms.common.device_graph import laid_out
from edgewise.algorithms.pagerank.cuda_apart import check_room_apart as check_room_apart
from edgewise.algorithms.pagerank.cuda_apart import lay_out_apart
from edgewise.algorithms.pagerank.cuda_gather import Gathering, Reals, make_unpacking
from edgewise.algorithms.pagerank.cuda_gather import InEdgeRows as InEdgeRows
from edgewise.algorithms.pagerank.cuda_gather import make_gathering as make_gathering
from edgewise.algorithms.pagerank.cuda_gather import rows_of as rows_of
from edgewise.algorithms.pagerank.cuda_in_place import ROUND, make_gathering_in_place, rows_in_place
from edgewise.algorithms.pagerank.cuda_layout import InEdges as InEdges
from edgewise.algorithms.pagerank.cuda_layout import in_edges_of, scale_of
from edgewise.algorithms.pagerank.cuda_layout import running as running
from edgewise.algorithms.pagerank.sums import IN_FLOATS, Summing
from edgewise.algorithms.pagerank.walk import Ranked, Walk
from edgewise.execution import Execution
from edgewise.kernels.cuda.arguments import AtomicInt64s, Float64s, Int64s, type_of
from edgewise.kernels.cuda.device import (
    FLOAT64,
    THREADS,
    UINT32,
    WARP,
    WARPS,
    block_barrier,
    block_index,
    block_size,
    block_thread,
    cuda,
    device_function,
    grid_barrier,
    inlined,
    lane,
    num_blocks,
    num_threads,
    numba_type,
    thread_index,
    warp_sum,
    warp_sums,
)
from edgewise.kernels.cuda.launch import Kernel, fixed_kernel
from edgewise.kernels.cuda.memory import (
    CANCEL,
    PROGRESS,
    copy_of,
    cupy,
    empty,
    host_copy,
    pinned,
    signals,
    wait,
    zeros,
)
from edgewise.kernels.cuda.placed import on_gpu
from edgewise.kernels.words import Allocator
from edgewise.layout.packed_cuda import UNPACK_WORDS
from edgewise.primitives.control import control_words, host_words

#: Words of `control`: two in turns say that the run is to end. A word of the host's array: iterations done.
CONTROL, HOST = control_words(), host_words()
ABORTED, DONE = CONTROL.take_line(2), HOST.take()
#: What a block shares: what all threads changed and their dangling rank, then two sums of each warp.
_SHARED = Allocator(0)
CHANGED, DANGLING, FIRST, SECOND = (_SHARED.take(count) for count in (1, 1, WARPS, WARPS))
SUMS = _SHARED.size


#: How many values are brought into another order at a time.
_PIECE = 1 << 22


class Ranks(NamedTuple):
    """What belongs to vertices.

    Attributes:
        ranks: in the order of rows: to begin with, and to end with.
        shares, other_shares: by number, (n + 1,).
        scale, jump: in the order of rows.
        result: by vertex.
    """

    ranks: Reals
    shares: Reals
    other_shares: Reals
    scale: Reals
    jump: Reals
    result: Reals


class Iteration(NamedTuple):
    """What the kernel takes.

    Attributes:
        rows, ranks: see there.
        partial: (4 * blocks,).
        control: zeros, see `CONTROL`.
        host: words in the host's memory, see `HOST`.
        residual: one word in the host's memory, for the change of the last iteration.
        damping, enough: the probability of following an arc, and the change at which to end, 0 for none.
        n, heaviest, heavy, groups, limit: see `InEdges`; iterations at most.
    """

    rows: InEdgeRows
    ranks: Ranks
    partial: Float64s
    control: AtomicInt64s
    host: Int64s
    residual: Float64s
    damping: float
    enough: float
    n: int
    heaviest: int
    heavy: int
    groups: int
    limit: int


def signature(dtype: np.dtype) -> tuple[Any, ...]:
    """The types of the kernel's arguments for ranks of this dtype."""
    return (type_of(Iteration, rank=dtype),)


class Where(Enum):
    """Where the in-edges lie that a kernel reads, and in which order.

    `LAID_OUT`: in the order of a layout, on the GPU. `APART`: in the order of a layout, in the host's memory or in part
    there. `IN_PLACE`: in the graph's own order, in the host's memory or in part there.
    """

    LAID_OUT = "laid out"
    APART = "apart"
    IN_PLACE = "in place"


@functools.cache
def _kernel(dtype: np.dtype, weighted: bool, jumps: bool, where: Where) -> Kernel:
    return fixed_kernel(make_kernel, signature(dtype), dtype, weighted, jumps, where)


def rank(
    walk: Walk, start: np.ndarray | None, dtype: np.dtype, enough: float, limit: int, run: Execution
) -> Ranked:
    """Iterate on the GPU until one iteration changes at most `enough`, if that is not 0, and `limit` times at most."""
    graph, weighted = walk.graph, walk.weighted
    in_edges = laid_out(run, "laid in-edges out on the GPU", graph, in_edges_of, weighted)
    scale, weights = laid_out(run, "laid scales and weights out on the GPU", graph, scale_of, weighted, dtype)
    rows = rows_of(in_edges, in_edges.vertices, weights)
    return iterate(walk, in_edges, rows, scale, None, start, enough, limit, run, Where.LAID_OUT)


def rank_apart(
    walk: Walk, start: np.ndarray | None, dtype: np.dtype, enough: float, limit: int, run: Execution
) -> Ranked:
    """`rank` where the GPU has no room for the layout."""
    what = "laid in-edges out in the host's memory"
    made = laid_out(run, what, walk.graph, lay_out_apart, walk.weighted, dtype)
    return iterate(
        walk, made.in_edges, made.rows, made.scale, made.order, start, enough, limit, run, Where.APART
    )


def rank_in_place(
    walk: Walk, start: np.ndarray | None, dtype: np.dtype, enough: float, limit: int, run: Execution
) -> Ranked:
    """`rank` where not even the host has room for a layout; without weights."""
    what = "brought in-edges to where the GPU reads them as they are"
    rows, scale = laid_out(run, what, walk.graph, rows_in_place, dtype)
    groups = -(-walk.graph.num_vertices // WARP)
    none: Any = None
    in_edges = InEdges(none, none, rows.begin, rows.sources, none, 0, 0, groups)
    return iterate(walk, in_edges, rows, scale, None, start, enough, limit, run, Where.IN_PLACE)


def iterate(
    walk: Walk,
    in_edges: InEdges,
    rows: InEdgeRows,
    scale: Any,
    order: Any | None,
    start: np.ndarray | None,
    enough: float,
    limit: int,
    run: Execution,
    where: Where,
) -> Ranked:
    """Iterate over a layout; see `rank`.

    Args:
        in_edges: the layout.
        rows: what the kernel takes of it.
        scale: by rows, on the GPU; its dtype is that of ranks.
        order: None, or if the layout lies apart, in the host's memory, the vertices of rows, where the GPU reads them.
        where: where in-edges lie.
    """
    n, xp, dtype, jump = walk.graph.num_vertices, cupy(), scale.dtype, walk.jump
    vertices, apart = in_edges.vertices, where is not Where.LAID_OUT

    def by_rows(values: np.ndarray) -> Any:
        values = values.astype(dtype)
        if where is Where.IN_PLACE:
            return copy_of(values)
        return copy_of(values[vertices]) if apart else copy_of(values)[vertices]

    kernel = _kernel(dtype, walk.weighted, jump is not None, where)
    begin = xp.full(n, 1 / n, dtype) if start is None else by_rows(start)
    shares, other_shares = empty(n + 1, dtype), empty(n + 1, dtype)
    result = begin if apart else empty(n, dtype)
    jumps = scale if jump is None else by_rows(jump)
    control, host, residual = zeros(CONTROL.size, np.int64), signals(HOST.size), pinned(1, np.float64)
    given = Iteration(
        rows=rows,
        ranks=Ranks(begin, shares, other_shares, scale, jumps, result),
        partial=empty(4 * kernel.blocks, np.float64),
        control=control,
        host=host,
        residual=residual,
        damping=walk.damping,
        enough=enough,
        n=n,
        heaviest=in_edges.heaviest,
        heavy=in_edges.heavy,
        groups=in_edges.groups,
        limit=limit,
    )
    kernel.start([given])
    wait(host, run.progress)
    iterations = int(host[DONE])
    alone = in_edges.heavy + in_edges.heaviest
    run.explain(f"pull on the GPU: {in_edges.groups:,} groups of {WARP} rows, {alone:,} rows by themselves")
    if apart:
        over = sum(each.nbytes - on_gpu(each) for each in (rows.sources, rows.weights))
        run.explain(f"each iteration reads {over:,} bytes of in-edges over the link")
    last = shares if iterations & 1 else other_shares
    del given, shares, other_shares
    if order is not None:
        result = by_vertices(begin, order)

    def last_shares() -> np.ndarray:
        if apart:
            return host_copy(last[:n] if order is None else by_vertices(last[:n], order))
        found = xp.empty(n, dtype)
        found[vertices] = last[in_edges.numbers]
        return host_copy(found)

    return Ranked(result, iterations, float(residual[0]), last_shares)


def by_vertices(values: Any, vertices: Any) -> Any:
    """Values of rows on the GPU, brought into the order of vertices, whose numbers the GPU reads; in pieces."""
    ordered = empty(len(values), values.dtype)
    for first in range(0, len(values), _PIECE):
        piece = slice(first, first + _PIECE)
        ordered[vertices[piece]] = values[piece]
    return ordered


def _make_apply(cast: Any, jumps: bool) -> Any:
    """A device function that makes a rank of the sum over a row."""
    nothing = cast(0)

    @device_function
    def apply(row, total, spread, damping, keep, scale, number, before, jump, ranks, new):
        """A row's new rank; by how much it changed, and the rank if it has no out-edges."""
        handed = spread * np.float64(jump) if jumps else spread
        value, change = cast(handed + damping * np.float64(total)), 0.0
        if keep:
            change = abs(np.float64(value) - np.float64(before))
            ranks.ranks[row] = value
        new[number] = value * scale
        return change, (np.float64(value) if scale == nothing else 0.0)

    return apply


def make_number_of(apart: bool) -> Any:
    """A device function that gives the number of a row's vertex: the row itself if the layout lies apart."""

    @device_function
    def number_of(row, rows):
        return np.uint32(row) if apart else rows.numbers[row]

    return number_of


def _make_iterate_heaviest(
    gathering: Gathering, apply: Any, number_of: Any, nothing: Any, jumps: bool, summing: Summing
) -> Any:
    """A device function that makes the ranks of the heaviest rows, each by a block."""
    row_bounds, gather = gathering.row_bounds, gathering.gather
    none, add = summing

    @inlined
    def iterate_heaviest(spread, keep, it, old, new, sums, box):
        """What this thread's rows changed, and their dangling rank."""
        rows, ranks, changed, dangling = it.rows, it.ranks, none, none
        for row in range(block_index(), it.heaviest, num_blocks()):
            first, left = row_bounds(row, it)
            total = np.float64(gather(first, left, np.int32(THREADS), it, old, box))
            total = warp_sum(total)
            block_barrier()
            if lane() == 0:
                sums[FIRST + block_thread() // WARP] = total
            block_barrier()
            if block_thread() == 0:
                total = 0.0
                for warp in range(block_size() // WARP):
                    total += sums[FIRST + warp]
                scale, number, before = ranks.scale[row], number_of(row, rows), ranks.ranks[row]
                jump = ranks.jump[row] if jumps else nothing
                more, hanging = apply(
                    row, total, spread, it.damping, keep, scale, number, before, jump, ranks, new
                )
                changed = add(changed, more)
                dangling = add(dangling, hanging)
        return changed, dangling

    return iterate_heaviest


def make_iterate(
    cast: Any, gathering: Gathering, jumps: bool, number_of: Any, summing: Summing = IN_FLOATS
) -> Any:
    """A device function that makes all ranks of the shares before."""
    nothing, add = cast(0), summing.add
    (bounds, _, gather), apply = gathering, _make_apply(cast, jumps)
    iterate_heaviest = _make_iterate_heaviest(gathering, apply, number_of, nothing, jumps, summing)

    @device_function
    def iterate(spread, keep, it, old, new, sums, box):
        """One iteration over all units; what this thread's rows changed, and their dangling rank."""
        damping, n, rows, ranks = it.damping, it.n, it.rows, it.ranks
        changed, dangling = iterate_heaviest(spread, keep, it, old, new, sums, box)
        # Units grow shorter, so warps take them in turns from the front and from the back of each round. What does not
        # depend on the sum is loaded before it.
        warp, warps = np.int32(thread_index() // WARP), np.int32(num_threads() // WARP)
        alone = np.int32(it.heaviest + it.heavy)
        units, base, forth = np.int32(alone + it.groups), np.int32(it.heaviest), True
        unit = np.int32(base + warp)
        first, left = bounds(unit, units, it)
        while base < units:
            base, forth, now, here, count = np.int32(base + warps), not forth, unit, first, left
            unit = np.int32(base + (warp if forth else warps - 1 - warp))
            first, left = bounds(unit, units, it)
            row = now
            if now >= alone:
                row = np.int32(alone + (now - alone) * WARP + lane())
            elif lane() != 0:
                row = np.int32(n)
            has_row = now < units and row < n
            scale, number, before, jump = nothing, np.uint32(0), nothing, nothing
            if has_row:
                scale, number = ranks.scale[row], number_of(row, rows)
                if keep:
                    before = ranks.ranks[row]
                if jumps:
                    jump = ranks.jump[row]
            total = gather(here, count, np.int32(WARP), it, old, box)
            if now < alone:
                total = warp_sum(total)
            if has_row:
                more, hanging = apply(
                    row, total, spread, damping, keep, scale, number, before, jump, ranks, new
                )
                changed = add(changed, more)
                dangling = add(dangling, hanging)
        return changed, dangling

    return iterate


@device_function
def _partial_row(parity: Any) -> Any:
    """Where the blocks' sums of every other iteration begin."""
    return parity * 2 * num_blocks()


@device_function
def _add_up(
    changed: Any, dangling: Any, partial: Any, parity: Any, control: Any, generation: Any, sums: Any
) -> Any:
    """Write sums over all threads, in a fixed order, to `sums`. That takes a barrier of all; returns its turn."""
    changed, dangling = warp_sums(changed, dangling)
    warp, warps = block_thread() // WARP, block_size() // WARP
    block_barrier()
    if lane() == 0:
        sums[FIRST + warp] = changed
        sums[SECOND + warp] = dangling
    block_barrier()
    row = _partial_row(parity)
    if warp == 0:
        changed, dangling = 0.0, 0.0
        for w in range(lane(), warps, WARP):
            changed += sums[FIRST + w]
            dangling += sums[SECOND + w]
        changed, dangling = warp_sums(changed, dangling)
        if lane() == 0:
            partial[row + block_index()] = changed
            partial[row + num_blocks() + block_index()] = dangling
    generation = grid_barrier(control, generation)
    if warp == 0:
        changed, dangling = 0.0, 0.0
        for b in range(lane(), num_blocks(), WARP):
            changed += partial[row + b]
            dangling += partial[row + num_blocks() + b]
        changed, dangling = warp_sums(changed, dangling)
        if lane() == 0:
            sums[CHANGED] = changed
            sums[DANGLING] = dangling
    block_barrier()
    return generation


def make_kernel(dtype: np.dtype, weighted: bool, jumps: bool, where: Where) -> Any:
    """The kernel for ranks of this dtype, with or without weights and a jump distribution.

    If the layout lies apart, in the host's memory, sources are packed unless there are weights, and ranks stay in the
    order of rows. In-edges that lie where they are have no weights, and their rows are in the order of vertices.
    """
    nothing, apart = dtype.type(0), where is not Where.LAID_OUT
    gathering, box_words, box_type = make_gathering(nothing, weighted), 1, UINT32
    if where is Where.APART and not weighted:
        gathering, box_words = make_unpacking(nothing), THREADS // WARP * UNPACK_WORDS
    elif where is Where.IN_PLACE:
        gathering, box_words = make_gathering_in_place(nothing), THREADS // WARP * ROUND
        box_type = numba_type(dtype)
    number_of = make_number_of(apart)
    iterate = make_iterate(dtype.type, gathering, jumps, number_of)

    def pagerank_kernel(it):
        """Iterate; see the module, and `Iteration`."""
        rows, ranks, control, n = it.rows, it.ranks, it.control, it.n
        damping, enough, limit = it.damping, it.enough, it.limit
        sums = cuda.shared.array(SUMS, FLOAT64)
        box = cuda.shared.array(box_words, box_type)
        me, generation = thread_index(), np.int64(0)
        dangling = 0.0
        for row in range(me, n, num_threads()):
            value = ranks.ranks[row]
            ranks.shares[np.int64(number_of(row, rows))] = value * ranks.scale[row]
            if ranks.scale[row] == nothing:
                dangling += np.float64(value)
        if me == 0:
            ranks.shares[n] = nothing
            ranks.other_shares[n] = nothing
        generation = _add_up(0.0, dangling, it.partial, 0, control, generation, sums)
        iteration, converged = np.int64(0), False
        while iteration < limit and not converged and control[ABORTED + (iteration & 1)] == 0:
            spread = 1.0 - damping + damping * sums[DANGLING]
            if not jumps:
                spread /= n
            block_barrier()
            iteration += 1
            one, other = ranks.shares, ranks.other_shares
            old, new = (one, other) if iteration & 1 else (other, one)
            keep = enough > 0.0 or iteration >= limit - 1  # the last change is one from the iteration before
            changed, dangling = iterate(spread, keep, it, old, new, sums, box)
            if me == 0:
                it.host[PROGRESS] = iteration
                control[ABORTED + (iteration & 1)] = it.host[CANCEL]
            generation = _add_up(changed, dangling, it.partial, iteration & 1, control, generation, sums)
            converged = enough > 0.0 and sums[CHANGED] <= enough
        if not apart:
            for row in range(me, n, num_threads()):
                ranks.result[np.int64(rows.vertices[row])] = ranks.ranks[row]
        if me == 0:
            it.host[DONE] = iteration
            it.residual[0] = sums[CHANGED]

    return pagerank_kernel
