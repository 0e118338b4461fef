"""A file of a graph that is open: its header at once, its bytes as mapped memory when they are first used."""

import mmap
import os
import stat
import sys
import threading
import weakref
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from edgewise.errors import FileChangedError, ParseError
from edgewise.graph.file_format import PAGE, WORD
from edgewise.graph.file_header import FileHeader, parse_header
from edgewise.graph.file_sums import checksum
from edgewise.kernels.cpu import mapped
from edgewise.text import shown

_ADVICE = "Load the graph again. A file in use may be replaced by another of its name, but not be written to"


class GraphFile:
    """An open file of a graph. It is closed when nothing uses it any more.

    A copy of it is itself; pickled, it is the name of the file and the checksum of its header.

    Attributes:
        name, path: of the file, as given and absolute.
        header: what the file says of itself.
        lock: held while an array is checked.
        prints: of the arcs whose targets or weights were checked, by the name of the array: see
            `edgewise.graph.file_checks`.

    Raises:
        ParseError: it cannot be read, or its header is not one of a graph that this version reads.
    """

    def __init__(self, path: Any) -> None:
        if not isinstance(path, str | os.PathLike):
            raise ParseError(f"path is {shown(path)}; expected the name of a file")
        if sys.byteorder != "little":
            raise ParseError("files of graphs are little-endian, and this machine is not; use a text format")
        self.name = Path(os.fsdecode(path))
        self.path = Path(os.path.abspath(self.name))
        self._file = _opened(self.name)
        self._close = weakref.finalize(self, os.close, self._file)
        self._found = _identity(os.fstat(self._file))
        try:
            begin = os.pread(self._file, PAGE, 0)
        except OSError as error:
            raise ParseError(f"cannot read {self.name}: {error.strerror}") from None
        self.header: FileHeader = parse_header(self.name, begin, self._found[0])
        self.lock, self.prints = threading.RLock(), dict[str, int]()
        self._guard = -1

    def __copy__(self) -> "GraphFile":
        return self

    def __deepcopy__(self, memo: Any) -> "GraphFile":
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        return _opened_again, (str(self.path), self.header.checksum)

    @cached_property
    def mapping(self) -> np.ndarray:
        """The whole file, uint8, read-only.

        Raises:
            FileChangedError: it was cut short after it was opened.
        """
        try:
            view = mmap.mmap(self._file, self.header.file_bytes, access=mmap.ACCESS_READ)
        except ValueError:  # it is too short
            self.check_unchanged()
            raise
        whole = np.frombuffer(view, np.uint8)
        self._guard = mapped.guard(whole.ctypes.data, whole.nbytes)
        weakref.finalize(whole, mapped.release, self._guard).atexit = False
        return whole

    @property
    def descriptor(self) -> int:
        """That of the open file."""
        return self._file

    def values(self, name: str) -> np.ndarray:
        """An array as it is in the file, unchecked."""
        array = self.header.arrays[name]
        return self.mapping[array.begin : array.begin + array.nbytes].view(array.dtype)

    def holds(self, array: np.ndarray) -> bool:
        """Whether an array lies in the mapped file."""
        whole = vars(self).get("mapping")
        return whole is not None and bool(np.may_share_memory(whole, array))

    def words(self, name: str) -> np.ndarray:
        """An array as words of 64 bits; the last one may reach beyond its end."""
        array = self.header.arrays[name]
        return self.mapping[array.begin : array.begin + -(-array.nbytes // WORD) * WORD].view(np.uint64)

    def sums(self, name: str) -> np.ndarray:
        """The checksums of an array's blocks.

        Raises:
            ParseError: they are damaged.
        """
        array = self.header.arrays[name]
        content = os.pread(self._file, WORD * array.num_blocks, array.sums_begin)
        if len(content) != WORD * array.num_blocks or checksum(content) != array.sums_checksum:
            self.check_unchanged()
            raise self.damaged(f"the checksums of {name} are not those that were written")
        return np.frombuffer(content, np.uint64)

    def damaged(self, problem: str) -> ParseError:
        """The error for a file that does not hold what it should."""
        return ParseError(f"{self.name} is damaged: {problem}. Copy it again, or make it anew")

    def check_unchanged(self) -> None:
        """Refuse to go on with a file that is not what it was when it was opened.

        Raises:
            FileChangedError: it was cut short or written to.
        """
        found = _identity(os.fstat(self._file))
        size = found[0]
        if size < self._found[0] or mapped.faulted(self._guard):
            now = f"it has {size:,} of {self._found[0]:,} bytes"
            if size >= self._found[0]:
                now = "it has its length again"
            raise FileChangedError(f"{self.name} was cut short while it was in use; {now}. {_ADVICE}")
        if found != self._found:
            raise FileChangedError(f"{self.name} was written to while it was in use. {_ADVICE}")


def _identity(found: os.stat_result) -> tuple[int, int]:
    """What tells whether a file has changed: its size and when it was last written to."""
    return found.st_size, found.st_mtime_ns


def _opened(path: Path) -> int:
    """An ordinary file, open for reading. Raises ParseError."""
    flags = (
        os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
    )
    try:
        file = os.open(path, flags)
        kind = os.fstat(file).st_mode
    except FileNotFoundError:
        raise ParseError(f"there is no file {path}") from None
    except (OSError, ValueError) as error:
        raise ParseError(f"cannot read {path}: {getattr(error, 'strerror', None) or error}") from None
    if not stat.S_ISREG(kind):
        os.close(file)
        what = "a folder" if stat.S_ISDIR(kind) else "no ordinary file, so it cannot be mapped"
        raise ParseError(f"cannot read {path}: it is {what}; expected a file of a graph")
    return file


def _opened_again(path: str, expected: int) -> GraphFile:
    """The file that was pickled.

    Raises:
        ParseError: there is no such file here, or it holds another graph.
    """
    file = GraphFile(path)
    if file.header.checksum != expected:
        raise ParseError(
            f"{path} holds another graph than the one that was pickled; save that under another name"
        )
    return file
