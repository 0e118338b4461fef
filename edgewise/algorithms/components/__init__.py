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

Steps. `cpu`: hook to the first arcs, link along a few, find the largest component, link along the rest.
"""

from functools import cached_property
from typing import Any

import numpy as np

from edgewise.algorithms.common.derived import check_derived, expect_integers
from edgewise.algorithms.common.dispatch import Form, Task, begin, no_memory
from edgewise.algorithms.components.cpu import (
    PASSES,
    ROOTS,
    SAMPLE,
    SAMPLED,
    SKIPPED,
    connect,
)
from edgewise.errors import VerificationError
from edgewise.execution import Execution, Progress
from edgewise.graph import Arrays, Graph, check_graph
from edgewise.kernels.cpu.team import run_alone, team_kernel
from edgewise.memory import held, in_turn
from edgewise.result import Columns, HostArray, Result, SavedColumns, check_count
from edgewise.schedule import Buffered, Pull, Push, Schedule
from edgewise.text import shown


class ComponentsResult(Result):
    """Connected components.

    Attributes:
        component: int32, shape (n,): the index of the smallest vertex of each vertex's component.
        num_components: the number of components.
        supersteps: the number of passes over all vertices, or of supersteps of a program.
    """

    algorithm = "components"
    component = HostArray()

    def __init__(self, graph: Graph, run: Execution, found: tuple[Any, int, int]) -> None:
        super().__init__(graph, run, found[2], {"component": found[0]})
        self.num_components = found[1]

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

    def top(self, count: int = 10) -> dict[str, np.ndarray]:
        """The largest components: the vertex that labels each, ``component``, and its ``size`` in vertices."""
        labels, sizes = np.unique(self.component, return_counts=True)
        order = np.argsort(-sizes, kind="stable")[: check_count(count)]
        return {"component": self.graph.ids_of(labels[order]), "size": sizes[order]}

    def verify(self, graph: Graph) -> bool:
        """Check that these are the components: see `verify_components`."""
        check_graph(f"{type(self).__name__}.verify", graph)
        check_derived(self, "sizes")
        return verify_components(graph, self.component, self.num_components)

    @classmethod
    def verify_columns(cls, graph: Graph, columns: Columns, **given: Any) -> bool:
        """Check labels that were written to a file: see `Result.verify_columns`."""
        saved = SavedColumns(graph, columns)
        component = saved.numbers("component", np.int64)
        return verify_components(graph, component, len(np.unique(component)))


def connected_components(
    graph: Graph,
    *,
    device: str = "auto",
    schedule: Schedule | None = None,
    progress: Progress = None,
    memory_limit: int | None = None,
) -> ComponentsResult:
    """The connected components of a graph, directions ignored. Labels do not depend on the number of threads.

    In-edges of a directed graph are used if it has them already; they are not made for this. A run as a program lays
    the edges of a directed graph out both ways; the graph keeps that.

    Args:
        graph: directed or undirected; weights are not looked at.
        device, schedule, progress, memory_limit: see `choose` and `admit` in `edgewise.execution`. There is no
            delivery to choose. On a GPU, a schedule with a balance, a layout or a buffer makes it run as a program, and
            that has deliveries.

    Returns:
        A `ComponentsResult`. O(n + m) expected work; as a program, O(n + m) in each superstep.

    Raises:
        ScheduleError: a balance or a layout on the CPU, or a delivery that does not exist.
    """
    check_graph("connected_components", graph)
    found, run = begin_components(
        "connected_components", graph, device, schedule, progress, memory_limit
    ).find(graph)
    return ComponentsResult(graph, run, found)


def begin_components(
    name: str,
    graph: Graph,
    device: str,
    schedule: Schedule | None,
    progress: Progress,
    memory_limit: int | None,
) -> Task:
    """The checked call `name` to find components. What it finds is for `ComponentsResult`."""
    return begin(
        name,
        graph,
        device,
        schedule,
        progress,
        memory_limit,
        work=_work(graph),
        rounds=10,
        cpu=Form(_components, lambda _: _memory(graph)),
        cuda=Form("components.cuda.components", lambda _: _gpu_memory(graph)),
        program=Form("components.program.components", no_memory, (Push, Pull, Buffered)),
    )


def _memory(graph: Graph) -> int:
    """The memory that a run takes on the CPU."""
    return in_turn(graph.making(), held(4 * graph.num_vertices + 8 * _words_inside(graph))).most


def _gpu_memory(graph: Graph) -> int:
    """The GPU's memory that a run takes: in-edges are copied there if the graph has them."""
    arrays = Arrays.BOTH_WAYS if graph.has_in_edges else Arrays.ROWS
    return in_turn(graph.gpu.making(arrays), held(4 * graph.num_vertices)).most


