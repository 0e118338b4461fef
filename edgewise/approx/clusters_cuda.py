"""Neighbours and triangles for clusters, found on a GPU: see `edgewise.approx.clusters`.

Centres get their edges one after the other, each by what those before it got, on the host. It is given as little as
that looks at: the rows of centres, the neighbours of centres among each other, and the arcs of centres.
"""

from typing import Any

import numpy as np

from edgewise.approx.coefficients_cuda import Near, neighbours_on_gpu, triangles_on_gpu
from edgewise.approx.near import Arcs, Neighbours
from edgewise.graph import Graph
from edgewise.graph.keys_cuda import arc_keys
from edgewise.kernels.cuda.memory import copy_of, cupy, host_copy, zeros


def counted_on_gpu(graph: Graph) -> tuple[Near, np.ndarray, np.ndarray]:
    """The neighbours of all vertices, on the GPU; how many there are, and how many triangles, on the host, int64."""
    near = neighbours_on_gpu(graph)
    return near, host_copy(cupy().diff(near.rows.offsets)), host_copy(triangles_on_gpu(near))


def around_on_gpu(graph: Graph, near: Near, centres: np.ndarray) -> tuple[Neighbours, Arcs]:
    """What of neighbours and arcs lies around some vertices, on the host.

    Args:
        graph: the graph.
        near: its neighbours.
        centres: int32.

    Returns:
        Rows of neighbours, whole for centres, and for their neighbours with those that are neighbours of centres, too;
        and the arcs from and to centres, as `edgewise.approx.near.arcs_in_order` has all arcs.
    """
    xp, (offsets, targets), sources = cupy(), near.rows, near.sources
    is_centre = zeros(graph.num_vertices, np.bool_)
    is_centre[copy_of(centres)] = True
    is_near = zeros(graph.num_vertices, np.bool_)
    is_near[targets[is_centre[sources]]] = True
    kept = is_centre[sources] | (is_near[sources] & is_near[targets])
    upto = zeros(len(kept) + 1, np.int64)
    xp.cumsum(kept, dtype=np.int64, out=upto[1:])
    rows = Neighbours(host_copy(upto[offsets]), host_copy(targets[kept]))
    mirrored = arc_keys(graph.gpu.offsets, graph.gpu.targets)
    taken = xp.flatnonzero(is_centre[mirrored >> 32] | is_centre[mirrored & 0xFFFFFFFF])
    mirrored = mirrored[taken]
    keys = (mirrored & 0xFFFFFFFF) << 32 | mirrored >> 32
    order = xp.argsort(keys, kind="stable")
    weights: Any = host_copy(graph.gpu.weights[taken[order]]) if graph.weighted else None
    return rows, Arcs(host_copy(keys[order]), weights)
