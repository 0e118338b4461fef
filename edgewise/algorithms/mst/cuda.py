# mypy: disable-error-code="assignment"
# (A variable of a kernel may be a Python and a NumPy integer by turns: numba unifies them.)
"""Minimum spanning forests on a GPU: Borůvka's rounds as in `cpu_grow` on the CPU, in one cooperative launch.

A piece is some arcs of one vertex. *Look*: a piece looks for its lightest arc to another component, in the first round
and again when that arc leads into its own component by now. It offers the weight of the arc to the root of its
component. *Choose*: pieces whose weight is the least that was offered to their root offer the ends of their edge, the
lower in the upper half of a word, so that of equally heavy edges the first is chosen. *Join*: a root points to the
component at the other end of its edge; of two that choose one edge, only the higher does. *Follow*: such chains are
shortened. *Rename*: every vertex learns its root.

What makes it fast. An arc that is not after a piece's former lightest one need not be looked at again: all those lead
into the component by now. A piece first takes its next lightest arc without asking where it leads, and then asks for
that one alone; only if it leads inside are all arcs asked. A warp keeps the pieces and the roots that it was given, and
drops pieces that have no arc to another component, and what is no root any more: lists need no atomic operations and no
room but their own. Once one component has a good part of a sample of vertices, its pieces are dropped, since whoever is
left beside it takes an edge to it in the end. A root joins another only once, so its edge stays where it was chosen,
and edges need no list.

References. Borůvka (1926); see `cpu_grow`.
"""

import functools
from typing import Any, NamedTuple

import numpy as np

from edgewise.algorithms.common.device_graph import WeightedOnGpu, offset_dtype, weighted_graph_on_gpu
from edgewise.algorithms.components.cuda import SAMPLE, SLOTS, most_frequent
from edgewise.algorithms.mst.forest_edges import NO_EDGE, count_edges, sorted_edges
from edgewise.algorithms.mst.lightest import (
    NOBODY,
    NOT_YET,
    arcs_of,
    list_longer,
    make_lightest,
    most_longer,
    no_arcs,
    vertex_of,
)
from edgewise.execution import Execution
from edgewise.graph import Graph
from edgewise.kernels.cuda.arguments import (
    AtomicInt64s,
    AtomicKeys,
    Int32s,
    Int64s,
    Keys,
    Uint32s,
    type_of,
)
from edgewise.kernels.cuda.device import (
    INT32,
    INT64,
    WARP,
    atomic_min,
    ballot,
    count_bits,
    cuda,
    device_function,
    grid_barrier,
    lane,
    lanes_before,
    load_fresh,
    num_threads,
    thread_index,
)
from edgewise.kernels.cuda.launch import Kernel, fixed_kernel
from edgewise.kernels.cuda.memory import CANCEL, PROGRESS, empty, signals, wait, zeros
from edgewise.primitives.control import control_words, host_words
from edgewise.primitives.ordered_keys import key_dtype

#: Words of `control`: pieces besides the vertices; the last round in which a root joined another; the last pass over
#: roots that left one short of its end; whether the run is to end. Words of the host's array.
CONTROL, HOST = control_words(), host_words()
_LONGER, _JOINED, _SHORT, _ENDED = CONTROL.take_line(), CONTROL.take(), CONTROL.take(), CONTROL.take()
ROUNDS, GIANT = HOST.take(), HOST.take()
#: A component that has at least one in ONE_IN vertices of a sample takes no edges. It need not have most of them: while
#: it waits, others can join it or each other.
ONE_IN = 8
#: Steps towards its end that a root takes in one pass. A chain of STEPS**k roots takes k passes.
STEPS = 16


class Forest(NamedTuple):
    """The state of n vertices and of pieces.

    Attributes:
        component: shape (n,): the root of each vertex's component.
        above: shape (n,): of a root, the root that it has joined, or itself.
        weight: shape (n,): of a root, the key of its lightest edge.
        ends: shape (n,): of a root, the ends of that edge, the lower one in the upper half; see NO_EDGE.
        roots: shape (n,): lists of warps, see `_place`, as is the next one.
        live: pieces that may have an arc to another component.
        key, end: of each piece, the key and the other end of its lightest arc to another component.
        longer: see `edgewise.algorithms.mst.lightest`.
        control: zeros at first, see `CONTROL`.
        host: words in the host's memory, see `HOST`.
    """

    component: Int32s
    above: Int32s
    weight: AtomicKeys
    ends: AtomicInt64s
    roots: Uint32s
    live: Uint32s
    key: Keys
    end: Int32s
    longer: Int64s
    control: AtomicInt64s
    host: Int64s


