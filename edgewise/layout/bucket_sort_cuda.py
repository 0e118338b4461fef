"""The kernel of `edgewise.layout.bucket_sort`: one launch, which reads the keys three times and writes them once.

Each block of threads has a range of the keys, which it goes over by tiles: the keys that its threads hold in
registers. First it finds the largest and the smallest key. After a barrier of the grid it counts the keys of each
bucket, and after another one it adds up what blocks before it have in each bucket: that is where its own keys of the
bucket begin. Then it sorts each tile in shared memory, so that keys of a bucket are written to memory together:
single words would take as many transactions as keys. Each of these three passes goes over the tiles in the opposite
order to the one before. So it begins with the tile that registers hold, and goes on with those that caches still have.

The place of a key in its tile: each warp counts its keys, one of each lane at a time, in counters of its own for the
buckets; the value of a counter before is how many keys of the bucket come before this one. Lanes that raised one
counter together find each other by ballots. Sums of the counters over buckets and warps tell the rest.
"""

import functools
import threading
from typing import Any, NamedTuple

import numpy as np

from edgewise.kernels.cuda.arguments import AtomicUint32s, Uint32s, type_of
from edgewise.kernels.cuda.device import (
    HALVES,
    THREADS,
    UINT32,
    WARP,
    WARPS,
    atomic_add,
    atomic_max,
    ballot,
    block_barrier,
    block_index,
    block_thread,
    count_bits,
    cuda,
    device_function,
    fence,
    first_bit,
    grid_barrier,
    lane,
    lanes_before,
    num_blocks,
    shuffle,
    shuffle_down,
    warp_barrier,
)
from edgewise.kernels.cuda.launch import Kernel, fixed_kernel
from edgewise.kernels.cuda.memory import capability, cupy, empty, room, zeros
from edgewise.kernels.words import LINE, Allocator
from edgewise.primitives.running_sums import make_running_sums

#: The most buckets: one for each thread of a block.
MOST_BUCKETS = THREADS
#: Keys of a tile that a thread holds, a warp, and the block.
AHEAD = 16
CHUNK, TILE = AHEAD * WARP, AHEAD * THREADS
#: A warp's counters have 16 bits: a word counts a bucket, and the one COLUMNS after it.
COLUMNS = MOST_BUCKETS // 2
#: Words that a block shares: counters for each warp, or counters of whole words, or a tile in its new order. One more
#: for each lane comes after them, to which is added what nobody asks for.
POOL = max(WARPS * COLUMNS, MOST_BUCKETS, TILE)
POOL_BYTES = 4 * (POOL + WARP)
#: Older GPUs have less shared memory than that.
OLDEST = (8, 0)
#: Words for sums of warps, or two extremes.
SHARED_WORDS = max(WARPS, 2)
#: The fewest keys that a block has. Only the last block may have fewer.
LEAST = TILE // 4
#: How many blocks' counts are added up beforehand. A block adds up sums of GROUP, and fewer than GROUP single counts.
GROUP = 16
#: Words of the workspace: the barrier, the largest key, the largest complement of a key, blocks that need no more of
#: it. Then come sums of groups, and counts of blocks, for each bucket.
_WORDS = Allocator(1, line=2 * LINE)  # of 32 bits
LARGEST, COMPLEMENT, DONE = (_WORDS.take() for _ in range(3))
HEAD = _WORDS.take_line()
_ALL_BITS, _HALF = np.uint32(0xFFFFFFFF), np.uint32(0xFFFF)

_, _sums_in_block = make_running_sums(np.dtype(np.uint32))


