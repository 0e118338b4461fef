"""Breadth-first search on several ranks with GPUs, by both directions.

Each rank has a range of vertices, their arcs, and their in-edges, which are the same in an undirected graph. A directed
graph without in-edges is searched by pushing alone. How a level goes is in `edgewise.algorithms.bfs.ranks_kernels`; the
host starts kernels and exchanges, and decides from sums over all ranks, as the kernel for one GPU does.

Exchanges have the same lengths at all levels, so the host need not know what is in them: at low levels it looks after
each, then after some. Where a frontier is large, it looks before ranks push or pull.

At the end ranks tell each other the levels of their own vertices, in as few bytes as hold the deepest. Parents of
vertices that were found by pulling are known. Where in-edges are there, each rank finds those of its other vertices as
one GPU does, and tells the parents of all of its own. Where they are not, arcs lead to vertices of all ranks: each
finds the least parent that its arcs offer to each vertex, and the least of all ranks is the parent.
"""

import functools
from collections.abc import Callable
from typing import Any, NamedTuple, final

import numpy as np

from edgewise.algorithms.bfs import ranks_kernels
from edgewise.algorithms.bfs.cuda import start_parents
from edgewise.algorithms.bfs.direction import forced_direction
from edgewise.algorithms.bfs.ranks_kernels import (
    BEGIN,
    CONTROL_WORDS,
    GO_ON,
    PULL_BARRIERS,
    PUSH,
    PUSH_BARRIERS,
    TOLD_DEPTH,
    TOLD_EDGES,
    TOLD_EXPLORED,
    TOLD_FOUND,
    TOLD_WAITS,
    TOLD_WORDS,
    Searching,
    pull_kernel,
    push_kernel,
)
from edgewise.algorithms.bfs.ranks_levels import tell_levels
from edgewise.algorithms.common.device_graph import GraphOnGpu, offset_dtype
from edgewise.algorithms.common.offers_cuda import make_offer, offers_of, signature
from edgewise.algorithms.common.own_rows_cuda import own_rows
from edgewise.algorithms.common.ranks import arc_ranges, own_arcs
from edgewise.algorithms.common.ranks_cuda import JOINING_BYTES, joining, take_least, tell_own
from edgewise.engine.distributed.channel import Channel
from edgewise.engine.distributed.channel_cuda import channel_of
from edgewise.engine.distributed.exchange import meaningless
from edgewise.engine.distributed.group import Group
from edgewise.engine.distributed.partition import Ranges
from edgewise.execution import Execution
from edgewise.graph import Graph
from edgewise.kernels.cuda.arguments import packed, words
from edgewise.kernels.cuda.device import device_function
from edgewise.kernels.cuda.launch import Kernel, fixed_kernel
from edgewise.kernels.cuda.memory import (
    copy_of,
    device_number,
    empty,
    fill,
    mark,
    pinned,
    receive,
    room,
    signals,
    written_forms,
    zeros,
)
from edgewise.kernels.cuda.memory import wait as wait_for
from edgewise.primitives.bitmaps import BITS, words_for
from edgewise.primitives.deal import most_pieces
from edgewise.primitives.direction import PUSH as PUSH_ALONE
from edgewise.primitives.direction import pays_to_pull

_NAME = "breadth-first search on several ranks"
_LEVEL = np.dtype(np.int32)
#: The level of a vertex that was not reached, and so the parent of one that has none.
_NONE = -1
#: The most levels that are pushed before the host looks; it looks after one more for each so many levels.
_MOST_AHEAD, _PER_LEVELS = 16, 8


@device_function
def next_level(level: Any, weight: Any) -> Any:
    """The level of a target."""
    return level + weight


@device_function
def one_level(k: Any, weights: Any) -> Any:
    """The length of an arc."""
    return np.int64(1)


_offer = make_offer(next_level, one_level)


def offers_kernel(it):
    """Parents from finished levels over the arcs that are there; see `Offers`."""
    _offer(it)


@functools.cache
def _offers_kernel(offsets: np.dtype) -> Kernel:
    return fixed_kernel(offers_kernel, signature(offsets, None, _LEVEL))


@functools.cache
def _kernels(offsets: np.dtype) -> tuple[Kernel, Kernel]:
    """The kernels that push and pull."""
    kinds = ranks_kernels.signature(offsets)
    return fixed_kernel(push_kernel, kinds), fixed_kernel(pull_kernel, kinds)


class _Places(NamedTuple):
    """Where vertices of ranks are in bitmaps; see `Searching`.

    Attributes:
        first, words, slots: for each rank, as in `places`.
        room: the words of `slots`.
    """

    first: list[int]
    words: list[int]
    slots: list[int]
    room: int


