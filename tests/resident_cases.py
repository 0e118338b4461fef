"""What memory is measured of: algorithms and programs, with the options and on the graphs that change it."""

from resident import Case


def _with(graph, **calls):
    return {f"{name.replace('_', ' ')}, {graph}": Case(graph, call) for name, call in calls.items()}


def _given_with(graph):
    """Programs with what is given to them, by each delivery."""
    return {
        f"{name.replace('_', ' ')} given by {delivery}, {graph}": Case(
            graph,
            f"prepared(P.{program}, schedule=ew.Schedule(delivery={text}))(**given, memory_limit=limit)",
            given,
        )
        for name, (program, given) in _GIVEN.items()
        for delivery, text in _DELIVERIES.items()
    }


_ONE = "ew.Schedule(num_threads=1)"
_ALGORITHMS = {
    "bfs": "ew.bfs(g, 0, memory_limit=limit)",
    "bfs_push": "ew.bfs(g, 0, schedule=ew.Schedule(delivery=ew.Push()), memory_limit=limit)",
    "bfs_pull": "ew.bfs(g, 0, schedule=ew.Schedule(delivery=ew.Pull()), memory_limit=limit)",
    "sssp": "ew.sssp(g, 0, memory_limit=limit)",
    "pagerank": "ew.pagerank(g, tol=1e-3, memory_limit=limit)",
    "components": "ew.connected_components(g, memory_limit=limit)",
    "scc": "ew.scc(g, memory_limit=limit)",
    "mst": "ew.mst(g, symmetrize=True, memory_limit=limit)",
    "betweenness": "ew.betweenness(g, sources=[0, 1, 2], memory_limit=limit)",
    "edge_betweenness": "ew.edge_betweenness(g, sources=[0, 1, 2], memory_limit=limit)",
    "closeness": "ew.closeness(g, vertices=[0, 1, 2], memory_limit=limit)",
    "eigenvector": "ew.eigenvector(g, memory_limit=limit)",
    "hits": "ew.hits(g, max_iterations=20, memory_limit=limit)",
    "core_numbers": "ew.core_numbers(g, memory_limit=limit)",
}
#: Of directed graphs only.
_DIRECTED = {"topological_order": "ew.topological_order(g, memory_limit=limit)"}
#: Of undirected graphs only.
_UNDIRECTED = {
    "triangles": "ew.triangles(g, memory_limit=limit)",
    "triangles_eight_threads": "ew.triangles(g, schedule=ew.Schedule(num_threads=8), memory_limit=limit)",
}
_WEIGHTED = {
    "sssp": "ew.sssp(g, 0, memory_limit=limit)",
    "weighted_pagerank": "ew.pagerank(g, tol=1e-3, weighted=True, memory_limit=limit)",
    "weighted_pagerank_32": "ew.pagerank(g, tol=1e-3, weighted=True, dtype='float32', memory_limit=limit)",
    "mst": "ew.mst(g, symmetrize=True, memory_limit=limit)",
    "weighted_katz": "ew.katz(g, alpha=1e-6, weighted=True, memory_limit=limit)",
    "weighted_closeness": "ew.closeness(g, vertices=[0, 1], weighted=True, memory_limit=limit)",
    "weighted_betweenness": "ew.betweenness(g, sources=[0, 1], weighted=True, memory_limit=limit)",
}
_PROGRAMS = {
    "program_sssp": "ew.run(P.SSSP(source=0), g, memory_limit=limit)",
    "program_pagerank": "ew.run(P.PageRank(tol=1e-2), g, memory_limit=limit)",
    "program_pagerank_push": "ew.run(P.PageRank(tol=1e-2), g, schedule=ew.Schedule(delivery=ew.Push()),"
    " memory_limit=limit)",
    "program_pagerank_buffered": "ew.run(P.PageRank(tol=1e-2), g, schedule=ew.Schedule(delivery=ew.Buffered()),"
    " memory_limit=limit)",
    "program_bfs_pull": "ew.run(P.BFS(source=0), g, schedule=ew.Schedule(delivery=ew.Pull()), memory_limit=limit)",
    "program_traffic": "ew.run(P.Traffic(), g, memory_limit=limit)",
    "program_traffic_pull": "ew.run(P.Traffic(), g, schedule=ew.Schedule(delivery=ew.Pull()), memory_limit=limit)",
    "program_given": "ew.run(P.Given(value=x, factor=each), g, memory_limit=limit)",
    "program_given_pull": "ew.run(P.Given(value=x, factor=each), g, schedule=ew.Schedule(delivery=ew.Pull()),"
    " memory_limit=limit)",
    "program_tolls": "ew.run(P.Tolls(), g, memory_limit=limit)",
    "program_median": "ew.run(P.Median(), g, memory_limit=limit)",
    "prepared_pagerank": "prepared(P.PageRank)(tol=1e-2, memory_limit=limit)",
    "prepared_traffic": "prepared(P.Traffic)(memory_limit=limit)",
}
#: What is given to programs: in the dtypes of their fields, in others, with gaps, and in lists.
_GIVEN = {
    "traffic": ("Traffic", "{'used': each.astype('int32'), 'last': each, 'flow': each[: len(x)]}"),
    "given": ("Given", "{'value': x.astype('float32'), 'factor': each}"),
    "given_as_they_are": ("Given", "{'value': x, 'factor': each.astype('float64')}"),
    "tolls": ("Tolls", "{'extra': each.astype('float64'), 'cost': x, 'open': x > 0.5}"),
    "tolls_with_gaps": ("Tolls", "{'extra': each.astype('float32').repeat(2)[::2], 'toll': each}"),
    "tolls_in_lists": ("Tolls", "{'extra': each.tolist(), 'cost': x.tolist(), 'nearest': [0] * len(x)}"),
}
_DELIVERIES = {"push": "ew.Push()", "pull": "ew.Pull()", "buffered": "ew.Buffered()", "auto": "'auto'"}
#: Where ids are looked up.
_IDS = {
    "bfs": "ew.bfs(g, first, memory_limit=limit)",
    "bfs_many": "ew.bfs(g, ids, memory_limit=limit)",
    "sssp": "ew.sssp(g, first, memory_limit=limit)",
    "pagerank_from": "ew.pagerank(g, tol=1e-3, start=some, memory_limit=limit)",
    "pagerank_to": "ew.pagerank(g, tol=1e-3, personalization={first: 1.0}, memory_limit=limit)",
    "pagerank_from_to": "ew.pagerank(g, tol=1e-3, start=some, personalization=some, memory_limit=limit)",
    "betweenness": "ew.betweenness(g, sources=[first], memory_limit=limit)",
    "program": "ew.run(P.Start(source=first), g, memory_limit=limit)",
    "prepared": "prepared(P.Start)(source=first, memory_limit=limit)",
}
#: On one graph each, for they change little with it.
_OPTIONS = {
    "pagerank_32": "ew.pagerank(g, tol=1e-3, dtype='float32', memory_limit=limit)",
    "pagerank_from": "ew.pagerank(g, tol=1e-3, start=x, personalization=x, memory_limit=limit)",
    "pagerank_from_32": "ew.pagerank(g, tol=1e-3, start=x, personalization=x, dtype='float32', memory_limit=limit)",
    "katz_from": "ew.katz(g, alpha=1e-3, beta=x, start=some, memory_limit=limit)",
    "pagerank_from_ids": "ew.pagerank(g, tol=1e-3, start=some, memory_limit=limit)",
    "bfs_one_thread": f"ew.bfs(g, 0, schedule={_ONE}, memory_limit=limit)",
    "bfs_eight_threads": "ew.bfs(g, 0, schedule=ew.Schedule(num_threads=8), memory_limit=limit)",
    "bfs_depth": "ew.bfs(g, ids, max_depth=2, memory_limit=limit)",
    "sssp_eight_threads": "ew.sssp(g, 0, schedule=ew.Schedule(num_threads=8), memory_limit=limit)",
    "betweenness_one_thread": f"ew.betweenness(g, sources=[0, 1], schedule={_ONE}, memory_limit=limit)",
    "betweenness_targets": "ew.betweenness(g, k=4, targets=ids, memory_limit=limit)",
    "betweenness_endpoints": "ew.betweenness(g, k=4, normalized=False, endpoints=True, memory_limit=limit)",
    "betweenness_checkpoint": "ew.betweenness(g, k=2, checkpoint=file, memory_limit=limit)",
    "edge_betweenness_checkpoint": "ew.edge_betweenness(g, k=2, checkpoint=file, memory_limit=limit)",
}

