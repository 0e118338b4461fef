"""Brandes' accumulation of dependencies on a GPU, one source after the other: by weights, or on arcs.

A source takes two launches: distances as `ew.sssp` finds them, and then the rest. An arc from v to w is on shortest
paths if the distance of w is that of v plus the length of the arc, in int64 or float64. First, each vertex gets the
number of its in-edges on shortest paths. Then supersteps go from the source outwards. A vertex adds up the numbers of
paths over these in-edges. For each of its own arcs on shortest paths, it takes one from the number of the vertex there,
which is in the next superstep when its number comes to 0. So nothing is sorted by distance, and the vertices of a
superstep may have very different distances. The way back goes through the same supersteps, the last one first: each
vertex adds up, over its out-edges on shortest paths, the shares ``(1 + dependency) / paths`` of the vertices there
(with 0 in place of 1 for those to which paths do not count), and writes its own. One lane looks at each arc then. Where
sums are on arcs, it adds the arc's dependency to the arc's sum.

Atomic operations only count arcs. What is added up follows from the graph alone, row by row
(`edgewise.primitives.row_sums`), and source after source. So the same call gives the same bits, which differ from the
CPU's by rounding.

Where numbers of paths leave the range of float64, another launch goes on with powers: see `cuda_path_counts`.

References. Brandes, Journal of Mathematical Sociology 25 (2001), and Social Networks 30 (2008), for arcs; Kahn,
"Topological sorting of large networks", Communications of the ACM 5 (1962), for the supersteps.
"""

import functools
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from edgewise.algorithms.betweenness.cpu import ON_ARCS, ON_VERTICES_AND_ENDS
from edgewise.algorithms.betweenness.cuda_batch import (
    CONTROL,
    ENDED,
    FOUND,
    LOST,
    TOO_LARGE,
    has_long_rows,
    next_pass,
)
from edgewise.algorithms.betweenness.cuda_path_counts import FIRST, LARGE, LIMIT, SMALL, make_plus
from edgewise.algorithms.betweenness.cuda_weighted_passes import (
    Source,
    WeightedSearch,
    in_worklist,
    make_passes,
    out_worklist,
)
from edgewise.algorithms.betweenness.lengths import WeightLost
from edgewise.algorithms.common.device_graph import (
    WeightedOnGpu,
    graph_on_gpu,
    offset_dtype,
    weighted_graph_on_gpu,
)
from edgewise.algorithms.sssp import cuda as sssp_cuda
from edgewise.algorithms.sssp.cuda import gpu_delta
from edgewise.execution import Execution
from edgewise.graph import Graph
from edgewise.kernels.cuda.arguments import type_of
from edgewise.kernels.cuda.device import (
    FLOAT64,
    INT32,
    INT64,
    WARP,
    cuda,
    device_function,
    grid_barrier,
    lane,
    num_threads,
    thread_index,
)
from edgewise.kernels.cuda.launch import Kernel, fixed_kernel
from edgewise.kernels.cuda.memory import copy_of, empty, wait, zeros
from edgewise.primitives import near_far_piles
from edgewise.primitives.deal import degree
from edgewise.primitives.near_far_piles import SUPERSTEPS, Piles, make_piles
from edgewise.primitives.ordered_keys import key_dtype
from edgewise.primitives.row_sums import (
    LONG,
    SHARED_SUMS,
    SummedRows,
    make_sums,
    turn_of_lane,
)

#: Words of the host's array after those of the search: what became of a source, and its supersteps.
HOST = near_far_piles.HOST.more()
OUTCOME, LEVELS = HOST.take(), HOST.take()
FINE, NEEDS_POWERS, WEIGHT_LOST = range(3)
#: Vertices have one value each, and all of it is wanted.
_ALL = np.uint32(1)


class Accumulation(NamedTuple):
    """What the kernel takes.

    Attributes:
        graph: the graph.
        state: see `WeightedSearch`.
        n, source: vertices and the source.
        on: what dependencies are on; see `cpu`.
        has_long: whether there are long rows.
        some_targets: whether only paths to some vertices count.
        depth: the superstep from which on paths are counted, not 0 with powers.
    """

    graph: WeightedOnGpu
    state: WeightedSearch
    n: int
    source: int
    on: int
    has_long: bool
    some_targets: bool
    depth: int


def signature(offsets: np.dtype, weight: np.dtype, distance: np.dtype) -> tuple[Any, ...]:
    """The types of the kernel's arguments."""
    return (type_of(Accumulation, offset=offsets, weight=weight, key=key_dtype(distance)),)


