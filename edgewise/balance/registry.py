"""The strategies of `edgewise.balance` by the names that schedules have for them."""

from edgewise.balance.automatic import make_automatic
from edgewise.balance.binned import make_binned
from edgewise.balance.block import make_block_mapped
from edgewise.balance.contract import Bodies, Strategy
from edgewise.balance.edge_based import make_edge_based
from edgewise.balance.grouped import make_grouped
from edgewise.balance.hierarchical import make_hierarchical
from edgewise.balance.mapped import make_mapped
from edgewise.balance.node_splitting import make_splitting
from edgewise.balance.workload_decomposition import make_decomposed
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


def of_code(balance: Balance) -> Balance:
    """What of a schedule's choice the code of a kernel depends on: bounds on degrees and depths are data."""
    return type(balance)() if isinstance(balance, NodeSplitting | HierarchicalProcessing) else balance


def make_strategy(balance: Balance, bodies: Bodies) -> Strategy:
    """The strategy of a schedule's choice, for these bodies."""
    if balance == "auto":
        return make_automatic(bodies)
    if isinstance(balance, NodeSplitting):
        return make_splitting(bodies)
    if isinstance(balance, HierarchicalProcessing):
        return make_hierarchical(bodies)
    if isinstance(balance, WorkloadDecomposition | MergePath):
        return make_decomposed(int(isinstance(balance, MergePath)), bodies)
    if isinstance(balance, EdgeBased):
        return make_edge_based(balance.chunking, bodies)
    if isinstance(balance, ThreadMapped):
        return make_mapped(make_grouped(1), bodies)
    if isinstance(balance, WarpMapped):
        return make_mapped(make_grouped(balance.lanes), bodies)
    return make_mapped(make_block_mapped if isinstance(balance, BlockMapped) else make_binned, bodies)
