"""GraphML, a format of XML for small graphs: nodes with ids, and edges with data.

Ids are integers if all of them are written as integers are, else names; also if ``<desc>Ids: names</desc>`` comes
first. Weights are the edges' data whose key has the name "weight". Nested graphs, hyperedges and ports are no part of a
graph here.

Brandes, Eiglsperger, Herman, Himsolt, Marshall, "GraphML Progress Report" (Graph Drawing 2001).
"""

import math
import re
from array import array
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import IO, Any, NamedTuple, NoReturn

import numpy as np

from edgewise.convert.usual_names import is_weight
from edgewise.errors import GraphWarning, OutputError, ParseError, warn
from edgewise.graph import Graph
from edgewise.io.budget import NAME_BYTES, Budget, bytes_of_graph
from edgewise.io.column_texts import as_written
from edgewise.io.fields import is_integer, is_number
from edgewise.io.formats import GraphFormat, Report
from edgewise.io.lines import Edges
from edgewise.io.markup import Element, elements
from edgewise.io.once import CHUNK, edges_once
from edgewise.io.options import ReadOptions
from edgewise.io.reading import make_graph
from edgewise.io.source import TextFile
from edgewise.io.writing import LARGEST_WRITTEN, MOST_DIGITS, check_plain_ids
from edgewise.memory import held, in_turn
from edgewise.text import listed, printable, shown

_DECLARED_NAMES = "Ids: names"
#: Which elements may stand in which, and those that hold text.
_CHILDREN = {
    "": {"graphml"},
    "graphml": {"desc", "key", "data", "graph"},
    "key": {"desc", "default"},
    "graph": {"desc", "data", "node", "edge"},
    "node": {"desc", "data"},
    "edge": {"desc", "data"},
}
_LEAVES = frozenset({"desc", "data", "default"})
_INTEGERS, _FLOATS = {"int", "long", "integer"}, {"float", "double", "real"}
_TYPES = {"int32": "int", "int64": "long", "float32": "float", "float64": "double"}
_FLAGS = {"true": True, "1": True, "false": False, "0": False}
_INT64 = np.iinfo(np.int64)
#: Elements between two looks at the memory that has been taken.
_LOOK = 2**14
#: Bytes of an edge while it is read: both indices and the weight, which grow by copies.
_EDGE_BYTES = 2 * (4 + 4 + 8)
#: Characters that XML 1.0 cannot hold.
_NOT_IN_XML = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")
#: Bytes of the line of an arc while it is written, and of an id in quotes.
_LINE_BYTES, _QUOTED_BYTES = 300, 100
#: A byte order mark, the declaration, comments, and the first element.
_STARTS = re.compile(
    rb"(\xef\xbb\xbf)?\s*(<\?xml[^>]*\?>\s*)?(<!--.*?-->\s*)*<([\w.-]+:)?graphml\b", re.DOTALL
)


class _Key(NamedTuple):
    """A key of data of edges: what it is called, its type, and the value of edges that have none."""

    name: str
    kind: str
    default: str | None


