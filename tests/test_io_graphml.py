"""GraphML, against NetworkX and igraph."""

import contextlib
import gzip
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pytest
from io_cases import drawn, edges_of, sorted_edges

from edgewise.errors import EdgewiseError, GraphWarning, MemoryLimitError, OutputError, ParseError
from edgewise.graph import Graph
from edgewise.io import read, write

NODES = '<node id="a"/><node id="b"/><node id="c"/>'


@pytest.fixture
def document(tmp_path: Path) -> Any:
    """Writes a document from what stands in its graph, and before it."""

    def make(inner: str, before: str = "", default: str = 'edgedefault="directed"') -> Path:
        path = tmp_path / "a.graphml"
        xmlns = 'xmlns="http://graphml.graphdrawing.org/xmlns"'
        path.write_text(
            f"<?xml version='1.0'?>\n<graphml {xmlns}>{before}\n<graph {default}>{inner}\n</graph></graphml>"
        )
        return path

    return make


def as_networkx(graph: Graph) -> Any:
    """The same graph in NetworkX."""
    made = nx.MultiDiGraph() if graph.directed else nx.MultiGraph()
    made.add_nodes_from(graph.vertices.tolist())
    for u, v, *weight in edges_of(graph):
        if graph.directed or u <= v:
            made.add_edge(u, v, **({"weight": weight[0]} if weight else {}))
    return made


@pytest.mark.parametrize("directed", [True, False])
@pytest.mark.parametrize("weights", [None, "int64", "float64"])
def test_files_of_networkx(tmp_path: Path, directed: bool, weights: str | None) -> None:
    graph = drawn(directed, weights)
    nx.write_graphml(as_networkx(graph), tmp_path / "a.graphml")
    back = read(tmp_path / "a.graphml")
    assert (back.directed, back.num_vertices, back.num_edges) == (directed, 40, graph.num_edges)
    assert sorted_edges(back) == sorted_edges(graph)
    assert back.weight_dtype == graph.weight_dtype


@pytest.mark.parametrize("directed", [True, False])
@pytest.mark.parametrize("weights", [None, "int32", "int64", "float32", "float64"])
@pytest.mark.parametrize("name", ["a.graphml", "a.graphml.gz"])
def test_written_as_networkx_reads_it_and_read_back(
    tmp_path: Path, directed: bool, weights: str | None, name: str
) -> None:
    graph = drawn(directed, weights)
    done: list[int] = []
    write(graph, tmp_path / name, done.append)
    assert done[-1] == graph.num_arcs
    loaded = nx.read_graphml(tmp_path / name, node_type=int, force_multigraph=True)
    assert (loaded.is_directed(), sorted(loaded)) == (directed, graph.vertices.tolist())
    found = sorted(
        (*(sorted(ends) if not directed else ends), *data.values()) for *ends, data in loaded.edges(data=True)
    )
    expected = [edge for edge in sorted_edges(graph) if directed or edge[0] <= edge[1]]
    assert np.allclose(found, expected, rtol=1e-7) if expected else not found
    back = read(tmp_path / name)
    assert sorted_edges(back) == sorted_edges(graph)
    assert (back.directed, back.num_edges, back.num_vertices) == (directed, graph.num_edges, 40)
    kinds = {None: None, "i": np.int64, "f": np.float64}
    assert back.weight_dtype == kinds[weights and weights[0]]


def test_suffixes_of_compressions_may_be_in_capitals(tmp_path: Path) -> None:
    write(drawn(True, None), tmp_path / "a.graphml.GZ")
    assert gzip.decompress((tmp_path / "a.graphml.GZ").read_bytes()).startswith(b"<?xml")
    assert sorted_edges(read(tmp_path / "a.graphml.GZ")) == sorted_edges(drawn(True, None))


def test_files_of_igraph(tmp_path: Path) -> None:
    igraph = pytest.importorskip("igraph")
    graph = drawn(True, "int64")
    write(graph, tmp_path / "a.graphml")
    loaded = igraph.Graph.Read_GraphML(str(tmp_path / "a.graphml"))
    assert (loaded.vcount(), loaded.ecount(), loaded.is_directed()) == (40, 150, True)
    loaded.write_graphml(str(tmp_path / "b.graphml"))
    back = read(tmp_path / "b.graphml")
    assert back.vertices.tolist() == [f"n{index}" for index in range(40)]
    assert sorted((int(u[1:]), int(v[1:]), w) for u, v, w in edges_of(back)) == sorted_edges(graph)
    igraph.Graph.TupleList([("a", "b")]).write_graphml(str(tmp_path / "b.graphml"))
    with pytest.warns(GraphWarning, match=r"ids n0, n1, \.\.\. that igraph writes; the names of its nodes"):
        assert read(tmp_path / "b.graphml").vertices.tolist() == ["n0", "n1"]


