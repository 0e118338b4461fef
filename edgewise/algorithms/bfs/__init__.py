"""Breadth-first search.

Result. The level of each vertex, which is the least number of arcs on a path from the source, and a tree of such
paths.

Idea. The frontier, which is the last level found, is expanded in one of two directions. Pushing looks at the targets
of its vertices; pulling lets each unreached vertex look for a parent among its in-neighbours, and stops at the first.
Most edges of a small-world graph are never looked at. Each level takes the cheaper direction.

Encoding. Levels and parents are int32, -1 for none. The frontier is a queue for each thread while pushing and a bitmap
while pulling. The parent is the first in-neighbour, in the order of in-edges, on the level before: in a directed graph
the one of lowest index. So answers depend neither on threads nor on directions.

Reference. Beamer, Asanovic and Patterson, "Direction-Optimizing Breadth-First Search", SC 2012.

Steps. `cpu_push`, `cpu_pull`; `cpu_traverse` chooses, by the costs of `direction` in place of the paper's thresholds;
`cpu_state` is what they share.
"""

import operator
from copy import copy
from dataclasses import replace
from typing import Any

import numpy as np

from edgewise.algorithms.bfs.cpu import (
    layers_memory,
    layers_work,
    search,
    search_cost,
    search_layers,
    search_memory,
)
from edgewise.algorithms.bfs.layers import DEEP as DEEP
from edgewise.algorithms.bfs.layers import Found, Making, find_layers, layers_at_hand, note_search
from edgewise.algorithms.bfs.layers import layers_asked as layers_asked
from edgewise.algorithms.bfs.verify import verify_levels
from edgewise.algorithms.common.derived import check_derived, index_of_source
from edgewise.algorithms.common.dispatch import Form, begin, bytes_by_clusters, no_memory
from edgewise.algorithms.common.names import names_elsewhere
from edgewise.errors import ParameterError
from edgewise.execution import Execution, Progress, as_schedule, rest_of, threads_of
from edgewise.explain import is_asked
from edgewise.graph import Arrays, Graph, VertexIds, check_graph, least_pages
from edgewise.graph.sets_of_ids import as_listed
from edgewise.kernels.door import cuda_problem
from edgewise.memory import Step, as_bytes, in_turn
from edgewise.path_result import PathResult
from edgewise.result import Columns, HostArray, SavedColumns
from edgewise.schedule import Buffered, Layered, Pull, Push, Schedule
from edgewise.text import shown


class BFSResult(PathResult):
    """Levels and parents from one source or several.

    ``result[vertex]`` is the level, or None if the vertex was not reached.

    Attributes:
        source: the user's id of the source, or the list of ids, as given.
        level: int32, shape (n,): arcs on a shortest path from the nearest source; -1 where there is none.
        parent_index: int32, shape (n,): the vertex before each on such a path; -1 for sources and unreached vertices.
        max_depth: the highest level looked for, or None.
        supersteps: the number of levels that were expanded.
    """

    algorithm = "bfs"
    _main = "level"
    level = HostArray()

    def __init__(
        self,
        graph: Graph,
        run: Execution,
        found: tuple[Any, Any, int],
        source: Any,
        max_depth: int | None,
    ) -> None:
        level, parent, levels = found
        super().__init__(graph, run, levels, {"level": level, "parent_index": parent})
        self.source, self.max_depth = copy(source), max_depth

    def _are_reached(self, lengths: np.ndarray) -> np.ndarray:
        return lengths >= 0

    def columns(self) -> dict[str, np.ndarray]:
        """The columns ``level`` and ``parent``."""
        return {"level": self.level, "parent": self.parent}

    def summary(self) -> dict[str, Any]:
        """The number of vertices ``reached``, and the highest level, the ``depth``."""
        return {"reached": self.num_reached, "depth": int(self.level.max())}

    def top_rows(self, count: int = 10) -> dict[str, np.ndarray]:
        """The vertices on the lowest levels."""
        return self._top_rows("level", count, largest=False, shown=self.reached)

    def verify(self, graph: Graph) -> bool:
        """Check that these are the levels: see `verify.verify_levels`."""
        check_graph(f"{type(self).__name__}.verify", graph)
        check_derived(self, "parent", "num_reached")
        sources = np.atleast_1d(index_of_source(graph, self.source))
        return verify_levels(graph, sources, self.max_depth, self.level, self.parent_index)

    @classmethod
    def verify_columns(cls, graph: Graph, columns: Columns, **given: Any) -> bool:
        """Check levels and parents that were written to a file: see `Result.verify_columns`."""
        saved = SavedColumns(graph, columns)
        sources, depth = np.atleast_1d(graph.index_of(given["source"])), given.get("max_depth")
        limit = None if depth is None else as_depth(depth)
        level, parent = saved.numbers("level", np.int32, missing=-1), saved.vertices("parent")
        return verify_levels(graph, sources, limit, level, parent)


