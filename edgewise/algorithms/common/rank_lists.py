"""Lists of vertices on one of several ranks with CPUs, one for the vertices of each rank, which its threads fill.

They are read in ascending order: to go over the rows of an R-MAT graph of 17 million arcs in the order in which
vertices were found took a thread 2.5 times as long.
"""

from typing import Any, NamedTuple

import numpy as np

from edgewise.engine.distributed.partition import Ranges
from edgewise.kernels.cache import device_function
from edgewise.kernels.cpu.atomics import atomic_add, atomic_or
from edgewise.kernels.cpu.bits import lowest_bit
from edgewise.kernels.cpu.team import run_alone, team_kernel
from edgewise.kernels.words import CPU_LINE

ONE, SIX, LOW_SIX = np.uint64(1), np.uint64(6), np.uint64(63)
_ALL = ~np.uint64(0)
#: A list with a vertex for fewer than so many words of a bitmap is sorted.
_WORDS_FOR_EACH = 8


class RankLists(NamedTuple):
    """Lists that have each vertex once at most.

    Attributes:
        vertices: uint32, shape (n,): the list of a rank begins in the place of its first vertex.
        marks: uint64, a bitmap: vertices in lists.
        ends: int64, shape (ranks, CPU_LINE): where each list ends.
        begins: int64, shape (ranks + 1,): the first vertex of each rank, and the number of all.
    """

    vertices: np.ndarray
    marks: np.ndarray
    ends: np.ndarray
    begins: np.ndarray

    def of(self, rank: int) -> np.ndarray:
        """The list of a rank, uint32, ascending."""
        vertices, words = self._listed(rank)
        if self._is_short(vertices, words):
            return np.sort(vertices)
        low, high = self.begins[rank : rank + 2].tolist()
        return vertices_of(self.marks[words], low, high, len(vertices))

    def restart(self) -> None:
        """Empty all lists."""
        for rank in range(len(self.ends)):
            vertices, words = self._listed(rank)
            if self._is_short(vertices, words):
                self.marks[vertices >> 6] = 0
            else:
                self.marks[words] = 0
        self.ends[:, 0] = self.begins[:-1]

    def _listed(self, rank: int) -> tuple[np.ndarray, slice]:
        """The list of a rank in any order, and the words that may have its marks."""
        begin, end = int(self.begins[rank]), int(self.ends[rank, 0])
        return self.vertices[begin:end], words_of(slice(begin, int(self.begins[rank + 1])))

    def _is_short(self, vertices: np.ndarray, words: slice) -> bool:
        return _WORDS_FOR_EACH * len(vertices) < words.stop - words.start


def make_lists(ranges: Ranges) -> RankLists:
    """Empty lists for these vertices."""
    begins = np.array(ranges.begins)
    n, ends = ranges.begins[-1], np.zeros((len(begins) - 1, CPU_LINE), np.int64)
    ends[:, 0] = begins[:-1]
    return RankLists(np.empty(n, np.uint32), np.zeros(-(-n // 64), np.uint64), ends, begins)


def words_of(vertices: slice) -> slice:
    """The words of a bitmap that have these vertices."""
    return slice(vertices.start // 64, -(-vertices.stop // 64))


def vertices_of(words: np.ndarray, low: int, high: int, count: int) -> np.ndarray:
    """The vertices of a part of a bitmap, uint32, ascending.

    Args:
        words: the words that have the vertices from `low` to before `high`; bits of others are passed over.
        low, high: see there.
        count: how many there are.
    """
    found = np.empty(count, np.uint32)
    run_alone(_list_bits, words, low, high, found)
    return found


@team_kernel
def _list_bits(thread: Any, size: Any, control: Any, words: Any, low: Any, high: Any, found: Any) -> None:
    """List the vertices of a part of a bitmap, by one thread."""
    k, first = np.uint64(0), np.uint64(low // 64)
    for i in range(np.uint64(len(words))):
        bits = words[i] & bits_between(first + i, low, high)
        while bits:
            found[k] = (first + i << SIX) + lowest_bit(bits)
            bits &= bits - ONE
            k += ONE


@device_function
def bits_between(word: Any, low: Any, high: Any) -> Any:
    """The bits of a word of a bitmap that are the vertices from `low` to before `high`."""
    bits, first = _ALL, np.int64(word * 64)
    if first < low:
        bits &= _ALL << np.uint64(low - first)
    if first + 64 > high:
        bits &= _ALL >> np.uint64(first + 64 - high)
    return bits


@device_function
def put(v: Any, alone: Any, lists: Any) -> None:
    """Put a vertex into the list of its rank, unless it is there.

    Args:
        v: the vertex, uint64.
        alone: whether one thread alone does so.
        lists: see `RankLists`.
    """
    word, bit = v >> SIX, ONE << (v & LOW_SIX)
    if alone:
        is_there = lists.marks[word] & bit
        lists.marks[word] |= bit
    else:
        is_there = atomic_or(lists.marks, word, bit) & bit
    if not is_there:
        begins, rank, after = lists.begins, np.int64(0), np.int64(len(lists.begins) - 1)
        while after - rank > 1:
            middle = (rank + after) // 2
            if begins[middle] <= np.int64(v):
                rank = middle
            else:
                after = middle
        lists.vertices[np.uint64(atomic_add(lists.ends, rank * CPU_LINE, 1))] = v
