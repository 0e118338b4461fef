"""Serialized graphs of the GAP Benchmark Suite: ``.sg``, and ``.wsg`` with weights.

Layout. One byte, 1 for a directed graph; the numbers of arcs and of vertices n, 8 bytes each; n + 1 offsets of 8 bytes;
the target of each arc, 4 bytes, in a ``.wsg`` with its weight, 4 bytes, behind it. The in-edges of a directed graph
follow in the same way. All are signed integers, little-endian, and nothing is aligned. An undirected graph has each
edge in the rows of both its ends, and counts both as arcs. The suite sorts each row, and counts triangles by that.

Beamer, Asanović, Patterson, "The GAP Benchmark Suite" (arXiv:1508.03619); ``src/writer.h`` and ``src/reader.h`` of its
code.
"""

import struct
from collections.abc import Callable
from pathlib import Path
from typing import IO, NamedTuple

import numpy as np

from edgewise.errors import GraphError, OutputError, ParseError
from edgewise.graph import Graph
from edgewise.graph.checks import as_rows
from edgewise.graph.csr import Rows, transpose, transposing
from edgewise.graph.file_checks import BOTH_ARCS, IN_ARCS, OUT_ARCS, walk_rows
from edgewise.graph.ids import MAX_VERTICES, Ids
from edgewise.io.asked import as_asked
from edgewise.io.binary import PIECE, Arrays, opened, size_of
from edgewise.io.budget import Budget
from edgewise.io.formats import GraphFormat, Report
from edgewise.io.options import ReadOptions
from edgewise.memory import held, in_turn

_HEADER = struct.Struct("<Bqq")
_OFFSET, _NUMBER = np.dtype("<i8"), np.dtype("<i4")
#: Whether a graph has weights, by the suffix.
_WEIGHTED = {".sg": False, ".wsg": True}
_LIMITS = np.iinfo(np.int32)
#: Arcs with weights that are read and written at a time.
_ARCS = PIECE // 8


class _Header(NamedTuple):
    directed: bool
    weighted: bool
    num_vertices: int
    num_arcs: int


def _read(budget: Budget, options: ReadOptions, report: Report) -> tuple[Graph, int]:
    """Read the rows, and check that the in-edges, or the other directions of edges, are those of the same edges."""
    with opened(budget) as file:
        header = _read_header(budget.path, file)
        if options.weighted and not header.weighted:
            raise ParseError(
                f"{budget.path} has no weights to read with weighted=True; those of GAP are in .wsg files"
            )
        budget.check(_bytes_to_read(header))
        arrays = Arrays(budget.path, report)
        rows = _read_rows(budget.path, file, header, arrays)
        if header.directed:
            in_edges = _read_rows(budget.path, file, header, arrays)
            if walk_rows(rows, OUT_ARCS).print != walk_rows(in_edges, IN_ARCS).print:
                raise ParseError(f"{budget.path} is damaged: its in-edges are not those of its out-edges")
            del in_edges
    loops = 0
    if not header.directed:
        walked = walk_rows(rows, BOTH_ARCS)
        if walked.print != 0:
            raise ParseError(
                f"{budget.path} says that it is undirected, but not every edge is in the rows of both its ends with "
                "one weight; write it as a directed graph"
            )
        loops = walked.loops
    if options.weighted is False:
        rows = Rows(rows.offsets, rows.targets, None)
    graph = Graph(rows, Ids(header.num_vertices), header.directed, loops)
    return as_asked(graph, options, budget)


def _read_header(path: Path, file: IO[bytes]) -> _Header:
    """The header, if the file is as long as it says."""
    start, length = file.read(_HEADER.size), size_of(file)
    directed, num_arcs, num_vertices = _HEADER.unpack(start) if len(start) == _HEADER.size else (2, 0, 0)
    if directed > 1 or num_arcs < 0 or num_vertices < 0:
        raise ParseError(
            f"{path} is no serialized graph of GAP, which begins with a byte 0 or 1 and two sizes; expected what its "
            "converter writes with -b"
        )
    given = _WEIGHTED.get(path.suffix.lower())
    headers = [_Header(directed == 1, each, num_vertices, num_arcs) for each in (False, True)]
    fitting = [header for header in headers if _length(header) == length]
    chosen = [header for header in fitting if given in (None, header.weighted)]
    if chosen and num_vertices <= MAX_VERTICES:
        return chosen[0]
    if chosen:
        raise ParseError(f"{path} has {num_vertices:,} vertices; at most 2**31 - 1 can be had")
    kind, least = "directed" if directed else "undirected", _length(headers[bool(given)])
    advice = "it is truncated or damaged"
    if fitting:
        has, suffix = ("no weights", ".sg") if given else ("weights", ".wsg")
        advice = f"with {has} it would be as long; such files are called {suffix}"
    raise ParseError(
        f"{path} has {length:,} bytes and declares a {kind} graph of {num_vertices:,} vertices and {num_arcs:,} arcs, "
        f"which takes {least:,}; {advice}"
    )


