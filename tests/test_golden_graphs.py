"""The golden graphs are what their answers say they are: sizes, degrees, weights."""

import golden
import numpy as np
import pytest


def test_every_golden_graph_is_named() -> None:
    if not golden.FOLDER.is_dir():
        pytest.skip(f"the golden data are not at {golden.FOLDER}")
    assert sorted(golden.ALL) == sorted(spec["name"] for spec in golden.specs())


@pytest.mark.parametrize("name", golden.ALL)
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
