"""What the backend of NetworkX says of itself, and which calls it takes."""

import copy
import inspect
import os
import pickle
import re
import subprocess
import sys
from pathlib import Path
from typing import Any
from unittest.mock import patch

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


def table() -> str:
    """The functions by topic, which are the modules, with what is to say of some."""
    info, topics = edgewise_networkx.get_info()["functions"], {}
    for name in sorted(backend.FUNCTIONS):
        note = info[name].get("additional_docs", "")
        star = "*" if "additional_parameters" in info[name] else ""
        topic = str(inspect.getmodule(backend.FUNCTIONS[name]).__doc__).partition(".")[0]
        topics.setdefault(topic, {}).setdefault(note, []).append(f"`{name}`{star}")
    rows = [
        f"| {topic} | {', '.join(names)} | {note} |"
        for topic, by_note in sorted(topics.items())
        for note, names in sorted(by_note.items())
    ]
    return "\n".join(["| topic | functions | note |", "|---|---|---|", *rows, ""])


def test_the_page_lists_what_is_offered() -> None:
    page = (ROOT / "docs" / "networkx.md").read_text(encoding="utf-8")
    assert page.partition("<!-- functions -->\n")[2].partition("<!-- end -->")[0] == table()


def test_one_variable_switches_it_on() -> None:
    script = (
        "import networkx as nx; graph = nx.path_graph(3000); nx.pagerank(graph); "
        "print(*graph.__networkx_cache__.get('backends', {}), nx.utils.backends._loaded_backends)"
    )
    for given, backends in (({"NETWORKX_BACKEND_PRIORITY": "edgewise"}, "edgewise {"), ({}, "{}")):
        environment = {name: value for name, value in os.environ.items() if not name.startswith("NETWORKX")}
        command = [sys.executable, "-c", script]
        done = subprocess.run(command, env=environment | given, capture_output=True, text=True, check=True)
        assert done.stdout.startswith(backends), done.stdout


def test_the_examples_of_the_page_run() -> None:
    page = (ROOT / "docs" / "networkx.md").read_text(encoding="utf-8")
    examples = "".join(re.findall(r"```python\n(.*?)```", page, re.DOTALL))
    script = f"{examples}\nassert nx.dijkstra_path(roads, 'a', 'c') == ['a', 'b', 'c']"
    subprocess.run([sys.executable, "-c", script], check=True)


def test_reasons_are_text() -> None:
    graph, several = nx.path_graph(3), nx.MultiGraph([(0, 1), (0, 1)])
    assert "parallel" in backend.can_run("k_core", (several,), {})
    assert backend.can_run("pagerank", (several,), {}) is True
    assert backend.can_run("bfs_edges", (several, 0), {}) is True
    assert "sort_neighbors" in backend.can_run("bfs_edges", (graph, 0), {"sort_neighbors": sorted})
    for given in ({"dangling": {0: 1}}, {"alpha": 1.5}, {"tol": 0}, {"max_iter": 1.5}, {"nstart": {0: -1}}):
        assert next(iter(given)) in backend.can_run("pagerank", (graph,), given)
    for given in (
        {"beta": [1, 2, 3]},
        {"alpha": -0.1},
        {"nstart": {0: 1}},
        {"alpha": 1, "beta": {0: 1, 1: 1, 2: 1}},
    ):
        assert next(iter(given)) in backend.can_run("katz_centrality", (graph,), given)
    assert "weigh" in backend.can_run("clustering", (graph,), {"weight": "weight"})
    assert "undirected" in backend.can_run("transitivity", (nx.DiGraph(graph),), {})
    assert "core_number" in backend.can_run("k_core", (graph,), {"core_number": {0: 1, 1: 1, 2: 1}})
    assert backend.can_run("bfs_edges", (graph, 0), {}) is True
    large = nx.path_graph(3000)
    assert "small" in backend.should_run("bfs_edges", (graph, 0), {})
    assert backend.should_run("bfs_edges", (large, 0), {}) is True
    assert "longer" in backend.should_run("shortest_path", (large, 0, 9), {})
    assert backend.should_run("shortest_path", (large, 0), {}) is True
    assert "longer" in backend.should_run("clustering", (large, 0), {})
    assert backend.should_run("clustering", (large,), {}) is True
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
    several = nx.MultiGraph([(0, 1, {"weight": 1}), (0, 1, {"weight": "far"})])
    with pytest.raises(NotImplementedError):
        nx.dijkstra_path(several, 0, 1, backend="edgewise")


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


