"""The buckets of delta-stepping: for each thread, vertices by their tentative distances.

Bucket k holds the vertices with tentative distances in [k * delta, (k + 1) * delta). A thread writes into its own
buckets only. The `NEAR` buckets from the current one on lie in a ring; vertices farther away go to one more list, the
far list, and are dealt out when the ring comes near to them, so any delta and any weights will do.

Chunks. A bucket is a chain of chunks of `CHUNK` entries from a pool that all threads share; nothing is allocated
while threads run. An entry is a vertex and the distance that it was given. Entries are never removed: if the vertex has
got a shorter distance since, the entry is passed over.

The pool is bounded and vertices may be entered any number of times, so it can run out. Then the entry is dropped and
`LOST` is set, and after the superstep the buckets are made anew from the tentative distances, each vertex once
(`rebuild`). The pool has room for twice that, so another n entries are made before it can run out again.

Distances beyond a bound are not entered. When a distance of the target is found, the bound falls to it: what is nearer
than the target is all found then, for no weight is negative.
"""

from typing import Any, NamedTuple

import numpy as np

from edgewise.algorithms.sssp.cpu_distances import distance_in
from edgewise.kernels.cache import device_function
from edgewise.kernels.cpu.atomics import atomic_add
from edgewise.kernels.words import CPU_LINE, Allocator

CHUNK = 128
NEAR = 128
FAR = np.uint64(NEAR)
#: The number that stands for no bucket.
NO_BUCKET = 1 << 62
#: Bucket numbers stay below this, where float64 still tells one from the next.
MAX_BUCKETS = 2.0**50

#: Words that all threads share, a cache line apart.
_WORDS = Allocator(0, CPU_LINE)
FRESH, LOST, PUBLISHED, CURRENT, SUPERSTEPS, REBUILDS = (_WORDS.take_line() for _ in range(6))


class Buckets(NamedTuple):
    """All buckets of all threads.

    Attributes:
        head, size: int64, shape (threads, lists): the newest chunk of each list, and its number of entries.
        spare: int64, shape (threads, line): a chain of chunks for reuse.
        far_least: int64, shape (threads, line): a lower bound on the buckets of vertices in the far list.
        vertex, distance: the pool of entries, uint32 and the dtype of distances, shape (chunks * CHUNK,).
        following: int64, shape (chunks,): the next chunk of a chain.
        words: int64: see `FRESH` and the others.
        per_distance: float64, shape (1,): 1 / delta.
        bound: of the dtype of distances, shape (1,): the longest that is looked for.
        target: uint64, shape (1,): the vertex whose distance lowers the bound; none of the vertices for none.
    """

    head: np.ndarray
    size: np.ndarray
    spare: np.ndarray
    far_least: np.ndarray
    vertex: np.ndarray
    distance: np.ndarray
    following: np.ndarray
    words: np.ndarray
    per_distance: np.ndarray
    bound: np.ndarray
    target: np.ndarray


def bucket_chunks(num_vertices: int, num_threads: int) -> int:
    """The size of the pool, in chunks: for each vertex twice, and one chunk that is not full for each list."""
    return 2 * num_vertices // CHUNK + num_threads * (NEAR + 2)


def make_buckets(
    num_vertices: int, num_threads: int, dtype: Any, delta: float, bound: Any, target: Any
) -> Buckets:
    """Empty buckets of the width `delta` for distances of this dtype; see `Buckets`."""
    chunks = bucket_chunks(num_vertices, num_threads)
    lists = np.zeros((2, num_threads, NEAR + CPU_LINE), np.int64)
    return Buckets(
        head=lists[0],
        size=lists[1],
        spare=np.full((num_threads, CPU_LINE), -1, np.int64),
        far_least=np.full((num_threads, CPU_LINE), NO_BUCKET, np.int64),
        vertex=np.empty(chunks * CHUNK, np.uint32),
        distance=np.empty(chunks * CHUNK, dtype),
        following=np.empty(chunks, np.int64),
        words=np.zeros(_WORDS.lines_size, np.int64),
        per_distance=np.array([1.0 / delta]),
        bound=np.array([bound], dtype),
        target=np.array([target], np.uint64),
    )


def bytes_of_buckets(num_vertices: int, num_threads: int, dtype: np.dtype) -> int:
    """The memory of buckets, and of a list of their chunks."""
    lists = num_threads * 8 * (2 * (NEAR + CPU_LINE) + 2 * CPU_LINE)
    return bucket_chunks(num_vertices, num_threads) * (CHUNK * (4 + dtype.itemsize) + 2 * 8) + lists


