"""The phases of a superstep on one rank, compiled together: the engine of the CPU's, over a range of vertices.

Between phases the rank speaks with others (`edgewise.engine.distributed.program`), so each call carries out one phase.
Arrays have a value for each vertex of the graph, so vertices have the same numbers on all ranks; a rank touches its own
and those at the other ends of its edges.
"""

from typing import Any

import numpy as np

from edgewise.engine.cpu.arguments import Work
from edgewise.engine.cpu.best_first import larger, smaller
from edgewise.engine.cpu.kernel_lists import active_lists, list_active
from edgewise.engine.cpu.kernel_pull import make_pull
from edgewise.engine.cpu.kernel_push import make_pushing, same_arc
from edgewise.engine.cpu.kernel_vertices import make_computing
from edgewise.engine.cpu.messages import make_buffered, make_combined
from edgewise.engine.cpu.pieces import claim_piece_within
from edgewise.engine.cpu.shared import (
    COUNT,
    EDGES,
    FORM,
    LISTED,
    RANGE,
    SEGMENT,
    TOUCHED,
    append,
    finish_segment,
)
from edgewise.engine.cpu.table import make_reader, named_kernel
from edgewise.engine.lowering.accessors import DeviceFunction, cast_and_identity, make_glue
from edgewise.engine.lowering.binding import Binding
from edgewise.engine.lowering.compiled import CompiledProgram
from edgewise.engine.lowering.message_buffer import make_slots
from edgewise.kernels.cache import device_function
from edgewise.kernels.cpu.atomics import atomic_add, no_vectors, unwrap
from edgewise.kernels.cpu.pointers import array_at
from edgewise.kernels.cpu.team import claim
from edgewise.kernels.words import CPU_LINE
from edgewise.primitives.vertices import NO_VERTEX


@device_function
def _list_all(
    control: Any, thread: Any, listed: Any, low: Any, high: Any, stamp: Any, work: Any, shared: Any
) -> None:
    """List the active vertices of this thread's ranges."""
    while True:
        start = low + claim(control, 0, shared[RANGE], high - low)
        if start >= high:
            break
        list_active(start, min(high, start + shared[RANGE]), listed, stamp, work, shared, thread)
    finish_segment(listed, work.cursors, CPU_LINE * thread)


def _make_ask(vote: DeviceFunction) -> DeviceFunction:
    """The function that asks the vertices of a thread's ranges whether they are active."""

    @device_function
    def ask(control, low, high, state, stamp, graph, work, shared):
        """Ask vertices whether they are active, and count those that are and their out-edges."""
        count, edges = np.int64(0), np.int64(0)
        while True:
            start = low + claim(control, 1, shared[RANGE], high - low)
            if start >= high:
                break
            for v in range(start, min(high, start + shared[RANGE])):
                no_vectors()
                if vote(v, state):
                    work.active[v] = stamp
                    count += 1
                    edges += np.int64(graph.offsets[v + 1]) - np.int64(graph.offsets[v])
        atomic_add(shared, COUNT, count)
        atomic_add(shared, EDGES, edges)

    return ask


def _make_sending(push_arcs: DeviceFunction) -> tuple[DeviceFunction, DeviceFunction]:
    """The functions that push, from a list and from all active vertices."""

    @device_function
    def send_listed(control, thread, alone, listed, stamp, state, graph, own, work, shared):
        """Push from this thread's pieces of the list, and list halted vertices that get their first message."""
        end = shared[LISTED]
        while True:
            start = claim(control, 0, SEGMENT, end)
            if start >= end:
                break
            for position in range(start, min(end, start + SEGMENT)):
                u = np.int64(listed[position])
                if u != NO_VERTEX:
                    push_arcs(u, 0, graph.m, stamp, state, graph, own, work, shared, thread, alone, True)
        finish_segment(work.touched, work.cursors, CPU_LINE * thread)

    @device_function
    def send_all(control, thread, alone, places, low, high, stamp, state, graph, own, work, shared):
        """Push along the arcs of active vertices in this thread's pieces, which may divide a vertex."""
        while True:
            first, last, start, stop = claim_piece_within(control, 0, places, graph.offsets, low, high)
            if start == stop:
                return
            for u in range(max(first - 1, low), last):
                if work.active[u] == stamp:
                    push_arcs(
                        u, start - u, stop - u, stamp, state, graph, own, work, shared, thread, alone, False
                    )

    return send_listed, send_all


def _make_gather_all(gather: DeviceFunction) -> DeviceFunction:
    """The function that gathers over the in-edges of a thread's share of vertices."""

    @device_function
    def gather_all(control, places, low, high, everyone, stamp, state, graph, own, work):
        """Gather over the in-edges of the vertices in this thread's pieces."""
        while True:
            first, last, start, stop = claim_piece_within(control, 0, places, graph.in_offsets, low, high)
            if start == stop:
                return
            for v in range(first, last):
                gather(v, stamp, everyone, state, graph, own, work)

    return gather_all


