"""Searches and shortest paths by clusters, and as they are otherwise: `python -m benchmarks.clusters --output FILE`.

Shortest paths run as a plain program, too. Times are wall times of whole calls until the GPU has done all that was
asked, medians, in milliseconds, from the vertex of most out-edges and from 8 others; making clusters is apart. What is
otherwise is asked for by a limit of memory that all fits in. Both ways give the same from every source; the answer from
the first source of a row is verified, too (that of the program is the built-in algorithm's, since a program is
verified in plain Python). A small graph comes first, so that kernels are compiled.
"""

import argparse
import functools
import statistics
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import edgewise as ew
from benchmarks.gpu import timed
from benchmarks.graphs import source_of
from benchmarks.options import add_names
from benchmarks.ours import EXAMPLES
from benchmarks.ours import load as load_example
from benchmarks.results import at_least_one, rows_file
from edgewise.kernels.door import cuda_door
from edgewise.program_result import ProgramResult
from tests.golden import load

FIELDS = (
    "graph", "vertices", "arcs", "algorithm", "sources", "clusters_ms", "otherwise_ms", "making_ms", "visits", "right",
)  # fmt: skip
SOURCES = 8
SSSP = load_example(EXAMPLES / "sssp.py").SSSP


def streets(size: int, **options: Any) -> ew.Graph:
    """A lattice less 10% of its streets."""
    return ew.generate.lattice(size, size, removed=0.1, **{"weights": (1, 100), **options})


GRAPHS: dict[str, Callable[[], ew.Graph]] = {
    "lattice": functools.partial(streets, 2048),
    "one-way": functools.partial(streets, 2048, one_way=0.3),
    "both ways": functools.partial(streets, 2048, directed=False),
    **{f"lattice {size}": functools.partial(streets, size) for size in (256, 512, 1024)},
    "floats": functools.partial(streets, 1024, weights=(0.0, 1.0)),
    **{name: lambda name=name: load(name).graph for name in ("road-NE", "road-FLA", "road-NY")},
    "uniform": lambda: ew.generate.uniform(2**20, 3 * 2**20, simple=True, weights=(1, 100)),
}


def plain(graph: ew.Graph, source: int, **how: Any) -> Any:
    """Shortest paths by a program as a user writes it, which runs with the best messages first otherwise."""
    return ew.run(SSSP(source=source), graph, **how)


def is_right(graph: ew.Graph, source: int, result: Any) -> bool:
    """Whether an answer is right."""
    if isinstance(result, ProgramResult):
        exact = ew.sssp(graph, source, device="cuda")
        return exact.verify(graph) and np.array_equal(result.fields["distance"], exact.distance)
    return bool(result.verify(graph))


def values_of(result: Any, name: str) -> np.ndarray:
    """Values of all vertices."""
    found: np.ndarray = result.fields[name] if hasattr(result, "fields") else getattr(result, name)
    return found


def rows_of(name: str, graph: ew.Graph, repeat: int) -> Iterator[dict[str, Any]]:
    """All rows of a graph."""
    begins = np.flatnonzero(graph.out_degree)
    drawn = np.random.default_rng(1).choice(begins, SOURCES)
    first, *others = graph.ids_of(np.concatenate([[source_of(graph)], drawn])).tolist()
    known = {"graph": name, "vertices": graph.num_vertices, "arcs": graph.num_arcs}
    by_clusters = {"device": "cuda", "schedule": ew.Schedule(balance=ew.Clustered())}
    otherwise = {"device": "cuda", "memory_limit": cuda_door().free()}
    for algorithm, call, values in (
        ("bfs", ew.bfs, ("level", "parent_index")),
        ("sssp", ew.sssp, ("distance", "parent_index")),
        ("sssp as a plain program", plain, ("distance",)),
    ):
        making = call(graph, first, **by_clusters).layout_seconds
        for what, sources in (("largest", [first]), (f"median of {SOURCES}", others)):
            spent: dict[str, list[float]] = {"clusters_ms": [], "otherwise_ms": []}
            right, visits = True, 0
            for source in sources:
                results = []
                for key, how in (("clusters_ms", by_clusters), ("otherwise_ms", otherwise)):
                    times, result = timed(functools.partial(call, graph, source, **how), repeat)
                    spent[key].append(times["ms"])
                    results.append(result)
                same = all(np.array_equal(*(values_of(each, name) for each in results)) for name in values)
                right = right and same and (source != sources[0] or is_right(graph, source, results[0]))
                visits = results[0].supersteps
            yield known | {
                "algorithm": algorithm,
                "sources": what,
                **{key: round(statistics.median(times), 3) for key, times in spent.items()},
                "making_ms": round(1e3 * making, 3),
                "visits": "" if call is ew.bfs else visits,
                "right": right,
            }


def main() -> None:
    """Measure, and write the rows."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.clusters", description=__doc__.splitlines()[0]
    )
    add_names(parser, "--graphs", GRAPHS)
    parser.add_argument(
        "--repeat", type=at_least_one, default=11, help="calls that are timed (default: %(default)s)"
    )
    parser.add_argument("--output", required=True, help="the CSV file")
    options = parser.parse_args()
    with rows_file(options.output, FIELDS, options.repeat) as write:
        for _ in rows_of("first", streets(64), 1):
            pass
        for name in options.graphs:
            for row in rows_of(name, GRAPHS[name](), options.repeat):
                write(row)
                print(" ".join(f"{row[field]!s:>14}" for field in FIELDS), flush=True)


if __name__ == "__main__":
    main()
