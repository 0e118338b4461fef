"""What the reproduction of Singh and Nasre (2020) compares: graphs, algorithms, baselines and techniques."""

import functools
import weakref
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

import edgewise as ew
from benchmarks.graphs import GTGRAPH, WEIGHTS, source_of
from benchmarks.papers import graffix_tigr
from edgewise.approx.sweeping import LADDERS

SCALE, NUM_SOURCES = 20, 4
NODE, TIGR, FASTEST = "node-based", "Tigr-like", "fastest"
COALESCING, SLOTS = "coalescing", "coalescing, extra slots"
MEMORY, DIVERGENCE = "shared memory", "thread divergence"
#: How replicas of a vertex come together: by one state for all, or by the mean of their states.
ONE_STATE, EACH_STEP, AT_THE_END = "one state", "mean in each superstep", "mean at the end"
#: Where approximate graphs are made.
HOST, THERE = "host", "GPU"
#: Of which rows it is told what warps read.
ROWS_GIVEN, ROWS_ORDER, ROWS_WHOLE = "as given", "new order", "with edges"
#: Slots of each chunk of 16 that are kept free, which the paper does not have.
EXTRA = 4
#: The knob of figures 7 to 9, and its values.
KNOB = "threshold"
CONNECTEDNESS = (0.1, 0.2, 0.4, 0.6, 0.8, 1.0)


def rmat(scale: int) -> ew.Graph:
    """R-MAT with GTgraph's parameters and 16 edges a vertex, self-loops and parallel edges dropped."""
    return ew.generate.rmat(scale, 16, GTGRAPH, seed=1, simple=True, weights=WEIGHTS)


def random(scale: int) -> ew.Graph:
    """Random pairs of vertices, 16 for each vertex, self-loops and parallel edges dropped."""
    return ew.generate.uniform(2**scale, 2 ** (scale + 4), seed=1, simple=True, weights=WEIGHTS)


def real(name: str) -> ew.Graph:
    """A graph of the test data; an undirected edge is two arcs."""
    from tests.golden import load as golden

    graph = golden(name).graph
    weights = np.asarray(graph.weights, np.int32)
    return ew.Graph.from_csr(graph.offsets, graph.targets, weights, True, graph.vertices)


class Source(NamedTuple):
    """Where a graph comes from.

    Attributes:
        like: the graph of the paper that it stands for.
        is_road: whether degrees are small and alike, for which the paper has another threshold.
        make: makes it.
    """

    like: str
    is_road: bool
    make: Callable[[], ew.Graph]


def graphs(scale: int) -> dict[str, Source]:
    """The graphs by name, the generated ones of 2 ** scale vertices."""
    return {
        f"rmat{scale}": Source("rmat26", False, lambda: rmat(scale)),
        f"random{scale}": Source("random26", False, lambda: random(scale)),
        "soc-Epinions1": Source("LiveJournal", False, lambda: real("soc-Epinions1-sym")),
        "road-FLA": Source("USA-road", True, lambda: real("road-FLA")),
        "road-NE": Source("USA-road", True, lambda: real("road-NE")),
        "cnr-2000": Source("twitter", False, lambda: real("cnr-2000")),
    }


class Technique(NamedTuple):
    """A technique with its knobs, but for the one that is swept.

    Attributes:
        make: makes an approximate graph.
        knobs: its knobs.
        threshold, of_roads: the knob that is swept, in the tables: of most graphs, and of roads.
        values: in the figures.
    """

    make: Callable[..., ew.approx.Approximate]
    knobs: dict[str, Any]
    threshold: Any
    of_roads: Any
    values: tuple[Any, ...]

    def value(self, is_road: bool) -> Any:
        """The threshold of a graph in the tables."""
        return self.of_roads if is_road else self.threshold


TECHNIQUES = {
    COALESCING: Technique(ew.approx.coalesce, {"chunk": 16}, 0.6, 0.4, CONNECTEDNESS),
    SLOTS: Technique(ew.approx.coalesce, {"chunk": 16, "extra": EXTRA}, 0.6, 0.4, CONNECTEDNESS),
    MEMORY: Technique(ew.approx.form_clusters, {}, "auto", "auto", LADDERS[ew.approx.form_clusters].values),
    DIVERGENCE: Technique(
        ew.approx.normalize_degrees, {"fill": 0.85}, 0.3, 0.3, LADDERS[ew.approx.normalize_degrees].values
    ),
}


