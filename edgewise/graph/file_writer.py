"""Write a file of a graph, whole or not at all, from arrays that need not fit in memory."""

import contextlib
import os
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from types import TracebackType
from typing import Any, Protocol

import numpy as np

from edgewise.errors import GraphError, OutputError
from edgewise.graph.file_format import (
    PAGE,
    WORD,
    Expected,
    expected_arrays,
    ids_as_arrays,
    make_header,
    needed_arrays,
    num_blocks,
)
from edgewise.graph.file_sums import add_to_blocks, checksum
from edgewise.graph.ids import MAX_VERTICES, Ids
from edgewise.text import listed, shown
from edgewise.whole import check_place, replacing

#: Bytes that are summed up and written at a time: they stay in the cache in between.
_PIECE = 2**22


class Writers(Protocol):
    """Who write one file.

    Attributes:
        is_first: whether this process makes the file, writes the ids, and completes it.
    """

    is_first: bool

    def aside(self, path: Path) -> AbstractContextManager[Path]:
        """The name of a new file beside a path, which takes this name if the block ends without an error."""

    def tell_first(self, own: Sequence[np.ndarray]) -> list[list[np.ndarray]]:
        """Tell the first one of arrays, uint64, when this process has written its own; what all others tell it."""


class _Alone:
    """One process that writes a file; see `Writers`."""

    is_first = True

    def aside(self, path: Path) -> AbstractContextManager[Path]:
        """See `edgewise.whole.replacing`."""
        return replacing(path)

    def tell_first(self, own: Sequence[np.ndarray]) -> list[list[np.ndarray]]:
        """There are no others."""
        return []


