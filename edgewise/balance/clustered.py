"""The clusters of a graph on a GPU, and whether runs that ask for none take them.

Clusters are made at the second run on a graph of few arcs at each vertex, and are used if few arcs lead across their
borders. The graph keeps them.
"""

from weakref import WeakKeyDictionary, WeakSet

import numpy as np

from edgewise.balance.automatic import largest_degree
from edgewise.errors import MemoryLimitError, ScheduleError
from edgewise.graph import Graph
from edgewise.kernels.cuda.memory import copy_of, cupy
from edgewise.layout.clusters import Clusters, joined_parts
from edgewise.layout.clusters_cuda import grow_clusters
from edgewise.primitives.clusters import MOST
from edgewise.schedule import Clustered

#: Clusters are made unasked for graphs of at least so many vertices, at most so many arcs for each on average, none of
#: which has more than the third number; and are used if no more than this share of the arcs leads across their borders.
LEAST_VERTICES, MEAN_DEGREE, LARGEST_DEGREE, BORDER = 1 << 16, 6, 64, 0.08
#: Arcs are counted in 32 bits.
MOST_ARCS = 2**31 - 1
#: How often graphs were run on for which clusters would be made.
_runs: WeakKeyDictionary[Graph, int] = WeakKeyDictionary()
#: Graphs with too many arcs at a vertex or across the borders of their clusters, or without room for in-edges.
_unsuited: WeakSet[Graph] = WeakSet()


def clusters_of(graph: Graph, how: Clustered) -> Clusters:
    """The clusters of a graph that lies on the GPU, with its in-edges."""
    gpu, n = graph.gpu, graph.num_vertices
    if how.begins is not None or n == 0:
        places, begins = cupy().arange(n, dtype=np.int32), np.zeros(0, np.int64) if n == 0 else how.begins
        return Clusters(places, places, copy_of(joined_parts(begins, n, MOST)))
    return grow_clusters(gpu.offsets, gpu.targets, gpu.in_offsets, gpu.in_sources, graph.directed, MOST)


def check_clustered(graph: Graph, how: Clustered) -> None:
    """Refuse a graph that cannot have such clusters, once it was placed.

    Raises:
        MemoryLimitError: not all of it lies on the GPU.
        ScheduleError: it has too many arcs, or too few vertices.
    """
    if how.begins is not None and how.begins.max(initial=0) > graph.num_vertices:
        raise ScheduleError(
            f"Clustered: the last part ends at {how.begins[-1]:,}, and the graph has {graph.num_vertices:,} vertices; "
            "expected parts of this graph"
        )
    if graph.num_arcs > MOST_ARCS:
        raise ScheduleError(
            f"Clustered() takes at most {MOST_ARCS:,} arcs, and the graph has {graph.num_arcs:,}; leave balance at "
            "'auto'"
        )
    if graph.placement is not None:
        raise MemoryLimitError(
            f"Clustered() needs all of the graph on the GPU, and there are {graph.placement}. Raise memory_limit, free "
            "some memory, or leave balance at 'auto'"
        )


def clusters_pay(graph: Graph) -> bool:
    """Whether clusters may pay for a run that could have them and does not ask for them; it counts as one. The first
    run on a graph would not gain the time that they take."""
    graph = graph.itself  # nothing else remembers a weak proxy
    if graph.placement is not None or graph in _unsuited:
        return False
    _runs[graph] = _runs.get(graph, 0) + 1
    if _runs[graph] == 1:  # nothing is made for it, in-edges neither
        return False
    try:
        suits = graph.gpu.kept(_few_arcs)
    except MemoryLimitError:
        suits = False
    if not suits:
        _unsuited.add(graph)
    return suits


def _few_arcs(graph: Graph) -> bool:
    """Whether each vertex of a graph has few arcs."""
    n, gpu = graph.num_vertices, graph.gpu
    if n < LEAST_VERTICES or graph.num_arcs > min(MEAN_DEGREE * n, MOST_ARCS):
        return False
    found = (gpu.of_offsets(inward, "the largest degree", 8 * n, largest_degree) for inward in (False, True))
    return max(found) <= LARGEST_DEGREE


def give_up_clusters(graph: Graph, crossing: int) -> str | None:
    """Forget the clusters of a graph if too many arcs lead across their borders; then, what `explain` tells."""
    if crossing <= BORDER * graph.num_arcs:
        return None
    _unsuited.add(graph.itself)
    graph.gpu.drop(clusters_of, Clustered())
    return f"not by clusters: {crossing / graph.num_arcs:.0%} of the arcs lead across their borders"


def by_clusters_note(clusters: int, visits: int, crossing: int, graph: Graph) -> str:
    """What `explain` tells of a run by clusters."""
    return (
        f"on the GPU by {clusters:,} clusters of at most {MOST:,} vertices, which were visited {visits:,} times; "
        f"{crossing / max(graph.num_arcs, 1):.1%} of the arcs lead across their borders"
    )
