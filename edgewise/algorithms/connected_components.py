"""Connected components; of a directed graph the weak ones.

Result. A label for each vertex, equal within a component: the index of its smallest vertex.

Idea. Trees of vertices grow together. First each vertex is linked along its first few arcs, which joins most of a large
component; a sample finds the label that most vertices have by then, and in the remaining pass its vertices can be
skipped. Linking hangs the root with the larger index below a smaller one, so every root is the smallest of its tree,
whatever the order in which threads link.

Encoding. ``label[v]`` is the parent of v in its tree, a vertex with an index of at most v.

Reference. Sutton, Ben-Nun and Barak, "Optimizing parallel graph connectivity computation via subgraph sampling", IPDPS
2018 (Afforest). Linking by compare-and-swap on roots only: Shiloach and Vishkin, Journal of Algorithms 3 (1982).

Steps. `_components`: link along the first arcs, compress, find the most frequent label, link along the rest, compress.
"""

from functools import cached_property
from typing import Any

import numpy as np

from edgewise.errors import VerificationError
from edgewise.execution import Execution, Progress, execution
from edgewise.graph import Graph
from edgewise.kernels.atomics import atomic_add, compare_and_swap
from edgewise.kernels.cache import device_function, kernel
from edgewise.kernels.team import barrier, claim, report, rewind, run_alone
from edgewise.result import Result
from edgewise.schedule import Schedule

#: Arcs of each vertex that are linked before the sample, and the size of the sample (Sutton et al., section V).
_FIRST_ARCS = 2
_SAMPLE = 1024
#: Vertices handed out at a time.
_RANGE = 2048
_MOST_FREQUENT, _NUM_COMPONENTS = 0, 8


class ComponentsResult(Result):
    """Connected components.

    Attributes:
        component: int32, shape (n,): the index of the smallest vertex of each vertex's component.
        num_components: how many there are.
        supersteps: passes over the vertices.
    """

    def __init__(self, graph: Graph, run: Execution, component: np.ndarray, num_components: int) -> None:
        super().__init__(graph, run, _FIRST_ARCS + 1)
        self.component = component
        self.num_components = num_components

    @cached_property
    def sizes(self) -> np.ndarray:
        """Vertices in each component, largest first, int64, shape (num_components,)."""
        counts = np.bincount(self.component, minlength=1)
        return np.sort(counts[counts > 0])[::-1]

    def columns(self) -> dict[str, np.ndarray]:
        """The column ``component``."""
        return {"component": self.component}

    def verify(self, graph: Graph) -> bool:
        """Check that these are the components: see `verify_components`."""
        return verify_components(graph, self.component, self.num_components)


def connected_components(
    graph: Graph,
    *,
    device: str = "auto",
    schedule: Schedule | None = None,
    progress: Progress = None,
    memory_limit: int | None = None,
) -> ComponentsResult:
    """The connected components of a graph, directions ignored. The same labels for every number of threads.

    Args:
        graph: directed or undirected; weights are not looked at.
        device, schedule, progress, memory_limit: see `edgewise.execution.execution`.

    Returns:
        A `ComponentsResult`. O(n + m) expected work.
    """
    n, m = graph.num_vertices, graph.num_arcs
    label, found = np.empty(n, np.uint32), np.zeros(16, np.int64)
    counts = np.zeros(2 * _SAMPLE, np.uint32)
    with execution(
        "connected_components",
        device=device,
        schedule=schedule,
        progress=progress,
        memory_limit=memory_limit,
        memory_needed=4 * n,
        deliveries=(),
    ) as run:
        rows = (_unsigned(graph.offsets), graph.targets.view(np.uint32))
        columns = (rows[0][:0], rows[1][:0])
        if graph.directed and graph.has_in_edges:
            columns = (_unsigned(graph.in_offsets), graph.in_sources.view(np.uint32))
        skipping = not graph.directed or graph.has_in_edges
        run.launch(_components, *rows, *columns, skipping, label, counts, found, work=n + m)
        if skipping:
            run.explain("the arcs of the largest component were skipped once it had formed")
        else:
            run.explain(
                "all arcs were looked at: without in-edges an arc into the largest component is seen only here"
            )
    return ComponentsResult(graph, run, label.view(np.int32), int(found[_NUM_COMPONENTS]))


def _unsigned(array: np.ndarray) -> np.ndarray:
    return array.view(np.dtype(f"u{array.dtype.itemsize}"))


@device_function
def _link(label: Any, u: Any, v: Any) -> None:
    """Join the trees of two vertices: the larger root, while it is one, becomes a child of the smaller."""
    a, b = label[u], label[v]
    while a != b:
        high, low = max(a, b), min(a, b)
        above = label[high]
        if above == low or (above == high and compare_and_swap(label, high, high, low)):
            return
        a, b = label[label[high]], label[low]


