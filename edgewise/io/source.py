"""Text files as blocks of whole lines, decompressed while they are read."""

import bz2
import codecs
import difflib
import gzip
import importlib
import io
import lzma
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

from edgewise.errors import ParseError

#: What compressed files start with, and the modules that read them.
_COMPRESSED: dict[bytes, tuple[str, Any]] = {
    b"\x1f\x8b": ("gzip", gzip),
    b"BZh": ("bzip2", bz2),
    b"\xfd7zXZ\x00": ("xz", lzma),
    b"\x28\xb5\x2f\xfd": ("zstd", None),
}
_COMPRESSION_SUFFIXES = {".gz", ".bz2", ".xz", ".lzma", ".zst"}
_BLOCK = 2**22
_HEAD = 2**16
#: No line of any text format is longer.
_LONGEST_LINE = 2**28


#: What may stand around fields.
BLANKS = " \t\r"


def first_lines(head: bytes) -> list[str]:
    """The lines of the start of a file, as the compiled scan sees them: they end at line feeds alone."""
    return head.decode(errors="replace").replace("\r", " ").split("\n")


class TextFile:
    """A file of lines of text, plain or compressed.

    Attributes:
        path: the file.
        suffix: that of its name, in lower case, without that of a compression: ``.txt`` of ``a.txt.gz``.
        head: its first 64 kB, decompressed.

    Raises:
        ParseError: no such file, a folder, an empty, truncated or binary file.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._piped: bytes | None = None
        suffixes = [suffix.lower() for suffix in path.suffixes]
        if suffixes and suffixes[-1] in _COMPRESSION_SUFFIXES:
            suffixes.pop()
        self.suffix = suffixes[-1] if suffixes else ""
        self.head = next(self._pieces(_HEAD), b"")
        if not self.head:
            raise ParseError(f"{path} is empty; expected the edges of a graph")

    def blocks(self) -> Iterator[bytes]:
        """The lines of the file, some megabytes at a time; the last one ends in a line break, too."""
        unfinished = b""
        for data in self._pieces(_BLOCK):
            end = data.rfind(b"\n") + 1
            if end:
                yield unfinished + data[:end]
                unfinished = data[end:]
            elif len(unfinished) + len(data) > _LONGEST_LINE:
                raise ParseError(
                    f"{self.path} has a line of more than {_LONGEST_LINE:,} bytes; expected text"
                )
            else:
                unfinished += data
        if unfinished:
            yield unfinished + b"\n"

    def _pieces(self, size: int) -> Iterator[bytes]:
        """The decompressed bytes, past a byte order mark."""
        with self._open() as file:
            data = self._read(file, size).removeprefix(codecs.BOM_UTF8)
            while data:
                yield data
                data = self._read(file, size)

    def _open(self) -> IO[bytes]:
        """The file as a stream of decompressed bytes. What comes from a pipe is kept, as it comes only once."""
        file = self._open_packed() if self._piped is None else io.BytesIO(self._piped)
        if not file.seekable():
            with file:
                self._piped = file.read()
            file = io.BytesIO(self._piped)
        start = file.read(8)
        file.seek(0)
        for magic, (name, module) in _COMPRESSED.items():
            if start.startswith(magic):
                return self._decompressor(name, module).open(file, "rb")
        return file

    def _open_packed(self) -> IO[bytes]:
        """The file as it is."""
        try:
            return open(self.path, "rb")
        except IsADirectoryError:
            raise ParseError(f"{self.path} is a folder; expected a file") from None
        except FileNotFoundError:
            raise ParseError(f"there is no file {self.path}{self._similar()}") from None
        except OSError as error:
            raise ParseError(f"cannot read {self.path}: {error.strerror}") from None

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
        except (EOFError, zlib.error, lzma.LZMAError, OSError) as error:
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
        names = difflib.get_close_matches(self.path.name, [entry.name for entry in folder.iterdir()], n=1)
        return f"; did you mean {folder / names[0]}?" if names else ""
