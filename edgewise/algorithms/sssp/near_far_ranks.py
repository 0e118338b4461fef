# mypy: disable-error-code="assignment"
# (A variable of a kernel may be a Python and a NumPy integer by turns: numba unifies them.)
"""A superstep of near-far on one of several ranks with GPUs: one cooperative launch.

As on one GPU (`edgewise.primitives.near_far`), a vertex whose distance falls below a threshold is near, and the next
superstep sends from it; others are far, until the threshold rises. Here a rank has the arcs of its own vertices, and
sends from these alone. Of a vertex of another rank it keeps the best distance that it has offered. Where that falls,
the vertex is listed, once in a superstep; at the end its distance is put beside it, and the host sends both to its
rank, which takes the least that it is told. So what is no better than what was told before is not told.

The lists of vertices are in no order. Distances are the least sums over all paths, which no order changes.
"""

from typing import Any, NamedTuple

import numpy as np

from edgewise.algorithms.sssp.cuda import make_sums
from edgewise.kernels.cuda.arguments import (
    AtomicInt64s,
    AtomicKeys,
    AtomicUint32s,
    Int64s,
    Keys,
    Offsets,
    Uint32s,
    Weights,
    type_of,
)
from edgewise.kernels.cuda.device import (
    INT64,
    UINT32,
    WARPS,
    atomic_add,
    atomic_exchange,
    atomic_min,
    block_barrier,
    block_size,
    block_thread,
    cuda,
    device_function,
    grid_barrier,
    lane,
    num_threads,
    thread_index,
    warp_min,
    warp_sum,
)
from edgewise.primitives.control import control_words
from edgewise.primitives.deal import append, list_pieces, make_walk
from edgewise.primitives.near_far_rise import LARGEST
from edgewise.primitives.ordered_keys import key_dtype
from edgewise.primitives.warp_buffers import BOX_WORDS, Boxes, make_outbox

#: Words of `control`. The lengths of the lists of near vertices, of this superstep and the next, of pieces and of far
#: vertices; the least key of a far vertex; of vertices of other ranks that are told of, how many are near, and the
#: least key of the far ones; whether a distance was too long, see `Superstep`. From TOLD on, for each rank, where the
#: list of its vertices that are told of ends.
CONTROL = control_words()
NEAR, NEXT, PIECES, FAR, LEAST, TOLD_NEAR, TOLD_LEAST, TOO_FAR, TOLD = (CONTROL.take() for _ in range(9))
#: How often the threads wait for each other in a superstep.
BARRIERS = 4
#: How many words outboxes of a block have, and how many counts: for near vertices, far ones, and those of other ranks.
_WORDS, _HELD = 3 * BOX_WORDS, 3 * WARPS


class Superstep(NamedTuple):
    """What the kernel takes.

    Attributes:
        offsets: of the arcs of own vertices, shape (n + 1,); other rows are empty.
        targets, weights: of these arcs.
        best: (n,): the keys of distances; of other ranks' vertices, those that were told.
        stamps: (n + own vertices,): the last superstep for which a vertex was listed as near, or to be told of; then of
            each own vertex 1 plus the number of rises before it was last listed as far.
        near, next_near: own vertices that are near in this superstep, and in the next.
        far, risen: own vertices that are far; and those that were far when the threshold rose, if it has.
        pieces: see `edgewise.primitives.deal`.
        told, told_keys: (n,): vertices of other ranks, those of a rank in the places of its vertices; and their keys.
        begins: the first vertex of each rank, and the number of all.
        vertices, keys: what other ranks have told: own vertices and keys, each of shape (num_taken,).
        control: see `CONTROL`; zeros before the first superstep.
        delta, last_delta: by how much the threshold rises, and what that was before the last rise.
        bound: the key of the longest distance to offer.
        ends_beyond: whether a longer one ends the run, as TOO_FAR says.
        n, low, high, rank, size: vertices; those of this rank, from `low` to `high` - 1; this rank, and how many.
        step, bucket: which superstep this is, from 1 on; 1 plus the number of rises.
        start, last_start: the thresholds, of now and before the last rise, are that much above these keys.
        num_taken, num_risen: the lengths of `vertices` and of `risen`.
        num_near, num_far, least: the lengths of `near` and of `far`, and the least key of `far`, or `LARGEST`.
        turn: how often the threads have waited for each other before.
    """

    offsets: Offsets
    targets: Uint32s
    weights: Weights
    best: AtomicKeys
    stamps: AtomicUint32s
    near: Uint32s
    next_near: Uint32s
    far: Uint32s
    risen: Uint32s
    pieces: Int64s
    told: Uint32s
    told_keys: Keys
    begins: Int64s
    vertices: Uint32s
    keys: Keys
    control: AtomicInt64s
    delta: float
    last_delta: float
    bound: int
    ends_beyond: bool
    n: int
    low: int
    high: int
    rank: int
    size: int
    step: int
    bucket: int
    start: int
    last_start: int
    num_taken: int
    num_risen: int
    num_near: int
    num_far: int
    least: int
    turn: int


