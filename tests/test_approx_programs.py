"""Programs are evaluated where their answers mean the same however vertices are numbered, and refused elsewhere."""

import numpy as np
import pytest
from test_approx import GRAPHS, KNOBS

import edgewise as ew
from edgewise.errors import ParameterError, ProgramError


class Distances(ew.Program):
    """Steps from a source, and from where they come; the source is an id."""

    steps = ew.vertex("int32", init=ew.INFINITY)
    parent = ew.vertex(ew.VERTEX, init=-1)
    source = ew.parameter(ew.VERTEX)
    combine = ew.MIN
    message = "int32"

    @staticmethod
    def initialize(v, state):
        if v == state.source:
            state.steps[v] = 0
            state.parent[v] = v
            return ew.ACTIVE
        return ew.HALT

    @staticmethod
    def edge_compute(edge, state):
        return state.steps[edge.source] + 1

    @staticmethod
    def vertex_compute(v, message, state):
        if message < state.steps[v]:
            state.steps[v] = message
            return ew.ACTIVE
        return ew.HALT


class FromAnIndex(Distances):
    """The source is an integer."""

    source = ew.parameter(int, default=0)


class Labels(ew.Program):
    """The least label that reaches a vertex."""

    label = ew.vertex("int32")
    combine = ew.MIN
    message = "int32"

    @staticmethod
    def initialize(v, state):
        state.label[v] = v
        return ew.ACTIVE

    @staticmethod
    def edge_compute(edge, state):
        return state.label[edge.source]

    @staticmethod
    def vertex_compute(v, message, state):
        if message < state.label[v]:
            state.label[v] = message
            return ew.ACTIVE
        return ew.HALT


class GivenLabels(Labels):
    """Labels that are given."""

    label = ew.vertex("int32", init=ew.REQUIRED)

    @staticmethod
    def initialize(v, state):
        return ew.ACTIVE


class Weighed(ew.Program):
    """The sum of what in-edges have."""

    total = ew.vertex("float64")
    share = ew.edge("float64", init=ew.REQUIRED)
    combine = ew.SUM
    message = "float64"
    max_supersteps = 1

    @staticmethod
    def initialize(v, state):
        return ew.ACTIVE

    @staticmethod
    def edge_compute(edge, state):
        return edge.share

    @staticmethod
    def vertex_compute(v, message, state):
        state.total[v] = message
        return ew.HALT


@pytest.fixture
def made():
    return ew.approx.normalize_degrees(GRAPHS["skewed"](), **KNOBS)


def evaluated(made, call, field):
    return ew.approx.evaluate(made, call, field=field, repeat=1)


def test_a_program_from_an_id_is_evaluated():
    made, source = ew.approx.normalize_degrees(GRAPHS["no weights"](), **KNOBS), 3

    def call(graph):
        return ew.run(Distances(source=source), graph)

    told = evaluated(made, call, "steps").difference
    assert told == ew.approx.evaluate(made, ew.bfs, source, repeat=1).difference
    assert told.inaccuracy > 0 and told.largest_error < 10
    with pytest.raises(ParameterError, match="'parent' has vertices, labels or times"):
        evaluated(made, call, "parent")


@pytest.mark.parametrize(
    ("program", "field", "line"),
    [
        (Labels, "label", r"v is used as a number here; a program over renumbered vertices may"),
        (FromAnIndex, "steps", r"v is used as a number here"),
    ],
)
def test_programs_that_use_vertices_as_numbers_are_refused_with_the_line(made, program, field, line):
    def call(graph):
        return ew.run(program, graph)

    with pytest.raises(ProgramError, match=rf"test_approx_programs\.py.*{line}") as caught:
        evaluated(made, call, field)
    assert "run it on made.original and made.graph" in str(caught.value)
    assert "layout" not in str(caught.value)
    with pytest.raises(ProgramError, match=line):
        ew.approx.sweep(made.original, ew.approx.coalesce, call, field=field, repeat=1)
    with pytest.raises(ProgramError, match=line):
        ew.approx.suggest(made.original, call, field=field, repeat=1)


