"""Graphs of command lines: read from a file or from standard input, built, and written."""

import time
from pathlib import Path

import typer

from edgewise.building import build
from edgewise.cli.options import Reading
from edgewise.execution import limited
from edgewise.graph import Graph
from edgewise.io import read, write
from edgewise.io.write import writing
from edgewise.kernels.cache import compile_seconds
from edgewise.progress import progress_bar
from edgewise.text import on_one_line


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
