"""Where the arcs of a graph lead among its clusters, found on a GPU: see `edgewise.layout.clusters`."""

import functools
from typing import Any, NamedTuple

import numpy as np

from edgewise.kernels.cuda.arguments import AtomicInt64s, Int32s, Offsets, Uint8s, Uint32s, type_of
from edgewise.kernels.cuda.device import atomic_add, lane, num_threads, thread_index, warp_sum
from edgewise.kernels.cuda.launch import Kernel, fixed_kernel
from edgewise.kernels.cuda.memory import empty, zeros
from edgewise.layout.clusters import Clusters
from edgewise.primitives.halving import last_not_after


class PlacedArcs(NamedTuple):
    """Where arcs lead.

    Attributes:
        to: (m,): the place of the target of each arc.
        cluster: (n,): the cluster of each place, or -1.
        crosses: (n,): whether an arc out of a place leads into another cluster.
        crossing: how many arcs do.
    """

    to: Int32s
    cluster: Int32s
    crosses: Uint8s
    crossing: int


class Placing(NamedTuple):
    """What the kernel takes.

    Attributes:
        offsets, targets: the graph.
        order, place, begins: the clusters.
        to, cluster, crosses: see `PlacedArcs`.
        crossing: (1,): 0.
        n, num_clusters: vertices and clusters.
    """

    offsets: Offsets
    targets: Uint32s
    order: Int32s
    place: Int32s
    begins: Int32s
    to: Int32s
    cluster: Int32s
    crosses: Uint8s
    crossing: AtomicInt64s
    n: int
    num_clusters: int


def placing_kernel(it):
    """Find where the arcs lead."""
    end, found = np.int64(it.begins[it.num_clusters]), np.int64(0)
    for p in range(thread_index(), it.n, num_threads()):
        c, first, last = np.int64(-1), np.int64(0), np.int64(it.n)
        if p < end:
            c = last_not_after(it.begins, p, np.int64(0), it.num_clusters + 1)
            first, last = np.int64(it.begins[c]), np.int64(it.begins[c + 1])
        v, crossing = np.int64(it.order[p]), np.int64(0)
        for k in range(np.int64(it.offsets[v]), np.int64(it.offsets[v + 1])):
            to = np.int64(it.place[np.int64(it.targets[k])])
            it.to[k] = to
            if to < first or to >= last:
                crossing += 1
        it.cluster[p] = c
        it.crosses[p] = crossing > 0
        found += crossing
    found = warp_sum(found)
    if lane() == 0 and found > 0:
        atomic_add(it.crossing, 0, found)


def placing_signature(offsets: np.dtype) -> tuple[Any, ...]:
    """The type of the argument of the kernel, for unsigned offsets of this dtype."""
    return (type_of(Placing, offset=offsets),)


@functools.cache
def _kernel(offsets: np.dtype) -> Kernel:
    return fixed_kernel(placing_kernel, placing_signature(offsets))


def place_arcs(offsets: Any, targets: Any, clusters: Clusters) -> PlacedArcs:
    """Where the arcs of a graph lead.

    Args:
        offsets, targets: the graph, on the GPU.
        clusters: its clusters.
    """
    n, crossing = len(clusters.order), zeros(1, np.int64)
    given = Placing(
        offsets=offsets,
        targets=targets,
        order=clusters.order,
        place=clusters.place,
        begins=clusters.begins,
        to=empty(len(targets), np.int32),
        cluster=empty(n, np.int32),
        crosses=empty(n, np.uint8),
        crossing=crossing,
        n=n,
        num_clusters=clusters.num_clusters,
    )
    _kernel(np.dtype(f"u{offsets.dtype.itemsize}")).start([given])
    return PlacedArcs(given.to, given.cluster, given.crosses, int(crossing[0]))
