"""Measure: `python -m benchmarks`. See docs/benchmarks.md for what is timed and how."""

import argparse
import gc
import sys
from collections.abc import Iterator
from dataclasses import MISSING, fields
from pathlib import Path

from benchmarks.check import disagreement
from benchmarks.contenders import ALGORITHMS, Contender, Edges
from benchmarks.graphs import GRAPHS
from benchmarks.options import add_names
from benchmarks.ours import Edgewise, Plain
from benchmarks.results import Row, all_needed, as_rows, at_least_one, dated, given_rows, machine, write_rows
from benchmarks.rivals import RIVALS
from benchmarks.table import tables
from benchmarks.timing import Outcome, columns_of, measure_in_turns
from edgewise.kernels.cpu.team import available_threads


def arguments() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks", description="Time and verify edgewise and its rivals."
    )
    add_names(parser, "--graphs", GRAPHS)
    add_names(parser, "--algorithms", ALGORITHMS)
    add_names(parser, "--rivals", (rival.name for rival in RIVALS), may_be_none=True)
    parser.add_argument("--no-plain", action="store_true", help="leave out the programs of examples/")
    parser.add_argument(
        "--repeat", type=at_least_one, default=9, help="rounds of warm calls (default: %(default)s)"
    )
    parser.add_argument(
        "--output",
        type=Path,
        default=dated(f"{available_threads()}-cores"),
        help="a new file (default: %(default)s)",
    )
    parser.add_argument("--show", type=Path, help="only print the tables of a CSV file of results")
    return parser.parse_args()


def contenders(rivals: list[str], plain: bool) -> list[type[Contender]]:
    """edgewise first, then the rivals that are installed."""
    classes: list[type[Contender]] = [Edgewise]
    if plain:
        classes.append(Plain)
    for rival in RIVALS:
        if rival.name in rivals and rival.installed():
            classes.append(rival)
        elif rival.name in rivals:
            print(f"{rival.name} is not installed: left out. To install it: pip install {rival.package}")
    _use_all_threads(classes)
    return classes


def _use_all_threads(classes: list[type[Contender]]) -> None:
    """Give networkit, the one rival with threads, as many as edgewise uses."""
    if any(each.name == "networkit" for each in classes):
        import networkit

        networkit.setNumberOfThreads(available_threads())


def measure_graph(
    edges: Edges, classes: list[type[Contender]], algorithms: list[str], repeat: int
) -> Iterator[Row]:
    """The rows of one graph: every algorithm, by every contender."""
    loaded = {each.name: each(edges) for each in classes}
    for algorithm in algorithms:
        tasks = {name: getattr(each, algorithm) for name, each in loaded.items() if algorithm in each.tasks}
        outcomes = measure_in_turns(tasks, repeat)
        reference = answer_of(outcomes[Edgewise.name])
        for name, outcome in outcomes.items():
            verdict = judged(edges, outcome, reference)
            row = row_of(edges, algorithm, loaded[name], outcome, verdict)
            print(
                f"  {algorithm:<11} {name:<15} {row.seconds:10.4g} s   {row.verified}  {row.note}", flush=True
            )
            yield row


def answer_of(outcome: Outcome) -> object:
    """Our own answer, which its verifier has accepted; a failure of ours ends the measurement."""
    if outcome.error is not None:
        raise outcome.error
    return outcome.job.answer(outcome.result)


def judged(edges: Edges, outcome: Outcome, reference: object) -> str:
    """The word "yes", or what is wrong with an answer."""
    if outcome.error is not None:
        return f"{type(outcome.error).__name__}: {outcome.error}"
    return disagreement(edges, outcome.job, outcome.job.answer(outcome.result), reference) or "yes"


def row_of(edges: Edges, algorithm: str, contender: Contender, outcome: Outcome, verdict: str) -> Row:
    """One row of the results."""
    return Row(
        **machine(),
        graph=edges.name,
        vertices=edges.num_vertices,
        arcs=len(edges.arcs()[0]),
        algorithm=algorithm,
        contender=contender.name,
        version=contender.version(),
        **columns_of(outcome),
        verified=verdict,
        source=str(edges.start) if algorithm in ("bfs", "sssp") else "",
    )


def measure(
    graphs: list[str], classes: list[type[Contender]], algorithms: list[str], repeat: int
) -> Iterator[Row]:
    """The rows of all graphs."""
    for name in graphs:
        edges = GRAPHS[name]()
        if edges is None:
            print(f"{name}: its file is not there; left out")
            continue
        print(f"{name}: {edges.num_vertices:,} vertices, {len(edges.source):,} edges", flush=True)
        yield from measure_graph(edges, classes, algorithms, repeat)
        gc.collect()


def main() -> None:
    """Measure what was asked for, write the rows, and print the tables."""
    options = arguments()
    if options.show:
        needed = [each.name for each in fields(Row) if each.default is MISSING]
        with all_needed(options.show):
            print(tables(as_rows(given_rows(options.show, needed))))
        return
    classes = contenders(options.rivals, not options.no_plain)
    rows = write_rows(options.output, measure(options.graphs, classes, options.algorithms, options.repeat))
    if not rows:
        sys.exit("nothing was measured, and no file is written: no graph is there; name others: --graphs")
    print(f"\n{tables(rows)}\n\nrows: {options.output}")


if __name__ == "__main__":
    main()
