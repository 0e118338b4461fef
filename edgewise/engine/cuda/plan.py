"""What a strategy needs for a graph: arrays made once, and those that each run has for itself."""

from collections.abc import Callable
from typing import Any

import numpy as np

from edgewise.balance.automatic import LANES
from edgewise.balance.binned import MANY
from edgewise.balance.edge_based import ENDS_BYTES, edge_types
from edgewise.balance.hierarchical import heavy_vertices, hierarchical_types
from edgewise.balance.node_splitting import (
    SPLIT_BYTES,
    Children,
    children_types,
    likely_degree,
    split_vertices,
)
from edgewise.balance.workload_decomposition import scan_types
from edgewise.graph import Graph
from edgewise.kernels.cuda import memory as cuda_memory
from edgewise.kernels.cuda.arguments import pointer
from edgewise.kernels.cuda.device import THREADS, WARP
from edgewise.layout.slots import own_ends
from edgewise.schedule import (
    Balance,
    EdgeBased,
    HierarchicalProcessing,
    MergePath,
    NodeSplitting,
    WorkloadDecomposition,
)

#: As many sub-iterations as there are arcs.
NO_LIMIT = np.iinfo(np.int64).max
VERTEX, WORD = np.dtype(np.uint32), np.dtype(np.int64)


def plan_types(balance: Balance, offsets: np.dtype) -> list[Any]:
    """The types of a strategy's arrays, for graphs with offsets of this dtype."""
    if isinstance(balance, NodeSplitting):
        return [*children_types(offsets), *children_types(offsets), pointer(VERTEX)]
    if isinstance(balance, HierarchicalProcessing):
        return hierarchical_types()
    if isinstance(balance, WorkloadDecomposition | MergePath):
        return scan_types()
    if isinstance(balance, EdgeBased):
        return edge_types(offsets)
    return [pointer(WORD), *scan_types()] if balance == "auto" else []


def largest_degree(offsets: Any) -> int:
    """The most arcs that a vertex has. `offsets` is on the GPU."""
    return int(cuda_memory.cupy().diff(offsets).max()) if len(offsets) > 1 else 0


