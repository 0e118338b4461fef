"""Graphs of command lines: read from a file or from standard input, built, brought into an order, and written."""

import contextlib
import itertools
import time
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TextIO

import typer

from edgewise.building import build
from edgewise.cli.options import Reading
from edgewise.cli.tasks import vertex_id
from edgewise.errors import GraphError, ParseError
from edgewise.execution import limited
from edgewise.graph import Graph
from edgewise.graph.ordering import HASH, reordering
from edgewise.io import read, write
from edgewise.io.write import writing
from edgewise.kernels.cache import compile_seconds
from edgewise.progress import progress_bar
from edgewise.text import on_one_line

#: Bytes of a line of a file of ids, and of its id, as Python has them.
_LINE_BYTES = 150


def read_graph(path: str, how: Reading) -> tuple[Graph, float]:
    """The graph in a file, and the seconds that reading took, without compiling."""
    options = how.for_read(path)
    started, compiled = time.perf_counter(), compile_seconds()
    graph = read(path, progress=True, **options)
    return graph, time.perf_counter() - started - (compile_seconds() - compiled)


def build_graph(path: str, output: Path, in_edges: bool, how: Reading, distributed: bool = False) -> Graph:
    """Build a file of a graph within a limit of memory, from the edges in a file and `how` these are read.

    What that takes of the disk is said on standard error.
    """

    def announce(sentence: str) -> None:
        typer.echo(f"edgewise: {on_one_line(sentence)}", err=True)

    options = how.for_read(path)
    options |= {"in_edges": in_edges, "distributed": distributed}
    return build(output, path, progress=True, announce=announce, **options)


def open_order(order: str | None) -> AbstractContextManager[TextIO | None]:
    """The file of `--order`, with an id a line, to be closed in the end; None if it is another order, or none.

    Raises:
        ParseError: it cannot be opened.
    """
    if order is None or order == HASH:
        return contextlib.nullcontext()
    try:
        return open(order, encoding="utf-8-sig")
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise ParseError(f'cannot read {order}: {reason}. --order takes "{HASH}", or a file of ids') from None


def reorder_graph(graph: Graph, lines: TextIO | None, limit: int | None) -> Graph:
    """The graph in the order of the ids in a file, or of hashes for None.

    Raises:
        ParseError: the file is no text.
        GraphError: its lines are not the ids of all vertices, each once.
        MemoryLimitError: it takes more than `limit` bytes beside the graph.
    """
    needed = _LINE_BYTES * graph.num_vertices if lines is not None else 0
    with limited(
        "reordering", graph, limit, lambda: needed + reordering(graph, HASH if lines is None else lines).most
    ):
        if lines is None:
            return graph.reorder(HASH)
        try:
            texts = (line.removesuffix("\n") for line in itertools.islice(lines, graph.num_vertices + 1))
            return graph.reorder([vertex_id(graph, text) for text in texts])
        except UnicodeDecodeError as error:
            raise ParseError(f"{lines.name}: {error}; expected a text in UTF-8, an id a line") from None
        except GraphError as error:
            raise GraphError(f"{lines.name}: {error}") from None


def write_graph(
    graph: Graph,
    output: Path,
    in_edges: bool = False,
    limit: int | None = None,
    quote_formulas: bool = False,
) -> None:
    """Write a graph in the format of the suffix, and show progress.

    Raises:
        OutputError: see `edgewise.io.write`.
        MemoryLimitError: it takes more than `limit` bytes beside the graph.
    """
    with (
        limited(f"writing {output.name}", graph, limit, lambda: writing(graph, output, in_edges)),
        progress_bar(f"writing {output.name}: arcs", graph.num_arcs) as progress,
    ):
        write(graph, output, progress, in_edges=in_edges, quote_formulas=quote_formulas)
