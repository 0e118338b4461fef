"""The contract of a format: how it is recognised and read. Each format has a file of its own."""

from collections.abc import Callable
from dataclasses import dataclass

from edgewise.io.edge_data import EdgeData
from edgewise.io.lines import LineLayout
from edgewise.io.options import ReadOptions
from edgewise.io.rows import RowLayout
from edgewise.io.source import TextFile


@dataclass(frozen=True)
class Plan:
    """How the edges of a file are read, known from its first lines.

    Attributes:
        layout: where edges stand in a line.
        options: what the caller said, completed by what the file declares.
        skip: the number of lines at the start that hold no edges.
        declared: the number of edges that the file declares, or None.
        both_directions: whether each edge stands for two arcs.
        directed: whether the graph is one of arcs.
        doubt: what to warn of if the columns may have been meant otherwise.
        seen: the file as lines of this layout, where its own lines are others.
        may_begin_with_sizes: whether the first edge may be a line of the numbers of vertices and edges.
    """

    layout: LineLayout | RowLayout
    options: ReadOptions
    skip: int
    both_directions: bool
    directed: bool
    declared: int | None = None
    doubt: str | None = None
    seen: EdgeData | None = None
    may_begin_with_sizes: bool = False

    @property
    def doubts(self) -> list[str]:
        """What to warn of after the file was read."""
        return [doubt for doubt in (self.doubt, self.seen and self.seen.doubt) if doubt]


@dataclass(frozen=True)
class Format:
    """A format of text files.

    Attributes:
        name: as in ``edgewise.read(path, format=name)``.
        suffixes: of file names, in lower case.
        looks_like: whether the first lines of a file are surely of this format.
        plan: reads the first lines.
        options: the options that only some formats take, and this one does.
    """

    name: str
    suffixes: tuple[str, ...]
    looks_like: Callable[[TextFile], bool]
    plan: Callable[[TextFile, ReadOptions], Plan]
    options: frozenset[str]
