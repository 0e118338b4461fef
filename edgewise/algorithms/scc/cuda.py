"""Strongly connected components on a GPU: one cooperative launch, phases made of supersteps.

1. *Trim.* A vertex without in-edges, or without out-edges, is a component by itself. When it is taken away, others may
   be left without in-edges or out-edges.
2. *Reach.* Two searches at once, forward and backward, find the component of the vertex with the most arcs. They push,
   or pull where most vertices are reached, as in `bfs.cuda`. Where most arcs of a sample go both ways, as streets do,
   vertices joined by such arcs are joined to trees first, and the searches begin at all vertices of the largest tree.
3. What is left is in groups: reached forward, backward, or by none. In rounds: *count* arcs inside groups, *trim*;
   *colour* each vertex with the largest priority that reaches it; *collect* those of a colour that reach the vertex
   whose priority the colour is: its component. Colours are the groups of the next round.

Work. Phases go over lists of vertices that are left or were found, not over all vertices; so 1 and 2 take O(n + m).
Priorities are random: a component is found after as many rounds as its depth in a random search tree, so O(log n) are
expected on every graph, whatever the order of its vertices.

References. McLendon and others, JPDC 65 (2005) (trimming); Fleischer, Hendrickson and Pinar, IPDPS Workshops 2000
(forward and backward); Orzan, "On distributed verification and verified distribution", thesis,
2004 (colouring); Slota, Rajamanickam and Madduri, IPDPS 2014 (these three, one after the other).
"""

import functools
from typing import Any, NamedTuple

import numpy as np

from edgewise.algorithms.common.device_graph import GraphOnGpu, graph_on_gpu, offset_dtype
from edgewise.algorithms.components.cuda import SAMPLE, SLOTS, flatten, most_frequent
from edgewise.algorithms.scc.cuda_passes import (
    ARCS,
    CONTROL,
    ENDED,
    FOUND,
    LEAST,
    PIECES,
    PIVOT,
    REACHED,
    REST,
    ROOTS,
    Round,
    begin_at_roots,
    fill,
    finish,
    free,
    give_colours,
    join_both_ways,
    list_sources,
    lower_roots,
    mostly_both_ways,
    next_round,
    split,
    vote,
)
from edgewise.algorithms.scc.cuda_supersteps import (
    COLLECT,
    COLOUR,
    COUNT,
    REACH,
    TRIM,
    VERTEX,
    Listing,
    State,
    flush,
    pull,
    push,
)
from edgewise.execution import Execution
from edgewise.graph import Graph
from edgewise.kernels.cuda.arguments import AtomicInt64s, Int64s, Uint32s, type_of
from edgewise.kernels.cuda.device import (
    INT32,
    INT64,
    UINT32,
    WARPS,
    block_size,
    block_thread,
    cuda,
    device_function,
    grid_barrier,
    inlined,
    thread_index,
)
from edgewise.kernels.cuda.launch import Kernel, fixed_kernel
from edgewise.kernels.cuda.memory import CANCEL, PROGRESS, empty, signals, wait, zeros
from edgewise.primitives.control import host_words, turns_after
from edgewise.primitives.deal import TALLY_WORDS, add_to_total, most_pieces
from edgewise.primitives.direction import SEARCH_RATIO, pays_to_pull
from edgewise.primitives.warp_buffers import BOX_WORDS, Boxes
from edgewise.text import shown

#: Words of the host's array.
HOST = host_words()
COMPONENTS, SEARCHED, STEPS, ROUNDS, BY_SEARCH, BY_COLOUR, TREE, JOINED = (HOST.take() for _ in range(8))
#: Supersteps between looks at the host's words.
LOOK = 16
#: Arcs that are always pushed.
FEW_ARCS = 100_000
_pays_to_pull = inlined(pays_to_pull)


class Decomposition(NamedTuple):
    """What the kernel takes.

    Attributes:
        graph: the graph, the sources of each vertex in ascending order.
        state: see `State`.
        pieces, other_pieces: lists, shape (2 * most_pieces(n, m),).
        rest, other_rest: lists of vertices, shape (n,).
        control: zeros, see `CONTROL`.
        host: words in the host's memory, see `HOST`; all after PROGRESS are results.
        n, m: vertices, at least one; arcs.
    """

    graph: GraphOnGpu
    state: State
    pieces: Int64s
    other_pieces: Int64s
    rest: Uint32s
    other_rest: Uint32s
    control: AtomicInt64s
    host: Int64s
    n: int
    m: int


