"""Pull: vertices gather over their in-edges."""

from typing import NamedTuple

import numpy as np

from edgewise.engine.cpu.pieces import claim_piece
from edgewise.engine.cpu.shared import COUNT, PIECE
from edgewise.engine.delivery import stops_early
from edgewise.engine.lowering.accessors import DeviceFunction, cast_and_identity
from edgewise.kernels.cache import device_function
from edgewise.kernels.cpu.atomics import unwrap
from edgewise.program.inspect import Specification


class Pulling(NamedTuple):
    """Compiled functions that gather over the in-edges of one vertex, and of a thread's share of all."""

    pull_vertex: DeviceFunction
    pull_all: DeviceFunction


def make_pull(
    spec: Specification,
    message: np.dtype,
    edge_compute: DeviceFunction,
    make_in_edge: DeviceFunction,
    combine: DeviceFunction,
) -> Pulling:
    """The functions that gather; messages are combined."""
    cast, identity = cast_and_identity(message, spec.combine, device_function)
    needs_arcs = spec.needs_arc_index
    # The compiler moves a condition on the target alone out of the loop over its in-edges (unswitching) if edge_compute
    # is called for every arc. Vertices that a search has reached then cost nothing.
    harmless = spec.edge_compute_is_harmless
    can_stop = stops_early(spec, message)
    # No message changes a total of ANY or ALL that has the absorbing value.
    absorbing = spec.combine.name == "ANY"

    @device_function
    def pull_vertex(v, stamp, everyone, state, graph, own, work):
        """Gather over the in-edges of one vertex."""
        in_offsets, in_sources, in_arcs = graph.in_offsets, graph.in_sources, graph.in_arcs
        messages, received, active = work.messages, work.received, work.active
        total, got = identity, False
        for k in range(np.int64(in_offsets[v]), np.int64(in_offsets[v + 1])):
            u = np.int64(in_sources[k])
            sends = everyone or active[u] == stamp
            if harmless or sends:
                arc = np.int64(in_arcs[k]) if needs_arcs else np.int64(0)
                sent = edge_compute(make_in_edge(u, v, k, arc, own), state)
                if sent is not None and sends:
                    total, got = cast(combine(total, cast(unwrap(sent)))), True
                    if can_stop and total == absorbing:
                        break
        if got:
            messages[v] = total
            received[v] = stamp

    @device_function
    def pull_all(control, stamp, state, graph, own, work, shared):
        """Gather over the in-edges of the vertices in the pieces that this thread gets."""
        n, m, in_offsets = graph.n, graph.m, graph.in_offsets
        everyone = shared[COUNT] == n
        while True:
            first, last, start, stop = claim_piece(control, 0, shared[PIECE], in_offsets, n, m)
            if start == stop:
                return
            for v in range(first, last):
                pull_vertex(v, stamp, everyone, state, graph, own, work)

    return Pulling(pull_vertex, pull_all)
