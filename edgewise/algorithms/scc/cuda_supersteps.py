"""Supersteps of strongly connected components on a GPU: what is done along one arc in each phase, and who does it.

The unit is a *node*: a vertex together with a direction, out along its arcs or back along the arcs into it. A list has
nodes of both directions, so that both searches go on in the same supersteps, and trimming looks both ways.

What is found does not depend on the order of work: bits are only set, counts only fall, colours only rise. So a thread
may go on from what it found before others have finished the superstep. Where a list is short, threads follow chains of
vertices that way, and a path of a million vertices does not take a million barriers.
"""

from typing import Any, NamedTuple

import numpy as np

from edgewise.kernels.cuda.arguments import AtomicInt32s, AtomicInt64s, Int64s
from edgewise.kernels.cuda.device import (
    WARP,
    atomic_add,
    atomic_and,
    atomic_exchange,
    atomic_max,
    compare_and_swap,
    device_function,
    lane,
    num_threads,
    thread_index,
)
from edgewise.primitives.deal import PIECE, list_arcs, make_deal
from edgewise.primitives.first_match import make_find
from edgewise.primitives.warp_buffers import make_outbox

#: What supersteps do: take away vertices that are alone; reach from a vertex forward and backward; count arcs among
#: what is left; spread colours; collect what reaches the root of its colour.
TRIM, REACH, COUNT, COLOUR, COLLECT = range(5)
#: Values of `component` below 0: a vertex that is left, and one that reaches the root of its colour and is reached from
#: it. In REACH the bits OUT and IN of the complement say which searches came: -1 none, BOTH both.
LEFT, COLLECTED, BOTH = -1, -2, -4
#: Halves of a piece's name: the vertex, and what is added for the direction against arcs.
VERTEX, BACK = 0x7FFFFFFF, 1 << 31
#: If a list has at most SHORT pieces, threads follow chains of at most CHAIN vertices, with at most CHAIN_ARCS arcs
#: each way. A step of a chain is four accesses that wait for each other, about a third of a superstep, in which one
#: thread looks at one vertex; so longer lists and vertices of more arcs are for all threads.
SHORT, CHAIN, CHAIN_ARCS = 128, 64, 3


class State(NamedTuple):
    """What is known of n vertices.

    Attributes:
        component: (n,): the label once it is known, else see LEFT.
        counts: (2n,): arcs into each vertex from its own group, then arcs out of each. In COLLECT, the first
            half has at each root the smallest vertex of its component.
        mark: (n,): parents in trees of vertices joined by arcs both ways; in COLOUR the superstep in which a
            vertex was listed last.
        colour, group: (n,): the largest priority that reaches a vertex inside its group; the group, which is
            the colour of the round before. A component lies inside one group.
    """

    component: AtomicInt32s
    counts: AtomicInt32s
    mark: AtomicInt32s
    colour: AtomicInt64s
    group: Int64s


class Listing(NamedTuple):
    """Where a superstep lists what it finds, and what kind it is.

    Attributes:
        graph: the graph.
        phase: TRIM to COLLECT: what is to be done with what is listed.
        step: the number of the superstep, unlike that of all before.
        pieces: int64: a node, and in the upper half the number of its piece.
        control, counter: the word that counts the pieces.
    """

    graph: Any
    phase: Any
    step: Any
    pieces: Any
    control: Any
    counter: Any


@device_function
def priority(v: Any) -> Any:
    """A number for each vertex, all different, in an order that has nothing to do with theirs; its lower half is v.

    Constants of Wellons and others, "hash-prospector": a mixing of 32 bits.
    """
    x = (v ^ v >> 16) * 0x21F0AAAD & 0xFFFFFFFF
    x = (x ^ x >> 15) * 0x735A2D97 & 0xFFFFFFFF
    return ((x ^ x >> 15) & 0x7FFFFFFF) << 32 | v


@device_function
def _row(node: Any, graph: Any) -> Any:
    """Where the arcs of a node begin and end."""
    v = node & VERTEX
    if node >= BACK:
        return np.int64(graph.in_offsets[v]), np.int64(graph.in_offsets[v + 1])
    return np.int64(graph.offsets[v]), np.int64(graph.offsets[v + 1])


