# mypy: disable-error-code="assignment"
# (A variable of a kernel may be a Python and a NumPy integer by turns: numba unifies them.)
"""Edgewise's own loop of supersteps, `edgewise.primitives.near_far`, with a flag that the host reads after each, and in
one launch.

Both kernels call the loop itself. With the flag on the host each launch does one superstep, and the rises of the
threshold that come before it; what the loop keeps in registers from one superstep to the next lies in words of
`control` meanwhile. For breadth-first search lengths are 1, and no vertex is far.
"""

import functools
import time
from typing import Any, NamedTuple

import numpy as np

from benchmarks.papers.wolfpath_kernel import UNREACHED, Spent, run_by_host
from edgewise.algorithms.sssp.cuda import gpu_delta, make_sums
from edgewise.graph import Graph
from edgewise.kernels.cuda.arguments import Int32s, Uint32s, packed, type_of
from edgewise.kernels.cuda.device import (
    INT64,
    UINT32,
    cuda,
    device_function,
    grid_barrier,
    load_fresh,
    num_threads,
    thread_index,
)
from edgewise.kernels.cuda.launch import Kernel, fixed_kernel
from edgewise.kernels.cuda.memory import finish
from edgewise.primitives import near_far_piles
from edgewise.primitives.block_queues import LONG_WORDS, WORDS, clear, share
from edgewise.primitives.control import TURNS
from edgewise.primitives.deal import degree
from edgewise.primitives.near_far import make_near_far, prepare
from edgewise.primitives.near_far_piles import (
    EDGES,
    ENDED,
    FAR,
    LEAST,
    NEAR,
    PIECES,
    SUPERSTEPS,
    Piles,
    make_piles,
)
from edgewise.primitives.near_far_rise import LARGEST

#: Words of `control` behind those of the loop: 1 more than the last superstep after which there was another one; the
#: threshold, and how often it rose, now and at the start of a launch; how often either pair of lists changed its turn;
#: barriers.
CONTROL = near_far_piles.CONTROL.more()
GOING, THRESHOLD, RISEN = CONTROL.take(), CONTROL.take(), CONTROL.take()
OLD_THRESHOLD, OLD_RISEN, FLIPS, CROSSES, BARRIERS = (CONTROL.take() for _ in range(5))
_INT32 = np.dtype(np.int32)


class Rows(NamedTuple):
    """A graph with weights."""

    offsets: Int32s
    targets: Uint32s
    weights: Int32s


class Paths(NamedTuple):
    """What the kernels take: the graph, the loop's arrays, the width of buckets, vertices and the source."""

    graph: Rows
    piles: Piles
    delta: float
    n: int
    source: int


def _make_loop(weighted: bool) -> Any:
    """The loop, of which the threshold is noted, and far vertices lose their stamps: stamps of a launch begin anew."""
    plus, raised, weight_of = make_sums(_INT32, weighted)

    @device_function
    def message(v, key, k, target, step, it):
        return True, plus(key, weight_of(k, it.graph.weights))

    @device_function
    def waiting(v, below, best, it):
        return np.int64(best[v])

    @device_function
    def is_current(v, key, best, it):
        return np.int64(load_fresh(best, v)) >= key

    @device_function
    def rise(below, start, far, count, width, best, block, it):
        threshold = raised(start, it.delta)
        for i in range(thread_index(), count, num_threads()):
            it.piles.stamps[it.n + far[i]] = 0
        if thread_index() == 0:
            it.piles.control[THRESHOLD] = threshold
            it.piles.control[RISEN] += 1
        return threshold, width

    return make_near_far(_INT32, message, waiting, rise, is_current)


def _make_begin(raised: Any) -> Any:
    """The device function that makes the source near; the generation of its last barrier."""

    @device_function
    def begin(it, block):
        control = it.piles.control
        prepare(it.n, UNREACHED, it.piles, block)
        generation = grid_barrier(control, np.int64(0))
        if thread_index() == 0:
            it.piles.best[it.source] = 0
            it.piles.near[0] = it.source
            it.piles.stamps[it.source] = 1
            control[NEAR] = 1
            control[EDGES] = degree(it.source, it.graph.offsets)
            control[OLD_THRESHOLD] = raised(np.int64(0), it.delta)
        return grid_barrier(control, generation)

    return begin


def make_whole(weighted: bool) -> Any:
    """The kernel of all supersteps."""
    loop, begin = _make_loop(weighted), _make_begin(make_sums(_INT32, weighted)[1])

    def whole_kernel(it):
        words_of_32 = cuda.shared.array(WORDS, UINT32)
        words_of_64 = cuda.shared.array(LONG_WORDS, INT64)
        block = share(words_of_32, words_of_64)
        generation = begin(it, block)
        loop(it.n, -1, it.graph, it.piles, block, generation, it.piles.control[OLD_THRESHOLD], it)

    return whole_kernel


