"""Shortest paths on several ranks with GPUs, for weights of at least 0: distances by near-far, parents from these.

Each rank has the arcs of its own vertices. A superstep is a launch on each rank, from its own near vertices, and an
exchange, in which ranks tell each other of vertices that they have lowered (`near_far_ranks`). Its words say how many
vertices are near for the next superstep, and the least distance of a far one. So all ranks decide alike: go on with
what is near, raise the threshold above the least distance of all, or end.

Then ranks tell each other the distances of their own vertices, while each finds the least parent that its arcs offer
to each vertex, of those that are nearer; the least of all ranks is the parent. Vertices that only arcs of length 0
reach get theirs on the CPU, as after a run on one GPU.

Integers of 64 bits are asked for where sums might be longer than 31 bits. They hardly ever are: so ranks first look for
distances in 32 bits, of which more are in the cache and fewer bytes are told, and begin again if one was too long.
"""

import functools
from typing import Any, Literal, NamedTuple
from weakref import WeakSet

import numpy as np

from edgewise.algorithms.common.device_graph import offset_dtype
from edgewise.algorithms.common.offers_cuda import make_offer, offers_of
from edgewise.algorithms.common.offers_cuda import signature as offers_signature
from edgewise.algorithms.common.own_rows_cuda import own_rows
from edgewise.algorithms.common.ranks import arc_ranges, own_arcs
from edgewise.algorithms.common.ranks_cuda import joining, take_least, tell_own
from edgewise.algorithms.sssp.asked import Asked
from edgewise.algorithms.sssp.cuda import finished, gpu_delta, make_sums, unreached_key
from edgewise.algorithms.sssp.near_far_ranks import (
    BARRIERS,
    CONTROL,
    FAR,
    LEAST,
    NEXT,
    TOLD,
    TOLD_LEAST,
    TOLD_NEAR,
    TOO_FAR,
    Superstep,
    make_kernel,
    signature,
)
from edgewise.algorithms.sssp.weights import may_have_orphans, narrow_dtype
from edgewise.engine.distributed.channel import Channel, Lists
from edgewise.engine.distributed.channel_cuda import channel_of
from edgewise.engine.distributed.group import Group
from edgewise.engine.distributed.partition import Ranges
from edgewise.execution import Execution
from edgewise.graph import Graph
from edgewise.kernels.cuda.arguments import Int64s, Keys, Uint32s, type_of
from edgewise.kernels.cuda.device import num_threads, thread_index
from edgewise.kernels.cuda.launch import Kernel, fixed_kernel
from edgewise.kernels.cuda.memory import (
    copy_of,
    cupy,
    device_number,
    empty,
    follow,
    full,
    new_stream,
    room,
    zeros,
)
from edgewise.primitives.deal import most_pieces
from edgewise.primitives.near_far_rise import LARGEST, adapted
from edgewise.primitives.ordered_keys import key_dtype
from edgewise.primitives.vertices import NO_VERTEX

_NAME = "sssp"
_NONE = -1
#: Distances that are looked for before those of _LONG, and graphs that have longer ones.
_SHORT, _LONG = np.dtype(np.int32), np.dtype(np.int64)
_too_far: WeakSet[Graph] = WeakSet()
#: The bytes of the number of a vertex.
_NUMBER = 4
#: By how much the threshold rises at first, in those of one GPU: a superstep takes longer, so there should be fewer.
_WIDER = 4
#: For `adapted`, of near vertices on all ranks: a launch and an exchange take as long as about SLOW.
_SLOW, _FAST = 100_000, 1_000_000
#: The blocks of the kernel for parents that are not started, so that copies meanwhile find room on the GPU.
_LEFT = 2


def make_offers_kernel(distance: np.dtype, weighted: bool) -> Any:
    """The kernel that makes parents, for distances of a dtype, with weights or with 1 for each arc."""
    plus, _, weight_of = make_sums(distance, weighted)
    offer = make_offer(plus, weight_of)

    def offers_kernel(it):
        """Parents from finished distances over the arcs that are there; see `Offers`."""
        offer(it)

    return offers_kernel