@pytest.mark.parametrize(
    "ids",
    [
        ["b", "a", "ä & <\"'> \t\n", "d"],
        ["1", "2", "3", "4"],
        ["07", "7", "-0", ""],
        [2**70, -5, 0, 7],
        [2**63, 2**64 - 1, 1, 2],
    ],
)
def test_ids_come_back(tmp_path: Path, ids: list) -> None:
    graph = Graph.from_edges(ids[:3], ids[1:])
    write(graph, tmp_path / "a.graphml")
    assert read(tmp_path / "a.graphml").vertices.tolist() == graph.vertices.tolist()
    assert edges_of(read(tmp_path / "a.graphml")) == edges_of(graph)


def test_ids_are_integers_if_all_of_them_are(document: Any) -> None:
    path = document('<node id="10"/><node id="9"/><edge source="10" target="9"/>')
    assert read(path).vertices.tolist() == [9, 10]
    assert edges_of(read(path)) == [(10, 9)]
    assert read(path, names=True).vertices.tolist() == ["10", "9"]
    mixed = document('<node id="10"/><node id="09"/>')
    assert read(mixed).vertices.tolist() == ["10", "09"]
    with pytest.raises(
        ParseError, match="has the id '09'; with names=False, expected integers without zeros"
    ):
        read(mixed, names=False)


def test_vertices_without_edges_and_edges_before_nodes(document: Any) -> None:
    path = document('<edge source="c" target="a"/>' + NODES)
    graph = read(path)
    assert graph.vertices.tolist() == ["c", "a", "b"]
    assert edges_of(graph) == [("c", "a")]
    assert read(document(NODES)).num_vertices == 3
    assert read(document("")).num_vertices == 0


def test_direction(document: Any) -> None:
    edges = '<edge source="a" target="b"/><edge source="b" target="a"/>'
    assert read(document(NODES + edges)).directed
    path = document(NODES + edges, default='edgedefault="undirected"')
    with pytest.warns(GraphWarning, match="lists 1 edges in both directions"):
        assert read(path).num_edges == 2
    assert read(path, parallel_edges="first").num_edges == 1
    both = read(path, directed=True, parallel_edges="first")
    assert (both.directed, both.num_edges) == (True, 2)
    turned = edges.replace("/>", ' directed="false"/>')
    assert not read(document(NODES + turned), parallel_edges="first").directed
    mixed = document(NODES + edges + '<edge source="a" target="c" directed="false"/>')
    with pytest.raises(
        ParseError, match=r"graphml:3: got edges with a direction and edges without; expected one kind"
    ):
        read(mixed)
    unknown = document(NODES + edges, default="")
    with pytest.raises(ParseError, match="neither the graph nor the edge says whether it is directed"):
        read(unknown)
    assert read(unknown, directed=True).num_edges == 2
    assert (
        read(document(NODES + edges), directed=False, parallel_edges="first", self_loops="drop").num_edges
        == 1
    )


def weighted(*texts: str | None) -> str:
    """Nodes, and an edge for each text of its weight."""
    data = ("" if text is None else f'<data key="w">{text}</data>' for text in texts)
    return NODES + "".join(f'<edge source="a" target="b">{each}</edge>' for each in data)


def key(kind: str, name: str = "weight", default: str = "", place: str = "w") -> str:
    return f'<key id="{place}" for="edge" attr.name="{name}" attr.type="{kind}">{default}</key>'


def test_weights(document: Any) -> None:
    assert read(document(weighted("5", " -7 "), key("int"))).weights.tolist() == [5, -7]
    floats = read(document(weighted("5", "1e3"), key("double")))
    assert floats.weights.tolist() == [5.0, 1000.0]
    assert floats.weight_dtype == np.float64
    assert not read(document(weighted("5"), key("int")), weighted=False).weighted
    default = document(weighted(None, "2"), key("long", default="<default>9</default>"))
    assert read(default).weights.tolist() == [9, 2]
    assert not read(document(weighted(None), key("int"))).weighted
    two = '<edge source="a" target="b"><data key="v">1</data></edge>' + weighted("2.5").removeprefix(NODES)
    path = document(NODES + two, key("long", place="v") + key("double"))  # as NetworkX writes 1 and 2.5
    assert read(path).weights.tolist() == [1.0, 2.5]


