"""The command line: thin, no algorithm in it. Heavy imports wait until a command needs them."""

import contextlib
import functools
import io
import json
import os
import signal
import socket
import sys
import threading
import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperGroup

from edgewise.text import on_one_line, printable

if TYPE_CHECKING:
    from edgewise.graph import Graph


class Commands(TyperGroup):
    """The commands. Errors in a command line are reported without sending escapes to the terminal."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Read the options that come before the command."""
        with shown_escapes():
            return super().parse_args(ctx, args)

    def invoke(self, ctx: Any) -> Any:
        """Read the options of the command, and run it."""
        with shown_escapes():
            return super().invoke(ctx)


@contextlib.contextmanager
def shown_escapes() -> Iterator[None]:
    """Show characters that are not printable in the message of a wrong command line."""
    try:
        yield
    except Exception as error:  # the class of the error depends on the version of typer
        message = getattr(error, "message", None)
        if isinstance(message, str):
            vars(error)["message"] = on_one_line(message)
        raise


app = typer.Typer(
    cls=Commands,
    help="Graph processing from plain Python.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)

#: Seconds from Ctrl-C to the end of the process, if nothing else ends it.
SECONDS_TO_LEAVE = 0.6
#: Shows the cursor of a terminal, which a progress bar hides.
SHOW_CURSOR = b"\x1b[?25h"

TaskName = Annotated[
    str,
    typer.Argument(
        metavar="ALGORITHM",
        help="An algorithm, such as bfs ('edgewise info' lists them), or my_program.py:MyProgram.",
    ),
]
GraphFile = Annotated[
    Path, typer.Argument(metavar="GRAPH", help="A file of edges, compressed or not, or an .edgewise file.")
]
Source = Annotated[str | None, typer.Option(metavar="ID", help="The vertex to start from.")]
Settings = Annotated[
    list[str] | None,
    typer.Option(
        "--set", metavar="NAME=VALUE", help="Another parameter: --set damping=0.9. May be repeated."
    ),
]
Device = Annotated[str, typer.Option(help="auto, cpu or cuda.")]
Threads = Annotated[int | None, typer.Option(help="CPU threads; by default all.")]
Output = Annotated[
    Path | None, typer.Option(help="Write the values of all vertices: .csv, .tsv, also with .gz.")
]
Top = Annotated[int, typer.Option(min=0, help="How many vertices or components to show.")]
Verify = Annotated[bool, typer.Option("--verify", help="Check the answer against the graph.")]
MemoryLimit = Annotated[
    str | None,
    typer.Option(
        metavar="BYTES",
        help="What reading may take of memory, and the run after it: 4e9, 4GB. Default: what is free, for reading.",
    ),
]
Explain = Annotated[
    bool, typer.Option("--explain", help="Say how it would run and what that takes, and do not run it.")
]
QuoteFormulas = Annotated[
    bool,
    typer.Option(
        "--quote-formulas", help="Put ' before names in the output that spreadsheets take for formulas."
    ),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object.")]
Undirected = Annotated[bool, typer.Option("--undirected", help="Give each edge both directions.")]
Weighted = Annotated[
    bool | None,
    typer.Option("--weighted/--unweighted", help="Whether there are weights, if the file leaves it open."),
]
Delimiter = Annotated[str | None, typer.Option(help="What stands between columns.")]
Reading = Annotated[
    list[str] | None,
    typer.Option(
        "--read",
        metavar="NAME=VALUE",
        help="Another option of edgewise.read: --read header=True. May be repeated.",
    ),
]


WRITTEN = (
    "A new file: .tsv, .txt, .csv, .mtx, also with .gz; .parquet, .npz, .sg, .wsg, .graphml; or .edgewise."
)


@contextlib.contextmanager
def plain_errors() -> Iterator[None]:
    """Print an error of edgewise as one line and exit with code 2; print each of its warnings as a line at once."""
    from edgewise.errors import EdgewiseError, EdgewiseWarning

    show_other = warnings.showwarning

    def show_warning(message: Warning | str, category: type[Warning], *where: Any) -> None:
        if issubclass(category, EdgewiseWarning):
            typer.echo(f"edgewise: warning: {on_one_line(str(message))}", err=True)
        else:
            show_other(message, category, *where)

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("always", EdgewiseWarning)
            warnings.showwarning = show_warning  # type: ignore[assignment]
            yield
    except EdgewiseError as error:
        problem = str(error)
    except MemoryError as error:
        problem = f"there is not enough memory: {error}" if str(error) else "there is not enough memory"
    else:
        return
    typer.echo(f"edgewise: error: {on_one_line(problem)}", err=True)
    raise typer.Exit(2)


def show(text: str) -> None:
    """Print an answer.

    Raises:
        OutputError: it cannot be written: the disk is full, say.
    """
    from edgewise.errors import OutputError

    try:
        typer.echo(printable(text))
    except BrokenPipeError:
        raise
    except OSError as error:
        # Python writes the rest again at its end: let it.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise OutputError(f"cannot write the answer: {error.strerror}") from None


def reading_options(
    path: Path,
    undirected: bool,
    weighted: bool | None,
    delimiter: str | None,
    memory_limit: str | None,
    reading: list[str] | None,
) -> dict[str, Any]:
    """The options of `edgewise.read` that a command line gives."""
    from edgewise.cli.tasks import keywords, parse_settings
    from edgewise.io import read

    options = keywords("edgewise.read", functools.partial(read, path), parse_settings("--read", reading))
    given = {
        "directed": False if undirected else None,
        "weighted": weighted,
        "delimiter": delimiter,
        "memory_limit": memory_limit,
    }
    return options | {name: value for name, value in given.items() if value is not None}


def build_graph(path: Path, output: Path, in_edges: bool, *how: Any) -> "Graph":
    """Build a file of a graph within a limit of memory, from the edges in a file and `how` these are read.

    What that takes of the disk is said on standard error.
    """
    from edgewise.building import build

    def announce(sentence: str) -> None:
        typer.echo(f"edgewise: {on_one_line(sentence)}", err=True)

    options = reading_options(path, *how)
    return build(output, path, in_edges=in_edges, progress=True, announce=announce, **options)


def read_graph(
    path: Path,
    undirected: bool,
    weighted: bool | None,
    delimiter: str | None,
    memory_limit: str | None,
    reading: list[str] | None,
) -> tuple["Graph", float]:
    """The graph in a file, and the seconds that reading took, without compiling."""
    from edgewise.io import read
    from edgewise.kernels.cache import compile_seconds

    options = reading_options(path, undirected, weighted, delimiter, memory_limit, reading)
    started, compiled = time.perf_counter(), compile_seconds()
    graph = read(path, progress=True, **options)
    return graph, time.perf_counter() - started - (compile_seconds() - compiled)


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
    verify: Verify = False,
    explained: Explain = False,
    quote_formulas: QuoteFormulas = False,
    as_json: AsJson = False,
    undirected: Undirected = False,
    weighted: Weighted = None,
    delimiter: Delimiter = None,
    memory_limit: MemoryLimit = None,
    reading: Reading = None,
) -> None:
    """Run an algorithm, or a program of your own, on a graph."""
    if explained and (verify or output is not None):
        raise typer.BadParameter("--explain runs nothing, so there is nothing to --verify, or for --output")
    with plain_errors():
        from edgewise.cli.report import RunReport
        from edgewise.cli.tasks import counting, find_task, left_by_ids, parse_settings, with_ids
        from edgewise.explain import explain
        from edgewise.io.columns import check_writable, write_columns
        from edgewise.memory import as_bytes
        from edgewise.progress import progress_bar
        from edgewise.schedule import Schedule

        task = find_task(name)
        texts = parse_settings("--set", settings, source=source)
        task.check_names(texts)
        if output is not None:
            check_writable(output, graph_file)
        graph, read_seconds = read_graph(graph_file, undirected, weighted, delimiter, memory_limit, reading)
        values = task.arguments(graph, texts)
        limit = as_bytes("memory_limit", memory_limit)
        of_ids = graph.reading_ids()
        left = left_by_ids(graph, task.name, limit, device)
        how = {"device": device, "schedule": Schedule(num_threads=threads), "memory_limit": left}
        if explained:
            with counting(task.name, limit, left):
                lines = explain(task.function, graph, **values, **how).splitlines()
            if of_ids.most:
                lines = [with_ids(line, of_ids) for line in lines]
                lines.append(
                    "the ids of vertices, with which the answer is shown, count within --memory-limit on the CPU: "
                    f"{of_ids.most:,} bytes while they are read, before the run; {of_ids.kept:,} beside the run"
                )
            show(json.dumps({"algorithm": task.name, "explain": lines}) if as_json else "\n".join(lines))
            return
        with counting(task.name, limit, left):
            result = task.function(graph, **values, **how, progress=True)
        if verify:
            result.verify(graph)
        if output is not None:
            table = result.table()
            with progress_bar(f"writing {output.name}: rows", len(next(iter(table.values())))) as progress:
                write_columns(output, table, progress, quote_formulas=quote_formulas)
        report = RunReport(task.name, str(graph_file), result, read_seconds, verify)
        show(json.dumps(report.as_json(top)) if as_json else report.as_text(top))


@app.command()
def info(
    graph_file: Annotated[Path | None, typer.Argument(metavar="[GRAPH]", help="A file of edges.")] = None,
    device: Annotated[
        bool, typer.Option("--device", help="Describe the GPU, or why none can be used.")
    ] = False,
    brief: Annotated[
        bool,
        typer.Option("--brief", help="Leave out what takes a pass over the edges: degrees and the like."),
    ] = False,
    as_json: AsJson = False,
    undirected: Undirected = False,
    weighted: Weighted = None,
    delimiter: Delimiter = None,
    memory_limit: MemoryLimit = None,
    reading: Reading = None,
) -> None:
    """Describe a graph; without one, this installation."""
    with plain_errors():
        from edgewise.cli import report
        from edgewise.cli.tasks import algorithms
        from edgewise.execution import limited
        from edgewise.memory import as_bytes

        if device:
            facts = report.device_facts()
        elif graph_file is None:
            facts = report.installation_facts(algorithms())
        else:
            graph, read_seconds = read_graph(
                graph_file, undirected, weighted, delimiter, memory_limit, reading
            )
            facts = report.graph_facts(graph)
            limit = as_bytes("memory_limit", memory_limit)
            if not brief:
                with limited("info without --brief", graph, limit, lambda: report.degree_bytes(graph)):
                    facts |= report.degree_facts(graph)
            facts["read_seconds"] = read_seconds
        show(json.dumps(facts) if as_json else report.lines(facts))


@app.command()
def generate(
    kind: Annotated[
        str, typer.Argument(metavar="KIND", help="rmat, uniform, lattice, skewed, star, path, cycle.")
    ],
    output: Annotated[Path, typer.Argument(metavar="OUT", help=WRITTEN)],
    settings: Settings = None,
) -> None:
    """Make a graph, the same for one seed on every machine: generate rmat out.tsv.gz --set scale=16."""
    with plain_errors():
        from edgewise.cli.report import graph_line
        from edgewise.cli.tasks import find_generator, keywords, parse_settings, write_graph
        from edgewise.io.write import check_graph_writable

        make = find_generator(kind)
        values = keywords(kind, make, parse_settings("--set", settings))
        check_graph_writable(output)
        graph = make(**values)
        write_graph(graph, output)
        show(f"{on_one_line(str(output))}: {graph_line(graph)}")


@app.command()
def convert(
    graph_file: GraphFile,
    output: Annotated[Path, typer.Argument(metavar="OUT", help=WRITTEN)],
    in_edges: Annotated[
        bool, typer.Option("--in-edges", help="Write in-edges as well, to .edgewise files.")
    ] = False,
    undirected: Undirected = False,
    weighted: Weighted = None,
    delimiter: Delimiter = None,
    memory_limit: MemoryLimit = None,
    reading: Reading = None,
) -> None:
    """Write a graph in another format: convert graph.tsv.gz graph.edgewise makes a file that opens at once."""
    with plain_errors():
        from edgewise.cli.report import graph_line
        from edgewise.cli.tasks import write_graph
        from edgewise.graph.file import SUFFIX
        from edgewise.io.door import is_whole
        from edgewise.io.write import check_graph_writable
        from edgewise.memory import as_bytes
        from edgewise.whole import check_place

        check_graph_writable(output)
        check_place(output, graph_file)
        how = (undirected, weighted, delimiter, memory_limit, reading)
        if memory_limit is not None and output.suffix == SUFFIX and not is_whole(graph_file):
            graph = build_graph(graph_file, output, in_edges, *how)
        else:
            graph, _ = read_graph(graph_file, *how)
            write_graph(graph, output, in_edges, as_bytes("memory_limit", memory_limit))
        show(f"{on_one_line(str(output))}: {graph_line(graph)}")


@app.command()
def verify(
    name: Annotated[str, typer.Argument(metavar="ALGORITHM", help="An algorithm, such as bfs.")],
    graph_file: GraphFile,
    result_file: Annotated[Path, typer.Argument(metavar="RESULT", help="What run --output wrote.")],
    source: Source = None,
    settings: Settings = None,
    undirected: Undirected = False,
    weighted: Weighted = None,
    delimiter: Delimiter = None,
    memory_limit: MemoryLimit = None,
    reading: Reading = None,
) -> None:
    """Check a result in a file against the graph, without running the algorithm again."""
    with plain_errors():
        from edgewise.cli.tasks import find_algorithm, parse_settings
        from edgewise.io.columns import read_columns
        from edgewise.memory import as_bytes

        task = find_algorithm(name)
        texts = parse_settings("--set", settings, source=source)
        task.check_names(texts)
        columns = read_columns(result_file, as_bytes("memory_limit", memory_limit))
        graph, _ = read_graph(graph_file, undirected, weighted, delimiter, memory_limit, reading)
        task.result.verify_columns(graph, columns, **task.arguments(graph, texts))
        passed = f"{result_file} passes the verifier of {name} on {graph_file}"
        show(on_one_line(passed))


def leave_on_interrupt() -> None:
    """Make Ctrl-C end the process in any case, compiled code or not.

    Python handles Ctrl-C in the main thread between two steps of Python, so a long call into compiled code delays it.
    A process that still runs a moment later is ended here. Files are written in Python, so none stays half-written.
    Another Ctrl-C in that moment changes nothing, and a process that was started with Ctrl-C ignored ignores it.
    """
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        return
    reader, writer = socket.socketpair()
    writer.setblocking(False)
    signal.set_wakeup_fd(writer.fileno())

    def watch() -> None:
        with reader, writer:
            while reader.recv(1)[0] != signal.SIGINT:
                pass
            time.sleep(SECONDS_TO_LEAVE)
            if sys.stderr.isatty():
                os.write(sys.stderr.fileno(), SHOW_CURSOR)
            os._exit(130)

    threading.Thread(target=watch, name="edgewise-interrupt", daemon=True).start()
    signal.signal(signal.SIGINT, interrupt_once)


def interrupt_once(*interruption: Any) -> None:
    """Handle the first Ctrl-C; the others are ignored.

    Raises:
        KeyboardInterrupt: always.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    raise KeyboardInterrupt


def main() -> None:
    """Run a command line to its end; see `edgewise_command` for the command `edgewise`."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # for terminals of few characters
    leave_on_interrupt()
    try:
        app()
    except KeyboardInterrupt:  # before the command has begun, or at its end
        sys.exit(130)
    finally:
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # Python would print a traceback while it ends
