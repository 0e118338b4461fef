# mypy: disable-error-code="assignment"
# (A variable of a kernel may be a Python and a NumPy integer by turns: numba unifies them.)
"""The CUDA engine's kernel for asynchronous programs that combine by MIN or MAX, by clusters.

As in `edgewise.engine.cuda.best_first`, a vertex keeps the best message it ever got, as a key, and is computed when a
better one comes. A block visits a cluster (`edgewise.primitives.clusters`) and keeps the keys of its vertices in shared
memory, four vertices for each thread, until none gets a better message; only then, or after a few steps, vertices
send across its border, and the clusters there are woken.

Fields lie in the GPU's memory. If functions look at other vertices, a thread that sends across a border does so after a
fence, so whoever finds its message also finds what its block had written.
"""

from typing import Annotated, Any, NamedTuple

import numpy as np

from edgewise.engine.cuda.arguments import offset_dtype, own_type
from edgewise.engine.delivery import Delivery
from edgewise.engine.lowering.accessors import make_cast, make_glue
from edgewise.engine.lowering.binding import Binding
from edgewise.engine.lowering.compiled import CompiledProgram
from edgewise.kernels.cuda.arguments import Elements, Int32s, Keys, Offsets, Uint8s, Uint32s, type_of
from edgewise.kernels.cuda.device import (
    INT64,
    UINT8,
    UINT16,
    UINT32,
    WARP,
    atomic_add,
    atomic_min,
    ballot,
    block_any,
    block_barrier,
    block_thread,
    count_bits,
    cuda,
    device_function,
    fence,
    grid_barrier,
    inlined,
    lane,
    lanes_before,
    load_now,
    num_threads,
    numba_type,
    thread_index,
    warp_barrier,
)
from edgewise.primitives.cluster_queue import (
    BLOCK,
    ENDED,
    OPEN,
    OVER,
    WANTED,
    Visits,
    look,
    rest,
    wake,
)
from edgewise.primitives.clusters import MEET, MOST, make_loop, send
from edgewise.primitives.deal import degree, make_deal
from edgewise.primitives.near_far_rise import LARGEST
from edgewise.primitives.ordered_keys import key_dtype, make_keys, worst_key
from edgewise.program.reach import looks_at_others

#: The warps of a block, the words in which they tell each other by turns, and the vertices of a warp and of a thread.
_WARPS, _TOUCHED, _OF_WARP, _EACH = BLOCK // WARP, 2 * (BLOCK // WARP), WARP * (MOST // BLOCK), MOST // BLOCK
#: What is noted of a vertex: it is active from the start and has not sent yet; it has arcs across the border of its
#: cluster, and has sent, but not there; it was computed with a better key than memory has.
_FIRST, _CROSSES, _LATE, _NEW = (np.uint32(1 << bit) for bit in range(4))


class ByClusters(NamedTuple):
    """What the kernel takes.

    Attributes:
        offsets, targets: the graph.
        order, begins: its clusters.
        to, cluster, crosses: see `edgewise.layout.placed_arcs_cuda.PlacedArcs`.
        own: the program's arrays, a tuple in the order of `own_array_order`.
        visits: see `edgewise.primitives.cluster_queue`.
        computed: (n,): by place, the key with which a vertex was computed last.
        first: (n,): by place, whether a vertex is active from the start and has not sent yet.
        n, m, num_clusters: vertices, arcs and clusters.
        supplied: bits that say which vertex fields have an array to begin with.
    """

    offsets: Offsets
    targets: Uint32s
    order: Int32s
    begins: Int32s
    to: Int32s
    cluster: Int32s
    crosses: Uint8s
    own: Annotated[Any, Elements("own")]
    visits: Visits
    computed: Keys
    first: Uint8s
    n: int
    m: int
    num_clusters: int
    supplied: int


class _Shared(NamedTuple):
    """What the threads of a block share.

    Attributes:
        keys, done: (MOST,): of each vertex of the cluster, its best key, and that with which it was computed last.
        vertices, notes: (MOST,): which vertex it is, and what is noted of it.
        listed: (MOST,): for each warp, those of its vertices for which there is something to do.
        touched: (2 warps,): by turns, whether a vertex of each warp may have got a better key.
        least, chosen: see `edgewise.primitives.cluster_queue.Shared`.
    """

    keys: Any
    done: Any
    vertices: Any
    notes: Any
    listed: Any
    touched: Any
    least: Any
    chosen: Any


