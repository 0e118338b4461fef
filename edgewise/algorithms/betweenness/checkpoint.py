"""Partial sums over sources in a file, so that an interrupted run can go on where it stopped.

The file is in NumPy's ``.npz`` format: the sums, the number of sources in them, digests of the graph and of what is
summed up, and a digest of all these. It is written whole or not at all. Data are read from a file only after its header
was found as expected, so a small file never becomes a large array. Sums are added in the order of sources, so a run
that was interrupted ends with the bits of one that was not.
"""

import hashlib
import math
import os
import time
import zipfile
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np

from edgewise.algorithms.common.lengths import WeightedArcs
from edgewise.errors import GraphError, NotKeptWarning, OutputError, ParameterError, warn
from edgewise.execution import Execution
from edgewise.text import shown
from edgewise.whole import check_place, replacing

#: Seconds between two writes.
SECONDS = 10.0
#: The copies of the sums that exist at one time: those kept last, and those being taken.
COPIES = 2
#: The number of the file format.
FORMAT = 2
#: The members of files of this format; those of the first format had no number.
_MEMBERS = {"format", "graph", "what", "done", "total", "digest"}
_FIRST_MEMBERS = {"graph", "what", "done", "total"}
#: Bytes of a member other than the sums: a digest of 64 characters, and the header.
_SMALL = 1024


def digest(*arrays: Any) -> str:
    """A digest of the dtypes, shapes and values of arrays, or of functions that make arrays."""
    found = hashlib.sha256()
    for each in map(np.ascontiguousarray, arrays):
        found.update(f"{each.dtype.str} {each.shape} ".encode())
        found.update(each.view(np.uint8).data)
    return found.hexdigest()


def _header(packed: zipfile.ZipFile, name: str) -> tuple[tuple[int, ...], np.dtype]:
    """The shape and dtype of a member, of which nothing else is read.

    Raises:
        ValueError, KeyError: there is no such member, or `numpy.savez` did not write it.
    """
    member = packed.getinfo(f"{name}.npy")
    if member.compress_type != zipfile.ZIP_STORED:
        raise ValueError
    with packed.open(member) as file:
        if np.lib.format.read_magic(file) != (1, 0):
            raise ValueError
        shape, _, dtype = np.lib.format.read_array_header_1_0(file)
        if dtype.hasobject or file.tell() + math.prod(shape) * dtype.itemsize != member.file_size:
            raise ValueError
    return shape, dtype


def _read(packed: zipfile.ZipFile, name: str, at_most: int = _SMALL) -> np.ndarray:
    """A member of at most `at_most` bytes. Raises as `_header`."""
    _header(packed, name)
    member = packed.getinfo(f"{name}.npy")
    if member.file_size > at_most:
        raise ValueError
    with packed.open(member) as file:
        return np.asarray(np.lib.format.read_array(file, allow_pickle=False))