def signature(offsets: np.dtype, weight: np.dtype | None, distance: np.dtype) -> tuple[Any, ...]:
    """The type of the kernel's argument for offsets, weights (None without) and distances of these dtypes."""
    kinds = {"offset": offsets, "weight": weight or np.dtype(np.int32), "key": key_dtype(distance)}
    return (type_of(Superstep, **kinds),)


@device_function
def _set_control(it: Any) -> None:
    """Set the words of `control` that a superstep changes."""
    if thread_index() == 0:
        it.control[NEAR] = it.num_near
        it.control[NEXT] = 0
        it.control[PIECES] = 0
        it.control[FAR] = it.num_far
        it.control[LEAST] = it.least
        it.control[TOLD_NEAR] = 0
        it.control[TOLD_LEAST] = LARGEST
        for rank in range(it.size):
            it.control[TOLD + rank] = it.begins[rank]


@device_function
def _is_first(place: Any, stamp: Any, it: Any) -> Any:
    """Put a stamp on a vertex; whether this thread was first, and so has to list it."""
    return atomic_exchange(it.stamps, place, np.uint32(stamp)) != stamp


@device_function
def _list_near(v: Any, wanted: Any, it: Any) -> Any:
    """List own vertices that are near in the next superstep."""
    append(it.next_near, it.control, NEXT, v, wanted)
    return np.int64(0)


@device_function
def _list_far(v: Any, wanted: Any, it: Any) -> Any:
    """List own vertices that are far."""
    append(it.far, it.control, FAR, v, wanted)
    return np.int64(0)


@device_function
def _list_told(v: Any, wanted: Any, it: Any) -> Any:
    """List vertices of other ranks, each in the list of its rank."""
    for rank in range(it.size):
        if rank != it.rank:
            is_its = wanted and it.begins[rank] <= v < it.begins[rank + 1]
            append(it.told, it.control, TOLD + rank, v, is_its)
    return np.int64(0)


_put_near, _flush_near = make_outbox(0, _list_near)
_put_far, _flush_far = make_outbox(1, _list_far)
_put_told, _flush_told = make_outbox(2, _list_told)


@device_function
def _lower_least(least: Any, word: Any, it: Any) -> None:
    """Lower a word of `control` to the least key of a warp's lanes."""
    least = warp_min(least)
    if lane() == 0 and least < LARGEST:
        atomic_min(it.control, word, least)


@device_function
def _sort_out(v: Any, key: Any, wanted: Any, threshold: Any, it: Any) -> Any:
    """List a vertex with this key as near in this superstep, or as far; the key, if it is far. All lanes of the warp
    take part."""
    is_near, is_far, least = False, False, LARGEST
    if wanted:
        if key < threshold:
            is_near = _is_first(v, it.step, it)
        else:
            is_far, least = _is_first(it.n + v - it.low, it.bucket, it), key
    append(it.near, it.control, NEAR, v, is_near)
    append(it.far, it.control, FAR, v, is_far)
    return least


def _make_gather_near(key_type: Any) -> Any:
    """A device function that completes the list of near vertices."""

    @device_function
    def gather_near(threshold, below, it):
        """Take what other ranks have told, and the far vertices that the threshold has risen over.

        Those with keys less than `below`, the threshold before, were dealt with.
        """
        least = LARGEST
        for begin in range(thread_index() - lane(), it.num_taken, num_threads()):
            i, v, key, falls = begin + lane(), np.int64(0), np.int64(0), False
            if i < it.num_taken:
                v, key = np.int64(it.vertices[i]), np.int64(it.keys[i])
                falls = key < np.int64(atomic_min(it.best, v, key_type(key)))
            least = min(least, _sort_out(v, key, falls, threshold, it))
        for begin in range(thread_index() - lane(), it.num_risen, num_threads()):
            i, v, key = begin + lane(), np.int64(0), np.int64(-1)
            if i < it.num_risen:
                v = np.int64(it.risen[i])
                key = np.int64(it.best[v])
            least = min(least, _sort_out(v, key, key >= below, threshold, it))
        _lower_least(least, LEAST, it)

    return gather_near


