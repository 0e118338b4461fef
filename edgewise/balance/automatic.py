"""The strategy where a schedule asks for none."""

import numpy as np

from edgewise.balance.binned import make_binned
from edgewise.balance.contract import WHOLE, Bodies, Strategy
from edgewise.balance.deal import PIECE, list_pieces_from, make_walk
from edgewise.balance.decompose import make_decomposed_pull
from edgewise.balance.mapped import make_mapped
from edgewise.kernels.gpu import WARP, device_function, lane, num_threads, thread_index


def make_automatic(bodies: Bodies) -> Strategy:
    """What wins where nothing is asked for: three views, chosen at each superstep.

    The first `PIECE` arcs of a vertex that sends are dealt out to the lanes of a warp that has 32 vertices, or one
    while vertices are no more than warps; what it has beyond them is dealt out in pieces. Where vertices gather, lanes
    have them by degree, or equal shares of all arcs if some vertex has more than such a share: then the first word of
    the first array is not 0.
    """
    visit = bodies.visit
    walk, by_degree = make_walk(visit), make_mapped(make_binned, bodies).pull_all
    in_shares = make_decomposed_pull(False, 0, WHOLE, bodies)

    @device_function
    def list_units(v, active, counter, run):
        return list_pieces_from(np.int64(1), v, active, run.plan[1], run.control, counter, run.graph[0])

    @device_function
    def push_all(listed, count, counter, generation, context, run):
        warp, warps, offsets = thread_index() // WARP, num_threads() // WARP, run.graph[0]
        rest = run.control[counter]
        if count > warps:
            walk(listed, count, offsets, context)
        elif warp < count:
            v = np.int64(listed[warp])
            start, end = np.int64(offsets[v]), np.int64(offsets[v + 1])
            end = min(end, start + PIECE)
            for first in range(start, end, WARP):
                visit(first + lane() < end, v, np.int64(0), first + lane(), context)
        walk(run.plan[1], rest, offsets, context)
        return generation

    @device_function
    def pull_all(n, generation, context, run):
        if run.plan[0][0] != 0:
            no_scan = (run.plan[0], run.plan[0])
            return in_shares(run.graph[3], n, np.int64(0), generation, context, run, no_scan)
        return by_degree(n, generation, context, run)

    return Strategy(list_units, push_all, pull_all)
