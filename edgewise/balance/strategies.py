"""The strategies by the names that schedules have for them."""

from typing import Any

import numpy as np

from edgewise.balance.binned import make_binned
from edgewise.balance.block import make_block_mapped
from edgewise.balance.contract import WHOLE, Bodies, Strategy
from edgewise.balance.deal import PIECE, degree, list_pieces, make_walk
from edgewise.balance.decompose import make_decomposed, make_decomposed_pull
from edgewise.balance.edges import make_edge_based
from edgewise.balance.grouped import make_grouped
from edgewise.balance.hierarchical import make_hierarchical
from edgewise.balance.split import make_splitting
from edgewise.kernels.gpu import device_function
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

#: The word of the automatic strategy's array of facts that has the largest out-degree.
LARGEST = 0


def make_strategy(balance: Balance, bodies: Bodies, pushes: bool = True, searches: bool = False) -> Strategy:
    """The strategy of a schedule's choice.

    Args:
        balance: the choice.
        bodies: what is done with arcs.
        pushes: whether messages may be combined in any order.
        searches: whether one message can decide what a vertex gathers.
    """
    if balance == "auto":
        return make_automatic(bodies, searches)
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


def make_automatic(bodies: Bodies, searches: bool) -> Strategy:
    """What wins where nothing is asked for.

    Sent are pieces of vertices, dealt out to lanes; where no vertex has more arcs than a piece, vertices themselves,
    which need no second list. Gathered is by merge path; but where the first message decides, lanes have a vertex each,
    or a few or all of a warp or a block one by its degree, and leave off when it comes.
    """
    walk = make_walk(bodies.visit)
    by_degree = make_mapped(make_binned, bodies).pull_all
    by_merge_path = make_decomposed_pull(False, 1, WHOLE, bodies)

    @device_function
    def list_units(v, active, counter, run):
        if run.plan[0][LARGEST] > PIECE:
            return list_pieces(v, active, run.plan[1], run.control, counter, run.graph[0])
        return degree(v, run.graph[0]) if active else np.int64(0)

    @device_function
    def push_all(listed, count, counter, generation, context, run):
        if run.plan[0][LARGEST] > PIECE:
            walk(run.plan[1], run.control[counter], run.graph[0], context)
        else:
            walk(listed, count, run.graph[0], context)
        return generation

    @device_function
    def pull_all(n, generation, context, run):
        if searches:
            return by_degree(n, generation, context, run)
        none = (run.plan[1], run.plan[1])
        return by_merge_path(run.graph[3], n, np.int64(0), generation, context, run, none)

    return Strategy(list_units, push_all, pull_all)
