"""Power iteration on several ranks: each renews its blocks of vertices, and ranks tell each other the values they need.

Blocks are those of one rank, and their sums are added up in one order on all ranks. So answers are the same, bit for
bit.
"""

import numpy as np

from edgewise.algorithms.common.needs import blocks_of_ranks, needs_of, no_needs, tell_needed, vertices_of
from edgewise.algorithms.common.power_iterations import (
    AS_THEY_ARE,
    CONVERGED,
    DONE,
    add_lengths,
    end_iteration,
    gather,
    renew,
    scale,
)
from edgewise.algorithms.common.power_state import Iterated, Power, iterated_to, power_work, values_for
from edgewise.algorithms.common.ranks import gathered
from edgewise.engine.distributed.group import connect
from edgewise.execution import Execution
from edgewise.kernels.cpu.team import run_alone


def iterate_on_ranks(power: Power, run: Execution) -> Iterated:
    """Iterate on all ranks; arguments and answer are those of `power.iterate_on_cpu`."""
    group, n, report = connect(), power.graph.num_vertices, run.progress
    arcs, out, state = values_for(power, run)
    blocks = blocks_of_ranks(arcs.offsets, group)
    own, vertices = (blocks.own.start, blocks.own.stop), vertices_of(blocks, n).own
    work = power_work(n, power.graph.num_arcs, False) / group.size
    how, are_scaled = (power.kept, power.factor, power.scaled), power.scaled != AS_THEY_ARE
    nobody, no_sums = no_needs(blocks), state.partial[:0]

    def come_back(values: np.ndarray) -> None:
        run.launch(gather, out, values, state.beside[:n], *own, work=work)

    with group.in_run(), run.telling(None):
        needed = needs_of(arcs.offsets, arcs.targets, blocks, group)
        needed_back = needs_of(out.offsets, out.targets, blocks, group) if power.back else needed
        for iteration in range(power.limit):
            old, new = state.values[iteration & 1], state.values[(iteration + 1) & 1]
            if power.back:
                come_back(old)
                tell_needed(state.beside, no_sums, needed, group)
            source = state.beside if power.back else old
            run.launch(renew, arcs, source, old, new, state, *how, *own, work=work)
            if are_scaled:
                tell_needed(new, state.partial, nobody, group)
                run_alone(add_lengths, state)
                run.launch(scale, power.scaled, old, new, state, *own, work=work)
            tell_needed(new, state.partial, needed_back, group)
            run_alone(end_iteration, np.int64(iteration), power.enough, state)
            if report is not None:
                report(iteration + 1)
            if state.counters[CONVERGED]:
                break
        last = state.values[int(state.counters[DONE]) & 1]
        if power.back:
            come_back(last)
            state.beside[:n] = gathered(state.beside[vertices], group)
        last[:n] = gathered(last[vertices], group)
    run.explain("pull: each vertex gathers over its in-edges, and ranks tell each other the values for these")
    return iterated_to(state)
