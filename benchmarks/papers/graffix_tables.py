"""The tables of docs/papers/graffix.md, from what `graffix` measured, and what the paper says beside it."""

import itertools
import math
import statistics
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import NamedTuple

from benchmarks.papers import graffix_said as said
from benchmarks.papers.graffix_setup import (
    FASTEST,
    HOST,
    NODE,
    ROWS_GIVEN,
    ROWS_ORDER,
    ROWS_WHOLE,
    SLOTS,
    TECHNIQUES,
    THERE,
    TIGR,
)
from benchmarks.papers.load_balancing_tables import shown
from benchmarks.results import csv_rows
from benchmarks.table import markdown

Row = dict[str, str]
ALGORITHMS = ("SSSP", "MST", "SCC", "PR", "BC")
BASELINES = (NODE, TIGR, FASTEST)
#: What stands in place of a number.
WRONG, REFUSED = "wrong", "refused"


class Effect(NamedTuple):
    """What a technique did to an algorithm on a graph.

    Attributes:
        speedup, by_order, by_edges: how many times as fast the call is, and is by the new order alone; the quotient of
            both, which is what added edges, and replicas, do to it.
        inaccuracy: in percent.
    """

    speedup: float
    by_order: float
    by_edges: float
    inaccuracy: float


class Found:
    """The rows of a CSV file.

    Attributes:
        rows: each a dictionary of what stands in the file.
    """

    def __init__(self, path: Path) -> None:
        self.rows: list[Row] = csv_rows(path)

    def of(self, part: str, **where: str) -> list[Row]:
        """The rows of a part that have these values."""
        wanted = {"part": part, **where}
        return [row for row in self.rows if all(row[name] == value for name, value in wanted.items())]

    def graphs(self, part: str) -> list[str]:
        """The graphs of a part, in the file's order."""
        return list(dict.fromkeys(row["graph"] for row in self.of(part)))

    def like(self, graph: str) -> str:
        """The paper's graph for which one stands."""
        return next((row["like"] for row in self.rows if row["graph"] == graph), "")

    def exact_ms(self, graph: str, algorithm: str, baseline: str) -> float:
        """The exact run: the median of its times, which are measured beside each technique."""
        rows = self.of("effect", graph=graph, algorithm=algorithm, baseline=baseline)
        times = [float(row["exact_ms"]) for row in rows if row["right"] == "True"]
        return statistics.median(times) if times else math.nan

    def effect(self, graph: str, algorithm: str, technique: str, baseline: str) -> Effect | None:
        """What a technique did; None where it was not measured, or an answer was wrong."""
        where = {"graph": graph, "algorithm": algorithm, "technique": technique, "baseline": baseline}
        rows = [row for row in self.of("effect", **where) if row["right"] == "True"]
        return effect_of(rows[0]) if rows else None

    def effects(self, technique: str, baseline: str) -> list[Effect]:
        """What a technique did to all algorithms on all graphs."""
        found = [
            self.effect(graph, algorithm, technique, baseline)
            for algorithm in ALGORITHMS
            for graph in self.graphs("effect")
        ]
        return [each for each in found if each is not None]

    def swept(self, technique: str, graph: str, algorithm: str) -> dict[float, Effect]:
        """What a technique did by its threshold, ascending."""
        rows = self.of("sweep", technique=technique, graph=graph, algorithm=algorithm)
        found = {float(row["threshold"]): effect_of(row) for row in rows if row["right"] == "True"}
        return dict(sorted(found.items()))


def effect_of(row: Row) -> Effect:
    """The effect that stands in a row."""
    exact, order, whole = (float(row[name]) for name in ("exact_ms", "order_ms", "ms"))
    return Effect(exact / whole, exact / order, order / whole, 100 * float(row["inaccuracy"]))


def machine(found: Found) -> str:
    """The machines and versions of the rows."""
    return " and ".join(dict.fromkeys(row["machine"] for row in found.rows))


def geomean(values: Iterable[float]) -> float:
    """The geometric mean; NaN for none."""
    known = list(values)
    return statistics.geometric_mean(known) if known else math.nan


def mean(values: Iterable[float]) -> float:
    """The mean; NaN for none."""
    known = list(values)
    return statistics.fmean(known) if known else math.nan


def number(text: str) -> float:
    """A cell of a row; NaN if it is empty."""
    return float(text) if text else math.nan


def percent(value: float) -> str:
    """A percentage, with more digits if it is small."""
    if math.isnan(value) or value == 0:
        return shown(value, 0, "%")
    if value < 0.01:
        return "<0.01%"
    return shown(value, 2 if value < 1 else 1, "%")


def graphs_table(found: Found) -> str:
    """Table 1: the graphs, and milliseconds in which they come to the GPU."""
    body = []
    for row in found.of("graphs"):
        counts = [shown(float(row[name])) for name in ("vertices", "edges", "max_degree")]
        cells = [shown(float(row["mean_degree"]), 1), shown(number(row["transfer_ms"]), 1)]
        body.append([row["graph"], row["like"], *counts, *cells])
    head = ["vertices", "edges", "largest degree", "mean degree", "to the GPU, ms"]
    return markdown(["graph", "for the paper's", *head], body, left=2)


