"""The CPU engine's kernel for asynchronous programs that combine by MIN or MAX: best messages first.

Where a program allows that values are seen early and messages come late, vertices need not be computed in rounds.
Those with the best messages come first (the near ones), the rest waits (the far ones), as in the near-far form of
delta-stepping (Davidson, Baxter, Garland and Owens 2014, section 5). A shortest path program then relaxes each arc
little more than once; in rounds, on a road network, fifty times. Vertices that are active from the start wait, too,
each with the message along its first out-edge for its place in the order: the smallest label of a component spreads
before any other label has been sent.

One superstep computes the vertices of the near list and sends their messages at once. A message better than the
threshold makes its target near, any other puts it on the far list. A thread that finds the near list finished goes on
with the vertices that it made near itself, for a while, before it meets the others: on a road network, where few
vertices are near at a time, that saves four barriers of five. When no vertex is near, the threshold moves: at first to
the best of the far ones, then to where a growing share of them gets near, at most half. How far that is, is estimated
from a sample, so the program needs no parameter.

A vertex keeps the best message it ever got, and a message that is no better is dropped: it could change nothing.

Races: the thread that computes a vertex clears its bits and then reads the message; a sender lowers the message and
then sets the bits. So a message is either read or its target is listed again.
"""

from typing import Any

import numpy as np

from edgewise.engine.contract import FINISHED, LIMITED
from edgewise.engine.cpu.shared import (
    AHEAD_WORK,
    ALONE_EDGES,
    ALONE_FAR,
    ALONE_LIST,
    COUNT,
    EDGES,
    ENDED,
    FLIP,
    FORM,
    FORMS,
    GO_ON,
    LISTED,
    NEXT,
    NO_VERTEX,
    RANGE,
    SEGMENT,
    SPENT,
    SUPERSTEP,
    TOUCHED,
    append,
    finish_segment,
)
from edgewise.engine.cpu.table import make_readers, named_kernel
from edgewise.engine.lowering.accessors import cast_and_identity, make_glue
from edgewise.engine.lowering.binding import Binding
from edgewise.engine.lowering.compiled import CompiledProgram
from edgewise.kernels.cache import device_function
from edgewise.kernels.cpu.atomics import atomic_and, atomic_or, compare_and_swap, no_vectors, prefetch, unwrap
from edgewise.kernels.cpu.team import barrier, cancelled, claim, report, rewind

