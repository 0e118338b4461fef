"""What NetworkX asks about its backend `edgewise` when it is imported. Nothing is loaded for it, not even edgewise."""

from typing import Any

#: Keywords of functions that an algorithm of edgewise carries out, see `edgewise.bfs`.
HOW = {
    "device": "'auto' (the default), 'cpu' or 'cuda': where the algorithm runs.",
    "memory_limit": "bytes, a number or text such as '8GB': a run that would take more is refused.",
}
_ROUNDING = "Sums are added up in another order than in NetworkX: floats differ by rounding."
_KRUSKAL = "algorithm='kruskal' only; edges come in its order."
_POSITIVE = " Weights have to be above 0."
_NEGATIVE = " Negative weights are left to NetworkX."
_SCIPY = "By SciPy, as in NetworkX: vectors differ by what it draws to begin with."
_COUNTED = "Without `weight`."
_FOUND = "Without `core_number`."
#: What is to say of some functions.
NOTES = {
    "average_clustering": _COUNTED,
    "betweenness_centrality": _ROUNDING + _POSITIVE,
    "betweenness_centrality_subset": _ROUNDING + _POSITIVE,
    "clustering": _COUNTED,
    "edge_betweenness_centrality": _ROUNDING + _POSITIVE,
    "edge_betweenness_centrality_subset": _POSITIVE.strip(),
    "eigenvector_centrality": _ROUNDING + _NEGATIVE,
    "eigenvector_centrality_numpy": _SCIPY,
    "harmonic_centrality": "Without `distance` and `sources`: " + _ROUNDING[0].lower() + _ROUNDING[1:],
    "hits": "By power iteration; by SciPy, as in NetworkX, if that takes more than `max_iter` iterations, weights are "
    "negative or `nstart` is given. Where several answers are right, NetworkX draws one.",
    "k_core": _FOUND,
    "k_corona": _FOUND,
    "k_crust": _FOUND,
    "k_shell": _FOUND,
    "katz_centrality": _ROUNDING + _NEGATIVE,
    "maximum_spanning_edges": _KRUSKAL,
    "maximum_spanning_tree": _KRUSKAL,
    "minimum_spanning_edges": _KRUSKAL,
    "minimum_spanning_tree": _KRUSKAL,
    "pagerank": _ROUNDING + " Without `dangling`.",
    "transitivity": "Undirected graphs only.",
}
#: The functions that are offered and have these keywords.
WITH_HOW = (
    "all_pairs_dijkstra",
    "all_pairs_dijkstra_path",
    "all_pairs_dijkstra_path_length",
    "average_clustering",
    "betweenness_centrality",
    "betweenness_centrality_subset",
    "clustering",
    "connected_components",
    "core_number",
    "dijkstra_path",
    "dijkstra_path_length",
    "edge_betweenness_centrality",
    "eigenvector_centrality",
    "eigenvector_centrality_numpy",
    "hits",
    "is_connected",
    "is_directed_acyclic_graph",
    "is_strongly_connected",
    "is_weakly_connected",
    "k_core",
    "k_corona",
    "k_crust",
    "k_shell",
    "katz_centrality",
    "maximum_spanning_edges",
    "maximum_spanning_tree",
    "minimum_spanning_edges",
    "minimum_spanning_tree",
    "multi_source_dijkstra",
    "multi_source_dijkstra_path",
    "multi_source_dijkstra_path_length",
    "number_connected_components",
    "number_strongly_connected_components",
    "number_weakly_connected_components",
    "pagerank",
    "single_source_dijkstra",
    "single_source_dijkstra_path",
    "single_source_dijkstra_path_length",
    "transitivity",
    "triangles",
    "weakly_connected_components",
)
#: The functions that are offered and run on one core, in the order of NetworkX.
IN_ORDER = (
    "all_pairs_bellman_ford_path",
    "all_pairs_bellman_ford_path_length",
    "all_pairs_shortest_path",
    "all_pairs_shortest_path_length",
    "ancestors",
    "average_shortest_path_length",
    "bellman_ford_path",
    "bellman_ford_path_length",
    "bfs_edges",
    "bfs_layers",
    "bfs_predecessors",
    "bfs_successors",
    "bfs_tree",
    "bidirectional_dijkstra",
    "bidirectional_shortest_path",
    "closeness_centrality",
    "condensation",
    "degree_centrality",
    "descendants",
    "descendants_at_distance",
    "diameter",
    "digraph__new__",
    "eccentricity",
    "edge_betweenness_centrality_subset",
    "from_numpy_array",
    "from_pandas_edgelist",
    "from_scipy_sparse_array",
    "graph__new__",
    "harmonic_centrality",
    "has_path",
    "in_degree_centrality",
    "node_connected_component",
    "out_degree_centrality",
    "periphery",
    "radius",
    "shortest_path",
    "shortest_path_length",
    "single_source_bellman_ford",
    "single_source_bellman_ford_path",
    "single_source_bellman_ford_path_length",
    "single_source_shortest_path",
    "single_source_shortest_path_length",
    "single_target_shortest_path",
    "single_target_shortest_path_length",
    "strongly_connected_components",
    "topological_generations",
    "topological_sort",
)


def get_info() -> dict[str, Any]:
    """The entry point ``networkx.backend_info``: what is offered, and the configuration
    ``networkx.config.backends.edgewise``."""
    functions: dict[str, dict[str, Any]] = {name: {} for name in IN_ORDER}
    functions |= {name: {"additional_parameters": dict(HOW)} for name in WITH_HOW}
    for name, note in NOTES.items():
        functions[name]["additional_docs"] = note
    return {
        "backend_name": "edgewise",
        "project": "edgewise",
        "package": "edgewise",
        "short_summary": "All cores of the machine, or an NVIDIA GPU; answers in the order of NetworkX.",
        "default_config": {"device": "auto", "memory_limit": None},
        "functions": dict(sorted(functions.items())),
    }
