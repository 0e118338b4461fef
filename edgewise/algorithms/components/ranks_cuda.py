# mypy: disable-error-code="assignment"
# (A variable of a kernel may be a Python and a NumPy integer by turns: numba unifies them.)
"""Connected components on several ranks, each with a GPU.

Each rank links trees along its own arcs as one GPU does, and skips arcs inside the tree that most of a sample of its
vertices is in. Then ranks tell each other the roots of all vertices, in rounds: each tells the rank that is 1 after
it, then 2, 4, and so on, and links each vertex to the root that it is told. So each knows the trees of all ranks at the
end, of however many there are.

Nearly all vertices that are no roots are in one tree, mostly. So a rank tells a bit for each vertex, whether it is in
that tree, and lists those in other trees with their roots; of very many of these, it tells the roots of all vertices.

An arc of an undirected graph is seen from both ends, perhaps by two ranks. So is one of a directed graph that has its
in-edges: ranks have those of their vertices on their GPUs, too. If both skip it, its ends are in the largest trees of
these ranks, which one component has in the end, mostly. Where they are in two, such an arc might have joined them: then
all ranks begin again, and skip nothing. Nor do they if a rank has no in-edges, or no room for them.

Roots are hooked to smaller ones, so labels are those of one process, whatever the order.
"""

import functools
from typing import Any, NamedTuple

import numpy as np

from edgewise.algorithms.common.device_graph import GraphOnGpu, offset_dtype
from edgewise.algorithms.common.own_rows_cuda import own_rows
from edgewise.algorithms.common.ranks import arc_ranges, joining_rounds
from edgewise.algorithms.components.cuda import (
    CONTROL,
    HOST,
    LARGEST,
    SAMPLE,
    SAMPLED,
    SLOTS,
    Labelling,
    flatten,
    link,
    make_link_trees,
    root_of,
    signature,
)
from edgewise.engine.distributed.channel import Channel
from edgewise.engine.distributed.channel_cuda import channel_of
from edgewise.engine.distributed.exchange import meaningless
from edgewise.engine.distributed.exchange_cuda import Part, bytes_of, nothing, values_in
from edgewise.engine.distributed.group import Group
from edgewise.execution import Execution
from edgewise.graph import Graph
from edgewise.kernels.cuda.arguments import AtomicInt32s, AtomicInt64s, Int32s, Uint32s, type_of
from edgewise.kernels.cuda.device import (
    INT32,
    INT64,
    THREADS,
    WARP,
    atomic_add,
    ballot,
    cuda,
    lane,
    num_threads,
    thread_index,
    warp_sum,
)
from edgewise.kernels.cuda.launch import Kernel, fixed_kernel
from edgewise.kernels.cuda.memory import (
    copy_of,
    device_number,
    empty,
    host_copy,
    signals,
    wait,
    zeros,
)
from edgewise.primitives.deal import reserve