#: Lengths of the lists, in the words that the other kernel uses for its own: near now and next, far now and next; and
#: the rank in the sample that the last threshold had, which is -1 at first.
NEAR_NOW, NEAR_NEXT, FAR_NOW, FAR_NEXT, RANK = COUNT, NEXT, EDGES, TOUCHED, LISTED
#: Bits of a vertex's place: it has an entry in the far list; it has one in a near list; it got a message since it was
#: computed; it is active from the start and has not sent yet.
FAR, NEAR, MESSAGE, FIRST = np.uint32(1), np.uint32(2), np.uint32(4), np.uint32(8)
#: The far ones that are sampled to move the threshold.
SAMPLE = 64
#: A thread's ring: room for so many vertices that it made near itself; before the next barrier it computes them until
#: they and their out-edges are so many.
RING, BUDGET = 2048, 8192
#: Words of `cursors` for each thread: the ends of its segment of the near list and of the far list (`append`), and how
#: many vertices have left its ring and entered it.
WORDS, NEAR_CURSOR, FAR_CURSOR, LEFT, ENTERED = 8, 0, 2, 4, 5
#: How many vertices further on in a list memory is fetched for.
AHEAD = 4
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
    (messages, places, far list, near list, other near list, other far list, cursors, thresholds, rings).
    """
    found, functions = binding.found, compiled.functions
    glue = make_glue(compiled, binding, uniform, device_function)
    make_state, fill_fields, make_out_edge = glue.make_state, glue.fill_fields, glue.make_out_edge
    edge_compute, vertex_compute = functions["edge_compute"], functions["vertex_compute"]
    initialize = functions["initialize"]
    cast, identity = cast_and_identity(message, found.combine, device_function)
    smaller_is_better = found.combine.name == "MIN"
    graph_arrays, work_arrays, own_arrays = make_readers(binding, message, parameters)

    @device_function
    def better(a, b):
        return a < b if smaller_is_better else a > b

    @device_function
    def lists(work, shared):
        """The lists by their present use: near now, near next, far now, far next."""
        near, near_next = (work[3], work[4]) if shared[FLIP] & 1 == 0 else (work[4], work[3])
        far, far_next = (work[2], work[5]) if shared[FLIP] & 2 == 0 else (work[5], work[2])
        return near, near_next, far, far_next

    @device_function
    def lower(target, value, threshold, near_next, far, work, shared, thread):
        """Combine a message; if it is the best its target got, list the target unless it is where it belongs."""
        messages, places, cursors = work[0], work[1], work[6]
        while True:
            old = messages[target]
            if not better(value, old):
                return
            if compare_and_swap(messages, target, old, value):
                break
        place = FAR if better(threshold, value) else NEAR
        if places[target] & (place | MESSAGE) == place | MESSAGE:
            return
        if atomic_or(places, target, place | MESSAGE) & place == 0:
            if place == FAR:
                append(far, cursors, WORDS * thread + FAR_CURSOR, shared, FAR_NOW, target)
            elif cursors[WORDS * thread + ENTERED] - cursors[WORDS * thread + LEFT] < RING:
                work[8][thread * RING + cursors[WORDS * thread + ENTERED] % RING] = np.uint32(target)
                cursors[WORDS * thread + ENTERED] += 1
            else:
                append(near_next, cursors, WORDS * thread + NEAR_CURSOR, shared, NEAR_NEXT, target)

    @device_function
    def send(u, threshold, state, graph, own, near_next, far, work, shared, thread):
        offsets, targets = graph[2], graph[3]
        for k in range(np.int64(offsets[u]), np.int64(offsets[u + 1])):
            target = np.int64(targets[k])
            sent = edge_compute(make_out_edge(u, target, k, k, own), state)
            if sent is not None:
                value = cast(unwrap(sent))
                if better(value, work[0][target]):
                    lower(target, value, threshold, near_next, far, work, shared, thread)

    @device_function
    def fetch_vertex(v, graph, work):
        """Fetch what a vertex needs that is computed soon: locked operations would wait for it."""
        if v != NO_VERTEX:
            prefetch(work[0], v)
            prefetch(work[1], v)
            prefetch(graph[2], v)

    @device_function
    def fetch_arcs(v, graph):
        if v != NO_VERTEX:
            prefetch(graph[3], np.int64(graph[2][v]))

    @device_function
    def compute_vertex(v, threshold, state, graph, own, near_next, far, work, shared, thread):
        """Compute a near vertex and send its messages."""
        bits = atomic_and(work[1], v, FAR)
        active = bits & FIRST != 0
        if bits & MESSAGE != 0:
            active = vertex_compute(v, work[0][v], state) or active
        if active:
            send(v, threshold, state, graph, own, near_next, far, work, shared, thread)

    @device_function
    def compute(start, end, state, graph, own, work, shared, thread):
        """Compute vertices of the near list."""
        near, near_next, far, _ = lists(work, shared)
        threshold = work[7][0]
        for position in range(start, end):
            if position + 2 * AHEAD < end:
                fetch_vertex(np.int64(near[position + 2 * AHEAD]), graph, work)
            if position + AHEAD < end:
                fetch_arcs(np.int64(near[position + AHEAD]), graph)
            v = np.int64(near[position])
            if v != NO_VERTEX:
                compute_vertex(v, threshold, state, graph, own, near_next, far, work, shared, thread)

    @device_function
    def go_on(state, graph, own, work, shared, thread):
        """Compute vertices of this thread's ring, those that get near meanwhile too; list what is left for all."""
        _, near_next, far, _ = lists(work, shared)
        threshold, cursors, first = work[7][0], work[6], thread * RING
        head, ring, left = cursors[WORDS * thread + LEFT], work[8], np.int64(BUDGET)
        while left > 0 and head < cursors[WORDS * thread + ENTERED]:
            v = np.int64(ring[first + head % RING])
            if head + 2 * AHEAD < cursors[WORDS * thread + ENTERED]:
                fetch_vertex(np.int64(ring[first + (head + 2 * AHEAD) % RING]), graph, work)
            if head + AHEAD < cursors[WORDS * thread + ENTERED]:
                fetch_arcs(np.int64(ring[first + (head + AHEAD) % RING]), graph)
            head += 1
            cursors[WORDS * thread + LEFT] = head
            compute_vertex(v, threshold, state, graph, own, near_next, far, work, shared, thread)
            left -= 1 + np.int64(graph[2][v + 1]) - np.int64(graph[2][v])
        while head < cursors[WORDS * thread + ENTERED]:
            v = np.int64(ring[first + head % RING])
            append(near_next, cursors, WORDS * thread + NEAR_CURSOR, shared, NEAR_NEXT, v)
            head += 1
        cursors[WORDS * thread + LEFT] = head
        finish_segment(near_next, cursors, WORDS * thread + NEAR_CURSOR)

    @device_function
    def waiting(v, state, graph, own, work):
        """The best message that a vertex waits with: the one it got, or the first that it will send."""
        bits, value = work[1][v], identity
        if bits & MESSAGE != 0:
            value = work[0][v]
        if bits & FIRST != 0:
            k = np.int64(graph[2][v])
            sent = edge_compute(make_out_edge(v, np.int64(graph[3][k]), k, k, own), state)
            if sent is not None:
                first = cast(unwrap(sent))
                if better(first, value):
                    value = first
        return value

    @device_function
    def sift(start, end, state, graph, own, work, shared, thread):
        """Move far vertices that the threshold has reached to the near list, keep the rest, drop stale entries."""
        places = work[1]
        near, _, far, far_next = lists(work, shared)
        threshold = work[7][0]
        for position in range(start, end):
            v = np.int64(far[position])
            if v == NO_VERTEX:
                continue
            if places[v] & (MESSAGE | FIRST) == 0:
                places[v] = 0
            elif better(threshold, waiting(v, state, graph, own, work)):
                append(far_next, work[6], WORDS * thread + FAR_CURSOR, shared, FAR_NEXT, v)
            else:
                places[v] = places[v] ^ (FAR | NEAR)
                append(near, work[6], WORDS * thread + NEAR_CURSOR, shared, NEAR_NOW, v)

    @device_function
    def turn_near(shared):
        shared[NEAR_NOW] = shared[NEAR_NEXT]
        shared[NEAR_NEXT] = 0
        shared[FLIP] = shared[FLIP] ^ 1

    @device_function
    def turn_far(shared):
        shared[FAR_NOW] = shared[FAR_NEXT]
        shared[FAR_NEXT] = 0
        shared[FLIP] = shared[FLIP] ^ 2

    @device_function
    def start_with_best(state, graph, own, work, shared):
        """Make the best of those that are active from the start near, and its message the threshold."""
        near, _, far, _ = lists(work, shared)
        thresholds, best = work[7], -1
        for position in range(shared[FAR_NOW]):
            v = np.int64(far[position])
            if v != NO_VERTEX:
                value = waiting(v, state, graph, own, work)
                if best < 0 or better(value, thresholds[0]):
                    thresholds[0], best = value, position
        if best >= 0:
            v = np.int64(far[best])
            far[best], work[1][v] = NO_VERTEX, NEAR | FIRST
            near[0], shared[NEAR_NOW] = np.uint32(v), 1
        return best >= 0

    @device_function
    def move_threshold(state, graph, own, work, shared):
        """Set the threshold to the message of the next rank in a sample of those waiting; False if none waits."""
        far, thresholds = lists(work, shared)[2], work[7]
        step = shared[FAR_NOW] // SAMPLE + 1
        count, position = 0, 0
        while position < shared[FAR_NOW]:
            v = np.int64(far[position])
            if v == NO_VERTEX or work[1][v] & (MESSAGE | FIRST) == 0:
                position += 1
                continue
            value, place = waiting(v, state, graph, own, work), count
            while place > 0 and better(value, thresholds[place]):
                thresholds[place + 1] = thresholds[place]
                place -= 1
            thresholds[place + 1] = value
            count += 1
            position += step
        if count == 0:
            return False
        shared[RANK] = min(2 * shared[RANK] + 2, SAMPLE)
        thresholds[0] = thresholds[1 + min(shared[RANK], count // 2)]
        return True

    @device_function
    def is_short(near, graph, shared):
        """Whether thread 0 computes the near list faster alone; what there is to do then."""
        edges = np.int64(0)
        for position in range(min(shared[NEAR_NOW], shared[ALONE_LIST] + 1)):
            v = np.int64(near[position])
            if v != NO_VERTEX:
                edges += np.int64(graph[2][v + 1]) - np.int64(graph[2][v])
        if shared[NEAR_NOW] <= shared[ALONE_LIST] and edges <= shared[ALONE_EDGES]:
            return True, shared[NEAR_NOW] + edges
        return False, max(shared[NEAR_NOW] * (1 + graph[1] // graph[0]), edges)

    @device_function
    def finish_far(size, far, work):
        """Finish what threads have added to the far list since it was last sifted."""
        for thread in range(size):
            finish_segment(far, work[6], WORDS * thread + FAR_CURSOR)

    @device_function
    def decide(control, size, graph, own, work, shared, budget, limit):
        """Thread 0, between supersteps: end, compute, or sift. Short lists are worked off at once."""
        while not cancelled(control):
            shared[ENDED] = -1
            report(control, shared[SUPERSTEP])
            near, _, far, far_next = lists(work, shared)
            if shared[NEAR_NOW] > 0:
                if shared[SUPERSTEP] == limit:
                    finish_far(size, far, work)
                    shared[ENDED] = LIMITED
                    return
                alone, shared[AHEAD_WORK] = is_short(near, graph, shared)
                if shared[SPENT] + shared[AHEAD_WORK] > budget:
                    shared[ENDED] = GO_ON
                    return
                shared[SPENT] += shared[AHEAD_WORK]
                shared[SUPERSTEP] += 1
                shared[FORM] = COMPUTE
                shared[FORMS + (0 if alone else 1)] += 1
                if not alone:
                    return
                state = make_state(own, graph[0], graph[1], shared[SUPERSTEP])
                compute(0, shared[NEAR_NOW], state, graph, own, work, shared, 0)
                go_on(state, graph, own, work, shared, 0)
                turn_near(shared)
                continue
            finish_far(size, far, work)
            state = make_state(own, graph[0], graph[1], shared[SUPERSTEP])
            if shared[SUPERSTEP] == 0 and start_with_best(state, graph, own, work, shared):
                continue
            if not move_threshold(state, graph, own, work, shared):
                shared[ENDED] = FINISHED
                return
            shared[FORM] = SIFT
            if shared[FAR_NOW] > shared[ALONE_FAR]:
                return
            sift(0, shared[FAR_NOW], state, graph, own, work, shared, 0)
            finish_segment(near, work[6], NEAR_CURSOR)
            finish_segment(far_next, work[6], FAR_CURSOR)
            turn_far(shared)

    @device_function
    def fill(control, n, own, work, shared, supplied):
        """Fill fields and clear messages on the ranges that this thread gets. `initialize` may read fields anywhere."""
        while True:
            start = claim(control, 0, shared[RANGE], n)
            if start >= n:
                return
            end = min(n, start + shared[RANGE])
            fill_fields(start, end, own, supplied)
            for v in range(start, end):
                work[0][v] = identity
                work[1][v] = 0

    @device_function
    def start_run(control, graph, own, work, shared, thread):
        """Call initialize and list who is active, on the ranges that this thread gets."""
        n, state = graph[0], make_state(own, graph[0], graph[1], 0)
        while True:
            start = claim(control, 1, shared[RANGE], n)
            if start >= n:
                break
            for v in range(start, min(n, start + shared[RANGE])):
                no_vectors()
                if initialize(v, state) and graph[2][v] < graph[2][v + 1]:
                    work[1][v] = FAR | FIRST
                    append(work[2], work[6], WORDS * thread + FAR_CURSOR, shared, FAR_NOW, v)

    def async_kernel(
        thread, size, control, shared, budget, table, n, m, base, limit, delivery, can_pull, supplied
    ):
        graph, work, own = graph_arrays(table, n, m), work_arrays(table), own_arrays(table)
        if shared[ENDED] != GO_ON:
            fill(control, n, own, work, shared, supplied)
            if barrier(control, size):
                return
            start_run(control, graph, own, work, shared, thread)
        while not barrier(control, size):
            if thread == 0:
                decide(control, size, graph, own, work, shared, budget, limit)
                rewind(control, 1)
            if barrier(control, size) or shared[ENDED] >= 0:
                return
            form, superstep = shared[FORM], shared[SUPERSTEP]
            near, _, _, far_next = lists(work, shared)
            state = make_state(own, n, m, superstep)
            end = shared[NEAR_NOW] if form == COMPUTE else shared[FAR_NOW]
            piece = min(SEGMENT, 1 + end // (8 * size))
            while True:
                start = claim(control, 1, piece, end)
                if start >= end:
                    break
                stop = min(end, start + piece)
                if form == COMPUTE:
                    compute(start, stop, state, graph, own, work, shared, thread)
                else:
                    sift(start, stop, state, graph, own, work, shared, thread)
            if form == COMPUTE:
                go_on(state, graph, own, work, shared, thread)
            else:
                finish_segment(near, work[6], WORDS * thread + NEAR_CURSOR)
                finish_segment(far_next, work[6], WORDS * thread + FAR_CURSOR)
            if barrier(control, size):
                return
            if thread == 0:
                if form == COMPUTE:
                    turn_near(shared)
                else:
                    turn_far(shared)

    return named_kernel(async_kernel, binding, message, parameters, uniform)
