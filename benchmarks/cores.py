"""Cores of graphs: how much of a graph they are, how many vertices they give their exact value, and what is left.

`python -m benchmarks.cores --output FILE.csv` finds the cores of generated graphs, and of files that are named, whose
edges get drawn weights from 1 to 100. For each of a few drawn sources it solves shortest paths on the graph, then by
way of the core, and verifies the answer. Times are medians of `Result.seconds`; finding the core is apart. With
`--memory-limit` queries keep to it, those that find the core do not.
"""

import argparse
import statistics
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import edgewise as ew
from benchmarks.options import add_device, add_names
from benchmarks.results import rows_file

FIELDS = (
    "graph", "vertices", "edges", "directed", "call", "sources", "core_fraction", "core_seconds", "share_right",
    "least_share_right", "supersteps", "exact_ms", "core_ms", "both_ms", "device",
)  # fmt: skip
GRAPHS: dict[str, Callable[[], ew.Graph]] = {
    "rmat16": lambda: ew.generate.rmat(16, 16, weights=(1, 100)),
    "rmat18": lambda: ew.generate.rmat(18, 16, weights=(1, 100)),
    "rmat20": lambda: ew.generate.rmat(20, 16, weights=(1, 100)),
    "rmat22": lambda: ew.generate.rmat(22, 16, weights=(1, 100)),
    "rmat16 both ways": lambda: ew.generate.rmat(16, 16, directed=False, weights=(1, 100)),
    "lattice": lambda: ew.generate.lattice(512, 512, removed=0.1, weights=(1, 100)),
}


def weighted(path: str, directed: bool) -> ew.Graph:
    """The graph of a file, each pair of vertices joined once, with drawn weights."""
    graph = ew.read(path, directed=directed, parallel_edges="first")
    once = np.ones(graph.num_arcs, np.bool_) if directed else graph.sources <= graph.targets
    weights = np.random.default_rng(1).integers(1, 101, np.count_nonzero(once), dtype=np.int32)
    ends = graph.sources[once], graph.targets[once]
    return ew.Graph.from_edges(*ends, weights, directed, num_vertices=graph.num_vertices)


def row_of(
    name: str, graph: ew.Graph, call: Callable[..., Any], count: int, device: str, limit: str | None
) -> dict[str, Any]:
    """What is measured of one call on one graph."""
    how = {"device": device, "memory_limit": limit}
    core = ew.approx.core_graph(graph, call, device=device)
    drawn = np.random.default_rng(3).choice(np.flatnonzero(graph.out_degree), count + 1)
    told = []
    for source in graph.ids_of(drawn).tolist():
        exact = call(graph, source, **how)
        refined = ew.approx.two_phase(core, call, source, **how)
        refined.result.verify(graph)
        told.append((exact, refined))
    del told[0]  # it may have compiled code, and laid out what is kept
    shares = [refined.core_share_right for _, refined in told]

    def milliseconds(seconds: list[float]) -> float:
        return round(1e3 * statistics.median(seconds), 3)

    return {
        "graph": name,
        "vertices": graph.num_vertices,
        "edges": graph.num_edges,
        "directed": graph.directed,
        "call": call.__name__,
        "sources": len(core.sources),
        "core_fraction": round(core.fraction, 4),
        "core_seconds": round(core.seconds, 3),
        "share_right": round(statistics.mean(shares), 4),
        "least_share_right": round(min(shares), 4),
        "supersteps": statistics.median(refined.result.supersteps for _, refined in told),
        "exact_ms": milliseconds([exact.seconds for exact, _ in told]),
        "core_ms": milliseconds([refined.of_core.seconds for _, refined in told]),
        "both_ms": milliseconds([refined.result.seconds for _, refined in told]),
        "device": device if limit is None else f"{device} in {limit}",
    }


def main() -> None:
    """Measure, and write the rows."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.cores", description=(__doc__ or "").split("\n")[0]
    )
    add_names(parser, "--graphs", GRAPHS, may_be_none=True)
    parser.add_argument("--one-way", nargs="*", default=[], help="files of directed graphs")
    parser.add_argument("--both-ways", nargs="*", default=[], help="files of undirected graphs")
    add_device(parser)
    parser.add_argument("--count", type=int, default=5, help="sources of each graph (default: %(default)s)")
    parser.add_argument("--memory-limit", help="of queries, such as '300 MB' (default: none)")
    parser.add_argument("--output", required=True, help="the CSV file")
    options = parser.parse_args()
    graphs = {name: GRAPHS[name] for name in options.graphs}
    for directed, paths in ((True, options.one_way), (False, options.both_ways)):
        for path in paths:
            graphs[Path(path).name] = lambda path=path, directed=directed: weighted(path, directed)
    with rows_file(options.output, FIELDS, options.count, options.device == "cuda") as write:
        for name, make in graphs.items():
            graph = make()
            for call in (ew.sssp, ew.bfs):
                row = row_of(name, graph, call, options.count, options.device, options.memory_limit)
                write(row)
                print(" ".join(f"{row[field]!s:>10}" for field in FIELDS), flush=True)


if __name__ == "__main__":
    main()
