"""Pieces of equal work hold every vertex and every arc exactly once, and programs on them agree with the reference."""

import sys
from pathlib import Path

import numpy as np
import pytest

import edgewise as ew
from edgewise.engine.cpu.pieces import claim_piece
from edgewise.kernels.cpu.atomics import atomic_add
from edgewise.kernels.cpu.team import run_alone, team, team_kernel
from edgewise.run import Prepared

sys.path.insert(0, str(Path(__file__).parent.parent / "examples"))
sys.path.insert(0, str(Path(__file__).parent))

import battery
from bfs import BFS
from pagerank import PageRank

GRAPHS = battery.graphs()
STEPS = (1, 2, 7, 64, 1024, 10**9)


@team_kernel
def claim_all(thread, size, control, step, offsets, n, m, begun, visited, largest):
    """Count how often each vertex begins in a piece and each arc lies in one, and the most of both in one piece."""
    while True:
        first, last, start, stop = claim_piece(control, 0, step, offsets, n, m)
        if start == stop:
            return
        for v in range(first, last):
            atomic_add(begun, v, 1)
        arcs = 0
        for v in range(max(first - 1, 0), last):
            for k in range(max(start - v, offsets[v]), min(stop - v, offsets[v + 1])):
                atomic_add(visited, k, 1)
                arcs += 1
        largest[thread, 0] = max(largest[thread, 0], last - first)
        largest[thread, 1] = max(largest[thread, 1], arcs)


@pytest.mark.parametrize("name", GRAPHS)
@pytest.mark.parametrize("num_threads", [1, 3])
def test_every_vertex_and_every_arc_is_in_one_piece_and_no_piece_exceeds_its_bound(name, num_threads):
    graph = GRAPHS[name]
    n, m = graph.num_vertices, graph.num_arcs
    for offsets in (graph.offsets.astype(np.int64), graph.in_offsets.astype(np.int64)):
        for step in STEPS:
            begun, visited = np.zeros(n, np.int64), np.zeros(m, np.int64)
            largest = np.zeros((num_threads, 2), np.int64)
            arguments = (claim_all, step, offsets, n, m, begun, visited, largest)
            if num_threads == 1:
                run_alone(*arguments)
            else:
                team(num_threads).run(*arguments)
            assert np.all(begun == 1)
            assert np.all(visited == 1)
            assert largest.max() <= step


class Farthest(ew.Program):
    """The largest index among the vertices that send to a vertex, in rounds; and how often each arc was used."""

    best = ew.vertex("int64", init=-1)
    used = ew.edge("int32")
    combine = ew.MAX
    max_supersteps = 4

    @staticmethod
    def edge_compute(edge, state):
        state.used[edge.index] = edge.used + 1
        return max(edge.source, state.best[edge.source])

    @staticmethod
    def vertex_compute(v, message, state):
        state.best[v] = max(message, state.best[v])
        return ew.ACTIVE


def hubs(last):
    """Two vertices with 20,000 arcs out, one of them with as many in: several pieces, after or before all others."""
    n, rng = 20_000, np.random.default_rng(5)
    few = rng.integers(0, n, (10_000, 2))
    spokes = np.arange(n)
    source = np.concatenate((few[:, 0], np.zeros(n, int), np.ones(n, int), spokes))
    target = np.concatenate((few[:, 1], spokes, spokes, np.zeros(n, int)))
    if last:
        source, target = n - 1 - source, n - 1 - target
    return ew.Graph.from_edges(source, target, num_vertices=n)


@pytest.mark.more
@pytest.mark.parametrize("last", [False, True])
@pytest.mark.parametrize("program", [BFS, Farthest])
def test_a_vertex_divided_between_threads_agrees_with_the_reference(program, last):
    graph = hubs(last)
    values = {"source": int(graph.out_degree.argmax())} if program is BFS else {}
    expected = Prepared(program, graph).reference(values, program.max_supersteps)
    for schedule in battery.SCHEDULES.values():
        result = Prepared(program, graph, schedule=schedule)(**values)
        for name, field in expected.vertex_fields.items():
            np.testing.assert_array_equal(result.fields[name], field)
        for name, field in expected.edge_fields.items():
            np.testing.assert_array_equal(result.edge_fields[name], field)


@pytest.mark.parametrize("last", [False, True])
def test_float_sums_of_heavy_vertices_do_not_depend_on_the_number_of_threads(last):
    graph = hubs(last)
    ranks = [
        Prepared(PageRank, graph, schedule=ew.Schedule(num_threads=t))(max_supersteps=5).rank
        for t in (1, 2, 3)
    ]
    assert ranks[0].tobytes() == ranks[1].tobytes() == ranks[2].tobytes()
