"""Messages through a buffer: every program as without one, programs that are given all messages, what is refused."""

import battery
import kept_messages
import numpy as np
import pytest
from test_engines import GRAPHS, PROGRAMS, Components, assert_same

import edgewise as ew
from benchmarks.ours import EXAMPLES, load
from edgewise.run import Prepared

LabelPropagation = load(EXAMPLES / "label_propagation.py").LabelPropagation
SCHEDULES = (ew.Schedule(ew.Buffered(), num_threads=1), ew.Schedule(ew.Buffered(), num_threads=3))
LAYOUTS = (
    ew.Layout(),
    ew.Layout(sort=None, group_size=1, split=False),
    ew.Layout("linear", num_buckets=20, threshold=1, group_size=8, made_on="cpu"),
    ew.Layout("exact"),
    ew.Layout("exact", group_size=5, split=False),
)


def graph_for(program, graph):
    """The graph, with edges both ways where the program needs that."""
    if program is not Components:
        return graph
    return ew.Graph.from_edges(graph.sources, graph.targets, directed=False, num_vertices=graph.num_vertices)


@pytest.mark.parametrize("name", ["median", "vote", pytest.param("spread", marks=pytest.mark.slow)])
def test_programs_that_are_given_all_messages(name, small_pieces):
    program = kept_messages.PROGRAMS[name]
    for graph_name, graph in GRAPHS.items():
        expected = None
        for schedule in SCHEDULES:
            prepared = Prepared(program, graph, "cpu", schedule)
            expected = expected or prepared.reference({}, program.max_supersteps)
            for _ in range(2):  # the second run works in what the first one left
                result = prepared()
                assert_same(result, expected, False)
                assert "messages went through a buffer" in result.explain(), graph_name


@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=pytest.mark.slow if name != "user combiner" else ()) for name in PROGRAMS],
)
def test_every_program_runs_through_a_buffer(name, small_pieces):
    program, values = PROGRAMS[name]
    for graph in GRAPHS.values():
        if "source" in values and graph.num_vertices == 0:
            continue
        graph = graph_for(program, graph)
        expected = Prepared(program, graph, "cpu").reference(values, program.max_supersteps)
        for schedule in SCHEDULES:
            prepared = Prepared(program, graph, "cpu", schedule)
            for _ in range(2):
                assert_same(prepared(**values), expected, program.asynchronous)


def test_what_is_stored_into_messages_is_cast():
    graph = GRAPHS["duplicate weights"]
    assert ew.run(kept_messages.Rewritten, graph, device="cpu").verify(graph)
    with pytest.raises(ew.errors.ProgramError, match="does not fit int32"):
        ew.run(kept_messages.Rewritten, graph, check=True)


def propagated(graph, rounds):
    """Labels by plain loops."""
    label = np.arange(graph.num_vertices)
    for _ in range(rounds):
        after = label.copy()
        for v in range(graph.num_vertices):
            came = label[graph.in_sources[graph.in_offsets[v] : graph.in_offsets[v + 1]]]
            if len(came):
                after[v] = np.bincount(came).argmax()
        label = after
    return label


@pytest.mark.parametrize(
    "device", [pytest.param("cpu", marks=pytest.mark.slow), pytest.param("cuda", marks=pytest.mark.gpu)]
)
def test_label_propagation(device):
    for graph in (GRAPHS["heavy row"], GRAPHS["undirected"], GRAPHS["larger than one range"]):
        result = ew.run(LabelPropagation(rounds=4), graph, device=device)
        np.testing.assert_array_equal(result.label, propagated(graph, 4))


def test_messages_can_be_looked_at_in_plain_python():
    graph = GRAPHS["duplicate weights"]
    for program in kept_messages.PROGRAMS.values():
        checked = ew.run(program, graph, check=True)
        assert checked.verify(graph)


def test_messages_come_in_the_order_of_their_sources():
    class Gets(ew.Program):
        first = ew.vertex("int64", init=-1)
        count = ew.vertex("int64")
        rising = ew.vertex("bool", init=True)
        combine = ew.MESSAGES
        max_supersteps = 1

        @staticmethod
        def edge_compute(edge, state):
            return edge.index

        @staticmethod
        def vertex_compute(v, messages, state):
            state.count[v] = len(messages)
            for i in range(len(messages)):
                if i == 0:
                    state.first[v] = messages[i]
                elif messages[i] <= messages[i - 1]:
                    state.rising[v] = False
            return ew.HALT

    for graph in (GRAPHS["undirected"], GRAPHS["larger than one range"]):
        result = ew.run(Gets, graph, device="cpu")
        np.testing.assert_array_equal(result.count, graph.in_degree)
        assert result.rising.all()
        arcs = np.full(graph.num_vertices, -1)
        arcs[graph.targets[::-1]] = np.arange(graph.num_arcs)[::-1]
        np.testing.assert_array_equal(result.first, arcs)


