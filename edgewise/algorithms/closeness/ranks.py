"""Sums of distances on several ranks: each searches from its share of the vertices, and tells all others."""

import numpy as np

from edgewise.algorithms.closeness.cpu import sum_distances as sum_on_cpu
from edgewise.algorithms.closeness.job import Found, Job, make_found, refusal_of_sum
from edgewise.algorithms.common.ranks import (
    found_or_refused,
    gathered,
    refusing_together,
    share_of,
    sum_of_ranks,
)
from edgewise.engine.distributed.group import Group, connect
from edgewise.errors import MemoryLimitError
from edgewise.execution import Execution, stop_if_explained


def sum_distances(job: Job, sources: np.ndarray, run: Execution) -> Found:
    """What is found for each source, in their order, on all ranks; see `cpu.sum_distances`.

    Raises:
        GraphError: a sum of distances is more than int64 holds, on any rank.
    """
    group = connect()
    own = _share(sources, group, run)

    def find() -> Found:
        return sum_on_cpu(job, own, run) if len(own) else make_found(0, job.dtype)

    found = found_or_refused(find, refusal_of_sum(job.name), group)
    return Found(*(gathered(values, group) for values in found))


def sum_on_gpus(job: Job, sources: np.ndarray, run: Execution) -> Found:
    """What is found for each source, in their order, on all ranks, each with a GPU; see `program.sum_distances`.

    Raises:
        GraphError: a sum of distances is more than int64 holds, on any rank.
        MemoryLimitError: the GPU of a rank has no room.
    """
    from edgewise.algorithms.closeness import program

    group = connect()
    are_all = program.are_all(job, sources)
    own = sources if are_all else _share(sources, group, run)
    found = make_found(len(own), job.dtype)
    try:
        with refusing_together(group):
            if len(own) > (program.LANES * group.rank if are_all else 0):
                found = program.sum_distances(job, own, run, group.rank, group.size)
            else:
                stop_if_explained(run, job.graph, 0)
    except MemoryLimitError:
        run.begun = False  # so that all ranks go on on their CPUs, if they may
        raise
    if not are_all:
        return Found(*(gathered(values, group) for values in found))
    run.explain(
        "ranks take turns with the vertices from which searches go together; sums of ranks are added up"
    )
    reached, total, reciprocals = (sum_of_ranks(each, group) for each in found[:3])
    return Found(reached, total, reciprocals, sum_of_ranks(found.farthest, group, np.maximum))


def _share(sources: np.ndarray, group: Group, run: Execution) -> np.ndarray:
    """The sources of this rank."""
    own = sources[share_of(len(sources), group)]
    run.explain(f"this rank had {len(own):,} of {len(sources):,} vertices")
    return own
