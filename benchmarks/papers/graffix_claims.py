"""What Singh and Nasre say of approximate graphs, each held against what was measured."""

import itertools
import math
from collections.abc import Iterable

from benchmarks.papers import graffix_said as said
from benchmarks.papers.graffix_setup import (
    AT_THE_END,
    COALESCING,
    DIVERGENCE,
    EACH_STEP,
    FASTEST,
    MEMORY,
    NODE,
    ONE_STATE,
    SLOTS,
    TIGR,
)
from benchmarks.papers.graffix_tables import ALGORITHMS, Effect, Found, geomean, mean, percent
from benchmarks.papers.load_balancing_claims import counted
from benchmarks.papers.load_balancing_tables import shown, span
from benchmarks.table import markdown

#: The techniques of the paper, and their figures.
FIGURES = {COALESCING: 7, MEMORY: 8, DIVERGENCE: 9}
PAPERS = tuple(FIGURES)
#: Algorithms whose answers no edge changes that is as long as a path.
KEPT = ("SSSP", "MST", "SCC")
#: How far two numbers may differ and still be alike: times vary by as much.
ALIKE = 0.03
#: Percent by which float32 ranks may differ.
ROUNDING = 0.01


def claims_table(found: Found) -> str:
    """What the paper says, what was measured, and whether it is so."""
    body = [
        *_speedups(found),
        *_between_baselines(found),
        *_answers(found),
        *_thresholds(found),
        *_making(found),
    ]
    body.append(["every answer is that of the CPU on the same graph", "", "", counted(_right(found))])
    return markdown(["claim", "paper", "measured", "so"], body, left=4)


def _right(found: Found) -> list[bool]:
    return [row["right"] == "True" for row in found.rows if row["right"]]


def _speedups(found: Found) -> list[list[str]]:
    """The means of Tables 6 to 14, and what the order and the edges have of them."""
    body = []
    for technique, baseline in itertools.product(PAPERS, (NODE, TIGR, FASTEST)):
        effects, table = found.effects(technique, baseline), said.TABLES[technique, baseline]
        up, edges = (geomean(getattr(each, name) for each in effects) for name in ("speedup", "by_edges"))
        theirs = said.MEANS[table][0]
        text = f"{technique} over {baseline}, mean speed-up (Table {table})"
        cell = f"{shown(up, 2)}, {shown(edges, 2)} by the edges alone"
        body.append([text, shown(theirs, 2), cell, counted(() if math.isnan(up) else [up >= theirs])])
    return body


def _between_baselines(found: Found) -> list[list[str]]:
    """How speed-ups compare between baselines, and how exact times do."""
    body = []
    for technique in (COALESCING, DIVERGENCE):
        ups = {
            name: geomean(each.speedup for each in found.effects(technique, name)) for name in (NODE, TIGR)
        }
        known = [] if math.isnan(sum(ups.values())) else [ups[TIGR] < ups[NODE]]
        cell = f"{shown(ups[TIGR], 2)} and {shown(ups[NODE], 2)}"
        body.append([f"{technique}: less over {TIGR} than over {NODE}", "yes", cell, counted(known)])
    times = {
        (graph, algorithm): [found.exact_ms(graph, algorithm, name) for name in (NODE, TIGR, FASTEST)]
        for graph in found.graphs("effect")
        for algorithm in ("SSSP", "PR", "BC")
    }
    for place, text, paper in (
        (1, f"{TIGR} faster than {NODE}, exact", "yes, by Tables 2 and 3"),
        (2, f"{FASTEST} (for Gunrock) slower than {TIGR}, exact", "yes, by Tables 3 and 4"),
    ):
        pairs = [(each[place - 1], each[place]) for each in times.values()]
        timed = [pair for pair in pairs if not math.isnan(sum(pair))]
        ratios = span((before / after for before, after in timed), 2)
        is_so = counted(before > after if place == 1 else before < after for before, after in timed)
        body.append([text, paper, f"{ratios} times as fast", is_so])
    return body


def _answers(found: Found) -> list[list[str]]:
    """How far answers are off."""
    body = []
    rows = [row for row in found.of("effect", right="True") if row["technique"] != SLOTS]
    kept = [row for row in rows if row["algorithm"] in KEPT]
    off = [100 * float(row["inaccuracy"]) for row in kept]
    text = f"{', '.join(KEPT)} change by 6 to 19%"
    body.append([text, "yes", _percents(off), counted(value >= 6 for value in off)])
    for algorithm, low, high in (("PR", 4, 11), ("BC", 6, 18)):
        off = [100 * float(row["inaccuracy"]) for row in rows if row["algorithm"] == algorithm]
        body.append([f"{algorithm} changes by {low} to {high}%", "yes", _percents(off),
                     counted(low <= value <= high for value in off)])  # fmt: skip
    apart = []
    for technique, algorithm, graph in itertools.product(PAPERS, ALGORITHMS, found.graphs("effect")):
        each = [found.effect(graph, algorithm, technique, name) for name in (NODE, TIGR, FASTEST)]
        known = [effect.inaccuracy for effect in each if effect is not None]
        if len(known) > 1:
            apart.append(max(known) - min(known))
    cell = f"at most {percent(max(apart, default=math.nan))} apart"
    alike = counted(value <= 1 for value in apart)
    body.append(["inaccuracies are alike for all baselines", "yes", cell, alike])
    return body + _confluence(found)


