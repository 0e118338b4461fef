"""The phases of a superstep on one rank with a GPU, compiled together: parts of the CUDA engine, over some vertices.

Between phases the host lets ranks speak (`edgewise.engine.distributed.rank_cuda`), so each launch carries out one.
Vertices have the same numbers on all ranks. Arcs are those of the rank alone, unless the program asks for their
indices.

Active vertices send along their out-edges in equal shares by merge path, so that no hub keeps the others waiting, and
messages are combined by atomic operations. Where messages are pulled, a thread goes over a short row, in the order of
in-edges, as the ranks on CPUs do. Over a long one goes a warp, whose lanes find 32 messages at a time: of a sum, each
lane adds up its own, and what lanes have is added up at the end; other messages are combined one after the other. So
sums of floats depend neither on the number of ranks nor on the GPU.
"""

from typing import Annotated, Any, NamedTuple

import numpy as np

from edgewise.balance.contract import Bodies
from edgewise.balance.registry import strategy_of
from edgewise.engine.cuda.arguments import Arcs, offset_dtype, own_type, stored
from edgewise.engine.cuda.buffered import nothing
from edgewise.engine.cuda.combining import Combining, make_combining
from edgewise.engine.cuda.control import COUNT, ENDED, UNITS
from edgewise.engine.cuda.gathering import make_along
from edgewise.engine.cuda.messages import make_compute, make_scatter
from edgewise.engine.distributed.gathering_cuda import make_combined_rows, make_gathering, make_kept_rows
from edgewise.engine.distributed.phases import Phase
from edgewise.engine.lowering.accessors import make_glue
from edgewise.engine.lowering.binding import Binding
from edgewise.engine.lowering.compiled import CompiledProgram
from edgewise.engine.lowering.message_buffer import slot_dtypes
from edgewise.kernels.cuda.arguments import (
    AtomicInt64s,
    Elements,
    Offsets,
    Uint8s,
    Uint32s,
    array,
    tuple_of,
    type_of,
)
from edgewise.kernels.cuda.device import (
    INT64,
    WARP,
    ballot,
    count_bits,
    cuda,
    device_function,
    inlined,
    lane,
    num_threads,
    thread_index,
    warp_barrier,
)
from edgewise.primitives.deal import MOST_EACH, TALLY_WORDS, add_to_total, append_each
from edgewise.schedule import MergePath

#: Which threads send along which arcs.
BALANCE = MergePath()
#: Phases as kernels compare them.
FILL, START, RESUME, LIST = map(int, (Phase.FILL, Phase.START, Phase.RESUME, Phase.LIST))
SEND, GATHER, COMBINE, COMPUTE = map(int, (Phase.SEND, Phase.GATHER, Phase.COMBINE, Phase.COMPUTE))
FOLD, TOTAL, PROCEED, BEST = map(int, (Phase.FOLD, Phase.TOTAL, Phase.PROCEED, Phase.BEST))


class RankWork(NamedTuple):
    """Which vertices are active.

    Attributes:
        active: of each vertex, the stamp of the last superstep in which it was active.
        listed: the active vertices of this rank.
        long: those with at least `LONG` in-edges, the longest rows first, see
            `edgewise.engine.distributed.gathering_cuda`; empty where messages are pushed.
    """

    active: Uint32s
    listed: Uint32s
    long: Uint32s


class Told(NamedTuple):
    """Messages of another rank: for which of this rank's vertices, counted from its first one, and what. BEST writes
    first messages of own vertices here."""

    vertices: Uint32s
    values: Annotated[Any, Elements("stored")]


class Slots(NamedTuple):
    """The messages of a program that asks for all of them.

    Attributes:
        slot_of: the slot of each in-edge; the slots of a vertex are those from its `in_offsets` on.
        filled: whether a slot holds a message.
        slots: a tuple of arrays, one for each field of a message.
    """

    slot_of: Offsets
    filled: Uint8s
    slots: Annotated[Any, Elements("slots")]


