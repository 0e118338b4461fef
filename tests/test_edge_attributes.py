"""Attributes of edges: kept in the order of the input, through other graphs and files, and read by programs."""

import copy
import pickle

import numpy as np
import pytest
from attribute_cases import SCHEDULES, Cheapest, cheapest, graph_of
from graph_files import Changed
from simulated import simulated

import edgewise as ew
from edgewise.errors import GraphError, GraphWarning, MemoryLimitError, ParseError, ProgramError
from edgewise.graph.file import file_facts
from edgewise.io.write import write

COLUMNS = {
    "bool": np.array([True, False, True, True, False, True]),
    "int32": np.array([1, -2, 3, 4, 5, 6], np.int32),
    "int64": np.array([2**60, -2, 3, 4, 5, 6]),
    "float32": np.array([0.5, np.nan, np.inf, 4, 5, 6], np.float32),
    "float64": np.array([0.1, -0.0, np.nan, 4, 5, 6]),
}
SOURCE, TARGET = ["a", "b", "c", "b", "c", "a"], ["b", "a", "c", "a", "d", "b"]


def small(**how):
    """A graph with parallel edges, one that leads back and a self-loop, with an attribute of each dtype."""
    return ew.Graph.from_edges(SOURCE, TARGET, edge_attributes=COLUMNS, **how)


def numbered(graph):
    """The edges of a graph, as a user knows them, with the number of each edge of the input as attribute "number"."""
    return sorted(graph.edges("number"))


@pytest.mark.parametrize("directed", [True, False])
@pytest.mark.parametrize("parallel_edges", ["keep", "first", "min", "sum"])
@pytest.mark.parametrize("self_loops", ["keep", "drop"])
def test_arcs_have_the_values_of_their_edges(directed, parallel_edges, self_loops):
    graph = small(directed=directed, parallel_edges=parallel_edges, self_loops=self_loops)
    assert list(graph.edge_attributes) == list(COLUMNS)
    for name, column in COLUMNS.items():
        kept = graph.edge_attributes[name]
        assert kept.dtype == column.dtype == name and not kept.flags.writeable
        np.testing.assert_array_equal(kept, column)
        np.testing.assert_array_equal(graph.arc_attribute(name), column[graph.edge_numbers])
    first = {}
    for u, v, number in zip(SOURCE, TARGET, COLUMNS["int32"].tolist(), strict=True):
        ends = (u, v) if directed else tuple(sorted((u, v)))
        first.setdefault(ends, number)
    if parallel_edges != "keep":
        expected = {
            ends: number for ends, number in first.items() if self_loops == "keep" or len(set(ends)) == 2
        }
        assert {(u, v): number for u, v, number in graph.edges("int32")} == expected


def test_attributes_are_copies_and_cannot_be_changed():
    column = np.arange(2.0)
    graph = ew.Graph.from_edges([0, 1], [1, 2], edge_attributes={"toll": column})
    column[0] = 7
    assert graph.edge_attributes["toll"].tolist() == [0, 1]
    with pytest.raises(TypeError):
        graph.edge_attributes["toll"] = column
    assert repr(graph) == "<Graph: 3 vertices, 2 edges, directed, unweighted, 1 edge attribute>"
    assert "<td>toll</td>" in graph._repr_html_()
    assert graph.nbytes > ew.Graph.from_edges([0, 1], [1, 2]).nbytes + column.nbytes


def test_other_numbers_are_brought_into_a_dtype_of_fields():
    graph = ew.Graph.from_edges(
        [0, 1],
        [1, 0],
        edge_attributes={"a": np.int8([1, -1]), "b": np.float16([1, 2]), "c": [1, 2], "d": [True, False]},
    )
    assert [str(each.dtype) for each in graph.edge_attributes.values()] == [
        "int32",
        "float32",
        "int64",
        "bool",
    ]


