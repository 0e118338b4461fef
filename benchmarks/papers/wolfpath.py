"""Zhu et al., "WolfPath: Accelerating Iterative Traversing-Based Graph Processing on GPU", IJPP 2019, run again.

`python -m benchmarks.papers.wolfpath --output FILE.csv` measures Tables 2, 3 and 5 to 7 and Figures 3 to 9; `--plot
FILE.csv` draws them beside the paper's numbers, and prints the tables of docs/papers/wolfpath.md.

flags
    BFS and SSSP by ways to sweep (`benchmarks.papers.wolfpath_kernel`), each with a flag that the host reads after
    every launch, and in one launch: with the number of sweeps known, or with a flag on the GPU. A time runs from
    setting the first values to the last value; the graph lies on the GPU.
lists
    lists joined by equation 1, and each layer a list.
memory, preprocessing
    bytes of representations, and seconds in which they are made.
trace
    copies of rows, and the kernel that sweeps them, with the least memory on the GPU.
beyond
    less memory on the GPU than the graph takes, beside edgewise's CPU engine over a file.

Each answer that is timed is compared with that of another way, which its verifier has checked.
"""

import argparse
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

import edgewise as ew
from benchmarks.beyond import Run, forget
from benchmarks.beyond import timed as timed_calls
from benchmarks.gpu import built, synchronize
from benchmarks.graphs import source_of
from benchmarks.options import add_names
from benchmarks.papers.command import options_of
from benchmarks.papers.load_balancing_setup import uniform_on_gpu
from benchmarks.papers.wolfpath_kernel import ShardSweep, Spent, Sweep
from benchmarks.papers.wolfpath_near_far import NearFar
from benchmarks.papers.wolfpath_setup import GRAPHS, PROGRAMS, Case, lists_of, transfer_ms
from benchmarks.results import at_least_one, rows_file
from edgewise.graph.layers import load_in_layers, put_in_layers, save_in_layers
from edgewise.kernels.cuda.memory import host_copy, most_threads

FIELDS = (
    "part", "graph", "vertices", "edges", "layers", "lists", "program", "source", "system", "flag", "min_edges",
    "iterations", "ms", "start_ms", "iteration_us", "launching_us", "waiting_us", "computing_us", "copying_us",
    "transfer_ms", "bytes", "weight_bytes", "seconds", "limit", "wrong_percent", "right",
)  # fmt: skip
#: Who decides whether there is another sweep.
HOST, KNOWN, GPU = "host", "known", "GPU"
#: The paper's single pass over lists, which may leave distances too long.
ONE_PASS = "joined lists, one pass"
#: A run that takes more seconds is not repeated.
LONG_SECONDS = 0.3
PARTS = ("flags", "lists", "memory", "preprocessing", "trace", "beyond")


def list_sweep(case: Case, program: str, min_arcs: int, passes: int | None = None) -> Sweep:
    """The paper's sweeps, list by list, each as often as it has layers: one pass for BFS, else until none changes."""
    begins, repeats = lists_of(case.layers, min_arcs)
    many = int(program == "BFS") if passes is None else passes
    weighted, n = PROGRAMS[program], case.graph.num_vertices
    return Sweep("edges", weighted, n, case.root_place, case.edge_list, begins, repeats, many)


