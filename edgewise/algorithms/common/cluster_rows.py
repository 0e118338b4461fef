# mypy: disable-error-code="assignment"
# (A variable of a kernel may be a Python and a NumPy integer by turns: numba unifies them.)
"""The arcs of a graph by the clusters of their ends, made on a GPU: see `edgewise.primitives.clusters.ClusterRows`."""

import functools
from typing import Any, NamedTuple

import numpy as np

from edgewise.algorithms.common.device_graph import WeightedOnGpu
from edgewise.kernels.cuda.arguments import AtomicInt32s, Int32s, Uint8s, Uint32s, Weights, type_of
from edgewise.kernels.cuda.device import atomic_add, device_function, lane, num_threads, thread_index
from edgewise.kernels.cuda.launch import Kernel, fixed_kernel
from edgewise.kernels.cuda.memory import cupy, empty, finish, zeros
from edgewise.layout.clusters import Clusters
from edgewise.primitives.clusters import SLOTS, ClusterRows, Uint16s
from edgewise.primitives.deal import degree, make_deal
from edgewise.primitives.halving import last_not_after


class Dividing(NamedTuple):
    """What the kernels take.

    Attributes:
        graph: the graph.
        order, place, begins: the clusters.
        cluster: (n,): the cluster at each place, or -1.
        taken: (n,): zeros; how many in-neighbours of a place are in its own cluster.
        is_extra: (m,): whether an in-edge is in no slot though both ends are in the same cluster.
        near: (SLOTS * n,): see `ClusterRows`, a number each.
        lengths, extra, extra_lengths, border, border_to, border_cluster, border_lengths: see there.
        extras, borders: (n + 1,) and (clusters + 1,): how many such arcs each place and each cluster has; then where
            the next one goes.
        n, num_clusters: vertices and clusters.
    """

    graph: WeightedOnGpu
    order: Int32s
    place: Int32s
    begins: Int32s
    cluster: Int32s
    taken: AtomicInt32s
    is_extra: Uint8s
    near: Uint16s
    lengths: Weights
    extra: Uint16s
    extra_lengths: Weights
    border: Uint16s
    border_to: Uint32s
    border_cluster: Uint32s
    border_lengths: Weights
    extras: AtomicInt32s
    borders: AtomicInt32s
    n: int
    num_clusters: int


def clusters_kernel(it):
    """The cluster at each place, and slots with the numbers of their own vertices."""
    end = np.int64(it.begins[it.num_clusters])
    for p in range(thread_index(), it.n, num_threads()):
        cluster, number = np.int64(-1), np.int64(0)
        if p < end:
            cluster = last_not_after(it.begins, p, np.int64(0), it.num_clusters + 1)
            number = p - it.begins[cluster]
        it.cluster[p] = cluster
        for slot in range(SLOTS):
            it.near[SLOTS * p + slot] = number


def make_divide(weighted: bool, fills: bool) -> Any:
    """The kernel that fills slots and counts the other arcs, or, if it `fills`, puts these where they belong."""

    @device_function
    def inward(takes, p, cluster, k, it):
        """Look at one in-edge; all lanes of a warp call it."""
        if takes and (not fills or it.is_extra[k] != 0):
            q = np.int64(it.place[np.int64(it.graph.in_sources[k])])
            if it.cluster[q] == cluster and q != p:
                begin = np.int64(it.begins[cluster])
                if fills:
                    at = atomic_add(it.extras, p, 1)
                    it.extra[at] = q - begin
                    if weighted:
                        it.extra_lengths[at] = it.graph.in_weights[k]
                else:
                    slot = atomic_add(it.taken, p, 1)
                    it.is_extra[k] = slot >= SLOTS
                    if slot < SLOTS:
                        it.near[SLOTS * p + slot] = q - begin
                        if weighted:
                            it.lengths[slot * it.n + p] = it.graph.in_weights[k]
                    else:
                        atomic_add(it.extras, p, 1)
        return np.int64(0), np.int64(0)

    @device_function
    def outward(takes, p, cluster, k, it):
        """Look at one out-edge; all lanes of a warp call it."""
        if takes:
            q = np.int64(it.place[np.int64(it.graph.targets[k])])
            if it.cluster[q] != cluster:
                at = atomic_add(it.borders, cluster, 1)
                if fills:
                    it.border[at] = p - it.begins[cluster]
                    it.border_to[at] = q
                    it.border_cluster[at] = it.cluster[q]
                    if weighted:
                        it.border_lengths[at] = it.graph.weights[k]
        return np.int64(0), np.int64(0)

    look_in, look_out = make_deal(inward, key=True), make_deal(outward, key=True)

    def divide_kernel(it):
        for begin in range(thread_index() - lane(), it.n, num_threads()):
            p, cluster = begin + lane(), np.int64(-1)
            start, arcs, in_start, in_arcs = np.int64(0), np.int64(0), np.int64(0), np.int64(0)
            if p < it.n:
                cluster = np.int64(it.cluster[p])
            if cluster >= 0:
                v = np.int64(it.order[p])
                start, arcs = np.int64(it.graph.offsets[v]), degree(v, it.graph.offsets)
                in_start, in_arcs = np.int64(it.graph.in_offsets[v]), degree(v, it.graph.in_offsets)
            look_in(p, in_start, in_arcs, cluster, it)
            look_out(p, start, arcs, cluster, it)

    return divide_kernel


