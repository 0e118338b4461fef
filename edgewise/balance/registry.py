"""The strategies of `edgewise.balance`, by the choices of schedules."""

from collections.abc import Callable
from functools import partial
from typing import Any

from edgewise.balance.automatic import AutomaticStrategy
from edgewise.balance.block import make_block_mapped
from edgewise.balance.contract import Strategy
from edgewise.balance.edge_based import EdgeBasedStrategy
from edgewise.balance.grouped import make_grouped
from edgewise.balance.hierarchical import HierarchicalStrategy
from edgewise.balance.mapped import MappedStrategy
from edgewise.balance.node_splitting import NodeSplittingStrategy
from edgewise.balance.replicated import ReplicatedStrategy
from edgewise.balance.workload_decomposition import DecomposedStrategy
from edgewise.primitives.by_degree import make_binned
from edgewise.schedule import (
    Balance,
    Binned,
    BlockMapped,
    EdgeBased,
    HierarchicalProcessing,
    MergePath,
    NodeSplitting,
    Replicated,
    ThreadMapped,
    WarpMapped,
    WorkloadDecomposition,
)

#: Functions that make a strategy from a choice, by the type of the choice; "auto" is a string.
STRATEGIES: dict[type, Callable[[Any], Strategy]] = {
    str: AutomaticStrategy,
    ThreadMapped: partial(MappedStrategy, view=make_grouped(1)),
    WarpMapped: lambda choice: MappedStrategy(choice, make_grouped(choice.lanes)),
    BlockMapped: partial(MappedStrategy, view=make_block_mapped),
    Binned: partial(MappedStrategy, view=make_binned),
    EdgeBased: EdgeBasedStrategy,
    WorkloadDecomposition: partial(DecomposedStrategy, cost=0),
    MergePath: partial(DecomposedStrategy, cost=1),
    NodeSplitting: NodeSplittingStrategy,
    HierarchicalProcessing: HierarchicalStrategy,
    Replicated: ReplicatedStrategy,
}


def strategy_of(choice: Balance) -> Strategy:
    """The strategy for a schedule's choice."""
    return next(STRATEGIES[kind] for kind in type(choice).__mro__ if kind in STRATEGIES)(choice)