def baselines(device: str) -> dict[str, ew.Schedule | None]:
    """The schedules of exact runs by name. On the CPU, where there is no balance, edgewise's own only."""
    if device == "cpu":
        return {FASTEST: None}
    graffix_tigr.register()
    return {
        NODE: ew.Schedule(balance=ew.ThreadMapped()),
        TIGR: ew.Schedule(balance=graffix_tigr.Interleaved(graffix_tigr.BOUND)),
        FASTEST: None,
    }


class Call(NamedTuple):
    """An algorithm as it is called.

    Attributes:
        algorithm: the function.
        arguments, options: beside the graph, the device and the schedule.
        field: what is compared of its results.
        tolerance: how much floats may differ from the CPU's, as a fraction of the largest one.
    """

    algorithm: Callable[..., Any]
    arguments: tuple[Any, ...]
    options: dict[str, Any]
    field: str
    tolerance: float = 0.0

    def run(self, graph: ew.Graph, device: str, schedule: ew.Schedule | None) -> Any:
        """The result on a graph."""
        return self.algorithm(graph, *self.arguments, **self.options, device=device, schedule=schedule)

    def values(self, result: Any) -> np.ndarray:
        """What is compared of a result: shape (n,), or a number."""
        return np.asarray(getattr(result, self.field))


@dataclass(frozen=True, eq=False)
class Case:
    """A graph with what is run on it.

    Attributes:
        name, like: of the graph, and of the paper's that it stands for.
        graph: directed, with weights.
        is_road: see `Source`.
        num_sources: from how many vertices betweenness is.
    """

    name: str
    like: str
    graph: ew.Graph
    is_road: bool = False
    num_sources: int = NUM_SOURCES

    @functools.cached_property
    def sources(self) -> list[Any]:
        """Ids: a vertex of the largest out-degree, then others with edges, drawn by a fixed seed."""
        graph = self.graph
        first = source_of(graph)
        others = np.setdiff1d(np.flatnonzero(graph.out_degree), [first])
        count = min(self.num_sources - 1, len(others))
        drawn = np.random.default_rng(1).choice(others, count, replace=False)
        found: list[Any] = graph.ids_of(np.append(first, drawn)).tolist()
        return found

    @functools.cached_property
    def calls(self) -> dict[str, Call]:
        """The paper's algorithms by its names. All take the graph as directed, but for forests."""
        return {
            "SSSP": Call(ew.sssp, (self.sources[0],), {}, "distance"),
            "MST": Call(ew.mst, (), {"symmetrize": True}, "total_weight"),
            "SCC": Call(ew.scc, (), {}, "num_components"),
            "PR": Call(ew.pagerank, (), {"tol": 1e-6, "dtype": np.float32}, "rank", 1e-3),
            "BC": Call(ew.betweenness, (), {"sources": self.sources}, "centrality", 1e-6),
        }

    def made(self, technique: str, value: Any = None, device: str = "auto") -> ew.approx.Approximate:
        """The approximate graph of a technique with a value of the knob; None for that of the tables, which is kept.

        Where it is made changes nothing but the time.
        """
        if value is not None:
            how = TECHNIQUES[technique]
            return how.make(self.graph, **how.knobs, **{KNOB: value}, device=device)
        if technique not in self._made:
            self._made[technique] = self.made(technique, TECHNIQUES[technique].value(self.is_road))
        return self._made[technique]

    def answer(self, graph: ew.Graph, algorithm: str) -> np.ndarray:
        """What the CPU finds on a graph, which is kept as long as the graph is."""
        answers = self._answers.setdefault(graph, {})
        if algorithm not in answers:
            call = self.calls[algorithm]
            answers[algorithm] = call.values(call.run(graph, "cpu", None))
        return answers[algorithm]

    @functools.cached_property
    def _made(self) -> dict[str, ew.approx.Approximate]:
        return {}

    @functools.cached_property
    def _answers(self) -> weakref.WeakKeyDictionary[ew.Graph, dict[str, np.ndarray]]:
        return weakref.WeakKeyDictionary()
