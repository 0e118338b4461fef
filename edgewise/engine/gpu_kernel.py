"""The CUDA engine's kernel: the whole loop of a program inside one cooperative launch.

Every thread of the grid stays in the kernel until the run ends, and all meet at a barrier of 1.4 µs between the phases
of a superstep; the host waits. Who is active, and who got a message, is a stamp that equals the superstep's, as in the
CPU engine (`edgewise.engine.cpu_kernel`), and the number of active vertices with that of their out-edges decides
between two forms:

*push from a list*
    Listed vertices send along their out-edges; messages are combined by atomic operations, and vertices that got a
    first message are listed.
*pull over all*
    All vertices gather over their in-edges, without atomics.

Who does which arcs is a view (`edgewise.balance`). Left to itself, a push deals out pieces of at most 64 arcs, a pull
has lanes by degree. Combiners that depend on the order, and those that the GPU has no atomic operation for, are always
pulled: the lanes' parts are combined in a fixed order, so the sums do not depend on timing.
"""

from typing import Any, NamedTuple

import numpy as np

from edgewise.balance.binned import SCRATCH, make_binned
from edgewise.balance.block import make_block_mapped
from edgewise.balance.deal import TALLY_WORDS, WARPS, add_to_total, append, degree, list_pieces, make_walk
from edgewise.balance.grouped import make_grouped
from edgewise.balance.outbox import BOX_WORDS, Boxes, make_outbox
from edgewise.balance.split import (
    WHOLE,
    Children,
    children_types,
    list_children,
    make_split_pull,
    make_split_push,
)
from edgewise.engine.binding import Binding
from edgewise.engine.compiled import CompiledProgram
from edgewise.engine.cpu_kernel import AUTO, PULL, PULL_ADVANTAGE, PULL_ADVANTAGE_OF_SEARCHES
from edgewise.engine.glue import make_cast, make_glue, own_array_order, own_dtypes
from edgewise.engine.keys import key_dtype, make_keys, worst_key
from edgewise.inspection import Specification
from edgewise.kernels.gpu import (
    HALVES,
    INT32,
    INT64,
    UINT32,
    WARP,
    array,
    atomic_add,
    atomic_exchange,
    atomic_max,
    atomic_min,
    ballot,
    block_barrier,
    block_size,
    block_thread,
    cuda,
    device_function,
    grid_barrier,
    lane,
    num_threads,
    numba_type,
    pointer,
    shuffle_down,
    thread_index,
    tuple_of,
)
from edgewise.kernels.gpu_host import CANCEL, PROGRESS
from edgewise.program import Combiner
from edgewise.schedule import Balance, BlockMapped, NodeSplitting, ThreadMapped, WarpMapped

#: Words of the array `control`. Word 0 counts arrivals at the barrier. COUNT, EDGES and PIECES are the active vertices,
#: their out-edges and pieces, TOUCHED those that got a first message while being halted; each has three words, for this
#: superstep, the next and the one after, which is set to 0 meanwhile.
COUNT, EDGES, TOUCHED, PIECES, SUPERSTEP, ENDED, FORMS = 16, 19, 22, 25, 28, 29, 30
CONTROL_WORDS = 32
PUSH_LIST, PULL_ALL = range(2)
FORM_NAMES = ("push from a list", "pull over all vertices")
CANCELLED = 3
#: Supersteps of no more active vertices and out-edges look at the host's words once in so many.
LARGE, LOOK = 1 << 18, 64
#: Vertices are folded for the aggregates in so many parts, those in so many, and so on: it fixes the order of sums.
FOLDS = (65_536, 1024, 32, 1)

#: The arrays of a run that are read and written without atomic operations.
WORK_ARRAYS = ("active", "list", "other_list", "touched")


class Run(NamedTuple):
    """What is the same in all supersteps.

    Attributes:
        graph: offsets, targets, in_offsets, in_sources, and the arcs of in-edges.
        own: the program's arrays.
        work: see WORK_ARRAYS.
        messages, received: for each vertex what it got, and the stamp of the superstep in which it did.
        units: what was listed of the active vertices, if something is: pieces (`edgewise.balance.deal`) or children.
        plan: what node splitting needs: see `plan_types`.
        control: int64, (CONTROL_WORDS,).
        tally, totals, flags, boxes: shared by a block: for `add_to_total`, for the parts of a vertex's message and
            whether there are any, and for an outbox.
    """

    graph: Any
    own: Any
    work: Any
    messages: Any
    received: Any
    units: Any
    plan: Any
    control: Any
    tally: Any
    totals: Any
    flags: Any
    boxes: Any


