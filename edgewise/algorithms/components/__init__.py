"""Connected components; in a directed graph, the weakly connected ones.

Result. A label for each vertex, equal within a component: the index of its smallest vertex.

Idea. Trees of vertices grow together. A few passes over the first arcs of each vertex join most of a large component;
then a sample finds the label that most vertices have, and the arcs between those vertices need not be looked at.
Trees are joined by pointing the root of larger index to the other, so every root is the smallest vertex of its tree,
in whatever order threads do that.

Encoding. ``label[v]`` is the parent of v in its tree, a vertex with an index of at most v.

Reference. Sutton, Ben-Nun and Barak, "Optimizing parallel graph connectivity computation via subgraph sampling", IPDPS
2018 (Afforest); hooking first as in Jaiganesh and Burtscher, "A high-performance connected components implementation
for GPUs", HPDC 2018 (ECL-CC), and in Shiloach and Vishkin, Journal of Algorithms 3 (1982).

Steps. `cpu_connect`: hook to the first arcs, link along a few, find the largest component, link along the rest.
"""

from functools import cached_property
from typing import Any

import numpy as np

from edgewise.algorithms.common.derived import check_derived
from edgewise.algorithms.common.dispatch import Form, Task, begin, no_memory
from edgewise.algorithms.common.names import names_elsewhere
from edgewise.algorithms.components.cpu import components, components_memory, components_work
from edgewise.algorithms.components.verify import verify_components
from edgewise.execution import Execution, Progress
from edgewise.graph import Arrays, Graph, check_graph
from edgewise.result import Columns, HostArray, SavedColumns, check_count
from edgewise.schedule import Buffered, Pull, Push, Schedule
from edgewise.vertex_result import VertexResult


class ComponentsResult(VertexResult):
    """Connected components. ``result[vertex]`` is the id of the smallest vertex of the component.

    Attributes:
        component: int32, shape (n,): the index of the smallest vertex of each vertex's component.
        num_components: the number of components.
        supersteps: the number of passes over all vertices, or of supersteps of a program; on several ranks, of rounds.
    """

    algorithm = "components"
    _main = "component"
    component = HostArray()
    #: Checks labels and the number of components.
    _check = staticmethod(verify_components)

    def __init__(self, graph: Graph, run: Execution, found: tuple[Any, int, int]) -> None:
        component, self.num_components, passes = found
        super().__init__(graph, run, passes, {"component": component})

    @cached_property
    def sizes(self) -> np.ndarray:
        """The number of vertices in each component, largest first, int64, shape (num_components,)."""
        counts = np.bincount(self.component, minlength=1)
        return np.sort(counts[counts > 0])[::-1]

    def columns(self) -> dict[str, np.ndarray]:
        """The column ``component``."""
        return {"component": self.component}

    def summary(self) -> dict[str, Any]:
        """The number of ``components``."""
        return {"components": int(self.num_components)}

    def top(self, k: int = 10) -> list[tuple[Any, Any]]:
        """The largest components, at most `k`: pairs of the id that labels each and its size in vertices."""
        rows = self.top_rows(k)
        return list(zip(rows["component"].tolist(), rows["size"].tolist(), strict=True))

    def _as_values(self, name: str, raw: np.ndarray) -> list[Any]:
        ids: list[Any] = self.graph.ids_of(raw).tolist()
        return ids

    def top_rows(self, count: int = 10) -> dict[str, np.ndarray]:
        """The largest components: the vertex that labels each, ``component``, and its ``size`` in vertices."""
        labels, sizes = np.unique(self.component, return_counts=True)
        order = np.argsort(-sizes, kind="stable")[: check_count(count)]
        return {"component": self.graph.ids_of(labels[order]), "size": sizes[order]}

    def verify(self, graph: Graph) -> bool:
        """Check that these are the components: see `verify` of the algorithm."""
        check_graph(f"{type(self).__name__}.verify", graph)
        check_derived(self, "sizes")
        return self._check(graph, self.component, self.num_components)

    @classmethod
    def verify_columns(cls, graph: Graph, columns: Columns, **given: Any) -> bool:
        """Check labels that were written to a file: see `Result.verify_columns`."""
        saved = SavedColumns(graph, columns)
        component = saved.numbers("component", np.int64)
        return cls._check(graph, component, len(np.unique(component)))


@names_elsewhere(weight="none: components do not depend on weights")
def connected_components(
    graph: Graph,
    *,
    device: str = "auto",
    schedule: Schedule | None = None,
    progress: Progress = None,
    memory_limit: float | str | None = None,
    distributed: bool = False,
) -> ComponentsResult:
    """The connected components of a graph, directions ignored. Labels do not depend on the number of threads.

    In-edges of a directed graph are used if it has them already, by ranks on GPUs, too; they are not made for this. A
    run as a program lays the edges of a directed graph out both ways; the graph keeps that.

    Args:
        graph: directed or undirected; weights are not looked at.
        device, schedule, progress, memory_limit: see `choose` and `admit` in `edgewise.execution`. There is no
            delivery to choose. On a GPU, a schedule with a balance, a layout or a buffer makes it run as a program, and
            that has deliveries.
        distributed: run on all ranks that torchrun has started, each of which makes this call on the same graph, and
            gets the whole result: the same labels. They are on CPUs, or each on a GPU (docs/distributed.md); there is
            nothing to choose but the device and ``Schedule(num_threads=...)``.

    Returns:
        A `ComponentsResult`. O(n + m) expected work; as a program, O(n + m) in each superstep.

    Raises:
        ScheduleError: a balance or a layout on the CPU, or a delivery that does not exist.
        DistributedError: `distributed`, and this process is no rank of several, or ranks differ in what they ask for.
        DeviceError: ``device="cuda"``, and there is no GPU that can be used, or a rank has none.
    """
    check_graph("connected_components", graph)
    found, run = begin_components(
        "connected_components", graph, device, schedule, progress, memory_limit, distributed
    ).find(graph)
    return ComponentsResult(graph, run, found)


def begin_components(
    name: str,
    graph: Graph,
    device: str,
    schedule: Schedule | None,
    progress: Progress,
    memory_limit: float | str | None,
    distributed: bool,
) -> Task:
    """The checked call `name` to find components. What it finds is for `ComponentsResult`."""
    return begin(
        name,
        graph,
        device,
        schedule,
        progress,
        memory_limit,
        work=components_work(graph),
        rounds=10,
        cpu=Form(components, lambda _: components_memory(graph).most, in_order=True),
        cuda=Form(
            "components.cuda.components",
            lambda _: 4 * graph.num_vertices,
            arrays=Arrays.BOTH_WAYS if graph.has_in_edges else Arrays.ROWS,
            heads=True,
        ),
        program=Form("components.program.components", no_memory, (Push, Pull, Buffered)),
        ranks=Form(
            "components.ranks.components",
            lambda _: 96 * graph.num_vertices + components_memory(graph).most,
        ),
        distributed=distributed,
    )
