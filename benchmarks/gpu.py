"""Time and verify edgewise on a GPU: `python -m benchmarks.gpu`. See docs/benchmarks.md.

Times are wall times of whole calls until the GPU has done all that was asked, medians, in milliseconds: the graph lies
on the GPU, the results stay there, layouts were made by the first call, and clusters by the second; before, all
algorithms ran on small graphs, so that `layout_ms` is not of what a process does once. Random sources are
vertices with out-edges. Each result is checked by its verifier, that of a plain program by the built-in algorithm's,
and a graph that is built by the one of the CPU. Where pylibcugraph is installed, cuGraph runs the same beside each
(`benchmarks.rivals_gpu`), and is checked by the built-in algorithm's.
"""

import argparse
import statistics
import time
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np

import edgewise as ew
from benchmarks.graphs import source_of
from benchmarks.options import add_names
from benchmarks.ours import EXAMPLES, load
from benchmarks.results import at_least_one, dated, rows_file, versions
from benchmarks.rivals_gpu import CuGraph, is_there
from edgewise.kernels.door import cuda_door

GRAPHS: dict[str, Callable[[], ew.Graph]] = {
    "rmat20": lambda: ew.generate.rmat(20, 16, (0.45, 0.15, 0.15, 0.25), simple=True, weights=(1, 100)),
    "rmat22": lambda: ew.generate.rmat(22, 16, simple=True, weights=(1, 100)),
    "uniform": lambda: ew.generate.uniform(2**20, 2**24, simple=True, weights=(1, 100)),
    "lattice": lambda: ew.generate.lattice(2048, 2048, removed=0.1, weights=(1, 100)),
    "one-way": lambda: ew.generate.lattice(2048, 2048, removed=0.1, one_way=0.3, weights=(1, 100)),
}
#: Milliseconds on one H100 that were aimed at, one for each of the first graphs; the others are not measured.
GOALS = {
    "bfs": (0.6, 1.0, 0.8, 12),
    "sssp": (4, 6, 8, 45),
    "pagerank": (7.5, 25, 8, 5),
    "components": (0.6, 1.2, 0.6, 0.7),
    "scc": (4, 6, 8, 1.5, 60),
    "mst": (6, 12, 14, 4),
    "betweenness": (25, 70, 25, 250),
    "build": (5, 14, 5, 5),
}
#: Small graphs on which algorithms run first: one for which layouts are made, and one for which clusters are.
FIRST: tuple[Callable[[], ew.Graph], ...] = (
    lambda: ew.generate.rmat(17, 16, simple=True, weights=(1, 100)),
    lambda: ew.generate.lattice(512, 512, removed=0.1, weights=(1, 100)),
)
SOURCES = 16
#: Iterations of PageRank, all of which have to be done: ranks would be near enough after fewer.
ITERATIONS = 50
#: Calls of more than so many seconds are timed so often at most.
LONG = ((1.0, 3), (10.0, 1))
#: What is compared of programs of examples/, and of algorithms; and by how much ranks may differ in all.
FIELDS = {
    "bfs": ("level", "level"),
    "sssp": ("distance", "distance"),
    "pagerank": ("rank", "rank"),
    "components": ("label", "component"),
}
RANK_TOLERANCE = 1e-6
COLUMNS = (
    "graph", "vertices", "arcs", "algorithm", "what", "source", "ms", "goal_ms", "supersteps", "right",
    "layout_ms", "explain",
)  # fmt: skip


def synchronize() -> None:
    """Wait for all that the GPU was asked to do."""
    cuda_door().cupy().cuda.get_current_stream().synchronize()


def timed(call: Callable[[], Any], repeat: int) -> tuple[dict[str, Any], Any]:
    """`ms`, the median of `repeat` calls after one that is not counted, or of fewer if they are long, and how many; and
    the last result."""
    result, seconds = call(), []
    while len(seconds) < repeat:
        synchronize()
        start = time.perf_counter()
        result = call()
        synchronize()
        seconds.append(time.perf_counter() - start)
        repeat = min([repeat, *(most for least, most in LONG if seconds[0] > least)])
    return {"ms": 1e3 * statistics.median(seconds), "repeat": repeat}, result


def made_once_ms(call: Callable[[], Any]) -> float:
    """Milliseconds of what the first two calls make once for a graph; clusters are made in the second."""
    return 1e3 * sum(call().layout_seconds for _ in range(2))


