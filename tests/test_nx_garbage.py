"""Functions that make many Python objects do so without Python's collector, and leave it as it was."""

import gc
from collections.abc import Callable, Iterator
from typing import Any

import networkx as nx
import pytest

from edgewise.nx.garbage import ahead, uncollected

OF_GRAPHS: dict[str, Callable[..., Any]] = {
    "all_pairs_shortest_path": lambda graph: dict(nx.all_pairs_shortest_path(graph, backend="edgewise")),
    "all_pairs_dijkstra": lambda graph: dict(nx.all_pairs_dijkstra(graph, backend="edgewise")),
    "bfs_tree": lambda graph: nx.bfs_tree(graph, 0, backend="edgewise"),
    "k_core": lambda graph: nx.k_core(graph, backend="edgewise"),
    "minimum_spanning_tree": lambda graph: nx.minimum_spanning_tree(graph, backend="edgewise"),
}


@pytest.fixture
def _collector() -> Iterator[None]:
    """Python's collector is as it was, whatever a test does."""
    was_on = gc.isenabled()
    yield
    (gc.enable if was_on else gc.disable)()


@pytest.mark.usefixtures("_collector")
@pytest.mark.parametrize("is_on", [True, False])
@pytest.mark.parametrize("name", OF_GRAPHS)
def test_the_collector_is_afterwards_what_it_was(name: str, is_on: bool) -> None:
    graph = nx.path_graph(20)
    (gc.enable if is_on else gc.disable)()
    OF_GRAPHS[name](graph)
    assert gc.isenabled() is is_on


@pytest.mark.usefixtures("_collector")
def test_the_collector_is_on_again_after_an_error() -> None:
    gc.enable()
    with pytest.raises(ZeroDivisionError), uncollected():
        assert not gc.isenabled()
        raise ZeroDivisionError
    assert gc.isenabled()


@pytest.mark.usefixtures("_collector")
def test_items_are_made_without_the_collector_and_taken_with_it() -> None:
    gc.enable()
    made: list[bool] = []

    def items() -> Iterator[int]:
        for item in range(10):
            made.append(gc.isenabled())
            yield item

    taken = [(item, gc.isenabled(), len(made)) for item in ahead(items(), 1 << 14)]
    assert taken == [(item, True, min(10, item // 4 * 4 + 4)) for item in range(10)]
    assert made == [False] * 10


def test_paths_of_large_graphs_are_made_one_by_one() -> None:
    made: list[int] = []
    rest = ahead((made.append(item) for item in range(3)), 1 << 20)
    next(rest)
    assert made == [0]
