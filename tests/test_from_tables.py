"""Graphs from tables of pandas, polars and Arrow, and their edges as tables."""

import datetime
import sys
import warnings

import networkx as nx
import numpy as np
import pandas
import polars
import pytest

import edgewise as ew
from edgewise.errors import GraphError, GraphWarning, MissingDependencyError
from examples.fastest_below_toll import FastestBelowToll

pyarrow = pytest.importorskip("pyarrow")


class Streamed:
    """A table that has nothing but the protocol of Arrow."""

    def __init__(self, table):
        self._table = table

    def __arrow_c_stream__(self, requested_schema=None):
        return self._table.__arrow_c_stream__(requested_schema)


#: Ways from a dictionary of columns to a graph.
WAYS = {
    "pandas": lambda data, *args, **how: ew.Graph.from_pandas(pandas.DataFrame(data), *args, **how),
    "pandas, Arrow types": lambda data, *args, **how: ew.Graph.from_pandas(
        pyarrow.table(data).to_pandas(types_mapper=pandas.ArrowDtype), *args, **how
    ),
    "pandas, nullable types": lambda data, *args, **how: ew.Graph.from_pandas(
        pandas.DataFrame(data).convert_dtypes(), *args, **how
    ),
    "polars": lambda data, *args, **how: ew.Graph.from_polars(polars.DataFrame(data), *args, **how),
    "Arrow": lambda data, *args, **how: ew.Graph.from_arrow(pyarrow.table(data), *args, **how),
    "batch": lambda data, *args, **how: ew.Graph.from_arrow(
        pyarrow.RecordBatch.from_pydict(data), *args, **how
    ),
    "stream": lambda data, *args, **how: ew.Graph.from_arrow(Streamed(pyarrow.table(data)), *args, **how),
    "polars by Arrow": lambda data, *args, **how: ew.Graph.from_arrow(polars.DataFrame(data), *args, **how),
    "chunks": lambda data, *args, **how: ew.Graph.from_arrow(
        pyarrow.concat_tables([pyarrow.table(data).slice(0, 2), pyarrow.table(data).slice(2)]), *args, **how
    ),
}
every_way = pytest.mark.parametrize("way", WAYS)

DATA = {
    "from": ["a", "b", "a", "c"],
    "to": ["b", "c", "c", "c"],
    "weight": [0.5, 1.5, 2.5, 3.5],
    "toll": [1, 2, 3, 4],
    "open": [True, False, True, True],
}


def same(one, other):
    """Whether two graphs have the same ids, kind and edges, with weights and attributes."""
    pairs = zip(one.edge_columns().items(), other.edge_columns().items(), strict=True)
    return (
        one.directed == other.directed
        and one.vertices.tolist() == other.vertices.tolist()
        and all(
            (name, values.dtype, values.tolist()) == (others, found.dtype, found.tolist())
            for (name, values), (others, found) in pairs
        )
    )


@every_way
@pytest.mark.parametrize("directed", [True, False])
def test_every_table_gives_the_graph_of_its_columns(way, directed):
    columns = DATA["from"], DATA["to"], DATA["weight"], directed
    attributes = {"toll": np.array(DATA["toll"]), "open": np.array(DATA["open"])}
    graph = WAYS[way](DATA, edge_attributes=True, directed=directed)
    assert same(graph, ew.Graph.from_edges(*columns, edge_attributes=attributes))
    asked = WAYS[way](
        DATA, "to", "from", None, edge_attributes=["toll"], self_loops="drop", number_edges=True
    )
    swapped = ew.Graph.from_edges(
        DATA["to"], DATA["from"], self_loops="drop", edge_attributes={"toll": attributes["toll"]}
    )
    assert same(asked, swapped) and asked.edge_numbers.tolist() == swapped.edge_numbers.tolist()
    by_toll = WAYS[way](DATA, weight="toll", vertices=["d", "c", "b", "a"])
    assert by_toll.weight_dtype == np.int64 and by_toll.vertices.tolist() == ["d", "c", "b", "a"]
    unweighted = {name: DATA[name] for name in ("from", "to")}
    assert not WAYS[way](unweighted).weighted


@every_way
@pytest.mark.parametrize("dtype", ["int32", "int64", "uint64", "uint8"])
def test_integers_of_every_width_are_ids(way, dtype):
    ids = np.array([3, 1, 200, 3], dtype) + (np.uint64(2**63) if dtype == "uint64" else np.array(0, dtype))
    graph = WAYS[way]({"source": ids, "target": ids[::-1].copy()})
    assert same(graph, ew.Graph.from_edges(ids, ids[::-1]))


