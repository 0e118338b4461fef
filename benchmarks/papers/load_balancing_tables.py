"""The tables of docs/papers/load_balancing.md, from what `load_balancing` measured.

Times are compared three times: those of the kernel, those of the whole, with all overhead, and those of delivering
messages alone. "Shorter" is 1 - time / time of BS, in percent. What was not measured, out of memory included, is NaN:
no claim holds for it.
"""

import ast
import math
import statistics
from collections.abc import Callable, Iterable
from pathlib import Path

from benchmarks.papers.load_balancing_setup import FILES, STRATEGIES
from benchmarks.results import csv_rows
from benchmarks.table import markdown
from edgewise import balance

#: Times: the kernel's, that part of it in which messages are delivered, a run's, and what a strategy makes of a graph
#: beforehand; with that, as in the paper, all its overhead and the whole, which are sums of columns.
KERNEL, DELIVERING, RUN, BEFOREHAND = "kernel_ms", "delivering_ms", "ms", "layout_ms"
OVERHEAD, WHOLE = "overhead", "whole"
_SUMS = {OVERHEAD: ("overhead_ms", BEFOREHAND), WHOLE: (RUN, BEFOREHAND)}
PAPERS = tuple(FILES)
NAMES = {"sssp": "SSSP", "bfs": "BFS"}
#: Largest out-degree and standard deviation as printed in Table II. (Its other graphs were not run here.)
PRINTED = {
    "rmat20": (1181, 177.40),
    "road-FLA": (8, 2.45),
    "ER20": (15, 4.47),
    "ER23": (10, 4.46),
    **{f"graph500-{seed}": (924_000, 20_900.0) for seed in (1, 2, 3)},
}
LINES = "lines of code"
#: EP whose work chunking is that of a vertex, as in the paper.
BY_VERTEX = "EP, by vertex"
#: The paper's strategies with that EP.
AS_PRINTED = tuple(BY_VERTEX if name == "EP" else name for name in PAPERS)
#: What tables of claims call the two.
EPS = {BY_VERTEX: "EP by vertex", "EP": "EP by warp"}
#: HP leaves short lists to WD.
BUILT_ON = {"HP": "WD"}


class Found:
    """The rows of a CSV file, of which none may have a wrong answer.

    Attributes:
        rows: by graph, program and strategy, each a dictionary of what stands in the file.
        graphs: names, in the file's order.
        strategies: names, in the order of `STRATEGIES`.
    """

    def __init__(self, path: Path) -> None:
        rows = csv_rows(path)
        wrong = [
            f"{row['graph']}, {row['program']}, {row['strategy']}" for row in rows if row["right"] == "False"
        ]
        if wrong:
            raise SystemExit(
                f"{path}: wrong answers have no place on the page: {'; '.join(wrong)}; measure again"
            )
        self.rows = {(row["graph"], row["program"], row["strategy"]): row for row in rows}
        self.graphs = list(dict.fromkeys(row["graph"] for row in rows))
        there = {row["strategy"] for row in rows}
        self.strategies = [name for name in STRATEGIES if name in there]

    def number(self, graph: str, program: str, strategy: str, field: str) -> float:
        """A field of a row; NaN where it was not measured. Runs that are not in rounds have no time of a kernel."""
        if field in _SUMS:
            return sum(self.number(graph, program, strategy, part) for part in _SUMS[field])
        text = self.rows.get((graph, program, strategy), {}).get(field, "")
        value = float(text) if text else math.nan
        return math.nan if field in (KERNEL, DELIVERING) and value == 0 else value

    def fact(self, graph: str, field: str) -> float:
        """A number that each row of a graph has."""
        return next(float(row[field]) for row in self.rows.values() if row["graph"] == graph)

    def distribution(self, graph: str, field: str) -> tuple[list[int], list[float]]:
        """Degrees, and how many vertices have each: those of a range of degrees have equal parts of its vertices."""
        pairs = [pair.split(":") for pair in self.rows[graph, "sssp", "NS"][field].split()]
        starts, counts = [int(start) for start, _ in pairs], [int(count) for _, count in pairs]
        ends = [*starts[1:], 2 * starts[-1] - starts[-2] if len(starts) > 1 else starts[-1] + 1]
        widths = [end - start for start, end in zip(starts, ends, strict=True)]
        return starts, [count / width for count, width in zip(counts, widths, strict=True)]

    def shorter(self, program: str, strategy: str, graph: str, field: str) -> float:
        """By how many percent a strategy's time is shorter than that of BS."""
        return 100 - 100 * self.ratio(program, strategy, graph, field)

    def ratio(self, program: str, strategy: str, graph: str, field: str) -> float:
        """A strategy's time over that of BS."""
        return self.number(graph, program, strategy, field) / self.number(graph, program, "BS", field)

    def memory(self, graph: str, program: str, strategy: str) -> float:
        """Bytes: the graph, what the strategy made for it, a layout if one was made, and the run with its results."""
        kinds = ("graph_bytes", "strategy_bytes", "layout_bytes", "run_bytes")
        return sum(self.number(graph, program, strategy, kind) for kind in kinds)

    def chunking(self, graph: str, program: str, field: str = KERNEL, strategy: str = "EP") -> float:
        """The speed-up of EP by work chunking: that of a warp, or another strategy's."""
        times = [self.number(graph, program, name, field) for name in ("EP, no chunking", strategy)]
        return times[0] / times[1]

    def named(self, *beginnings: str) -> list[str]:
        """The graphs whose names begin so."""
        return [graph for graph in self.graphs if graph.startswith(beginnings)]