def _make_compute(compute_vertex: DeviceFunction) -> DeviceFunction:
    """The function that computes a thread's share of vertices."""

    @device_function
    def compute(control, low, high, stamp, state, graph, work, shared):
        """Compute the vertices of this thread's ranges that are active or got a message."""
        count, edges = np.int64(0), np.int64(0)
        while True:
            start = low + claim(control, 1, shared[RANGE], high - low)
            if start >= high:
                break
            for v in range(start, min(high, start + shared[RANGE])):
                if (work.active[v] == stamp or work.received[v] == stamp) and compute_vertex(
                    v, stamp, state, graph, work
                ):
                    count += 1
                    edges += np.int64(graph.offsets[v + 1]) - np.int64(graph.offsets[v])
        atomic_add(shared, COUNT, count)
        atomic_add(shared, EDGES, edges)

    return compute


def _make_join_all(join: DeviceFunction) -> DeviceFunction:
    """The function that takes messages of another rank; `join` takes one."""

    @device_function
    def join_all(vertices, values, stamp, work, shared):
        """Join messages of another rank, in their order; list halted vertices that get their first one."""
        for i in range(len(vertices)):
            v = np.int64(vertices[i])
            join(v, values[i], work)
            if work.received[v] != stamp:
                work.received[v] = stamp
                if work.active[v] != stamp:
                    append(work.touched, work.cursors, 0, shared, TOUCHED, v)
        finish_segment(work.touched, work.cursors, 0)

    return join_all


def _make_gather(
    compiled: CompiledProgram,
    binding: Binding,
    message: np.dtype,
    make_in_edge: DeviceFunction,
    combine: DeviceFunction,
) -> DeviceFunction:
    """The function that gathers over the in-edges of one vertex, whose messages are combined or put into slots."""
    spec, edge_compute = binding.spec, compiled.functions["edge_compute"]
    if not spec.keeps_messages:
        return make_pull(spec, message, edge_compute, make_in_edge, combine).pull_vertex
    view = "array_at(slots[{}], first, end)"
    write = make_slots(compiled, message, device_function, spec.combine, view, array_at=array_at).write
    needs_arcs = spec.needs_arc_index

    @device_function
    def gather(v, stamp, everyone, state, graph, own, work):
        slot_of, filled, slots = work.buffer
        for k in range(np.int64(graph.in_offsets[v]), np.int64(graph.in_offsets[v + 1])):
            u = np.int64(graph.in_sources[k])
            if everyone or work.active[u] == stamp:
                arc = np.int64(graph.in_arcs[k]) if needs_arcs else np.int64(0)
                sent = edge_compute(make_in_edge(u, v, k, arc, own), state)
                if sent is not None:
                    slot = np.int64(slot_of[k])
                    write(slots, slot, unwrap(sent))
                    filled[slot] = 1
                    work.received[v] = stamp

    return gather


def _make_best(
    compiled: CompiledProgram, binding: Binding, message: np.dtype, make_out_edge: DeviceFunction
) -> DeviceFunction:
    """The function that finds the best of the first messages that active vertices would send."""
    spec, edge_compute = binding.spec, compiled.functions["edge_compute"]
    cast, identity = cast_and_identity(message, spec.combine, device_function)
    better = smaller if spec.combine.name == "MIN" else larger

    @device_function
    def best(control, thread, low, high, state, stamp, graph, own, work, shared, vertices, values):
        """Write the best first message of this thread's ranges, and its vertex, or `NO_VERTEX`."""
        found, value = NO_VERTEX, identity
        while True:
            start = low + claim(control, 0, shared[RANGE], high - low)
            if start >= high:
                break
            for v in range(start, min(high, start + shared[RANGE])):
                k = np.int64(graph.offsets[v])
                if work.active[v] == stamp and k < np.int64(graph.offsets[v + 1]):
                    sent = edge_compute(make_out_edge(v, np.int64(graph.targets[k]), k, k, own), state)
                    if sent is not None:
                        first = cast(unwrap(sent))
                        if better(first, value):
                            found, value = np.uint32(v), first
        vertices[thread], values[thread] = found, value

    return best


def _make_no_best(*_: Any) -> DeviceFunction:
    """As `_make_best`, for programs whose vertices do not wait."""

    @device_function
    def no_best(control, thread, low, high, state, stamp, graph, own, work, shared, vertices, values):
        pass

    return no_best


