"""Kernels of `benchmarks.papers.wolfpath`: one sweep for each launch with a flag that the host reads, and all sweeps in
one launch. Both call the same device function, so they differ in who decides on the next sweep, and in nothing else.

There are three ways to sweep:

edges
    over arcs with source and target, a thread for each in turn; the length goes to the target by an atomic operation.
rows
    over the in-edges of all vertices, eight lanes for each, without atomic operations: virtual warps.
frontier
    over the out-edges of vertices whose value has fallen in the sweep before, eight lanes for each.

Values change in place: a sweep may see what another thread wrote in the same one. `ShardSweep` does a superstep of
`benchmarks.papers.cusha` for each launch, with that module's device functions.

References. Zhu et al. 2019, algorithms 2, 3, 5 and 6; for virtual warps, Hong et al., "Accelerating CUDA Graph
Algorithms at Maximum Warp", PPoPP 2011.
"""

import functools
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from benchmarks.papers import cusha, cusha_kernel
from benchmarks.papers.cusha_kernel import MAX_WINDOW
from edgewise.kernels.cuda.arguments import (
    AtomicInt32s,
    AtomicInt64s,
    Int32s,
    Int64s,
    Uint32s,
    packed,
    type_of,
)
from edgewise.kernels.cuda.device import (
    HALVES,
    INT32,
    INT64,
    THREADS,
    WARP,
    atomic_add,
    atomic_exchange,
    atomic_min,
    block_barrier,
    block_thread,
    cuda,
    device_function,
    grid_barrier,
    lane,
    load_once,
    num_threads,
    shuffle_down,
    thread_index,
)
from edgewise.kernels.cuda.launch import Kernel, fixed_kernel
from edgewise.kernels.cuda.memory import copy_of, empty, finish, pinned, receive, zeros
from edgewise.primitives.control import TURNS, control_words, turns_after

#: The value of a vertex that was not reached.
UNREACHED = cusha_kernel.UNREACHED
#: Lanes of a virtual warp.
LANES = min(8, WARP)
#: Words of `control`: CHANGED is 1 more than the last sweep (or pass) that changed a value; SWEEPS counts sweeps.
CONTROL = control_words()
CHANGED, SWEEPS = CONTROL.take_line(), CONTROL.take_line()
WAYS = ("edges", "rows", "frontier")


class Sweeping(NamedTuple):
    """What the kernels take. Arrays that a way to sweep does not read may be any of their dtype.

    Attributes:
        offsets: of rows, shape (n + 1,): not for edges.
        sources: of arcs, or of in-edges: not for the frontier.
        targets: of arcs: not for rows.
        weights: of arcs, or of in-edges.
        values: of vertices, shape (n,).
        lists, stamps, counts: the frontier, shape (2 n,); the last sweep that listed each vertex, shape (n,); how many
            are listed, shape (TURNS,).
        control: see `CONTROL`.
        begins: what is swept: the first arc of each list, and the end; or the first vertex and the end.
        repeats: how often each list is swept in a pass.
        num_lists, n: how many lists and vertices.
        passes: how many passes there are over all lists, or 0 to stop after one that changes nothing.
    """

    offsets: Int32s
    sources: Uint32s
    targets: Uint32s
    weights: Int32s
    values: AtomicInt32s
    lists: Int32s
    stamps: AtomicInt32s
    counts: AtomicInt64s
    control: AtomicInt64s
    begins: Int64s
    repeats: Int64s
    num_lists: int
    n: int
    passes: int


def make_length(weighted: bool) -> Any:
    """The device function that gives the length of a path longer by an arc."""

    @device_function
    def length(value, k, weights):
        if weighted:
            return np.int32(value + load_once(weights, k))
        return np.int32(value + 1)

    return length


