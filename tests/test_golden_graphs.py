"""The golden graphs are what their answers say they are: sizes, degrees, weights."""

import golden
import numpy as np
import pytest


def test_the_repository_has_a_graph_of_each_kind() -> None:
    """Without the graphs beside it every algorithm meets directed and undirected ones, own weights and none."""
    known = [golden.answers(path.stem) for path in (golden.FOLDERS[0] / "golden").iterdir()]
    assert {answers["name"] for answers in known} <= set(golden.NAMES)
    kinds = {(answers["directed"], answers["weights"] == "own") for answers in known}
    assert {(True, False), (False, True), (False, False)} <= kinds
    assert {answers["directed"] for answers in known if "betweenness" in answers} == {True, False}


@pytest.mark.parametrize("name", golden.CASES)
def test_facts(name: str) -> None:
    case = golden.load(name)
    graph, facts = case.graph, case.answers
    assert graph.weights is not None
    loops = int(np.count_nonzero(graph.sources == graph.targets))
    assert facts["vertices"] == graph.num_vertices
    assert facts["arcs"] == graph.num_arcs
    assert facts["directed"] == graph.directed
    assert facts["self_loops"] == loops
    assert graph.num_edges == (facts["arcs"] if graph.directed else (facts["arcs"] + loops) // 2)
    assert facts["max_out_degree"] == graph.out_degree.max()
    assert facts["max_in_degree"] == graph.in_degree.max()
    assert facts["sinks"] == np.count_nonzero(graph.out_degree == 0)
    assert facts["weight_min"] == pytest.approx(graph.weights.min(), rel=1e-11)
    assert facts["weight_max"] == pytest.approx(graph.weights.max(), rel=1e-11)
    assert facts["weight_sum"] == pytest.approx(graph.weights.sum(dtype=np.float64), rel=1e-11)
    for source in facts["sources"].values():
        index = graph.index_of(source.get("name", source["id"]))
        row = slice(graph.offsets[index], graph.offsets[index + 1])
        assert source["out_degree"] == np.count_nonzero(graph.targets[row] != index)
        assert source["id"] == case.numbers[index]