def _make_join(binding: Binding, message: np.dtype, combine: DeviceFunction) -> DeviceFunction:
    """The function that joins a message to those that a vertex has."""
    cast, _ = cast_and_identity(message, binding.spec.combine, device_function)

    @device_function
    def join(v, value, work):
        work.messages[v] = cast(combine(work.messages[v], value))

    return join


@device_function
def _arc_of_cell(graph: Any, k: Any) -> Any:
    """The arc of out-edge k of a rank that has some of each vertex (`edgewise.engine.distributed.cells`)."""
    return np.int64(graph.in_arcs[k])


def make_kernel(
    compiled: CompiledProgram,
    binding: Binding,
    message: np.dtype,
    parameters: dict[str, Any],
    uniform: frozenset[str],
    pulls: bool,
    of_cell: bool,
) -> Any:
    """The kernel of one program for given dtypes.

    Args:
        compiled, binding, message, parameters, uniform: as for `edgewise.engine.cpu.kernel.make_kernel`.
        pulls: whether vertices gather over their in-edges; else active vertices send along their out-edges.
        of_cell: whether the arc of an out-edge has to be looked up.
    """
    spec, functions = binding.spec, compiled.functions
    combine = functions.get("combine") or device_function(spec.combine.function)
    glue = make_glue(compiled, binding, uniform, device_function)
    make_state, fill_fields, fold_vertices = glue.make_state, glue.fill_fields, glue.fold_vertices
    fold_parts, set_aggregates, proceed = glue.fold_parts, glue.set_aggregates, functions["proceed"]
    kept = spec.keeps_messages
    messages = (make_buffered if kept else make_combined)(compiled, binding, message, combine)
    computing = make_computing(messages.compute)
    compute_listed, compute_all = computing.vertex_phase_list, _make_compute(computing.compute_vertex)
    arc_of = _arc_of_cell if of_cell else same_arc
    push_arcs = make_pushing(
        functions["edge_compute"], glue.make_out_edge, messages.hand_over, arc_of
    ).push_arcs
    send_listed, send_all = _make_sending(push_arcs)
    gather_all = _make_gather_all(_make_gather(compiled, binding, message, glue.make_in_edge, combine))
    start, resume = _make_ask(functions["initialize"]), _make_ask(functions["resume"])
    join_all = _make_join_all(
        device_function(lambda v, value, work: None) if kept else _make_join(binding, message, combine)
    )
    best = (_make_best if spec.best_first else _make_no_best)(compiled, binding, message, glue.make_out_edge)
    read = make_reader(binding, message, parameters, Work, kept)

    def distributed_kernel(
        thread, size, control, shared, phase, table, n, m, superstep, low, high, step, first_part,
        vertices, values, supplied,
    ):  # fmt: skip
        own, graph, work = read(table, n, m)
        state, stamp, alone = make_state(own, n, m, superstep), np.uint32(superstep), size == 1
        listed, following = active_lists(work, shared)
        if phase == 0:
            while True:
                begin = low + claim(control, 0, shared[RANGE], high - low)
                if begin >= high:
                    return
                fill_fields(begin, min(high, begin + shared[RANGE]), own, supplied)
        elif phase == 1:
            start(control, low, high, state, stamp + np.uint32(1), graph, work, shared)
        elif phase == 2:
            resume(control, low, high, state, stamp + np.uint32(1), graph, work, shared)
        elif phase == 3:
            _list_all(control, thread, listed, low, high, stamp, work, shared)
        elif phase == 4:
            send_listed(control, thread, alone, listed, stamp, state, graph, own, work, shared)
        elif phase == 5:
            send_all(control, thread, alone, step, low, high, stamp, state, graph, own, work, shared)
        elif phase == 6:
            gather_all(control, step, low, high, shared[COUNT] == n, stamp, state, graph, own, work)
        elif phase == 7:
            join_all(vertices, values, stamp, work, shared)
        elif phase == 8:
            compute_listed(control, thread, listed, following, stamp, state, graph, work, shared)
        elif phase == 9:
            compute_all(control, low, high, stamp, state, graph, work, shared)
        elif phase == 10:
            parts = (high - low + step - 1) // step
            while True:
                part = claim(control, 3, 1, parts)
                if part >= parts:
                    return
                begin = low + part * step
                fold_vertices(first_part + part, begin, min(high, begin + step), 1, state, own)
        elif phase == 11:
            fold_parts(low, high, 1, own)
            set_aggregates(own)
        elif phase == 12:
            shared[FORM] = np.int64(1) if proceed(state) else np.int64(0)
        elif phase == 13:
            best(
                control,
                thread,
                low,
                high,
                state,
                stamp + np.uint32(1),
                graph,
                own,
                work,
                shared,
                vertices,
                values,
            )

    return named_kernel(distributed_kernel, binding, message, parameters, uniform, (pulls, of_cell))
