"""Approximate graphs made on a GPU that tests/simulator.py pretends: they are those that the host makes, bit for bit.

The first argument says what is compared; `warps` as another gives warps several lanes, as tests/simulated_warps.py
does.
"""

import dataclasses
import sys

import numpy as np
from approx_made import same_made
from battery import graphs as battery_graphs
from simulated_warps import with_warps
from simulator import pretend

import edgewise as ew
from edgewise.approx import degree
from edgewise.graph.gpu_rows import GpuRows
from edgewise.graph.graph import Graph

GRAPHS = {
    "skewed": lambda: ew.generate.rmat(5, 6, seed=1, weights=(1, 100)),
    "skewed, floats": lambda: ew.generate.rmat(5, 4, seed=2, weights=(0.0, 1.0)),
    "skewed both ways": lambda: ew.generate.rmat(4, 5, seed=3, directed=False, weights=(1, 9)),
    "streets": lambda: ew.generate.lattice(6, 7, removed=0.2, one_way=0.3, seed=4, weights=(1, 9)),
    "no weights both ways": lambda: ew.generate.rmat(5, 4, seed=6, directed=False),
    "star": lambda: ew.generate.star(9),
    "no edges": lambda: ew.Graph.from_edges([], [], num_vertices=3),
}

#: Techniques with knobs that add edges.
TECHNIQUES = (
    (ew.approx.normalize_degrees, {"threshold": 0.6, "fill": 1.0, "budget": 1.0}),
    (ew.approx.form_clusters, {"threshold": 0.3, "margin": 0.3, "budget": 1.0}),
    (ew.approx.coalesce, {"chunk": 4, "threshold": 0.25, "budget": 1.0, "extra": 2}),
)
#: Knobs of degree normalisation.
DEGREES = (
    {"threshold": 0.6, "fill": 1.0, "budget": 1.0},
    {"threshold": "auto", "budget": 0.2, "warp": 5},
    {"threshold": 1.0, "fill": 1.0, "budget": 0.5, "warp": 10**6},
    {"threshold": 0.5, "budget": 0},
)
#: Knobs of clusters.
CLUSTERS = (
    {"threshold": 0.3, "margin": 0.3, "budget": 1.0},
    {"threshold": 0.5, "margin": 0.1, "budget": 0.05, "size": 3},
    {"threshold": "auto"},
    {"threshold": 1.01},
)
#: Knobs of coalescing.
COALESCE = (
    {"chunk": 4, "threshold": 0.25, "budget": 1.0, "extra": 2},
    {"chunk": 3, "threshold": 0, "budget": 0.2, "extra": 1},
    {},
    {"chunk": 5, "threshold": 1.01, "extra": 2},
)


def graphs():
    """All graphs, and those of the battery that are small enough for the simulator."""
    yield from ((name, make()) for name, make in GRAPHS.items())
    yield from ((name, graph) for name, graph in battery_graphs().items() if graph.num_arcs < 120)


def compare_coefficients(graph):
    """Coefficients are the same, with tables that hold whole rows, and parts of them."""
    from edgewise.approx import coefficients_cuda as gpu

    expected = ew.approx.clustering_coefficients(graph, device="cpu")
    kept = gpu.SMALL, gpu.PIECE
    for gpu.SMALL, gpu.PIECE in (kept, (1, 2), (2, 5)):
        found = ew.approx.clustering_coefficients(graph, device="cuda")
        assert found.tobytes() == expected.tobytes()
    gpu.SMALL, gpu.PIECE = kept


def on_gpu(graph):
    """The graph, as if it were built on the GPU."""
    rows = GpuRows(
        np.array(graph.offsets),
        np.array(graph.targets),
        None if graph.weights is None else np.array(graph.weights),
    )
    loops = 0 if graph.directed else 2 * graph.num_edges - graph.num_arcs
    return Graph(rows, graph._ids, graph.directed, loops, graph.num_arcs)


def compare_rows(graph):
    """What techniques make on the host has the same rows, if these are made on the GPU."""
    for make, knobs in TECHNIQUES:
        expected = make(graph, **knobs)
        same_made(dataclasses.replace(expected, on_gpu=graph.num_arcs > 0), expected)


def compare_degrees(graph):
    """Degrees are normalised as on the host, by different knobs, with edges looked for some at a time."""
    from edgewise.approx import degree_cuda as gpu

    kept, kept_at_a_time = gpu.MOST_SLOTS, degree._AT_A_TIME
    for there, some in ((graph, DEGREES), (on_gpu(graph), DEGREES[:1])):
        for knobs in some:
            expected = ew.approx.normalize_degrees(graph, device="cpu", **knobs)
            for gpu.MOST_SLOTS, degree._AT_A_TIME in (
                (kept, kept_at_a_time),
                (60, kept_at_a_time),
                (kept, 3),
            ):
                same_made(ew.approx.normalize_degrees(there, device="cuda", **knobs), expected)
    gpu.MOST_SLOTS, degree._AT_A_TIME = kept, kept_at_a_time


def compare_clusters(graph):
    """Clusters are those of the host, by different knobs."""
    for there, some in ((graph, CLUSTERS), (on_gpu(graph), CLUSTERS[:1])):
        for knobs in some:
            expected = ew.approx.form_clusters(graph, device="cpu", **knobs)
            same_made(ew.approx.form_clusters(there, device="cuda", **knobs), expected)


def compare_coalesce(graph):
    """Coalescing gives the order, the edges and the slots of the host, by different knobs, also with few rounds."""
    from edgewise.approx import numbering_cuda as gpu

    kept = gpu.MOST_ROUNDS
    for there, some in ((graph, COALESCE), (on_gpu(graph), COALESCE[:1])):
        for knobs in some:
            expected = ew.approx.coalesce(graph, device="cpu", **knobs)
            for gpu.MOST_ROUNDS in (kept, 2):
                same_made(ew.approx.coalesce(there, device="cuda", **knobs), expected)
    gpu.MOST_ROUNDS = kept


COMPARED = {
    "coefficients": compare_coefficients,
    "rows": compare_rows,
    "degrees": compare_degrees,
    "clusters": compare_clusters,
    "coalesce": compare_coalesce,
}


def main():
    """Compare what is named, and print the name of each graph on which all agreed."""
    if "warps" in sys.argv:
        with_warps()
    pretend()
    compare = COMPARED[sys.argv[1]]
    for name, graph in graphs():
        compare(graph)
        print(name, flush=True)


if __name__ == "__main__":
    np.seterr(over="ignore")  # sums of weights that do not fit
    main()
