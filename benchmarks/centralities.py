"""Centralities beside igraph, networkit, rustworkx and NetworkX: `python -m benchmarks.centralities`.

Closeness and harmonic centrality of all vertices, on undirected graphs, where all libraries mean the same; eigenvector
centrality, hubs and authorities, and Katz centrality on directed ones, until values change by less than 1e-6 in sum,
where that can be asked for. NetworkX, and igraph on larger graphs, look at some vertices only: their times are
multiplied by how many vertices there are for each of these, and the note says so. rustworkx, which cannot be asked for
some vertices, is left out there, and so is networkit for harmonic centrality. See docs/benchmarks.md.
"""

import argparse
from collections.abc import Callable, Iterator
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

import igraph
import networkit
import networkx
import numpy as np
import rustworkx

import edgewise as ew
from benchmarks.contenders import Job
from benchmarks.graphs import rmat
from benchmarks.options import add_names
from benchmarks.page_tables import centralities_table
from benchmarks.peeling import real, simple
from benchmarks.results import Row, at_least_one, dated, machine, write_rows
from benchmarks.timing import columns_of, measure_in_turns
from edgewise.kernels.cpu.team import available_threads

#: The change, in sum, at which power iterations end; and the decay of walks, which has to be small on skewed graphs.
CHANGE, ALPHA = 1e-6, 1e-3
#: The vertices that NetworkX looks at, and igraph on graphs of more vertices than that.
OF_NETWORKX, OF_IGRAPH, FEW = 4, 64, 20_000
#: How far values may be from ours, as a share of the largest: solvers end where they end.
TOLERANCE = {"closeness": 1e-9, "harmonic": 1e-9, "eigenvector": 1e-3, "hits": 1e-3, "katz": 1e-3}


def generated(scale: int) -> ew.Graph:
    """A directed R-MAT graph without loops and parallel edges."""
    edges = rmat(scale)
    return ew.Graph.from_edges(edges.source, edges.target, num_vertices=edges.num_vertices)


ALL_PAIRS: dict[str, Callable[[], ew.Graph]] = {
    "rmat14": lambda: simple(generated(14)),
    "email-Enron": lambda: simple(real("email-Enron")()),
    "rmat16": lambda: simple(generated(16)),
}
SPECTRAL: dict[str, Callable[[], ew.Graph]] = {
    "rmat16 directed": lambda: generated(16),
    "rmat18 directed": lambda: generated(18),
}


class Timed(NamedTuple):
    """What makes a job, and how many times as long as it the whole would take."""

    make: Callable[[], Job]
    times: float = 1.0


class Known(NamedTuple):
    """A graph in all libraries."""

    graph: ew.Graph
    igraph: Any
    networkit: Any
    networkx: Any
    rustworkx: Any


def known(graph: ew.Graph) -> Known:
    """Make the graph in all libraries, an undirected edge once."""
    once = slice(None) if graph.directed else graph.sources < graph.targets
    pairs = np.column_stack([graph.sources[once], graph.targets[once]]).astype(np.int64)
    n, directed = graph.num_vertices, graph.directed
    graph.make_in_edges()
    of_networkx = networkx.empty_graph(n, networkx.DiGraph if directed else networkx.Graph)
    of_networkx.add_edges_from(pairs.tolist())
    of_rustworkx = (rustworkx.PyDiGraph if directed else rustworkx.PyGraph)()
    of_rustworkx.add_nodes_from(range(n))
    of_rustworkx.extend_from_edge_list(list(map(tuple, pairs.tolist())))
    of_networkit = networkit.GraphFromCoo((pairs[:, 0], pairs[:, 1]), n=n, directed=directed)
    return Known(graph, igraph.Graph(n, pairs, directed=directed), of_networkit, of_networkx, of_rustworkx)


def by_vertex(values: Any) -> np.ndarray:
    """Values from a mapping by vertices 0..n-1."""
    return np.array([values[v] for v in range(len(values))])


def at(some: list[int], values: Any, num_vertices: int) -> np.ndarray:
    """Values of some vertices, NaN for the others."""
    found = np.full(num_vertices, np.nan)
    found[some] = values
    return found