class GraphWriter:
    """A context manager that writes a file of a graph.

    The file takes its name when the block ends without an error and every array was written in full; it is on the disk
    then. Otherwise nothing is left, and an older file of that name stays as it was. If the process is killed, a file
    ``.*.part`` stays beside it, which a later write to the folder removes.

    Values are not looked at: whoever reads the file checks them. One thread calls `write` at a time. Several processes
    may write one file, each some elements of its own: all of them make a writer with the same arguments.

    Raises:
        GraphError: sizes or arrays that no graph has, or arrays that were not written in full.
        OutputError: the file cannot be written.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        num_vertices: int,
        num_arcs: int,
        directed: bool,
        num_loops: int,
        arrays: Mapping[str, tuple[Any, int]],
        ids: Ids,
        layered: bool = False,
        writers: Writers | None = None,
    ) -> None:
        """Check what will be written; nothing is written yet.

        Args:
            path: of the file.
            num_vertices, num_arcs: of the graph; an undirected one has two arcs for each edge, and one for a self-loop.
            directed: whether edges have a direction.
            num_loops: self-loops of an undirected graph; 0 for a directed one.
            arrays: the dtype and the length of each array by its name: "offsets" and "targets"; "weights" and
                "edge_numbers" if there are any; of a directed graph, "in_offsets", "in_sources" and, if there are
                weights, "in_weights", to have in-edges in the file; attributes of edges as in
                `edgewise.graph.file_format`. dtypes are those of `edgewise.Graph`.
            ids: of the vertices.
            layered: whether it is a file of `edgewise.graph.layers`.
            writers: the processes that write the file; by default this one alone.
        """
        self.path, self._writers = Path(os.fsdecode(path)), writers or _Alone()
        if (
            not 0 <= num_vertices <= MAX_VERTICES
            or ids.num_vertices != num_vertices
            or not 0 <= num_loops <= num_arcs
        ):
            raise GraphError(
                f"a file for {num_vertices:,} vertices, {ids.num_vertices:,} ids, {num_arcs:,} arcs and {num_loops:,} "
                "self-loops; expected as many ids as vertices, at most 2**31 - 1, and no more self-loops than arcs"
            )
        kind, self._of_ids = ids_as_arrays(ids)
        self._arrays = {name: (np.dtype(dtype), int(length)) for name, (dtype, length) in arrays.items()}
        self._arrays |= {name: (values.dtype, len(values)) for name, values in self._of_ids.items()}
        expected = expected_arrays(num_vertices, num_arcs, bool(directed), kind, layered, self._arrays)
        _check_arrays(self._arrays, expected, layered)
        check_place(self.path)
        sizes = num_vertices, num_arcs, num_loops
        self._header = make_header(*sizes, bool(directed), kind, self._arrays, layered)
        self._parts = {
            name: _Part(name, dtype, length, int(entry["begin"]))
            for (name, (dtype, length)), entry in zip(
                self._arrays.items(), self._header[0]["arrays"], strict=False
            )
        }
        self._open = contextlib.ExitStack()
        self._file, self._failed = -1, False

    def __enter__(self) -> "GraphWriter":
        with self._naming_errors(), contextlib.ExitStack() as stack:
            aside = stack.enter_context(self._writers.aside(self.path))
            self._file = os.open(aside, os.O_RDWR | getattr(os, "O_BINARY", 0))
            stack.callback(os.close, self._file)
            os.ftruncate(self._file, int(self._header[0]["file_bytes"]))
            self._open = stack.pop_all()
        return self

    def write(self, name: str, begin: int, values: np.ndarray) -> None:
        """Write elements of an array.

        Args:
            name: of the array.
            begin: the element that comes first.
            values: of the array's dtype, shape (k,). Pieces may come in any order, and are written once.

        Raises:
            GraphError: no such array, another dtype, elements that the array does not have or that were written before.
            OutputError: the disk is full, say.
        """
        part = self._parts.get(name)
        if part is None:
            raise GraphError(f"the file has no array {shown(name)}; it has {listed(self._parts)}")
        part.claim(int(begin), values)
        step, failed_before, self._failed = _PIECE // part.dtype.itemsize, self._failed, True
        with self._naming_errors():
            for start in range(0, len(values), step):
                piece = np.ascontiguousarray(values[start : start + step]).view(np.uint8)
                place = (int(begin) + start) * part.dtype.itemsize
                part.add(place, piece)
                _write_all(self._file, part.begin + place, piece)
        self._failed = failed_before

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is not None:
            self._open.__exit__(kind, error, trace)
            return
        with self._naming_errors(), self._open:
            self._complete()
        with self._naming_errors():
            _sync_folder(self.path)

    def _complete(self) -> None:
        """Finish the file if this process is the first one, with what others have written; else tell it."""
        is_first = self._writers.is_first
        for name, values in self._of_ids.items() if is_first else ():
            self.write(name, 0, values)
        if self._failed:
            raise GraphError("the file is not complete: writing a piece of it failed. Begin anew")
        if not is_first:
            os.fsync(self._file)
        parts = list(self._parts.values())
        for told in self._writers.tell_first([part.told() for part in parts]):
            for part, of_other in zip(parts, told, strict=True):
                part.take(of_other)
        if is_first:
            unfinished = [part.missing() for part in parts if part.missing()]
            if unfinished:
                raise GraphError(
                    f"the file is not complete: {'; '.join(unfinished)}. Write each array in full"
                )
            self._finish()

    def _finish(self) -> None:
        """Write the checksums and the header, and wait until all is on the disk."""
        fixed = self._header[0]
        for entry, part in zip(fixed["arrays"], self._parts.values(), strict=False):
            sums = part.finished_sums()
            entry["sums_checksum"] = checksum(sums.tobytes())
            _write_all(self._file, int(entry["sums_begin"]), sums.view(np.uint8))
        fixed["checksum"] = checksum(self._header.tobytes()[: PAGE - WORD])
        _write_all(self._file, 0, np.frombuffer(self._header.tobytes(), np.uint8))
        os.fsync(self._file)

    @contextlib.contextmanager
    def _naming_errors(self) -> Any:
        """Explain an error of the system by the file that it is about."""
        try:
            yield
        except OutputError:
            raise
        except OSError as error:
            raise OutputError(f"cannot write {self.path}: {error.strerror or error}") from None


class _Part:
    """What was written of one array: the elements, and the checksums of its blocks so far."""

    def __init__(self, name: str, dtype: np.dtype, length: int, begin: int) -> None:
        self.name, self.dtype, self.length, self.begin = name, dtype, length, begin
        self._sums = np.zeros(num_blocks(length * dtype.itemsize), np.uint64)
        #: First and end of each run of elements that were written, in order: runs that meet become one.
        self._written: list[tuple[int, int]] = []
        #: Words of which only some bytes have been written: the word, with zeros for the others.
        self._parts_of_words: dict[int, int] = {}
        self._of_others = 0

    def claim(self, begin: int, values: np.ndarray) -> None:
        """Refuse elements that this array does not wait for; count them as written."""
        if values.ndim != 1 or values.dtype != self.dtype:
            raise GraphError(
                f"{self.name}: got {values.dtype} of shape {values.shape}; expected {self.dtype} in one dimension"
            )
        end = begin + len(values)
        if not 0 <= begin <= end <= self.length:
            raise GraphError(f"{self.name}: got elements {begin:,} to {end:,}; it has {self.length:,}")
        if begin == end:
            return
        at = bisect_left(self._written, (begin, begin))
        before, after = self._written[max(at - 1, 0) : at], self._written[at : at + 1]
        if (before and before[0][1] > begin) or (after and after[0][0] < end):
            raise GraphError(f"{self.name}: some of the elements {begin:,} to {end:,} were written before")
        first, last = at, at
        if before and before[0][1] == begin:
            begin, first = before[0][0], at - 1
        if after and after[0][0] == end:
            end, last = after[0][1], at + 1
        self._written[first:last] = [(begin, end)]

    def missing(self) -> str:
        """What was not written, in words; empty if nothing is missing."""
        written = self._num_written + self._of_others
        return "" if written == self.length else f"{self.name} has {written:,} of {self.length:,} elements"

    @property
    def _num_written(self) -> int:
        return sum(end - begin for begin, end in self._written)

    def told(self) -> np.ndarray:
        """What was written here of an array that others write to as well, uint64: for `take`."""
        words = np.array(list(self._parts_of_words.items()), np.uint64).ravel()
        head = np.array([self._num_written, len(words)], np.uint64)
        return np.concatenate([head, words, self._sums])

    def take(self, told: np.ndarray) -> None:
        """Take what was written elsewhere of this array."""
        end = 2 + int(told[1])
        self._of_others += int(told[0])
        for word, value in told[2:end].reshape(-1, 2).tolist():
            self._parts_of_words[word] = self._parts_of_words.get(word, 0) | value
        self._sums += told[end:]

    def add(self, place: int, piece: np.ndarray) -> None:
        """Add bytes that begin at this place of the array to the checksums."""
        head = min(-place % WORD, len(piece))
        tail = (len(piece) - head) % WORD
        whole = piece[head : len(piece) - tail]
        if head:
            self._add_bytes(place, piece[:head])
        if whole.ctypes.data % WORD:
            whole = whole.copy()  # so that its words are aligned
        add_to_blocks(self._sums, (place + head) // WORD, whole.view("<u8"))
        if tail:
            self._add_bytes(place + len(piece) - tail, piece[len(piece) - tail :])

    def _add_bytes(self, place: int, some: np.ndarray) -> None:
        """Add some bytes of one word, which counts when this array is finished."""
        word, shift = divmod(place, WORD)
        value = int.from_bytes(some.tobytes(), "little") << 8 * shift
        self._parts_of_words[word] = self._parts_of_words.get(word, 0) | value

    def finished_sums(self) -> np.ndarray:
        """The checksums of all blocks of the array, which is written in full."""
        for word, value in self._parts_of_words.items():
            add_to_blocks(self._sums, word, np.array([value], "<u8"))
        self._parts_of_words.clear()
        return self._sums


def block_sums(values: np.ndarray) -> np.ndarray:
    """The checksums of an array's blocks, as a file of it would have."""
    part = _Part("", values.dtype, len(values), 0)
    as_words = values.flags.c_contiguous and values.ctypes.data % WORD == 0
    step = max(1, len(values)) if as_words else _PIECE // values.itemsize  # else each piece is copied
    for start in range(0, len(values), step):
        piece = np.ascontiguousarray(values[start : start + step])
        part.add(start * values.itemsize, piece.view(np.uint8))
    return part.finished_sums()