@pytest.mark.parametrize(
    ("attributes", "message"),
    [
        ([1, 2], "expected columns by name"),
        ({"toll": [1, 2]}, "'toll' has 2 entries; expected 3, one for each edge"),
        ({"toll": np.ones((3, 1))}, "'toll' has shape"),
        ({"toll": ["x", "y", "z"]}, "'toll' has dtype <U1; expected bool, int32, int64, float32 or float64"),
        ({"toll": np.ones(3, np.uint32)}, "'toll' has dtype uint32"),
        ({"toll": [1, None, 2]}, "It has None: drop such edges first, or fill them"),
        ({"weight": [1, 2, 3]}, "has the name 'weight', which is that of another column"),
        ({"": [1, 2, 3]}, "has the name ''; expected text"),
        ({3: [1, 2, 3]}, "has the name 3; expected text"),
    ],
)
def test_attributes_that_are_refused(attributes, message):
    with pytest.raises(GraphError, match=message):
        ew.Graph.from_edges([0, 1, 2], [1, 2, 0], edge_attributes=attributes)


@pytest.mark.parametrize("from_file", [False, True])
def test_graphs_made_from_a_graph_have_its_attributes(tmp_path, from_file):
    draw = np.random.default_rng(3)
    source, target = draw.integers(0, 12, (2, 60))
    graph = ew.Graph.from_edges(source, target, edge_attributes={"number": np.arange(60)}, vertices=range(12))
    if from_file:
        graph.save(tmp_path / "g.edgewise", in_edges=True)
        graph = ew.load(tmp_path / "g.edgewise")
    edges = list(zip(source.tolist(), target.tolist(), range(60), strict=True))
    assert numbered(graph) == sorted(edges)
    assert numbered(graph.as_directed()) == sorted(edges)
    assert numbered(graph.reverse()) == sorted((v, u, number) for u, v, number in edges)
    assert numbered(graph.reverse().reverse()) == sorted(edges)
    some = [7, 2, 3, 11, 5, 0]
    assert numbered(graph.subgraph(some)) == sorted(each for each in edges if {*each[:2]} <= {*some})
    both = [(min(u, v), max(u, v), number) for u, v, number in edges]
    assert numbered(graph.to_undirected("keep")) == sorted(both)
    at_first = graph.to_undirected("sum")
    # The first of parallel arcs is the first by source; each edge has the value of one of its own.
    assert set(numbered(at_first)) <= set(both) and at_first.num_edges == len({each[:2] for each in both})
    undirected = graph.to_undirected("keep")
    assert numbered(undirected.subgraph(some).as_directed()) == sorted(
        {(u, v, number) for a, b, number in both for u, v in ((a, b), (b, a)) if {a, b} <= {*some}}
    )


def test_rows_have_attributes_in_the_order_of_arcs():
    graph = ew.Graph.from_csr([0, 2, 3], [1, 0, 0], edge_attributes={"number": [5, 6, 7]})
    assert graph.edge_numbers is None and graph.arc_attribute("number").tolist() == [5, 6, 7]
    assert numbered(graph) == [(0, 0, 6), (0, 1, 5), (1, 0, 7)]
    assert numbered(graph.reverse()) == [(0, 0, 6), (0, 1, 7), (1, 0, 5)]
    rows = [0, 2, 3], [1, 0, 0]
    both = ew.Graph.from_csr(*rows, directed=False, edge_attributes={"number": [np.nan, 6, np.nan]})
    assert both.num_edges == 2
    with pytest.raises(
        GraphError, match="'number' is 5 for arc 0 and 7 for arc 2, which are those of one undirected"
    ):
        ew.Graph.from_csr(*rows, directed=False, edge_attributes={"number": [5, 6, 7]})
    with pytest.raises(GraphError, match="no edge attribute 'toll'; it has 'number'"):
        both.arc_attribute("toll")
    with pytest.raises(GraphError, match="no edge attribute 'toll'; it has 'number'"):
        both.edges("toll")


