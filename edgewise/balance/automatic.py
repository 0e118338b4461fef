"""The strategy where a schedule asks for none."""

from edgewise.balance.binned import MANY, make_binned
from edgewise.balance.contract import SHARED, Bodies, Strategy
from edgewise.balance.grouped import make_grouped
from edgewise.balance.mapped import make_mapped
from edgewise.balance.workload_decomposition import make_decomposed
from edgewise.kernels.cuda.device import ballot, device_function, lane, thread_index
from edgewise.primitives.deal import list_nothing

#: Lanes for each vertex that sends, where none has many arcs.
LANES = 8


def make_automatic(bodies: Bodies) -> Strategy:
    """What wins where nothing is asked for, of three views.

    At each superstep: vertices that send have `LANES` lanes each, unless one of them has more than `MANY` arcs; then
    all have equal shares by merge path. For each graph: where all vertices gather, lanes have them by degree, or equal
    shares of all arcs if some vertex has more than such a share; then the first word of the first array is not 0. The
    other arrays are those of merge path.
    """
    few = make_mapped(make_grouped(LANES), bodies).push_all
    by_degree = make_mapped(make_binned, bodies).pull_all
    in_shares = make_decomposed(1, bodies, first=1)

    @device_function
    def list_units(v, active, counter, run):
        """The strategy's first word is not 0 if a listed vertex has many arcs."""
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
    def pull_all(n, generation, context, run):
        if run.plan[0][0] == 0:
            return by_degree(n, generation, context, run)
        return in_shares.pull_all(n, generation, context, run)

    return Strategy(list_units, push_all, pull_all)