@device_function
def _tile(first, end):
    """Which key of a tile is the first of this thread's, and what ``j * WARP`` is less than if it has key j."""
    mine = np.int32((block_thread() // WARP) * CHUNK + lane())
    return mine, np.int32(min(end - first, np.int64(TILE)) - mine)


@device_function
def _load(given, first, end, held):
    """Load this thread's keys of a tile, all of them before one is used. The last key stands for those after it."""
    mine, left = _tile(first, end)
    for j in range(AHEAD):
        held[j] = given[first + mine + min(np.int32(j * WARP), np.int32(left - 1))]


@device_function
def _find_extremes(given, begin, end, shared, work, held):
    """Raise two words of the workspace to the largest key of a range and to the largest complement."""
    if block_thread() < 2:
        shared[block_thread()] = 0
    block_barrier()
    largest, complement = np.uint32(0), np.uint32(0)
    for first in range(begin, end, TILE):
        _load(given, first, end, held)
        for j in range(AHEAD):
            largest = max(largest, held[j])
            complement = max(complement, np.uint32(held[j] ^ _ALL_BITS))
    # Not by `warp_max`: lanes exchange signed integers only, and these two reductions overlap.
    for step in HALVES:
        largest = max(largest, np.uint32(shuffle_down(np.int32(largest), step)))
        complement = max(complement, np.uint32(shuffle_down(np.int32(complement), step)))
    if lane() == 0:
        atomic_max(shared, 0, largest)
        atomic_max(shared, 1, complement)
    block_barrier()
    if block_thread() < 2:
        atomic_max(work, LARGEST + block_thread(), shared[block_thread()])


@device_function
def _copy(given, begin, end, keys, positions):
    """The order of a range as it was given."""
    for i in range(begin + block_thread(), end, THREADS):
        keys[i] = given[i]
        positions[i] = i


@device_function
def _sum_column(table, first, rows, some):
    """The sum of the first ones of some rows of a table in one column, from its first element on, and that of all rows.

    Several are loaded at once.
    """
    before, total = np.uint32(0), np.uint32(0)
    held = cuda.local.array(GROUP, UINT32)
    for begin in range(0, rows, GROUP):
        for j in range(GROUP):
            held[j] = table[first + min(begin + j, rows - 1) * MOST_BUCKETS]
        for j in range(GROUP):
            if begin + j < some:
                before = np.uint32(before + held[j])
            if begin + j < rows:
                total = np.uint32(total + held[j])
    return before, total


@device_function
def _num_groups():
    return (num_blocks() + GROUP - 1) // GROUP


@device_function
def _publish(pool, work, sums):
    """Add this block's count of each bucket to that of its group. `sums`: rows that the workspace has for groups."""
    bucket, found = block_thread(), pool[block_thread()]
    work[HEAD + (sums + block_index()) * MOST_BUCKETS + bucket] = found
    if found != 0:
        atomic_add(work, HEAD + block_index() // GROUP * MOST_BUCKETS + bucket, found)


@device_function
def _find_places(places, shared, work, sums):
    """The place of this block's first key of each bucket; `sums` as in `_publish`."""
    bucket, groups, group = HEAD + block_thread(), _num_groups(), block_index() // GROUP
    rest, row = block_index() - group * GROUP, sums + group * GROUP
    before, total = _sum_column(work, bucket, groups, group)
    more, _ = _sum_column(work, bucket + row * MOST_BUCKETS, rest, rest)
    base, _, _ = _sums_in_block(total, shared)
    places[block_thread()] = np.uint32(base + before + more)


@device_function
def _leave(shared, work, length):
    """Say that this block needs the workspace no more. The last one leaves zeros to the next launch."""
    block_barrier()
    if block_thread() == 0:
        fence()
        shared[0] = atomic_add(work, DONE, 1)
    block_barrier()
    if shared[0] == num_blocks() - 1:
        for i in range(block_thread(), length, THREADS):
            work[i] = 0


@device_function
def _count(pool, counter):
    """Add 1 to this lane's counter. Lane 0 does it for all that have the same counter: most keys may share one.

    Those others add where nobody reads: an operation of all lanes takes less time than a branch around it.
    """
    common = np.uint32(shuffle(np.int32(counter), 0))
    same = ballot(counter == common)
    amount = np.uint32(count_bits(same)) if counter == common else np.uint32(1)
    atomic_add(pool, np.uint32(POOL + lane()) if counter == common and lane() != 0 else counter, amount)


@device_function
def _counter_of(bucket):
    """The word of this warp's counters that counts a bucket, and its first bit there."""
    row = np.uint32(block_thread() // WARP * COLUMNS)
    return np.uint32(row + bucket % np.uint32(COLUMNS)), np.uint32(
        (bucket // np.uint32(COLUMNS)) << np.uint32(4)
    )


@device_function
def _count_in_warp(bucket, here, pool):
    """Count a key of each lane that has one; how many of its bucket were counted before it in the warp."""
    counter, shift = _counter_of(bucket)
    # Lanes that have no key count where nobody reads: that takes less time than a branch.
    counter = counter if here else np.uint32(POOL + lane())
    before = pool[counter]
    warp_barrier()
    atomic_add(pool, counter, np.uint32(np.uint32(1) << shift))
    warp_barrier()
    rank, number = (before >> shift) & _HALF, (np.uint32(pool[counter] - before) >> shift) & _HALF
    shared = ballot(here and number > 1)
    while shared != 0:
        common = np.uint32(shuffle(np.int32(bucket), first_bit(shared)))
        same = ballot(here and bucket == common)
        rank += np.uint32(lanes_before(same) if here and bucket == common else 0)
        shared &= same ^ _ALL_BITS
    return rank


@device_function
def _begin_buckets(places, offsets, pool, shared):
    """Turn the counts of a tile to the places in it where each bucket of each warp begins.

    Args:
        places: where the tile's first key of each bucket goes in the end; afterwards, where the next tile's goes.
        offsets: to be filled: for each bucket, what is added to a place in the tile to get that in the end.
        pool: the warps' counters.
        shared: words for `_sums_in_block`.
    """
    low, total = np.uint32(block_thread()), np.uint32(0)
    if low < COLUMNS:
        for warp in range(WARPS):
            total = np.uint32(total + pool[np.uint32(warp * COLUMNS + low)])
    before, _, total_here = _sums_in_block(total, shared)
    if low < COLUMNS:
        # Upper halves come after all of the lower ones.
        start, high = (
            np.uint32(before + (total_here << np.uint32(16))),
            np.uint32(low + np.uint32(COLUMNS)),
        )
        offsets[low] = np.uint32(places[low] - (start & _HALF))
        offsets[high] = np.uint32(places[high] - (start >> np.uint32(16)))
        places[low] += total & _HALF
        places[high] += total >> np.uint32(16)
        for warp in range(WARPS):
            number = pool[np.uint32(warp * COLUMNS + low)]
            pool[np.uint32(warp * COLUMNS + low)] = start
            start = np.uint32(start + number)
    block_barrier()


def _make_buckets(logarithmic):
    """Device functions ``make_scale(largest, smallest, num_buckets)`` and ``bucket_of(key, scale)``."""

    @device_function
    def scaled(key):
        """What buckets are equal parts of: s(key) of `edgewise.layout.bucket_sort`."""
        if not logarithmic:
            return key
        number = np.uint64(key) + np.uint64(1)
        shift = np.uint64(cuda.clz(np.uint32(number >> np.uint64(1))))
        whole, part = (np.uint64(32) - shift) << np.uint64(26), (number << shift) >> np.uint64(6)
        return np.uint32(whole + part - np.uint64(1 << 26))

    @device_function
    def bucket_of(key, scale):
        """The bucket, by a multiplication instead of a division: it is that or one less, which is then seen."""
        top, span, factor, last, is_small = scale
        below = np.uint32(top - scaled(key))
        if is_small:
            product = np.uint32(below * last)
            bucket = np.uint32((np.uint64(product) * factor) >> np.uint64(32))
            return np.uint32(bucket + (1 if np.uint32(product - np.uint32(bucket * span)) >= span else 0))
        bucket = np.uint32((np.uint64(below) * factor) >> np.uint64(50))
        after = np.uint32(bucket + np.uint32(1))
        return after if np.uint64(after) * np.uint64(span) <= np.uint64(below) * np.uint64(last) else bucket

    @device_function
    def make_scale(largest, smallest, num_buckets):
        """What `bucket_of` needs; where products fit in 32 bits, it has a short way."""
        top, last = scaled(largest), np.uint32(num_buckets - 1)
        span = max(np.uint32(top - scaled(smallest)), np.uint32(1))
        if np.uint64(span) * np.uint64(last) <= np.uint64(_ALL_BITS):
            return top, span, np.uint64(_ALL_BITS // span), last, True
        return top, span, (np.uint64(last) << np.uint64(50)) // np.uint64(span), last, False

    return make_scale, bucket_of


def _make_count(bucket_of):
    """A device function that counts the keys of a block's range."""

    @device_function
    def count(given, begin, end, scale, pool, held):
        """Count the keys of each bucket. Of the last tile, this thread holds its keys; afterwards, of the first."""
        first = begin + (end - begin - 1) // TILE * TILE
        while first >= begin:
            _, left = _tile(first, end)
            for j in range(AHEAD):
                bucket = bucket_of(held[j], scale)
                _count(pool, bucket if j * WARP < left else np.uint32(POOL + lane()))
            first -= TILE
            if first >= begin:
                _load(given, first, end, held)

    return count


def _make_place(bucket_of):
    """A device function that writes the keys of a block's range in their new order."""

    @device_function
    def place(given, begin, end, scale, places, offsets, pool, shared, held, keys, positions):
        """Give each key the next place of its bucket. Of the first tile, this thread holds its keys."""
        # Of each key, its bucket and, in the lower half, first its rank and then its place in the tile.
        found = cuda.local.array(AHEAD, UINT32)
        for first in range(begin, end, TILE):
            mine, left = _tile(first, end)
            for word in range(0, WARPS * COLUMNS, THREADS):
                pool[np.uint32(word + block_thread())] = 0
            block_barrier()
            for j in range(AHEAD):
                bucket = bucket_of(held[j], scale)
                found[j] = bucket << np.uint32(16) | _count_in_warp(bucket, j * WARP < left, pool)
            block_barrier()
            _begin_buckets(places, offsets, pool, shared)
            for j in range(AHEAD):
                bucket = found[j] >> np.uint32(16)
                counter, shift = _counter_of(bucket)
                found[j] = np.uint32(found[j] + ((pool[counter] >> shift) & _HALF))
                if j * WARP < left:
                    positions[first + mine + j * WARP] = np.uint32((found[j] & _HALF) + offsets[bucket])
            block_barrier()
            for j in range(AHEAD):
                if j * WARP < left:
                    pool[found[j] & _HALF] = held[j]
            if first + TILE < end:
                _load(given, first + TILE, end, held)
            block_barrier()
            size = np.uint32(mine + left)
            for j in range(AHEAD):
                i = np.uint32(block_thread() + j * THREADS)
                if i < size:
                    key = pool[i]
                    keys[np.uint32(i + offsets[bucket_of(key, scale)])] = key
            block_barrier()

    return place


def make_sort_kernel(logarithmic):
    """The kernel, for buckets that are equally wide by the key, or by the logarithm of the key + 1."""
    make_scale, bucket_of = _make_buckets(logarithmic)
    count, place = _make_count(bucket_of), _make_place(bucket_of)

    def sort_kernel(it):
        """Sort; see `Sorting`."""
        given, keys, positions, work = it.given, it.keys, it.positions, it.work
        pool = cuda.shared.array(0, UINT32)
        shared = cuda.shared.array(SHARED_WORDS, UINT32)
        places = cuda.shared.array(MOST_BUCKETS, UINT32)
        offsets = cuda.shared.array(MOST_BUCKETS, UINT32)
        held = cuda.local.array(AHEAD, UINT32)
        begin = block_index() * it.share
        end = min(begin + it.share, it.n)
        pool[block_thread()] = 0
        _find_extremes(given, begin, end, shared, work, held)
        generation = grid_barrier(work, np.int64(0))
        largest, smallest = work[LARGEST], np.uint32(work[COMPLEMENT] ^ _ALL_BITS)
        if np.int64(largest) - np.int64(smallest) < it.threshold:
            _leave(shared, work, np.int64(HEAD))
            _copy(given, begin, end, keys, positions)
            return
        scale = make_scale(largest, smallest, it.num_buckets)
        count(given, begin, end, scale, pool, held)
        block_barrier()
        _publish(pool, work, it.sums)
        grid_barrier(work, generation)
        _find_places(places, shared, work, it.sums)
        _leave(shared, work, HEAD + _num_groups() * MOST_BUCKETS)
        place(given, begin, end, scale, places, offsets, pool, shared, held, keys, positions)

    return sort_kernel


class Sorting(NamedTuple):
    """What the kernel takes.

    Attributes:
        given: (n,): the keys.
        keys, positions: (n,): to be filled, see `edgewise.layout.bucket_sort.Sorted`.
        n, share: how many keys there are, and how many a block has; the last block has 1 to `share`.
        num_buckets, threshold: num_buckets from 1 to MOST_BUCKETS.
        sums: rows that the workspace has for groups, however many this launch has.
        work: (`work_words`,): up to sums of groups, zeros before and afterwards.
    """

    given: Uint32s
    keys: Uint32s
    positions: Uint32s
    n: int
    share: int
    num_buckets: int
    threshold: int
    sums: int
    work: AtomicUint32s


def signature() -> tuple[Any, ...]:
    """The types of the kernel's arguments."""
    return (type_of(Sorting),)


@functools.cache
def _kernel(logarithmic: bool) -> Kernel:
    return fixed_kernel(make_sort_kernel, signature(), logarithmic, shared_bytes=POOL_BYTES)


def sum_rows(blocks: int) -> int:
    """How many rows the workspace of `blocks` blocks has for groups."""
    return -(-blocks // GROUP)


def work_words(blocks: int) -> int:
    """How many words the workspace of `blocks` blocks has."""
    return HEAD + MOST_BUCKETS * (sum_rows(blocks) + blocks)


def _user() -> tuple[int, ...]:
    """What has a workspace of its own: the current GPU, stream and thread. One stream of CuPy's is another for each
    thread."""
    cuda = cupy().cuda
    return cuda.runtime.getDevice(), cuda.get_current_stream().ptr, threading.get_ident()


def can_sort(num_buckets: int, device: int) -> bool:
    """Whether the kernel has `num_buckets` buckets, and the current GPU, number `device`, has enough shared memory."""
    return num_buckets <= MOST_BUCKETS and _has_memory(device)


@functools.cache
def _has_memory(device: int) -> bool:
    return capability() >= OLDEST


@functools.lru_cache(maxsize=16)
def _workspace(blocks: int, *user: int) -> Any:
    """A workspace, kept from call to call: kernels on one stream use it one after the other."""
    return zeros(work_words(blocks), np.uint32)


def sort_on_gpu(keys: Any, num_buckets: int, logarithmic: bool, threshold: int) -> tuple[Any, Any]:
    """Start sorting on the current stream; the keys and the positions, as in `edgewise.layout.bucket_sort.Sorted`.

    Args:
        keys: uint32, (n,), on the GPU, n from 1.
        num_buckets, threshold: from 1; at most MOST_BUCKETS buckets.
        logarithmic: see `make_sort_kernel`.

    Raises:
        MemoryLimitError: the GPU has no room for them.
    """
    n, kernel = len(keys), _kernel(logarithmic)
    try:
        ordered, positions = empty(n, np.uint32), empty(n, np.uint32)
        work = _workspace(kernel.blocks, *_user())
    except cupy().cuda.memory.OutOfMemoryError:
        # To ask for room beforehand takes a good part of the time of a sort.
        with room("sorting by buckets", 8 * n + 4 * work_words(kernel.blocks)):
            raise
    share = max(-(-n // kernel.blocks // WARP) * WARP, LEAST)  # warps load whole lines
    numbers = (n, share, num_buckets, threshold, sum_rows(kernel.blocks))
    kernel.start([Sorting(keys, ordered, positions, *numbers, work)], -(-n // share))
    return ordered, positions
