"""Strongly connected components.

Result. A label for each vertex, equal where each of two vertices can be reached from the other: the index of the
smallest vertex of the component.

Idea. The vertices that one vertex reaches and those that reach it have its component in common, and every other
component lies in one of the three sets that are left. Most graphs have one component that is larger than all others by
far. So two breadth-first searches from a vertex with many arcs, which take the cheaper direction at each level, find
nearly everything; most other vertices are alone, as their arcs show; a depth-first search finds the components of the
rest.

Work. O(n + m) on every graph, also on a path or a cycle of a million vertices: small levels cost little, and the
depth-first search is linear.

References. Fleischer, Hendrickson and Pinar, "On identifying strongly connected components in parallel", IPDPS
Workshops 2000 (forward and backward); McLendon et al., JPDC 65 (2005) (trimming); Slota, Rajamanickam and Madduri, "BFS
and coloring-based parallel algorithms for strongly connected components", IPDPS 2014 (one pair of searches, then
something else).

Steps. `bfs.cpu`, on the out-edges and on the in-edges; `cpu_split` splits the vertices. On a GPU `cuda` finds the same
labels: it trims first, and spreads colours in place of the depth-first search.
"""

from edgewise.algorithms.common.dispatch import Form, begin, memory_by, no_memory
from edgewise.algorithms.common.names import names_elsewhere
from edgewise.algorithms.components import ComponentsResult, begin_components
from edgewise.algorithms.scc.cpu import strong_components, strong_components_memory, strong_components_work
from edgewise.algorithms.scc.verify import verify_strong_components
from edgewise.execution import Progress
from edgewise.graph import Arrays, Graph, check_graph
from edgewise.kernels.costs import levels
from edgewise.schedule import Buffered, Pull, Push, Schedule


class SCCResult(ComponentsResult):
    """Strongly connected components. ``result[vertex]`` is the id of the smallest vertex of the component.

    Attributes:
        component: int32, shape (n,): the index of the smallest vertex of each vertex's component.
        num_components: the number of components.
        supersteps: the number of levels of both searches, or on a GPU of supersteps in which both go on; for an
            undirected graph, as in `ComponentsResult`.
    """

    algorithm = "scc"
    _check = staticmethod(verify_strong_components)

    @property
    def _passes(self) -> int:
        return 2


@names_elsewhere(weight="none: components do not depend on weights")
def scc(
    graph: Graph,
    *,
    device: str = "auto",
    schedule: Schedule | None = None,
    progress: Progress = None,
    memory_limit: float | str | None = None,
    distributed: bool = False,
) -> SCCResult:
    """The strongly connected components of a graph. Labels depend neither on the device nor on the number of threads.

    In-edges of a directed graph are made if it has none yet; the graph keeps them, and `layout_seconds` says how long
    that took. In an undirected graph these are the connected components.

    Args:
        graph: directed or undirected; weights are not looked at.
        device, schedule, progress, memory_limit: see `choose` and `admit` in `edgewise.execution`. There is no
            delivery to choose. On a GPU, a schedule with a balance, a layout or a buffer makes it run as programs, and
            these have deliveries.
        distributed: run on all ranks that torchrun has started, each of which makes this call on the same graph, and
            gets the whole result: the same labels. They are on CPUs, or each on a GPU (docs/distributed.md); there is
            nothing to choose but the device and ``Schedule(num_threads=...)``.

    Returns:
        An `SCCResult`. O(n + m) work; on a GPU O(n + m log n) expected.

    Raises:
        ScheduleError: a balance or a layout on the CPU, or a delivery that does not exist.
        DistributedError: `distributed`, and this process is no rank of several, or ranks differ in what they ask for.
    """
    check_graph("scc", graph)
    how = device, schedule, progress, memory_limit
    if not graph.directed:
        task = begin_components("scc", graph, *how, distributed)
    else:
        task = begin(
            "scc",
            graph,
            *how,
            work=strong_components_work(graph),
            rounds=3 * levels(graph.num_vertices, graph.num_arcs),
            arrays=Arrays.BOTH_WAYS,
            cpu=Form(strong_components, lambda schedule: strong_components_memory(graph, schedule)),
            cuda=Form("scc.cuda.strong_components", lambda _: _gpu_memory(graph), arrays=Arrays.BOTH_WAYS),
            program=Form("scc.program.strong_components", no_memory, (Push, Pull, Buffered)),
            ranks=Form(
                "scc.ranks.strong_components",
                memory_by("scc.ranks.strong_components_memory", graph),
                with_gpus=Form("scc.program.strong_components_on_ranks", no_memory),
            ),
            distributed=distributed,
        )
    found, run = task.find(graph)
    return SCCResult(graph, run, found)


def _gpu_memory(graph: Graph) -> int:
    """The GPU's memory that a run takes beside the graph: arrays of vertices, and two lists of pieces of arcs both
    ways."""
    return 72 * graph.num_vertices + graph.num_arcs // 2
