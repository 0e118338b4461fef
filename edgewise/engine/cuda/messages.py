"""What a program does with arcs on a GPU: the bodies that strategies of `edgewise.balance` call.

If the combiner depends on the order of messages, or the GPU has no atomic operation for it, messages are combined only
where vertices gather, not as they are sent. The parts of lanes are combined in a fixed order, so sums do not depend on
timing.
"""

from typing import Any, NamedTuple

import numpy as np

from edgewise.balance.contract import Bodies
from edgewise.engine.cuda.buffered import (
    make_combined_slots,
    make_gather_slots,
    make_kept_slots,
    make_sending,
    nothing,
)
from edgewise.engine.cuda.combining import Combining, make_combining
from edgewise.engine.cuda.control import TOUCHED
from edgewise.engine.cuda.gathering import (
    make_add,
    make_along,
    make_gather,
    make_gather_lanes,
    make_gather_spread,
    make_gather_total,
    make_gather_unit,
    make_join_parts,
    make_receiving,
    make_spread,
)
from edgewise.engine.delivery import Delivery, stops_early
from edgewise.engine.lowering.binding import Binding
from edgewise.engine.lowering.compiled import CompiledProgram
from edgewise.kernels.cuda.device import atomic_exchange, ballot, device_function, lane
from edgewise.primitives.deal import append
from edgewise.primitives.warp_buffers import make_outbox


class Messages(NamedTuple):
    """What a kernel does with messages.

    Attributes:
        bodies: for strategies. The context of `visit` and `scatter` is (stamp, everyone, state, run, turn), that of the
            others (stamp, everyone, state, run). `everyone` says that all vertices send.
        flush: ``flush(boxes, (run, turn))``: list the touched vertices that are still in the outbox.
        fill: ``fill(n, m, context)``, with the context of `visit`: write what is sent into all slots.
        spread: ``spread(n, state, run)``: compute what each vertex sends along all of its out-edges, where all send and
            `Delivery.spreads`; `gather_total` and `gather_and_compute` then read that.
        clear: ``clear(layout, run)``: put the combiner's identity into all slots of a buffer.
        compute: ``compute(v, stamp, state, run)``: call vertex_compute with the messages of a vertex and remove them;
            whether the vertex is active next.
        gather_total, compute_total: `bodies.gather` and `compute` where all vertices are computed, whether they got a
            message or not, so that none is noted.
        gather_and_compute: ``gather_and_compute(v, first, end, step, lanes, context)``: gather as `bodies.gather` does,
            and compute the vertex at once if it is active or got a message; whether it is active next, told to one of
            the lanes. Where it may be asked for.
    """

    bodies: Bodies
    flush: Any
    fill: Any
    spread: Any
    clear: Any
    compute: Any
    gather_total: Any
    compute_total: Any
    gather_and_compute: Any


def make_scatter(visit: Any) -> Any:
    """`scatter` of bodies, from `visit`."""

    @device_function
    def scatter(v, first, end, step, lanes, context):
        while ballot(first < end) != 0:
            visit(first < end, v, np.int64(0), first, context)
            first += step

    return scatter


def make_pushing(edge_compute: Any, make_out_edge: Any, combining: Combining) -> tuple[Any, Any]:
    """`visit` of bodies, and `flush`, where messages are combined by atomic operations."""
    cast, store, combine_at = combining.cast, combining.store, combining.combine_at

    @device_function
    def send(u, k, target, stamp, state, run):
        """Send along one arc; whether the target is halted and this is its first message."""
        sent = edge_compute(make_out_edge(u, target, k, k, run.own), state)
        if sent is not None:
            combine_at(run.messages, target, store(cast(sent * 1)))
            if run.received[target] != stamp:
                first = atomic_exchange(run.received, target, np.uint32(stamp)) != stamp
                return first and run.work.active[target] != stamp
        return False

    @device_function
    def list_touched(v, wanted, context):
        """List the vertices of those lanes that want it as touched."""
        run, turn = context
        append(run.work.touched, run.control, TOUCHED + turn, v, wanted)
        return np.int64(0)

    put, flush = make_outbox(0, list_touched)

    @device_function
    def visit(takes, v, key, k, context):
        """Send along one arc; list its target if that is halted and this is its first message."""
        stamp, _, state, run, turn = context
        first, target = False, np.int64(0)
        if takes:
            target = np.int64(run.graph.targets[k])
            first = send(v, k, target, stamp, state, run)
        return put(target, first, run.boxes, (run, turn)), np.int64(0)

    return visit, flush


