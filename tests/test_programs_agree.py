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
from edgewise.algorithms.bfs.program import BreadthFirst
from edgewise.algorithms.components import program as of_components
from edgewise.algorithms.pagerank.program import ranks_program
from edgewise.algorithms.sssp.program import paths_program

GRAPHS = {name: graph for name, graph in graphs().items() if graph.num_vertices}


@pytest.mark.parametrize("name", GRAPHS)
def test_levels(name: str) -> None:
    graph = GRAPHS[name]
    level = ew.run(BreadthFirst(source=0), graph).level
    assert np.array_equal(level, ew.run(BFS(source=0), graph).level)
    assert np.array_equal(level, ew.bfs(graph, 0).level)


@pytest.mark.parametrize("negative", [False, True])
@pytest.mark.parametrize("name", GRAPHS)
def test_distances(name: str, negative: bool) -> None:
    """The program for negative weights takes others, too."""
    graph = GRAPHS[name]
    distance = ew.run(paths_program(np.dtype(np.int32), negative)(source=0), graph).distance
    assert np.array_equal(distance, ew.run(SSSP(source=0), graph).distance)
    assert np.array_equal(distance, ew.sssp(graph, 0).distance)


@pytest.mark.parametrize("name", GRAPHS)
def test_components(name: str) -> None:
    given = GRAPHS[name]
    graph = ew.Graph.from_edges(given.sources, given.targets, directed=False, num_vertices=given.num_vertices)
    component = ew.run(of_components.Components, graph).component
    assert np.array_equal(component, ew.run(Components, graph).label)
    assert np.array_equal(component, ew.connected_components(graph).component)


@pytest.mark.parametrize("name", GRAPHS)
def test_ranks(name: str) -> None:
    graph = GRAPHS[name]
    each = 1 / graph.num_vertices
    program = ranks_program(np.dtype(np.float64), weighted=False)
    given = {"damping": 0.85, "enough": 1e-12, "begin": each, "even": each}
    rank = ew.run(program(**given), graph, max_supersteps=200).rank
    assert np.allclose(rank, ew.run(PageRank(tol=1e-12), graph).rank, rtol=0, atol=1e-12)
    assert np.allclose(rank, ew.pagerank(graph, tol=1e-12).rank, rtol=0, atol=1e-12)
