"""Connected components on several ranks: each finds those of its own arcs, and these are joined two by two.

This is on CPUs; ranks with GPUs do as in `edgewise.algorithms.components.ranks_cuda`.

Trees that join whatever the arcs of a rank join have fewer edges than there are vertices. So ranks send each other few
edges, and the components of the trees of two ranks are those of all arcs of both. Most edges lead to the root of the
largest tree, mostly: ranks tell a bit for each vertex, whether it has such an edge, and list the others.
"""

from functools import partial
from typing import Any

import numpy as np

from edgewise.algorithms.common.ranks import join_edges, joining_rounds, own_part
from edgewise.algorithms.components import cpu
from edgewise.engine.distributed.exchange import joined as joined_parts
from edgewise.engine.distributed.exchange import packed, separated, unpacked
from edgewise.engine.distributed.group import connect
from edgewise.execution import Execution
from edgewise.graph import Graph

_Trees = tuple[np.ndarray, np.ndarray]


def components(graph: Graph, run: Execution) -> tuple[Any, int, int]:
    """Labels, the number of components, and how often each arc or tree was looked at, on all ranks; labels are on the
    GPU if the run is."""
    if run.on_gpu:
        from edgewise.algorithms.components import ranks_cuda

        return ranks_cuda.components(graph, run, connect())
    group, every = connect(), np.arange(graph.num_vertices, dtype=np.int32)

    def trees(part: Graph) -> _Trees:
        """The vertices that are not the smallest of their component, each with the one that is."""
        told = len(run.notes)
        label, _, _ = cpu.components(part, run)
        del run.notes[told:]  # of a part of the graph, or of trees
        below = np.flatnonzero(label != every).astype(np.int32)
        return below, label[below]

    def joined(vertices: np.ndarray, labels: np.ndarray) -> _Trees:
        return trees(Graph.from_edges(vertices, labels, num_vertices=len(every)))

    own = trees(own_part(graph, group, weighted=False))
    ways = partial(_packed, len(every)), partial(_unpacked, len(every))
    below, labels = join_edges(own, joined, group, *ways)
    every[below] = labels
    rounds = joining_rounds(group)
    run.explain(f"each rank found the components of its own arcs; {rounds:,} rounds joined them")
    return every, len(every) - len(below), 1 + rounds


def _packed(num_vertices: int, trees: _Trees) -> np.ndarray:
    """Trees as bytes: the root of the largest one, its vertices, and those of others with their roots."""
    (below, labels), among = trees, slice(0, num_vertices)
    root = np.bincount(labels, minlength=1).argmax()
    inside = labels == root
    largest = packed(below[inside], among, [])
    others = packed(below[~inside], among, [labels[~inside]])
    return joined_parts([np.array([root], np.int32).view(np.uint8), largest, others])


def _unpacked(num_vertices: int, part: np.ndarray) -> _Trees:
    """The trees of `_packed`, in another order."""
    (root, largest, others), among = separated(part, 3), slice(0, num_vertices)
    inside, _ = unpacked(largest, among, [])
    outside, (labels,) = unpacked(others, among, [np.dtype(np.int32)])
    of_largest = np.repeat(root.view(np.int32), len(inside))
    return np.concatenate([inside, outside]).astype(np.int32), np.concatenate([of_largest, labels])
