"""Sums of dependencies over sources on a GPU: many sources at a time on vertices by numbers of arcs, else, or as a
program, one after the other; with a checkpoint, sums come to the host from time to time.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np

from edgewise.algorithms.betweenness import cuda_batched, cuda_weighted, program
from edgewise.algorithms.betweenness.checkpoint import Checkpoint
from edgewise.algorithms.betweenness.cpu import ON_ARCS, ON_VERTICES_AND_ENDS
from edgewise.algorithms.betweenness.lengths import WeightLost, arcs_for, exact_dtype, refusal_of_weights
from edgewise.execution import Execution
from edgewise.graph import Graph
from edgewise.kernels.cuda.memory import copy_of, host_copy, zeros

#: Sources between two copies of sums for a checkpoint, where they are done one after the other.
STEP = 32


def sum_over(
    name: str,
    graph: Graph,
    sources: np.ndarray,
    weighted: bool,
    on: int,
    memory_limit: int | None,
    run: Execution,
    checkpoint: Any,
    as_program: bool,
) -> Any:
    """The sums of dependencies over sources, float64 on the GPU, shape (n,), or (m,) on arcs.

    Args:
        name: what runs, for messages.
        graph: the graph.
        sources: int64, shape (k,), at least one.
        weighted: whether arcs have the lengths of their weights.
        on: what dependencies are on; see `cpu`.
        memory_limit: bytes that the run may allocate, or None.
        run: the run.
        checkpoint: the name of a file that keeps the sums of an interrupted run; None for no such file.
        as_program: whether a program finds them, on vertices by numbers of arcs.

    Raises:
        GraphError: a float weight is lost beside a distance.
        ParameterError, OutputError: a file that is no checkpoint of this run, or cannot be written.
    """
    count, in_batches = len(sources), not (weighted or on == ON_ARCS or as_program)
    num_sums = graph.num_arcs if on == ON_ARCS else graph.num_vertices
    width = cuda_batched.sources_at_a_time(graph, count, memory_limit) if in_batches else 1

    def add_up(done: int, step: int, total: Any) -> Iterator[int]:
        ends = on == ON_VERTICES_AND_ENDS
        if in_batches:
            found = cuda_batched.accumulate(graph, sources, done, width, step, ends, total, run)
        elif as_program:
            found = program.accumulate(graph, sources, done, ends, total, memory_limit, run)
        else:
            dtype = exact_dtype(name, graph, weighted)
            found = cuda_weighted.accumulate(graph, sources, done, weighted, on, dtype, total, run)
        try:
            yield from found
        except WeightLost:
            raise refusal_of_weights(name) from None

    def tell(done: int) -> None:
        if run.progress is not None:
            run.progress(done)

    if checkpoint is None:
        total = zeros(num_sums, np.float64)
        for done in add_up(0, count, total):
            tell(done)
        return total
    # Sums of so many sources at a time have bits of their own, and so do those by a schedule.
    form = f"on a GPU, {run.schedule if as_program else width} at a time"
    with Checkpoint(checkpoint, name, arcs_for(graph, weighted), sources, on, form) as kept:
        sums = np.zeros(num_sums)
        begin = kept.begin(sums, count, run)
        total = copy_of(sums)
        for done in add_up(begin, width, total) if begin < count else ():
            if in_batches or done % STEP == 0 or done == count:
                kept.keep(done, host_copy(total))
            tell(done)
    return total
