"""Text files as blocks of whole lines, decompressed while they are read."""

import codecs
import difflib
import gzip
import importlib
import io
import os
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

import numpy as np

from edgewise.errors import ParseError
from edgewise.io.budget import Budget
from edgewise.io.pipes import open_bytes
from edgewise.io.streams import open_bzip2, open_xz

#: The first bytes of compressed files, and the modules that read them.
_COMPRESSED: dict[bytes, tuple[str, Any]] = {
    b"\x1f\x8b": ("gzip", gzip),
    b"BZh": ("bzip2", None),
    b"\xfd7zXZ\x00": ("xz", None),
    b"\x28\xb5\x2f\xfd": ("zstd", None),
}
_COMPRESSION_SUFFIXES = {".gz", ".bz2", ".xz", ".lzma", ".zst"}
_BLOCK = 2**20
_HEAD = 2**16
#: The longest line, in bytes, that is read.
_LONGEST_LINE = 2**28
#: The most bytes of memory for each byte of a long line: the line twice, and a string and its copy, with up to four
#: bytes for each character, and some room.
_LINE_BYTES = 12
_NEWLINE, _RETURN = 10, 13


#: Characters that may stand around fields.
BLANKS = " \t\r"


class TextFile:
    """A file of lines of text, plain or compressed. Line feeds end lines, and so do carriage returns.

    Attributes:
        path: the file.
        suffix: that of its name, in lower case, without the suffix of a compression: ``.txt`` of ``a.txt.gz``.
        head: its first bytes, decompressed.
        budget: the memory that may be taken.
        share_read: how much of the file, which may be compressed, was read for the last block, from 0 to 1.

    Raises:
        ParseError: no such file, a folder, an empty, truncated or binary file.
        MemoryLimitError: the content of a pipe does not fit.
    """

    def __init__(self, path: Path, budget: Budget) -> None:
        self.path, self.budget = path, budget
        self._piped: bytes | None = None
        self.share_read, self._length = 0.0, 1
        suffixes = [suffix.lower() for suffix in path.suffixes]
        if suffixes and suffixes[-1] in _COMPRESSION_SUFFIXES:
            suffixes.pop()
        self.suffix = suffixes[-1] if suffixes else ""
        self.head = next(self._pieces(_HEAD), b"")
        if not self.head:
            raise ParseError(f"{path} is empty; expected the edges of a graph")

    def lines(self) -> Iterator[str]:
        """The lines from the start on, read only as they are asked for.

        Raises:
            MemoryLimitError: a line that takes more memory as text than the budget has.
        """
        for block in self._whole_lines(_HEAD):
            if len(block) > 2 * _HEAD:
                self.budget.check(_LINE_BYTES * len(block))
            yield from block.decode(errors="replace").split("\n")[:-1]

    def blocks(self) -> Iterator[bytes]:
        """The lines of the file, a megabyte or more at a time; the last one ends in a line break, too."""
        return self._whole_lines(_BLOCK)

    def _whole_lines(self, size: int) -> Iterator[bytes]:
        unfinished = bytearray()
        for data in self._pieces(size):
            end = data.rfind(b"\n") + 1
            if end:
                unfinished += data[:end]
                lines, unfinished = bytes(unfinished), bytearray(data[end:])
                yield lines
                continue
            unfinished += data
            self.budget.check(2 * len(unfinished))
            if len(unfinished) > _LONGEST_LINE:
                raise ParseError(
                    f"{self.path} has a line of more than {_LONGEST_LINE:,} bytes; expected text"
                )
        if unfinished:
            unfinished += b"\n"
            yield bytes(unfinished)

    def _pieces(self, size: int) -> Iterator[bytes]:
        """The decompressed bytes, past a byte order mark, with line feeds in place of other line ends."""
        with self._open() as packed, self._unpacked(packed) as file:
            data, held = self._read(file, size).removeprefix(codecs.BOM_UTF8), b""
            while data:
                self.share_read = packed.tell() / self._length
                data = held + data
                held = b"\r" * data.endswith(b"\r")  # the line feed that belongs to it may come next
                if piece := _with_line_feeds(data[: len(data) - len(held)]):
                    yield piece
                data = self._read(file, size)
            if held:
                yield b"\n"

    def _open(self) -> IO[bytes]:
        """The file, still compressed, from its start. The content of a pipe is kept, since it comes only once."""
        file = self._open_packed() if self._piped is None else io.BytesIO(self._piped)
        try:
            if not file.seekable():
                with file:
                    self._piped = self._read_pipe(file)
                file = io.BytesIO(self._piped)
            self._length = max(1, file.seek(0, io.SEEK_END))  # the system's own files say 0
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
        for magic, (name, module) in _COMPRESSED.items():
            if start.startswith(magic) and name in ("bzip2", "xz"):
                return (open_bzip2 if name == "bzip2" else open_xz)(file, self.budget)
            if start.startswith(magic):
                return self._decompressor(name, module).open(file, "rb")
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
        while data := pipe.read(_BLOCK):
            kept.write(data)
            self.budget.check(2 * kept.tell())
        return kept.getvalue()

    def _decompressor(self, name: str, module: Any) -> Any:
        if name != "zstd":
            return module
        try:
            return importlib.import_module("compression.zstd")
        except ImportError:
            raise ParseError(
                f"{self.path} is compressed with zstd, which Python reads from version 3.14 on; unpack it first, "
                "or compress it with gzip or xz"
            ) from None

    def _read(self, file: IO[bytes], size: int) -> bytes:
        try:
            data = file.read(size)
        except MemoryError:  # MemoryLimitError, too
            raise
        except Exception as error:  # each decompressor has its own
            raise ParseError(
                f"{self.path} is truncated or damaged: {error}. Fetch or pack it again"
            ) from None
        if b"\0" in data:
            raise ParseError(f"{self.path} holds binary data; expected text in UTF-8")
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


def _with_line_feeds(data: bytes) -> bytes:
    """The text with a line feed for each line end, unless no carriage return is one by itself. What follows the text is
    no line feed of a carriage return at its end."""
    text = np.frombuffer(data, np.uint8)
    if b"\r" not in data:
        return data
    if not data.endswith(b"\r") and not ((text[:-1] == _RETURN) & (text[1:] != _NEWLINE)).any():
        return data
    return data.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
