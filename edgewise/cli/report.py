"""What the command line shows of a graph and of a result: facts, the top vertices, a JSON object."""

import importlib.metadata
import math
import platform
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from edgewise.graph import Graph
from edgewise.graph.csr import Rows
from edgewise.graph.pairs import count_parallel, count_reciprocal
from edgewise.kernels.cache import compile_seconds
from edgewise.kernels.cpu.team import available_threads
from edgewise.kernels.door import cuda_door, cuda_problem
from edgewise.kernels.store import cache_directory
from edgewise.result import Result
from edgewise.text import on_one_line

Facts = dict[str, Any]


@dataclass(frozen=True)
class Table:
    """Rows under names, as the terminal and JSON show them."""

    names: tuple[str, ...]
    rows: list[tuple[Any, ...]]

    def as_text(self) -> str:
        """Columns side by side; numbers to the right, the rest to the left."""
        cells = [self.names, *(tuple(map(as_text, row)) for row in self.rows)]
        widths = [max(len(row[column]) for row in cells) for column in range(len(self.names))]
        right = [
            all(isinstance(row[column], int | float) for row in self.rows)
            for column in range(len(self.names))
        ]
        lines = []
        for row in cells:
            aligned = zip(row, widths, right, strict=True)
            lines.append(
                "  ".join(f"{cell:>{w}}" if r else f"{cell:<{w}}" for cell, w, r in aligned).rstrip()
            )
        return "\n".join(lines)

    def as_objects(self) -> list[Facts]:
        """One object for each row."""
        return [dict(zip(self.names, map(as_json, row), strict=True)) for row in self.rows]


@dataclass(frozen=True)
class View:
    """How the result of an algorithm is shown.

    Attributes:
        facts: what there is to say about the whole, by name.
        top: the most interesting so many rows.
        passes: how often each edge was looked at, for edges per second.
    """

    facts: Callable[[Any], Facts]
    top: Callable[[Any, int], Table]
    passes: Callable[[Any], int] = lambda result: 1


def ranked(result: Result, column: str, shown: np.ndarray, count: int, *, largest: bool) -> Table:
    """The vertices of largest or smallest values in one column, equal ones in index order.

    Args:
        result: its columns become those of the table, after the column of vertices.
        column: the name of the one that decides.
        shown: whether a vertex may be shown, shape (n,).
        count: how many rows at most.
        largest: the largest values first, else the smallest.
    """
    columns, known = result.columns(), np.flatnonzero(shown)
    keys = columns[column][known]
    order = np.argsort(keys[::-1], kind="stable")[::-1] if largest else np.argsort(keys, kind="stable")
    if largest:
        order = len(keys) - 1 - order
    chosen = known[order[:count]]
    ids = result.graph.ids_of(chosen).tolist()
    rows = zip(ids, *(each[chosen].tolist() for each in columns.values()), strict=True)
    return Table(("vertex", *columns), list(rows))


def finite(values: np.ndarray) -> np.ndarray:
    """Where values are neither infinite nor the largest integer, which stands for infinity; shape (n,)."""
    if values.dtype.kind == "f":
        return np.isfinite(values)
    return values != np.iinfo(values.dtype).max if values.dtype.kind == "i" else np.ones(len(values), bool)


def largest_components(result: Any, count: int) -> Table:
    """Components by size: the vertex that labels each, and how many vertices it has."""
    labels, sizes = np.unique(result.component, return_counts=True)
    order = np.argsort(-sizes, kind="stable")[:count]
    ids = result.graph.ids_of(labels[order])
    return Table(("component", "size"), list(zip(ids.tolist(), sizes[order].tolist(), strict=True)))


def top_edges(result: Any, column: str, count: int) -> Table:
    """The edges of a result of edges with the largest values in one column, equal ones in their order."""
    values = getattr(result, column)
    order = np.argsort(-values.astype(np.float64), kind="stable")[:count]
    ends = (
        result.graph.ids_of(index[order]).tolist() for index in (result.source_index, result.target_index)
    )
    return Table(("source", "target", column), list(zip(*ends, values[order].tolist(), strict=True)))


def _bfs_facts(result: Any) -> Facts:
    return {"reached": result.num_reached, "depth": int(result.level.max(initial=-1))}


