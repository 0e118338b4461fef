"""Text files as blocks of whole lines, decompressed while they are read."""

import codecs
import difflib
import gzip
import io
import os
import re
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import IO, NamedTuple, cast

import numpy as np

from edgewise.errors import ParseError
from edgewise.graph.file_format import MAGIC
from edgewise.io.budget import Budget
from edgewise.io.pipes import open_bytes
from edgewise.io.streams import open_bzip2, open_xz
from edgewise.io.zstd import open_zstd
from edgewise.progress import Progress, showing

#: The first bytes of compressed files, and what opens them within a budget.
_COMPRESSED: dict[bytes, Callable[[IO[bytes], Budget], IO[bytes]]] = {
    b"\x1f\x8b": lambda file, budget: cast(IO[bytes], gzip.GzipFile(fileobj=file)),
    b"BZh": open_bzip2,
    b"\xfd7zXZ\x00": open_xz,
    b"\x28\xb5\x2f\xfd": open_zstd,
}
#: The name of standard input for users, and the one path that stands for it.
_STANDARD_INPUT, STDIN = "-", Path("<stdin>")
COMPRESSION_SUFFIXES = {".gz", ".bz2", ".xz", ".lzma", ".zst"}
_BLOCK = 2**20
_HEAD = 2**16
#: Bytes in which most lines end.
_SHORT = 2**12
_LINE_END = re.compile(rb"\r\n?|\n")
#: The longest line of an edge, and the longest row of neighbours, in bytes, that are read.
_LONGEST_LINE, LONGEST_ROW = 2**24, 2**28
#: The most bytes of memory for each byte of a long line: the line twice, and a string and its copy, with up to four
#: bytes for each character, and some room.
_LINE_BYTES = 12
_NEWLINE, _RETURN = 10, 13
_UTF_16 = "text in UTF-16 ('iconv -f UTF-16 -t UTF-8' converts it)"
_HAS_TO_BE_A_FILE = (
    "which has to be a file, and read as no other format (unpack it, or copy it to a file first)"
)
#: First bytes of files that are no text in UTF-8, and what they are.
_BINARY = {
    codecs.BOM_UTF16_LE: _UTF_16,
    codecs.BOM_UTF16_BE: _UTF_16,
    b"PK\3\4": "a zip archive, or a workbook of Excel (unpack it, or save a sheet as CSV; .npz has to be a file)",
    b"PAR1": f"a table of Parquet, {_HAS_TO_BE_A_FILE}",
    MAGIC: f"a graph of edgewise, {_HAS_TO_BE_A_FILE}",
    b"ARROW1": "a table of Arrow or Feather (read it with pyarrow, and give it to edgewise.Graph.from_arrow)",
}


#: Characters that may stand around fields.
BLANKS = " \t\r"


class Block(NamedTuple):
    """Lines of a file.

    Attributes:
        text: whole lines.
        before, after: the bytes of text before them, and those up to their end.
        share: how much of the file was read for them, from 0 to 1.
    """

    text: bytes
    before: int
    after: int
    share: float


