"""The memory that reading a file may take, and the memory that it will take."""

import contextlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from edgewise.errors import MemoryLimitError
from edgewise.io.options import ReadOptions
from edgewise.memory import explaining_memory_errors, free_memory

#: Bytes for a name beyond its own text: a Python string, its place in the ids, its number in tables.
NAME_BYTES = 150
#: Bytes for an integer read as a name, since it is long: it is an integer too, in a set and a dictionary.
LONG_INTEGER_BYTES = 400
#: Bytes of a vertex in rows, its offset; and, where ids start at a base, its id.
_OFFSET_BYTES, _ID_BYTES = 4, 8
#: Bytes of an arc in rows that are being made: its target twice, and its row within a bucket.
_ARC_BYTES = 10
#: Bytes of an edge while ids become indices: both indices, and the marks of ids that occur.
_NUMBERING_BYTES = 10


@dataclass(frozen=True)
class Budget:
    """The memory that reading may take; it refuses more.

    Attributes:
        path: the file, for messages.
        limit: bytes, or None where the machine does not tell what is free.
        given: whether the caller set the limit; else it is the memory that was free.
        weighted: whether the file may have weights that could be left out.
    """

    path: Path
    limit: int | None
    given: bool
    weighted: bool = True

    @classmethod
    def of(cls, path: Path, memory_limit: int | None) -> "Budget":
        """The caller's limit, else the memory that is free now."""
        if memory_limit is not None:
            return cls(path, memory_limit, True)
        return cls(path, free_memory(), False)

    def check(self, needed: int, whole: Callable[[], int] = lambda: 0) -> None:
        """Refuse a need beyond the limit.

        Args:
            needed: what is needed so far.
            whole: gives what the whole file will need, if that can be told from the part that was read, else 0.

        Raises:
            MemoryLimitError: with what is needed and what may be taken.
        """
        if not self.has_room(needed):
            about = max(needed, whole())
            for_all = f", and about {about:,} for the whole file" if about > needed else ""
            raise self.refusal("reading", f"at least {needed:,} bytes of memory{for_all}")

    def has_room(self, needed: int) -> bool:
        """Whether this many bytes are within the limit."""
        return self.limit is None or needed <= self.limit

    def refusal(self, doing: str, needed: str) -> MemoryLimitError:
        """The error for work on the file that needs more than the limit."""
        limit = f"memory_limit is {self.limit:,}" if self.given else f"{self.limit or 0:,} are free"
        return MemoryLimitError(f"{doing} {self.path} needs {needed}; {limit}. {self._advice}")

    @property
    def _advice(self) -> str:
        more = "Raise memory_limit" if self.given else "Free some, or take a larger machine"
        if self.weighted:
            more += "; without weights (weighted=False) a graph is smaller"
        return f"{more}. If the file promises more than it holds, mend it"

    @contextlib.contextmanager
    def kept(self) -> Iterator[None]:
        """Explain a MemoryError of the system in the user's terms.

        Raises:
            MemoryLimitError: in place of a MemoryError.
        """
        with explaining_memory_errors(f"reading {self.path}", self._advice):
            yield


def bytes_of_graph(columns: int, weights: int, num_edges: int, options: ReadOptions) -> int:
    """The most bytes taken at one time while columns of edges become a graph, names and hash tables excepted.

    Args:
        columns, weights: bytes of the columns of ids and of that of weights.
        num_edges: the number of edges.
        options: what the caller said.
    """
    held, copies = columns + weights, 2 if options.directed is False else 1
    rows = copies * (_ARC_BYTES * num_edges + 2 * weights)
    if options.num_vertices is None:
        rows += _NUMBERING_BYTES * num_edges
    else:
        based = bool(options.index_base)
        rows += int(options.num_vertices) * (_OFFSET_BYTES + _ID_BYTES * based) + columns * based
    return held + max(held, rows)