class RankPhase(NamedTuple):
    """What the kernel takes.

    Attributes:
        graph, work, told: see there.
        own: the program's arrays, a tuple in the order of `own_array_order`.
        messages, received: of each vertex, its message, and the stamp of the superstep in which it got one last.
        control: see `edgewise.engine.cuda.control`; zeros at first.
        plan: the arrays of `BALANCE`.
        buffer: `Slots`, or an empty tuple.
        phase: a `Phase`.
        n, m: vertices and arcs of the graph.
        superstep: which one it is.
        low, high, step, first: see `Phase`; `first` is where results begin.
        number: of listed vertices; or of vertices with long rows; or of messages of another rank.
        everyone: whether all vertices of the graph send; or whether there are messages for all of this rank.
        supplied: bits that say which vertex fields have an array to begin with.
    """

    graph: Arcs
    work: RankWork
    told: Told
    own: Annotated[Any, Elements("own")]
    messages: Annotated[Any, Elements("stored", atomic=True)]
    received: Uint32s
    control: AtomicInt64s
    plan: Annotated[Any, Elements("plan")]
    buffer: Annotated[Any, Elements("buffer")]
    phase: int
    n: int
    m: int
    superstep: int
    low: int
    high: int
    step: int
    first: int
    number: int
    everyone: bool
    supplied: int


class Run(NamedTuple):
    """What device functions see of `RankPhase`, and `tally`, which a block shares."""

    graph: Any
    work: Any
    own: Any
    messages: Any
    received: Any
    control: Any
    plan: Any
    buffer: Any
    tally: Any


def signature(binding: Binding, message: np.dtype, parameters: dict[str, Any]) -> tuple[Any, ...]:
    """The type of the kernel's argument."""
    dtypes = {"offset": offset_dtype(binding), "stored": stored(binding.spec.combine, message)}
    buffer = tuple_of([])
    if binding.spec.keeps_messages:
        slots = tuple_of([array(dtype) for dtype in slot_dtypes(message)])
        buffer = type_of(Slots, slots=slots, **dtypes)
    plan = type_of(strategy_of(BALANCE).arrays, **dtypes)
    return (type_of(RankPhase, own=own_type(binding, parameters), plan=plan, buffer=buffer, **dtypes),)


@inlined
def _shared_run(it: Any) -> Any:
    """`Run`, made of `RankPhase`."""
    tally = cuda.shared.array(TALLY_WORDS, INT64)
    return Run(it.graph, it.work, it.own, it.messages, it.received, it.control, it.plan, it.buffer, tally)


def make_sending(edge_compute: Any, make_out_edge: Any, combining: Combining) -> Any:
    """The function that sends along the out-edges of listed vertices: ``deliver(it, state, run)``."""
    cast, store = combining.cast, combining.store
    combine_at, changes = combining.combine_at, combining.changes

    @device_function
    def visit(takes, v, key, k, context):
        """Send along one arc; its target need not be of this rank. Reading is cheaper than writing what is there."""
        if takes:
            stamp, state, run = context
            target = np.int64(run.graph.targets[k])
            sent = edge_compute(make_out_edge(v, target, k, k, run.own), state)
            if sent is not None:
                value = store(cast(sent * 1))
                if changes(run.messages[target], value):
                    combine_at(run.messages, target, value)
                if run.received[target] != stamp:
                    run.received[target] = stamp
        return np.int64(0), np.int64(0)

    bodies = Bodies(visit, make_scatter(visit), nothing, nothing, nothing)
    push_all = strategy_of(BALANCE).make(bodies).push_all

    @device_function
    def deliver(it, state, run):
        push_all(it.work.listed, it.number, UNITS, np.int64(0), (it.superstep, state, run), run)

    return deliver


