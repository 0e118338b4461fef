"""Partial sums over sources in a file, so that an interrupted run can go on where it stopped.

The file is in NumPy's ``.npz`` format: the sums, over how many sources they are, and digests of the graph and of what
is summed up. It is written whole or not at all. Sums are in the order of sources, so those of a run that was
interrupted are in the end those of one that was not, to the last bit.
"""

import hashlib
import os
import time
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np

from edgewise.algorithms.common.lengths import Arcs
from edgewise.errors import GraphError, OutputError, ParameterError, warn
from edgewise.execution import Execution
from edgewise.io.whole import check_place, replacing
from edgewise.text import shown

#: Between two writings.
SECONDS = 10.0
#: Of the sums, that there are at a time: those kept last, and those being taken.
COPIES = 2


def digest(*arrays: Any) -> str:
    """One of the dtypes, shapes and values of arrays, or of what makes arrays."""
    found = hashlib.sha256()
    for each in map(np.ascontiguousarray, arrays):
        found.update(f"{each.dtype.str} {each.shape} ".encode())
        found.update(each.view(np.uint8).data)
    return found.hexdigest()


class Checkpoint:
    """A file of partial sums. The last ones that it was given are written if the block ends badly, and it is removed if
    the block ends well, or if the graph is refused."""

    def __init__(self, path: Any, name: str, arcs: Arcs, *what: Any) -> None:
        """Look whether the file can be written.

        Args:
            path: of the file, which may be there from an interrupted run.
            name: what runs, for messages.
            arcs: those of the graph, with the lengths that count.
            what: what else decides what the sums are: arrays, or what makes them.

        Raises:
            ParameterError: the path is none.
            OutputError: the file cannot be written.
        """
        if not isinstance(path, str | os.PathLike):
            raise ParameterError(f"{name}: checkpoint is {shown(path)}; expected the name of a file")
        self.path, self._name = Path(path), name
        check_place(self.path)
        self._graph, self._what = digest(*arcs), digest(name, *what)
        self._last: tuple[int, np.ndarray] | None = None
        self._written, self._warned = time.monotonic(), False

    def begin(self, total: np.ndarray, count: int, run: Execution) -> int:
        """As `restore`, for a run over so many sources, which explains what was done already."""
        done = self.restore(total, count)
        if done:
            run.explain(f"{done:,} of {count:,} sources were done already by the checkpoint {self.path}")
        return done

    def restore(self, total: np.ndarray, count: int) -> int:
        """Fill in the sums that the file has; over how many of `count` sources they are. None without a file.

        Raises:
            ParameterError: the file is damaged or no checkpoint, or that of another graph or of other arguments.
        """
        try:
            with np.load(self.path, allow_pickle=False) as saved:
                graph, what = str(saved["graph"]), str(saved["what"])
                done, sums = saved["done"], saved["total"]
        except FileNotFoundError:
            return 0
        except Exception as error:  # whatever NumPy meets in a file that is not what it should be
            # NumPy's text would have the user load pickled objects.
            raise self._refusal(f"is damaged, or no checkpoint ({type(error).__name__})") from None
        if graph != self._graph:
            raise self._refusal("is that of another graph")
        if what != self._what:
            raise self._refusal("is that of other arguments")
        if done.shape != () or done.dtype.kind != "i" or not 0 <= done <= count:
            raise self._refusal(f"is damaged: done is {done}; expected an integer from 0 to {count:,}")
        if sums.shape != total.shape or sums.dtype != total.dtype:
            found, expected = (f"{array.dtype} of shape {array.shape}" for array in (sums, total))
            raise self._refusal(f"is damaged: total is {found}; expected {expected}")
        if not (np.isfinite(sums) & (sums >= 0)).all() or (done == 0 and sums.any()):
            raise self._refusal(f"is damaged: total has values that no sums over {done} sources have")
        total[:] = sums
        return int(done)

    def _refusal(self, problem: str) -> ParameterError:
        return ParameterError(
            f"{self._name}: the checkpoint {self.path} {problem}; name another file, or remove this one"
        )

    def keep(self, done: int, total: np.ndarray) -> None:
        """Take sums over so many sources, and write them if the last writing was some time ago.

        Where they cannot be written, the run goes on, with a warning the first time; the next writing may do.
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
                warn(
                    f"{self._name}: {error}. The run goes on, and tries again to write its checkpoint later",
                    RuntimeWarning,
                )

    def _write(self) -> None:
        if self._last is None:
            return
        done, total = self._last
        try:
            with replacing(self.path) as aside, open(aside, "wb") as file:
                np.savez(file, graph=self._graph, what=self._what, done=done, total=total)
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
            self.path.unlink(missing_ok=True)
        else:
            self._write()
