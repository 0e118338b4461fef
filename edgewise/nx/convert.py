"""Graphs of NetworkX as graphs of the backend, and back.

Converting walks NetworkX's dicts of dicts once, without a tuple for each edge: only lengths, keys and values are read.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from itertools import chain, compress, islice
from operator import itemgetter
from typing import Any

import networkx as nx
import numpy as np

from edgewise.graph.csr import Rows, offset_dtype, row_of_arcs
from edgewise.nx.columns import as_column
from edgewise.nx.garbage import uncollected
from edgewise.nx.graph import BackendGraph, Contents, Parallel

#: Gives the vertices of a list of nodes, int32.
VerticesOf = Callable[[list[Any]], np.ndarray]
#: Nodes that are integers are looked up in a table of at most so many places for each.
_ROOM = 8
#: Neighbours that are looked at together: these objects stay in the processor's cache.
_PART = 4096
NUMPY_INTEGERS = tuple(np.dtype(code).type for code in np.typecodes["AllInteger"])


def convert_from_nx(
    graph: Any,
    *,
    edge_attrs: Mapping[Any, Any] | None = None,
    node_attrs: Mapping[Any, Any] | None = None,
    preserve_edge_attrs: bool = False,
    preserve_node_attrs: bool = False,
    preserve_graph_attrs: bool = False,
    preserve_all_attrs: bool = False,
    name: str | None = None,
    graph_name: str | None = None,
) -> BackendGraph:
    """A graph of NetworkX as one of the backend; arguments as NetworkX's dispatch gives them.

    Parallel edges become one arc, and are kept beside it: see `Parallel`.

    Args:
        edge_attrs: the edge attributes to keep, with what counts where there is none.
        preserve_edge_attrs, preserve_node_attrs, preserve_graph_attrs, preserve_all_attrs: keep all attributes.
        node_attrs: as `preserve_node_attrs` if there are any.
        name, graph_name: not looked at.

    Raises:
        NotImplementedError: an attribute that is no number, see `as_column`, attributes of an undirected view of a
            directed graph, or a neighbour that is given as an equal of a node, see `_rows`.
    """
    keep_edges = preserve_edge_attrs or preserve_all_attrs
    if (keep_edges or edge_attrs) and _has_two_dicts(graph):
        raise NotImplementedError(
            "an undirected view of a directed graph has attributes for each direction; edgewise expects one for both"
        )
    adjacency = _dicts(graph._adj)
    nodes, vertices_of = _numbered(adjacency)
    rows = _rows(adjacency, nodes, vertices_of)
    in_rows = _rows(_dicts(graph._pred), nodes, vertices_of) if graph.is_directed() else None
    several = graph.is_multigraph()
    data, parallel = partial(_edge_data, adjacency, rows if in_rows is None else None), None
    if several:
        bundles = list(data())
        counts = np.fromiter(map(len, bundles), np.int64, len(bundles))
        parallel = Parallel(counts, list(chain.from_iterable(bundles)))
        data = partial(_edge_data, dict(enumerate(bundles)))
    keep_nodes = preserve_node_attrs or preserve_all_attrs or bool(node_attrs)
    keep_graph = preserve_graph_attrs or preserve_all_attrs
    contents = Contents(
        list(data() if several else _edge_data(adjacency)) if keep_edges else None,
        dict(graph._node) if keep_nodes else {},
        graph.graph if keep_graph else {},
    )
    converted = BackendGraph(nodes, rows, in_rows, {}, contents, parallel)
    for attribute, default in {} if keep_edges or edge_attrs is None else edge_attrs.items():
        converted.add_column(attribute, as_column(attribute, _values(data, attribute, default)))
    return converted


def _has_two_dicts(graph: Any) -> bool:
    """Whether edges may have another dict at each end: if the graph is an undirected view of a directed one."""
    return (
        not graph.is_directed()
        and hasattr(graph, "_graph")
        and (graph._graph.is_directed() or _has_two_dicts(graph._graph))
    )


def _values(data: Callable[[], Iterator[dict[Any, Any]]], name: Any, default: Any) -> list[Any]:
    """The values of a name, with what counts where there is none. A dict is read when the iterator has just met it, for
    then it is in the processor's cache."""
    try:
        return list(map(itemgetter(name), data()))
    except KeyError:
        return [each.get(name, default) for each in data()]


def _dicts(adjacency: Mapping[Any, Any]) -> Mapping[Any, Any]:
    """The neighbours of each node as dicts. Those of a view of a subgraph are not, and their `len` may be too large."""
    if isinstance(adjacency, dict):
        return adjacency
    return {node: dict(inner.items()) for node, inner in adjacency.items()}


def _numbered(adjacency: Mapping[Any, Any]) -> tuple[Sequence[Any], VerticesOf]:
    """The nodes, a range if they are 0..n-1, and what gives the vertices of nodes."""
    nodes, n = list(adjacency), len(adjacency)
    if any(node != node for node in nodes if isinstance(node, float)):
        raise NotImplementedError("a node is NaN; edgewise expects nodes that equal themselves")
    if set(map(type, nodes)) == {int}:
        if nodes == list(range(n)):
            return range(n), lambda keys: np.fromiter(keys, np.int32, len(keys))
        low, high = min(nodes), max(nodes)
        if high - low < _ROOM * n and low > -(2**62) and high < 2**62:
            place = np.zeros(high - low + 1, np.int32)
            place[np.array(nodes) - low] = np.arange(n)
            return nodes, lambda keys: place[np.fromiter(keys, np.int64, len(keys)) - low]
    index = dict(zip(nodes, range(n), strict=True)).__getitem__
    return nodes, lambda keys: np.fromiter(map(index, keys), np.int32, len(keys))


