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
from edgewise.kernels.cuda.arguments import AtomicInt32s, AtomicInt64s, Int32s, Uint32s, type_of
from edgewise.kernels.cuda.device import (
    INT32,
    INT64,
    THREADS,
    UINT32,
    WARP,
    WARPS,
    atomic_add,
    ballot,
    block_thread,
    compare_and_swap,
    cuda,
    device_function,
    lane,
    num_threads,
    thread_index,
    warp_barrier,
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
)
from edgewise.primitives.ahead import AHEAD, first_place, read_ahead, stride
from edgewise.primitives.deal import reserve
from edgewise.primitives.warp_buffers import BOX_WORDS, Boxes, make_outbox

_NAME = "connected components on several ranks"
#: One vertex in so many, and so many more, can be listed with their roots, with 8 bytes; if there are more, ranks tell
#: the roots of all.
_LISTED, _MORE = 128, 64
#: Bytes of a run for each vertex, at most: a label, and that of another rank, which gloo has twice, 4 each; a bit and
#: lists, as they are told here and by another rank.
_BYTES = 13
#: The threads of a block of kernels that only read and write arrays of vertices: several blocks run at the same time.
_FEW = max(WARP, THREADS // 4)
#: In place of a tree: none was skipped.
_NONE = -1


#: Words of `control`, behind those of `link_trees`: the root of the tree that most of the sample is in; the same if it
#: was skipped, and what its root is in the end; the number of vertices in other trees, and of roots; whether another
#: rank had more vertices in other trees than it could list.
WORDS = CONTROL.more()
TREE, SKIPPED, ROOT, OTHERS, ROOTS, MISSED = (WORDS.take() for _ in range(6))


#: The words of 32 bits before those of `Flattening.told` that have bits.
_HEAD = 2 * WORDS.size


class Flattening(NamedTuple):
    """What the kernels take that point vertices to their roots.

    Attributes:
        label: shape (n,).
        told: what another rank is told: `control`; then a word for each warp of vertices, which of them are in the tree
            of TREE, a bit each; then the first `most` vertices in other trees but their roots, in any order; then
            their roots.
        control: see `WORDS`; the beginning of `told`.
        n, most: see there.
    """

    label: AtomicInt32s
    told: Uint32s
    control: AtomicInt64s
    n: int
    most: int


class Joining(NamedTuple):
    """What `join_kernel` takes, which links trees of two ranks.

    Attributes:
        label: shape (n,): roots, as `pack_kernel` leaves them.
        told: what another rank tells, as `Flattening` has it.
        control, n, most: as for `Flattening`; OTHERS is set to 0.
    """

    label: AtomicInt32s
    told: Uint32s
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


@device_function
def _first_other(n: Any) -> Any:
    """Where vertices in other trees are listed in `Flattening.told`."""
    return _HEAD + (n + WARP - 1) // WARP


@device_function
def _list_others(v: Any, wanted: Any, it: Any) -> Any:
    """List vertices in other trees with their roots, as far as there is room."""
    place = reserve(np.int64(1) if wanted else np.int64(0), it.control, OTHERS)
    if wanted and place < it.most:
        others = _first_other(it.n)
        it.told[others + place] = v
        it.told[others + it.most + place] = root_of(v, it.label)
    return np.int64(0)


_put_other, _flush_others = make_outbox(0, _list_others)


def pack_kernel(it):
    """Point each vertex to its root, and say which are in the largest tree, and which in others; see `Flattening`."""
    label, control = it.label, it.control
    parents, roots = cuda.local.array(AHEAD, INT32), cuda.local.array(AHEAD, INT32)
    words = cuda.shared.array(BOX_WORDS, UINT32)
    held = cuda.shared.array(WARPS, UINT32)
    boxes = Boxes(words, held)
    if lane() == 0:
        held[block_thread() // WARP] = 0
    warp_barrier()
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
                it.told[_HEAD + first // WARP + i] = bits
            _put_other(v, is_other, boxes, it)
    _flush_others(boxes, it)
    if thread_index() == 0:
        control[TREE] = tree


def join_kernel(it):
    """Link trees by what another rank tells of its largest tree and of others; see `Joining`."""
    label, meets, before = it.label, False, cuda.local.array(AHEAD, INT32)
    own, tree = np.int64(it.control[TREE]), np.int64(it.told[2 * TREE])  # the lower halves of words
    others, number = _first_other(it.n), np.int64(it.told[2 * OTHERS])
    for first in range(first_place(0), it.n, stride()):
        read_ahead(first, it.n, label, before)
        for i in range(AHEAD):
            v, root = first + i * WARP + lane(), np.int64(before[i])
            # What a root is pointed to is known at once; so a lane swaps several, and then looks at what was there.
            before[i] = np.int32(v)
            if v < it.n and (it.told[_HEAD + first // WARP + i] >> np.uint32(lane())) & np.uint32(1) != 0:
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
    for i in range(others + thread_index(), others + min(number, it.most), num_threads()):
        link(np.int64(it.told[i]), np.int64(it.told[i + it.most]), label)
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


class _Arrays(NamedTuple):
    """The arrays of a run: labels; what this rank tells, and another one tells it, as `Flattening` has it; and the
    `control` of all ranks."""

    label: Any
    told: Any
    got: Any
    words: Any


def _most(n: int) -> int:
    """How many of so many vertices can be listed."""
    return n // _LISTED + _MORE


def _arrays(n: int, size: int) -> _Arrays:
    length = _HEAD + -(-n // WARP) + 2 * _most(n)
    told, got = empty(length, np.uint32), empty(length, np.uint32)
    return _Arrays(empty(n, np.int32), told, got, empty(size * WORDS.size, np.int64))


def components(graph: Graph, run: Execution, group: Group) -> tuple[Any, int, int]:
    """Labels, int32 on the GPU, the number of components, and how often each arc or tree was looked at, on all ranks.

    Raises:
        MemoryLimitError: on all ranks, if one of them has no room.
        DistributedError: another rank has ended, or does not answer in time.
    """
    n = graph.num_vertices
    (rows, _, has_in_edges), arrays = own_rows(
        _NAME, graph, run, group, _BYTES * n, lambda: _arrays(n, group.size)
    )
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
        label, told, _, words = arrays
        self.rounds = self.num_roots = 0
        self._arrays, self._channel, self._group = arrays, channel, group
        self._control = told[:_HEAD].view(np.int64)
        self._found = Flattening(label, told, self._control, len(label), _most(len(label)))
        self._host = signals(HOST.size)
        self._words = pinned(len(words), np.int64)
        #: The roots of the trees that ranks have skipped, in the end.
        self._skipped = set[int]()

    def link(self, rows: GraphOnGpu, own: slice, directed: bool, skips: bool, run: Execution) -> None:
        """Link trees along the arcs of all ranks, but for those that ranks skip.

        Args:
            rows, own, run: what is linked, and the run.
            directed: whether arcs are seen from their sources alone, or by in-edges.
            skips: whether ranks may skip arcs; if `directed`, by the in-edges.
        """
        (label, told, got, _), n, control = self._arrays, self._found.n, self._control
        # A rank without vertices, and so without arcs, takes its sample from all.
        low, high = (own.start, own.stop) if own.start < own.stop else (0, n)
        fill(control, 0)
        in_edges = directed and skips
        passed = Labelling(rows, rows.targets, label, control, self._host, n, directed, in_edges, low, high)
        _trees(offset_dtype(rows)).start([passed])
        joining = Joining(label, got, control, n, self._found.most)
        has_missed = self._join(told, got, join_kernel, joining, packs=True)
        self.rounds = joining_rounds(self._group)
        share = f"{self._host[SAMPLED] / SAMPLE:.0%} of a sample of this rank's vertices was in one tree"
        is_skipped = self._words_of(self._group.rank)[SKIPPED] != _NONE
        run.explain(f"{share}: arcs inside it were {'skipped' if is_skipped else 'looked at, too'}")
        if has_missed:
            run.explain("a rank had too many other trees to list: ranks told the roots of all vertices")
            parents = empty(n, np.int32)
            fill(control[ROOTS : ROOTS + 1], 0)
            self._join(label, parents, join_all_kernel, JoiningAll(label, parents, n), packs=False)
            self.rounds *= 2

    def is_one(self) -> bool:
        """Whether the trees that were skipped are all in one component, if there are any."""
        return len(self._skipped) < 2

    def _join(self, told: Any, got: Any, join: Any, joining: Joining | JoiningAll, *, packs: bool) -> bool:
        """Tell ranks of trees, in rounds, and point vertices to their roots; whether a rank has missed trees.

        The host waits when all is queued.

        Args:
            told, got: what this rank tells, and another one tells it.
            join, joining: the kernel that links trees by what is got, and what it takes.
            packs: whether `pack_kernel` makes what is told.

        Raises:
            DistributedError: another rank has ended, or does not answer in time.
        """
        rank, size, waits, step = self._group.rank, self._group.size, list[Callable[[], None]](), 1
        told, got = told.view(np.uint8), got.view(np.uint8)
        while step < size:
            if packs:
                _of_vertices(pack_kernel).start([self._found])
            sent, received = [told[:0]] * size, [got[:0]] * size
            sent[(rank + step) % size], received[(rank - step) % size] = told, got
            waits.append(self._channel.exchanging(sent, received)())
            _of_vertices(join).start([joining])
            step *= 2
        _of_vertices(flatten_kernel).start([self._found])
        words, control = self._arrays.words, self._control.view(np.uint8)
        waits.append(
            self._channel.exchanging([control] * size, list(words.view(np.uint8).reshape(size, -1)))()
        )
        receive(self._words, words)
        receive(self._words_of(rank), self._control)
        are_here = mark()
        for each in waits:
            each()
        wait(self._host, None, event=are_here)
        roots, missed = self._words.reshape(size, -1)[:, [ROOT, MISSED]].T.tolist()
        self._skipped, self.num_roots = set(roots) - {_NONE}, int(self._words_of(rank)[ROOTS])
        return any(missed)

    def _words_of(self, rank: int) -> np.ndarray:
        """The `control` of a rank, in locked memory."""
        return self._words[rank * WORDS.size : (rank + 1) * WORDS.size]
