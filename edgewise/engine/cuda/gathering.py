"""What vertices gather on a GPU: messages along their in-edges, combined in a fixed order, except by `add`."""

from typing import Any

import numpy as np

from edgewise.balance.contract import MORE
from edgewise.engine.cuda.combining import Combining
from edgewise.kernels.cuda.device import (
    WARP,
    ballot,
    block_barrier,
    block_size,
    block_thread,
    device_function,
    inlined,
    lane,
    num_threads,
    thread_index,
)
from edgewise.program.inspect import Specification


def make_along(spec: Specification, edge_compute: Any, make_in_edge: Any) -> Any:
    """The function that calls edge_compute for an in-edge."""
    needs_arcs = spec.needs_arc_index

    @device_function
    def along(u, v, k, state, run):
        """What is sent along in-edge k of vertex v, or None."""
        arc = np.int64(run.graph.in_arcs[k]) if needs_arcs else np.int64(0)
        return edge_compute(make_in_edge(u, v, k, arc, run.own), state)

    return along


def make_gather(along: Any, harmless: bool, can_stop: bool, combining: Combining) -> Any:
    """The function by which one lane gathers over in-edges.

    Args:
        along: see `make_along`.
        harmless: whether edge_compute may also be called for sources that do not send.
        can_stop: whether one message can decide the result.
    """
    absorbing, merged = combining.absorbing, combining.merged

    @device_function
    def combined(total, got, sent):
        """A total combined with what was sent, and whether there is a message."""
        if sent is not None:
            return merged(total, sent * 1), True
        return total, got

    @device_function
    def gather(v, start, end, step, total, got, context):
        """Combine the messages along one vertex's in-edges with a total; (the total, whether there is a message).

        Where all vertices send and no message decides, a lane computes four messages before it combines them, so that
        their accesses overlap.
        """
        stamp, everyone, state, run = context
        sources, k = run.graph.in_sources, start
        if everyone and not can_stop:
            while k + 3 * step < end:
                second, third, fourth = k + step, k + 2 * step, k + 3 * step
                one = along(np.int64(sources[k]), v, k, state, run)
                two = along(np.int64(sources[second]), v, second, state, run)
                three = along(np.int64(sources[third]), v, third, state, run)
                four = along(np.int64(sources[fourth]), v, fourth, state, run)
                total, got = combined(total, got, one)
                total, got = combined(total, got, two)
                total, got = combined(total, got, three)
                total, got = combined(total, got, four)
                k += 4 * step
        while k < end:
            u = np.int64(sources[k])
            sends = everyone or run.work.active[u] == stamp
            if harmless or sends:
                sent = along(u, v, k, state, run)
                if sends:
                    total, got = combined(total, got, sent)
                    if can_stop and got and (total != 0) == absorbing:
                        break
            k += step
        return total, got

    return gather


def make_spread(edge_compute: Any, make_out_edge: Any, combining: Combining) -> Any:
    """The function ``spread(n, state, run)``: each vertex computes what it sends along all of its out-edges, once.

    Vertices without out-edges compute it, too; nobody reads that.
    """
    cast, store = combining.cast, combining.store

    @device_function
    def spread(n, state, run):
        for u in range(thread_index(), n, num_threads()):
            sent = edge_compute(make_out_edge(u, u, np.int64(0), np.int64(0), run.own), state)
            run.outgoing[u] = store(cast(sent * 1))

    return spread


def make_gather_spread(combining: Combining) -> Any:
    """`gather` of `make_gather` where all vertices have computed what they send, and all messages count."""
    merged = combining.merged

    @device_function
    def sent_along(run, first, second, third, fourth):
        """What the sources of four in-edges send; accesses overlap."""
        sources, outgoing = run.graph.in_sources, run.outgoing
        one, two, three, four = sources[first], sources[second], sources[third], sources[fourth]
        return outgoing[one], outgoing[two], outgoing[three], outgoing[four]

    @device_function
    def gather_spread(v, start, end, step, total, got, context):
        _, _, _, run = context
        k = start
        while k + 3 * step < end:
            one, two, three, four = sent_along(run, k, k + step, k + 2 * step, k + 3 * step)
            total = merged(merged(merged(merged(total, one), two), three), four)
            k += 4 * step
        if k < end:
            # The last places of a row are read at once, too; one behind its end is read as the first of them.
            has_two, has_three = k + step < end, k + 2 * step < end
            one, two, three, _ = sent_along(run, k, k + step * has_two, k + 2 * step * has_three, k)
            total = merged(total, one)
            with_two = merged(total, two)
            with_three = merged(with_two, three)
            total = with_three if has_three else with_two if has_two else total
        return total, got or start < end

    return gather_spread


