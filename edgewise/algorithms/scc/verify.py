"""A check that labels are the strongly connected components of a graph, in near-linear time.

No component is too large: the vertex that names it reaches its vertices along arcs inside it, and against such arcs.
None is too small: the graph of components has no cycle, for taking away components that no arc leads to, one after the
other, leaves none.
"""

from typing import Any

import numpy as np

from edgewise.algorithms.components.verify import check_labels
from edgewise.errors import VerificationError
from edgewise.graph import Graph
from edgewise.kernels.cpu.team import run_alone, team_kernel
from edgewise.text import shown


def verify_strong_components(graph: Graph, component: np.ndarray, num_components: int) -> bool:
    """Check strongly connected components against the graph.

    Args:
        graph: the graph, n vertices.
        component: integers, shape (n,).
        num_components: the number of different labels.

    Raises:
        VerificationError: naming the first vertex that is wrong.
    """
    check_labels(graph, component, num_components)
    labels = component.astype(np.int64)
    roots = np.flatnonzero(labels == np.arange(len(labels)))
    out_edges = graph.offsets, graph.targets
    in_edges = (graph.in_offsets, graph.in_sources) if graph.directed else out_edges
    for name, rows in (("from", out_edges), ("to", in_edges)):
        reached, queue = np.zeros(len(labels), bool), np.empty(len(labels), np.int64)
        queue[: len(roots)] = roots
        run_alone(_reach_inside, *rows, labels, reached, queue, len(roots))
        if not reached.all():
            v, root = graph.ids_of(np.array([np.argmin(reached), labels[np.argmin(reached)]])).tolist()
            raise VerificationError(
                f"vertex {shown(v)} has the label {shown(root)}: no path inside that component leads {name} the vertex "
                "that it names"
            )
    order, entering = np.argsort(labels, kind="stable"), np.zeros(len(labels), np.int64)
    begins = np.searchsorted(labels[order], np.arange(len(labels) + 1))
    left = np.array([len(roots)])
    run_alone(
        _take_away, graph.offsets, graph.targets, labels, order, begins, entering, np.empty_like(order), left
    )
    if left[0]:
        root = int(roots[np.argmax(entering[roots] > 0)])
        v = graph.ids_of(np.array([root])).tolist()[0]
        raise VerificationError(
            f"the component of vertex {shown(v)} is on a cycle of {left[0]} or fewer components, or behind one: they "
            "are one"
        )
    return True


@team_kernel
def _reach_inside(
    thread: Any,
    size: Any,
    control: Any,
    offsets: Any,
    targets: Any,
    labels: Any,
    reached: Any,
    queue: Any,
    tail: Any,
) -> None:
    """Mark the vertices that are reached from the queue along arcs between equal labels."""
    for i in range(tail):
        reached[queue[i]] = True
    head = 0
    while head < tail:
        v = queue[head]
        head += 1
        for k in range(np.int64(offsets[v]), np.int64(offsets[v + 1])):
            u = targets[k]
            if labels[u] == labels[v] and not reached[u]:
                reached[u] = True
                queue[tail] = u
                tail += 1


@team_kernel
def _take_away(
    thread: Any,
    size: Any,
    control: Any,
    offsets: Any,
    targets: Any,
    labels: Any,
    order: Any,
    begins: Any,
    entering: Any,
    queue: Any,
    left: Any,
) -> None:
    """Take components away that no arc leads to from another that is left; `left` counts down.

    Args:
        order, begins: vertices by label, and where those of each label begin.
        entering: zeros; for each label, the number of arcs to its component from others that are left.
    """
    n = len(labels)
    for v in range(n):
        for k in range(np.int64(offsets[v]), np.int64(offsets[v + 1])):
            if labels[targets[k]] != labels[v]:
                entering[labels[targets[k]]] += 1
    head = tail = 0
    for v in range(n):
        if labels[v] == v and entering[v] == 0:
            queue[tail] = v
            tail += 1
    while head < tail:
        label = queue[head]
        head += 1
        for i in range(begins[label], begins[label + 1]):
            v = order[i]
            for k in range(np.int64(offsets[v]), np.int64(offsets[v + 1])):
                other = labels[targets[k]]
                if other != label:
                    entering[other] -= 1
                    if entering[other] == 0:
                        queue[tail] = other
                        tail += 1
    left[0] -= tail