def all_pairs(on: Known) -> dict[str, dict[str, Timed]]:
    """The tasks that look at all pairs of vertices."""
    n = on.graph.num_vertices
    drawn = np.random.default_rng(1).permutation(n).tolist()
    few, some = drawn[:OF_NETWORKX], range(n) if n <= FEW else drawn[:OF_IGRAPH]
    reached = ew.closeness(on.graph).reached / max(n - 1, 1)  # igraph's values are not scaled by it
    every = range(n)

    def job(call: Callable[[], Any], answer: Callable[[Any], Any], form: str, count: int) -> Timed:
        note = "" if count == n else f"{count} vertices, times {n} / {count}"
        return Timed(lambda: Job(call, answer, form, note), n / count)

    def of_networkit(kind: Any, form: str, *how: Any) -> Timed:
        return job(lambda: kind(on.networkit, *how).run(), lambda r: np.array(r.scores()), form, n)

    def closeness_of_few() -> Any:
        return [networkx.closeness_centrality(on.networkx, v) for v in few]

    def harmonic_of_few() -> Any:
        return networkx.harmonic_centrality(on.networkx, few)

    centrality = networkit.centrality
    generalized = centrality.ClosenessVariant.GENERALIZED
    tasks = {
        "closeness": {
            "edgewise": job(lambda: ew.closeness(on.graph), lambda r: r.closeness, "closeness", n),
            "igraph": job(
                lambda: on.igraph.closeness(list(some)),
                lambda r: at(list(some), r, n) * reached,
                "closeness",
                len(some),
            ),
            "networkit": of_networkit(centrality.Closeness, "closeness", True, generalized),
            "rustworkx": job(lambda: rustworkx.closeness_centrality(on.rustworkx), by_vertex, "closeness", n),
            "networkx": job(closeness_of_few, lambda r: at(few, r, n), "closeness", len(few)),
        },
        "harmonic": {
            "edgewise": job(lambda: ew.harmonic(on.graph), lambda r: r.harmonic, "harmonic", n),
            "igraph": job(
                lambda: on.igraph.harmonic_centrality(list(some), normalized=False),
                lambda r: at(list(some), r, n),
                "harmonic",
                len(some),
            ),
            "networkit": of_networkit(centrality.HarmonicCloseness, "harmonic", False),
            "networkx": job(
                harmonic_of_few,
                lambda r: at(list(every), [r.get(v, np.nan) for v in every], n),
                "harmonic",
                len(few),
            ),
        },
    }
    if n > FEW:
        del tasks["closeness"]["rustworkx"], tasks["harmonic"]["networkit"]
    return tasks


def spectral(on: Known) -> dict[str, dict[str, Timed]]:
    """The tasks that iterate."""
    n = on.graph.num_vertices
    tol = CHANGE / n
    of_graph: dict[str, Any] = {"tol": tol, "max_iterations": 1000}

    def hits_of_rustworkx() -> Any:
        return rustworkx.hits(on.rustworkx, tol=CHANGE, max_iter=1000)

    def job(call: Callable[[], Any], answer: Callable[[Any], Any], form: str, note: str = "") -> Timed:
        return Timed(lambda: Job(call, answer, form, note))

    return {
        "eigenvector": {
            "edgewise": job(
                lambda: ew.eigenvector(on.graph, **of_graph), lambda r: r.centrality, "eigenvector"
            ),
            "igraph": job(
                lambda: on.igraph.eigenvector_centrality(),
                np.array,
                "eigenvector",
                "ARPACK, to its own tolerance",
            ),
            "networkit": job(
                lambda: networkit.centrality.EigenvectorCentrality(on.networkit, tol).run(),
                lambda r: np.array(r.scores()),
                "eigenvector",
                "a tolerance of its own meaning",
            ),
            "rustworkx": job(
                lambda: rustworkx.eigenvector_centrality(on.rustworkx, tol=tol, max_iter=1000),
                by_vertex,
                "eigenvector",
            ),
            "networkx": job(
                lambda: networkx.eigenvector_centrality(on.networkx, 1000, tol), by_vertex, "eigenvector"
            ),
        },
        "hits": {
            "edgewise": job(
                lambda: ew.hits(on.graph, tol=CHANGE, max_iterations=1000), lambda r: r.hub, "hits"
            ),
            "igraph": job(on.igraph.hub_score, np.array, "hits", "hubs only; ARPACK, to its own tolerance"),
            "rustworkx": job(hits_of_rustworkx, lambda r: by_vertex(r[0]), "hits"),
            "networkx": job(
                lambda: networkx.hits(on.networkx),
                lambda r: by_vertex(r[0]),
                "hits",
                "SciPy's ARPACK, to 1e-8",
            ),
        },
        "katz": {
            "edgewise": job(
                lambda: ew.katz(on.graph, alpha=ALPHA, **of_graph), lambda r: r.centrality, "katz"
            ),
            "rustworkx": job(
                lambda: rustworkx.katz_centrality(on.rustworkx, alpha=ALPHA, tol=tol), by_vertex, "katz"
            ),
            "networkx": job(lambda: networkx.katz_centrality(on.networkx, ALPHA, tol=tol), by_vertex, "katz"),
        },
    }


