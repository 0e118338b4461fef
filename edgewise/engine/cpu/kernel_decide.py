"""What thread 0 does between supersteps: end the run, pick a form, or carry out a small superstep by itself."""

from typing import NamedTuple

import numpy as np

from edgewise.engine.cpu.kernel_aggregates import Aggregates
from edgewise.engine.cpu.kernel_lists import active_lists, list_active, next_superstep
from edgewise.engine.cpu.shared import (
    AHEAD_WORK,
    ALONE,
    ALONE_WORK,
    COUNT,
    EDGES,
    ENDED,
    FLIP,
    FORM,
    FORMS,
    GO_ON,
    LISTED,
    MAKE_LIST,
    PULL_ALL,
    PUSH_ALL,
    PUSH_LIST,
    RESUME,
    RESUMED,
    SPENT,
    SUPERSTEP,
    TOUCHED,
    finish_segment,
)
from edgewise.engine.delivery import stops_early
from edgewise.engine.lowering.accessors import DeviceFunction
from edgewise.kernels.cache import device_function
from edgewise.kernels.cpu.team import cancelled, report
from edgewise.primitives import direction
from edgewise.primitives.endings import FINISHED, LIMITED, STOPPED
from edgewise.primitives.vertices import NO_VERTEX
from edgewise.program.inspect import Specification

#: Threads share a list of active vertices if these and their out-edges, times LIST_ADVANTAGE, are less than n.
LIST_ADVANTAGE = 4


class Decisions(NamedTuple):
    """Compiled functions: the form of the next superstep, how much it looks at, and whether the run ends before it."""

    choose: DeviceFunction
    ahead: DeviceFunction
    ending: DeviceFunction


def make_decisions(
    spec: Specification,
    message: np.dtype,
    ordered: bool,
    proceed: DeviceFunction,
    make_state: DeviceFunction,
) -> Decisions:
    """The functions that decide; `ordered` says whether messages must be combined in a fixed order."""
    has_proceed, has_aggregates = spec.has_proceed, spec.folds_always
    can_stop = stops_early(spec, message)
    searches = can_stop and spec.edge_compute_is_harmless
    ratio = direction.SEARCH_RATIO if searches else direction.SUM_RATIO
    pays_to_pull = device_function(direction.pays_to_pull)

    @device_function
    def choose(n, m, shared, delivery, can_pull):
        """The form of the next superstep."""
        volume = shared[COUNT] + shared[EDGES]
        if delivery == direction.PULL:
            return PULL_ALL
        if ordered:
            few = volume < max(shared[ALONE_WORK], m // 16) and not has_aggregates
            return ALONE if few or delivery == direction.PUSH or not can_pull else PULL_ALL
        if volume < shared[ALONE_WORK] and not has_aggregates:
            return ALONE
        if volume * LIST_ADVANTAGE < n:
            return PUSH_LIST
        return PULL_ALL if can_pull and pays_to_pull(shared[EDGES], m, ratio) else PUSH_ALL

    @device_function
    def ahead(n, m, shared, form):
        """About how many vertices and arcs a superstep of this form looks at."""
        listed = shared[COUNT] + shared[EDGES] + (n if has_aggregates else 0)
        gathered = m // 4 if can_stop else m
        return n + gathered if form == PULL_ALL else n + listed if form == PUSH_ALL else listed

    @device_function
    def ending(n, m, own, shared, limit):
        """Why the run ends before the next superstep, as the number of an `Ending`, or -1 if it goes on."""
        superstep = shared[SUPERSTEP]
        asks = has_proceed and superstep > 0 and shared[RESUMED] == 0
        if asks and not proceed(make_state(own, n, m, superstep)):
            return STOPPED
        if shared[COUNT] == 0:
            return FINISHED
        return LIMITED if superstep == limit else -1

    return Decisions(choose, ahead, ending)


def make_superstep_alone(push_arcs: DeviceFunction, compute_list: DeviceFunction) -> DeviceFunction:
    """The function by which thread 0 alone carries out a superstep from the list."""

    @device_function
    def superstep_alone(listed, following, stamp, state, graph, own, work, shared):
        for position in range(shared[LISTED]):
            u = np.int64(listed[position])
            if u != NO_VERTEX:
                push_arcs(u, 0, graph.m, stamp, state, graph, own, work, shared, 0, True, True)
        finish_segment(work.touched, work.cursors, 0)
        shared[COUNT] = 0
        shared[EDGES] = 0
        compute_list(listed, 0, shared[LISTED], following, stamp, state, graph, work, shared, 0)
        compute_list(work.touched, 0, shared[TOUCHED], following, stamp, state, graph, work, shared, 0)
        finish_segment(following, work.cursors, 0)
        next_superstep(shared)
        shared[FLIP] = 1 - shared[FLIP]

    return superstep_alone


def make_decide(
    spec: Specification,
    ordered: bool,
    make_state: DeviceFunction,
    decisions: Decisions,
    superstep_alone: DeviceFunction,
    aggregates: Aggregates,
) -> DeviceFunction:
    """The function that thread 0 runs between supersteps."""
    choose, ahead, ending = decisions
    fold_alone, total = aggregates.fold_alone, aggregates.total
    has_resume, has_aggregates = spec.has_resume, spec.folds_always

    @device_function
    def decide(control, graph, own, work, shared, budget, base, limit, delivery, can_pull):
        """End the run, or pick a form. A superstep for one thread is carried out at once."""
        n, m = graph.n, graph.m
        while not cancelled(control):
            # Making a list, or going on after a spent budget, changes no aggregate.
            if has_aggregates and shared[FORM] != MAKE_LIST and shared[ENDED] != GO_ON:
                total(n, own)
            shared[ENDED] = ending(n, m, own, shared, limit)
            if has_resume and shared[ENDED] == FINISHED and shared[RESUMED] == 0:
                shared[ENDED] = -1
                shared[FORM] = RESUME
                return
            form = choose(n, m, shared, delivery, can_pull)
            shared[FORM] = form
            if shared[ENDED] >= 0:
                return
            shared[AHEAD_WORK] = ahead(n, m, shared, form)
            if shared[SPENT] + shared[AHEAD_WORK] > budget:
                shared[ENDED] = GO_ON
                return
            listed, following = active_lists(work, shared)
            if form <= PUSH_LIST and shared[LISTED] < 0:
                if not ordered:
                    shared[FORM] = MAKE_LIST
                    return
                list_active(0, n, listed, base + np.uint32(shared[SUPERSTEP] + 1), work, shared, 0)
                finish_segment(listed, work.cursors, 0)
                next_superstep(shared)
            shared[RESUMED] = 0
            shared[SPENT] += shared[AHEAD_WORK]
            shared[SUPERSTEP] += 1
            shared[FORMS + form] += 1
            report(control, shared[SUPERSTEP])
            if form != ALONE:
                return
            state = make_state(own, n, m, shared[SUPERSTEP])
            stamp = base + np.uint32(shared[SUPERSTEP])
            superstep_alone(listed, following, stamp, state, graph, own, work, shared)
            if has_aggregates:
                fold_alone(state, n, own)

    return decide
