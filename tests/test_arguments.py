"""Arguments of any kind: what cannot be used is refused by an error of edgewise that says what was expected."""

import numpy as np
import pytest

import edgewise as ew
from edgewise.errors import (
    EdgewiseError,
    GraphError,
    OutputError,
    ParameterError,
    ProgramError,
    ScheduleError,
)
from edgewise.io import write
from edgewise.run import Prepared
from edgewise.text import shown

RING = ew.Graph.from_edges([0, 1, 2], [1, 2, 0])
MASKED = np.ma.array([10**9, 1, 0], mask=[True, False, False])


@pytest.mark.parametrize(
    "call",
    [
        lambda: ew.bfs(RING, MASKED),
        lambda: ew.bfs(RING, np.ma.array(1, mask=True)),
        lambda: ew.bfs(RING, np.ma.masked),
        lambda: ew.betweenness(RING, sources=MASKED),
        lambda: ew.edge_betweenness(RING, sources=MASKED),
        lambda: RING.index_of(MASKED),
        lambda: RING.ids_of(MASKED),
        lambda: ew.pagerank(RING, start=MASKED),
        lambda: ew.pagerank(RING, personalization=MASKED),
    ],
)
def test_masked_arrays_are_no_arguments(call):
    with pytest.raises(EdgewiseError, match="has masked entries; expected a value in each place"):
        call()


def test_masked_arrays_without_a_masked_entry_are_arrays():
    whole = np.ma.array([1, 2])
    assert ew.bfs(RING, whole).level.tolist() == [1, 0, 0]
    assert type(RING.index_of(whole)) is np.ndarray
    assert ew.betweenness(RING, sources=whole).num_sources == 2


@pytest.mark.parametrize("sources", [np.array([[0]]), np.array([["0"]], object), np.zeros((2, 2), np.int64)])
def test_sources_in_two_dimensions_are_refused(sources):
    for call in (
        lambda: ew.bfs(RING, sources),
        lambda: ew.betweenness(RING, sources=sources),
        lambda: ew.edge_betweenness(RING, sources=sources),
        lambda: ew.sssp(RING, sources),
    ):
        with pytest.raises(GraphError, match=r"has shape .*; expected one dimension, an id for each vertex"):
            call()


@pytest.mark.parametrize("sources", [[[0], [1, 2]], [[0]], [np.array([0, 1])], np.array([0.0]), [None]])
def test_sources_that_are_no_ids_are_refused(sources):
    for call in (lambda: ew.bfs(RING, sources), lambda: ew.betweenness(RING, sources=sources)):
        with pytest.raises(GraphError, match="the graph has no vertex"):
            call()


HUGE = 10**5000


@pytest.mark.parametrize(
    "call",
    [
        lambda: ew.bfs(RING, 0, max_depth=-HUGE),
        lambda: ew.bfs(RING, 0, device=HUGE),
        lambda: ew.bfs(RING, 0, schedule=HUGE),
        lambda: ew.bfs(RING, 0, progress=HUGE),
        lambda: ew.bfs(RING, 0, schedule=ew.Schedule(delivery=HUGE)),
        lambda: ew.bfs(RING, 0, schedule=ew.Schedule(num_threads=HUGE)),
        lambda: ew.bfs(RING, 0, schedule=ew.Schedule(layout=HUGE)),
        lambda: ew.bfs(RING, 0, schedule=ew.Schedule(balance=HUGE)),
        lambda: ew.sssp(RING, 0, delta=HUGE),
        lambda: ew.pagerank(RING, damping=HUGE),
        lambda: ew.pagerank(RING, max_iterations=-HUGE),
        lambda: ew.pagerank(RING, dtype=HUGE),
        lambda: ew.betweenness(RING, k=HUGE),
        lambda: ew.betweenness(RING, seed=-HUGE),
        lambda: ew.betweenness(RING, checkpoint=HUGE),
        lambda: ew.mst(RING, symmetrize=HUGE),
        lambda: ew.generate.rmat(HUGE),
        lambda: ew.generate.rmat(HUGE, num_vertices=HUGE),
        lambda: ew.generate.rmat(3, HUGE),
        lambda: ew.generate.rmat(3, seed=HUGE),
        lambda: ew.generate.rmat(3, weights=(0, HUGE)),
        lambda: ew.generate.rmat(3, probabilities=(HUGE, 0, 0, 0)),
        lambda: ew.generate.lattice(2, 2, HUGE),
        lambda: ew.generate.lattice(2, 2, one_way=HUGE, directed=False),
        lambda: ew.Graph.from_edges([0], [1], directed=HUGE),
        lambda: ew.WarpMapped(HUGE),
        lambda: ew.NodeSplitting(bins=HUGE),
        lambda: ew.HierarchicalProcessing(depth=-HUGE),
        lambda: ew.Layout(num_buckets=HUGE),
    ],
)
def test_integers_that_python_does_not_write_stand_in_messages(call):
    with pytest.raises(EdgewiseError, match=r"an integer of 16,61|an integer of over 4,300 digits"):
        call()


