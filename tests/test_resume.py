"""Vertices that sleep until all has come to rest: the examples that peel and colour, limits, and what is refused."""

import sys
from pathlib import Path

import networkx as nx
import numpy as np
import pytest

import edgewise as ew
from edgewise.errors import ProgramError
from edgewise.run import Prepared

sys.path.insert(0, str(Path(__file__).parent.parent / "examples"))

from greedy_coloring import GreedyColoring
from k_core import KCore

DEVICES = ["cpu", pytest.param("cuda", marks=pytest.mark.gpu)]


def undirected(network):
    """A graph of NetworkX without self-loops."""
    ends = np.array(network.edges, dtype=np.int64).reshape(-1, 2)
    return ew.Graph.from_edges(*ends.T, directed=False, num_vertices=len(network))


NETWORKS = {
    "no vertices": nx.empty_graph(0),
    "no edges": nx.empty_graph(5),
    "path": nx.path_graph(50),
    "clique": nx.complete_graph(30),
    "more colours than a window": nx.complete_graph(140),
    "grid": nx.convert_node_labels_to_integers(nx.grid_2d_graph(20, 30)),
    "random": nx.gnm_random_graph(300, 2000, seed=2),
    "hubs": nx.barabasi_albert_graph(2000, 5, seed=3),
    "cliques on a string": nx.convert_node_labels_to_integers(nx.connected_caveman_graph(20, 12)),
}


@pytest.mark.parametrize("device", DEVICES)
def test_core_numbers_are_those_of_networkx(device):
    for name, network in NETWORKS.items():
        expected = nx.core_number(network)
        got = ew.run(KCore(), undirected(network), device=device).core
        assert got.tolist() == [expected[v] for v in range(len(network))], name


@pytest.mark.parametrize("device", DEVICES)
def test_colours_are_those_of_networkx(device):
    """The order is the same, vertices of the same degree included: by their numbers, as NetworkX's sort is stable."""
    for name, network in NETWORKS.items():
        expected = nx.greedy_color(network, "largest_first")
        got = ew.run(GreedyColoring(), undirected(network), device=device).color
        assert got.tolist() == [expected[v] for v in range(len(network))], name


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("program", [KCore, GreedyColoring])
def test_a_limit_cuts_a_run_where_the_reference_does(program, device):
    prepared = Prepared(program, undirected(NETWORKS["cliques on a string"]), device)
    for limit in (0, 1, 2, 3, 7):
        expected, got = prepared.reference({}, limit), prepared(max_supersteps=limit)
        assert (got.supersteps, got.ended) == (expected.supersteps, str(expected.ended))
        assert got.aggregates == expected.aggregates
        for name, values in expected.vertex_fields.items():
            np.testing.assert_array_equal(got.fields[name], values, err_msg=f"{name}, {limit}")


def test_resume_says_who_is_active():
    with pytest.raises(ProgramError, match=r"resume in .*: it returns nothing here; return ACTIVE or HALT"):

        class Silent(KCore):
            @staticmethod
            def resume(v, state):
                return None

        ew.run(Silent(), undirected(NETWORKS["path"]))


def test_resume_writes_at_its_own_vertex_only():
    with pytest.raises(ProgramError, match=r"resume in .*: a field written here may only be used at \[v\]"):

        class Spreading(KCore):
            @staticmethod
            def resume(v, state):
                state.core[0] = v
                return ew.HALT

        ew.run(Spreading(), undirected(NETWORKS["path"]))


class Counted(ew.Program):
    """Vertices that resume change what proceed looks at: it is asked after supersteps alone."""

    x = ew.vertex("int64")
    combine = ew.SUM
    message = "int64"

    @staticmethod
    def edge_compute(edge, state):
        return 1

    @staticmethod
    def vertex_compute(v, message, state):
        state.x[v] = state.x[v] + 1
        return ew.HALT

    @staticmethod
    def resume(v, state):
        state.x[v] = 100
        return state.superstep < 3

    @staticmethod
    def proceed(state):
        return state.x[0] < 100


@pytest.mark.parametrize("device", DEVICES)
def test_a_program_is_asked_to_proceed_after_supersteps_alone(device):
    graph = ew.Graph.from_edges([0, 1], [1, 0])
    expected = ew.run(Counted(), graph, check=True)
    got = ew.run(Counted(), graph, device=device)
    assert got.x.tolist() == expected.x.tolist() == [101, 101]
    assert (got.supersteps, got.ended) == (expected.supersteps, expected.ended)
    assert got.supersteps == 2
