"""Singh and Nasre, "Graffix: Efficient Graph Processing with a Tinge of GPU-Specific Approximations", ICPP 2020, run
again on a GPU.

`python -m benchmarks.papers.graffix --output FILE.csv` measures Tables 1 to 14 and Figures 7 to 9; `--plot FILE.csv`
draws them beside the paper's numbers, and prints the tables of docs/papers/graffix.md. A file that is there is gone on
with: a unit of work whose rows it has, a graph with a baseline or a technique, is not measured again, unless a call of
it was refused.

graphs
    Table 1, and how long a graph takes to the GPU.
making
    Table 5: the seconds in which each technique makes its graph, on the host's CPU and on the GPU, and the memory that
    this takes more.
effect
    Tables 2 to 4 and 6 to 14: each algorithm on each graph, exact, in the new order alone, and with added edges, by
    each baseline.
sweep
    Figures 7 to 9: the same by the first baseline, for one value of the threshold after the other.
access
    How full a warp's lanes are and what it reads, counted from the rows of each graph; nothing runs.
confluence
    Answers where replicas are vertices of their own that get their mean, as in the paper, beside those where they are
    not.

A time is `Result.seconds`, the median of several calls: from setting the first values to the last value. The graph lies
on the GPU, and what is made of it once is made. All answers are compared with those of the CPU on the same graph.
"""

import argparse
import csv
import itertools
import statistics
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import edgewise as ew
from benchmarks.gpu import synchronize
from benchmarks.options import add_device, add_names, checked
from benchmarks.papers.command import options_of
from benchmarks.papers.graffix_access import columns_of
from benchmarks.papers.graffix_setup import (
    AT_THE_END,
    EACH_STEP,
    HOST,
    KNOB,
    NODE,
    NUM_SOURCES,
    ONE_STATE,
    ROWS_GIVEN,
    ROWS_ORDER,
    ROWS_WHOLE,
    SCALE,
    SLOTS,
    TECHNIQUES,
    THERE,
    Call,
    Case,
    baselines,
    graphs,
)
from benchmarks.results import PROVENANCE, at_least_one, given_rows, provenance
from edgewise.approx.measure import compare

FIELDS = (
    "part", "graph", "like", "vertices", "edges", "max_degree", "mean_degree", "transfer_ms", "algorithm", "source",
    "baseline", "technique", "balance", "threshold", "confluence", "supersteps", "exact_ms", "order_ms", "ms",
    "inaccuracy", "largest_error", "rank_correlation", "top_overlap", "reachability", "is_exact", "added",
    "added_percent", "replicas", "clustered", "extra_percent", "place", "making_seconds", "rows",
    "lane_fill", "sectors", "beside", "in_max_degree", "in_lane_fill", "in_sectors", "in_beside", "right",
)  # fmt: skip
COLUMNS = (*FIELDS, *PROVENANCE)
PARTS = ("graphs", "making", "effect", "sweep", "access", "confluence")
#: The algorithms that are swept: one whose answers do not change, and those whose answers do.
SWEPT = ("SSSP", "PR", "BC")
#: Graphs that parts leave out. Merging runs in NumPy, and takes thousands of supersteps on roads.
LEFT_OUT = {"sweep": ("road-NE",), "confluence": ("road-FLA", "road-NE")}
#: The algorithms that have such a confluence, by their names there.
MERGED = {"SSSP": "sssp", "PR": "pagerank"}
#: How long merging may go on.
MOST_SUPERSTEPS = {"SSSP": 1000, "PR": 200}
#: The least threshold, at which most vertices are replicated.
MANY = min(TECHNIQUES[SLOTS].values)
#: The most edges that coalescing adds, as a fraction; 0 for replicas without added edges.
BUDGET = 0.09
#: A call that takes longer is timed once.
LONG_SECONDS = 0.3


class How(NamedTuple):
    """How it is measured.

    Attributes:
        device: "cuda" or "cpu".
        repeat: how many calls are timed.
    """

    device: str
    repeat: int


class Unit(NamedTuple):
    """What is measured and written as a whole.

    Attributes:
        part, graph: see above.
        which: the baseline, or the technique that is swept, or "".
    """

    part: str
    graph: str
    which: str


def unit_of(row: dict[str, Any]) -> Unit:
    """The unit to which a row belongs."""
    which = {"effect": "baseline", "sweep": "technique"}.get(row["part"])
    return Unit(row["part"], row["graph"], row[which] if which else "")


def agrees(result: Any, wanted: np.ndarray, call: Call) -> bool:
    """Whether a result is the one that is wanted, floats but for rounding."""
    found, allowed = call.values(result), call.tolerance * float(np.max(wanted, initial=0))
    return bool((found == wanted).all() if call.tolerance == 0 else (abs(found - wanted) <= allowed).all())