def test_other_data_of_edges_are_weights_only_if_they_are_named(document: Any) -> None:
    path = document(weighted("5", "7"), key("int", name="length") + key("string", name="kind", place="k"))
    with pytest.warns(
        GraphWarning, match=r"numbers of its edges that were left out: 'length'. weight_column= takes"
    ):
        assert not read(path).weighted
    assert read(path, weight_column="length").weights.tolist() == [5, 7]
    assert read(path, weighted=True).weights.tolist() == [5, 7]
    assert not read(path, weighted=False).weighted
    with pytest.raises(ParseError, match="edges have no data 'width', only 'length'"):
        read(path, weight_column="width")
    with pytest.raises(ParseError, match="the data 'kind' of edges are of type 'string'; expected int, long"):
        read(path, weight_column="kind")
    with pytest.raises(ParseError, match="edges have no data 'weight', none of numbers"):
        read(document(weighted()), weighted=True)
    with pytest.raises(ParseError, match="no edge has a weight to read with weighted=True"):
        read(document(weighted(None), key("int")), weighted=True)


@pytest.mark.parametrize(
    ("kind", "text", "expected"),
    [
        ("int", "1.5", "got the weight '1.5'; expected an integer of 64 bits"),
        ("int", str(2**63), "expected an integer of 64 bits"),
        ("int", "9" * 5000, "expected an integer of 64 bits"),
        ("int", "", "got the weight ''"),
        ("double", "nan", "got the weight 'nan'; expected a finite number"),
        ("double", "1e999", "expected a finite number"),
        ("double", "1_0", "expected a finite number"),
        ("double", "<x>1</x>", "got the weight ''"),
        ("double", "1</data><data key='w'>2", "got two weights of an edge"),
        ("double", "1</data><data key='z'>2", "got data of the key 'z', which is none of edges"),
        ("string", "1", "the data 'weight' of edges are of type 'string'"),
    ],
)
def test_what_is_no_weight(document: Any, kind: str, text: str, expected: str) -> None:
    with pytest.raises(ParseError, match=rf"a\.graphml:[23]: .*{expected}"):
        read(document(weighted(text), key(kind)))


def test_weights_of_some_edges(document: Any) -> None:
    for texts in (("1", None), (None, "1")):
        with pytest.raises(ParseError, match="some edges have weights and some have none"):
            read(document(weighted(*texts), key("int")))


@pytest.mark.parametrize(
    ("inner", "expected"),
    [
        ("<hyperedge/>", "got <hyperedge> in <graph>; expected one graph of nodes and edges. Flatten it"),
        ("<node id='a'><graph edgedefault='directed'/></node>", "got <graph> in <node>"),
        ("<node id='a'><port name='p'/></node>", "got <port> in <node>"),
        ("<edge source='a' target='b' sourceport='p'/>", "got an edge to a port"),
        ("</graph><graph edgedefault='directed'>", "got <graph> in <graphml>"),
        ("<node/>", "got a node without an id"),
        ("<node id='a'/><node id='a'/>", "got a second node 'a'; expected distinct ids"),
        ("<node id='a'/><edge source='a'/>", "got an edge without a target"),
        ("<node id='a'/><edge source='a' target='x'/>", "an edge joins 'x', which is no node of the file"),
        ("<edge source='a' target='b' directed='maybe'/>", "directed is 'maybe'; expected true or false"),
        ("<node id='a'>", "mismatched tag; expected XML"),
        ("&lol;", "undefined entity"),
    ],
)
def test_what_is_no_graph_is_refused_with_its_line(document: Any, inner: str, expected: str) -> None:
    with pytest.raises(ParseError, match=rf"a\.graphml:[34]: {expected}"):
        read(document(inner))


def test_other_documents_are_refused(document: Any, tmp_path: Path) -> None:
    with pytest.raises(ParseError, match="edgedefault is 'both'; expected directed or undirected"):
        read(document("", default='edgedefault="both"'))
    path = tmp_path / "a.graphml"
    for text, expected in (
        ("<gexf/>", "got <gexf> in the file; expected <graphml>"),
        ("<graphml/>", "the file ends without a graph"),
        ("<graphml>", "no element found; expected XML"),
        ("1 2\n", "syntax error; expected XML"),
    ):
        path.write_text(text)
        with pytest.raises(ParseError, match=expected):
            read(path)


