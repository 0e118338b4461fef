"""Programs whose vertices sleep against the same where everybody is active: `python -m benchmarks.peeling`.

Core numbers and greedy colouring, as programs of examples/ and as one writes them at first: every vertex looks at each
superstep whether it is its turn, and sends along all its edges. igraph, networkit, rustworkx and NetworkX beside them.
All core numbers have to be the same; so have the colours of whoever takes vertices in the same order, and those of the
others have to differ along every edge. See docs/benchmarks.md.
"""

import argparse
import math
from collections.abc import Callable, Iterator
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

import edgewise as ew
from benchmarks.contenders import Job
from benchmarks.options import add_names
from benchmarks.ours import EXAMPLES, load
from benchmarks.results import Row, at_least_one, dated, machine, write_rows
from benchmarks.table import markdown
from benchmarks.timing import columns_of, measure_in_turns
from edgewise.kernels.cpu.team import available_threads


class EverybodyCore(ew.Program):
    """Core numbers: whoever has fewer than k neighbours left goes; k rises when nobody went."""

    k = ew.vertex("int32", init=1)
    core = ew.vertex("int32", init=-1)
    went = ew.vertex("bool")
    combine = ew.SUM
    message = "int32"

    @staticmethod
    def edge_compute(edge, state):
        return 1 if state.core[edge.source] < 0 else None

    @staticmethod
    def vertex_compute(v, message, state):
        state.went[v] = False
        if state.core[v] < 0:
            if state.superstep > 1 and state.gone == 0:
                state.k[v] += 1
            if message < state.k[v]:
                state.core[v] = state.k[v] - 1
                state.went[v] = True
        return ew.ACTIVE

    @ew.aggregator(ew.SUM, "int64")
    @staticmethod
    def gone(v, state):
        return 1 if state.went[v] else 0

    @ew.aggregator(ew.SUM, "int64")
    @staticmethod
    def left(v, state):
        return 1 if state.core[v] < 0 else 0

    @staticmethod
    def proceed(state):
        return state.left > 0


class EverybodyColoring(ew.Program):
    """Greedy colouring by falling degrees: whoever has no uncoloured neighbour before it takes a colour."""

    color = ew.vertex("int32", init=-1)
    combine = ew.MESSAGES
    message = ew.fields(color="int32", degree="int64", sender="int64")

    @staticmethod
    def edge_compute(edge, state):
        return state.color[edge.source], state.out_degree[edge.source], edge.source

    @staticmethod
    def vertex_compute(v, messages, state):
        if state.color[v] >= 0:
            return ew.ACTIVE
        count, degree = len(messages.color), state.out_degree[v]
        for i in range(count):
            its = messages.degree[i]
            if messages.color[i] < 0 and (its > degree or (its == degree and messages.sender[i] < v)):
                return ew.ACTIVE
        color, taken = 0, True
        while taken:
            taken = False
            for i in range(count):
                if messages.color[i] == color:
                    taken = True
            color += taken
        state.color[v] = color
        return ew.ACTIVE

    @ew.aggregator(ew.SUM, "int64")
    @staticmethod
    def left(v, state):
        return 1 if state.color[v] < 0 else 0

    @staticmethod
    def proceed(state):
        return state.left > 0


def simple(graph: ew.Graph) -> ew.Graph:
    """The undirected graph without loops and parallel edges."""
    return ew.Graph.from_edges(
        graph.sources,
        graph.targets,
        directed=False,
        num_vertices=graph.num_vertices,
        parallel_edges="first",
        self_loops="drop",
    )


def real(name: str) -> Callable[[], ew.Graph]:
    """A graph of the golden answers."""

    def read() -> ew.Graph:
        from tests.golden import load as golden

        return golden(name).graph

    return read


GRAPHS: dict[str, Callable[[], ew.Graph]] = {
    "facebook_combined": real("facebook_combined"),
    "musae-github": real("musae-github"),
    "rmat16": lambda: ew.generate.rmat(16, 16, seed=1),
}


