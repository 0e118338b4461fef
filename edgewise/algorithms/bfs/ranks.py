"""Breadth-first search on several ranks, by both directions.

Each rank has a range of vertices. To push, it goes over the out-edges of its own vertices in the frontier, and tells
each other rank which of that one's vertices it found, with the parents that it offers if the graph is directed. To
pull, ranks tell each other their parts of the frontier as bitmaps, and each unreached own vertex looks for its first
in-neighbour there. Levels, parents and directions are those of one process, `cpu_traverse`, for all ranks decide by the
same sums. A rank whose frontier is too small for pulling to pay pushes before it knows those sums. If it was wrong, for
another rank has a large one, nothing is lost: what it has pushed to is pulled, too.

At the end ranks tell each other the levels of their own vertices, in as few bytes as hold the deepest, and the parents
of those that were reached.

This is on CPUs; ranks with GPUs do as in `edgewise.algorithms.bfs.ranks_cuda`.
"""

import contextlib
from collections.abc import Iterator
from typing import Any, final

import numpy as np

from edgewise.algorithms.bfs.cpu import ArcsBothWays, arcs_both_ways, explain_levels, find_missing_parents
from edgewise.algorithms.bfs.direction import (
    ALONE,
    BITMAPS,
    PULLED,
    PUSHED,
    WAITING,
    compare,
    forced_direction,
)
from edgewise.algorithms.bfs.ranks_cpu import (
    COUNT,
    EDGES,
    FOUND_WORDS,
    RankSearch,
    make_bits,
    pull,
    push,
    settle,
    take,
)
from edgewise.algorithms.common.rank_lists import make_lists, vertices_of, words_of
from edgewise.algorithms.common.ranks import as_values, tell_chosen, tell_own, told_by_others
from edgewise.engine.distributed.exchange import meaningless, packed, unpacked
from edgewise.engine.distributed.group import Group, connect
from edgewise.engine.distributed.partition import Ranges, by_arcs
from edgewise.execution import Execution
from edgewise.graph import Graph
from edgewise.memory import Step
from edgewise.primitives.direction import AUTO, PULL, PUSH
from edgewise.primitives.vertices import NO_VERTEX

_NUMBER = np.dtype(np.uint32)
_NOTHING = np.empty(0, np.uint8)
#: What a rank tells all others before each level, int64: the vertices and out-edges of its part of the frontier,
#: whether it waits before it pushes, and whether it has in-edges.
_FOUND, _EDGES, _WAITS, _CAN_PULL = range(4)
_HEAD = 8 * 4


def search(graph: Graph, sources: np.ndarray, limit: int, run: Execution) -> tuple[Any, Any, int]:
    """Levels, parents and the number of levels, on all ranks; arguments and answers are those of `cpu.search`, or of
    `cuda.search` if the run is on a GPU."""
    if run.on_gpu:
        from edgewise.algorithms.bfs import ranks_cuda

        return ranks_cuda.search(graph, sources, limit, run, connect())
    one = _Search(graph, connect(), run)
    with one.under_way():
        levels = one.find(sources, limit)
        level, parent = one.levels_of_all(levels), one.parents_of_all()
    return level.view(np.int32), parent.view(np.int32), levels


def find_levels(graph: Graph, sources: np.ndarray, limit: int, run: Execution) -> tuple[np.ndarray, int]:
    """Levels on CPUs, int32, -1 for vertices that were not reached, and the number of levels."""
    one = _Search(graph, connect(), run)
    with one.under_way():
        levels = one.find(sources, limit)
        return one.levels_of_all(levels).view(np.int32), levels


def search_memory(graph: Graph) -> Step:
    """The memory of `search`, and more than that of `find_levels`: levels and parents, which are kept, lists and
    bitmaps, and what is told of parents, copied on its way. Where large frontiers cannot be pulled from, ranks may tell
    each other of all vertices at one level."""
    n = graph.num_vertices
    return Step(8 * n, (28 if graph.has_in_edges else 48) * n + 8 * FOUND_WORDS)


