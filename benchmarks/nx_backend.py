"""NetworkX's functions by themselves and by its backends: `python -m benchmarks.nx_backend [--output FILE.csv]`.

The graph is R-MAT, simple, of 16 drawn edges for each vertex, as a graph of NetworkX with integer weights and nodes;
functions of all pairs of nodes have one of an eighth of the vertices, and those that are slower still, or give paths,
one of a 32nd, of 128 drawn edges for each, which has as many edges. Each function runs once by NetworkX, and by
edgewise and each other backend that is installed (`RIVALS`) once to compile, once with the conversion and five times
from the converted graph, of which the table has the median. Results are compared. Conversion to edgewise is timed by
itself, too, as are graphs from arrays. Times of functions are printed in milliseconds. See docs/networkx.md.

With `--gpu`, functions that have the keyword `device` run by edgewise on all cores of the CPU and on a GPU, each in the
same way; results of the GPU are compared with those of the CPU. NetworkX and other backends do not run. With `--only`,
some of the functions run, and conversions are not timed.
"""

import argparse
import gc
import importlib.metadata
import statistics
import time
from collections.abc import Callable, Iterator
from functools import partial
from itertools import starmap
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pandas as pd
import scipy.sparse

import edgewise as ew
import edgewise_networkx
from benchmarks.options import add_names
from benchmarks.page_tables import NETWORKX_DEVICES, networkx_devices_table, networkx_tables
from benchmarks.results import Row, machine, versions, write_rows
from edgewise.nx.convert import convert_from_nx, convert_to_nx

NETWORKX = {"contender": "networkx", "version": nx.__version__}
EDGEWISE = {"contender": "edgewise", "version": ew.__version__}
#: Other backends of NetworkX by the names that it has for them, and what is installed for them.
RIVALS = {"rustnx": "rustnx", "rustworkx": "nx-rustworkx"}
#: By function, the backend that is left out: it searches from all nodes for one of them, which takes minutes.
TOO_SLOW = {"closeness_centrality, one node": "rustworkx"}
#: What `first_seconds` are, of functions.
FIRST = "first: with conversion"
#: What a walk loses with each edge: less than 1 over the largest eigenvalue of these graphs.
ALPHA = 0.001
#: A node of the large component of these graphs, beside the hub.
OTHER = 3
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
    "hits": lambda graph, hub, **by: nx.hits(graph, **by),
    "eigenvector_centrality": lambda graph, hub, **by: nx.eigenvector_centrality(graph, **by),
    f"katz_centrality, alpha={ALPHA}": lambda graph, hub, **by: nx.katz_centrality(graph, ALPHA, **by),
    "core_number": lambda graph, hub, **by: nx.core_number(graph, **by),
    "k_core": lambda graph, hub, **by: nx.k_core(graph, **by),
    "triangles": lambda graph, hub, **by: nx.triangles(graph, **by),
    "clustering": lambda graph, hub, **by: nx.clustering(graph, **by),
    "single_source_shortest_path": lambda graph, hub, **by: nx.single_source_shortest_path(graph, hub, **by),
    "bfs_layers": lambda graph, hub, **by: list(nx.bfs_layers(graph, hub, **by)),
    "bfs_tree": lambda graph, hub, **by: nx.bfs_tree(graph, hub, **by),
    "descendants": lambda graph, hub, **by: nx.descendants(graph, hub, **by),
    "node_connected_component": lambda graph, hub, **by: nx.node_connected_component(graph, hub, **by),
    "number_connected_components": lambda graph, hub, **by: nx.number_connected_components(graph, **by),
    "has_path": lambda graph, hub, **by: nx.has_path(graph, OTHER, hub, **by),
    "dijkstra_path": lambda graph, hub, **by: nx.dijkstra_path(graph, OTHER, hub, **by),
    "closeness_centrality, one node": lambda graph, hub, **by: nx.closeness_centrality(graph, OTHER, **by),
    "betweenness_centrality, k=4": lambda graph, hub, **by: nx.betweenness_centrality(graph, 4, seed=1, **by),
    "betweenness_centrality_subset, 4 to 40 nodes": lambda graph, hub, **by: nx.betweenness_centrality_subset(
        graph, list(graph)[:4], list(graph)[:40], **by
    ),
}
#: Functions of all pairs of nodes, for which NetworkX takes minutes: of the largest component of a smaller graph.
ALL_PAIRS: dict[str, Callable[..., Any]] = {
    "closeness_centrality": lambda graph, hub, **by: nx.closeness_centrality(graph, **by),
    "harmonic_centrality": lambda graph, hub, **by: nx.harmonic_centrality(graph, **by),
    "average_shortest_path_length": lambda graph, hub, **by: nx.average_shortest_path_length(graph, **by),
    "eccentricity": lambda graph, hub, **by: nx.eccentricity(graph, **by),
    "eccentricity, one node": lambda graph, hub, **by: nx.eccentricity(graph, hub, **by),
}
#: Functions that are slower still, or give paths: of one of fewer vertices and as many edges.
OF_PATHS: dict[str, Callable[..., Any]] = {
    "all_pairs_shortest_path_length": lambda graph, hub, **by: dict(
        nx.all_pairs_shortest_path_length(graph, **by)
    ),
    "all_pairs_shortest_path": lambda graph, hub, **by: dict(nx.all_pairs_shortest_path(graph, **by)),
    "all_pairs_dijkstra": lambda graph, hub, **by: dict(nx.all_pairs_dijkstra(graph, **by)),
    "all_pairs_dijkstra_path": lambda graph, hub, **by: dict(nx.all_pairs_dijkstra_path(graph, **by)),
    "all_pairs_dijkstra_path_length": lambda graph, hub, **by: dict(
        nx.all_pairs_dijkstra_path_length(graph, **by)
    ),
    "all_pairs_bellman_ford_path_length": lambda graph, hub, **by: dict(
        nx.all_pairs_bellman_ford_path_length(graph, **by)
    ),
    "closeness_centrality, weighted": lambda graph, hub, **by: nx.closeness_centrality(
        graph, distance="weight", **by
    ),
    "harmonic_centrality, weighted": lambda graph, hub, **by: nx.harmonic_centrality(
        graph, distance="weight", **by
    ),
    "eccentricity, weighted": lambda graph, hub, **by: nx.eccentricity(graph, weight="weight", **by),
    "average_shortest_path_length, weighted": lambda graph, hub, **by: nx.average_shortest_path_length(
        graph, weight="weight", **by
    ),
    "betweenness_centrality": lambda graph, hub, **by: nx.betweenness_centrality(graph, **by),
    "betweenness_centrality, weighted": lambda graph, hub, **by: nx.betweenness_centrality(
        graph, weight="weight", **by
    ),
    "edge_betweenness_centrality": lambda graph, hub, **by: nx.edge_betweenness_centrality(graph, **by),
}
ALL = [*CALLS, *ALL_PAIRS, *OF_PATHS]