def schedule_of(made: ew.approx.Approximate, baseline: str, exact: ew.Schedule | None) -> ew.Schedule | None:
    """The schedule of runs on an approximate graph: its own, if it has one, in place of a thread for each vertex."""
    if baseline != NODE:
        return exact
    try:
        return made.schedule
    except ew.errors.ParameterError:
        return exact


def known_of(made: ew.approx.Approximate) -> dict[str, Any]:
    """The columns that say what a technique added."""
    clusters = made.clusters
    return {
        "threshold": made.knobs[KNOB],
        "added": made.num_added,
        "added_percent": 100 * made.num_added / max(1, made.original.num_edges),
        "replicas": "" if made.copies is None else made.copies.num_replicas,
        "clustered": "" if clusters is None or len(clusters) == 0 else int(clusters[-1] - clusters[0]),
        "extra_percent": 100 * made.extra_space,
    }


def attempted(case: Case, algorithm: str, *rest: Any) -> dict[str, Any]:
    """The columns of `evaluated`, or of a call that is refused: an error is a finding, not the end of a unit."""
    try:
        return evaluated(case, algorithm, *rest)
    except ew.errors.EdgewiseError as error:
        return {"algorithm": algorithm, "right": f"refused: {error}"}


def evaluated(
    case: Case,
    algorithm: str,
    made: ew.approx.Approximate,
    baseline: str,
    exact: ew.Schedule | None,
    how: How,
) -> dict[str, Any]:
    """The columns of an algorithm on an approximate graph, beside the exact run by the baseline's schedule."""
    call, own = case.calls[algorithm], schedule_of(made, baseline, exact)

    def run(graph: ew.Graph) -> Any:
        return call.run(graph, how.device, own if graph is made.graph else exact)

    first, approximate = run(made.original), run(made.graph)
    right = all(
        agrees(result, case.answer(graph, algorithm), call)
        for result, graph in ((first, made.original), (approximate, made.graph))
    )
    repeat = 1 if max(first.seconds, approximate.seconds) > LONG_SECONDS else how.repeat
    untimed = {made.original: first, made.graph: approximate}  # `evaluate` times no first call on a graph

    def again(graph: ew.Graph) -> Any:
        return untimed.pop(graph) if graph in untimed else run(graph)

    told = ew.approx.evaluate(made, again, repeat=repeat)
    difference = told.difference._asdict()
    return {
        "algorithm": algorithm,
        "balance": "auto" if own is None else str(own.balance),
        "supersteps": getattr(first, "supersteps", ""),
        "exact_ms": 1e3 * told.exact_seconds,
        "order_ms": 1e3 * told.renumbered_seconds,
        "ms": 1e3 * told.seconds,
        **difference,
        "right": right,
    }


def graph_rows(case: Case, how: How) -> Iterator[dict[str, Any]]:
    """Table 1, and milliseconds in which the rows with their weights are copied to the GPU."""
    graph = case.graph
    row = {
        "vertices": graph.num_vertices,
        "edges": graph.num_arcs,
        "max_degree": int(graph.out_degree.max()),
        "mean_degree": float(graph.out_degree.mean()),
    }
    if how.device == "cuda":
        spent = []
        for _ in range(how.repeat + 1):  # memory is taken from the driver the first time
            fresh = ew.Graph.from_csr(graph.offsets, graph.targets, graph.weights, True, graph.vertices)
            synchronize()
            started = time.perf_counter()
            _ = fresh.gpu.offsets, fresh.gpu.targets, fresh.gpu.weights
            synchronize()
            spent.append(1e3 * (time.perf_counter() - started))
        row["transfer_ms"] = statistics.median(spent[1:])
    yield row


def making_rows(case: Case, how: How) -> Iterator[dict[str, Any]]:
    """Table 5: the median time by each place, and the memory. For the GPU the graph lies there already."""
    places = {HOST: "cpu"} | ({THERE: "cuda"} if how.device == "cuda" else {})
    for (name, technique), (place, device) in itertools.product(TECHNIQUES.items(), places.items()):
        value = technique.value(case.is_road)
        first = case.made(name, value, device)  # on a GPU, it compiles and copies
        repeat = 0 if place == HOST and first.seconds > LONG_SECONDS else how.repeat
        tried = [case.made(name, value, device).seconds for _ in range(repeat)] or [first.seconds]
        known = known_of(first) | {"place": place, "making_seconds": statistics.median(tried)}
        yield {"technique": name} | known