def signature(offsets: np.dtype) -> tuple[Any, ...]:
    """The types of the kernel's arguments for graphs with offsets of this dtype."""
    return (type_of(Decomposition, offset=offsets),)


@device_function
def _choose_tree(
    n: Any, both_ways: Any, state: Any, listing: Any, roots: Any, tallies: Any, best: Any, generation: Any
) -> Any:
    """The root of the tree from whose vertices the searches begin, or -1 if no vertex is left; the barrier's turn."""
    control, mark = listing.control, state.mark
    vote(n, state, control)
    if both_ways:
        join_both_ways(n, listing.graph, mark)
    generation = grid_barrier(control, generation)
    voted = control[PIVOT]
    if voted == 0:
        return np.int64(-1), generation
    tree = VERTEX - (voted & VERTEX)
    if both_ways:
        flatten(0, n, mark)
        generation = grid_barrier(control, generation)
        tree = np.int64(mark[tree])
        most = most_frequent(0, n, mark, roots, tallies, best)
        largest = VERTEX - (most & VERTEX)
        # Its arcs say whether it is left: others may have begun to list sources, which changes components.
        is_left = min(state.counts[largest], state.counts[n + largest]) > 0
        if is_left and (most >> 32) * 10 >= SAMPLE:
            tree = largest
    return tree, generation


@device_function
def _phase_after(phase: Any, tree: Any) -> Any:
    """What follows a phase; `tree` is -1 before the searches."""
    if phase == TRIM:
        return np.int64(REACH) if tree < 0 else np.int64(COLOUR)
    if phase == COUNT:
        return np.int64(TRIM)
    return np.int64(COLLECT) if phase == COLOUR else np.int64(COUNT)


@inlined
def _begin_phase(phase, before, rounds, n, state, around, listing, block, generation):
    """List what a phase begins with that goes over vertices that are left.

    Returns:
        Rounds so far, how many vertices or components this thread saw, and the barrier's turn.
    """
    total = np.int64(0)
    if before == REACH:
        total = split(n, state, around, listing, block)
    elif phase == TRIM:
        free(state, around, listing, block)
    elif phase == COLOUR:
        give_colours(state, around, listing, block)
    elif phase == COLLECT:
        rounds += 1
        total = begin_at_roots(state, around, listing, block)
    else:
        lower_roots(state, around)
        generation = grid_barrier(listing.control, generation)
        next_round(state, around, listing, block)
    return rounds, total, generation


@inlined
def _report(control, host, searched, step, rounds, tree, both_ways):
    """Write to the host's array what a run was."""
    host[COMPONENTS] = control[FOUND]
    host[SEARCHED] = searched
    host[STEPS] = step
    host[ROUNDS] = rounds
    host[BY_SEARCH] = control[REACHED]
    host[BY_COLOUR] = control[ROOTS]
    host[TREE] = tree
    host[JOINED] = both_ways