class Size(NamedTuple):
    """Numbers of vertices, and of rows: n, or 2 n if edges are in the rows of one of their ends only."""

    vertices: int
    rows: int


class Growth(NamedTuple):
    """What the kernel takes."""

    graph: WeightedOnGpu
    forest: Forest
    size: Size


def signature(offsets: np.dtype, weight: np.dtype) -> tuple[Any, ...]:
    """The types of the kernel's arguments for offsets and weights of these dtypes."""
    return (type_of(Growth, offset=offsets, weight=weight, key=key_dtype(weight)),)


def bounds_of(weight: np.dtype) -> Any:
    """The lowest and the largest key of weights of this dtype."""
    key, bounds = key_dtype(weight), np.iinfo(key_dtype(weight))
    return key.type(bounds.min), key.type(bounds.max)


@device_function
def _place(begin: Any) -> Any:
    """Where this lane's entry is of the 32 from `begin` on in a list of its warp: lists take turns by 32 entries."""
    return thread_index() + begin // WARP * num_threads()


@device_function
def keep(entry: Any, wanted: Any, held: Any, entries: Any) -> Any:
    """Put the entries of those lanes that want it behind the first `held` ones of this warp; how many it has then."""
    bits = ballot(wanted)
    if wanted:
        i = held + lanes_before(bits)
        entries[_place(i) - lane() + i % WARP] = entry
    return held + count_bits(bits)


@device_function
def _plant(size: Any, graph: Any, forest: Any, heaviest: Any) -> Any:
    """Make each vertex a component of its own, and list pieces; how many roots this warp has."""
    roots = np.int64(0)
    for begin in range(thread_index() - lane(), size.vertices, num_threads()):
        v = begin + lane()
        if v < size.vertices:
            forest.component[v] = v
            forest.above[v] = v
            forest.weight[v] = heaviest
            forest.ends[v] = NO_EDGE
        roots = keep(v, v < size.vertices, roots, forest.roots)
    list_longer(size.rows, size.vertices, graph, forest.longer, forest.control, _LONGER)
    return roots


@device_function
def _hand_out(size: Any, forest: Any, lowest: Any) -> Any:
    """Give out 32 pieces at a time to all warps in turns; how many this warp has."""
    pieces, held = size.vertices + forest.control[_LONGER], np.int64(0)
    for begin in range(thread_index() - lane(), pieces, num_threads()):
        p = begin + lane()
        if p < pieces:
            forest.key[p] = lowest
            forest.end[p] = NOT_YET
        held = keep(p, p < pieces, held, forest.live)
    return held


@device_function
def offer(key: Any, root: Any, forest: Any) -> None:
    """Offer a weight to a root. A component's pieces are many, and few of them are lighter than the ones before."""
    if key < load_fresh(forest.weight, root):
        atomic_min(forest.weight, root, key)


def make_look(weight: np.dtype, weighted: bool) -> Any:
    """The step *look* for weights of this dtype, or with the weight 1 for each arc.

    Returns:
        ``look(held, giant, size, graph, forest)``, to be called by all threads: how many of the `held` pieces of this
        warp have an arc to another component. Those of the component `giant` are dropped.
    """
    lightest, none = make_lightest(weight, weighted), key_dtype(weight).type(0)

    @device_function
    def look(held, giant, size, graph, forest):
        component, kept = forest.component, np.int64(0)
        for begin in range(0, held, WARP):
            holds, sought = begin + lane() < held, False
            p, root, key, end = np.int64(0), NOT_YET, none, NOT_YET
            if holds:
                p = np.int64(forest.live[_place(begin)])
                root = component[vertex_of(p, size.vertices, forest.longer)]
                holds = root != giant
            if holds:
                key, end = forest.key[p], forest.end[p]
                sought = end == NOT_YET or component[end] == root
            seeks = sought
            for looks in range(2):
                arcs = no_arcs()
                if seeks:
                    arcs = arcs_of(p, size.vertices, size.rows, forest.longer, graph)
                next_key, next_end = lightest(arcs, root, key, end, looks, component, graph)
                if seeks:
                    key, end = next_key, next_end
                    seeks = end != NOBODY and component[end] == root
            if sought:
                forest.key[p] = key
                forest.end[p] = end
            holds = holds and end != NOBODY
            kept = keep(p, holds, kept, forest.live)
            if holds:
                offer(key, root, forest)
        return kept

    return look


