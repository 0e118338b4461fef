"""A check of generations that finds none: in O(n + m), by the arcs.

Each arc from a vertex that has a generation leads to a higher one, or to a vertex without one; each arc from a vertex
without one leads to a vertex without one. So no generation is too low, and whoever is on a cycle has none. Each
generation above 0 has an arc from the one below, so none is too high. A vertex without one has an arc from another one:
following these back never ends, so it is on a cycle or after one.
"""

from typing import Any

import numpy as np

from edgewise.algorithms.common.derived import expect_each, expect_integers
from edgewise.errors import VerificationError
from edgewise.graph import Graph
from edgewise.kernels.cpu.launch import unsigned
from edgewise.kernels.cpu.team import run_alone, team_kernel

_ONE = np.uint64(1)


@team_kernel
def _look_along(
    thread: Any, size: Any, control: Any, offsets: Any, targets: Any, generation: Any, held: Any, right: Any
) -> None:
    """Note which vertices an arc leads to from the generation below, or without one from one without, and which have a
    generation that an arc does not allow; by one thread."""
    for v in range(np.uint64(len(generation))):
        here = generation[v]
        for k in range(np.uint64(offsets[v]), np.uint64(offsets[v + _ONE])):
            u = np.uint64(targets[k])
            there = generation[u]
            if there < 0:
                held[u] |= here < 0
            else:
                held[u] |= here >= 0 and here + 1 == there
                right[u] &= here >= 0 and here < there


def verify_generations(graph: Graph, generation: np.ndarray) -> bool:
    """Check generations against the graph.

    Args:
        graph: a directed graph, n vertices.
        generation: integers, shape (n,); negative where there is none.

    Raises:
        VerificationError: naming the first vertex that is wrong.
    """
    n = graph.num_vertices
    if not graph.directed:
        raise VerificationError("the graph is undirected; expected the directed one that was ordered")
    expect_integers(generation=generation)
    if generation.shape != (n,):
        raise VerificationError(
            f"got {generation.shape} generations, expected one for each of {n:,} vertices"
        )
    generation = np.ascontiguousarray(generation, np.int64)
    known = (generation >= -1) & (generation < n)
    expect_each(known, graph, "generation", generation, f"expected one from 0 to {n - 1:,}, or -1 for none")
    held, right = generation == 0, np.ones(n, np.bool_)
    run_alone(_look_along, unsigned(graph.offsets), unsigned(graph.targets), generation, held, right)
    expect_each(right, graph, "generation", generation, "an arc leads to it from one that is not lower")
    expect_each(held, graph, "generation", generation, "no arc leads to it from the one below")
    return True
