"""The CPU engine's kernel for supersteps: the whole loop of a program inside one compiled function.

Every thread of a team enters the kernel once and stays until the run ends (`edgewise.kernels.cpu.team`). At each
superstep thread 0 picks one of four forms from the number of active vertices and of their out-edges:

*alone*
    A small frontier: thread 0 carries out whole supersteps by itself, with no barrier in between.
*push from a list*
    Threads share the list of active vertices; messages are combined into the target with compare-and-swap.
    Vertices that got a message are listed, and only they and the active ones are computed.
*push over all* and *pull over all*
    A large frontier: threads share pieces of equally many vertices and arcs (`edgewise.engine.cpu.pieces`). Pushing
    may divide the out-edges of one vertex between threads; pull gathers over in-edges, each vertex by one thread,
    without atomics.

Messages lie apart from fields (`edgewise.engine.cpu.messages`), so edges never see a value that a vertex
writes in the same superstep: the barrier between the two phases takes the place of a second copy of the fields.
Who is active, and who got a message, is a stamp that equals the number of the superstep; nothing is cleared.

An ordered combiner (`Combiner.ordered`) is never used from two threads at once on one vertex: small frontiers
are pushed by thread 0 in list order, large ones pulled in the order of in-edges. The choice depends on counts
only, so the sums do not depend on the number of threads. Through a message buffer everything is pushed, and a vertex
combines its messages, in the order of in-edges, when it is computed.
"""

from typing import Any, NamedTuple

import numpy as np

from edgewise.engine.contract import FINISHED, LIMITED, STOPPED, Ending
from edgewise.engine.cpu.messages import make_buffered, make_combined
from edgewise.engine.cpu.pieces import claim_piece
from edgewise.engine.cpu.table import make_readers, named_kernel
from edgewise.engine.delivery import stops_early
from edgewise.engine.lowering.accessors import cast_and_identity, make_glue
from edgewise.engine.lowering.binding import Binding
from edgewise.engine.lowering.compiled import CompiledProgram
from edgewise.kernels.cache import device_function
from edgewise.kernels.cpu.atomics import atomic_add, atomic_exchange, no_vectors, unwrap
from edgewise.kernels.cpu.team import NUM_SLOTS, barrier, cancelled, claim, report, rewind
from edgewise.primitives.direction import PULL, PUSH, SEARCH_RATIO, SUM_RATIO

#: Words of the array `shared`, a cache line apart: what the threads of one run agree on. COUNT and EDGES are the
#: active vertices and their out-edges; LISTED is the length of their list, or -1 where there is none.
#: RESUMED says whether vertices were asked to resume since the last superstep. SPENT is how many vertices and arcs have
#: been looked at, AHEAD_WORK how many the next superstep will look at.
COUNT, EDGES, LISTED, NEXT, TOUCHED, FLIP, FORM, SUPERSTEP, ENDED, RESUMED, SPENT, AHEAD_WORK = range(
    0, 96, 8
)
#: The number of supersteps carried out in each form follows.
FORMS = 96
#: Then `Sizes`, which the host sets.
RANGE, PIECE, ALONE_WORK, ALONE_LIST, ALONE_EDGES, ALONE_FAR = range(FORMS + 8, FORMS + 14)
SHARED_WORDS = FORMS + 16
ALONE, PUSH_LIST, PUSH_ALL, PULL_ALL, MAKE_LIST, RESUME = range(6)
FORM_NAMES = ("by one thread alone", "push from a list", "push over all vertices", "pull over all vertices")
#: The kernel has spent its budget: called again, it goes on where it was.
GO_ON = len(Ending)

#: List entries that a thread reserves at a time, and the mark of an entry it did not use.
SEGMENT = 64
NO_VERTEX = np.uint32(0xFFFFFFFF)
#: Vertices whose aggregates are folded together. It fixes the order of float sums.
BLOCK = 4096

#: Share a list of active vertices when n is more than so many times the active vertices and their out-edges.
LIST_ADVANTAGE = 4