class Finishing(NamedTuple):
    """What `finish_kernel` takes.

    Attributes:
        best: the keys of distances, shape (n,); of vertices of other ranks, the least that the arcs of this one offer.
        told: those of all vertices, as their ranks have them.
        distance: shape (n,), gets these in 64 bits if it `widens`; else any other array.
        parent: shape (n,).
        n, low, high: vertices, of which those from `low` to `high` - 1 are this rank's.
        unreached: the key of no distance.
        widens: see `distance`.
    """

    best: Keys
    told: Keys
    distance: Int64s
    parent: Uint32s
    n: int
    low: int
    high: int
    unreached: int
    widens: bool


def finish_signature(distance: np.dtype) -> tuple[Any, ...]:
    """The type of the argument of `finish_kernel` for distances of this dtype."""
    return (type_of(Finishing, key=key_dtype(distance)),)


def finish_kernel(it):
    """Take away parents that arcs of this rank offer at a longer distance than another rank's; see `Finishing`."""
    for v in range(thread_index(), it.n, num_threads()):
        key = np.int64(it.told[v])
        if (v < it.low or v >= it.high) and np.int64(it.best[v]) != key:
            it.parent[v] = NO_VERTEX
        if it.widens != 0:
            it.distance[v] = LARGEST if key == it.unreached else key


@functools.cache
def _finish_kernel(distance: np.dtype) -> Kernel:
    return fixed_kernel(finish_kernel, finish_signature(distance))


@functools.cache
def _offers_kernel(offsets: np.dtype, weight: np.dtype | None, distance: np.dtype) -> Kernel:
    kinds = offers_signature(offsets, weight, distance)
    return fixed_kernel(make_offers_kernel, kinds, distance, weight is not None)


@functools.cache
def _kernel(offsets: np.dtype, weight: np.dtype | None, distance: np.dtype) -> Kernel:
    kinds = signature(offsets, weight, distance)
    return fixed_kernel(make_kernel, kinds, distance, weight is not None)


class _Rows(NamedTuple):
    """The arcs of a rank's vertices on its GPU.

    Attributes:
        offsets: for all vertices, shape (n + 1,); rows of other ranks' vertices are empty.
        targets, weights: of these arcs; targets in place of no weights.
        kinds: the dtypes of offsets in kernels, of weights or None, and of distances.
        ranges: the vertices of ranks.
    """

    offsets: Any
    targets: Any
    weights: Any
    kinds: tuple[np.dtype, np.dtype | None, np.dtype]
    ranges: Ranges


def shortest_paths(
    graph: Graph, asked: Asked, delta: float | Literal["auto"], run: Execution, group: Group
) -> tuple[Any, Any, int]:
    """Distances, parents and supersteps on all ranks, as of `cuda.shortest_paths`.

    Args:
        graph: weights of at least 0.
        asked: what is asked for; a target ends nothing early.
        delta: by how much the threshold rises.
        run, group: the run that this is, and the ranks.

    Raises:
        GraphError: a distance is beyond the floats of this dtype.
        MemoryLimitError: on all ranks, if one of them has no room.
        DistributedError: another rank has ended, or does not answer in time.
    """
    n, adapts = graph.num_vertices, delta == "auto"
    width = _WIDER * gpu_delta(graph) if delta == "auto" else delta
    sought = _in_short(asked) if asked.dtype == _LONG else asked
    may_be_longer = bool(sought.bound < asked.bound)
    # Each rank knows graphs of its own; all have to look for the same.
    if may_be_longer and group.total(graph in _too_far):
        sought, may_be_longer = asked, False
    found = _searched(graph, sought, asked if may_be_longer else None, width, adapts, run, group)
    if found is None:
        _too_far.add(graph)
        run.explain(f"a distance takes more than {8 * _SHORT.itemsize - 1} bits: ranks began again")
        run.begun = False  # there may be no room
        sought = asked
        found = _searched(graph, asked, None, width, adapts, run, group)
        assert found is not None
    rows, channel, best, supersteps, rises = found
    del found
    run.explain(f"on GPU {device_number()}; ranks speak by {channel.name}")
    apart = f"{width:.4g} apart" + (", or more where few vertices were near" if adapts else "")
    run.explain(f"{supersteps:,} supersteps; {rises:,} thresholds {apart}")
    with joining(_NAME, n, group, asked.dtype.itemsize + sought.dtype.itemsize):
        distance, parent = _finished(rows, best, sought.dtype, asked.dtype, channel)
        del best
        take_least(parent.view(np.uint32), group, channel)
        orphans = 0
        if may_have_orphans(graph, asked.dtype):
            reached, has_parent = distance != asked.unreached, parent != _NONE
            orphans = int(cupy().count_nonzero(reached)) - int(cupy().count_nonzero(has_parent))
            orphans -= len(asked.sources)
    return *finished(graph, asked, distance, parent, orphans, run), supersteps


