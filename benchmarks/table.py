"""Measured rows as Markdown tables: readable on a terminal, and fit for the README."""

import math
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

from benchmarks.contenders import ALGORITHMS
from benchmarks.results import Row

OURS, PLAIN, BASE = "edgewise", "edgewise-plain", "scipy"

#: The level of GAP's C++ reference code, as multiples of SciPy in the same run on two cores.
GOALS = {
    "bfs": {"rmat18": 3.4, "rmat20": 6.6, "uniform18": 3.2, "road1024": 1.05},
    "sssp": {"rmat18": 3.1, "rmat20": 3.9, "uniform18": 3.0, "road1024": 5.0},
    "pagerank": {"rmat18": 2.5, "rmat20": 1.8, "uniform18": 2.4, "road1024": 2.0},
    "components": {"rmat18": 9.0, "rmat20": 13.0, "uniform18": 13.0, "road1024": 6.0},
}


def tables(rows: Sequence[Row]) -> str:
    """One table for each algorithm: seconds of all, and how many times faster edgewise is.

    "x scipy" and "x best" are the seconds of SciPy, and of the fastest rival, over those of edgewise;
    "goal" is the multiple of SciPy at the level of GAP's C++ code; "plain / ours" is what the same
    algorithm costs as a program on the general engine.
    """
    found = {(row.algorithm, row.graph, row.contender): row for row in rows}
    return "\n\n".join(
        _table(algorithm, rows, found)
        for algorithm in ALGORITHMS
        if any(r.algorithm == algorithm for r in rows)
    )


def _table(algorithm: str, rows: Sequence[Row], found: dict[tuple[str, str, str], Row]) -> str:
    graphs = list(dict.fromkeys(row.graph for row in rows if row.algorithm == algorithm))
    names = list(dict.fromkeys(row.contender for row in rows if row.algorithm == algorithm))
    rivals = [name for name in names if name not in (OURS, PLAIN)]
    head = [algorithm, *names, "x scipy", "goal", "x best", "plain / ours"]
    body = []
    for graph in graphs:
        timed = [row for name in names if (row := found.get((algorithm, graph, name))) and row.seconds > 0]
        seconds = {row.contender: row.seconds for row in timed}
        best = min((seconds[name] for name in rivals if name in seconds), default=None)
        ratios = [
            _ratio(seconds.get(BASE), seconds.get(OURS)),
            _number(GOALS.get(algorithm, {}).get(graph)),
            _ratio(best, seconds.get(OURS)),
            _ratio(seconds.get(PLAIN), seconds.get(OURS)),
        ]
        body.append([graph, *(_seconds(found.get((algorithm, graph, name))) for name in names), *ratios])
    return markdown(head, body) + _mean(algorithm, found)


def _mean(algorithm: str, found: dict[tuple[str, str, str], Row]) -> str:
    """The geometric mean over the graphs that have a goal, if all of them were measured."""
    goals = GOALS.get(algorithm, {})
    pairs = [(found.get((algorithm, graph, BASE)), found.get((algorithm, graph, OURS))) for graph in goals]
    measured = [base.seconds / ours.seconds for base, ours in pairs if base and ours]
    if not goals or len(measured) < len(goals):
        return ""
    shares = [got / goal for got, goal in zip(measured, goals.values(), strict=True)]
    return (
        f"\n\n{algorithm}: geometric mean {_mean_of(measured):.2f} x scipy over {', '.join(goals)}; the goal "
        f"is {_mean_of(list(goals.values())):.2f}. Smallest share of a goal: {min(shares):.2f}."
    )


def lacking(expected: Iterable[str], found: Iterable[str], kinds: Iterable[tuple[str, str]] = ()) -> str:
    """What stands above claims if there are no rows of some graphs, or of a kind that others have; nothing if all are
    there.

    Args:
        expected, found: graphs that a program measures, and those that rows are of.
        kinds: of rows, the graph and what they are of.

    Raises:
        ValueError: rows of a graph that the program does not measure.
    """
    expected, there, pairs = list(expected), set(found), set(kinds)
    unknown = there - set(expected)
    if unknown:
        raise ValueError(f"rows of {', '.join(sorted(unknown))}, where graphs are {', '.join(expected)}")
    missing = [graph for graph in expected if graph not in there]
    for kind in sorted({kind for _, kind in pairs}):
        missing += [
            f"{graph} ({kind})" for graph in expected if graph in there and (graph, kind) not in pairs
        ]
    said = "what is said below is of the others, or says no where they are needed"
    return f"**Without rows of {', '.join(missing)}**: {said}.\n\n" if missing else ""


def _mean_of(values: Sequence[float]) -> float:
    return math.exp(sum(map(math.log, values)) / len(values))


def _ratio(slow: float | None, fast: float | None) -> str:
    return _number(slow / fast if slow is not None and fast else None)


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.2f}"


def _seconds(row: Row | None) -> str:
    if row is None:
        return "-"
    if math.isnan(row.seconds):
        return "failed"
    return f"{row.seconds:.3g}" if row.verified == "yes" else f"{row.seconds:.3g} (wrong)"


def markdown(head: list[str], body: list[list[str]], left: int = 1) -> str:
    """A Markdown table with aligned columns, the first `left` of them to the left."""
    widths = [max(len(line[column]) for line in [head, *body]) for column in range(len(head))]
    rule = ["-" * width if i < left else "-" * (width - 1) + ":" for i, width in enumerate(widths)]

    def line(cells: list[str]) -> str:
        pairs = enumerate(zip(cells, widths, strict=True))
        padded = [cell.ljust(width) if i < left else cell.rjust(width) for i, (cell, width) in pairs]
        return f"| {' | '.join(padded)} |"

    return "\n".join([line(head), line(rule), *map(line, body)])


def fill(text: str, made: dict[str, str]) -> str:
    """A document with tables put between their marks, of which the last begins in the column of the first.

    Raises:
        ValueError: if the document has not one place for each table, from its name to the next end.
    """
    for name, table in made.items():
        begin, end = f"<!-- {name} -->\n", "<!-- end -->"
        before, _, rest = text.partition(begin)
        old, mark, after = rest.partition(end)
        if text.count(begin) != 1 or not mark or "<!--" in old:
            raise ValueError(
                f"has {text.count(begin)} lines <!-- {name} -->, expected one, and {end} below it before other marks"
            )
        margin = " " * (len(before) - len(before.rstrip(" ")))
        text = f"{before}{begin}{table}\n{margin}{end}{after}"
    return text


def filled(document: Path, made: dict[str, str]) -> str:
    """The text of a file with tables put into their places. The process ends if it is not the page of these tables."""
    try:
        return fill(document.read_text(encoding="utf-8"), made)
    except (OSError, ValueError) as error:
        sys.exit(f"{document}: {error}; name the page of these tables, or mend its marks")


def show(made: dict[str, str], document: Path | None) -> None:
    """Print tables, and put them into a document."""
    text = filled(document, made) if document else ""
    for name, table in made.items():
        print(f"<!-- {name} -->\n{table}\n<!-- end -->\n")
    if document:
        document.write_text(text, encoding="utf-8")
