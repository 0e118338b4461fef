"""Every error that edgewise raises on purpose, and every warning.

A message says what was got, what was expected, and what to do. Each class also derives from the built-in
exception that a caller would expect, so ``except ValueError`` keeps working.
"""

import sys
import warnings

from edgewise.text import printable

#: Packages between a user's call and a warning: a line in them tells users nothing.
_BETWEEN = ("edgewise", "numba", "contextlib", "functools")


def warn(message: str, category: type[Warning]) -> None:
    """Warn at the user's line that led here: the last one before edgewise was called."""
    frame, levels = sys._getframe(), 1
    while frame.f_back and frame.f_globals.get("__name__", "").partition(".")[0] in _BETWEEN:
        frame, levels = frame.f_back, levels + 1
    warnings.warn(message, category, stacklevel=levels)


class EdgewiseError(Exception):
    """The root of all errors raised by edgewise. Terminal escapes in names and paths are shown, not sent."""

    def __str__(self) -> str:
        return printable(super().__str__())


class GraphError(EdgewiseError, ValueError):
    """Edges, ids or weights that do not make a graph, or a vertex that the graph does not have."""


class GraphTypeError(EdgewiseError, TypeError):
    """A value that is not a graph, where a graph is expected."""


class EdgewiseWarning(Warning):
    """The root of all warnings of edgewise."""


class GraphWarning(EdgewiseWarning, UserWarning):
    """A graph that is likely not the one that was meant. The message says what mends it."""


class ParseError(EdgewiseError, ValueError):
    """A file that cannot be read as a graph. The message names the file and, where there is one, the line."""


class ProgramError(EdgewiseError, TypeError):
    """A program that cannot run. The message names the function and line in the user's own file."""


class ProgramWarning(EdgewiseWarning, UserWarning):
    """A run that is likely not what was meant. The message says what mends it."""


class ScheduleError(EdgewiseError, ValueError):
    """A combination of device, schedule and program that cannot run."""


class DeviceError(EdgewiseError, RuntimeError):
    """A GPU that was asked for cannot be used. The message says why and what mends it."""


class DistributedError(EdgewiseError, RuntimeError):
    """Several processes that were to carry out a run together do not: they were not started so, one has ended, or does
    not answer in time."""


class DeviceWarning(EdgewiseWarning, RuntimeWarning):
    """A run that was to go to a GPU, which has no room for it, and goes on the CPU."""


class MemoryLimitError(EdgewiseError, MemoryError):
    """A run, or a file that is read, that would need more memory than it was allowed.

    Attributes:
        needed: the bytes with which it would run, if they are known; else infinity.
    """

    needed: float = float("inf")


class ParameterError(EdgewiseError, ValueError):
    """An argument of an algorithm that it cannot take, such as a share above 1."""


class NegativeCycleError(EdgewiseError, ValueError):
    """Shortest paths do not exist: a cycle of negative weight can be reached from the source."""


class MissingDependencyError(EdgewiseError, ImportError):
    """An optional package is not installed. The message gives the command that installs it."""


class VerificationError(EdgewiseError, AssertionError):
    """A result that its verifier rejects. The message names the first vertex or edge that is wrong."""


class OutputError(EdgewiseError, OSError):
    """A file that cannot be written. Nothing is left under its name but what was there before."""


class FileChangedError(EdgewiseError, RuntimeError):
    """A graph's file that was cut short or written to while it was in use. Runs on it have no answer."""


class NotKeptWarning(EdgewiseWarning, RuntimeWarning):
    """Compiled code or a checkpoint that is not kept: the answer is the same, but later runs begin anew."""