SEVERAL = np.array([True, False])


@pytest.mark.parametrize(
    "call",
    [
        lambda: ew.bfs(RING, 0, device=SEVERAL),
        lambda: ew.bfs(RING, 0, schedule=ew.Schedule(layout=SEVERAL)),
        lambda: ew.bfs(RING, 0, schedule=ew.Schedule(balance=SEVERAL)),
        lambda: ew.bfs(RING, 0, schedule=ew.Schedule(delivery=SEVERAL)),
        lambda: ew.bfs(RING, 0, schedule=ew.Schedule(num_threads=SEVERAL)),
        lambda: ew.pagerank(RING, weighted=SEVERAL),
        lambda: ew.mst(RING, symmetrize=SEVERAL),
        lambda: ew.betweenness(RING, weighted=SEVERAL),
        lambda: ew.betweenness(RING, normalized=SEVERAL),
        lambda: ew.betweenness(RING, endpoints=SEVERAL),
        lambda: ew.edge_betweenness(RING, weighted=SEVERAL),
        lambda: ew.edge_betweenness(RING, normalized=SEVERAL),
        lambda: ew.Graph.from_edges([0], [1], directed=SEVERAL),
        lambda: ew.Graph.from_edges([0], [1], number_edges=SEVERAL),
        lambda: ew.Graph.from_csr([0, 0], [], directed=SEVERAL),
        lambda: ew.generate.rmat(3, directed=SEVERAL),
        lambda: ew.generate.rmat(3, simple=SEVERAL),
        lambda: ew.generate.rmat(3, shuffle=SEVERAL),
        lambda: ew.generate.lattice(2, 2, directed=SEVERAL),
        lambda: ew.generate.lattice(2, 2, one_way=SEVERAL),
        lambda: ew.generate.path(3, directed=SEVERAL),
        lambda: ew.NodeSplitting(max_degree=SEVERAL),
    ],
)
def test_arrays_are_no_truth_values_and_no_words(call):
    with pytest.raises(
        EdgewiseError, match=r"is array\(\[ True, False\]\); expected|layout is array|balance is array"
    ):
        call()


def test_an_array_is_no_format(tmp_path):
    path = tmp_path / "g.txt"
    path.write_text("0 1\n")
    with pytest.raises(EdgewiseError, match=r"format is array\(.*\); expected edgelist|expected .*edgelist"):
        ew.read(path, format=SEVERAL)


def test_truth_values_of_numpy_are_taken():
    assert ew.mst(RING, symmetrize=np.True_).num_edges == 2
    assert ew.betweenness(RING, normalized=np.False_).centrality.tolist() == [1.0, 1.0, 1.0]
    with pytest.raises(ParameterError, match="mst: symmetrize is 1; expected True or False"):
        ew.mst(RING, symmetrize=1)


