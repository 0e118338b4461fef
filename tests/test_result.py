"""What every result offers: frames, an explanation, and a short description."""

import copy
import pickle
import sys

import numpy as np
import pandas
import polars
import pytest

import edgewise as ew
from edgewise.errors import (
    GraphError,
    MissingDependencyError,
    ParameterError,
    ProgramError,
    VerificationError,
)
from edgewise.result import first_rows


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
    assert parent == {str(ids[0]): "None", str(ids[1]): str(ids[0]), str(ids[2]): str(ids[1])}


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
    assert {name: values.tolist() for name, values in result.top_rows(2).items()} == top
    assert result.edges_per_second > 0
    rows = result.top_rows(100)
    assert all(len(values) == len(next(iter(rows.values()))) for values in rows.values())


def test_ranks_are_summed_up_and_looked_at_once_in_each_iteration(ranks) -> None:
    assert ranks.summary() == {"iterations": ranks.iterations, "converged": True}
    assert ranks.top_rows(1)["vertex"].tolist() == ["c"]
    assert ranks.edges_per_second == pytest.approx(2 * ranks.iterations / ranks.seconds)


def test_an_empty_name_is_told_from_no_vertex() -> None:
    graph = ew.Graph.from_edges(["", "b"], ["b", "c"])
    assert ew.bfs(graph, "").parent.tolist() == [None, "", "b"]
    columns = {name: [str(x) for x in values] for name, values in ew.bfs(graph, "").table().items()}
    with pytest.raises(VerificationError, match="a vertex has the id ''"):
        type(ew.bfs(graph, "")).verify_columns(graph, columns, source="")


@pytest.mark.parametrize("num_vertices", [1, 2, 3, 7])
def test_a_program_is_verified_on_graphs_of_its_size_only(num_vertices: int) -> None:
    result = ew.run(Steps, ew.generate.path(5))
    assert result.verify(ew.generate.path(5))
    with pytest.raises(VerificationError, match="the result is of <Graph: 5 vertices"):
        result.verify(ew.Graph.from_edges([], [], num_vertices=num_vertices))


def test_aggregates_are_verified() -> None:
    result = ew.run(Steps, ew.generate.path(5))
    result.aggregates["reached"] += 1
    with pytest.raises(VerificationError, match="reached is 6; the reference has 5"):
        result.verify(result.graph)


def test_files_of_programs_are_not_verified() -> None:
    with pytest.raises(ProgramError, match="files of program cannot be verified"):
        type(ew.run(Steps, ew.generate.path(5))).verify_columns(ew.generate.path(5), {})


@pytest.mark.parametrize("count", [0.5, -1, True, "3", None])
def test_numbers_of_rows_that_are_none_are_refused(count: object) -> None:
    for result in (ew.bfs(ew.generate.path(5), 0), ew.scc(ew.generate.path(5))):
        with pytest.raises(ParameterError, match="top: k is"):
            result.top_rows(count)  # type: ignore[arg-type]


@pytest.mark.parametrize("indices", ["a", 10**5000, [[0], [1, 2]], [0.5], [5], [-1]], ids=range(6))
def test_indices_that_are_none_are_refused(indices: object) -> None:
    with pytest.raises(GraphError):
        ew.generate.path(5).ids_of(indices)


def test_what_is_no_program_cannot_be_prepared() -> None:
    for program in (None, True, 3):
        with pytest.raises(ProgramError, match="expected a subclass of edgewise"):
            ew.prepare(program, ew.generate.path(5))  # type: ignore[arg-type]


def test_a_depth_is_kept_as_an_integer() -> None:
    result = ew.bfs(ew.generate.path(5), 0, max_depth=np.int64(2))
    assert type(result.max_depth) is int and result.verify(result.graph)


def test_graphs_and_results_are_copied_and_pickled_after_programs_ran() -> None:
    graph = ew.generate.path(5)
    ew.run(Steps, graph)
    for each in (pickle.loads(pickle.dumps(graph)), copy.deepcopy(graph)):
        assert np.array_equal(each.targets, graph.targets) and ew.run(Steps, each).summary()["reached"] == 5
    assert pickle.loads(pickle.dumps(ew.bfs(graph, 0))).level.tolist() == [0, 1, 2, 3, 4]


@pytest.mark.parametrize("largest", [True, False])
def test_first_rows_are_those_of_a_stable_sort(monkeypatch, largest):
    monkeypatch.setattr(sys.modules["edgewise.result"], "_PIECE", 7)
    values = np.random.default_rng(1).integers(0, 5, 50).astype(float)
    values[::9] = np.inf
    known = np.flatnonzero(np.isfinite(values))
    expected = known[np.argsort(-values[known] if largest else values[known], kind="stable")]
    for count in (0, 1, 8, 60):
        assert first_rows(values, count, largest=largest).tolist() == expected[:count].tolist()


@pytest.mark.parametrize("directed", [True, False])
def test_top_edges_are_those_of_the_table(directed):
    graph = ew.Graph.from_edges(
        *np.random.default_rng(2).integers(0, 30, (2, 90)) * 7, directed=directed, parallel_edges="first"
    )
    result = ew.edge_betweenness(graph, device="cpu")
    table, top = result.table(), result.top_rows(12)
    order = np.argsort(-table["centrality"], kind="stable")[:12]
    assert list(top) == list(table)
    for name, values in top.items():
        np.testing.assert_array_equal(values, table[name][order])