def make_edges(weighted: bool) -> Any:
    """The device function that sweeps over arcs; whether this thread lowered a value."""
    length = make_length(weighted)

    @device_function
    def sweep_edges(it, begin, end, step):
        changed = False
        for k in range(begin + thread_index(), end, num_threads()):
            value = it.values[load_once(it.sources, k)]
            if value != UNREACHED:
                target, found = np.int64(load_once(it.targets, k)), length(value, k, it.weights)
                if found < it.values[target] and found < atomic_min(it.values, target, found):
                    changed = True
        return changed

    return sweep_edges


def make_rows(weighted: bool) -> Any:
    """The device function that sweeps over in-edges; whether this thread lowered a value. `begin` is 0."""
    length, steps = make_length(weighted), tuple(step for step in HALVES if step < LANES)

    @device_function
    def sweep_rows(it, begin, end, step):
        changed = False
        for first in range(thread_index() - lane(), end * LANES, num_threads()):
            v, member = (first + lane()) // LANES, lane() % LANES
            best = np.int32(UNREACHED)
            if v < end:
                for k in range(np.int64(it.offsets[v]) + member, np.int64(it.offsets[v + 1]), LANES):
                    value = it.values[load_once(it.sources, k)]
                    if value != UNREACHED:
                        best = min(best, length(value, k, it.weights))
            for distance in steps:
                best = min(best, shuffle_down(best, distance))
            if v < end and member == 0 and best < it.values[v]:
                it.values[v] = best
                changed = True
        return changed

    return sweep_rows