@device_function
def _other_end(node: Any, k: Any, graph: Any) -> Any:
    """The vertex at the other end of an arc of a node."""
    if node >= BACK:
        return np.int64(graph.in_sources[k])
    return np.int64(graph.targets[k])


@device_function
def _are_together(v: Any, target: Any, state: Any) -> Any:
    """Whether an arc leads from a vertex to another one that is left in its group."""
    # All is loaded before any of it is looked at: with `and` each access would wait for the one before.
    return (target != v) & (state.component[target] == LEFT) & (state.group[target] == state.group[v])


@device_function
def _trim(v: Any, back: Any, target: Any, state: Any) -> Any:
    """One arc less between a vertex that is taken away and another; whether that one is to be taken away now."""
    if not _are_together(v, target, state):
        return False
    place = target + back * len(state.component)
    if atomic_add(state.counts, place, np.int32(-1)) != 1:
        return False
    return compare_and_swap(state.component, target, np.int32(LEFT), np.int32(target)) == LEFT


@device_function
def _reach(back: Any, target: Any, state: Any) -> Any:
    """Whether this thread is the first to reach a vertex in this direction."""
    bit = np.int32(1 + back)
    seen = state.component[target]
    if seen >= 0 or seen & bit == 0:
        return False
    return atomic_and(state.component, target, np.int32(~bit)) & bit != 0


@device_function
def _count(v: Any, target: Any, state: Any) -> None:
    """Count an arc if it lies in one group of vertices that are left and is no loop."""
    if _are_together(v, target, state):
        atomic_add(state.counts, target, np.int32(1))
        atomic_add(state.counts, len(state.component) + v, np.int32(1))


@device_function
def _raise(v: Any, target: Any, state: Any) -> Any:
    """Whether the colour of a vertex is raised to that of another."""
    colour, below = state.colour[v], state.colour[target]
    return (
        _are_together(v, target, state)
        and below < colour
        and atomic_max(state.colour, target, colour) < colour
    )


@device_function
def _collect(v: Any, source: Any, state: Any) -> Any:
    """Whether this thread is the first to collect a vertex of the same colour."""
    if state.component[source] != LEFT or state.colour[source] != state.colour[v]:
        return False
    return compare_and_swap(state.component, source, np.int32(LEFT), np.int32(COLLECTED)) == LEFT


@device_function
def _look(node: Any, target: Any, phase: Any, state: Any) -> Any:
    """Do what a phase does along one arc of a node; the node to go on from, or -1."""
    v, back, goes_on = node & VERTEX, node >> 31, False
    if phase == REACH:
        goes_on = _reach(back, target, state)
    elif phase == TRIM:
        return target if _trim(v, back, target, state) else np.int64(-1)
    elif phase == COUNT:
        _count(v, target, state)
    elif phase == COLOUR:
        goes_on = _raise(v, target, state)
    else:
        goes_on = _collect(v, target, state)
    return target | node & BACK if goes_on else np.int64(-1)


@device_function
def _emit(node: Any, wanted: Any, listing: Any) -> Any:
    """List the pieces of nodes, those of vertices that were taken away in both directions; how many arcs they have."""
    all_arcs = np.int64(0)
    for _ in range(_directions(listing.phase)):
        arcs = np.int64(0)
        if wanted:
            start, end = _row(node, listing.graph)
            arcs = end - start
        list_arcs(node, arcs, listing.pieces, listing.control, listing.counter)
        all_arcs += arcs
        node ^= BACK
    return all_arcs


put, flush = make_outbox(0, _emit)


@device_function
def _directions(phase: Any) -> Any:
    """In how many directions a found node is gone on from."""
    return 2 if phase == TRIM else 1


@device_function
def _is_unlisted(node: Any, state: Any, listing: Any) -> Any:
    """Whether a node is to be listed: a vertex whose colour is raised twice in a superstep only once."""
    if listing.phase != COLOUR:
        return True
    return atomic_exchange(state.mark, node & VERTEX, np.int32(listing.step)) != listing.step


