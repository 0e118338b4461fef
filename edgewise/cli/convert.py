"""`edgewise convert`, `edgewise generate`: files of graphs, from other files and from nothing."""

import contextlib
import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from edgewise.cli import completion
from edgewise.cli.answers import placed, plain_errors, show
from edgewise.cli.options import (
    STANDARD,
    AsJson,
    GraphFile,
    GraphOutput,
    QuoteFormulas,
    Reading,
    Settings,
    To,
    reads_graph,
)
from edgewise.text import on_one_line

if TYPE_CHECKING:
    from edgewise.graph import Graph


@reads_graph
def convert(
    graph_file: GraphFile,
    output: GraphOutput,
    how: Reading,
    to: To = None,
    in_edges: Annotated[
        bool, typer.Option("--in-edges", help="Write in-edges as well, to .edgewise files.")
    ] = False,
    order: Annotated[
        str | None,
        typer.Option(
            "--order",
            metavar="FILE|hash",
            help="Put vertices into the order of the ids in a file, one a line, or of a hash.",
        ),
    ] = None,
    quote_formulas: QuoteFormulas = False,
    distributed: Annotated[
        bool,
        typer.Option(
            "--distributed", help="Make an .edgewise file on all ranks that torchrun has started, together."
        ),
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Write a graph in another format: convert graph.tsv.gz graph.edgewise makes a file that opens at once."""
    if distributed and (Path(output).suffix != ".edgewise" or quote_formulas or order is not None):
        raise typer.BadParameter(
            "--distributed makes a new file whose name ends in .edgewise; expected that, without --quote-formulas "
            "and --order"
        )
    with plain_errors(), contextlib.ExitStack() as files:
        from edgewise.cli.graphs import build_graph, open_order, read_graph, reorder_graph, write_graph
        from edgewise.graph.file import SUFFIX
        from edgewise.io.door import is_whole
        from edgewise.io.write import check_graph_writable
        from edgewise.whole import check_place

        place = files.enter_context(placed(output, to))
        check_graph_writable(place)
        check_place(place, *filter(None, (graph_file, order)))
        if distributed:
            from edgewise.engine.distributed.group import connect

            graph = build_graph(graph_file, place, in_edges, how, distributed=True)
            if connect().rank == 0:
                _tell(graph, output, as_json)
            return
        lines = files.enter_context(open_order(order))
        within_limit = how.memory_limit is not None and place.suffix == SUFFIX and order is None
        if within_limit and not quote_formulas and graph_file != STANDARD and not is_whole(Path(graph_file)):
            graph = build_graph(graph_file, place, in_edges, how)
        else:
            graph, _ = read_graph(graph_file, how)
            if order is not None:
                graph = reorder_graph(graph, lines, how.limit())
            write_graph(graph, place, in_edges, how.limit(), quote_formulas)
        files.close()
        _tell(graph, output, as_json)


def generate(
    kind: Annotated[
        str,
        typer.Argument(
            metavar="KIND",
            help=f"{', '.join(completion.GENERATORS)}.",
            autocompletion=completion.generators,
        ),
    ],
    output: GraphOutput,
    settings: Settings = None,
    undirected: Annotated[
        bool, typer.Option("--undirected", help="Give each edge both directions: --set directed=False.")
    ] = False,
    to: To = None,
    as_json: AsJson = False,
) -> None:
    """Make a graph, the same for one seed on every machine: generate rmat out.tsv.gz --set scale=16."""
    with plain_errors("--set"), contextlib.ExitStack() as files:
        from edgewise.cli.graphs import write_graph
        from edgewise.cli.tasks import find_generator, keywords, parse_settings
        from edgewise.io.write import check_graph_writable

        make = find_generator(kind)
        texts = parse_settings("--set", settings)
        values = keywords(kind, make, texts | ({"directed": "false"} if undirected else {}))
        place = files.enter_context(placed(output, to))
        check_graph_writable(place)
        graph = make(**values)
        write_graph(graph, place)
        files.close()
        _tell(graph, output, as_json)


def _tell(graph: "Graph", output: str, as_json: bool) -> None:
    """Say what was written, and where."""
    from edgewise.cli.facts import graph_facts, graph_line

    if as_json:
        show(json.dumps({"output": output, **graph_facts(graph)}), beside=output)
    else:
        name = "standard output" if output == STANDARD else on_one_line(output)
        show(f"{name}: {graph_line(graph)}", beside=output)