def make_frontier(weighted: bool) -> Any:
    """The device function that sweeps over the frontier's arcs; whether this thread listed a vertex."""
    length = make_length(weighted)

    @device_function
    def sweep_frontier(it, begin, end, step):
        changed, turn = False, step % TURNS
        following, cleared = turns_after(turn)
        here = (step & 1) * it.n
        there, count = it.n - here, it.counts[turn]
        if thread_index() == 0:
            it.counts[cleared] = 0
        for i in range(thread_index(), count * LANES, num_threads()):
            v = np.int64(it.lists[here + i // LANES])
            value = it.values[v]
            for k in range(np.int64(it.offsets[v]) + i % LANES, np.int64(it.offsets[v + 1]), LANES):
                target, found = np.int64(it.targets[k]), length(value, k, it.weights)
                if found < it.values[target] and found < atomic_min(it.values, target, found):
                    stamp = np.int32(step + 1)
                    if atomic_exchange(it.stamps, target, stamp) != stamp:
                        it.lists[there + atomic_add(it.counts, following, 1)] = target
                        changed = True
        return changed

    return sweep_frontier


def _make_sweep(way: str, weighted: bool) -> Any:
    return {"edges": make_edges, "rows": make_rows, "frontier": make_frontier}[way](weighted)


def make_step(way: str, weighted: bool) -> Any:
    """The kernel of one sweep over the first list."""
    sweep = _make_sweep(way, weighted)

    def step_kernel(it, step):
        if sweep(it, it.begins[0], it.begins[1], step):
            it.control[CHANGED] = step + 1

    return step_kernel


def make_whole(way: str, weighted: bool) -> Any:
    """The kernel of all sweeps, in one cooperative launch."""
    sweep = _make_sweep(way, weighted)

    def whole_kernel(it):
        generation, step, passed, going = np.int64(0), np.int64(0), np.int64(0), True
        while going:
            passed += 1
            for i in range(it.num_lists):
                for _ in range(it.repeats[i]):
                    if sweep(it, it.begins[i], it.begins[i + 1], step):
                        it.control[CHANGED] = passed
                    step += 1
                    generation = grid_barrier(it.control, generation)
            # A block that is ahead may have written a later pass already.
            going = passed < it.passes if it.passes else it.control[CHANGED] >= passed
        if thread_index() == 0:
            it.control[SWEEPS] = step

    return whole_kernel


def make_shard_step(teams: int) -> Any:
    """The kernel of one superstep over shards, as that of `cusha_kernel.make_kernel`; superstep -1 sets the values."""
    member = cusha_kernel.make_member(THREADS // teams)
    first_value, message, deliver = cusha_kernel.make_messages("sssp")
    begin_all = cusha_kernel.make_begin("sssp", first_value)
    superstep = cusha_kernel.make_superstep("sssp", teams, message, deliver, member)

    def shard_step_kernel(it, step):
        shards, values, control = it.shards, it.values, it.control
        local = cuda.shared.array(MAX_WINDOW, INT32)
        taken = cuda.shared.array(teams, INT64)
        flags = cuda.shared.array(teams, INT64)
        if block_thread() < teams:
            flags[block_thread()] = -1
        block_barrier()
        if step < 0:
            begin_all(shards, values, it.sums, it.n, it.entries, it.argument, flags)
        else:
            changed, _ = superstep(
                shards, values.of_sources, values.other_of_sources, values, control, it.n, it.window,
                it.count, step, 0.0, False, local, taken, flags,
            )  # fmt: skip
            if changed and member() == 0:
                control[cusha_kernel.CHANGED] = step + 1

    return shard_step_kernel


def step_signature() -> tuple[Any, ...]:
    """The types of the arguments of `make_step`'s kernel."""
    return type_of(Sweeping), type_of(int)


def whole_signature() -> tuple[Any, ...]:
    """The type of the argument of `make_whole`'s kernel."""
    return (type_of(Sweeping),)


def shard_step_signature() -> tuple[Any, ...]:
    """The types of the arguments of `make_shard_step`'s kernel."""
    return *cusha_kernel.signature("sssp"), type_of(int)


@functools.cache
def _step_kernel(way: str, weighted: bool) -> Kernel:
    return fixed_kernel(make_step, step_signature(), way, weighted)


@functools.cache
def _whole_kernel(way: str, weighted: bool) -> Kernel:
    return fixed_kernel(make_whole, whole_signature(), way, weighted)


@functools.cache
def _shard_step_kernel(teams: int) -> Kernel:
    return fixed_kernel(make_shard_step, shard_step_signature(), teams)


@dataclass(frozen=True)
class Spent:
    """What the sweeps of a run took, without setting the first values; seconds.

    Attributes:
        iterations: sweeps, the last one without a change included.
        seconds: all of them.
        launching: until launches returned. The rest of a launch goes on meanwhile.
        computing: until kernels had ended, launching included; 0 if the host did not wait for that.
        copying: from there until the flag was on the host; if the host did not wait before, kernels included.
    """

    iterations: int
    seconds: float
    launching: float = 0.0
    computing: float = 0.0
    copying: float = 0.0


def run_by_host(start: Callable[[int], None], flag: Any, apart: bool) -> Spent:
    """Start sweeps until one changes nothing, by a flag that is copied to the host after each.

    Args:
        start: starts a sweep, given its number.
        flag: one int64 on the GPU: 1 more than the last sweep that changed a value.
        apart: whether the host waits for a sweep to end before it copies, to time both.
    """
    host, step = pinned(1, np.int64), 0
    launching, computing, copying = 0.0, 0.0, 0.0
    finish()
    started = time.perf_counter()
    while step == 0 or host[0] >= step:
        begun = time.perf_counter()
        start(step)
        launched = time.perf_counter()
        if apart:
            finish()
        computed = time.perf_counter()
        receive(host, flag)
        finish()
        copying += time.perf_counter() - computed
        computing += computed - begun if apart else 0.0
        launching += launched - begun
        step += 1
    return Spent(step, time.perf_counter() - started, launching, computing, copying)


class Sweep:
    """A way to sweep over a graph from a root, with all that it needs on the GPU.

    Args:
        way: one of `WAYS`.
        weighted: whether weights are lengths; else each arc has length 1.
        n: vertices.
        root: where values begin.
        arrays: those of `Sweeping` that the way reads, on the GPU, by name.
        begins, repeats: see `Sweeping`, on the host; by default all of the way, once a pass.
        passes: see `Sweeping`.
    """

    def __init__(
        self, way: str, weighted: bool, n: int, root: int, arrays: dict[str, Any],
        begins: np.ndarray, repeats: np.ndarray, passes: int = 0,
    ) -> None:  # fmt: skip
        self.way, self.weighted, self.root = way, weighted, root
        of_frontier = n if way == "frontier" else 1
        unread = {"offsets": np.int32, "sources": np.uint32, "targets": np.uint32, "weights": np.int32}
        self.given = Sweeping(
            **{name: arrays.get(name, empty(1, dtype)) for name, dtype in unread.items()},
            values=empty(n, np.int32),
            lists=empty(2 * of_frontier, np.int32),
            stamps=zeros(of_frontier, np.int32),
            counts=zeros(TURNS, np.int64),
            control=zeros(CONTROL.size, np.int64),
            begins=copy_of(begins.astype(np.int64)),
            repeats=copy_of(repeats.astype(np.int64)),
            num_lists=len(repeats),
            n=n,
            passes=passes,
        )

    @property
    def values(self) -> Any:
        """Distances by vertex, int32, on the GPU; `UNREACHED` for none."""
        return self.given.values

    def reset(self) -> None:
        """Set the first values."""
        given = self.given
        given.values.fill(UNREACHED)
        given.values[self.root] = 0
        given.control.fill(0)
        if self.way == "frontier":
            given.stamps.fill(0)
            given.counts.fill(0)
            given.lists[0], given.counts[0] = self.root, 1

    def by_host(self, apart: bool = False) -> Spent:
        """Sweep until nothing changes: a launch for each sweep, and a flag that the host reads."""
        kernel, passed = _step_kernel(self.way, self.weighted), packed(self.given)
        return run_by_host(
            lambda step: kernel.start([passed, step]), self.given.control[CHANGED : CHANGED + 1], apart
        )

    def whole(self) -> Spent:
        """Make all passes in one launch."""
        kernel = _whole_kernel(self.way, self.weighted)
        finish()
        started = time.perf_counter()
        kernel.start([self.given])
        finish()
        seconds = time.perf_counter() - started
        return Spent(int(self.given.control[SWEEPS]), seconds)


class ShardSweep:
    """`benchmarks.papers.cusha` from a root, with the flag on the host or on the GPU. The shards have weights."""

    def __init__(self, shards: cusha.Shards, root: int) -> None:
        self.teams = cusha.teams_for(shards.window)
        self.values, of_sources = (empty(k, np.int32) for k in (shards.num_vertices, shards.num_edges))
        self.given = cusha_kernel.ShardRun(
            cusha_kernel.ShardArrays(shards.windows, shards.source, shards.target, shards.weight),
            cusha_kernel.ShardValues(self.values, of_sources, of_sources, self.values),
            zeros(1, np.float64),
            zeros(cusha_kernel.CONTROL.size, np.int64),
            n=shards.num_vertices,
            entries=shards.num_edges,
            window=shards.window,
            count=shards.count,
            argument=root,
        )

    @property
    def _flag(self) -> Any:
        return self.given.control[cusha_kernel.CHANGED : cusha_kernel.CHANGED + 1]

    def reset(self) -> None:
        """Set the words of `control`; values are set by a kernel."""
        self.given.control.fill(0)

    def by_host(self, apart: bool = False) -> Spent:
        """Do supersteps until nothing changes: a launch for each, and a flag that the host reads."""
        kernel, passed = _shard_step_kernel(self.teams), packed(self.given)
        kernel.start([passed, -1])
        return run_by_host(lambda step: kernel.start([passed, step]), self._flag, apart)

    def whole(self) -> Spent:
        """Do all supersteps in one launch, which sets the first values, too."""
        kernel = cusha._kernel("sssp", self.teams)
        finish()
        started = time.perf_counter()
        kernel.start([self.given])
        finish()
        seconds = time.perf_counter() - started
        return Spent(int(self._flag[0]) + 1, seconds)