def test_entities_are_refused_before_they_grow(tmp_path: Path) -> None:
    lines = ['<!ENTITY a0 "lol">', *(f'<!ENTITY a{i + 1} "{f"&a{i};" * 10}">' for i in range(9))]
    path = tmp_path / "a.graphml"
    path.write_text(f'<!DOCTYPE graphml [{"".join(lines)}]><graphml><graph edgedefault="&a9;"/></graphml>')
    with pytest.raises(
        ParseError, match=r"graphml:1: got a document type \(DTD\), which may define entities"
    ):
        read(path, memory_limit=2**22)
    path.write_text('<!DOCTYPE graphml SYSTEM "file:///etc/passwd"><graphml/>')
    with pytest.raises(ParseError, match="document type"):
        read(path)


def test_foreign_data_namespaces_and_encodings(tmp_path: Path) -> None:
    text = (
        "<?xml version='1.0' encoding='ISO-8859-1'?>\n<!-- yEd -->\n<g:graphml xmlns:g='http://g' xmlns:y='http://y'>"
        "<g:key for='node' id='d'/><g:graph id='G' edgedefault='directed' y:x='1'><g:desc>a <b/></g:desc>"
        "<g:data key='d'/><g:node id='\xe4'><g:data key='d'><y:node id='z'><y:edge/></y:node></g:data></g:node>"
        "<g:edge id='e' source='\xe4' target='\xe4'/></g:graph></g:graphml>"
    )
    path = tmp_path / "a.xml"
    path.write_bytes(text.encode("latin-1"))
    assert edges_of(read(path)) == [("ä", "ä")]
    path = tmp_path / "a.graphml.gz"
    path.write_bytes(gzip.compress(text.encode("latin-1")))
    assert read(path).num_vertices == 1


def test_recognised_by_content_and_name(document: Any, tmp_path: Path) -> None:
    path = document(NODES)
    content = path.read_bytes()
    other = tmp_path / "a.txt"
    other.write_bytes(content)
    assert read(other).num_vertices == 3
    packed = tmp_path / "a.xml.gz"
    packed.write_bytes(gzip.compress(content))
    with pytest.raises(ParseError, match=r'looks like GraphML \(by its first line\); give format="graphml"'):
        read(packed)
    seen: list[int] = []
    assert read(packed, format="graphml", progress=seen.append).num_vertices == 3
    assert seen == [len(content)]


@pytest.mark.parametrize("option", [{"num_vertices": 2}, {"columns": (0, 1)}, {"header": True}])
def test_options_of_other_formats_are_refused(document: Any, option: dict[str, Any]) -> None:
    with pytest.raises(ParseError, match=f"is read as graphml, which has no option {next(iter(option))}"):
        read(document(NODES), **option)


def test_memory_limit(document: Any) -> None:
    path = document("".join(f'<node id="{i}"/>' for i in range(50_000)))
    with pytest.raises(MemoryLimitError, match="memory_limit is 2,000,000"):
        read(path, memory_limit=2e6)


def test_any_change_of_a_byte_is_read_or_refused(document: Any) -> None:
    path = document(weighted("1", "2"), key("int"))
    content, random = path.read_bytes(), np.random.default_rng(1)
    for _ in range(100):
        changed = bytearray(content)
        changed[random.integers(len(content))] = int(random.integers(256))
        path.write_bytes(changed)
        with contextlib.suppress(EdgewiseError):
            read(path)


@pytest.mark.parametrize("name", ["\0", "a\x1b", "\ud800", "\uffff"])
def test_ids_that_xml_cannot_hold(tmp_path: Path, name: str) -> None:
    with pytest.raises(OutputError, match="cannot stand in XML"):
        write(Graph.from_edges([name], ["b"]), tmp_path / "a.graphml")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("name", ["a.graphml", "a.parquet"])
def test_ids_of_other_kinds_cannot_be_written(tmp_path: Path, name: str) -> None:
    with pytest.raises(OutputError, match=r"ids such as \(0, 1\), .* cannot stand in this format"):
        write(Graph.from_edges([(0, 1)], [(1, 1)]), tmp_path / name)
    with pytest.raises(OutputError, match="cannot stand in this format"):
        write(Graph.from_edges([0], ["b"]), tmp_path / name)