def _places_of(ranges: Ranges) -> _Places:
    of = [ranges.of(rank) for rank in range(len(ranges.begins) - 1)]
    first = [each.start // BITS for each in of]
    lengths = [words_for(each.stop) - begin for each, begin in zip(of, first, strict=True)]
    slots = np.cumsum([0, *(length + TOLD_WORDS for length in lengths)]).tolist()
    return _Places(first, lengths, slots[:-1], slots[-1])


class _Arrays(NamedTuple):
    """What a search writes on the GPU; see `Searching`."""

    level: Any
    parent: Any
    reached: Any
    kept: Any
    frontier: Any
    slots: Any
    got: Any
    pieces: Any


def _lengths(graph: Graph, group: Group, ranges: Ranges) -> tuple[int, int, int, int]:
    """How many elements `_Arrays` have: bitmaps of all vertices, `slots`, `got` and `pieces`."""
    places, (own, arcs) = _places_of(ranges), own_arcs(graph, group)
    got = group.size * (places.words[group.rank] + TOLD_WORDS)
    return words_for(graph.num_vertices), places.room, got, most_pieces(own.stop - own.start, arcs)


def _bytes_needed(n: int, lengths: tuple[int, int, int, int]) -> int:
    """The bytes of `_Arrays`, or of what ranks join at the end beside levels and parents."""
    bitmap, slots, got, pieces = lengths
    return 8 * n + max(8 * (3 * bitmap + slots + got + pieces), JOINING_BYTES * n)


def _arrays(n: int, own: slice, lengths: tuple[int, int, int, int]) -> _Arrays:
    """The arrays as a search begins with them."""
    bitmap, slots, got, pieces = lengths
    level, parent = empty(n, np.int32), empty(n, np.int32)
    fill(level[own], _NONE)
    fill(parent[own], _NONE)
    reached, kept, frontier, told, received = (
        zeros(length, np.int64) for length in (bitmap, bitmap, bitmap, slots, got)
    )
    return _Arrays(level, parent, reached, kept, frontier, told, received, empty(pieces, np.int64))


@final
class _Search:
    """The levels of one search on one rank. All ranks make the same calls.

    Args:
        graph, rows, may_pull: the graph, and the rows of this rank, with in-edges or without.
        arrays: see there.
        ranges, channel: the vertices of ranks, and how they speak.
        sources, limit, run: as for `search`.
    """

    def __init__(
        self,
        graph: Graph,
        rows: GraphOnGpu,
        may_pull: bool,
        arrays: _Arrays,
        ranges: Ranges,
        channel: Channel,
        sources: np.ndarray,
        limit: int,
        run: Execution,
    ) -> None:
        places, rank, size = _places_of(ranges), ranges.rank, len(ranges.begins) - 1
        own, self._run = ranges.own, run
        self._push_kernel, self._pull_kernel = _kernels(offset_dtype(rows))
        #: Both have as many blocks, for they share the word by which these wait for each other.
        self._blocks = min(self._push_kernel.blocks, self._pull_kernel.blocks)
        self._turn = self._pulled = 0
        of_ranks = np.array([places.first, places.words, places.slots], np.int64)
        self._passed = Searching(
            graph=packed(rows),
            level=arrays.level,
            parent=arrays.parent,
            reached=words(arrays.reached),
            kept=arrays.kept,
            frontier=arrays.frontier,
            slots=arrays.slots,
            got=arrays.got,
            places=copy_of(of_ranks.T.reshape(-1)),
            sources=copy_of(sources),
            pieces=arrays.pieces,
            control=words(zeros(CONTROL_WORDS, np.int64)),
            n=graph.num_vertices,
            m=graph.num_arcs,
            num_ranks=size,
            rank=rank,
            low=own.start,
            high=own.stop,
            num_sources=len(sources),
            limit=limit,
            may_pull=may_pull,
            step=BEGIN,
            turn=0,
        )
        ends = [begin + length + TOLD_WORDS for begin, length in zip(places.slots, places.words, strict=True)]
        slots = [arrays.slots[begin:end] for begin, end in zip(places.slots, ends, strict=True)]
        got, in_bytes = list(arrays.got.reshape(size, -1)), [each.view(np.uint8) for each in slots]
        self._tell_marks, self._tell_frontier = (
            channel.exchanging(in_bytes, [each.view(np.uint8) for each in got]),
            channel.exchanging([in_bytes[rank]] * size, in_bytes),
        )
        self._signals = signals(2)
        self._told = pinned(size * TOLD_WORDS, np.int64).reshape(size, TOLD_WORDS)
        self._told_in_slots, self._told_in_got = (
            list(zip(self._told, (each[-TOLD_WORDS:] for each in parts), strict=True))
            for parts in (slots, got)
        )

    def _push(self, step: int) -> Callable[[], list[list[int]]]:
        """Start a level that pushes, or its part that `step` says, and tell what is marked; see `_telling`."""
        self._push_kernel.start([self._passed._replace(step=step, turn=self._turn)], self._blocks)
        self._turn += PUSH_BARRIERS
        return self._telling(self._tell_marks(), self._told_in_got)

    def _pull(self) -> Callable[[], list[list[int]]]:
        """Start a level that pulls, and tell the frontier; see `_telling`."""
        self._pull_kernel.start([self._passed._replace(turn=self._turn)], self._blocks)
        self._turn += PULL_BARRIERS
        self._pulled += 1
        return self._telling(self._tell_frontier(), self._told_in_slots)

    def _telling(
        self, wait: Callable[[], None], told: list[tuple[np.ndarray, Any]]
    ) -> Callable[[], list[list[int]]]:
        """What waits for an exchange, and gives the TOLD_WORDS that each rank has told in it.

        Args:
            wait: waits for the exchange, which has been started.
            told: for each rank, where its words go to, in locked memory, and where they are.

        Raises:
            DistributedError: ranks are on different levels; raised by what is returned.
        """
        for host, values in told:
            receive(host, values)
        are_here = mark()

        def wait_for_words() -> list[list[int]]:
            wait()
            wait_for(self._signals, None, event=are_here)
            found: list[list[int]] = self._told.tolist()
            if any(each[TOLD_DEPTH:] != found[0][TOLD_DEPTH:] for each in found):
                raise meaningless()
            return found

        return wait_for_words

    def levels(self) -> int:
        """Set the levels of own vertices, and parents where they are pulled; the number of levels."""
        wait, frontier_is_told = self._push(BEGIN), False
        while True:
            told = wait()
            found, edges, waiting = (
                sum(each[word] for each in told) for word in (TOLD_FOUND, TOLD_EDGES, TOLD_WAITS)
            )
            depth, explored = told[0][TOLD_DEPTH], told[0][TOLD_EXPLORED]
            if self._run.progress is not None:
                self._run.progress(depth)
            if found == 0 or depth == self._passed.limit:
                forms = written_forms((depth - self._pulled, self._pulled), ("push", "pull"))
                self._run.explain(f"levels on the GPUs of ranks: {forms or 'none'}")
                return depth
            if waiting and self._pays_to_pull(edges, explored):
                if not frontier_is_told:
                    self._tell_frontier()
                wait, frontier_is_told = self._pull(), True
                continue
            if waiting:
                self._push(PUSH)
            frontier_is_told = False
            for _ in range(min(_MOST_AHEAD, 1 + depth // _PER_LEVELS)):
                wait = self._push(GO_ON)

    def _pays_to_pull(self, edges: int, explored: int) -> bool:
        """Whether to pull from a frontier with so many out-edges, by the rule of one GPU."""
        rest = self._passed.m - explored - edges
        pays: bool = pays_to_pull(edges, rest, ranks_kernels.SEARCH_RATIO)
        return edges > ranks_kernels.FEW_EDGES and pays


def search(
    graph: Graph, sources: np.ndarray, limit: int, run: Execution, group: Group
) -> tuple[Any, Any, int]:
    """Levels and parents, int32 on the GPU, and the number of levels, on all ranks; the arguments are those of
    `cuda.search`, and the ranks.

    Raises:
        MemoryLimitError: on all ranks, if one of them has no room.
        DistributedError: another rank has ended, or does not answer in time.
    """
    ranges = arc_ranges(graph, group)
    rows, finds_parents, level, parent, levels = _find_levels(graph, sources, limit, run, group, ranges)
    with joining("bfs", graph.num_vertices, group) as channel:
        wait = tell_levels(level, levels, ranges, channel)
        if finds_parents:
            start_parents(rows, level, parent, ranges.own)
            tell_own(parent, ranges, channel)()
        else:
            fill(parent, _NONE)
            offsets, targets = rows.offsets, rows.targets
            offers = offers_of(offsets, targets, targets, level, parent.view(np.uint32), _NONE)
            _offers_kernel(offset_dtype(rows)).start([offers])
            take_least(offers.parent, group, channel)
        wait()
    return level, parent, levels


def _find_levels(
    graph: Graph, sources: np.ndarray, limit: int, run: Execution, group: Group, ranges: Ranges
) -> tuple[GraphOnGpu, bool, Any, Any, int]:
    """The rows of this rank, whether their in-edges are there, levels and parents, of which those of own vertices are
    set as `_Search.levels` says, and the number of levels."""
    n, lengths = graph.num_vertices, _lengths(graph, group, ranges)
    (rows, _, has_in_edges), arrays = own_rows(
        _NAME, graph, run, group, _bytes_needed(n, lengths), lambda: _arrays(n, ranges.own, lengths)
    )
    finds_parents = has_in_edges or not graph.directed
    may_pull = finds_parents and forced_direction(run.schedule) != PUSH_ALONE
    with run.laying_out():
        channel = channel_of(group)
    run.explain(f"on GPU {device_number()}; ranks speak by {channel.name}")
    with channel.in_run(), room(_NAME, 0):
        one = _Search(graph, rows, may_pull, arrays, ranges, channel, sources, min(limit, n), run)
        levels = one.levels()
    return rows, finds_parents, arrays.level, arrays.parent, levels