class TextFile:
    """A file of lines of text, plain or compressed. Line feeds end lines, and so do carriage returns.

    Attributes:
        path: the file.
        suffix: that of its name, in lower case, without the suffix of a compression: ``.txt`` of ``a.txt.gz``.
        head: its first bytes, decompressed.
        budget: the memory that may be taken.
        size: the bytes of its text, or None if that is compressed.
        share_read: how much of the file, which may be compressed, was read for the last block, from 0 to 1.
        longest_line: the most bytes of a line, by default those of an edge.

    Raises:
        ParseError: no such file, a folder, an empty, truncated or binary file.
        MemoryLimitError: the content of a pipe does not fit.
    """

    def __init__(self, path: Path, budget: Budget) -> None:
        self.path, self.budget = path, budget
        self._piped: bytes | None = None
        self.share_read, self._length = 0.0, 1
        self.longest_line = _LONGEST_LINE
        self.size: int | None = None
        self._section: tuple[int, int] | None = None
        suffixes = [suffix.lower() for suffix in path.suffixes]
        if suffixes and suffixes[-1] in COMPRESSION_SUFFIXES:
            suffixes.pop()
        self.suffix = suffixes[-1] if suffixes else ""
        self.head = next(self._pieces(_HEAD), b"")
        if not self.head:
            raise ParseError(f"{path} is empty; expected the edges of a graph")

    @property
    def packed_size(self) -> int:
        """The bytes of the file, which may be compressed."""
        return self._length

    def lines(self) -> Iterator[str]:
        """The lines from the start on, read only as they are asked for.

        Raises:
            MemoryLimitError: a line that takes more memory as text than the budget has.
        """
        for block in self._whole_lines(_HEAD):
            if len(block) > 2 * _HEAD:
                self.budget.check(_LINE_BYTES * len(block))
            yield from block.decode(errors="replace").split("\n")[:-1]

    def data_lines(
        self, comments: str, note: Callable[[bytes], None] | None = None
    ) -> Iterator[tuple[int, str]]:
        """The lines that are neither blank nor comments, with their numbers from 1, read only as they are asked for.

        Args:
            comments: characters that start comments.
            note: called with the lines that are left out, some at a time.

        Raises:
            MemoryLimitError: as `lines`.
        """
        marks = re.escape("".join(set(comments) - set(BLANKS + "\n")).encode())
        comment = rb"(?:[%b][^\n]*+)?+" % marks if marks else b""
        left_out, number = re.compile(rb"(?:[%b]*+%b\n)++" % (BLANKS.encode(), comment)), 1
        for block in self._whole_lines(_HEAD):
            if len(block) > 2 * _HEAD:
                self.budget.check(_LINE_BYTES * len(block))
            place = 0
            while place < len(block):
                if skipped := left_out.match(block, place):
                    number, place = number + skipped[0].count(b"\n"), skipped.end()
                    if note is not None:
                        note(skipped[0])
                    continue
                end = block.index(b"\n", place)
                yield number, block[place:end].decode(errors="replace")
                number, place = number + 1, end + 1

    def narrow(self, begin: int, end: int) -> None:
        """Read lines from the byte `begin` to before `end` only. The file is not compressed."""
        self._section, self.size = (begin, end), end - begin

    def line_start(self, place: int) -> int:
        """Where the first line begins that begins at this byte of the file or behind it; the size of the file if there
        is none. The file is not compressed."""
        if place <= 0:
            return 0
        try:
            with self._open() as file:
                at, step = file.seek(place - 1), _SHORT
                while data := file.read(step):
                    if found := _LINE_END.search(data):
                        is_cut = data.endswith(b"\r") and found.end() == len(data)
                        return at + found.end() + (is_cut and file.read(1) == b"\n")
                    at, step = at + len(data), _BLOCK
                return at
        except OSError as error:
            raise ParseError(f"cannot read {self.path}: {error.strerror or error}") from None

    def showing(self, progress: Progress) -> AbstractContextManager[Callable[[int], None] | None]:
        """The function that is told how many bytes of text have been read, if any; see `edgewise.progress.showing`."""
        return showing(progress, f"reading {self.path.name}: bytes", self.size)

    def blocks(self) -> Iterator[Block]:
        """The lines of the file, a megabyte or more at a time; the last one ends in a line break, too."""
        done = 0
        for text in self._whole_lines(_BLOCK):
            yield Block(text, done, done + len(text), self.share_read)
            done += len(text)

    def chunks(self) -> Iterator[bytes]:
        """The text of the file, at most a megabyte at a time, cut anywhere."""
        return self._pieces(_BLOCK)

    def _whole_lines(self, size: int) -> Iterator[bytes]:
        unfinished: list[bytes | memoryview] = []
        length = 0
        for data in self._pieces(size):
            end = data.rfind(b"\n") + 1
            if end:
                yield b"".join([*unfinished, memoryview(data)[:end]])
                unfinished, length = [memoryview(data)[end:]], len(data) - end
                continue
            unfinished.append(data)
            length += len(data)
            self.budget.check(2 * length)
            if length > self.longest_line:
                kind = "an edge in each line" if self.longest_line < LONGEST_ROW else "text"
                raise ParseError(
                    f"{self.path} has a line of more than {self.longest_line:,} bytes; expected {kind}"
                )
        if length:
            yield b"".join([*unfinished, b"\n"])

    def _pieces(self, size: int) -> Iterator[bytes]:
        """The decompressed bytes, past a byte order mark, with line feeds in place of other line ends."""
        begin, end = self._section or (0, None)
        mark = b"" if begin else codecs.BOM_UTF8
        with self._open() as packed, self._unpacked(packed) as whole:
            file = whole if end is None else _Section(whole, begin, end)
            data, held = self._read(file, size).removeprefix(mark), b""
            while data:
                self.share_read = (packed.tell() - begin) / self._length
                data = held + data
                held = b"\r" * data.endswith(b"\r")  # the line feed that belongs to it may come next
                if piece := _with_line_feeds(data[: len(data) - len(held)]):
                    yield piece
                data = self._read(file, size)
            if held:
                yield b"\n"

    def _open(self) -> IO[bytes]:
        """The file, still compressed, from its start. The content of a pipe is kept, since it comes only once."""
        if self.path is STDIN and self._piped is None:
            self._piped = self._read_pipe(_standard_input())
        file = self._open_packed() if self._piped is None else io.BytesIO(self._piped)
        try:
            if not file.seekable():
                with file:
                    self._piped = self._read_pipe(file)
                file = io.BytesIO(self._piped)
            length = file.seek(0, io.SEEK_END)
            if self._section is not None:
                length = self._section[1] - self._section[0]
            self._length = max(1, length)  # the system's own files say 0
            file.seek(0)
        except OSError as error:
            raise ParseError(f"cannot read {self.path}: {error.strerror or error}") from None
        return file

    def _unpacked(self, file: IO[bytes]) -> IO[bytes]:
        """A file as a stream of decompressed bytes."""
        try:
            start = file.read(8)
            file.seek(0)
        except OSError as error:
            raise ParseError(f"cannot read {self.path}: {error.strerror or error}") from None
        opens = next((opens for magic, opens in _COMPRESSED.items() if start.startswith(magic)), None)
        if opens is not None:
            return opens(file, self.budget)
        self.size = self._length
        return file

    def _open_packed(self) -> IO[bytes]:
        """The file, still compressed."""
        try:
            return open_bytes(self.path)
        except IsADirectoryError:
            raise ParseError(f"{self.path} is a folder; expected a file") from None
        except FileNotFoundError:
            raise ParseError(f"there is no file {self.path}{self._similar()}") from None
        except OSError as error:
            raise ParseError(f"cannot read {self.path}: {error.strerror}") from None
        except ValueError as error:  # a NUL, or half a character
            raise ParseError(f"cannot read {self.path}: {error}; expected the name of a file") from None

    def _read_pipe(self, pipe: IO[bytes]) -> bytes:
        """The whole content of a pipe, still compressed."""
        kept = io.BytesIO()
        try:
            while data := pipe.read(_BLOCK):
                kept.write(data)
                self.budget.check(2 * kept.tell())
        except (OSError, ValueError) as error:  # a pipe that broke, or was closed
            raise ParseError(f"cannot read {self.path}: {error}") from None
        return kept.getvalue()

    def _read(self, file: "IO[bytes] | _Section", size: int) -> bytes:
        try:
            data = file.read(size)
        except MemoryError:  # MemoryLimitError, too
            raise
        except Exception as error:  # each decompressor has its own
            raise ParseError(
                f"{self.path} is truncated or damaged: {error}. Fetch or pack it again"
            ) from None
        if b"\0" in data:
            known = next((what for magic, what in _BINARY.items() if data.startswith(magic)), "binary data")
            raise ParseError(f"{self.path} holds {known}; expected text in UTF-8")
        return data

    def _similar(self) -> str:
        """A hint at a file of a similar name in the same folder."""
        folder = self.path.parent
        if not folder.is_dir():
            return f"; there is no folder {folder} either"
        try:
            names = difflib.get_close_matches(self.path.name, os.listdir(folder), n=1)
        except OSError:
            return ""
        return f"; did you mean {folder / names[0]}?" if names else ""


class _Section:
    """Some bytes of a file, as a file that is read."""

    def __init__(self, file: IO[bytes], begin: int, end: int) -> None:
        self._file, self._left = file, end - begin
        file.seek(begin)

    def read(self, size: int) -> bytes:
        """The next bytes."""
        data = self._file.read(min(size, self._left))
        self._left -= len(data)
        return data


def as_path(path: str | os.PathLike[str]) -> Path:
    """The path of a file, of which "-" stands for standard input."""
    name = os.fsdecode(path)
    return STDIN if name == _STANDARD_INPUT else Path(name)


def _standard_input() -> IO[bytes]:
    """Standard input as bytes."""
    try:
        return sys.stdin.buffer
    except AttributeError:  # there is none, or it was replaced by one of text
        raise ParseError("standard input gives no bytes; expected those of a file or a pipe") from None


def _with_line_feeds(data: bytes) -> bytes:
    """The text with a line feed for each line end, unless no carriage return is one by itself. What follows the text is
    no line feed of a carriage return at its end."""
    text = np.frombuffer(data, np.uint8)
    if b"\r" not in data:
        return data
    if not data.endswith(b"\r") and not ((text[:-1] == _RETURN) & (text[1:] != _NEWLINE)).any():
        return data
    return data.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
