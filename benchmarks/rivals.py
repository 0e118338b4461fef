"""The libraries that a user would pick instead."""

from typing import Any

import numpy as np

from benchmarks.contenders import ALGORITHMS, DAMPING, ITERATIONS, Contender, Job


class SciPy(Contender):
    """`scipy.sparse.csgraph`, and a sparse product for PageRank. One thread."""

    name = package = "scipy"

    def make(self) -> Any:
        """COO to CSR, with the dtype of the weights, and, of a directed graph, the transposed matrix for in-edges."""
        import scipy.sparse

        source, target, weight = self.edges.arcs()
        shape = (self.edges.num_vertices, self.edges.num_vertices)
        rows = scipy.sparse.coo_array((weight, (source, target)), shape=shape).tocsr()
        return rows, rows.T.tocsr() if self.edges.directed else rows

    def __init__(self, edges: Any) -> None:
        super().__init__(edges)
        self.matrix = self.graph[0].astype(np.float64)  # csgraph would convert other dtypes at each call

    def num_arcs(self, graph: Any) -> int:
        """Stored entries, if there are as many each way."""
        rows, columns = graph
        return int(rows.nnz) if rows.nnz == columns.nnz else -1

    def bfs(self) -> Job:
        """Order and parents; csgraph has no faster way to levels."""
        from scipy.sparse.csgraph import breadth_first_order

        def parents(result: Any) -> np.ndarray:
            _, parent = result
            return np.where(parent < 0, -1, parent)

        return Job(
            lambda: breadth_first_order(self.matrix, self.edges.start), parents, "parent", "parents only"
        )

    def sssp(self) -> Job:
        """Dijkstra's algorithm with a Fibonacci heap."""
        from scipy.sparse.csgraph import dijkstra

        return Job(
            lambda: dijkstra(self.matrix, indices=self.edges.start), np.asarray, "distance", "no parents"
        )

    def pagerank(self) -> Job:
        """The power iteration; the normalised and transposed matrix is made beforehand."""
        import scipy.sparse

        n = self.edges.num_vertices
        degree = np.diff(self.matrix.indptr)
        dangling = np.flatnonzero(degree == 0)
        share = np.repeat(1.0 / np.maximum(degree, 1), degree)
        outgoing = scipy.sparse.csr_array((share, self.matrix.indices, self.matrix.indptr), shape=(n, n))
        incoming = outgoing.T.tocsr()

        def iterate() -> np.ndarray:
            rank = np.full(n, 1.0 / n)
            for _ in range(ITERATIONS):
                rank = DAMPING * (incoming @ rank) + (DAMPING * rank[dangling].sum() + 1 - DAMPING) / n
            return rank

        return Job(iterate, np.asarray, "rank")

    def components(self) -> Job:
        """Weak components, of directed and undirected graphs alike."""
        return self._components("weak")

    def scc(self) -> Job:
        """Strong components; of an undirected graph, the components."""
        return self._components("strong" if self.edges.directed else "weak")

    def _components(self, connection: str) -> Job:
        from scipy.sparse.csgraph import connected_components

        return Job(
            lambda: connected_components(self.matrix, connection=connection), lambda r: r[1], "component"
        )

    def mst(self) -> Job:
        """Kruskal's algorithm, on the graph as if each arc were an edge; an undirected edge is there once."""
        import scipy.sparse
        from scipy.sparse.csgraph import minimum_spanning_tree

        edges = self.matrix if self.edges.directed else scipy.sparse.triu(self.matrix, format="csr")
        return Job(lambda: minimum_spanning_tree(edges), lambda r: r.sum(), "total")


