"""Core numbers and triangles beside other libraries: `python -m benchmarks.dense_parts`.

All get the same undirected graphs, without loops and parallel edges. All core numbers have to be the same; so have
clustering coefficients but for rounding, and the share of closed pairs of edges of those that give only that. See
docs/benchmarks.md.
"""

import argparse
import functools
from collections.abc import Callable, Iterator
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

import edgewise as ew
from benchmarks.contenders import Job
from benchmarks.options import add_names
from benchmarks.ours import EXAMPLES, load
from benchmarks.peeling import real, simple
from benchmarks.results import Row, at_least_one, dated, machine, write_rows
from benchmarks.table import markdown
from benchmarks.timing import columns_of, measure_in_turns
from edgewise.kernels.cpu.team import available_threads

GRAPHS: dict[str, Callable[[], ew.Graph]] = {
    "rmat16": lambda: ew.generate.rmat(16, 16, seed=1),
    "rmat18": lambda: ew.generate.rmat(18, 16, seed=1),
    "soc-Epinions1-sym": real("soc-Epinions1-sym"),
    "road-FLA": real("road-FLA"),
}
#: Contenders that take minutes on graphs with more arcs, where they are left out, by the algorithm.
SLOW, MOST_ARCS = {"cores": ("networkx",), "triangles": ("networkx", "rustworkx")}, 2_000_000
Makers = dict[str, Callable[[], Job]]


def tasks(graph: ew.Graph) -> dict[str, Makers]:
    """What makes the jobs, by the algorithm and the contender."""
    n, once = graph.num_vertices, graph.sources < graph.targets
    pairs = np.stack([graph.sources[once], graph.targets[once]], axis=1)
    program = ew.prepare(load(EXAMPLES / "k_core.py").KCore, graph, device="cpu")
    made: dict[str, Makers] = {
        "cores": {
            "edgewise": lambda: Job(lambda: ew.core_numbers(graph, device="cpu"), verified("core"), "core"),
            "edgewise-plain": lambda: Job(program, lambda result: result.core, "core"),
        },
        "triangles": {"edgewise": lambda: Job(clustering_of(graph), verified("clustering"), "clustering")},
    }
    for add in (add_igraph, add_networkit, add_rustworkx, add_networkx):
        add(made, n, pairs)
    if graph.num_arcs > MOST_ARCS:
        for algorithm, names in SLOW.items():
            for name in names:
                del made[algorithm][name]
    return made


def clustering_of(graph: ew.Graph) -> Callable[[], Any]:
    """What finds triangles, and coefficients, as the others do."""

    def find() -> Any:
        result = ew.triangles(graph, device="cpu")
        _ = result.clustering
        return result

    return find


def verified(name: str) -> Callable[[Any], np.ndarray]:
    """What takes an array of a result of ours, which its verifier has to accept."""

    def answer(result: Any) -> np.ndarray:
        result.verify(result.graph)
        return np.asarray(getattr(result, name))

    return answer


def add_igraph(made: dict[str, Makers], n: int, pairs: np.ndarray) -> None:
    """igraph: C, one thread."""
    import igraph

    graph = igraph.Graph(n, pairs)
    made["cores"]["igraph"] = lambda: Job(graph.coreness, np.array, "core")
    local = functools.partial(graph.transitivity_local_undirected, mode="zero")
    made["triangles"]["igraph"] = lambda: Job(local, np.array, "clustering")


def add_networkit(made: dict[str, Makers], n: int, pairs: np.ndarray) -> None:
    """networkit: C++ with OpenMP, with as many threads as edgewise."""
    import networkit
    from networkit.centrality import CoreDecomposition, LocalClusteringCoefficient

    networkit.setNumberOfThreads(available_threads())
    graph = networkit.GraphFromCoo((pairs[:, 0].astype(np.int64), pairs[:, 1].astype(np.int64)), n=n)
    made["cores"]["networkit"] = lambda: Job(
        lambda: CoreDecomposition(graph).run().scores(), np.array, "core"
    )
    for name, turbo in (("networkit", False), ("networkit, turbo", True)):

        def local(turbo: bool = turbo) -> Any:
            return LocalClusteringCoefficient(graph, turbo).run().scores()

        made["triangles"][name] = functools.partial(Job, local, np.array, "clustering")


