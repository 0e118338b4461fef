"""`edgewise run`: an algorithm, or a program of the user's own, on a graph."""

import contextlib
import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from edgewise.cli import completion
from edgewise.cli.answers import placed, plain_errors, show
from edgewise.cli.options import (
    STANDARD,
    Algorithm,
    AsJson,
    GraphFile,
    QuoteFormulas,
    Reading,
    Settings,
    Source,
    To,
    reads_graph,
)

if TYPE_CHECKING:
    from edgewise.cli.tasks import Task
    from edgewise.graph import Graph
    from edgewise.result import Result


@reads_graph
def run(
    name: Algorithm,
    graph_file: GraphFile,
    how: Reading,
    source: Source = None,
    settings: Settings = None,
    device: Annotated[
        str, typer.Option(help="auto, cpu or cuda.", autocompletion=completion.devices)
    ] = "auto",
    threads: Annotated[int | None, typer.Option(help="CPU threads; by default all.")] = None,
    output: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            help="Write the values of all vertices: .csv, .tsv, .json, .jsonl, each also with .gz, or .parquet; "
            "- for standard output.",
        ),
    ] = None,
    to: To = None,
    quote_formulas: QuoteFormulas = False,
    top: Annotated[int, typer.Option(min=0, help="How many vertices or components to show.")] = 10,
    verify: Annotated[bool, typer.Option("--verify", help="Check the answer against the graph.")] = False,
    explained: Annotated[
        bool, typer.Option("--explain", help="Say how it would run and what that takes, and do not run it.")
    ] = False,
    distributed: Annotated[
        bool, typer.Option("--distributed", help="Run on all ranks that torchrun has started, together.")
    ] = False,
    checkpoint: Annotated[
        str | None,
        typer.Option(
            metavar="FOLDER", help="With --distributed: where a program keeps its state, to go on from."
        ),
    ] = None,
    every: Annotated[
        int | None,
        typer.Option(
            min=1, help="With --checkpoint: how many supersteps lie between two checkpoints; by default 10."
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Run an algorithm, or a program of your own, on a graph."""
    if checkpoint is not None and not distributed:
        raise typer.BadParameter("--checkpoint is for runs with --distributed")
    if every is not None and checkpoint is None:
        raise typer.BadParameter("--every is for runs with --checkpoint FOLDER, which is not given")
    if explained and (verify or output is not None):
        raise typer.BadParameter("--explain runs nothing, so there is nothing to --verify, or for --output")
    if to is not None and output is None:
        raise typer.BadParameter("--to is the format of --output -, which is not given")
    with plain_errors(), contextlib.ExitStack() as files:
        from edgewise.cli.graphs import read_graph
        from edgewise.cli.report import RunReport
        from edgewise.cli.tasks import counting, find_task, left_by_ids, parse_parameters
        from edgewise.io.columns import check_writable
        from edgewise.schedule import Schedule

        task = find_task(name)
        given = parse_parameters(settings, source)
        task.check_names(given)
        speaks, of_ranks = _of_ranks(task, checkpoint, every) if distributed else (True, {})
        if distributed:
            from edgewise.engine.distributed.group import telling_errors

            files.enter_context(telling_errors())
        place = files.enter_context(placed(output, to, "csv")) if output is not None and speaks else None
        if place is not None:
            check_writable(place, Path(graph_file), quote_formulas=quote_formulas)
        graph, read_seconds = read_graph(graph_file, how)
        values, limit = task.arguments(graph, given), how.limit()
        of_ids = graph.reading_ids()
        left = left_by_ids(graph, task.name, limit, device)
        options = {"device": device, "schedule": Schedule(num_threads=threads), "memory_limit": left}
        options |= of_ranks
        with counting(task.name, limit, left):
            if explained:
                lines = _explained(task, graph, of_ids, {**values, **options})
                if not speaks:
                    return
                show(json.dumps({"algorithm": task.name, "explain": lines}) if as_json else "\n".join(lines))
                return
            result: Any = task.function(graph, **values, **options, progress=speaks)
        if distributed and task.is_program:  # algorithms give the whole result on each rank
            result, output_is_written = _of_all_ranks(result, output, quote_formulas, verify, top, speaks)
            place = None if output_is_written else place
        if not speaks:
            return
        if verify:
            result.verify(graph)
        if place is not None:
            _write(result, place, quote_formulas)
            files.close()
        report = RunReport(task.name, graph_file, result, read_seconds, verify)
        show(json.dumps(report.as_json(top)) if as_json else report.as_text(top), beside=output)


def _of_all_ranks(
    result: Any, output: str | None, quote_formulas: bool, verify: bool, top: int, speaks: bool
) -> tuple["Result", bool]:
    """What is shown of a program's result on ranks: the whole only where it has to be had in one place. And whether the
    output is written."""
    from edgewise.io.columns import is_text
    from edgewise.progress import progress_bar

    if verify or (output is not None and (output == STANDARD or not is_text(Path(output)))):
        return result.gather(), False
    if output is not None:
        own = result.vertices.stop - result.vertices.start
        bar = progress_bar(f"writing {Path(output).name}: rows of this rank", own) if speaks else None
        with bar or contextlib.nullcontext() as progress:
            result.write(output, quote_formulas=quote_formulas, progress=progress)
    return result.leading(top), output is not None


def _of_ranks(task: "Task", checkpoint: str | None, every: int | None) -> tuple[bool, dict[str, Any]]:
    """Whether this rank prints and writes the answer, and the options of a run on all ranks."""
    from edgewise.engine.distributed.group import connect
    from edgewise.errors import ProgramError

    options: dict[str, Any] = {"distributed": True}
    if checkpoint is not None:
        if not task.is_program:
            raise ProgramError(f"{task.name}: --checkpoint is for programs; leave it out")
        options |= {"checkpoint": checkpoint, "every": every}
    return connect().rank == 0, options


def _explained(task: "Task", graph: "Graph", of_ids: Any, how: dict[str, Any]) -> list[str]:
    """How a run would go, in lines, in which the memory of ids that were read counts."""
    from edgewise.cli.tasks import with_ids
    from edgewise.explain import explain

    lines = explain(task.function, graph, **how).splitlines()
    if not of_ids.most:
        return lines
    return [
        *(with_ids(line, of_ids) for line in lines),
        "the ids of vertices, with which the answer is shown, count within --memory-limit on the CPU: "
        f"{of_ids.most:,} bytes while they are read, before the run; {of_ids.kept:,} beside the run",
    ]


def _write(result: "Result", place: Path, quote_formulas: bool) -> None:
    """Write the values of a result to a file, and show progress."""
    from edgewise.io.columns import write_columns
    from edgewise.progress import progress_bar

    table = result.table()
    with progress_bar(f"writing {place.name}: rows", len(next(iter(table.values())))) as progress:
        write_columns(place, table, progress, quote_formulas=quote_formulas, missing=result.missing())