@pytest.mark.parametrize("directed", [True, False])
@pytest.mark.parametrize("in_file", [False, True])
def test_programs_read_attributes(tmp_path, directed, in_file):
    graph, expected = graph_of(directed), cheapest(directed)
    if in_file:
        graph.save(tmp_path / "g.edgewise", in_edges=directed)
        graph = ew.load(tmp_path / "g.edgewise")
    for schedule in SCHEDULES.values():
        prepared = ew.prepare(Cheapest, graph, schedule=schedule)
        for _ in range(2):
            result = prepared()
            np.testing.assert_array_equal(result.least, expected)
        assert result.verify(graph)
        np.testing.assert_array_equal(ew.run(Cheapest, graph, schedule=schedule).least, expected)
        np.testing.assert_array_equal(prepared(wanted=5).least, cheapest(directed, wanted=5))
    np.testing.assert_array_equal(ew.run(Cheapest, graph, check=True).least, expected)
    np.testing.assert_array_equal(ew.run(Cheapest, graph.reverse().reverse()).least, expected)


def test_values_that_are_given_win():
    graph = graph_of(True)
    given = np.random.default_rng(2).random(graph.num_arcs)
    expected = cheapest(True, (graph.sources, graph.targets, given, graph.arc_attribute("capacity")))
    for schedule in SCHEDULES.values():
        np.testing.assert_array_equal(ew.run(Cheapest(toll=given), graph, schedule=schedule).least, expected)
    everything = ew.run(Cheapest(toll=given, capacity=np.full(graph.num_arcs, 9)), graph)
    np.testing.assert_array_equal(
        everything.least, cheapest(True, (graph.sources, graph.targets, given, np.full(graph.num_arcs, 9)))
    )


def test_a_field_with_nearly_the_name_of_an_attribute_is_no_column_of_zeros():
    graph = ew.Graph.from_edges([0], [1], edge_attributes={"tolls": [2.0], "capacity": [9.0]})
    with pytest.raises(
        ProgramError, match=r"Tolled.toll would be 0 for all edges: the graph has .* but 'tolls'"
    ):
        ew.run(Tolled, graph)
    assert ew.run(Tolled(toll=[3.0]), graph, check=True).paid.tolist() == [0, 3]


class Tolled(ew.Program):
    toll, paid = ew.edge("float64"), ew.vertex("float64")
    combine, max_supersteps = ew.SUM, 1

    @staticmethod
    def edge_compute(edge, state):
        return edge.toll

    @staticmethod
    def vertex_compute(v, message, state):
        state.paid[v] = message
        return ew.HALT


def test_making_values_of_arcs_counts_as_memory():
    graph = graph_of(True)
    with pytest.raises(MemoryLimitError, match="bytes beyond the graph") as refused:
        ew.run(Cheapest, graph, memory_limit=100)
    with pytest.raises(MemoryLimitError):
        ew.run(Cheapest, graph, memory_limit=int(refused.value.needed) - 1)
    ew.run(Cheapest, graph, memory_limit=int(refused.value.needed))
    with pytest.raises(MemoryLimitError) as warm:
        ew.run(Cheapest, graph, memory_limit=100)
    assert warm.value.needed <= refused.value.needed - 16 * graph.num_arcs


def of_dtype(dtype):
    """A program whose field has a dtype."""

    class Read(ew.Program):
        value = ew.edge(dtype, init=0)
        got = ew.vertex(dtype)
        combine = ew.MAX
        max_supersteps = 1

        @staticmethod
        def edge_compute(edge, state):
            return edge.value

        @staticmethod
        def vertex_compute(v, message, state):
            if v == 1:
                state.got[v] = message
            return ew.HALT

    return Read


@pytest.mark.parametrize(
    ("column", "dtype"),
    [
        (np.int32([3]), "float64"),
        (np.int32([3]), "int64"),
        (np.int64([2**31 - 1]), "int32"),
        (np.int64([2**53]), "float64"),
        (np.float64([0.5]), "float32"),
        (np.float64([-(2.0**63)]), "int64"),
        (np.float64([np.inf]), "float32"),
        ([True], "int32"),
        ([1], "bool"),
    ],
)
def test_numbers_that_another_dtype_holds_are_converted(column, dtype):
    graph = ew.Graph.from_edges([0], [1], edge_attributes={"value": column})
    assert ew.run(of_dtype(dtype), graph, check=True).got[1] == np.asarray(column)[0]


