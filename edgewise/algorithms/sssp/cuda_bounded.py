# mypy: disable-error-code="assignment"
# (A variable of a kernel may be a Python and a NumPy integer by turns: numba unifies them.)
"""Distances on a GPU from the nearest of several vertices, or no farther than a bound; weights are at least 0.

The loop is that of `edgewise.algorithms.sssp.cuda`, but for two things. It begins at all sources, and a distance above
the bound is not offered. A distance of the target lowers the bound. So what lies beyond is never walked, and the
distances up to the bound are right at the end: all vertices on their paths are nearer.
"""

import functools
from typing import Any, NamedTuple

import numpy as np

from edgewise.algorithms.common.device_graph import WeightedOnGpu, lists
from edgewise.algorithms.sssp.asked import Asked
from edgewise.algorithms.sssp.cuda_sums import distance_of, is_current, make_sums
from edgewise.execution import Execution
from edgewise.graph import Graph
from edgewise.kernels.cuda.arguments import AtomicInt64s, Uint32s, type_of
from edgewise.kernels.cuda.device import (
    INT64,
    UINT32,
    atomic_add,
    atomic_min,
    cuda,
    device_function,
    grid_barrier,
    load_fresh,
    num_threads,
    thread_index,
)
from edgewise.kernels.cuda.launch import Kernel, fixed_kernel
from edgewise.kernels.cuda.memory import copy_of, wait, written_forms
from edgewise.primitives import near_far_piles
from edgewise.primitives.block_queues import LONG_WORDS, WORDS, share
from edgewise.primitives.deal import degree
from edgewise.primitives.near_far import make_near_far, prepare
from edgewise.primitives.near_far_piles import (
    EDGES,
    FORM_NAMES,
    FORMS,
    NEAR,
    RISES,
    SUPERSTEPS,
    Piles,
    list_shapes,
    make_piles,
)
from edgewise.primitives.ordered_keys import key_dtype

CONTROL, HOST = near_far_piles.CONTROL, near_far_piles.HOST


class Bounded(NamedTuple):
    """What the kernel takes.

    Attributes:
        graph: the graph.
        piles: `best` gets the distances.
        sources: different vertices, shape (num_sources,).
        bound: shape (1,): the key of the longest distance to offer.
        delta: by how much the threshold rises.
        n, num_sources, target, unreached: vertices, sources, the vertex that lowers the bound or -1, the key of no
            distance.
    """

    graph: WeightedOnGpu
    piles: Piles
    sources: Uint32s
    bound: AtomicInt64s
    delta: float
    n: int
    num_sources: int
    target: int
    unreached: int


def make_kernel(distance: np.dtype, weighted: bool, apart: bool) -> Any:
    """The kernel for distances of this dtype, with weights or with 1 for each arc; see `make_near_far` for `apart`."""
    plus, raised, weight_of = make_sums(distance, weighted)

    @device_function
    def message(v, key, k, target, step, context):
        graph, it = context
        offered = plus(key, weight_of(k, graph.weights))
        near = offered <= load_fresh(it.bound, 0)
        if near and target == it.target:
            atomic_min(it.bound, 0, offered)
        return near, offered

    @device_function
    def rise(below, start, far, count, width, best, block, context):
        _, it = context
        return raised(start, it.delta), width

    run = make_near_far(distance, message, distance_of, rise, is_current, apart=apart)

    def bounded_kernel(it):
        """Distances; see `Bounded`."""
        words_of_32 = cuda.shared.array(WORDS, UINT32)
        words_of_64 = cuda.shared.array(LONG_WORDS, INT64)
        block = share(words_of_32, words_of_64)
        graph, piles, control = it.graph, it.piles, it.piles.control
        prepare(it.n, it.unreached, piles, block)
        generation = grid_barrier(control, np.int64(0))
        for i in range(thread_index(), it.num_sources, num_threads()):
            source = np.int64(it.sources[i])
            piles.best[source] = 0
            piles.near[i] = source
            piles.stamps[source] = 1
            atomic_add(control, NEAR, 1)
            atomic_add(control, EDGES, degree(source, graph.offsets))
        generation = grid_barrier(control, generation)
        run(it.n, -1, graph, piles, block, generation, raised(np.int64(0), it.delta), (graph, it))

    return bounded_kernel


def signature(offsets: np.dtype, weight: np.dtype | None, distance: np.dtype) -> tuple[Any, ...]:
    """The type of the argument of the kernel for these dtypes; no weight for 1 for each arc."""
    return (type_of(Bounded, offset=offsets, weight=weight or np.dtype(np.int32), key=key_dtype(distance)),)


@functools.cache
def _kernel(offsets: np.dtype, weight: np.dtype | None, distance: np.dtype, apart: bool) -> Kernel:
    kinds = signature(offsets, weight, distance)
    return fixed_kernel(make_kernel, kinds, distance, weight is not None, apart)


def bounded_distances(
    graph: Graph,
    on_gpu: WeightedOnGpu,
    kinds: tuple[np.dtype, np.dtype | None, np.dtype, bool],
    asked: Asked,
    delta: float,
    run: Execution,
) -> tuple[Any, int]:
    """Distances on the GPU, shape (n,), of which those beyond the bound may be too long, and supersteps.

    Args:
        graph: weights of at least 0.
        on_gpu: its arrays on the GPU.
        kinds: the dtypes of its offsets, of its weights and of distances, and whether arcs lie in the host's memory.
        asked: what is asked for.
        delta: by how much the threshold rises.
        run: the run that this is.
    """
    n, m, dtype = graph.num_vertices, graph.num_arcs, asked.dtype
    bound, unreached = np.array([asked.bound, asked.unreached]).view(key_dtype(dtype)).tolist()
    with lists(graph, *list_shapes(n, m)) as made:
        piles = make_piles(n, m, dtype, CONTROL, HOST, made)
        given = Bounded(
            graph=on_gpu,
            piles=piles,
            sources=copy_of(asked.sources.astype(np.uint32)),
            bound=copy_of(np.array([bound], np.int64)),
            delta=delta,
            n=n,
            num_sources=len(asked.sources),
            target=-1 if asked.target is None else asked.target,
            unreached=unreached,
        )
        _kernel(*kinds).start([given])
        wait(piles.host, run.progress)
    host = piles.host
    forms = written_forms(host[FORMS:], FORM_NAMES)
    run.explain(f"supersteps on the GPU: {forms}; {host[RISES]} thresholds {delta:.4g} apart")
    return piles.best.view(dtype), int(host[SUPERSTEPS])
