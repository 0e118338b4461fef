"""A view of `grouped`, `block` or `binned` as a strategy: the same view for what is sent and what is gathered."""

from typing import Any

import numpy as np

from edgewise.balance.contract import WHOLE, Bodies, Strategy
from edgewise.kernels.cuda.device import device_function
from edgewise.primitives.deal import list_nothing


def make_mapped(view: Any, bodies: Bodies) -> Strategy:
    """The strategy of a view, for pushing and for gathering."""
    gather = bodies.gather

    @device_function
    def gather_whole(v, first, end, step, lanes, context):
        gather(v, first, end, step, lanes, np.int64(WHOLE), context)

    scatter_all, gather_all = view(bodies.scatter, True), view(gather_whole, False)

    @device_function
    def push_all(listed, count, counter, generation, context, run):
        scatter_all(listed, count, run.graph[0], run.scratch, context)
        return generation

    @device_function
    def pull_all(n, generation, context, run):
        gather_all(run.graph[3], n, run.graph[2], run.scratch, context)
        return generation

    return Strategy(list_nothing, push_all, pull_all)
