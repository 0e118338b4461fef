"""Numbers for vertices whose ids are integers, found and looked up in bounded memory.

Idea. Ids from 0 to some limit are marked in a bitmap. The index of an id is then the number of marks before it: those
of its word are counted, and those before the word are known. When an id is negative or too large, the marks become a
sorted run on the disk, and so do the distinct ids of each batch from then on; runs are merged in ranges of values that
fit in memory. In the end the distinct ids lie in memory in order, 8 bytes each, and an id is found by its leading bits
and a binary search.
"""

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from edgewise.building.scratch import Scratch, ScratchFile
from edgewise.building.sizes import Room
from edgewise.errors import GraphError
from edgewise.graph.ids import MAX_VERTICES, Ids
from edgewise.kernels.cache import device_function, kernel
from edgewise.kernels.cpu.launch import launch, sealed
from edgewise.kernels.cpu.team import claim, team_kernel

#: Ids that a thread looks up at a time.
_PIECE = 2**16
#: Runs that are kept before they are merged.
_MOST_RUNS = 64
#: The number of leading bits by which an id is found.
_LEADING_BITS = 16
#: Bytes of the places where ids with these bits begin.
_STARTS_BYTES = 4 * (2**_LEADING_BITS + 1)
_SHARE_OF_MARKS, _SHARE_OF_MERGE = 1 / 4, 1 / 40
#: Samples of more bytes than this share do not stay beside ids that do not fit anyway.
_SHARE_OF_SAMPLES = 1 / 16


class _Run(NamedTuple):
    """Distinct ids in order: their file, their number, and every `step`-th of them."""

    file: ScratchFile
    length: int
    samples: np.ndarray


