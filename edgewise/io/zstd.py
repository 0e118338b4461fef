"""Files compressed with zstd, unpacked within a limit: a file says how much of it is kept while it is unpacked."""

import io
from typing import IO, Any

from edgewise.io.budget import Budget
from edgewise.whole import zstd_module

#: The least and the largest logarithms of the window, which is what is kept.
_LEAST, _LARGEST = 10, 31
_BLOCK = 2**20


def open_zstd(packed: IO[bytes], budget: Budget) -> IO[bytes]:
    """A compressed file as a stream of unpacked bytes. Raises MissingDependencyError without a module for zstd."""
    return io.BufferedReader(ZstdFile(packed, budget), _BLOCK)


class ZstdFile(io.RawIOBase):
    """The unpacked content of a file of one or more frames.

    Raises:
        ZstdError, EOFError: a damaged or truncated file.
        MemoryLimitError: unpacking takes more memory than the budget has.
    """

    def __init__(self, packed: IO[bytes], budget: Budget) -> None:
        zstd = zstd_module()
        longest = _LARGEST if budget.limit is None else budget.limit.bit_length() - 1
        self._window, self._budget, self._packed = min(max(longest, _LEAST), _LARGEST), budget, packed
        options = {zstd.DecompressionParameter.window_log_max: self._window}
        self._error, self._stream = zstd.ZstdError, zstd.open(packed, "rb", options=options)

    def readable(self) -> bool:
        """It can be read."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Fill a buffer as far as one piece goes; 0 at the end."""
        try:
            return self._stream.readinto(buffer)
        except self._error as error:
            if "too much memory" in str(error):
                needed = f"more than {2**self._window:,} bytes of memory"
                raise self._budget.refusal("unpacking", needed) from None
            raise

    def close(self) -> None:
        """Close the packed file, too."""
        self._stream.close()
        self._packed.close()
        super().close()
