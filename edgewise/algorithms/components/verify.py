"""A check that labels are the connected components of a graph, in near-linear time.

Every arc must join equal labels, so no component is split. Every vertex must be connected with the vertex that its
label names, so none are merged; disjoint sets, filled arc by arc, say who is connected.
"""

from typing import Any

import numpy as np

from edgewise.algorithms.common.derived import expect_each, expect_integers
from edgewise.errors import VerificationError
from edgewise.graph import Graph
from edgewise.kernels.cpu.team import run_alone, team_kernel
from edgewise.text import shown


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
    """Check components against the graph.

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
    run_alone(
        _union_find, graph.offsets.view(f"u{graph.offsets.itemsize}"), graph.targets.view(np.uint32), root
    )
    expect_each(
        root[component] == root, graph, "label", component, "no path leads to the vertex that it names"
    )
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
    is_low = (component >= 0) & (component <= every)
    expect_each(is_low, graph, "label", component, "expected the index of its smallest vertex")
    is_own = component[component] == component
    expect_each(is_own, graph, "label", component, "the vertex that it names has another label")
    different = int(np.count_nonzero(component == every))
    if different != num_components:
        raise VerificationError(f"num_components is {num_components}; there are {different} different labels")
