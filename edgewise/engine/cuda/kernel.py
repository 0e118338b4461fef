"""The CUDA engine's kernel: the whole loop of a program inside one cooperative launch.

Every thread of the grid stays in the kernel until the run ends, and the host waits. Between the phases of a superstep
all threads meet at a barrier, which takes 1.4 µs. A vertex is active, or got a message, if its stamp equals the
superstep's, as in the CPU engine (`edgewise.engine.cpu.kernel`). A superstep has one of three forms:

*push from a list*
    Listed vertices send along their out-edges. Messages are combined by atomic operations, and halted vertices that
    got a message are listed.
*pull over all*
    All vertices gather over their in-edges, without atomics except with `EdgeBased`. Where all of them send, and each
    sends the same along all of its out-edges, they compute that once, before a barrier. A vertex then reads one number
    for each in-edge, and nothing that changes when vertices are computed, so a thread that gathers for a vertex
    computes it at once; but where a layout has scattered the vertices, it only stores the message.
*push into slots*
    Listed vertices write what they send to the slots of their out-edges, without atomics. If many edges send, all
    slots are filled in their order instead. After a barrier, vertices gather over their slots; if rows of slots are in
    the order of vertices, they are computed by the same threads at once.

A kernel has one or both of the first two forms, or the third (`edgewise.engine.delivery`). With both, the number of
out-edges of active vertices decides. `edgewise.balance` shares arcs out to threads, `edgewise.engine.cuda.messages`
says what is done with an arc, and `edgewise.engine.cuda.vertices` computes vertices.
"""

from typing import Any

import numpy as np

