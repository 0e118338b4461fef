# mypy: disable-error-code="assignment"
# (A variable of a kernel may be a Python and a NumPy integer by turns: numba unifies them.)
"""The CUDA engine's kernel for asynchronous programs that combine by MIN or MAX, by clusters.

As in `edgewise.engine.cuda.best_first`, a vertex keeps the best message it ever got, as a key, and is computed when a
better one comes. A block visits a cluster (`edgewise.primitives.clusters`) and keeps the keys of its vertices in shared
memory, four vertices for each thread, until none gets a better message; only then, or after a few steps, vertices
send across its border, and the clusters there are woken.

Fields lie in the GPU's memory. A thread that sends across a border does so after a fence, so whoever finds its message
also finds what its block had written.
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
    UINT32,
    WARP,
    atomic_add,
    atomic_min,
    ballot,
    block_any,
    block_barrier,
    block_thread,
    cuda,
    device_function,
    fence,
    grid_barrier,
    inlined,
    lane,
    load_now,
    num_threads,
    numba_type,
    thread_index,
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
from edgewise.primitives.deal import degree
from edgewise.primitives.near_far_rise import LARGEST
from edgewise.primitives.ordered_keys import key_dtype, make_keys, worst_key

#: The warps of a block, the words in which they tell each other by turns, and the vertices of a thread.
_WARPS, _TOUCHED, _EACH = BLOCK // WARP, 2 * (BLOCK // WARP), MOST // BLOCK
#: What a thread notes of each of its vertices, in 8 bits: it is active from the start and has not sent yet; it has arcs
#: across the border of its cluster, and has sent, but not there; it was computed with a better key than its memory has.
_FIRST, _CROSSES, _LATE, _NEW, _BITS = np.uint32(1), np.uint32(2), np.uint32(4), np.uint32(8), np.uint32(8)


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
        touched: (2 warps,): by turns, whether a vertex of each warp may have got a better key.
        least, chosen: see `edgewise.primitives.cluster_queue.Shared`.
    """

    keys: Any
    done: Any
    touched: Any
    least: Any
    chosen: Any


class _Here(NamedTuple):
    """The cluster that is visited: its number, its first place, how many vertices it has."""

    c: Any
    begin: Any
    count: Any


class _Vertex(NamedTuple):
    """What is done with a vertex of a cluster: device functions, see `_make_vertex`."""

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