def run_first(algorithms: Iterable[str]) -> None:
    """Run algorithms on small graphs, so that no row counts what a process does once, such as loading kernels."""
    for graph in (make() for make in FIRST):
        for name, call in built_in(graph, source_of(graph)).items():
            if name in algorithms:
                made_once_ms(call)


def built_in(graph: ew.Graph, source: int) -> dict[str, Callable[[], Any]]:
    """The algorithms as calls."""
    some = np.random.default_rng(1).choice(np.flatnonzero(graph.out_degree), SOURCES, replace=False)
    return {
        "bfs": lambda: ew.bfs(graph, source, device="cuda"),
        "sssp": lambda: ew.sssp(graph, source, device="cuda"),
        "pagerank": lambda: ew.pagerank(
            graph, tol=0, max_iterations=ITERATIONS, dtype=np.float32, device="cuda"
        ),
        "components": lambda: ew.connected_components(graph, device="cuda"),
        "scc": lambda: ew.scc(graph, device="cuda"),
        "mst": lambda: ew.mst(graph, symmetrize=True, device="cuda"),
        "betweenness": lambda: ew.betweenness(graph, sources=some, device="cuda"),
    }


def plain(graph: ew.Graph, source: int) -> dict[str, Callable[[], Any]]:
    """The programs of examples/ as calls; components on the graph with every arc both ways."""
    both_ways = ew.Graph.from_edges(
        graph.sources, graph.targets, directed=False, num_vertices=graph.num_vertices
    )
    calls = {}
    for name, program, values, on in (
        ("bfs", "BFS", {"source": source}, graph),
        ("sssp", "SSSP", {"source": source}, graph),
        ("pagerank", "PageRank", {"tol": 0.0, "max_supersteps": ITERATIONS}, graph),
        ("components", "Components", {}, both_ways),
    ):
        prepared = ew.prepare(getattr(load(EXAMPLES / f"{name}.py"), program), on, device="cuda")
        calls[name] = lambda prepared=prepared, values=values: prepared(**values)
    return calls


def built(columns: Iterable[Any], num_vertices: int) -> ew.Graph:
    """A graph from edge arrays on the GPU, built to the end, that nothing else was made for yet."""
    graph = ew.Graph.from_edges(*columns, num_vertices=num_vertices)
    _ = graph.gpu.offsets
    synchronize()
    return graph


def building(columns: list[np.ndarray], num_vertices: int) -> Callable[[], ew.Graph]:
    """A call that makes rows and columns from edge arrays on the GPU."""
    cupy = cuda_door().cupy()
    on_gpu = [cupy.asarray(column) for column in columns]

    def build() -> ew.Graph:
        made = ew.Graph.from_edges(*on_gpu, num_vertices=num_vertices)
        _ = made.gpu.in_offsets
        return made

    return build


def same_graph(made: ew.Graph, columns: list[np.ndarray]) -> bool:
    """Whether a graph is the one that is built on the CPU."""
    names = ("offsets", "targets", "weights", "in_offsets", "in_sources", "in_weights")
    expected = ew.Graph.from_edges(*columns, num_vertices=made.num_vertices)
    return all(np.array_equal(getattr(made, name), getattr(expected, name)) for name in names)


def expected_of(name: str, graph: ew.Graph, source: int) -> np.ndarray:
    """What a program of examples/ has to find: the answer of the built-in algorithm, ranks in float64."""
    if name == "pagerank":
        return ew.pagerank(graph, tol=0, max_iterations=ITERATIONS, dtype=np.float64, device="cuda").rank
    found: np.ndarray = getattr(built_in(graph, source)[name](), FIELDS[name][1])
    return found


def agrees(name: str, result: Any, expected: np.ndarray) -> bool:
    """Whether a plain program found that: integers exactly, ranks but for 1e-6 in all."""
    found = result.fields[FIELDS[name][0]]
    if name != "pagerank":
        return np.array_equal(found, expected)
    return bool(np.abs(found - expected).sum() <= RANK_TOLERANCE)


def is_whole(name: str, result: Any) -> bool:
    """Whether all iterations of PageRank were done."""
    return name != "pagerank" or result.supersteps == ITERATIONS


