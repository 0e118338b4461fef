# mypy: disable-error-code="assignment"
# (A variable of a kernel may be a Python and a NumPy integer by turns: numba unifies them.)
"""Breadth-first search on a GPU: one cooperative launch, three forms of a level.

*few*
    A frontier of few vertices is kept in the blocks that found it: `edgewise.primitives.block_queues`. A level is then
    a chain of two accesses to memory: the exchange on the level of a target, and the barrier.
*push*
    Pieces of vertices are dealt out to warps, arc by arc to their lanes: see `edgewise.primitives.deal`.
*pull*
    Each unreached vertex looks for its first in-neighbour in the frontier: one lane looks at a few, its warp at the
    rest.

Levels are written by compare-and-swap, so each vertex is found once. A parent is the first in-neighbour one level up,
as on the CPU, so answers depend on no order: pulling finds it; pushing does where only one arc leads from the frontier
to a vertex, and leaves the others to the end.

References. Beamer, Asanovic and Patterson, "Direction-Optimizing Breadth-First Search", SC 2012; one launch for all
levels as in Hong, Oguntebi and Olukotun, PACT 2011, and LonestarGPU.
"""

import functools
from typing import Any, NamedTuple

import numpy as np

from edgewise.algorithms.bfs.cuda_layers import by_vertices, read_levels
from edgewise.algorithms.bfs.cuda_layers import vertices_there as vertices_there
from edgewise.algorithms.bfs.cuda_parents import find_parent, is_on_level
from edgewise.algorithms.bfs.cuda_parents import make_parents as make_parents
from edgewise.algorithms.bfs.cuda_parents import parents_kernel as parents_kernel
from edgewise.algorithms.bfs.cuda_parents import parents_signature as parents_signature
from edgewise.algorithms.bfs.cuda_parents import start_parents as start_parents
from edgewise.algorithms.bfs.direction import forced_direction
from edgewise.algorithms.common.by_clusters import keys_by_clusters, rows_for
from edgewise.algorithms.common.device_graph import GraphOnGpu, graph_on_gpu, lists, offset_dtype
from edgewise.algorithms.common.heads import heads_for, in_heads
from edgewise.execution import Execution
from edgewise.graph import Graph
from edgewise.graph.layers import GraphInLayers
from edgewise.graph.resident import HEADS
from edgewise.kernels.cuda.arguments import AtomicInt32s, AtomicInt64s, Int64s, Uint32s, type_of
from edgewise.kernels.cuda.device import (
    INT64,
    UINT32,
    atomic_add,
    atomic_min,
    block_index,
    block_size,
    block_thread,
    compare_and_swap,
    cuda,
    device_function,
    grid_barrier,
    inlined,
    lane,
    num_blocks,
    num_threads,
    thread_index,
)
from edgewise.kernels.cuda.launch import Kernel, fixed_kernel
from edgewise.kernels.cuda.memory import (
    CANCEL,
    PROGRESS,
    empty,
    full,
    pinned,
    signals,
    wait,
    written_forms,
    zeros,
)
from edgewise.primitives.block_queues import (
    FEW_CONTROL,
    FEW_EDGES,
    LOCAL,
    LONG_WORDS,
    WORDS,
    clear,
    fits,
    held_in,
    keep,
    make_few,
    share,
)
from edgewise.primitives.control import TURNS, host_words, turns_after
from edgewise.primitives.deal import add_to_total, degree, list_pieces, make_walk, most_pieces
from edgewise.primitives.direction import AUTO, PULL, SEARCH_RATIO, pays_to_pull
from edgewise.primitives.vertices import NO_VERTEX
from edgewise.primitives.warp_buffers import make_outbox

#: Words of `control`: SPILLED counts what queues had no room for. In turns: PIECES, EDGES and FOUND are the pieces, the
#: out-edges and the vertices of a frontier, ENDED says that the run is to end.
CONTROL, HOST = FEW_CONTROL.more(), host_words()
SPILLED, PIECES = CONTROL.take(), CONTROL.take_line(TURNS)
EDGES, FOUND, ENDED = (CONTROL.take(TURNS) for _ in range(3))
#: Words of the host's array.
LEVELS, FORMS = HOST.take(), HOST.take(3)
FORM_NAMES = ("few", "push", "pull")

#: Parents while vertices are looked for: none yet, which is more than any vertex, and not known for there are several.
NOBODY, SEVERAL = 2**31 - 1, -2
_pays_to_pull = inlined(pays_to_pull)