#: In plain Python, which takes long.
_CHECKED = "ew.run(P.PageRank(), g, max_supersteps=1, check=True, memory_limit=limit)"

CASES = {
    **_with("plain", **_ALGORITHMS, **_DIRECTED, **_PROGRAMS, program_pagerank_checked=_CHECKED),
    **_with("many", **_OPTIONS),
    **_with("plain undirected", **_ALGORITHMS, **_UNDIRECTED, **_PROGRAMS),
    **_with("many names", **_IDS),
    **_with("many sparse", **_IDS),
    **_with("growing names", program=_IDS["program"]),
    "bfs all, many sparse": Case(
        "many sparse", "ew.bfs(g, given, memory_limit=limit)", "g.ids_of(range(g.num_vertices)).tolist()"
    ),
    **_with("plain undirected names", bfs=_IDS["bfs"], program=_IDS["program"]),
    **_given_with("plain"),
    **_given_with("plain undirected"),
    **_given_with("plain undirected weights=int32"),
    **_with("plain weights=int32", **_WEIGHTED, program_sssp=_PROGRAMS["program_sssp"]),
    **_with("plain weights=int64", **_WEIGHTED),
    **_with("plain weights=float32", **_WEIGHTED),
    **_with("plain weights=float64", **_WEIGHTED, program_sssp=_PROGRAMS["program_sssp"]),
    **_with("plain undirected weights=float64", **_WEIGHTED),
    **_with("plain weights=float32*1e30", sssp=_WEIGHTED["sssp"], pagerank=_WEIGHTED["weighted_pagerank"]),
    **_with("plain weights=float32*1e35", sssp=_WEIGHTED["sssp"]),
    **_with("plain weights=int64-", sssp=_WEIGHTED["sssp"]),
    **_with("plain weights=float32-", sssp=_WEIGHTED["sssp"]),
    **{
        name: case
        for kind in ("long", "parallel", "star", "sink")
        for name, case in _with(kind, **_ALGORITHMS, **_PROGRAMS).items()
    },
}
