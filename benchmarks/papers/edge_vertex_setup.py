"""What the reproduction of Zhong et al. (2016) compares: graphs, systems, and how many keys are sorted."""

from collections.abc import Callable

import numpy as np

import edgewise as ew
from benchmarks.graphs import GTGRAPH
from benchmarks.papers.load_balancing_setup import Columns, rmat_on_gpu, uniform_on_gpu

LINEAR = ew.Layout("linear", threshold=1, split=False)
SYSTEMS: dict[str, ew.Schedule] = {
    "Medusa-like": ew.Schedule(
        ew.Buffered(), layout=ew.Layout(None, group_size=1, split=False, made_on="cpu")
    ),
    "paper": ew.Schedule(ew.Buffered(), layout=LINEAR),
    "paper, unsorted": ew.Schedule(ew.Buffered(), layout=ew.Layout(None, split=False)),
    "paper, row-major": ew.Schedule(
        ew.Buffered(), layout=ew.Layout("linear", threshold=1, group_size=1, split=False)
    ),
    "paper, radix sort": ew.Schedule(ew.Buffered(), layout=ew.Layout("exact", threshold=1, split=False)),
    "heavy apart": ew.Schedule(ew.Buffered(), layout=ew.Layout()),
    "pull": ew.Schedule(ew.Pull(), layout=ew.Layout()),
    "automatic": ew.Schedule(),
}
SORTED_MILLIONS = (1, 4, 16)


def thinned(made: Columns, num_vertices: int, num_edges: int) -> Columns:
    """The first `num_edges` edges among the first `num_vertices` vertices."""
    source, target, weight = made[1]
    kept = (source < num_vertices) & (target < num_vertices)
    return num_vertices, tuple(column[kept][:num_edges].copy() for column in (source, target, weight))


def real(name: str) -> Columns:
    """A graph of the test data on the GPU, with weights from 1 to 100."""
    import cupy

    from tests.golden import load as golden

    graph = golden(name).graph
    weights = np.random.default_rng(1).integers(1, 101, graph.num_arcs)
    ends = (graph.sources, graph.targets, weights)
    return graph.num_vertices, tuple(cupy.asarray(column.astype(np.int32)) for column in ends)


GRAPHS: dict[str, Callable[[], Columns]] = {
    "RMAT": lambda: thinned(rmat_on_gpu(20, 18_500_000, 1, GTGRAPH), 1_000_000, 16_000_000),
    "Random": lambda: uniform_on_gpu(1_000_000, 16_000_000, 1),
    "Journal": lambda: thinned(rmat_on_gpu(22, 40_000_000, 1, GTGRAPH), 3_997_962, 34_681_189),
    "soc-Epinions1": lambda: real("soc-Epinions1-sym"),
    "cnr-2000": lambda: real("cnr-2000"),
    "actor-collab": lambda: real("actor-collab"),
    "road-NE": lambda: real("road-NE"),
}
