"""Approximate graphs: how long making them takes, on the GPU and on the CPU, and whether both make the same.

`python -m benchmarks.approx_building --scales 20,22 --output FILE.csv` makes approximate graphs of R-MAT graphs of 16
edges a vertex by each technique, and counts clustering coefficients. For the GPU the graph lies there already. Times
are the least of some turns, after one that may compile; rows are the graph with the added edges, built where the
technique ran. On the CPU each is made once, after kernels were compiled for a small graph.
"""

import argparse
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import edgewise as ew
from benchmarks.options import add_names, numbers
from benchmarks.results import at_least_one, rows_file
from edgewise.kernels.door import cuda_door

FIELDS = (
    "technique", "graph", "vertices", "edges", "added", "gpu_seconds", "gpu_edges_seconds", "gpu_rows_seconds",
    "cpu_seconds", "cpu_edges_seconds", "cpu_rows_seconds", "equal",
)  # fmt: skip
TECHNIQUES: dict[str, Callable[..., ew.approx.Approximate]] = {
    "normalize_degrees": ew.approx.normalize_degrees,
    "form_clusters": ew.approx.form_clusters,
    "coalesce": ew.approx.coalesce,
}


def on_gpu(graph: ew.Graph) -> ew.Graph:
    """A directed graph, built on the GPU."""
    columns = (graph.sources, graph.targets, graph.weights)
    there = map(cuda_door().copy_of, columns)
    return ew.Graph.from_edges(*there, num_vertices=graph.num_vertices)


def timed(make: Callable[[], Any]) -> tuple[Any, float]:
    """What is made, and the seconds until it is there."""
    started = time.perf_counter()
    made = make()
    if getattr(made, "built_on_gpu", False):
        cuda_door().finish()
    return made, time.perf_counter() - started


def making(technique: str, graph: ew.Graph, device: str, repeat: int) -> tuple[Any, float, float]:
    """What a technique makes, and the least seconds until its edges are chosen, and until its rows are there."""
    least = []
    for _ in range(repeat):
        made, edges = timed(lambda: TECHNIQUES[technique](graph, device=device))
        _, rows = timed(lambda made=made: made.graph)
        least.append((edges + rows, edges, rows))
    _, edges, rows = min(least)
    return made, edges, rows


def are_equal(one: ew.approx.Approximate, other: ew.approx.Approximate) -> bool:
    """Whether two approximate graphs are the same, bit for bit."""
    pairs = [
        (one.order, other.order),
        *zip(one.added, other.added, strict=True),
        (one.clusters, other.clusters),
        *zip(one.copies or (), other.copies or (), strict=True),
        *(
            (getattr(one.graph, name), getattr(other.graph, name))
            for name in ("offsets", "targets", "weights")
        ),
        (one.graph.vertices, other.graph.vertices),
    ]
    return all(np.array_equal(mine, its) for mine, its in pairs)


def rows_of(scale: int, repeat: int, techniques: list[str]) -> Iterator[dict[str, Any]]:
    """All rows of a graph."""
    graph = ew.generate.rmat(scale, 16, weights=(1, 100))
    small = ew.generate.rmat(8, 16, weights=(1, 100))
    there = on_gpu(graph)
    known = {"graph": f"rmat{scale}", "vertices": graph.num_vertices, "edges": graph.num_edges}
    if "clustering_coefficients" in techniques:
        count = ew.approx.clustering_coefficients
        turns = [timed(lambda: count(there, device="cuda")) for _ in range(repeat + 1)][1:]
        count(small, device="cpu")
        here, seconds = timed(lambda: count(graph, device="cpu"))
        yield known | {
            "technique": "clustering_coefficients",
            "gpu_seconds": round(min(each for _, each in turns), 4),
            "cpu_seconds": round(seconds, 3),
            "equal": all(found.tobytes() == here.tobytes() for found, _ in turns),
        }
    for technique in techniques:
        if technique not in TECHNIQUES:
            continue
        making(technique, there, "cuda", 1)
        making(technique, small, "cpu", 1)
        found, gpu_edges, gpu_rows = making(technique, there, "cuda", repeat)
        expected, cpu_edges, cpu_rows = making(technique, graph, "cpu", 1)
        yield known | {
            "technique": technique,
            "added": found.num_added,
            "gpu_seconds": round(gpu_edges + gpu_rows, 4),
            "gpu_edges_seconds": round(gpu_edges, 4),
            "gpu_rows_seconds": round(gpu_rows, 4),
            "cpu_seconds": round(cpu_edges + cpu_rows, 3),
            "cpu_edges_seconds": round(cpu_edges, 3),
            "cpu_rows_seconds": round(cpu_rows, 3),
            "equal": are_equal(found, expected),
        }


def main() -> None:
    """Measure, and write the rows."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.approx_building", description=(__doc__ or "").split("\n")[0]
    )
    parser.add_argument(
        "--scales", type=numbers, default="20,22", help="of R-MAT graphs, by commas (default: %(default)s)"
    )
    add_names(parser, "--techniques", ["clustering_coefficients", *TECHNIQUES])
    parser.add_argument(
        "--repeat", type=at_least_one, default=3, help="turns on the GPU (default: %(default)s)"
    )
    parser.add_argument("--output", required=True, help="the CSV file")
    options = parser.parse_args()
    with rows_file(options.output, FIELDS, options.repeat) as write:
        print(" ".join(f"{field:>18}" for field in FIELDS))
        for scale in options.scales:
            for row in rows_of(scale, options.repeat, options.techniques):
                write(row)
                print(" ".join(f"{row.get(field, '')!s:>18}" for field in FIELDS), flush=True)


if __name__ == "__main__":
    main()