def effect_rows(case: Case, baseline: str, how: How) -> Iterator[dict[str, Any]]:
    """Tables 2 to 4 and 6 to 14: every algorithm with every technique by a baseline."""
    exact = baselines(how.device)[baseline]
    for name, algorithm in itertools.product(TECHNIQUES, case.calls):
        made = case.made(name)
        known = {"baseline": baseline, "technique": name} | known_of(made)
        yield known | attempted(case, algorithm, made, baseline, exact, how)


def sweep_rows(case: Case, name: str, how: How) -> Iterator[dict[str, Any]]:
    """Figures 7 to 9: a technique with all values of its threshold, by the first baseline."""
    baseline, exact = next(iter(baselines(how.device).items()))
    for value in TECHNIQUES[name].values:
        made = case.made(name, value)
        for algorithm in SWEPT:
            known = {"baseline": baseline, "technique": name} | known_of(made)
            yield known | attempted(case, algorithm, made, baseline, exact, how)


def access_rows(case: Case) -> Iterator[dict[str, Any]]:
    """What warps read, by the graph as it is given, in each order, and with added edges."""
    yield {"rows": ROWS_GIVEN} | columns_of(case.graph)
    for name in TECHNIQUES:
        if name == SLOTS:
            continue
        made = case.made(name)
        for rows_of, graph in ((ROWS_ORDER, made.renumbered), (ROWS_WHOLE, made.graph)):
            yield {"technique": name, "rows": rows_of} | known_of(made) | columns_of(graph)


def confluence_rows(case: Case, how: How) -> Iterator[dict[str, Any]]:
    """Answers with one state for all replicas of a vertex, and with a state for each and their mean: by the threshold
    of the tables, and by the least one without added edges and with them."""
    technique = TECHNIQUES[SLOTS]
    exact = next(iter(baselines(how.device).values()))
    usual = technique.value(case.is_road)
    for value, budget in ((usual, BUDGET), (MANY, 0.0), (MANY, BUDGET)):
        made = technique.make(case.graph, **technique.knobs, threshold=value, budget=budget)
        own = made.schedule if how.device == "cuda" else exact
        for algorithm in MERGED:
            call = case.calls[algorithm]
            wanted = finite(case.answer(case.graph, algorithm))
            known = {"technique": SLOTS, "algorithm": algorithm} | known_of(made)
            found = made.in_order(call.values(call.run(made.graph, how.device, own)))
            merged = {ONE_STATE: finite(found)} | dict(merged_by_mean(made, algorithm, case))
            for confluence, values in merged.items():
                yield known | {"confluence": confluence} | compare(wanted, values)._asdict()


def merged_by_mean(
    made: ew.approx.Approximate, algorithm: str, case: Case
) -> Iterator[tuple[str, np.ndarray]]:
    """What the paper's confluence finds, in each superstep and at the end."""
    source = case.sources[0] if algorithm == "SSSP" else None
    most = MOST_SUPERSTEPS[algorithm]
    for name, every in ((EACH_STEP, 1), (AT_THE_END, None)):
        found = ew.approx.mean_confluence(made, MERGED[algorithm], source, every=every, max_supersteps=most)
        yield name, finite(found)


def finite(values: np.ndarray) -> np.ndarray:
    """Values as float64, NaN for vertices that are not reached."""
    found = values.astype(np.float64)
    unreached = values == np.iinfo(values.dtype).max if values.dtype.kind == "i" else np.isinf(values)
    found[unreached] = np.nan
    return found


def units(parts: Iterable[str], names: Iterable[str], how: How) -> list[Unit]:
    """All units of some parts and graphs, graph by graph."""
    parts = list(parts)
    every: dict[str, Iterable[str]] = {"effect": baselines(how.device), "sweep": TECHNIQUES}
    return [
        Unit(part, graph, which)
        for graph in names
        for part in parts
        for which in every.get(part, ("",))
        if graph not in LEFT_OUT.get(part, ())
    ]


def rows(unit: Unit, case: Case, how: How) -> list[dict[str, Any]]:
    """All rows of a unit."""
    made: dict[str, Callable[[], Iterator[dict[str, Any]]]] = {
        "graphs": lambda: graph_rows(case, how),
        "making": lambda: making_rows(case, how),
        "effect": lambda: effect_rows(case, unit.which, how),
        "sweep": lambda: sweep_rows(case, unit.which, how),
        "access": lambda: access_rows(case),
        "confluence": lambda: confluence_rows(case, how),
    }
    known = {"part": unit.part, "graph": case.name, "like": case.like}
    return [known | row for row in made[unit.part]()]


def rows_in(path: Path) -> list[dict[str, str]]:
    """The rows of a file that is gone on with; older ones may have no column of sources. The process ends if the file
    is of something else, or cannot be written."""
    try:
        path.open("a").close()
    except OSError as error:
        sys.exit(f"{path} cannot be written: {error}; name another file: --output FILE.csv")
    if path.stat().st_size == 0:
        return []
    found = given_rows(path, [name for name in COLUMNS if name != "source"])
    if unknown := set(found[0]) - set(COLUMNS):
        sys.exit(
            f"{path} has other columns, {', '.join(sorted(unknown))}; name a file that this program has written"
        )
    return found


