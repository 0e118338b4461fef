"""The machine's memory: how much of it is free, and limits that a caller sets."""

import contextlib
import ctypes
import functools
import os
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from edgewise.errors import MemoryLimitError, ParameterError
from edgewise.numeric import is_number
from edgewise.text import shown

_Function = TypeVar("_Function", bound=Callable[..., Any])

#: Files in which Linux says how much memory a group of processes (a container) may use, and uses, in versions 2 and 1;
#: and the file, with the name in it, for pages of files that are given up as soon as memory is needed.
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

#: Needs below this many bytes are not checked: asking what is free takes longer than making a small graph.
_WORTH_ASKING = 2**26
_ADVICE = "Make a smaller graph, free some memory, or take a larger machine"

#: The least number of bytes worth handing back to the system, which can take a millisecond.
_WORTH_RETURNING = 2**23

#: The size of the pages in which systems give memory to large arrays: writing a little takes a whole page.
LARGE_PAGE = 2**21


class Step(NamedTuple):
    """The memory that a part of a run takes, in bytes.

    Attributes:
        kept: the bytes still held when it ends.
        most: the most bytes held at one time.
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
    """The bytes that this process can still take without pushing others to the disk; None if that cannot be told."""
    found = [_available(), *(_left_to_group(*files) for files in _GROUPS)]
    return min((size for size in found if size is not None), default=None)


def _available() -> int | None:
    """The bytes that the system says are free or can be freed."""
    try:
        for line in Path("/proc/meminfo").read_text().splitlines():
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) * 1024
        return os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError, AttributeError):
        return None


def _left_to_group(most: str, used: str, details: str, of_files: str) -> int | None:
    """The bytes that the limit of a group of processes leaves, if there is a limit."""
    try:
        left = int(Path(most).read_text()) - int(Path(used).read_text())
    except (OSError, ValueError):
        return None
    return max(0, left + _numbered(details, of_files))


def _numbered(details: str, name: str) -> int:
    """The number beside a name in a file of names and numbers, or 0."""
    try:
        return int(dict(line.split() for line in Path(details).read_text().splitlines())[name])
    except (OSError, ValueError, KeyError):
        return 0


class RefusedBySystem(MemoryLimitError):
    """Memory that the system does not give, though it seemed to be free."""


def check_free(name: str, needed: int) -> None:
    """Refuse what needs at least `needed` bytes if fewer are free, as far as that can be told.

    Raises:
        MemoryLimitError: with both numbers.
    """
    free = free_memory() if needed >= _WORTH_ASKING else None
    if free is not None and needed > free:
        raise MemoryLimitError(
            f"{name} needs at least {needed:,} bytes of memory; {free:,} are free. {_ADVICE}"
        )


def naming_memory_errors(function: _Function) -> _Function:
    """The function, with each MemoryError of the system turned into a MemoryLimitError that names the function."""

    @functools.wraps(function)
    def named(*args: Any, **kwargs: Any) -> Any:
        with explaining_memory_errors(function.__qualname__, _ADVICE):
            return function(*args, **kwargs)

    return named  # type: ignore[return-value]


@contextlib.contextmanager
def explaining_memory_errors(what: str, advice: str) -> Iterator[None]:
    """Explain a MemoryError of the system by what needs the memory and by what to do.

    Raises:
        MemoryLimitError: in place of a MemoryError.
    """
    try:
        yield
    except MemoryLimitError:
        raise
    except MemoryError as error:
        detail = f" ({error})" if str(error) else ""
        raise MemoryLimitError(f"{what} needs more memory than the system gives{detail}. {advice}") from None


def give_back(freed: int) -> None:
    """Hand about `freed` bytes back to the system. The C library keeps the memory of freed arrays below 32 MiB for
    arrays of that size; larger arrays would be allocated beside it."""
    if freed >= _WORTH_RETURNING:
        with contextlib.suppress(OSError, AttributeError):  # only glibc keeps it, and has this
            ctypes.CDLL(None).malloc_trim(0)


#: What a limit may be written with; without a unit, it is in bytes.
_UNITS = {"": 1, "B": 1} | {
    f"{prefix}{infix}B": base**power
    for infix, base in (("", 1000), ("i", 1024))
    for power, prefix in enumerate("kMGTP", start=1)
}
_WITH_UNIT = re.compile(r"\s*([0-9.]+(?:[eE][+-]?[0-9]+)?|[0-9]{1,3}(?:,[0-9]{3})+)\s*([A-Za-z]*)\s*")


def as_bytes(name: str, value: Any) -> int | None:
    """A limit in bytes as an integer, or None: ``1e9`` is one, too, and so are "500MB" and "2GiB".

    Raises:
        ParameterError: not a whole number, or a negative one.
    """
    if value is None:
        return None
    number: Any = _in_bytes(value) if isinstance(value, str) else value
    if not is_number(number) or not number >= 0 or number % 1 != 0:
        raise ParameterError(
            f"{name} is {shown(value)}; expected a number of bytes of at least 0, such as 4e9, or None, or text "
            'with a unit, such as "4GB" or "500 MiB": k, M, G, T or P, then B or iB'
        )
    return int(number)


def _in_bytes(text: str) -> float | None:
    """The bytes that a text such as "500MB" stands for, or None."""
    match = _WITH_UNIT.fullmatch(text)
    units = {unit.lower(): size for unit, size in _UNITS.items()}
    if match is None or match[2].lower() not in units:
        return None
    try:
        number = float(match[1].replace(",", ""))  # as messages write numbers
        return round(number * units[match[2].lower()]) if match[2] else number
    except (ValueError, OverflowError):
        return None
