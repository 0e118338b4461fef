"""Zhong et al., "Optimizing Graph Processing on GPUs", TPDS 2016, run again on a GPU.

`python -m benchmarks.papers.edge_vertex --output FILE.csv` measures Figures 7 to 14 and Tables 2 and 4 to 7;
`--plot FILE.csv` draws them beside the paper's numbers, and prints the tables of docs/papers/edge_vertex.md.

A run costs what the paper counts: *preprocessing*, which finds the slot of each edge's message, and *processing*, the
call of a program. In-edges and clusters that the automatic schedule makes are preprocessing, too; its first run, which
has no clusters, stands beside. The graph's rows lie where the preprocessing wants them: on the GPU, or for the systems
that do it on the CPU on the host; then what it makes is copied to the GPU, which counts. Reading and copying the graph
do not.

"Medusa-like" is edgewise with the layout of Medusa: slots row-major, vertices unsorted, preprocessing on the CPU by
one thread. "paper" is edgewise as the paper has it: vertices numbered by 1,000 linear buckets of their in-degrees,
groups of 32 column by column, all on the GPU. In these a thread for each edge sends where many do, and vertices are
computed by the threads that gather their messages. All share one way to launch. "CuSha-like" is
`benchmarks.papers.cusha`.

Shortest paths start at several drawn vertices that reach at least a tenth of the graph; their time is the median of
these. Components by renumbered vertices run on the moved graph, and labels are moved back, since a label is a number.

Of the paper's graphs, RMAT and Random are made with the generator's parameters; "Journal" is R-MAT with the vertices
and edges of com-LiveJournal, "Journal with hubs" also with about its largest in-degree. The real ones are those of the
project's test data, where they are at hand.
"""

import argparse
import importlib.util
import statistics
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

import edgewise as ew
from benchmarks.gpu import built
from benchmarks.options import add_names
from benchmarks.ours import EXAMPLES, load
from benchmarks.papers.command import options_of
from benchmarks.papers.edge_vertex_checks import is_sorted, least_of_each, same
from benchmarks.papers.edge_vertex_setup import (
    BY_EDGES,
    GRAPHS,
    ITERATIONS,
    LINEAR,
    PROFILED,
    PROFILED_SUPERSTEPS,
    SORTED_MILLIONS,
    SYSTEMS,
    UNSORTED,
    versions_of,
)
from benchmarks.papers.load_balancing_setup import Columns
from benchmarks.papers.made_once import PREPARED, in_edges_ms, made_once, pulled
from benchmarks.results import at_least_one, rows_file
from edgewise.schedule.layouts import of_renumbered

BUCKETS = (0, 10, 20, 50, 100, 200, 500, 1000, 5000)
FIELDS = (
    "part", "graph", "vertices", "edges", "max_degree", "eta_percent", "program", "system", "buckets", "sources",
    "reached_percent", "preprocessing_ms", "first_ms", "clusters_ms", "ms", "sending_ms", "gathering_ms",
    "computing_ms", "supersteps", "extra_percent", "layout_bytes", "run_bytes", "warp_percent", "warp_percent_computed",
    "load_percent", "load_percent_computed", "store_percent", "hit_percent", "read_bytes", "right",
)  # fmt: skip
#: Sources of shortest paths, the least share of the vertices that each reaches, and the most that are drawn for that.
SOURCES, LEAST_REACHED, MOST_DRAWN = 4, 0.1, 200


class Ranks(ew.Program):
    """PageRank in float32, for a number of supersteps."""

    rank = ew.vertex("float32")
    share = ew.vertex("float32")
    combine = ew.SUM
    message = "float32"
    max_supersteps = ITERATIONS

    @staticmethod
    def initialize(v, state):
        state.rank[v] = 1.0 / state.num_vertices
        state.share[v] = state.rank[v] / max(1, state.out_degree[v])
        return ew.ACTIVE

    @staticmethod
    def edge_compute(edge, state):
        return state.share[edge.source]

    @staticmethod
    def vertex_compute(v, message, state):
        rank = 0.15 / state.num_vertices + 0.85 * (message + state.dangling / state.num_vertices)
        state.rank[v] = rank
        state.share[v] = rank / max(1, state.out_degree[v])
        return ew.ACTIVE

    @ew.aggregator(ew.SUM)
    @staticmethod
    def dangling(v, state):
        return state.rank[v] if state.out_degree[v] == 0 else 0.0


