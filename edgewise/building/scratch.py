"""Temporary files beside the output. They have no names: the system frees them whatever ends the process."""

import contextlib
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import IO

import numpy as np

from edgewise.errors import OutputError

#: Bytes that are written or read at a time: a few milliseconds of work between two looks at Ctrl-C.
_PIECE = 2**22


class Scratch:
    """A context manager for temporary files in a folder.

    Attributes:
        folder: where they lie.
        written, read: bytes so far.
        held, most: bytes held now, and the most at one time.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.written = self.read = self.most = self.held = 0
        self._files: list[ScratchFile] = []

    def __enter__(self) -> "Scratch":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.clear()

    def clear(self) -> None:
        """Give the space of all files back."""
        for file in list(self._files):
            file.close()

    def file(self) -> "ScratchFile":
        """A new file. Raises OutputError if the system makes none."""
        with self.naming_errors():
            file = ScratchFile(self, tempfile.TemporaryFile(dir=self.folder, buffering=0))  # noqa: SIM115 (`close`)
        self._files.append(file)
        return file

    def forget(self, file: "ScratchFile") -> None:
        """Count the bytes of a file that is closed as free."""
        self._files.remove(file)
        self.held -= file.size

    def note_written(self, size: int) -> None:
        """Count bytes that were written."""
        self.written += size
        self.held += size
        self.most = max(self.most, self.held)

    def note_read(self, size: int) -> None:
        """Count bytes that were read."""
        self.read += size

    def check_free(self, needed: int, what: str) -> None:
        """Refuse to go on if the disk has no room for `needed` bytes.

        Raises:
            OutputError: with what is needed and what is free.
        """
        free = self.free
        if needed > free:
            raise OutputError(
                f"{what} needs about {needed:,} bytes of disk in {self.folder}; {free:,} are free. Free some, or write "
                "to another disk"
            )

    @property
    def free(self) -> int:
        """Bytes that are free on the disk."""
        with self.naming_errors():
            return shutil.disk_usage(self.folder).free

    @contextlib.contextmanager
    def naming_errors(self) -> Iterator[None]:
        """Explain an error of the system, such as a full disk, by the folder."""
        try:
            yield
        except OutputError:
            raise
        except OSError as error:
            raise OutputError(
                f"cannot keep temporary files in {self.folder}: {error.strerror or error}. They took "
                f"{self.held:,} bytes, and are gone now"
            ) from None


class ScratchFile:
    """A temporary file, written from front to back and read anywhere.

    Attributes:
        size: its bytes.
    """

    def __init__(self, scratch: Scratch, file: IO[bytes]) -> None:
        self._scratch, self._file, self.size = scratch, file, 0

    def append(self, values: np.ndarray) -> int:
        """Write values at the end, and return the place where they begin, in bytes."""
        begin, left = self.size, np.ascontiguousarray(values).view(np.uint8).data
        with self._scratch.naming_errors():
            self._file.seek(begin)
            while left:
                done = self._file.write(left[:_PIECE])
                self.size += done
                self._scratch.note_written(done)
                left = left[done:]
        return begin

    def read_into(self, place: int, values: np.ndarray) -> None:
        """Read what begins at this place, in bytes, into an array that it fills."""
        left = values.view(np.uint8).data
        self._scratch.note_read(len(left))
        with self._scratch.naming_errors():
            self._file.seek(place)
            while left:
                done = self._file.readinto(left[:_PIECE])  # type: ignore[attr-defined]
                if not done:
                    raise OSError("a temporary file is shorter than it was")
                left = left[done:]

    def read(self, place: int, dtype: np.dtype, count: int) -> np.ndarray:
        """A new array of what begins at this place, in bytes."""
        values = np.empty(count, dtype)
        self.read_into(place, values)
        return values

    def close(self) -> None:
        """Give the space back."""
        self._scratch.forget(self)
        self._file.close()