@every_way
@pytest.mark.parametrize("dtype", ["int32", "int64", "float32", "float64"])
def test_weights_keep_their_dtype(way, dtype):
    values = np.array([1, 2, 3], dtype)
    data = {"source": [0, 1, 2], "target": [1, 2, 0], "weight": values, "more": values}
    graph = WAYS[way](data, edge_attributes=["more"])
    if way == "pandas, nullable types" and dtype.startswith("float"):
        assert graph.weight_dtype.kind == "i"  # pandas finds that all are whole
    else:
        assert graph.weight_dtype == graph.edge_attributes["more"].dtype == dtype


@every_way
@pytest.mark.parametrize("name", ["from", "weight", "toll", "open"])
def test_missing_values_are_refused_with_their_row(way, name):
    data = DATA | {name: [*DATA[name][:2], None, DATA[name][3]]}
    with pytest.raises(GraphError, match=rf"row 2 of the column '{name}' has no value|'open' holds object"):
        if way == "pandas" and name == "toll":  # which makes floats with NaN of it
            WAYS[way](data, weight="toll")
        else:
            WAYS[way](data, edge_attributes=True)


@every_way
def test_columns_that_are_refused(way):
    def refused(problem, data=DATA, *args, **how):
        with pytest.raises(GraphError, match=problem):
            WAYS[way](data, *args, **how)

    refused("there is no column 'x'; the columns are from, to, weight, toll, open", DATA, "x")
    refused("there is no column 'cost'", weight="cost")
    refused("there is no column 'x'", edge_attributes=["x"])
    refused("'weight' is to be two things at once", edge_attributes=["weight"])
    refused("'from' is to be two things at once", DATA, "from", "from")
    refused("edge_attributes is 'toll'; expected a list of names, or True for all", edge_attributes="toll")
    refused("the column 'x' holds .*, not numbers", DATA | {"x": list("abcd")}, weight="x")
    refused("the column 'x' holds .*, not numbers", DATA | {"x": list("abcd")}, edge_attributes=True)
    refused("the columns are a, b; expected one of a usual name for sources", {"a": [0, 1], "b": [1, 2]})
    refused("expected integers, or strings", {"source": [0.5, 1.5], "target": [1, 2]})


def test_tables_of_another_kind_are_refused():
    frame, streams = pandas.DataFrame(DATA), polars.DataFrame(DATA)
    for refused, expected in (
        (lambda: ew.Graph.from_pandas(streams), "expected a pandas DataFrame"),
        (lambda: ew.Graph.from_pandas(frame["from"]), "expected a pandas DataFrame"),
        (lambda: ew.Graph.from_polars(frame), "expected a polars DataFrame"),
        (lambda: ew.Graph.from_polars(streams.lazy()), r"a LazyFrame becomes one by .collect\(\)"),
        (lambda: ew.Graph.from_arrow([1, 2]), "what has __arrow_c_stream__"),
        (lambda: ew.Graph.from_arrow(Streamed(pyarrow.chunked_array([[1]]))), "from_arrow got"),
        (
            lambda: ew.Graph.from_pandas(pandas.concat([frame, frame], axis=1)),
            "several columns 'from'|usual name",
        ),
        (
            lambda: ew.Graph.from_pandas(pandas.concat([frame, frame], axis=1), "from", "to"),
            "several columns 'from'",
        ),
        (lambda: ew.Graph.from_edges(frame), "got one DataFrame .* Use Graph.from_pandas"),
        (lambda: ew.Graph.from_edges(streams), "got one DataFrame .* Use Graph.from_polars"),
        (lambda: ew.Graph.from_edges(streams.lazy()), "Use Graph.from_polars"),
        (lambda: ew.Graph.from_edges(pyarrow.table(DATA)), "got one Table .* Use Graph.from_arrow"),
    ):
        with pytest.raises(GraphError, match=expected):
            refused()


def test_floats_with_nan_are_values_of_attributes_and_no_weights():
    data = {"source": [0, 1], "target": [1, 0], "delay": [np.nan, 2.0]}
    for way in (
        ew.Graph.from_pandas(pandas.DataFrame(data), edge_attributes=True),
        ew.Graph.from_polars(polars.DataFrame(data), edge_attributes=True),
    ):
        assert np.isnan(way.edge_attributes["delay"]).tolist() == [True, False]
    with pytest.raises(GraphError, match="row 0 of the column 'delay' has no value"):
        ew.Graph.from_pandas(pandas.DataFrame(data), weight="delay")
    with pytest.raises(GraphError, match=r"weight\[0\] is nan"):
        ew.Graph.from_polars(polars.DataFrame(data), weight="delay")