@device_function
def _choose(held: Any, size: Any, forest: Any) -> None:
    """Offer the ends of the lightest edges to their roots."""
    for begin in range(0, held, WARP):
        if begin + lane() < held:
            p = np.int64(forest.live[_place(begin)])
            v = vertex_of(p, size.vertices, forest.longer)
            root = forest.component[v]
            if forest.key[p] == forest.weight[root]:
                u = np.int64(forest.end[p])
                ends = min(u, v) << 32 | max(u, v)
                if ends < load_fresh(forest.ends, root):
                    atomic_min(forest.ends, root, ends)


@device_function
def _join(roots: Any, forest: Any) -> Any:
    """Let roots join others by the edges that they chose; how many roots this warp has, and whether one of this thread
    joined.

    A root that chose none, as the giant does, is joined by others only.
    """
    component, kept, joined = forest.component, np.int64(0), False
    for begin in range(0, roots, WARP):
        v, is_root = np.int64(0), begin + lane() < roots
        if is_root:
            v = np.int64(forest.roots[_place(begin)])
            is_root = component[v] == v
        kept = keep(v, is_root, kept, forest.roots)
        ends = forest.ends[v] if is_root else NO_EDGE
        if ends != NO_EDGE:
            other = np.int64(component[ends >> 32])
            if other == v:
                other = np.int64(component[ends & 0xFFFFFFFF])
            if forest.ends[other] != ends or v > other:
                forest.above[v] = other
                joined = True
    return kept, joined


@device_function
def _follow(roots: Any, forest: Any) -> Any:
    """Point roots to one further up the chain that they are in; whether one of this thread is short of its end.

    Each thread writes what belongs to its roots alone: what others point to is above them, whenever it is read.
    """
    above, short = forest.above, False
    for begin in range(0, roots, WARP):
        if begin + lane() < roots:
            v = np.int64(forest.roots[_place(begin)])
            # Not from v itself: where the walk begins with `end = v`, libnvvm 13 takes v for `end` after the loop.
            end = np.int64(above[v])
            following = np.int64(above[end])
            for _ in range(STEPS):
                if following == end:
                    break
                end, following = following, np.int64(above[following])
            above[v] = end
            short = short or following != end
    return short


@device_function
def _rename(n: Any, forest: Any, heaviest: Any) -> None:
    """Tell each vertex its root; roots that are left forget the edges that they chose."""
    for v in range(thread_index(), n, num_threads()):
        before = np.int64(forest.component[v])
        root = np.int64(forest.above[before])
        if root != before:
            forest.component[v] = root
        if root == v:
            forest.weight[v] = heaviest
            forest.ends[v] = NO_EDGE


@device_function
def _mark(flag: Any, stamp: Any, control: Any, word: Any) -> None:
    """Raise a word to a stamp if one thread has the flag. Stamps rise, so that nobody need set the word back."""
    if flag and control[word] < stamp:
        control[word] = stamp


@device_function
def grow(held: Any, roots: Any, size: Any, forest: Any, heaviest: Any, number: Any, generation: Any) -> Any:
    """Join components by the lightest edges that were offered, *choose* to *rename*, after a barrier.

    Args:
        held, roots: how many pieces and roots this warp has in `forest.live` and `forest.roots`.
        size, forest: see `Size` and `Forest`.
        heaviest: the key of no offer.
        number: of this round, at least 1.
        generation: what the last barrier returned.

    Returns:
        Whether a root joined another, how many roots this warp has, and what the last barrier returned.
    """
    control = forest.control
    _choose(held, size, forest)
    generation = grid_barrier(control, generation)
    roots, joined = _join(roots, forest)
    _mark(joined, number, control, _JOINED)
    generation = grid_barrier(control, generation)
    if control[_JOINED] < number:
        return False, roots, generation
    while True:
        stamp = generation
        _mark(_follow(roots, forest), stamp, control, _SHORT)
        generation = grid_barrier(control, generation)
        if control[_SHORT] < stamp:
            break
    _rename(size.vertices, forest, heaviest)
    return True, roots, grid_barrier(control, generation)


