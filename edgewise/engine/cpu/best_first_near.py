"""Near vertices of an asynchronous program: each is computed and sends its messages at once."""

from typing import Any, NamedTuple

import numpy as np

from edgewise.engine.cpu.best_first_lists import (
    BUDGET,
    ENTERED,
    FAR,
    FAR_CURSOR,
    FAR_NOW,
    FIRST,
    LEFT,
    MESSAGE,
    NEAR,
    NEAR_CURSOR,
    NEAR_NEXT,
    RING,
    WORDS,
    is_of_another,
    lists,
    turn,
)
from edgewise.engine.cpu.shared import append, finish_segment
from edgewise.engine.lowering.accessors import DeviceFunction
from edgewise.kernels.cache import device_function
from edgewise.kernels.cpu.atomics import atomic_load, atomic_or, compare_and_swap, prefetch, unwrap
from edgewise.primitives.vertices import NO_VERTEX

#: Arcs are prefetched for the vertex AHEAD entries further on in a list, other words for that 2 * AHEAD further on.
AHEAD = 4


class NearVertices(NamedTuple):
    """Compiled functions that compute part of the near list, and the vertices that a thread made near itself."""

    compute: DeviceFunction
    go_on: DeviceFunction


@device_function
def fetch_vertex(v: Any, graph: Any, work: Any) -> None:
    """Prefetch what an atomic operation on a vertex would wait for."""
    if v != NO_VERTEX:
        prefetch(work.messages, v)
        prefetch(work.places, v)
        prefetch(graph.offsets, v)


@device_function
def fetch_arcs(v: Any, graph: Any) -> None:
    """Prefetch the first arc of a vertex."""
    if v != NO_VERTEX:
        prefetch(graph.targets, np.int64(graph.offsets[v]))


def make_send(
    edge_compute: DeviceFunction, make_out_edge: DeviceFunction, cast: DeviceFunction, better: DeviceFunction
) -> DeviceFunction:
    """The function that sends a vertex's messages; `better` says whether the first of two messages is better."""

    @device_function
    def lower(target, value, threshold, near_next, far, work, shared, thread):
        """Store a message if it is better than the target's; then list the target, unless it is in that list."""
        messages, places, cursors = work.messages, work.places, work.cursors
        while True:
            old = messages[target]
            if not better(value, old):
                return
            if compare_and_swap(messages, target, old, value):
                break
        place = FAR if better(threshold, value) else NEAR
        if atomic_load(places, target) & (place | MESSAGE) == place | MESSAGE:
            return
        if atomic_or(places, target, place | MESSAGE) & place == 0:
            if place == FAR:
                append(far, cursors, WORDS * thread + FAR_CURSOR, shared, FAR_NOW, target)
            elif cursors[WORDS * thread + ENTERED] - cursors[WORDS * thread + LEFT] < RING:
                work.rings[thread * RING + cursors[WORDS * thread + ENTERED] % RING] = np.uint32(target)
                cursors[WORDS * thread + ENTERED] += 1
            else:
                append(near_next, cursors, WORDS * thread + NEAR_CURSOR, shared, NEAR_NEXT, target)

    @device_function
    def send(u, threshold, state, graph, own, near_next, far, work, shared, thread):
        offsets, targets = graph.offsets, graph.targets
        for k in range(np.int64(offsets[u]), np.int64(offsets[u + 1])):
            target = np.int64(targets[k])
            sent = edge_compute(make_out_edge(u, target, k, k, own), state)
            if sent is not None:
                value = cast(unwrap(sent))
                if better(value, work.messages[target]):
                    lower(target, value, threshold, near_next, far, work, shared, thread)

    return send


def make_near(vertex_compute: DeviceFunction, send: DeviceFunction) -> NearVertices:
    """The functions that compute near vertices."""

    @device_function
    def compute_vertex(v, mine, threshold, state, graph, own, near_next, far, work, shared, thread):
        """Compute a near vertex; send its messages if it is active."""
        places, bits = work.places, work.places[v]
        while not compare_and_swap(places, v, bits, bits & FAR | mine):
            bits = places[v]
        active = bits & FIRST != 0
        if bits & MESSAGE != 0:
            active = vertex_compute(v, atomic_load(work.messages, v), state) or active
        if active:
            send(v, threshold, state, graph, own, near_next, far, work, shared, thread)

    @device_function
    def compute(start, end, state, graph, own, work, shared, thread):
        """Compute the vertices near[start:end]."""
        near, near_next, far, _ = lists(work, shared)
        threshold, mine = work.thresholds[0], turn(shared, thread)
        for position in range(start, end):
            if position + 2 * AHEAD < end:
                fetch_vertex(np.int64(near[position + 2 * AHEAD]), graph, work)
            if position + AHEAD < end:
                fetch_arcs(np.int64(near[position + AHEAD]), graph)
            v = np.int64(near[position])
            if v != NO_VERTEX:
                compute_vertex(v, mine, threshold, state, graph, own, near_next, far, work, shared, thread)

    @device_function
    def go_on(state, graph, own, work, shared, thread):
        """Compute vertices of this thread's ring, which may grow meanwhile; list those left for all threads, and those
        that another thread has computed in this superstep, and may still compute."""
        _, near_next, far, _ = lists(work, shared)
        threshold, cursors, first = work.thresholds[0], work.cursors, thread * RING
        mine = turn(shared, thread)
        head, ring, left = cursors[WORDS * thread + LEFT], work.rings, np.int64(BUDGET)
        while left > 0 and head < cursors[WORDS * thread + ENTERED]:
            v = np.int64(ring[first + head % RING])
            if head + 2 * AHEAD < cursors[WORDS * thread + ENTERED]:
                fetch_vertex(np.int64(ring[first + (head + 2 * AHEAD) % RING]), graph, work)
            if head + AHEAD < cursors[WORDS * thread + ENTERED]:
                fetch_arcs(np.int64(ring[first + (head + AHEAD) % RING]), graph)
            head += 1
            cursors[WORDS * thread + LEFT] = head
            if is_of_another(work.places[v], mine):
                append(near_next, cursors, WORDS * thread + NEAR_CURSOR, shared, NEAR_NEXT, v)
                continue
            compute_vertex(v, mine, threshold, state, graph, own, near_next, far, work, shared, thread)
            left -= 1 + np.int64(graph.offsets[v + 1]) - np.int64(graph.offsets[v])
        while head < cursors[WORDS * thread + ENTERED]:
            v = np.int64(ring[first + head % RING])
            append(near_next, cursors, WORDS * thread + NEAR_CURSOR, shared, NEAR_NEXT, v)
            head += 1
        cursors[WORDS * thread + LEFT] = head
        finish_segment(near_next, cursors, WORDS * thread + NEAR_CURSOR)

    return NearVertices(compute, go_on)