class Search(NamedTuple):
    """What the kernel takes.

    Attributes:
        graph: the graph.
        heads: the first in-neighbours of vertices, see `edgewise.algorithms.common.heads`, or any other array.
        level, parent: shape (n,).
        pieces, other_pieces: lists, shape (n + m / PIECE + 1,).
        spilled: vertices that queues had no room for, shape (n,).
        sources: different vertices.
        control: zeros, see `CONTROL`.
        host: words in the host's memory, see `HOST`; LEVELS and FORMS are results.
        n, m, num_sources, limit: vertices, arcs, sources, the highest level wanted.
        forced: AUTO, or the form of all levels.
    """

    graph: GraphOnGpu
    heads: Uint32s
    level: AtomicInt32s
    parent: AtomicInt32s
    pieces: Int64s
    other_pieces: Int64s
    spilled: Uint32s
    sources: Int64s
    control: AtomicInt64s
    host: Int64s
    n: int
    m: int
    num_sources: int
    limit: int
    forced: int


def signature(offsets: np.dtype) -> tuple[Any, ...]:
    """The types of the kernel's arguments for graphs with offsets of this dtype."""
    return (type_of(Search, offset=offsets),)


@device_function
def _claim(v: Any, target: Any, depth: Any, level: Any, parent: Any) -> Any:
    """Look along an arc of the frontier; whether this thread is the one that gives its target a level.

    A target that is found along several arcs gets its parent at the end.
    """
    before = compare_and_swap(level, target, np.int32(-1), np.int32(depth))
    if before == -1:
        atomic_min(parent, target, np.int32(v))
    elif before == depth:
        parent[target] = SEVERAL
    return before == -1


@device_function
def _list_found(v: Any, wanted: Any, context: Any) -> Any:
    """List the pieces of vertices that were found; the degree of this lane's."""
    pieces, control, counter, offsets = context
    return list_pieces(v, wanted, pieces, control, counter, offsets)


_put, _flush = make_outbox(0, _list_found)


@device_function
def _visit(takes: Any, v: Any, key: Any, k: Any, context: Any) -> Any:
    """Look at one arc of the frontier, lanes of a warp at once. Returns degrees of vertices that are listed, and 1 for
    each that was found."""
    graph, level, parent, depth, block, listing = context
    fresh, target = False, np.int64(0)
    if takes:
        target = np.int64(graph.targets[k])
        seen = level[target]
        if seen == -1 or seen == depth:
            fresh = _claim(v, target, depth, level, parent)
    return _put(target, fresh, block, listing), np.int64(fresh)


_push = make_walk(_visit)


@device_function
def _visit_few(
    v: Any, key: Any, k: Any, target: Any, depth: Any, queue: Any, block: Any, control: Any, context: Any
) -> None:
    """Look at one arc of a frontier of few vertices."""
    level, parent, spilled = context
    if _claim(v, target, depth, level, parent) and not keep(target, np.int64(0), 1 - queue, block):
        spilled[atomic_add(control, SPILLED, 1)] = target


@device_function
def _is_current(v: Any, key: Any, context: Any) -> Any:
    return True


_few = make_few(_visit_few, _is_current)


@device_function
def _count(edges: Any, found: Any, tally: Any, control: Any, turn: Any) -> None:
    """Add what the threads of this block found to the frontier's totals."""
    add_to_total(edges, 0, tally, control, EDGES + turn)
    add_to_total(found, 1, tally, control, FOUND + turn)


@device_function
def _find_in_row(wanted: Any, v: Any, depth: Any, it: Any) -> Any:
    return find_parent(wanted, v, depth, it.graph, it.level)


@device_function
def _find_from_head(wanted: Any, v: Any, depth: Any, it: Any) -> Any:
    """`find_parent` where the first in-neighbours lie apart from the others."""
    found, i = np.int64(-1), HEADS * v
    while wanted and i < HEADS * (v + 1):
        head = it.heads[i]
        if head == NO_VERTEX or is_on_level(head, depth, it.level):
            wanted = False
            if head != NO_VERTEX:
                found = np.int64(head)
        i += 1
    rest = find_parent(wanted, v, depth, it.graph, it.level)
    return max(found, rest)


