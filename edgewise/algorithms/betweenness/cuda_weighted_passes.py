"""What a run of `cuda_weighted` keeps, and the walks along arcs that count them."""

from typing import Any, NamedTuple

import numpy as np

from edgewise.algorithms.betweenness.cuda_batch import FOUND, LONG_OUT_ROWS, LONG_ROWS, LOST
from edgewise.algorithms.sssp import cuda as sssp_cuda
from edgewise.kernels.cuda.arguments import (
    AtomicInt32s,
    AtomicInt64s,
    Float64s,
    Int32s,
    Int64s,
    Keys,
    Uint8s,
    Uint32s,
)
from edgewise.kernels.cuda.device import (
    atomic_add,
    ballot,
    block_size,
    block_thread,
    device_function,
)
from edgewise.primitives.deal import degree, make_deal, reserve
from edgewise.primitives.row_sums import LONG, Worklist, list_long, take_long


class WeightedSearch(NamedTuple):
    """The arrays of a run.

    Attributes:
        dist: keys of distances, (n,).
        waiting: (n,): in-edges on shortest paths from vertices that are not done.
        listed: (n,): vertices in the order of supersteps.
        starts: (n + 2,): where supersteps begin in it.
        paths, powers: (n,): numbers of paths; powers only if there are any.
        shares: (n,).
        is_target: (n,): 1 for vertices to which paths count, if it is not all.
        totals: sums of dependencies on vertices, (n,), or on arcs, (m,).
        long_rows, long_out_rows: (m // LONG + 1,): room for long rows.
        control, host: zeros, see `cuda_batch.CONTROL`; words in the host's memory.
    """

    dist: Keys
    waiting: AtomicInt32s
    listed: Uint32s
    starts: Int64s
    paths: Float64s
    powers: Int32s
    shares: Float64s
    is_target: Uint8s
    totals: Float64s
    long_rows: Int64s
    long_out_rows: Int64s
    control: AtomicInt64s
    host: Int64s


class Source(NamedTuple):
    """What the functions of a source work with.

    Attributes:
        graph: the graph.
        state: see `WeightedSearch`.
        n, source: vertices and the source.
        on: what dependencies are on; see `cpu`.
        has_long: whether there are long rows.
        some_targets: whether only paths to some vertices count.
        sums, powers, taken: see `edgewise.primitives.row_sums.Worklist`.
    """

    graph: Any
    state: Any
    n: Any
    source: Any
    on: Any
    has_long: Any
    some_targets: Any
    sums: Any
    powers: Any
    taken: Any


@device_function
def in_worklist(here, it):
    """The worklist of long rows that a pass adds up."""
    state = it.state
    return Worklist(state.long_rows, state.control, here + LONG_ROWS, it.sums, it.powers, it.taken)


@device_function
def out_worklist(here, it):
    """The worklist of long rows whose out-edges a pass visits."""
    state = it.state
    return Worklist(state.long_out_rows, state.control, here + LONG_OUT_ROWS, it.sums, it.powers, it.taken)


def make_passes(distance: np.dtype, weighted: bool) -> tuple[Any, Any, Any]:
    """Device functions for distances of this dtype, with weights or with 1 for each arc.

    ``is_shortest(before, after, k, weights)`` says whether an arc between vertices of such distances is on shortest
    paths. ``walk(v, takes, level, worklist, it)`` and ``walk_long(level, worklist, it)`` visit out-edges.
    """
    plus, _, weight_of = sssp_cuda.make_sums(distance, weighted)

    @device_function
    def is_shortest(before, after, k, weights):
        return before < after and plus(before, weight_of(k, weights)) == after

    @device_function
    def visit(takes, v, before, k, context):
        """Count an arc at its target if it is on shortest paths; or count it off, and list the target after the last
        one."""
        level, it = context
        tail, here, change = level
        state, is_ready, target = it.state, False, np.int64(0)
        if takes:
            target = np.int64(it.graph.targets[k])
            after = plus(before, weight_of(k, it.graph.weights))
            if after <= before:
                state.control[LOST] = 1
            elif after == np.int64(state.dist[target]):
                is_ready = atomic_add(state.waiting, target, np.int32(change)) == 1 and change < 0
        if ballot(is_ready) != 0:
            place = tail + reserve(np.int64(is_ready), state.control, here + FOUND)
            if is_ready:
                state.listed[place] = np.uint32(target)
        return np.int64(0), np.int64(0)

    visit_all = make_deal(visit, vertex=False, key=True)

    @device_function
    def walk(v, takes, level, worklist, it):
        """Visit the out-edges of the vertices of a warp's lanes. Long rows are put on the worklist instead.

        Args:
            v, takes: this lane's vertex, if it has one.
            level: how many vertices are listed, where the pass's words begin, and by how much arcs are counted.
            worklist: of long rows.
            it: see `Source`.
        """
        start, length, before = np.int64(0), np.int64(0), np.int64(0)
        if takes:
            start, length = np.int64(it.graph.offsets[v]), degree(v, it.graph.offsets)
            before = np.int64(it.state.dist[v])
        is_long = length > LONG
        list_long(v, np.int64(0), is_long, worklist)
        if is_long:
            length = np.int64(0)
        visit_all(v, start, length, before, (level, it))

    @device_function
    def walk_long(level, worklist, it):
        """Visit the arcs of long rows. A block takes one row at a time."""
        count, i = worklist.control[worklist.word], take_long(worklist)
        while i < count:
            v = worklist.rows[i]
            before, end = np.int64(it.state.dist[v]), np.int64(it.graph.offsets[v + 1])
            for first in range(np.int64(it.graph.offsets[v]), end, block_size()):
                k = first + block_thread()
                visit(k < end, v, before, k, (level, it))
            i = take_long(worklist)

    return is_shortest, walk, walk_long