def make_kernel(weight: np.dtype, weighted: bool) -> Any:
    """The kernel for weights of this dtype, or with the weight 1 for each arc."""
    look = make_look(weight, weighted)
    lowest, heaviest = bounds_of(weight)

    def forest_kernel(it):
        """A minimum spanning forest: the edge of each vertex whose component is not itself in the end; see `Growth`."""
        graph, forest, size = it.graph, it.forest, it.size
        control, host = forest.control, forest.host
        sample = cuda.shared.array(SLOTS, INT32)
        counts = cuda.shared.array(SLOTS, INT32)
        best = cuda.shared.array(1, INT64)
        roots = _plant(size, graph, forest, heaviest)
        generation = grid_barrier(control, np.int64(0))
        held = _hand_out(size, forest, lowest)
        giant, rounds = np.int64(-1), np.int64(0)
        while True:
            held = look(held, giant, size, graph, forest)
            if thread_index() == 0:
                host[PROGRESS] = rounds
                control[_ENDED] = host[CANCEL]
            generation = grid_barrier(control, generation)
            if control[_ENDED] != 0:
                break
            grew, roots, generation = grow(held, roots, size, forest, heaviest, rounds + 1, generation)
            if not grew:
                break
            rounds += 1
            if giant < 0:
                most = most_frequent(0, size.vertices, forest.component, sample, counts, best)
                if (most >> 32) * ONE_IN >= SAMPLE:
                    giant = 0x7FFFFFFF - (most & 0xFFFFFFFF)
        if thread_index() == 0:
            host[ROUNDS] = rounds
            host[GIANT] = giant

    return forest_kernel


@functools.cache
def _kernel(offsets: np.dtype, weight: np.dtype, weighted: bool) -> Kernel:
    return fixed_kernel(make_kernel, signature(offsets, weight), weight, weighted)


def make_forest(num_vertices: int, longer: int, weight: np.dtype) -> Forest:
    """Arrays for `num_vertices` vertices and `longer` pieces besides. Only `control` and `host` have particular values:
    zeros."""
    n, key, pieces = num_vertices, key_dtype(weight), num_vertices + longer
    return Forest(
        component=empty(n, np.int32),
        above=empty(n, np.int32),
        weight=empty(n, key),
        ends=empty(n, np.int64),
        roots=empty(n, np.uint32),
        live=empty(pieces, np.uint32),
        key=empty(pieces, key),
        end=empty(pieces, np.int32),
        longer=empty(longer, np.int64),
        control=zeros(CONTROL.size, np.int64),
        host=signals(HOST.size),
    )


def spanning_forest(graph: Graph, weight: np.dtype, run: Execution) -> tuple[Any, Any, Any, int]:
    """Lower and higher ends (int32) and weights of the forest's edges on the GPU, in the order of their ends; rounds.

    Args:
        graph: at least one vertex. Each arc of a directed one is taken for an edge, which needs in-edges.
        weight: the dtype of its weights; int32 if it has none.
        run: the run that this is.
    """
    n, both = graph.num_vertices, 1 + graph.directed
    on_gpu, _ = weighted_graph_on_gpu(graph, run)
    forest = make_forest(n, most_longer(both * graph.num_arcs), weight)
    kernel = _kernel(offset_dtype(on_gpu), weight, graph.weighted)
    kernel.start([Growth(on_gpu, forest, Size(n, both * n))])
    counted = count_edges(forest.ends)
    wait(forest.host, run.progress)
    rounds = int(forest.host[ROUNDS])
    run.explain(f"{rounds} rounds on the GPU")
    if forest.host[GIANT] >= 0:
        run.explain(
            f"once one in {ONE_IN} of a sample of vertices was in one component, it took no edges: the others took "
            "those to it"
        )
    return *sorted_edges(counted, forest.weight, weight), rounds
