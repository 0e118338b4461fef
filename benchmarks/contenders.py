"""What is timed: one class for each library, with the same tasks.

A contender makes its natural graph object once, outside the clock (except for the task "build", which is
just that). Each task then returns a `Job`: the call that is timed, and a function that turns what the call
returned into arrays that `benchmarks.check` can verify. What a library converts on its first call is part of
that call, which is reported apart.
"""

import importlib.metadata
import importlib.util
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

#: The tasks, in the order of the tables. Each is a method of the contenders that have it among their tasks. Not all
#: have "mst", a minimum spanning forest, directions ignored, and "betweenness", sums of dependencies on each vertex
#: over `Edges.some`.
ALGORITHMS = ("bfs", "sssp", "pagerank", "components", "scc", "mst", "betweenness", "build")
DAMPING = 0.85
ITERATIONS = 50


@dataclass(frozen=True)
class Edges:
    """A graph as columns, in random order: what every contender starts from.

    Attributes:
        name: of the graph.
        num_vertices: ids are 0..num_vertices-1.
        source, target: int32, shape (num_edges,). An undirected graph lists each edge once.
        weight: shape (num_edges,).
        directed: whether edges have a direction.
        start: the source of BFS and SSSP: the vertex of largest out-degree.
    """

    name: str
    num_vertices: int
    source: np.ndarray
    target: np.ndarray
    weight: np.ndarray
    directed: bool
    start: int

    def some(self) -> np.ndarray:
        """The sources of betweenness: 16 vertices drawn at random."""
        return np.random.default_rng(1).choice(self.num_vertices, 16, replace=False)

    def arcs(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Source, target and weight of every arc: an undirected edge gives two."""
        if self.directed:
            return self.source, self.target, self.weight
        both = (np.concatenate([self.source, self.target]), np.concatenate([self.target, self.source]))
        return *both, np.concatenate([self.weight, self.weight])


@dataclass(frozen=True)
class Job:
    """One call to time, and how to read what it returns.

    Attributes:
        call: takes nothing; the clock runs around it.
        answer: what `call` returned, as an array: levels (-1 unreached) or parents for "bfs", distances (inf
            unreached) for "sssp", ranks, component labels, the total weight for "mst", or the number of arcs for
            "build".
        form: "level", "parent", "distance", "rank", "component", "total", "dependency" or "arcs": what the array
            holds.
        note: where the work differs from that of the others.
        before: called before each `call`, outside the clock.
        tolerance: of the comparison, where the answer is not meant to be the same to rounding.
    """

    call: Callable[[], Any]
    answer: Callable[[Any], Any]
    form: str
    note: str = ""
    before: Callable[[], Any] | None = None
    tolerance: float = 1e-9


class Contender(ABC):
    """A library under measurement."""

    name: ClassVar[str]
    package: ClassVar[str]
    tasks: ClassVar[tuple[str, ...]] = tuple(name for name in ALGORITHMS if name != "betweenness")

    @classmethod
    def installed(cls) -> bool:
        """Whether the package can be imported."""
        return importlib.util.find_spec(cls.package) is not None

    @classmethod
    def version(cls) -> str:
        """The installed version."""
        return importlib.metadata.version(cls.package)

    def __init__(self, edges: Edges) -> None:
        self.edges = edges
        self.graph = self.make()

    @abstractmethod
    def make(self) -> Any:
        """The library's own graph object, from the columns."""

    @abstractmethod
    def num_arcs(self, graph: Any) -> int:
        """Arcs of a graph that `make` returned; for undirected libraries, edges."""

    def build(self) -> Job:
        """The graph object from arrays."""
        return Job(self.make, self.num_arcs, "arcs")

    @abstractmethod
    def bfs(self) -> Job:
        """Breadth-first search from `Edges.start`."""

    @abstractmethod
    def sssp(self) -> Job:
        """Weighted shortest paths from `Edges.start`."""

    @abstractmethod
    def pagerank(self) -> Job:
        """PageRank with damping 0.85: 50 iterations in float64, dangling mass spread uniformly."""

    @abstractmethod
    def components(self) -> Job:
        """Weakly connected components."""

    @abstractmethod
    def scc(self) -> Job:
        """Strongly connected components."""