def exact_table(found: Found) -> str:
    """Tables 2 to 4: milliseconds of exact runs, and the paper's seconds."""
    body = []
    for baseline in BASELINES:
        for graph in found.graphs("effect"):
            cells = []
            for algorithm in ALGORITHMS:
                theirs = said.exact_seconds(said.EXACT_TABLES[baseline], algorithm, found.like(graph))
                text = "-" if theirs is None else f"{theirs:,g}"
                cells.append(f"{shown(found.exact_ms(graph, algorithm, baseline), 2)} ({text})")
            body.append([baseline, graph, *cells])
    return markdown(["ms (paper: s)", "graph", *ALGORITHMS], body, left=2)


def making_table(found: Found) -> str:
    """Table 5: seconds by each place and additional space, what was added, and the paper's numbers."""
    body = []
    for technique in TECHNIQUES:
        for row in found.of("making", technique=technique, place=HOST):
            there = found.of("making", technique=technique, place=THERE, graph=row["graph"])
            theirs = said.making(technique, row["like"]) or (math.nan, math.nan)
            cells = [
                shown(float(row["threshold"]), 2),
                f"{float(row['making_seconds']):.3g}",
                f"{float(there[0]['making_seconds']):.3g}" if there else "-",
                f"{theirs[0]:g}" if not math.isnan(theirs[0]) else "-",
                percent(float(row["extra_percent"])),
                f"{theirs[1]:g}%" if not math.isnan(theirs[1]) else "-",
                shown(float(row["added"])),
                percent(float(row["added_percent"])),
                shown(number(row["replicas"])),
                shown(number(row["clustered"])),
            ]
            body.append([technique, row["graph"], *cells])
    head = ["threshold", "s, host", "s, GPU", "s, paper", "space", "paper", "edges added", "of all"]
    return markdown(["technique", "graph", *head, "replicas", "in clusters"], body, left=2)


def access_table(found: Found) -> str:
    """What warps have to do and to read by the order, and by the edges, of each technique."""
    techniques = [name for name in TECHNIQUES if name != SLOTS]
    measures = (
        ("largest degree", "max_degree", 1, 0, ""),
        ("lanes beside it", "beside", 1, 1, ""),
        ("lanes in use", "lane_fill", 100, 0, "%"),
        ("sectors", "sectors", 1, 2, ""),
    )
    body = []
    for graph, (side, before), measure in itertools.product(
        found.graphs("access"), (("out", ""), ("in", "in_")), measures
    ):
        what, name, factor, digits, unit = measure

        def cell(rows: str, technique: str = "", graph: str = graph, name: str = before + name,
                 factor: int = factor, digits: int = digits, unit: str = unit) -> str:  # fmt: skip
            (row,) = found.of("access", graph=graph, rows=rows, technique=technique)
            return shown(factor * float(row[name]), digits, unit)

        both = [f"{cell(ROWS_ORDER, each)} / {cell(ROWS_WHOLE, each)}" for each in techniques]
        body.append([graph, side, what, cell(ROWS_GIVEN), *both])
    return markdown(["graph", "edges", "", "as given", *techniques], body, left=3)


def by_graph_table(found: Found) -> str:
    """Means over the algorithms on each graph: speed-up / by the order / by the edges."""
    body = []
    for technique in TECHNIQUES:
        for baseline in BASELINES:
            cells = []
            for graph in found.graphs("effect"):
                each = [found.effect(graph, algorithm, technique, baseline) for algorithm in ALGORITHMS]
                known = [effect for effect in each if effect is not None]
                ups = [geomean(getattr(effect, name) for effect in known) for name in Effect._fields[:3]]
                cells.append(" / ".join(shown(up, 2) for up in ups))
            body.append([technique, baseline, *cells])
    return markdown(["technique", "over", *found.graphs("effect")], body, left=2)


def effect_table(found: Found, technique: str, baseline: str) -> str:
    """One of Tables 6 to 14: speed-ups and inaccuracies, and the means of both."""
    table = said.TABLES[technique, baseline]
    body = [
        [algorithm, graph, *_effect_cells(found, algorithm, graph, technique, baseline)]
        for algorithm in ALGORITHMS
        for graph in found.graphs("effect")
    ]
    all_effects = found.effects(technique, baseline)
    ups = [geomean(getattr(each, name) for each in all_effects) for name in Effect._fields[:3]]
    theirs = (math.nan, math.nan) if technique == SLOTS else said.MEANS[table]
    off = mean(each.inaccuracy for each in all_effects)
    cells = [shown(ups[0], 2), shown(theirs[0], 2), shown(ups[1], 2), shown(ups[2], 2)]
    body.append(["mean", "", *cells, percent(off), shown(theirs[1], 0, "%"), "", ""])
    head = ["speed-up", "paper", "by the order", "by the edges", "inaccuracy", "paper", "ranks", "unreached"]
    return markdown(["", "graph", *head], body, left=2)