class Distinct:
    """The distinct integers among ids that come in batches."""

    def __init__(self, scratch: Scratch, room: Room) -> None:
        self._scratch, self._room = scratch, room
        words = max(int(room.left() * _SHARE_OF_MARKS) // 8, 1)
        #: Takes memory where marks are set.
        self._marks: np.ndarray | None = np.zeros(min(words, (MAX_VERTICES >> 6) + 1), np.uint64)
        self._top = np.zeros(1, np.int64)
        self._merge_step = max(int(room.left() * _SHARE_OF_MERGE) // 8, 1)
        self._runs: list[_Run] = []
        self._waiting: list[np.ndarray] = []
        self._negative = self._long = False

    def add(self, column: np.ndarray) -> None:
        """Add ids: int32, int64, or uint64.

        Raises:
            GraphError: negative ids, and others beyond 63 bits; more than there may be vertices.
            MemoryLimitError: so many more distinct ids than fit that they cannot be counted within the limit.
        """
        if self._marks is not None:
            done = int(_mark(sealed(column), self._marks, self._top))
            if done == len(column):
                return
            self._leave_marks()
            column = column[done:]
        if column.dtype == np.uint64:
            self._long = self._long or bool((column >> np.uint64(63)).any())
            column = column if self._long else column.view(np.int64)
        else:
            self._negative = self._negative or bool(column.min(initial=0) < 0)
        if self._long and self._negative:
            raise GraphError(
                "some ids are negative and others beyond 63 bits; expected one of the two. Number the vertices first"
            )
        self._waiting.append(column.astype(self._dtype))
        if sum(map(len, self._waiting)) >= self._merge_step:
            self._add_waiting()

    @property
    def _dtype(self) -> np.dtype:
        return np.dtype(np.uint64 if self._long else np.int64)

    def _add_waiting(self) -> None:
        """Write the distinct ones of the ids that wait, as a run."""
        waiting, self._waiting = self._waiting, []
        # Joined as they are, int64 and uint64 would make floats.
        self._add_run([_distinct(np.concatenate([each.astype(self._dtype) for each in waiting]))])
        if len(self._runs) >= _MOST_RUNS:
            self._merge_runs()

    def _leave_marks(self) -> None:
        """Turn the marks into a run."""
        assert self._marks is not None
        marks, self._marks = self._marks[: -(-int(self._top[0]) // 64)], None
        self._add_run(_marked(marks, self._merge_step))

    def _add_run(self, pieces: Any) -> None:
        """Write distinct ids in order, and keep samples of them."""
        file, length, samples = self._scratch.file(), 0, []
        step = max(self._merge_step // (4 * _MOST_RUNS), 1)
        for piece in pieces:
            samples.append(piece[-length % step :: step].astype(np.uint64))
            file.append(piece)
            length += len(piece)
        if length:
            self._runs.append(_Run(file, length, np.concatenate(samples)))
        else:
            file.close()

    def _merge_runs(self) -> None:
        """Merge all runs into one."""
        runs, self._runs = self._runs, []
        dtype = self._dtype
        self._add_run(_merged(runs, self._merge_step, dtype))
        for run in runs:
            run.file.close()
        count = sum(run.length for run in self._runs)
        if count > MAX_VERTICES:
            Ids(count)  # which refuses them
        if sum(run.samples.nbytes for run in self._runs) > self._room.left() * _SHARE_OF_SAMPLES:
            self._room.left(8 * count, f"{count:,} distinct ids", share=0)

    def in_order(self, ranks: int) -> Iterator[np.ndarray]:
        """All ids in order, int64 or uint64, some at a time: so few that `ranks` such pieces fit. Nothing can be added
        any more."""
        most = max(self._merge_step // ranks, 1)
        if self._marks is not None:
            marks, self._marks = self._marks[: -(-int(self._top[0]) // 64)], None
            yield from filter(len, _marked(marks, most))
            return
        if self._waiting:
            self._add_waiting()
        self._merge_runs()
        for run in self._runs:
            for begin in range(0, run.length, most):
                yield run.file.read(8 * begin, self._dtype, min(most, run.length - begin))
            run.file.close()

    def _check_room(self, count: int, beside: int) -> None:
        """Refuse ids that do not fit in memory, with `beside` bytes to look them up. All of them have come: so the
        limit that the refusal says is enough."""
        self._room.left(8 * count + beside, f"{count:,} distinct ids", count)

    def finish(self) -> "Numbering":
        """The numbers of all ids. Raises MemoryLimitError if the distinct ids do not fit."""
        if self._marks is None:
            if self._waiting:
                self._add_waiting()
            self._merge_runs()
            run = self._runs.pop()
            self._check_room(run.length, _STARTS_BYTES)
            ids = run.file.read(0, self._dtype, run.length)
            run.file.close()
            return _InOrder(ids)
        marks, self._marks = self._marks[: -(-int(self._top[0]) // 64)], None
        before = np.empty(len(marks), np.int32)
        count = int(_count_marks(sealed(marks), before))
        if count == int(self._top[0]):
            return Numbering(count)
        self._check_room(count, marks.nbytes + before.nbytes)
        return _ByMarks(count, marks, before)


class Numbering:
    """The index of each id: here ids that are 0..n-1 themselves.

    Attributes:
        num_vertices: the number of distinct ids.
        held_bytes: what looking up takes of memory.
        ids_bytes: what the ids take beside that.
        file_bytes: what the ids take in the file.
    """

    held_bytes = ids_bytes = file_bytes = 0

    def __init__(self, num_vertices: int) -> None:
        self.num_vertices = num_vertices

    def indices_of(self, column: np.ndarray) -> np.ndarray:
        """The indices of ids, int32."""
        return column.astype(np.int32, copy=False)

    def finish(self) -> Ids:
        """The ids of the graph; nothing can be looked up any more."""
        return Ids(self.num_vertices)


class ByTable(Numbering):
    """Looks numbers up in a table of the vertices that they stand for, int32, at most one for each vertex."""

    def __init__(self, num_vertices: int, table: np.ndarray) -> None:
        super().__init__(num_vertices)
        self._table, self.held_bytes = table, 4 * num_vertices

    def indices_of(self, column: np.ndarray) -> np.ndarray:
        """The indices of numbers, int32."""
        return self._table[column]


class _ByMarks(Numbering):
    """Looks ids up among marks; `before` has the number of marks before each word."""

    def __init__(self, num_vertices: int, marks: np.ndarray, before: np.ndarray) -> None:
        super().__init__(num_vertices)
        self._arrays: tuple[np.ndarray, ...] = marks, before
        self.held_bytes = marks.nbytes + before.nbytes
        self.ids_bytes = self.file_bytes = 8 * num_vertices

    def indices_of(self, column: np.ndarray) -> np.ndarray:
        """The indices of ids, int32."""
        indices = np.empty(len(column), np.int32)
        launch(_look_up_marks, sealed(column), *map(sealed, self._arrays), indices, work=6 * len(column))
        return indices

    def finish(self) -> Ids:
        """The ids of the graph, from the marks."""
        ids, place = np.empty(self.num_vertices, np.int64), 0
        for piece in _marked(self._arrays[0], _PIECE):
            ids[place : place + len(piece)] = piece
            place += len(piece)
        self._arrays = ()
        return Ids(self.num_vertices, ids)


class _InOrder(Numbering):
    """Looks ids up among all of them in order."""

    def __init__(self, ids: np.ndarray) -> None:
        super().__init__(len(ids))
        self._ids = ids
        self._starts, self._shift = _leading(ids)
        self.held_bytes, self.file_bytes = ids.nbytes + self._starts.nbytes, ids.nbytes

    def indices_of(self, column: np.ndarray) -> np.ndarray:
        """The indices of ids, int32."""
        indices = np.empty(len(column), np.int32)
        sought = sealed(column.astype(self._ids.dtype, copy=False))
        where = (sealed(self._ids), self._shift, sealed(self._starts))
        launch(_search, sought, *where, indices, work=50 * len(column))
        return indices

    def finish(self) -> Ids:
        """The ids of the graph."""
        return Ids(len(self._ids), self._ids)


def _distinct(ids: np.ndarray) -> np.ndarray:
    """The distinct ids in order; the array is sorted, too. `np.unique` hashes first, which takes ten times as long."""
    ids.sort()
    kept = np.ones(len(ids), np.bool_)
    np.not_equal(ids[1:], ids[:-1], out=kept[1:])
    return ids[kept]


def _marked(marks: np.ndarray, most: int) -> Iterator[np.ndarray]:
    """The ids that are marked, in order, about `most` at a time."""
    step = max(most // 64, 1)
    for start in range(0, len(marks), step):
        bits = np.unpackbits(marks[start : start + step].view(np.uint8), bitorder="little")
        yield np.flatnonzero(bits) + 64 * start


def _merged(runs: list[_Run], most: int, dtype: np.dtype) -> Iterator[np.ndarray]:
    """The distinct ids of all runs in order, about `most` of them read at a time.

    Each sample stands for the ids from it to the next one of its run, so that the samples show where to cut.
    """
    samples = [run.samples.astype(dtype) for run in runs]
    both = np.sort(np.concatenate(samples))
    step = max(most // (4 * _MOST_RUNS), 1)
    cuts = both[max(most // (2 * step), 1) :: max(most // (2 * step), 1)]
    done = [0] * len(runs)
    for cut in [*cuts.tolist(), None]:
        pieces = []
        for number, run in enumerate(runs):
            end = run.length
            if cut is not None:
                blocks = int(np.searchsorted(samples[number], dtype.type(cut), side="right"))
                end = min(blocks * step, run.length)
            piece = run.file.read(done[number] * 8, dtype, max(end - done[number], 0))
            if cut is not None:
                piece = piece[: np.searchsorted(piece, dtype.type(cut), side="right")]
            done[number] += len(piece)
            pieces.append(piece)
        yield _distinct(np.concatenate(pieces))


def _leading(ids: np.ndarray) -> tuple[np.ndarray, int]:
    """Where ids of each value of the leading bits begin, counted from the smallest id, and the bits that follow."""
    span = int(ids[-1]) - int(ids[0])
    shift = max(span.bit_length() - _LEADING_BITS, 0)
    firsts = [int(ids[0]) + (number << shift) for number in range((span >> shift) + 1)]
    starts = np.searchsorted(ids, np.array(firsts, ids.dtype))
    return np.append(starts, len(ids)).astype(np.int32), shift


@kernel
def _mark(column: Any, marks: Any, top: Any) -> Any:
    """Mark ids, up to the first that is outside. top: the largest id so far, plus one. Returns how many were marked."""
    limit = np.uint64(64 * len(marks))
    largest = np.uint64(top[0])
    for e in range(np.uint64(len(column))):
        each = np.uint64(column[e])  # negative ones are very large
        if each >= limit:
            top[0] = np.int64(largest)
            return e
        marks[each >> np.uint64(6)] |= np.uint64(1) << (each & np.uint64(63))
        largest = max(largest, each + np.uint64(1))
    top[0] = np.int64(largest)
    return np.uint64(len(column))


@device_function
def _number_of_bits(word: Any) -> Any:
    """The number of bits that are set: Warren, "Hacker's Delight" (2013), section 5-1."""
    word = word - ((word >> np.uint64(1)) & np.uint64(0x5555555555555555))
    word = (word & np.uint64(0x3333333333333333)) + ((word >> np.uint64(2)) & np.uint64(0x3333333333333333))
    word = (word + (word >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    return (word * np.uint64(0x0101010101010101)) >> np.uint64(56)


@kernel
def _count_marks(marks: Any, before: Any) -> Any:
    """Count the marks before each word, and all."""
    count = np.uint64(0)
    for w in range(np.uint64(len(marks))):
        before[w] = np.int32(count)
        count += _number_of_bits(marks[w])
    return np.int64(count)


@team_kernel
def _look_up_marks(
    thread: Any, size: Any, control: Any, column: Any, marks: Any, before: Any, indices: Any
) -> None:
    """Find the index of each id, which is marked."""
    while True:
        start = claim(control, 0, _PIECE, len(column))
        if start >= len(column):
            return
        for e in range(np.uint64(start), np.uint64(min(start + _PIECE, len(column)))):
            each = np.uint64(column[e])
            word = each >> np.uint64(6)
            lower = marks[word] & ((np.uint64(1) << (each & np.uint64(63))) - np.uint64(1))
            indices[e] = np.int32(np.uint64(before[word]) + _number_of_bits(lower))


@team_kernel
def _search(
    thread: Any, size: Any, control: Any, column: Any, ids: Any, shift: Any, starts: Any, indices: Any
) -> None:
    """Find the index of each id, which is among those in order."""
    bits, smallest = np.uint64(shift), np.uint64(ids[0])
    while True:
        start = claim(control, 0, _PIECE, len(column))
        if start >= len(column):
            return
        for e in range(np.uint64(start), np.uint64(min(start + _PIECE, len(column)))):
            each = column[e]
            lead = (np.uint64(each) - smallest) >> bits
            low, high = np.uint64(starts[lead]), np.uint64(starts[lead + np.uint64(1)])
            while low < high:
                middle = (low + high) >> np.uint64(1)
                if ids[middle] < each:
                    low = middle + np.uint64(1)
                else:
                    high = middle
            indices[e] = np.int32(low)