def make_receiving(combining: Combining) -> tuple[Any, Any]:
    """The functions that store a vertex's message, and that read what it has so far."""
    identity, cast, store = combining.identity, combining.cast, combining.store
    encoded, decoded = combining.encoded, combining.decoded

    @device_function
    def deliver(v, total, stamp, run):
        """Store a total as the message of a vertex."""
        run.messages[v] = encoded(total)
        run.received[v] = stamp

    @device_function
    def begun(v, stamp, run):
        """The message that a vertex has so far; (the total, whether there is one)."""
        total, got = identity, run.received[v] == stamp
        if got:
            total = store(cast(decoded(run.messages[v])))
        return total, got

    return deliver, begun


def make_gather_lanes(gather: Any, combining: Combining) -> Any:
    """The function by which all lanes of a unit gather, from what one lane gathers."""
    merged, sum_lanes = combining.merged, combining.sum_lanes

    @inlined
    def gather_lanes(v, first, end, step, lanes, place, total, got, context):
        """Gather over the in-edges of a unit, beginning with a total; (the total, whether there is a message, whether
        this lane, which has this place among them, is the one that knows them)."""
        _, _, _, run = context
        total, got = gather(v, first, end, step, total, got, context)
        leads = v >= 0
        if lanes > 1:
            bits, total = ballot(got), sum_lanes(total, lanes)
            ours = np.uint32(bits >> np.uint32(lane() - place)) & np.uint32(
                0xFFFFFFFF >> (WARP - min(lanes, np.int64(WARP)))
            )
            got, leads = ours != 0, leads and place == 0
        if lanes > WARP:
            if lane() == 0:
                run.totals[block_thread() // WARP], run.flags[block_thread() // WARP] = total, got
            block_barrier()
            leads = block_thread() == 0
            if leads:
                for warp in range(1, block_size() // WARP):
                    total = merged(total, run.totals[warp])
                    got = got or run.flags[warp] != 0
            block_barrier()
        return total, got, leads

    return gather_lanes


def make_gather_total(gather_lanes: Any, combining: Combining) -> Any:
    """`gather` of bodies where all vertices are computed next, so that no vertex need know that it got a message."""
    identity, encoded = combining.identity, combining.encoded

    @device_function
    def gather_total(v, first, end, step, lanes, part, context):
        """Gather over the in-edges of a vertex, and store its message."""
        _, _, _, run = context
        place = np.int64(0) if lanes == 1 else lane() % lanes
        total, _, leads = gather_lanes(v, first, end, step, lanes, place, identity, False, context)
        if leads:
            run.messages[v] = encoded(total)

    return gather_total


def make_gather_unit(gather_lanes: Any, deliver: Any, begun: Any, combining: Combining) -> Any:
    """`gather` of bodies."""
    identity = combining.identity

    @device_function
    def gather_unit(v, first, end, step, lanes, part, context):
        """Gather over the in-edges of a unit; store the message of its vertex, or a part of it."""
        stamp, _, _, run = context
        place, total, got = np.int64(0) if lanes == 1 else lane() % lanes, identity, False
        if part == MORE and v >= 0 and place == 0:
            total, got = begun(v, stamp, run)
        total, got, leads = gather_lanes(v, first, end, step, lanes, place, total, got, context)
        if leads and part >= 0:
            run.parts.totals[part], run.parts.found[part] = total, got
        elif leads and got:
            deliver(v, total, stamp, run)

    return gather_unit


def make_join_parts(deliver: Any, begun: Any, combining: Combining) -> Any:
    """`join` of bodies."""
    identity, merged, sum_lanes = combining.identity, combining.merged, combining.sum_lanes

    @device_function
    def join_parts(v, first, end, context):
        """Combine the parts of a vertex's message with what it has so far."""
        stamp, _, _, run = context
        total, got = begun(v, stamp, run)
        for begin in range(first, end, WARP):
            part, one, has = begin + lane(), identity, False
            if part < end and run.parts.found[part] != 0:
                one, has = run.parts.totals[part], True
            bits, one = ballot(has), sum_lanes(one, WARP)
            if bits != 0:
                total, got = merged(total, one), True
        if lane() == 0 and got:
            deliver(v, total, stamp, run)

    return join_parts


def make_add(along: Any, combining: Combining) -> Any:
    """`add` of bodies."""
    cast, store, combine_at = combining.cast, combining.store, combining.combine_at

    @device_function
    def add(takes, v, k, context):
        """Send along one in-edge by an atomic operation. All vertices are computed next."""
        stamp, everyone, state, run = context
        if takes:
            u = np.int64(run.graph.in_sources[k])
            if everyone or run.work.active[u] == stamp:
                sent = along(u, v, k, state, run)
                if sent is not None:
                    combine_at(run.messages, v, store(cast(sent * 1)))
                    run.received[v] = stamp

    return add