class NetworKit(Contender):
    """networkit: C++ with OpenMP. Its `KruskalMSF` (11.3) corrupts memory on the first graph, so it has no forests."""

    name = package = "networkit"
    tasks = tuple(name for name in ALGORITHMS if name not in ("mst", "betweenness"))

    def make(self) -> Any:
        """The graph from COO columns; it reads 32-bit indices wrongly, so they are widened here."""
        import networkit

        edges = self.edges
        columns = (edges.source.astype(np.int64), edges.target.astype(np.int64))
        data = (edges.weight.astype(np.float64), columns)
        return networkit.GraphFromCoo(data, n=edges.num_vertices, weighted=True, directed=edges.directed)

    def num_arcs(self, graph: Any) -> int:
        """Edges, each once."""
        return int(graph.numberOfEdges())

    def _distances(self, algorithm: Any) -> np.ndarray:
        distances = np.asarray(algorithm.getDistances(asarray=True))
        return np.where(distances > 1e300, np.inf, distances)

    def bfs(self) -> Job:
        """Levels, without parents."""
        from networkit.distance import BFS

        def search() -> Any:
            return BFS(self.graph, self.edges.start, storePaths=False).run()

        return Job(search, lambda r: finite_levels(self._distances(r)), "level", "no parents")

    def sssp(self) -> Job:
        """Dijkstra's algorithm."""
        from networkit.distance import Dijkstra

        def search() -> Any:
            return Dijkstra(self.graph, self.edges.start, storePaths=False).run()

        return Job(search, self._distances, "distance", "no parents")

    def pagerank(self) -> Job:
        """The power iteration, the same number of times; weights count, so an unweighted copy is used."""
        import networkit
        from networkit.centrality import PageRank, SinkHandling

        graph = networkit.graphtools.toUnweighted(self.graph)

        def iterate() -> Any:
            algorithm = PageRank(graph, DAMPING, 0.0, False, SinkHandling.DistributeSinks)
            algorithm.maxIterations = ITERATIONS
            return algorithm.run()

        return Job(iterate, lambda r: np.asarray(r.scores()), "rank")

    def components(self) -> Job:
        """Weak components, or with label propagation and contraction where the graph is undirected."""
        from networkit.components import ParallelConnectedComponents, WeaklyConnectedComponents

        algorithm = WeaklyConnectedComponents if self.edges.directed else ParallelConnectedComponents

        return Job(lambda: algorithm(self.graph).run(), self._labels, "component")

    def _labels(self, components: Any) -> np.ndarray:
        return np.asarray(components.getPartition().getVector())

    def scc(self) -> Job:
        """Strong components; of an undirected graph, the components."""
        from networkit.components import ParallelConnectedComponents, StronglyConnectedComponents

        algorithm = StronglyConnectedComponents if self.edges.directed else ParallelConnectedComponents
        return Job(lambda: algorithm(self.graph).run(), self._labels, "component")


class IGraph(Contender):
    """igraph: C, one thread. Results are Python lists."""

    name = package = "igraph"
    tasks = ALGORITHMS

    def make(self) -> Any:
        """The graph from an array of pairs, and the weights as an attribute."""
        import igraph

        edges = self.edges
        pairs = np.column_stack([edges.source, edges.target])
        graph = igraph.Graph(n=edges.num_vertices, edges=pairs, directed=edges.directed)
        graph.es["weight"] = edges.weight.tolist()
        return graph

    def num_arcs(self, graph: Any) -> int:
        """Edges, each once."""
        return int(graph.ecount())

    def bfs(self) -> Job:
        """Levels; faster than `Graph.bfs`."""

        def search() -> Any:
            return self.graph.distances(source=self.edges.start, mode="out")

        return Job(search, lambda r: finite_levels(np.array(r[0], float)), "level", "no parents")

    def sssp(self) -> Job:
        """Dijkstra's algorithm."""

        def search() -> Any:
            return self.graph.distances(source=self.edges.start, weights="weight", mode="out")

        return Job(search, lambda r: np.array(r[0], float), "distance", "no parents")

    def pagerank(self) -> Job:
        """PRPACK, which solves to convergence; its number of iterations cannot be set."""
        note = "solved to convergence, not 50 iterations"
        return Job(lambda: self.graph.pagerank(damping=DAMPING), np.asarray, "rank", note, tolerance=1e-3)

    def components(self) -> Job:
        """Weak components."""
        return self._components("weak")

    def scc(self) -> Job:
        """Strong components; of an undirected graph, the components."""
        return self._components("strong" if self.edges.directed else "weak")

    def _components(self, mode: str) -> Job:
        """igraph remembers whether a graph is connected, so it is made to forget."""

        def search() -> Any:
            return self.graph.connected_components(mode=mode).membership

        return Job(search, np.asarray, "component", before=getattr(self.graph, "__invalidate_cache"))

    def mst(self) -> Job:
        """The numbers of the forest's edges; directions do not count."""
        weights = self.graph.es["weight"]

        def grow() -> Any:
            return self.graph.spanning_tree(weights, return_tree=False)

        return Job(grow, lambda r: self.edges.weight[np.asarray(r, np.int64)].sum(), "total")

    def betweenness(self) -> Job:
        """From 16 sources; of an undirected graph igraph returns half of the sum."""
        some, twice = self.edges.some().tolist(), 1 if self.edges.directed else 2

        def accumulate() -> Any:
            return self.graph.betweenness(directed=self.edges.directed, sources=some)

        return Job(accumulate, lambda r: twice * np.array(r, float), "dependency")


