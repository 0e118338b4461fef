"""Sums over all distances to a vertex or from it: the choice of a form, and the part that all results have in
common."""

from typing import Any

import numpy as np

from edgewise.algorithms.closeness.cpu import sum_distances, sums_memory
from edgewise.algorithms.closeness.job import Found, Job, lengths_dtype
from edgewise.algorithms.closeness.verify import verify_distances
from edgewise.algorithms.common.derived import check_derived
from edgewise.algorithms.common.dispatch import Form, begin, no_memory
from edgewise.algorithms.common.sources import asked_vertices
from edgewise.algorithms.common.weighted import uses_weights
from edgewise.execution import Execution, Progress, rest_of, threads_of
from edgewise.graph import Arrays, Graph, check_graph, least_pages
from edgewise.kernels.costs import levels
from edgewise.memory import as_bytes
from edgewise.result import HostArray
from edgewise.schedule import Buffered, Pull, Schedule
from edgewise.vertex_result import VertexResult

#: About how many barriers on a GPU take as long as to begin a program, and how many searches one does at a time.
_BEGIN_ROUNDS, _GPU_LANES = 100, 63
#: The names of what is found, and what stands for none at vertices that were not asked for, among integers.
FOUND = ("reached", "distance_sum", "reciprocal_sum", "farthest")
NOT_ASKED = -1


class DistancesResult(VertexResult):
    """Sums over the distances between each vertex that was asked for and all others.

    Attributes:
        reached: int64, shape (n,): the number of other vertices from which paths lead to the vertex; of `eccentricity`,
            to which paths lead from it. -1 for vertices that were not asked for.
        distance_sum: shape (n,): the sum of these distances; int64, or float64 by float weights. -1 or NaN as above.
        reciprocal_sum: float64, shape (n,): the sum of their reciprocals, without those of 0; NaN as above.
        farthest: shape (n,): the largest of them; int32 without weights, else as `distance_sum`. -1 or NaN as above.
        weighted: whether the lengths of edges are their weights.
        supersteps: the number of vertices that were asked for.
    """

    reached = HostArray()
    distance_sum = HostArray()
    reciprocal_sum = HostArray()
    farthest = HostArray()
    _derived: tuple[str, ...]

    def __init__(self, job: Job, run: Execution, vertices: np.ndarray, found: Found) -> None:
        n = job.graph.num_vertices
        arrays = {name: _spread(values, vertices, n) for name, values in zip(FOUND, found, strict=True)}
        super().__init__(job.graph, run, len(vertices), arrays)
        self.weighted = job.weighted
        self._weighted, self._inward, self._vertices = job.weighted, job.inward, vertices

    @property
    def _asked(self) -> np.ndarray:
        """Whether each vertex was asked for, shape (n,)."""
        asked = np.zeros(self.graph.num_vertices, bool)
        asked[self._vertices] = True
        return asked

    def missing(self) -> dict[str, np.ndarray]:
        """Vertices that were not asked for."""
        return dict.fromkeys(self.columns(), ~self._asked)

    def _as_values(self, name: str, raw: np.ndarray) -> list[Any]:
        """None for integers of vertices that were not asked for; floats are NaN."""
        values: list[Any] = raw.tolist()
        return (
            [None if value == NOT_ASKED else value for value in values] if raw.dtype.kind == "i" else values
        )

    def top_rows(self, count: int = 10) -> dict[str, np.ndarray]:
        """The vertices with the largest values, of those that were asked for."""
        return self._top_rows(self._main, count, shown=self._asked)

    @property
    def _passes(self) -> int:
        return len(self._vertices)

    def verify(self, graph: Graph) -> bool:
        """Check the sums by other searches: see `verify.verify_distances`. It takes longer than to find them."""
        check_graph(f"{type(self).__name__}.verify", graph)
        check_derived(self, *self._derived)
        found = Found(*(getattr(self, name) for name in FOUND))
        return verify_distances(graph, self._vertices, self._weighted, self._inward, found)


def _spread(values: Any, vertices: np.ndarray, num_vertices: int) -> np.ndarray:
    """Values of some vertices in an array of all, with NaN or `NOT_ASKED` for the others."""
    if len(vertices) == num_vertices:
        ordered = np.empty_like(values)
    else:
        ordered = np.full(num_vertices, np.nan if values.dtype.kind == "f" else NOT_ASKED, values.dtype)
    ordered[vertices] = values
    return ordered


def find_distances(
    name: str,
    graph: Graph,
    vertices: Any,
    weighted: Any,
    inward: bool,
    device: Any,
    schedule: Schedule | None,
    progress: Progress,
    memory_limit: float | str | None,
    distributed: bool,
) -> tuple[Job, Execution, np.ndarray, Found]:
    """The arguments of a `DistancesResult`, whose graph was checked.

    Args:
        name, graph: what runs, on what.
        vertices, weighted, inward: as given; see `Job`.
        device, schedule, progress, memory_limit, distributed: see `edgewise.algorithms.common.dispatch.begin`.

    Raises:
        GraphError: a vertex that is not in the graph; weights that are missing or negative, or whose sums are too
            large.
        ParameterError: no vertex, or one twice.
    """
    weighted = uses_weights(name, graph, weighted, by_itself=False)
    asked = asked_vertices(name, graph, vertices)
    job = Job(name, graph, weighted, inward, lengths_dtype(name, graph, weighted))
    n, m, choosing = graph.num_vertices, graph.num_arcs, asked.choosing()

    def memory(schedule: Schedule) -> int:
        threads = threads_of(name, schedule)
        limit = rest_of(as_bytes(f"{name}: memory_limit", memory_limit), least_pages(graph, threads))
        return max(choosing.most, sums_memory(job, asked.number, schedule, limit))

    program = Form("closeness.program.sum_distances", no_memory, (Pull, Buffered))
    searches = asked.number if weighted or asked.number < n else -(-n // _GPU_LANES)
    task = begin(
        name,
        graph,
        device,
        schedule,
        progress,
        memory_limit,
        work=job.work(asked.number),
        rounds=searches * (_BEGIN_ROUNDS + 2 * levels(n, m)),
        arrays=Arrays.ROWS,
        cpu=Form(sum_distances, memory),
        cuda=program,
        program=program,
        ranks=Form(
            "closeness.ranks.sum_distances",
            memory,
            with_gpus=Form("closeness.ranks.sum_on_gpus", no_memory),
        ),
        distributed=distributed,
    )
    indices = asked.indices()
    found, run = task.find(job, indices, total=len(indices))
    return job, run, indices, found
