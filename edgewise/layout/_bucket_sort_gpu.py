"""The kernel of `edgewise.layout.bucket_sort`: one launch, which reads the keys three times and writes them once.

Each block of threads has a range of the keys. It looks for the largest and the smallest key, and counts the keys of
each bucket. After a barrier of the grid it adds up what blocks before it have in each bucket: that is where its own
keys of the bucket begin. Then it goes over its range once more, and gives each key the next place of its bucket. So
it writes to one spot of each bucket at a time, and the second-level cache gathers the scattered keys to whole lines.

The counters of a block are shared by its warps. For a stable sort, warps take places in turn, in the order of their
keys; all that can be done before, they have done then. Lanes of a warp that have keys of the same bucket find each
other by ballots, one for each bit of the bucket's number, and the first of them takes the places of all.
"""

import functools
from typing import Any

import numpy as np

from edgewise.kernels.gpu import (
    HALVES,
    INT64,
    SIMULATED,
    THREADS,
    UINT32,
    WARP,
    Kernel,
    array,
    atomic_add,
    atomic_max,
    ballot,
    block_barrier,
    block_index,
    block_thread,
    count_bits,
    cuda,
    device_function,
    first_bit,
    fixed_kernel,
    grid_barrier,
    lane,
    lanes_before,
    num_blocks,
    pointer,
    shuffle,
    shuffle_down,
    shuffle_up,
    warp_barrier,
    words,
)
from edgewise.kernels.gpu_host import empty, room, zeros

#: The most buckets: a counter of each is shared by a block, and their number times 2**50 has to fit in 64 bits.
MOST_BUCKETS = 8192
#: Keys that a lane holds at a time, and that a warp takes places for at one go.
AHEAD = 8
CHUNK = AHEAD * WARP
#: One more for each lane, which add to them what nobody asks for.
COUNTERS = MOST_BUCKETS + WARP
WARPS = THREADS // WARP
#: Words that a block shares besides its counters: sums of its warps; two extremes; whose turn it is.
SHARED_WORDS = max(WARPS, 2)
#: Chunks of a block, if there are so many.
LEAST = 8
#: Blocks whose counts are added up beforehand: a block adds up sums of so many, and less than so many single counts.
GROUP_BITS = 4
GROUP = 1 << GROUP_BITS
#: Words of the workspace: the barrier, the largest key, the largest complement of a key. Then come sums of groups, and
#: counts of blocks, for each bucket.
LARGEST, COMPLEMENT, HEAD = 1, 2, 32
#: Nanoseconds that a warp sleeps for each turn until its own, less than half of what a turn takes: the GPU sleeps up to
#: twice as long.
PAUSE = 16
_ALL_BITS = np.uint32(0xFFFFFFFF)


@device_function
def _hold(given, n, chunk, spare, held):
    """Load the keys of a chunk, all of them before one is used. Beyond the last key there is `spare`.

    Returns:
        Of this lane's keys, the place of the first one, and what ``j * WARP`` is less than if there is key j.
    """
    first = chunk * CHUNK
    mine, left = first + lane(), np.int32(min(n - first, np.int64(CHUNK)) - lane())
    for j in range(AHEAD):
        held[j] = given[mine + j * WARP] if j * WARP < left else spare
    return mine, left


