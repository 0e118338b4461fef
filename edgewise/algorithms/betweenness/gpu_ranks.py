"""Sums of dependencies on several ranks, each with a GPU.

Each rank sums over its share of the sources as one GPU does. Then it sends each other rank that rank's share of its
sums, from GPU to GPU; a rank adds up the shares that it gets in the order of ranks, and tells all others.
"""

from typing import Any

import numpy as np

from edgewise.algorithms.betweenness.cuda import sum_over
from edgewise.algorithms.betweenness.job import Job
from edgewise.algorithms.common.ranks import refusing_together, share_of
from edgewise.algorithms.common.ranks_cuda import join_shares
from edgewise.engine.distributed.channel_cuda import channel_of
from edgewise.engine.distributed.group import connect
from edgewise.execution import Execution, check_limit, stop_if_explained
from edgewise.graph import Arrays, Needs
from edgewise.kernels.cuda.memory import cupy, device_number, room, zeros
from edgewise.memory import RefusedBySystem, held, in_turn

#: For each sum, the bytes that a rank has at most while ranks tell each other theirs: its own sum, what it sends and
#: receives, and the sum of all ranks.
_JOINING = 4 * 8


def sum_on_gpus(job: Job, sources: np.ndarray, run: Execution) -> Any:
    """The sums of dependencies over all sources, float64 on the GPU, shape (num_sums,), on all ranks.

    Raises:
        GraphError: a float weight is lost beside a distance, on any rank.
        MemoryLimitError: the GPU of a rank has no room.
    """
    group = connect()
    own = sources[share_of(len(sources), group)]
    with refusing_together(group):
        needed = _place(job, len(own), run)
    with run.laying_out():
        channel = channel_of(group)
    run.explain(f"on GPU {device_number()}; ranks speak by {channel.name}")
    run.explain(
        f"this rank had {len(own):,} of {len(sources):,} sources; sums are added in the order of ranks"
    )
    stop_if_explained(run, job.graph, needed)
    run.begun = True
    with refusing_together(group):
        total = _sum_over(job, own, run)
        with room(job.name, (_JOINING - 8) * job.num_sums):
            pass
    with channel.in_run(), room(job.name, 0):
        join_shares(cupy().add, total, group, channel)
    return total


def _place(job: Job, num_sources: int, run: Execution) -> int:
    """Decide where the graph's arrays lie for so many sources; the bytes of the GPU's memory that are needed then.

    Raises:
        MemoryLimitError: there is no room.
    """
    joining, limit = _JOINING * job.num_sums, run.memory_limit
    needed = joining
    if num_sources:
        beside = max(job.gpu_bytes(num_sources, limit), joining)
        needs = Needs(Arrays.both_ways(job.weighted), beside)
        making = job.graph.gpu.place(job.name, needs, limit)
        needed = in_turn(making, held(beside)).most
    check_limit(job.name, limit, needed, where="on the GPU")
    with room(job.name, needed):
        return needed


def _sum_over(job: Job, sources: np.ndarray, run: Execution) -> Any:
    """The sums over a rank's own sources, perhaps none, on its GPU; see `edgewise.algorithms.betweenness.cuda`."""
    if len(sources) == 0:
        return zeros(job.num_sums, np.float64)
    try:
        return _sum_where_placed(job, sources, run)
    except RefusedBySystem as refused:
        if not job.graph.gpu.read_in_place():
            raise
        run.explain(f"arcs are read where they lie: {refused}")
    _place(job, len(sources), run)
    return _sum_where_placed(job, sources, run)


def _sum_where_placed(job: Job, sources: np.ndarray, run: Execution) -> Any:
    placement = job.graph.placement
    if placement is not None:
        run.explain(str(placement))
    with room(job.name, 0):
        return sum_over(job, sources, run)