@device_function
def _cut(it: Any) -> None:
    """List the pieces of the near vertices."""
    count = it.control[NEAR]
    for begin in range(thread_index() - lane(), count, num_threads()):
        i, v = begin + lane(), np.int64(0)
        if i < count:
            v = np.int64(it.near[i])
        list_pieces(v, i < count, it.pieces, it.control, PIECES, it.offsets)


@device_function
def _key_of(v: Any, context: Any) -> Any:
    """The key of a piece's vertex."""
    it, _, _, _ = context
    return it.best[v]


def _make_visit(plus: Any, weight_of: Any, key_type: Any) -> Any:
    """Device functions for one arc of a piece: what it leads to, and how long it is; and what sends along it."""

    @device_function
    def load(k, context):
        it, _, _, _ = context
        return np.int64(it.targets[k]), weight_of(k, it.weights)

    @device_function
    def visit(takes, v, key, found, context):
        """Send along one arc. All lanes of the warp take part."""
        it, threshold, boxes, lowest = context
        is_near, is_far, is_told = False, False, False
        target, weight = found
        if takes:
            new = plus(key, weight)
            if new > it.bound:
                if it.ends_beyond != 0:
                    it.control[TOO_FAR] = 1
            elif new < it.best[target] and new < atomic_min(it.best, target, key_type(new)):
                if target < it.low or target >= it.high:
                    is_told = _is_first(target, it.step + 1, it)
                elif new < threshold:
                    is_near = _is_first(target, it.step + 1, it)
                else:
                    is_far = _is_first(it.n + target - it.low, it.bucket, it)
                    if new < lowest[0]:
                        atomic_min(lowest, 0, new)
        _put_near(target, is_near, boxes, it)
        _put_far(target, is_far, boxes, it)
        _put_told(target, is_told, boxes, it)
        return np.int64(0), np.int64(0)

    return load, visit


def _make_tell(key_type: Any) -> Any:
    """A device function that puts keys beside the vertices that are told of."""

    @device_function
    def tell(threshold, it):
        near, least = np.int64(0), LARGEST
        for rank in range(it.size):
            if rank != it.rank:
                for i in range(it.begins[rank] + thread_index(), it.control[TOLD + rank], num_threads()):
                    key = np.int64(it.best[np.int64(it.told[i])])
                    it.told_keys[i] = key_type(key)
                    if key < threshold:
                        near += 1
                    else:
                        least = min(least, key)
        near = warp_sum(near)
        if lane() == 0 and near > 0:
            atomic_add(it.control, TOLD_NEAR, near)
        _lower_least(least, TOLD_LEAST, it)

    return tell


def make_kernel(distance: np.dtype, weighted: bool) -> Any:
    """The kernel for distances of a dtype, with weights or with 1 for each arc."""
    plus, raised, weight_of = make_sums(distance, weighted)
    key_type = key_dtype(distance).type
    load, visit = _make_visit(plus, weight_of, key_type)
    walk = make_walk(visit, key=_key_of, load=load)
    gather_near, tell = _make_gather_near(key_type), _make_tell(key_type)

    def superstep_kernel(it):
        """One superstep; see the module, and `Superstep`."""
        words = cuda.shared.array(_WORDS, UINT32)
        held = cuda.shared.array(_HELD, UINT32)
        lowest = cuda.shared.array(1, INT64)
        boxes, me = Boxes(words, held), block_thread()
        for i in range(me, _HELD, block_size()):
            held[i] = 0
        if me == 0:
            lowest[0] = LARGEST
        block_barrier()
        threshold, below = (
            raised(np.int64(it.start), it.delta),
            raised(np.int64(it.last_start), it.last_delta),
        )
        _set_control(it)
        generation = grid_barrier(it.control, it.turn)
        gather_near(threshold, below, it)
        generation = grid_barrier(it.control, generation)
        _cut(it)
        generation = grid_barrier(it.control, generation)
        walk(it.pieces, it.control[PIECES], it.offsets, (it, threshold, boxes, lowest))
        _flush_near(boxes, it)
        _flush_far(boxes, it)
        _flush_told(boxes, it)
        block_barrier()
        if me == 0 and lowest[0] < LARGEST:
            atomic_min(it.control, LEAST, lowest[0])
        grid_barrier(it.control, generation)
        tell(threshold, it)

    return superstep_kernel
