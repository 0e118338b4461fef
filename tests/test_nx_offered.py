"""What the backend of NetworkX says of itself, and which calls it takes."""

import inspect
from pathlib import Path

import networkx as nx
import pytest
from networkx.utils.backends import _registered_algorithms

import edgewise_networkx
from edgewise.nx import backend

#: NetworkX tells that it uses a graph again that it has converted.
pytestmark = pytest.mark.filterwarnings("ignore:Note. conversions to backend graphs:UserWarning")

ROOT = Path(__file__).resolve().parent.parent


def test_what_is_described_is_offered() -> None:
    assert sorted(edgewise_networkx.get_info()["functions"]) == sorted(backend.FUNCTIONS)


@pytest.mark.parametrize("name", sorted(backend.FUNCTIONS))
def test_functions_take_what_those_of_networkx_take(name: str) -> None:
    """The same parameters with the same defaults; keywords of a run are described where there are any."""
    ours = inspect.signature(backend.FUNCTIONS[name]).parameters
    described = edgewise_networkx.get_info()["functions"][name].get("additional_parameters", {})
    assert ("how" in ours) == bool(described)
    if name.endswith("__new__"):
        return
    theirs = inspect.signature(_registered_algorithms[name].orig_func).parameters
    defaults = [(each.name, each.default) for each in theirs.values()]
    assert [(each.name, each.default) for each in ours.values() if each.name != "how"] == defaults


def test_reasons_are_text() -> None:
    graph, several = nx.path_graph(3), nx.MultiGraph([(0, 1), (0, 1)])
    assert "multigraph" in backend.can_run("bfs_edges", (several, 0), {})
    assert "sort_neighbors" in backend.can_run("bfs_edges", (graph, 0), {"sort_neighbors": sorted})
    assert "dangling" in backend.can_run("pagerank", (graph,), {"dangling": {0: 1}})
    assert backend.can_run("bfs_edges", (graph, 0), {}) is True
    large = nx.path_graph(3000)
    assert "few" in backend.should_run("bfs_edges", (graph, 0), {})
    assert backend.should_run("bfs_edges", (large, 0), {}) is True
    assert "longer" in backend.should_run("shortest_path", (large, 0, 9), {})
    assert backend.should_run("shortest_path", (large, 0), {}) is True
    nx.degree_centrality(large, backend="edgewise")
    assert backend.should_run("shortest_path", (large, 0, 9), {}) is True
    with pytest.raises(AttributeError, match=r"docs/networkx\.md"):
        _ = backend.no_such_function


def test_weights_that_are_no_numbers_are_refused() -> None:
    for odd, text in [("far", "'far'"), (float("nan"), "NaN"), (2**70, "64 bits"), (True, "True")]:
        graph = nx.Graph([(0, 1, {"weight": 1}), (1, 2, {"weight": odd})])
        with pytest.raises(NotImplementedError) as problem:
            nx.pagerank(graph, backend="edgewise")
        assert text in str(problem.value.__cause__)


def test_edits_are_seen() -> None:
    """NetworkX drops what was converted when a graph is changed by its methods."""
    graph = nx.path_graph(4)
    call = {"backend": "edgewise"}
    assert nx.number_connected_components(graph, **call) == 1
    assert graph.__networkx_cache__["backends"]["edgewise"]
    graph.remove_edge(1, 2)
    assert nx.number_connected_components(graph, **call) == 2
    graph.add_edge(0, 3)
    assert list(nx.bfs_edges(graph, 0, **call)) == [(0, 1), (0, 3), (3, 2)]


def test_options_are_those_of_the_call_or_of_the_configuration() -> None:
    graph = nx.path_graph(4)
    with pytest.raises(Exception, match="memory_limit"):
        nx.pagerank(graph, backend="edgewise", memory_limit=-1)
    with nx.config.backends.edgewise(memory_limit="no size"), pytest.raises(Exception, match="memory_limit"):
        nx.pagerank(graph, backend="edgewise")
    with pytest.raises(TypeError, match="device"):
        list(nx.bfs_edges(graph, 0, backend="edgewise", device="cpu"))
