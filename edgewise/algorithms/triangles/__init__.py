"""Triangles through each vertex, and how closely its neighbours are joined.

Result. For each vertex the number of pairs of its neighbours that are neighbours of each other.

Idea. Vertices are ordered by their degrees, the highest first, and each edge is taken from its later end to its
earlier one. Then no vertex has many edges of its own, and a triangle has one vertex with two of its edges, one with
one, and one with none. It is found once, at the vertex in the middle.

Edges. Loops are in no triangle, and of parallel edges only one counts: these are the triangles of the simple graph.

References. Schank and Wagner, "Finding, counting and listing all triangles in large graphs", WEA 2005 (the algorithm
"forward"); Latapy, "Main-memory triangle computations for very large (sparse (power-law)) graphs", Theoretical Computer
Science 407 (2008). Clustering: Watts and Strogatz, Nature 393 (1998).

Steps. `cpu_orient`, `cpu_count`; on a GPU `cuda`; on several ranks `ranks`.
"""

from functools import cached_property
from typing import Any

import numpy as np

from edgewise.algorithms.common.derived import check_derived, vertex_shown
from edgewise.algorithms.common.dispatch import Form, begin, memory_by, no_memory
from edgewise.algorithms.common.names import names_elsewhere
from edgewise.algorithms.triangles.cpu import ROUNDS, triangles_memory, triangles_work
from edgewise.algorithms.triangles.cpu import triangles as triangles_on_cpu
from edgewise.algorithms.triangles.memory import gpu_bytes
from edgewise.algorithms.triangles.verify import verify_triangles
from edgewise.errors import GraphError, VerificationError
from edgewise.execution import Execution, Progress
from edgewise.graph import Arrays, Graph, check_graph
from edgewise.result import Columns, HostArray, SavedColumns
from edgewise.schedule import Schedule
from edgewise.vertex_result import VertexResult


class TrianglesResult(VertexResult):
    """Triangles. ``result[vertex]`` is the number of those through one vertex.

    Attributes:
        triangles: int64, shape (n,): the number of triangles through each vertex.
        degree: int32, shape (n,): the number of different neighbours of each vertex, itself not counted.
        supersteps: 1.
    """

    algorithm = "triangles"
    _main = "triangles"
    triangles, degree = HostArray(), HostArray()

    def __init__(self, graph: Graph, run: Execution, found: tuple[Any, Any]) -> None:
        triangles, degree = found
        super().__init__(graph, run, 1, {"triangles": triangles, "degree": degree})

    @cached_property
    def total(self) -> int:
        """The number of triangles of the graph."""
        return _exact_sum(self.triangles) // 3

    @cached_property
    def clustering(self) -> np.ndarray:
        """The local clustering coefficient of each vertex, float64, shape (n,): the share of the pairs of its
        neighbours that are joined; 0 for vertices with fewer than two neighbours."""
        return clustering_of(self.triangles, self.degree)

    @cached_property
    def transitivity(self) -> float:
        """The share of the pairs of edges with a common end whose other ends are joined: three times the number of
        triangles by the number of such pairs; 0 without any."""
        pairs = _exact_sum(_pairs(self.degree))
        return 3 * self.total / pairs if pairs else 0.0

    @cached_property
    def average_clustering(self) -> float:
        """The mean of `clustering`; 0 without vertices."""
        return float(self.clustering.mean()) if len(self.clustering) else 0.0

    def columns(self) -> dict[str, np.ndarray]:
        """The columns ``triangles`` and ``clustering``."""
        return {"triangles": self.triangles, "clustering": self.clustering}

    def summary(self) -> dict[str, Any]:
        """The number of ``triangles``, the ``transitivity`` and the ``average_clustering``."""
        return {
            "triangles": self.total,
            "transitivity": self.transitivity,
            "average_clustering": self.average_clustering,
        }

    def verify(self, graph: Graph) -> bool:
        """Check that these are the triangles: see `verify.verify_triangles`."""
        check_graph(f"{type(self).__name__}.verify", graph)
        verify_triangles(graph, self.triangles, self.degree)
        check_derived(self, "total", "clustering", "transitivity", "average_clustering")
        return True

    @classmethod
    def verify_columns(cls, graph: Graph, columns: Columns, **given: Any) -> bool:
        """Check triangles and coefficients that were written to a file: see `Result.verify_columns`."""
        saved = SavedColumns(graph, columns)
        triangles, clustering = saved.numbers("triangles", np.int64), saved.numbers("clustering", np.float64)
        expected = clustering_of(triangles, verify_triangles(graph, triangles))
        wrong = ~np.isclose(clustering, expected, rtol=1e-9, atol=1e-12)
        if wrong.any():
            v = int(np.argmax(wrong))
            raise VerificationError(
                f"clustering of vertex {vertex_shown(graph, v)} is {clustering[v]}; its triangles make it {expected[v]}"
            )
        return True


