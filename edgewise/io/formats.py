"""The contracts of formats: how they are recognised, read and written. Each format has a file of its own."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import IO, Protocol

import numpy as np

from edgewise.graph import Graph
from edgewise.io.budget import Budget
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
        kind_doubt: what to warn of if the graph may have been meant to be undirected.
        are_names_by_looks: whether only their looks say that ids are names.
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
    kind_doubt: str | None = None
    are_names_by_looks: bool = False
    seen: EdgeData | None = None
    may_begin_with_sizes: bool = False

    @property
    def doubts(self) -> list[str]:
        """What to warn of after the file was read."""
        return [doubt for doubt in (self.kind_doubt, self.doubt, self.seen and self.seen.doubt) if doubt]


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


#: What the number of bytes that have been read is reported to, if anybody wants to know.
Report = Callable[[int], None] | None


class EdgeTable(Protocol):
    """Columns of edges in a file, which are read some rows at a time.

    Attributes:
        num_rows: the number of edges.
        doubt: what to warn of if the columns may have been meant otherwise.
    """

    num_rows: int
    doubt: str | None

    def columns(self, report: Report) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray | None]]:
        """Sources, targets, and weights or None, as `Graph.from_edges` takes them; reads the file once."""


@dataclass(frozen=True)
class GraphFormat:
    """A format that is not one of lines of edges: it makes the graph itself, and writes one.

    Attributes:
        name: as in ``edgewise.read(path, format=name)``.
        suffixes: of file names, in lower case.
        looks_like: whether a file that begins with these bytes, at most `HEAD_BYTES`, is surely of this format.
        read: makes the graph as the options say, and reports the number of bytes that have been read; the path is that
            of the budget. Counts as `edgewise.io.reading.make_graph` does.
        write: writes a graph to an open file whose name has this suffix, and reports the number of arcs written.
            Raises OutputError for a graph that has no place in such a file.
        writing: about the bytes that `write` takes beside the graph.
        options: the options that only some formats take, and this one does.
        first_number: what the first vertex is called where files number vertices in place of their ids; else None.
        packed: whether files may be compressed as those of text may.
        table: opens a file for reading some edges at a time; None where all of it is needed.
    """

    name: str
    suffixes: tuple[str, ...]
    looks_like: Callable[[bytes], bool]
    read: Callable[[Budget, ReadOptions, Report], tuple[Graph, int]]
    write: Callable[[Graph, IO[bytes], str, Callable[[int], None]], None]
    writing: Callable[[Graph], int]
    options: frozenset[str]
    first_number: int | None = None
    packed: bool = False
    table: Callable[[Budget, ReadOptions], EdgeTable] | None = None
