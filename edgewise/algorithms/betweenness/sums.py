"""Results that are sums of dependencies, and their scale."""

from typing import Any

import numpy as np

from edgewise.algorithms.betweenness.cpu import ON_VERTICES
from edgewise.algorithms.betweenness.verify import verify_dependencies
from edgewise.algorithms.common.derived import check_derived, check_numbers
from edgewise.execution import Execution
from edgewise.graph import Graph, check_graph
from edgewise.result import HostArray, Result


class DependencyResult(Result):
    """Sums of dependencies over sources, on vertices or on arcs.

    Attributes:
        dependency: float64: the sum over sources for each vertex or arc, before it is scaled.
        num_sources: the number of sources.
        supersteps: the number of sources, too.
    """

    dependency = HostArray()
    _derived: tuple[str, ...] = ("centrality",)

    def __init__(
        self,
        graph: Graph,
        run: Execution,
        total: Any,
        sources: np.ndarray,
        targets: np.ndarray | None,
        weighted: bool,
        on: int,
        normalized: bool,
    ) -> None:
        super().__init__(graph, run, len(sources), {"dependency": total})
        self.num_sources = len(sources)
        self._sources, self._targets = sources, targets
        self._weighted, self._on, self._normalized = weighted, on, normalized

    def summary(self) -> dict[str, Any]:
        """The number of ``sources``."""
        return {"sources": self.num_sources}

    @property
    def _passes(self) -> int:
        return 2 * self.num_sources

    def _factors(self) -> Any:
        """See `scale_factors`."""
        ends, of_some = self._on != ON_VERTICES, self._targets is not None
        return scale_factors(self.graph, self._sources, self._normalized, ends, of_some)

    def verify(self, graph: Graph) -> bool:
        """Check the sums: see `verify.verify_dependencies`. It takes longer than to find them."""
        check_graph(f"{type(self).__name__}.verify", graph)
        check_derived(self, *self._derived)
        check_numbers(self, num_sources=len(self._sources))
        return verify_dependencies(
            graph, self._sources, self._targets, self._weighted, self._on, self.dependency
        )


def scale_factors(graph: Graph, sources: np.ndarray, normalized: bool, endpoints: bool, of_some: bool) -> Any:
    """The factors of sums of dependencies: a number, or float64, shape (n,).

    As in NetworkX from version 3.5 on, normalised values are divided by the number of pairs; others count each pair of
    an undirected graph once. Sums over some sources stand for those over all: a source is never between the ends of its
    own paths, so its sum has one source less. If no other source is left, its factor is 0; NetworkX gives NaN. Sums of
    paths to some vertices (`of_some`) stand for themselves, whatever the sources.
    """
    n, used = graph.num_vertices, len(sources)
    pairs_of = n if endpoints else n - 1  # for each source
    if pairs_of < 2:
        return 1.0
    weight = 1 / (pairs_of - 1) if normalized else pairs_of / (1 if graph.directed else 2)
    if of_some:
        return weight / pairs_of
    if used == n or endpoints:
        return weight / min(used, pairs_of) if used == n else weight / used
    factors = np.full(n, weight / used)
    factors[sources] = weight / (used - 1) if used > 1 else 0.0
    return factors