def done(path: Path) -> set[Unit]:
    """The units of which a file has all rows: a call that was refused is tried again."""
    found = rows_in(path)
    refused = {unit_of(row) for row in found if row["right"].startswith("refused")}
    return {unit_of(row) for row in found} - refused


def put(path: Path, unit: Unit, found: list[dict[str, Any]]) -> None:
    """Write the rows of a unit at once, in place of those that the file has of it, and below the others."""
    part = path.with_name(f"{path.name}.part")
    write(part, [*(row for row in rows_in(path) if unit_of(row) != unit), *found])
    part.replace(path)


def write(path: Path, found: list[dict[str, Any]]) -> None:
    """Write rows as CSV."""
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(found)


def warm() -> None:
    """Compile the techniques, whose times count compiling otherwise."""
    case = Case("small", "", ew.generate.rmat(8, 8, simple=True, weights=(1, 100)))
    for name, technique in TECHNIQUES.items():
        for value in (min(technique.values), max(technique.values)):
            _ = case.made(name, value, "cpu").graph


def line(row: dict[str, Any]) -> str:
    """A row on a terminal."""
    what = (
        f"{row['part']:<10} {row['graph']:<14} {row.get('baseline', ''):<10} {row.get('technique', ''):<23}"
    )
    numbers = [
        f"{name} {row[name]:.4g}"
        for name in ("threshold", "added", "exact_ms", "order_ms", "ms", "inaccuracy", "making_seconds")
        if isinstance(row.get(name), float | int)
    ]
    return " ".join(
        [what, row.get("algorithm", ""), row.get("confluence", ""), *numbers, str(row.get("right", ""))]
    )


def measure(path: Path, wanted: list[Unit], scale: int, num_sources: int, how: How, within: float) -> None:
    """Measure the units that a file does not have, until so many seconds have passed."""
    where = {"repeat": how.repeat, **provenance(how.device == "cuda")}
    started, known, finished = time.perf_counter(), graphs(scale), done(path)
    warm()
    left = [unit for unit in wanted if unit not in finished]
    for name, of_graph in itertools.groupby(left, key=lambda unit: unit.graph):
        case: Case | None = None
        for unit in of_graph:
            begun = time.perf_counter()
            if begun - started > within:
                print(f"not begun after {within:g} s: {unit}", flush=True)
                continue
            if case is None:
                source = known[name]
                case = Case(name, source.like, source.make(), source.is_road, num_sources)
            found = rows(unit, case, how)
            of_paths = {"source": case.sources[0]}
            with_sources = [row | of_paths if row.get("algorithm") == "SSSP" else row for row in found]
            put(path, unit, [row | where for row in with_sources])
            for row in found:
                print(line(row), flush=True)
            print(f"{unit} took {time.perf_counter() - begun:.1f} s", flush=True)


def main() -> None:
    """Measure, or draw what was measured."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.papers.graffix", description=__doc__.split("\n\n")[0]
    )
    parser.add_argument(
        "--scale", type=at_least_one, default=SCALE, help="of generated graphs (default: %(default)s)"
    )
    parser.add_argument("--graphs", help="names, by commas (default: all)")
    add_names(parser, "--parts", PARTS)
    parser.add_argument(
        "--which",
        help="baselines of part effect and techniques of part sweep, by semicolons (default: all)",
    )
    parser.add_argument(
        "--sources", type=at_least_one, default=NUM_SOURCES, help="of BC (default: %(default)s)"
    )
    add_device(parser)
    parser.add_argument(
        "--repeat", type=at_least_one, default=3, help="runs that are timed (default: %(default)s)"
    )
    parser.add_argument(
        "--within", type=float, default=1e9, help="seconds after which no unit begins (default: no limit)"
    )
    options = options_of(
        parser, "benchmarks.papers.graffix_plots", "measure, and write or go on with a CSV file", FIELDS
    )
    if options is None:
        return
    how = How(options.device, options.repeat)
    names = list(graphs(options.scale))
    if options.graphs is not None:
        names = checked(parser, "--graphs", options.graphs, names)
    wanted = units(options.parts, names, how)
    if options.which is not None:
        which = checked(parser, "--which", options.which, (*baselines(options.device), *TECHNIQUES), ";")
        wanted = [unit for unit in wanted if unit.which in ("", *which)]
    measure(Path(options.output), wanted, options.scale, options.sources, how, options.within)


if __name__ == "__main__":
    main()