@pytest.mark.parametrize(
    ("column", "dtype"),
    [
        (np.int64([2**31]), "int32"),
        (np.int64([2**53 + 1]), "float64"),
        (np.int64([2**63 - 1]), "float64"),
        (np.int32([2**24 + 1]), "float32"),
        (np.float64([0.1]), "float32"),
        (np.float64([1e300]), "float32"),
        (np.float64([0.5]), "int64"),
        (np.float64([2.0**63]), "int64"),
        (np.float64([np.nan]), "int32"),
        (np.float32([np.inf]), "int64"),
        ([2], "bool"),
    ],
)
def test_numbers_that_another_dtype_does_not_hold_are_refused(column, dtype):
    graph = ew.Graph.from_edges([0], [1], edge_attributes={"value": column})
    with pytest.raises(
        GraphError, match=f"'value' is .* which {dtype} does not hold exactly; declare the field as"
    ):
        ew.run(of_dtype(dtype), graph, check=True)
    with np.errstate(all="ignore"):
        rounded = graph.arc_attribute("value").astype(dtype)  # as the message says
    ew.run(of_dtype(dtype)(value=rounded), graph, check=True)


def test_fields_of_weights_and_of_vertices_are_no_attributes():
    graph = ew.Graph.from_edges([0], [1], [2.5], edge_attributes={"value": [1]})
    with pytest.raises(
        ProgramError, match=r"Read.value holds the graph's weights, .* declare value = ew.edge\('int64'\)"
    ):
        ew.run(of_dtype_of_weights(), graph)
    with pytest.raises(ProgramError, match="holds vertices"):
        ew.run(of_dtype(ew.VERTEX), graph)
    with pytest.raises(ProgramError, match="or an edge attribute of that name to the graph"):
        ew.run(Cheapest, graph)


def of_dtype_of_weights():
    """`of_dtype` with the weights for a field."""

    class Read(of_dtype("float64")):
        value = ew.edge()

    return Read


def test_files_keep_attributes(tmp_path):
    for directed in (True, False):
        graph = small(directed=directed)
        graph.save(tmp_path / "g.edgewise")
        loaded = ew.load(tmp_path / "g.edgewise")
        assert repr(loaded) == repr(graph)
        facts = file_facts(loaded)
        assert facts["edge_attributes"][:3] == ["'bool' bool", "'int32' int32", "'int64' int64"]
        assert "attribute" not in facts["arrays"]
        for each in (loaded, loaded.reverse()):
            assert not any(kept.flags.writeable for kept in each.edge_attributes.values())
        for other in (
            loaded,
            *(pickle.loads(pickle.dumps(each)) for each in (graph, loaded)),
            copy.deepcopy(loaded),
        ):
            assert list(other.edge_attributes) == list(COLUMNS) and "toll" not in other.edge_attributes
            for name, column in COLUMNS.items():
                kept = other.edge_attributes[name]
                assert kept.dtype == column.dtype
                np.testing.assert_array_equal(kept, column)
                np.testing.assert_array_equal(other.arc_attribute(name), graph.arc_attribute(name))
    rows = ew.Graph.from_csr([0, 1, 2], [1, 0], directed=False, edge_attributes={"é\ud800": [4, 4]})
    rows.save(tmp_path / "rows.edgewise")
    assert dict(ew.load(tmp_path / "rows.edgewise").edge_attributes)["é\ud800"].tolist() == [4, 4]
    empty = ew.Graph.from_edges([], [], num_vertices=3, edge_attributes={"toll": []})
    empty.save(tmp_path / "empty.edgewise")
    assert ew.load(tmp_path / "empty.edgewise").arc_attribute("toll").shape == (0,)


def test_files_have_a_place_for_fourteen(tmp_path):
    columns = {f"a{i}": [i, i] for i in range(15)}
    graph = ew.Graph.from_edges(
        ["x", "y"], ["y", "x"], [1, 2], edge_attributes=dict(list(columns.items())[:14])
    )
    graph.save(tmp_path / "g.edgewise", in_edges=True)
    assert ew.load(tmp_path / "g.edgewise").arc_attribute("a13").tolist() == [13, 13]
    with pytest.raises(GraphError, match="a file holds at most 14"):
        ew.Graph.from_edges([0, 1], [1, 0], edge_attributes=columns).save(tmp_path / "h.edgewise")
    assert not (tmp_path / "h.edgewise").exists()