class RustworkX(Contender):
    """rustworkx: Rust. Nodes and edges carry Python objects."""

    name = package = "rustworkx"

    def make(self) -> Any:
        """Nodes 0..n-1 and edges from a list of tuples."""
        import rustworkx

        edges = self.edges
        graph = (rustworkx.PyDiGraph if edges.directed else rustworkx.PyGraph)()
        graph.add_nodes_from(range(edges.num_vertices))
        graph.add_edges_from(
            list(zip(edges.source.tolist(), edges.target.tolist(), edges.weight.tolist(), strict=True))
        )
        return graph

    def num_arcs(self, graph: Any) -> int:
        """Edges, each once."""
        return int(graph.num_edges())

    def bfs(self) -> Job:
        """Levels as lists of vertices."""
        from rustworkx import bfs_layers

        def levels(result: Any) -> np.ndarray:
            level = np.full(self.edges.num_vertices, -1)
            for depth, vertices in enumerate(result):
                level[vertices] = depth
            return level

        return Job(lambda: bfs_layers(self.graph, [self.edges.start]), levels, "level", "no parents")

    def sssp(self) -> Job:
        """Dijkstra's algorithm; each weight goes through a Python call of `float`."""
        from rustworkx import dijkstra_shortest_path_lengths

        def distances(result: Any) -> np.ndarray:
            distance = np.full(self.edges.num_vertices, np.inf)
            distance[list(result.keys())] = list(result.values())
            distance[self.edges.start] = 0
            return distance

        def search() -> Any:
            return dijkstra_shortest_path_lengths(self.graph, self.edges.start, float)

        return Job(search, distances, "distance", "no parents")

    def pagerank(self) -> Job:
        """The power iteration until the L1 change is small: it raises where the iterations run out."""
        from rustworkx import pagerank

        graph = self.graph if self.edges.directed else self.graph.to_directed()

        def ranks(result: Any) -> np.ndarray:
            return np.array([result[v] for v in range(self.edges.num_vertices)])

        def iterate() -> Any:
            return pagerank(graph, alpha=DAMPING, tol=1e-6 / self.edges.num_vertices, max_iter=1000)

        note = "until the L1 change is below 1e-6, not 50 iterations"
        return Job(iterate, ranks, "rank", note, tolerance=1e-3)

    def components(self) -> Job:
        """Weak components as sets of vertices."""
        import rustworkx

        search = (
            rustworkx.weakly_connected_components if self.edges.directed else rustworkx.connected_components
        )

        return Job(lambda: search(self.graph), self._labels, "component")

    def _labels(self, components: Any) -> np.ndarray:
        label = np.empty(self.edges.num_vertices, np.int64)
        for number, members in enumerate(components):
            label[list(members)] = number
        return label

    def scc(self) -> Job:
        """Strong components as lists of vertices; of an undirected graph, the components."""
        import rustworkx

        search = (
            rustworkx.strongly_connected_components if self.edges.directed else rustworkx.connected_components
        )
        return Job(lambda: search(self.graph), self._labels, "component")

    def mst(self) -> Job:
        """Kruskal's algorithm, on an undirected copy; each weight goes through a Python call of `float`."""
        from rustworkx import minimum_spanning_edges

        graph = self.graph.to_undirected() if self.edges.directed else self.graph

        def total(edges: Any) -> float:
            return sum(weight for *_, weight in edges)

        return Job(lambda: minimum_spanning_edges(graph, float), total, "total")


def finite_levels(distances: np.ndarray) -> np.ndarray:
    """Hop counts as integers, -1 where there is no path."""
    return np.where(np.isfinite(distances), distances, -1).astype(np.int64)


RIVALS = (SciPy, NetworKit, IGraph, RustworkX)
