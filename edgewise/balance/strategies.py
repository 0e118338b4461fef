"""The strategies by the names that schedules have for them."""

from typing import Any

import numpy as np

from edgewise.balance.binned import make_binned
from edgewise.balance.block import make_block_mapped
from edgewise.balance.contract import WHOLE, Bodies, Strategy
from edgewise.balance.deal import degree, list_pieces, make_walk
from edgewise.balance.decompose import make_decomposed
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


def make_strategy(balance: Balance, bodies: Bodies, pushes: bool = True) -> Strategy:
    """The strategy of a schedule's choice; for "auto", pieces dealt out, and lanes by degree where vertices gather.

    Args:
        pushes: whether messages may be combined in any order.
    """
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
    if isinstance(balance, BlockMapped):
        return make_mapped(make_block_mapped, bodies)
    by_degree = make_mapped(make_binned, bodies)
    return by_degree if balance != "auto" else make_dealt(bodies)._replace(pull_all=by_degree.pull_all)


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


def make_dealt(bodies: Bodies) -> Strategy:
    """The strategy that lists pieces of vertices and deals out their arcs, for pushing."""
    walk = make_walk(bodies.visit)

    @device_function
    def list_units(v, active, counter, run):
        return list_pieces(v, active, run.plan[0], run.control, counter, run.graph[0])

    @device_function
    def push_all(listed, count, counter, generation, context, run):
        walk(run.plan[0], run.control[counter], run.graph[0], context)
        return generation

    return Strategy(list_units, push_all, None)