def fresh(made: Columns, both_ways: bool = False, weighted: bool = False) -> ew.Graph:
    """A graph that nothing was made for yet, with weights only for a program that reads them: they are moved, too."""
    num_vertices, columns = made
    if not both_ways:
        return built(columns if weighted else columns[:2], num_vertices)
    graph = ew.Graph.from_edges(*columns[:2], directed=False, num_vertices=num_vertices)
    _ = graph.gpu.offsets
    return graph


class Task(NamedTuple):
    """A program and what it is asked.

    Attributes:
        program: the class.
        asked: the parameters of each run.
        both_ways: whether it needs edges both ways.
        weighted: whether it reads weights.
        known: what rows say of it.
    """

    program: Any
    asked: list[dict[str, Any]]
    both_ways: bool
    weighted: bool
    known: dict[str, Any]


RANKS = Task(Ranks, [{}], False, False, {})


def programs(made: Columns) -> dict[str, Task]:
    """The three programs of the paper."""
    sources, reached = drawn_sources(made)
    of_paths = {
        "sources": " ".join(map(str, sources)),
        "reached_percent": " ".join(f"{100 * share:.1f}" for share in reached),
    }
    asked = [{"source": source} for source in sources]
    return {
        "PageRank": RANKS,
        "SSSP": Task(load(EXAMPLES / "sssp.py").SSSP, asked, False, True, of_paths),
        "HCC": Task(load(EXAMPLES / "components.py").Components, [{}], True, False, {}),
    }


def drawn_sources(made: Columns) -> tuple[list[int], list[float]]:
    """Vertices from which at least a share LEAST_REACHED of all is reached, and the share that each reaches."""
    graph, found = fresh(made), dict[int, float]()
    for vertex in np.random.default_rng(1).permutation(made[0])[:MOST_DRAWN].tolist():
        share = float((ew.bfs(graph, vertex, device="cuda").on_device("level") >= 0).mean())
        if share >= LEAST_REACHED:
            found[vertex] = share
        if len(found) == SOURCES:
            break
    if not found:
        raise ValueError(f"none of {MOST_DRAWN} vertices reaches {LEAST_REACHED:.0%} of the graph")
    return [*found], [*found.values()]


def expected(name: str, graph: ew.Graph, values: dict[str, Any]) -> Any:
    """What the built-in algorithm finds, on the GPU."""
    if name == "PageRank":
        found = ew.pagerank(graph, tol=0, max_iterations=ITERATIONS, dtype=np.float32, device="cuda")
        return found.on_device("rank")
    if name == "SSSP":
        return ew.sssp(graph, values["source"], device="cuda").on_device("distance")
    return ew.connected_components(graph, device="cuda").on_device("component")


def preprocessing(graph: ew.Graph, schedule: ew.Schedule, with_weights: bool) -> float:
    """Milliseconds in which the layout of a graph that has none is made, and copied if it is made on the CPU; pulled
    weights are brought into its order."""
    from edgewise.engine.cuda.layout import lay_out, renumbered
    from edgewise.kernels.cuda.memory import finish

    layout = schedule.layout if isinstance(schedule.layout, ew.Layout) else ew.Layout()
    way = schedule.delivery
    buffered, by_edges = isinstance(way, ew.Buffered), way == ew.Buffered(send="edges")
    with_arcs = with_weights and not buffered
    if layout.made_on == "cpu":
        graph.targets  # noqa: B018  a copy on the host, where this system has its graph
    finish()
    started = time.perf_counter()
    lies = graph
    if layout.renumber:
        lies = graph.gpu.kept(renumbered, layout)
        layout = of_renumbered(layout)
    made = lay_out(lies, layout, buffered, with_arcs, by_edges)
    if with_arcs:
        made.in_order(lies.gpu.weights)
    finish()
    return 1e3 * (time.perf_counter() - started)