@names_elsewhere(
    depth_limit="max_depth",
    cutoff="max_depth",
    sources="source, which takes several, too",
    reverse="a graph that is turned round: bfs(graph.reverse(), source)",
)
def bfs(
    graph: Graph,
    source: VertexIds,
    *,
    max_depth: int | None = None,
    device: str = "auto",
    schedule: Schedule | None = None,
    progress: Progress = None,
    memory_limit: float | str | None = None,
    distributed: bool = False,
) -> BFSResult:
    """Levels and parents of all vertices that can be reached from a source. Weights are not looked at.

    Pulling needs the in-edges of a directed graph. A search that would gain by them makes them if they are missing and
    `memory_limit` allows it; the graph keeps them, and `layout_seconds` says how long that took.
    ``Schedule(delivery=Push())`` needs none. On a GPU they are always made, for the parents.

    Args:
        graph: directed or undirected.
        source: the user's id of a vertex, or a list or a set of ids: levels count from the nearest.
        max_depth: look no further than this level; None for all.
        device, schedule, progress, memory_limit: see `choose` and `admit` in `edgewise.execution`. ``Push()`` or
            ``Pull()`` makes that the direction of all levels. On a GPU, a schedule with a balance other than
            `Clustered`, a `Layout` or a buffer makes it run as a program. With `Layered` from these sources, levels
            are read from the layers, and nothing is searched; so they are by default, once there are such layers.
        distributed: run on all ranks that torchrun has started, each of which makes this call on the same graph, and
            gets the whole result: the same levels and parents. Levels are found on GPUs if all ranks have one;
            there is nothing to choose but the device and ``Schedule(num_threads=..., delivery=Push())``.

    Returns:
        A `BFSResult`. O(n + m) work when pushing; pulling usually looks at a small part of the edges.

    Raises:
        GraphError: a source that is not in the graph.
        ParameterError: no source, or a `max_depth` that is not an integer of at least 0.
        ScheduleError: a balance or a `Layout` on the CPU.
        ParseError, OutputError: the file of layers that a schedule asks for cannot be used, or written.
        DistributedError: `distributed`, and this process is no rank of several, or ranks differ in what they ask for.
    """
    check_graph("bfs", graph)
    limit = graph.num_vertices if max_depth is None else as_depth(max_depth)
    how: dict[str, Any] = {"device": device, "progress": progress, "memory_limit": memory_limit}
    how["distributed"] = distributed
    source = as_listed(source, graph)
    levels, run = find_levels("bfs", graph, source, limit, schedule, how)
    return BFSResult(graph, run, levels, source, None if max_depth is None else limit)


def find_levels(
    name: str, graph: Graph, source: Any, limit: int, schedule: Schedule | None, how: dict[str, Any]
) -> tuple[tuple[Any, Any, int], Execution]:
    """Levels, parents and the number of levels expanded, as of `BFSResult`, and the run.

    Args:
        name: what runs, for messages.
        graph, source, schedule: as for `bfs`.
        limit: the highest level to look for.
        how: the other options of the run: device, progress, memory_limit and distributed.
    """
    distributed = how["distributed"]
    asked, schedule = (None, as_schedule(name, schedule)) if distributed else layers_asked(name, schedule)
    looking_up = graph.looking_up(source)
    device, progress, memory_limit = how["device"], how["progress"], how["memory_limit"]
    if asked is not None:
        after = layers_memory(graph, schedule, True).most
        found = graph_in_layers(name, graph, asked, device, memory_limit, after, weights=False)
        return _over_layers(name, graph, source, limit, found, schedule, how)

    def memory(schedule: Schedule) -> int:
        needed = in_turn(looking_up, search_memory(graph, schedule)).most
        if is_asked() and not isinstance(schedule.delivery, Push):  # it makes in-edges if it may
            pulling = in_turn(looking_up, search_memory(graph, replace(schedule, delivery=Pull()))).most
            pages = least_pages(graph, threads_of(name, schedule))
            room = rest_of(as_bytes(f"{name}: memory_limit", memory_limit), pages)
            needed = pulling if room is None or pulling <= room else needed
        return needed

    work, rounds = search_cost(graph)
    task = begin(
        name,
        graph,
        device,
        schedule,
        progress,
        memory_limit,
        work=work,
        rounds=rounds,
        arrays=Arrays.BOTH_WAYS,
        cpu=Form(search, memory, (Push, Pull)),
        cuda=Form(
            "bfs.cuda.search",
            lambda each: 8 * graph.num_vertices + bytes_by_clusters(graph, each),
            (Push, Pull),
            Arrays.BOTH_WAYS,
            _list_bytes(graph),
            heads=True,
        ),
        program=Form("bfs.program.search", no_memory, (Push, Pull, Buffered)),
        ranks=Form(
            "bfs.ranks.search",
            lambda _: in_turn(looking_up, _memory_on_ranks(graph)).most,
            (Push,),
        ),
        distributed=distributed,
        by_clusters=True,
    )
    sources = np.atleast_1d(graph.index_of(source)).astype(np.int64, copy=False)
    if len(sources) == 0:
        raise ParameterError(f"{name}: the list of sources is empty; expected at least one")
    chosen = task.admission.chosen
    searches = chosen.on_gpu and not chosen.as_program and not distributed
    if searches and (at_hand := layers_at_hand(graph, sources)) is not None:
        return _over_layers(name, graph, source, limit, at_hand, schedule, how)
    levels, run = task.find(graph, sources, limit)
    if searches:
        note_search(graph, sources, run.seconds)
    return levels, run


