"""Far vertices of an asynchronous program: they wait until the threshold reaches their messages."""

from typing import NamedTuple

import numpy as np

from edgewise.engine.cpu.best_first_lists import (
    FAR,
    FAR_CURSOR,
    FAR_NEXT,
    FAR_NOW,
    FIRST,
    MESSAGE,
    NEAR,
    NEAR_CURSOR,
    NEAR_NOW,
    RANK,
    SAMPLE,
    WORDS,
    lists,
)
from edgewise.engine.cpu.shared import append
from edgewise.engine.lowering.accessors import DeviceFunction
from edgewise.kernels.cache import device_function
from edgewise.kernels.cpu.atomics import unwrap
from edgewise.primitives.vertices import NO_VERTEX


class FarVertices(NamedTuple):
    """Compiled functions that sift part of the far list, and that set the first threshold and each further one."""

    sift: DeviceFunction
    start_with_best: DeviceFunction
    move_threshold: DeviceFunction


def make_waiting(
    edge_compute: DeviceFunction,
    make_out_edge: DeviceFunction,
    cast: DeviceFunction,
    better: DeviceFunction,
    identity: np.generic,
) -> DeviceFunction:
    """The function that says what a far vertex waits with."""

    @device_function
    def waiting(v, state, graph, own, work):
        """The message that a far vertex waits with: the better of its own and of the first that it will send."""
        bits, value = work.places[v], identity
        if bits & MESSAGE != 0:
            value = work.messages[v]
        if bits & FIRST != 0:
            k = np.int64(graph.offsets[v])
            sent = edge_compute(make_out_edge(v, np.int64(graph.targets[k]), k, k, own), state)
            if sent is not None:
                first = cast(unwrap(sent))
                if better(first, value):
                    value = first
        return value

    return waiting


def make_far(waiting: DeviceFunction, better: DeviceFunction) -> FarVertices:
    """The functions that make far vertices near."""

    @device_function
    def sift(start, end, state, graph, own, work, shared, thread):
        """Move the far vertices that the threshold has reached to the near list, keep the rest, drop stale entries."""
        places = work.places
        near, _, far, far_next = lists(work, shared)
        threshold = work.thresholds[0]
        for position in range(start, end):
            v = np.int64(far[position])
            if v == NO_VERTEX:
                continue
            if places[v] & (MESSAGE | FIRST) == 0:
                places[v] = 0
            elif better(threshold, waiting(v, state, graph, own, work)):
                append(far_next, work.cursors, WORDS * thread + FAR_CURSOR, shared, FAR_NEXT, v)
            else:
                places[v] = places[v] ^ (FAR | NEAR)
                append(near, work.cursors, WORDS * thread + NEAR_CURSOR, shared, NEAR_NOW, v)

    @device_function
    def start_with_best(state, graph, own, work, shared):
        """Make the far vertex with the best message near, and that message the threshold; False if none waits."""
        near, _, far, _ = lists(work, shared)
        thresholds, best = work.thresholds, -1
        for position in range(shared[FAR_NOW]):
            v = np.int64(far[position])
            if v != NO_VERTEX:
                value = waiting(v, state, graph, own, work)
                if best < 0 or better(value, thresholds[0]):
                    thresholds[0], best = value, position
        if best >= 0:
            v = np.int64(far[best])
            far[best], work.places[v] = NO_VERTEX, NEAR | FIRST
            near[0], shared[NEAR_NOW] = np.uint32(v), 1
        return best >= 0

    @device_function
    def move_threshold(state, graph, own, work, shared):
        """Set the threshold to the message of the next rank in a sample of the far vertices; False if none waits."""
        far, thresholds = lists(work, shared).far, work.thresholds
        step = shared[FAR_NOW] // SAMPLE + 1
        count, position = 0, 0
        while position < shared[FAR_NOW]:
            v = np.int64(far[position])
            if v == NO_VERTEX or work.places[v] & (MESSAGE | FIRST) == 0:
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

    return FarVertices(sift, start_with_best, move_threshold)
