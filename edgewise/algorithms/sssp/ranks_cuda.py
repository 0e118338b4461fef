"""Shortest paths on several ranks with GPUs, for weights of at least 0: distances by a program, parents from these.

Ranks tell each other the distances of their own vertices. Each finds the least parent that its arcs offer to each
vertex, of those that are nearer; the least of all ranks is the parent. Vertices that only arcs of length 0 reach get
theirs on the CPU, as after a run on one GPU.
"""

import functools
from typing import Any

import numpy as np

from edgewise.algorithms.common.offers_cuda import Offers, make_offer, signature
from edgewise.algorithms.common.ranks_cuda import joining, run_on_gpus, take_least, tell_own
from edgewise.algorithms.sssp.asked import Asked
from edgewise.algorithms.sssp.cuda import finished, make_sums, unreached_key
from edgewise.algorithms.sssp.relaxation import given_for, program_for
from edgewise.algorithms.sssp.weights import may_have_orphans
from edgewise.engine.distributed.group import Group
from edgewise.execution import Execution
from edgewise.graph import Graph
from edgewise.kernels.cuda.launch import Kernel, fixed_kernel
from edgewise.kernels.cuda.memory import cupy
from edgewise.primitives.ordered_keys import key_dtype

_NONE = -1


def make_kernel(distance: np.dtype, weighted: bool) -> Any:
    """The kernel for distances of a dtype, with weights or with 1 for each arc."""
    plus, _, weight_of = make_sums(distance, weighted)
    offer = make_offer(plus, weight_of)

    def offers_kernel(it):
        """Parents from finished distances over the arcs that are there; see `Offers`."""
        offer(it)

    return offers_kernel


@functools.cache
def _kernel(offsets: np.dtype, weight: np.dtype | None, distance: np.dtype) -> Kernel:
    kinds = signature(offsets, weight, distance)
    return fixed_kernel(make_kernel, kinds, distance, weight is not None)


def shortest_paths(graph: Graph, asked: Asked, run: Execution, group: Group) -> tuple[Any, Any, int]:
    """Distances, parents and supersteps on all ranks, as of `cuda.shortest_paths`.

    Args:
        graph: weights of at least 0.
        asked: what is asked for.
        run, group: the run that this is, and the ranks.

    Raises:
        GraphError: a distance is beyond the floats of this dtype.
        MemoryLimitError: on all ranks, if one of them has no room.
        DistributedError: another rank has ended, or does not answer in time.
    """
    n, given = graph.num_vertices, given_for(graph, asked, False)
    outcome, program = run_on_gpus(program_for(asked, False), graph, run, given, None)
    distance, parent = (outcome.vertex_fields[name] for name in ("distance", "parent"))
    offsets, targets, weights = program.out_edges("weight")
    weight = weights.dtype if graph.weighted else None
    parent[...] = _NONE
    offers = Offers(
        offsets,
        targets,
        weights,
        distance.view(key_dtype(distance.dtype)),
        parent.view(np.uint32),
        n,
        unreached_key(distance.dtype),
    )
    with joining("sssp", n, group) as channel:
        tell_own(distance, outcome.ranges, channel)
        _kernel(np.dtype(f"u{offsets.itemsize}"), weight, distance.dtype).start([offers])
        take_least(offers.parent, group, channel)
        orphans = 0
        if may_have_orphans(graph, distance.dtype):
            reached, found = distance != asked.unreached, parent != _NONE
            orphans = (
                int(cupy().count_nonzero(reached)) - int(cupy().count_nonzero(found)) - len(asked.sources)
            )
    return *finished(graph, asked, distance, parent, orphans, run), outcome.supersteps
