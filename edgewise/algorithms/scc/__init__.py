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

Steps. `bfs.cpu`, on the out-edges and on the in-edges; `cpu` splits the vertices. On a GPU `cuda` finds the same
labels: it trims first, and spreads colours in place of the depth-first search.
"""

from typing import Any

import numpy as np

from edgewise.algorithms.bfs.cpu import (
    LEVELS,
    Arcs,
    make_search,
    rows_and_columns,
    search_work,
    searching,
    traverse,
)
from edgewise.algorithms.common.derived import check_derived
from edgewise.algorithms.common.dispatch import Form, begin, no_memory
from edgewise.algorithms.components import ComponentsResult, begin_components
from edgewise.algorithms.scc.cpu import ALONE, BOTH, COMPONENTS, LOWEST, depth_bytes, make_depth, split
from edgewise.algorithms.scc.verify import verify_strong_components
from edgewise.execution import Execution, Progress, threads_of
from edgewise.graph import Arrays, Graph, Made, check_graph
from edgewise.kernels.costs import levels
from edgewise.memory import Step, held, in_turn
from edgewise.primitives.direction import AUTO
from edgewise.result import Columns, SavedColumns
from edgewise.schedule import Buffered, Pull, Push, Schedule
from edgewise.text import shown


class SCCResult(ComponentsResult):
    """Strongly connected components.

    Attributes:
        component: int32, shape (n,): the index of the smallest vertex of each vertex's component.
        num_components: the number of components.
        supersteps: the number of levels of both searches, or on a GPU of supersteps in which both go on; for an
            undirected graph, as in `ComponentsResult`.
    """

    algorithm = "scc"

    @property
    def _passes(self) -> int:
        return 2

    def verify(self, graph: Graph) -> bool:
        """Check that these are the components: see `verify.verify_strong_components`."""
        check_graph(f"{type(self).__name__}.verify", graph)
        check_derived(self, "sizes")
        return verify_strong_components(graph, self.component, self.num_components)

    @classmethod
    def verify_columns(cls, graph: Graph, columns: Columns, **given: Any) -> bool:
        """Check labels that were written to a file: see `Result.verify_columns`."""
        saved = SavedColumns(graph, columns)
        component = saved.numbers("component", np.int64)
        return verify_strong_components(graph, component, len(np.unique(component)))


def scc(
    graph: Graph,
    *,
    device: str = "auto",
    schedule: Schedule | None = None,
    progress: Progress = None,
    memory_limit: int | None = None,
) -> SCCResult:
    """The strongly connected components of a graph. Labels depend neither on the device nor on the number of threads.

    In-edges of a directed graph are made if it has none yet; the graph keeps them, and `layout_seconds` says how long
    that took. In an undirected graph these are the connected components.

    Args:
        graph: directed or undirected; weights are not looked at.
        device, schedule, progress, memory_limit: see `choose` and `admit` in `edgewise.execution`. There is no
            delivery to choose. On a GPU, a schedule with a balance, a layout or a buffer makes it run as programs, and
            these have deliveries.

    Returns:
        An `SCCResult`. O(n + m) work; on a GPU O(n + m log n) expected.

    Raises:
        ScheduleError: a balance or a layout on the CPU, or a delivery that does not exist.
    """
    check_graph("scc", graph)
    how = device, schedule, progress, memory_limit
    if not graph.directed:
        task = begin_components("scc", graph, *how)
    else:
        n, m = graph.num_vertices, graph.num_arcs
        task = begin(
            "scc",
            graph,
            *how,
            work=2 * search_work(n, m),
            rounds=3 * levels(n, m),
            arrays=Arrays.BOTH_WAYS,
            cpu=Form(_strong_components, lambda schedule: _memory(graph, schedule)),
            cuda=Form("scc.cuda.strong_components", lambda _: _gpu_memory(graph)),
            program=Form("scc.program.strong_components", no_memory, (Push, Pull, Buffered)),
        )
    found, run = task.find(graph)
    return SCCResult(graph, run, found)


def _memory(graph: Graph, schedule: Schedule) -> int:
    """The memory that a run takes on the CPU."""
    n = graph.num_vertices
    search = searching(n, threads_of("scc", schedule))
    making = graph.making(Made.IN_EDGES, Made.OUT_DEGREE, Made.IN_DEGREE)
    return in_turn(making, Step(0, 4 * n), search, search, held(4 * n + depth_bytes(n))).most


def _gpu_memory(graph: Graph) -> int:
    """The GPU's memory that a run takes: the graph both ways, arrays of vertices, and two lists of pieces of arcs
    both ways."""
    run = held(72 * graph.num_vertices + graph.num_arcs // 2)
    return in_turn(graph.gpu.making(Arrays.BOTH_WAYS), run).most


def _strong_components(graph: Graph, run: Execution) -> tuple[np.ndarray, int, int]:
    """Labels, the number of components, and levels of both searches."""
    n = graph.num_vertices
    if n == 0:
        return np.empty(0, np.int32), 0, 0
    run.make_in_edges(graph)
    start = int(np.argmax(np.minimum(graph.out_degree, graph.in_degree)))
    arcs = rows_and_columns(graph)
    reverse = Arcs(arcs.in_offsets, arcs.in_sources, arcs.offsets, arcs.targets)
    found_levels, supersteps = [], 0
    for ways in (arcs, reverse):
        search = make_search(n, run.num_threads)
        run.launch(
            traverse,
            ways,
            search,
            np.array([start]),
            n,
            True,
            AUTO,
            work=search_work(n, graph.num_arcs),
            rounds=levels(n, graph.num_arcs),
        )
        found_levels.append(search.level)
        supersteps += int(search.status[LEVELS])
        del search  # before the next one is made
    component, found = np.empty(n, np.uint32), np.zeros(8, np.int64)
    found[LOWEST] = n
    run.launch(split, arcs, *found_levels, make_depth(n), component, found, work=5 * n + graph.num_arcs // 3)
    rest, name = n - found[BOTH] - found[ALONE], graph.ids_of(np.array([start])).tolist()[0]
    run.explain(
        f"{found[BOTH]:,} of {n:,} vertices are in the component of vertex {shown(name)}, "
        f"which two searches found; {found[ALONE]:,} are alone by their arcs; {rest:,} went to a depth-first search"
    )
    return component.view(np.int32), int(found[COMPONENTS]), supersteps