def _effect_cells(found: Found, algorithm: str, graph: str, technique: str, baseline: str) -> list[str]:
    theirs = said.effect(said.TABLES[technique, baseline], algorithm, found.like(graph))
    paper = (math.nan, math.nan) if theirs is None or technique == SLOTS else theirs
    where = {"graph": graph, "algorithm": algorithm, "technique": technique, "baseline": baseline}
    rows = found.of("effect", **where)
    if not rows or rows[0]["right"] != "True":
        none = (WRONG if rows[0]["right"] == "False" else REFUSED) if rows else "-"
        return [none, shown(paper[0], 2), "-", "-", "-", shown(paper[1], 0, "%"), "-", "-"]
    ours = effect_of(rows[0])
    off = "exact" if rows[0]["is_exact"] == "True" else percent(ours.inaccuracy)
    return [
        shown(ours.speedup, 2),
        shown(paper[0], 2),
        shown(ours.by_order, 2),
        shown(ours.by_edges, 2),
        off,
        shown(paper[1], 0, "%"),
        shown(number(rows[0]["rank_correlation"]), 3),
        percent(100 * float(rows[0]["reachability"])),
    ]


def means_table(found: Found) -> str:
    """The means of Tables 6 to 14."""
    body = []
    for technique in TECHNIQUES:
        for baseline in BASELINES:
            effects, table = found.effects(technique, baseline), said.TABLES[technique, baseline]
            theirs = (math.nan, math.nan) if technique == SLOTS else said.MEANS[table]
            ups = [geomean(getattr(each, name) for each in effects) for name in Effect._fields[:3]]
            off = percent(mean(each.inaccuracy for each in effects))
            number_of = "" if technique == SLOTS else str(table)
            cells = [number_of, shown(theirs[0], 2), *(shown(up, 2) for up in ups)]
            body.append([technique, baseline, *cells, shown(theirs[1], 0, "%"), off])
    head = ["table", "paper", "speed-up", "by the order", "by the edges", "paper's inaccuracy", "inaccuracy"]
    return markdown(["technique", "over", *head], body, left=2)


def sweep_table(found: Found, technique: str) -> str:
    """One of Figures 7 to 9: speed-up / that by the edges / inaccuracy, by the threshold."""
    rows = found.of("sweep", technique=technique)
    values = sorted({float(row["threshold"]) for row in rows})
    body = []
    for algorithm in dict.fromkeys(row["algorithm"] for row in rows):
        for graph in dict.fromkeys(row["graph"] for row in rows):
            swept = found.swept(technique, graph, algorithm)
            cells = [
                f"{shown(each.speedup, 2)} / {shown(each.by_edges, 2)} / {percent(each.inaccuracy)}"
                if (each := swept.get(value))
                else "-"
                for value in values
            ]
            body.append([algorithm, graph, *cells])
    return markdown(["threshold", "graph", *(f"{value:g}" for value in values)], body, left=2)


def confluence_table(found: Found) -> str:
    """Inaccuracies of ways to bring replicas together, in percent; and what only one of both answers reaches."""
    rows = found.of("confluence")
    names = list(dict.fromkeys(row["confluence"] for row in rows))
    keys = ("algorithm", "graph", "threshold", "replicas", "added")
    body = []
    for key in sorted({tuple(row[name] for name in keys) for row in rows}, key=_by_numbers):
        cells = []
        for name in names:
            row = found.of("confluence", confluence=name, **dict(zip(keys, key, strict=True)))[0]
            reached = float(row["reachability"])
            beside = f" ({percent(100 * reached)} unreached)" if reached else ""
            cells.append(f"{percent(100 * float(row['inaccuracy']))}{beside}")
        counts = [shown(float(each)) for each in key[3:]]
        body.append([*key[:2], shown(float(key[2]), 1), *counts, *cells])
    return markdown(["", "graph", "threshold", "replicas", "edges added", *names], body, left=2)


def _by_numbers(key: tuple[str, ...]) -> tuple[str, str, float, float, float]:
    """Names as they are, then the threshold downwards, then counts."""
    return key[0], key[1], -float(key[2]), float(key[3]), float(key[4])


def blocks(found: Found, claims: Callable[[Found], str]) -> dict[str, str]:
    """The tables of the document, by the names of their places in it."""
    made = {
        "claims": claims(found),
        "graphs": graphs_table(found),
        "exact": exact_table(found),
        "making": making_table(found),
        "access": access_table(found),
        "means": means_table(found),
        "means by graph": by_graph_table(found),
        "confluence": confluence_table(found),
    }
    for (technique, baseline), number_of in said.TABLES.items():
        name = f"table {number_of}, extra slots" if technique == SLOTS else f"table {number_of}"
        made[name] = effect_table(found, technique, baseline)
    for technique in TECHNIQUES:
        made[f"sweep, {technique}"] = sweep_table(found, technique)
    return made
