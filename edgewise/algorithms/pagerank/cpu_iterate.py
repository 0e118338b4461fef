"""The steps of PageRank on the CPU: gather, apply, sum up, decide.

Threads take blocks of `BLOCK` vertices, and sums are made of blocks: within a block in a fixed order, then over the
blocks in theirs. A block stays in the first-level cache from the gathering to its last step, and all but the gathering
and the sums is plain arithmetic on arrays, which the compiler turns into vector instructions.
"""

from typing import Any, NamedTuple

import numpy as np

from edgewise.algorithms.common.gather import BLOCK, gather_block
from edgewise.kernels.cache import device_function
from edgewise.kernels.cpu.team import barrier, claim, report, rewind, team_kernel
from edgewise.kernels.words import CPU_LINE, Allocator

#: Words of the counters: iterations done, and whether the last one changed little enough to end.
COUNTERS = Allocator(0, CPU_LINE)
DONE, CONVERGED = COUNTERS.take_line(), COUNTERS.take_line()
_ONE, _TWO, _THREE, _FOUR = np.uint64(1), np.uint64(2), np.uint64(3), np.uint64(4)


class Web(NamedTuple):
    """The arcs and probabilities of the walk.

    Attributes:
        in_offsets, in_sources: the in-edges of the graph, unsigned.
        in_weights: of any dtype; empty if all arcs count alike.
        scale: shape (n,): the factor of a vertex's rank that goes along one arc (of weight 1); 0 without out-arcs.
        jump: shape (n,): the jump distribution, or empty for the uniform one.
    """

    in_offsets: np.ndarray
    in_sources: np.ndarray
    in_weights: np.ndarray
    scale: np.ndarray
    jump: np.ndarray


class Ranks(NamedTuple):
    """The arrays that an iteration changes.

    Attributes:
        rank: shape (n,).
        shares: shape (2, n + 1): rank times scale, for this iteration and for the next. The last element stays 0.
        partial: float64, shape (2, blocks): the change and the dangling rank of each block.
        sums: float64, shape (2,): the sums over all blocks.
        counters: int64, see `COUNTERS`; zeros.
    """

    rank: np.ndarray
    shares: np.ndarray
    partial: np.ndarray
    sums: np.ndarray
    counters: np.ndarray


@device_function
def _mix_in_jumps(web: Any, damping: Any, spread: Any, first: Any, last: Any, values: Any) -> None:
    """Turn gathered sums into new ranks; `spread` is the rank that is handed out by the jump distribution."""
    if len(web.jump):
        for v in range(first, last):
            values[v] = spread * web.jump[v] + damping * values[v]
    else:
        kept = spread / len(web.scale)
        for v in range(first, last):
            values[v] = kept + damping * values[v]


@device_function
def _sum_block(web: Any, rank: Any, values: Any, first: Any, last: Any) -> Any:
    """The change of ranks in a block, and the new rank of its vertices without out-arcs; four sums side by side."""
    changed_a, changed_b, changed_c, changed_d = 0.0, 0.0, 0.0, 0.0
    dangling_a, dangling_b, dangling_c, dangling_d = 0.0, 0.0, 0.0, 0.0
    v = first
    while v + _THREE < last:
        w, x, y = v + _ONE, v + _TWO, v + _THREE
        changed_a += abs(values[v] - rank[v])
        changed_b += abs(values[w] - rank[w])
        changed_c += abs(values[x] - rank[x])
        changed_d += abs(values[y] - rank[y])
        dangling_a += 0.0 if web.scale[v] else values[v]
        dangling_b += 0.0 if web.scale[w] else values[w]
        dangling_c += 0.0 if web.scale[x] else values[x]
        dangling_d += 0.0 if web.scale[y] else values[y]
        v += _FOUR
    while v < last:
        changed_a += abs(values[v] - rank[v])
        dangling_a += 0.0 if web.scale[v] else values[v]
        v += _ONE
    changed = (changed_a + changed_b) + (changed_c + changed_d)
    return changed, (dangling_a + dangling_b) + (dangling_c + dangling_d)


@device_function
def _store_block(web: Any, rank: Any, values: Any, first: Any, last: Any) -> None:
    """Store the new values as ranks, and turn them into shares."""
    for v in range(first, last):
        new = values[v]
        rank[v] = new
        values[v] = new * web.scale[v]


@device_function
def _sum_up(ranks: Any, iteration: Any, enough: Any) -> None:
    """Add up the blocks in their order, and decide whether to end."""
    for which in range(2):
        total = 0.0
        for block in range(ranks.partial.shape[1]):
            total += ranks.partial[which, block]
        ranks.sums[which] = total
    ranks.counters[DONE] = iteration
    ranks.counters[CONVERGED] = iteration > 0 and enough > 0.0 and ranks.sums[0] <= enough


@team_kernel
def iterate(
    thread: Any,
    size: Any,
    control: Any,
    web: Any,
    ranks: Any,
    damping: Any,
    enough: Any,
    iteration: Any,
    limit: Any,
    low: Any,
    high: Any,
) -> None:
    """Run the iterations from one to at most `limit`, until one changes at most `enough`, if that is not 0; only the
    blocks from `low` to before `high`.

    The iteration 0 changes nothing: it only turns the ranks to begin with into shares.
    """
    n, blocks = len(ranks.rank), high - low
    while True:
        share, values = ranks.shares[iteration & 1], ranks.shares[(iteration + 1) & 1]
        spread = 1.0 - damping + damping * ranks.sums[1]
        while True:
            block = claim(control, 0, 1, blocks)
            if block >= blocks:
                break
            block += low
            first, last = np.uint64(block * BLOCK), np.uint64(min(n, (block + 1) * BLOCK))
            if iteration > 0:
                gather_block(web.in_offsets, web.in_sources, web.in_weights, share, first, last, values)
                _mix_in_jumps(web, damping, spread, first, last, values)
            else:
                for v in range(first, last):
                    values[v] = ranks.rank[v]
            ranks.partial[0, block], ranks.partial[1, block] = _sum_block(
                web, ranks.rank, values, first, last
            )
            _store_block(web, ranks.rank, values, first, last)
        if barrier(control, size):
            return
        if thread == 0:
            _sum_up(ranks, iteration, enough)
            report(control, iteration)
            rewind(control, 0)
        if barrier(control, size) or ranks.counters[CONVERGED] != 0 or iteration >= limit:
            return
        iteration += 1


@team_kernel
def sum_up(thread: Any, size: Any, control: Any, ranks: Any, iteration: Any, enough: Any) -> None:
    """Add up the blocks of all ranks, and decide whether to end, by one thread."""
    _sum_up(ranks, iteration, enough)
