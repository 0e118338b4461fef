"""The CPU engine's kernel for supersteps: the whole loop of a program inside one compiled function.

Every thread of a team enters the kernel and stays until the run ends or its budget is spent
(`edgewise.kernels.cpu.team`). Before each superstep thread 0 picks one of four forms by the number of active vertices
and of their out-edges:

*alone*
    For a small frontier: thread 0 carries out whole supersteps by itself, with no barrier in between.
*push from a list*
    Threads share the list of active vertices. They combine messages at the target with compare-and-swap. Halted
    vertices that got a message are listed; only these and the active ones are computed.
*push over all* and *pull over all*
    For a large frontier: threads share pieces of equal numbers of vertices and arcs (`edgewise.engine.cpu.pieces`).
    When they push, several threads may share the out-edges of one vertex. When they pull, one thread gathers over all
    in-edges of a vertex, without atomics.

Messages lie apart from fields (`edgewise.engine.cpu.messages`), and a barrier separates the two phases of a superstep.
So edge_compute never sees a value that vertex_compute writes in the same superstep, and fields need no second copy. A
vertex is active, or got a message, if its stamp equals the superstep's; stamps are not cleared.

Two threads never use an ordered combiner (`Combiner.ordered`) on one vertex: thread 0 pushes from small frontiers in
the order of the list, and large ones are pulled in the order of in-edges. The choice does not depend on the number of
threads, so sums do not either. With a message buffer all messages are pushed, and a vertex combines its messages in the
order of in-edges when it is computed.

`make_kernel` joins these modules: `kernel_start` finds the vertices that are active at first, or again; `kernel_decide`
is what thread 0 does between supersteps; `kernel_push`, `kernel_pull` and `kernel_vertices` are the phases of a
superstep; `kernel_aggregates` follows them. All work on the words of `shared` and the lists of `kernel_lists`.
"""

from typing import Any, NamedTuple

import numpy as np

from edgewise.engine.cpu.arguments import Work
from edgewise.engine.cpu.kernel_aggregates import Aggregates, make_aggregates
from edgewise.engine.cpu.kernel_decide import make_decide, make_decisions, make_superstep_alone
from edgewise.engine.cpu.kernel_lists import active_lists, list_phase, next_superstep
from edgewise.engine.cpu.kernel_pull import make_pull
from edgewise.engine.cpu.kernel_push import Pushing, make_pushing
from edgewise.engine.cpu.kernel_start import make_asking, make_fill, make_resume
from edgewise.engine.cpu.kernel_vertices import Computing, make_computing
from edgewise.engine.cpu.messages import make_buffered, make_combined
from edgewise.engine.cpu.shared import (
    COUNT,
    EDGES,
    ENDED,
    FLIP,
    FORM,
    GO_ON,
    LISTED,
    MAKE_LIST,
    PUSH_ALL,
    PUSH_LIST,
    RESUME,
    SUPERSTEP,
)
from edgewise.engine.cpu.table import make_reader, named_kernel
from edgewise.engine.lowering.accessors import DeviceFunction, make_glue
from edgewise.engine.lowering.binding import Binding
from edgewise.engine.lowering.compiled import CompiledProgram
from edgewise.kernels.cache import device_function
from edgewise.kernels.cpu.team import NUM_SLOTS, barrier, rewind
from edgewise.program.inspect import Specification


class Parts(NamedTuple):
    """What a program's kernel is made of.

    `pull_all` is None with a message buffer. `resume_phase` and `aggregates` are used only if the program has them.
    """

    make_state: DeviceFunction
    fill: DeviceFunction
    start_run: DeviceFunction
    decide: DeviceFunction
    pushing: Pushing
    pull_all: DeviceFunction | None
    computing: Computing
    aggregates: Aggregates
    resume_phase: DeviceFunction