def graph_in_layers(
    name: str,
    graph: Graph,
    asked: Layered,
    device: str,
    memory_limit: Any,
    after: int = 0,
    weights: bool = True,
) -> Found:
    """The graph in the layers that a schedule asks for, made by a search if they are not at hand.

    Args:
        name: what runs, for messages.
        graph, device, memory_limit: as for the run.
        asked: what the schedule says.
        after: the bytes of the host's memory that the run itself takes.
        weights: whether the run reads weights: those in a file are compared with the graph's.

    Raises:
        GraphError: a root that is not in the graph.
        ParameterError: no roots.
        ParseError, OutputError, MemoryLimitError, ScheduleError: as `find_layers`.
    """
    roots = _indices_of(graph, asked.root_ids, f"{name}: the list of roots")

    # A limit is one of the memory where the run goes.
    on_host = device == "cpu" or (device == "auto" and cuda_problem() is not None)
    limit = as_bytes(f"{name}: memory_limit", memory_limit) if on_host else None

    def levels_from(roots: np.ndarray) -> Any:
        """Levels where the rows are moved: on the GPU if the graph was built there."""
        ids = graph.ids_of(roots)
        if graph.built_on_gpu:
            return bfs(graph, ids, device=device, memory_limit=memory_limit).on_device("level")
        return bfs(graph, ids, device="cpu", memory_limit=limit).level

    return find_layers(name, graph, asked, roots, weights, Making(levels_from, limit, after))


def _indices_of(graph: Graph, ids: Any, what: str) -> np.ndarray:
    """The indices of vertices, int64, ascending, each once."""
    found = np.unique(np.atleast_1d(graph.index_of(ids)).astype(np.int64, copy=False))
    if len(found) == 0:
        raise ParameterError(f"{what} is empty; expected at least one")
    return found


def _over_layers(
    name: str,
    graph: Graph,
    source: Any,
    limit: int,
    found: Found,
    schedule: Schedule,
    how: dict[str, Any],
) -> tuple[tuple[Any, Any, int], Execution]:
    """`find_levels` over a graph in layers."""
    moved, n = found.made.graph, graph.num_vertices
    sources = _indices_of(graph, source, f"{name}: the list of sources")
    from_roots = np.array_equal(sources, found.made.roots)
    work, rounds = (layers_work(moved), 1.0) if from_roots else search_cost(moved)
    task = begin(
        name,
        moved,
        schedule=schedule,
        work=work,
        rounds=rounds,
        arrays=Arrays.BOTH_WAYS,
        cpu=Form(
            search_layers,
            lambda each: layers_memory(moved, each, from_roots).most + found.taken,
            (Push, Pull),
        ),
        cuda=Form(
            "bfs.cuda.search_layers",
            lambda _: 20 * n,
            (Push, Pull),
            Arrays.BOTH_WAYS,
            0 if from_roots else _list_bytes(moved),
            heads=not from_roots,
        ),
        program="over layers",
        **how,
    )
    levels, run = task.find(found.made, None if from_roots else found.made.graph.places_of(sources), limit)
    found.tell(run)
    return levels, run


def as_depth(max_depth: Any) -> int:
    """A depth limit that int64 holds."""
    try:
        depth = -1 if isinstance(max_depth, bool) else operator.index(max_depth)
    except TypeError:
        depth = -1
    if depth < 0:
        raise ParameterError(
            f"bfs: max_depth is {shown(max_depth)}; expected an integer of at least 0, or None"
        )
    return min(depth, 2**31)


def _memory_on_ranks(graph: Graph) -> Step:
    """The memory of a search on one of several ranks."""
    from edgewise.algorithms.bfs.ranks import search_memory

    return search_memory(graph)


def _list_bytes(graph: Graph) -> int:
    """The memory of a search's lists on a GPU."""
    return graph.num_vertices * 20 + graph.num_arcs // 4