@device_function
def _compress(label: Any, start: Any, end: Any) -> None:
    """Hang vertices directly below the roots of their trees."""
    for v in range(start, end):
        above = label[v]
        while above != label[above]:
            above = label[above]
        label[v] = above


@device_function
def _most_frequent(label: Any, sample: Any) -> Any:
    """The label that most of evenly spaced vertices have, by a small open hash table of labels and counts."""
    n, slots = len(label), len(sample) // 2
    best, most = label[0], np.uint32(0)
    for i in range(min(n, slots // 2)):
        value = label[i * n // min(n, slots // 2)]
        slot = np.int64(value) % slots
        while sample[slots + slot] != 0 and sample[slot] != value:
            slot = (slot + 1) % slots
        sample[slot] = value
        sample[slots + slot] += np.uint32(1)
        if sample[slots + slot] > most:
            best, most = value, sample[slots + slot]
    return best


@device_function
def _link_first(offsets: Any, targets: Any, label: Any, start: Any, end: Any) -> None:
    for v in range(start, end):
        first = np.int64(offsets[v])
        for k in range(first, min(first + _FIRST_ARCS, np.int64(offsets[v + 1]))):
            _link(label, v, np.int64(targets[k]))


@device_function
def _link_rest(
    offsets: Any, targets: Any, first: Any, skipped: Any, label: Any, start: Any, end: Any
) -> None:
    """Link along all arcs from the first-th on, of vertices without the label that is skipped."""
    for v in range(start, end):
        if np.int64(label[v]) != skipped:
            for k in range(np.int64(offsets[v]) + first, np.int64(offsets[v + 1])):
                _link(label, v, np.int64(targets[k]))


@kernel
def _components(
    thread: Any,
    size: Any,
    control: Any,
    offsets: Any,
    targets: Any,
    in_offsets: Any,
    in_sources: Any,
    skipping: Any,
    label: Any,
    sample: Any,
    found: Any,
) -> None:
    """All steps; `found` gets the most frequent label and the number of components."""
    n, roots = np.int64(len(label)), np.int64(0)
    for step in range(5):
        skipped = found[_MOST_FREQUENT] if skipping else np.int64(-1)
        while True:
            start = claim(control, 0, _RANGE, n)
            if start >= n:
                break
            end = min(n, start + _RANGE)
            if step == 0:
                for v in range(start, end):
                    label[v] = v
            elif step == 1:
                _link_first(offsets, targets, label, start, end)
            elif step == 3:
                _link_rest(offsets, targets, _FIRST_ARCS, skipped, label, start, end)
                if len(in_offsets):
                    _link_rest(in_offsets, in_sources, 0, skipped, label, start, end)
            else:
                _compress(label, start, end)
                if step == 4:
                    for v in range(start, end):
                        roots += np.int64(label[v]) == v
        if barrier(control, size):
            return
        if thread == 0:
            if step == 2 and skipping and n > 0:
                found[_MOST_FREQUENT] = np.int64(_most_frequent(label, sample))
            report(control, step + 1)
            rewind(control, 0)
        if barrier(control, size):
            return
    atomic_add(found, _NUM_COMPONENTS, roots)


@kernel
def _union_find(thread: Any, size: Any, control: Any, offsets: Any, targets: Any, root: Any) -> None:
    """Find each vertex's root by one thread: disjoint sets with path halving (Tarjan and van Leeuwen 1984)."""
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
    n = graph.num_vertices
    if component.shape != (n,):
        raise VerificationError(f"got {component.shape} labels, expected one for each of {n} vertices")
    every = np.arange(n)
    _expect(
        (component >= 0) & (component <= every), graph, component, "expected the index of its smallest vertex"
    )
    _expect(component[component] == component, graph, component, "the vertex that it names has another label")
    split = component[graph.sources] != component[graph.targets]
    if split.any():
        arc = int(np.argmax(split))
        u, v = graph.ids_of(np.array([graph.sources[arc], graph.targets[arc]])).tolist()
        raise VerificationError(f"vertices {u!r} and {v!r} are joined by an arc, but have different labels")
    root = np.arange(n)
    run_alone(_union_find, _unsigned(graph.offsets), graph.targets.view(np.uint32), root)
    _expect(root[component] == root, graph, component, "no path leads to the vertex that it names")
    different = int(np.count_nonzero(component == every))
    if different != num_components:
        raise VerificationError(f"num_components is {num_components}; there are {different} different labels")
    return True


def _expect(right: np.ndarray, graph: Graph, component: np.ndarray, problem: str) -> None:
    """Raise for the first vertex that is not right."""
    if not right.all():
        v = int(np.argmin(right))
        name = graph.ids_of(np.array([v])).tolist()[0]
        raise VerificationError(f"vertex {name!r} has the label {component[v]}: {problem}")
