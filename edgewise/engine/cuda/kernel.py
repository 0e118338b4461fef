"""The CUDA engine's kernel: the whole loop of a program inside one cooperative launch.

Every thread of the grid stays in the kernel until the run ends, and all meet at a barrier of 1.4 µs between the phases
of a superstep; the host waits. Who is active, and who got a message, is a stamp that equals the superstep's, as in the
CPU engine (`edgewise.engine.cpu.kernel`), and the number of active vertices with that of their out-edges decides
between two forms:

*push from a list*
    Listed vertices send along their out-edges; messages are combined by atomic operations, and vertices that got a
    first message are listed.
*pull over all*
    All vertices gather over their in-edges, without atomics.

*push into slots*
    Listed vertices write what they send to the slots of their out-edges, without atomics; after a barrier, vertices
    gather over their slots. Where many edges send, all slots are gone over instead, and edges write side by side.

A kernel has one or both of the first, or the third, see `edgewise.engine.delivery`. Who does which arcs is
a strategy (`edgewise.balance`), and what is done with them is `edgewise.engine.cuda.messages`.
"""

from typing import Any

import numpy as np

from edgewise.balance.binned import SCRATCH
from edgewise.balance.columnar import make_columnar
from edgewise.balance.contract import CONTROL as STRATEGY_CONTROL
from edgewise.balance.contract import COUNTERS, SHARING_NS
from edgewise.balance.registry import strategy_of
from edgewise.engine.contract import FINISHED, LIMITED, STOPPED
from edgewise.engine.cuda.arguments import Run, kept_dtype
from edgewise.engine.cuda.messages import make_messages
from edgewise.engine.delivery import Delivery
from edgewise.engine.lowering.accessors import make_glue
from edgewise.engine.lowering.binding import Binding
from edgewise.engine.lowering.compiled import CompiledProgram
from edgewise.kernels.cuda.device import (
    INT32,
    INT64,
    UINT32,
    WARP,
    block_thread,
    clock_ns,
    cuda,
    device_function,
    grid_barrier,
    lane,
    num_threads,
    numba_type,
    thread_index,
)
from edgewise.kernels.cuda.memory import CANCEL, PROGRESS
from edgewise.primitives.control import TURNS, turns_after
from edgewise.primitives.deal import TALLY_WORDS, WARPS, add_to_total, append, degree
from edgewise.primitives.direction import SUM_RATIO
from edgewise.primitives.warp_buffers import BOX_WORDS, Boxes

#: Words of `control`, behind the strategy's. COUNT and EDGES are the active vertices and their out-edges, TOUCHED those
#: that got a first message while being halted, UNITS what the strategy counts; they take turns. FORMS count supersteps
#: by form.
CONTROL = STRATEGY_CONTROL.more()
COUNT, EDGES, TOUCHED = (CONTROL.take(TURNS) for _ in range(3))
SUPERSTEP, ENDED, FORMS = CONTROL.take(), CONTROL.take(), CONTROL.take(2)
UNITS = CONTROL.take_line(COUNTERS * TURNS)
#: Nanoseconds by the clock of thread 0: of delivering messages, of computing vertices, of all; of gathering over slots.
DELIVERING, SETTLING, ALL, GATHERING = (CONTROL.take() for _ in range(4))
#: The words of `Outcome.phase_seconds`.
PHASES = {
    "sharing": SHARING_NS,
    "delivering": DELIVERING,
    "computing": SETTLING,
    "kernel": ALL,
    "gathering": GATHERING,
}
PUSH_LIST, PULL_ALL = range(2)
FORM_NAMES = ("push from a list", "push from a list in equal shares", "pull over all vertices")
BUFFER_FORM_NAMES = (
    "push from a list into slots",
    "push from a list into slots in equal shares",
    "fill all slots",
)
CANCELLED = 3
#: Supersteps of no more active vertices and out-edges look at the host's words once in so many.
LARGE, LOOK = 1 << 18, 64
#: Go over all slots when the frontier has more than one in so many edges.
FILL_ADVANTAGE = 5
#: Vertices are folded for the aggregates in so many parts, those in so many, and so on: it fixes the order of sums.
FOLDS = (65_536, 1024, 32, 1)