def _length(header: _Header) -> int:
    """The bytes of the file of a graph."""
    of_arc = _NUMBER.itemsize * (1 + header.weighted)
    rows = _OFFSET.itemsize * (header.num_vertices + 1) + of_arc * header.num_arcs
    return _HEADER.size + (1 + header.directed) * rows


def _bytes_to_read(header: _Header) -> int:
    """The most bytes taken at one time while a graph is read."""
    return _length(header) + 4 * (header.num_vertices + 1) + min(PIECE, 8 * header.num_arcs) * header.weighted


def _read_rows(path: Path, file: IO[bytes], header: _Header, arrays: Arrays) -> Rows:
    """The next rows of a file."""
    offsets = arrays.read(file, _OFFSET, header.num_vertices + 1)
    weights = None
    if header.weighted:
        targets, weights = np.empty((2, header.num_arcs), np.int32)
        for start in range(0, header.num_arcs, _ARCS):
            part = slice(start, min(start + _ARCS, header.num_arcs))
            pairs = arrays.read(file, _NUMBER, 2 * (part.stop - start))
            targets[part], weights[part] = pairs[0::2], pairs[1::2]
    else:
        targets = arrays.read(file, _NUMBER, header.num_arcs)
    try:
        return as_rows(offsets, targets, weights)
    except GraphError as error:
        raise ParseError(f"{path} is damaged: {error}") from None


def _write(graph: Graph, file: IO[bytes], suffix: str, progress: Callable[[int], None]) -> None:
    """Write rows that are sorted, as the suite has them, and the in-edges of a directed graph."""
    weights = _weights_for(graph, suffix)
    by_target = transpose(Rows(graph.offsets, graph.targets, weights))
    sides = [transpose(by_target), by_target] if graph.directed else [by_target]
    file.write(_HEADER.pack(graph.directed, graph.num_arcs, graph.num_vertices))
    for side, rows in enumerate(sides):
        file.write(rows.offsets.astype(_OFFSET, copy=False).data)
        for start in range(0, graph.num_arcs, _ARCS):
            part = slice(start, start + _ARCS)
            arcs = rows.targets[part]
            if rows.weights is not None:
                arcs = np.stack([arcs, rows.weights[part]], axis=1)
            file.write(np.ascontiguousarray(arcs, _NUMBER).data)
            progress((side * graph.num_arcs + min(part.stop, graph.num_arcs)) // len(sides))


def _weights_for(graph: Graph, suffix: str) -> np.ndarray | None:
    """The weights as int32, or None. Refuses graphs that such a file cannot hold."""
    if graph.weighted != _WEIGHTED[suffix]:
        has, other = ("weights", ".wsg") if graph.weighted else ("no weights", ".sg")
        raise OutputError(f"the graph has {has}, and a {suffix} file of GAP cannot; name the file {other}")
    weights = graph.weights
    if weights is None:
        return None
    if weights.dtype.kind != "i":
        raise OutputError(
            f"the weights are {weights.dtype}, and a .wsg file of GAP holds int32; round or scale them, and make the "
            "graph with integers"
        )
    if len(weights) and not _LIMITS.min <= weights.min() <= weights.max() <= _LIMITS.max:
        raise OutputError(
            f"the weights go from {weights.min()} to {weights.max()}, and a .wsg file of GAP holds int32; scale them"
        )
    return weights.astype(np.int32, copy=False)


def _writing(graph: Graph) -> int:
    of_weight = 4 * graph.weighted
    sorting = transposing(graph.offsets, graph.targets, of_weight)
    narrowed = held(of_weight * graph.num_arcs)
    offsets = held(_OFFSET.itemsize * (graph.num_vertices + 1) + PIECE)
    return in_turn(graph.making(), narrowed, *[sorting] * (1 + graph.directed), offsets).most


GAP = GraphFormat(
    name="gap",
    suffixes=tuple(_WEIGHTED),
    looks_like=lambda head: False,  # a byte and sizes are no sign
    read=_read,
    write=_write,
    writing=_writing,
    options=frozenset({"weighted"}),
    first_number=0,
)
