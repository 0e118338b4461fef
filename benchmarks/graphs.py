"""The graphs that are measured, by name: generated ones, and real ones where their files are there."""

import functools
from collections.abc import Callable

import numpy as np

import edgewise as ew
from benchmarks.contenders import Edges
from edgewise import generate

#: The quadrants of GTgraph's R-MAT.
GTGRAPH = (0.45, 0.15, 0.15, 0.25)
WEIGHTS = (1, 100)


def source_of(graph: ew.Graph) -> int:
    """The index of the vertex from which searches and shortest paths go: the first of the largest out-degree."""
    return int(np.argmax(graph.out_degree))


def as_edges(name: str, graph: ew.Graph) -> Edges:
    """The edges of a graph in random order, an undirected one once."""
    source, target, weight = graph.sources, graph.targets, graph.weights
    if not graph.directed:
        once = source <= target
        source, target, weight = source[once], target[once], weight[once]
    order = np.random.default_rng(1).permutation(len(source))
    return Edges(
        name,
        graph.num_vertices,
        source[order],
        target[order],
        weight[order],
        graph.directed,
        source_of(graph),
    )


def rmat(scale: int) -> Edges:
    """R-MAT with 16 edges a vertex, self-loops and parallel edges dropped."""
    graph = generate.rmat(scale, 16, GTGRAPH, seed=1, simple=True, weights=WEIGHTS)
    return as_edges(f"rmat{scale}", graph)


def uniform18() -> Edges:
    """2**22 random pairs of 2**18 vertices, self-loops and parallel edges dropped."""
    return as_edges("uniform18", generate.uniform(2**18, 2**22, seed=1, simple=True, weights=WEIGHTS))


def road1024() -> Edges:
    """A grid of 1024 x 1024 less 10% of its streets."""
    return as_edges("road1024", generate.lattice(1024, 1024, 0.1, seed=1, directed=False, weights=WEIGHTS))


def golden(name: str) -> Edges | None:
    """A real graph with the weights of its golden answers; None where the data are not there."""
    from tests.golden import NAMES, load

    return as_edges(name, load(name).graph) if name in NAMES else None


REAL = ("soc-Epinions1-sym", "road-FLA", "road-NE", "cnr-2000", "actor-collab")

GRAPHS: dict[str, Callable[[], Edges | None]] = {
    "rmat18": lambda: rmat(18),
    "uniform18": uniform18,
    "road1024": road1024,
    "rmat20": lambda: rmat(20),
    **{name: functools.partial(golden, name) for name in REAL},
}
