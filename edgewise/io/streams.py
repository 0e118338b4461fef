"""Files of compressed streams, one behind the other, as bzip2 and xz write them; nothing is left out.

`bz2.open` and `lzma.open` end at the first stream that does not begin as one should, and say nothing. `lzma.open`
takes as much memory as a file demands.
"""

import bz2
import io
import lzma
from collections.abc import Callable
from typing import IO, Any

from edgewise.io.budget import Budget

#: Bytes that are read at a time, and unpacked at a time.
_BLOCK, _BUFFER = 2**18, 2**20


class StreamFile(io.RawIOBase):
    """The unpacked content of a file of one or more streams, with zeros between them or behind the last.

    Raises:
        OSError, lzma.LZMAError: a damaged file.
        EOFError: a truncated file.
        MemoryLimitError: unpacking takes more memory than the budget has.
    """

    def __init__(self, packed: IO[bytes], new_stream: Callable[[], Any]) -> None:
        self._packed, self._new_stream = packed, new_stream
        self._stream = new_stream()

    def readable(self) -> bool:
        """It can be read."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Fill a buffer as far as one piece goes; 0 at the end."""
        data = b""
        while not data:
            packed = self._next_packed()
            if packed is None:
                return 0
            data = self._stream.decompress(packed, len(buffer))
        buffer[: len(data)] = data
        return len(data)

    def _next_packed(self) -> bytes | None:
        """The packed bytes that the stream needs next, or the start of the next stream; None at the end of the file."""
        if not self._stream.eof:
            packed = self._packed.read(_BLOCK) if self._stream.needs_input else b""
            if not packed and self._stream.needs_input:
                raise EOFError("the file ends before its last stream does")
            return packed
        packed = self._stream.unused_data.lstrip(b"\0")
        while not packed:  # streams may be padded
            block = self._packed.read(_BLOCK)
            if not block:
                return None
            packed = block.lstrip(b"\0")
        self._stream = self._new_stream()
        return packed

    def close(self) -> None:
        """Close the packed file, too."""
        self._packed.close()
        super().close()


def open_bzip2(packed: IO[bytes], budget: Budget) -> IO[bytes]:
    """A file of bzip2 streams, which take little memory, as a stream of unpacked bytes."""
    return io.BufferedReader(StreamFile(packed, bz2.BZ2Decompressor), _BUFFER)


def open_xz(packed: IO[bytes], budget: Budget) -> IO[bytes]:
    """A file of xz streams as a stream of unpacked bytes."""
    return io.BufferedReader(StreamFile(packed, lambda: _XzStream(budget)), _BUFFER)


class _XzStream:
    """The decompressor of one xz stream. Raises MemoryLimitError for more memory than the budget has."""

    def __init__(self, budget: Budget) -> None:
        self._budget, self._start = budget, b""
        limit = None if budget.limit is None else max(1, min(budget.limit, 2**63))
        self._stream = lzma.LZMADecompressor(memlimit=limit)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def decompress(self, packed: bytes, most: int) -> bytes:
        """Unpack at most so many bytes."""
        self._start = self._start or packed
        try:
            return self._stream.decompress(packed, most)
        except lzma.LZMAError as error:
            if "limit" not in str(error):
                raise
            needed = _dictionary_bytes(self._start)
            raise self._budget.refusal("unpacking", f"at least {needed:,} bytes of memory") from None


#: The bytes of a stream's header, which its first block's header follows, and the id of the filter with a dictionary.
_STREAM_HEADER, _LZMA2 = 12, 0x21


def _dictionary_bytes(start: bytes) -> int:
    """The size of the dictionary with which the first block of a stream was packed ("The .xz File Format", 3.1, 5.3.1).

    The header of that block must have been read without an error.
    """
    flags, fields = start[_STREAM_HEADER + 1], start[_STREAM_HEADER + 2 :]
    for bit in (0x40, 0x80):  # a size packed, and one unpacked
        if flags & bit:
            _, fields = _number(fields)
    for _ in range((flags & 3) + 1):
        kind, fields = _number(fields)
        length, fields = _number(fields)
        if kind == _LZMA2:
            return (2 | fields[0] & 1) << (fields[0] // 2 + 11)
        fields = fields[length:]
    return 0


def _number(fields: bytes) -> tuple[int, bytes]:
    """An integer of 7 bits a byte, the lowest first, and what follows it."""
    value, shift = fields[0] & 0x7F, 7
    while fields[0] & 0x80:
        fields = fields[1:]
        value, shift = value | (fields[0] & 0x7F) << shift, shift + 7
    return value, fields[1:]