def may_push(found: Specification, message: np.dtype) -> bool:
    """Whether messages can be combined by atomic operations in any order."""
    return found.combine.name in ("MIN", "MAX", "SUM", "ANY", "ALL") and not found.combine.ordered(message)


def make_view(balance: Balance) -> Any:
    """The view of a schedule's choice; lanes by degree for "auto"."""
    if isinstance(balance, ThreadMapped):
        return make_grouped(1)
    if isinstance(balance, WarpMapped):
        return make_grouped(balance.lanes)
    return make_block_mapped if isinstance(balance, BlockMapped) else make_binned


def has_keys(combine: Combiner, message: np.dtype) -> bool:
    """Whether messages are stored as their keys: there are no atomic operations for the best of floats."""
    return message.kind == "f" and combine.name in ("MIN", "MAX")


def stored(combine: Combiner, message: np.dtype) -> np.dtype:
    """The dtype in which messages are stored. There are no atomic operations on single bytes, either."""
    return key_dtype(message) if has_keys(combine, message) or message.kind == "b" else message


def stored_identity(combine: Combiner, message: np.dtype) -> Any:
    """What is stored where no message came."""
    value = worst_key(message) if has_keys(combine, message) else combine.identity(message)
    return stored(combine, message).type(value)


def kept_dtype(message: np.dtype) -> np.dtype:
    """The dtype in which messages are combined. Booleans take four bytes."""
    return np.dtype(np.int32) if message.kind == "b" else message


def part_dtypes(message: np.dtype) -> tuple[np.dtype, np.dtype]:
    """The dtypes of a part of a message, and of whether there is one."""
    return kept_dtype(message), np.dtype(np.uint8)


def plan_types(offsets: np.dtype, message: np.dtype, balance: Balance) -> list[Any]:
    """The types of what a balance needs.

    That is, for node splitting, `Children` of out-edges and of in-edges, and of the children of in-edges what they got
    (as it is combined) and whether they did.
    """
    if not isinstance(balance, NodeSplitting):
        return []
    parts = [pointer(dtype) for dtype in part_dtypes(message)]
    return [*children_types(offsets), *children_types(offsets), *parts]


def signature(
    binding: Binding, message: np.dtype, parameters: dict[str, Any], balance: Balance
) -> tuple[Any, ...]:
    """The types of the kernel's arguments."""
    offsets, vertex = np.dtype(f"u{binding.graph.stored('offsets').itemsize}"), np.dtype(np.uint32)
    graph = [pointer(dtype) for dtype in (offsets, vertex, offsets, vertex, offsets)]
    dtypes = own_dtypes(binding, parameters)
    own = [dtypes[kind][name] for kind, name in own_array_order(binding.found)]
    return (
        tuple_of(graph),
        tuple_of([pointer(vertex)] * len(WORK_ARRAYS)),
        pointer(np.dtype(np.int64)),
        tuple_of([array(dtype) if dtype.kind == "b" else pointer(dtype) for dtype in own]),
        array(stored(binding.found.combine, message)),
        array(vertex),
        array(np.dtype(np.int64)),
        pointer(np.dtype(np.int64)),
        *[INT64] * 7,
        tuple_of(plan_types(offsets, message, balance)),
    )


