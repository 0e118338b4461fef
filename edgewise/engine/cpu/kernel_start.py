"""The phases that ask all vertices whether they are active: at the start, and when none is active any more."""

import numpy as np

from edgewise.engine.cpu.kernel_aggregates import Aggregates
from edgewise.engine.cpu.shared import COUNT, EDGES, LISTED, RANGE, RESUMED, SPENT, SUPERSTEP
from edgewise.engine.lowering.accessors import DeviceFunction, Glue
from edgewise.kernels.cache import device_function
from edgewise.kernels.cpu.atomics import atomic_add, no_vectors
from edgewise.kernels.cpu.team import barrier, claim
from edgewise.program.inspect import Specification


def make_asking(vote: DeviceFunction) -> DeviceFunction:
    """The function that calls `vote` for the vertices of the ranges that a thread gets, and counts the active ones."""

    @device_function
    def ask(control, state, stamp, graph, work, shared):
        n, count, edges = graph.n, np.int64(0), np.int64(0)
        while True:
            start = claim(control, 1, shared[RANGE], n)
            if start >= n:
                break
            for v in range(start, min(n, start + shared[RANGE])):
                no_vectors()
                if vote(v, state):
                    work.active[v] = stamp
                    count += 1
                    edges += np.int64(graph.offsets[v + 1]) - np.int64(graph.offsets[v])
        atomic_add(shared, COUNT, count)
        atomic_add(shared, EDGES, edges)

    return ask


def make_fill(fill_fields: DeviceFunction) -> DeviceFunction:
    """The function that fills fields on the ranges that a thread gets. `initialize` may read them at any vertex."""

    @device_function
    def fill(control, n, own, shared, supplied):
        while True:
            start = claim(control, 0, shared[RANGE], n)
            if start >= n:
                return
            fill_fields(start, min(n, start + shared[RANGE]), own, supplied)

    return fill


def make_resume(
    spec: Specification, glue: Glue, resume: DeviceFunction, aggregates: Aggregates
) -> DeviceFunction:
    """The function that calls resume for all vertices; it returns True if the run was cancelled."""
    make_state, ask = glue.make_state, make_asking(resume)
    fold_aggregates, fold_late = aggregates.fold_aggregates, aggregates.fold_late
    has_aggregates, has_late_aggregates = spec.folds_always, spec.folds_late

    @device_function
    def resume_phase(control, thread, size, graph, own, work, shared, base):
        n, m, superstep = graph.n, graph.m, shared[SUPERSTEP]
        if has_late_aggregates and (
            fold_late(control, thread, size, n, m, own, superstep) or barrier(control, size)
        ):
            return True
        ask(control, make_state(own, n, m, superstep), base + np.uint32(superstep + 1), graph, work, shared)
        if barrier(control, size):
            return True
        if thread == 0:
            shared[LISTED] = -1
            shared[RESUMED] = 1
            shared[SPENT] += n
        if has_aggregates:
            fold_aggregates(control, make_state(own, n, m, superstep), n, own)
        return False

    return resume_phase