def _make_pull(find: Any) -> tuple[Any, Any]:
    """Device functions that pull, and that choose parents at the end."""

    @device_function
    def pull(depth, it):
        """Let each unreached vertex look for a parent in the frontier; out-edges and number of those that found one."""
        n, level, edges, found = it.n, it.level, np.int64(0), np.int64(0)
        for begin in range(thread_index() - lane(), n, num_threads()):
            v = begin + lane()
            u = find(v < n and level[min(v, n - 1)] == -1, v, depth - 1, it)
            if u >= 0:
                level[v] = depth
                it.parent[v] = u
                found += 1
                edges += degree(v, it.graph.offsets)
        return edges, found

    @inlined
    def choose_parents(it):
        """Give vertices that were found along several arcs a parent; the others without one get -1."""
        for begin in range(thread_index() - lane(), it.n, num_threads()):
            v, depth, several = begin + lane(), np.int64(0), False
            if v < it.n:
                depth, several = np.int64(it.level[v]), it.parent[v] == SEVERAL
                if it.parent[v] == NOBODY:
                    it.parent[v] = -1
            u = find(several, v, depth - 1, it)
            if u >= 0:
                it.parent[v] = u

    return pull, choose_parents


@inlined
def _list_queued(queue, block, it, pieces, turn):
    """List the vertices that few levels ended with; their out-edges, and how many this thread saw."""
    graph, control = it.graph, it.control
    edges, found = np.int64(0), np.int64(0)
    held, spilled = held_in(queue, block), control[SPILLED]
    for begin in range(block_thread() - lane(), held, block_size()):
        i, v = begin + lane(), np.int64(0)
        if i < held:
            v = np.int64(block.queues[queue * LOCAL + i])
            found += 1
        edges += list_pieces(v, i < held, pieces, control, PIECES + turn, graph.offsets)
    for begin in range(thread_index() - lane(), spilled, num_threads()):
        i, v = begin + lane(), np.int64(0)
        if i < spilled:
            v = np.int64(it.spilled[i])
            found += 1
        edges += list_pieces(v, i < spilled, pieces, control, PIECES + turn, graph.offsets)
    return edges, found


@inlined
def _begin(it):
    """List the pieces of the sources; their out-edges, and how many this thread saw."""
    edges, found = np.int64(0), np.int64(0)
    for begin in range(thread_index() - lane(), it.num_sources, num_threads()):
        i, v = begin + lane(), np.int64(0)
        if i < it.num_sources:
            v = it.sources[i]
            it.level[v] = 0
            found += 1
        edges += list_pieces(v, i < it.num_sources, it.pieces, it.control, PIECES, it.graph.offsets)
    return edges, found


@inlined
def _list_level(depth, it, pieces, turn):
    """List the pieces of the vertices of a level that was found by pulling."""
    for begin in range(thread_index() - lane(), it.n, num_threads()):
        v = begin + lane()
        wanted = v < it.n and it.level[min(v, it.n - 1)] == depth
        list_pieces(v, wanted, pieces, it.control, PIECES + turn, it.graph.offsets)


