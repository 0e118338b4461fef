"""The random walk that PageRank ranks: where it jumps to, and how a vertex divides its rank among its arcs."""

from collections.abc import Callable
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from edgewise.algorithms.common.lengths import weight_range
from edgewise.graph import Graph, Made, csr
from edgewise.kernels.cpu.launch import launch
from edgewise.kernels.cpu.team import claim, team_kernel
from edgewise.memory import Step, in_turn

#: Sums of weights from 1 / _EXTREME to _EXTREME leave room in float32 for what is computed with them.
_EXTREME = 2.0**64
_ROWS_PER_PIECE = 1024
_ONE = np.uint64(1)


class Walk:
    """The random walk on a graph.

    Attributes:
        graph: the graph; its weights are those given or, if sums of these could leave float32, scaled so that the
            heaviest arc from each vertex has the weight 1.
        jump: the jump distribution, shape (n,), float64, or None for the uniform one.
        scale: the factor of a vertex's rank that goes along one arc (of weight 1), 0 without out-arcs; float64, (n,).
    """

    def __init__(self, graph: Graph, damping: float, jump: np.ndarray | None, weighted: bool) -> None:
        self.graph = _with_moderate_weights(graph) if weighted else graph
        self.damping, self.jump, self.weighted = damping, jump, weighted

    @cached_property
    def scale(self) -> np.ndarray:
        graph = self.graph
        if self.weighted:
            assert graph.weights is not None
            out = np.empty(graph.num_vertices)
            launch(_sum_rows, graph.offsets, graph.weights, out, work=graph.num_arcs)
        else:
            out = graph.out_degree.astype(np.float64)
        return np.divide(1.0, out, out=out, where=out > 0)


def walking(graph: Graph, weighted: bool) -> Step:
    """The host's memory that a walk takes, with its scale and the in-edges of its graph."""
    n, m = graph.num_vertices, graph.num_arcs
    scale = Step(8 * n, 9 * n)
    if not weighted:
        return in_turn(graph.making(Made.IN_EDGES, Made.OUT_DEGREE), scale)
    if has_moderate_weights(graph):
        return in_turn(graph.making(Made.IN_EDGES), scale)
    in_edges = csr.transposing(graph.offsets, graph.targets, 8)
    return in_turn(graph.making(), Step(8 * m, 8 * (m + n)), in_edges, scale)


def has_moderate_weights(graph: Graph) -> bool:
    """Whether the weights can be added up in float32 as they are."""
    least, heaviest = weight_range(graph)
    return least >= 1 / _EXTREME and heaviest * graph.num_arcs <= _EXTREME


def _with_moderate_weights(graph: Graph) -> Graph:
    """The graph, or one with other weights but the same walk: only ratios of the weights of a vertex's arcs count."""
    if has_moderate_weights(graph):
        return graph
    assert graph.weights is not None
    most = np.empty(graph.num_vertices)
    launch(_find_heaviest, graph.offsets, graph.weights, most, work=graph.num_arcs)
    if most.min() >= 1 / _EXTREME and most.max() <= _EXTREME / graph.num_arcs:
        return graph
    weights = np.empty(graph.num_arcs)
    launch(_divide_rows, graph.offsets, graph.weights, most, weights, work=graph.num_arcs)
    return graph._with_weights(weights)


@team_kernel
def _sum_rows(thread: Any, size: Any, control: Any, offsets: Any, weights: Any, sums: Any) -> None:
    """Add up the weights of each row, in its order."""
    while True:
        start = claim(control, 0, _ROWS_PER_PIECE, len(sums))
        if start == len(sums):
            return
        for v in range(np.uint64(start), np.uint64(min(start + _ROWS_PER_PIECE, len(sums)))):
            total = 0.0
            for k in range(np.uint64(offsets[v]), np.uint64(offsets[v + _ONE])):
                total += np.float64(weights[k])
            sums[v] = total


@team_kernel
def _find_heaviest(thread: Any, size: Any, control: Any, offsets: Any, weights: Any, most: Any) -> None:
    """Find the largest weight of each row, or 1 if that is 0 or the row is empty."""
    while True:
        start = claim(control, 0, _ROWS_PER_PIECE, len(most))
        if start == len(most):
            return
        for v in range(np.uint64(start), np.uint64(min(start + _ROWS_PER_PIECE, len(most)))):
            heaviest = 0.0
            for k in range(np.uint64(offsets[v]), np.uint64(offsets[v + _ONE])):
                heaviest = max(heaviest, np.float64(weights[k]))
            most[v] = heaviest if heaviest > 0.0 else 1.0


@team_kernel
def _divide_rows(
    thread: Any, size: Any, control: Any, offsets: Any, weights: Any, most: Any, ratios: Any
) -> None:
    """Divide each weight by a number for its row."""
    while True:
        start = claim(control, 0, _ROWS_PER_PIECE, len(most))
        if start == len(most):
            return
        for v in range(np.uint64(start), np.uint64(min(start + _ROWS_PER_PIECE, len(most)))):
            for k in range(np.uint64(offsets[v]), np.uint64(offsets[v + _ONE])):
                ratios[k] = np.float64(weights[k]) / most[v]


class Ranked(NamedTuple):
    """The result of the iterations.

    Attributes:
        rank: shape (n,), on the host or on the GPU.
        iterations, residual: as in `PageRankResult`.
        shares: gives the shares that the last iteration began with: each vertex's rank times its `Walk.scale`.
    """

    rank: Any
    iterations: int
    residual: float
    shares: Callable[[], np.ndarray]