def make_sweep(decide: Any, may: Any, lists: bool) -> Any:
    """The function that counts the vertices that are active next, and `lists` them or does not:
    ``sweep(it, state, run)``.

    Args:
        decide: ``decide(v, stamp, state, run)``: whether a vertex is.
        may: ``may(v, stamp, run)``: whether it has to be asked. A lane looks at several vertices at once: what it waits
            for is memory.
        lists: see above.
    """

    @device_function
    def sweep(it, state, run):
        active, last = np.int64(0), it.high - 1
        each = max(np.int64(1), (it.high - it.low + num_threads() - 1) // num_threads())
        each = min(np.int64(MOST_EACH), each)
        start = it.low + (thread_index() - lane()) * each
        for first in range(start, it.high, num_threads() * each):
            asked, found = np.uint32(0), np.uint32(0)
            for i in range(MOST_EACH):
                v = first + i * WARP + lane()
                if may(min(v, last), it.superstep, run) & (v <= last) & (i < each):
                    asked = np.uint32(asked | 1 << i)
            for i in range(each):
                v = first + i * WARP + lane()
                if (asked >> np.uint32(i)) & np.uint32(1) != 0 and decide(v, it.superstep, state, run):
                    found = np.uint32(found | 1 << i)
                    run.work.active[v] = it.superstep + 1
            active += count_bits(found)
            if lists and ballot(found != 0) != 0:
                append_each(run.work.listed, run.control, COUNT, first, found, each)
        if not lists:
            add_to_total(active, 0, run.tally, run.control, COUNT)

    return sweep


@device_function
def _always(v: Any, stamp: Any, run: Any) -> Any:
    """`may` of `make_sweep`: all have to be asked."""
    return True


@device_function
def _is_due(v: Any, stamp: Any, run: Any) -> Any:
    """`may` of `make_sweep`: a vertex is computed that is active or got a message."""
    return (run.work.active[v] == stamp) | (run.received[v] == stamp)


@device_function
def _is_next(v: Any, stamp: Any, run: Any) -> Any:
    """`may` of `make_sweep` where it is known which vertices are active next."""
    return run.work.active[v] == stamp + 1


def make_deciding(vote: Any) -> Any:
    """`decide` of `make_sweep` that asks the program."""
    return device_function(lambda v, stamp, state, run: vote(v, state))


def make_joining(combining: Combining) -> Any:
    """The function that takes the messages of other ranks: ``join(it, run)``."""
    cast, store = combining.cast, combining.store
    decoded, combine_at = combining.decoded, combining.combine_at

    @device_function
    def join(it, run):
        for i in range(thread_index(), it.number, num_threads()):
            v = it.low + i
            if it.everyone == 0:
                v = it.low + np.int64(it.told.vertices[i])
            combine_at(run.messages, v, store(cast(decoded(it.told.values[i]))))
            run.received[v] = it.superstep

    return join


def make_best(edge_compute: Any, make_out_edge: Any, combining: Combining) -> Any:
    """The function that writes the first messages that active vertices would send, as they are stored:
    ``best(it, state, run)``."""
    nothing_sent, cast, store, encoded = combining.nothing, combining.cast, combining.store, combining.encoded

    @device_function
    def best(it, state, run):
        offsets = run.graph.offsets
        for v in range(it.low + thread_index(), it.high, num_threads()):
            k, first = np.int64(offsets[v]), nothing_sent
            if run.work.active[v] == it.superstep + 1 and k < np.int64(offsets[v + 1]):
                target = np.int64(run.graph.targets[k])
                sent = edge_compute(make_out_edge(v, target, k, k, run.own), state)
                if sent is not None:
                    first = encoded(store(cast(sent * 1)))
            it.told.values[v - it.low] = first

    return best


@device_function
def _no_best(it: Any, state: Any, run: Any) -> None:
    """In place of `best` of programs whose vertices do not wait."""


def make_folds(glue: Any) -> tuple[Any, Any]:
    """The functions that fold vertices, and parts.

    A warp folds the vertices of a part: its lanes evaluate all of them, and one lane joins the values in their order.
    These lie from `first` on, and the result in the place of the first one. Single vertices have a lane each.
    """
    fold_vertices, fold_parts, set_aggregates = glue.fold_vertices, glue.fold_parts, glue.set_aggregates

    @device_function
    def fold(it, state):
        if it.step == 1:
            for v in range(it.low + thread_index(), it.high, num_threads()):
                fold_vertices(it.first + v - it.low, v, v + 1, 1, state, it.own)
            return
        warp, step = thread_index() // WARP, num_threads() // WARP * it.step
        for begin in range(it.low + warp * it.step, it.high, step):
            end, place = min(it.high, begin + it.step), it.first + begin - it.low
            for v in range(begin + lane(), end, WARP):
                fold_vertices(place + v - begin, v, v + 1, 1, state, it.own)
            warp_barrier()
            if lane() == 0:
                fold_parts(place, place + end - begin, 1, it.own)

    @device_function
    def total(it):
        """Fold parts into the first `step` of them; into one, that is what aggregates are, of no parts, too."""
        end = it.low + min(it.step, max(np.int64(1), it.high - it.low))
        for part in range(it.low + thread_index(), end, num_threads()):
            fold_parts(part, it.high, it.step, it.own)
        if thread_index() == 0 and it.step == 1:
            set_aggregates(it.own)

    return fold, total


def make_delivering(
    compiled: CompiledProgram, binding: Binding, message: np.dtype, glue: Any, pulls: bool
) -> tuple[Any, Any, Any]:
    """The functions that deliver messages, that compute a vertex, and that take messages of other ranks."""
    spec, functions = binding.spec, compiled.functions
    edge_compute = functions["edge_compute"]
    along = make_along(spec, edge_compute, glue.make_in_edge)
    if spec.keeps_messages:
        by_lane, by_warp, compute = make_kept_rows(compiled, binding, message, along)
        return make_gathering(by_lane, by_warp), compute, nothing
    combining = make_combining(compiled, spec, message)
    compute = make_compute(functions["vertex_compute"], combining, noted=True)
    if pulls:
        in_order = spec.combine.name != "SUM"  # others may be the user's own
        rows = make_combined_rows(along, spec.edge_compute_is_harmless, combining, in_order)
        return make_gathering(*rows), compute, nothing
    return make_sending(edge_compute, glue.make_out_edge, combining), compute, make_joining(combining)


def make_rank_kernel(
    compiled: CompiledProgram, binding: Binding, message: np.dtype, uniform: frozenset[str], pulls: bool
) -> Any:
    """The kernel of one program for given dtypes, to be compiled for `signature`.

    Args:
        compiled, binding, message, uniform: as for `edgewise.engine.cuda.kernel.make_gpu_kernel`.
        pulls: whether vertices gather over their in-edges; else active vertices send along their out-edges.
    """
    functions = compiled.functions
    glue = make_glue(compiled, binding, uniform, device_function)
    make_state, fill_fields, proceed = glue.make_state, glue.fill_fields, functions["proceed"]
    deliver, compute, join = make_delivering(compiled, binding, message, glue, pulls)

    asking = (
        (make_deciding(functions["initialize"]), _always),
        (make_deciding(functions["resume"]), _always),
        (compute, _is_due),
        (device_function(lambda v, stamp, state, run: True), _is_next),
    )
    start, resume, sweep, count = (make_sweep(*each, not pulls) for each in asking)
    fold, total = make_folds(glue)
    best = _no_best
    if binding.spec.best_first:
        combining = make_combining(compiled, binding.spec, message)
        best = make_best(functions["edge_compute"], glue.make_out_edge, combining)
    delivery = GATHER if pulls else SEND

    def rank_kernel(it):
        run, state = _shared_run(it), make_state(it.own, it.n, it.m, it.superstep)
        phase = it.phase
        if phase == FILL:
            for v in range(it.low + thread_index(), it.high, num_threads()):
                fill_fields(v, v + 1, it.own, it.supplied)
        elif phase == START:
            start(it, state, run)
        elif phase == RESUME:
            resume(it, state, run)
        elif phase == LIST:
            count(it, state, run)
        elif phase == delivery:
            deliver(it, state, run)
        elif phase == COMBINE:
            join(it, run)
        elif phase == COMPUTE:
            sweep(it, state, run)
        elif phase == FOLD:
            fold(it, state)
        elif phase == TOTAL:
            total(it)
        elif phase == BEST:
            best(it, state, run)
        elif phase == PROCEED and thread_index() == 0:
            run.control[ENDED] = np.int64(1) if proceed(state) else np.int64(0)

    return rank_kernel