def make_compute(vertex_compute: Any, combining: Combining, noted: bool) -> Any:
    """`compute` of a program whose messages are combined; `noted`: whether it is noted which vertices got one."""
    identity, nothing, cast, decoded = (
        combining.identity,
        combining.nothing,
        combining.cast,
        combining.decoded,
    )

    @device_function
    def compute(v, stamp, state, run):
        incoming = identity
        if not noted or run.received[v] == stamp:
            incoming = decoded(run.messages[v])
            run.messages[v] = nothing
        return vertex_compute(v, cast(incoming), state)

    return compute


def make_gather_and_compute(gather_lanes: Any, vertex_compute: Any, combining: Combining) -> Any:
    """`gather_and_compute` of `Messages`."""
    identity, cast = combining.identity, combining.cast
    encoded, decoded = combining.encoded, combining.decoded

    @device_function
    def gather_and_compute(v, first, end, step, lanes, context):
        stamp, _, state, run = context
        place = np.int64(0) if lanes == 1 else lane() % lanes
        total, got, leads = gather_lanes(v, first, end, step, lanes, place, identity, False, context)
        if leads and (got or run.work.active[v] == stamp):
            return vertex_compute(v, cast(decoded(encoded(total))), state)
        return False

    return gather_and_compute


def make_kept_messages(
    compiled: CompiledProgram, binding: Binding, message: np.dtype, glue: Any, by_edges: bool
) -> Messages:
    """`Messages` of a program that asks for all messages. The arguments are those of `make_messages`."""
    put, compute = make_kept_slots(compiled, binding.spec.combine, message)
    visit, fill = make_sending(compiled.functions["edge_compute"], glue.make_out_edge, put, nothing, by_edges)
    return Messages(
        Bodies(visit, make_scatter(visit), nothing, nothing, nothing),
        flush=nothing,
        fill=fill,
        spread=nothing,
        clear=nothing,
        compute=compute,
        gather_total=nothing,
        compute_total=nothing,
        gather_and_compute=nothing,
    )


def make_messages(
    compiled: CompiledProgram, binding: Binding, message: np.dtype, glue: Any, delivery: Delivery
) -> Messages:
    """`Messages` of a program for given dtypes.

    Args:
        compiled, binding, message, delivery: as for `edgewise.engine.cuda.kernel.make_gpu_kernel`.
        glue: the program's `Glue`.
    """
    spec, functions = binding.spec, compiled.functions
    if spec.keeps_messages:
        return make_kept_messages(compiled, binding, message, glue, delivery.by_edges)
    edge_compute, combining = functions["edge_compute"], make_combining(compiled, spec, message)
    along = make_along(spec, edge_compute, glue.make_in_edge)
    if delivery.buffered:
        put, empty, clear = make_combined_slots(combining)
        visit, fill = make_sending(edge_compute, glue.make_out_edge, put, empty, delivery.by_edges)
        gather, flush = make_gather_slots(combining), nothing
    else:
        visit, flush = make_pushing(edge_compute, glue.make_out_edge, combining)
        gather = make_gather(along, spec.edge_compute_is_harmless, stops_early(spec, message), combining)
        fill = clear = nothing
    receiving, gather_lanes = make_receiving(combining), make_gather_lanes(gather, combining)
    spread, gather_all = nothing, gather_lanes
    if delivery.spreads:
        spread = make_spread(edge_compute, glue.make_out_edge, combining)
        gather_all = make_gather_lanes(make_gather_spread(combining), combining)
    bodies = Bodies(
        visit,
        make_scatter(visit),
        make_gather_unit(gather_lanes, *receiving, combining),
        make_join_parts(*receiving, combining),
        make_add(along, combining),
    )
    compute = functions["vertex_compute"]
    gather_and_compute = make_gather_and_compute(gather_all, compute, combining)
    return Messages(
        bodies,
        flush,
        fill,
        spread,
        clear,
        compute=make_compute(compute, combining, noted=True),
        gather_total=make_gather_total(gather_all, combining),
        compute_total=make_compute(compute, combining, noted=False),
        gather_and_compute=gather_and_compute,
    )