def _sssp_facts(result: Any) -> Facts:
    reached = result.distance[finite(result.distance)]
    return {"reached": result.num_reached, "farthest": reached.max().item() if len(reached) else None}


def _pagerank_facts(result: Any) -> Facts:
    return {"iterations": int(result.iterations), "converged": bool(result.converged)}


def _component_facts(result: Any) -> Facts:
    return {"components": int(result.num_components)}


def _mst_facts(result: Any) -> Facts:
    return {
        "edges": result.num_edges,
        "components": result.num_components,
        "total_weight": result.total_weight,
    }


def _betweenness_facts(result: Any) -> Facts:
    return {"sources": result.num_sources}


def _program_facts(result: Any) -> Facts:
    aggregates = {
        name: value.item() if hasattr(value, "item") else value for name, value in result.aggregates.items()
    }
    return {**aggregates, "ended": result.ended}


def _nearest_levels(result: Any, count: int) -> Table:
    return ranked(result, "level", result.level >= 0, count, largest=False)


def _nearest_distances(result: Any, count: int) -> Table:
    return ranked(result, "distance", finite(result.distance), count, largest=False)


def _highest_ranks(result: Any, count: int) -> Table:
    return ranked(result, "rank", finite(result.rank), count, largest=True)


def _most_between(result: Any, count: int) -> Table:
    return ranked(result, "centrality", finite(result.centrality), count, largest=True)


def _heaviest_edges(result: Any, count: int) -> Table:
    return top_edges(result, "weight", count)


def _edges_most_between(result: Any, count: int) -> Table:
    return top_edges(result, "centrality", count)


def _largest_values(result: Any, count: int) -> Table:
    """Of a program: by its first field."""
    column, values = next(iter(result.columns().items()))
    return ranked(result, column, finite(values), count, largest=True)


VIEWS = {
    "bfs": View(_bfs_facts, _nearest_levels),
    "sssp": View(_sssp_facts, _nearest_distances),
    "pagerank": View(_pagerank_facts, _highest_ranks, passes=lambda result: result.iterations),
    "components": View(_component_facts, largest_components),
    "scc": View(_component_facts, largest_components, passes=lambda result: 2),
    "mst": View(_mst_facts, _heaviest_edges),
    "betweenness": View(_betweenness_facts, _most_between, passes=lambda result: 2 * result.num_sources),
    "edge_betweenness": View(
        _betweenness_facts, _edges_most_between, passes=lambda result: 2 * result.num_sources
    ),
}
PROGRAM_VIEW = View(_program_facts, _largest_values)


def graph_facts(graph: Graph) -> Facts:
    """The size and kind of a graph."""
    return {
        "vertices": graph.num_vertices,
        "edges": graph.num_edges,
        "directed": graph.directed,
        "weights": None if graph.weights is None else str(graph.weights.dtype),
    }


def degree_facts(graph: Graph) -> Facts:
    """What to know about a new graph: degrees, isolated vertices, self-loops, edges twice, weights, memory."""
    facts: Facts = {}
    if graph.num_vertices:
        for name, degree in (("out_degree", graph.out_degree), ("in_degree", graph.in_degree)):
            most = int(np.argmax(degree))
            facts[f"max_{name}"] = int(degree[most])
            facts[f"max_{name}_vertex"] = graph.ids_of(np.array([most])).tolist()[0]
        facts["mean_out_degree"] = graph.num_arcs / graph.num_vertices
        facts["isolated_vertices"] = int(((graph.out_degree == 0) & (graph.in_degree == 0)).sum())
    facts["self_loops"] = int((graph.sources == graph.targets).sum())
    rows = Rows(graph.offsets, graph.targets, None)
    facts["parallel_edges"] = count_parallel(rows, graph.directed)
    if graph.directed:
        facts["reciprocal_edges"] = count_reciprocal(rows, Rows(graph.in_offsets, graph.in_sources, None))
    if graph.weights is not None and graph.num_arcs:
        facts["min_weight"], facts["max_weight"] = graph.weights.min().item(), graph.weights.max().item()
    facts["megabytes"] = graph.nbytes / 1e6
    return facts