class _Weights:
    """The weights of edges: the data of keys of one name, of which there may be one for integers and one for floats.

    Attributes:
        keys: their ids; none if edges have no weights.
        doubt: what to warn of if other data may have been meant.
        values: of all edges, int64 or float64; None if they have none.
    """

    def __init__(self, keys: dict[str, _Key], options: ReadOptions, fail: Callable[[str], NoReturn]) -> None:
        self._fail, self.doubt = fail, ""
        self.keys = set() if options.weighted is False else self._chosen(keys, options)
        self._whole = all(keys[place].kind in _INTEGERS for place in self.keys)
        defaults = (keys[place].default for place in self.keys)
        self._default = next((default for default in defaults if default is not None), None)
        self.values: array[Any] | None = None
        self._count = 0

    def add(self, text: str | None) -> None:
        """Take the text of an edge's weight, or None."""
        if text is None:
            text = self._default
        self._count += 1
        if self._count == 1 and text is not None:
            self.values = array("q" if self._whole else "d")
        if (self.values is None) != (text is None):
            self._fail(
                "some edges have weights and some have none; expected one of the two. weighted=False leaves them out"
            )
        if text is not None and self.values is not None:
            self.values.append(self._number(text.strip()))

    def _number(self, text: str) -> float:
        whole = self._whole
        right = is_integer(text) if whole else is_number(text) and text.isascii() and "_" not in text
        if right and len(text) < MOST_DIGITS:
            value = (int if whole else float)(text)
            if _INT64.min <= value <= _INT64.max if whole else math.isfinite(value):
                return value
        expected = "an integer of 64 bits" if whole else "a finite number"
        self._fail(f"got the weight {shown(text)}; expected {expected}")

    def _chosen(self, keys: dict[str, _Key], options: ReadOptions) -> set[str]:
        wanted = options.weight_column
        numeric = {place for place, key in keys.items() if key.kind in _INTEGERS | _FLOATS}
        names = {keys[place].name for place in numeric}
        chosen = {
            place
            for place, key in keys.items()
            if (is_weight(key.name) if wanted is None else key.name == wanted)
        }
        if not chosen and wanted is None and options.weighted and len(names) == 1:
            return numeric
        some = listed(map(shown, sorted(names)))
        if not chosen and (wanted is not None or options.weighted):
            sought = "weight" if wanted is None else wanted
            has = f"only {some}" if names else "none of numbers"
            self._fail(f"edges have no data {shown(sought)}, {has}; weight_column= names the weights")
        for place in chosen - numeric:
            self._fail(
                f"the data {shown(keys[place].name)} of edges are of type {shown(keys[place].kind)}; expected int, "
                "long, float or double. weighted=False leaves weights out"
            )
        if not chosen and names:
            self.doubt = (
                f"has numbers of its edges that were left out: {some}. weight_column= takes those of one name as "
                "weights, and weighted=False says that there are none"
            )
        return chosen