def make_program_kernel(spec: Specification, read: DeviceFunction, parts: Parts) -> DeviceFunction:
    """The kernel, not compiled. It calls all phases from one function, so the compiler sees them together."""
    make_state, fill, start_run, decide, pushing, pull_all, computing, aggregates, resume_phase = parts
    _, push_list, push_all = pushing
    vertex_phase_list, vertex_phase_all = computing.vertex_phase_list, computing.vertex_phase_all
    fold_aggregates, fold_late = aggregates.fold_aggregates, aggregates.fold_late
    has_resume, has_aggregates, has_late_aggregates = spec.has_resume, spec.folds_always, spec.folds_late

    def program_kernel(
        thread, size, control, shared, budget, table, n, m, base, limit, delivery, can_pull, supplied
    ):
        own, graph, work = read(table, n, m)
        if shared[ENDED] != GO_ON:
            fill(control, n, own, shared, supplied)
            if barrier(control, size):
                return
            start_run(control, make_state(own, n, m, 0), base + np.uint32(1), graph, work, shared)
            if barrier(control, size):
                return
            if has_aggregates:
                fold_aggregates(control, make_state(own, n, m, 0), n, own)
        while not barrier(control, size):
            if thread == 0:
                decide(control, graph, own, work, shared, budget, base, limit, delivery, can_pull)
                for slot in range(NUM_SLOTS):
                    rewind(control, slot)
            if barrier(control, size):
                return
            form, superstep = shared[FORM], shared[SUPERSTEP]
            if shared[ENDED] >= 0:
                if has_late_aggregates and shared[ENDED] != GO_ON:
                    fold_late(control, thread, size, n, m, own, superstep)
                return
            if has_resume and form == RESUME:
                if resume_phase(control, thread, size, graph, own, work, shared, base):
                    return
                continue
            listed, following = active_lists(work, shared)
            if form == MAKE_LIST:
                list_phase(control, thread, listed, base + np.uint32(superstep + 1), n, work, shared)
                if barrier(control, size):
                    return
                if thread == 0:
                    next_superstep(shared)
                continue
            stamp, state = base + np.uint32(superstep), make_state(own, n, m, superstep)
            if form == PUSH_LIST:
                push_list(control, thread, listed, stamp, state, graph, own, work, shared)
            elif form == PUSH_ALL:
                push_all(control, thread, stamp, state, graph, own, work, shared)
            elif pull_all is not None:
                pull_all(control, stamp, state, graph, own, work, shared)
            if barrier(control, size):
                return
            if thread == 0:
                shared[COUNT] = 0
                shared[EDGES] = 0
            if barrier(control, size):
                return
            if form == PUSH_LIST:
                vertex_phase_list(control, thread, listed, following, stamp, state, graph, work, shared)
            else:
                vertex_phase_all(control, stamp, state, graph, work, shared)
            if barrier(control, size):
                return
            if thread == 0:
                if form == PUSH_LIST:
                    next_superstep(shared)
                    shared[FLIP] = 1 - shared[FLIP]
                else:
                    shared[LISTED] = -1
            if has_aggregates:
                fold_aggregates(control, state, n, own)

    return program_kernel


def make_kernel(
    compiled: CompiledProgram,
    binding: Binding,
    message: np.dtype,
    parameters: dict[str, Any],
    uniform: frozenset[str],
    buffered: bool = False,
) -> Any:
    """The kernel of one program for given dtypes.

    Args:
        compiled: the program's functions.
        binding: the program on a graph; only its dtypes matter here.
        message: the dtype of messages.
        parameters: parameter values; only their types matter here.
        uniform: edge fields that have one value for all arcs.
        buffered: whether messages go through a message buffer.
    """
    spec, functions = binding.spec, compiled.functions
    edge_compute = functions["edge_compute"]
    combine = functions.get("combine") or device_function(spec.combine.function)
    ordered = spec.combine.ordered(message) and not buffered
    glue = make_glue(compiled, binding, uniform, device_function)
    make_messages = make_buffered if buffered else make_combined
    messages = make_messages(compiled, binding, message, combine)
    pushing = make_pushing(edge_compute, glue.make_out_edge, messages.hand_over)
    pull_all = (
        None if buffered else make_pull(spec, message, edge_compute, glue.make_in_edge, combine).pull_all
    )
    computing, aggregates = make_computing(messages.compute), make_aggregates(glue)
    decisions = make_decisions(spec, message, ordered, functions["proceed"], glue.make_state)
    superstep_alone = make_superstep_alone(pushing.push_arcs, computing.compute_list)
    parts = Parts(
        glue.make_state,
        make_fill(glue.fill_fields),
        make_asking(functions["initialize"]),
        make_decide(spec, ordered, glue.make_state, decisions, superstep_alone, aggregates),
        pushing,
        pull_all,
        computing,
        aggregates,
        make_resume(spec, glue, functions["resume"], aggregates),
    )
    read = make_reader(binding, message, parameters, Work, buffered)
    program_kernel = make_program_kernel(spec, read, parts)
    return named_kernel(program_kernel, binding, message, parameters, uniform, buffered)
