"""Calls of algorithms on ranks with GPUs, which tests/ranks_gpu.py makes there, and tests/simulate_ranks_programs.py in
the simulator; each gives what one process finds on a CPU."""

import numpy as np

import edgewise as ew

#: For each algorithm the arrays and numbers that are equal, and those that are within rounding.
FOUND = {
    "topological_order": (("generation",), ()),
    "core_numbers": (("core", "supersteps"), ()),
    "triangles": (("triangles", "degree"), ()),
    "scc": (("component", "num_components"), ()),
    "mst": (("source_index", "target_index", "weight", "num_components"), ()),
    "closeness": (("reached", "distance_sum", "farthest"), ("reciprocal_sum",)),
    "harmonic": (("reached",), ("harmonic",)),
    "eccentricity": (("eccentricity",), ()),
    "katz": (("iterations", "converged"), ("centrality",)),
    "eigenvector": (("iterations", "converged"), ("centrality",)),
    "hits": (("iterations", "converged"), ("hub", "authority")),
}


def compare_algorithm(name, graph, how):
    """Compare a call on all ranks with one on a CPU. What it gives."""
    find, (equal, near) = getattr(ew, name), FOUND[name]
    expected = find(graph, device="cpu", **how)
    found = find(graph, distributed=True, device="cuda", **how)
    for each in equal:
        told = f"{name}: {each} on ranks is not that of one process"
        np.testing.assert_array_equal(getattr(found, each), getattr(expected, each), err_msg=told)
    for each in near:
        told = f"{name}: {each} on ranks is not near that of one process"
        values = getattr(found, each), getattr(expected, each)
        np.testing.assert_allclose(*values, rtol=1e-9, atol=1e-14, err_msg=told)
    assert found.verify(graph)
    return found


def calls_on(graph, forward, both_ways):
    """For each algorithm, calls of it.

    Args:
        graph: directed, with weights of at least 1.
        forward: directed, without cycles.
        both_ways: undirected.
    """
    n = graph.num_vertices
    some = graph.vertices[[0, n // 2, n - 1]].tolist()
    return {
        "topological_order": [(forward, {}), (graph, {})],
        "core_numbers": [(both_ways, {}), (graph, {})],
        "triangles": [(both_ways, {}), (graph.to_undirected("keep"), {})],
        "scc": [(graph, {}), (forward, {})],
        "mst": [(both_ways, {}), (graph, {"symmetrize": True})],
        "closeness": [(graph, {}), (graph, {"vertices": some, "weighted": True})],
        "harmonic": [(both_ways, {}), (graph, {"vertices": some})],
        "eccentricity": [(graph, {}), (graph, {"vertices": some[:1]})],
        "katz": [
            (graph, {"alpha": 1e-3, "beta": np.arange(float(n)), "max_iterations": 4}),
            (graph, {"alpha": 1e-3, "weighted": True, "tol": 0.1}),
        ],
        "eigenvector": [(both_ways, {"max_iterations": 3}), (graph, {"weighted": True, "max_iterations": 2})],
        "hits": [(graph, {"max_iterations": 2}), (graph, {"weighted": True, "max_iterations": 1})],
    }