def scc_kernel(it):
    """Labels; see the module, and `Decomposition`."""
    graph, state, control, host, n = it.graph, it.state, it.control, it.host, it.n
    boxes = cuda.shared.array(BOX_WORDS, UINT32)
    held = cuda.shared.array(WARPS, UINT32)
    tally = cuda.shared.array(TALLY_WORDS, INT64)
    roots = cuda.shared.array(SLOTS, INT32)
    tallies = cuda.shared.array(SLOTS, INT32)
    best = cuda.shared.array(1, INT64)
    block = Boxes(boxes, held)
    for i in range(block_thread(), WARPS, block_size()):
        held[i] = 0
    both_ways = mostly_both_ways(n, graph, tallies)
    me, generation = thread_index(), np.int64(0)
    if me == 0:
        control[LEAST] = n
    phase, turn, flipped, side = np.int64(TRIM), np.int64(0), False, np.int64(0)
    tree, explored = np.int64(-1), np.int64(0)
    step, searched, rounds = np.int64(0), np.int64(0), np.int64(0)
    listing = Listing(graph, phase, step, it.pieces, control, PIECES + turn)
    fill(n, state, listing, block)
    flush(block, listing)
    generation = grid_barrier(control, generation)
    while control[ENDED + turn] == 0:
        count, arcs, total = control[PIECES + turn], control[ARCS + turn], np.int64(0)
        following, spare = turns_after(turn)
        pieces, next_pieces = (it.other_pieces, it.pieces) if flipped else (it.pieces, it.other_pieces)
        rest, next_rest = (it.other_rest, it.rest) if side == 1 else (it.rest, it.other_rest)
        around = Round(rest, control[REST + side], next_rest, control, REST + 1 - side)
        before, step = phase, step + 1
        if me == 0:
            control[PIECES + spare] = 0
            control[ARCS + spare] = 0
            if step % LOOK == 0:
                host[PROGRESS] = step
                control[ENDED + following] = host[CANCEL]
        if count == 0:
            phase = _phase_after(before, tree)
            if phase != REACH and before != REACH and around.count == 0:
                break
        listing = Listing(graph, phase, step, next_pieces, control, PIECES + following)
        if count > 0:
            pulls = False
            if phase == REACH:
                searched += 1
                explored += arcs
                pulls = arcs > FEW_ARCS and _pays_to_pull(arcs, 2 * it.m - explored, SEARCH_RATIO)
            arcs = pull(state, listing, block) if pulls else push(pieces, count, state, listing, block)
        elif phase == REACH:
            tree, generation = _choose_tree(n, both_ways, state, listing, roots, tallies, best, generation)
            if tree < 0:
                break
            arcs = list_sources(n, tree, state, listing, block)
        else:
            begun = _begin_phase(phase, before, rounds, n, state, around, listing, block, generation)
            rounds, total, generation = begun
        arcs += flush(block, listing)
        add_to_total(arcs, 0, tally, control, ARCS + following)
        if count == 0:
            add_to_total(total, 1, tally, control, REACHED if before == REACH else ROOTS)
            if phase in (COUNT, COLOUR):
                side = 1 - side
            elif me == 0 and phase != REACH:
                # Nobody reads the list before any more, and the next but one pass makes a new one there.
                control[REST + 1 - side] = 0
        generation = grid_barrier(control, generation)
        turn, flipped = following, not flipped
    total = finish(n, state.component, control[LEAST])
    add_to_total(total, 1, tally, control, FOUND)
    generation = grid_barrier(control, generation)
    if me == 0:
        _report(control, host, searched, step, rounds, tree, both_ways)


@functools.cache
def _kernel(offsets: np.dtype) -> Kernel:
    return fixed_kernel(scc_kernel, signature(offsets))


def strong_components(graph: Graph, run: Execution) -> tuple[Any, int, int]:
    """Labels, int32 on the GPU, the number of components, and supersteps of the two searches.

    Args:
        graph: directed, at least one vertex; in-edges are made if it has none.
        run: the run that this is.
    """
    n, m = graph.num_vertices, graph.num_arcs
    on_gpu = graph_on_gpu(graph, run)
    kernel = _kernel(offset_dtype(on_gpu))
    component, counts, mark = (empty(length, np.int32) for length in (n, 2 * n, n))
    colour, group = (empty(n, np.int64) for _ in range(2))
    pieces, other_pieces = (empty(2 * most_pieces(n, m), np.int64) for _ in range(2))
    given = Decomposition(
        graph=on_gpu,
        state=State(component, counts, mark, colour, group),
        pieces=pieces,
        other_pieces=other_pieces,
        rest=empty(n, np.uint32),
        other_rest=empty(n, np.uint32),
        control=zeros(CONTROL.size, np.int64),
        host=signals(HOST.size),
        n=n,
        m=m,
    )
    kernel.start([given])
    host = given.host
    wait(host, run.progress)
    _explain(graph, run, host)
    return component, int(host[COMPONENTS]), int(host[SEARCHED])


def _explain(graph: Graph, run: Execution, host: np.ndarray) -> None:
    """Say which steps found which components."""
    searched = 0
    if host[BY_SEARCH] > 0:
        searched, name = 1, graph.ids_of(host[[TREE]]).tolist()[0]
        begin = (
            f"all vertices that arcs both ways join to vertex {shown(name)}"
            if host[JOINED]
            else f"vertex {shown(name)}"
        )
        run.explain(
            f"{host[BY_SEARCH]:,} of {graph.num_vertices:,} vertices are in the component that two searches from "
            f"{begin} found on the GPU"
        )
    alone = host[COMPONENTS] - host[BY_COLOUR] - searched
    run.explain(
        f"{alone:,} vertices are alone by their arcs; {host[BY_COLOUR]:,} components were found by colours in "
        f"{host[ROUNDS]:,} rounds; {host[STEPS]:,} supersteps on the GPU in all"
    )
