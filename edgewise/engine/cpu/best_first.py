"""The CPU engine's kernel for asynchronous programs that combine by MIN or MAX: best messages first.

An asynchronous program allows that values are seen early and messages come late, so its vertices need not be computed
in rounds. Vertices with the best messages come first (the near ones), and the rest waits (the far ones), as in the
near-far form of delta-stepping (Davidson, Baxter, Garland and Owens 2014, section 5). On a road network, a shortest
path program then relaxes each arc little more than once; in rounds it does so fifty times. Vertices that are active
from the start wait, too, each with the message along its first out-edge. So the smallest label of a component spreads
before any other label is sent.

One superstep computes the vertices of the near list, and each sends its messages at once. A message worse than the
threshold puts its target on the far list, any other makes it near. When the near list is finished, a thread computes
vertices that it made near itself, for a while, before it meets the others. On a road network, where few vertices are
near at a time, that saves four barriers of five. When no vertex is near, the threshold moves: at first to the best of
the far ones, then to where a growing share of them gets near, at most half. A sample says how far that is, so the
program needs no parameter.

A vertex keeps the best message it ever got. A message that is no better could change nothing, and is dropped.

Races: the thread that computes a vertex clears its bits and then reads the message; a sender improves the message and
then sets the bits. So the message is read, or its target is listed again. Listed again while it is computed, a vertex
could be computed by two threads at once, and the worse message be stored last: so the first leaves the superstep and
its number there, and another one that finds these leaves the vertex to the next superstep.

`make_async_kernel` joins these modules: `best_first_near` computes vertices and sends, `best_first_far` holds vertices
back and moves the threshold. Both work on the lists of `best_first_lists`.
"""

from typing import Any

import numpy as np

from edgewise.engine.cpu.arguments import NearFar
from edgewise.engine.cpu.best_first_far import FarVertices, make_far, make_waiting
from edgewise.engine.cpu.best_first_lists import (
    FAR,
    FAR_CURSOR,
    FAR_NOW,
    FIRST,
    NEAR_CURSOR,
    NEAR_NOW,
    WORDS,
    finish_far,
    is_short,
    lists,
    turn_far,
    turn_near,
)
from edgewise.engine.cpu.best_first_near import NearVertices, make_near, make_send
from edgewise.engine.cpu.shared import (
    AHEAD_WORK,
    ALONE_FAR,
    ENDED,
    FORM,
    FORMS,
    GO_ON,
    RANGE,
    SEGMENT,
    SPENT,
    SUPERSTEP,
    append,
    finish_segment,
)
from edgewise.engine.cpu.table import make_reader, named_kernel
from edgewise.engine.lowering.accessors import DeviceFunction, Glue, cast_and_identity, make_glue
from edgewise.engine.lowering.binding import Binding
from edgewise.engine.lowering.compiled import CompiledProgram
from edgewise.kernels.cache import device_function
from edgewise.kernels.cpu.atomics import no_vectors
from edgewise.kernels.cpu.team import barrier, cancelled, claim, report, rewind
from edgewise.primitives.endings import FINISHED, LIMITED

#: What thread 0 decides for all: compute the near list, or sift the far one.
COMPUTE, SIFT = range(2)


@device_function
def smaller(a: Any, b: Any) -> Any:
    """Whether a message is better than another, by MIN."""
    return a < b


@device_function
def larger(a: Any, b: Any) -> Any:
    """Whether a message is better than another, by MAX."""
    return a > b


