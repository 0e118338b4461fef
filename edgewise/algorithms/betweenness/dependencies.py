"""Sums of dependencies over sources: the choice of a form, and the launches of `cpu.accumulate` on the CPU.

There is one launch, or with a checkpoint one for each batch of sources.
"""

from typing import Any

import numpy as np

from edgewise.algorithms.betweenness.checkpoint import Checkpoint
from edgewise.algorithms.betweenness.cpu import ON_ARCS, accumulate, make_accumulation
from edgewise.algorithms.betweenness.job import Job
from edgewise.algorithms.betweenness.lengths import arcs_for, exact_dtype, refusal_of_weights
from edgewise.algorithms.betweenness.memory import MOST_SOURCES, batch_beside, batch_bytes, source_bytes
from edgewise.algorithms.betweenness.sources import Asked
from edgewise.algorithms.common.dispatch import Form, begin, no_memory
from edgewise.execution import Execution, Progress, rest_of, threads_of
from edgewise.graph import Arrays, least_pages
from edgewise.kernels.costs import levels
from edgewise.memory import as_bytes, held, in_turn
from edgewise.schedule import Buffered, Pull, Schedule


def sum_dependencies(
    asked: Asked,
    weighted: bool,
    on: int,
    device: Any,
    schedule: Schedule | None,
    progress: Progress,
    memory_limit: float | str | None,
    checkpoint: Any,
) -> tuple[Any, np.ndarray, Execution]:
    """The sums of dependencies over sources, float64, shape (num_sums,), on the GPU if the run is there; the indices of
    the sources; the run.

    Args:
        asked: the sources, with the call and its graph.
        weighted, on, checkpoint: see `Job`.
        device, schedule, progress, memory_limit: see `edgewise.algorithms.common.dispatch.begin`.

    Raises:
        GraphError: a source that is not in the graph; weights that are missing, not positive, or lost beside a
            distance.
        ParameterError, OutputError: a file that is not a checkpoint of this run, or cannot be written.
    """
    name, graph, choosing = asked.name, asked.graph, asked.choosing()
    n, m = graph.num_vertices, graph.num_arcs
    job = Job(name, graph, weighted, on, exact_dtype(name, graph, weighted), choosing.kept, checkpoint)

    def memory(schedule: Schedule) -> int:
        threads = threads_of(name, schedule)
        limit = rest_of(as_bytes(f"{name}: memory_limit", memory_limit), least_pages(graph, threads))
        size = job.size(asked.number, threads, limit)
        return in_turn(choosing, held(size.num_bytes)).most

    def gpu_memory(_: Schedule) -> int:
        if weighted or on == ON_ARCS:
            return source_bytes(n, m, job.num_sums)
        limit = as_bytes(f"{name}: memory_limit", memory_limit)
        if limit is None:
            return batch_bytes(n, m, 1)
        return batch_beside(n, m, asked.number, limit, *graph.gpu.sizes(Arrays.BOTH_WAYS))

    program: Form | str = Form("betweenness.cuda.sum_by_program", no_memory, (Pull, Buffered))
    if weighted or on == ON_ARCS:
        program = "of edges," if on == ON_ARCS else "by weights"
    task = begin(
        name,
        graph,
        device,
        schedule,
        progress,
        memory_limit,
        work=job.work(asked.number),
        rounds=(asked.number if weighted else -(-asked.number // MOST_SOURCES)) * 2 * levels(n, m),
        arrays=Arrays.BOTH_WAYS,
        cpu=Form(_sum_on_cpu, memory),
        cuda=Form("betweenness.cuda.sum_over", gpu_memory, arrays=Arrays.both_ways(weighted)),
        program=program,
        stays=job.checkpoint is not None,
    )
    sources = asked.indices()
    total, run = task.find(job, sources, total=len(sources))
    return total, sources, run


def _sum_on_cpu(job: Job, sources: np.ndarray, run: Execution) -> np.ndarray:
    """The sums of dependencies, on the CPU."""
    count = len(sources)
    size = job.size(count, run.num_threads, run.memory_limit)
    arcs, state = arcs_for(job.graph, job.weighted), make_accumulation(size)

    def add_up(begin: int, end: int) -> None:
        run.launch(accumulate, arcs, sources, begin, end, job.on, state, work=job.work(end - begin))
        if state.lost[0]:
            raise refusal_of_weights(job.name)

    if job.checkpoint is None:
        add_up(0, count)
        return state.total
    with Checkpoint(job.checkpoint, job.name, arcs, sources, job.on) as kept:
        done = kept.begin(state.total, count, run)
        while done < count:
            end = min(done + size.num_rows, count)
            add_up(done, end)
            done = end
            kept.keep(done, state.total)
            if run.progress is not None:
                run.progress(done)
    return state.total