@pytest.mark.parametrize("threads", [4097, 2**31, 10**20, 0, -1])
def test_no_machine_has_so_many_threads(threads, monkeypatch):
    expected = "expected a positive integer up to 4,096"
    with pytest.raises(ScheduleError, match=f"bfs: num_threads is {threads}; {expected}"):
        ew.bfs(RING, 0, schedule=ew.Schedule(num_threads=threads))
    monkeypatch.setenv("EDGEWISE_NUM_THREADS", str(threads))
    with pytest.raises(ScheduleError, match=f"EDGEWISE_NUM_THREADS is '{threads}'; {expected}"):
        ew.bfs(RING, 0)


@pytest.mark.parametrize("path", [None, 3, b"g.txt"])
def test_a_graph_is_written_to_the_name_of_a_file(path):
    with pytest.raises(OutputError, match=r"path is .*; expected the name of a file"):
        ew.io.write(RING, path)


class Count(ew.Program):
    """Counts in-edges."""

    number = ew.vertex("int64")
    combine = ew.SUM
    max_supersteps = 1

    @staticmethod
    def edge_compute(edge, state):
        return 1

    @staticmethod
    def vertex_compute(v, message, state):
        state.number[v] = message
        return ew.HALT


ALGORITHMS = {
    "bfs": lambda graph: ew.bfs(graph, 0),
    "sssp": lambda graph: ew.sssp(graph, 0),
    "pagerank": ew.pagerank,
    "connected_components": ew.connected_components,
    "scc": ew.scc,
    "mst": lambda graph: ew.mst(graph, symmetrize=True),
    "betweenness": ew.betweenness,
    "edge_betweenness": ew.edge_betweenness,
    "closeness": ew.closeness,
    "harmonic": ew.harmonic,
    "eccentricity": ew.eccentricity,
    "eigenvector": ew.eigenvector,
    "katz": ew.katz,
    "hits": ew.hits,
    "core_numbers": ew.core_numbers,
    "triangles": lambda graph: ew.triangles(graph if graph is not RING else RING.to_undirected()),
    "topological_order": ew.topological_order,
    "run": lambda graph: ew.run(Count, graph, device="cpu"),
}


@pytest.mark.parametrize("name", ALGORITHMS)
@pytest.mark.parametrize("wrong", [5, None, np.arange(3)])
def test_what_is_no_graph_is_refused(name, wrong):
    result = ALGORITHMS[name](RING)
    for call in (ALGORITHMS[name], result.verify):
        with pytest.raises(TypeError, match=r"got .* for the graph, expected an edgewise.Graph") as caught:
            call(wrong)
        assert isinstance(caught.value, EdgewiseError)


def test_tables_are_not_shown_but_named():
    pandas = pytest.importorskip("pandas")
    table = pandas.DataFrame({"source": [0], "target": [1]})
    with pytest.raises(
        TypeError, match=r"^bfs: got a DataFrame for the graph, .*: Graph.from_pandas\(...\) makes one"
    ):
        ew.bfs(table, 0)
    with pytest.raises(
        TypeError, match=r"Graph\(...\) makes no graph; use Graph.from_edges\(source, target\)"
    ):
        ew.Graph(table)


def test_truth_values_of_programs_are_true_or_false():
    for wrong in (np.arange(3), 1, "no", None):
        with pytest.raises(ProgramError, match=r"Count: check is .*; expected True or False"):
            ew.run(Count, RING, check=wrong)
        with pytest.raises(ProgramError, match=r"in_edges is .*; expected True or False"):
            Prepared(Count, RING, in_edges=wrong)
    assert ew.run(Count, RING, check=np.True_).number.tolist() == [1, 1, 1]


def test_what_writing_takes_is_checked(tmp_path):
    path = tmp_path / "a.csv"
    for wrong in (5, True, "bar"):
        with pytest.raises(
            ParameterError, match=r"write: progress is .*; expected a function of the number of arcs"
        ):
            write(RING, path, progress=wrong)
    with pytest.raises(ParameterError, match="write: quote_formulas is 'no'; expected True or False"):
        write(RING, path, quote_formulas="no")
    with pytest.raises(TypeError, match="write: got 5 for the graph"):
        write(5, path)
    assert not path.exists()