def make_start(
    glue: Glue, initialize: DeviceFunction, identity: np.generic
) -> tuple[DeviceFunction, DeviceFunction]:
    """The functions that a run begins with: `fill` fills fields and messages, `start_run` lists the active vertices."""
    make_state, fill_fields = glue.make_state, glue.fill_fields

    @device_function
    def fill(control, n, own, work, shared, supplied):
        """Fill fields and clear messages on the ranges that this thread gets."""
        while True:
            start = claim(control, 0, shared[RANGE], n)
            if start >= n:
                return
            end = min(n, start + shared[RANGE])
            fill_fields(start, end, own, supplied)
            for v in range(start, end):
                work.messages[v] = identity
                work.places[v] = 0

    @device_function
    def start_run(control, graph, own, work, shared, thread):
        """Call initialize on the ranges that this thread gets; list active vertices that have out-edges as far."""
        n, state = graph.n, make_state(own, graph.n, graph.m, 0)
        while True:
            start = claim(control, 1, shared[RANGE], n)
            if start >= n:
                break
            for v in range(start, min(n, start + shared[RANGE])):
                no_vectors()
                if initialize(v, state) and graph.offsets[v] < graph.offsets[v + 1]:
                    work.places[v] = FAR | FIRST
                    append(work.far, work.cursors, WORDS * thread + FAR_CURSOR, shared, FAR_NOW, v)

    return fill, start_run


def make_decide(
    make_state: DeviceFunction, near_vertices: NearVertices, far_vertices: FarVertices
) -> DeviceFunction:
    """The function that thread 0 runs between supersteps."""
    compute, go_on = near_vertices
    sift, start_with_best, move_threshold = far_vertices

    @device_function
    def decide(control, size, graph, own, work, shared, budget, limit):
        """End the run, or say whether to compute or to sift. Thread 0 works short lists off at once."""
        while not cancelled(control):
            shared[ENDED] = -1
            report(control, shared[SUPERSTEP])
            near, _, far, _ = lists(work, shared)
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
                state = make_state(own, graph.n, graph.m, shared[SUPERSTEP])
                compute(0, shared[NEAR_NOW], state, graph, own, work, shared, 0)
                go_on(state, graph, own, work, shared, 0)
                turn_near(shared)
                continue
            finish_far(size, far, work)
            state = make_state(own, graph.n, graph.m, shared[SUPERSTEP])
            if shared[SUPERSTEP] == 0 and start_with_best(state, graph, own, work, shared):
                continue
            if not move_threshold(state, graph, own, work, shared):
                shared[ENDED] = FINISHED
                return
            shared[FORM] = SIFT
            if shared[FAR_NOW] > shared[ALONE_FAR]:
                return
            sift(0, shared[FAR_NOW], state, graph, own, work, shared, 0)
            finish_segment(near, work.cursors, NEAR_CURSOR)
            turn_far(shared)

    return decide


def make_async_kernel(
    compiled: CompiledProgram,
    binding: Binding,
    message: np.dtype,
    parameters: dict[str, Any],
    uniform: frozenset[str],
) -> Any:
    """The kernel of an asynchronous program. Arguments as for `edgewise.engine.cpu.kernel.make_kernel`."""
    spec, functions = binding.spec, compiled.functions
    glue = make_glue(compiled, binding, uniform, device_function)
    make_state, edge_compute = glue.make_state, functions["edge_compute"]
    cast, identity = cast_and_identity(message, spec.combine, device_function)
    better = smaller if spec.combine.name == "MIN" else larger
    send = make_send(edge_compute, glue.make_out_edge, cast, better)
    near_vertices = make_near(functions["vertex_compute"], send)
    waiting = make_waiting(edge_compute, glue.make_out_edge, cast, better, identity)
    far_vertices = make_far(waiting, better)
    fill, start_run = make_start(glue, functions["initialize"], identity)
    decide = make_decide(make_state, near_vertices, far_vertices)
    (compute, go_on), sift = near_vertices, far_vertices.sift
    read = make_reader(binding, message, parameters, NearFar)

    def async_kernel(
        thread, size, control, shared, budget, table, n, m, base, limit, delivery, can_pull, supplied
    ):
        own, graph, work = read(table, n, m)
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
            near = lists(work, shared).near
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
                finish_segment(near, work.cursors, WORDS * thread + NEAR_CURSOR)
            if barrier(control, size):
                return
            if thread == 0:
                if form == COMPUTE:
                    turn_near(shared)
                else:
                    turn_far(shared)

    return named_kernel(async_kernel, binding, message, parameters, uniform)