def _confluence(found: Found) -> list[list[str]]:
    """What replicas do by themselves: with one state for all of a vertex, and with the mean of their states."""
    body = []
    for name, text, paper in (
        (ONE_STATE, "change no answer", "not in the paper"),
        (EACH_STEP, "change answers", "yes"),
        (AT_THE_END, "change answers", "possible, but not chosen"),
    ):
        rows = [row for row in found.of("confluence", confluence=name) if row["added"] == "0"]
        off = [100 * float(row["inaccuracy"]) for row in rows if row["replicas"] != "0"]
        is_so = counted((value > ROUNDING) == (name != ONE_STATE) for value in off)
        body.append([f"replicas without added edges, {name}, {text}", paper, _percents(off), is_so])
    return body


def _percents(values: Iterable[float]) -> str:
    """The least, the largest and the mean of percentages."""
    known = list(values)
    if not known:
        return "-"
    return f"{percent(min(known))} to {percent(max(known))}, mean {percent(mean(known))}"


def _thresholds(found: Found) -> list[list[str]]:
    """Where the curves of Figures 7 to 9 rise and fall."""
    body = []
    for technique in (COALESCING, SLOTS, MEMORY, DIVERGENCE):
        figure = f"(Figure {FIGURES.get(technique, FIGURES[COALESCING])})"
        curves = list(_curves(found, technique))
        ups = [[each.speedup for each in curve.values()] for curve in curves]
        if technique in said.PEAKS:
            peak = said.PEAKS[technique]
            best = [_peak(curve) for curve in curves]
            text = f"{technique}: the largest speed-up at {peak} {figure}"
            body.append([text, "yes", f"at {span(best, 2)}", counted(value == peak for value in best)])
        else:
            below = [[each.speedup for value, each in curve.items() if value < 1] for curve in curves]
            text = f"{technique}: speed-up rises with the threshold up to 0.9 {figure}"
            body.append([text, "yes", f"of {len(below)} curves", counted(map(_rises, below))])
        varied = [max(each) > (1 + ALIKE) * min(each) for each in ups]
        text = f"{technique}: the threshold changes speed-ups by more than {ALIKE:.0%}"
        body.append([text, "yes", f"of {len(varied)} curves", counted(varied)])
        off = [[each.inaccuracy for each in curve.values()] for curve in curves]
        off = [curve for curve in off if max(curve) > 0]
        said_of, is_so = _of_inaccuracy(technique, off)
        text = f"{technique}: inaccuracy {said_of} with the threshold {figure}"
        body.append([text, "yes", f"of {len(off)} curves that are not 0", counted(is_so)])
    return body


def _peak(curve: dict[float, Effect]) -> float:
    """The threshold of the largest speed-up."""
    return max(curve, key=lambda value: curve[value].speedup)


def _rises(values: list[float]) -> bool:
    """Whether none is below the one before."""
    return all(after >= before for before, after in itertools.pairwise(values))


def _of_inaccuracy(technique: str, curves: list[list[float]]) -> tuple[str, list[bool]]:
    """What the paper says of a technique's inaccuracy, and for which curves it is so."""
    if technique == DIVERGENCE:
        return "rises", [_rises(curve) for curve in curves]
    if technique == MEMORY:
        return "rises and then falls", [max(curve) > max(curve[0], curve[-1]) for curve in curves]
    return "falls", [_rises(curve[::-1]) for curve in curves]


def _curves(found: Found, technique: str) -> Iterable[dict[float, Effect]]:
    """The curves of a technique: on each graph, for each algorithm."""
    for graph, algorithm in itertools.product(found.graphs("sweep"), ALGORITHMS):
        if curve := found.swept(technique, graph, algorithm):
            yield curve


def _making(found: Found) -> list[list[str]]:
    """Table 5: additional space, and whether a technique pays after some runs."""
    body = []
    for technique, theirs in said.SPACE.items():
        space = [float(row["extra_percent"]) for row in found.of("making", technique=technique)]
        cell = f"{_percents(space)}"
        text = f"{technique}: mean additional space of at most {theirs:g}%"
        body.append([text, f"{theirs:g}%", cell, counted([mean(space) <= theirs] if space else ())])
        runs = [
            float(row["making_seconds"]) / (float(row["exact_ms"]) - float(row["ms"])) * 1e3
            for row in found.of("effect", technique=technique, baseline=NODE, right="True")
            if float(row["exact_ms"]) > (1 + ALIKE) * float(row["ms"])
        ]
        total = len(found.effects(technique, NODE))
        body.append([f"{technique} over {NODE}: runs after which making it pays", "several",
                     f"{span(runs)}, in {len(runs)} of {total} cases; never in the others", ""])  # fmt: skip
    return body