def divide_signature(offsets: np.dtype, weight: np.dtype | None) -> tuple[Any, ...]:
    """The types of the arguments of the kernels of this module, for offsets and weights of these dtypes."""
    return (type_of(Dividing, offset=offsets, weight=weight or np.dtype(np.int32)),)


@functools.cache
def _clusters_kernel(offsets: np.dtype, weight: np.dtype | None) -> Kernel:
    return fixed_kernel(clusters_kernel, divide_signature(offsets, weight))


@functools.cache
def _divide_kernel(offsets: np.dtype, weight: np.dtype | None, fills: bool) -> Kernel:
    return fixed_kernel(make_divide, divide_signature(offsets, weight), weight is not None, fills)


def cluster_rows(graph: WeightedOnGpu, weight: np.dtype | None, clusters: Clusters) -> ClusterRows:
    """The arcs of a graph by clusters, on the GPU.

    Args:
        graph: on the GPU.
        weight: the dtype of its weights, or None.
        clusters: its clusters, of at most `edgewise.primitives.clusters.MOST` vertices.
    """
    xp, n, count = cupy(), len(clusters.order), clusters.num_clusters
    of_weight, unsigned = weight or np.dtype(np.int32), np.dtype(f"u{graph.offsets.dtype.itemsize}")
    nothing, no_lengths, numbers = empty(0, np.uint32), empty(0, of_weight), empty(0, np.uint16)
    given = Dividing(
        graph=graph,
        order=clusters.order,
        place=clusters.place,
        begins=clusters.begins,
        cluster=empty(n, np.int32),
        taken=zeros(n, np.int32),
        is_extra=zeros(len(graph.in_sources), np.uint8),
        near=empty(SLOTS * n, np.uint16),
        lengths=no_lengths if weight is None else zeros(SLOTS * n, of_weight),
        extra=numbers,
        extra_lengths=no_lengths,
        border=numbers,
        border_to=nothing,
        border_cluster=nothing,
        border_lengths=no_lengths,
        extras=zeros(n + 1, np.int32),
        borders=zeros(count + 1, np.int32),
        n=n,
        num_clusters=count,
    )
    _clusters_kernel(unsigned, weight).start([given])
    _divide_kernel(unsigned, weight, False).start([given])

    def begins(counts: Any) -> tuple[Any, int]:
        ends = xp.cumsum(counts, dtype=np.int32)
        return ends - counts, int(ends[-1])

    (extra_begins, extras), (border_begins, borders) = begins(given.extras), begins(given.borders)
    given = given._replace(
        extra=empty(extras, np.uint16),
        border=empty(borders, np.uint16),
        border_to=empty(borders, np.uint32),
        border_cluster=empty(borders, np.uint32),
        extras=extra_begins.copy(),
        borders=border_begins.copy(),
    )
    if weight is not None:
        given = given._replace(
            extra_lengths=empty(extras, of_weight), border_lengths=empty(borders, of_weight)
        )
    _divide_kernel(unsigned, weight, True).start([given])
    finish()
    return ClusterRows(
        clusters.begins,
        given.near.view(np.uint64),
        given.lengths,
        extra_begins,
        given.extra,
        given.extra_lengths,
        border_begins,
        given.border,
        given.border_to,
        given.border_cluster,
        given.border_lengths,
        count,
    )