class _Here(NamedTuple):
    """The cluster that is visited: its first place, and how many vertices it has."""

    begin: Any
    count: Any


class _Rounds(NamedTuple):
    """What a warp does with its vertices: device functions, see `_make_rounds`."""

    load: Any
    compute: Any
    cross: Any
    refresh: Any


def signature(
    binding: Binding, message: np.dtype, parameters: dict[str, Any], delivery: Delivery
) -> tuple[Any, ...]:
    """The type of the kernel's argument."""
    own = own_type(binding, parameters)
    return (type_of(ByClusters, offset=offset_dtype(binding), own=own, key=key_dtype(message)),)


def _make_sending(key_along: Any, none: Any, whole: Any) -> tuple[Any, Any]:
    """Functions that send along the arcs of a warp's vertices, dealt out to its lanes: inside the cluster, and across
    its border. The arguments are those of `_make_rounds`. What is sent is found before it is known where the arc leads:
    then no load waits for another one."""

    @device_function
    def visit_inside(takes, v, key, k, context):
        turn, here, it, state, shared = context
        if takes:
            number, sent = np.int64(it.to[k]) - here.begin, key_along(v, k, it, state)
            if number >= 0 and number < here.count and sent < shared.keys[number]:
                atomic_min(shared.keys, number, whole(sent))
                shared.touched[turn + number // _OF_WARP] = 1
        return np.int64(0), np.int64(0)

    @device_function
    def visit_across(takes, v, key, k, context):
        _, here, it, state, _ = context
        if takes:
            p, sent = np.int64(it.to[k]), key_along(v, k, it, state)
            if (p < here.begin or p >= here.begin + here.count) and sent < none:
                send(whole(sent), p, np.int64(it.cluster[p]), it.visits)
        return np.int64(0), np.int64(0)

    return make_deal(visit_inside), make_deal(visit_across)


@inlined
def _first_number() -> Any:
    """The number of the first vertex of a warp, whose vertices lie side by side."""
    return (block_thread() - lane()) * _EACH


@inlined
def _listed(number: Any, wanted: Any, count: Any, shared: Any) -> Any:
    """Add the numbers of lanes that want it to the warp's list; how many it has."""
    bits = ballot(wanted)
    if wanted:
        shared.listed[_first_number() + count + lanes_before(bits)] = number
    return count + count_bits(bits)


def _make_load(none: Any, whole: Any) -> Any:
    """`load` of `_Rounds`. The arguments are those of `_make_rounds`."""

    @inlined
    def load(here, it, shared):
        """Share what is known of the vertices."""
        for i in range(_EACH):
            number = _first_number() + i * WARP + lane()
            key, done, v, notes = whole(none), whole(none), np.uint32(0), np.uint32(0)
            if number < here.count:
                p = here.begin + number
                key, done, v = load_now(it.visits.best, p), it.computed[p], np.uint32(it.order[p])
                if it.crosses[p] != 0:
                    notes |= _CROSSES
                if it.first[p] != 0:
                    notes |= _FIRST
                    it.first[p] = 0
            shared.keys[number], shared.done[number] = key, done
            shared.vertices[number], shared.notes[number] = v, notes
        if lane() == 0:
            warp = block_thread() // WARP
            shared.touched[warp], shared.touched[_WARPS + warp] = 1, 0

    return load


def _make_compute(vertex_compute: Any, message_of: Any, send_inside: Any, whole: Any, fences: bool) -> Any:
    """`compute` of `_Rounds`. The arguments are those of `_make_rounds`, and of `_make_sending`."""

    @inlined
    def compute_one(number, starts, it, state, shared):
        """Compute a vertex with a better message; whether it sends."""
        key, notes = np.int64(shared.keys[number]), shared.notes[number]
        sends = starts and (notes & _FIRST) != 0
        if key < shared.done[number]:
            shared.done[number] = whole(key)
            notes |= _NEW
            if vertex_compute(np.int64(shared.vertices[number]), message_of(key), state):
                sends = True
        if sends:
            notes = (notes & ~_FIRST) | ((notes & _CROSSES) << np.uint32(1))
        shared.notes[number] = notes
        return sends

    @inlined
    def compute(starts, turn, here, it, state, shared):
        """One step: compute vertices that got a better message, or, in the first step, are active; whether there were
        any."""
        mine, count = turn + block_thread() // WARP, np.int64(0)
        if ballot(shared.touched[mine] != 0) != 0:
            if lane() == 0:
                shared.touched[mine] = 0
            for i in range(_EACH):
                number = _first_number() + i * WARP + lane()
                wanted = shared.keys[number] < shared.done[number]
                if starts and (shared.notes[number] & _FIRST) != 0:
                    wanted = True
                count = _listed(number, wanted, count, shared)
            warp_barrier()
            for i in range(lane(), count + lane(), WARP):
                v, start, arcs = np.int64(0), np.int64(0), np.int64(0)
                if i < count:
                    number = np.int64(shared.listed[_first_number() + i])
                    v = np.int64(shared.vertices[number])
                    start, arcs = np.int64(it.offsets[v]), degree(v, it.offsets)
                    if not compute_one(number, starts, it, state, shared):
                        arcs = np.int64(0)
                if fences:
                    fence()
                warp_barrier()
                send_inside(v, start, arcs, np.int64(0), (_WARPS - turn, here, it, state, shared))
        return count > 0

    return compute


def _make_cross(send_across: Any, fences: bool) -> Any:
    """`cross` of `_Rounds`. The arguments are those of `_make_rounds`, and of `_make_sending`."""

    @inlined
    def cross(here, it, state, shared):
        """Write better keys, and send across the border."""
        count = np.int64(0)
        for i in range(_EACH):
            number = _first_number() + i * WARP + lane()
            notes = shared.notes[number]
            if (notes & _NEW) != 0:
                atomic_min(it.visits.best, here.begin + number, shared.done[number])
            shared.notes[number] = notes & ~(_NEW | _LATE)
            count = _listed(number, (notes & _LATE) != 0, count, shared)
        warp_barrier()
        if fences and count > 0:
            fence()
        for i in range(lane(), count + lane(), WARP):
            v, start, arcs = np.int64(0), np.int64(0), np.int64(0)
            if i < count:
                v = np.int64(shared.vertices[np.int64(shared.listed[_first_number() + i])])
                start, arcs = np.int64(it.offsets[v]), degree(v, it.offsets)
            send_across(v, start, arcs, np.int64(0), (np.int64(0), here, it, state, shared))

    return cross


def _make_refresh(fences: bool) -> Any:
    """`refresh` of `_Rounds`. The argument is that of `_make_rounds`."""

    @inlined
    def refresh(turn, here, it, shared):
        """Take better keys from memory. No load waits for another one."""
        found, last = False, here.count - 1
        i = _first_number() + lane()
        j, k, m = i + WARP, i + 2 * WARP, i + 3 * WARP
        new_i, new_j, new_k, new_m = (
            load_now(it.visits.best, here.begin + min(i, last)),
            load_now(it.visits.best, here.begin + min(j, last)),
            load_now(it.visits.best, here.begin + min(k, last)),
            load_now(it.visits.best, here.begin + min(m, last)),
        )
        for number, key in ((i, new_i), (j, new_j), (k, new_k), (m, new_m)):
            if number <= last and key < shared.keys[number]:
                shared.keys[number], found = key, True
        if found:
            shared.touched[turn + block_thread() // WARP] = 1
        if fences:
            fence()

    return refresh


def _make_rounds(
    vertex_compute: Any, key_along: Any, message_of: Any, none: Any, whole: Any, fences: bool
) -> _Rounds:
    """What a warp does with its vertices.

    Args:
        vertex_compute: the program's.
        key_along: ``key_along(v, k, it, state)``: the key of what v sends along arc k, or `none`.
        message_of: the message of a key, as the program gets it.
        none: the key of no message.
        whole: the type of keys in memory.
        fences: whether functions look at other vertices, too. They have to see what was written before a message was
            sent.
    """
    send_inside, send_across = _make_sending(key_along, none, whole)
    return _Rounds(
        _make_load(none, whole),
        _make_compute(vertex_compute, message_of, send_inside, whole, fences),
        _make_cross(send_across, fences),
        _make_refresh(fences),
    )


def _make_visit(rounds: _Rounds, make_state: Any) -> Any:
    """The function that visits a cluster, for `make_loop`."""
    load, compute, cross, refresh = rounds

    @inlined
    def visit(c, n, it, run, shared):
        """Visit a cluster until none of its vertices gets a better message, and its block is needed elsewhere or all is
        over."""
        state, begin = make_state(it.own, n, it.m, np.int64(0)), np.int64(it.begins[c])
        here, turn = _Here(begin, np.int64(it.begins[c + 1]) - begin), np.int64(0)
        starts, looks = True, np.int64(0)
        load(here, it, shared)
        block_barrier()
        while True:
            settled, waiting, ended = False, LARGEST, np.int64(0)
            if block_thread() == 0:
                waiting, ended = load_now(run.pending, c), load_now(run.control, ENDED)
            for _ in range(MEET):
                works = compute(starts, turn, here, it, state, shared)
                turn, starts = _WARPS - turn, False
                if not block_any(works):
                    settled = True
                    break
            cross(here, it, state, shared)
            if block_thread() == 0:
                looks = look(looks, run)
                woken = waiting < LARGEST and wake(c, -1, run)
                shared.chosen[0] = OVER if ended != 0 else np.int64(woken)
            block_barrier()
            if settled and shared.chosen[0] == 0:
                block_barrier()
                if block_thread() == 0:
                    shared.chosen[0] = np.int64(rest(c, run))
                block_barrier()
            if shared.chosen[0] > 0:
                refresh(turn, here, it, shared)
            elif settled or shared.chosen[0] == OVER:
                break
            block_barrier()
        for number in range(block_thread(), here.count, BLOCK):
            it.computed[begin + number] = shared.done[number]
        block_barrier()

    return visit


def make_cluster_kernel(
    compiled: CompiledProgram,
    binding: Binding,
    message: np.dtype,
    uniform: frozenset[str],
    delivery: Delivery,
) -> Any:
    """The kernel of one program for given dtypes, to be compiled for `signature`.

    The arguments are those of `edgewise.engine.cuda.kernel.make_gpu_kernel`; messages are pushed, and nothing is asked
    of the balance.
    """
    spec, functions = binding.spec, compiled.functions
    glue = make_glue(compiled, binding, uniform, device_function)
    make_state, fill_fields, make_out_edge = glue.make_state, glue.fill_fields, glue.make_out_edge
    edge_compute, initialize = functions["edge_compute"], functions["initialize"]
    cast = make_cast(message, device_function, spec.combine)
    key_of, real_message_of, _, _ = make_keys(message, spec.combine.name == "MIN")
    none, whole = np.int64(worst_key(message)), key_dtype(message).type
    kind = numba_type(key_dtype(message))

    @device_function
    def message_of(key):
        return cast(real_message_of(key))

    @device_function
    def key_along(v, k, it, state):
        sent = edge_compute(make_out_edge(v, np.int64(it.targets[k]), k, k, it.own), state)
        if sent is not None:
            value = cast(sent * 1)
            if value == value:
                return key_of(value)
        return none

    rounds = _make_rounds(
        functions["vertex_compute"], key_along, message_of, none, whole, looks_at_others(spec)
    )
    visits = make_loop(_make_visit(rounds, make_state))

    def cluster_kernel(it):
        keys = cuda.shared.array(MOST, kind)
        done = cuda.shared.array(MOST, kind)
        vertices = cuda.shared.array(MOST, UINT32)
        notes = cuda.shared.array(MOST, UINT8)
        numbers = cuda.shared.array(MOST, UINT16)
        touched = cuda.shared.array(_TOUCHED, UINT32)
        least = cuda.shared.array(1, INT64)
        chosen = cuda.shared.array(1, INT64)
        run, n = it.visits, it.n
        for p in range(thread_index(), n, num_threads()):
            fill_fields(p, p + 1, it.own, it.supplied)
            run.best[p] = none
            it.computed[p] = none
        for c in range(thread_index(), it.num_clusters, num_threads()):
            run.pending[c] = LARGEST
            run.taken[c] = 0
        generation = grid_barrier(run.control, np.int64(0))
        state = make_state(it.own, n, it.m, np.int64(0))
        for p in range(thread_index(), n, num_threads()):
            v = np.int64(it.order[p])
            starts = np.uint8(0)
            if initialize(v, state) and degree(v, it.offsets) > 0:
                starts = np.uint8(1)
            it.first[p] = starts
        generation = grid_barrier(run.control, generation)
        for p in range(thread_index(), n, num_threads()):
            if it.first[p] != 0:
                k = np.int64(it.offsets[np.int64(it.order[p])])
                key = min(key_along(np.int64(it.order[p]), k, it, state), LARGEST - 1)
                if atomic_min(run.pending, np.int64(it.cluster[p]), key) == LARGEST:
                    atomic_add(run.control, OPEN, 1)
                    atomic_add(run.control, WANTED, 1)
        generation = grid_barrier(run.control, generation)
        visits(n, it, run, _Shared(keys, done, vertices, notes, numbers, touched, least, chosen), generation)

    return cluster_kernel
