"""Adjacency lists as NetworkX writes them: a line "u v1 v2 ..." has a vertex and its neighbours, # starts a comment.

`networkx.write_adjlist` gives each vertex a line, also one without neighbours, and lists each edge of an undirected
graph once. Hagberg, Schult, Swart, "Exploring Network Structure, Dynamics, and Function using NetworkX" (SciPy 2008).
"""

from dataclasses import dataclass, replace
from itertools import islice

import numpy as np

from edgewise.errors import OutputError, ParseError
from edgewise.graph import Graph
from edgewise.io import adjlist_tokens, tokens
from edgewise.io.declared import DECLARED_IDS, Declared
from edgewise.io.doubts import LOOKED_AT
from edgewise.io.edge_data import refuse_other_of_networkx
from edgewise.io.fields import is_integer
from edgewise.io.formats import Format, Plan
from edgewise.io.lines import Edges, LineLayout, Scan, narrow
from edgewise.io.misread import refuse_marks_of_rows
from edgewise.io.options import ReadOptions
from edgewise.io.rows import most_neighbors
from edgewise.io.source import LONGEST_ROW, TextFile
from edgewise.io.split import split_line
from edgewise.io.table import allowed_ids
from edgewise.io.writing import RowWriter, check_has_no_weights

_COMMENTS = "#"
#: How many ids of the first line say if ids are names.
_LOOKED_AT = 1000
#: How often the vertices that lines begin with are held at one time, while they are numbered.
_COPIES = 8


@dataclass(frozen=True)
class AdjlistLayout(LineLayout):
    """How lines list neighbours; the columns of lines of edges mean nothing here."""

    comments: str = _COMMENTS

    def scan(self, file: TextFile) -> "AdjlistScan":
        """A scan of a file of such lines."""
        return AdjlistScan(file, self)


class AdjlistScan(Scan):
    """A scan of such lines in progress."""

    def __init__(self, file: TextFile, layout: AdjlistLayout) -> None:
        super().__init__(file, layout)
        self.state = np.zeros(adjlist_tokens.NUM_ADJLIST_STATE, np.int64)
        self._heads: list[np.ndarray] = []

    def read(self, text: bytes) -> None:
        """Read a block of whole lines."""
        if self._names is not None:
            self._check_encoding(text)
        source, target, heads = np.empty((3, len(text) // 2 + 1), np.int64)
        state, buffer = self.state, np.frombuffer(text, np.uint8)
        state[[tokens.POSITION, tokens.EDGES, adjlist_tokens.HEADS]] = 0
        while reason := self._scan(buffer, (source, target, heads)):
            if reason != tokens.FULL:
                self._refuse(reason, text)
            assert self._names is not None
            self._names.make_room(state, int(state[tokens.STOP] - state[tokens.START]))
        count = int(state[tokens.EDGES])
        self._keep(narrow(source[:count]), narrow(target[:count]), None)
        if self._names is None:
            self._heads.append(narrow(heads[: state[adjlist_tokens.HEADS]]))

    @property
    def has_lone_vertices(self) -> bool:
        """Whether a line had a vertex without neighbours, which no edge may name."""
        return self.state[adjlist_tokens.ALONE] > 0

    def _scan(self, buffer: np.ndarray, columns: tuple[np.ndarray, ...]) -> int:
        names = self._names
        room = (None,) * 4 if names is None else (names.pool, names.ends, names.hashes, names.slots)
        args = (self._words, self._is_comment, *columns, *room)
        return int(adjlist_tokens.scan_adjlist(buffer, self.state, *args))

    def bytes_of_graph(self, options: ReadOptions) -> int:
        """The most bytes taken at one time to make a graph of the edges and vertices read so far."""
        heads = sum(heads.nbytes for heads in self._heads)
        return super().bytes_of_graph(options) + _COPIES * heads

    def _most_edges(self, text: bytes) -> int:
        return most_neighbors(text)

    def edges(self) -> Edges:
        """All edges that were read, joined, and the vertices that lines begin with."""
        heads = self._heads
        edges = super().edges()
        return edges if edges.names is not None else replace(edges, vertices=np.concatenate(heads))


def _plan(file: TextFile, options: ReadOptions) -> Plan:
    """Read the first vertex and its neighbours, which say if ids are names."""
    if options.weighted:
        raise ParseError(f"{file.path} is read as adjlist; it has no weights to read with weighted=True")
    file.longest_line = LONGEST_ROW
    first, declared = _first_line(file)
    if declared is None:
        lines = [line for _, line in islice(file.data_lines(_COMMENTS), LOOKED_AT)]
        refuse_other_of_networkx(file, lines)
        if options.names is None:
            refuse_marks_of_rows(file.path, lines)
    if first is None and options.num_vertices is None:
        raise ParseError(f"{file.path} has no vertices; give num_vertices for a graph without edges")
    names = options.names if options.names is not None else declared
    if names is None:
        names = not all(map(is_integer, first or []))
    layout = AdjlistLayout(names=bool(names), ids=allowed_ids(file.path, options, bool(names)))
    directed = options.directed is not False
    by_looks = layout.names and options.names is None and declared is None
    return Plan(
        layout,
        options,
        0,
        both_directions=not directed,
        directed=directed,
        are_names_by_looks=by_looks,
    )


def _first_line(file: TextFile) -> tuple[list[str] | None, bool | None]:
    """The first vertex and some of its neighbours, or None; and whether comments before them declare names."""
    declared = Declared()
    for _, line in file.data_lines(_COMMENTS, declared.note):
        return list(islice(split_line(line.partition(_COMMENTS)[0], None), _LOOKED_AT)), declared.names
    return None, declared.names


ADJLIST = Format(
    name="adjlist",
    suffixes=(".adjlist",),
    looks_like=lambda file: False,  # its lines could be edges
    plan=_plan,
    options=frozenset({"weighted", "names", "index_base", "num_vertices"}),
)


def _declaration(graph: Graph) -> str:
    return f"{DECLARED_IDS[graph.has_names]}\n"


def _check(graph: Graph) -> None:
    check_has_no_weights(graph, ".edgelist, .csv or .mtx")
    if graph.num_vertices == 0:
        raise OutputError("a graph without vertices cannot stand in this format; use .mtx")


WRITER = RowWriter(_declaration, _check)