def _components(graph: Graph, run: Execution) -> tuple[np.ndarray, int, int]:
    """Labels, the number of components and of passes, on the CPU."""
    inside = _words_inside(graph)
    label, found = np.empty(graph.num_vertices, np.uint32), np.zeros(8, np.int64)
    if len(label):
        rows = (_unsigned(graph.offsets), _unsigned(graph.targets))
        columns = (rows[0][:0], rows[1][:0])
        if graph.directed and graph.has_in_edges:
            columns = (_unsigned(graph.in_offsets), _unsigned(graph.in_sources))
        bits = np.empty(inside, np.uint64)
        run.launch(connect, *rows, *columns, graph.directed, label, bits, found, work=_work(graph))
        _explain(graph, run, found)
    return label.view(np.int32), int(found[ROOTS]), int(found[PASSES])


def _work(graph: Graph) -> float:
    """About the nanoseconds that one thread takes."""
    return 10 * graph.num_vertices + graph.num_arcs


def _words_inside(graph: Graph) -> int:
    """The words of a bitmap of vertices, which only directed graphs need."""
    return -(-graph.num_vertices // 64) if graph.directed else 0


def _explain(graph: Graph, run: Execution, found: np.ndarray) -> None:
    """Explain what was done about the largest component, and why."""
    share = f"{found[SAMPLED] / SAMPLE:.0%} of a sample was in one component"
    if found[SKIPPED]:
        run.explain(f"{share}: arcs inside it were skipped")
    elif graph.has_in_edges:
        run.explain(
            f"{share}: too little to look for arcs into it from their targets, so all arcs were looked at"
        )
    else:
        run.explain(
            f"{share}: all arcs were looked at, for without in-edges an arc into it is seen only here"
        )


def _unsigned(array: np.ndarray) -> np.ndarray:
    return array.view(f"u{array.itemsize}")


@team_kernel
def _union_find(thread: Any, size: Any, control: Any, offsets: Any, targets: Any, root: Any) -> None:
    """Find each vertex's root, by one thread: disjoint sets with path halving (Tarjan and van Leeuwen 1984)."""
    for v in range(len(root)):
        for k in range(np.int64(offsets[v]), np.int64(offsets[v + 1])):
            a, b = np.int64(v), np.int64(targets[k])
            while root[a] != a:
                root[a] = root[root[a]]
                a = root[a]
            while root[b] != b:
                root[b] = root[root[b]]
                b = root[b]
            root[max(a, b)] = min(a, b)
    for v in range(len(root)):
        root[v] = root[root[v]]


def verify_components(graph: Graph, component: np.ndarray, num_components: int) -> bool:
    """Check components against the graph in near-linear time.

    Every arc must join equal labels, so no component is split. Every vertex must be connected with the vertex that
    its label names, so none are merged; disjoint sets, filled arc by arc, say who is connected.

    Args:
        graph: the graph, n vertices.
        component: integers, shape (n,).
        num_components: the number of different labels.

    Raises:
        VerificationError: naming the first vertex that is wrong.
    """
    check_labels(graph, component, num_components)
    split = component[graph.sources] != component[graph.targets]
    if split.any():
        arc = int(np.argmax(split))
        u, v = graph.ids_of(np.array([graph.sources[arc], graph.targets[arc]])).tolist()
        raise VerificationError(
            f"vertices {shown(u)} and {shown(v)} are joined by an arc, but have different labels"
        )
    root = np.arange(graph.num_vertices)
    run_alone(_union_find, _unsigned(graph.offsets), graph.targets.view(np.uint32), root)
    _expect(root[component] == root, graph, component, "no path leads to the vertex that it names")
    return True


def check_labels(graph: Graph, component: np.ndarray, num_components: int) -> None:
    """Check that each label is the index of the smallest vertex that has it, and check their number.

    Raises:
        VerificationError: naming the first vertex that is wrong.
    """
    n = graph.num_vertices
    expect_integers(component=component)
    if component.shape != (n,):
        raise VerificationError(f"got {component.shape} labels, expected one for each of {n} vertices")
    every = np.arange(n)
    _expect(
        (component >= 0) & (component <= every), graph, component, "expected the index of its smallest vertex"
    )
    _expect(component[component] == component, graph, component, "the vertex that it names has another label")
    different = int(np.count_nonzero(component == every))
    if different != num_components:
        raise VerificationError(f"num_components is {num_components}; there are {different} different labels")


def _expect(right: np.ndarray, graph: Graph, component: np.ndarray, problem: str) -> None:
    """Raise for the first vertex that is not right."""
    if not right.all():
        v = int(np.argmin(right))
        name = graph.ids_of(np.array([v])).tolist()[0]
        raise VerificationError(f"vertex {shown(name)} has the label {component[v]}: {problem}")
