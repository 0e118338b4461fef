"""Files compressed with xz, unpacked within a limit: `lzma.open` takes what memory a file says it needs."""

import io
import lzma
from typing import IO, Any

from edgewise.io.budget import Budget

_BLOCK = 2**18


class XzFile(io.RawIOBase):
    """What a file of one or more xz streams unpacks to.

    Raises:
        lzma.LZMAError: a damaged file.
        EOFError: a truncated one.
        MemoryLimitError: one that was packed with more memory than there may be taken.
    """

    def __init__(self, packed: IO[bytes], budget: Budget) -> None:
        self._packed, self._budget = packed, budget
        self._stream = self._new_stream()

    def _new_stream(self) -> lzma.LZMADecompressor:
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
            try:
                data = self._stream.decompress(packed, len(buffer))
            except lzma.LZMAError as error:
                if "limit" in str(error):
                    raise self._budget.refusal("unpacking", "more memory") from None
                raise
        buffer[: len(data)] = data
        return len(data)

    def _next_packed(self) -> bytes | None:
        """What the stream needs next, at the end of one the start of another; None at the end of all."""
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
