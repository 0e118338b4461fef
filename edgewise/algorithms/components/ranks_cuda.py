# mypy: disable-error-code="assignment"
# (A variable of a kernel may be a Python and a NumPy integer by turns: numba unifies them.)
"""Connected components on several ranks, each with a GPU.

Each rank links trees along its own arcs as one GPU does, and skips arcs inside the tree that most of a sample of its
vertices is in. Then ranks tell each other the roots of all vertices, in rounds: each tells the rank that is 1 after
it, then 2, 4, and so on, and links each vertex to the root that it is told. So each knows the trees of all ranks at the
end, of however many there are.

Nearly all vertices that are no roots are in one tree, mostly. So a rank tells a bit for each vertex, whether it is in
that tree, and lists those in other trees with their roots. What it tells has one length, so all rounds are queued, and
the host waits at the end. If a rank had more to list than there is room for, ranks tell the roots of all vertices then.

An arc of an undirected graph is seen from both ends, perhaps by two ranks. So is one of a directed graph that has its
in-edges: ranks have those of their vertices on their GPUs, too. If both skip it, its ends are in the largest trees of
these ranks, which one component has in the end, mostly. Where they are in two, such an arc might have joined them: then
all ranks begin again, and skip nothing. Nor do they if a rank has no in-edges, or no room for them.

Roots are hooked to smaller ones, so labels are those of one process, whatever the order.
"""

import functools
from collections.abc import Callable
from itertools import pairwise
from typing import Any, NamedTuple, final

import numpy as np

from edgewise.algorithms.common.device_graph import GraphOnGpu, offset_dtype
from edgewise.algorithms.common.own_rows_cuda import own_rows
from edgewise.algorithms.common.ranks import arc_ranges, joining_rounds
from edgewise.algorithms.components.cuda import (
    CONTROL,
    HOST,
    SAMPLE,
    SAMPLED,
    SLOTS,
    Labelling,
    flatten,
    flattened,
    link,
    make_link_trees,
    read_roots,
    root_of,
    signature,
)
from edgewise.engine.distributed.channel import Channel
from edgewise.engine.distributed.channel_cuda import channel_of
from edgewise.engine.distributed.group import Group
from edgewise.execution import Execution
from edgewise.graph import Graph
from edgewise.kernels.cuda.arguments import AtomicInt32s, AtomicInt64s, Int32s, Int64s, Uint32s, type_of
from edgewise.kernels.cuda.device import (
    INT32,
    INT64,
    THREADS,
    WARP,
    atomic_add,
    ballot,
    compare_and_swap,
    cuda,
    lane,
    num_threads,
    thread_index,
    warp_sum,
)
from edgewise.kernels.cuda.launch import Kernel, fixed_kernel
from edgewise.kernels.cuda.memory import (
    device_number,
    empty,
    fill,
    mark,
    pinned,
    receive,
    room,
    signals,
    wait,
    zeros,
)
from edgewise.primitives.ahead import AHEAD, first_place, read_ahead, stride
from edgewise.primitives.deal import reserve