def caller(program: Any, graph: ew.Graph, schedule: ew.Schedule) -> Callable[..., tuple[Any, Any]]:
    """Runs the program with some parameters: the result, and the answer on the GPU."""
    layout, place = schedule.layout, None
    if program.__name__ == "Components" and isinstance(layout, ew.Layout) and layout.renumber:
        from edgewise.engine.cuda.layout import renumbered

        moved = graph.gpu.kept(renumbered, layout)
        place = moved.order.place
        schedule = replace(schedule, layout=of_renumbered(layout))
        prepared = ew.prepare(program, moved, device="cuda", schedule=schedule)
    else:
        prepared = ew.prepare(program, graph, device="cuda", schedule=schedule)

    def call(**values: Any) -> tuple[Any, Any]:
        result = prepared(**values)
        answer = result.on_device(next(iter(prepared.spec.vertex_fields)))
        return result, answer if place is None else answer[place]

    return call


def unasked(made: Columns, task: Task, result: Any, layout_ms: float) -> dict[str, Any]:
    """What the automatic schedule made once: a layout, or in-edges, or neither; and clusters.

    Args:
        made: the graph.
        task: what was run.
        result: of a later run.
        layout_ms: what a layout takes.
    """

    def new() -> ew.Graph:
        return fresh(made, task.both_ways, task.weighted)

    once = made_once(
        lambda: ew.prepare(task.program, new(), device="cuda", schedule=ew.Schedule()), task.asked[0]
    )
    spent = layout_ms
    if result.memory_bytes["layout"] == 0:
        spent = in_edges_ms(new) if pulled(result.explain()) else 0.0
    return {"preprocessing_ms": spent + once.clusters_ms} | once.row()


