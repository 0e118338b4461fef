# mypy: disable-error-code="assignment"
# (A variable of a kernel may be a Python and a NumPy integer by turns: numba unifies them.)
"""Parents on a GPU: of a vertex's in-neighbours, the first one that is one level up."""

import functools
from typing import Any, NamedTuple

import numpy as np

from edgewise.algorithms.common.device_graph import GraphOnGpu, graph_on_gpu, offset_dtype
from edgewise.execution import Execution
from edgewise.graph import Graph
from edgewise.kernels.cuda.arguments import AtomicInt32s, type_of
from edgewise.kernels.cuda.device import device_function, lane, num_threads, thread_index
from edgewise.kernels.cuda.launch import Kernel, fixed_kernel
from edgewise.kernels.cuda.memory import signals, wait
from edgewise.primitives.control import host_words
from edgewise.primitives.first_match import make_find


@device_function
def is_on_level(u: Any, depth: Any, level: Any) -> Any:
    return level[u] == depth


_find = make_find(is_on_level)


@device_function
def find_parent(wanted: Any, v: Any, depth: Any, graph: Any, level: Any) -> Any:
    """The first in-neighbour on a level, or -1, for the vertices of those lanes that want it. All lanes take part."""
    return _find(wanted, v, depth, graph.in_offsets, graph.in_sources, level)


class Parents(NamedTuple):
    """What `parents_kernel` takes.

    Attributes:
        graph: the graph.
        level, parent: shape (n,); those get a parent whose parent is -1 before.
        low, high: of the vertices from `low` to `high` - 1.
    """

    graph: GraphOnGpu
    level: AtomicInt32s
    parent: AtomicInt32s
    low: int
    high: int


def parents_signature(offsets: np.dtype) -> tuple[Any, ...]:
    """The types of the arguments of `parents_kernel` for graphs with offsets of this dtype."""
    return (type_of(Parents, offset=offsets),)


def parents_kernel(it):
    """Parents from finished levels; see `Parents`."""
    for begin in range(it.low + thread_index() - lane(), it.high, num_threads()):
        v, depth = begin + lane(), np.int64(0)
        if v < it.high and it.parent[v] < 0:
            depth = np.int64(it.level[v])
        u = find_parent(depth > 0, v, depth - 1, it.graph, it.level)
        if u >= 0:
            it.parent[v] = u


@functools.cache
def _parents_kernel(offsets: np.dtype) -> Kernel:
    return fixed_kernel(parents_kernel, parents_signature(offsets))


def make_parents(graph: Graph, level: Any, parent: Any, run: Execution) -> None:
    """Fill in parents, which are -1, from finished levels; both int32 on the GPU, shape (n,)."""
    start_parents(graph_on_gpu(graph, run), level, parent, slice(0, len(level)))
    wait(signals(host_words().size), None)


def start_parents(rows: GraphOnGpu, level: Any, parent: Any, of: slice) -> None:
    """Start to do as `make_parents` for some vertices, of which the in-edges are among these rows."""
    _parents_kernel(offset_dtype(rows)).start([Parents(rows, level, parent, of.start, of.stop)])
