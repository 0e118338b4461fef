"""Programs that have no end: their state is the same at several looks while vertices stay active.

A best-first run is not watched: only a better message makes a vertex active, so the run ends or its messages change.
"""

import time
import zlib
from collections.abc import Callable, Iterable

import numpy as np

from edgewise.errors import ProgramWarning, warn

#: Seconds before the first look at a run's state; the shortest pause after a look, as a multiple of the time that it
#: took. The pause at least doubles each time, so looks are a small part of a long run.
FIRST_LOOK, PAUSES_PER_LOOK = 0.5, 20
#: A state that is the same at SAME_LOOKS looks in a row is probably not going to change. (It may change between looks,
#: and back; and a program may wait for a superstep.)
SAME_LOOKS = 3


class Looks:
    """What looks at a run's state have seen.

    Args:
        name: of the program.

    Attributes:
        are_over: whether a run that seems to change nothing any more was found; it is not looked at again.
    """

    def __init__(self, name: str) -> None:
        self._name, self.are_over = name, False
        self._seen: tuple[int, int] | None = None
        self._same = 1

    def take(self, digest: int, done: int, count: int, tell: bool = True) -> None:
        """Take what a look has seen: a digest of all fields, the supersteps done, and how many vertices are active.

        Args:
            digest, done, count: see above.
            tell: whether to warn if nothing seems to change any more.

        Raises:
            ProgramWarning: where warnings are errors.
        """
        if self._seen is not None and self._seen[0] == digest and self._seen[1] < done and count > 0:
            self._same += 1
        else:
            self._same = 1
        self._seen = digest, done
        self.are_over = self._same == SAME_LOOKS
        if self.are_over and tell:
            warn(
                f"{self._name}: its fields were the same at {SAME_LOOKS} looks, the last after {done:,} supersteps, "
                f"and {count:,} vertices are active. It may have no end: return HALT where nothing changes, or set "
                "max_supersteps",
                ProgramWarning,
            )


def digest_of_state(arrays: Iterable[np.ndarray]) -> int:
    """A number that differs, most likely, if a value of an array does."""
    digest = 0
    for values in arrays:
        digest = zlib.crc32(values.data, digest)
    return digest


class Watch:
    """A progress function that warns once of a run that seems to change nothing any more. It passes progress on.

    A look is taken while the run goes on, at any point of a superstep.

    Args:
        name: of the program.
        state: gives all arrays that functions write, or copies of them.
        active: ``active(superstep)``: how many vertices have been active in that superstep or later.
        progress: the user's own progress function.
    """

    def __init__(
        self,
        name: str,
        state: Callable[[], Iterable[np.ndarray]],
        active: Callable[[int], int],
        progress: Callable[[int], None] | None,
    ) -> None:
        self._looks, self._state, self._active, self._progress = Looks(name), state, active, progress
        self._pause = FIRST_LOOK
        self._next = time.monotonic() + self._pause

    def __call__(self, done: int) -> None:
        """Take the number of supersteps done.

        Raises:
            ProgramWarning: where warnings are errors; the run then ends.
        """
        if self._progress is not None:
            self._progress(done)
        if time.monotonic() >= self._next and not self._looks.are_over:
            self._look(done)

    def _look(self, done: int) -> None:
        began, digest, count = time.monotonic(), digest_of_state(self._state()), self._active(done)
        now = time.monotonic()
        self._pause = max(2 * self._pause, PAUSES_PER_LOOK * (now - began))
        self._next = now + self._pause
        self._looks.take(digest, done, count)