def shown(value: float, digits: int = 0, unit: str = "") -> str:
    """A number, or a dash for NaN."""
    return "-" if math.isnan(value) else f"{value:,.{digits}f}{unit}"


def span(values: Iterable[float], digits: int = 0, unit: str = "") -> str:
    """The least and the largest of some numbers."""
    known = sorted(value for value in values if not math.isnan(value))
    if not known:
        return "-"
    low, high = shown(known[0], digits), shown(known[-1], digits)
    return f"{low}{unit}" if low == high else f"{low} to {high}{unit}"


def graphs_table(found: Found) -> str:
    """Table II, and the largest deviation that the printed maximum and our mean allow."""
    head = ["graph", "vertices", "edges", "max", "mean", "deviation", "root mean square"]
    head += ["printed max", "printed deviation", "at most possible"]
    body = []
    for graph in found.graphs:
        count, arcs, most = (found.fact(graph, field) for field in ("vertices", "edges", "max_degree"))
        mean, deviation = found.fact(graph, "mean_degree"), found.fact(graph, "deviation")
        largest, printed = PRINTED.get(graph, (math.nan, math.nan))
        possible = math.sqrt((largest - mean) * mean)
        cells = [shown(count), shown(arcs), shown(most), shown(mean, 2), shown(deviation, 2)]
        cells += [
            shown(math.hypot(mean, deviation), 2),
            shown(largest),
            shown(printed, 2),
            shown(possible, 1),
        ]
        body.append([graph, *cells])
    return markdown(head, body)


def times_table(found: Found, program: str) -> str:
    """The kernel, of that delivering alone in brackets, and overhead in milliseconds."""

    def cell(graph: str, name: str) -> str:
        fields = (KERNEL, DELIVERING, OVERHEAD)
        kernel, delivering, over = (shown(found.number(graph, program, name, field), 2) for field in fields)
        return f"{kernel} ({delivering}) + {over}"

    body = [[graph, *(cell(graph, name) for name in found.strategies)] for graph in found.graphs]
    return markdown([NAMES[program], *found.strategies], body)


def shorter_table(found: Found, program: str) -> str:
    """Percent shorter than BS: the kernel's time, the whole, and delivering alone."""
    names, fields = found.strategies[1:], (KERNEL, WHOLE, DELIVERING)

    def cell(graph: str, name: str) -> str:
        return " / ".join(shown(found.shorter(program, name, graph, field), 0, "%") for field in fields)

    body = [[graph, *(cell(graph, name) for name in names)] for graph in found.graphs]
    return markdown([NAMES[program], *names], body)


def beforehand_table(found: Found) -> str:
    """Milliseconds of preparing a run of SSSP on a graph that nothing was made for yet."""
    names = found.strategies
    body = [
        [graph, *(shown(found.number(graph, "sssp", name, BEFOREHAND), 1) for name in names)]
        for graph in found.graphs
    ]
    return markdown(["ms", *names], body)