def seconds(call: Callable[[], Any]) -> tuple[float, Any]:
    """How long a call takes, and its result."""
    started = time.perf_counter()
    result = call()
    return time.perf_counter() - started, result


def agree(ours: Any, theirs: Any) -> bool:
    """Whether results are equal, in their order; floats of dicts may differ by rounding, those of several dicts, which
    SciPy finds to a tolerance, by that."""
    if isinstance(theirs, tuple):
        return all(starmap(partial(_agree, rel=1e-6), zip(ours, theirs, strict=True)))
    if isinstance(theirs, nx.Graph):
        return list(ours) == list(theirs) and list(ours.edges(data=True)) == list(theirs.edges(data=True))
    return _agree(ours, theirs, rel=1e-9)


def _agree(ours: Any, theirs: Any, rel: float) -> bool:
    if isinstance(theirs, dict) and any(isinstance(value, float) for value in theirs.values()):
        return list(ours) == list(theirs) and np.allclose([*ours.values()], [*theirs.values()], rel, 1e-15)
    return bool(ours == theirs)


def compared(graph: Any, task: dict[str, Any], calls: dict[str, Callable[..., Any]]) -> Iterator[Row]:
    """Rows of each function by NetworkX, and by the backends: first with a conversion, then from the converted graph.
    A backend that leaves the call to NetworkX has none."""
    task, hub = task | sizes(graph), max(graph, key=graph.degree)
    installed = [name for name in RIVALS if name in nx.utils.backends.backends]
    contenders = [
        {"contender": RIVALS[name], "version": importlib.metadata.version(RIVALS[name])} for name in installed
    ]
    backends = {"edgewise": EDGEWISE, **dict(zip(installed, contenders, strict=True))}
    for name, call in calls.items():
        task["algorithm"] = name
        theirs, expected = seconds(lambda call=call: call(graph, hub, backend="networkx"))
        gc.freeze()  # else Python looks through this answer, which is held to compare, in later calls
        yield Row(**task, **NETWORKX, **times([theirs], theirs), verified="", note="")
        for backend, contender in backends.items():
            if TOO_SLOW.get(name) == backend:
                continue
            try:
                spent, found = by_backend(graph, partial(call, graph, hub, backend=backend))
            except NotImplementedError:
                continue
            right = "yes" if agree(found, expected) else "differs from NetworkX"
            yield Row(**task, **contender, **spent, verified=right, note=FIRST)


def on_devices(graph: Any, task: dict[str, Any], calls: dict[str, Callable[..., Any]]) -> Iterator[Row]:
    """Rows of the functions that may run on a GPU, by the CPU, then there."""
    task, hub = task | sizes(graph), max(graph, key=graph.degree)
    told = edgewise_networkx.get_info()["functions"]
    for name, call in calls.items():
        if "device" not in told[name.split(",")[0]].get("additional_parameters", {}):
            continue
        task["algorithm"], answers = name, []
        for device in NETWORKX_DEVICES:
            spent, found = by_backend(graph, partial(call, graph, hub, backend="edgewise", device=device))
            answers.append(found)
            right = "yes" if agree(found, answers[0]) else "differs from the CPU"
            contender = EDGEWISE | {"contender": f"edgewise, {device}"}
            yield Row(**task, **contender, **spent, verified=right, note=FIRST)


