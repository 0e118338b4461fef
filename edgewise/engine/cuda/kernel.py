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
a strategy (`edgewise.balance`), what is done with them is `edgewise.engine.cuda.messages`, and vertices are computed by
`edgewise.engine.cuda.vertices`.
"""

from typing import Any

import numpy as np

from edgewise.balance.binned import SCRATCH
from edgewise.balance.columnar import make_columnar
from edgewise.balance.contract import COUNTERS, Traversal
from edgewise.balance.registry import strategy_of
from edgewise.engine.contract import FINISHED
from edgewise.engine.cuda.arguments import Run, kept_dtype
from edgewise.engine.cuda.control import (
    ALL,
    CANCELLED,
    COUNT,
    DELIVERING,
    EDGES,
    ENDED,
    FORMS,
    GATHERING,
    PULL_ALL,
    PUSH_LIST,
    SETTLING,
    SUPERSTEP,
    TOUCHED,
    UNITS,
)
from edgewise.engine.cuda.messages import Messages, make_messages
from edgewise.engine.cuda.vertices import (
    make_asking,
    make_ending,
    make_folding,
    make_listing,
    make_resuming,
    make_settling,
    make_starting,
)
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
    inlined,
    lane,
    numba_type,
    thread_index,
)
from edgewise.kernels.cuda.memory import CANCEL, PROGRESS
from edgewise.primitives.control import turns_after
from edgewise.primitives.deal import TALLY_WORDS, WARPS
from edgewise.primitives.direction import SUM_RATIO
from edgewise.primitives.warp_buffers import BOX_WORDS, Boxes

#: Supersteps of no more active vertices and out-edges look at the host's words once in so many.
LARGE, LOOK = 1 << 18, 64
#: Go over all slots when the frontier has more than one in so many edges.
FILL_ADVANTAGE = 5


def make_sharing(total: np.dtype) -> Any:
    """What gives a kernel the memory that its blocks share, for messages that are combined in this dtype."""
    total_type = numba_type(total)

    @inlined
    def shared_run(it):
        """`Run` of `Supersteps`, with empty outboxes."""
        tally = cuda.shared.array(TALLY_WORDS, INT64)
        scratch = cuda.shared.array(SCRATCH, UINT32)
        totals = cuda.shared.array(WARPS, total_type)
        flags = cuda.shared.array(WARPS, INT32)
        waiting = cuda.shared.array(BOX_WORDS, UINT32)
        held = cuda.shared.array(WARPS, UINT32)
        given = (it.graph, it.own, it.work, it.messages, it.received, it.plan, it.parts, it.layout, it.buffer)
        run = Run(*given, it.control, tally, scratch, totals, flags, Boxes(waiting, held))
        if lane() == 0:
            held[block_thread() // WARP] = 0
        return run

    return shared_run


def make_delivering(delivery: Delivery, keeps: bool, messages: Messages, traversal: Traversal) -> Any:
    """What delivers the messages of a superstep.

    Args:
        delivery: which way they go.
        keeps: whether the program is given all messages, when it is computed.
        messages, traversal: what is done with arcs, and who does which.
    """
    pushes, pulls, buffered = delivery.pushes, delivery.pulls, delivery.buffered
    _, flush, fill, clear, _ = messages
    _, push_all, pull_all = traversal

    @inlined
    def deliver(frontier, count, edges, pull, dirty, turn, generation, stamp, state, it, run):
        """Deliver what the vertices of the frontier send, along so many edges.

        Args:
            pull: whether messages are pulled.
            dirty: whether a buffer's slots may hold something.

        Returns:
            The generation of the barrier; whether slots may hold something now; the time when a buffer was filled;
            whether all slots were filled.
        """
        sent, everyone = np.int64(0), count == it.n
        if buffered and dirty and not everyone:
            clear(it.layout, run)
            generation = grid_barrier(run.control, generation)
        if pulls and pull:
            generation = pull_all(it.n, generation, (stamp, everyone, state, run), run)
        sends = (stamp, everyone, state, run, turn)
        fills = buffered and edges * FILL_ADVANTAGE > it.m
        if fills:
            fill(it.n, sends)
        elif pushes and not pull:
            generation = push_all(frontier, count, UNITS + COUNTERS * turn, generation, sends, run)
            flush(run.boxes, (run, turn))
        if buffered and not keeps:
            dirty, generation, sent = everyone, grid_barrier(run.control, generation), clock_ns()
            generation = pull_all(it.n, generation, (stamp, everyone, state, run), run)
        return generation, dirty, sent, fills

    return deliver


@inlined
def prepare_turn(spare: Any, form: Any, control: Any) -> None:
    """Set the counts of the superstep after the next one to 0, and count this one by its form; for one thread."""
    control[COUNT + spare] = 0
    control[EDGES + spare] = 0
    control[TOUCHED + spare] = 0
    for i in range(COUNTERS):
        control[UNITS + COUNTERS * spare + i] = 0
    control[FORMS + form] += 1


@inlined
def add_times(now: Any, sent: Any, delivered: Any, control: Any) -> None:
    """Add up the times of a superstep that began now; for one thread."""
    control[DELIVERING] += delivered - now
    if sent > 0:
        control[GATHERING] += delivered - sent
    control[SETTLING] += clock_ns() - delivered


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
    spec, functions = binding.spec, compiled.functions
    glue = make_glue(compiled, binding, uniform, device_function)
    make_state, keeps = glue.make_state, spec.keeps_messages
    pushes, pulls, buffered = delivery.pushes, delivery.pulls, delivery.buffered
    has_resume, has_aggregates = spec.has_resume, spec.folds_always
    # Aggregates that are evaluated only where vertices resume, and at the end.
    has_late_aggregates = bool(spec.aggregators) and not has_aggregates
    messages = make_messages(compiled, binding, message, glue, buffered)
    traversal = strategy_of(delivery.balance).make(messages.bodies)
    if delivery.layout is not None:
        traversal = traversal._replace(pull_all=make_columnar(messages.bodies.gather))
    listing, aggregate = make_listing(pushes, traversal.list_units), make_folding(glue)
    # Vertices that go over all their messages do so for about as long as their neighbours in a warp.
    settle_some = make_settling(messages.compute, keeps, listing)
    start_run = make_starting(spec, glue, make_asking(functions["initialize"], listing), aggregate)
    resume_run = make_resuming(spec, make_state, make_asking(functions["resume"], listing), aggregate)
    ending = make_ending(spec, make_state, functions["proceed"])
    shared_run = make_sharing(kept_dtype(message))
    deliver = make_delivering(delivery, keeps, messages, traversal)

    def program_kernel(it):
        run, n, m, base, control, work = shared_run(it), it.n, it.m, it.base, it.control, it.work
        me, turn, superstep, flipped = thread_index(), np.int64(0), np.int64(0), False
        began = clock_ns()
        generation, dirty = start_run(n, m, base, it.supplied, np.int64(0), run), not keeps
        resumed = False
        while True:
            count, edges = control[COUNT + turn], control[EDGES + turn]
            ended = ending(n, m, it.own, superstep, count, it.limit, control[ENDED] == CANCELLED)
            if has_resume and ended == FINISHED and not resumed:
                frontier = work.other_frontier if flipped else work.frontier
                generation = resume_run(
                    n, m, superstep, base + superstep + 1, frontier, turn, generation, run
                )
                resumed = True
                continue
            if ended >= 0:
                if has_late_aggregates:
                    generation = aggregate(
                        n, make_state(it.own, n, m, superstep), it.own, control, generation
                    )
                if me == 0:
                    control[ENDED] = ended
                    control[SUPERSTEP] = superstep
                    control[ALL] = clock_ns() - began
                return
            superstep += 1
            resumed = False
            following, spare = turns_after(turn)
            stamp, state = base + superstep, make_state(it.own, n, m, superstep)
            pull = pulls
            if pushes and pulls:
                pull = it.can_pull != 0 and edges * SUM_RATIO > m
            frontier, next_frontier = (
                (work.other_frontier, work.frontier) if flipped else (work.frontier, work.other_frontier)
            )
            now = clock_ns()
            generation, dirty, sent, fills = deliver(
                frontier, count, edges, pull, dirty, turn, generation, stamp, state, it, run
            )
            if me == 0:
                prepare_turn(spare, PULL_ALL if pull or fills else PUSH_LIST, control)
            generation = grid_barrier(control, generation)
            delivered = clock_ns()
            touched, everywhere = control[TOUCHED + turn], pull or buffered
            settle_some(n, frontier, count, touched, next_frontier, following, everywhere, stamp, state, run)
            # The host's memory is 2 µs away: small supersteps look there now and then, large ones each time.
            if me == 0 and (superstep % LOOK == 0 or count + edges > LARGE):
                it.host[PROGRESS] = superstep
                if it.host[CANCEL] != 0:
                    control[ENDED] = CANCELLED
            generation = grid_barrier(control, generation)
            if me == 0:
                add_times(now, sent, delivered, control)
            if has_aggregates:
                generation = aggregate(n, state, it.own, control, generation)
            turn, flipped = following, not flipped

    return program_kernel
