"""Sums of dependencies over sources: the choice of a form."""

from typing import Any

import numpy as np

from edgewise.algorithms.betweenness.cpu import ON_ARCS
from edgewise.algorithms.betweenness.job import Job
from edgewise.algorithms.betweenness.launching import sum_on_cpu
from edgewise.algorithms.betweenness.lengths import exact_dtype
from edgewise.algorithms.betweenness.memory import MOST_SOURCES, RANK_BYTES
from edgewise.algorithms.common.dispatch import Form, begin, no_memory
from edgewise.algorithms.common.sources import Asked
from edgewise.errors import DistributedError
from edgewise.execution import Execution, Progress, rest_of, threads_of
from edgewise.graph import Arrays, least_pages
from edgewise.kernels.costs import levels
from edgewise.memory import as_bytes, held, in_turn
from edgewise.schedule import Buffered, Pull, Schedule
from edgewise.text import shown


def sum_dependencies(
    asked: Asked,
    weighted: bool,
    on: int,
    device: Any,
    schedule: Schedule | None,
    progress: Progress,
    memory_limit: float | str | None,
    checkpoint: Any,
    distributed: bool,
) -> tuple[Any, np.ndarray, Execution]:
    """The sums of dependencies over sources, float64, shape (num_sums,), on the GPU if the run is there; the indices of
    the sources; the run.

    Args:
        asked: the sources, with the call and its graph.
        weighted, on, checkpoint: see `Job`.
        device, schedule, progress, memory_limit, distributed: see `edgewise.algorithms.common.dispatch.begin`.

    Raises:
        GraphError: a source that is not in the graph; weights that are missing, not positive, or lost beside a
            distance.
        ParameterError, OutputError: a file that is not a checkpoint of this run, or cannot be written.
        DistributedError: a checkpoint of a distributed run.
    """
    if distributed and checkpoint is not None:
        raise DistributedError(
            f"{asked.name}: checkpoint is {shown(checkpoint)}; distributed runs keep no partial sums: leave it out"
        )
    name, graph, choosing = asked.name, asked.graph, asked.choosing()
    n, m = graph.num_vertices, graph.num_arcs
    job = Job(name, graph, weighted, on, exact_dtype(name, graph, weighted), choosing.kept, checkpoint)
    if distributed:
        job = job._replace(beside=job.beside + RANK_BYTES * job.num_sums)

    def memory(schedule: Schedule) -> int:
        threads = threads_of(name, schedule)
        limit = rest_of(as_bytes(f"{name}: memory_limit", memory_limit), least_pages(graph, threads))
        size = job.size(asked.number, threads, limit)
        return in_turn(choosing, held(size.num_bytes + job.beside - choosing.kept)).most

    def gpu_memory(_: Schedule) -> int:
        return job.gpu_bytes(asked.number, as_bytes(f"{name}: memory_limit", memory_limit))

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
        cpu=Form(sum_on_cpu, memory),
        cuda=Form("betweenness.cuda.sum_over", gpu_memory, arrays=Arrays.both_ways(weighted)),
        program=program,
        ranks=Form(
            "betweenness.ranks.sum_on_ranks",
            memory,
            with_gpus=Form("betweenness.gpu_ranks.sum_on_gpus", no_memory),
        ),
        distributed=distributed,
        stays=job.checkpoint is not None,
    )
    sources = asked.indices()
    total, run = task.find(job, sources, total=len(sources))
    return total, sources, run
