"""The automatic schedule against fixed ones on a GPU: `python -m benchmarks.automatic`. See docs/benchmarks.md.

Four programs of examples/ on eight graphs, with every schedule of benchmarks/schedules.py. A cell is what one run
costs: the median of the runs, and what the schedule needs to be made once for the graph (copies of other layouts,
in-edges), charged to one run or shared by 100. Compiling is not counted. All results have to agree with the automatic
schedule's.
"""

import argparse
import csv
import statistics
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import edgewise as ew
from benchmarks.gpu import versions
from benchmarks.graphs import GTGRAPH, WEIGHTS
from benchmarks.ours import EXAMPLES, load
from benchmarks.schedules import FIXED, TUNED, UNSEEN
from edgewise.kernels.door import cuda_door
from edgewise.run import Prepared


def real(name: str) -> Callable[[], ew.Graph]:
    """A real graph with the weights of its golden answers."""

    def read() -> ew.Graph:
        from tests.golden import load

        return load(name).graph

    return read


GRAPHS: dict[str, Callable[[], ew.Graph]] = {
    "rmat18": lambda: ew.generate.rmat(18, 16, seed=1, simple=True, weights=WEIGHTS),
    "rmat20": lambda: ew.generate.rmat(20, 16, GTGRAPH, seed=1, simple=True, weights=WEIGHTS),
    "uniform20": lambda: ew.generate.uniform(2**20, 2**24, seed=1, simple=True, weights=WEIGHTS),
    "lattice1024": lambda: ew.generate.lattice(1024, 1024, 0.1, seed=1, weights=WEIGHTS),
    **{name: real(name) for name in UNSEEN[:3]},
    "rmat21-graph500": lambda: ew.generate.rmat(21, 16, seed=2, simple=True, weights=WEIGHTS),
}
PROGRAMS = {"bfs": "BFS", "sssp": "SSSP", "pagerank": "PageRank", "components": "Components"}
#: Runs that share what is made once, and the bound on automatic over best: a factor and milliseconds.
SHARED_BY, FACTOR, MARGIN_MS, NEVER = 100, 1.10, 0.02, 1.5


def seconds_of(prepared: Any, values: dict[str, Any], repeat: int) -> tuple[float, float, Any]:
    """What is made once, and the median of the runs, in milliseconds; and the last result."""
    result = prepared(**values)
    spent = []
    for _ in range(repeat):
        started = time.perf_counter()
        result = prepared(**values)
        spent.append(time.perf_counter() - started)
    return 1e3 * prepared.layout_seconds, 1e3 * statistics.median(spent), result


def rows(graph_name: str, programs: list[str], repeat: int) -> Iterator[dict[str, Any]]:
    """One row for each program and schedule."""
    made = GRAPHS[graph_name]()
    ends, weights, n = (made.sources, made.targets), made.weights, made.num_vertices
    cupy, source = cuda_door().cupy(), int(made.out_degree.argmax())
    columns = [cupy.asarray(column) for column in (*ends, weights)]
    both_ways = [cupy.concatenate([columns[0], columns[1]]), cupy.concatenate([columns[1], columns[0]])]
    given = {"bfs": {"source": source}, "sssp": {"source": source}, "pagerank": {"tol": 1e-4}}
    for name in programs:
        program = getattr(load(EXAMPLES / f"{name}.py"), PROGRAMS[name])
        edges = both_ways if name == "components" and made.directed else columns
        expected: Any = None
        for schedule_name, schedule in {"automatic": ew.Schedule(), **FIXED}.items():
            if name == "pagerank" and isinstance(schedule.delivery, ew.Push):
                continue  # float sums are always pulled
            row = {"graph": graph_name, "program": name, "schedule": schedule_name}
            for runs in (1, SHARED_BY):
                graph = ew.Graph.from_edges(*edges, num_vertices=n)
                how = Prepared if runs == 1 else ew.prepare
                try:
                    prepared = how(program, graph, device="cuda", schedule=schedule)
                    layout, each, result = seconds_of(prepared, given.get(name, {}), repeat)
                except ew.errors.ScheduleError as refused:
                    row["explain"] = str(refused)
                    break
                (found,) = [result.fields[field] for field in list(result.fields)[:1]]
                expected = found if expected is None else expected
                row |= {
                    f"ms_of_{runs}": each + layout / runs,
                    "layout_ms": layout,
                    "right": bool(np.allclose(found, expected, rtol=1e-4, atol=1e-9)),
                    "explain": result.explain().replace("\n", "; "),
                }
            yield row


def cells(found: list[dict[str, Any]]) -> Iterator[tuple[str, str, int, float, float, str]]:
    """Graph, program, runs, the automatic schedule's milliseconds, those of the best fixed one, and its name."""
    for graph, program in dict.fromkeys((row["graph"], row["program"]) for row in found):
        here = [row for row in found if (row["graph"], row["program"]) == (graph, program)]
        for runs in (1, SHARED_BY):
            times = {row["schedule"]: row[f"ms_of_{runs}"] for row in here if f"ms_of_{runs}" in row}
            automatic = times.pop("automatic")
            best = min(times, key=times.__getitem__)
            yield graph, program, runs, automatic, times[best], best


def main() -> None:
    """Measure, print a line for each cell, and write all rows as CSV."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.automatic", description=__doc__.splitlines()[0]
    )
    parser.add_argument(
        "--graphs", default=",".join((*TUNED, *UNSEEN)), help="names, by commas (default: all)"
    )
    parser.add_argument("--programs", default=",".join(PROGRAMS), help="names, by commas (default: all)")
    parser.add_argument("--repeat", type=int, default=9, help="runs that are timed (default: %(default)s)")
    parser.add_argument("--output", required=True, help="a CSV file")
    options = parser.parse_args()
    machine, found = versions(), list[dict[str, Any]]()
    fields = [
        "graph",
        "program",
        "schedule",
        "ms_of_1",
        "ms_of_100",
        "layout_ms",
        "right",
        "explain",
        "machine",
    ]
    with open(options.output, "w", newline="", buffering=1) as file:
        writer = csv.DictWriter(file, fields)
        writer.writeheader()
        for name in options.graphs.split(","):
            for row in rows(name, options.programs.split(","), options.repeat):
                writer.writerow(row | {"machine": machine})
                found.append(row)
    wrong = [row for row in found if row.get("right") is False]
    within, worst = 0, 0.0
    listed = list(cells(found))
    for graph, program, runs, automatic, best, which in listed:
        good = automatic <= FACTOR * best + MARGIN_MS
        within, worst = within + good, max(worst, automatic / best)
        print(
            f"{graph:<16} {program:<10} {runs:>3} runs  automatic {automatic:9.3f} ms  best fixed {best:9.3f} ms "
            f"({which})  {automatic / best:.2f} {'' if good else 'SLOWER'}"
        )
    print(
        f"{within} of {len(listed)} cells within {FACTOR:g} x the best + {MARGIN_MS:g} ms; worst {worst:.2f} "
        f"(aim: {NEVER:g}); {len(wrong)} results differ"
    )


if __name__ == "__main__":
    main()