def test_values_for_vertices_are_in_the_order_of_each_graph(made):
    numbers = np.random.default_rng(1).permutation(made.original.num_vertices).astype(np.int32)
    with pytest.raises(
        ParameterError, match=r"label is another one where vertices are only numbered otherwise"
    ):
        evaluated(made, lambda graph: ew.run(GivenLabels(label=numbers), graph), "label")

    def call(graph):
        return ew.run(GivenLabels(label=numbers[made.original.index_of(graph.vertices)]), graph)

    exact, found = call(made.original).label, made.in_order(call(made.graph).label)
    told = evaluated(made, call, "label")
    assert told.difference.largest_error == np.abs(exact.astype(int) - found).max()
    same = np.full(made.original.num_vertices, 7, np.int32)
    assert evaluated(made, lambda graph: ew.run(GivenLabels(label=same), graph), "label").difference.is_exact


@pytest.mark.parametrize("name", ["skewed", "skewed both ways"])
def test_values_for_edges_are_in_the_order_of_each_graph(name):
    made = ew.approx.normalize_degrees(GRAPHS[name](), threshold=0)
    assert made.num_added == 0

    def call(graph):
        return ew.run(Weighed(share=graph.weights / 3), graph)

    assert evaluated(made, call, "total").difference.inaccuracy < 1e-12
    shares = made.original.weights / 3
    with pytest.raises(ParameterError, match=r"total is another one where vertices"):
        evaluated(made, lambda graph: ew.run(Weighed(share=shares), graph), "total")


def test_values_of_edges_are_not_taken_for_those_of_vertices():
    cycle = ew.Graph.from_edges(range(9), [*range(1, 9), 0])
    made = ew.approx.coalesce(cycle, budget=0)

    class Writes(Weighed):
        @staticmethod
        def edge_compute(edge, state):
            state.share[edge.index] = edge.share + 1
            return edge.share

    with pytest.raises(ParameterError, match="share has values of edges"):
        evaluated(made, lambda graph: ew.run(Writes(share=np.arange(9.0)), graph), "share")


def test_calls_that_give_other_values_by_the_order_alone_are_refused(made):
    ranks = np.arange(1.0, made.original.num_vertices + 1)
    for call, options in (
        (ew.pagerank, {"personalization": ranks}),
        (lambda graph: ew.pagerank(graph, personalization=ranks), {}),
        (lambda graph: ew.betweenness(graph, k=5, seed=1), {}),
        (lambda graph: ew.bfs(graph, graph.ids_of(np.array([3])).tolist()[0]), {}),
    ):
        with pytest.raises(ParameterError, match="is another one where vertices are only numbered otherwise"):
            ew.approx.evaluate(made, call, repeat=1, **options)
    for name in ("personalization", "start"):
        ew.approx.evaluate(made, ew.pagerank, repeat=1, **{name: {3: 1.0}})
        ew.approx.evaluate(made, ew.pagerank, repeat=1, **{name: np.ones(len(ranks))})


def test_parents_and_what_has_no_name_are_not_compared(made):
    for call, field in ((ew.bfs, "parent"), (ew.sssp, "parent_index"), (ew.bfs, "layout_seconds")):
        with pytest.raises(ParameterError, match="whose differences mean nothing"):
            ew.approx.evaluate(made, call, 3, field=field, repeat=1)
    with pytest.raises(ParameterError, match="field is 3; expected the name"):
        ew.approx.evaluate(made, ew.bfs, 3, field=3, repeat=1)


class Balanced(Weighed):
    """Sums that are 0, but for rounding."""

    @staticmethod
    def edge_compute(edge, state):
        return edge.share - 0.1


def test_sums_of_rounding_errors_are_those_of_the_same_values():
    made = ew.approx.normalize_degrees(GRAPHS["skewed"](), threshold=0)

    def call(graph):
        return ew.run(
            Balanced(share=np.full(graph.num_arcs, 0.1 + 1e-16 * (graph is not made.original))), graph
        )

    assert not call(made.original).total.any() and call(made.renumbered).total.any()
    evaluated(made, call, "total")