def measured(
    made: Columns, task: Task, schedule: ew.Schedule, repeat: int, wanted: list[Any]
) -> dict[str, Any]:
    """What one system costs, and whether its answers are right.

    Args:
        made: the graph.
        task: what is run.
        schedule: the system.
        repeat: how often each run is timed.
        wanted: the answer of each run.
    """
    from edgewise.kernels.cuda.memory import finish

    spent = []
    for _ in range(PREPARED):  # CuPy takes memory from the driver the first time
        graph = fresh(made, task.both_ways, task.weighted)
        spent.append(preprocessing(graph, schedule, task.weighted))
    call, middles, right = caller(task.program, graph, schedule), [], True
    for values, want in zip(task.asked, wanted, strict=True):
        (result, answer), runs = call(**values), []
        for _ in range(repeat):
            started = time.perf_counter()
            result, answer = call(**values)
            finish()
            runs.append((1e3 * (time.perf_counter() - started), result.phase_seconds, result.supersteps))
        middles.append(sorted(runs, key=lambda run: run[0])[len(runs) // 2])
        right = right and same(least_of_each(answer) if task.both_ways else answer, want)
        right = right and task.program.max_supersteps in (None, result.supersteps)
    milliseconds, phases, supersteps = sorted(middles, key=lambda run: run[0])[len(middles) // 2]
    row = {
        "preprocessing_ms": statistics.median(spent[1:]),
        "ms": milliseconds,
        "supersteps": supersteps,
        "right": right,
    }
    if schedule == ew.Schedule():
        row |= unasked(made, task, result, row["preprocessing_ms"])
    if phases:
        row |= {
            "sending_ms": 1e3 * (phases["delivering"] - phases["gathering"]),
            "gathering_ms": 1e3 * phases["gathering"],
            "computing_ms": 1e3 * phases["computing"],
        }
    extra = [line for line in result.explain().splitlines() if "more places than edges" in line]
    row |= {f"{kind}_bytes": result.memory_bytes[kind] for kind in ("layout", "run")}
    row["extra_percent"] = float(extra[0].rpartition("; ")[2].partition("%")[0]) if extra else ""
    return row


def cusha(made: Columns, name: str, task: Task, wanted: list[Any]) -> dict[str, Any]:
    """What CuSha-like shards cost, and whether their answers are right."""
    from benchmarks.papers import cusha

    num_vertices, (source, target, weight) = made[0], (column.get() for column in made[1])
    if task.both_ways:
        loops = source == target
        source, target = np.append(source, target[~loops]), np.append(target, source[~loops])
    spent, middles, right = [], [], True
    for _ in range(4):  # the first one compiles
        shards = cusha.make_shards(num_vertices, source, target, weight if task.weighted else None)
        spent.append(1e3 * shards.preprocessing_seconds)
    for values, want in zip(task.asked, wanted, strict=True):
        runs = []
        for _ in range(4):
            started = time.perf_counter()
            if name == "PageRank":
                answer = cusha.pagerank(shards, ITERATIONS)
            elif name == "SSSP":
                answer = cusha.sssp(shards, values["source"])
            else:
                answer = cusha.components(shards)
            cusha.finish()
            runs.append(1e3 * (time.perf_counter() - started))
        middles.append(statistics.median(runs[1:]))
        right = right and same(answer, want)
    costs = {"preprocessing_ms": statistics.median(spent[1:]), "ms": statistics.median_high(middles)}
    return costs | {"right": right, "repeat": 3}


def facts(graph_name: str, made: Columns) -> dict[str, Any]:
    """The row of Table 2: in-degrees, and the share of vertices that have at least two in-edges."""
    degrees = np.bincount(made[1][1].get(), minlength=made[0])
    return {
        "graph": graph_name,
        "vertices": made[0],
        "edges": len(made[1][0]),
        "max_degree": int(degrees.max()),
        "eta_percent": 100 * float((degrees > 1).mean()),
    }


def whole_rows(graph_name: str, made: Columns, repeat: int) -> Iterator[dict[str, Any]]:
    """Figures 7 to 10, 13, 14, Tables 4 and 6: every program with every system."""
    known = facts(graph_name, made)
    for name, task in programs(made).items():
        graph = fresh(made, task.both_ways, task.weighted)
        wanted = [expected(name, graph, values) for values in task.asked]
        asked = known | task.known | {"part": "whole", "program": name}
        for system, schedule in SYSTEMS.items():
            yield asked | {"system": system} | measured(made, task, schedule, repeat, wanted)
        yield asked | {"system": "CuSha-like"} | cusha(made, name, task, wanted)


def bucket_rows(graph_name: str, made: Columns, repeat: int) -> Iterator[dict[str, Any]]:
    """Figure 12: PageRank by the number of buckets, sorting not counted."""
    wanted = [expected("PageRank", fresh(made), {})]
    for buckets in BUCKETS:
        layout = replace(LINEAR, num_buckets=buckets) if buckets else UNSORTED
        schedule = ew.Schedule(BY_EDGES, layout=layout)
        known = {"part": "buckets", "graph": graph_name, "program": "PageRank", "buckets": buckets}
        yield known | measured(made, RANKS, schedule, repeat, wanted)


def stage_rows(graph_name: str, made: Columns, repeat: int) -> Iterator[dict[str, Any]]:
    """Tables 5 and 7: how well warps and memory are used where vertices add up what is in their slots."""
    import cupy

    from benchmarks.papers import edge_vertex_stage as stage

    found = stage.profiled(graph_name, stage.__name__, stage.LAYOUTS)
    layouts = stage.laid_out(made[1][1], made[0])
    degrees = cupy.bincount(made[1][1], minlength=made[0])
    for name, units in layouts.items():
        slots = cupy.ones(units.size, np.float32)
        warp, loads = stage.expected(units)
        yield {
            "part": "stage",
            "graph": graph_name,
            "system": name,
            "ms": stage.milliseconds(units, slots, repeat),
            "extra_percent": 100 * (units.size - len(made[1][1])) / len(made[1][1]),
            "warp_percent_computed": warp,
            "load_percent_computed": loads,
            "right": bool((stage.started(units, slots) == degrees).all()),
        } | found.get(name, {})


def profile_rows(graph_name: str) -> Iterator[dict[str, Any]]:
    """Tables 5 and 7: the same of PageRank itself, all of whose supersteps are one kernel."""
    from benchmarks.papers.edge_vertex_stage import profiled

    for system, found in profiled(graph_name, f"{__spec__.name}_profile", PROFILED).items():
        known = {"part": "profile", "graph": graph_name, "program": "PageRank", "system": system}
        yield known | {"supersteps": PROFILED_SUPERSTEPS, "repeat": 1} | found


def baseline_rows(graph_name: str, made: Columns, repeat: int) -> Iterator[dict[str, Any]]:
    """SciPy's conversion of the edges to columns, beside the preprocessing on the CPU."""
    import scipy.sparse

    num_vertices, (source, target, _) = made[0], (column.get() for column in made[1])
    entries, spent = (np.ones(len(source), np.float32), (source, target)), []
    for _ in range(repeat):
        started = time.perf_counter()
        scipy.sparse.coo_array(entries, shape=(num_vertices, num_vertices)).tocsc()
        spent.append(1e3 * (time.perf_counter() - started))
    known = {"part": "baseline", "graph": graph_name, "system": "SciPy"}
    yield known | {"preprocessing_ms": statistics.median(spent)}


def sort_rows(repeat: int) -> Iterator[dict[str, Any]]:
    """Figure 11: sorting uniform degrees, keys and map."""
    import cupy

    from benchmarks.papers.cub_sort import cub_sort
    from benchmarks.papers.merge_sort import merge_sort
    from benchmarks.papers.quick_sort import quick_sort
    from edgewise.layout.bucket_sort import bucket_sort

    sorts: dict[str, Callable[[Any], Any]] = {
        "approximate": bucket_sort,
        "logarithmic": lambda keys: bucket_sort(keys, scale="logarithmic"),
        "exact": lambda keys: bucket_sort(keys, scale="exact"),
        "merge": merge_sort,
        "quick": quick_sort,
        "extremes": lambda keys: (int(keys.min()), int(keys.max())),
    }
    if importlib.util.find_spec("cuda.compute") is None:
        print("the radix sort is left out: pip install cuda-cccl")
    else:
        sorts["radix"] = cub_sort
    finish = cupy.cuda.get_current_stream().synchronize
    for millions in SORTED_MILLIONS:
        keys = cupy.random.RandomState(1).randint(0, 1000, 1_000_000 * millions).astype(np.uint32)
        for name, sort in sorts.items():
            spent, calls = [], 10 * repeat
            for _ in range(3 + calls):
                finish()
                started = time.perf_counter()
                found = sort(keys)
                finish()
                spent.append(1e3 * (time.perf_counter() - started))
            right = is_sorted(name, found, keys)
            row = {"part": "sort", "graph": f"{millions} M", "edges": len(keys), "system": name}
            yield row | {"ms": statistics.median(spent[3:]), "right": right, "repeat": calls}


def rows(parts: set[str], graphs: list[str], repeat: int) -> Iterator[dict[str, Any]]:
    """All rows of some parts."""
    if "sort" in parts:
        yield from sort_rows(repeat)
    for name in graphs:
        made = GRAPHS[name]()
        if "baseline" in parts:
            yield from baseline_rows(name, made, repeat)
        if "whole" in parts:
            yield from whole_rows(name, made, repeat)
        if "buckets" in parts:
            yield from bucket_rows(name, made, repeat)
        if "stage" in parts:
            yield from stage_rows(name, made, repeat)
        if "profile" in parts:
            yield from profile_rows(name)
        if "remap" in parts:
            from benchmarks.papers.edge_vertex_remap import rows as remap_rows

            for row in remap_rows(made[1][1], made[0], repeat):
                yield {"part": "remap", "graph": name} | row


PARTS = ("sort", "baseline", "whole", "buckets", "stage", "profile", "remap")


def main() -> None:
    """Measure, or draw what was measured."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.papers.edge_vertex", description=__doc__.splitlines()[0]
    )
    add_names(parser, "--graphs", GRAPHS)
    add_names(parser, "--parts", PARTS)
    parser.add_argument(
        "--repeat", type=at_least_one, default=5, help="runs that are timed (default: %(default)s)"
    )
    options = options_of(
        parser, "benchmarks.papers.edge_vertex_plots", "measure, and write a CSV file", FIELDS
    )
    if options is None:
        return
    with rows_file(options.output, FIELDS, options.repeat, also=versions_of(options.parts)) as write:
        for row in rows(set(options.parts), options.graphs, options.repeat):
            write(row)
            shown = [
                f"{row[key]:10.3f}" if isinstance(row.get(key), float) else ""
                for key in ("preprocessing_ms", "ms", "warp_percent", "load_percent")
            ]
            system = str(row.get("system", row.get("buckets")))
            what = f"{row['part']:<8} {row['graph']:<13} {row.get('program', ''):<8} {system:<28}"
            print(what, *shown, row.get("right", ""), flush=True)


if __name__ == "__main__":
    main()