def clustering_of(triangles: np.ndarray, degree: np.ndarray) -> np.ndarray:
    """Local clustering coefficients from triangles and degrees."""
    return triangles / np.maximum(_pairs(degree), 1)


def _pairs(degree: np.ndarray) -> np.ndarray:
    """The number of pairs of neighbours, int64."""
    wide = degree.astype(np.int64)
    return wide * (wide - 1) // 2


def _exact_sum(values: np.ndarray) -> int:
    """The sum of int64 values of at least 0, which int64 need not hold."""
    return (int((values >> 32).sum()) << 32) + int((values & 0xFFFFFFFF).sum())


@names_elsewhere(nodes="none: all vertices are counted, and result[vertex] is the number of one")
def triangles(
    graph: Graph,
    *,
    device: str = "auto",
    schedule: Schedule | None = None,
    progress: Progress = None,
    memory_limit: float | str | None = None,
    distributed: bool = False,
) -> TrianglesResult:
    """The number of triangles through each vertex of an undirected graph, and clustering coefficients. It depends
    neither on the device nor on the number of threads.

    Loops do not count, and of parallel edges one does.

    Args:
        graph: undirected; weights are not looked at. ``graph.to_undirected()`` makes one of a directed graph.
        device, schedule, progress, memory_limit: see `choose` and `admit` in `edgewise.execution`. Progress counts
            vertices. There is no delivery to choose, and no program of it: a balance, a layout or a buffer is refused.
        distributed: run on all ranks that torchrun has started, each of which makes this call on the same graph, and
            gets the whole result. They are on CPUs, or each on a GPU (docs/distributed.md); there is nothing to choose
            but the device and ``Schedule(num_threads=...)``.

    Returns:
        A `TrianglesResult`. O(m sqrt(m)) work, and O(m + n t) memory with t threads.

    Raises:
        GraphError: a directed graph.
        ScheduleError: a schedule that has more than a number of threads.
        DistributedError: `distributed`, and this process is no rank of several, or ranks differ in what they ask for.
    """
    check_graph("triangles", graph)
    if graph.directed:
        raise GraphError(
            "triangles: the graph is directed; expected an undirected one. graph.to_undirected() makes one, in which "
            "arcs both ways are one edge"
        )
    task = begin(
        "triangles",
        graph,
        device,
        schedule,
        progress,
        memory_limit,
        work=triangles_work(graph),
        rounds=ROUNDS,
        cpu=Form(triangles_on_cpu, lambda chosen: triangles_memory(graph, chosen)),
        cuda=Form("triangles.cuda.triangles", lambda _: gpu_bytes(graph), arrays=Arrays.ROWS),
        program="by pairs of edges",
        ranks=Form(
            "triangles.ranks.triangles",
            memory_by("triangles.ranks.triangles_memory_of_rank", graph),
            with_gpus=Form("triangles.ranks.triangles_on_gpus", no_memory),
        ),
        distributed=distributed,
    )
    found, run = task.find(graph, total=graph.num_vertices)
    return TrianglesResult(graph, run, found)