def as_text(value: Any) -> str:
    """A value for the terminal, floats to six digits."""
    if isinstance(value, bool) or value is None:
        return {True: "yes", False: "no", None: "none"}[value]
    return f"{value:.6g}" if isinstance(value, float) else on_one_line(str(value))


def as_json(value: Any) -> Any:
    """A value as JSON knows it: no infinity and no NaN."""
    return None if isinstance(value, float) and not math.isfinite(value) else value


@dataclass(frozen=True)
class RunReport:
    """One run as the command line reports it.

    Attributes:
        algorithm, graph_name: what ran on what.
        result: its answer.
        view: how that is shown.
        read_seconds: what reading the graph took, without compiling, which is counted for the whole process.
        verified: whether the answer has passed its verifier.
    """

    algorithm: str
    graph_name: str
    result: Result
    view: View
    read_seconds: float
    verified: bool

    @property
    def edges_per_second(self) -> float | None:
        """Edges looked at in a second of the run, counting each once in every pass over the graph."""
        edges = self.result.graph.num_edges * self.view.passes(self.result)
        return edges / self.result.seconds if self.result.seconds > 0 else None

    def as_json(self, top: int) -> Facts:
        """Everything as one object."""
        facts: Facts = {
            "algorithm": self.algorithm,
            "graph": self.graph_name,
            **graph_facts(self.result.graph),
        }
        facts |= self.view.facts(self.result)
        facts |= {
            "supersteps": self.result.supersteps,
            "seconds": self.result.seconds,
            "compile_seconds": compile_seconds(),
            "read_seconds": self.read_seconds,
            "edges_per_second": self.edges_per_second,
            "verified": self.verified,
        }
        facts = {name: as_json(value) for name, value in facts.items()}
        return facts | {"top": self.view.top(self.result, top).as_objects()}

    def as_text(self, top: int) -> str:
        """A few lines and a table."""
        result = self.result
        rate = "" if self.edges_per_second is None else f", {in_units(self.edges_per_second)}edges/s"
        verified = ["The answer passed its verifier."] if self.verified else []
        head = [
            f"{self.algorithm} on {on_one_line(self.graph_name)}: {graph_line(result.graph)}",
            ", ".join(
                f"{name.replace('_', ' ')}: {as_text(value)}"
                for name, value in self.view.facts(result).items()
            ),
            f"ran in {result.seconds:.3g} s{rate}; reading took {self.read_seconds:.2g} s, "
            f"compiling {compile_seconds():.2g} s",
            *verified,
        ]
        table = self.view.top(result, top)
        return "\n".join([*head, "", table.as_text()] if table.rows else head)


def graph_line(graph: Graph) -> str:
    """The size and kind of a graph in words."""
    kind = "directed" if graph.directed else "undirected"
    weights = "unweighted" if graph.weights is None else f"{graph.weights.dtype} weights"
    return f"{graph.num_vertices:,} vertices, {graph.num_edges:,} edges, {kind}, {weights}"


def in_units(rate: float) -> str:
    """A rate to three digits, with its unit of size: 1.4 G, 230 M."""
    for size, unit in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if rate >= size:
            return f"{rate / size:.3g} {unit} "
    return f"{rate:.3g} "


def lines(facts: Facts) -> str:
    """Facts one below the other."""
    width = max(map(len, facts), default=0)
    return "\n".join(f"{name.replace('_', ' '):<{width}}  {as_text(value)}" for name, value in facts.items())


def installation_facts() -> Facts:
    """Versions, threads, and where compiled code is kept."""
    packages = ("numba", "numpy", "scipy")
    return {
        "edgewise": importlib.metadata.version("edgewise"),
        "python": platform.python_version(),
        **{package: importlib.metadata.version(package) for package in packages},
        "algorithms": ", ".join(VIEWS),
        "threads": available_threads(),
        "compiled_code": str(cache_directory() or "not kept: there is no home folder"),
    }


def device_facts() -> Facts:
    """The GPU that runs use, or why none can be used and what mends that."""
    problem = cuda_problem()
    if problem:
        return {"gpu": None, "problem": problem, "device_auto": "cpu"}
    return {**cuda_door().facts(), "device_auto": "cuda"}