class Sizes(NamedTuple):
    """How much a thread is given at a time, and how little is left to thread 0; as the words from RANGE on.

    Attributes:
        vertices: vertices handed out at a time in phases over all vertices that look at no arcs.
        places: the length of a piece (`edgewise.engine.cpu.pieces`). A search for one costs 0.5 µs, a piece of a
            program that does little for an arc takes 40 µs.
        alone: a frontier of fewer active vertices and edges is left to thread 0: two barriers would cost as much.
        alone_list, alone_edges: near lists of no more vertices, with no more out-edges, are left to thread 0.
        alone_far: far lists of no more entries, too.
    """

    vertices: int = 1024
    places: int = 16384
    alone: int = 1500
    alone_list: int = 256
    alone_edges: int = 4096
    alone_far: int = 1024


SIZES = Sizes()


@device_function
def append(entries: Any, cursors: Any, cursor: Any, shared: Any, counter: Any, v: Any) -> None:
    """Add a vertex to a list that all threads write, in segments reserved by one atomic addition."""
    position = cursors[cursor]
    if position == cursors[cursor + 1]:
        position = atomic_add(shared, counter, SEGMENT)
        cursors[cursor + 1] = position + SEGMENT
    entries[position] = np.uint32(v)
    cursors[cursor] = position + 1


@device_function
def finish_segment(entries: Any, cursors: Any, cursor: Any) -> None:
    """Mark what is left of a thread's segment as unused."""
    for position in range(cursors[cursor], cursors[cursor + 1]):
        entries[position] = NO_VERTEX
    cursors[cursor] = 0
    cursors[cursor + 1] = 0


