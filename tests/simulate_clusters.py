"""Runs by clusters on a GPU that tests/simulator.py pretends: the answers of the CPU.

With the argument "warps" the simulator has warps of several lanes: see tests/simulated_warps.py.
"""

import itertools
import sys

import numpy as np
import pytest
from simulated_warps import with_warps
from simulator import pretend
from test_engines import BFS, SSSP, Components, Highest, Least, Widest

import edgewise as ew
from edgewise.errors import MemoryLimitError, ScheduleError


class BoolMin(ew.Program):
    """Messages that are no numbers."""

    value = ew.vertex("bool", init=True)
    combine = ew.MIN
    message = "bool"
    asynchronous = True

    @staticmethod
    def edge_compute(edge, state):
        return state.value[edge.source]

    @staticmethod
    def vertex_compute(v, message, state):
        return False


#: Sources for each graph.
DRAWS = 2
#: Clusters that are grown, and such that are given.
SCHEDULES = [ew.Schedule(balance=ew.Clustered(begins)) for begins in (None, [1, 1, 3, 7])]


def graphs():
    """Directed and undirected graphs: with parallel arcs and loops, with many arcs at a vertex, in several parts."""
    yield ew.generate.lattice(9, 9, removed=0.1, weights=(1, 9))
    yield ew.generate.lattice(8, 7, removed=0.2, one_way=0.4, weights=(0, 3))
    yield ew.generate.lattice(7, 7, removed=0.3, directed=False)
    yield ew.generate.rmat(6, 3, weights=(1, 9))
    yield ew.generate.rmat(5, 1)
    yield ew.generate.rmat(5, 4, weights=(0.0, 2.0), directed=False)
    yield ew.Graph.from_edges([0] * 20, np.arange(1, 21), np.arange(20), num_vertices=25, directed=False)
    yield ew.Graph.from_edges([3, 3, 4, 4, 5, 5], [4, 4, 5, 4, 3, 5], [5, 2, 2**40, 1, 1, 0], num_vertices=7)


def same_as_on_the_cpu(random):
    """Searches and shortest paths by clusters give levels, distances and parents of the CPU."""
    for graph in graphs():
        for sources in random.integers(0, graph.num_vertices, (DRAWS, 2)).tolist():
            for depth in (None, 2):
                got = ew.bfs(
                    graph, sources, max_depth=depth, device="cuda", schedule=SCHEDULES[depth is None]
                )
                expected = ew.bfs(graph, sources, max_depth=depth, device="cpu")
                assert "clusters" in got.explain() or graph.num_vertices == 0
                np.testing.assert_array_equal(got.level, expected.level)
                np.testing.assert_array_equal(got.parent_index, expected.parent_index)
                assert got.supersteps == expected.supersteps
            got = ew.sssp(graph, sources[0], device="cuda", schedule=SCHEDULES[sources[1] % 2])
            expected = ew.sssp(graph, sources[0], device="cpu")
            assert "clusters" in got.explain()
            np.testing.assert_array_equal(got.distance, expected.distance)
            np.testing.assert_array_equal(got.parent_index, expected.parent_index)


def programs_end_as_on_the_cpu(random):
    """Asynchronous programs by clusters: from a source or from all vertices, by MIN or MAX, of integers or floats, with
    what is sent depending on both ends of an edge."""
    for graph in graphs():
        n = graph.num_vertices
        programs = [
            Highest,
            Components if not graph.directed else None,
            Least(value=random.integers(-50, 50, n)),
            SSSP(source=int(random.integers(n))) if graph.weighted else None,
            Widest(source=int(random.integers(n))) if graph.weighted else None,
        ]
        for program, schedule in zip(filter(None, programs), itertools.cycle(SCHEDULES), strict=False):
            got = ew.run(program, graph, device="cuda", schedule=schedule)
            expected = ew.run(program, graph, device="cpu")
            assert "clusters" in got.explain()
            for name, values in expected.fields.items():
                np.testing.assert_array_equal(got.fields[name], values, err_msg=f"{program} {graph}")


