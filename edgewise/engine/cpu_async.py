"""The CPU engine's kernel for asynchronous programs that combine by MIN or MAX: best messages first.

Where a program allows that values are seen early and messages come late, vertices need not be computed in rounds.
Those with the best messages come first (the near ones), the rest waits (the far ones), as in the near-far form of
delta-stepping (Davidson, Baxter, Garland and Owens 2014, section 5). A shortest path program then relaxes each arc
little more than once; in rounds, on a road network, fifty times.

One superstep computes the vertices of the near list and sends their messages at once. A message better than the
threshold puts its target on the next near list, any other on the far list. When no vertex is near, the threshold
moves to where about a quarter of the far ones get near; how far that is, is estimated from a sample, so the program
needs no parameter.

Races: only the thread that computes a vertex takes its message; it first clears the vertex's NEAR bit, and a
sender first lowers the message and then looks at the bit. So a message is either taken or its target is listed again.
"""

from typing import Any

import numpy as np

from edgewise.engine.binding import Binding
from edgewise.engine.compiled import CompiledProgram
from edgewise.engine.cpu_kernel import (
    COUNT,
    EDGES,
    ENDED,
    FLIP,
    FORM,
    FORMS,
    NEXT,
    NO_VERTEX,
    RANGE,
    SEGMENT,
    SUPERSTEP,
    TOUCHED,
    append,
    finish_segment,
    make_cast,
    make_glue,
    make_readers,
    named_kernel,
)
from edgewise.kernels.atomics import atomic_add, atomic_or, compare_and_swap, unwrap
from edgewise.kernels.cache import inner_function
from edgewise.kernels.team import barrier, cancelled, claim, report, rewind
from edgewise.program import largest, smallest

#: Lengths of the lists, in the words that the other kernel uses for its own: near now and next, far now and next.
NEAR_NOW, NEAR_NEXT, FAR_NOW, FAR_NEXT = COUNT, NEXT, EDGES, TOUCHED
#: Bits of a vertex's place: it has an entry in the far list; it is in a near list (added, MINUS_NEAR clears it).
FAR, NEAR, MINUS_NEAR = np.uint32(1), np.uint32(2), np.uint32(0xFFFFFFFE)
#: The far ones that are sampled to move the threshold, and the share of them that gets near: one in so many.
SAMPLE = 63
SHARE = 2
#: Lists of fewer vertices are left to thread 0.
ALONE_LIST = 1024
#: What thread 0 decides for all: compute the near list, or sift the far one.
COMPUTE, SIFT = range(2)