def memory_table(found: Found) -> str:
    """Megabytes for SSSP, and how many times those of BS."""
    names = found.strategies
    body = []
    for graph in found.graphs:
        sizes = [found.memory(graph, "sssp", name) for name in names]
        body.append([graph, *(f"{shown(size / 1e6)} ({shown(size / sizes[0], 2)})" for size in sizes)])
    return markdown(["MB", *names], body)


def splitting_table(found: Found) -> str:
    """Out-degrees before and after node splitting."""
    body = []
    for graph in found.graphs:
        bound, after, percent = (
            found.number(graph, "sssp", "NS", field) for field in ("bound", "max_after", "split_percent")
        )
        before = found.fact(graph, "max_degree")
        body.append([graph, shown(before), shown(bound), shown(after), shown(percent, 4, "%")])
    return markdown(["graph", "max before", "threshold", "max after", "vertices split"], body)


def chunking_table(found: Found) -> str:
    """EP without work chunking over EP with it, by warp and by vertex. All need the sources of edges."""
    ways = {"": "EP", "by vertex, ": BY_VERTEX}
    times = {"kernel": KERNEL, "run": RUN}
    head = [f"{name}, {way}{what}" for way in ways for name in NAMES.values() for what in times]
    body = []
    for graph in found.graphs:
        ups = [
            found.chunking(graph, program, field, strategy)
            for strategy in ways.values()
            for program in NAMES
            for field in times.values()
        ]
        body.append([graph, *(shown(up, 2) for up in ups)])
    return markdown(["graph", *head], body)


def lines_of(strategy: str) -> int:
    """Lines of code of a strategy, with those of the one that it is built on. Ways to chunk work share a file."""
    strategy = strategy.partition(",")[0]
    own = code_lines(Path(balance.__file__).parent / f"{FILES[strategy]}.py")
    return own + (lines_of(BUILT_ON[strategy]) if strategy in BUILT_ON else 0)


def axes(found: Found, names: tuple[str, ...] = PAPERS) -> dict[str, dict[str, float]]:
    """Time, memory and lines of code of some strategies; geometric means over all runs, of multiples of BS."""
    runs = [(graph, program) for graph in found.graphs for program in NAMES]

    def mean(value: Callable[[str, str, str], float], name: str) -> float:
        ratios = [value(graph, program, name) / value(graph, program, "BS") for graph, program in runs]
        known = [ratio for ratio in ratios if not math.isnan(ratio)]
        return statistics.geometric_mean(known) if known else math.inf

    return {
        "time": {name: mean(lambda g, p, s: found.number(g, p, s, KERNEL), name) for name in names},
        "memory": {name: mean(found.memory, name) for name in names},
        LINES: {name: float(lines_of(name)) for name in names},
    }


def ranks(values: dict[str, float]) -> dict[str, int]:
    """1 for the least."""
    order = sorted(values, key=values.__getitem__)
    return {name: 1 + order.index(name) for name in values}


def ranks_table(found: Found) -> str:
    """What Figure 9 ranks: with EP by vertex, as in the paper, and a row for EP by warp in its place."""
    by_vertex, by_warp = axes(found, AS_PRINTED), axes(found)

    def row(columns: dict[str, dict[str, float]], name: str) -> list[str]:
        return [EPS.get(name, name)] + [
            f"{shown(values[name], 0 if axis == LINES else 2)} ({ranks(values)[name]})"
            for axis, values in columns.items()
        ]

    body = [*(row(by_vertex, name) for name in AS_PRINTED), row(by_warp, "EP")]
    return markdown(["strategy", *by_vertex], body)


def code_lines(path: Path) -> int:
    """Lines of a file that are neither blank, comment nor docstring."""
    text = path.read_text()
    tree, skipped = ast.parse(text), set[int]()
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        if isinstance(body, list) and body and isinstance(body[0], ast.Expr):
            value = body[0].value
            if isinstance(value, ast.Constant) and isinstance(value.value, str):
                skipped.update(range(body[0].lineno, (body[0].end_lineno or body[0].lineno) + 1))
    lines = text.splitlines()
    return sum(
        1
        for number, line in enumerate(lines, 1)
        if number not in skipped and line.strip() and not line.strip().startswith("#")
    )