_NAME = "connected components on several ranks"
#: At most one vertex in so many is listed with its root, with 8 bytes; of more, ranks tell the roots of all vertices.
_LISTED = 8
#: Bytes of a run for each vertex, at most: a label; a bit and perhaps 8 bytes, as they are found and as they are sent;
#: and what another rank tells, 4 bytes.
_BYTES = 12
#: The threads of a block of kernels that only read and write arrays of vertices: several blocks run at the same time.
_FEW = max(WARP, THREADS // 4)
#: In place of a tree: none was skipped. In place of the root of a part that is told: it has the roots of all vertices.
_NONE = _ALL = -1


#: Words of `control`, behind those of `trees_kernel`: the root of the tree that most of the sample is in; the number of
#: vertices in other trees, and of roots.
WORDS = CONTROL.more()
TREE, OTHERS, ROOTS = WORDS.take(), WORDS.take(), WORDS.take()


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
    roots: Int32s
    control: AtomicInt64s
    n: int
    most: int


class Joining(NamedTuple):
    """What the kernels take that link trees of two ranks.

    Attributes:
        label: shape (n,): roots, as `pack_kernel` leaves them.
        inside, others, roots: what another rank tells, as `Flattening` has it.
        parents: in place of these, the roots of all vertices there, shape (n,).
        n, number, tree, own: vertices; the length of `others` and of `roots`; the root of the tree that `inside` tells
            of, and that of this rank's tree of TREE.
    """

    label: AtomicInt32s
    inside: Uint32s
    others: Uint32s
    roots: Int32s
    parents: Int32s
    n: int
    number: int
    tree: int
    own: int


FLATTENING, JOINING = (type_of(Flattening),), (type_of(Joining),)
_link_trees = make_link_trees(False, evenly=True)


def trees_kernel(it):
    """Trees of a rank's own arcs, and which of them was skipped; see `Labelling`."""
    roots = cuda.shared.array(SLOTS, INT32)
    counts = cuda.shared.array(SLOTS, INT32)
    best = cuda.shared.array(1, INT64)
    _, largest, sampled, skip = _link_trees(it, roots, counts, best)
    if thread_index() == 0:
        it.control[TREE] = largest
        it.host[LARGEST] = largest if skip else _NONE
        it.host[SAMPLED] = sampled


def pack_kernel(it):
    """Point each vertex to its root, and say which are in the largest tree, and which in others; see `Flattening`."""
    label, control = it.label, it.control
    tree = root_of(np.int64(control[TREE]), label)
    for begin in range(thread_index() - lane(), it.n, num_threads()):
        v, root, is_inside, is_other = begin + lane(), np.int64(0), False, False
        if v < it.n:
            root = root_of(v, label)
            if label[v] != root:  # most are pointed to it already
                label[v] = root
            is_inside = root == tree
            is_other = not is_inside and root != v
        bits = ballot(is_inside)
        if lane() == 0:
            it.inside[begin // WARP] = bits
        if ballot(is_other) != 0:
            place = reserve(np.int64(1) if is_other else np.int64(0), control, OTHERS)
            if is_other and place < it.most:
                it.others[place] = v
                it.roots[place] = root
    if thread_index() == 0:
        control[TREE] = tree


def join_kernel(it):
    """Link trees by what another rank tells of its largest tree and of others; see `Joining`."""
    label, meets = it.label, False
    for begin in range(thread_index() - lane(), it.n, num_threads()):
        bits, v = it.inside[begin // WARP], begin + lane()
        if v < it.n and (bits >> np.uint32(lane())) & np.uint32(1) != 0:
            root = np.int64(label[v])
            if root == it.own:
                meets = True
            elif root != it.tree:
                link(v, it.tree, label)
    # Most vertices say that these two trees are one: that is done once for each warp.
    if ballot(meets) != 0 and lane() == 0:
        link(it.own, it.tree, label)
    for i in range(thread_index(), it.number, num_threads()):
        link(np.int64(it.others[i]), np.int64(it.roots[i]), label)


def join_all_kernel(it):
    """Link each vertex to its root on another rank; see `Joining`."""
    label = it.label
    for v in range(thread_index(), it.n, num_threads()):
        parent, own = np.int64(it.parents[v]), np.int64(label[v])
        if parent != v and parent != own:
            link(v, parent, label)


def flatten_kernel(it):
    """Point each vertex to its root, and count roots; see `Flattening`."""
    found = warp_sum(flatten(0, it.n, it.label))
    if lane() == 0 and found > 0:
        atomic_add(it.control, ROOTS, found)


@functools.cache
def _trees(offsets: np.dtype) -> Kernel:
    return fixed_kernel(trees_kernel, signature(offsets))


@functools.cache
def _of_vertices(function: Any) -> Kernel:
    """One of the kernels that read and write arrays of vertices."""
    takes = JOINING if function in (join_kernel, join_all_kernel) else FLATTENING
    return fixed_kernel(function, takes, threads=_FEW)


def components(graph: Graph, run: Execution, group: Group) -> tuple[Any, int, int]:
    """Labels, int32 on the GPU, the number of components, and how often each arc or tree was looked at, on all ranks.

    Raises:
        MemoryLimitError: on all ranks, if one of them has no room.
        DistributedError: another rank has ended, or does not answer in time.
    """
    n = graph.num_vertices
    (rows, _, has_in_edges), label = own_rows(
        _NAME, graph, run, group, _BYTES * n, lambda: empty(n, np.int32)
    )
    own = arc_ranges(graph, group).own
    with run.laying_out():
        channel = channel_of(group)
    run.explain(f"on GPU {device_number()}; ranks speak by {channel.name}")
    found = _flattening(label)
    passes, skips, is_found = 0, has_in_edges or not graph.directed, False
    with channel.in_run():
        while not is_found:
            directed = graph.directed or not skips
            skipped = _link_all(rows, own, found, directed, skips, channel, group, run)
            roots = _counted_roots(found)
            is_found, skips, passes = _is_one(label, skipped), False, passes + 1 + joining_rounds(group)
    return label, roots, passes


def _link_all(
    rows: GraphOnGpu,
    own: slice,
    found: Flattening,
    directed: bool,
    skips: bool,
    channel: Channel,
    group: Group,
    run: Execution,
) -> set[int]:
    """Link trees along the arcs of all ranks, but for those that ranks skip; the roots of the trees that they skip.

    Args:
        rows, own, found, channel, group, run: what is linked, with which arrays, on which ranks.
        directed: whether arcs are seen from their sources alone, or by in-edges.
        skips: whether ranks may skip arcs; if `directed`, by the in-edges.
    """
    n, label, host = found.n, found.label, signals(HOST.size)
    # A rank without vertices, and so without arcs, takes its sample from all.
    low, high = (own.start, own.stop) if own.start < own.stop else (0, n)
    found.control[...] = 0
    has_in_edges = directed and skips
    passed = Labelling(rows, rows.targets, label, found.control, host, n, directed, has_in_edges, low, high)
    _trees(offset_dtype(rows)).start([passed])
    _of_vertices(pack_kernel).start([found])
    wait(host, None)
    largest = int(host[LARGEST])
    share = f"{host[SAMPLED] / SAMPLE:.0%} of a sample of this rank's vertices was in one tree"
    run.explain(f"{share}: arcs inside it were {'looked at, too' if largest == _NONE else 'skipped'}")
    trees, step = [largest], 1
    while step < group.size:
        if step > 1:
            found.control[OTHERS] = 0
            _of_vertices(pack_kernel).start([found])
        trees = _join(found, step, largest, channel, group)
        step *= 2
    return set(trees) - {_NONE}


def _flattening(label: Any) -> Flattening:
    """What the kernels take that point vertices to their roots."""
    n = len(label)
    most = -(-n // _LISTED)
    lists = empty(most, np.uint32), empty(most, np.int32)
    return Flattening(label, empty(-(-n // WARP), np.uint32), *lists, zeros(WORDS.size, np.int64), n, most)


def _join(found: Flattening, step: int, largest: int, channel: Channel, group: Group) -> list[int]:
    """Tell the rank that is `step` after this one of the trees here, and link those of the rank before it; the words of
    all ranks.

    Args:
        found: the roots of all vertices.
        step: see above.
        largest: the word of this rank.
        channel, group: the ranks, and how they speak.

    Raises:
        DistributedError: what is told means nothing here.
    """
    n, label, words = found.n, found.label, host_copy(found.control)
    own, number = int(words[TREE]), int(words[OTHERS])
    part = Part(_ALL, [label.view(np.uint8)])
    if number <= found.most:
        part = Part(own, bytes_of([found.inside, found.others[:number], found.roots[:number]]))
    told = [nothing() for _ in range(group.size)]
    told[(group.rank + step) % group.size] = part
    received, trees = channel.exchange([told], largest)
    (trees_there,) = received[(group.rank - step) % group.size]
    tree, length = trees_there.head, trees_there.length
    first = n if tree == _ALL else len(found.inside)
    number = (length // 4 - first) // 2
    if number < 0 or length != 4 * (first + 2 * number):
        raise meaningless()
    end, given = first + number, values_in(trees_there.data, label.dtype)
    lists = given[:first].view(np.uint32), given[first:end].view(np.uint32), given[end:]
    kernel = join_all_kernel if tree == _ALL else join_kernel
    _of_vertices(kernel).start([Joining(label, *lists, given, n, number, tree, own)])
    return trees


def _counted_roots(found: Flattening) -> int:
    """Point all vertices to their roots; how many roots there are."""
    _of_vertices(flatten_kernel).start([found])
    return int(host_copy(found.control)[ROOTS])


def _is_one(label: Any, trees: set[int]) -> bool:
    """Whether the roots of trees are all in one component, if there are any."""
    return len(trees) < 2 or len(set(host_copy(label[copy_of(np.array(sorted(trees)))]).tolist())) == 1