@device_function
def slot_of(bucket: Any) -> Any:
    """Where a near bucket lies in the ring."""
    return np.uint64(bucket & (NEAR - 1))


@device_function
def chunk_entries(left: Any) -> Any:
    """The number of entries in the first chunk of a chain of `left` entries: only the newest may not be full."""
    return ((left - 1) & (CHUNK - 1)) + 1


@device_function
def push(buckets: Any, thread: Any, current: Any, v: Any, distance: Any) -> None:
    """Enter a vertex into the bucket of its distance."""
    bucket = np.int64(np.float64(distance) * buckets.per_distance[np.uint64(0)])
    slot = slot_of(bucket)
    if bucket >= current + NEAR:
        slot = FAR
        buckets.far_least[thread, np.uint64(0)] = min(buckets.far_least[thread, np.uint64(0)], bucket)
    size = buckets.size[thread, slot]
    if size & (CHUNK - 1) == 0 and not _begin_chunk(buckets, thread, slot):
        return
    place = np.uint64(buckets.head[thread, slot] * CHUNK + (size & (CHUNK - 1)))
    buckets.vertex[place] = v
    buckets.distance[place] = distance
    buckets.size[thread, slot] = size + 1


@device_function
def _begin_chunk(buckets: Any, thread: Any, slot: Any) -> Any:
    """Put a new chunk before a list. False if the pool is used up."""
    chunk = buckets.spare[thread, np.uint64(0)]
    if chunk >= 0:
        buckets.spare[thread, np.uint64(0)] = buckets.following[np.uint64(chunk)]
    else:
        chunk = atomic_add(buckets.words, FRESH, 1)
        if chunk >= len(buckets.following):
            buckets.words[LOST] = 1
            return False
    buckets.following[np.uint64(chunk)] = buckets.head[thread, slot]
    buckets.head[thread, slot] = chunk
    return True


@device_function
def give_back(buckets: Any, thread: Any, chunk: Any) -> Any:
    """Keep a chunk for reuse. Returns the one that followed it."""
    following = buckets.following[np.uint64(chunk)]
    buckets.following[np.uint64(chunk)] = buckets.spare[thread, np.uint64(0)]
    buckets.spare[thread, np.uint64(0)] = chunk
    return following


@device_function
def next_bucket(buckets: Any, thread: Any, current: Any) -> Any:
    """The lowest bucket from the current one on in which a thread has entries, or `NO_BUCKET`."""
    bucket = np.int64(current)
    while bucket < current + NEAR and buckets.size[thread, slot_of(bucket)] == 0:
        bucket += 1
    if bucket == current + NEAR:
        bucket = np.int64(NO_BUCKET)
    return min(bucket, buckets.far_least[thread, np.uint64(0)])


@device_function
def deal_far(buckets: Any, thread: Any, current: Any, state: Any) -> None:
    """Enter the vertices of a thread's far list anew, now that the ring is near."""
    left, chunk = buckets.size[thread, FAR], buckets.head[thread, FAR]
    buckets.size[thread, FAR] = 0
    buckets.far_least[thread, np.uint64(0)] = NO_BUCKET
    while left > 0:
        entries = chunk_entries(left)
        for i in range(np.uint64(chunk * CHUNK), np.uint64(chunk * CHUNK + entries)):
            v, distance = np.uint64(buckets.vertex[i]), buckets.distance[i]
            if distance_in(state, v, buckets.distance) == distance:
                push(buckets, thread, current, v, distance)
        left -= entries
        chunk = give_back(buckets, thread, chunk)


@device_function
def clear(buckets: Any, thread: Any) -> None:
    """Empty a thread's buckets, to rebuild them. Thread 0 gives all chunks back to the pool."""
    buckets.size[thread, :] = 0
    buckets.spare[thread, np.uint64(0)] = -1
    buckets.far_least[thread, np.uint64(0)] = NO_BUCKET
    if thread == 0:
        buckets.words[FRESH] = 0
        buckets.words[LOST] = 0
        buckets.words[REBUILDS] += 1


@device_function
def rebuild(buckets: Any, thread: Any, size: Any, current: Any, state: Any, unreached: Any) -> None:
    """Enter each vertex of a thread's share that is not done: from the current bucket on."""
    n = len(state)
    for v in range(np.uint64(n * thread // size), np.uint64(n * (thread + 1) // size)):
        distance = distance_in(state, v, buckets.distance)
        bucket = np.int64(np.float64(distance) * buckets.per_distance[np.uint64(0)])
        if distance < unreached and bucket >= current:
            push(buckets, thread, current, v, distance)
