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

from typing import Any, final

import numpy as np

from edgewise.algorithms.bfs.cpu import ArcsBothWays, arcs_both_ways, explain_levels
from edgewise.algorithms.bfs.cpu_ranks import (
    COUNT,
    EDGES,
    FOUND_WORDS,
    RankSearch,
    first_parents,
    make_bits,
    make_list,
    pull,
    push,
    settle,
)
from edgewise.algorithms.bfs.cpu_state import LOG_LINES
from edgewise.algorithms.bfs.direction import ALONE, BITMAPS, PULLED, PUSHED, WAITING, compare
from edgewise.algorithms.common.ranks import tell_chosen, tell_own
from edgewise.engine.distributed.exchange import meaningless, packed, unpacked
from edgewise.engine.distributed.group import Group, connect
from edgewise.engine.distributed.partition import Ranges, by_arcs
from edgewise.execution import Execution
from edgewise.graph import Graph
from edgewise.kernels.words import CPU_LINE
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
    group = connect()
    with group.in_run():
        one = _Search(graph, group, run)
        levels = one.find(sources, limit)
        level, parent = one.levels_of_all(levels), one.parents_of_all()
    return level.view(np.int32), parent.view(np.int32), levels


def find_levels(graph: Graph, sources: np.ndarray, limit: int, run: Execution) -> tuple[np.ndarray, int]:
    """Levels on CPUs, int32, -1 for vertices that were not reached, and the number of levels."""
    group = connect()
    with group.in_run():
        one = _Search(graph, group, run)
        levels = one.find(sources, limit)
        return one.levels_of_all(levels).view(np.int32), levels


