"""The strategy of schedules that ask for none: degrees decide between lanes for each vertex and equal shares."""

from typing import Any, ClassVar, NamedTuple, final

import numpy as np

from edgewise.balance.contract import SHARED, Bodies, GraphRows, Plan, Strategy, Traversal
from edgewise.balance.grouped import make_grouped
from edgewise.balance.mapped import make_mapped
from edgewise.balance.workload_decomposition import Scan, make_decomposed, num_shared_parts, scan_arrays
from edgewise.kernels.cuda import memory as cuda_memory
from edgewise.kernels.cuda.arguments import Int64s
from edgewise.kernels.cuda.device import WARP, ballot, device_function, lane, thread_index
from edgewise.primitives.by_degree import MANY, make_binned
from edgewise.primitives.deal import list_nothing

#: Lanes for each vertex that sends, where none has many arcs.
LANES = 8


class Arrays(NamedTuple):
    """The arrays of the strategy.

    Attributes:
        shares: (1,): whether all vertices gather in equal shares.
        scan: for merge path.
    """

    shares: Int64s
    scan: Scan


def largest_degree(offsets: Any) -> int:
    """The largest degree. `offsets` is on the GPU."""
    return int(cuda_memory.cupy().diff(offsets).max()) if len(offsets) > 1 else 0


def make_automatic(bodies: Bodies) -> Traversal:
    """The functions of the strategy.

    Each superstep decides how vertices send: with `LANES` lanes each, or in equal shares by merge path if one of them
    has more than `MANY` arcs. Each graph decides how vertices gather: with lanes by degree, or in equal shares by merge
    path if a vertex has more arcs than a warp's share.
    """
    few = make_mapped(make_grouped(LANES), bodies).push_all
    by_degree = make_mapped(make_binned, bodies).pull_all
    in_shares = make_decomposed(1, bodies)

    @device_function
    def list_units(v, active, counter, run):
        """Set the first word to 1 if a listed vertex has many arcs."""
        arcs = list_nothing(v, active, counter, run)
        if ballot(arcs > MANY) != 0 and lane() == 0 and run.control[counter] == 0:
            run.control[counter] = 1
        return arcs

    @device_function
    def push_all(listed, count, counter, generation, context, run):
        if run.control[counter] == 0:
            return few(listed, count, counter, generation, context, run)
        if thread_index() == 0:
            run.control[SHARED] += 1
        return in_shares.push_all(listed, count, counter, generation, context, run)

    @device_function
    def pull_all(low, high, generation, context, run):
        if run.plan.shares[0] == 0:
            return by_degree(low, high, generation, context, run)
        return in_shares.pull_all(low, high, generation, context, run)

    return Traversal(list_units, push_all, pull_all)


@final
class AutomaticStrategy(Strategy):
    """Degrees decide between lanes for each vertex and equal shares."""

    arrays: ClassVar[type] = Arrays

    def prepare(self, rows: GraphRows, pushes: bool, pulls: bool) -> Plan:
        few = f"{LANES} lanes for each vertex"
        notes = [f"pushing with {few}, in equal shares if one has more than {MANY} out-edges"] * pushes
        shares = False
        if pulls:
            # The share of a warp with one block on each multiprocessor.
            share = rows.num_arcs // max(1, cuda_memory.most_threads() // (2 * WARP))
            largest = rows.kept(True, "the largest degree", 8 * rows.num_vertices, largest_degree)
            shares = bool(largest > share)
            notes.append(
                f"gathering {'in equal shares' if shares else 'by degree'}, if at all: the largest in-degree is "
                f"{largest:,}, a warp's share {share:,}"
            )
        word = cuda_memory.cupy().full(1, shares, np.int64)
        arrays = Arrays(word, scan_arrays(rows.num_vertices, pushes))
        return Plan(arrays, rows.offsets, num_shared_parts(pulls), tuple(notes))

    def make(self, bodies: Bodies) -> Traversal:
        return make_automatic(bodies)
