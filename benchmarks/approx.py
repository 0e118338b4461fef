"""Approximate graphs: what calls gain on them, and how far their answers are off.

`python -m benchmarks.approx --output FILE.csv` normalises degrees of R-MAT graphs and of a lattice by two thresholds,
and evaluates PageRank, breadth-first search and shortest paths, with a thread for each vertex and with the default
schedule. Times are medians of `Result.seconds`; making the graph is apart.
"""

import argparse
from collections.abc import Callable, Iterator
from typing import Any

import edgewise as ew
from benchmarks.graphs import source_of
from benchmarks.options import add_device, add_names
from benchmarks.results import at_least_one, rows_file

FIELDS = (
    "graph", "vertices", "edges", "threshold", "added", "call", "source", "schedule", "exact_ms", "speedup",
    "speedup_by_order", "inaccuracy", "is_exact", "making_seconds", "device",
)  # fmt: skip
GRAPHS: dict[str, Callable[[], ew.Graph]] = {
    "rmat20": lambda: ew.generate.rmat(20, 16, weights=(1, 100)),
    "rmat22": lambda: ew.generate.rmat(22, 16, weights=(1, 100)),
    "lattice": lambda: ew.generate.lattice(2048, 2048, removed=0.1, weights=(1, 100)),
}


def rows_of(name: str, graph: ew.Graph, device: str, repeat: int) -> Iterator[dict[str, Any]]:
    """All rows of a graph."""
    source = source_of(graph)
    calls: list[tuple[Callable[..., Any], tuple[Any, ...], dict[str, Any]]] = [
        (ew.pagerank, (), {"max_iterations": 20, "tol": 0}),
        (ew.bfs, (source,), {}),
        (ew.sssp, (source,), {}),
    ]
    schedules = {"auto": None} if device == "cpu" else {"thread": ew.ThreadMapped(), "auto": None}
    known = {"graph": name, "vertices": graph.num_vertices, "edges": graph.num_edges, "device": device}
    for threshold in (0.3, 0.5):
        made = ew.approx.normalize_degrees(graph, threshold=threshold)
        for call, arguments, options in calls:
            for schedule, balance in schedules.items():
                how = {
                    "schedule": None if balance is None else ew.Schedule(balance=balance),
                    "device": device,
                }
                told = ew.approx.evaluate(made, call, *arguments, repeat=repeat, **options, **how)
                yield known | {
                    "threshold": threshold,
                    "added": told.added,
                    "call": call.__name__,
                    "source": source if arguments else "",
                    "schedule": schedule,
                    "exact_ms": round(1e3 * told.exact_seconds, 3),
                    "speedup": round(told.speedup, 3),
                    "speedup_by_order": round(told.speedup_by_order, 3),
                    "inaccuracy": round(told.difference.inaccuracy, 4),
                    "is_exact": told.difference.is_exact,
                    "making_seconds": round(told.preprocessing_seconds, 3),
                }


def main() -> None:
    """Measure, and write the rows."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.approx", description=(__doc__ or "").split("\n")[0]
    )
    add_names(parser, "--graphs", GRAPHS)
    add_device(parser)
    parser.add_argument(
        "--repeat", type=at_least_one, default=3, help="runs that are timed (default: %(default)s)"
    )
    parser.add_argument("--output", required=True, help="the CSV file")
    options = parser.parse_args()
    with rows_file(options.output, FIELDS, options.repeat, options.device == "cuda") as write:
        for name in options.graphs:
            for row in rows_of(name, GRAPHS[name](), options.device, options.repeat):
                write(row)
                print(" ".join(f"{row[field]!s:>10}" for field in FIELDS if field in row), flush=True)


if __name__ == "__main__":
    main()
