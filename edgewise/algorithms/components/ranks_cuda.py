# mypy: disable-error-code="assignment"
# (A variable of a kernel may be a Python and a NumPy integer by turns: numba unifies them.)
"""Connected components on several ranks, each with a GPU.

Each rank links trees along its own arcs as one GPU does, and skips arcs inside the tree that most of a sample of its
vertices is in. Then ranks tell each other the parents of all vertices, in rounds: each tells the rank that is 1 after
it, then 2, 4, and so on, and links each vertex to the parent that it is told. So each knows the trees of all ranks at
the end, of however many there are.

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
    signature,
)
from edgewise.engine.distributed.channel_cuda import Channel, channel_of
from edgewise.engine.distributed.exchange_cuda import Part, nothing
from edgewise.engine.distributed.group import Group
from edgewise.execution import Execution
from edgewise.graph import Graph
from edgewise.kernels.cuda.arguments import AtomicInt32s, AtomicInt64s, Int32s, type_of
from edgewise.kernels.cuda.device import (
    INT32,
    INT64,
    THREADS,
    WARP,
    atomic_add,
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

_NAME = "connected components on several ranks"
#: Bytes of a run for each vertex: a label, and the parents that two ranks told in turns.
_BYTES = 12
#: The threads of a block of kernels that only read and write arrays of vertices: several blocks run at the same time.
_FEW = max(WARP, THREADS // 4)
#: In place of a tree: none was skipped.
_NONE = -1


class Joining(NamedTuple):
    """What the kernels of `_join` and `_flatten` take.

    Attributes:
        label: shape (n,).
        parents: shape (n,): of each vertex, another one that is in its tree on another rank.
        roots: a zero, to which the number of roots is added.
        n: vertices.
    """

    label: AtomicInt32s
    parents: Int32s
    roots: AtomicInt64s
    n: int


JOINING = (type_of(Joining),)
_link_trees = make_link_trees(False, evenly=True)


def trees_kernel(it):
    """Trees of a rank's own arcs, and which of them was skipped; see `Labelling`."""
    roots = cuda.shared.array(SLOTS, INT32)
    counts = cuda.shared.array(SLOTS, INT32)
    best = cuda.shared.array(1, INT64)
    _, largest, sampled, skip = _link_trees(it, roots, counts, best)
    if thread_index() == 0:
        it.host[LARGEST] = largest if skip else _NONE
        it.host[SAMPLED] = sampled


def join_kernel(it):
    """Link each vertex to its parent on another rank; see `Joining`."""
    label = it.label
    for v in range(thread_index(), it.n, num_threads()):
        parent, own = np.int64(it.parents[v]), np.int64(label[v])
        if parent != v and parent != own:
            link(v, parent, label)


def flatten_kernel(it):
    """Point each vertex to its root, and count roots; see `Joining`."""
    found = warp_sum(flatten(0, it.n, it.label))
    if lane() == 0 and found > 0:
        atomic_add(it.roots, 0, found)


@functools.cache
def _trees(offsets: np.dtype) -> Kernel:
    return fixed_kernel(trees_kernel, signature(offsets))


@functools.cache
def _join() -> Kernel:
    return fixed_kernel(join_kernel, JOINING, threads=_FEW)


@functools.cache
def _flatten() -> Kernel:
    return fixed_kernel(flatten_kernel, JOINING, threads=_FEW)


def components(graph: Graph, run: Execution, group: Group) -> tuple[Any, int, int]:
    """Labels, int32 on the GPU, the number of components, and how often each arc or tree was looked at, on all ranks.

    Raises:
        MemoryLimitError: on all ranks, if one of them has no room.
        DistributedError: another rank has ended, or does not answer in time.
    """
    n = graph.num_vertices
    (rows, has_in_edges), label = own_rows(_NAME, graph, run, group, _BYTES * n, lambda: empty(n, np.int32))
    own = arc_ranges(graph, group).own
    with run.laying_out():
        channel = channel_of(group)
    run.explain(f"on GPU {device_number()}; ranks speak by {channel.name}")
    passes, skips, is_found = 0, has_in_edges or not graph.directed, False
    with channel.in_run():
        while not is_found:
            directed = graph.directed or not skips
            skipped = _link_all(rows, own, label, directed, skips, channel, group, run)
            roots = _flattened(label)
            is_found, skips, passes = _is_one(label, skipped), False, passes + 1 + joining_rounds(group)
    return label, roots, passes


def _link_all(
    rows: GraphOnGpu,
    own: slice,
    label: Any,
    directed: bool,
    skips: bool,
    channel: Channel,
    group: Group,
    run: Execution,
) -> set[int]:
    """Link trees along the arcs of all ranks, but for those that ranks skip; the roots of the trees that they skip.

    Args:
        rows, own, label, channel, group, run: what is linked, on which ranks.
        directed: whether arcs are seen from their sources alone, or by in-edges.
        skips: whether ranks may skip arcs; if `directed`, by the in-edges.
    """
    n, host = len(label), signals(HOST.size)
    # A rank without vertices, and so without arcs, takes its sample from all.
    low, high = (own.start, own.stop) if own.start < own.stop else (0, n)
    control = zeros(CONTROL.size, np.int64)
    passed = Labelling(rows, rows.targets, label, control, host, n, directed, directed and skips, low, high)
    _trees(offset_dtype(rows)).start([passed])
    wait(host, None)
    largest = int(host[LARGEST])
    share = f"{host[SAMPLED] / SAMPLE:.0%} of a sample of this rank's vertices was in one tree"
    run.explain(f"{share}: arcs inside it were {'looked at, too' if largest == _NONE else 'skipped'}")
    trees, step = [largest], 1
    while step < group.size:
        told = [nothing() for _ in range(group.size)]
        told[(group.rank + step) % group.size] = Part(n, label.view(np.uint8))
        received, trees = channel.exchange([told], largest)
        parents = received[(group.rank - step) % group.size][0].data.view(np.int32)
        _join().start([Joining(label, parents, control, n)])
        step *= 2
    return set(trees) - {_NONE}


def _flattened(label: Any) -> int:
    """Point all vertices to their roots; how many roots there are."""
    passed = Joining(label, label, zeros(1, np.int64), len(label))
    _flatten().start([passed])
    return int(host_copy(passed.roots)[0])


def _is_one(label: Any, trees: set[int]) -> bool:
    """Whether the roots of trees are all in one component, if there are any."""
    return len(trees) < 2 or len(set(host_copy(label[copy_of(np.array(sorted(trees)))]).tolist())) == 1
