"""Write a graph as an edge list, a CSV file or a Matrix Market file, whole or not at all."""

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import TextIO

import numpy as np

from edgewise.errors import OutputError
from edgewise.graph import Graph
from edgewise.io.whole import check_place, written_whole

#: Arcs that are written at a time: a fraction of a second of work between two looks at Ctrl-C.
_CHUNK = 1 << 17


@dataclass(frozen=True)
class _Layout:
    """How a format puts down a graph: what stands between columns, its first lines, the smallest id."""

    delimiter: str
    start: Callable[[Graph], str]
    first_index: int | None = None


def _comment(graph: Graph) -> str:
    kind = "Directed" if graph.directed else "Undirected"
    return f"# {kind} graph\n# Nodes: {graph.num_vertices} Edges: {graph.num_edges}\n"


def _header(graph: Graph) -> str:
    return "source,target,weight\n" if graph.weighted else "source,target\n"


def _banner(graph: Graph) -> str:
    values = "pattern" if graph.weights is None else {"i": "integer", "f": "real"}[graph.weights.dtype.kind]
    symmetry = "general" if graph.directed else "symmetric"
    n = graph.num_vertices
    return f"%%MatrixMarket matrix coordinate {values} {symmetry}\n{n} {n} {graph.num_edges}\n"


_LAYOUTS = {
    ".txt": _Layout("\t", _comment),
    ".tsv": _Layout("\t", _comment),
    ".csv": _Layout(",", _header),
    ".mtx": _Layout(" ", _banner, first_index=1),
}


def write(graph: Graph, path: str | os.PathLike[str], progress: Callable[[int], None] | None = None) -> None:
    """Write the edges of a graph, an undirected one's once each; .gz at the end of the name compresses.

    The suffix says how: .txt or .tsv for an edge list, .csv for a table with a header, .mtx for Matrix Market,
    which alone keeps vertices without edges, and has 1..n in the place of ids. `edgewise.read` reads all of
    them, ids of vertices without edges and the dtypes of 32 bits excepted.

    Args:
        graph: what to write.
        path: where; the file appears when it is complete.
        progress: called with the number of arcs written.

    Raises:
        OutputError: a suffix that is none of these, a name that would not be read back, or a place that cannot
            be written.
    """
    path = Path(path)
    check_graph_writable(path)
    layout = _LAYOUTS[_suffix(path)]
    ids = graph.vertices if layout.first_index is None else np.arange(1, graph.num_vertices + 1)
    _check_names(ids, layout.delimiter)
    try:
        with written_whole(path) as file:
            file.write(layout.start(graph))
            for done in _write_lines(file, graph, ids, layout.delimiter):
                if progress is not None:
                    progress(done)
    except OSError as error:
        raise OutputError(f"cannot write {path}: {error.strerror or error}") from None


def check_graph_writable(path: Path) -> None:
    """Find out before any work whether a graph can be written here. Raises OutputError."""
    if _suffix(path) not in _LAYOUTS:
        raise OutputError(
            f"{path} ends in {path.suffix or 'no suffix'!r}; expected {', '.join(_LAYOUTS)}, each also with .gz"
        )
    check_place(path)


def _suffix(path: Path) -> str:
    return (path.with_suffix("") if path.suffix == ".gz" else path).suffix


def _write_lines(file: TextIO, graph: Graph, ids: np.ndarray, delimiter: str) -> Iterator[int]:
    """Write the arcs, or each edge once from its smaller index, and tell how far it is."""
    for start in range(0, graph.num_arcs, _CHUNK):
        part = slice(start, min(start + _CHUNK, graph.num_arcs))
        source, target = graph.sources[part], graph.targets[part]
        kept = slice(None) if graph.directed else source >= target
        columns = [ids[source[kept]].tolist(), ids[target[kept]].tolist()]
        if graph.weights is not None:
            weights = graph.weights[part][kept]
            columns.append((weights.astype(str) if weights.dtype == np.float32 else weights).tolist())
        line = delimiter.join(["%s"] * len(columns)) + "\n"
        file.write(line * len(columns[0]) % tuple(chain.from_iterable(zip(*columns, strict=True))))
        yield part.stop


def _check_names(ids: np.ndarray, delimiter: str) -> None:
    """Refuse names that would fall apart when they are read back."""
    if ids.dtype != object:
        return
    for name in ids.tolist():
        text = str(name)
        broken = text != text.strip() or not text or delimiter in text or "\n" in text or text[0] in '"#%'
        if broken or (delimiter == "\t" and len(text.split()) > 1):
            raise OutputError(
                f"the id {name!r} cannot stand in this format; use .mtx, which has 1..n for ids, or other ids"
            )