def nested(depth):
    value = []
    for _ in range(depth):
        value = [value]
    return value


def raising(error):
    class Unshown:
        def __repr__(self):
            raise error

    return Unshown()


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (nested(100_000), "a list that cannot be shown"),
        (raising(RuntimeError), "a Unshown that cannot be shown"),
    ],
)
@pytest.mark.parametrize(
    "call",
    [
        lambda value: ew.bfs(RING, 0, max_depth=value),
        lambda value: ew.bfs(RING, 0, memory_limit=value),
        lambda value: ew.pagerank(RING, dtype=value),
        lambda value: ew.generate.path(value),
        lambda value: ew.bfs(RING, 0, schedule=ew.Schedule(num_threads=value)),
    ],
)
def test_values_that_cannot_be_shown_are_named_by_their_type(call, value, text):
    with pytest.raises(EdgewiseError, match=text):
        call(value)


def test_what_ends_python_does_not_pass_a_message_but_ctrl_c_does():
    assert shown(raising(SystemExit)) == "a Unshown that cannot be shown"
    with pytest.raises(KeyboardInterrupt):
        shown(raising(KeyboardInterrupt))


@pytest.mark.parametrize(
    "call",
    [
        lambda value: ew.bfs(RING, value),
        lambda value: ew.bfs(RING, [value]),
        lambda value: ew.bfs(RING, 0, memory_limit=value),
        lambda value: ew.bfs(RING, 0, max_depth=value),
        lambda value: ew.bfs(RING, 0, schedule=ew.Schedule(num_threads=value)),
        lambda value: ew.sssp(RING, 0, delta=value),
        lambda value: ew.pagerank(RING, damping=value),
        lambda value: ew.pagerank(RING, tol=value),
        lambda value: ew.pagerank(RING, max_iterations=value),
        lambda value: ew.pagerank(RING, start={0: value}),
        lambda value: ew.pagerank(RING).top_rows(value),
        lambda value: ew.betweenness(RING, k=value),
        lambda value: ew.betweenness(RING, seed=value),
        lambda value: ew.read("no such file", weight_column=value),
        lambda value: ew.read("no such file", index_base=value),
        lambda value: ew.Graph.from_edges([0], [1], num_vertices=value),
        lambda value: ew.generate.path(value),
        lambda value: ew.generate.rmat(3, value),
        lambda value: ew.generate.rmat(3, seed=value),
        lambda value: ew.generate.rmat(3, probabilities=[value] * 4),
        lambda value: ew.generate.rmat(3, weights=(value, value)),
        lambda value: ew.generate.lattice(3, 3, value),
    ],
)
@pytest.mark.parametrize("value", [np.timedelta64(1), np.timedelta64(1, "s"), np.datetime64(1, "s")])
def test_spans_of_time_are_no_numbers(call, value):
    with pytest.raises(EdgewiseError):
        call(value)


def test_spans_of_time_are_no_numbers_of_programs():
    class Aged(ew.Program):
        combine = ew.SUM
        age = ew.parameter("int64", default=1)
        level = ew.vertex("int64", init=0)

        @staticmethod
        def initialize(v, state):
            return ew.HALT

        @staticmethod
        def edge_compute(edge, state):
            return 1

        @staticmethod
        def vertex_compute(v, message, state):
            state.level[v] = state.age
            return ew.HALT

    for options in ({"max_supersteps": np.timedelta64(1)}, {"memory_limit": np.timedelta64(1)}):
        with pytest.raises(EdgewiseError, match=r"is np.timedelta64\(1\)"):
            ew.run(Aged(), RING, **options)
    with pytest.raises(ProgramError):
        ew.run(Aged(age=np.timedelta64(1)), RING)


@pytest.mark.parametrize("value", [np.array(1), np.ones((1, 4)) / 4, np.full(4, np.timedelta64(1))])
def test_probabilities_that_are_no_four_numbers(value):
    with pytest.raises(GraphError, match=r"probabilities are .*; expected four"):
        ew.generate.rmat(3, probabilities=value)