def tasks(graph: ew.Graph) -> dict[str, dict[str, Callable[[], Job]]]:
    """What makes the jobs, by the algorithm and the contender."""
    import igraph
    import networkit
    import networkx
    import rustworkx

    n, once = graph.num_vertices, graph.sources < graph.targets
    pairs = np.stack([graph.sources[once], graph.targets[once]], axis=1)

    def program(made: type[ew.Program], name: str) -> Callable[[], Job]:
        prepared = ew.prepare(made, graph, device="cpu")
        return lambda: Job(prepared, lambda result: getattr(result, name), name)

    def by_vertex(found: Any) -> np.ndarray:
        return np.array([found[v] for v in range(n)])

    of_igraph = igraph.Graph(n, pairs.tolist())
    of_networkx = networkx.empty_graph(n)
    of_networkx.add_edges_from(pairs.tolist())
    of_rustworkx = rustworkx.PyGraph()
    of_rustworkx.add_nodes_from(range(n))
    of_rustworkx.extend_from_edge_list(list(map(tuple, pairs.tolist())))
    of_networkit = networkit.GraphFromCoo((pairs[:, 0], pairs[:, 1]), n=n)

    def decompose() -> Any:
        return networkit.centrality.CoreDecomposition(of_networkit).run().scores()

    kcore, coloring = (load(EXAMPLES / f"{name}.py") for name in ("k_core", "greedy_coloring"))
    return {
        "core": {
            "edgewise-plain": program(kcore.KCore, "core"),
            "edgewise, all active": program(EverybodyCore, "core"),
            "igraph": lambda: Job(of_igraph.coreness, np.array, "core"),
            "networkit": lambda: Job(decompose, np.array, "core"),
            "rustworkx": lambda: Job(lambda: rustworkx.core_number(of_rustworkx), by_vertex, "core"),
            "networkx": lambda: Job(lambda: networkx.core_number(of_networkx), by_vertex, "core"),
        },
        "coloring": {
            "edgewise-plain": program(coloring.GreedyColoring, "color"),
            "edgewise, all active": program(EverybodyColoring, "color"),
            "igraph": lambda: Job(
                of_igraph.vertex_coloring_greedy, np.array, "other colors", "another order"
            ),
            "rustworkx": lambda: Job(
                lambda: rustworkx.graph_greedy_color(of_rustworkx), by_vertex, "other colors", "another order"
            ),
            "networkx": lambda: Job(
                lambda: networkx.greedy_color(of_networkx, "largest_first"), by_vertex, "color"
            ),
        },
    }


def judged(graph: ew.Graph, form: str, answer: np.ndarray, expected: np.ndarray) -> str:
    """The word "yes", or what is wrong with an answer."""
    if form != "other colors":
        wrong = int(np.count_nonzero(answer != expected))
        return "yes" if wrong == 0 else f"{wrong} of {len(expected)} differ"
    wrong = int(np.count_nonzero(answer[graph.sources] == answer[graph.targets]))
    return "yes" if wrong == 0 and answer.min() >= 0 else f"{wrong} arcs join vertices of one colour"


def measure(name: str, repeat: int) -> Iterator[Row]:
    """The rows of one graph."""
    graph = simple(GRAPHS[name]())
    print(f"{name}: {graph.num_vertices:,} vertices, {graph.num_arcs:,} arcs", flush=True)
    for algorithm, makers in tasks(graph).items():
        outcomes = measure_in_turns(makers, repeat)
        reference = outcomes["networkx"]
        expected = reference.job.answer(reference.result)
        for contender, outcome in outcomes.items():
            if outcome.error is not None:
                raise outcome.error
            job = outcome.job
            yield Row(
                **machine(),
                graph=name,
                vertices=graph.num_vertices,
                arcs=graph.num_arcs,
                algorithm=algorithm,
                contender=contender,
                version=version(contender.partition("-")[0].partition(",")[0]),
                **columns_of(outcome),
                verified=judged(graph, job.form, job.answer(outcome.result), expected),
            )


def table(rows: list[Row]) -> str:
    """Milliseconds, and how many times as long as the program whose vertices sleep."""
    ours = {(row.graph, row.algorithm): row.seconds for row in rows if row.contender == "edgewise-plain"}
    head = ["graph", "algorithm", "contender", "ms", "times", "right"]
    body = [
        [
            row.graph,
            row.algorithm,
            row.contender,
            f"{1e3 * row.seconds:.3g}",
            f"{row.seconds / ours.get((row.graph, row.algorithm), math.nan):.2f}",
            row.verified,
        ]
        for row in rows
    ]
    return markdown(head, body, left=3)


def main() -> None:
    """Measure, write the rows, print the table."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.peeling", description="Time sleeping vertices."
    )
    add_names(parser, "--graphs", GRAPHS)
    parser.add_argument(
        "--repeat", type=at_least_one, default=9, help="rounds of warm calls (default: %(default)s)"
    )
    default = dated(f"{available_threads()}-cores-peeling")
    parser.add_argument("--output", type=Path, default=default, help="a new file (default: %(default)s)")
    options = parser.parse_args()
    rows = write_rows(
        options.output, (row for name in options.graphs for row in measure(name, options.repeat))
    )
    print(f"\n{table(rows)}\n\nrows: {options.output}")


if __name__ == "__main__":
    main()
