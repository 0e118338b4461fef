"""`edgewise verify`: a result in a file, checked against the graph."""

import json
from pathlib import Path
from typing import Annotated

import typer

from edgewise.cli.answers import plain_errors, show
from edgewise.cli.options import (
    STANDARD,
    Algorithm,
    AsJson,
    GraphFile,
    Reading,
    Settings,
    Source,
    reads_graph,
)
from edgewise.text import on_one_line


@reads_graph
def verify(
    name: Algorithm,
    graph_file: GraphFile,
    result_file: Annotated[str, typer.Argument(metavar="RESULT", help="What run --output wrote.")],
    how: Reading,
    source: Source = None,
    settings: Settings = None,
    as_json: AsJson = False,
) -> None:
    """Check a result in a file against the graph, without running the algorithm again."""
    with plain_errors():
        from edgewise.cli.graphs import read_graph
        from edgewise.cli.tasks import find_algorithm, parse_parameters
        from edgewise.errors import ParseError
        from edgewise.io.columns import read_columns

        if result_file == STANDARD:
            raise ParseError("RESULT is read from a file, whose name says its format; got -, standard input")
        task = find_algorithm(name)
        given = parse_parameters(settings, source)
        task.check_names(given)
        columns = read_columns(Path(result_file), how.limit())
        graph, _ = read_graph(graph_file, how)
        task.result.verify_columns(graph, columns, **task.arguments(graph, given))
        if as_json:
            show(
                json.dumps(
                    {"algorithm": task.name, "graph": graph_file, "result": result_file, "verified": True}
                )
            )
        else:
            show(on_one_line(f"{result_file} passes the verifier of {task.name} on {graph_file}"))