def test_columns_of_categories_are_the_ids_of_their_categories():
    expected = ew.Graph.from_edges(DATA["from"], DATA["to"])
    plain = pandas.DataFrame({name: DATA[name] for name in ("from", "to")})
    assert same(ew.Graph.from_pandas(plain.astype("category")), expected)
    assert same(ew.Graph.from_polars(polars.DataFrame(plain).cast(polars.Categorical)), expected)
    assert same(ew.Graph.from_polars(polars.DataFrame(plain).cast(polars.Enum(["c", "b", "a"]))), expected)
    table = pyarrow.table(plain)
    encoded = pyarrow.table({name: table[name].dictionary_encode() for name in ("from", "to")})
    assert same(ew.Graph.from_arrow(encoded), expected)
    numbers = pandas.DataFrame({"source": [30, 10, 30], "target": [10, 20, 20]})
    assert same(
        ew.Graph.from_pandas(numbers.astype("category")), ew.Graph.from_edges([30, 10, 30], [10, 20, 20])
    )
    absent = plain.astype("category")
    absent.loc[1, "to"] = None
    with pytest.raises(GraphError, match="row 1 of the column 'to' has no value"):
        ew.Graph.from_pandas(absent)


def test_numbers_are_passed_on_without_a_copy(monkeypatch):
    """What `from_edges` gets lies where the table has it."""
    given = {}

    def from_edges(source, target, weight, **how):
        given.update(source=source, target=target, weight=weight)
        return ew.Graph.from_csr([0], [])

    monkeypatch.setattr(ew.Graph, "from_edges", from_edges)
    arrays = {"source": np.arange(5), "target": np.arange(5)[::-1].copy(), "weight": np.ones(5)}
    frame = pandas.DataFrame(
        {name: pandas.Series(values, copy=False) for name, values in arrays.items()}, copy=False
    )
    table, columns = pyarrow.table(arrays), polars.DataFrame(arrays)
    for make, address in (
        (lambda: ew.Graph.from_pandas(frame), lambda name: frame[name].to_numpy().ctypes.data),
        (lambda: ew.Graph.from_arrow(table), lambda name: table[name].chunk(0).buffers()[1].address),
        (lambda: ew.Graph.from_polars(columns), lambda name: columns[name]._get_buffer_info()[0]),
        (
            lambda: ew.Graph.from_pandas(table.to_pandas(types_mapper=pandas.ArrowDtype)),
            lambda name: table[name].chunk(0).buffers()[1].address,
        ),
    ):
        make()
        assert [given[name].ctypes.data for name in arrays] == [address(name) for name in arrays]
    assert frame["source"].to_numpy().ctypes.data == arrays["source"].ctypes.data


def test_empty_tables_have_no_edges():
    data = {"source": np.array([], np.int64), "target": np.array([], np.int64)}
    for way in WAYS.values():
        assert way(data, num_vertices=3).num_vertices == 3
        assert way(data).num_vertices == 0


@pytest.mark.parametrize("directed", [True, False])
@pytest.mark.parametrize("ids", ["integers", "names", "long"])
def test_edges_come_back_as_tables(directed, ids):
    draw = np.random.default_rng(5)
    source, target = draw.integers(0, 9, (2, 40))
    named = {"integers": lambda i: int(i) * 7, "names": lambda i: f"n{i}", "long": lambda i: 2**70 + int(i)}[
        ids
    ]
    source, target = list(map(named, source)), list(map(named, target))
    weight, delay = draw.random(40).astype(np.float32), draw.integers(0, 9, 40)
    graph = ew.Graph.from_edges(source, target, weight, directed, edge_attributes={"delay": delay})
    expected = sorted(
        (u, v, float(w), int(d)) if directed else (*sorted((u, v), key=graph.index_of), float(w), int(d))
        for u, v, w, d in zip(source, target, weight, delay, strict=True)
    )
    assert sorted(graph.edges("delay")) == expected
    assert [each[:3] for each in graph.edges("delay")] == list(graph.edges())
    assert sorted(zip(*(each.tolist() for each in graph.edge_columns().values()), strict=True)) == expected
    frame = graph.to_pandas()
    assert list(frame.columns) == ["source", "target", "weight", "delay"]
    assert sorted(frame.itertuples(index=False, name=None)) == expected
    if ids == "long":
        with pytest.raises(GraphError, match="Arrow has no type for these ids"):
            graph.to_arrow()
        return
    assert sorted(graph.to_polars().rows()) == expected
    assert graph.to_frame().equals(graph.to_polars())
    assert sorted(map(tuple, (each.values() for each in graph.to_arrow().to_pylist()))) == expected
    back = ew.Graph.from_pandas(frame, edge_attributes=True, directed=directed, vertices=graph.vertices)
    assert same(back, graph)


