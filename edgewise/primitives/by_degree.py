"""Lanes by degree: one for few arcs, eight for some, a warp for many, and the whole block for a hub.

A warp looks at 32 vertices at a time, and a block at one for each of its threads. Hubs wait in shared memory until the
block's warps have done the others.

Reference. Merrill, Garland and Grimshaw, "Scalable GPU Graph Traversal", PPoPP 2012 (section 5: CTA, warp and scan).
"""

from typing import Any

import numpy as np

from edgewise.kernels.cuda.device import (
    THREADS,
    WARP,
    atomic_add,
    ballot,
    block_barrier,
    block_size,
    block_thread,
    device_function,
    first_bit,
    lane,
    num_threads,
    shuffle,
    thread_index,
)
from edgewise.primitives.vertices import HUB

#: A vertex with fewer than FEW arcs has one lane, with fewer than MANY it has GROUP lanes, with fewer than HUB a warp,
#: and with more the block.
FEW, MANY = 32, 64
#: How many words a block shares: hubs, and their number.
SCRATCH = THREADS + 1
GROUP = min(8, WARP)


def make_by_degree(body: Any, with_parts: bool = True) -> Any:
    """The function that shares out the arcs of a warp's 32 vertices by degree: each has one lane, eight, or all.

    Args:
        body: as `gather` of strategies, see `edgewise.balance`.
        with_parts: whether `part` differs between lanes.

    Returns:
        ``by_degree(v, start, end, part, context)``, called by all lanes of a warp at once.
    """

    @device_function
    def by_degree(v, start, end, part, context):
        degree = end - start
        some, many, first_round = ballot(FEW <= degree < MANY), ballot(degree >= MANY), True
        while first_round or some != 0 or many != 0:
            lanes, vertex, first, last, number = np.int64(1), v, start, end, part
            if first_round:
                if degree >= FEW:
                    vertex, last = np.int64(-1), start
            else:
                chosen = some if some != 0 else many
                lanes = np.int64(GROUP) if some != 0 else np.int64(WARP)
                group, place = lane() // lanes, lane() % lanes
                mine, rest = chosen, chosen
                for _ in range(group):
                    mine = np.uint32(mine & (mine - np.uint32(1)))
                for _ in range(WARP // lanes):
                    rest = np.uint32(rest & (rest - np.uint32(1)))
                holder = first_bit(mine) if mine != 0 else np.int64(0)
                vertex, first, last = shuffle(v, holder), shuffle(start, holder), shuffle(end, holder)
                number = shuffle(part, holder) if with_parts else part
                if mine == 0:
                    vertex, last = np.int64(-1), first
                first += place
                if some != 0:
                    some = rest
                else:
                    many = rest
            first_round = False
            body(vertex, first, last, lanes, lanes, number, context)

    return by_degree


def make_binned(body: Any, listed: bool) -> Any:
    """The view of lanes by degree. `scratch` is uint32, (SCRATCH,), shared by the block."""

    @device_function
    def whole(v, first, end, step, lanes, part, context):
        body(v, first, end, step, lanes, context)

    by_degree = make_by_degree(whole, with_parts=False)

    @device_function
    def each(vertices, low, high, offsets, scratch, context):
        waiting = block_size()  # the word of `scratch` that counts hubs
        for begin in range(low, high, num_threads()):
            i, v, start, end = begin + thread_index(), np.int64(-1), np.int64(0), np.int64(0)
            if block_thread() == 0:
                scratch[waiting] = 0
            block_barrier()
            if i < high:
                v = np.int64(vertices[i]) if listed else i
                start, end = np.int64(offsets[v]), np.int64(offsets[v + 1])
            if end - start >= HUB:
                scratch[atomic_add(scratch, waiting, np.uint32(1))] = v
                v, end = np.int64(-1), start
            by_degree(v, start, end, np.int64(0), context)
            block_barrier()
            for hub in range(scratch[waiting]):
                v = np.int64(scratch[hub])
                first, end = np.int64(offsets[v]) + block_thread(), np.int64(offsets[v + 1])
                body(v, first, end, block_size(), block_size(), context)
            block_barrier()

    return each
