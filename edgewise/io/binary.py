"""Binary files: opened with the errors of text files, and their arrays read a few megabytes at a time."""

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

import numpy as np

from edgewise.errors import ParseError
from edgewise.io.budget import Budget
from edgewise.io.formats import Report
from edgewise.io.source import STDIN, TextFile

#: Bytes that are read at a time: a fraction of a second between two looks at Ctrl-C.
PIECE = 2**24


@contextlib.contextmanager
def opened(budget: Budget) -> Iterator[IO[bytes]]:
    """The file of a budget, for reading at any place.

    Raises:
        ParseError: no such file, a folder, a pipe, or a file that cannot be read.
    """
    path = budget.path
    try:
        if not path.is_file():
            if path == STDIN or (path.exists() and not path.is_dir()):
                raise ParseError(
                    f"{path} is a pipe or a device; expected a file, since its parts are read by their places. Copy it "
                    "to a file first"
                )
            TextFile(path, budget)  # says what is wrong
        with open(path, "rb") as file:
            yield file
    except OSError as error:
        raise ParseError(f"cannot read {path}: {error.strerror or error}") from None


def size_of(file: IO[bytes]) -> int:
    """The bytes of an open file."""
    return os.fstat(file.fileno()).st_size


class Arrays:
    """Reads arrays of numbers from open files, and reports the bytes that have been read."""

    def __init__(self, path: Path, report: Report) -> None:
        self._path, self._report, self._done = path, report, 0

    def read(self, file: IO[bytes], dtype: Any, count: int) -> np.ndarray:
        """The next numbers of a file as a new array of one dimension, in the machine's order of bytes.

        Raises:
            ParseError: the file ends before.
        """
        array = np.empty(count, dtype)
        self.fill(file, array)
        return array.astype(array.dtype.newbyteorder("="), copy=False)

    def fill(self, file: IO[bytes], array: np.ndarray) -> None:
        """Fill a contiguous array of one dimension with the next bytes of a file. Raises ParseError as `read`."""
        room = array.view(np.uint8)
        for start in range(0, len(room), PIECE):
            piece = room[start : start + PIECE]
            if file.readinto(piece) != len(piece):  # type: ignore[attr-defined]
                raise ParseError(f"{self._path} is truncated, or was cut short while it was read")
            self._done += len(piece)
            if self._report is not None:
                self._report(self._done)