def judged(form: str, answer: np.ndarray, ours: np.ndarray) -> str:
    """The word "yes", or how far values are from ours; spectral ones are scaled so that the largest is 1."""
    if form in ("eigenvector", "hits", "katz"):
        answer, ours = answer / np.abs(answer).max(), ours / ours.max()
        answer = answer * np.sign(answer.sum())
    known_ones = ~np.isnan(answer)
    far = float(np.abs(answer - ours)[known_ones].max() / np.abs(ours).max())
    return "yes" if known_ones.any() and far <= TOLERANCE[form] else f"differs by {far:.2g} of the largest"


def measure(name: str, repeat: int, rivals: list[str]) -> Iterator[Row]:
    """The rows of one graph."""
    graph = (ALL_PAIRS | SPECTRAL)[name]()
    print(f"{name}: {graph.num_vertices:,} vertices, {graph.num_arcs:,} arcs", flush=True)
    on = known(graph)
    for algorithm, contenders in (all_pairs(on) if name in ALL_PAIRS else spectral(on)).items():
        chosen = {each: task for each, task in contenders.items() if each == "edgewise" or each in rivals}
        outcomes = measure_in_turns({each: task.make for each, task in chosen.items()}, repeat)
        ours = outcomes["edgewise"]
        if ours.error is not None:
            raise ours.error
        if name in SPECTRAL:  # to verify sums over all pairs takes as long as the slowest rival
            ours.result.verify(graph)
        expected = ours.job.answer(ours.result)
        verdicts = {
            each: judged(outcome.job.form, outcome.job.answer(outcome.result), expected)
            for each, outcome in outcomes.items()
            if outcome.error is None
        }
        if name in ALL_PAIRS and "yes" not in [verdicts[each] for each in verdicts if each != "edgewise"]:
            verdicts["edgewise"] = "no other library agrees"
        for contender, outcome in outcomes.items():
            if outcome.error is not None:
                print(f"  {algorithm} {contender}: {outcome.error}", flush=True)
                continue
            row = Row(
                **machine(),
                graph=name,
                vertices=graph.num_vertices,
                arcs=graph.num_arcs,
                algorithm=algorithm,
                contender=contender,
                version=version(contender),
                **columns_of(outcome, chosen[contender].times),
                verified=verdicts[contender],
            )
            print(
                f"  {algorithm:<12} {contender:<10} {row.seconds:10.4g} s  {row.verified}  {row.note}",
                flush=True,
            )
            yield row


def main() -> None:
    """Measure, write the rows, print the table."""
    graphs, others = (*ALL_PAIRS, *SPECTRAL), ("igraph", "networkit", "rustworkx", "networkx")
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.centralities", description="Time centralities."
    )
    add_names(parser, "--graphs", graphs)
    add_names(parser, "--rivals", others, may_be_none=True)
    parser.add_argument(
        "--repeat", type=at_least_one, default=5, help="rounds of warm calls (default: %(default)s)"
    )
    default = dated(f"{available_threads()}-cores-centralities")
    parser.add_argument("--output", type=Path, default=default, help="a new file (default: %(default)s)")
    options = parser.parse_args()
    networkit.setNumberOfThreads(available_threads())
    rows = write_rows(
        options.output,
        (row for name in options.graphs for row in measure(name, options.repeat, options.rivals)),
    )
    print(f"\n{centralities_table(rows)}\n\nrows: {options.output}")


if __name__ == "__main__":
    main()