def _in_short(asked: Asked) -> Asked:
    """The same in distances of 32 bits, none of which is that of no distance."""
    most = np.iinfo(_SHORT).max - 1
    return asked._replace(dtype=_SHORT, bound=_SHORT.type(min(int(asked.bound), most)))


def _searched(
    graph: Graph,
    sought: Asked,
    longer: Asked | None,
    width: float,
    adapts: bool,
    run: Execution,
    group: Group,
) -> tuple[_Rows, Channel, Any, int, int] | None:
    """The arcs of this rank, how ranks speak, and what `_search` finds; or None as that says.

    Args:
        graph, run, group: as for `shortest_paths`.
        sought: what is looked for.
        longer: what is looked for then if a distance is longer than the bound of that; None if none can be.
        width, adapts: by how much the threshold rises, and whether by more where few vertices are near.
    """
    needed = _running_bytes(graph, sought.dtype, group)
    more = _running_bytes(graph, longer.dtype, group) - needed if longer else 0
    weight = narrow_dtype(graph)
    how: dict[str, Any] = {"in_edges": False, "weight": weight, "more": more}
    (rows, weights, _), _ = own_rows(_NAME, graph, run, group, needed, tuple, **how)
    kinds = offset_dtype(rows), weight, sought.dtype
    own = _Rows(rows.offsets, rows.targets, weights, kinds, arc_ranges(graph, group))
    with run.laying_out():
        channel = channel_of(group)
    with channel.in_run(), room(_NAME, needed):
        found = _search(own, sought, longer is not None, width, adapts, channel, run)
    return found and (own, channel, *found)


def _finished(rows: _Rows, best: Any, dtype: np.dtype, wanted: np.dtype, channel: Channel) -> tuple[Any, Any]:
    """The distances of all vertices, shape (n,), and the parents that the arcs of this rank offer, int32, -1 for none.

    Ranks tell each other distances while they look for parents. Of a vertex of another rank, `best` is the least that
    the arcs of this one offer: so where its distance is that, there is nothing to mend, and elsewhere these arcs offer
    no parent.

    Args:
        rows, best, channel: the arcs of this rank, keys as `_search` gives them, and how ranks speak.
        dtype, wanted: of the distances that `best` has the keys of, and of those that are wanted.
    """
    own, n, unreached = rows.ranges.own, len(best), unreached_key(dtype)
    told, parent = empty(n, dtype), full(n, _NONE, np.int32)
    told[own] = best[own].view(dtype)
    passed = rows.offsets, rows.targets, rows.weights, best, parent.view(np.uint32), unreached
    offers = offers_of(*passed)
    with new_stream(follows=True) as beside:
        kernel = _offers_kernel(*rows.kinds)
        kernel.start([offers], max(1, kernel.blocks - _LEFT))
    try:
        tell_own(told, rows.ranges, channel)()
    finally:
        follow(beside)  # it uses memory that an error gives back
    widens = wanted != dtype
    distance = empty(n, wanted) if widens else told
    finishing = Finishing(
        best=best,
        told=told.view(best.dtype),
        distance=distance,
        parent=parent.view(np.uint32),
        n=n,
        low=own.start,
        high=own.stop,
        unreached=unreached,
        widens=widens,
    )
    _finish_kernel(dtype).start([finishing])
    return distance, parent


def _running_bytes(graph: Graph, dtype: np.dtype, group: Group) -> int:
    """The GPU's memory that a run takes at most beside arcs: the arrays of `Superstep`, and, if ranks tell each other
    of all vertices, what is sent, and what is received and taken."""
    own, arcs = own_arcs(graph, group)
    n, length, key = graph.num_vertices, own.stop - own.start, key_dtype(dtype).itemsize
    of_vertices = n * (key + 4) + length * 4 + 4 * length * _NUMBER + 8 * most_pieces(length, arcs)
    told = _NUMBER + key
    return of_vertices + 2 * n * told + 2 * (group.size - 1) * length * told


