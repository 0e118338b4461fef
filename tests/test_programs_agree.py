"""The programs that algorithms are carried out as give what the examples of the same name give."""

import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parent.parent / "examples"))

from battery import graphs
from bfs import BFS
from components import Components
from pagerank import PageRank
from sssp import SSSP

import edgewise as ew
from edgewise.algorithms.bfs.levels import BreadthFirst
from edgewise.algorithms.components import program as of_components
from edgewise.algorithms.pagerank.program import ranks_program
from edgewise.algorithms.pagerank.walk import Walk
from edgewise.algorithms.sssp.relaxation import paths_program

GRAPHS = {name: graph for name, graph in graphs().items() if graph.num_vertices}


def with_weights(graph: ew.Graph, weights: np.ndarray) -> ew.Graph:
    """The arcs of a graph with other weights."""
    return ew.Graph.from_edges(graph.sources, graph.targets, weights, num_vertices=graph.num_vertices)


@pytest.mark.parametrize("name", GRAPHS)
def test_levels(name: str) -> None:
    graph = GRAPHS[name]
    level = ew.run(BreadthFirst(source=0), graph).level
    assert np.array_equal(level, ew.run(BFS(source=0), graph).level)
    assert np.array_equal(level, ew.bfs(graph, 0).level)


@pytest.mark.parametrize("dtype", [np.int32, np.float64])
@pytest.mark.parametrize("negative", [False, True])
@pytest.mark.parametrize("name", GRAPHS)
def test_distances(name: str, negative: bool, dtype: type) -> None:
    """The program for negative weights takes others, too. Sums of these floats are rounded, the same way everywhere."""
    graph = GRAPHS[name]
    if dtype is np.float64:
        graph = with_weights(graph, graph.weights / 7)
    distance = ew.run(paths_program(np.dtype(dtype), negative)(source=0), graph).distance
    assert distance.dtype == dtype
    assert np.array_equal(distance, ew.run(SSSP(source=0), graph).distance)
    assert np.array_equal(distance, ew.sssp(graph, 0).distance)


@pytest.mark.parametrize("name", GRAPHS)
def test_components(name: str) -> None:
    given = GRAPHS[name]
    graph = ew.Graph.from_edges(given.sources, given.targets, directed=False, num_vertices=given.num_vertices)
    component = ew.run(of_components.Components, graph).component
    assert np.array_equal(component, ew.run(Components, graph).label)
    assert np.array_equal(component, ew.connected_components(graph).component)


def ranks(graph: ew.Graph, weighted: bool) -> np.ndarray:
    """Ranks of the program that `ew.pagerank` is carried out as."""
    walk = Walk(graph, 0.85, None, weighted)
    each = 1 / graph.num_vertices
    given = {"damping": 0.85, "enough": 1e-12, "begin": each, "even": each}
    given |= {"scale": walk.scale} if weighted else {}
    program = ranks_program(np.dtype(np.float64), weighted)
    return ew.run(program(**given), walk.graph, max_supersteps=200).rank


@pytest.mark.parametrize("name", GRAPHS)
def test_ranks(name: str) -> None:
    graph = GRAPHS[name]
    rank = ranks(graph, weighted=False)
    assert np.allclose(rank, ew.run(PageRank(tol=1e-12), graph).rank, rtol=0, atol=1e-12)
    assert np.allclose(rank, ew.pagerank(graph, tol=1e-12).rank, rtol=0, atol=1e-12)


@pytest.mark.parametrize("name", GRAPHS)
def test_weighted_ranks(name: str) -> None:
    """The example reads no weights, so it gives the ranks of weights that are all equal."""
    graph = GRAPHS[name]
    weighted = with_weights(graph, (1 + graph.weights) / 3)
    found = ew.pagerank(weighted, weighted=True, tol=1e-12).rank
    assert np.allclose(ranks(weighted, weighted=True), found, rtol=0, atol=1e-12)
    equal = with_weights(graph, np.full(graph.num_arcs, 0.3))
    example = ew.run(PageRank(tol=1e-12), graph).rank
    assert np.allclose(ranks(equal, weighted=True), example, rtol=0, atol=1e-12)
