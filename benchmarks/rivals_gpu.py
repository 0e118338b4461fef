"""cuGraph beside edgewise on one GPU, where pylibcugraph is installed: its wheels take about 2 GB."""

import importlib.util
from collections.abc import Callable
from typing import Any

import numpy as np

import edgewise as ew
from edgewise.kernels.door import cuda_door

#: PageRank has no tolerance that stops it: 0 stands for the library's own. How far ranks of float32 may be off in all.
NO_TOLERANCE, RANKS_OFF = 1e-30, 1e-4


def is_there() -> bool:
    """Whether pylibcugraph is installed."""
    return importlib.util.find_spec("pylibcugraph") is not None


class CuGraph:
    """The algorithms that both have, on the arrays of a graph: levels and parents, distances and parents, 50 iterations
    of PageRank in float32, weak components.

    Attributes:
        version: of pylibcugraph.
        calls: each algorithm as a call, by its name.

    Args:
        graph: the graph, whose vertices are their ids; it is copied to the GPU, and stored as each call wants it.
        source: of searches and paths.
    """

    def __init__(self, graph: ew.Graph, source: int) -> None:
        import pylibcugraph

        self.version: str = pylibcugraph.__version__
        self._graph, self._source, self._library = graph, source, pylibcugraph
        xp, self._handle = cuda_door().cupy(), pylibcugraph.ResourceHandle()
        self._from = xp.array([source], np.int32)
        ends = [xp.asarray(each.astype(np.int32)) for each in (graph.sources, graph.targets)]
        weights = None if graph.weights is None else xp.asarray(graph.weights.astype(np.float32))
        self._outward = self._stored(*ends, weights)
        self._inward = self._stored(*ends, xp.ones(graph.num_arcs, np.float32), store_transposed=True)
        # Arrays of an undirected graph have each edge both ways.
        both = [xp.concatenate(pair) for pair in (ends, ends[::-1])] if graph.directed else ends
        self._both = self._stored(*both, None, is_symmetric=True)
        self.calls: dict[str, Callable[[], Any]] = {
            "bfs": self._bfs,
            "pagerank": self._pagerank,
            "components": self._components,
        }
        if weights is not None:
            self.calls["sssp"] = self._sssp

    def _stored(
        self,
        source: Any,
        target: Any,
        weights: Any,
        store_transposed: bool = False,
        is_symmetric: bool = False,
    ) -> Any:
        """A graph of the library, with all vertices."""
        library, xp = self._library, cuda_door().cupy()
        return library.SGGraph(
            resource_handle=self._handle,
            graph_properties=library.GraphProperties(is_symmetric=is_symmetric, is_multigraph=is_symmetric),
            src_or_offset_array=source,
            dst_or_index_array=target,
            weight_array=weights,
            store_transposed=store_transposed,
            renumber=True,
            vertices_array=xp.arange(self._graph.num_vertices, dtype=np.int32),
        )

    def _bfs(self) -> Any:
        levels, _, vertices = self._library.bfs(
            self._handle, self._outward, self._from, False, -1, True, False
        )
        return vertices, levels

    def _sssp(self) -> Any:
        far = float(np.finfo(np.float32).max)
        vertices, distances, _ = self._library.sssp(
            self._handle, self._outward, self._source, far, True, False
        )
        return vertices, distances

    def _pagerank(self) -> Any:
        found = self._library.pagerank(
            self._handle, self._inward, None, None, None, None, 0.85, NO_TOLERANCE, 50, False,
            fail_on_nonconvergence=False,
        )  # fmt: skip
        return found[0], found[1]

    def _components(self) -> Any:
        return self._library.weakly_connected_components(
            self._handle, self._both, None, None, None, None, False
        )

    def is_right(self, name: str, found: Any) -> bool:
        """Whether an answer is that of edgewise, which its verifier has checked: levels and distances exactly, as
        integers below 2**24 are in float32, ranks but for `RANKS_OFF` in all, and components as a partition."""
        xp, graph = cuda_door().cupy(), self._graph
        vertices, values = (xp.asarray(each) for each in found)
        answer = xp.empty_like(values)
        answer[vertices] = values
        if name == "bfs":
            level = ew.bfs(graph, self._source, device="cuda").on_device("level")
            return bool((xp.where(level < 0, np.iinfo(np.int32).max, level) == answer).all())
        if name == "sssp":
            distance = ew.sssp(graph, self._source, device="cuda").on_device("distance")
            far = distance == np.iinfo(distance.dtype).max
            return bool((xp.where(far, np.finfo(np.float32).max, distance) == answer).all())
        if name == "pagerank":
            rank = ew.pagerank(graph, tol=0, max_iterations=50, dtype=np.float64, device="cuda")
            return float(abs(rank.on_device("rank") - answer).sum()) <= RANKS_OFF
        component = ew.connected_components(graph, device="cuda").on_device("component")
        pairs = xp.unique(component.astype(np.int64) * graph.num_vertices + answer)
        return len(pairs) == len(xp.unique(component)) == len(xp.unique(answer))