def make_kernel(with_heads: bool) -> Any:
    """The kernel, for vertices with or without heads of their own."""
    pull, choose_parents = _make_pull(_find_from_head if with_heads else _find_in_row)

    def bfs_kernel(it):
        """Levels and parents from sources; see the module, and `Search`."""
        graph, level, parent, control, host, n = it.graph, it.level, it.parent, it.control, it.host, it.n
        words_of_32 = cuda.shared.array(WORDS, UINT32)
        words_of_64 = cuda.shared.array(LONG_WORDS, INT64)
        block = share(words_of_32, words_of_64)
        me, generation = thread_index(), np.int64(0)
        clear(block, control)
        for v in range(me, n, num_threads()):
            level[v] = -1
            parent[v] = NOBODY
        generation = grid_barrier(control, generation)
        depth, turn, listed, flipped, explored = np.int64(0), np.int64(0), True, False, np.int64(0)
        few_levels, pushed, pulled = np.int64(0), np.int64(0), np.int64(0)
        edges, found = _begin(it)
        _count(edges, found, block.tally, control, turn)
        generation = grid_barrier(control, generation)
        while True:
            edges, found = control[EDGES + turn], control[FOUND + turn]
            if found == 0 or depth == it.limit or control[ENDED + turn] != 0:
                break
            explored += edges
            following, spare = turns_after(turn)
            pulls = it.forced == PULL
            if it.forced == AUTO:
                pulls = _pays_to_pull(edges, it.m - explored, SEARCH_RATIO) and edges > FEW_EDGES
            pieces, next_pieces = (it.other_pieces, it.pieces) if flipped else (it.pieces, it.other_pieces)
            if not pulls and not listed:
                _list_level(depth, it, pieces, turn)
                generation = grid_barrier(control, generation)
            if me == 0:
                control[PIECES + spare] = 0
                control[EDGES + spare] = 0
                control[FOUND + spare] = 0
                host[PROGRESS] = depth
                control[ENDED + following] = host[CANCEL]
            # A vertex of many arcs has more pieces than one: a block has to have room for its share of all.
            count = control[PIECES + turn]
            if not pulls and fits(found, edges) and count <= num_blocks() * LOCAL:
                clear(block, control)
                for i in range(block_index() + block_thread() * num_blocks(), count, num_threads()):
                    if pieces[i] >> 32 == 0:
                        keep(np.int64(np.uint32(pieces[i])), np.int64(0), 0, block)
                if me == 0:
                    control[SPILLED] = 0
                generation = grid_barrier(control, generation)
                before = depth
                context = (level, parent, it.spilled)
                depth, queue, _, _ = _few(depth, it.limit, graph, block, control, host, context)
                few_levels += depth - before
                generation = grid_barrier(control, generation)
                edges, found = _list_queued(queue, block, it, next_pieces, following)
                listed = True
            elif pulls:
                depth += 1
                pulled += 1
                edges, found = pull(depth, it)
                listed = False
            else:
                depth += 1
                pushed += 1
                listing = (next_pieces, control, PIECES + following, graph.offsets)
                edges, found = _push(
                    pieces, count, graph.offsets, (graph, level, parent, depth, block, listing)
                )
                edges += _flush(block, listing)
                listed = True
            _count(edges, found, block.tally, control, following)
            generation = grid_barrier(control, generation)
            turn, flipped = following, not flipped
        if me == 0:
            host[LEVELS] = depth
            host[FORMS] = few_levels
            host[FORMS + 1] = pushed
            host[FORMS + 2] = pulled
        generation = grid_barrier(control, generation)
        choose_parents(it)

    return bfs_kernel


@functools.cache
def _kernel(offsets: np.dtype, with_heads: bool) -> Kernel:
    return fixed_kernel(make_kernel, signature(offsets), with_heads)


def search(graph: Graph, sources: np.ndarray, limit: int, run: Execution) -> tuple[Any, Any, int]:
    """Levels and parents, int32 on the GPU, and how many levels were expanded.

    Args:
        graph: in-edges are made if it has none.
        sources: int64, at least one vertex.
        limit: the highest level looked for.
        run: the run that this is.
    """
    n, m, sources = graph.num_vertices, graph.num_arcs, np.unique(sources)
    on_gpu = graph_on_gpu(graph, run)
    if (rows := rows_for(graph, False, run)) is not None:
        most, unit = min(limit, NOBODY - 1), np.dtype(np.int32)
        level, last, _ = keys_by_clusters(graph, rows, sources, unit, most, -1, run)
        parent = full(n, -1, np.int32)
        make_parents(graph, level, parent, run)
        return level, parent, min(last + 1, limit, n)
    heads, with_heads = heads_for(run, graph, on_gpu, "in-neighbours", in_heads)
    kernel, count = _kernel(offset_dtype(on_gpu), with_heads), len(sources)
    level, parent = empty(n, np.int32), empty(n, np.int32)
    control, host, seen = zeros(CONTROL.size, np.int64), signals(HOST.size), pinned(count, np.int64)
    seen[:] = sources
    of_pieces = most_pieces(n, m), np.int64
    with lists(graph, of_pieces, of_pieces, (n, np.uint32)) as (pieces, other_pieces, spilled):
        given = Search(
            graph=on_gpu,
            heads=heads,
            level=level,
            parent=parent,
            pieces=pieces,
            other_pieces=other_pieces,
            spilled=spilled,
            sources=seen,
            control=control,
            host=host,
            n=n,
            m=m,
            num_sources=count,
            limit=min(limit, n),
            forced=forced_direction(run.schedule),
        )
        kernel.start([given])
        wait(host, run.progress)
    run.explain(f"levels on the GPU: {written_forms(host[FORMS:], FORM_NAMES) or 'none'}")
    return level, parent, int(host[LEVELS])


def search_layers(
    made: GraphInLayers, places: np.ndarray | None, limit: int, run: Execution
) -> tuple[Any, Any, int]:
    """`search` over a graph in layers, by vertices; from its roots if no places of sources are given."""
    if places is None:
        return *read_levels(made, limit, run), 0
    level, parent, levels = search(made.graph, places, limit, run)
    return *by_vertices(made, level, parent, run), levels
