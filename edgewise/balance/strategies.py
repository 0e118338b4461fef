"""The strategies by the names that schedules have for them."""

from typing import Any

import numpy as np

from edgewise.balance.binned import make_binned
from edgewise.balance.block import make_block_mapped
from edgewise.balance.contract import WHOLE, Bodies, Strategy
from edgewise.balance.deal import PIECE, degree, list_pieces_from, make_walk
from edgewise.balance.decompose import make_decomposed, make_decomposed_pull
from edgewise.balance.edges import make_edge_based
from edgewise.balance.grouped import make_grouped
from edgewise.balance.hierarchical import make_hierarchical
from edgewise.balance.split import make_splitting
from edgewise.kernels.gpu import WARP, device_function, lane, num_threads, thread_index
from edgewise.schedule import (
    Balance,
    BlockMapped,
    EdgeBased,
    HierarchicalProcessing,
    MergePath,
    NodeSplitting,
    ThreadMapped,
    WarpMapped,
    WorkloadDecomposition,
)


def make_strategy(balance: Balance, bodies: Bodies, pushes: bool = True) -> Strategy:
    """The strategy of a schedule's choice.

    Args:
        balance: the choice.
        bodies: what is done with arcs.
        pushes: whether messages may be combined in any order.
    """
    if balance == "auto":
        return make_automatic(bodies)
    if isinstance(balance, NodeSplitting):
        return make_splitting(bodies)
    if isinstance(balance, HierarchicalProcessing):
        return make_hierarchical(bodies)
    if isinstance(balance, WorkloadDecomposition | MergePath):
        return make_decomposed(int(isinstance(balance, MergePath)), bodies)
    if isinstance(balance, EdgeBased):
        return make_edge_based(balance.chunking, bodies, pushes)
    if isinstance(balance, ThreadMapped):
        return make_mapped(make_grouped(1), bodies)
    if isinstance(balance, WarpMapped):
        return make_mapped(make_grouped(balance.lanes), bodies)
    return make_mapped(make_block_mapped if isinstance(balance, BlockMapped) else make_binned, bodies)


def make_mapped(view: Any, bodies: Bodies) -> Strategy:
    """The strategy of a view, for pushing and for gathering."""
    gather = bodies.gather

    @device_function
    def gather_whole(v, first, end, step, lanes, context):
        gather(v, first, end, step, lanes, np.int64(WHOLE), context)

    scatter_all, gather_all = view(bodies.scatter, True), view(gather_whole, False)

    @device_function
    def list_units(v, active, counter, run):
        return degree(v, run.graph[0]) if active else np.int64(0)

    @device_function
    def push_all(listed, count, counter, generation, context, run):
        scatter_all(listed, count, run.graph[0], run.scratch, context)
        return generation

    @device_function
    def pull_all(n, generation, context, run):
        gather_all(run.graph[3], n, run.graph[2], run.scratch, context)
        return generation

    return Strategy(list_units, push_all, pull_all)


def make_automatic(bodies: Bodies) -> Strategy:
    """What wins where nothing is asked for: three views, chosen at each superstep.

    The first `PIECE` arcs of a vertex that sends are dealt out to the lanes of a warp that has 32 vertices, or one
    while vertices are no more than warps; what it has beyond them is dealt out in pieces. Where vertices gather, lanes
    have them by degree, or equal shares of all arcs if some vertex has more than such a share: then the first word of
    the first array is not 0.
    """
    visit = bodies.visit
    walk, by_degree = make_walk(visit), make_mapped(make_binned, bodies).pull_all
    in_shares = make_decomposed_pull(False, 0, WHOLE, bodies)

    @device_function
    def list_units(v, active, counter, run):
        return list_pieces_from(np.int64(1), v, active, run.plan[1], run.control, counter, run.graph[0])

    @device_function
    def push_all(listed, count, counter, generation, context, run):
        warp, warps, offsets = thread_index() // WARP, num_threads() // WARP, run.graph[0]
        rest = run.control[counter]
        if count > warps:
            walk(listed, count, offsets, context)
        elif warp < count:
            v = np.int64(listed[warp])
            start, end = np.int64(offsets[v]), np.int64(offsets[v + 1])
            end = min(end, start + PIECE)
            for first in range(start, end, WARP):
                visit(first + lane() < end, v, np.int64(0), first + lane(), context)
        walk(run.plan[1], rest, offsets, context)
        return generation

    @device_function
    def pull_all(n, generation, context, run):
        if run.plan[0][0] != 0:
            no_scan = (run.plan[0], run.plan[0])
            return in_shares(run.graph[3], n, np.int64(0), generation, context, run, no_scan)
        return by_degree(n, generation, context, run)

    return Strategy(list_units, push_all, pull_all)
