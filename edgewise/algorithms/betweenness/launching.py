"""Sums of dependencies over sources on the CPU: the launches of `cpu.accumulate`.

There is one launch, or with a checkpoint one for each batch of sources.
"""

import numpy as np

from edgewise.algorithms.betweenness.checkpoint import Checkpoint
from edgewise.algorithms.betweenness.cpu import accumulate, make_accumulation
from edgewise.algorithms.betweenness.job import Job
from edgewise.algorithms.betweenness.lengths import arcs_for, in_arcs_to_pull, refusal_of_weights
from edgewise.execution import Execution


def sum_on_cpu(job: Job, sources: np.ndarray, run: Execution) -> np.ndarray:
    """The sums of dependencies over sources, float64, shape (num_sums,), on the CPU.

    Raises:
        GraphError: a float weight is lost beside a distance.
        ParameterError, OutputError: a file that is no checkpoint of this run, or cannot be written.
    """
    count = len(sources)
    size = job.size(count, run.num_threads, run.memory_limit)
    arcs, in_arcs = arcs_for(job.graph, job.weighted), in_arcs_to_pull(job.graph)
    state = make_accumulation(size)

    def add_up(begin: int, end: int) -> None:
        whose = sources, begin, end, job.on, job.is_target
        run.launch(accumulate, arcs, in_arcs, *whose, state, work=job.work(end - begin))
        if state.lost[0]:
            raise refusal_of_weights(job.name)

    if job.checkpoint is None:
        add_up(0, count)
        return state.total
    with Checkpoint(job.checkpoint, job.name, arcs, sources, job.on, *job.told) as kept:
        done = kept.begin(state.total, count, run)
        while done < count:
            end = min(done + size.num_rows, count)
            add_up(done, end)
            done = end
            kept.keep(done, state.total)
            if run.progress is not None:
                run.progress(done)
    return state.total