def without_vertices_or_arcs():
    """Graphs of no vertices, and of no arcs."""
    for n in (0, 5):
        graph = ew.Graph.from_edges([], [], num_vertices=n, directed=False)
        for begins in (None, [], [0], [0, 0, n]):
            schedule = ew.Schedule(balance=ew.Clustered(begins))
            got = ew.run(Highest, graph, device="cuda", schedule=schedule)
            np.testing.assert_array_equal(got.fields["best"], np.arange(n))
            assert ew.connected_components(graph, device="cuda", schedule=schedule).num_components == n


def components_as_a_program():
    """Components by clusters have the labels of the CPU."""
    for graph, schedule in zip(graphs(), itertools.cycle(SCHEDULES), strict=False):
        got = ew.connected_components(graph, device="cuda", schedule=schedule)
        assert "clusters" in got.explain()
        expected = ew.connected_components(graph, device="cpu")
        np.testing.assert_array_equal(got.component, expected.component)
        assert got.num_components == expected.num_components


def programs_that_count_supersteps_are_refused():
    """Clusters have no supersteps to count, so a limit is refused, and programs that read their number."""
    graph, schedule = ew.generate.lattice(5, 5), ew.Schedule(balance=ew.Clustered())
    with pytest.raises(ScheduleError, match="max_supersteps is 3"):
        ew.run(Highest, graph, device="cuda", schedule=schedule, max_supersteps=3)
    with pytest.raises(ScheduleError, match="messages of this program are bool: leave"):
        ew.run(BoolMin, graph, device="cuda", schedule=schedule)
    for program in (BFS(source=0), ew.pagerank):
        with pytest.raises(ScheduleError, match="asynchronous = True"):
            if program is ew.pagerank:
                program(graph, device="cuda", schedule=schedule)
            else:
                ew.run(program, graph, device="cuda", schedule=schedule)


def clusters_are_parts_of_a_graph():
    """Each vertex with an arc is in one cluster, which has no more vertices than may be; the same ones each time."""
    from edgewise.layout.clusters_cuda import grow_clusters

    for graph in graphs():
        for most in (1, 3, 8, 1000):
            made = [
                grow_clusters(
                    *(
                        np.array(each)
                        for each in (graph.offsets, graph.targets, graph.in_offsets, graph.in_sources)
                    ),
                    graph.directed,
                    most,
                )
                for _ in range(2)
            ]
            for one, other in zip(*made, strict=True):
                np.testing.assert_array_equal(one, other)
            order, place, begins = made[0]
            n, alone = graph.num_vertices, (graph.out_degree == 0) & (graph.in_degree == 0)
            np.testing.assert_array_equal(np.sort(order), np.arange(n))
            np.testing.assert_array_equal(place[order], np.arange(n))
            sizes = np.diff(begins)
            assert begins[0] == 0 and begins[-1] == n - alone.sum()
            assert sizes.min(initial=1) >= 1 and sizes.max(initial=1) <= most
            assert alone[order[begins[-1] :]].all()


def programs_take_them(graph):
    """Programs have clusters of a graph that was run on; not with a limit, which leaves those without one as they are.
    A workspace of before is not used after that."""
    fresh = ew.generate.lattice(9, 9, removed=0.1, weights=(1, 9))
    for on, expected in ((graph, [True, True]), (fresh, [False, True, True])):
        told = [ew.run(SSSP(source=0), on, device="cuda").explain() for _ in expected]
        assert ["clusters" in each for each in told] == expected
        assert "visits: no vertex is active" in told[-1]
    without_room()
    prepared = ew.prepare(SSSP, fresh, device="cuda")
    wanted = ew.sssp(fresh, 3, device="cpu").distance
    for limit in (None, 10**6, None, 1, None):
        got = prepared(source=3, max_supersteps=limit)
        assert ("clusters" in got.explain()) == (limit is None)
        assert limit == 1 or np.array_equal(got.fields["distance"], wanted)
    laid_out_meanwhile(wanted)


