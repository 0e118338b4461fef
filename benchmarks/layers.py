"""Graphs in layers on a GPU: searches and shortest paths with layers and without, in its memory and beyond.

`python -m benchmarks.layers --output FILE.csv` writes a row for each graph, program and way. A time is the median of
`Result.seconds`, which has no copies of results to the host; making layers is timed by the clock. "least" is the least
memory that a run accepts: all edges are read from the host's memory then. Each answer is compared with that of the run
without layers in the GPU's memory, which its verifier has checked.
"""

import argparse
import statistics
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import edgewise as ew
from benchmarks.gpu import built, synchronize
from benchmarks.graphs import source_of
from benchmarks.options import add_names
from benchmarks.papers import edge_vertex_setup
from benchmarks.papers.load_balancing_setup import road
from benchmarks.papers.wolfpath_trace import least_memory
from benchmarks.results import at_least_one, rows_file
from edgewise.graph.layers import drop_layers, put_in_layers
from edgewise.kernels.cuda.memory import copy_of, host_copy

FIELDS = (
    "graph", "vertices", "edges", "layers", "program", "source", "way", "min_edges", "memory", "ms", "supersteps",
    "right",
)  # fmt: skip
#: The fewest edges of lists, beside the default.
LENGTHS = (1, 20_000, 270_336, 2_000_000, 10**9)
#: Layers of so many vertices, how many layers, and edges of each vertex beside one to the same place of the next layer.
AHEAD = ((16, 2**15, 2), (64, 2**14, 1), (256, 2**12, 2), (1024, 2**11, 1), (4096, 512, 3), (2**14, 64, 4),
         (2**17, 16, 8))  # fmt: skip


def ahead(width: int, layers: int, degree: int) -> ew.Graph:
    """Layers of which all edges lead to the next one."""
    random, sources = np.random.default_rng(1), np.arange(width * (layers - 1))
    drawn = np.repeat(sources, degree)
    targets = (drawn // width + 1) * width + random.integers(0, width, len(drawn))
    ends = np.concatenate([drawn, sources]), np.concatenate([targets, sources + width])
    return ew.Graph.from_edges(*ends, random.integers(1, 100, len(ends[0])), num_vertices=width * layers)


def of_columns(make: Callable[[], Any]) -> ew.Graph:
    """A graph of the reproductions, in the host's memory."""
    num_vertices, columns = make()
    return ew.Graph.from_edges(*(host_copy(column) for column in columns), num_vertices=num_vertices)


def lattice() -> ew.Graph:
    """2048 x 2048 less 10% of the streets."""
    return ew.generate.lattice(2048, 2048, removed=0.1, weights=(1, 100))


GRAPHS: dict[str, Callable[[], ew.Graph]] = {
    "lattice": lattice,
    "road-NE": lambda: of_columns(lambda: road("road-NE")),
    **{
        name: lambda name=name: of_columns(edge_vertex_setup.GRAPHS[name])  # type: ignore[misc]
        for name in ("cnr-2000", "soc-Epinions1", "Journal")
    },
    "rmat20": lambda: ew.generate.rmat(
        20, 16, (0.45, 0.15, 0.15, 0.25), seed=1, simple=True, weights=(1, 100)
    ),
    "rmat22": lambda: ew.generate.rmat(22, 16, seed=1, weights=(1, 100)),
    **{f"ahead {each[0]}": lambda each=each: ahead(*each) for each in AHEAD},  # type: ignore[misc]
}


def rows_of(name: str, graph: ew.Graph, repeat: int) -> Iterator[dict[str, Any]]:
    """All rows of a graph."""
    deep = name.startswith("ahead")
    source = 0 if deep or name == "lattice" else source_of(graph)
    roots = list(range(int(name.split()[1]))) if deep else [source]
    layers = int(ew.bfs(graph, roots, device="cpu").level.max()) + 1
    known = {"graph": name, "vertices": graph.num_vertices, "edges": graph.num_arcs, "layers": layers}
    calls: dict[str, Callable[..., Any]] = {"BFS": ew.bfs, "SSSP": ew.sssp}
    for program, call in calls.items():
        start = roots if program == "BFS" else source
        field, wanted = ("level", "distance")[program == "SSSP"], None
        lengths = (None, *LENGTHS) if program == "SSSP" and not deep else (None,)
        ways = [("without layers", None), *(("layers", each) for each in lengths)]
        for memory in ("all", "least"):
            for way, min_edges in ways if memory == "all" else ways[:2]:
                how: dict[str, Any] = {"device": "cuda"}
                if way == "layers":
                    how["schedule"] = ew.Schedule(layout=ew.Layered(roots, min_edges=min_edges))
                    call(graph, start, **how)  # layers are made
                else:
                    drop_layers(graph)
                if memory == "least":
                    how["memory_limit"] = least_memory(call, graph, start, **how)
                found = [call(graph, start, **how) for _ in range(repeat + 1)]
                if wanted is None:
                    assert found[0].verify(graph), f"{program} on {name}: a wrong answer"
                    wanted = getattr(found[0], field).copy()
                seconds = statistics.median(each.seconds for each in found[1:])
                began = str(start) if isinstance(start, int) else f"{start[0]} to {start[-1]}"
                row = {
                    "program": program,
                    "source": began,
                    "way": way,
                    "min_edges": min_edges or "",
                    "memory": memory,
                }
                cost = {"ms": 1e3 * seconds, "supersteps": found[-1].supersteps}
                yield known | row | cost | {"right": np.array_equal(getattr(found[-1], field), wanted)}
    yield known | {"program": "making layers", "memory": "all"} | making(graph, roots, repeat)


def making(graph: ew.Graph, roots: list[int], repeat: int) -> dict[str, Any]:
    """Milliseconds in which layers are made of a graph that was built on the GPU, without the search."""
    columns = [graph.sources, graph.targets]
    there = built([copy_of(np.asarray(column)) for column in columns], graph.num_vertices)
    level, times = ew.bfs(there, roots, device="cuda").on_device("level"), []
    for _ in range(repeat + 1):
        synchronize()
        started = time.perf_counter()
        put_in_layers(there, level, np.array(roots))
        synchronize()
        times.append(1e3 * (time.perf_counter() - started))
    return {"way": "on the GPU", "ms": statistics.median(times[1:])}


def main() -> None:
    """Measure, and write the rows."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.layers", description=(__doc__ or "").split("\n")[0]
    )
    add_names(parser, "--graphs", GRAPHS)
    parser.add_argument(
        "--repeat", type=at_least_one, default=5, help="runs that are timed (default: %(default)s)"
    )
    parser.add_argument("--output", required=True, help="the CSV file")
    options = parser.parse_args()
    with rows_file(options.output, FIELDS, options.repeat) as write:
        for name in options.graphs:
            for row in rows_of(name, GRAPHS[name](), options.repeat):
                write(row)
                cells = (row.get(each, "") for each in ("graph", "program", "way", "min_edges", "memory"))
                print(
                    " ".join(f"{cell!s:>14}" for cell in cells), f"{row['ms']:9.3f} ms", row.get("right", "")
                )


if __name__ == "__main__":
    main()