def test_edges_of_graphs_without_any():
    for graph in (ew.Graph.from_edges([], []), ew.Graph.from_edges([], [], num_vertices=1, directed=False)):
        assert list(graph.edges()) == [] and graph.to_pandas().shape == (0, 2)


def test_ids_that_tables_have_no_type_for():
    pairs = ew.Graph.from_edges([(0, 1), (0, 2)], [(0, 2), (0, 1)])
    assert pairs.to_pandas()["source"].tolist() == pairs.to_polars()["source"].to_list() == [(0, 1), (0, 2)]
    mixed = ew.Graph.from_edges(["a", 1], [1, "a"])
    assert mixed.to_pandas()["target"].tolist() == mixed.to_polars()["target"].to_list() == [1, "a"]
    for graph, kinds in ((pairs, "tuple"), (mixed, "int, str")):
        with pytest.raises(
            GraphError, match=rf"Arrow has no type for these ids \({kinds}\); use to_pandas\(\)"
        ):
            graph.to_arrow()


def test_packages_that_are_missing_are_named(monkeypatch):
    graph = ew.Graph.from_edges([0], [1])
    for package, make in (
        ("polars", lambda: ew.Graph.from_polars(None)),
        ("pyarrow", lambda: ew.Graph.from_arrow(None)),
        ("pyarrow", graph.to_arrow),
        ("pandas", lambda: ew.Graph.from_pandas(None)),
        ("pandas", graph.to_pandas),
    ):
        with monkeypatch.context() as without:
            without.setitem(sys.modules, package, None)
            with pytest.raises(MissingDependencyError, match=f"pip install {package}"):
                make()
    monkeypatch.setitem(sys.modules, "polars", None)
    assert isinstance(graph.to_frame(), pandas.DataFrame)
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(MissingDependencyError, match="pip install pandas"):
        graph.to_frame()


@pytest.mark.filterwarnings("ignore:.*in both directions")
@pytest.mark.parametrize("directed", [True, False])
def test_fastest_ways_below_a_toll_are_those_of_networkx(directed):
    """The example with two edge attributes, on a table of roads with parallel ones."""
    draw = np.random.default_rng(4)
    ends = draw.integers(0, 40, (2, 160)).astype(str).astype(object)
    minutes, toll = draw.integers(1, 60, 160).astype(float), draw.integers(0, 9, 160) * 0.5
    roads = pandas.DataFrame({"from": ends[0], "to": ends[1], "minutes": minutes, "toll": toll})
    graph = ew.Graph.from_pandas(roads, edge_attributes=["minutes", "toll"], directed=directed)
    result = ew.run(FastestBelowToll(source="3", most=2.5), graph)
    found = dict(zip(graph.vertices.tolist(), result.time.tolist(), strict=True))
    kind = nx.MultiDiGraph if directed else nx.MultiGraph
    cheap = nx.from_pandas_edgelist(roads[roads.toll <= 2.5], "from", "to", ["minutes"], kind)
    expected = nx.single_source_dijkstra_path_length(cheap, "3", weight="minutes")
    assert {vertex: time for vertex, time in found.items() if time < np.inf} == expected
    assert len(expected) > 5


def test_attributes_may_be_named_by_an_index():
    frame = pandas.DataFrame(DATA)
    assert list(ew.Graph.from_pandas(frame, edge_attributes=frame.columns[3:]).edge_attributes) == [
        "toll",
        "open",
    ]
    with pytest.raises(GraphError, match="expected a list of names, or True for all"):
        ew.Graph.from_pandas(frame, edge_attributes={"toll": DATA["toll"]})


