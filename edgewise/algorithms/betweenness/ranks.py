"""Sums of dependencies on several ranks: each has a share of the sources, and sums are added in the order of ranks."""

import numpy as np

from edgewise.algorithms.betweenness.job import Job
from edgewise.algorithms.betweenness.launching import sum_on_cpu
from edgewise.algorithms.betweenness.lengths import refusal_of_weights
from edgewise.algorithms.common.ranks import found_or_refused, share_of, sum_of_ranks
from edgewise.engine.distributed.group import connect
from edgewise.execution import Execution


def sum_on_ranks(job: Job, sources: np.ndarray, run: Execution) -> np.ndarray:
    """The sums of dependencies over all sources, float64, shape (num_sums,), on all ranks.

    Raises:
        GraphError: a float weight is lost beside a distance, on any rank.
    """
    group = connect()
    own = sources[share_of(len(sources), group)]

    def find() -> np.ndarray:
        return sum_on_cpu(job, own, run) if len(own) else np.zeros(job.num_sums)

    total = found_or_refused(find, refusal_of_weights(job.name), group)
    run.explain(
        f"this rank had {len(own):,} of {len(sources):,} sources; sums are added in the order of ranks"
    )
    return sum_of_ranks(total, group)