_NAME = "connected components on several ranks"
#: One vertex in so many, and so many more, can be listed with their roots, with 8 bytes; if there are more, ranks tell
#: the roots of all.
_LISTED, _MORE = 64, 64
#: Bytes of a run for each vertex, at most: a label, and that of another rank, 4 each; a bit and lists, as they are told
#: here and by another rank.
_BYTES = 9
#: The threads of a block of kernels that only read and write arrays of vertices: several blocks run at the same time.
_FEW = max(WARP, THREADS // 4)
#: In place of a tree: none was skipped.
_NONE = -1


#: Words of `control`, behind those of `link_trees`: the root of the tree that most of the sample is in; the same if it
#: was skipped, and what its root is in the end; the number of vertices in other trees, and of roots; whether another
#: rank had more vertices in other trees than it could list.
WORDS = CONTROL.more()
TREE, SKIPPED, ROOT, OTHERS, ROOTS, MISSED = (WORDS.take() for _ in range(6))


class Flattening(NamedTuple):
    """What the kernels take that point vertices to their roots.

    Attributes:
        label: shape (n,).
        inside: a word for each warp of vertices: which of them are in the tree of TREE, a bit each.
        others, roots: the first `most` vertices in other trees but their roots, in any order, and their roots.
        control: see `WORDS`.
        n, most: vertices; the length of `others` and of `roots`.
    """

    label: AtomicInt32s
    inside: Uint32s
    others: Uint32s
    roots: Uint32s
    control: AtomicInt64s
    n: int
    most: int


class Joining(NamedTuple):
    """What `join_kernel` takes, which links trees of two ranks.

    Attributes:
        label: shape (n,): roots, as `pack_kernel` leaves them.
        inside, others, roots, words: what another rank tells, as `Flattening` has it; its `control`.
        control, n, most: as for `Flattening`; OTHERS is set to 0.
    """

    label: AtomicInt32s
    inside: Uint32s
    others: Uint32s
    roots: Uint32s
    words: Int64s
    control: AtomicInt64s
    n: int
    most: int


class JoiningAll(NamedTuple):
    """What `join_all_kernel` takes.

    Attributes:
        label: shape (n,).
        parents: the labels of another rank, shape (n,).
        n: vertices.
    """

    label: AtomicInt32s
    parents: Int32s
    n: int


FLATTENING, JOINING, JOINING_ALL = (type_of(Flattening),), (type_of(Joining),), (type_of(JoiningAll),)
_link_trees = make_link_trees(False, evenly=True)


def trees_kernel(it):
    """Trees of a rank's own arcs, and which of them was skipped; see `Labelling`."""
    roots = cuda.shared.array(SLOTS, INT32)
    counts = cuda.shared.array(SLOTS, INT32)
    best = cuda.shared.array(1, INT64)
    _, largest, sampled, skip = _link_trees(it, roots, counts, best)
    if thread_index() == 0:
        it.control[TREE] = largest
        it.control[SKIPPED] = largest if skip else _NONE
        it.host[SAMPLED] = sampled


def pack_kernel(it):
    """Point each vertex to its root, and say which are in the largest tree, and which in others; see `Flattening`."""
    label, control = it.label, it.control
    parents, roots = cuda.local.array(AHEAD, INT32), cuda.local.array(AHEAD, INT32)
    tree = root_of(np.int64(control[TREE]), label)
    for first in range(first_place(0), it.n, stride()):
        read_roots(first, it.n, label, parents, roots)
        for i in range(AHEAD):
            v = first + i * WARP + lane()
            root, is_there = np.int64(0), v < it.n
            if is_there:
                root = flattened(v, np.int64(parents[i]), np.int64(roots[i]), label)
            is_inside = is_there and root == tree
            is_other = is_there and root != tree and root != v
            bits = ballot(is_inside)
            if lane() == 0 and is_there:
                it.inside[first // WARP + i] = bits
            if ballot(is_other) != 0:
                place = reserve(np.int64(1) if is_other else np.int64(0), control, OTHERS)
                if is_other and place < it.most:
                    it.others[place] = v
                    it.roots[place] = root
    if thread_index() == 0:
        control[TREE] = tree


def join_kernel(it):
    """Link trees by what another rank tells of its largest tree and of others; see `Joining`."""
    label, meets, before = it.label, False, cuda.local.array(AHEAD, INT32)
    own, tree, number = np.int64(it.control[TREE]), it.words[TREE], it.words[OTHERS]
    for first in range(first_place(0), it.n, stride()):
        read_ahead(first, it.n, label, before)
        for i in range(AHEAD):
            v, root = first + i * WARP + lane(), np.int64(before[i])
            # What a root is pointed to is known at once; so a lane swaps several, and then looks at what was there.
            before[i] = np.int32(v)
            if v < it.n and (it.inside[first // WARP + i] >> np.uint32(lane())) & np.uint32(1) != 0:
                if root == own:
                    meets = True
                elif root != tree:
                    before[i] = np.int32(_NONE)
                    if root == v:
                        before[i] = compare_and_swap(label, v, np.int32(v), np.int32(tree))
        for i in range(AHEAD):
            v = first + i * WARP + lane()
            if before[i] != np.int32(v):
                link(v, tree, label)
    # Most vertices say that these two trees are one: that is done once for each warp.
    if ballot(meets) != 0 and lane() == 0:
        link(own, tree, label)
    for i in range(thread_index(), min(number, it.most), num_threads()):
        link(np.int64(it.others[i]), np.int64(it.roots[i]), label)
    if thread_index() == 0:
        it.control[OTHERS] = 0
        if number > it.most:
            it.control[MISSED] = 1


def join_all_kernel(it):
    """Link each vertex to its parent on another rank; see `JoiningAll`."""
    label = it.label
    for v in range(thread_index(), it.n, num_threads()):
        parent = np.int64(it.parents[v])
        if parent != v and parent != label[v]:
            link(v, parent, label)


def flatten_kernel(it):
    """Point each vertex to its root, and count roots; see `Flattening`."""
    found = warp_sum(flatten(0, it.n, it.label))
    if lane() == 0 and found > 0:
        atomic_add(it.control, ROOTS, found)
    if thread_index() == 0:
        skipped = np.int64(it.control[SKIPPED])
        it.control[ROOT] = skipped if skipped < 0 else root_of(skipped, it.label)


@functools.cache
def _trees(offsets: np.dtype) -> Kernel:
    return fixed_kernel(trees_kernel, signature(offsets))


_TAKES = {
    pack_kernel: FLATTENING,
    flatten_kernel: FLATTENING,
    join_kernel: JOINING,
    join_all_kernel: JOINING_ALL,
}


@functools.cache
def _of_vertices(function: Any) -> Kernel:
    """One of the kernels that read and write arrays of vertices."""
    return fixed_kernel(function, _TAKES[function], threads=_FEW)


class _Told(NamedTuple):
    """What a rank tells another one, in one array, and its parts.

    Attributes:
        whole: uint8.
        control, inside, others, roots: see `Flattening`.
    """

    whole: Any
    control: Any
    inside: Any
    others: Any
    roots: Any


class _Arrays(NamedTuple):
    """The arrays of a run: labels, what this rank tells, and what another one tells it."""

    label: Any
    told: _Told
    got: _Told


def _told(n: int) -> _Told:
    """What is told of so many vertices, set to zeros."""
    most = n // _LISTED + _MORE
    ends = np.cumsum([8 * WORDS.size, 4 * -(-n // WARP), 4 * most, 4 * most]).tolist()
    whole = zeros(ends[-1], np.uint8)
    control, *parts = (whole[begin:end] for begin, end in pairwise([0, *ends]))
    return _Told(whole, control.view(np.int64), *(part.view(np.uint32) for part in parts))


def _arrays(n: int) -> _Arrays:
    return _Arrays(empty(n, np.int32), _told(n), _told(n))


def components(graph: Graph, run: Execution, group: Group) -> tuple[Any, int, int]:
    """Labels, int32 on the GPU, the number of components, and how often each arc or tree was looked at, on all ranks.

    Raises:
        MemoryLimitError: on all ranks, if one of them has no room.
        DistributedError: another rank has ended, or does not answer in time.
    """
    n = graph.num_vertices
    (rows, _, has_in_edges), arrays = own_rows(_NAME, graph, run, group, _BYTES * n, lambda: _arrays(n))
    own = arc_ranges(graph, group).own
    with run.laying_out():
        channel = channel_of(group)
    run.explain(f"on GPU {device_number()}; ranks speak by {channel.name}")
    passes, skips, is_found = 0, has_in_edges or not graph.directed, False
    with channel.in_run(), room(_NAME, 0):
        found = _Components(arrays, channel, group)
        while not is_found:
            directed = graph.directed or not skips
            found.link(rows, own, directed, skips, run)
            is_found, skips, passes = found.is_one(), False, passes + 1 + found.rounds
    return arrays.label, found.num_roots, passes


@final
class _Components:
    """The trees of all vertices on one rank. All ranks make the same calls.

    Args:
        arrays: see there.
        channel, group: how ranks speak, and the ranks.

    Attributes:
        rounds: how often ranks told each other of trees when they were linked last.
        num_roots: how many roots there were then.
    """

    def __init__(self, arrays: _Arrays, channel: Channel, group: Group) -> None:
        n, told = len(arrays.label), arrays.told
        self.rounds = self.num_roots = 0
        self._arrays, self._channel, self._group = arrays, channel, group
        self._most = len(told.others)
        self._found = Flattening(
            arrays.label, told.inside, told.others, told.roots, told.control, n, self._most
        )
        self._words, self._host = pinned(WORDS.size, np.int64), signals(HOST.size)
        #: The roots of the trees that ranks have skipped, in the end.
        self._skipped = set[int]()

    def link(self, rows: GraphOnGpu, own: slice, directed: bool, skips: bool, run: Execution) -> None:
        """Link trees along the arcs of all ranks, but for those that ranks skip.

        Args:
            rows, own, run: what is linked, and the run.
            directed: whether arcs are seen from their sources alone, or by in-edges.
            skips: whether ranks may skip arcs; if `directed`, by the in-edges.
        """
        (label, told, got), n = self._arrays, self._found.n
        # A rank without vertices, and so without arcs, takes its sample from all.
        low, high = (own.start, own.stop) if own.start < own.stop else (0, n)
        fill(told.control.view(np.uint8), 0)
        has_in_edges = directed and skips
        passed = Labelling(
            rows, rows.targets, label, told.control, self._host, n, directed, has_in_edges, low, high
        )
        _trees(offset_dtype(rows)).start([passed])
        joining = Joining(label, got.inside, got.others, got.roots, got.control, told.control, n, self._most)

        def pack() -> None:
            _of_vertices(pack_kernel).start([self._found])

        has_missed = self._join(
            told.whole, got.whole, pack, lambda: _of_vertices(join_kernel).start([joining])
        )
        self.rounds = joining_rounds(self._group)
        share = f"{self._host[SAMPLED] / SAMPLE:.0%} of a sample of this rank's vertices was in one tree"
        looked = "looked at, too" if self._words[SKIPPED] == _NONE else "skipped"
        run.explain(f"{share}: arcs inside it were {looked}")
        if has_missed:
            run.explain("a rank had too many other trees to list: ranks told the roots of all vertices")
            parents = empty(n, np.int32)
            all_of = JoiningAll(label, parents, n)
            told.control[ROOTS] = 0
            self._join(
                label.view(np.uint8),
                parents.view(np.uint8),
                lambda: None,
                lambda: _of_vertices(join_all_kernel).start([all_of]),
            )
            self.rounds *= 2

    def is_one(self) -> bool:
        """Whether the trees that were skipped are all in one component, if there are any."""
        return len(self._skipped) < 2

    def _join(self, told: Any, got: Any, pack: Callable[[], None], join: Callable[[], None]) -> bool:
        """Tell ranks of trees, in rounds, and point vertices to their roots; whether a rank has missed trees.

        The host waits when all is queued.

        Args:
            told, got: what this rank tells, and another one tells it, uint8.
            pack, join: start kernels that make what is told, and link trees by what is got.

        Raises:
            DistributedError: another rank has ended, or does not answer in time.
        """
        rank, size, waits, step = self._group.rank, self._group.size, list[Callable[[], None]](), 1
        while step < size:
            pack()
            sent, received = [told[:0]] * size, [got[:0]] * size
            sent[(rank + step) % size], received[(rank - step) % size] = told, got
            waits.append(self._channel.exchanging(sent, received)())
            join()
            step *= 2
        _of_vertices(flatten_kernel).start([self._found])
        receive(self._words, self._arrays.told.control)
        are_here = mark()
        for each in waits:
            each()
        wait(self._host, None, event=are_here)
        root, missed, self.num_roots = self._words[[ROOT, MISSED, ROOTS]].tolist()
        _, words = self._group.everywhere(np.empty(0, np.uint8), 2 * root + missed)
        self._skipped = {word // 2 for word in words} - {_NONE}
        return any(word % 2 for word in words)