def make_step(weighted: bool) -> Any:
    """The kernel of one superstep."""
    loop, begin = _make_loop(weighted), _make_begin(make_sums(_INT32, weighted)[1])

    def step_kernel(it, step):
        words_of_32 = cuda.shared.array(WORDS, UINT32)
        words_of_64 = cuda.shared.array(LONG_WORDS, INT64)
        block = share(words_of_32, words_of_64)
        control, stamps, n = it.piles.control, it.piles.stamps, it.n
        if step == 0:
            generation = begin(it, block)
        else:
            clear(block, control)
            generation = grid_barrier(control, control[BARRIERS])
        best, _, near, other_near, pieces, far, other_far, _, host, most_listed = it.piles
        if control[FLIPS] & 1:
            near, other_near = other_near, near
        if control[CROSSES] & 1:
            far, other_far = other_far, far
        piles = Piles(best, stamps, near, other_near, pieces, far, other_far, control, host, most_listed)
        generation = loop(n, 1, it.graph, piles, block, generation, control[OLD_THRESHOLD], it)
        rises = control[RISEN] - control[OLD_RISEN]
        turn, pile = (rises + 1) % TURNS, rises % TURNS
        found, edges = control[NEAR + turn], control[EDGES + turn]
        count, least = control[FAR + pile], control[LEAST + pile]
        generation = grid_barrier(control, generation)
        for i in range(thread_index(), found, num_threads()):
            stamps[other_near[i] if (rises + 1) & 1 else near[i]] = 1
        for i in range(thread_index(), count, num_threads()):
            stamps[n + (other_far[i] if rises & 1 else far[i])] = 1
        if thread_index() == 0:
            for i in range(TURNS):
                control[NEAR + i], control[EDGES + i], control[PIECES + i] = 0, 0, 0
                control[FAR + i], control[LEAST + i], control[ENDED + i] = 0, LARGEST, 0
            control[NEAR], control[EDGES], control[FAR], control[LEAST] = found, edges, count, least
            control[FLIPS] += rises + 1
            control[CROSSES] += rises
            if rises > 0:
                control[OLD_THRESHOLD] = control[THRESHOLD]
            control[OLD_RISEN] += rises
            control[BARRIERS] = generation
            if found > 0:
                control[GOING] = step + 1

    return step_kernel


def whole_signature() -> tuple[Any, ...]:
    """The type of the argument of `make_whole`'s kernel."""
    return (type_of(Paths, key=_INT32),)


def step_signature() -> tuple[Any, ...]:
    """The types of the arguments of `make_step`'s kernel."""
    return type_of(Paths, key=_INT32), type_of(int)


@functools.cache
def _whole_kernel(weighted: bool) -> Kernel:
    return fixed_kernel(make_whole, whole_signature(), weighted)


@functools.cache
def _step_kernel(weighted: bool) -> Kernel:
    return fixed_kernel(make_step, step_signature(), weighted)


class NearFar:
    """The loop over a graph from a source, with all that it needs on the GPU.

    Args:
        weighted: whether weights are lengths; else each arc has length 1.
        graph: from it the width of buckets is taken.
        source: where values begin.
        rows: the graph's rows as `Rows` has them, on the GPU, by name.
    """

    def __init__(self, weighted: bool, graph: Graph, source: int, rows: dict[str, Any]) -> None:
        self.weighted = weighted
        self._piles = make_piles(graph.num_vertices, graph.num_arcs, _INT32, CONTROL)
        delta = gpu_delta(graph) if weighted else float(UNREACHED)
        self._given = Paths(Rows(**rows), self._piles, delta, graph.num_vertices, source)

    @property
    def values(self) -> Any:
        """Distances by vertex, int32, on the GPU; `UNREACHED` for none."""
        return self._piles.best

    def reset(self) -> None:
        """Set the words of `control`; values are set by the kernels."""
        self._piles.control.fill(0)

    def by_host(self, apart: bool = False) -> Spent:
        """Do supersteps until no vertex is near or far: a launch for each, and a flag that the host reads."""
        kernel, passed = _step_kernel(self.weighted), packed(self._given)
        flag = self._piles.control[GOING : GOING + 1]
        return run_by_host(lambda step: kernel.start([passed, step]), flag, apart)

    def whole(self) -> Spent:
        """Do all supersteps in one launch."""
        kernel = _whole_kernel(self.weighted)
        finish()
        started = time.perf_counter()
        kernel.start([self._given])
        finish()
        return Spent(int(self._piles.host[SUPERSTEPS]), time.perf_counter() - started)
