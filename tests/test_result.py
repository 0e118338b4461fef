"""What every result offers: frames, an explanation, and a short description."""

import sys

import numpy as np
import pandas
import polars
import pytest

import edgewise as ew
from edgewise.errors import MissingDependencyError


@pytest.fixture
def ranks():
    return ew.pagerank(ew.Graph.from_edges(["a", "b"], ["b", "c"]))


def test_frame_of_polars(ranks) -> None:
    frame = ranks.to_frame()
    assert isinstance(frame, polars.DataFrame)
    assert frame.columns == ["vertex", "rank"]
    assert frame["vertex"].to_list() == ["a", "b", "c"]
    assert np.array_equal(frame["rank"].to_numpy(), ranks.rank)


def test_frame_of_pandas_where_polars_is_missing(ranks, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "polars", None)
    frame = ranks.to_frame()
    assert isinstance(frame, pandas.DataFrame)
    assert frame["vertex"].tolist() == ["a", "b", "c"]
    assert np.array_equal(frame["rank"].to_numpy(), ranks.rank)


def test_no_library_of_frames(ranks, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "polars", None)
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(MissingDependencyError, match=r"pip install 'edgewise\[polars\]'"):
        ranks.to_frame()


@pytest.mark.parametrize(
    "ids", [[0, 1, 2], [7, 10**12, -3], [2**63, 1, 2**64 - 1], [10**21, 5, 6], ["x", "y", "z"]]
)
def test_ids_of_any_kind_in_frames_and_parents(ids: list) -> None:
    graph = ew.Graph.from_edges(ids[:2], ids[1:])
    frame = ew.bfs(graph, ids[0]).to_frame()
    parent = dict(zip(map(str, frame["vertex"]), map(str, frame["parent"]), strict=True))
    none = "" if isinstance(ids[0], str) else "-1"
    assert parent == {str(ids[0]): none, str(ids[1]): str(ids[0]), str(ids[2]): str(ids[1])}


def test_description_and_explanation(ranks) -> None:
    assert repr(ranks).startswith("<PageRankResult: 3 vertices, ")
    assert "pull" in ranks.explain()
    assert ranks.seconds >= 0 and ranks.compile_seconds >= 0


class Steps(ew.Program):
    """The number of steps from the first vertex, and the farthest."""

    steps = ew.vertex("int64", init=ew.INFINITY)
    combine = ew.MIN

    @staticmethod
    def initialize(v, state):
        if v == 0:
            state.steps[v] = 0
            return ew.ACTIVE
        return ew.HALT

    @staticmethod
    def edge_compute(edge, state):
        return state.steps[edge.source] + 1

    @staticmethod
    def vertex_compute(v, message, state):
        if message < state.steps[v]:
            state.steps[v] = message
            return ew.ACTIVE
        return ew.HALT

    @ew.aggregator(ew.SUM, "int64")
    @staticmethod
    def reached(v, state):
        return 1 if state.steps[v] < 10 else 0


#: a -> b -> c -> a, c -> d, and e by itself with f.
EDGES = ["a", "b", "c", "c", "e"], ["b", "c", "a", "d", "f"], [1.0, 2.0, 3.0, 4.0, 5.0]


@pytest.mark.parametrize(
    ("run", "summary", "top"),
    [
        (
            lambda g: ew.bfs(g, "b"),
            {"reached": 4, "depth": 2},
            {"vertex": ["b", "c"], "level": [0, 1], "parent": ["", "b"]},
        ),
        (
            lambda g: ew.sssp(g, "b"),
            {"reached": 4, "farthest": 6.0},
            {"vertex": ["b", "c"], "distance": [0.0, 2.0], "parent": ["", "b"]},
        ),
        (ew.connected_components, {"components": 2}, {"component": ["a", "e"], "size": [4, 2]}),
        (ew.scc, {"components": 4}, {"component": ["a", "d"], "size": [3, 1]}),
        (
            lambda g: ew.mst(g, symmetrize=True),
            {"edges": 4, "components": 2, "total_weight": 12.0},
            {"source": ["e", "c"], "target": ["f", "d"], "weight": [5.0, 4.0]},
        ),
        (
            lambda g: ew.betweenness(g, normalized=False),
            {"sources": 6},
            {"vertex": ["c", "b"], "centrality": [3.0, 2.0]},
        ),
        (
            lambda g: ew.edge_betweenness(g, normalized=False),
            {"sources": 6},
            {"source": ["b", "a"], "target": ["c", "b"], "centrality": [5.0, 4.0]},
        ),
        (
            lambda g: ew.run(Steps, g),
            {"reached": 4, "ended": "no vertex is active"},
            {"vertex": ["d", "c"], "steps": [3, 2]},
        ),
    ],
)
def test_summaries_and_top_rows(run, summary, top) -> None:
    result = run(ew.Graph.from_edges(*EDGES))
    assert result.summary() == summary
    assert {name: values.tolist() for name, values in result.top(2).items()} == top
    assert result.edges_per_second > 0
    rows = result.top(100)
    assert all(len(values) == len(next(iter(rows.values()))) for values in rows.values())


def test_ranks_are_summed_up_and_looked_at_once_in_each_iteration(ranks) -> None:
    assert ranks.summary() == {"iterations": ranks.iterations, "converged": True}
    assert ranks.top(1)["vertex"].tolist() == ["c"]
    assert ranks.edges_per_second == pytest.approx(2 * ranks.iterations / ranks.seconds)