def make_kernel(
    compiled: CompiledProgram,
    binding: Binding,
    message: np.dtype,
    parameters: dict[str, Any],
    uniform: frozenset[str],
    buffered: bool = False,
) -> Any:
    """The kernel of one program for given dtypes.

    In the functions inside, ``graph`` is (n, m, `GRAPH_ARRAYS`), ``work`` is `WORK_ARRAYS` (both stand in
    `edgewise.engine.cpu.table`), ``own`` the program's own arrays, ``shared`` the counters. A vertex is
    active in a superstep, or got a message in it, if its stamp equals the superstep's.

    Args:
        compiled: the program's functions.
        binding: the program on a graph; only its dtypes matter here.
        message: the dtype of messages.
        parameters: parameter values; only their types matter here.
        uniform: edge fields that have one value for all arcs.
        buffered: whether messages go through a message buffer.
    """
    found, functions = binding.found, compiled.functions
    glue = make_glue(compiled, binding, uniform, device_function)
    make_state, fill_fields = glue.make_state, glue.fill_fields
    make_out_edge, make_in_edge = glue.make_out_edge, glue.make_in_edge
    fold_vertices, fold_parts, set_aggregates = glue.fold_vertices, glue.fold_parts, glue.set_aggregates
    edge_compute, initialize, resume, proceed = (
        functions[name] for name in ("edge_compute", "initialize", "resume", "proceed")
    )
    combine = functions.get("combine") or device_function(found.combine.function)
    make_messages = make_buffered if buffered else make_combined
    hand_over, compute = make_messages(compiled, binding, message, combine)
    ordered = found.combine.ordered(message) and not buffered
    has_proceed, has_resume, has_aggregates = found.has_proceed, found.has_resume, found.folds_always
    # Aggregates that are evaluated only where vertices resume, and at the end.
    has_late_aggregates = bool(found.aggregators) and not has_aggregates
    needs_arcs = found.needs_arc_index
    # Asked of every arc, a condition on the target alone moves out of the loop over its in-edges (compilers call it
    # unswitching): vertices that a search has reached then cost nothing.
    harmless = found.edge_compute_is_harmless
    # Once a logical combiner has its absorbing value no further message can change it.
    absorbing = found.combine.name == "ANY"
    can_stop = stops_early(found, message)
    pull_advantage = SEARCH_RATIO if can_stop and harmless else SUM_RATIO
    graph_arrays, work_arrays, own_arrays = make_readers(binding, message, parameters, buffered)

    @device_function
    def push_arcs(u, low, high, stamp, state, graph, own, work, shared, thread, alone, listing):
        """Send along the out-edges of one vertex from arc `low` to before arc `high`, where it has these; list the
        halted vertices that get their first message."""
        offsets, targets = graph[2], graph[3]
        received, active = work[1], work[2]
        for k in range(max(low, np.int64(offsets[u])), min(high, np.int64(offsets[u + 1]))):
            target = np.int64(targets[k])
            sent = edge_compute(make_out_edge(u, target, k, k, own), state)
            if sent is not None:
                hand_over(target, k, sent, alone, work)
                if received[target] != stamp:
                    first = True
                    if alone:
                        received[target] = stamp
                    else:
                        first = atomic_exchange(received, target, stamp) != stamp
                    if listing and first and active[target] != stamp:
                        append(work[5], work[6], 8 * thread, shared, TOUCHED, target)

    if not buffered:
        cast, identity = cast_and_identity(message, found.combine, device_function)

    @device_function
    def pull_vertex(v, stamp, everyone, state, graph, own, work):
        """Gather over the in-edges of one vertex."""
        in_offsets, in_sources, in_arcs = graph[4], graph[5], graph[6]
        messages, received, active = work[0], work[1], work[2]
        total, got = identity, False
        for k in range(np.int64(in_offsets[v]), np.int64(in_offsets[v + 1])):
            u = np.int64(in_sources[k])
            sends = everyone or active[u] == stamp
            if harmless or sends:
                arc = np.int64(in_arcs[k]) if needs_arcs else np.int64(0)
                sent = edge_compute(make_in_edge(u, v, k, arc, own), state)
                if sent is not None and sends:
                    total, got = cast(combine(total, cast(unwrap(sent)))), True
                    if can_stop and total == absorbing:
                        break
        if got:
            messages[v] = total
            received[v] = stamp

    @device_function
    def settle(v, stamp, state, graph, work):
        """Compute one vertex with its messages; whether it is active next."""
        if compute(v, stamp, state, graph, work):
            work[2][v] = stamp + np.uint32(1)
            return True
        return False

    @device_function
    def settle_list(entries, start, end, following, stamp, state, graph, work, shared, thread):
        """Compute listed vertices and list those that are active next; their number and out-edges are added."""
        count, edges = np.int64(0), np.int64(0)
        for position in range(start, end):
            v = np.int64(entries[position])
            if v != NO_VERTEX and settle(v, stamp, state, graph, work):
                append(following, work[6], 8 * thread, shared, NEXT, v)
                count += 1
                edges += np.int64(graph[2][v + 1]) - np.int64(graph[2][v])
        atomic_add(shared, COUNT, count)
        atomic_add(shared, EDGES, edges)

    @device_function
    def list_active(start, end, listed, stamp, work, shared, thread):
        for v in range(start, end):
            if work[2][v] == stamp:
                append(listed, work[6], 8 * thread, shared, NEXT, v)

    @device_function
    def next_superstep(shared):
        """What was listed for the next superstep becomes the list of this one."""
        shared[LISTED] = shared[NEXT]
        shared[NEXT] = 0
        shared[TOUCHED] = 0

    @device_function
    def superstep_alone(listed, following, stamp, state, graph, own, work, shared):
        for position in range(shared[LISTED]):
            u = np.int64(listed[position])
            if u != NO_VERTEX:
                push_arcs(u, 0, graph[1], stamp, state, graph, own, work, shared, 0, True, True)
        finish_segment(work[5], work[6], 0)
        shared[COUNT] = 0
        shared[EDGES] = 0
        settle_list(listed, 0, shared[LISTED], following, stamp, state, graph, work, shared, 0)
        settle_list(work[5], 0, shared[TOUCHED], following, stamp, state, graph, work, shared, 0)
        finish_segment(following, work[6], 0)
        next_superstep(shared)
        shared[FLIP] = 1 - shared[FLIP]

    @device_function
    def choose(n, m, shared, delivery, can_pull):
        """The form of the next superstep."""
        volume = shared[COUNT] + shared[EDGES]
        if delivery == PULL:
            return PULL_ALL
        if ordered:
            few = volume < max(shared[ALONE_WORK], m // 16) and not has_aggregates
            return ALONE if few or delivery == PUSH or not can_pull else PULL_ALL
        if volume < shared[ALONE_WORK] and not has_aggregates:
            return ALONE
        if volume * LIST_ADVANTAGE < n:
            return PUSH_LIST
        return PULL_ALL if can_pull and shared[EDGES] * pull_advantage > m else PUSH_ALL

    @device_function
    def ahead(n, m, shared, form):
        """How many vertices and arcs a superstep of this form looks at."""
        listed = shared[COUNT] + shared[EDGES] + (n if has_aggregates else 0)
        gathered = m // 4 if can_stop else m
        return n + gathered if form == PULL_ALL else n + listed if form == PUSH_ALL else listed

    @device_function
    def ending(n, m, own, shared, limit):
        """Why the run ends before the next superstep, as the number of an `Ending`, or -1 if it goes on."""
        superstep = shared[SUPERSTEP]
        if has_proceed and superstep > 0 and not proceed(make_state(own, n, m, superstep)):
            return STOPPED
        if shared[COUNT] == 0:
            return FINISHED
        return LIMITED if superstep == limit else -1

    @device_function
    def decide(control, graph, own, work, shared, budget, base, limit, delivery, can_pull):
        """Thread 0, between supersteps: end, or pick a form. Supersteps that need one thread are run at once."""
        n, m = graph[0], graph[1]
        blocks = (n + BLOCK - 1) // BLOCK
        while not cancelled(control):
            # Neither making a list nor going on changes an aggregate.
            if has_aggregates and shared[FORM] != MAKE_LIST and shared[ENDED] != GO_ON:
                fold_parts(0, blocks, 1, own)
                set_aggregates(own)
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
            listed, following = (work[3], work[4]) if shared[FLIP] == 0 else (work[4], work[3])
            if form <= PUSH_LIST and shared[LISTED] < 0:
                if not ordered:
                    shared[FORM] = MAKE_LIST
                    return
                list_active(0, n, listed, base + np.uint32(shared[SUPERSTEP] + 1), work, shared, 0)
                finish_segment(listed, work[6], 0)
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
                for block in range(blocks):
                    fold_vertices(block, block * BLOCK, min(n, (block + 1) * BLOCK), 1, state, own)

    @device_function
    def push_list(control, thread, listed, stamp, state, graph, own, work, shared):
        """Push from the vertices of the pieces of the list that this thread gets."""
        m, end = graph[1], shared[LISTED]
        while True:
            start = claim(control, 0, SEGMENT, end)
            if start >= end:
                break
            for position in range(start, min(end, start + SEGMENT)):
                u = np.int64(listed[position])
                if u != NO_VERTEX:
                    push_arcs(u, 0, m, stamp, state, graph, own, work, shared, thread, False, True)
        finish_segment(work[5], work[6], 8 * thread)

    @device_function
    def push_all(control, thread, stamp, state, graph, own, work, shared):
        """Push along the arcs of active vertices in the pieces that this thread gets; a vertex may be divided."""
        n, m, offsets, active = graph[0], graph[1], graph[2], work[2]
        while True:
            first, last, start, stop = claim_piece(control, 0, shared[PIECE], offsets, n, m)
            if start == stop:
                return
            for u in range(max(first - 1, 0), last):
                if active[u] == stamp:
                    low, high = start - u, stop - u
                    push_arcs(u, low, high, stamp, state, graph, own, work, shared, thread, False, False)

    @device_function
    def pull_all(control, stamp, state, graph, own, work, shared):
        """Gather over the in-edges of the vertices in the pieces that this thread gets."""
        n, m, in_offsets = graph[0], graph[1], graph[4]
        everyone = shared[COUNT] == n
        while True:
            first, last, start, stop = claim_piece(control, 0, shared[PIECE], in_offsets, n, m)
            if start == stop:
                return
            for v in range(first, last):
                pull_vertex(v, stamp, everyone, state, graph, own, work)

    @device_function
    def vertex_phase_list(control, thread, listed, following, stamp, state, graph, work, shared):
        """Compute the vertices of this thread's pieces of the two lists: active before, and got a message."""
        for slot in range(1, 3):
            entries, end = (listed, shared[LISTED]) if slot == 1 else (work[5], shared[TOUCHED])
            while True:
                start = claim(control, slot, SEGMENT, end)
                if start >= end:
                    break
                stop = min(end, start + SEGMENT)
                settle_list(entries, start, stop, following, stamp, state, graph, work, shared, thread)
        finish_segment(following, work[6], 8 * thread)

    @device_function
    def vertex_phase_all(control, stamp, state, graph, work, shared):
        """Compute the vertices of this thread's ranges that are active or got a message."""
        n, count, edges = graph[0], np.int64(0), np.int64(0)
        received, active = work[1], work[2]
        while True:
            start = claim(control, 1, shared[RANGE], n)
            if start >= n:
                break
            for v in range(start, min(n, start + shared[RANGE])):
                if (active[v] == stamp or received[v] == stamp) and settle(v, stamp, state, graph, work):
                    count += 1
                    edges += np.int64(graph[2][v + 1]) - np.int64(graph[2][v])
        atomic_add(shared, COUNT, count)
        atomic_add(shared, EDGES, edges)

    @device_function
    def fold_aggregates(control, state, n, own):
        """Fold the vertices of each block that this thread gets."""
        blocks = (n + BLOCK - 1) // BLOCK
        while True:
            block = claim(control, 3, 1, blocks)
            if block >= blocks:
                return
            fold_vertices(block, block * BLOCK, min(n, (block + 1) * BLOCK), 1, state, own)

    @device_function
    def fill(control, n, own, shared, supplied):
        """Fill fields on the ranges that this thread gets. `initialize` may read them anywhere."""
        while True:
            start = claim(control, 0, shared[RANGE], n)
            if start >= n:
                return
            fill_fields(start, min(n, start + shared[RANGE]), own, supplied)

    def make_asking(vote):
        """A function that asks all vertices whether they are active, on the ranges that a thread gets."""

        @device_function
        def ask(control, state, stamp, graph, work, shared):
            n, count, edges = graph[0], np.int64(0), np.int64(0)
            while True:
                start = claim(control, 1, shared[RANGE], n)
                if start >= n:
                    break
                for v in range(start, min(n, start + shared[RANGE])):
                    no_vectors()
                    if vote(v, state):
                        work[2][v] = stamp
                        count += 1
                        edges += np.int64(graph[2][v + 1]) - np.int64(graph[2][v])
            atomic_add(shared, COUNT, count)
            atomic_add(shared, EDGES, edges)

        return ask

    start_run = make_asking(initialize)
    if has_resume:
        ask_again = make_asking(resume)

        @device_function
        def resume_phase(control, thread, size, graph, own, work, shared, base):
            """Ask all vertices whether they resume, after late aggregates have been folded; True if cancelled."""
            n, m, superstep = graph[0], graph[1], shared[SUPERSTEP]
            state = make_state(own, n, m, superstep)
            if has_late_aggregates:
                fold_aggregates(control, state, n, own)
                if barrier(control, size):
                    return True
                if thread == 0:
                    fold_parts(0, (n + BLOCK - 1) // BLOCK, 1, own)
                    set_aggregates(own)
                if barrier(control, size):
                    return True
                state = make_state(own, n, m, superstep)
            ask_again(control, state, base + np.uint32(superstep + 1), graph, work, shared)
            if barrier(control, size):
                return True
            if thread == 0:
                shared[LISTED] = -1
                shared[RESUMED] = 1
                shared[SPENT] += n
            return False

    @device_function
    def list_phase(control, thread, listed, stamp, n, work, shared):
        """List the active vertices of the ranges that this thread gets."""
        while True:
            start = claim(control, 0, shared[RANGE], n)
            if start >= n:
                break
            list_active(start, min(n, start + shared[RANGE]), listed, stamp, work, shared, thread)
        finish_segment(listed, work[6], 8 * thread)

    def program_kernel(
        thread, size, control, shared, budget, table, n, m, base, limit, delivery, can_pull, supplied
    ):
        graph, work = graph_arrays(table, n, m), work_arrays(table)
        own = own_arrays(table)
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
                    fold_aggregates(control, make_state(own, n, m, superstep), n, own)
                    if not barrier(control, size) and thread == 0:
                        fold_parts(0, (n + BLOCK - 1) // BLOCK, 1, own)
                        set_aggregates(own)
                return
            if has_resume and form == RESUME:
                if resume_phase(control, thread, size, graph, own, work, shared, base):
                    return
                if has_aggregates:
                    fold_aggregates(control, make_state(own, n, m, superstep), n, own)
                continue
            listed, following = (work[3], work[4]) if shared[FLIP] == 0 else (work[4], work[3])
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
            elif not buffered:
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

    return named_kernel(program_kernel, binding, message, parameters, uniform, buffered)