def without_room():
    """The first run does not look whether clusters pay, for which in-edges are made; and where there is no room for
    that, runs have none."""
    from edgewise.balance import clustered

    graph = ew.generate.lattice(9, 9, removed=0.1, weights=(1, 9))
    wanted = ew.sssp(graph, 3, device="cpu").distance
    asked, before = [], clustered.largest_degree

    def refuse(offsets):
        asked.append(1)
        raise MemoryLimitError("no room")

    clustered.largest_degree = refuse
    for run in range(3):
        got = ew.run(SSSP(source=3), graph, device="cuda")
        assert "clusters" not in got.explain()
        np.testing.assert_array_equal(got.fields["distance"], wanted)
        if run == 0:
            assert not asked
    clustered.largest_degree = before
    assert len(asked) == 1


def laid_out_meanwhile(wanted):
    """A run that begins while another one goes on lays the program out in clusters: both end right, and so do others
    that take what either leaves."""
    from edgewise.engine.cuda import program as engine_program

    graph = ew.generate.lattice(9, 9, removed=0.1, weights=(1, 9))
    prepared, found, waits = ew.prepare(SSSP, graph, device="cuda"), [], []

    def wait(host, progress, meanwhile=None):
        if not waits:
            waits.append(1)
            found.append(prepared(source=3))

    before, engine_program.wait = engine_program.wait, wait
    found += [prepared(source=3), prepared(source=3), prepared(source=3)]
    engine_program.wait = before
    assert ["clusters" in each.explain() for each in found] == [True, False, True, True]
    for each in found:
        np.testing.assert_array_equal(each.fields["distance"], wanted)


def chosen_by_themselves():
    """From the second run on a suitable graph, clusters are taken unasked; not with a delta, a direction or a limit,
    and not where most arcs lead across their borders."""
    from edgewise.balance import clustered

    clustered.LEAST_VERTICES, clustered.BORDER = 1, 0.9
    graph = ew.generate.lattice(9, 9, removed=0.1, weights=(1, 9))
    assert ["clusters" in ew.sssp(graph, 0, device="cuda").explain() for _ in range(3)] == [False, True, True]
    assert "clusters" in ew.bfs(graph, 0, device="cuda").explain()
    programs_take_them(graph)
    assert "clusters" not in ew.sssp(graph, 0, delta=3, device="cuda").explain()
    assert (
        "clusters" not in ew.bfs(graph, 0, schedule=ew.Schedule(delivery=ew.Push()), device="cuda").explain()
    )
    assert "clusters" not in ew.bfs(graph, 0, memory_limit="1 GB", device="cuda").explain()
    clustered.MOST_ARCS = 10
    with pytest.raises(ScheduleError, match="at most 10 arcs"):
        ew.bfs(graph, 0, schedule=ew.Schedule(balance=ew.Clustered()), device="cuda")
    clustered.MOST_ARCS = 2**31 - 1
    clustered.BORDER = 0.01
    other = ew.generate.lattice(9, 9, removed=0.1, weights=(1, 9))
    told = [ew.sssp(other, 0, device="cuda").explain() for _ in range(3)]
    assert ["not by clusters" in each for each in told] == [False, True, False]
    assert not any("were visited" in each for each in told)


if __name__ == "__main__":
    if sys.argv[1:] == ["warps"]:
        with_warps()
    pretend()
    same_as_on_the_cpu(np.random.default_rng(1))
    programs_end_as_on_the_cpu(np.random.default_rng(2))
    components_as_a_program()
    without_vertices_or_arcs()
    programs_that_count_supersteps_are_refused()
    clusters_are_parts_of_a_graph()
    chosen_by_themselves()
    print("as on the CPU")