@final
class _Search:
    """One search on one rank. All ranks make the same calls.

    Args:
        graph, group, run: the graph, the ranks and the run.
    """

    def __init__(self, graph: Graph, group: Group, run: Execution) -> None:
        n, self._directed = graph.num_vertices, graph.directed
        self._n, self._m, self._group, self._run = n, graph.num_arcs, group, run
        self._ranges: Ranges = by_arcs(group.rank, group.size, graph.offsets)
        self._arcs: ArcsBothWays = arcs_both_ways(graph)
        self._forced, self._report = forced_direction(run.schedule), run.progress
        self._may_pull = graph.has_in_edges and self._forced != PUSH
        #: For each rank, its words of a bitmap of all vertices.
        self._words = [words_of(self._ranges.of(rank)) for rank in range(group.size)]
        own = self._words[group.rank]
        self._state = RankSearch(
            level=np.full(n, NO_VERTEX),
            parent=np.full(n, NO_VERTEX),
            seen=np.zeros(-(-n // 64), np.uint64),
            frontier=np.empty(-(-n // 64), np.uint64),
            bits=np.empty(own.stop - own.start, np.uint64),
            lists=make_lists(self._ranges),
            found=np.zeros(FOUND_WORDS, np.int64),
        )
        #: This rank's part of the frontier, ascending; None if it is a bitmap alone.
        self._frontier: np.ndarray | None = None
        #: For each rank, what was pushed to at this level.
        self._pushed = [np.empty(0, _NUMBER)] * group.size

    @contextlib.contextmanager
    def under_way(self) -> Iterator[None]:
        """While this is entered, ranks speak, and progress is the number of levels."""
        with self._group.in_run(), self._run.telling(None):
            yield

    def find(self, sources: np.ndarray, limit: int) -> int:
        """Set the levels of own vertices, and parents that are known; the number of levels."""
        group, run, n = self._group, self._run, self._n
        sources = np.unique(sources).astype(_NUMBER)
        self._begin_at(sources)
        depth, explored, reached, log = 0, 0, 0, list[tuple[int, int, int, int]]()
        most = len(sources)  # no more vertices are in the frontier than arcs lead there
        pulling = alone = False
        while depth < limit:
            waits = self._may_pull and self._may_pay(n - reached - most, pulling)
            told, totals = self._exchange([_NOTHING] * group.size if waits else self._push(), waits)
            self._may_pull &= totals[_CAN_PULL] == group.size
            count, edges = totals[_FOUND], totals[_EDGES]
            if count == 0:
                break
            scanned, pays = compare(n, edges, self._m - explored, n - reached - count, pulling)
            is_small = count + edges < ALONE
            pulls = self._may_pull and bool(pays) and not (alone and is_small)
            if pulls != pulling or not log:
                log.append((depth + 1, PULL if pulls else PUSH, edges, int(scanned)))
            if not pulls and totals[_WAITS]:
                more, _ = self._exchange(self._push() if waits else [_NOTHING] * group.size, False)
                told += more
            depth, explored, reached = depth + 1, explored + edges, reached + count
            if pulls:
                self._pull(depth, scanned, n - reached)
            else:
                self._settle(told, depth)
            pulling, alone, most = pulls, is_small and not pulls, edges
            if self._report is not None:
                self._report(depth)
        if not self._may_pull and self._forced != PUSH:
            run.explain("pushed throughout: the graph has no in-edges, which pulling needs")
        explain_levels(run, np.array(log, np.int64).reshape(-1, 4), depth, AUTO if self._may_pull else PUSH)
        return depth

    def _begin_at(self, sources: np.ndarray) -> None:
        """Put the sources, each once, on level 0."""
        own, state = self._ranges.own, self._state
        np.bitwise_or.at(state.seen, sources >> 6, np.uint64(1) << (sources & 63).astype(np.uint64))
        self._frontier = sources[(sources >= own.start) & (sources < own.stop)]
        state.level[self._frontier] = 0
        ends = self._frontier.astype(np.int64) + 1
        edges = self._arcs.offsets[ends] - self._arcs.offsets[self._frontier]
        state.found[[COUNT, EDGES]] = len(ends), edges.sum(dtype=np.int64)

    def _may_pay(self, unreached: int, pulling: bool) -> bool:
        """Whether it may be cheaper to pull from all frontiers; if it is, the rank with the largest one finds so.

        Args:
            unreached: no more vertices than are unreached.
            pulling: whether the level before was pulled.
        """
        least = WAITING * max(0, unreached) + (0 if pulling else BITMAPS * self._n)
        return least < PUSHED * self._group.size * int(self._state.found[EDGES])

    def _exchange(self, parts: list[np.ndarray], waits: bool) -> tuple[list[np.ndarray], list[int]]:
        """Tell each rank a part, and how large this frontier is; what others tell, and the sums over all."""
        found = self._state.found
        head = np.array([found[COUNT], found[EDGES], waits, self._may_pull], np.int64).view(np.uint8)
        received, _ = self._group.exchange([np.concatenate([head, part]) for part in parts])
        if any(len(part) < _HEAD for part in received):
            raise meaningless()
        totals = np.sum([part[:_HEAD].view(np.int64) for part in received], axis=0).tolist()
        return [part[_HEAD:] for part in received], totals

    def _push(self) -> list[np.ndarray]:
        """Push from this rank's part of the frontier; for each other rank, which of its vertices that leads to, with
        the parents that they are offered."""
        state, ranges, rank = self._state, self._ranges, self._group.rank
        if self._frontier is None:
            count = int(state.found[COUNT])
            self._frontier = vertices_of(state.bits, ranges.own.start, ranges.own.stop, count)
        work = PUSHED * int(state.found[EDGES])
        self._run.launch(push, self._frontier, self._arcs.offsets, self._arcs.targets, state, work=work)
        parts = [_NOTHING] * self._group.size
        for other in range(self._group.size):
            if other != rank:
                self._pushed[other] = vertices = state.lists.of(other)
                offers = [state.parent[vertices]] if self._directed else []
                parts[other] = packed(vertices, ranges.of(other), offers)
        return parts

    def _settle(self, told: list[np.ndarray], depth: int) -> None:
        """Put what was pushed to, here or by others, on its level."""
        state, group, directed = self._state, self._group, self._directed
        dtypes = [_NUMBER] if directed else []
        taken = [unpacked(part, self._ranges.own, dtypes) for part in told if len(part)]
        vertices = np.concatenate([_NOTHING, *(each for each, _ in taken)]).astype(_NUMBER)
        offers = np.concatenate([vertices[:0], *(each for _, (each,) in taken)]) if directed else vertices
        self._run.launch(take, vertices, offers, state, work=PUSHED * len(vertices))
        self._pushed[group.rank] = self._frontier = state.lists.of(group.rank)
        state.found[[COUNT, EDGES]] = len(self._frontier), 0
        for rank, each in enumerate(self._pushed):
            way = each, rank == group.rank, directed, np.uint32(depth), self._arcs.offsets
            self._run.launch(settle, *way, state, work=PUSHED * len(each))
        state.lists.restart()

    def _pull(self, depth: int, scanned: int, unreached: int) -> None:
        """Tell the frontier, and pull from all of it."""
        state, group, own = self._state, self._group, self._ranges.own
        state.lists.restart()
        if self._frontier is not None:
            self._run.launch_on(1, make_bits, self._frontier, own.start // 64, state)
            self._frontier = None
        own_bits = state.bits.view(np.uint8)
        received = told_by_others(own_bits, group)
        state.frontier.fill(0)
        for rank, words in enumerate(self._words):
            part = own_bits if rank == group.rank else received[rank]
            state.frontier[words] |= as_values(part, state.frontier.dtype, words.stop - words.start)
        np.bitwise_or(state.seen, state.frontier, out=state.seen)
        state.found[:] = 0
        arcs, work = self._arcs, (PULLED * scanned + WAITING * unreached) / group.size
        way = own.start, own.stop, np.uint32(depth), arcs.offsets, arcs.in_offsets, arcs.in_sources
        self._run.launch(pull, *way, state, work=work)

    def levels_of_all(self, deepest: int) -> np.ndarray:
        """The levels of all vertices, uint32, on all ranks."""
        level = self._state.level
        tell_own(level.view(np.int32), np.min_scalar_type(-1 - deepest), self._ranges, self._group)
        return level

    def parents_of_all(self) -> np.ndarray:
        """The parents of all vertices, uint32, on all ranks, when their levels are there."""
        state, own, group = self._state, self._ranges.own, self._group
        if not self._directed:
            find_missing_parents(self._arcs, own, state, self._run)
        tell_chosen(state.parent, state.level.view(np.int32) > 0, NO_VERTEX, self._ranges, group)
        return state.parent
