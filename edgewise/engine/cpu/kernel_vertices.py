"""The vertex phase: vertices that are active or got a message are computed, and say whether they are active next."""

from typing import NamedTuple

import numpy as np

from edgewise.engine.cpu.shared import (
    COUNT,
    EDGES,
    LISTED,
    NEXT,
    RANGE,
    SEGMENT,
    TOUCHED,
    append,
    finish_segment,
)
from edgewise.engine.lowering.accessors import DeviceFunction
from edgewise.kernels.cache import device_function
from edgewise.kernels.cpu.atomics import atomic_add
from edgewise.kernels.cpu.team import claim
from edgewise.kernels.words import CPU_LINE
from edgewise.primitives.vertices import NO_VERTEX


class Computing(NamedTuple):
    """Compiled functions that compute one vertex, part of a list, a thread's share of both lists, and its share of all
    vertices."""

    compute_vertex: DeviceFunction
    compute_list: DeviceFunction
    vertex_phase_list: DeviceFunction
    vertex_phase_all: DeviceFunction


def make_computing(compute: DeviceFunction) -> Computing:
    """The functions of the vertex phase; `compute` computes one vertex with its messages."""

    @device_function
    def compute_vertex(v, stamp, state, graph, work):
        """Compute one vertex with its messages; whether it is active next."""
        if compute(v, stamp, state, graph, work):
            work.active[v] = stamp + np.uint32(1)
            return True
        return False

    @device_function
    def compute_list(entries, start, end, following, stamp, state, graph, work, shared, thread):
        """Compute listed vertices, list those that are active next, and count these and their out-edges."""
        count, edges = np.int64(0), np.int64(0)
        for position in range(start, end):
            v = np.int64(entries[position])
            if v != NO_VERTEX and compute_vertex(v, stamp, state, graph, work):
                append(following, work.cursors, CPU_LINE * thread, shared, NEXT, v)
                count += 1
                edges += np.int64(graph.offsets[v + 1]) - np.int64(graph.offsets[v])
        atomic_add(shared, COUNT, count)
        atomic_add(shared, EDGES, edges)

    @device_function
    def vertex_phase_list(control, thread, listed, following, stamp, state, graph, work, shared):
        """Compute this thread's pieces of the two lists: active vertices, and halted ones that got a message."""
        for slot in range(1, 3):
            entries, end = (listed, shared[LISTED]) if slot == 1 else (work.touched, shared[TOUCHED])
            while True:
                start = claim(control, slot, SEGMENT, end)
                if start >= end:
                    break
                stop = min(end, start + SEGMENT)
                compute_list(entries, start, stop, following, stamp, state, graph, work, shared, thread)
        finish_segment(following, work.cursors, CPU_LINE * thread)

    @device_function
    def vertex_phase_all(control, stamp, state, graph, work, shared):
        """Compute the vertices of this thread's ranges that are active or got a message."""
        n, count, edges = graph.n, np.int64(0), np.int64(0)
        received, active = work.received, work.active
        while True:
            start = claim(control, 1, shared[RANGE], n)
            if start >= n:
                break
            for v in range(start, min(n, start + shared[RANGE])):
                if (active[v] == stamp or received[v] == stamp) and compute_vertex(
                    v, stamp, state, graph, work
                ):
                    count += 1
                    edges += np.int64(graph.offsets[v + 1]) - np.int64(graph.offsets[v])
        atomic_add(shared, COUNT, count)
        atomic_add(shared, EDGES, edges)

    return Computing(compute_vertex, compute_list, vertex_phase_list, vertex_phase_all)
