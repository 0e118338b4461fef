"""The CUDA engine's kernel for asynchronous programs that combine by MIN or MAX: best messages first.

As on the CPU (`edgewise.engine.cpu.best_first`), a vertex keeps the best message it ever got, and a message that is no
better is dropped. Vertices with the best messages are computed first (`edgewise.primitives.near_far`). Keys are
messages as integers in the same order, for MAX in the reverse order. Vertices that are active from the start are far at
first; the key of each is the message along its first out-edge.

One thread computes a vertex, at most once in a superstep. It reads the message after all threads have sent in the
superstep before; a better message that comes later lists the vertex again.
"""

from typing import Annotated, Any, NamedTuple

import numpy as np

from edgewise.engine.cuda.arguments import offset_dtype, own_type
from edgewise.engine.delivery import Delivery
from edgewise.engine.lowering.accessors import make_cast, make_glue
from edgewise.engine.lowering.binding import Binding
from edgewise.engine.lowering.compiled import CompiledProgram
from edgewise.kernels.cuda.arguments import Elements, Uint8s, type_of
from edgewise.kernels.cuda.device import (
    INT64,
    UINT32,
    atomic_min,
    cuda,
    device_function,
    grid_barrier,
    lane,
    load_fresh,
    num_threads,
    thread_index,
    warp_min,
)
from edgewise.primitives.block_queues import LONG_WORDS, WORDS, share
from edgewise.primitives.deal import append, degree
from edgewise.primitives.near_far import make_near_far, prepare
from edgewise.primitives.near_far_piles import FAR, LEAST, OutEdges, Piles
from edgewise.primitives.near_far_rise import LARGEST, LOWEST, make_rise
from edgewise.primitives.ordered_keys import key_dtype, make_keys, worst_key


class BestFirst(NamedTuple):
    """What the kernel takes.

    Attributes:
        own: the program's arrays, a tuple in the order of `own_array_order`.
        first: (n,): whether a vertex is active from the start and has not sent yet.
        n, m: vertices and arcs.
        limit: the largest number of supersteps, or -1.
        supplied: bits that say which vertex fields have an array to begin with.
    """

    graph: OutEdges
    own: Annotated[Any, Elements("own")]
    piles: Piles
    first: Uint8s
    n: int
    m: int
    limit: int
    supplied: int


def signature(
    binding: Binding, message: np.dtype, parameters: dict[str, Any], delivery: Delivery
) -> tuple[Any, ...]:
    """The type of the kernel's argument."""
    own = own_type(binding, parameters)
    return (type_of(BestFirst, offset=offset_dtype(binding), own=own, key=key_dtype(message)),)


def make_async_kernel(
    compiled: CompiledProgram,
    binding: Binding,
    message: np.dtype,
    uniform: frozenset[str],
    delivery: Delivery,
) -> Any:
    """The kernel of one program for given dtypes, to be compiled for `signature`.

    The arguments are those of `edgewise.engine.cuda.kernel.make_gpu_kernel`; messages are pushed, and "auto" is the
    only balance.
    """
    spec, functions = binding.spec, compiled.functions
    glue = make_glue(compiled, binding, uniform, device_function)
    make_state, fill_fields, make_out_edge = glue.make_state, glue.fill_fields, glue.make_out_edge
    edge_compute, vertex_compute = functions["edge_compute"], functions["vertex_compute"]
    initialize, cast = functions["initialize"], make_cast(message, device_function, spec.combine)
    smaller_is_better = spec.combine.name == "MIN"
    key_of, message_of, real, whole_of = make_keys(message, smaller_is_better)
    none = np.int64(worst_key(message))

    @device_function
    def message_along(v, key, k, target, step, context):
        _, own, _, n, m = context
        sent = edge_compute(make_out_edge(v, target, k, k, own), make_state(own, n, m, step))
        if sent is not None:
            value = cast(sent * 1)
            if value == value:
                return True, key_of(value)
        return False, none

    @device_function
    def waiting(v, below, best, context):
        """The key that a far vertex waits with: that of its best message, or of the first message that it will send.

        The second is at least `below`: a lesser key would say that the vertex was dealt with.
        """
        graph, _, first, _, _ = context
        key = np.int64(best[v])
        if key == none:
            key = LARGEST
        if first[v] != 0:
            k = np.int64(graph.offsets[v])
            sends, sent = message_along(v, np.int64(0), k, np.int64(graph.targets[k]), np.int64(0), context)
            key = max(below, min(key, sent if sends else none, LARGEST - 1))
        return key

    @device_function
    def is_current(v, key, best, context):
        return True

    @device_function
    def apply(v, best, step, context):
        """Compute a vertex with its best message; whether it sends."""
        _, own, first, n, m = context
        active = first[v] != 0
        first[v] = 0
        key = np.int64(load_fresh(best, v))
        if key != none and vertex_compute(v, cast(message_of(key)), make_state(own, n, m, step)):
            active = True
        return active

    rise = make_rise(waiting, real, whole_of)
    apart = binding.graph.placement is not None
    near_far = make_near_far(message, message_along, waiting, rise, is_current, apply, apart)

    def async_kernel(it):
        graph, own, piles, first, n, m = it.graph, it.own, it.piles, it.first, it.n, it.m
        words_of_32 = cuda.shared.array(WORDS, UINT32)
        words_of_64 = cuda.shared.array(LONG_WORDS, INT64)
        block = share(words_of_32, words_of_64)
        best, far, control = piles.best, piles.far, piles.control
        context = (graph, own, first, n, m)
        prepare(n, none, piles, block)
        for v in range(thread_index(), n, num_threads()):
            fill_fields(v, v + 1, own, it.supplied)
            first[v] = 0
        generation = grid_barrier(control, np.int64(0))
        state = make_state(own, n, m, 0)
        for begin in range(thread_index() - lane(), n, num_threads()):
            v, starts = begin + lane(), False
            if v < n and initialize(v, state) and degree(v, graph.offsets) > 0:
                first[v] = 1
                piles.stamps[n + v] = 1
                starts = True
            append(far, control, FAR, v, starts)
        generation = grid_barrier(control, generation)
        least = LARGEST
        for i in range(thread_index(), control[FAR], num_threads()):
            least = min(least, waiting(np.int64(far[i]), LOWEST, best, context))
        least = warp_min(least)
        if lane() == 0 and least < LARGEST:
            atomic_min(control, LEAST, least)
        generation = grid_barrier(control, generation)
        near_far(n, it.limit, graph, piles, block, generation, LOWEST, context)

    return async_kernel
