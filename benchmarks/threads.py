"""The number of threads that runs take by themselves against every other: `python -m benchmarks.threads`.

Each algorithm, and programs of examples/, on graphs from a hundred arcs to a hundred million, with the default and with
1, 2, 4, ... threads in turns; all answers have to be equal. `seconds` of the default beside those of the best number is
what the choice costs. See docs/benchmarks.md.
"""

import argparse
import math
import statistics
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

import edgewise as ew
from benchmarks.graphs import source_of
from benchmarks.options import add_names, checked
from benchmarks.ours import EXAMPLES, load
from benchmarks.results import Row, dated, machine, write_rows
from edgewise.kernels.cpu.team import available_threads

#: Calls of each number of threads, and the seconds after which no more are begun.
CALLS, PATIENCE = 15, 3.0
#: Seconds in which the threads of a call go to sleep again.
PAUSE = 0.002


def weighted(graph: ew.Graph) -> ew.Graph:
    """The graph with weights from 1 to 99."""
    weights = np.random.default_rng(1).integers(1, 100, graph.num_arcs)
    return ew.Graph.from_csr(graph.offsets, graph.targets, weights)


def graphs(largest: int) -> dict[str, Callable[[], ew.Graph]]:
    """Graphs of at most `largest` arcs: R-MAT, which is skewed and shallow, and lattices, which are neither."""
    made: dict[str, Callable[[], ew.Graph]] = {}
    for scale, factor in (
        (4, 4),
        (7, 8),
        (10, 8),
        (12, 16),
        (14, 16),
        (17, 16),
        (20, 16),
        (22, 16),
        (23, 12),
    ):
        if 2 * factor << scale <= largest:
            made[f"rmat{scale}"] = lambda scale=scale, factor=factor: ew.generate.rmat(
                scale, factor, seed=1, directed=False
            )
    for side in (5, 16, 64, 128, 256, 1024, 4096):
        if 4 * side * side <= largest:
            made[f"lattice{side}"] = lambda side=side: ew.generate.lattice(side, side, directed=False)
    return made


def runs(graph: ew.Graph) -> dict[str, Callable[[ew.Schedule], Any]]:
    """What is timed: by its name, a call with a schedule that gives an answer."""
    source = source_of(graph)
    heavy = weighted(graph).as_directed()
    both_ways = ew.Graph.from_csr(graph.offsets, graph.targets, directed=False)
    directed = ew.Graph.from_csr(graph.offsets, graph.targets)
    directed.make_in_edges()
    loose = (
        1e-6 * graph.num_vertices
    )  # few iterations: what is compared is one with another number of threads
    few = [source] if graph.num_arcs > 1_000_000 else list(range(min(8, graph.num_vertices)))
    calls: dict[str, Callable[[ew.Schedule], Any]] = {
        "bfs": lambda how: ew.bfs(both_ways, source, device="cpu", schedule=how).level,
        "sssp": lambda how: ew.sssp(heavy, source, device="cpu", schedule=how).distance,
        "pagerank": lambda how: ew.pagerank(both_ways, tol=loose, device="cpu", schedule=how).rank,
        "components": lambda how: ew.connected_components(both_ways, device="cpu", schedule=how).component,
        "scc": lambda how: ew.scc(directed, device="cpu", schedule=how).component,
        "mst": lambda how: ew.mst(both_ways, device="cpu", schedule=how).total_weight,
        "betweenness": lambda how: (
            ew.betweenness(both_ways, sources=few, device="cpu", schedule=how).centrality
        ),
    }

    def program(name: str, graph: ew.Graph, made: type[ew.Program], answer: str, **values: Any) -> None:
        prepared: dict[ew.Schedule, Any] = {}

        def call(how: ew.Schedule) -> Any:
            if how not in prepared:
                prepared[how] = ew.prepare(made, graph, device="cpu", schedule=how)
            return getattr(prepared[how](**values), answer)

        calls[f"{name} (program)"] = call

    def example(name: str, made: str) -> type[ew.Program]:
        found: type[ew.Program] = getattr(load(EXAMPLES / f"{name}.py"), made)
        return found

    program("bfs", both_ways, example("bfs", "BFS"), "level", source=source)
    program("sssp", heavy, example("sssp", "SSSP"), "distance", source=source)
    program("pagerank", both_ways, example("pagerank", "PageRank"), "rank", tol=loose)
    program("components", both_ways, example("components", "Components"), "label")
    if graph.num_arcs <= 10_000_000:
        program("core", both_ways, example("k_core", "KCore"), "core")
    return calls