def _rows(adjacency: Mapping[Any, Any], nodes: Sequence[Any], vertices_of: VerticesOf) -> Rows:
    """Rows of the keys of each inner dict, in their order.

    Raises:
        NotImplementedError: a key is of another type than the node that it equals, such as 1.0 for 1: answers of
            NetworkX have the key. NumPy's integers count as Python's, of which answers are.
    """
    inner = adjacency.values()
    offsets = np.zeros(len(adjacency) + 1, np.int64)
    np.cumsum(np.fromiter(map(len, inner), np.int64, len(adjacency)), out=offsets[1:])
    count = int(offsets[-1])
    targets, end, keys = np.empty(count, np.int32), 0, chain.from_iterable(inner)
    types = _numbers_for(set(map(type, nodes)))
    type_of, one_type = _numbers_of_types(nodes, types), len(set(types.values())) == 1
    while part := list(islice(keys, _PART)):
        begin, end = end, end + len(part)
        alike = types.keys() >= set(map(type, part))
        if alike:
            targets[begin:end] = vertices_of(part)
            alike = one_type or np.array_equal(_numbers_of_types(part, types), type_of[targets[begin:end]])
        if not alike:
            raise NotImplementedError("a neighbour is given as an equal of a node, such as 1.0 for 1")
    return Rows(offsets.astype(offset_dtype(count), copy=False), targets, None)


def _numbers_for(types: set[type]) -> dict[type, int]:
    """A number for each type; one for all types of integers, if there are some."""
    integers = {int, *NUMPY_INTEGERS}
    others = dict(zip(types - integers, range(1, len(types) + 1), strict=False))
    return others | (dict.fromkeys(integers, 0) if types & integers else {})


def _numbers_of_types(values: Sequence[Any], numbers: Mapping[type, int]) -> np.ndarray:
    """The type of each value as a number, int32."""
    return np.fromiter(map(numbers.__getitem__, map(type, values)), np.int32, len(values))


def _edge_data(adjacency: Mapping[Any, Any], undirected: Rows | None = None) -> Iterator[Any]:
    """The dict of each arc, in the order of `_rows`; or of each edge of these undirected rows, looked at from its first
    end."""
    data = chain.from_iterable(inner.values() for inner in adjacency.values())
    if undirected is None:
        return data
    return compress(data, (row_of_arcs(undirected.offsets) <= undirected.targets).tobytes())


@uncollected()
def convert_to_nx(result: Any, *, name: str | None = None) -> Any:
    """A graph of the backend as one of NetworkX, with its order; anything else as it is."""
    if not isinstance(result, BackendGraph):
        return result
    graph = new_graph(result.is_directed())
    graph.graph.update(result.contents.graph)
    graph.add_nodes_from(result.nodes)
    for node, attributes in result.contents.nodes.items():
        graph._node[node].update(attributes)
    edges = edge_dicts(result)
    _fill(graph._adj, result.names(result.rows.targets), edges, result.rows.offsets)
    if result.is_directed():
        into = [edges[arc] for arc in result.in_arcs.tolist()]
        _fill(graph._pred, result.names(result.in_rows.targets), into, result.in_rows.offsets)
    return graph


def _fill(adjacency: dict[Any, Any], names: list[Any], data: list[Any], offsets: np.ndarray) -> None:
    """Fill the inner dicts with keys and values, row by row."""
    bounds = offsets.tolist()
    for inner, begin, end in zip(adjacency.values(), bounds[:-1], bounds[1:], strict=True):
        inner.update(zip(names[begin:end], data[begin:end], strict=True))


def edge_dicts(graph: BackendGraph) -> list[dict[Any, Any]]:
    """A dict for each arc; the two arcs of an undirected edge have the same."""
    if graph.contents.edges is not None:
        data = [dict(each) for each in graph.contents.edges]
    else:
        columns = graph.attributes
        values = zip(*columns.values(), strict=True) if columns else [()] * len(graph.rows.targets)
        data = [dict(zip(columns, each, strict=True)) for each in values]
    if not graph.is_directed():
        twins = graph.in_arcs.tolist()  # of arc u to v, the one from v to u
        data = [data[min(arc, twin)] for arc, twin in enumerate(twins)]
    return data


def arc_data(graph: BackendGraph) -> list[dict[Any, Any]]:
    """The dict of each arc, which is to be copied or left as it is."""
    return edge_dicts(graph) if graph.contents.edges is None else graph.contents.edges


def new_graph(directed: bool, multigraph: bool = False) -> Any:
    """An empty graph of NetworkX itself, whatever makes graphs by its configuration."""
    kinds = (nx.MultiGraph, nx.MultiDiGraph) if multigraph else (nx.Graph, nx.DiGraph)
    kind = kinds[directed]
    graph = object.__new__(kind)
    kind.__init__(graph)
    return graph