def _make_path_sums(is_shortest: Any, with_powers: bool) -> tuple[Any, Any]:
    """Device functions that add up numbers of paths over in-edges; see `make_sums`."""

    @device_function
    def paths_before(v, k, context):
        """The number of paths along an in-edge."""
        it, _ = context
        state, u = it.state, np.int64(it.graph.in_sources[k])
        paths, power = 0.0, np.int32(0)
        if is_shortest(np.int64(state.dist[u]), np.int64(state.dist[v]), k, it.graph.in_weights):
            paths = state.paths[u]
            if with_powers:
                power = state.powers[u]
        return paths, power

    @device_function
    def write_paths(leads, v, wanted, paths, power, first, rows, context):
        """Write the number of paths to a vertex."""
        it, here = context
        if leads:
            if v == it.source:
                paths = FIRST
            if with_powers:
                if paths > LARGE:
                    paths *= SMALL
                    power = np.int32(power + 1)
                it.state.powers[v] = power
            elif paths > LIMIT:
                it.state.control[here + TOO_LARGE] = 1
            it.state.paths[v] = paths

    return make_sums(with_powers, make_plus(with_powers), write_paths, paths_before)


def _make_share_sums(is_shortest: Any, with_powers: bool) -> tuple[Any, Any]:
    """Device functions that add up shares over out-edges; see `make_sums`."""

    @device_function
    def share_after(v, k, context):
        """The share along an out-edge. Where sums are on arcs, its dependency is added to its sum."""
        it, _ = context
        state, u = it.state, np.int64(it.graph.targets[k])
        share = 0.0
        if is_shortest(np.int64(state.dist[v]), np.int64(state.dist[u]), k, it.graph.weights):
            share = state.shares[u]
            if with_powers:
                # A vertex has no more paths than those after it; their quotient is less than 2**-500 where powers
                # differ by more than 1.
                more = state.powers[u] - state.powers[v]
                if more != 0:
                    share = share * SMALL if more == 1 else 0.0
            if it.on == ON_ARCS:
                state.totals[k] += state.paths[v] * share
        return share, np.int32(0)

    @device_function
    def write_share(leads, v, wanted, shares, power, first, rows, context):
        """Write the share of a vertex. Where sums are on vertices, its dependency is added to its sum."""
        it, _ = context
        if leads:
            paths = it.state.paths[v]
            dependency = shares * paths
            ends = 1.0
            if it.some_targets:
                ends = np.float64(it.state.is_target[v])
            it.state.shares[v] = (ends + dependency) / paths
            if it.on != ON_ARCS and v != it.source:
                it.state.totals[v] += dependency + (1.0 if it.on == ON_VERTICES_AND_ENDS else 0.0)

    return make_sums(False, make_plus(False), write_share, share_after)


def _make_count_arcs(unreached: Any, walk: Any, walk_long: Any) -> Any:
    """A device function that counts the in-edges of each vertex that are on shortest paths."""

    @device_function
    def count_arcs(it, passes, generation):
        """Count in-edges on shortest paths. Returns passes and the barrier's turn."""
        state, n = it.state, it.n
        passes, here = next_pass(passes, state)
        level, worklist = (np.int64(0), here, np.int64(1)), out_worklist(here, it)
        for first in range(thread_index() - lane(), n, num_threads()):
            v, takes = first + lane(), False
            if v < n:
                takes = np.int64(state.dist[v]) != unreached
            walk(v, takes, level, worklist, it)
        if it.has_long:
            generation = grid_barrier(state.control, generation)
            walk_long(level, worklist, it)
        return passes, grid_barrier(state.control, generation)

    return count_arcs


@device_function
def _give_powers(depth: Any, state: Any) -> None:
    """Give powers to the numbers of paths of earlier supersteps."""
    for i in range(thread_index(), state.starts[depth], num_threads()):
        v = np.int64(state.listed[i])
        is_large = state.paths[v] > LARGE
        state.powers[v] = is_large
        if is_large:
            state.paths[v] *= SMALL


