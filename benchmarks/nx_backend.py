"""NetworkX's functions by themselves and by the backend of edgewise: `python -m benchmarks.nx_backend [--scale 16]`.

The graph is R-MAT, simple, of 16 drawn edges for each vertex, as a graph of NetworkX with integer weights and nodes.
Each function runs once by NetworkX, and by the backend once to compile, once with the conversion
and three times from the converted graph, of which the table has the median. Results are compared. Conversion is timed
by itself, too, as are graphs from arrays. See docs/networkx.md.
"""

import argparse
import statistics
import time
from collections.abc import Callable, Iterator
from typing import Any

import networkx as nx
import numpy as np
import pandas as pd
import scipy.sparse

import edgewise as ew
from edgewise.nx.convert import convert_from_nx, convert_to_nx

#: Functions of the graph and its node of largest degree.
CALLS: dict[str, Callable[..., Any]] = {
    "single_source_shortest_path_length": lambda graph, hub, **by: nx.single_source_shortest_path_length(
        graph, hub, **by
    ),
    "bfs_edges": lambda graph, hub, **by: list(nx.bfs_edges(graph, hub, **by)),
    "connected_components": lambda graph, hub, **by: list(nx.connected_components(graph, **by)),
    "pagerank": lambda graph, hub, **by: nx.pagerank(graph, **by),
    "single_source_dijkstra_path_length": lambda graph, hub, **by: nx.single_source_dijkstra_path_length(
        graph, hub, **by
    ),
    "single_source_dijkstra": lambda graph, hub, **by: nx.single_source_dijkstra(graph, hub, **by),
    "minimum_spanning_edges": lambda graph, hub, **by: list(
        nx.minimum_spanning_edges(graph, data=False, **by)
    ),
    "betweenness_centrality, k=4": lambda graph, hub, **by: nx.betweenness_centrality(graph, 4, seed=1, **by),
}


def seconds(call: Callable[[], Any]) -> tuple[float, Any]:
    """How long a call takes, and its result."""
    started = time.perf_counter()
    result = call()
    return time.perf_counter() - started, result


def agree(ours: Any, theirs: Any) -> bool:
    """Whether results are equal, in their order; floats of dicts may differ by rounding."""
    if isinstance(theirs, dict) and any(isinstance(value, float) for value in theirs.values()):
        return list(ours) == list(theirs) and np.allclose([*ours.values()], [*theirs.values()], 1e-9, 1e-15)
    return bool(ours == theirs)


def compared(graph: Any) -> Iterator[tuple[str, float, float, float]]:
    """Of each function the seconds by NetworkX, with a conversion, and from the converted graph."""
    hub = max(graph, key=graph.degree)
    for name, call in CALLS.items():
        theirs, expected = seconds(lambda call=call: call(graph, hub, backend="networkx"))
        call(graph, hub, backend="edgewise")
        graph.__networkx_cache__.clear()
        first, found = seconds(lambda call=call: call(graph, hub, backend="edgewise"))
        assert agree(found, expected), name
        again = [seconds(lambda call=call: call(graph, hub, backend="edgewise"))[0] for _ in range(3)]
        yield name, theirs, first, statistics.median(again)


def conversions(graph: Any) -> Iterator[tuple[str, float]]:
    """The best of three seconds for each way to a graph of the backend, or from one."""
    matrix = nx.to_scipy_sparse_array(graph)
    upper = scipy.sparse.triu(matrix).tocoo()
    table = pd.DataFrame({"source": upper.row, "target": upper.col, "weight": upper.data})
    converted = convert_from_nx(graph, edge_attrs={"weight": 1})
    named = nx.relabel_nodes(graph, {node: f"v{node}" for node in graph})
    by = {"backend": "edgewise"}
    ways: dict[str, Callable[[], Any]] = {
        "from NetworkX": lambda: convert_from_nx(graph),
        "from NetworkX, with a weight": lambda: convert_from_nx(graph, edge_attrs={"weight": 1}),
        "from NetworkX, nodes are texts": lambda: convert_from_nx(named),
        "from_scipy_sparse_array, symmetric": lambda: nx.from_scipy_sparse_array(matrix, **by),
        "from_scipy_sparse_array, each edge once": lambda: nx.from_scipy_sparse_array(upper, **by),
        "from_pandas_edgelist": lambda: nx.from_pandas_edgelist(table, edge_attr="weight", **by),
        "to NetworkX": lambda: convert_to_nx(converted),
    }
    for name, way in ways.items():
        yield name, min(seconds(way)[0] for _ in range(3))


def main() -> None:
    """Print both tables."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--scale", type=int, default=16, help="2 to this power is the number of vertices")
    scale = parser.parse_args().scale
    drawn = ew.generate.rmat(scale, 16, seed=1, simple=True, directed=False)
    weights = np.random.default_rng(1).integers(1, 100, drawn.num_arcs)
    graph = nx.empty_graph(drawn.num_vertices)
    ends = drawn.sources.tolist(), drawn.targets.tolist(), weights.tolist()
    graph.add_weighted_edges_from(edge for edge in zip(*ends, strict=True) if edge[0] <= edge[1])
    nx.config.warnings_to_ignore.add("cache")
    print(f"{len(graph):,} nodes, {graph.number_of_edges():,} edges; NetworkX {nx.__version__}\n")
    print("| conversion | seconds for a million edges |\n|---|--:|")
    for name, taken in conversions(graph):
        print(f"| {name} | {taken / graph.number_of_edges() * 1e6:.3f} |")
    print(
        "\n| function | NetworkX | edgewise, with conversion | edgewise, converted | times |\n|---|--:|--:|--:|--:|"
    )
    for name, theirs, first, again in compared(graph):
        print(f"| {name} | {theirs:.3f} | {first:.3f} | {again:.4f} | {theirs / again:.0f} |")


if __name__ == "__main__":
    main()
