"""Files compressed with xz, unpacked within a limit: `lzma.open` takes as much memory as a file demands."""

import io
import lzma
from typing import IO, Any

from edgewise.io.budget import Budget

_BLOCK = 2**18


class XzFile(io.RawIOBase):
    """The unpacked content of a file of one or more xz streams.

    Raises:
        lzma.LZMAError: a damaged file.
        EOFError: a truncated file.
        MemoryLimitError: unpacking takes more memory than the budget has.
    """

    def __init__(self, packed: IO[bytes], budget: Budget) -> None:
        self._packed, self._budget = packed, budget
        self._stream = self._new_stream()

    def _new_stream(self) -> lzma.LZMADecompressor:
        self._start = b""
        limit = self._budget.limit
        return lzma.LZMADecompressor(memlimit=None if limit is None else max(1, min(limit, 2**63)))

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
            self._start = self._start or packed
            try:
                data = self._stream.decompress(packed, len(buffer))
            except lzma.LZMAError as error:
                if "limit" in str(error):
                    needed = _dictionary_bytes(self._start)
                    raise self._budget.refusal("unpacking", f"at least {needed:,} bytes of memory") from None
                raise
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