def test_dates_are_ids():
    days = pandas.to_datetime(["2024-01-01", "2024-01-02", "2024-01-01"])
    frame = pandas.DataFrame({"source": days, "target": days[::-1]})
    assert datetime.datetime(2024, 1, 2) in ew.Graph.from_pandas(frame)
    day = datetime.date(2024, 1, 1)
    dates = ew.Graph.from_edges([day], [day + datetime.timedelta(1)])
    assert dates.to_polars()["source"].dtype == polars.Date
    assert ew.Graph.from_polars(dates.to_polars()).vertices.tolist() == dates.vertices.tolist()
    assert ew.bfs(dates, day).to_frame()["parent"].to_list() == [None, day]


def test_times_with_a_zone_are_refused_where_they_would_lose_it():
    noon = datetime.datetime(2020, 1, 1, 12, tzinfo=datetime.UTC)
    columns = {"source": [noon], "target": [noon + datetime.timedelta(1)]}
    for make, table in ((ew.Graph.from_polars, polars.DataFrame), (ew.Graph.from_arrow, pyarrow.table)):
        with pytest.raises(
            GraphError, match="column 'source' has times of the zone 'UTC', which would be lost"
        ):
            make(table(columns))
    assert noon in ew.Graph.from_pandas(pandas.DataFrame(columns))


MAKERS = {
    "pandas": (pandas.DataFrame, ew.Graph.from_pandas),
    "polars": (polars.DataFrame, ew.Graph.from_polars),
    "arrow": (pyarrow.table, ew.Graph.from_arrow),
}


@pytest.mark.parametrize("library", MAKERS)
def test_edges_listed_in_both_directions_are_told(library):
    make, read = MAKERS[library]
    table = make({"source": ["a", "b", "c", "c"], "target": ["b", "a", "a", "a"]})
    with pytest.warns(
        GraphWarning, match=r"table lists 1 edges in both directions.*parallel_edges=\"first\""
    ):
        graph = read(table, directed=False, vertices=list("dcba"))
    assert graph.num_edges == 4
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert read(table, directed=False, parallel_edges="first").num_edges == 2
        read(table)
        read(make({"source": [3, 3, 7], "target": [7, 7, 7]}), directed=False)


@pytest.mark.parametrize("library", MAKERS)
def test_numbers_under_a_usual_name_of_weights_are_told(library):
    make, read = MAKERS[library]
    table = make({"source": [0, 1], "target": [1, 2], "cost": [2, 3], "length": ["x", "y"], "year": [1, 2]})
    with pytest.warns(GraphWarning, match=r"numbers in 'cost' were left out\. weight='cost' takes them"):
        assert not read(table).weighted
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert read(table, weight="cost").weights.tolist() == [2, 3]
        read(table, weight=None)
        read(table, edge_attributes=["cost"])
    with pytest.raises(
        TypeError, match=rf"^from_{library}\(\) got an unexpected keyword argument 'weighted'; weight=N"
    ):
        read(table, weight=None, weighted=False)


def test_times_and_integers_that_numpy_does_not_hold_are_refused():
    times = polars.Series([1000, 1001], dtype=polars.Int64).cast(polars.Time)
    wide = polars.Series([1, 2], dtype=polars.Int128)
    arrow = pyarrow.array([1000, 1001], pyarrow.time64("ns"))
    for column, problem in (
        (times, "row 1 has the time"),
        (wide, "NumPy has no Int128"),
        (arrow, "nanoseconds"),
    ):
        with pytest.raises(GraphError, match=problem):
            ew.Graph.from_edges(column, column)
        read, table = (
            (ew.Graph.from_arrow, pyarrow.table)
            if column is arrow
            else (ew.Graph.from_polars, polars.DataFrame)
        )
        with pytest.raises(GraphError, match=f"the column 'source': .*{problem}"):
            read(table({"source": column, "target": column}))
    exact = times[:1]
    assert ew.Graph.from_edges(exact, exact).vertices.tolist() == [datetime.time(0, 0, 0, 1)]


def test_columns_of_no_numbers_say_what_converts_them():
    ends = {"source": [0], "target": [1]}
    for values, advice in (([3], "such as 3 in row 0.*pandas.to_numeric"), (["x"], "to_numeric")):
        with pytest.raises(GraphError, match=advice):
            ew.Graph.from_pandas(pandas.DataFrame(ends | {"weight": pandas.Series(values, dtype=object)}))
    with pytest.raises(GraphError, match=r"spans of time by \.dt\.total_seconds\(\)"):
        ew.Graph.from_pandas(pandas.DataFrame(ends | {"weight": pandas.to_timedelta([3])}))
    with pytest.raises(GraphError, match="the table has no columns"):
        ew.Graph.from_pandas(pandas.DataFrame())
