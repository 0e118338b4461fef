"""Paths to a target: on one thread while there are few arcs on the way, else by edgewise's shortest paths."""

from typing import Any
from unittest.mock import patch

import networkx as nx
import pytest
from nx_graphs import SEEDS, compare, draw

from edgewise.nx import backend, lengths

pytestmark = pytest.mark.filterwarnings("ignore:Note. conversions to backend graphs:UserWarning")

KINDS = [nx.Graph, nx.DiGraph, nx.MultiGraph, nx.MultiDiGraph]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("weights", ["integers", "floats", "both"])
@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("is_near", [True, False])
def test_both_ways_find_the_paths_of_networkx(is_near: bool, seed: int, weights: str, kind: Any) -> None:
    graph, found = draw(seed, False, weights, kind), []
    nodes = list(graph)

    def to_near(*args: Any) -> Any:
        found.append(to_near_itself(*args))
        return found[-1]

    to_near_itself, few = lengths._to_near, 1 if is_near else 2**40
    with patch.object(lengths, "_FEW_ARCS", few), patch.object(lengths, "_to_near", to_near):
        for source, target in zip(nodes, [*nodes[3:], *nodes[:3]], strict=True):
            compare("dijkstra_path", graph, source, target)
            compare("single_source_dijkstra", graph, source, target)
            compare("dijkstra_path_length", graph, source, target)
    assert len(found) > 0 or len(nodes) == 1
    if is_near:
        assert None not in found


def test_a_search_with_many_arcs_is_given_up() -> None:
    graph = nx.path_graph(40)
    converted = backend.convert_from_nx(graph, edge_attrs={"weight": 1})
    column = lengths.lengths_of(converted, "weight")
    assert lengths._to_near(converted, column, 0, 39) is None
    found = lengths._to_near(converted, column, 0, 3)
    assert found is not None
    assert found.to(converted, 3) == (3, [0, 1, 2, 3])
