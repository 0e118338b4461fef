"""Raval et al., "Dynamic Load Balancing Strategies for Graph Applications on GPUs", run again on a GPU.

`python -m benchmarks.papers.load_balancing --output FILE.csv` measures Figures 7, 8, 10 and 11 and Table II;
`--plot FILE.csv` draws them, and prints the tables of docs/papers/load_balancing.md. The programs are those of
examples/, in rounds and pushed, as the paper's; what a run costs is

kernel
    delivering messages and computing vertices, by the clock of the GPU; computing includes listing what sends next;
overhead
    all else of a run: launch, initialisation, scans of lists.

What is made of the graph beforehand (children, sources of edges, clusters) is overhead, too, as in the paper; since it
is made once for a graph, it also stands apart: the median of several times, each for a graph that nothing was made for
yet. Clusters are made at a second run; the first one, without them, stands beside. The graph lies on the GPU.

The paper's figures are known from its text only; the printed standard deviations of its Table II cannot be right.
"""

import argparse
import statistics
import time
from collections.abc import Iterator
from typing import Any

import numpy as np

import edgewise as ew
from benchmarks.gpu import built
from benchmarks.options import add_names
from benchmarks.ours import EXAMPLES, load
from benchmarks.papers.command import options_of
from benchmarks.papers.load_balancing_setup import GRAPHS, STRATEGIES, Columns, uniform_on_gpu
from benchmarks.papers.made_once import made_once
from benchmarks.results import at_least_one, rows_file

PROGRAMS = {"bfs": "BFS", "sssp": "SSSP"}
ANSWERS = {"bfs": "level", "sssp": "distance"}
FIELDS = (
    "graph", "vertices", "edges", "max_degree", "mean_degree", "deviation", "program", "source", "strategy",
    "supersteps", "ms", "kernel_ms", "delivering_ms", "computing_ms", "overhead_ms", "layout_ms", "first_ms",
    "clusters_ms", "graph_bytes", "strategy_bytes", "layout_bytes", "run_bytes", "bound", "max_after", "split_percent",
    "degrees", "degrees_after", "right",
)  # fmt: skip
#: A run that takes longer is not repeated.
LONG_SECONDS = 1.0


def fresh(made: Columns) -> ew.Graph:
    """A graph that nothing was made for yet."""
    return built(made[1], made[0])


class InSum(ew.Program):
    """The sum of a float over the in-edges of each vertex, once."""

    value = ew.vertex("float32", init=1.0)
    total = ew.vertex("float32", init=0.0)
    combine = ew.SUM
    message = "float32"

    def initialize(v, state):
        return ew.ACTIVE

    def edge_compute(edge, state):
        return state.value[edge.source]

    def vertex_compute(v, incoming, state):
        state.total[v] = incoming
        return ew.HALT


def baseline(repeat: int) -> float:
    """Milliseconds in which a thread for each vertex gathers a float, on 32.4 M edges of R-MAT (DESIGN: 3.4)."""
    import cupy

    made = ew.generate.rmat(21, 16, simple=True)
    graph = ew.Graph.from_edges(
        *(cupy.asarray(end) for end in (made.sources, made.targets)), num_vertices=1 << 21
    )
    prepared = ew.prepare(InSum, graph, device="cuda", schedule=ew.Schedule(balance=ew.ThreadMapped()))
    return statistics.median(1e3 * prepared().phase_seconds["delivering"] for _ in range(repeat))


def measured(made: Columns, name: str, strategy: str, source: int, repeat: int) -> tuple[dict[str, Any], Any]:
    """What one strategy costs on a graph, and the answer on the GPU."""
    program = getattr(load(EXAMPLES / f"{name}.py"), PROGRAMS[name])
    schedule = ew.Schedule(ew.Push(), balance=STRATEGIES[strategy])
    if strategy == "automatic":
        schedule = ew.Schedule()
    once = made_once(
        lambda: ew.prepare(program, fresh(made), device="cuda", schedule=schedule), {"source": source}
    )
    prepared = once.prepared
    spent, kernels, delivering, computing = [], [], [], []
    for _ in range(repeat):
        started = time.perf_counter()
        result = prepared(source=source)
        spent.append(1e3 * (time.perf_counter() - started))
        phases = result.phase_seconds
        delivering.append(1e3 * (phases["delivering"] - phases["sharing"]) if phases else 0.0)
        computing.append(1e3 * phases.get("computing", 0.0))
        kernels.append(delivering[-1] + computing[-1])
        if spent[-1] > 1e3 * LONG_SECONDS:
            break
    middle = spent.index(statistics.median_low(spent))
    row = {
        "ms": spent[middle],
        "kernel_ms": kernels[middle],
        "delivering_ms": delivering[middle],
        "computing_ms": computing[middle],
        "overhead_ms": spent[middle] - kernels[middle],
        "layout_ms": once.before_ms + once.clusters_ms,
        **once.row(),
        "repeat": len(spent),
        "supersteps": result.supersteps,
        **{f"{kind}_bytes": size for kind, size in result.memory_bytes.items()},
    }
    return row, result.on_device(ANSWERS[name])


