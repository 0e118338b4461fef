"""Edges in graphs of NetworkX and igraph, and such graphs of edges."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from edgewise.convert.edges import Edges, missing, names_of, warn_of_weights
from edgewise.convert.usual_names import WEIGHT
from edgewise.errors import GraphError, ParameterError
from edgewise.numeric import is_exact, is_integer_type, is_number
from edgewise.text import listed, shown


class Found(NamedTuple):
    """A graph of another library.

    Attributes:
        edges: its edges, by the indices of vertices.
        vertices: the ids of all vertices; None for 0..n-1.
        num_vertices: how many there are.
        directed: whether edges have a direction.
    """

    edges: Edges
    vertices: list[Any] | None
    num_vertices: int
    directed: bool


def of_networkx(graph: Any, weight: Any, attributes: Any) -> Found:
    """A graph of NetworkX: its nodes in their order. See `Graph.from_networkx`."""
    networkx, where = _networkx(), "from_networkx"
    if not isinstance(graph, networkx.Graph):
        raise GraphError(f"{where} got {shown(graph)}; expected a graph of NetworkX")
    vertices = list(graph)
    index = {vertex: place for place, vertex in enumerate(vertices)}
    # A list of all edges would be a million tuples, of which Python's collector looks at each again and again.
    ends = np.fromiter((index[end] for edge in graph.edges() for end in edge), np.int32)
    data = [each for _, _, each in graph.edges(data=True)]

    def values(name: Any) -> list[Any]:
        return [each.get(name) for each in data]

    def at(place: int) -> str:
        source, target = vertices[ends[2 * place]], vertices[ends[2 * place + 1]]
        return f"the edge from {shown(source)} to {shown(target)}"

    known = list(dict.fromkeys(name for each in data for name in each))
    found = _columns(where, len(data), values, at, known, weight, attributes)
    columns = np.ascontiguousarray(ends[0::2]), np.ascontiguousarray(ends[1::2])
    return Found(Edges(*columns, *found), vertices, len(vertices), graph.is_directed())


def of_igraph(graph: Any, weight: Any, attributes: Any) -> Found:
    """A graph of igraph: its vertices in their order. See `Graph.from_igraph`."""
    igraph, where = _igraph(), "from_igraph"
    if not isinstance(graph, igraph.Graph):
        raise GraphError(f"{where} got {shown(graph)}; expected a graph of igraph")
    vertices = graph.vs["name"] if "name" in graph.vs.attributes() else None
    ends = np.array(graph.get_edgelist(), np.int32).reshape(-1, 2)

    def at(place: int) -> str:
        return f"edge {place}, from vertex {ends[place, 0]} to vertex {ends[place, 1]},"

    found = _columns(where, len(ends), graph.es.__getitem__, at, graph.es.attributes(), weight, attributes)
    columns = np.ascontiguousarray(ends[:, 0]), np.ascontiguousarray(ends[:, 1])
    return Found(Edges(*columns, *found), vertices, graph.vcount(), graph.is_directed())


def _columns(
    where: str,
    count: int,
    values: Callable[[Any], list[Any]],
    at: Callable[[int], str],
    known: list[Any],
    weight: Any,
    attributes: Any,
) -> tuple[np.ndarray | None, dict[str, np.ndarray]]:
    """The weights, and the attributes by name, of edges that have values by name.

    Args:
        where: for messages.
        count: of the edges; if there are none, none lacks a value.
        values: gives the values of a name, None where an edge has none.
        at: names an edge in a message.
        known: all names that edges have.
        weight: the name of the weights, or None; "weight" need not be there.
        attributes: as for `names_of`, True for all names but that of the weights.
    """
    if attributes is True:
        attributes = [name for name in known if name != weight]
    names = names_of(where, attributes)
    if count == 0:
        return None, {name: np.empty(0) for name in names}
    for name in [*names, *([] if weight in (None, WEIGHT) else [weight])]:
        if name not in known:
            have = f"they have {listed(map(str, known))}" if known else "they have none"
            raise GraphError(f"{where}: no edge has an attribute {shown(name)}; {have}")
    weighted = weight is not None and weight in known
    if weight is not None and not weighted:
        left_out = [name for name in known if name not in names]
        warn_of_weights(where, left_out, lambda name: all(map(is_number, values(name))))
    weights = _numbers(where, weight, values(weight), at) if weighted else None
    return weights, {name: _numbers(where, name, values(name), at, truths=True) for name in names}


def _numbers(
    where: str, name: Any, values: list[Any], at: Callable[[int], str], truths: bool = False
) -> np.ndarray:
    """The values of a name as an array: int64 or float64, or of their dtype if all are scalars of NumPy of one; with
    `truths` also bool.

    Raises:
        GraphError: a value that is missing or no such number, with its edge.
    """
    kinds = set(map(type, values))
    allowed = [kind for kind in kinds if is_integer_type(kind) or issubclass(kind, float | np.floating)]
    if truths and kinds and all(issubclass(kind, bool | np.bool_) for kind in kinds):
        return np.array(values, np.bool_)
    if len(allowed) < len(kinds):
        place = next(place for place, value in enumerate(values) if type(value) not in allowed)
        problem = (
            f"has no {shown(name)}" if values[place] is None else f"has {shown(values[place])} as {name}"
        )
        raise GraphError(
            f"{where}: {at(place)} {problem}; expected an integer or a float for each edge. Set them all, or leave "
            f"{shown(name)} out"
        )
    if len(kinds) == 1 and issubclass(allowed[0], np.generic):
        return np.array(values)
    whole = all(map(is_integer_type, allowed))
    integers = tuple(filter(is_integer_type, allowed))
    if not whole and (
        too_large := [each for each in values if isinstance(each, integers) and not is_exact(each)]
    ):
        raise GraphError(
            f"{where}: {shown(name)} has floats, and the integer {too_large[0]}, which float64 does not hold "
            "exactly; convert them to one kind"
        )
    try:
        return np.array(values, np.int64 if whole else np.float64)
    except OverflowError:
        place = next(place for place, value in enumerate(values) if not -(2**63) <= value < 2**63)
        raise GraphError(
            f"{where}: {at(place)} has {shown(values[place])} as {name}; expected integers of at most 64 bits, or "
            "floats"
        ) from None


def check_networkx(graph: Any) -> None:
    """Refuse what is no graph of NetworkX for a result. Raises ParameterError."""
    if not isinstance(graph, _networkx().Graph):
        raise ParameterError(
            f"to_networkx: got {shown(graph)}; expected a graph of NetworkX, or nothing for a new one"
        )


def networkx_of(vertices: list[Any], columns: dict[str, np.ndarray], directed: bool) -> Any:
    """A graph of NetworkX, which has parallel edges if there are any.

    Args:
        vertices: the ids in index order.
        columns: "source" and "target", indices, and values of edges by name.
        directed: whether edges have a direction; else equal ones have their ends in one order.
    """
    networkx = _networkx()
    plain = networkx.DiGraph if directed else networkx.Graph
    several = networkx.MultiDiGraph if directed else networkx.MultiGraph
    pairs = np.sort(columns["source"].astype(np.int64) * len(vertices) + columns["target"])
    graph = several() if (pairs[1:] == pairs[:-1]).any() else plain()
    graph.add_nodes_from(vertices)
    source, target, *values = (column.tolist() for column in columns.values())
    names = list(columns)[2:]
    ends = ([vertices[place] for place in column] for column in (source, target))
    if values:
        data = (dict(zip(names, each, strict=True)) for each in zip(*values, strict=True))
        graph.add_edges_from(zip(*ends, data, strict=True))
    else:
        graph.add_edges_from(zip(*ends, strict=True))
    return graph


def igraph_of(
    vertices: list[Any] | None, num_vertices: int, columns: dict[str, np.ndarray], directed: bool
) -> Any:
    """A graph of igraph; arguments as for `networkx_of`, but `vertices` may be None for 0..n-1."""
    source, target, *values = (column.tolist() for column in columns.values())
    graph = _igraph().Graph(n=num_vertices, edges=list(zip(source, target, strict=True)), directed=directed)
    if vertices is not None:
        graph.vs["name"] = vertices
    for name, each in zip(list(columns)[2:], values, strict=True):
        graph.es[name] = each
    return graph


def _networkx() -> Any:
    try:
        import networkx
    except ImportError:
        raise missing("networkx") from None
    return networkx


def _igraph() -> Any:
    try:
        import igraph
    except ImportError:
        raise missing("igraph") from None
    return igraph
