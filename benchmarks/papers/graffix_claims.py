"""What Singh and Nasre say of approximate graphs, each held against what was measured."""

import itertools
import math
import statistics
from collections.abc import Iterable

from benchmarks.papers import graffix_said as said
from benchmarks.papers.graffix_setup import (
    AT_THE_END,
    COALESCING,
    DIVERGENCE,
    EACH_STEP,
    FASTEST,
    HOST,
    MEMORY,
    NODE,
    ONE_STATE,
    SCALE,
    SLOTS,
    THERE,
    TIGR,
    graphs,
)
from benchmarks.papers.graffix_tables import ALGORITHMS, Effect, Found, Row, effect_of, geomean, mean, percent
from benchmarks.papers.load_balancing_claims import counted
from benchmarks.papers.load_balancing_tables import shown, span
from benchmarks.table import lacking, markdown

#: The techniques of the paper, and their figures.
FIGURES = {COALESCING: 7, MEMORY: 8, DIVERGENCE: 9}
PAPERS = tuple(FIGURES)
#: The algorithms of the figures.
SWEPT = ("SSSP", "PR", "BC")
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
        *_goals(found),
        *_between_baselines(found),
        *_answers(found),
        *_thresholds(found),
        *_making(found),
    ]
    body.append(["exact runs that were timed four times: largest over least time", "", _repeated(found), ""])
    body.append(["every answer is that of the CPU on the same graph", "", "", counted(_right(found))])
    names = [row["graph"] for row in found.of("effect")]
    scale = next((int(name.removeprefix("rmat")) for name in names if name.startswith("rmat")), SCALE)
    return lacking(graphs(scale), names) + markdown(["claim", "paper", "measured", "so"], body, left=4)


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


def _goals(found: Found) -> list[list[str]]:
    """The paper's means over the first baseline where a technique adds something, and by the best threshold."""
    body = []
    for technique in (COALESCING, SLOTS, MEMORY, DIVERGENCE):
        up, most = said.MEANS[said.TABLES[technique, NODE]]
        goal = f"{up:.2f} at most {most}% off"
        rows = found.of("effect", technique=technique, baseline=NODE, right="True")
        added = [effect_of(row) for row in rows if _adds(row)]
        text = f"goal: {technique} over {NODE}, where edges, and replicas, are added"
        cell = f"{_mean_of(added)}, in {len(added)} of {len(rows)} cases"
        body.append([text, goal, cell, _reached(added, up, most)])
        swept: dict[float, list[Row]] = {}
        for row in found.of("sweep", technique=technique, right="True"):
            swept.setdefault(float(row["threshold"]), []).append(row)
        known = {
            value: [effect_of(row) for row in each]
            for value, each in swept.items()
            if any(map(_adds, each)) and 100 * mean(float(row["inaccuracy"]) for row in each) <= most
        }
        best = max(known, key=lambda value: geomean(each.speedup for each in known[value]), default=None)
        adding = 0 if best is None else sum(map(_adds, swept[best]))
        cell = (
            "-"
            if best is None
            else f"{_mean_of(known[best])}, at {best:g}; {adding} of {len(known[best])} add"
        )
        body.append([f"the same by the best threshold, all of {', '.join(SWEPT)}", goal, cell,
                     _reached([] if best is None else known[best], up, most)])  # fmt: skip
    return body


def _adds(row: Row) -> bool:
    """Whether edges are added, and replicas where a technique makes them."""
    return int(row["added"]) > 0 and row["replicas"] != "0"


def _mean_of(effects: list[Effect]) -> str:
    """Means of effects."""
    ups = (geomean(getattr(each, name) for each in effects) for name in ("speedup", "by_edges"))
    up, edges = (shown(each, 2) for each in ups)
    return f"{up}, {edges} by the edges alone, {percent(mean(each.inaccuracy for each in effects))} off"


def _reached(effects: list[Effect], up: float, most: float) -> str:
    """Whether the means of effects are a goal's."""
    is_so = (
        geomean(each.speedup for each in effects) >= up and mean(each.inaccuracy for each in effects) <= most
    )
    return counted([is_so] if effects else ())


def _repeated(found: Found) -> str:
    """How much times of the same exact run differ, which is timed beside each technique."""
    times: dict[tuple[str, ...], list[float]] = {}
    for row in found.of("effect", right="True"):
        key = row["graph"], row["algorithm"], row["baseline"]
        times.setdefault(key, []).append(float(row["exact_ms"]))
    apart = [max(each) / min(each) for each in times.values() if len(each) > 1]
    return f"{span(apart, 2)}, median {statistics.median(apart):.2f}" if apart else "-"


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
        rows = [row for row in rows if row["replicas"] != "0"]
        off, lost = ([100 * float(row[key]) for row in rows] for key in ("inaccuracy", "reachability"))
        changed = [value > ROUNDING or of > 0 for value, of in zip(off, lost, strict=True)]
        cell = _percents(off) + (
            f"; up to {percent(max(lost))} unreached" if max(lost, default=0) > 0 else ""
        )
        is_so = counted(value == (name != ONE_STATE) for value in changed)
        body.append([f"replicas without added edges, {name}, {text}", paper, cell, is_so])
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
        space = [float(row["extra_percent"]) for row in found.of("making", technique=technique, place=HOST)]
        text = f"{technique}: mean additional space of at most {theirs:g}%"
        body.append(
            [text, f"{theirs:g}%", _percents(space), counted([mean(space) <= theirs] if space else ())]
        )
        total = len(found.effects(technique, NODE))
        for place in (HOST, THERE):
            seconds = {row["graph"]: float(row["making_seconds"])
                       for row in found.of("making", technique=technique, place=place)}  # fmt: skip
            runs = [
                math.ceil(1e3 * seconds[row["graph"]] / (float(row["exact_ms"]) - float(row["ms"])))
                for row in found.of("effect", technique=technique, baseline=NODE, right="True")
                if row["graph"] in seconds and float(row["exact_ms"]) > (1 + ALIKE) * float(row["ms"])
            ]
            text = f"{technique} over {NODE}: runs after which making it on the {place} pays"
            cell = f"{span(runs)}, in {len(runs)} of {total} cases; never in the others" if seconds else "-"
            body.append([text, "several", cell, ""])
    return body