def test_edits_of_a_graph_are_seen_in_its_views() -> None:
    """NetworkX keeps what was converted with the view, and does not drop it when the graph is changed that it shows."""
    graph = nx.DiGraph([(0, 1), (1, 2), (2, 3)])
    views = [
        graph.subgraph([0, 1, 2]),
        graph.reverse(copy=False),
        graph.to_undirected(as_view=True),
        graph.copy(as_view=True),
        graph.subgraph([0, 1, 2]).reverse(copy=False),
    ]

    def answers(by: str) -> list[Any]:
        return [nx.single_source_shortest_path_length(view, 2, backend=by) for view in views]

    assert answers("edgewise") == answers("networkx")
    converted = [next(iter(view.__networkx_cache__["backends"]["edgewise"].values())) for view in views]
    assert answers("edgewise") == answers("networkx")
    again = [next(iter(view.__networkx_cache__["backends"]["edgewise"].values())) for view in views]
    assert list(map(id, again)) == list(map(id, converted))
    graph.add_edge(2, 0)
    assert answers("edgewise") == answers("networkx")
    graph.remove_edge(0, 1)
    with nx.config.backend_priority(algos=["edgewise"]):
        assert answers("edgewise") == answers("networkx")
    graph.__networkx_cache__ = None
    graph.add_edge(0, 1)
    assert answers("edgewise") == answers("networkx")


class Roads(nx.Graph):
    """A class of graphs that a user has."""


def test_answers_of_a_class_of_the_user_are_left_to_networkx() -> None:
    roads = Roads([(0, 1), (1, 2), (2, 0)])
    for name in ("k_core", "k_shell", "k_crust", "minimum_spanning_tree", "maximum_spanning_tree"):
        assert "Roads" in backend.can_run(name, (roads,), {})
        assert backend.can_run(name, (nx.Graph(roads),), {}) is True
    assert backend.can_run("pagerank", (roads,), {}) is True


def test_what_is_no_node_and_sums_beyond_floats_are_left_to_networkx() -> None:
    graph = nx.path_graph(4)
    assert "unhashable" in backend.can_run("single_source_dijkstra", (graph, [1]), {})
    with pytest.raises(NotImplementedError) as problem:
        nx.multi_source_dijkstra(graph, [0, [1]], backend="edgewise")
    assert "[1]" in str(problem.value.__cause__)
    assert "None" in backend.can_run("has_path", (graph, None, 1), {})
    large = nx.Graph([(0, 1, {"weight": 1e308}), (1, 2, {"weight": 1e308})])
    small = nx.path_graph(4)
    nx.set_edge_attributes(small, {(0, 1): 1.0, (1, 2): 5e-324, (2, 3): 1.0}, "weight")
    for call in (
        lambda: nx.single_source_dijkstra(large, 0, backend="edgewise"),
        lambda: nx.single_source_bellman_ford(large, 0, backend="edgewise"),
        lambda: nx.closeness_centrality(large, distance="weight", backend="edgewise"),
        lambda: nx.all_pairs_dijkstra(large, backend="edgewise"),
    ):
        with pytest.raises(NotImplementedError):
            call()
    for odd in (large, small):
        for function in (nx.betweenness_centrality, nx.edge_betweenness_centrality):
            with pytest.raises(NotImplementedError):
                function(odd, weight="weight", backend="edgewise")


def test_graphs_with_what_was_converted_can_be_copied() -> None:
    graph = nx.path_graph(4)
    nx.pagerank(graph, backend="edgewise")
    for other in (copy.deepcopy(graph), pickle.loads(pickle.dumps(graph))):
        assert list(nx.bfs_edges(other, 0, backend="edgewise")) == [(0, 1), (1, 2), (2, 3)]


def test_options_are_those_of_the_call_or_of_the_configuration() -> None:
    graph = nx.path_graph(4)
    with pytest.raises(Exception, match="memory_limit"):
        nx.pagerank(graph, backend="edgewise", memory_limit=-1)
    with nx.config.backends.edgewise(memory_limit="no size"), pytest.raises(Exception, match="memory_limit"):
        nx.pagerank(graph, backend="edgewise")
    with pytest.raises(TypeError, match="device"):
        list(nx.bfs_edges(graph, 0, backend="edgewise", device="cpu"))


