"""The command line: thin, no algorithm in it. Heavy imports wait until a command needs them."""

import contextlib
import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from edgewise.graph import Graph

app = typer.Typer(
    help="Graph processing from plain Python.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)

TaskName = Annotated[
    str,
    typer.Argument(metavar="ALGORITHM", help="bfs, sssp, pagerank, components, or my_program.py:MyProgram."),
]
GraphFile = Annotated[Path, typer.Argument(metavar="GRAPH", help="A file of edges, compressed or not.")]
Source = Annotated[str | None, typer.Option(metavar="ID", help="The vertex to start from.")]
Settings = Annotated[
    list[str] | None,
    typer.Option(
        "--set", metavar="NAME=VALUE", help="Another parameter: --set damping=0.9. May be repeated."
    ),
]
Device = Annotated[str, typer.Option(help="auto or cpu.")]
Threads = Annotated[int | None, typer.Option(help="CPU threads; by default all.")]
Output = Annotated[
    Path | None, typer.Option(help="Write the values of all vertices: .csv, .tsv, also with .gz.")
]
Top = Annotated[int, typer.Option(min=0, help="How many vertices or components to show.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object.")]
Undirected = Annotated[bool, typer.Option("--undirected", help="Each line is an edge in both directions.")]


@contextlib.contextmanager
def plain_errors() -> Iterator[None]:
    """Turn what edgewise refuses into one line and exit code 2."""
    from edgewise.errors import EdgewiseError

    try:
        yield
    except EdgewiseError as error:
        typer.echo(f"edgewise: error: {error}", err=True)
        raise typer.Exit(2) from None


def read_graph(path: Path, **options: Any) -> tuple["Graph", float]:
    """The graph in a file, and the seconds that reading took."""
    import edgewise

    started = time.perf_counter()
    graph = edgewise.read(path, **options)
    return graph, time.perf_counter() - started


@app.command()
def run(
    name: TaskName,
    graph_file: GraphFile,
    source: Source = None,
    settings: Settings = None,
    device: Device = "auto",
    threads: Threads = None,
    output: Output = None,
    top: Top = 10,
    verify: Annotated[bool, typer.Option("--verify", help="Check the answer against the graph.")] = False,
    as_json: AsJson = False,
) -> None:
    """Run an algorithm, or a program of your own, on a graph."""
    with plain_errors():
        from edgewise.io.columns import check_writable, write_columns
        from edgewise.report import RunReport
        from edgewise.schedule import Schedule
        from edgewise.tasks import find_task, parse_settings

        task = find_task(name)
        texts = parse_settings(settings or [], source)
        task.check_names(texts)
        if output is not None:
            check_writable(output)
        graph, read_seconds = read_graph(graph_file)
        values = task.arguments(graph, texts)
        result = task.function(
            graph, **values, device=device, schedule=Schedule(num_threads=threads), progress=True
        )
        if verify:
            result.verify(graph)
        if output is not None:
            write_columns(output, {"vertex": graph.vertices, **result.columns()})
        report = RunReport(task.name, str(graph_file), result, task.view, read_seconds, verify)
        typer.echo(json.dumps(report.as_json(top)) if as_json else report.as_text(top))


@app.command()
def info(
    graph_file: Annotated[Path | None, typer.Argument(metavar="[GRAPH]")] = None, as_json: AsJson = False
) -> None:
    """Describe a graph; without one, this installation."""
    with plain_errors():
        from edgewise import report

        if graph_file is None:
            facts = report.installation_facts()
        else:
            graph, read_seconds = read_graph(graph_file)
            facts = {**report.graph_facts(graph), **report.degree_facts(graph), "read_seconds": read_seconds}
        typer.echo(json.dumps(facts) if as_json else report.lines(facts))


def main() -> None:
    """The entry point of the command `edgewise`."""
    app()


if __name__ == "__main__":
    main()