def make_gpu_kernel(
    compiled: CompiledProgram,
    binding: Binding,
    message: np.dtype,
    uniform: frozenset[str],
    delivery: Delivery,
) -> Any:
    """The kernel of one program for given dtypes, to be compiled for `signature`.

    Args:
        compiled: the program's functions.
        binding: the program on a graph; only its dtypes matter here.
        message: the dtype of messages.
        uniform: edge fields that have one value for all arcs.
        delivery: which way messages go, and who does which arcs.
    """
    found, functions = binding.found, compiled.functions
    glue = make_glue(compiled, binding, uniform, device_function)
    make_state, fill_fields = glue.make_state, glue.fill_fields
    fold_vertices, fold_parts, set_aggregates = glue.fold_vertices, glue.fold_parts, glue.set_aggregates
    initialize, resume = functions["initialize"], functions["resume"]
    proceed, keeps = functions["proceed"], found.keeps_messages
    has_proceed, has_resume, has_aggregates = found.has_proceed, found.has_resume, found.folds_always
    # Aggregates that are evaluated only where vertices resume, and at the end.
    has_late_aggregates = bool(found.aggregators) and not has_aggregates
    folds, total_type = FOLDS, numba_type(kept_dtype(message))
    pushes, pulls, buffered = delivery.pushes, delivery.pulls, delivery.buffered
    bodies, flush, fill, clear, compute = make_messages(compiled, binding, message, glue, TOUCHED, buffered)
    list_units, push_all, pull_all = strategy_of(delivery.balance).make(bodies)
    if delivery.layout is not None:
        pull_all = make_columnar(bodies.gather)

    @device_function
    def vertex_by_index(i, run):
        return i

    @device_function
    def vertex_by_row(i, run):
        return np.int64(run.layout.vertices[i])

    # Vertices that go over all their messages do so for about as long as their neighbours in a warp.
    vertex_at = vertex_by_row if keeps else vertex_by_index

    @device_function
    def settle(v, stamp, state, run):
        """Compute one vertex with its messages; whether it is active next."""
        if compute(v, stamp, state, run):
            run.work.active[v] = stamp + 1
            return True
        return False

    @device_function
    def list_active(v, active, following, turn, run):
        """List the active vertices of this warp's lanes, if they are ever listed; the out-edges of this lane's."""
        if pushes:
            append(following, run.control, COUNT + turn, v, active)
            return list_units(v, active, UNITS + COUNTERS * turn, run)
        return degree(v, run.graph.offsets) if active else np.int64(0)

    @device_function
    def count_active(edges, active, turn, run):
        """Add the active vertices of this thread to all, where no list counts them, and their out-edges."""
        add_to_total(edges, 0, run.tally, run.control, EDGES + turn)
        if not pushes:
            add_to_total(active, 1, run.tally, run.control, COUNT + turn)

    @device_function
    def settle_some(n, listed, count, touched, following, turn, everywhere, stamp, state, run):
        """Compute the vertices that are active or got a message, and list those that are active next.

        They are looked for everywhere, or else stand in two lists.
        """
        end = n if everywhere else count + touched
        edges, active = np.int64(0), np.int64(0)
        for begin in range(thread_index() - lane(), end, num_threads()):
            goes_on, v, i = False, np.int64(0), begin + lane()
            takes = i < end
            if takes:
                v = vertex_at(i, run)
                if everywhere:
                    takes = run.work.active[v] == stamp or run.received[v] == stamp
                else:
                    v = np.int64(listed[i]) if i < count else np.int64(run.work.touched[i - count])
            if takes:
                goes_on = settle(v, stamp, state, run)
            if goes_on:
                active += 1
            edges += list_active(v, goes_on, following, turn, run)
        count_active(edges, active, turn, run)

    @device_function
    def aggregate(n, state, own, control, generation):
        """Fold all vertices; every thread may read the aggregates afterwards."""
        me, parts = thread_index(), min(np.int64(folds[0]), n)
        for part in range(me, parts, num_threads()):
            fold_vertices(part, part, n, parts, state, own)
        generation = grid_barrier(control, generation)
        for fewer in folds[1:]:
            for part in range(me, min(np.int64(fewer), max(parts, 1)), num_threads()):
                fold_parts(part, parts, fewer, own)
            parts = min(np.int64(fewer), parts)
            generation = grid_barrier(control, generation)
        if me == 0:
            set_aggregates(own)
        return grid_barrier(control, generation)

    def make_asking(vote):
        """A function that asks all vertices whether they are active, and lists those that are."""

        @device_function
        def ask(n, state, stamp, listed, turn, run):
            edges, active = np.int64(0), np.int64(0)
            for begin in range(thread_index() - lane(), n, num_threads()):
                starts, v = False, begin + lane()
                if v < n and vote(v, state):
                    starts = True
                    run.work.active[v] = stamp
                    active += 1
                edges += list_active(v, starts, listed, turn, run)
            count_active(edges, active, turn, run)

        return ask

    ask_first, ask_again = make_asking(initialize), make_asking(resume)

    @device_function
    def resume_run(n, m, superstep, stamp, listed, turn, generation, run):
        """Call resume, where no vertex is active, and list who is."""
        # Everybody has read that nobody is active.
        generation = grid_barrier(run.control, generation)
        state = make_state(run.own, n, m, superstep)
        if has_late_aggregates:
            generation = aggregate(n, state, run.own, run.control, generation)
        ask_again(n, make_state(run.own, n, m, superstep), stamp, listed, turn, run)
        generation = grid_barrier(run.control, generation)
        if has_aggregates:
            generation = aggregate(n, state, run.own, run.control, generation)
        return generation

    @device_function
    def start_run(n, m, base, supplied, generation, run):
        """Fill fields, call initialize and list who is active."""
        for v in range(thread_index(), n, num_threads()):
            fill_fields(v, v + 1, run.own, supplied)
        generation = grid_barrier(run.control, generation)
        state = make_state(run.own, n, m, 0)
        ask_first(n, state, base + 1, run.work.frontier, np.int64(0), run)
        generation = grid_barrier(run.control, generation)
        if has_aggregates:
            generation = aggregate(n, state, run.own, run.control, generation)
        return generation

    @device_function
    def ending(n, m, own, superstep, count, limit, cancelled):
        """Why the run ends before the next superstep, as the number of an `Ending`, or -1 if it goes on."""
        if cancelled:
            return CANCELLED
        if has_proceed and superstep > 0 and not proceed(make_state(own, n, m, superstep)):
            return STOPPED
        if count == 0:
            return FINISHED
        return LIMITED if superstep == limit else -1

    def program_kernel(it):
        n, m, base, control, host, work, own = it.n, it.m, it.base, it.control, it.host, it.work, it.own
        tally = cuda.shared.array(TALLY_WORDS, INT64)
        scratch = cuda.shared.array(SCRATCH, UINT32)
        totals = cuda.shared.array(WARPS, total_type)
        flags = cuda.shared.array(WARPS, INT32)
        waiting = cuda.shared.array(BOX_WORDS, UINT32)
        held = cuda.shared.array(WARPS, UINT32)
        boxes = Boxes(waiting, held)
        run = Run(
            it.graph,
            own,
            work,
            it.messages,
            it.received,
            it.plan,
            it.parts,
            it.layout,
            it.buffer,
            control,
            tally,
            scratch,
            totals,
            flags,
            boxes,
        )
        if lane() == 0:
            held[block_thread() // WARP] = 0
        me, turn, superstep, flipped = thread_index(), np.int64(0), np.int64(0), False
        began = clock_ns()
        generation, dirty = start_run(n, m, base, it.supplied, np.int64(0), run), not keeps
        resumed = False
        while True:
            count, edges = control[COUNT + turn], control[EDGES + turn]
            ended = ending(n, m, own, superstep, count, it.limit, control[ENDED] == CANCELLED)
            if has_resume and ended == FINISHED and not resumed:
                listed = work.other_frontier if flipped else work.frontier
                generation = resume_run(n, m, superstep, base + superstep + 1, listed, turn, generation, run)
                resumed = True
                continue
            if ended >= 0:
                if has_late_aggregates:
                    generation = aggregate(n, make_state(own, n, m, superstep), own, control, generation)
                if me == 0:
                    control[ENDED] = ended
                    control[SUPERSTEP] = superstep
                    control[ALL] = clock_ns() - began
                return
            superstep += 1
            resumed = False
            following, spare = turns_after(turn)
            stamp, state = base + superstep, make_state(own, n, m, superstep)
            pull = pulls
            if pushes and pulls:
                pull = it.can_pull != 0 and edges * SUM_RATIO > m
            listed, next_list = (
                (work.other_frontier, work.frontier) if flipped else (work.frontier, work.other_frontier)
            )
            now, sent, everyone = clock_ns(), np.int64(0), count == n
            if buffered and dirty and not everyone:
                clear(it.layout, run)
                generation = grid_barrier(control, generation)
            if pulls and pull:
                generation = pull_all(n, generation, (stamp, everyone, state, run), run)
            sends = (stamp, everyone, state, run, turn)
            fills = buffered and edges * FILL_ADVANTAGE > m
            if fills:
                fill(n, sends)
            elif pushes and not pull:
                generation = push_all(listed, count, UNITS + COUNTERS * turn, generation, sends, run)
                flush(boxes, (run, turn))
            if buffered and not keeps:
                dirty, generation, sent = everyone, grid_barrier(control, generation), clock_ns()
                generation = pull_all(n, generation, (stamp, everyone, state, run), run)
            if me == 0:
                control[COUNT + spare] = 0
                control[EDGES + spare] = 0
                control[TOUCHED + spare] = 0
                for i in range(COUNTERS):
                    control[UNITS + COUNTERS * spare + i] = 0
                control[FORMS + (PULL_ALL if pull or fills else PUSH_LIST)] += 1
            generation = grid_barrier(control, generation)
            delivered = clock_ns()
            touched = control[TOUCHED + turn]
            everywhere = pull or buffered
            settle_some(n, listed, count, touched, next_list, following, everywhere, stamp, state, run)
            # The host's memory is 2 µs away: small supersteps look there now and then, large ones each time.
            if me == 0 and (superstep % LOOK == 0 or count + edges > LARGE):
                host[PROGRESS] = superstep
                if host[CANCEL] != 0:
                    control[ENDED] = CANCELLED
            generation = grid_barrier(control, generation)
            if me == 0:
                control[DELIVERING] += delivered - now
                if sent > 0:
                    control[GATHERING] += delivered - sent
                control[SETTLING] += clock_ns() - delivered
            if has_aggregates:
                generation = aggregate(n, state, own, control, generation)
            turn, flipped = following, not flipped

    return program_kernel
