"""Vertices that send one message along all of their out-edges compute it once on a GPU: the answers are those of the
reference and of a CPU. These tests need an NVIDIA GPU: `pytest -m gpu`."""

import numpy as np
import pytest
import spread_programs

import edgewise as ew

pytestmark = pytest.mark.gpu

LARGE = {
    "lattice": lambda: ew.generate.lattice(600, 700, seed=3),  # more vertices than the GPU has threads
    "hubs": lambda: ew.generate.rmat(19, 8, seed=5),
}


@pytest.mark.parametrize("program", spread_programs.PROGRAMS, ids=lambda each: each.__name__)
def test_all_schedules_agree_with_the_reference(program):
    graphs = {
        "nothing": ew.Graph.from_edges([], [], num_vertices=0),
        "no edges": ew.Graph.from_edges([], [], num_vertices=70),
        "many to one": ew.Graph.from_edges(range(1, 3000), [0] * 2999),
        "random": ew.generate.uniform(900, 3100, seed=1),
    }
    spread_programs.compare(program, graphs)


@pytest.mark.parametrize("program", spread_programs.PROGRAMS, ids=lambda each: each.__name__)
def test_graphs_with_replicas_agree_with_the_reference(program):
    made = ew.approx.coalesce(ew.generate.rmat(9, 8, seed=3), extra=4, threshold=0.1)
    assert made.copies.num_replicas > 0
    spread_programs.compare(program, {"replicas": made.graph}, [made.schedule])


@pytest.mark.parametrize("kind", LARGE)
@pytest.mark.parametrize("program", spread_programs.PROGRAMS, ids=lambda each: each.__name__)
def test_large_graphs_agree_with_the_cpu(program, kind):
    graph = LARGE[kind]()
    values = spread_programs.values_of(program, graph)
    expected = ew.prepare(program, graph, device="cpu")(**values)
    balances = (
        ew.Schedule(ew.Pull(), balance=ew.ThreadMapped()),
        ew.Schedule(balance=ew.WorkloadDecomposition()),
    )
    for schedule in (*spread_programs.SCHEDULES[:3], *balances):
        result = ew.prepare(program, graph, device="cuda", schedule=schedule)(**values)
        assert result.supersteps == expected.supersteps
        np.testing.assert_array_equal(result.value, expected.value, err_msg=str(schedule))