def contenders(case: Case, program: str) -> Iterator[tuple[str, str, Callable[[], Any], bool]]:
    """System, flag, what makes its sweep, and whether values are by places."""
    n, weighted, once = case.graph.num_vertices, PROGRAMS[program], np.ones(1, np.int64)
    layers = case.layers.order.num_layers

    def edges(repeats: np.ndarray = once, passes: int = 0) -> Sweep:
        ends = lists_of(case.layers, case.graph.num_arcs + 1)[0]
        return Sweep("edges", weighted, n, case.root_place, case.edge_list, ends, repeats, passes)

    def rows() -> Sweep:
        return Sweep("rows", weighted, n, case.root, case.in_edges, np.array([0, n]), once)

    def frontier() -> Sweep:
        return Sweep("frontier", weighted, n, case.root_place, case.rows, np.array([0, 1]), once)

    def near_far() -> NearFar:
        return NearFar(weighted, case.layers.graph, case.root_place, case.rows)

    yield "edge list", HOST, edges, True
    if not weighted:
        yield "edge list", KNOWN, lambda: edges(once * layers, 1), True
    yield "edge list", GPU, edges, True
    known = KNOWN if program == "BFS" else GPU
    yield "joined lists", known, lambda: list_sweep(case, program, most_threads()), True
    if weighted:
        yield ONE_PASS, KNOWN, lambda: list_sweep(case, program, most_threads(), 1), True
    for flag in (HOST, GPU):
        yield "VWC-like", flag, rows, False
        yield "CuSha-like", flag, lambda: ShardSweep(case.shards_for(program), case.root), False
        yield "frontier", flag, frontier, True
        yield "near and far", flag, near_far, True