def _make_count_paths(add_paths: Any, add_long_paths: Any, walk: Any, walk_long: Any) -> Any:
    """A device function that counts paths: the way there."""

    @device_function
    def count_paths(depth, it, passes, generation):
        """Add up numbers of paths from a superstep on. Returns the last superstep, whether the run is to end, passes
        and the barrier's turn."""
        graph, state = it.graph, it.state
        warp, warps = thread_index() // WARP, num_threads() // WARP
        begin, end, stopped = state.starts[depth], state.starts[depth + 1], state.control[LOST] != 0
        while end > begin and not stopped:
            passes, here = next_pass(passes, state)
            long_in, long_out = in_worklist(here, it), out_worklist(here, it)
            level, into, none = (end, here, np.int64(-1)), (graph.in_offsets, graph.in_sources), np.int64(0)
            rows = SummedRows(*into, state.listed, np.uint64(0), state.paths, state.powers, none)
            for first in range(begin + warp, end, warps * WARP):
                i = first + turn_of_lane(np.int64(0)) * warps
                v, start, length = np.int64(0), np.int64(0), np.int64(0)
                if i < end:
                    v = np.int64(state.listed[i])
                    start, length = np.int64(graph.in_offsets[v]), degree(v, graph.in_offsets)
                add_paths(v, start, length, _ALL, i < end, rows, long_in, (it, here))
                walk(v, i < end, level, long_out, it)
            if it.has_long:
                generation = grid_barrier(state.control, generation)
                add_long_paths(rows, long_in, (it, here))
                walk_long(level, long_out, it)
            generation = grid_barrier(state.control, generation)
            found = state.control[here + FOUND]
            stopped = state.control[here + TOO_LARGE] != 0 or state.control[here + ENDED] != 0
            begin, end, depth = end, end + found, depth + 1
            if thread_index() == 0:
                state.starts[depth + 1] = end
        return depth - 1, stopped, passes, generation

    return count_paths


def _make_go_back(add_shares: Any, add_long_shares: Any) -> Any:
    """A device function that adds up dependencies: the way back."""

    @device_function
    def go_back(deepest, it, passes, generation):
        """Add up dependencies, the last superstep first."""
        graph, state, depth, stopped = it.graph, it.state, deepest, False
        warp, warps = thread_index() // WARP, num_threads() // WARP
        while depth >= 0 and not stopped:
            passes, here = next_pass(passes, state)
            worklist, end = in_worklist(here, it), state.starts[depth + 1]
            out, none = (graph.offsets, graph.targets), np.int64(0)
            rows = SummedRows(*out, state.listed, np.uint64(0), state.shares, state.powers, none)
            for first in range(state.starts[depth] + warp, end, warps * WARP):
                i = first + turn_of_lane(np.int64(0)) * warps
                v, start, length = np.int64(0), np.int64(0), np.int64(0)
                if i < end:
                    v = np.int64(state.listed[i])
                    start, length = np.int64(graph.offsets[v]), degree(v, graph.offsets)
                add_shares(v, start, length, _ALL, i < end, rows, worklist, (it, here))
            if it.has_long:
                generation = grid_barrier(state.control, generation)
                add_long_shares(rows, worklist, (it, here))
            generation = grid_barrier(state.control, generation)
            stopped = state.control[here + ENDED] != 0
            depth -= 1

    return go_back


def make_kernel(distance: np.dtype, weighted: bool, with_powers: bool) -> Any:
    """The kernel for distances of this dtype, with weights or 1 for each arc. It counts paths without powers or goes on
    with them."""
    is_shortest, walk, walk_long = make_passes(distance, weighted)
    count_arcs = _make_count_arcs(np.int64(sssp_cuda.unreached_key(distance)), walk, walk_long)
    count_paths = _make_count_paths(*_make_path_sums(is_shortest, with_powers), walk, walk_long)
    go_back = _make_go_back(*_make_share_sums(is_shortest, with_powers))

    def source_kernel(given):
        """Add up the dependencies of a source whose distances are known; see the module, and `Accumulation`."""
        sums = cuda.shared.array(SHARED_SUMS, FLOAT64)
        powers = cuda.shared.array(SHARED_SUMS, INT32)
        taken = cuda.shared.array(1, INT64)
        graph, state, n, source, on = given.graph, given.state, given.n, given.source, given.on
        it = Source(graph, state, n, source, on, given.has_long, given.some_targets, sums, powers, taken)
        passes, generation = np.int64(0), np.int64(0)
        if with_powers:
            _give_powers(given.depth, state)
            generation = grid_barrier(state.control, generation)
        else:
            for v in range(thread_index(), n, num_threads()):
                state.waiting[v] = 0
            if thread_index() == 0:
                state.listed[0] = np.uint32(source)
                state.starts[0] = 0
                state.starts[1] = 1
            generation = grid_barrier(state.control, generation)
            passes, generation = count_arcs(it, passes, generation)
        deepest, stopped, passes, generation = count_paths(given.depth, it, passes, generation)
        if thread_index() == 0:
            outcome = NEEDS_POWERS if stopped else FINE
            state.host[OUTCOME] = WEIGHT_LOST if state.control[LOST] != 0 else outcome
            state.host[LEVELS] = deepest + 1
            if not stopped and on == ON_VERTICES_AND_ENDS:
                state.totals[source] += np.float64(state.starts[deepest + 1] - 1)
        if not stopped:
            go_back(deepest, it, passes, generation)

    return source_kernel


