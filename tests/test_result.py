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
