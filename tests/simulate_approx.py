"""Approximate graphs made on a GPU that tests/simulator.py pretends: they are those that the host makes, bit for bit.

`warps` as an argument gives warps several lanes, as tests/simulated_warps.py does.
"""

import sys

import numpy as np
from battery import graphs as battery_graphs
from simulated_warps import with_warps
from simulator import pretend

import edgewise as ew

GRAPHS = {
    "skewed": lambda: ew.generate.rmat(6, 4, seed=1, weights=(1, 100)),
    "skewed, floats": lambda: ew.generate.rmat(5, 4, seed=2, weights=(0.0, 1.0)),
    "skewed both ways": lambda: ew.generate.rmat(5, 5, seed=3, directed=False, weights=(1, 9)),
    "streets": lambda: ew.generate.lattice(6, 7, removed=0.2, one_way=0.3, seed=4, weights=(1, 9)),
    "no weights both ways": lambda: ew.generate.rmat(5, 4, seed=6, directed=False),
    "star": lambda: ew.generate.star(9),
    "no edges": lambda: ew.Graph.from_edges([], [], num_vertices=3),
}


def graphs():
    """All graphs, and those of the battery that are small enough for the simulator."""
    yield from ((name, make()) for name, make in GRAPHS.items())
    yield from ((name, graph) for name, graph in battery_graphs().items() if graph.num_arcs < 1000)


def compare_coefficients(graph):
    """Coefficients are the same, with tables that hold whole rows, and parts of them."""
    from edgewise.approx import coefficients_cuda as gpu

    expected = ew.approx.clustering_coefficients(graph, device="cpu")
    kept = gpu.SMALL, gpu.PIECE
    for gpu.SMALL, gpu.PIECE in (kept, (1, 2), (2, 5)):
        found = ew.approx.clustering_coefficients(graph, device="cuda")
        assert found.tobytes() == expected.tobytes()
    gpu.SMALL, gpu.PIECE = kept


def main():
    """Print the name of what agreed on all graphs."""
    if "warps" in sys.argv:
        with_warps()
    pretend()
    for compare in (compare_coefficients,):
        for name, graph in graphs():
            try:
                compare(graph)
            except BaseException:
                print(f"on {name}:", file=sys.stderr)
                raise
        print(compare.__name__.removeprefix("compare_"), flush=True)


if __name__ == "__main__":
    np.seterr(over="ignore")
    main()