class Plain(ew.Program):
    value = ew.vertex("int64")
    combine = ew.MESSAGES

    @staticmethod
    def edge_compute(edge, state):
        return state.value[edge.source]

    @staticmethod
    def vertex_compute(v, messages, state):
        return ew.HALT


def refused(error, match, program=Plain, **options):
    with pytest.raises(error, match=match):
        ew.run(program, GRAPHS["star out"], **options)


def test_what_cannot_be_is_refused():
    class Pair(Plain):
        message = ew.fields(a="int64", b="float32")

    class Summed(Pair):
        combine = ew.SUM

    class Unnamed(Plain):
        message = ew.fields(_hidden="int64")

    class Empty(Plain):
        message = ew.fields()

    class Keyword(Plain):
        message = ew.fields(**{"class": "int64"})

    class Wrong(Plain):
        message = ew.fields(a="int32", b="int64")

        @staticmethod
        def edge_compute(edge, state):
            return 1, 0.5

    refused(
        ew.errors.ScheduleError, r"Pull\(\) combines messages two at a time", schedule=ew.Schedule(ew.Pull())
    )
    refused(
        ew.errors.ScheduleError, r"Push\(\) combines messages two at a time", schedule=ew.Schedule(ew.Push())
    )
    refused(ew.errors.ProgramError, "expected a tuple of 2 values: a, b", Pair)
    refused(ew.errors.ProgramError, "messages of several fields are not combined by SUM", Summed)
    refused(ew.errors.ProgramError, "expected at least one, and none that begins", Unnamed)
    refused(ew.errors.ProgramError, "expected at least one, and none that begins", Empty)
    refused(ew.errors.ProgramError, "is no name in Python", Keyword)
    refused(ew.errors.ProgramError, r"message\.b is declared as int64", Wrong)
    with pytest.raises(ew.errors.ProgramError, match="MESSAGES"):
        ew.aggregator(ew.MESSAGES)


@pytest.mark.parametrize(
    ("schedule", "match"),
    [
        (ew.Schedule(layout=ew.Layout()), "only runs on a GPU can be told where edges lie"),
        (ew.Schedule(layout="columns"), "layout is 'columns'"),
    ],
)
def test_layouts_are_for_gpus(schedule, match):
    with pytest.raises(ew.errors.ScheduleError, match=match):
        ew.run(PROGRAMS["float sums"][0], GRAPHS["star out"], device="cpu", schedule=schedule)


@pytest.mark.parametrize(
    ("values", "match"),
    [
        ({"sort": "radix"}, "sort is 'radix'; expected None or 'linear'"),
        ({"num_buckets": 0}, "num_buckets is 0"),
        ({"num_buckets": 2_000_000}, "from 1 to 1,000,000"),
        ({"group_size": 0}, "group_size is 0"),
        ({"group_size": 32.0}, "group_size is 32.0"),
        ({"threshold": 0}, "threshold is 0"),
        ({"split": "yes"}, "split is 'yes'"),
        ({"made_on": "cuda"}, "made_on is 'cuda'; expected 'gpu' or 'cpu'"),
    ],
)
def test_layouts_that_are_none(values, match):
    with pytest.raises(ew.errors.ScheduleError, match=match):
        ew.Layout(**values)


def test_algorithms_on_the_cpu_have_no_buffer():
    graph = GRAPHS["star out"]
    for algorithm, arguments in ((ew.bfs, (0,)), (ew.pagerank, ()), (ew.connected_components, ())):
        with pytest.raises(ew.errors.ScheduleError, match="Buffered"):
            algorithm(graph, *arguments, device="cpu", schedule=ew.Schedule(ew.Buffered()))


def run_on_gpu(program, graph, values, schedule):
    """Run twice what a schedule prepared once, and compare with the CPU."""
    expected = Prepared(program, graph, "cpu")(**values)
    prepared = Prepared(program, graph, "cuda", schedule)
    for _ in range(2):
        result = prepared(**values)
        for field, want in expected.fields.items():
            tolerance = {"float32": 1e-4, "float64": 1e-9}.get(str(want.dtype), 0)
            np.testing.assert_allclose(result.fields[field], want, rtol=tolerance, atol=1e-12, err_msg=field)
        for field, want in expected.edge_fields.items():
            np.testing.assert_array_equal(result.edge_fields[field], want, err_msg=field)
        if not program.asynchronous:
            assert result.supersteps == expected.supersteps
    return result


