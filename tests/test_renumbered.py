"""Vertices numbered by the rows of a layout: answers in the user's ids on a GPU and in numba's simulator; what is
refused. Buffers whose edges send."""

import battery
import numpy as np
import pytest
import test_layers_programs as layers
from rounding import check_rounded
from simulated import simulated
from test_engines import PROGRAMS

import edgewise as ew
from edgewise.errors import DeviceError, ProgramError, ScheduleError
from edgewise.kernels.door import cuda_problem

ANEW = ew.Layout(renumber=True)
GRAPH = ew.generate.uniform(50, 200, seed=1, weights=(1, 9))
LAYOUTS = (
    ANEW,
    ew.Layout("linear", threshold=1, split=False, renumber=True),
    ew.Layout("exact", group_size=1, made_on="cpu", renumber=True),
)
LARGE = {
    "hubs": lambda: ew.generate.rmat(13, 16, seed=5, weights=(1, 20)),
    "both ways": lambda: ew.generate.rmat(12, 8, seed=6, weights=(1, 20), directed=False),
    "lattice": lambda: ew.generate.lattice(120, 150, seed=3, weights=(1, 20)),
    "star": lambda: ew.Graph.from_edges(range(1, 5000), [0] * 4999, [1] * 4999, num_vertices=5000),
}


@pytest.mark.more
@pytest.mark.parametrize("warps", [(), pytest.param(("warps",), marks=pytest.mark.slow)], ids=str)
def test_answers_in_the_simulator(warps):
    pytest.importorskip("edgewise.kernels.cuda.device", exc_type=ImportError)
    assert simulated("simulate_renumbered.py", *warps) == ["hub", "both ways", "even", "limits"]


@pytest.mark.parametrize("delivery", ["auto", ew.Buffered(), ew.Pull()], ids=str)
def test_the_cpu_has_no_layout(delivery):
    schedule = ew.Schedule(delivery, layout=ANEW)
    for call in (
        lambda: ew.run(layers.SSSP(source=0), GRAPH, device="cpu", schedule=schedule),
        lambda: ew.prepare(layers.SSSP, GRAPH, device="cpu", schedule=schedule)(source=0),
    ):
        with pytest.raises(
            ScheduleError, match=r"renumber=True.*only runs on a GPU can be told where edges lie"
        ):
            call()


def test_no_gpu_is_told():
    if cuda_problem() is None:
        pytest.skip("there is a GPU here")
    schedule = ew.Schedule(layout=ANEW)
    with pytest.raises(ScheduleError, match="only runs on a GPU"):
        ew.run(layers.SSSP(source=0), GRAPH, schedule=schedule)
    with pytest.raises(DeviceError, match="device='cuda'"):
        ew.run(layers.SSSP(source=0), GRAPH, device="cuda", schedule=schedule)


@pytest.mark.parametrize("name", ["float sums", "user combiner", "phases and random numbers"])
def test_programs_that_depend_on_numbers_are_refused(name):
    program, _ = PROGRAMS[name]
    with pytest.raises(ProgramError, match=r"numbered anew|leave renumber at False"):
        ew.prepare(program, GRAPH, device="cuda", schedule=ew.Schedule(layout=ANEW))


def test_what_contradicts_it_is_refused():
    with pytest.raises(ScheduleError, match="renumber is 'yes'; expected True or False"):
        ew.Layout(renumber="yes")
    for schedule, match in (
        (ew.Schedule(ew.Push(), layout=ANEW), "has them gather nothing"),
        (ew.Schedule(balance=ew.Binned(), layout=ANEW), "says who gathers over which edges"),
    ):
        with pytest.raises(ScheduleError, match=match):
            ew.prepare(layers.SSSP, GRAPH, schedule=schedule)


@pytest.mark.parametrize("send", ["slot", 1, None, ["edges"], np.array(["a", "b"])], ids=str)
def test_buffers_are_sent_into_by_slots_or_edges(send):
    with pytest.raises(ScheduleError, match=r"Buffered: send is .*; expected 'slots' or 'edges'"):
        ew.Buffered(send=send)


def test_how_a_buffer_is_written():
    assert [str(each) for each in (ew.Buffered(), ew.Buffered(send="edges"))] == [
        "Buffered()",
        "Buffered(send='edges')",
    ]
    found = ew.run(layers.SSSP(source=0), GRAPH, device="cpu", schedule=ew.Schedule(ew.Buffered("edges")))
    layers.same(found, ew.run(layers.SSSP(source=0), GRAPH, device="cpu"))


@pytest.mark.gpu
@pytest.mark.parametrize("layout", LAYOUTS, ids=str)
@pytest.mark.parametrize("name", [*battery.graphs(), *LARGE])
def test_answers_on_a_gpu(name, layout):
    graph = LARGE[name]() if name in LARGE else battery.graphs()[name]
    programs = [(layers.PageRank(), 1e-9)]
    if graph.num_vertices > 2:
        programs += [(layers.BFS(source=graph.vertices[2]), 0.0)]
        programs += [(layers.Parents(**layers.values_for(graph) | {"root": graph.vertices[2]}), 0.0)]
        if graph.weighted:
            programs += [(layers.SSSP(source=graph.vertices[2]), 0.0)]
    for program, tolerance in programs:
        expected = ew.run(program, graph, device="cpu")
        for delivery in (ew.Buffered(), ew.Buffered(send="edges"), ew.Pull(), "auto"):
            schedule = ew.Schedule(delivery, layout=layout)
            got = ew.run(program, graph, device="cuda", schedule=schedule)
            layers.same(got, expected, tolerance)
            assert "vertices are numbered by their rows" in got.explain()
            assert got.graph is graph


@pytest.mark.gpu
def test_algorithms_refuse_it_on_a_gpu():
    for algorithm, arguments in ((ew.bfs, (0,)), (ew.pagerank, ())):
        with pytest.raises(ScheduleError, match=r"only ew\.run and ew\.prepare number vertices anew"):
            algorithm(GRAPH, *arguments, device="cuda", schedule=ew.Schedule(layout=ANEW))


@pytest.mark.gpu
@pytest.mark.parametrize("name", LARGE)
def test_what_edges_send_is_what_slots_get(name):
    graph = LARGE[name]()
    for program in (layers.PageRank(), layers.SSSP(source=0), PROGRAMS["float sums"][0]()):
        found = [
            ew.run(program, graph, device="cuda", schedule=ew.Schedule(ew.Buffered(send), layout=layout))
            for send in ("slots", "edges")
            for layout in (ew.Layout(), ew.Layout(None, split=False), ew.Layout("exact", made_on="cpu"))
        ]
        by_slots, by_edges = found[:3], found[3:]
        for one, other in zip(
            by_slots, by_edges, strict=True
        ):  # the same slots, which are summed in the same order
            for field, values in one.fields.items():
                np.testing.assert_array_equal(other.fields[field], values, err_msg=field)
        for other in by_slots[1:]:
            check_rounded(other.fields, by_slots[0].fields, {"float32": 1e-5, "float64": 1e-9})
        assert by_edges[0].memory_bytes["layout"] < by_slots[0].memory_bytes["layout"]
