# mypy: disable-error-code="assignment"
# (A variable of a kernel may be a Python and a NumPy integer by turns: numba unifies them.)
"""Breadth-first search in a graph in layers, on a GPU: levels are read from layers, and results written by vertices.

The parent is the first in-neighbour in the layer before, as for a search.
"""

import functools
from typing import Any, NamedTuple

import numpy as np

from edgewise.algorithms.common.device_graph import graph_on_gpu, laid_out, offset_dtype
from edgewise.execution import Execution
from edgewise.graph import Graph
from edgewise.graph.layers import GraphInLayers
from edgewise.kernels.cuda.arguments import Int32s, Int64s, Offsets, Uint32s, type_of
from edgewise.kernels.cuda.device import device_function, lane, num_threads, thread_index
from edgewise.kernels.cuda.launch import Kernel, fixed_kernel
from edgewise.kernels.cuda.memory import copy_of, empty, signals, wait
from edgewise.primitives.first_match import make_find
from edgewise.primitives.halving import last_not_after


class Reading(NamedTuple):
    """What `read_kernel` takes.

    Attributes:
        in_offsets, in_sources: the in-edges of places.
        vertices: the vertex at each place.
        begins: the first place of each layer, that of what no root reaches, and n.
        level, parent: results, by vertices, shape (n,).
        n, num_layers, limit: places, layers, the highest level wanted.
    """

    in_offsets: Offsets
    in_sources: Uint32s
    vertices: Int32s
    begins: Int64s
    level: Int32s
    parent: Int32s
    n: int
    num_layers: int
    limit: int


class Writing(NamedTuple):
    """What `write_kernel` takes: results by places, and by vertices, as in `Reading`."""

    vertices: Int32s
    of_place: Int32s
    parent_of_place: Int32s
    level: Int32s
    parent: Int32s
    n: int


@device_function
def _is_in_layer(u: Any, layer: Any, begins: Any) -> Any:
    return begins[layer] <= u < begins[layer + 1]


_find = make_find(_is_in_layer)


def read_kernel(it):
    """Levels and parents from layers; see `Reading`."""
    for begin in range(thread_index() - lane(), it.n, num_threads()):
        p = begin + lane()
        layer = np.int64(0)
        if p < it.n:
            layer = last_not_after(it.begins, p, np.int64(0), it.num_layers + 1)
        is_found = p < it.n and layer < it.num_layers and layer <= it.limit
        u = _find(is_found and layer > 0, p, layer - 1, it.in_offsets, it.in_sources, it.begins)
        if p < it.n:
            v = it.vertices[p]
            it.level[v] = layer if is_found else -1
            it.parent[v] = it.vertices[u] if u >= 0 else -1


def write_kernel(it):
    """Results by vertices; see `Writing`."""
    for p in range(thread_index(), it.n, num_threads()):
        v, u = it.vertices[p], it.parent_of_place[p]
        it.level[v] = it.of_place[p]
        it.parent[v] = it.vertices[u] if u >= 0 else -1


def read_signature(offsets: np.dtype) -> tuple[Any, ...]:
    """The types of the arguments of `read_kernel`."""
    return (type_of(Reading, offset=offsets),)


def write_signature() -> tuple[Any, ...]:
    """The types of the arguments of `write_kernel`."""
    return (type_of(Writing),)


@functools.cache
def _read_kernel(offsets: np.dtype) -> Kernel:
    return fixed_kernel(read_kernel, read_signature(offsets))


@functools.cache
def _write_kernel() -> Kernel:
    return fixed_kernel(write_kernel, write_signature())


def _vertices_there(graph: Graph) -> Any:
    return copy_of(graph.order.vertices)  # type: ignore[attr-defined]  # a `MovedGraph`


def _begins_there(graph: Graph) -> Any:
    return copy_of(graph.order.begins)  # type: ignore[attr-defined]


def vertices_there(made: GraphInLayers, run: Execution) -> Any:
    """The vertex at each place, on the GPU, int32."""
    return laid_out(run, "brought the order to the GPU", made.graph, _vertices_there)


def read_levels(made: GraphInLayers, limit: int, run: Execution) -> tuple[Any, Any]:
    """Levels and parents from the roots, int32 on the GPU."""
    graph, n = made.graph, made.graph.num_vertices
    on_gpu = graph_on_gpu(graph, run)
    given = Reading(
        in_offsets=on_gpu.in_offsets,
        in_sources=on_gpu.in_sources,
        vertices=vertices_there(made, run),
        begins=graph.gpu.kept(_begins_there),
        level=empty(n, np.int32),
        parent=empty(n, np.int32),
        n=n,
        num_layers=made.order.num_layers,
        limit=limit,
    )
    _read_kernel(offset_dtype(on_gpu)).start([given])
    wait(signals(2), None)
    return given.level, given.parent


def by_vertices(made: GraphInLayers, level: Any, parent: Any, run: Execution) -> tuple[Any, Any]:
    """Levels and parents by vertices, from those by places, of which parents are places, too."""
    n = made.graph.num_vertices
    given = Writing(vertices_there(made, run), level, parent, empty(n, np.int32), empty(n, np.int32), n)
    _write_kernel().start([given])
    wait(signals(2), None)
    return given.level, given.parent