@dataclass
class _Document:
    """What has been read of a file.

    Attributes:
        ids: the index of each node, by its id, in the order in which the file has them.
        source, target: of the edges.
        directed: whether edges have a direction, as they or the file say; None where neither does.
        names: whether the file says that ids are names.
        nodes_have_names: whether nodes have data called "name".
    """

    file: TextFile
    options: ReadOptions
    ids: dict[str, int] = field(default_factory=dict)
    source: "array[int]" = field(default_factory=lambda: array("i"))
    target: "array[int]" = field(default_factory=lambda: array("i"))
    directed: bool | None = None
    names: bool = False
    nodes_have_names: bool = False
    _open: list[str] = field(default_factory=lambda: [""])
    _attributes: dict[str, str] = field(default_factory=dict)
    _keys: dict[str, _Key] = field(default_factory=dict)
    _weights: _Weights = field(init=False)
    _data: str = ""
    _value: str | None = None
    _default: bool | None = None
    _graphs: int = 0
    _declared: bytearray = field(default_factory=bytearray)
    _lines: dict[int, int] = field(default_factory=dict)
    _line: int = 1
    _of_ids: int = 0

    @property
    def weight(self) -> "array[Any] | None":
        """The weights of the edges, or None."""
        return self._weights.values

    def read(self, report: Report) -> None:
        """Read the whole file, and report the number of bytes of text that have been read.

        Raises:
            ParseError: no GraphML, or what makes no graph here; with the line.
            MemoryLimitError: the graph does not fit.
        """
        for number, element in enumerate(elements(self.file, _LEAVES, report)):
            self._line = element.line
            if element.attributes is None:
                self._close(element)
            else:
                self._begin(element.name, element.attributes)
            if self._graphs and number % _LOOK == 0:
                self._check_room()
        if not self._graphs:
            self._fail("the file ends without a graph; expected <graph> in <graphml>")
        self._check_room()
        if self.options.weighted and self.weight is None and self.source:
            self._fail("no edge has a weight to read with weighted=True")
        for index, line in self._lines.items():
            self._line = line
            if not self._declared[index]:
                self._fail(f"an edge joins {shown(list(self.ids)[index])}, which is no node of the file")

    def _check_room(self) -> None:
        """Refuse what does not fit. Raises MemoryLimitError."""
        count = len(self.source)
        graph = bytes_of_graph(8 * count, 8 * count * (self.weight is not None), count, self.options)
        self.file.budget.check(NAME_BYTES * len(self.ids) + self._of_ids + _EDGE_BYTES * count + graph)

    def _begin(self, name: str, attributes: dict[str, str]) -> None:
        outer = self._open[-1]
        if name not in _CHILDREN.get(outer, ()) or (name == "graph" and self._graphs):
            advice = "expected one graph of nodes and edges. Flatten it first, e.g. with networkx"
            place = f"<{outer}>" if outer else "the file"
            self._fail(f"got <{name}> in {place}; {advice if outer else 'expected <graphml>'}")
        self._open.append(name)
        if name not in _LEAVES:
            self._attributes, self._value = attributes, None
        if name == "graph":
            self._start_graph()
        elif name == "node":
            self._add_node()
        elif name == "data":
            self._data = attributes.get("key", "")
        elif name == "edge" and ("sourceport" in attributes or "targetport" in attributes):
            self._fail("got an edge to a port; expected one between nodes")

    def _close(self, element: Element) -> None:
        self._open.pop()
        name = element.name
        if name == "desc":
            self.names |= self._open[-1] == "graphml" and element.text.strip() == _DECLARED_NAMES
        elif name == "default":
            self._value = element.text
        elif name == "key":
            self._add_key()
        elif name == "data" and self._open[-1] == "edge":
            self._take_data(element.text)
        elif name == "edge":
            self._add_edge()

    def _take_data(self, text: str) -> None:
        """Keep the data of an edge that are its weight."""
        if self._data not in self._keys:
            self._fail(
                f"got data of the key {shown(self._data)}, which is none of edges; expected <key> before <graph>"
            )
        if self._data in self._weights.keys:
            if self._value is not None:
                self._fail("got two weights of an edge; expected one")
            self._value = text

    def _add_key(self) -> None:
        attributes = self._attributes
        self.nodes_have_names |= attributes.get("for") == "node" and attributes.get("attr.name") == "name"
        if attributes.get("for", "all") in ("edge", "all"):
            key = _Key(attributes.get("attr.name", ""), attributes.get("attr.type", "string"), self._value)
            self._keys[attributes.get("id", "")] = key

    def _start_graph(self) -> None:
        """Note the direction, and choose the weights; keys come before."""
        self._graphs += 1
        given = self._attributes.get("edgedefault")
        if given not in ("directed", "undirected", None):
            self._fail(f"edgedefault is {shown(given)}; expected directed or undirected")
        self.directed = self._default = None if given is None else given == "directed"
        self._weights = _Weights(self._keys, self.options, self._fail)
        if self._weights.doubt:
            warn(printable(f"{self.file.path} {self._weights.doubt}"), GraphWarning)

    def _add_node(self) -> None:
        index = self._index(self._attributes.get("id"), "a node without an id")
        if self._declared[index]:
            self._fail(f"got a second node {shown(self._attributes['id'])}; expected distinct ids")
        self._declared[index] = True

    def _index(self, node: str | None, without: str) -> int:
        """The index of a node."""
        if node is None:
            self._fail(f"got {without}; expected GraphML")
        index = self.ids.setdefault(node, len(self.ids))
        if index == len(self._declared):
            self._declared.append(False)
            self._of_ids += len(node)
        return index

    def _add_edge(self) -> None:
        attributes = self._attributes
        for end, column in (("source", self.source), ("target", self.target)):
            index = self._index(attributes.get(end), f"an edge without a {end}")
            if not self._declared[index]:
                self._lines.setdefault(index, self._line)
            column.append(index)
        self._weights.add(self._value)
        given = attributes.get("directed")
        directed = self._default if given is None else _FLAGS.get(given)
        if directed is None and given is not None:
            self._fail(f"directed is {shown(given)}; expected true or false")
        if directed is None and self.options.directed is None:
            self._fail("neither the graph nor the edge says whether it is directed; give directed=")
        if len(self.source) > 1 and directed != self.directed:
            self._fail("got edges with a direction and edges without; expected one kind")
        self.directed = directed

    def _fail(self, problem: str) -> NoReturn:
        raise ParseError(f"{self.file.path}:{self._line}: {problem}")