def timed(call: Callable[[], Any], repeat: int, before: int = 1) -> tuple[dict[str, Any], Any]:
    """The median of `repeat` calls after `before` that are not counted, in the columns of a row, and what that call
    gave; or the first that is counted, if it is long."""
    for _ in range(before):
        call()
    runs: list[tuple[float, Any]] = []
    while len(runs) < repeat and not (runs and runs[0][0] > 1e3 * LONG_SECONDS):
        synchronize()
        started = time.perf_counter()
        given = call()
        synchronize()
        runs.append((1e3 * (time.perf_counter() - started), given))
    runs.sort(key=lambda run: run[0])
    milliseconds, given = runs[(len(runs) - 1) // 2]
    return {"ms": milliseconds, "repeat": len(runs)}, given


def swept(sweep: Any, flag: str, repeat: int) -> dict[str, Any]:
    """What a way to sweep costs; microseconds are those of a sweep."""

    def run() -> Spent:
        sweep.reset()
        return sweep.by_host() if flag == HOST else sweep.whole()

    row, spent = timed(run, repeat)
    micro = 1e6 / spent.iterations
    row |= {"iterations": spent.iterations, "iteration_us": micro * spent.seconds}
    if flag == HOST:
        sweep.reset()
        apart = sweep.by_host(apart=True)
        row |= {
            "launching_us": micro * spent.launching,
            "waiting_us": micro * spent.copying,
            "computing_us": 1e6 * apart.computing / apart.iterations,
            "copying_us": 1e6 * apart.copying / apart.iterations,
        }
    return row


def compared(sweep: Any, by_place: bool, case: Case, wanted: Any) -> dict[str, Any]:
    """Whether a sweep's values are those wanted, and how many are not."""
    values = sweep.values[case.layers.order.place] if by_place else sweep.values
    wrong = values != wanted
    return {"right": not bool(wrong.any()), "wrong_percent": 100 * float(wrong.mean())}


def transfers(case: Case) -> dict[str, float]:
    """Milliseconds in which each system's graph comes to the GPU, with weights."""
    shards = case.shards
    shard_arrays = [shards.windows, shards.source, shards.target, shards.weight]
    of_edges = {name: column for name, column in case.edge_list.items() if name != "offsets"}
    found = {
        "edge list": transfer_ms(list(of_edges.values())),
        "VWC-like": transfer_ms(list(case.in_edges.values())),
        "frontier": transfer_ms(list(case.rows.values())),
        "CuSha-like": transfer_ms(shard_arrays),
    }
    return found | {"joined lists": found["edge list"], "near and far": found["frontier"]}


def flag_rows(case: Case, repeat: int) -> Iterator[dict[str, Any]]:
    """Tables 2, 3 and 5, Figures 3 to 5: every way to sweep; and edgewise with layers and without."""
    known, transfer = case.facts | {"part": "flags"}, transfers(case)
    for program in PROGRAMS:
        wanted = case.wanted(program)
        for system, flag, make, by_place in contenders(case, program):
            sweep = make()
            row = known | {"program": program, "system": system, "flag": flag}
            row |= swept(sweep, flag, repeat) | compared(sweep, by_place, case, wanted)
            yield row | ({"transfer_ms": transfer[system]} if system in transfer else {})
        for system, layout in (("without layers", "auto"), ("Layered", ew.Layered(case.root))):
            cost = of_package(case, program, layout, repeat)
            yield known | {"program": program, "system": system, "flag": GPU} | cost


def of_package(case: Case, program: str, layout: Any, repeat: int) -> dict[str, Any]:
    """What edgewise's own algorithm costs with a layout: layers, or "auto"."""
    graph = built(case.made[1], case.made[0])
    how: dict[str, Any] = {"device": "cuda", "schedule": ew.Schedule(layout=layout)}

    def call() -> Any:
        return ew.sssp(graph, case.root, **how) if program == "SSSP" else ew.bfs(graph, case.root, **how)

    # What a graph keeps is made at the first run on it, and clusters at the second.
    cost, result = timed(call, repeat, before=2)
    if program == "SSSP":
        values = result.on_device("distance")
        right = bool((values == case.distance).all())
    else:
        right = bool((result.on_device("level") == case.level).all())
    return cost | {"iterations": result.supersteps, "right": right}


def list_rows(case: Case, repeat: int) -> Iterator[dict[str, Any]]:
    """Figure 9: lists joined by equation 1, and each layer a list."""
    for program in PROGRAMS:
        wanted = case.wanted(program)
        for min_edges in (1, most_threads()):
            row = case.facts | {"part": "lists", "program": program, "flag": GPU, "min_edges": min_edges}
            row["lists"] = len(lists_of(case.layers, min_edges)[1])
            sweep = list_sweep(case, program, min_edges)
            cost = swept(sweep, GPU, repeat) | compared(sweep, True, case, wanted)
            yield row | {"system": "joined lists"} | cost
            if program == "SSSP":
                cost = of_package(case, program, ew.Layered(case.root, min_edges=min_edges), repeat)
                yield row | {"system": "Layered"} | cost


def memory_rows(case: Case) -> Iterator[dict[str, Any]]:
    """Figure 8: bytes of a graph on the GPU, without what a program has for each vertex; weights apart."""
    order, rows, edges = case.layers.order, case.layers.graph.stored, case.edge_list
    compressed = (
        rows.offsets.nbytes + rows.targets.nbytes + order.vertices.nbytes + case.layers.kinds.repeated.nbytes
    )
    shards, m = case.shards, case.graph.num_arcs
    # An entry has the value of its source, which belongs to the representation.
    in_shards = shards.windows.nbytes + shards.source.nbytes + shards.target.nbytes + 4 * m
    sizes = {
        "CSR": case.graph.stored.offsets.nbytes + case.graph.stored.targets.nbytes,
        "layered edge list": edges["sources"].nbytes + edges["targets"].nbytes + order.begins.nbytes,
        "layers": compressed,
        "layers and places": compressed + order.place.nbytes,
        "G-Shards": in_shards,
        "concatenated windows": in_shards + 4 * m,
    }
    for system, size in sizes.items():
        row = {"part": "memory", "system": system, "bytes": size, "weight_bytes": 4 * m}
        yield case.facts | row | {"repeat": 0}  # counted, not timed


def preprocessing_rows(case: Case, folder: Path) -> Iterator[dict[str, Any]]:
    """Table 7: seconds in which layers and shards are made of rows that are there, and written."""
    known = case.facts | {"part": "preprocessing"}
    source, target, weight = (host_copy(column) for column in case.made[1])
    on_host = ew.Graph.from_edges(source, target, weight, num_vertices=case.made[0])
    on_host.in_offsets  # noqa: B018  searches need in-edges
    roots, path = np.array([case.root]), folder / f"{case.name}.layers"

    def layers(graph: ew.Graph, device: str) -> Callable[[], Any]:
        def make() -> Any:
            found = ew.bfs(graph, case.root, device=device)
            level = found.on_device("level") if device == "cuda" else found.level
            return put_in_layers(graph, level, roots)

        return make

    def written(make: Callable[[], Any], graph: ew.Graph) -> Callable[[], Any]:
        def call() -> Any:
            made = make()
            save_in_layers(path, graph, made)
            return made

        return call

    on_gpu, by_cpu = layers(case.graph, "cuda"), layers(on_host, "cpu")
    calls: dict[str, Callable[[], Any]] = {
        "layers, GPU": on_gpu,
        "layers, GPU, file": written(on_gpu, case.graph),
        "layers, CPU": by_cpu,
        "layers, CPU, file": written(by_cpu, on_host),
        "layers, read": lambda: load_in_layers(path, on_host, roots),
    }
    wanted = case.layers
    for system, call in calls.items():
        cost, made = timed(call, 3)
        pairs = ((made.order.vertices, wanted.order.vertices), (made.graph.targets, wanted.graph.targets))
        right = all(np.array_equal(to_host(found), to_host(want)) for found, want in pairs)
        yield known | in_seconds(cost) | {"system": system, "right": right}
    cost, _ = timed(lambda: on_host.save(folder / "graph.edgewise"), 3)
    back = ew.load(folder / "graph.edgewise")
    right = np.array_equal(back.targets, on_host.targets)
    yield known | in_seconds(cost) | {"system": "graph's file", "right": right}
    yield known | {"system": "CuSha-like", "seconds": case.shards.preprocessing_seconds, "repeat": 1}


def in_seconds(cost: dict[str, Any]) -> dict[str, Any]:
    """The columns of `timed` for a row in seconds."""
    return {"seconds": 1e-3 * cost["ms"], "repeat": cost["repeat"]}


def to_host(values: Any) -> np.ndarray:
    """An array in the host's memory, wherever it lies."""
    return values if isinstance(values, np.ndarray) else host_copy(values)


def beyond_rows(scale: int, limit: str, folder: Path) -> Iterator[dict[str, Any]]:
    """Figures 6 and 7: a limit on the GPU's memory, and the CPU engine over a file with 4 threads and with all."""
    graph = ew.generate.rmat(scale, 16, weights=(1, 100))
    graph.in_offsets  # noqa: B018  in-edges belong to the graph
    path, root = folder / "beyond.edgewise", source_of(graph)
    graph.save(path, in_edges=True)
    known = {
        "part": "beyond",
        "graph": f"rmat{scale}",
        "vertices": graph.num_vertices,
        "edges": graph.num_arcs,
        "source": root,
        "bytes": graph.nbytes,
    }
    from_file = ew.load(path)
    layered = ew.Schedule(layout=ew.Layered(root))
    ways: dict[str, tuple[ew.Graph, dict[str, Any]]] = {
        "CPU, file, 4 threads": (from_file, {"device": "cpu", "schedule": ew.Schedule(num_threads=4)}),
        "CPU, file, all threads": (from_file, {"device": "cpu"}),
        "GPU, whole": (graph, {"device": "cuda"}),
        "GPU, limit": (graph, {"device": "cuda", "memory_limit": limit}),
        "GPU, limit, Layered": (graph, {"device": "cuda", "memory_limit": limit, "schedule": layered}),
    }
    wanted: dict[str, np.ndarray] = {}
    for system, (on, how) in ways.items():
        forget(graph)
        if (
            "Layered" in system
        ):  # layers are made beforehand, and on the CPU: the limit holds for making them, too
            ew.bfs(graph, root, device="cpu", schedule=layered)
        for program in PROGRAMS:

            def call(program: str = program, on: ew.Graph = on, how: dict[str, Any] = how) -> Run:
                found: Any = (ew.sssp if program == "SSSP" else ew.bfs)(on, root, **how)
                return Run(found, found.supersteps)

            row = known | {"program": program, "system": system, "limit": how.get("memory_limit", "")}
            try:
                timing = timed_calls(call, 2)
            except ew.errors.MemoryLimitError as error:
                yield row | {"right": f"out of memory: {error}"}
                continue
            result = timing.run.answer
            found = result.distance if program == "SSSP" else result.level
            if program not in wanted:
                assert result.verify(graph), f"{program}: a wrong answer"
                wanted[program] = found.copy()
            right = np.array_equal(found, wanted[program])
            cost = {"ms": 1e3 * statistics.median(timing.others), "repeat": len(timing.others)}
            yield row | cost | {"iterations": timing.run.supersteps, "right": right}


def rows_of_graph(case: Case, parts: set[str], repeat: int, folder: Path) -> Iterator[dict[str, Any]]:
    """The rows of some parts on a graph."""
    if "flags" in parts:
        yield from flag_rows(case, repeat)
    if "lists" in parts:
        yield from list_rows(case, repeat)
    if "memory" in parts:
        yield from memory_rows(case)
    if "preprocessing" in parts:
        yield from preprocessing_rows(case, folder)
    if "trace" in parts:
        from benchmarks.papers.wolfpath_trace import trace_rows  # only a GPU has streams

        yield from trace_rows(case, repeat)


def rows(
    parts: set[str], graphs: list[str], repeat: int, scale: int, limit: str, folder: Path
) -> Iterator[dict[str, Any]]:
    """All rows of some parts."""
    for name in graphs if parts - {"beyond"} else []:
        case = Case(name, GRAPHS[name]())
        for row in rows_of_graph(case, parts, repeat, folder):
            yield {"source": case.root} | row
    if "beyond" in parts:
        yield from beyond_rows(scale, limit, folder)


def line(row: dict[str, Any]) -> str:
    """A row to print."""
    what = f"{row['part']:<13} {row['graph']:<13} {row.get('program', ''):<4} {row['system']:<24}"
    times = (
        f"{row['ms']:10.3f} ms" if "ms" in row else f"{row.get('seconds', 0):10.4f} s " * ("seconds" in row)
    )
    sweeps = f"{row.get('iterations', ''):>6}"
    return f"{what} {row.get('flag', ''):<5} {times} {sweeps}  {row.get('right', '')}"


def main() -> None:
    """Measure, or draw what was measured."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.papers.wolfpath", description=__doc__.splitlines()[0]
    )
    add_names(parser, "--graphs", GRAPHS)
    add_names(parser, "--parts", PARTS)
    parser.add_argument(
        "--repeat", type=at_least_one, default=3, help="runs that are timed (default: %(default)s)"
    )
    parser.add_argument("--scale", type=int, default=23, help="of the graph beyond (default: %(default)s)")
    parser.add_argument("--limit", default="384MB", help="of the GPU's memory (default: %(default)s)")
    options = options_of(parser, "benchmarks.papers.wolfpath_plots", "measure, and write a CSV file", FIELDS)
    if options is None:
        return
    parts = set(options.parts)
    with (
        rows_file(options.output, FIELDS, options.repeat) as write,
        tempfile.TemporaryDirectory() as folder,
    ):
        # CuPy compiles its kernels when they are first used, and edgewise its own.
        small = Case("small", uniform_on_gpu(2000, 20_000, 1))
        for _ in flag_rows(small, 1):
            pass
        started = time.perf_counter()
        given = options.repeat, options.scale, options.limit, Path(folder)
        for row in rows(parts, options.graphs, *given):
            write(row)
            print(f"{time.perf_counter() - started:6.1f} s  {line(row)}", flush=True)


if __name__ == "__main__":
    main()
