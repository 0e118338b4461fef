"""PageRank on the CPU: the launch of `cpu_iterate`, its memory and its cost."""

import functools
from typing import Any

import numpy as np

from edgewise.algorithms.common.distribution import distributing
from edgewise.algorithms.common.gather import BLOCK
from edgewise.algorithms.pagerank.cpu_iterate import (
    CONVERGED,
    COUNTERS,
    DONE,
    Ranks,
    Web,
    iterate,
    sum_up,
)
from edgewise.algorithms.pagerank.walk import Ranked, Walk, walking
from edgewise.execution import Execution
from edgewise.graph import Graph
from edgewise.kernels.cpu.team import run_alone
from edgewise.memory import held, in_turn

#: The iterations that ranks mostly take to converge; each has two barriers.
LIKELY_ITERATIONS = 20
ROUNDS = 2 * LIKELY_ITERATIONS
#: About the nanoseconds that one thread takes for a block, and for an arc of each of its vertices.
_BLOCK_WORK = 1.5 * BLOCK


def rank(
    walk: Walk, begin: np.ndarray | None, kind: np.dtype, enough: float, limit: int, run: Execution
) -> Ranked:
    """Iterate; the arguments are those of `cuda.rank`."""
    n = walk.graph.num_vertices
    if n == 0:
        nobody = np.empty(0, kind)
        return Ranked(nobody, iterations=0, residual=0.0, shares=nobody.copy)
    run.make_in_edges(walk.graph)
    web, ranks = web_of(walk, kind), ranks_to_begin(n, begin, kind)
    arguments = web, ranks, walk.damping, enough, np.int64(0), np.int64(limit), 0, ranks.partial.shape[1]
    work, at_most = (rank_work(walk.graph, most) for most in (min(limit, LIKELY_ITERATIONS), limit))
    run.launch(iterate, *arguments, work=work, rounds=ROUNDS, at_most=at_most)
    run.explain("pull: each vertex gathers over its in-edges")
    return ranked(ranks)


def ranks_to_begin(num_vertices: int, begin: np.ndarray | None, kind: np.dtype) -> Ranks:
    """The arrays of iterations that have not begun."""
    n = num_vertices
    values = np.full(n, 1 / n, kind) if begin is None else begin.astype(kind)
    shares = np.zeros((2, n + 1), kind)
    partial, counters = np.zeros((2, -(-n // BLOCK))), np.zeros(COUNTERS.lines_size, np.int64)
    return Ranks(values, shares, partial, np.zeros(2), counters)


def iterate_once(
    web: Web, ranks: Ranks, damping: float, iteration: int, blocks: slice, run: Execution
) -> np.ndarray:
    """Do these blocks of one iteration. Returns the shares that were made, of which those of these blocks are new."""
    work = _BLOCK_WORK * (blocks.stop - blocks.start) * (1 + len(web.in_sources) / len(ranks.rank))
    only = np.int64(iteration)
    run.launch(iterate, web, ranks, damping, 0.0, only, only, blocks.start, blocks.stop, work=work)
    return ranks.shares[(iteration + 1) & 1, :-1]


def is_last(ranks: Ranks, iteration: int, enough: float) -> bool:
    """Whether ranks have converged in this iteration, when `ranks.partial` has the sums of all blocks."""
    run_alone(sum_up, ranks, np.int64(iteration), enough)
    return bool(ranks.counters[CONVERGED])


def ranked(ranks: Ranks) -> Ranked:
    """The result of iterations that have ended."""
    iterations = int(ranks.counters[DONE])
    last = functools.partial(_without_last, ranks.shares[iterations & 1])
    return Ranked(ranks.rank, iterations, float(ranks.sums[0]), last)


def _without_last(values: np.ndarray) -> np.ndarray:
    return values[:-1]


def web_of(walk: Walk, kind: np.dtype) -> Web:
    """The walk in arrays of the dtype of ranks."""
    graph, none = walk.graph, np.empty(0, kind)
    weights = graph.in_weights if walk.weighted and graph.in_weights is not None else none
    return Web(
        graph.in_offsets.view(f"u{graph.in_offsets.itemsize}"),
        graph.in_sources.view(np.uint32),
        weights,
        walk.scale.astype(kind, copy=False),
        none if walk.jump is None else walk.jump.astype(kind, copy=False),
    )


def rank_work(graph: Graph, iterations: int) -> float:
    """About the nanoseconds that one thread takes for `iterations` iterations."""
    return (1.5 * graph.num_vertices + 0.5 * graph.num_arcs) * iterations


def rank_memory(graph: Graph, kind: np.dtype, weighted: bool, personalization: Any, start: Any) -> int:
    """The memory that a run takes: the walk, again in the dtype of ranks, and three arrays of ranks."""
    n = graph.num_vertices
    given = distributing(graph, personalization, start)
    of_walk = 0 if kind == np.float64 else kind.itemsize * n * (1 + (personalization is not None))
    ranks = 3 * kind.itemsize * (n + 1) + 2 * 8 * (n // BLOCK + 1)
    return in_turn(given, walking(graph, weighted), held(of_walk + ranks)).most