def test_keywords_of_a_run_are_those_that_are_described() -> None:
    graph = nx.gnm_random_graph(40, 80, seed=1)
    for function, wrong in (
        (nx.betweenness_centrality, {"weighted": True}),
        (nx.betweenness_centrality, {"sources": [1, 2]}),
        (nx.pagerank, {"damping": 0.9}),
        (nx.connected_components, {"progress": True}),
        (nx.core_number, {"x": 1}),
        (nx.bfs_edges, {"source": 0, "device": "cpu"}),
    ):
        for named in ({"backend": "edgewise"}, {}):
            with (
                nx.config.backend_priority(algos=["edgewise"]),
                pytest.raises(TypeError, match="unexpected keyword argument") as told,
            ):
                function(graph, **wrong, **named)
            assert list(wrong)[-1] in str(told.value)


def test_a_device_that_is_none_is_refused_by_searches_from_all_nodes() -> None:
    graph = nx.path_graph(4)
    with nx.config.backends.edgewise(device="foo"):
        for function in (nx.pagerank, lambda *args, **how: dict(nx.all_pairs_dijkstra(*args, **how))):
            with pytest.raises(Exception, match="device is 'foo'; expected"):
                function(graph, backend="edgewise")


class Complement(nx.Graph):
    """A graph that shows the edges that it does not store."""

    def neighbors(self, node: Any) -> Any:
        return iter(set(self) - set(self._adj[node]) - {node})

    def __getitem__(self, node: Any) -> Any:
        return {other: {} for other in self.neighbors(node)}


class Counting(nx.DiGraph):
    """A class that only writes in its own way."""

    edge_attr_dict_factory = dict

    def add_edge(self, *args: Any, **kwargs: Any) -> None:
        super().add_edge(*args, **kwargs)


def test_classes_that_show_other_edges_than_they_store_are_left_to_networkx() -> None:
    shown = nx.path_graph(6, create_using=Complement)
    for graph in (shown, shown.subgraph([0, 1, 2, 4])):
        for name in ("core_number", "triangles", "pagerank", "connected_components"):
            assert "Complement has __getitem__ of its own" in backend.can_run(name, (graph,), {})
    with nx.config.backend_priority(algos=["edgewise"]):
        assert list(nx.bfs_edges(shown, 0)) == list(nx.bfs_edges(shown, 0, backend="networkx"))
        with pytest.raises(NotImplementedError):
            nx.core_number(shown, backend="edgewise")
    assert backend.can_run("pagerank", (Counting([(0, 1)]),), {}) is True
    usual = nx.disjoint_union(nx.gnp_random_graph(30, 0.4, seed=0), nx.gnp_random_graph(25, 0.3, seed=1))
    usual.add_edges_from([(0, 35), (1, 40), (2, 50)])
    expected = nx.approximation.k_components(usual)
    with nx.config.backend_priority(algos=["edgewise"]), patch("edgewise.nx.offered.FEW", 0):
        assert nx.approximation.k_components(usual) == expected


def test_what_is_as_odd_is_left_to_networkx_or_refused_alike() -> None:
    graph = nx.path_graph(4)
    assert "weight is True; edgewise takes a name" in backend.can_run("pagerank", (graph,), {"weight": True})
    with pytest.raises(ValueError, match="None cannot be a node"):
        nx.bfs_tree(graph, None, backend="edgewise")
    with pytest.raises(nx.NetworkXNotImplemented):
        nx.minimum_spanning_tree(graph.to_directed(), algorithm="foo", backend="edgewise")
    lost = nx.Graph()
    lost.add_weighted_edges_from([(0, 1, 1.0), (1, 2, 1e-17), (0, 2, 1.0), (2, 3, 1.0)])
    for function in (nx.betweenness_centrality_subset, nx.edge_betweenness_centrality_subset):
        with pytest.raises(NotImplementedError):
            function(lost, [0], [3], weight="weight", backend="edgewise")
    tiny = nx.DiGraph()
    tiny.add_weighted_edges_from([(0, 1, 5e-324), (1, 2, 1.0)])
    with pytest.raises(NotImplementedError):
        nx.pagerank(tiny, backend="edgewise")
    with pytest.raises(NotImplementedError):
        nx.betweenness_centrality(nx.Graph([(float("nan"), 1), (1, 2)]), backend="edgewise")