def distribution(degrees: np.ndarray) -> str:
    """How many vertices have each degree, as "degree:vertices"; large degrees in ranges, by their first degree."""
    counts = np.bincount(degrees)
    starts = np.unique([0, *np.ceil(2 ** np.arange(0, np.log2(len(counts)), 0.25)).astype(np.int64)])
    starts = starts[starts < len(counts)]
    sums = np.add.reduceat(counts, starts)
    return " ".join(f"{start}:{total}" for start, total in zip(starts, sums, strict=True))


def splitting(graph: ew.Graph, degrees: np.ndarray) -> dict[str, Any]:
    """What node splitting makes of the out-degrees."""
    from edgewise.balance.node_splitting import likely_degree, split_vertices

    offsets = graph.gpu.offsets
    bound = likely_degree(offsets, ew.NodeSplitting().bins)
    children = split_vertices(offsets, bound)
    shares = np.diff(children.begin.get().astype(np.int64))
    percent = 100 * int(children.split[0]) / graph.num_vertices
    return {
        "bound": bound,
        "max_after": int(shares.max()),
        "split_percent": percent,
        "degrees": distribution(degrees),
        "degrees_after": distribution(shares),
    }


def rows(graph_name: str, repeat: int, strategies: list[str]) -> Iterator[dict[str, Any]]:
    """A row for each program and strategy on a graph."""
    made = GRAPHS[graph_name]()
    graph = fresh(made)
    degrees = np.diff(graph.gpu.offsets.get().astype(np.int64))
    source = int(degrees.argmax())
    facts = {
        "graph": graph_name,
        "vertices": graph.num_vertices,
        "edges": graph.num_arcs,
        "max_degree": int(degrees.max()),
        "mean_degree": degrees.mean(),
        "deviation": degrees.std(),
        "source": source,
    }
    after = splitting(graph, degrees)
    for name in PROGRAMS:
        found, answers = [], []
        for strategy in strategies:
            row = facts | {"program": name, "strategy": strategy}
            if strategy == "NS":
                row |= after
            try:
                cost, answer = measured(made, name, strategy, source, repeat)
            except ew.errors.MemoryLimitError as error:
                cost, answer = {"right": f"out of memory: {error}"}, None
            found.append(row | cost)
            answers.append(answer)
        built_in = ew.bfs if name == "bfs" else ew.sssp
        expected = built_in(graph, source, device="cuda").on_device(ANSWERS[name])
        for row, answer in zip(found, answers, strict=True):
            yield row if answer is None else row | {"right": bool((answer == expected).all())}


def main() -> None:
    """Measure, or draw what was measured."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.papers.load_balancing", description=__doc__.splitlines()[0]
    )
    add_names(parser, "--graphs", GRAPHS)
    add_names(parser, "--strategies", STRATEGIES, separator=";")
    parser.add_argument(
        "--repeat", type=at_least_one, default=5, help="runs that are timed (default: %(default)s)"
    )
    options = options_of(
        parser, "benchmarks.papers.load_balancing_plots", "measure, and write a CSV file", FIELDS
    )
    if options is None:
        return
    with rows_file(options.output, FIELDS, options.repeat) as write:
        for strategy in STRATEGIES:  # CuPy compiles its kernels when they are first used
            measured(uniform_on_gpu(2000, 20_000, 1), "bfs", strategy, 0, 1)
        for name in options.graphs:
            for row in rows(name, options.repeat, options.strategies):
                write(row)
                times = f"{row['ms']:10.3f} ms, kernel {row['kernel_ms']:10.3f}" if "ms" in row else ""
                print(
                    f"{name:<12} {row['program']:<5} {row['strategy']:<16} {times}  {row.get('right', '')}",
                    flush=True,
                )
    print(f"a thread for each vertex gathers a float over 32.4 M edges in {baseline(5):.2f} ms")


if __name__ == "__main__":
    main()
