"""The kernel of `benchmarks.papers.cusha`: all supersteps of a program on shards in one cooperative launch.

A team of threads takes a shard at a time. Functions make each part of the kernel for one program and one size of teams.
"""

from typing import Annotated, Any, NamedTuple

import numpy as np
from numba import cuda, types

from edgewise.kernels.cuda.arguments import AtomicInt64s, Elements, Int32s, Uint32s, type_of
from edgewise.kernels.cuda.device import (
    HALVES,
    SIMULATED,
    THREADS,
    WARP,
    WARPS,
    atomic_add,
    atomic_min,
    ballot,
    block_barrier,
    block_index,
    block_thread,
    count_bits,
    device_function,
    grid_barrier,
    lane,
    load_once,
    num_blocks,
    num_threads,
    numba_type,
    shuffle,
    shuffle_down,
    shuffle_up,
    thread_index,
)
from edgewise.primitives.control import control_words

#: The most vertices of a window: their values take 47 of the 48 KiB of shared memory that a block has.
MAX_WINDOW = 12_000
#: Teams that a block may have.
TEAMS = (4, 1) if SIMULATED else (4, 2, 1)
#: A warp adds up more than FEW messages to one vertex before it adds them to shared memory.
FEW = 4
#: How many entries a window of a shard should have on average.
WINDOW_ENTRIES = 32
#: The distance of a vertex that was not reached.
UNREACHED = 2**31 - 1
DAMPING = 0.85
#: Words of `control`, a cache line apart: TAKEN counts the shards that were taken in all supersteps; CHANGED is the
#: last superstep that changed a value.
CONTROL = control_words()
TAKEN, CHANGED = CONTROL.take_line(), CONTROL.take_line()
DTYPES = {"pagerank": np.dtype(np.float32), "sssp": np.dtype(np.int32), "components": np.dtype(np.int32)}


Values = Annotated[Any, Elements("value")]


class ShardArrays(NamedTuple):
    """The arrays of `benchmarks.papers.cusha.Shards`."""

    windows: Int32s
    sources: Uint32s
    targets: Uint32s
    weights: Int32s


class ShardValues(NamedTuple):
    """The values of a program.

    Attributes:
        result: by vertex.
        of_sources, other_of_sources: of each entry's source: for ranks two arrays in turns, otherwise one twice.
        scale: for ranks, see `Shards`; otherwise any array.
    """

    result: Values
    of_sources: Values
    other_of_sources: Values
    scale: Values


class ShardRun(NamedTuple):
    """What the kernel takes.

    Attributes:
        shards, values: see there.
        sums: for ranks, (iterations + 1,), zeros at first: the dangling rank before each iteration.
        control: zeros at first, see `CONTROL`.
        n, entries, window, count: the numbers of `Shards`.
        argument: how many iterations, or the source.
    """

    shards: ShardArrays
    values: ShardValues
    sums: Annotated[Any, Elements(np.float64, atomic=True)]
    control: AtomicInt64s
    n: int
    entries: int
    window: int
    count: int
    argument: int


def signature(kind: str) -> tuple[Any, ...]:
    """The type of the argument of a program's kernel."""
    return (type_of(ShardRun, value=DTYPES[kind]),)


if SIMULATED:

    @device_function
    def team_barrier(team, size):
        if size > 1:
            cuda.syncthreads()

else:
    from llvmlite import ir
    from numba.cuda.extending import intrinsic

    @intrinsic
    def _named_barrier(context, number, size):
        """Wait until `size` threads of the block have come to barrier `number`."""

        def generate(context, builder, signature, arguments):
            kind = ir.FunctionType(ir.VoidType(), [ir.IntType(32)] * 2)
            barrier = builder.module.globals.get("llvm.nvvm.barrier.sync.cnt")
            barrier = barrier or ir.Function(builder.module, kind, "llvm.nvvm.barrier.sync.cnt")
            builder.call(barrier, arguments)
            return context.get_dummy_value()

        return types.none(types.int32, types.int32), generate

    @device_function
    def team_barrier(team, size):
        """Wait for all threads of the team."""
        _named_barrier(np.int32(team + 1), np.int32(size))


