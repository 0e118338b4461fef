"""Sums of dependencies over sources: the choice of a form."""

from typing import Any

import numpy as np

from edgewise.algorithms.betweenness.cpu import ON_ARCS
from edgewise.algorithms.betweenness.job import Job
from edgewise.algorithms.betweenness.launching import sum_on_cpu
from edgewise.algorithms.betweenness.lengths import exact_dtype
from edgewise.algorithms.betweenness.memory import MOST_SOURCES, RANK_BYTES
from edgewise.algorithms.common.dispatch import Form, begin, no_memory
from edgewise.algorithms.common.sources import Asked, asked_vertices
from edgewise.errors import DistributedError
from edgewise.execution import Execution, Progress, rest_of, threads_of
from edgewise.graph import Arrays, least_pages
from edgewise.kernels.costs import levels
from edgewise.memory import as_bytes, held, in_turn
from edgewise.schedule import Buffered, Pull, Schedule
from edgewise.text import shown


def sum_dependencies(
    asked: Asked,
    targets: Any,
    weighted: bool,
    on: int,
    device: Any,
    schedule: Schedule | None,
    progress: Progress,
    memory_limit: float | str | None,
    checkpoint: Any,
    distributed: bool,
) -> tuple[Any, np.ndarray, np.ndarray | None, Execution]:
    """The sums of dependencies over sources, float64, shape (num_sums,), on the GPU if the run is there; the indices of
    the sources, and of the targets, if there are some; the run.

    Args:
        asked: the sources, with the call and its graph.
        targets: the ids of vertices to which paths count, or None for all.
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
    ends = None if targets is None else asked_vertices(name, graph, targets)._replace(argument="targets")
    is_target = np.zeros(0 if ends is None else n, np.bool_)
    if ends is not None:
        choosing = in_turn(choosing, ends.choosing())
    beside = choosing.kept + len(is_target)
    job = Job(name, graph, weighted, on, exact_dtype(name, graph, weighted), beside, checkpoint, is_target)
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
    if not job.in_batches:
        program = "of edges," if on == ON_ARCS else "by weights" if weighted else "to some targets"
    task = begin(
        name,
        graph,
        device,
        schedule,
        progress,
        memory_limit,
        work=job.work(asked.number),
        rounds=(-(-asked.number // MOST_SOURCES) if job.in_batches else asked.number) * 2 * levels(n, m),
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
    sources, wanted = asked.indices(), None
    if ends is not None:
        wanted = ends.indices()
        is_target[wanted] = True
    total, run = task.find(job, sources, total=len(sources))
    return total, sources, wanted, run
