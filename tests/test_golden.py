"""The algorithms on real graphs, against answers that independent libraries agree on, and their verifiers: on
the CPU, and on a GPU with `pytest -m gpu`."""

import golden
import numpy as np
import pytest

import edgewise as ew


@pytest.fixture(params=golden.CASES, scope="module")
def real(request):
    return golden.load(request.param)


@pytest.fixture(params=["cpu", pytest.param("cuda", marks=pytest.mark.gpu)])
def where(request):
    """Where a call runs. A script for ranks gives these tests "distributed" beside it (tests/ranks_gpu.py)."""
    return {"device": request.param}


def test_bfs(real, where):
    ids = real.numbers
    for label, answer in real.answers["sources"].items():
        result = ew.bfs(real.graph, real.source(label), **where)
        assert result.verify(real.graph)
        reached = result.level >= 0
        levels = result.level[reached].astype(np.int64)
        expected = answer["bfs"]
        assert int(reached.sum()) == expected["reached"]
        assert int(levels.max()) == expected["eccentricity"]
        assert np.bincount(levels).tolist() == expected["levels"]
        assert int(((ids[reached] + 1) * (levels + 1)).sum()) == expected["checksum"]


def test_sssp(real, where):
    ids = real.numbers
    for label, answer in real.answers["sources"].items():
        result = ew.sssp(real.graph, real.source(label), **where)
        assert result.verify(real.graph)
        unreached = np.inf if result.distance.dtype.kind == "f" else np.iinfo(result.distance.dtype).max
        reached = result.distance != unreached
        distance = result.distance[reached].astype(np.float64)
        expected = answer["sssp"]
        assert int(reached.sum()) == expected["reached"]
        assert distance.max() == pytest.approx(expected["dist_max"], rel=1e-11)
        assert distance.sum() == pytest.approx(expected["dist_sum"], rel=1e-11)
        assert ((ids[reached] % 1009 + 1) * distance).sum() == pytest.approx(expected["checksum"], rel=1e-11)


def test_components(real, where):
    result = ew.connected_components(real.graph, **where)
    assert result.verify(real.graph)
    expected = real.answers["wcc"]
    assert result.num_components == expected["count"]
    assert result.sizes[:10].tolist() == expected["sizes_top10"]


def test_strong_components(real, where):
    result = ew.scc(real.graph, **where)
    assert result.verify(real.graph)
    expected = real.answers["scc"]
    assert result.num_components == expected["count"]
    assert result.sizes[:10].tolist() == expected["sizes_top10"]


def test_minimum_spanning_forest(real, where):
    result = ew.mst(real.graph, symmetrize=real.graph.directed, **where)
    assert result.verify(real.graph)
    expected = real.answers["msf"]
    assert result.num_edges == expected["edges"]
    assert result.total_weight == pytest.approx(expected["weight"], rel=1e-12)
    assert result.num_components == real.answers["wcc"]["count"]


def test_core_numbers(real, where):
    result = ew.core_numbers(real.graph, **where)
    assert result.verify(real.graph)
    expected = golden.structure(real.answers["name"])["cores"]
    assert result.summary() == {"max_core": expected["max"], "innermost": expected["innermost"]}
    assert int(result.core.sum(dtype=np.int64)) == expected["sum"]
    assert int(((real.numbers % 1009 + 1) * result.core).sum()) == expected["checksum"]


def test_triangles(real, where):
    graph = real.graph.to_undirected()
    result = ew.triangles(graph, **where)
    assert result.verify(graph)
    expected = golden.structure(real.answers["name"])["triangles"]
    assert (result.total, int(result.triangles.max())) == (expected["total"], expected["max"])
    assert int(((real.numbers % 1009 + 1) * result.triangles).sum()) == expected["checksum"]
    assert result.transitivity == pytest.approx(expected["transitivity"], rel=1e-12)
    assert result.average_clustering == pytest.approx(expected["average_clustering"], rel=1e-11)


def _with_betweenness():
    """The graphs whose betweenness is known; it takes long on the larger ones."""
    known = [(name, golden.answers(name)) for name in golden.NAMES]
    return [
        pytest.param(name, marks=[pytest.mark.slow] * (answers["vertices"] > 10_000))
        for name, answers in known
        if "betweenness" in answers
    ]


@pytest.mark.parametrize("name", _with_betweenness())
def test_betweenness(name, where):
    known = golden.load(name)
    result = ew.betweenness(known.graph, **where)
    expected = known.answers["betweenness"]
    place = {int(number): i for i, number in enumerate(known.numbers)}
    for number, value, *_ in expected["top"]:
        assert result.dependency[place[number]] == pytest.approx(value, rel=1e-9, abs=1e-8)
    assert result.dependency.sum() == pytest.approx(expected["sum"], rel=1e-9)


def test_pagerank(real, where):
    graph, expected = real.graph, real.answers["pagerank"]
    result = ew.pagerank(graph, tol=1e-13, max_iterations=1000, **where)
    assert result.converged
    assert result.verify(graph)
    ids = real.numbers
    place = {int(number): i for i, number in enumerate(ids)}
    for number, rank, *_ in expected["top"]:
        assert result.rank[place[number]] == pytest.approx(rank, abs=1e-9)
    assert result.rank.min() == pytest.approx(expected["min"], abs=1e-9)
    assert ((ids % 1009 + 1) * result.rank).sum() == pytest.approx(expected["moment"], rel=1e-6)