@device_function
def place(v, shift):
    """The index of a vertex's value in shared memory: unsigned, so that no code checks for a negative one."""
    return np.uint32(v + shift)


@device_function
def holder_of(p, upto):
    """The lane that has entry p; the entries of a lane end before `upto`."""
    holder = np.int32(0)
    for step in HALVES:
        if shuffle(upto, np.int32(holder + step - 1)) <= p:
            holder = np.int32(holder + step)
    return holder


@device_function
def entry(p, upto, start):
    """The p-th entry of all lanes. `start` is a lane's first entry less the number of entries of lanes before it."""
    return np.int32(p + shuffle(start, holder_of(p, upto)))


@device_function
def add_up(value, sums, i, tally):
    """Add the values of all threads of the block to a sum."""
    for step in HALVES:
        value += shuffle_down(value, step)
    if lane() == 0:
        tally[block_thread() // WARP] = value
    block_barrier()
    if block_thread() < WARP:
        value = 0.0
        for warp in range(lane(), WARPS, WARP):
            value += tally[warp]
        for step in HALVES:
            value += shuffle_down(value, step)
        if lane() == 0:
            atomic_add(sums, i, value)


def make_member(size: int) -> Any:
    """The device function `member` for teams of `size` threads."""

    @device_function
    def member():
        """The number of this thread in its team."""
        return np.int32(cuda.threadIdx.x % size)

    return member


def make_messages(kind: str) -> tuple[Any, Any, Any]:
    """Device functions: a source's first value, what an entry sends, and how that is combined with a target's value."""
    ranks, weighted, cast = kind == "pagerank", kind == "sssp", DTYPES[kind].type

    @device_function
    def first_value(v, values, part, argument):
        """The first value of a source; `part` is the first rank."""
        if ranks:
            return cast(values.scale[v] * part)
        if weighted:
            return cast(0) if v == argument else cast(UNREACHED)
        return cast(v)

    @device_function
    def message(k, old, weight):
        """What entry k sends."""
        value = load_once(old, k)
        if weighted:
            length = cast(np.int64(value) + load_once(weight, k))
            return value if value == UNREACHED else length
        return value

    @device_function
    def deliver(local, i, sent, value, hub):
        """Combine a message, if one was sent, with the i-th value. All lanes of the warp take part.

        If many lanes add to one float in shared memory, one succeeds at a time and all others try again. So more than
        `FEW` messages to one vertex, `hub`, are added up first. Most messages do not lower an integer, so it is read
        before an atomic operation.

        Returns:
            The hub to try next.
        """
        if ranks:
            same = sent and np.int32(i) == hub
            if count_bits(ballot(same)) > FEW:
                total = value if same else cast(0)
                for step in HALVES:
                    total += shuffle_down(total, step)
                if lane() == 0:
                    atomic_add(local, np.uint32(hub), total)
                if sent and not same:
                    atomic_add(local, i, value)
            else:
                if sent:
                    atomic_add(local, i, value)
                hub = shuffle(np.int32(i), 0)
        elif sent and value < local[i]:
            atomic_min(local, i, value)
        return hub

    return first_value, message, deliver


def make_gather(member: Any, size: int, message: Any, deliver: Any) -> Any:
    """The device function by which a team goes over the entries of a shard."""

    @device_function
    def gather(begin, end, shift, shards, old, local):
        """Deliver the messages of a shard's entries. A thread loads four at a time, so that accesses overlap."""
        target, weight, last, hub = shards.targets, shards.weights, np.int32(end - 1), np.int32(-1)
        first, me = np.int32(begin + member() - lane()), np.int32(lane())
        while first < end:
            k, k1 = np.int32(first + me), np.int32(first + me + size)
            k2, k3 = np.int32(first + me + 2 * size), np.int32(first + me + 3 * size)
            at, at1, at2, at3 = min(k, last), min(k1, last), min(k2, last), min(k3, last)
            to, to1 = load_once(target, at), load_once(target, at1)
            to2, to3 = load_once(target, at2), load_once(target, at3)
            value, value1 = message(at, old, weight), message(at1, old, weight)
            value2, value3 = message(at2, old, weight), message(at3, old, weight)
            hub = deliver(local, place(to, shift), k < end, value, hub)
            hub = deliver(local, place(to1, shift), k1 < end, value1, hub)
            hub = deliver(local, place(to2, shift), k2 < end, value2, hub)
            hub = deliver(local, place(to3, shift), k3 < end, value3, hub)
            first = np.int32(first + 4 * size)

    return gather


def make_update(kind: str, member: Any, size: int) -> Any:
    """The device function by which a team stores the new values of its window."""
    ranks, cast = kind == "pagerank", DTYPES[kind].type

    @device_function
    def update(base, upto, shift, kept, values, local):
        """Store ranks, or values that fell; whether one of this thread's fell, and its dangling rank."""
        changed, dangling = False, 0.0
        for v in range(base + member(), upto, size):
            if ranks:
                rank, scale = cast(kept + DAMPING * np.float64(local[place(v, shift)])), values.scale[v]
                values.result[v] = rank
                local[place(v, shift)] = rank * scale
                if scale == cast(0):
                    dangling += np.float64(rank)
            elif local[place(v, shift)] < values.result[v]:
                values.result[v] = local[place(v, shift)]
                changed = True
        return changed, dangling

    return update


def make_write_back(member: Any, size: int) -> Any:
    """The device function by which a team gives the values of its window to all shards."""
    team_warps = size // WARP

    @device_function
    def write_back(i, count, shift, shards, new, local):
        """Write the values of window i to the entries of all shards. Each warp takes adjacent shards."""
        windows, source, warp = shards.windows, shards.sources, member() // WARP
        share = (count + team_warps - 1) // team_warps
        for first in range(warp * share, min((warp + 1) * share, count), WARP):
            many = min((warp + 1) * share, count) - first
            begin, length = np.int32(0), np.int32(0)
            if lane() < many:
                begin = windows[i * count + first + lane()]
                length = np.int32(windows[(i + 1) * count + first + lane()] - begin)
            upto = length
            for step in HALVES[::-1]:
                before = shuffle_up(upto, step)
                if lane() >= step:
                    upto = np.int32(upto + before)
            start, total, p = np.int32(begin + length - upto), shuffle(upto, WARP - 1), np.int32(lane())
            last = np.int32(total - 1)
            while p - lane() < total:
                p1, p2, p3 = np.int32(p + WARP), np.int32(p + 2 * WARP), np.int32(p + 3 * WARP)
                k0, k1 = entry(min(p, last), upto, start), entry(min(p1, last), upto, start)
                k2, k3 = entry(min(p2, last), upto, start), entry(min(p3, last), upto, start)
                from0, from1 = load_once(source, k0), load_once(source, k1)
                from2, from3 = load_once(source, k2), load_once(source, k3)
                if p < total:
                    new[k0] = local[place(from0, shift)]
                if p1 < total:
                    new[k1] = local[place(from1, shift)]
                if p2 < total:
                    new[k2] = local[place(from2, shift)]
                if p3 < total:
                    new[k3] = local[place(from3, shift)]
                p = np.int32(p + 4 * WARP)

    return write_back


def make_begin(kind: str, first_value: Any) -> Any:
    """The device function with which all threads begin."""
    ranks, cast = kind == "pagerank", DTYPES[kind].type

    @device_function
    def begin_all(shards, values, sums, n, entries, argument, tally):
        """Set the values of vertices and of entries' sources before the first superstep."""
        dangling, part = 0.0, 1.0 / n
        for v in range(thread_index(), n, num_threads()):
            if ranks:
                dangling += part if values.scale[v] == cast(0) else 0.0
            values.result[v] = cast(part) if ranks else first_value(v, values, part, argument)
        sources, step, last = shards.sources, num_threads(), entries - 1
        for k in range(thread_index(), entries, 4 * step):
            # Indices beyond the last entry write the last one again.
            k1, k2, k3 = min(k + step, last), min(k + 2 * step, last), min(k + 3 * step, last)
            source, source1 = load_once(sources, k), load_once(sources, k1)
            source2, source3 = load_once(sources, k2), load_once(sources, k3)
            value, value1 = (
                first_value(source, values, part, argument),
                first_value(source1, values, part, argument),
            )
            value2, value3 = (
                first_value(source2, values, part, argument),
                first_value(source3, values, part, argument),
            )
            values.of_sources[k] = value
            values.of_sources[k1] = value1
            values.of_sources[k2] = value2
            values.of_sources[k3] = value3
        if ranks:
            add_up(dangling, sums, 0, tally)

    return begin_all


def make_superstep(kind: str, teams: int, message: Any, deliver: Any, member: Any) -> Any:
    """The device function by which a team does a superstep."""
    ranks, cast = kind == "pagerank", DTYPES[kind].type
    size, room = THREADS // teams, MAX_WINDOW // teams
    gather, update = make_gather(member, size, message, deliver), make_update(kind, member, size)
    write_back = make_write_back(member, size)

    @device_function
    def superstep(shards, old, new, values, control, n, window, count, step, kept, last, local, taken, flags):
        """Do all shards that this team takes; whether a value fell, and the dangling rank of this thread's vertices."""
        windows, changed, dangling = shards.windows, False, 0.0
        team = block_thread() // size
        i = team * num_blocks() + block_index()
        while i < count:
            base, upto = i * window, min((i + 1) * window, n)
            shift = np.int32(team * room - base)
            for v in range(base + member(), upto, size):
                local[place(v, shift)] = cast(0) if ranks else values.result[v]
            team_barrier(team, size)
            if member() == 0:
                # A superstep has as many additions as shards.
                before = atomic_add(control, TAKEN, 1) - step * count
                taken[team] = teams * num_blocks() + before
            gather(windows[i], windows[count * count + i], shift, shards, old, local)
            team_barrier(team, size)
            lower, hanging = update(base, upto, shift, kept, values, local)
            dangling += hanging
            if lower:
                flags[team] = step * count + i
            team_barrier(team, size)
            lower = flags[team] == step * count + i
            changed = changed or lower
            if (ranks and not last) or lower:
                write_back(i, count, shift, shards, new, local)
            i = taken[team]
            team_barrier(team, size)
        return changed, dangling

    return superstep


def make_kernel(kind: str, teams: int) -> Any:
    """The kernel of a program, "pagerank", "sssp" or "components", with `teams` teams in a block."""
    ranks = kind == "pagerank"
    shared_type, word_type, real_type = (
        numba_type(np.dtype(t)) for t in (DTYPES[kind], np.int64, np.float64)
    )
    member = make_member(THREADS // teams)
    first_value, message, deliver = make_messages(kind)
    begin_all = make_begin(kind, first_value)
    superstep = make_superstep(kind, teams, message, deliver, member)

    def cusha_kernel(it):
        """Run a program to the end; see `ShardRun`."""
        shards, values, sums, control, n, argument = (
            it.shards,
            it.values,
            it.sums,
            it.control,
            it.n,
            it.argument,
        )
        local = cuda.shared.array(MAX_WINDOW, shared_type)
        taken = cuda.shared.array(teams, word_type)
        flags = cuda.shared.array(teams, word_type)
        tally = cuda.shared.array(WARPS, real_type)
        if block_thread() < teams:
            flags[block_thread()] = -1
        begin_all(shards, values, sums, n, it.entries, argument, tally)
        generation, step = grid_barrier(control, np.int64(0)), np.int64(0)
        going = not ranks or argument > 0
        while going:
            here, there = values.of_sources, values.other_of_sources
            old, new = (there, here) if step & 1 else (here, there)
            kept = (1.0 - DAMPING + DAMPING * sums[step]) / n if ranks else 0.0
            last = step + 1 == argument
            changed, dangling = superstep(
                shards,
                old,
                new,
                values,
                control,
                n,
                it.window,
                it.count,
                step,
                kept,
                last,
                local,
                taken,
                flags,
            )
            step += 1
            if ranks:
                add_up(dangling, sums, step, tally)
            elif changed and member() == 0:
                control[CHANGED] = step
            generation = grid_barrier(control, generation)
            # A block that is ahead may have written a later superstep already.
            going = step < argument if ranks else control[CHANGED] >= step

    return cusha_kernel