LARGE = {
    "lattice": lambda: ew.generate.lattice(120, 150, seed=3, weights=(0, 20)),
    "hubs": lambda: ew.generate.rmat(13, 16, seed=5, weights=(0, 20)),
    "star": lambda: ew.Graph.from_edges(range(1, 5000), [0] * 4999, num_vertices=5000),
}


@pytest.mark.gpu
@pytest.mark.parametrize("layout", LAYOUTS, ids=str)
@pytest.mark.parametrize("name", [*PROGRAMS, *kept_messages.PROGRAMS])
def test_every_layout_on_a_gpu(name, layout):
    kept = name in kept_messages.PROGRAMS
    program, values = (kept_messages.PROGRAMS[name], {}) if kept else PROGRAMS[name]
    graphs = [*battery.graphs().values(), *(make() for make in LARGE.values())]
    for graph in graphs:
        if "source" in values and graph.num_vertices == 0:
            continue
        graph = graph_for(program, graph)
        deliveries = (ew.Buffered(),) if kept else (ew.Buffered(), ew.Pull(), "auto")
        for delivery in deliveries:
            run_on_gpu(program, graph, values, ew.Schedule(delivery, layout=layout))


@pytest.mark.gpu
@pytest.mark.parametrize(
    "balance", [ew.ThreadMapped(), ew.EdgeBased(), ew.MergePath(), ew.NodeSplitting(5)], ids=str
)
@pytest.mark.parametrize("name", ["float sums", "sssp", "vote"])
def test_every_way_to_send_into_slots(name, balance):
    program, values = PROGRAMS.get(name) or (kept_messages.PROGRAMS[name], {})
    run_on_gpu(program, LARGE["hubs"](), values, ew.Schedule(ew.Buffered(), balance=balance))


@pytest.mark.gpu
def test_sums_through_slots_are_the_same_each_time():
    program, values = PROGRAMS["pagerank"]
    graph = ew.generate.rmat(14, 24, seed=5)
    for layout in LAYOUTS:
        prepared = Prepared(program, graph, "cuda", ew.Schedule(ew.Buffered(), layout=layout))
        first = prepared(**values).rank.tobytes()
        assert all(prepared(**values).rank.tobytes() == first for _ in range(5))


@pytest.mark.gpu
def test_what_a_layout_costs_is_told():
    program, values = PROGRAMS["float sums"]
    graph = LARGE["hubs"]()
    sizes = {}
    for layout in LAYOUTS[:2]:
        result = Prepared(program, graph, "cuda", ew.Schedule(ew.Buffered(), layout=layout))(**values)
        sizes[layout.group_size] = result.memory_bytes
        assert "more places than edges" in result.explain()
    assert sizes[1]["layout"] >= 4 * (graph.num_arcs + 3 * graph.num_vertices)
    assert sizes[32]["run"] > sizes[1]["run"]


@pytest.mark.gpu
@pytest.mark.parametrize("schedule", [ew.Schedule(ew.Buffered()), ew.Schedule(layout=ew.Layout())], ids=str)
def test_algorithms_as_programs(schedule):
    graph = LARGE["hubs"]()
    for algorithm, arguments in (
        (ew.bfs, (0,)),
        (ew.sssp, (0,)),
        (ew.pagerank, ()),
        (ew.connected_components, ()),
    ):
        result = algorithm(graph, *arguments, device="cuda", schedule=schedule)
        assert result.verify(graph)
        assert "a program on the GPU" in result.explain()


@pytest.mark.gpu
@pytest.mark.parametrize(
    ("schedule", "match"),
    [
        (ew.Schedule(ew.Push(), layout=ew.Layout()), r"Push\(\) has them gather nothing"),
        (
            ew.Schedule(balance=ew.Binned(), layout=ew.Layout()),
            "says who gathers over which edges, and so does",
        ),
    ],
)
def test_schedules_that_contradict_themselves(schedule, match):
    with pytest.raises(ew.errors.ScheduleError, match=match):
        ew.run(PROGRAMS["float sums"][0], GRAPHS["star out"], device="cuda", schedule=schedule)
