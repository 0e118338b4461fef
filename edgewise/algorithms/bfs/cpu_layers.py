"""Breadth-first search in a graph in layers, on the CPU: levels are read from layers, or found over its rows.

Levels and parents are found by places, and then written by vertices. The parent is the one that a search finds: the
first in-neighbour one level up. In an undirected graph it is looked for in the row of the vertex, whose arcs are in
their order; in a directed one it has the lowest index, and the rows of the level before offer theirs.
"""

from typing import Any

import numpy as np

from edgewise.graph.layers import GraphInLayers
from edgewise.kernels.cache import device_function
from edgewise.kernels.cpu.atomics import atomic_min
from edgewise.kernels.cpu.launch import sealed
from edgewise.kernels.cpu.team import claim, team_kernel
from edgewise.primitives.vertices import NO_VERTEX

_STEP, _ONE = 1024, np.uint64(1)


@team_kernel
def read_levels(thread: Any, size: Any, control: Any, begins: Any, limit: Any, level: Any) -> None:
    """Write the level of each place, int32, from where layers begin; -1 beyond `limit`, and where none is."""
    num_layers = len(begins) - 2
    while True:
        layer = claim(control, 0, 1, num_layers + 1)
        if layer > num_layers:
            return
        found = np.int32(layer if layer < num_layers and layer <= limit else -1)
        for p in range(np.uint64(begins[layer]), np.uint64(begins[layer + 1])):
            level[p] = found


@team_kernel
def find_parents(
    thread: Any,
    size: Any,
    control: Any,
    directed: Any,
    offsets: Any,
    targets: Any,
    vertices: Any,
    level: Any,
    parent: Any,
) -> None:
    """Find the parent of each place, a vertex, uint32; all are `NO_VERTEX` before."""
    n = len(vertices)
    while True:
        start = claim(control, 0, _STEP, n)
        if start >= n:
            return
        for p in range(np.uint64(start), np.uint64(min(start + _STEP, n))):
            if level[p] < 0:
                continue
            if directed:
                _offer(p, offsets, targets, np.uint32(vertices[p]), level, parent)
            elif level[p] > 0:
                parent[p] = _first(p, offsets, targets, vertices, level)


@device_function
def _offer(p: Any, offsets: Any, targets: Any, vertex: Any, level: Any, parent: Any) -> None:
    """Offer a vertex as parent along its arcs to the next level."""
    following = level[p] + 1
    for k in range(np.uint64(offsets[p]), np.uint64(offsets[p + _ONE])):
        target = np.uint64(targets[k])
        if level[target] == following and vertex < parent[target]:
            atomic_min(parent, target, vertex)


@device_function
def _first(p: Any, offsets: Any, targets: Any, vertices: Any, level: Any) -> Any:
    """The first neighbour one level up."""
    before = level[p] - 1
    for k in range(np.uint64(offsets[p]), np.uint64(offsets[p + _ONE])):
        u = np.uint64(targets[k])
        if level[u] == before:
            return np.uint32(vertices[u])
    return NO_VERTEX


@team_kernel
def by_vertices(
    thread: Any,
    size: Any,
    control: Any,
    vertices: Any,
    level: Any,
    parent: Any,
    level_of: Any,
    parent_of: Any,
) -> None:
    """Write levels and parents by vertices."""
    n = len(vertices)
    while True:
        start = claim(control, 0, _STEP, n)
        if start >= n:
            return
        for p in range(np.uint64(start), np.uint64(min(start + _STEP, n))):
            v = np.uint64(vertices[p])
            level_of[v] = level[p]
            parent_of[v] = parent[p]


def rows_of(made: GraphInLayers) -> tuple[Any, ...]:
    """What `find_parents` takes of a graph in layers."""
    graph = made.graph
    unsigned = graph.offsets.view(f"u{graph.offsets.itemsize}"), graph.targets.view(np.uint32)
    return graph.directed, *unsigned, sealed(made.order.vertices.view(np.uint32))