def make_async_kernel(
    compiled: CompiledProgram,
    binding: Binding,
    message: np.dtype,
    parameters: dict[str, Any],
    uniform: frozenset[str],
) -> Any:
    """The kernel of an asynchronous program. Arguments and arrays as for `make_kernel`; ``work`` is used as
    (messages, places, far list, near list, other near list, other far list, cursors, thresholds).
    """
    found, functions = binding.found, compiled.functions
    glue = make_glue(compiled, binding, parameters, uniform)
    own_arrays, make_state, fill_fields = glue.own_arrays, glue.make_state, glue.fill_fields
    make_out_edge = glue.make_out_edge
    edge_compute, vertex_compute = functions["edge_compute"], functions["vertex_compute"]
    initialize = functions["initialize"]
    cast, identity = make_cast(message), message.type(found.combine.identity(message))
    smaller_is_better = found.combine.name == "MIN"
    best = message.type(smallest(message) if smaller_is_better else largest(message))
    graph_arrays, work_arrays = make_readers(binding, message)

    # The threshold starts at the best value there is: at first every message is far.

    @inner_function
    def better(a, b):
        return a < b if smaller_is_better else a > b

    @inner_function
    def lists(work, shared):
        """The lists by their present use: near now, near next, far now, far next."""
        near, near_next = (work[3], work[4]) if shared[FLIP] & 1 == 0 else (work[4], work[3])
        far, far_next = (work[2], work[5]) if shared[FLIP] & 2 == 0 else (work[5], work[2])
        return near, near_next, far, far_next

    @inner_function
    def lower(target, value, threshold, near_next, far, work, shared, thread):
        """Combine a message; list its target unless it is listed where it belongs."""
        messages, places, cursors = work[0], work[1], work[6]
        while True:
            old = messages[target]
            if not better(value, old):
                return
            if compare_and_swap(messages, target, old, value):
                break
        if better(threshold, value):
            if places[target] & FAR == 0 and atomic_or(places, target, FAR) & FAR == 0:
                append(far, cursors, 8 * thread + 2, shared, FAR_NOW, target)
        elif places[target] & NEAR == 0 and atomic_or(places, target, NEAR) & NEAR == 0:
            append(near_next, cursors, 8 * thread, shared, NEAR_NEXT, target)

    @inner_function
    def send(u, threshold, state, graph, own, near_next, far, work, shared, thread):
        offsets, targets = graph[2], graph[3]
        for k in range(np.int64(offsets[u]), np.int64(offsets[u + 1])):
            target = np.int64(targets[k])
            sent = edge_compute(make_out_edge(u, target, k, k, own), state)
            if sent is not None:
                lower(target, cast(unwrap(sent)), threshold, near_next, far, work, shared, thread)

    @inner_function
    def take(messages, v):
        """Take a vertex's message, leaving the identity."""
        while True:
            old = messages[v]
            if compare_and_swap(messages, v, old, identity):
                return old

    @inner_function
    def compute(start, end, first, state, graph, own, work, shared, thread):
        """Compute vertices of the near list and send their messages. In the first superstep they only send."""
        near, near_next, far, _ = lists(work, shared)
        threshold = work[7][0]
        for position in range(start, end):
            v = np.int64(near[position])
            if v == NO_VERTEX:
                continue
            goes_on = first
            if not first:
                atomic_add(work[1], v, MINUS_NEAR)
                incoming = take(work[0], v)
                goes_on = incoming != identity and vertex_compute(v, incoming, state)
            if goes_on:
                send(v, threshold, state, graph, own, near_next, far, work, shared, thread)

    @inner_function
    def sift(start, end, work, shared, thread):
        """Move far vertices that the threshold has reached to the near list, keep the rest, drop stale entries."""
        messages, places = work[0], work[1]
        near, _, far, far_next = lists(work, shared)
        threshold = work[7][0]
        for position in range(start, end):
            v = np.int64(far[position])
            if v == NO_VERTEX:
                continue
            waiting = messages[v]
            places[v] = places[v] & NEAR
            if waiting == identity:
                continue
            if better(threshold, waiting):
                places[v] = places[v] | FAR
                append(far_next, work[6], 8 * thread + 2, shared, FAR_NEXT, v)
            elif places[v] & NEAR == 0:
                places[v] = NEAR
                append(near, work[6], 8 * thread, shared, NEAR_NOW, v)

    @inner_function
    def turn_near(shared):
        shared[NEAR_NOW] = shared[NEAR_NEXT]
        shared[NEAR_NEXT] = 0
        shared[FLIP] = shared[FLIP] ^ 1

    @inner_function
    def turn_far(shared):
        shared[FAR_NOW] = shared[FAR_NEXT]
        shared[FAR_NEXT] = 0
        shared[FLIP] = shared[FLIP] ^ 2

    @inner_function
    def move_threshold(work, shared):
        """Set the threshold so that about one in SHARE of the waiting messages is not worse; False if none waits."""
        messages, thresholds = work[0], work[7]
        far = work[2] if shared[FLIP] & 2 == 0 else work[5]
        length = shared[FAR_NOW]
        step, count = max(1, length // SAMPLE), 0
        position = 0
        while position < length and count < SAMPLE:
            v = np.int64(far[position])
            waiting = identity if v == NO_VERTEX else messages[v]
            if waiting == identity:
                position += 1
                continue
            place = count
            while place > 0 and better(waiting, thresholds[place]):
                thresholds[place + 1] = thresholds[place]
                place -= 1
            thresholds[place + 1] = waiting
            count += 1
            position += step
        if count == 0:
            return False
        thresholds[0] = thresholds[1 + count // SHARE]
        return True

    @inner_function
    def decide(control, size, graph, own, work, shared, limit):
        """Thread 0, between supersteps: end, compute, or sift. Short lists are worked off at once."""
        while not cancelled(control):
            if shared[SUPERSTEP] == limit and (shared[NEAR_NOW] > 0 or shared[FAR_NOW] > 0):
                shared[ENDED] = 1
                return
            report(control, shared[SUPERSTEP])
            near, near_next, far, far_next = lists(work, shared)
            if shared[NEAR_NOW] > 0:
                shared[SUPERSTEP] += 1
                shared[FORM] = COMPUTE
                shared[FORMS + (1 if shared[NEAR_NOW] > ALONE_LIST else 0)] += 1
                if shared[NEAR_NOW] > ALONE_LIST:
                    return
                state = make_state(own, graph[0], graph[1], shared[SUPERSTEP])
                compute(0, shared[NEAR_NOW], shared[SUPERSTEP] == 1, state, graph, own, work, shared, 0)
                finish_segment(near_next, work[6], 0)
                turn_near(shared)
                continue
            for thread in range(size):  # what threads have added to the far list since it was last sifted
                finish_segment(far, work[6], 8 * thread + 2)
            if move_threshold(work, shared):
                shared[FORM] = SIFT
                if shared[FAR_NOW] > 4 * ALONE_LIST:
                    return
                sift(0, shared[FAR_NOW], work, shared, 0)
                finish_segment(near, work[6], 0)
                finish_segment(far_next, work[6], 2)
                turn_far(shared)
            else:
                sift(0, shared[FAR_NOW], work, shared, 0)
                shared[ENDED] = 0
                return

    @inner_function
    def start_run(control, n, m, own, work, shared, supplied, thread):
        """Fill fields, call initialize and list who is active, on the ranges that this thread gets."""
        state = make_state(own, n, m, 0)
        while True:
            start = claim(control, 0, RANGE, n)
            if start >= n:
                break
            end = min(n, start + RANGE)
            fill_fields(start, end, own, supplied)
            for v in range(start, end):
                if initialize(v, state):
                    append(work[3], work[6], 8 * thread, shared, NEAR_NOW, v)
        finish_segment(work[3], work[6], 8 * thread)

    def async_kernel(thread, size, control, shared, table, n, m, base, limit, delivery, can_pull, supplied):
        graph, work, own = graph_arrays(table, n, m), work_arrays(table), own_arrays(table)
        if thread == 0:
            work[7][0] = best
        start_run(control, n, m, own, work, shared, supplied, thread)
        while not barrier(control, size):
            if thread == 0:
                decide(control, size, graph, own, work, shared, limit)
                rewind(control, 1)
            if barrier(control, size) or shared[ENDED] >= 0:
                return
            form, superstep = shared[FORM], shared[SUPERSTEP]
            near, near_next, _, far_next = lists(work, shared)
            state = make_state(own, n, m, superstep)
            end = shared[NEAR_NOW] if form == COMPUTE else shared[FAR_NOW]
            while True:
                start = claim(control, 1, SEGMENT, end)
                if start >= end:
                    break
                stop = min(end, start + SEGMENT)
                if form == COMPUTE:
                    compute(start, stop, superstep == 1, state, graph, own, work, shared, thread)
                else:
                    sift(start, stop, work, shared, thread)
            if form == COMPUTE:
                finish_segment(near_next, work[6], 8 * thread)
            else:
                finish_segment(near, work[6], 8 * thread)
                finish_segment(far_next, work[6], 8 * thread + 2)
            if barrier(control, size):
                return
            if thread == 0:
                if form == COMPUTE:
                    turn_near(shared)
                else:
                    turn_far(shared)

    return named_kernel(async_kernel, binding, message, parameters, uniform)