def test_attributes_in_files_are_not_trusted(tmp_path):
    small().save(tmp_path / "g.edgewise")

    def changed(name, place, value):
        found = Changed(tmp_path / "g.edgewise")
        found.array(name)[place] = value
        return ew.load(found.seal().write(tmp_path / "wrong"))

    with pytest.raises(ParseError, match="block 0 of attribute_0 has values that no such graph has"):
        changed("attribute_0", 1, 2).edge_attributes["bool"]
    with pytest.raises(ParseError, match="block 0 of edge_numbers has values that no such graph has"):
        changed("edge_numbers", 1, 6).arc_attribute("int64")
    for place, value, problem in (
        (0, 255, "the names of its edge attributes cannot be read"),
        (0, 0, "the names of its edge attributes cannot be read"),
        (1, 0, "it has 6 names for 5 edge attributes"),
        (slice(0, 10), np.frombuffer(b"int64\0int3", np.uint8), "names for 5 edge attributes"),
    ):
        with pytest.raises(ParseError, match=problem):
            list(changed("attribute_names", place, value).edge_attributes)
    damaged = Changed(tmp_path / "g.edgewise")
    damaged.array("attribute_3")[0] = 7.5
    with pytest.raises(ParseError, match="attribute_3 does not have its checksum"):
        ew.load(damaged.write(tmp_path / "wrong")).arc_attribute("float32")


def test_headers_with_attributes_are_not_trusted(tmp_path):
    small().save(tmp_path / "g.edgewise")
    for name, field, value, problem in (
        ("attribute_0", "length", 5, "have different lengths"),
        ("attribute_1", "name", b"attribute_7", "it lacks attribute_1"),
        ("attribute_1", "name", b"attribute_01", "it lacks attribute_1"),
        ("attribute_names", "name", b"attribute_5", "it lacks attribute_names"),
        ("attribute_names", "length", 2**17, "have more than 65,536 bytes"),
        ("attribute_1", "dtype", b"<u8", "has 6 elements of uint64"),
        ("edge_numbers", "name", b"weights", "its array attribute_0 has 6 elements"),
    ):
        found = Changed(tmp_path / "g.edgewise")
        found.entry(name)[field] = value
        if name == "edge_numbers":  # without them an attribute has a value for each arc
            for place in range(5):
                found.entry(f"attribute_{place}")["length"] = 5
        with pytest.raises(ParseError, match=problem.replace("6 elements", "[56] elements")):
            ew.load(found.seal_header().write(tmp_path / "wrong"))
    for features in (0, 1, 3):
        found = Changed(tmp_path / "g.edgewise")
        found.header["features"] = features
        with pytest.raises(ParseError, match=r"damaged|does not know"):
            ew.load(found.seal_header().write(tmp_path / "wrong"))


def test_what_has_no_place_for_attributes_says_so(tmp_path):
    graph = small()
    with pytest.warns(
        GraphWarning, match="without the edge attributes bool, int32, .* ends in .edgewise keeps them"
    ):
        write(graph, tmp_path / "g.csv")
    graph = graph_of(True)
    with pytest.warns(GraphWarning, match="coalesce: the approximate graph is without the edge attributes"):
        assert not ew.approx.coalesce(graph).graph.edge_attributes


def test_cores_have_the_attributes_of_their_edges():
    graph = graph_of(True)
    core = ew.approx.core_graph(graph, ew.bfs)
    assert core.fraction < 1
    sources, targets = graph.sources[core.arcs], graph.targets[core.arcs]
    columns = (graph.arc_attribute(name)[core.arcs] for name in ("toll", "capacity"))
    expected = cheapest(True, (sources, targets, *columns))
    np.testing.assert_array_equal(ew.run(Cheapest, core.graph).least, expected)


def test_attributes_on_a_gpu():
    pytest.importorskip(
        "edgewise.kernels.cuda.device", reason="numba-cuda is not installed", exc_type=ImportError
    )
    assert simulated("simulate_attributes.py") == ["attributes"]
