"""edgewise itself: the algorithms, and the plain programs of `examples/` on the general engine."""

import importlib.util
from collections.abc import Callable
from functools import cached_property
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

import edgewise as ew
from benchmarks.contenders import ALGORITHMS, DAMPING, ITERATIONS, Contender, Job

EXAMPLES = Path(__file__).resolve().parent.parent / "examples"


class Edgewise(Contender):
    """The algorithms as a user calls them. Every answer also passes `result.verify`."""

    name = package = "edgewise"
    tasks = ALGORITHMS

    def make(self) -> ew.Graph:
        """From the columns, with in-edges, which are made on demand and kept; an undirected edge is given once."""
        edges = self.edges
        graph = ew.Graph.from_edges(
            edges.source, edges.target, edges.weight, directed=edges.directed, num_vertices=edges.num_vertices
        )
        _ = graph.in_offsets
        return graph

    def num_arcs(self, graph: ew.Graph) -> int:
        """Edges, each once, if every vertex has its share of them and of their weight."""
        source, _, weight = self.edges.arcs()
        for ours, theirs in ((None, None), (graph.weights, weight)):
            expected = np.bincount(source, theirs, graph.num_vertices)
            if not np.array_equal(np.bincount(graph.sources, ours, graph.num_vertices), expected):
                return -1
        return graph.num_edges

    def _verified(self, result: Any, values: Any) -> Any:
        result.verify(self.graph)
        return values

    def bfs(self) -> Job:
        """Levels and parents."""

        def search() -> Any:
            return ew.bfs(self.graph, self.edges.start)

        return Job(search, lambda r: self._verified(r, r.level), "level", "levels and parents")

    def sssp(self) -> Job:
        """Distances and parents."""

        def search() -> Any:
            return ew.sssp(self.graph, self.edges.start)

        return Job(
            search, lambda r: self._verified(r, finite(r.distance)), "distance", "distances and parents"
        )

    def pagerank(self) -> Job:
        """The power iteration."""

        def iterate() -> Any:
            return ew.pagerank(self.graph, damping=DAMPING, tol=0.0, max_iterations=ITERATIONS)

        return Job(iterate, lambda r: self._verified(r, r.rank), "rank")

    def components(self) -> Job:
        """Weak components."""

        def search() -> Any:
            return ew.connected_components(self.graph)

        return Job(search, lambda r: self._verified(r, r.component), "component")

    def scc(self) -> Job:
        """Strong components."""
        return Job(lambda: ew.scc(self.graph), lambda r: self._verified(r, r.component), "component")

    def mst(self) -> Job:
        """The edges of the forest, and their weight."""

        def grow() -> Any:
            return ew.mst(self.graph, symmetrize=self.graph.directed)

        return Job(grow, lambda r: self._verified(r, r.total_weight), "total")

    def betweenness(self) -> Job:
        """From 16 sources."""
        some = self.edges.some().tolist()
        return Job(
            lambda: ew.betweenness(self.graph, sources=some),
            lambda r: self._verified(r, r.dependency),
            "dependency",
        )


class Plain(Edgewise):
    """The programs of `examples/`, prepared once: what the same algorithm costs on the general engine."""

    name = "edgewise-plain"
    tasks = ("bfs", "sssp", "pagerank", "components")

    @cached_property
    def examples(self) -> dict[str, ModuleType]:
        """The modules of `examples/` by file name."""
        return {path.stem: load(path) for path in sorted(EXAMPLES.glob("*.py"))}

    def bfs(self) -> Job:
        """Levels."""
        return self._job("bfs", "BFS", self.graph, lambda r: r.level, "level", source=self.edges.start)

    def sssp(self) -> Job:
        """Distances."""
        return self._job(
            "sssp", "SSSP", self.graph, lambda r: finite(r.distance), "distance", source=self.edges.start
        )

    def pagerank(self) -> Job:
        """The power iteration."""
        options = {"tol": 0.0, "max_supersteps": ITERATIONS}
        return self._job("pagerank", "PageRank", self.graph, lambda r: r.rank, "rank", **options)

    def components(self) -> Job:
        """Label propagation, along arcs: a directed graph is made undirected beforehand."""
        graph, edges = self.graph, self.edges
        if edges.directed:
            graph = ew.Graph.from_edges(edges.source, edges.target, None, False, edges.num_vertices)
        return self._job("components", "Components", graph, lambda r: r.label, "component")

    def _job(
        self,
        module: str,
        program: str,
        graph: ew.Graph,
        answer: Callable[[Any], np.ndarray],
        form: str,
        **given: Any,
    ) -> Job:
        prepared = ew.prepare(getattr(self.examples[module], program), graph)
        return Job(lambda: prepared(**given), answer, form)


def load(path: Path) -> ModuleType:
    """A Python file as a module."""
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def finite(values: np.ndarray) -> np.ndarray:
    """Integer distances as floats, with inf for the largest value, which means unreached."""
    if values.dtype.kind == "f":
        return values
    return np.where(values == np.iinfo(values.dtype).max, np.inf, values)