def _check_arrays(
    arrays: dict[str, tuple[np.dtype, int]], expected: dict[str, Expected], layered: bool
) -> None:
    """Refuse arrays that a file of this graph cannot have."""
    for name, (dtype, length) in arrays.items():
        if name not in expected:
            raise GraphError(f"a file of this graph has no array {shown(name)}; it has {listed(expected)}")
        wanted = expected[name]
        if dtype not in wanted.dtypes or wanted.length not in (None, length):
            dtypes = " or ".join(map(str, wanted.dtypes))
            raise GraphError(
                f"{name} is {dtype} of {length:,} elements; expected {dtypes} of {wanted.length:,}"
            )
    missing = needed_arrays(set(arrays), layered) - set(arrays)
    if missing:
        raise GraphError(f"a file with {listed(arrays)} needs {listed(sorted(missing))} as well")


def _write_all(file: int, place: int, piece: np.ndarray) -> None:
    """Write bytes at a place in a file."""
    left = piece.data
    while left:
        done = os.pwrite(file, left, place)
        left, place = left[done:], place + done


def _sync_folder(path: Path) -> None:
    """Wait until the name of a file is on the disk."""
    with contextlib.suppress(OSError):  # some file systems cannot be asked
        folder = os.open(os.path.dirname(os.path.realpath(path)), os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)