def sizes(graph: Any) -> dict[str, int]:
    """The columns of a row that say how large a graph is."""
    return {"vertices": len(graph), "arcs": 2 * graph.number_of_edges()}


def by_backend(graph: Any, run: Callable[[], Any]) -> tuple[dict[str, Any], Any]:
    """The times of a call by a backend, compiled before, and its answer."""
    run()
    graph.__networkx_cache__.clear()
    first, found = seconds(run)
    gc.freeze()  # see `compared`
    again = []
    for _ in range(5):
        forget(graph)
        again.append(seconds(run)[0])
    graph.__networkx_cache__.clear()
    return times(again, first), found


def forget(graph: Any) -> None:
    """Drop the answers that edgewise keeps with the graph that it has converted."""
    for converted in graph.__networkx_cache__.get("backends", {}).get("edgewise", {}).values():
        converted.kept.clear()


def conversions(graph: Any, task: dict[str, Any]) -> Iterator[Row]:
    """Rows of each way to a graph of the backend, or from one."""
    matrix = nx.to_scipy_sparse_array(graph)
    upper = scipy.sparse.triu(matrix).tocoo()
    table = pd.DataFrame({"source": upper.row, "target": upper.col, "weight": upper.data})
    converted = convert_from_nx(graph, edge_attrs={"weight": 1})
    task |= sizes(graph)
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
        taken = [seconds(way)[0] for _ in range(4)]
        yield Row(
            **task | {"algorithm": name}, **EDGEWISE, **times(taken[1:], taken[0]), verified="", note=""
        )


def times(warm: list[float], first: float) -> dict[str, Any]:
    """The columns of a row that say how long calls took."""
    middle = statistics.median(warm)
    return {
        "seconds": middle,
        "fastest": min(warm),
        "first_seconds": first,
        "prepare_seconds": 0.0,
        "calls": len(warm),
    }


def drawn(scale: int, edges: int) -> Any:
    """A graph of NetworkX, undirected, with weights; so many edges are drawn for each vertex."""
    made = ew.generate.rmat(scale, edges, seed=1, simple=True, directed=False)
    weights = np.random.default_rng(1).integers(1, 100, made.num_arcs)
    graph = nx.empty_graph(made.num_vertices)
    ends = made.sources.tolist(), made.targets.tolist(), weights.tolist()
    graph.add_weighted_edges_from(edge for edge in zip(*ends, strict=True) if edge[0] <= edge[1])
    return graph


def measure(scale: int, gpu: bool, only: list[str]) -> Iterator[Row]:
    """All rows: conversions, if all functions are asked for, and functions; or functions by devices."""
    calls, all_pairs, of_paths = (
        {name: call for name, call in some.items() if name in only} for some in (CALLS, ALL_PAIRS, OF_PATHS)
    )
    task = machine() | {"graph": f"rmat{scale}"}
    graph, smaller, denser = drawn(scale, 16), drawn(scale - 3, 16), drawn(scale - 5, 128)
    connected, dense = (
        each.subgraph(max(nx.connected_components(each), key=len)).copy() for each in (smaller, denser)
    )
    if not gpu and only == ALL:
        yield from conversions(graph, task)
    gc.collect()
    gc.freeze()  # else Python looks through the graph's million dicts in some of the calls
    if gpu:
        task["machine"] = f"{versions()}; {task['machine']}"
        yield from on_devices(graph, task, calls)
    else:
        yield from compared(graph, task, calls)
        task["graph"] = f"largest component of rmat{scale - 3}"
        yield from compared(connected, task, all_pairs)
        task["graph"] = f"largest component of rmat{scale - 5} of 128 edges a vertex"
        yield from compared(dense, task, of_paths)


def main() -> None:
    """Print both tables, and write the rows."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--scale", type=int, default=16, help="2 to this power is the number of vertices")
    parser.add_argument("--output", type=Path, help="a new CSV file for the rows")
    parser.add_argument("--gpu", action="store_true", help="on a GPU beside the CPU, without NetworkX")
    add_names(parser, "--only", ALL, separator=";", what="functions")
    given = parser.parse_args()
    nx.config.warnings_to_ignore.add("cache")
    rows = write_rows(given.output, measure(given.scale, given.gpu, given.only))
    print(networkx_devices_table(rows) if given.gpu else "\n\n".join(networkx_tables(rows).values()))
    for row in rows:
        if row.verified not in ("", "yes"):
            print(f"{row.algorithm} by {row.contender}: {row.verified}")


if __name__ == "__main__":
    main()