@functools.cache
def _kernel(offsets: np.dtype, weight: np.dtype | None, distance: np.dtype, with_powers: bool) -> Kernel:
    types = signature(offsets, weight or np.dtype(np.int32), distance)
    return fixed_kernel(make_kernel, types, distance, weight is not None, with_powers)


def _on_gpu(graph: Graph, weighted: bool, run: Execution) -> tuple[WeightedOnGpu, np.dtype | None]:
    """The graph on the GPU, and the dtype of the weights that lengths are taken from, if any."""
    if weighted:
        return weighted_graph_on_gpu(graph, run)
    offsets, targets, in_offsets, in_sources = graph_on_gpu(graph, run)
    return WeightedOnGpu(offsets, targets, targets, in_offsets, in_sources, in_sources), None


def _make_search(
    piles: Piles, n: int, m: int, is_target: np.ndarray, control: Any, total: Any
) -> WeightedSearch:
    """Arrays for sums, as a kernel takes them, without room for powers."""
    room = m // LONG + 1
    return WeightedSearch(
        dist=piles.best,
        waiting=empty(n, np.int32),
        listed=empty(n, np.uint32),
        starts=empty(n + 2, np.int64),
        paths=empty(n, np.float64),
        powers=empty(1, np.int32),
        shares=empty(n, np.float64),
        is_target=copy_of(is_target.view(np.uint8)),
        totals=total,
        long_rows=empty(room, np.int64),
        long_out_rows=empty(room, np.int64),
        control=control,
        host=piles.host,
    )


def accumulate(
    graph: Graph,
    sources: np.ndarray,
    done: int,
    weighted: bool,
    on: int,
    is_target: np.ndarray,
    distance: np.dtype,
    total: Any,
    run: Execution,
) -> Iterator[int]:
    """Add the dependencies of sources to sums; how many sources these are over, after each.

    Args:
        graph: in-edges are made if it has none.
        sources: vertices, int64, of which some were done before.
        done: how many.
        weighted: whether arcs have the lengths of their weights.
        on: what dependencies are on; see `cpu`.
        is_target: see `Job`.
        distance: the dtype of distances.
        total: float64 on the GPU, shape (n,) or (m,).
        run: the run that this is.

    Raises:
        WeightLost: a weight is lost beside a distance.
    """
    n, m = graph.num_vertices, graph.num_arcs
    on_gpu, weight = _on_gpu(graph, weighted, run)
    kinds = offset_dtype(on_gpu), weight, distance
    has_long = graph.gpu.kept(has_long_rows)
    delta, unreached = gpu_delta(graph) if weighted else float(n), sssp_cuda.unreached_key(distance)
    piles = make_piles(n, m, distance, host=HOST)
    host, control = piles.host, zeros(CONTROL.size, np.int64)
    search = _make_search(piles, n, m, is_target, control, total)
    over, had_powers, supersteps = done, 0, np.zeros(2, np.int64)

    def ask(_: int) -> None:
        if run.progress is not None:
            run.progress(over)

    def count(source: int, with_powers: bool, depth: int) -> None:
        control.fill(0)
        given = Accumulation(on_gpu, search, n, source, on, has_long, len(is_target) > 0, depth)
        _kernel(*kinds, with_powers).start([given])
        wait(host, ask)

    for over, source in enumerate(sources[done:].tolist(), done):
        piles.control.fill(0)
        wanted = sssp_cuda.Distances(on_gpu, piles, delta, n, source, unreached)
        sssp_cuda.kernel_of(sssp_cuda.Distances, *kinds, graph.placement is not None).start([wanted])
        count(source, False, 0)
        if host[OUTCOME] == NEEDS_POWERS:
            if not had_powers:
                search = search._replace(powers=empty(n, np.int32))
            had_powers += 1
            count(source, True, int(host[LEVELS]))
        if host[OUTCOME] == WEIGHT_LOST:
            raise WeightLost
        supersteps += host[SUPERSTEPS], host[LEVELS]
        yield over + 1
    if had_powers:
        run.explain(f"counts of paths left float64: {had_powers:,} sources had powers, too")
    run.explain(
        f"sources on the GPU: one at a time; supersteps of searches: {supersteps[0]:,}, of counting: {supersteps[1]:,}"
    )
