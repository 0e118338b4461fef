"""Push: active vertices send along their out-edges."""

from typing import Any, NamedTuple

import numpy as np

from edgewise.engine.cpu.pieces import claim_piece
from edgewise.engine.cpu.shared import LISTED, PIECE, SEGMENT, TOUCHED, append, finish_segment
from edgewise.engine.lowering.accessors import DeviceFunction
from edgewise.kernels.cache import device_function
from edgewise.kernels.cpu.atomics import atomic_exchange
from edgewise.kernels.cpu.team import claim
from edgewise.kernels.words import CPU_LINE
from edgewise.primitives.vertices import NO_VERTEX


class Pushing(NamedTuple):
    """Compiled functions that push along some out-edges of one vertex, from a thread's share of the list, and from its
    share of all vertices."""

    push_arcs: DeviceFunction
    push_list: DeviceFunction
    push_all: DeviceFunction


@device_function
def same_arc(graph: Any, k: Any) -> Any:
    """Out-edge k is arc k, if all arcs of a graph are there."""
    return k


def make_pushing(
    edge_compute: DeviceFunction,
    make_out_edge: DeviceFunction,
    hand_over: DeviceFunction,
    arc_of: DeviceFunction = same_arc,
) -> Pushing:
    """The functions that push; `hand_over` delivers one message, and ``arc_of(graph, k)`` is the arc of out-edge k."""

    @device_function
    def push_arcs(u, low, high, stamp, state, graph, own, work, shared, thread, alone, listing):
        """Send along those out-edges k of one vertex with low <= k < high. With `listing`, list halted vertices that
        get their first message."""
        offsets, targets = graph.offsets, graph.targets
        received, active = work.received, work.active
        for k in range(max(low, np.int64(offsets[u])), min(high, np.int64(offsets[u + 1]))):
            target = np.int64(targets[k])
            sent = edge_compute(make_out_edge(u, target, k, arc_of(graph, k), own), state)
            if sent is not None:
                hand_over(target, k, sent, alone, work)
                if received[target] != stamp:
                    first = True
                    if alone:
                        received[target] = stamp
                    else:
                        first = atomic_exchange(received, target, stamp) != stamp
                    if listing and first and active[target] != stamp:
                        append(work.touched, work.cursors, CPU_LINE * thread, shared, TOUCHED, target)

    @device_function
    def push_list(control, thread, listed, stamp, state, graph, own, work, shared):
        """Push from the vertices of the pieces of the list that this thread gets."""
        m, end = graph.m, shared[LISTED]
        while True:
            start = claim(control, 0, SEGMENT, end)
            if start >= end:
                break
            for position in range(start, min(end, start + SEGMENT)):
                u = np.int64(listed[position])
                if u != NO_VERTEX:
                    push_arcs(u, 0, m, stamp, state, graph, own, work, shared, thread, False, True)
        finish_segment(work.touched, work.cursors, CPU_LINE * thread)

    @device_function
    def push_all(control, thread, stamp, state, graph, own, work, shared):
        """Push along the arcs of active vertices in this thread's pieces, which may divide a vertex."""
        n, m, offsets, active = graph.n, graph.m, graph.offsets, work.active
        while True:
            first, last, start, stop = claim_piece(control, 0, shared[PIECE], offsets, n, m)
            if start == stop:
                return
            for u in range(max(first - 1, 0), last):
                if active[u] == stamp:
                    low, high = start - u, stop - u
                    push_arcs(u, low, high, stamp, state, graph, own, work, shared, thread, False, False)

    return Pushing(push_arcs, push_list, push_all)