def _make_vertex(vertex_compute: Any, key_along: Any, message_of: Any, none: Any, whole: Any) -> _Vertex:
    """What is done with a vertex.

    Args:
        vertex_compute: the program's.
        key_along: ``key_along(v, k, it, state)``: the key of what v sends along arc k, or `none`.
        message_of: the message of a key, as the program gets it.
        none: the key of no message.
        whole: the type of keys in memory.
    """

    @inlined
    def load(number, here, it, shared):
        """Share the keys of a vertex; what is noted of it."""
        key, done, bits = whole(none), whole(none), np.uint32(0)
        if number < here.count:
            p = here.begin + number
            key, done = load_now(it.visits.best, p), it.computed[p]
            if it.crosses[p] != 0:
                bits |= _CROSSES
            if it.first[p] != 0:
                bits |= _FIRST
                it.first[p] = 0
        shared.keys[number], shared.done[number] = key, done
        return bits

    @inlined
    def send_inside(v, turn, here, it, state, shared):
        """Lower the keys of a vertex's neighbours in its own cluster, whose warps look at them in that turn."""
        for k in range(np.int64(it.offsets[v]), np.int64(it.offsets[v + 1])):
            number = np.int64(it.to[k]) - here.begin
            if number >= 0 and number < here.count:
                key = key_along(v, k, it, state)
                if key < shared.keys[number]:
                    atomic_min(shared.keys, number, whole(key))
                    shared.touched[turn + number // (_EACH * WARP)] = 1

    @inlined
    def send_outside(v, here, it, state):
        """Lower the keys of its neighbours in other clusters."""
        fence()
        for k in range(np.int64(it.offsets[v]), np.int64(it.offsets[v + 1])):
            p = np.int64(it.to[k])
            if p < here.begin or p >= here.begin + here.count:
                key = key_along(v, k, it, state)
                if key < load_now(it.visits.best, p):
                    send(whole(key), p, np.int64(it.cluster[p]), it.visits)

    @inlined
    def compute(number, bits, following, here, it, state, shared):
        """Compute a vertex if it got a better message, and let it send; whether either was to be done, and what is
        noted of it then."""
        key, sends = np.int64(shared.keys[number]), (bits & _FIRST) != 0
        is_better = key < shared.done[number]
        if is_better or sends:
            v = np.int64(it.order[here.begin + number])
            if is_better:
                shared.done[number] = whole(key)
                bits |= _NEW
                if vertex_compute(v, message_of(key), state):
                    sends = True
            if sends:
                bits = (bits & ~_FIRST) | ((bits & _CROSSES) << np.uint32(1))
                send_inside(v, following, here, it, state, shared)
            return True, bits
        return False, bits

    @inlined
    def cross(number, bits, here, it, state, shared):
        """Write a better key, and send across the border; what is noted then."""
        if (bits & _NEW) != 0:
            atomic_min(it.visits.best, here.begin + number, shared.done[number])
        if (bits & _LATE) != 0:
            send_outside(np.int64(it.order[here.begin + number]), here, it, state)
        return bits & ~(_NEW | _LATE)

    @inlined
    def refresh(number, here, it, shared):
        """Take a better key from memory; whether there was one."""
        if number < here.count:
            key = load_now(it.visits.best, here.begin + number)
            if key < shared.keys[number]:
                shared.keys[number] = key
                return True
        return False

    return _Vertex(load, compute, cross, refresh)


def _make_rounds(vertex: _Vertex) -> tuple[Any, Any, Any, Any]:
    """What a thread does with all of its vertices. The warp's lie together, and `noted` has the bits of all."""
    load, compute, cross, refresh = vertex
    ones = np.uint32((1 << _BITS) - 1)

    @inlined
    def first_number():
        return (block_thread() - lane()) * _EACH + lane()

    @inlined
    def load_all(here, it, shared):
        noted = np.uint32(0)
        for i in range(_EACH):
            noted |= load(first_number() + i * WARP, here, it, shared) << np.uint32(i * _BITS)
        if lane() == 0:
            warp = block_thread() // WARP
            shared.touched[warp], shared.touched[_WARPS + warp] = 1, 0
        return noted

    @inlined
    def compute_all(noted, turn, here, it, state, shared):
        """One step; whether anything was to be done, and the notes."""
        works, mine, following = False, turn + block_thread() // WARP, _WARPS - turn
        if ballot(shared.touched[mine] != 0) != 0:
            if lane() == 0:
                shared.touched[mine] = 0
            for i in range(_EACH):
                shift, number = np.uint32(i * _BITS), first_number() + i * WARP
                had = (noted >> shift) & ones
                was, bits = compute(number, had, following, here, it, state, shared)
                works, noted = works or was, noted ^ ((had ^ bits) << shift)
        return works, noted

    @inlined
    def cross_all(noted, here, it, state, shared):
        """Tell others; the notes."""
        for i in range(_EACH):
            shift = np.uint32(i * _BITS)
            had = (noted >> shift) & ones
            if (had & (_NEW | _LATE)) != 0:
                bits = cross(first_number() + i * WARP, had, here, it, state, shared)
                noted ^= (had ^ bits) << shift
        return noted

    @inlined
    def refresh_all(turn, here, it, shared):
        """Take what others told."""
        found = False
        for i in range(_EACH):
            if refresh(first_number() + i * WARP, here, it, shared):
                found = True
        if found:
            shared.touched[turn + block_thread() // WARP] = 1
        fence()

    return load_all, compute_all, cross_all, refresh_all


def _make_visit(vertex: _Vertex, make_state: Any) -> Any:
    """The function that visits a cluster, for `make_loop`."""
    load_all, compute_all, cross_all, refresh_all = _make_rounds(vertex)

    @inlined
    def visit(c, n, it, run, shared):
        """Visit a cluster until none of its vertices gets a better message, and its block is needed elsewhere or all is
        over."""
        state, begin = make_state(it.own, n, it.m, np.int64(0)), np.int64(it.begins[c])
        here, turn, looks = _Here(c, begin, np.int64(it.begins[c + 1]) - begin), np.int64(0), np.int64(0)
        noted = load_all(here, it, shared)
        block_barrier()
        while True:
            settled, waiting, ended = False, LARGEST, np.int64(0)
            if block_thread() == 0:
                waiting, ended = load_now(run.pending, c), load_now(run.control, ENDED)
            for _ in range(MEET):
                works, noted = compute_all(noted, turn, here, it, state, shared)
                turn = _WARPS - turn
                if not block_any(works):
                    settled = True
                    break
            noted = cross_all(noted, here, it, state, shared)
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
                refresh_all(turn, here, it, shared)
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

    vertex = _make_vertex(functions["vertex_compute"], key_along, message_of, none, whole)
    visits = make_loop(_make_visit(vertex, make_state))

    def cluster_kernel(it):
        keys = cuda.shared.array(MOST, kind)
        done = cuda.shared.array(MOST, kind)
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
        visits(n, it, run, _Shared(keys, done, touched, least, chosen), generation)

    return cluster_kernel