def add_rustworkx(made: dict[str, Makers], n: int, pairs: np.ndarray) -> None:
    """rustworkx: Rust, threads for triangles. It gives the transitivity of the whole graph."""
    import rustworkx

    graph = rustworkx.PyGraph()
    graph.add_nodes_from(range(n))
    graph.extend_from_edge_list(list(map(tuple, pairs.tolist())))

    def by_vertex(found: Any) -> np.ndarray:
        return np.array([found[v] for v in range(n)])

    made["cores"]["rustworkx"] = lambda: Job(lambda: rustworkx.core_number(graph), by_vertex, "core")
    whole = functools.partial(rustworkx.transitivity, graph)
    note = "only the transitivity of the graph"
    made["triangles"]["rustworkx"] = lambda: Job(whole, np.array, "transitivity", note)


def add_networkx(made: dict[str, Makers], n: int, pairs: np.ndarray) -> None:
    """NetworkX: plain Python."""
    import networkx

    graph = networkx.empty_graph(n)
    graph.add_edges_from(pairs.tolist())

    def by_vertex(found: Any) -> np.ndarray:
        return np.array([found[v] for v in range(n)])

    made["cores"]["networkx"] = lambda: Job(lambda: networkx.core_number(graph), by_vertex, "core")
    made["triangles"]["networkx"] = lambda: Job(lambda: networkx.clustering(graph), by_vertex, "clustering")


def judged(form: str, answer: np.ndarray, ours: Any) -> str:
    """The word "yes", or what is wrong with an answer beside a result of ours."""
    expected = np.asarray(getattr(ours, form))
    same = answer == expected if form == "core" else np.isclose(answer, expected, rtol=1e-9, atol=1e-12)
    return "yes" if np.all(same) else f"{np.count_nonzero(~same)} of {expected.size} differ"


def measure(name: str, repeat: int) -> Iterator[Row]:
    """The rows of one graph."""
    graph = simple(GRAPHS[name]())
    print(f"{name}: {graph.num_vertices:,} vertices, {graph.num_arcs:,} arcs", flush=True)
    for algorithm, makers in tasks(graph).items():
        outcomes = measure_in_turns(makers, repeat)
        ours = outcomes["edgewise"].result
        for contender, outcome in outcomes.items():
            if outcome.error is not None:
                raise outcome.error
            job = outcome.job
            row = Row(
                **machine(),
                graph=name,
                vertices=graph.num_vertices,
                arcs=graph.num_arcs,
                algorithm=algorithm,
                contender=contender,
                version=version(contender.partition("-")[0].partition(",")[0]),
                **columns_of(outcome),
                verified=judged(job.form, job.answer(outcome.result), ours),
            )
            print(
                f"  {algorithm:<10} {contender:<17} {1e3 * row.seconds:9.4g} ms  {row.verified}", flush=True
            )
            yield row


def table(rows: list[Row]) -> str:
    """Milliseconds by graph and algorithm, and in brackets how many times as long as edgewise."""
    ours = {(row.graph, row.algorithm): row.seconds for row in rows if row.contender == "edgewise"}
    names = list(dict.fromkeys(row.contender for row in rows))
    cells = {
        (row.graph, row.algorithm, row.contender): f"{1e3 * row.seconds:.3g}"
        f" ({row.seconds / ours[row.graph, row.algorithm]:.2g})"
        for row in rows
        if row.verified == "yes"
    }
    body = [
        [graph, algorithm, *(cells.get((graph, algorithm, name), "") for name in names)]
        for graph, algorithm in ours
    ]
    return markdown(["graph", "what", *names], body, left=2)


def main() -> None:
    """Measure, write the rows, print the table."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.dense_parts", description="Time core numbers and triangles."
    )
    add_names(parser, "--graphs", GRAPHS)
    parser.add_argument(
        "--repeat", type=at_least_one, default=5, help="rounds of warm calls (default: %(default)s)"
    )
    default = dated(f"{available_threads()}-cores-core-triangles")
    parser.add_argument("--output", type=Path, default=default, help="a new file (default: %(default)s)")
    options = parser.parse_args()
    rows = write_rows(
        options.output, (row for name in options.graphs for row in measure(name, options.repeat))
    )
    print(f"\n{table(rows)}\n\nrows: {options.output}")


if __name__ == "__main__":
    main()