from edgewise.balance.columnar import make_columnar, make_walk
from edgewise.balance.contract import COUNTERS, Traversal
from edgewise.balance.registry import strategy_of
from edgewise.engine.cuda.arguments import Run, kept_dtype
from edgewise.engine.cuda.control import (
    ALL,
    COMPUTING,
    COUNT,
    DELIVERING,
    EDGES,
    ENDED,
    FORMS,
    GATHERING,
    PULL_ALL,
    PUSH_LIST,
    SUPERSTEP,
    TOUCHED,
    UNITS,
)
from edgewise.engine.cuda.messages import Messages, make_messages
from edgewise.engine.cuda.vertices import (
    Listing,
    make_asking,
    make_computing,
    make_computing_rows,
    make_ending,
    make_folding,
    make_listing,
    make_resuming,
    make_starting,
    make_walk_of_threads,
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
    WARPS,
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
from edgewise.primitives.by_degree import SCRATCH
from edgewise.primitives.control import LOOK, turns_after
from edgewise.primitives.deal import TALLY_WORDS
from edgewise.primitives.direction import SUM_RATIO, pays_to_pull
from edgewise.primitives.endings import CANCELLED, FINISHED
from edgewise.primitives.warp_buffers import BOX_WORDS, Boxes

#: A superstep with at most LARGE active vertices and out-edges together looks at the host's words only if its number is
#: a multiple of LOOK; a larger one always does.
LARGE = 1 << 18
#: All slots are filled when more than one in FILL_ADVANTAGE edges leaves the frontier.
FILL_ADVANTAGE = 5

_pays_to_pull = inlined(pays_to_pull)


def make_sharing(total: np.dtype) -> Any:
    """The function that gives a kernel its shared memory, for messages that are combined in this dtype."""
    total_type = numba_type(total)

    @inlined
    def shared_run(it):
        """`Run`, made of `Supersteps`, with empty outboxes."""
        tally = cuda.shared.array(TALLY_WORDS, INT64)
        scratch = cuda.shared.array(SCRATCH, UINT32)
        totals = cuda.shared.array(WARPS, total_type)
        flags = cuda.shared.array(WARPS, INT32)
        waiting = cuda.shared.array(BOX_WORDS, UINT32)
        held = cuda.shared.array(WARPS, UINT32)
        given = (it.graph, it.own, it.work, it.messages, it.received, it.outgoing, it.plan, it.parts)
        run = Run(
            *given, it.layout, it.buffer, it.control, tally, scratch, totals, flags, Boxes(waiting, held)
        )
        if lane() == 0:
            held[block_thread() // WARP] = 0
        return run

    return shared_run


def make_delivering(delivery: Delivery, keeps: bool, messages: Messages, traversal: Traversal) -> Any:
    """The function that delivers the messages of a superstep.

    Args:
        delivery: how messages reach vertices.
        keeps: whether the program asks for all messages; vertices then gather when they are computed.
        messages, traversal: what is done with an arc, and which threads do it.
    """
    pushes, pulls, buffered, fused = delivery.pushes, delivery.pulls, delivery.buffered, delivery.fused
    flush, fill, clear, spread = messages.flush, messages.fill, messages.clear, messages.spread
    _, push_all, pull_all = traversal
    spreads, pull_spread = delivery.spreads, make_columnar(messages.gather_total)

    @inlined
    def deliver(frontier, count, edges, pull, dirty, turn, generation, stamp, state, it, run):
        """Deliver what the vertices of the frontier send.

        Args:
            count, edges: how many vertices the frontier has, and how many out-edges these have.
            pull: whether messages are pulled.
            dirty: whether slots of a buffer may hold old messages.

        Returns:
            The generation of the barrier; whether slots may hold old messages now; when vertices began to gather over
            slots, or 0; whether all slots were filled in their order.
        """
        sent, everyone = np.int64(0), count == it.n
        if buffered and dirty and not everyone:
            clear(it.layout, run)
            generation = grid_barrier(run.control, generation)
        if spreads and pull and everyone:
            spread(it.n, state, run)
            if not fused:
                generation = grid_barrier(run.control, generation)
                generation = pull_spread(np.int64(0), it.n, generation, (stamp, everyone, state, run), run)
        elif pulls and pull:
            generation = pull_all(np.int64(0), it.n, generation, (stamp, everyone, state, run), run)
        sends = (stamp, everyone, state, run, turn)
        fills = buffered and edges * FILL_ADVANTAGE > it.m
        if fills:
            fill(it.n, it.m, sends)
        elif pushes and not pull:
            generation = push_all(frontier, count, UNITS + COUNTERS * turn, generation, sends, run)
            flush(run.boxes, (run, turn))
        if buffered and not keeps:
            dirty = everyone
        if buffered and not keeps and not fused:
            generation, sent = grid_barrier(run.control, generation), clock_ns()
            generation = pull_all(np.int64(0), it.n, generation, (stamp, everyone, state, run), run)
        return generation, dirty, sent, fills

    return deliver


def make_traversal(delivery: Delivery, messages: Messages) -> Traversal:
    """Which threads do which arcs: as the strategy says, but gathering as the layout says, if there is one."""
    traversal = strategy_of(delivery.balance).make(messages.bodies)
    if delivery.layout is None:
        return traversal
    return traversal._replace(pull_all=make_columnar(messages.bodies.gather))


def make_both_computing(
    delivery: Delivery, keeps: bool, messages: Messages, listing: Listing
) -> tuple[Any, Any]:
    """The functions that compute vertices in a superstep, and in one in which all have spread what they send. Arguments
    are those of `make_delivering`."""
    # Neighbours in the layout have rows of similar length, so lanes of a warp go over all messages for about as long.
    compute_vertices = make_computing(messages.compute, keeps, False, listing)
    if not delivery.fused:
        return compute_vertices, make_computing(messages.compute_total, False, True, listing)
    walk = make_walk_of_threads if delivery.layout is None else make_walk
    compute_rows = make_computing_rows(walk, messages.gather_and_compute, listing)
    return compute_rows if delivery.buffered else compute_vertices, compute_rows


@inlined
def prepare_turn(spare: Any, form: Any, control: Any) -> None:
    """Set the counts of the superstep after the next to 0, and count this superstep's form. One thread calls it."""
    control[COUNT + spare] = 0
    control[EDGES + spare] = 0
    control[TOUCHED + spare] = 0
    for i in range(COUNTERS):
        control[UNITS + COUNTERS * spare + i] = 0
    control[FORMS + form] += 1


@inlined
def add_times(now: Any, sent: Any, delivered: Any, control: Any) -> None:
    """Add the times of a superstep that began at `now` to the totals. One thread calls it."""
    control[DELIVERING] += delivered - now
    if sent > 0:
        control[GATHERING] += delivered - sent
    control[COMPUTING] += clock_ns() - delivered


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
        delivery: how messages reach vertices, and which threads do which arcs.
    """
    spec, functions = binding.spec, compiled.functions
    glue = make_glue(compiled, binding, uniform, device_function)
    make_state, keeps = glue.make_state, spec.keeps_messages
    pushes, pulls, buffered, spreads = delivery.pushes, delivery.pulls, delivery.buffered, delivery.spreads
    has_resume, has_aggregates = spec.has_resume, spec.folds_always
    # These aggregates are evaluated only when vertices resume, and at the end.
    has_late_aggregates = bool(spec.aggregators) and not has_aggregates
    messages = make_messages(compiled, binding, message, glue, delivery)
    traversal = make_traversal(delivery, messages)
    listing, aggregate = make_listing(pushes, traversal.list_units), make_folding(glue)
    compute_vertices, compute_everyone = make_both_computing(delivery, keeps, messages, listing)
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
            ended = ending(n, m, it.own, superstep, count, it.limit, control[ENDED] == CANCELLED, resumed)
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
                pull = it.can_pull != 0 and _pays_to_pull(edges, m, SUM_RATIO)
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
            if spreads and pull and count == n:
                compute_everyone(
                    n, frontier, count, touched, next_frontier, following, everywhere, stamp, state, run
                )
            else:
                compute_vertices(
                    n, frontier, count, touched, next_frontier, following, everywhere, stamp, state, run
                )
            # The host's memory is 2 µs away: small supersteps look there now and then, large ones each time.
            if me == 0 and (superstep % LOOK == 0 or count + (edges if pushes else m) > LARGE):
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