class Checkpoint:
    """A file of partial sums. If the block ends with an error, the last sums given are written to it, or a warning says
    that they cannot be; it is removed if the block ends without one, or if the graph is refused."""

    def __init__(self, path: Any, name: str, arcs: WeightedArcs, *what: Any) -> None:
        """Check that the file can be written.

        Args:
            path: of the file, which may exist from an interrupted run.
            name: what runs, for messages.
            arcs: those of the graph, with their lengths.
            what: what else the sums depend on: arrays, or functions that make them.

        Raises:
            ParameterError: the path is not a path.
            OutputError: the file cannot be written.
        """
        if not isinstance(path, str | os.PathLike):
            raise ParameterError(f"{name}: checkpoint is {shown(path)}; expected the name of a file")
        self.path, self._name = Path(path), name
        check_place(self.path)
        self._graph, self._what = digest(*arcs), digest(name, *what)
        self._num_vertices = len(arcs.offsets) - 1
        self._last: tuple[int, np.ndarray] | None = None
        self._written, self._warned = time.monotonic(), False

    def begin(self, total: np.ndarray, count: int, run: Execution) -> int:
        """As `restore`, for a run over `count` sources, which explains what was done already."""
        done = self.restore(total, count)
        if done:
            run.explain(f"{done:,} of {count:,} sources were done already by the checkpoint {self.path}")
        return done

    def restore(self, total: np.ndarray, count: int) -> int:
        """Fill in the sums of the file. Returns how many of `count` sources are in them, 0 without a file.

        Raises:
            ParameterError: the file is damaged or not a checkpoint, or that of another graph or of other arguments.
        """
        try:
            with zipfile.ZipFile(self.path) as packed:
                self._check_format(packed)
                done = self._done(packed, count)
                sums = self._sums(packed, total)
                found = str(_read(packed, "digest"))
        except ParameterError:
            raise
        except FileNotFoundError:
            return 0
        except Exception as error:  # a bad file can cause any error
            # NumPy's text would have the user load pickled objects.
            raise self._refusal(f"is damaged, or no checkpoint ({type(error).__name__})") from None
        # From one source, a vertex or an arc depends on no more paths than there are other vertices.
        most = done * self._num_vertices * (1 + 1e-9)
        if not ((sums >= 0) & (sums <= most)).all():
            raise self._refusal(f"is damaged: total has values that no sums over {done} sources have")
        if found != self._digest(done, sums):
            raise self._refusal("is damaged: done and total are not those that were written together")
        total[:] = sums
        return done

    def _check_format(self, packed: zipfile.ZipFile) -> None:
        """Refuse files of other formats, and of other runs."""
        names = {name.removesuffix(".npy") for name in packed.namelist()}
        number = 1 if names == _FIRST_MEMBERS else int(_read(packed, "format"))
        if number != FORMAT:
            raise self._refusal(
                f"is of format {number}, that of another version of edgewise; expected {FORMAT}"
            )
        if names != _MEMBERS:
            raise ValueError
        if str(_read(packed, "graph")) != self._graph:
            raise self._refusal("is that of another graph")
        if str(_read(packed, "what")) != self._what:
            raise self._refusal("is that of other arguments")

    def _done(self, packed: zipfile.ZipFile, count: int) -> int:
        """The number of sources in the sums."""
        done = _read(packed, "done")
        if done.shape != () or done.dtype.kind != "i" or not 0 <= done <= count:
            raise self._refusal(f"is damaged: done is {done}; expected an integer from 0 to {count:,}")
        return int(done)

    def _sums(self, packed: zipfile.ZipFile, total: np.ndarray) -> np.ndarray:
        """The sums, if they are an array like `total`."""
        shape, dtype = _header(packed, "total")
        if shape != total.shape or dtype != total.dtype:
            found, expected = f"{dtype} of shape {shape}", f"{total.dtype} of shape {total.shape}"
            raise self._refusal(f"is damaged: total is {found}; expected {expected}")
        return _read(packed, "total", at_most=total.nbytes + _SMALL)

    def _digest(self, done: int, total: np.ndarray) -> str:
        """The digest of all that a file says."""
        return digest(self._graph, self._what, np.int64(done), total)

    def _refusal(self, problem: str) -> ParameterError:
        return ParameterError(
            f"{self._name}: the checkpoint {self.path} {problem}; name another file, or remove this one"
        )

    def keep(self, done: int, total: np.ndarray) -> None:
        """Take sums over `done` sources, and write them if the last write was `SECONDS` ago.

        If they cannot be written, the run goes on, with a warning the first time; the next write may succeed.
        """
        self._last = done, total.copy()
        if time.monotonic() - self._written <= SECONDS:
            return
        try:
            self._write()
        except OutputError as error:
            self._written = time.monotonic()
            if not self._warned:
                self._warned = True
                self._warn(error, "The run goes on, and tries again to write its checkpoint later")

    def _warn(self, error: OutputError, consequence: str) -> None:
        warn(f"{self._name}: {error}. {consequence}", NotKeptWarning)

    def _write(self) -> None:
        if self._last is None:
            return
        done, total = self._last
        try:
            with replacing(self.path) as aside, open(aside, "wb") as file:
                np.savez(
                    file,
                    format=FORMAT,
                    graph=self._graph,
                    what=self._what,
                    done=done,
                    total=total,
                    digest=self._digest(done, total),
                )
        except OSError as error:
            raise OutputError(f"cannot write {self.path}: {error.strerror or error}") from None
        self._last, self._written = None, time.monotonic()

    def __enter__(self) -> "Checkpoint":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        # A graph that is refused has no sums.
        if kind is None or issubclass(kind, GraphError):
            self.path.resolve().unlink(missing_ok=True)
            return
        try:
            self._write()
        except OutputError as problem:  # the error that ends the block says more
            self._warn(problem, "What was done since its last checkpoint is lost")
