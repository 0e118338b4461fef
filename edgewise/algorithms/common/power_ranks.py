"""Power iteration on several ranks: each renews its blocks of vertices, and tells all others their values.

Blocks are those of one rank, and their sums are added up in one order on all ranks. So answers are the same, bit for
bit.
"""

import numpy as np

from edgewise.algorithms.common.gather import BLOCK
from edgewise.algorithms.common.power_iterations import (
    AS_THEY_ARE,
    CHANGES,
    CONVERGED,
    DONE,
    LENGTHS,
    add_lengths,
    end_iteration,
    gather,
    renew,
    scale,
)
from edgewise.algorithms.common.power_state import Iterated, Power, iterated_to, power_work, values_for
from edgewise.algorithms.common.ranks import as_values, told_by_others
from edgewise.engine.distributed.group import Group, connect
from edgewise.engine.distributed.partition import by_arcs
from edgewise.execution import Execution
from edgewise.kernels.cpu.team import run_alone

_FLOAT, _NO_SUMS = np.dtype(np.float64), np.empty(0)
#: About the nanoseconds in which a thread scales a value.
_SCALING = 2.0


def iterate_on_ranks(power: Power, run: Execution) -> Iterated:
    """Iterate on all ranks; arguments and answer are those of `power.iterate_on_cpu`."""
    group, n, report = connect(), power.graph.num_vertices, run.progress
    arcs, out, state = values_for(power, run)
    begins = [-(-first // BLOCK) for first in by_arcs(group.rank, group.size, arcs.offsets).begins]
    own = begins[group.rank], begins[group.rank + 1]
    work = power_work(n, power.graph.num_arcs, False) / group.size
    how, are_scaled = (power.kept, power.factor, power.scaled), power.scaled != AS_THEY_ARE
    sums = state.partial[LENGTHS if are_scaled else CHANGES]

    def come_back(values: np.ndarray) -> None:
        run.launch(gather, out, values, state.beside[:n], *own, work=work)
        _tell_blocks(state.beside[:n], _NO_SUMS, begins, group)

    with group.in_run(), run.telling(None):
        for iteration in range(power.limit):
            old, new = state.values[iteration & 1], state.values[(iteration + 1) & 1]
            if power.back:
                come_back(old)
            source = state.beside if power.back else old
            run.launch(renew, arcs, source, old, new, state, *how, *own, work=work)
            _tell_blocks(new[:n], sums, begins, group)
            if are_scaled:
                run_alone(add_lengths, state)
                run.launch(scale, power.scaled, old, new, state, work=_SCALING * n)
            run_alone(end_iteration, np.int64(iteration), power.enough, state)
            if report is not None:
                report(iteration + 1)
            if state.counters[CONVERGED]:
                break
        if power.back:
            come_back(state.values[int(state.counters[DONE]) & 1])
    run.explain("pull: each vertex gathers over its in-edges, and ranks tell each other all values")
    return iterated_to(state)


def _tell_blocks(values: np.ndarray, sums: np.ndarray, begins: list[int], group: Group) -> None:
    """Fill in the values of all vertices, and the sums of all blocks, of which each rank has its own.

    Args:
        values: float64, shape (n,).
        sums: float64, one for each block, or none.
        begins: the first block of each rank, and the number of all.
        group: the ranks.
    """
    first, end = begins[group.rank], begins[group.rank + 1]
    own = np.concatenate([sums[first:end], values[BLOCK * first : BLOCK * end]])
    for rank, part in enumerate(told_by_others(own, group)):
        if rank != group.rank:
            first, end = begins[rank], begins[rank + 1]
            theirs = sums[first:end], values[BLOCK * first : BLOCK * end]
            told = as_values(part, _FLOAT, len(theirs[0]) + len(theirs[1]))
            theirs[0][:], theirs[1][:] = told[: len(theirs[0])], told[len(theirs[0]) :]
