"""The machine's memory: how much of it is free, and limits that a caller sets."""

import contextlib
import ctypes
import functools
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import numpy as np

from edgewise.errors import MemoryLimitError, ParameterError
from edgewise.text import shown

_Function = TypeVar("_Function", bound=Callable[..., Any])

#: Where Linux says how much memory a group of processes (a container) may use, and uses: versions 2 and 1; and what of
#: that are pages of files that it gives up as soon as memory is asked for: the file and the name in it.
_GROUPS = (
    (
        "/sys/fs/cgroup/memory.max",
        "/sys/fs/cgroup/memory.current",
        "/sys/fs/cgroup/memory.stat",
        "inactive_file",
    ),
    (
        "/sys/fs/cgroup/memory/memory.limit_in_bytes",
        "/sys/fs/cgroup/memory/memory.usage_in_bytes",
        "/sys/fs/cgroup/memory/memory.stat",
        "total_inactive_file",
    ),
)

#: Bytes below which nobody asks what is free: that takes longer than to make a small graph.
_WORTH_ASKING = 2**26
_ADVICE = "Make a smaller graph, free some memory, or take a larger machine"

#: Bytes that are worth handing back to the system, which can take a millisecond.
_WORTH_RETURNING = 2**23

#: Systems give large arrays memory in pages of this size: where little of it is written to, that much is taken.
LARGE_PAGE = 2**21


class Step(NamedTuple):
    """Bytes that a part of a run takes.

    Attributes:
        kept: what is left of them when it ends.
        most: the most at one time.
    """

    kept: int
    most: int


def in_turn(*steps: Step) -> Step:
    """Steps one after the other."""
    kept = most = 0
    for step in steps:
        most = max(most, kept + step.most)
        kept += step.kept
    return Step(kept, most)


def held(size: int) -> Step:
    """A step that takes no more than it keeps."""
    return Step(size, size)


def free_memory() -> int | None:
    """Bytes that this process can still take without pushing others to the disk; None where that cannot be told."""
    found = [_available(), *(_left_to_group(*files) for files in _GROUPS)]
    return min((size for size in found if size is not None), default=None)


def _available() -> int | None:
    """What the system says is free, or can be made so."""
    try:
        for line in Path("/proc/meminfo").read_text().splitlines():
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) * 1024
        return os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError, AttributeError):
        return None


def _left_to_group(most: str, used: str, details: str, of_files: str) -> int | None:
    """What the limit of a group of processes leaves, if there is one."""
    try:
        left = int(Path(most).read_text()) - int(Path(used).read_text())
    except (OSError, ValueError):
        return None
    return max(0, left + _numbered(details, of_files))


def _numbered(details: str, name: str) -> int:
    """The number of a name in a file of names and numbers, or 0."""
    try:
        return int(dict(line.split() for line in Path(details).read_text().splitlines())[name])
    except (OSError, ValueError, KeyError):
        return 0


def check_free(name: str, needed: int) -> None:
    """Refuse what needs at least so many bytes where fewer are free, as far as that can be told.

    Raises:
        MemoryLimitError: with both.
    """
    free = free_memory() if needed >= _WORTH_ASKING else None
    if free is not None and needed > free:
        raise MemoryLimitError(
            f"{name} needs at least {needed:,} bytes of memory; {free:,} are free. {_ADVICE}"
        )


def naming_memory_errors(function: _Function) -> _Function:
    """The function, whose errors where the system itself gives no more memory are MemoryLimitErrors that name it."""

    @functools.wraps(function)
    def named(*args: Any, **kwargs: Any) -> Any:
        try:
            return function(*args, **kwargs)
        except MemoryLimitError:
            raise
        except MemoryError as error:
            detail = f" ({error})" if str(error) else ""
            raise MemoryLimitError(
                f"{function.__qualname__} needs more memory than the system gives{detail}. {_ADVICE}"
            ) from None

    return named  # type: ignore[return-value]


def give_back(freed: int) -> None:
    """Have the system take back about so many bytes that were freed. The C library keeps what arrays of less than
    32 MiB took for others of that size, and larger ones would be taken beside it."""
    if freed >= _WORTH_RETURNING:
        with contextlib.suppress(OSError, AttributeError):  # only glibc keeps it, and has this
            ctypes.CDLL(None).malloc_trim(0)


def as_bytes(name: str, value: Any) -> int | None:
    """A limit in bytes as an integer, or None: ``1e9`` is one, too.

    Raises:
        ParameterError: no whole number, or a negative one.
    """
    if value is None:
        return None
    number = isinstance(value, int | float | np.integer | np.floating) and not isinstance(value, bool)
    if not number or value % 1 != 0 or value < 0:
        raise ParameterError(
            f"{name} is {shown(value)}; expected a number of bytes of at least 0, such as 4e9, or None"
        )
    return int(value)