@device_function
def _find_extremes(given, n, begin, end, shared, work):
    """Raise two words of the workspace to the largest key of some chunks and to the largest complement."""
    held = cuda.local.array(AHEAD, UINT32)
    if block_thread() < 2:
        shared[block_thread()] = 0
    block_barrier()
    largest, complement = np.uint32(0), np.uint32(0)
    for chunk in range(begin + block_thread() // WARP, end, WARPS):
        _, left = _hold(given, n, chunk, np.uint32(0), held)
        for j in range(AHEAD):
            largest = max(largest, held[j])
            if j * WARP < left:
                complement = max(complement, np.uint32(held[j] ^ _ALL_BITS))
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
def _copy(given, n, begin, end, keys, positions):
    """The order of some chunks as it was given."""
    for i in range(begin * CHUNK + block_thread(), min(end * CHUNK, n), THREADS):
        keys[i] = given[i]
        positions[i] = i


@device_function
def _sum_to_lane(value):
    """The sum of the values of this lane and of those before it."""
    for step in HALVES[::-1]:
        other = np.uint32(shuffle_up(np.int32(value), step))
        if lane() >= step:
            value = np.uint32(value + other)
    return value


@device_function
def _sum_before(value, shared):
    """The sum of the values of the threads before this one in the block, and that of all."""
    upto, warp, before, total = _sum_to_lane(value), block_thread() // WARP, np.uint32(0), np.uint32(0)
    if lane() == WARP - 1:
        shared[warp] = upto
    block_barrier()
    for first in range(0, WARPS, WARP):
        other = shared[first + lane()]
        sums = np.uint32(total + _sum_to_lane(other))
        if first <= warp < first + WARP:
            before = np.uint32(shuffle(np.int32(sums - other), warp - first))
        total = np.uint32(shuffle(np.int32(sums), WARP - 1))
    block_barrier()
    return np.uint32(before + upto - value), total


@device_function
def _sum_column(table, first, width, rows):
    """The sum of some rows of a table in one column, from its first element on, several of which are loaded at once."""
    total, begin = np.uint32(0), np.uint32(0)
    held = cuda.local.array(AHEAD, UINT32)
    while begin < rows:
        for j in range(AHEAD):
            row = np.uint32(begin + np.uint32(j))
            found = table[np.uint32(first + min(row, np.uint32(rows - np.uint32(1))) * width)]
            held[j] = found if row < rows else np.uint32(0)
        for j in range(AHEAD):
            total = np.uint32(total + held[j])
        begin = np.uint32(begin + np.uint32(AHEAD))
    return total


@device_function
def _peers_of_first(bucket, here):
    """The lanes of this one's bucket, if it is that of lane 0; else this lane. No lanes if it has no key."""
    common = np.uint32(shuffle(np.int32(bucket), 0))
    same = ballot(here and bucket == common)
    if not here:
        return np.uint32(0)
    return same if bucket == common else np.uint32(np.uint32(1) << np.uint32(lane()))


@device_function
def _claim(bucket, peers):
    """Which counter this lane adds what to, and how many of its peers come before it.

    The first of the peers adds all of them to the counter of their bucket. Others add nothing to one that nobody reads:
    an operation of all lanes takes less time than a branch around it.
    """
    before = np.uint32(lanes_before(peers))
    if peers == 0 or before != 0:
        return np.uint32(MOST_BUCKETS + lane()), np.uint32(0), before
    return bucket, np.uint32(count_bits(peers)), before


@device_function
def _await_turn(turn, mine):
    """Wait until it is the turn of this warp. Only the next in line asks all the time: it would hold up others."""
    if lane() == 0:
        now = turn[0]
        while now != mine:
            ahead = np.uint32(mine - now)
            if not SIMULATED and ahead > 1:
                cuda.nanosleep(np.uint32(ahead * np.uint32(PAUSE)))
            cuda.threadfence_block()  # the compiler would ask once
            now = turn[0]
    warp_barrier()


@device_function
def _end_turn(turn, mine):
    """Let the next warp take places."""
    warp_barrier()
    if lane() == 0:
        cuda.threadfence_block()
        turn[0] = np.uint32(mine + np.uint32(1))


def make_sort_kernel(logarithmic, stable):
    """The kernel.

    Args:
        logarithmic: whether buckets are equally wide by the logarithm of the key + 1.
        stable: whether keys of one bucket keep their order.
    """

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
        top, span, factor, last = scale
        below = np.uint64(np.uint32(top - scaled(key)))
        bucket = np.uint32((below * factor) >> np.uint64(50))
        after = np.uint32(bucket + np.uint32(1))
        return after if np.uint64(after) * np.uint64(span) <= below * np.uint64(last) else bucket

    @device_function
    def make_scale(largest, smallest, num_buckets):
        top, last = scaled(largest), np.uint32(num_buckets - 1)
        span = max(np.uint32(top - scaled(smallest)), np.uint32(1))
        return top, span, (np.uint64(last) << np.uint64(50)) // np.uint64(span), last

    @device_function
    def count(given, n, begin, end, largest, scale, counters):
        """Count the keys of each bucket; the last first, which caches still have."""
        held = cuda.local.array(AHEAD, UINT32)
        for chunk in range(end - 1 - block_thread() // WARP, begin - 1, -WARPS):
            _, left = _hold(given, n, chunk, largest, held)
            for j in range(AHEAD):
                bucket = bucket_of(held[j], scale)
                counter, taken, _ = _claim(bucket, _peers_of_first(bucket, j * WARP < left))
                atomic_add(counters, counter, taken)

    @device_function
    def publish(num_buckets, counters, work):
        """Add this block's counts to those of its group. If the order does not matter, that gives it its places."""
        rows = ((num_blocks() + GROUP - 1) >> GROUP_BITS) + block_index()
        for bucket in range(block_thread(), num_buckets, THREADS):
            found = counters[bucket]
            if stable:
                work[HEAD + rows * num_buckets + bucket] = found
                if found != 0:
                    atomic_add(work, HEAD + (block_index() >> GROUP_BITS) * num_buckets + bucket, found)
            elif found != 0:
                counters[bucket] = atomic_add(work, HEAD + bucket, found)

    @device_function
    def find_places(num_buckets, counters, shared, work):
        """Put the place of this block's first key of each bucket in the place of its count."""
        block, width, base = np.uint32(block_index()), np.uint32(num_buckets), np.uint32(0)
        groups = np.uint32((num_blocks() + GROUP - 1) >> GROUP_BITS)
        group = np.uint32(block >> np.uint32(GROUP_BITS))
        for begin in range(0, num_buckets, THREADS):
            bucket, total, before = np.uint32(begin + block_thread()), np.uint32(0), np.uint32(0)
            if bucket < width:
                first = np.uint32(HEAD + bucket)
                if stable:
                    before = _sum_column(work, first, width, group)
                    first = np.uint32(first + group * width)
                    total = np.uint32(before + _sum_column(work, first, width, np.uint32(groups - group)))
                    first = np.uint32(HEAD + bucket + (groups + group * np.uint32(GROUP)) * width)
                    rest = np.uint32(block - group * np.uint32(GROUP))
                    before = np.uint32(before + _sum_column(work, first, width, rest))
                else:
                    total, before = work[first], counters[bucket]
            here, all_here = _sum_before(total, shared)
            if bucket < width:
                counters[bucket] = np.uint32(base + here + before)
            base = np.uint32(base + all_here)

    @device_function
    def find_peers(buckets, peers, left, last):
        """The lanes that take places together, for each key that this lane holds."""
        for j in range(AHEAD):
            here = j * WARP < left
            if stable:
                all_here = ballot(here)
                peers[j] = all_here if here else np.uint32(0)
            else:
                peers[j] = _peers_of_first(buckets[j], here)
        if stable:
            bit = np.uint32(1)
            while bit <= last:
                for j in range(AHEAD):
                    is_set = np.uint32(buckets[j] & bit) != 0
                    same = ballot(is_set)
                    peers[j] &= same if is_set else np.uint32(same ^ _ALL_BITS)
                bit = np.uint32(bit + bit)

    @device_function
    def rank(given, n, begin, end, largest, scale, counters, turn, keys, positions):
        """Give each key the next place of its bucket."""
        held, buckets = cuda.local.array(AHEAD, UINT32), cuda.local.array(AHEAD, UINT32)
        peers, places = cuda.local.array(AHEAD, UINT32), cuda.local.array(AHEAD, UINT32)
        for chunk in range(begin + block_thread() // WARP, end, WARPS):
            mine, left = _hold(given, n, chunk, largest, held)
            for j in range(AHEAD):
                buckets[j] = bucket_of(held[j], scale)
            find_peers(buckets, peers, left, scale[3])
            for j in range(AHEAD):
                counter, taken, before = _claim(buckets[j], peers[j])
                leader = np.uint32(max(first_bit(peers[j]), np.int64(0)))
                # In one word, or the compiler would rather work them out again while others wait for their turn.
                peers[j] = (
                    counter | taken << np.uint32(14) | before << np.uint32(20) | leader << np.uint32(25)
                )
            if stable:
                _await_turn(turn, np.uint32(chunk - begin))
            for j in range(AHEAD):
                counter = peers[j] & np.uint32(0x3FFF)
                places[j] = atomic_add(
                    counters, counter, np.uint32((peers[j] >> np.uint32(14)) & np.uint32(0x3F))
                )
                if stable:
                    warp_barrier()
            if stable:
                _end_turn(turn, np.uint32(chunk - begin))
            for j in range(AHEAD):
                place = np.uint32(shuffle(np.int32(places[j]), np.int32(peers[j] >> np.uint32(25))))
                place = np.uint32(place + ((peers[j] >> np.uint32(20)) & np.uint32(0x1F)))
                if j * WARP < left:
                    positions[mine + j * WARP] = place
                    keys[place] = held[j]

    def sort_kernel(given, keys, positions, n, share, num_buckets, threshold, work):
        """Sort.

        Args:
            given: uint32, (n,): the keys.
            keys, positions: uint32, (n,): to be filled, see `edgewise.layout.bucket_sort.Sorted`.
            n, share: keys, from 1; chunks of a block, the last of which may have less.
            num_buckets, threshold: num_buckets from 1 to MOST_BUCKETS.
            work: uint32, zeros, (`work_words`,).
        """
        counters = cuda.shared.array(COUNTERS, UINT32)
        shared = cuda.shared.array(SHARED_WORDS, UINT32)
        begin = block_index() * share
        end = min(begin + share, (n + CHUNK - 1) // CHUNK)
        for bucket in range(block_thread(), num_buckets, THREADS):
            counters[bucket] = 0
        _find_extremes(given, n, begin, end, shared, work)
        generation = grid_barrier(work, np.int64(0))
        largest, smallest = work[LARGEST], np.uint32(work[COMPLEMENT] ^ _ALL_BITS)
        if np.int64(largest) - np.int64(smallest) < threshold:
            _copy(given, n, begin, end, keys, positions)
            return
        scale = make_scale(largest, smallest, num_buckets)
        count(given, n, begin, end, largest, scale, counters)
        block_barrier()
        publish(num_buckets, counters, work)
        grid_barrier(work, generation)
        find_places(num_buckets, counters, shared, work)
        if block_thread() == 0:
            shared[0] = 0
        block_barrier()
        rank(given, n, begin, end, largest, scale, counters, shared, keys, positions)

    return sort_kernel


def signature() -> tuple[Any, ...]:
    """The types of the kernel's arguments."""
    word = np.dtype(np.uint32)
    return pointer(word), pointer(word), pointer(word), *[INT64] * 4, array(word)


@functools.cache
def _kernel(logarithmic: bool, stable: bool) -> Kernel:
    return fixed_kernel(make_sort_kernel, signature(), logarithmic, stable)


def work_words(blocks: int, num_buckets: int, stable: bool) -> int:
    """Words of the workspace of so many blocks."""
    return HEAD + num_buckets * (-(-blocks // GROUP) + blocks if stable else 1)


def sort_on_gpu(
    keys: Any, num_buckets: int, logarithmic: bool, stable: bool, threshold: int
) -> tuple[Any, Any]:
    """Start sorting on the current stream.

    Args:
        keys: uint32, (n,), on the GPU, n from 1.
        num_buckets, threshold: from 1; at most MOST_BUCKETS buckets.
        logarithmic, stable: see `make_sort_kernel`.

    Returns:
        The keys and the positions, as in `edgewise.layout.bucket_sort.Sorted`.

    Raises:
        MemoryLimitError: the GPU has no room for them.
    """
    n, kernel = len(keys), _kernel(logarithmic, stable)
    chunks = -(-n // CHUNK)
    share = max(-(-chunks // kernel.blocks), LEAST)
    blocks = -(-chunks // share)
    length = work_words(blocks, num_buckets, stable)
    with room("sorting by buckets", 4 * (2 * n + length)):
        ordered, positions, work = empty(n, np.uint32), empty(n, np.uint32), zeros(length, np.uint32)
    kernel.start([keys, ordered, positions, n, share, num_buckets, threshold, words(work)], blocks)
    return ordered, positions