def search_memory(graph: Graph) -> Step:
    """The memory of `search`, and more than that of `find_levels`: levels and parents, which are kept; while levels
    are found, lists, bitmaps and what ranks tell, at most 12 bytes for a vertex that others have found, too; then what
    is told of levels and parents, copied on its way."""
    n = graph.num_vertices
    return Step(8 * n, 24 * n + 8 * FOUND_WORDS)


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
        self._may_pull = graph.has_in_edges
        #: For each rank, its words of a bitmap of all vertices.
        self._words = [
            slice(of.start // 64, -(-of.stop // 64)) for of in map(self._ranges.of, range(group.size))
        ]
        words, own = -(-n // 64), self._words[group.rank]
        self._state = RankSearch(
            level=np.full(n, NO_VERTEX),
            parent=np.full(n, NO_VERTEX),
            seen=np.zeros(words, np.uint64),
            frontier=np.empty(words, np.uint64),
            bits=np.empty(own.stop - own.start, np.uint64),
            lists=np.empty(n, _NUMBER),
            ends=np.zeros((group.size, CPU_LINE), np.int64),
            begins=np.array(self._ranges.begins),
            found=np.zeros(FOUND_WORDS, np.int64),
        )
        #: Where the frontier begins and ends in the list of own vertices; whether it is there, or a bitmap.
        self._begin = self._end = self._ranges.own.start
        self._is_listed = True

    def find(self, sources: np.ndarray, limit: int) -> int:
        """Set the levels of own vertices, and parents that are known; the number of levels."""
        group, run, n = self._group, self._run, self._n
        self._begin_at(np.unique(sources).astype(_NUMBER))
        depth, explored, reached, edges, log = 0, 0, 0, 0, list[tuple[int, int, int, int]]()
        pulling = alone = False
        while depth < limit:
            waits = self._may_pull and self._may_pay(n - reached - edges, pulling)
            told, totals = self._exchange([_NOTHING] * group.size if waits else self._push(), waits)
            self._may_pull &= totals[_CAN_PULL] == group.size
            count, edges = totals[_FOUND], totals[_EDGES]
            if count == 0:
                break
            scanned, pays = compare(n, edges, self._m - explored, n - reached - count, pulling)
            is_small = count + edges < ALONE
            pulls = self._may_pull and bool(pays) and not (alone and is_small)
            if pulls != pulling or not log:
                del log[LOG_LINES - 1 :]
                log.append((depth + 1, PULL if pulls else PUSH, edges, int(scanned)))
            if not pulls and totals[_WAITS]:
                more, _ = self._exchange(self._push() if waits else [_NOTHING] * group.size, False)
                told += more
            depth, explored, reached = depth + 1, explored + edges, reached + count
            if pulls:
                self._pull(depth, scanned, n - reached)
            else:
                self._settle(told, depth)
            pulling, alone = pulls, is_small and not pulls
            if run.progress is not None:
                run.progress(depth)
        if not self._may_pull:
            run.explain("pushed throughout: the graph has no in-edges, which pulling needs")
        explain_levels(run, np.array(log, np.int64).reshape(-1, 4), depth, AUTO if self._may_pull else PUSH)
        return depth

    def _begin_at(self, sources: np.ndarray) -> None:
        """Put the sources, each once, on level 0."""
        own, state = self._ranges.own, self._state
        np.bitwise_or.at(state.seen, sources >> 6, np.uint64(1) << (sources & 63).astype(np.uint64))
        mine = sources[(sources >= own.start) & (sources < own.stop)]
        state.level[mine] = 0
        state.lists[own.start : own.start + len(mine)] = mine
        self._end = own.start + len(mine)
        offsets = self._arcs.offsets
        state.found[COUNT] = len(mine)
        state.found[EDGES] = (offsets[mine + np.int64(1)] - offsets[mine]).sum(dtype=np.int64)

    def _may_pay(self, unreached: int, pulling: bool) -> bool:
        """Whether it may be cheaper to pull from all frontiers; if it is, this holds for the largest one at least."""
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
        """Push from the own part of the frontier; for each rank, which of its vertices that leads to."""
        state, rank = self._state, self._group.rank
        if not self._is_listed:
            self._run.launch_on(1, make_list, rank, state)
            self._begin, self._end, self._is_listed = int(state.begins[rank]), int(state.ends[rank, 0]), True
        state.ends[:, 0] = state.begins[:-1]
        state.ends[rank, 0] = self._end
        edges = int(state.found[EDGES])
        self._run.launch(
            push, self._begin, self._end, self._arcs.offsets, self._arcs.targets, state, work=PUSHED * edges
        )
        return [self._pushed_to(each) for each in range(self._group.size)]

    def _pushed_to(self, rank: int) -> np.ndarray:
        """Which vertices of another rank were pushed to, and offered parents."""
        state, of = self._state, self._ranges.of(rank)
        end = int(state.ends[rank, 0])
        if rank == self._group.rank or end == of.start:
            return _NOTHING
        vertices = np.sort(state.lists[of.start : end])
        return packed(vertices, of, [state.parent[vertices]] if self._directed else [])

    def _settle(self, told: list[np.ndarray], depth: int) -> None:
        """Put what was pushed to, here or by others, on its level."""
        state, own, rank = self._state, self._ranges.own, self._group.rank
        dtypes = [_NUMBER] if self._directed else []
        of_others = [unpacked(part, own, dtypes) for part in told if len(part)]
        vertices = np.concatenate([_NOTHING, *(each for each, _ in of_others)]).astype(_NUMBER)
        offers = vertices
        if self._directed:
            offers = np.concatenate([np.empty(0, _NUMBER), *(each for _, (each,) in of_others)])
        state.found[EDGES] = 0
        way = rank, np.uint32(depth), self._end, self._directed, self._arcs.offsets
        count = len(vertices) + int((state.ends[:, 0] - state.begins[:-1]).sum())
        self._run.launch(settle, *way, vertices, offers, state, work=PUSHED * count)
        self._begin, self._end = self._end, int(state.ends[rank, 0])
        state.found[COUNT] = self._end - self._begin

    def _pull(self, depth: int, scanned: int, unreached: int) -> None:
        """Tell the frontier, and pull from all of it."""
        state, group, own = self._state, self._group, self._ranges.own
        if self._is_listed:
            self._run.launch_on(1, make_bits, self._begin, self._end, own.start, state)
            self._is_listed = False
        parts = [state.bits.view(np.uint8)] * group.size
        parts[group.rank] = _NOTHING
        received, _ = group.exchange(parts)
        state.frontier.fill(0)
        for rank, words in enumerate(self._words):
            part = state.bits if rank == group.rank else received[rank].view(np.uint64)
            if len(part) != words.stop - words.start:
                raise meaningless()
            state.frontier[words] |= part
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
            work = (2.0 * self._n + self._m) / group.size
            self._run.launch(first_parents, own.start, own.stop, self._arcs, state, work=work)
        tell_chosen(state.parent, state.level.view(np.int32) > 0, NO_VERTEX, self._ranges, group)
        return state.parent