def _read(budget: Budget, options: ReadOptions, report: Report) -> tuple[Graph, int]:
    document = _Document(TextFile(budget.path, budget), options)
    document.read(report)
    names = list(document.ids)
    integers = not document.names if options.names is None else not options.names
    other = next((name for name in names if not _is_canonical(name)), None) if integers else None
    if other is not None and options.names is False:
        raise ParseError(
            f"{budget.path} has the id {shown(other)}; with names=False, expected integers without zeros before them"
        )
    if document.nodes_have_names and names and all(name == f"n{index}" for index, name in enumerate(names)):
        warn(
            f"{printable(str(budget.path))} has the ids n0, n1, ... that igraph writes; the names of its nodes, which "
            "are data, were left out. Give edges between names to Graph.from_edges to keep them",
            GraphWarning,
        )
    source, target = (np.array(ends, np.int32) for ends in (document.source, document.target))
    weight = None if document.weight is None else np.array(document.weight)
    undirected = document.directed is False or options.directed is False
    wanted = replace(options, directed=not undirected)
    edges = Edges(source, target, weight, names)
    graph, mirrored = make_graph(edges, wanted, budget, integers and other is None)
    return graph.as_directed() if options.directed else graph, mirrored


def _is_canonical(name: str) -> bool:
    """Whether a name is what Python writes for an integer, so that no two of them are one integer."""
    digits = name.removeprefix("-")
    return digits.isascii() and digits.isdecimal() and (digits[0] != "0" or name == "0")


def _write(graph: Graph, file: IO[bytes], suffix: str, progress: Callable[[int], None]) -> None:
    """Write all nodes, and each edge once."""
    from xml.sax.saxutils import quoteattr

    check_plain_ids(graph)
    ids = [str(each) if _is_writable(each) else _refuse(each) for each in graph.vertices.tolist()]
    unclear = graph.has_names and all(map(_is_canonical, ids))
    kind = "" if graph.weight_dtype is None else _TYPES[graph.weight_dtype.name]
    lines = [
        '<?xml version="1.0" encoding="UTF-8"?>',
        '<graphml xmlns="http://graphml.graphdrawing.org/xmlns">',
    ]
    if unclear:
        lines.append(f"<desc>{_DECLARED_NAMES}</desc>")
    if kind:
        lines.append(f'<key id="w" for="edge" attr.name="weight" attr.type="{kind}"/>')
    lines.append(f'<graph edgedefault="{"directed" if graph.directed else "undirected"}">\n')
    file.write("\n".join(lines).encode())
    quoted = list(map(quoteattr, ids))
    for start in range(0, len(quoted), CHUNK):
        file.write("".join(f"<node id={node}/>\n" for node in quoted[start : start + CHUNK]).encode())
    for source, target, weight, done in edges_once(graph):
        ends = zip(source.tolist(), target.tolist(), strict=True)
        starts = (f"<edge source={quoted[u]} target={quoted[v]}" for u, v in ends)
        if weight is None:
            text = "".join(f"{start}/>\n" for start in starts)
        else:
            pairs = zip(starts, as_written(weight), strict=True)
            text = "".join(f'{start}><data key="w">{value}</data></edge>\n' for start, value in pairs)
        file.write(text.encode())
        progress(done)
    file.write(b"</graph>\n</graphml>\n")


def _is_writable(node: int | str) -> bool:
    if isinstance(node, str):
        return not _NOT_IN_XML.search(node)
    return abs(node) < LARGEST_WRITTEN


def _refuse(node: int | str) -> NoReturn:
    raise OutputError(
        f"the id {shown(node)} cannot stand in XML, which has no control characters, or is too long; give other ids"
    )


def _writing(graph: Graph) -> int:
    lines = held(_LINE_BYTES * min(CHUNK, max(graph.num_arcs, graph.num_vertices)))
    quoted = held((2 * _QUOTED_BYTES) * graph.num_vertices)
    return in_turn(graph.making(), graph.reading_ids(), quoted, lines).most


GRAPHML = GraphFormat(
    name="graphml",
    suffixes=(".graphml",),
    looks_like=lambda head: _STARTS.match(head) is not None,
    read=_read,
    write=_write,
    writing=_writing,
    options=frozenset({"weighted", "weight_column", "names"}),
    packed=True,
)
