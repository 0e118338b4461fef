"""`edgewise info`: what a graph is like, or this installation."""

import json
from typing import Annotated

import typer

from edgewise.cli.answers import plain_errors, show
from edgewise.cli.options import AsJson, Reading, reads_graph


@reads_graph
def info(
    how: Reading,
    graph_file: Annotated[
        str | None, typer.Argument(metavar="[GRAPH]", help="A file of edges; - for standard input.")
    ] = None,
    device: Annotated[
        bool, typer.Option("--device", help="Describe the GPU, or why none can be used.")
    ] = False,
    brief: Annotated[
        bool,
        typer.Option("--brief", help="Leave out what takes a pass over the edges: degrees and the like."),
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Describe a graph; without one, this installation."""
    with plain_errors():
        from edgewise.cli import facts, report
        from edgewise.cli.graphs import read_graph
        from edgewise.cli.tasks import algorithms

        if device:
            found = report.device_facts()
        elif graph_file is None:
            found = report.installation_facts(algorithms())
        else:
            graph, read_seconds = read_graph(graph_file, how)
            found = facts.graph_facts(graph)
            if not brief:
                found |= facts.facts_of_edges(graph, how.limit())
            found["read_seconds"] = read_seconds
        show(json.dumps(found) if as_json else report.lines(found))