def _search(
    rows: _Rows,
    sought: Asked,
    ends_beyond: bool,
    delta: float,
    adapts: bool,
    channel: Channel,
    run: Execution,
) -> tuple[Any, int, int] | None:
    """The keys of distances, shape (n,), right for own vertices; and how many supersteps and rises there were.

    Args:
        rows, channel, run: the arcs of this rank, how ranks speak, and the run.
        sought: what is looked for.
        ends_beyond: whether to end without an answer if a distance is longer than its bound.
        delta: by how much the threshold rises.
        adapts: whether it rises by more where few vertices are near; see `adapted`.
    """
    kernel, passed = _kernel(*rows.kinds), _first_superstep(rows, sought, ends_beyond, delta)
    begins, control = rows.ranges.begins, passed.control
    exchange = channel.exchanging_lists(Lists(control, TOLD, begins, [passed.told, passed.told_keys]))
    rank, computed, risen_at = rows.ranges.rank, 0, 0
    while True:
        kernel.start([passed])
        of_ranks, received = exchange()
        if run.progress is not None:
            run.progress(passed.step)
        if any(told[TOO_FAR] for told in of_ranks):
            return None
        own = of_ranks[rank]
        changed: dict[str, Any] = {"near": passed.next_near, "num_near": own[NEXT], "num_risen": 0}
        changed |= {"num_far": own[FAR], "least": own[LEAST], "turn": passed.turn + BARRIERS}
        near = sum(told[NEXT] + told[TOLD_NEAR] for told in of_ranks)
        computed += near
        if near == 0:
            start = min(min(told[LEAST], told[TOLD_LEAST]) for told in of_ranks)
            if start == LARGEST:
                return passed.best, passed.step, passed.bucket - 1
            width = passed.delta
            if adapts:
                width = max(delta, adapted(width, computed, passed.step - risen_at, _SLOW, _FAST))
            computed, risen_at = 0, passed.step
            changed |= {"bucket": passed.bucket + 1, "start": start, "delta": width}
            changed |= {"last_start": passed.start, "last_delta": passed.delta}
            changed |= {"far": passed.risen, "risen": passed.far, "num_risen": own[FAR]}
            changed |= {"num_far": 0, "least": int(LARGEST)}
        changed |= _taken(received)
        passed = passed._replace(step=passed.step + 1, next_near=passed.near, **changed)


def _first_superstep(rows: _Rows, sought: Asked, ends_beyond: bool, delta: float) -> Superstep:
    """The first superstep of a run, which takes its own sources as if others had told of them; see `_search`."""
    ranges, n, dtype = rows.ranges, len(rows.offsets) - 1, sought.dtype
    own, key = ranges.own, key_dtype(dtype)
    length = own.stop - own.start
    sources = sought.sources[(sought.sources >= own.start) & (sought.sources < own.stop)]
    bound, unreached = np.array([sought.bound, sought.unreached]).view(key).tolist()
    size = len(ranges.begins) - 1
    return Superstep(
        offsets=rows.offsets,
        targets=rows.targets,
        weights=rows.weights,
        best=full(n, unreached, key),
        stamps=zeros(n + length, np.uint32),
        near=empty(length, np.uint32),
        next_near=empty(length, np.uint32),
        far=empty(length, np.uint32),
        risen=empty(length, np.uint32),
        pieces=empty(most_pieces(length, len(rows.targets)), np.int64),
        told=empty(n, np.uint32),
        told_keys=empty(n, key),
        begins=copy_of(np.array(ranges.begins, np.int64)),
        vertices=copy_of(sources.astype(np.uint32)),
        keys=zeros(len(sources), key),
        control=zeros(CONTROL.size - 1 + size, np.int64),
        delta=delta,
        last_delta=delta,
        bound=bound,
        ends_beyond=ends_beyond,
        n=n,
        low=own.start,
        high=own.stop,
        rank=ranges.rank,
        size=size,
        step=1,
        bucket=1,
        start=0,
        last_start=0,
        num_taken=len(sources),
        num_risen=0,
        num_near=0,
        num_far=0,
        least=int(LARGEST),
        turn=0,
    )


def _taken(received: list[list[Any]]) -> dict[str, Any]:
    """What other ranks have told, as `Superstep` takes it."""
    of_others = list(filter(None, received))
    if not of_others:
        return {"num_taken": 0}
    vertices, keys = (
        each[0] if len(each) == 1 else cupy().concatenate(each) for each in zip(*of_others, strict=True)
    )
    return {"vertices": vertices, "keys": keys, "num_taken": len(vertices)}