def times(
    call: Callable[[ew.Schedule], Any], sizes: list[int | None]
) -> tuple[dict[int | None, list[float]], str]:
    """Seconds with the default (None) and with each number of threads, in turns; whether all answers are equal."""
    expected = call(ew.Schedule(num_threads=1))
    taken: dict[int | None, list[float]] = {size: [] for size in sizes}
    equal, began = True, time.perf_counter()
    for number in range(CALLS):
        for size in sizes:
            schedule = ew.Schedule(num_threads=size)
            time.sleep(PAUSE)
            call(schedule)  # what other calls left behind, in caches and of threads, is not this one's
            started = time.perf_counter()
            answer = call(schedule)
            taken[size].append(time.perf_counter() - started)
            equal &= np.array_equal(answer, expected)
        if time.perf_counter() - began > PATIENCE and number:
            break
    return {size: values[1:] for size, values in taken.items()}, "yes" if equal else "answers differ"


def measure(graphs: dict[str, Callable[[], ew.Graph]], only: list[str]) -> Iterator[Row]:
    """The rows of some graphs and algorithms, each algorithm with all numbers of threads."""
    cores = available_threads()
    powers = [1 << power for power in range(cores.bit_length()) if 1 << power < cores]
    sizes: list[int | None] = [None, *powers, cores]
    print("graph", "algorithm", "default/best", *(f"{size or 'default'}" for size in sizes), sep="\t")
    for name, make in graphs.items():
        graph = make()
        for algorithm, call in runs(graph).items():
            if algorithm not in only:
                continue
            taken, verified = times(call, sizes)
            medians = {size: statistics.median(values) for size, values in taken.items()}
            best = min(seconds for size, seconds in medians.items() if size)
            told = (f"{seconds * 1e3:.3f}" for seconds in medians.values())
            print(name, algorithm, f"{medians[None] / best:.2f}", *told, verified, sep="\t", flush=True)
            for size, values in taken.items():
                yield Row(
                    **machine(),
                    graph=name,
                    vertices=graph.num_vertices,
                    arcs=graph.num_arcs,
                    algorithm=algorithm,
                    contender="default" if size is None else f"{size} threads",
                    version=ew.__version__,
                    seconds=medians[size],
                    fastest=min(values),
                    first_seconds=math.nan,
                    prepare_seconds=0.0,
                    calls=len(values),
                    verified=verified,
                    note=f"{medians[size] / best:.2f} of the best number's time",
                    source=str(source_of(graph)) if algorithm.startswith(("bfs", "sssp")) else "",
                )


def main() -> None:
    """Time everything, print a table, and write the CSV."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--largest", type=int, default=300_000_000, help="most arcs of a graph")
    add_names(parser, "--only", runs(ew.generate.rmat(4, 4, directed=False)), what="algorithms")
    parser.add_argument("--graphs", help="names of graphs that are not larger, by commas (default: all)")
    default = dated(f"{available_threads()}-cores-threads")
    parser.add_argument("--output", type=Path, default=default, help="a new file (default: %(default)s)")
    args = parser.parse_args()
    made = graphs(args.largest)
    names = list(made) if args.graphs is None else checked(parser, "--graphs", args.graphs, made)
    write_rows(args.output, measure({name: made[name] for name in names}, args.only))


if __name__ == "__main__":
    main()
