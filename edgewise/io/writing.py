"""How text formats are written: a line for each edge, or a row of neighbours for each vertex. The file of each format
says which of the two, and how."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import chain, pairwise
from typing import TextIO

import numpy as np

from edgewise.errors import OutputError
from edgewise.graph import Graph
from edgewise.graph.csr import rows_in_pieces
from edgewise.graph.ids import named_ids
from edgewise.io.column_texts import as_written, with_formulas_quoted
from edgewise.io.fields import is_integer
from edgewise.io.once import CHUNK, edges_once
from edgewise.io.source import BLANKS
from edgewise.text import shown

#: Python refuses to read, and to write, integers of more than 4,300 digits.
MOST_DIGITS = 4000
LARGEST_WRITTEN = 10**MOST_DIGITS
#: Characters that start comments or quotes when files are read.
_STARTS = '#%"'


def _fits(graph: Graph) -> None:
    """Any graph can stand in the format."""


def _no_start(graph: Graph) -> str:
    """The format has no lines before the edges."""
    return ""


@dataclass(frozen=True)
class LineWriter:
    """Writes a line for each edge.

    Attributes:
        delimiter: the text between columns.
        start: makes the first lines.
        check: refuses, with an OutputError, graphs that cannot stand in the format.
        marks: the characters that names may not hold.
        declares_ids: whether the first lines say if ids are names.
        numbered: whether vertices are written as 1..n in place of their ids.
        prefix: the text before the first column.
        arcs: whether an edge of an undirected graph is written in both directions, else once.
        unit_weights: whether edges without weights are written with the weight 1.
    """

    delimiter: str
    start: Callable[[Graph], str] = _no_start
    check: Callable[[Graph], None] = _fits
    marks: str = ""
    declares_ids: bool = False
    numbered: bool = False
    prefix: str = ""
    arcs: bool = False
    unit_weights: bool = False

    @property
    def first_number(self) -> int | None:
        """What the first vertex is called where vertices are numbered in place of their ids; else None."""
        return 1 if self.numbered else None

    def ids(self, graph: Graph, quote_formulas: bool) -> np.ndarray:
        """What is written for each vertex.

        Raises:
            OutputError: a graph that cannot stand in the format, or ids that would not be read back.
        """
        self.check(graph)
        if self.numbered:
            return np.arange(1, graph.num_vertices + 1)
        check_has_edges(graph)
        ids = _quoted(graph.vertices, quote_formulas)
        check_ids(graph, ids, self.marks)
        if graph.has_names and not self.declares_ids and all(map(is_integer, _first_edge(graph, ids))):
            raise OutputError(
                "the names of the first edge would be read as integers; use .txt or .tsv, which say that ids are names"
            )
        return ids

    def write(self, file: TextIO, graph: Graph, ids: np.ndarray) -> Iterator[int]:
        """Write the arcs, or each edge once from its end of larger index, and yield the number of arcs done."""
        file.write(self.start(graph))
        for source, target, weight, done in edges_once(graph, arcs=self.arcs):
            columns = [ids[source].tolist(), ids[target].tolist()]
            if weight is not None:
                columns.append(as_written(weight))
            elif self.unit_weights:
                columns.append([1] * len(columns[0]))
            line = self.prefix + self.delimiter.join(["%s"] * len(columns)) + "\n"
            file.write(line * len(columns[0]) % tuple(chain.from_iterable(zip(*columns, strict=True))))
            yield done

    def longest(self, graph: Graph) -> int:
        """The most arcs that are written at a time."""
        return min(CHUNK, graph.num_arcs)


@dataclass(frozen=True)
class RowWriter:
    """Writes a row of neighbours for each vertex.

    Attributes:
        start: makes the first lines.
        check: refuses, with an OutputError, graphs that cannot stand in the format.
        base: vertices are written as numbers from this one on, or as their ids where it is None; these begin the rows.
        parallel, loops: whether parallel edges, and self-loops, can stand in the format.
    """

    start: Callable[[Graph], str]
    check: Callable[[Graph], None]
    base: int | None = None
    parallel: bool = True
    loops: bool = True

    @property
    def first_number(self) -> int | None:
        """See `LineWriter.first_number`."""
        return self.base

    def ids(self, graph: Graph, quote_formulas: bool) -> np.ndarray:
        """What is written for each vertex.

        Raises:
            OutputError: a graph that cannot stand in the format, or ids that would not be read back.
        """
        self.check(graph)
        if self.base is not None:
            return np.arange(self.base, self.base + graph.num_vertices)
        ids = _quoted(graph.vertices, quote_formulas)
        check_ids(graph, ids, BLANKS + "#")
        return ids

    def write(self, file: TextIO, graph: Graph, ids: np.ndarray) -> Iterator[int]:
        """Write the rows, and yield the number of arcs done.

        Raises:
            OutputError: edges that the format has no place for.
        """
        file.write(self.start(graph))
        for begin, end in _rows_in_pieces(graph.offsets):
            part = slice(int(graph.offsets[begin]), int(graph.offsets[end]))
            source = np.repeat(np.arange(begin, end), np.diff(graph.offsets[begin : end + 1]))
            order = np.lexsort((graph.targets[part], source))
            target = graph.targets[part][order]
            self._check_arcs(graph, source, target)
            kept = np.ones(len(source), bool)
            if self.base is None and not graph.directed:  # each edge once, from its end of smaller index
                kept = source <= target
            words = list(map(str, ids[target[kept]].tolist()))
            bounds = np.searchsorted(source[kept], np.arange(begin, end + 1))
            if graph.weights is not None:
                values = map(str, graph.weights[part][order][kept].tolist())
                words = list(chain.from_iterable(zip(words, values, strict=True)))
                bounds *= 2
            rows = (words[i:j] for i, j in pairwise(bounds.tolist()))
            if self.base is None:
                rows = ([str(head), *row] for head, row in zip(ids[begin:end].tolist(), rows, strict=True))
            file.writelines(" ".join(row) + "\n" for row in rows)
            yield part.stop

    def _check_arcs(self, graph: Graph, source: np.ndarray, target: np.ndarray) -> None:
        """Refuse, among sorted arcs, those that cannot stand in the format. Raises OutputError."""
        parallel, loops = np.zeros(len(source), bool), source == target
        parallel[1:] = (source[1:] == source[:-1]) & (target[1:] == target[:-1])
        for wrong, stands, kind, option in (
            (parallel, self.parallel, "parallel edges", 'parallel_edges="first"'),
            (loops, self.loops, "a self-loop", 'self_loops="drop"'),
        ):
            if not stands and wrong.any():
                u, v = (shown(graph.vertices[column[wrong]].tolist()[0]) for column in (source, target))
                raise OutputError(
                    f"the graph has {kind}, such as {u} to {v}, which this format does not take; make it with "
                    f"{option}, or use .mtx"
                )

    def longest(self, graph: Graph) -> int:
        """The most arcs that are written at a time."""
        return min(CHUNK + int(np.diff(graph.offsets).max(initial=0)), graph.num_arcs)


TextWriter = LineWriter | RowWriter


def check_plain_ids(graph: Graph) -> None:
    """Refuse ids that are neither integers nor strings, or both. Raises OutputError."""
    if not graph.has_plain_ids:
        some = ", ".join(map(shown, graph.vertices[:3].tolist()))
        raise OutputError(
            f"ids such as {some} cannot stand in this format, which holds integers only, or strings only; use .mtx, "
            "which has 1..n for ids, or other ids"
        )


def check_ids(graph: Graph, ids: np.ndarray, marks: str) -> None:
    """Refuse ids that would not be read back as they are. Raises OutputError."""
    if ids.dtype != object:
        return
    check_plain_ids(graph)
    for given in ids.tolist():
        if isinstance(given, str) and _falls_apart(given, marks):
            raise OutputError(
                f"the id {shown(given)} cannot stand in this format; use .mtx, which has 1..n for ids, or other ids"
            )
        if not isinstance(given, str) and abs(given) > LARGEST_WRITTEN:
            raise OutputError("an id has over 4,000 digits; use .mtx, which has 1..n for ids, or other ids")


def check_has_edges(graph: Graph) -> None:
    """Refuse a graph without edges in a format of nothing else. Raises OutputError."""
    if graph.num_arcs == 0:
        raise OutputError(
            "a graph without edges cannot stand in this format; use .mtx, which keeps its vertices"
        )


def check_has_no_weights(graph: Graph, instead: str) -> None:
    """Refuse a graph with weights in a format that has none. Raises OutputError."""
    if graph.weighted:
        raise OutputError(f"the graph has weights, and this format has none; use {instead}")


def check_whole_weights(graph: Graph) -> None:
    """Refuse weights that are no integers in a format that has only such. Raises OutputError."""
    if graph.weights is not None and graph.weights.dtype.kind != "i":
        raise OutputError(
            f"the weights are {graph.weights.dtype}, and this format has integers; use .txt, .csv or .mtx, or round "
            "the weights first"
        )


def _quoted(ids: np.ndarray, quote_formulas: bool) -> np.ndarray:
    """Ids, with an apostrophe before those that a program for spreadsheets takes for formulas, if that is asked for."""
    if quote_formulas and ids.dtype == object:
        return named_ids(with_formulas_quoted(ids.tolist())).array
    return ids


def _rows_in_pieces(offsets: np.ndarray) -> Iterator[tuple[int, int]]:
    """Ranges of rows of at most `CHUNK` rows and arcs; a longer row is alone."""
    begin, last = 0, len(offsets) - 1
    while begin < last:
        end = int(np.searchsorted(offsets, int(offsets[begin]) + CHUNK, "right")) - 1
        end = min(max(end, begin + 1), begin + CHUNK, last)
        yield begin, end
        begin = end


def _first_edge(graph: Graph, ids: np.ndarray) -> list:
    """The ids of the edge that is written first."""
    for part, source in rows_in_pieces(graph.offsets, CHUNK):
        target = graph.targets[part]
        first = 0 if graph.directed else int(np.argmax(source >= target))
        if graph.directed or source[first] >= target[first]:
            return ids[[source[first], target[first]]].tolist()
    return []


def _falls_apart(name: str, marks: str) -> bool:
    """Whether a name would not be read back as it is."""
    try:
        name.encode()
    except UnicodeEncodeError:
        return True
    wrong = name != name.strip(BLANKS) or not name or name[0] in _STARTS
    return wrong or any(mark in name for mark in marks + "\r\n\0")