def make_gpu_kernel(
    compiled: CompiledProgram,
    binding: Binding,
    message: np.dtype,
    uniform: frozenset[str],
    balance: Balance = "auto",
) -> Any:
    """The kernel of one program for given dtypes, to be compiled for `signature`.

    Args:
        compiled: the program's functions.
        binding: the program on a graph; only its dtypes matter here.
        message: the dtype of messages.
        uniform: edge fields that have one value for all arcs.
        balance: who does which arcs.
    """
    found, functions = binding.found, compiled.functions
    glue = make_glue(compiled, binding, uniform, device_function)
    make_state, fill_fields = glue.make_state, glue.fill_fields
    make_out_edge, make_in_edge = glue.make_out_edge, glue.make_in_edge
    fold_vertices, fold_parts, set_aggregates = glue.fold_vertices, glue.fold_parts, glue.set_aggregates
    edge_compute, vertex_compute = functions["edge_compute"], functions["vertex_compute"]
    initialize, proceed = functions["initialize"], functions["proceed"]
    combine = functions.get("combine") or device_function(found.combine.function)
    name, keyed = found.combine.name, has_keys(found.combine, message)
    kept_as = kept_dtype(message)
    cast, store = make_cast(message, device_function), make_cast(kept_as, device_function)
    identity, nothing = kept_as.type(found.combine.identity(message)), stored_identity(found.combine, message)
    has_proceed, has_aggregates = found.has_proceed, bool(found.aggregators)
    needs_arcs, harmless = found.needs_arc_index, found.edge_compute_is_harmless
    pushes = may_push(found, message)
    absorbing = name == "ANY"
    can_stop = name in ("ANY", "ALL") and message.kind == "b" and not found.edge_writes
    pull_advantage = PULL_ADVANTAGE_OF_SEARCHES if can_stop and harmless else PULL_ADVANTAGE
    folds = FOLDS
    total_type = numba_type(kept_as)

    @device_function
    def as_it_is(value):
        return value

    encoded = decoded = as_it_is
    if keyed:
        key_of, decoded, _, _ = make_keys(message, name == "MIN")
        key_type = key_dtype(message).type

        @device_function
        def encoded(value):
            return key_type(key_of(value))

        @device_function
        def combine_at(messages, target, value):
            """Not a number is never better."""
            if value == value:
                atomic_min(messages, target, encoded(value))

    elif name == "MIN":
        combine_at = atomic_min
    elif name == "MAX":
        combine_at = atomic_max
    elif name == "SUM":
        combine_at = atomic_add
    else:

        @device_function
        def combine_at(messages, target, value):
            """ANY and ALL: whoever has the deciding value writes it, and all write the same."""
            if (value != 0) == absorbing:
                messages[target] = value

    @device_function
    def send(u, k, target, stamp, state, run):
        """Send along one arc; whether its target is halted and got its first message by that."""
        sent = edge_compute(make_out_edge(u, target, k, k, run.own), state)
        if sent is not None:
            combine_at(run.messages, target, store(cast(sent * 1)))
            if run.received[target] != stamp:
                first = atomic_exchange(run.received, target, np.uint32(stamp)) != stamp
                return first and run.work[0][target] != stamp
        return False

    @device_function
    def list_touched(v, wanted, context):
        """List vertices that got a first message."""
        run, turn = context
        append(run.work[3], run.control, TOUCHED + turn, v, wanted)
        return np.int64(0)

    put, flush = make_outbox(0, list_touched)

    @device_function
    def visit(takes, v, key, k, context):
        """Send along one arc, lanes of a warp at once; list the target if it is halted and got its first message."""
        stamp, state, run, turn = context
        first, target = False, np.int64(0)
        if takes:
            target = np.int64(run.graph[1][k])
            first = send(v, k, target, stamp, state, run)
        return put(target, first, run.boxes, (run, turn)), np.int64(0)

    @device_function
    def scatter(v, first, end, step, lanes, context):
        """Send along the out-edges of a unit."""
        while ballot(first < end) != 0:
            visit(first < end, v, np.int64(0), first, context)
            first += step

    @device_function
    def gather(v, start, end, step, stamp, everyone, state, run):
        """Combine the messages along in-edges of one vertex; (the total, whether there was one)."""
        total, got = identity, False
        for k in range(start, end, step):
            u = np.int64(run.graph[3][k])
            sends = everyone or run.work[0][u] == stamp
            if harmless or sends:
                arc = np.int64(run.graph[4][k]) if needs_arcs else np.int64(0)
                sent = edge_compute(make_in_edge(u, v, k, arc, run.own), state)
                if sent is not None and sends:
                    total, got = store(cast(combine(cast(total), cast(sent * 1)))), True
                    if can_stop and (total != 0) == absorbing:
                        break
        return total, got

    @device_function
    def sum_lanes(total, lanes):
        """The parts of so many adjacent lanes combined, at the first of them."""
        for step in HALVES:
            if step < lanes:
                total = store(cast(combine(cast(total), cast(shuffle_down(total, step)))))
        return total

    @device_function
    def deliver(v, total, stamp, run):
        """Store the message that a vertex gathered."""
        run.messages[v] = encoded(total)
        run.received[v] = stamp

    @device_function
    def gather_unit(v, first, end, step, lanes, context):
        """Gather over the in-edges of a unit, and store the message of its vertex."""
        stamp, everyone, state, run = context
        total, got = gather(v, first, end, step, stamp, everyone, state, run)
        leads = v >= 0
        if lanes > 1:
            bits, total = ballot(got), sum_lanes(total, lanes)
            place = lane() % lanes
            ours = np.uint32(bits >> np.uint32(lane() - place)) & np.uint32(
                0xFFFFFFFF >> (WARP - min(lanes, np.int64(WARP)))
            )
            got, leads = ours != 0, leads and place == 0
        if lanes > WARP:
            if lane() == 0:
                run.totals[block_thread() // WARP], run.flags[block_thread() // WARP] = total, got
            block_barrier()
            leads = block_thread() == 0
            if leads:
                for warp in range(1, block_size() // WARP):
                    total = store(cast(combine(cast(total), cast(run.totals[warp]))))
                    got = got or run.flags[warp] != 0
            block_barrier()
        if leads and got:
            deliver(v, total, stamp, run)

    @device_function
    def gather_part(v, first, end, part, context):
        """Gather over some in-edges of a vertex, and store the message, or what becomes a part of it."""
        stamp, everyone, state, run = context
        total, got = gather(v, first, end, np.int64(1), stamp, everyone, state, run)
        if part != WHOLE:
            run.plan[8][part], run.plan[9][part] = total, got
        elif v >= 0 and got:
            deliver(v, total, stamp, run)

    @device_function
    def join_parts(v, first, end, context):
        """Combine the parts of a vertex's message, lanes of a warp at once."""
        stamp, _, _, run = context
        total, got = identity, False
        for begin in range(first, end, WARP):
            part, one, has = begin + lane(), identity, False
            if part < end and run.plan[9][part] != 0:
                one, has = run.plan[8][part], True
            bits, one = ballot(has), sum_lanes(one, WARP)
            if bits != 0:
                total, got = store(cast(combine(cast(total), cast(one)))), True
        if lane() == 0 and got:
            deliver(v, total, stamp, run)

    # Three ways of giving arcs out: what is listed of a vertex, and what is done with that; and how all are pulled.
    if isinstance(balance, NodeSplitting):
        scatter_all, gather_all = make_split_push(scatter), make_split_pull(gather_part, join_parts)

        @device_function
        def out_children(run):
            return Children(run.plan[0], run.plan[1], run.plan[2], run.plan[3])

        @device_function
        def list_units(v, active, turn, run):
            list_children(v, active, run.units, run.control, PIECES + turn, out_children(run))
            return degree(v, run.graph[0]) if active else np.int64(0)

        @device_function
        def push_all(listed, count, turn, scratch, context, run):
            scatter_all(run.units, run.control[PIECES + turn], out_children(run), context)

        @device_function
        def pull_all(listed, n, scratch, generation, context, run):
            inward = Children(run.plan[4], run.plan[5], run.plan[6], run.plan[7])
            return gather_all(n, inward, run.control, generation, context)

    else:
        view = make_view(balance)
        gather_all = view(gather_unit, False)

        @device_function
        def pull_all(listed, n, scratch, generation, context, run):
            gather_all(listed, n, run.graph[2], scratch, context)
            return generation

        if balance == "auto":
            walk = make_walk(visit)

            @device_function
            def list_units(v, active, turn, run):
                return list_pieces(v, active, run.units, run.control, PIECES + turn, run.graph[0])

            @device_function
            def push_all(listed, count, turn, scratch, context, run):
                walk(run.units, run.control[PIECES + turn], run.graph[0], context)

        else:
            scatter_all = view(scatter, True)

            @device_function
            def list_units(v, active, turn, run):
                return degree(v, run.graph[0]) if active else np.int64(0)

            @device_function
            def push_all(listed, count, turn, scratch, context, run):
                scatter_all(listed, count, run.graph[0], scratch, context)

    @device_function
    def settle(v, stamp, state, run):
        """Compute one vertex with its message; whether it is active next."""
        incoming = identity
        if run.received[v] == stamp:
            incoming = decoded(run.messages[v])
            run.messages[v] = nothing
        if vertex_compute(v, cast(incoming), state):
            run.work[0][v] = stamp + 1
            return True
        return False

    @device_function
    def list_active(v, active, following, turn, run):
        """List the active vertices of this warp's lanes, if they are ever listed; the out-edges of this lane's."""
        if pushes:
            append(following, run.control, COUNT + turn, v, active)
            return list_units(v, active, turn, run)
        return degree(v, run.graph[0]) if active else np.int64(0)

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
                v = i
                if everywhere:
                    takes = run.work[0][v] == stamp or run.received[v] == stamp
                else:
                    v = np.int64(listed[i]) if i < count else np.int64(run.work[3][i - count])
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

    @device_function
    def start_run(n, m, base, supplied, generation, run):
        """Fill fields, call initialize and list who is active."""
        me, turn, edges, active = thread_index(), np.int64(0), np.int64(0), np.int64(0)
        for v in range(me, n, num_threads()):
            fill_fields(v, v + 1, run.own, supplied)
        generation = grid_barrier(run.control, generation)
        state = make_state(run.own, n, m, 0)
        for begin in range(me - lane(), n, num_threads()):
            starts, v = False, begin + lane()
            if v < n and initialize(v, state):
                starts = True
                run.work[0][v] = base + 1
                active += 1
            edges += list_active(v, starts, run.work[1], turn, run)
        count_active(edges, active, turn, run)
        generation = grid_barrier(run.control, generation)
        if has_aggregates:
            generation = aggregate(n, state, run.own, run.control, generation)
        return generation

    @device_function
    def ending(n, m, own, superstep, count, limit, cancelled):
        """Why the run ends before the next superstep, as an index of ENDINGS, or -1 if it goes on."""
        if cancelled:
            return CANCELLED
        if has_proceed and superstep > 0 and not proceed(make_state(own, n, m, superstep)):
            return 2
        if count == 0:
            return 0
        return 1 if superstep == limit else -1

    def program_kernel(
        graph,
        work,
        units,
        own,
        messages,
        received,
        control,
        host,
        n,
        m,
        base,
        limit,
        delivery,
        can_pull,
        supplied,
        plan,
    ):
        tally = cuda.shared.array(TALLY_WORDS, INT64)
        scratch = cuda.shared.array(SCRATCH, UINT32)
        totals = cuda.shared.array(WARPS, total_type)
        flags = cuda.shared.array(WARPS, INT32)
        waiting = cuda.shared.array(BOX_WORDS, UINT32)
        held = cuda.shared.array(WARPS, UINT32)
        boxes = Boxes(waiting, held)
        run = Run(graph, own, work, messages, received, units, plan, control, tally, totals, flags, boxes)
        if lane() == 0:
            held[block_thread() // WARP] = 0
        me, turn, superstep, flipped = thread_index(), np.int64(0), np.int64(0), False
        generation = start_run(n, m, base, supplied, np.int64(0), run)
        while True:
            count, edges = control[COUNT + turn], control[EDGES + turn]
            ended = ending(n, m, own, superstep, count, limit, control[ENDED] == CANCELLED)
            if ended >= 0:
                if me == 0:
                    control[ENDED] = ended
                    control[SUPERSTEP] = superstep
                return
            superstep += 1
            following, spare = (turn + 1) % 3, (turn + 2) % 3
            stamp, state = base + superstep, make_state(own, n, m, superstep)
            pull = not pushes or delivery == PULL
            if pushes and delivery == AUTO and can_pull != 0:
                pull = edges * pull_advantage > m
            listed, next_list = (work[2], work[1]) if flipped else (work[1], work[2])
            if pull:
                gathers = (stamp, count == n, state, run)
                generation = pull_all(listed, n, scratch, generation, gathers, run)
            elif pushes:
                push_all(listed, count, turn, scratch, (stamp, state, run, turn), run)
                flush(boxes, (run, turn))
            if me == 0:
                control[COUNT + spare] = 0
                control[EDGES + spare] = 0
                control[TOUCHED + spare] = 0
                control[PIECES + spare] = 0
                control[FORMS + (PULL_ALL if pull else PUSH_LIST)] += 1
            generation = grid_barrier(control, generation)
            touched = control[TOUCHED + turn]
            settle_some(n, listed, count, touched, next_list, following, pull, stamp, state, run)
            # The host's memory is 2 µs away: small supersteps look there now and then, large ones each time.
            if me == 0 and (superstep % LOOK == 0 or count + edges > LARGE):
                host[PROGRESS] = superstep
                if host[CANCEL] != 0:
                    control[ENDED] = CANCELLED
            generation = grid_barrier(control, generation)
            if has_aggregates:
                generation = aggregate(n, state, own, control, generation)
            turn, flipped = following, not flipped

    return program_kernel