@device_function
def _list_alone(node: Any, state: Any, listing: Any) -> None:
    """List the pieces of a node by one thread."""
    if not _is_unlisted(node, state, listing):
        return
    for _ in range(_directions(listing.phase)):
        start, end = _row(node, listing.graph)
        count = (end - start + PIECE - 1) // PIECE
        position = atomic_add(listing.control, listing.counter, count)
        for i in range(count):
            listing.pieces[position + i] = node | i << 32
        node ^= BACK


@device_function
def _arcs_of(node: Any, listing: Any) -> Any:
    """How many arcs a chain has to look at to go on from a node."""
    start, end = _row(node, listing.graph)
    if listing.phase == TRIM:
        in_start, in_end = _row(node ^ BACK, listing.graph)
        return max(end - start, in_end - in_start)
    return end - start


@device_function
def _follow(node: Any, state: Any, listing: Any) -> Any:
    """Go on from a node along a chain; the node that is left to be listed, or -1. What branches off is listed."""
    graph = listing.graph
    for _ in range(CHAIN):
        if node < 0 or _arcs_of(node, listing) > CHAIN_ARCS:
            break
        following = np.int64(-1)
        for _ in range(_directions(listing.phase)):
            start, end = _row(node, graph)
            for k in range(start, end):
                found = _look(node, _other_end(node, k, graph), listing.phase, state)
                if found >= 0 and following >= 0:
                    _list_alone(found, state, listing)
                elif found >= 0:
                    following = found
            node ^= BACK
        node = following
    return node


@device_function
def _visit(takes: Any, node: Any, key: Any, k: Any, context: Any) -> Any:
    """Look at one arc of a listed node, lanes of a warp at once. Returns how many arcs were listed, without those that
    chains left aside, which are few."""
    state, listing, block, follows = context
    found = np.int64(-1)
    if takes:
        found = _look(node, _other_end(node, k, listing.graph), listing.phase, state)
        if follows and found >= 0:
            found = _follow(found, state, listing)
    wanted = found >= 0
    if wanted:
        wanted = _is_unlisted(found, state, listing)
    return put(found, wanted, block, listing), np.int64(0)


_deal = make_deal(_visit)


@device_function
def push(pieces: Any, count: Any, state: Any, listing: Any, block: Any) -> Any:
    """Look at all arcs of listed pieces. To be called by all threads; how many arcs this one listed."""
    warp, warps, listed = thread_index() // WARP, num_threads() // WARP, np.int64(0)
    context = (state, listing, block, count <= SHORT and listing.phase != COUNT)
    for begin in range(warp, count, warps * WARP):
        i = begin + lane() * warps
        node, start, length = np.int64(0), np.int64(0), np.int64(0)
        if i < count:
            node = pieces[i] & 0xFFFFFFFF
            first, end = _row(node, listing.graph)
            start = first + (pieces[i] >> 32) * PIECE
            length = min(np.int64(PIECE), end - start)
        arcs, _ = _deal(node, start, length, np.int64(0), context)
        listed += arcs
    return listed


@device_function
def _is_reached(u: Any, bit: Any, component: Any) -> Any:
    return component[u] < 0 and component[u] & bit == 0


_find = make_find(_is_reached)


@device_function
def pull(state: Any, listing: Any, block: Any) -> Any:
    """Let every vertex that is left look whether a search came to one before it. To be called by all threads; how many
    arcs this one listed."""
    graph, component, listed = listing.graph, state.component, np.int64(0)
    for begin in range(thread_index() - lane(), len(component), num_threads()):
        v, seen = begin + lane(), np.int64(0)
        if v < len(component):
            seen = np.int64(component[v])
        for back in range(2):
            bit = np.int64(1 + back)
            into, out = (graph.in_offsets, graph.in_sources), (graph.offsets, graph.targets)
            offsets, neighbours = into if back == 0 else out
            found = _find(seen < 0 and seen & bit != 0, v, bit, offsets, neighbours, component) >= 0
            if found:
                seen &= ~bit
                # Nobody else writes this element while vertices look.
                component[v] = seen
            listed += put(v | back << 31, found, block, listing)
    return listed