def build_rows(graph: ew.Graph, repeat: int) -> Iterator[dict[str, Any]]:
    """Building the graph from arrays of edges in random order, without and with weights."""
    order = np.random.default_rng(1).permutation(graph.num_arcs)
    shuffled = [column[order] for column in (graph.sources, graph.targets, graph.weights)]
    for what, columns in (("edgewise", shuffled[:2]), ("edgewise, weights", shuffled)):
        times, made = timed(building(columns, graph.num_vertices), repeat)
        row = {"algorithm": "build", "what": what} | times
        yield row | {"right": same_graph(made, columns)}


def rows(graph_name: str, algorithms: list[str], repeat: int, programs: bool) -> Iterator[dict[str, Any]]:
    """One row for each measurement on a graph."""
    graph = GRAPHS[graph_name]()
    source = source_of(graph)
    place = list(GRAPHS).index(graph_name)
    goals = {name: GOALS[name][place] for name in algorithms if place < len(GOALS[name])}
    known = {"graph": graph_name, "vertices": graph.num_vertices, "arcs": graph.num_arcs}
    if "build" in goals:
        for row in build_rows(graph, repeat):
            yield known | row | {"goal_ms": goals["build"]}
    plain_calls = plain(graph, source) if programs and "bfs" in goals else {}
    rival = CuGraph(graph, source) if is_there() else None
    for name in (name for name in goals if name != "build"):
        call = built_in(graph, source)[name]
        made = made_once_ms(call)
        times, result = timed(call, repeat)
        row = known | {"algorithm": name}
        if name in ("bfs", "sssp"):
            row["source"] = graph.ids_of(np.array([source])).item()
        yield {
            **row,
            **times,
            "what": "edgewise",
            "goal_ms": goals[name],
            "supersteps": result.supersteps,
            "right": result.verify(graph) and is_whole(name, result),
            "layout_ms": made,
            "explain": result.explain().replace("\n", "; "),
        }
        if name in ("bfs", "sssp"):
            begins = np.flatnonzero(graph.out_degree)
            each, right = [], True
            for s in np.random.default_rng(1).choice(begins, SOURCES, replace=False).tolist():
                spent, found = timed(built_in(graph, s)[name], 3)
                each.append(spent["ms"])
                right = right and found.verify(graph)
            middle = {"what": f"median of {SOURCES} sources", "source": "", "repeat": 3}
            yield row | middle | {"ms": statistics.median(each), "right": right}
        if name in plain_calls:
            times, found = timed(plain_calls[name], repeat)
            yield {
                **row,
                **times,
                "what": "plain program",
                "supersteps": found.supersteps,
                "right": agrees(name, found, expected_of(name, graph, source)) and is_whole(name, found),
                "explain": found.explain().replace("\n", "; "),
            }
        if rival is not None and name in rival.calls:
            times, found = timed(rival.calls[name], repeat)
            yield {
                **row,
                **times,
                "what": f"cuGraph {rival.version}",
                "right": rival.is_right(name, found),
            }


def main() -> None:
    """Print a line for each measurement and write them all as CSV."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.gpu", description=__doc__.splitlines()[0])
    add_names(parser, "--graphs", GRAPHS)
    add_names(parser, "--algorithms", GOALS)
    parser.add_argument(
        "--repeat", type=at_least_one, default=15, help="calls that are timed (default: %(default)s)"
    )
    parser.add_argument("--no-plain", action="store_true", help="leave out the programs of examples/")
    parser.add_argument("--output", help="a new CSV file (default: benchmarks/results/DATE-GPU.csv)")
    options = parser.parse_args()
    if not is_there():
        print("pylibcugraph is not installed, so cuGraph is left out")
    gpu = versions().split(";")[0].replace(" ", "-")
    with rows_file(options.output or dated(gpu), COLUMNS, options.repeat) as write:
        run_first(options.algorithms)
        for name in options.graphs:
            for row in rows(name, options.algorithms, options.repeat, not options.no_plain):
                write(row)
                goal = f"goal {row['goal_ms']:g}" if "goal_ms" in row else ""
                print(
                    f"{name:<8} {row['algorithm']:<10} {row['what']:<20} {row['ms']:9.3f} ms  {goal:<9} "
                    f"{'right' if row['right'] else 'WRONG'}  {row.get('explain', '')}",
                    flush=True,
                )


if __name__ == "__main__":
    main()
