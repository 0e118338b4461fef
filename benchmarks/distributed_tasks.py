"""What `benchmarks.distributed` runs on ranks, and how it is timed."""

import csv
import time
from typing import Any

import numpy as np

import edgewise as ew
from benchmarks.graphs import source_of
from benchmarks.ours import EXAMPLES, load
from edgewise.engine.distributed.group import Group

#: PageRank's ranks move for so many supersteps.
ITERATIONS = 20
#: Sources of betweenness.
SOURCES = 64
#: How near sums of floats on a GPU come to those in another order. PageRank has the differences of ranks, too.
CLOSE = {"float64": {"rtol": 1e-9, "atol": 1e-15}, "float32": {"rtol": 1e-4, "atol": 1e-12}}


class IntegerPageRank(ew.Program):
    """PageRank in multiples of 2**-30, whose sums are exact in any order: messages are pushed. All vertices send, in
    each superstep, and take 85% of what they get."""

    rank = ew.vertex("int64", init=2**30)
    combine = ew.SUM
    message = "int64"
    max_supersteps = ITERATIONS

    @staticmethod
    def edge_compute(edge, state):
        return state.rank[edge.source] // state.out_degree[edge.source]

    @staticmethod
    def vertex_compute(v, message, state):
        state.rank[v] = (3 * 2**30 + 17 * message) // 20
        return ew.ACTIVE


def source_id(graph: ew.Graph) -> Any:
    """The id of the vertex from which searches and shortest paths go."""
    return graph.vertices[source_of(graph)]


def drawn_sources(graph: ew.Graph, count: int) -> np.ndarray:
    """The ids of so many vertices with out-edges, the same ones in each process."""
    begins = np.flatnonzero(graph.out_degree)
    return graph.ids_of(np.random.default_rng(1).choice(begins, count, replace=False))


#: The names of `programs`.
PROGRAMS = ("BFS", "SSSP", "PageRank", "IntegerPageRank", "Components")


def programs(graph: ew.Graph) -> dict[str, tuple[ew.Program, int | None]]:
    """The programs with their parameters, and the most supersteps."""
    source = source_id(graph)

    def made(name: str, **values: Any) -> ew.Program:
        found: ew.Program = getattr(load(EXAMPLES / f"{name.lower()}.py"), name)(**values)
        return found

    return {
        "BFS": (made("BFS", source=source), None),
        "SSSP": (made("SSSP", source=source), None),
        "PageRank": (made("PageRank", tol=0.0), ITERATIONS),
        "IntegerPageRank": (IntegerPageRank(), None),
        "Components": (made("Components"), None),
    }


def seconds_of(call: Any, group: Group) -> tuple[float, Any]:
    """The seconds that a call takes on the slowest rank, and what it gives."""
    group.total(0)
    started = time.perf_counter()
    found = call()
    spent = int(1e9 * (time.perf_counter() - started))
    return max(group.everywhere(np.empty(0, np.uint8), spent)[1]) / 1e9, found


def write_rows(path: str, rows: list[dict[str, Any]]) -> None:
    """Write rows as CSV."""
    with open(path, "w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)


def nearly_equal(found: np.ndarray, expected: np.ndarray) -> bool:
    """Whether arrays are equal; sums of floats, in another order, by `CLOSE`."""
    if expected.dtype.kind != "f":
        return np.array_equal(found, expected)
    return np.allclose(found, expected, **CLOSE[expected.dtype.name])
