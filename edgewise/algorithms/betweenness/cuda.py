"""Sums of dependencies over sources on a GPU.

Sums on vertices along paths of the fewest arcs take many sources at a time (`cuda_batched`). Sums by weights, on arcs
or of paths to some vertices take one source after the other (`cuda_weighted`), and so does a program. With a
checkpoint, sums are copied to the host from time to time.
"""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from edgewise.algorithms.betweenness import cuda_batched, cuda_weighted, program
from edgewise.algorithms.betweenness.checkpoint import Checkpoint
from edgewise.algorithms.betweenness.cpu import ON_VERTICES_AND_ENDS
from edgewise.algorithms.betweenness.job import Job
from edgewise.algorithms.betweenness.lengths import WeightLost, arcs_for, refusal_of_weights
from edgewise.execution import Execution
from edgewise.kernels.cuda.memory import copy_of, host_copy, zeros

#: Sources between two copies of sums for a checkpoint, where they are done one after the other.
STEP = 32

#: Adds dependencies to sums on the GPU. It takes the number of sources that are in the sums already, and the sums;
#: after each step it yields the number of sources that are in them then.
_AddUp = Callable[[int, Any], Iterator[int]]


def sum_over(job: Job, sources: np.ndarray, run: Execution) -> Any:
    """The sums of dependencies over sources, float64 on the GPU, shape (num_sums,).

    Args:
        job: what is summed.
        sources: int64, shape (k,), at least one.
        run: the run.

    Raises:
        GraphError: a float weight is lost beside a distance.
        ParameterError, OutputError: a file that is no checkpoint of this run, or cannot be written.
    """
    graph = job.graph

    def one_by_one(done: int, total: Any) -> Iterator[int]:
        try:
            yield from cuda_weighted.accumulate(
                graph, sources, done, job.weighted, job.on, job.is_target, job.dtype, total, run
            )
        except WeightLost:
            raise refusal_of_weights(job.name) from None

    def in_batches(done: int, total: Any) -> Iterator[int]:
        step = len(sources) if job.checkpoint is None else width
        return cuda_batched.accumulate(graph, sources, done, width, step, _with_ends(job), total, run)

    if not job.in_batches:
        return _sum(job, sources, run, one_by_one, 1, "1")
    width = cuda_batched.sources_at_a_time(graph, len(sources), run.memory_limit)
    return _sum(job, sources, run, in_batches, width, str(width))


def sum_by_program(job: Job, sources: np.ndarray, run: Execution) -> Any:
    """The sums of `sum_over`, found by a program: of dependencies on vertices, along paths of the fewest arcs."""

    def add_up(done: int, total: Any) -> Iterator[int]:
        return program.accumulate(job.graph, sources, done, _with_ends(job), total, run)

    return _sum(job, sources, run, add_up, 1, str(run.schedule))


def _with_ends(job: Job) -> bool:
    """Whether paths count for their ends, too."""
    return job.on == ON_VERTICES_AND_ENDS


def _sum(job: Job, sources: np.ndarray, run: Execution, add_up: _AddUp, width: int, form: str) -> Any:
    """The sums over all sources, with a checkpoint `width` at a time. `form` says what their last bits depend on."""
    count = len(sources)

    def tell(done: int) -> None:
        if run.progress is not None:
            run.progress(done)

    if job.checkpoint is None:
        total = zeros(job.num_sums, np.float64)
        for done in add_up(0, total):
            tell(done)
        return total
    arcs, form = arcs_for(job.graph, job.weighted), f"on a GPU, {form} at a time"
    with Checkpoint(job.checkpoint, job.name, arcs, sources, job.on, form, *job.told) as kept:
        sums = np.zeros(job.num_sums)
        begin = kept.begin(sums, count, run)
        total = copy_of(sums)
        for done in add_up(begin, total) if begin < count else ():
            if width > 1 or done % STEP == 0 or done == count:
                kept.keep(done, host_copy(total))
            tell(done)
    return total