class Plan:
    """A strategy's arrays for a graph, for a kernel that pushes, or pulls, or both.

    Attributes:
        fixed: arrays on the GPU that all runs share.
        own: length and dtype of each array that a run has for itself; they follow the others.
        num_parts: parts of vertices that are gathered over.
        notes: for `Result.explain`.
    """

    def __init__(self, graph: Graph, balance: Balance, push: bool, pull: bool) -> None:
        self._graph, self._push, self._pull = graph, push, pull
        self.fixed: list[Any] = []
        self.own: list[tuple[int, np.dtype]] = []
        self.notes: tuple[str, ...] = ()
        self.num_parts = 0
        n, warps = graph.num_vertices if push else 0, cuda_memory.most_threads() // WARP if pull else 0
        scan = [(graph.num_vertices, WORD), (cuda_memory.most_threads() // THREADS, WORD)]
        if isinstance(balance, NodeSplitting):
            out = self._split(balance, "offsets", "out-edges") if push else None
            inward = self._split(balance, "in_offsets", "in-edges") if pull else None
            self.fixed = [*(out or inward or ()), *(inward or out or ())]
            self.own = [(len(out.parent) if out else 0, VERTEX)]
            self.num_parts = len(inward.parent) if inward else 0
        elif isinstance(balance, HierarchicalProcessing):
            self.fixed, self.own = self._hierarchy(balance), [(n, VERTEX), (n, VERTEX), *scan]
            self.num_parts = warps
        elif isinstance(balance, WorkloadDecomposition | MergePath):
            self.own = scan if push else [(0, WORD)] * 2
            self.num_parts = warps
        elif isinstance(balance, EdgeBased):
            ends = [self._ends(name) for name, used in (("offsets", push), ("in_offsets", pull)) if used]
            self.fixed = [ends[0], ends[-1]]
            self.own = [(graph.num_arcs if push else 0, np.dtype(f"u{graph.stored('offsets').itemsize}"))]
        elif balance == "auto":
            if push:
                few = f"{LANES} lanes for each vertex"
                self.notes = (f"pushing with {few}, in equal shares if one has more than {MANY} out-edges",)
            shares = pull and self._gathers_in_shares()
            self.fixed = [cuda_memory.copy_of(np.array([shares], WORD))]
            self.own = scan if push else [(0, WORD)] * 2
            self.num_parts = warps

    def _gathers_in_shares(self) -> bool:
        """Whether some vertex has more in-edges than a warp has if all have as many, with a block on each
        multiprocessor."""
        largest = self._kept("in_offsets", ("largest degree",), 8 * self._graph.num_vertices, largest_degree)
        share = self._graph.num_arcs // max(1, cuda_memory.most_threads() // (2 * WARP))
        shares = bool(largest > share)
        self.notes += (
            f"gathering {'in equal shares' if shares else 'by degree'}, if at all: the largest in-degree is "
            f"{largest:,}, a warp's share {share:,}",
        )
        return shares

    def nbytes(self) -> int:
        """The memory that a run needs for its own arrays."""
        return sum(length * dtype.itemsize for length, dtype in self.own)

    def _kept(self, name: str, key: Any, needed: int, make: Callable[[Any], Any]) -> Any:
        """What is made of a graph's offsets when it is first asked for, and kept with the graph."""
        graph = self._graph

        def made() -> Any:
            offsets = graph.on_gpu(name)
            with cuda_memory.room(key[0], needed):
                return make(offsets)

        return cuda_memory.resident(graph.itself, (*key, name), made)

    def _ends(self, name: str) -> Any:
        """The vertex whose row each arc is in."""
        m = self._graph.num_arcs
        return self._kept(name, ("sources of edges",), ENDS_BYTES * m, lambda offsets: own_ends(offsets, m))

    def _bound(self, balance: NodeSplitting | HierarchicalProcessing, name: str) -> int:
        """The most arcs of a vertex that a thread has at a time."""
        if balance.max_degree != "auto":
            return min(balance.max_degree, max(1, self._graph.num_arcs))
        needed = 16 * self._graph.num_vertices
        found: int = self._kept(
            name, ("degrees", balance.bins), needed, lambda offsets: likely_degree(offsets, balance.bins)
        )
        return found

    def _split(self, balance: NodeSplitting, name: str, what: str) -> Children:
        """The children of all vertices in one direction."""
        n, bound = self._graph.num_vertices, self._bound(balance, name)
        children: Children = self._kept(
            name, ("node splitting", bound), SPLIT_BYTES * n, lambda offsets: split_vertices(offsets, bound)
        )
        count = int(children.split[0])
        self.notes += (
            f"node splitting: {count:,} of {n:,} vertices have more than {bound:,} {what}; they became "
            f"{len(children.parent) - n + count:,}",
        )
        return children

    def _hierarchy(self, balance: HierarchicalProcessing) -> list[Any]:
        """The bounds, and the vertices with many in-edges."""
        n, depth = self._graph.num_vertices, balance.depth
        out = self._bound(balance, "offsets") if self._push else 0
        inward, heavy = 0, cuda_memory.empty(0, VERTEX)
        if self._pull:
            inward = self._bound(balance, "in_offsets") if n >= THREADS and depth != 0 else 0
            heavy = self._kept(
                "in_offsets", ("heavy", inward), 24 * n, lambda offsets: heavy_vertices(offsets, inward)
            )
        numbers = [out, inward, NO_LIMIT if depth is None else min(depth, NO_LIMIT), len(heavy)]
        for bound, what in ((out, "out-edges"), (inward, "in-edges")):
            if bound:
                self.notes += (f"hierarchical processing: at most {bound:,} {what} in a sub-iteration",)
        self.notes += (f"hierarchical processing: lists of fewer than {THREADS:,} are decomposed",)
        return [cuda_memory.copy_of(np.array(numbers, WORD)), heavy]
