"""Drawn graphs of NetworkX, and results compared with all that Python tells of them."""

import itertools
from collections.abc import Iterator
from typing import Any

import networkx as nx
import numpy as np
import pytest

from edgewise.nx import backend

#: Drawn graphs of each kind; CI runs the first four.
SEEDS = [*range(4), *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(4, 12))]


def draw(seed: int, directed: bool, weights: str = "none", kind: Any = None) -> Any:
    """A graph whose edges are in a drawn order, with loops, and nodes without edges; for odd seeds nodes are texts.

    Args:
        weights: "none"; "integers", few of them, so that there are ties, and 0; "floats"; or "both", and some edges
            without.
        kind: the class of the graph, if it is another one.
    """
    random = np.random.default_rng(seed)
    n = int(random.integers(1, 30))
    m = int(random.integers(0, 3 * n))
    nodes = random.permutation(n).tolist()
    names = [f"v{node}" if seed % 2 else node for node in nodes]
    graph = (kind or (nx.DiGraph if directed else nx.Graph))()
    graph.add_nodes_from(names[: n // 2])
    for _ in range(m):
        source, target = random.integers(0, n, 2).tolist()
        graph.add_edge(names[source], names[target], **draw_weight(random, weights))
    graph.add_nodes_from(names)
    for edge in list(graph.edges)[::4]:
        graph.remove_edge(*edge)
        if random.random() < 0.5:  # at another place of the neighbours
            graph.add_edge(*edge, **draw_weight(random, weights))
    return graph


def draw_weight(random: np.random.Generator, weights: str) -> dict[str, Any]:
    """The attributes of an edge."""
    kind = {"both": ["none", "integers", "floats"][random.integers(3)]}.get(weights, weights)
    if kind == "integers":
        return {"weight": int(random.integers(0, 4))}
    return {"weight": float(random.integers(1, 20)) / 8} if kind == "floats" else {}


def outcome(function: Any, *args: Any, **kwargs: Any) -> Any:
    """The result with the types of all numbers and the order of dicts, or the error."""
    try:
        result = function(*args, **kwargs)
        return told(list(itertools.islice(result, 10_000)) if isinstance(result, Iterator) else result)
    except Exception as error:
        return type(error), str(error)


def told(value: Any) -> Any:
    """A value as tuples that are equal only if types and order are, too; sets have no order, nor have attributes of a
    graph itself, which may come from sets."""
    if isinstance(value, nx.Graph):
        return type(value), value.graph, *map(told, (value._node, value._adj, getattr(value, "_pred", None)))
    if isinstance(value, dict):
        return dict, tuple((told(key), told(each)) for key, each in value.items())
    if isinstance(value, list | tuple):
        return type(value), tuple(map(told, value))
    return type(value), value


def compare(name: str, graph: Any, *args: Any, **kwargs: Any) -> None:
    """Ask NetworkX and the backend, for the same answer."""
    function = getattr(nx, name)
    expected = outcome(function, graph, *args, **kwargs, backend="networkx")
    found = outcome(function, graph, *args, **kwargs, backend="edgewise")
    if left_to_older(name, graph, *args, **kwargs):
        assert found[0] is NotImplementedError, (name, args, kwargs)
    else:
        assert found == expected, (name, args, kwargs)


def left_to_older(name: str, *args: Any, **kwargs: Any) -> bool:
    """Whether edgewise leaves a call to a version of NetworkX that answered otherwise than the newest."""
    reason = backend.can_run(name, args, kwargs)
    return isinstance(reason, str) and reason.endswith(f"and later; this is {nx.__version__}")


def close(name: str, graph: Any, rel: float = 1e-12, **kwargs: Any) -> None:
    """Ask NetworkX and the backend for floats, which may differ by rounding, or for the same error."""
    function = getattr(nx, name)
    expected, found = (returned(function, graph, **kwargs, backend=way) for way in ("networkx", "edgewise"))
    if left_to_older(name, graph, **kwargs):
        assert found[0] is NotImplementedError, (name, kwargs)
        return
    if not isinstance(expected, dict):
        assert found == expected, (name, kwargs)
        return
    assert list(found) == list(expected), (name, kwargs)
    ints = [type(value) is int for value in expected.values()]
    assert [type(value) for value in found.values()] == [int if each else float for each in ints]
    assert found == pytest.approx(expected, rel=rel, abs=rel / 100, nan_ok=True), (name, kwargs)


def returned(function: Any, *args: Any, **kwargs: Any) -> Any:
    """The result, or the type and the text of the error."""
    try:
        return function(*args, **kwargs)
    except Exception as error:
        return type(error), str(error)
