"""Rounds of Borůvka's on a GPU for lightest edges that something else finds: a launch for each round.

The kernel does what `cuda` does from *choose* on, where a piece is a vertex.
"""

import functools
from typing import Any, NamedTuple

import numpy as np

from edgewise.algorithms.mst.cuda import (
    CONTROL,
    HOST,
    ROUNDS,
    Forest,
    Size,
    bounds_of,
    grow,
    keep,
    make_forest,
    offer,
)
from edgewise.algorithms.mst.forest_edges import NO_EDGE
from edgewise.algorithms.mst.lightest import NOT_YET, make_key
from edgewise.kernels.cuda.arguments import Weights, type_of
from edgewise.kernels.cuda.device import grid_barrier, lane, num_threads, thread_index
from edgewise.kernels.cuda.launch import Kernel, fixed_kernel
from edgewise.kernels.cuda.memory import cupy, signals, wait, zeros
from edgewise.primitives.ordered_keys import key_dtype


class Contraction(NamedTuple):
    """What the kernel takes.

    Attributes:
        weights: shape (n,): of the lightest edge of each vertex to another component.
        forest: a piece is a vertex here, of which `end` says the other end of its edge, -1 for none.
        n: vertices.
    """

    weights: Weights
    forest: Forest
    n: int


def signature(weight: np.dtype) -> tuple[Any, ...]:
    """The types of the arguments of what `make_kernel` makes."""
    return (type_of(Contraction, weight=weight, key=key_dtype(weight)),)


def make_kernel(weight: np.dtype) -> Any:
    """The kernel that does a round but for *look*, for weights of this dtype."""
    key_of, (_, heaviest) = make_key(weight), bounds_of(weight)

    def contract_kernel(it):
        """Join components by the lightest edges of vertices, see `Contraction`; whether any joined is ROUNDS of the
        host's words."""
        forest, n = it.forest, it.n
        held, roots = np.int64(0), np.int64(0)
        for begin in range(thread_index() - lane(), n, num_threads()):
            v = begin + lane()
            has = v < n and forest.end[min(v, n - 1)] != NOT_YET
            if has:
                forest.key[v] = key_of(it.weights[v])
                offer(forest.key[v], forest.component[v], forest)
            held = keep(v, has, held, forest.live)
            roots = keep(v, v < n and forest.component[min(v, n - 1)] == v, roots, forest.roots)
        generation = grid_barrier(forest.control, np.int64(0))
        grew, roots, generation = grow(held, roots, Size(n, n), forest, heaviest, 1, generation)
        if thread_index() == 0:
            forest.host[ROUNDS] = grew

    return contract_kernel


@functools.cache
def _kernel(weight: np.dtype) -> Kernel:
    return fixed_kernel(make_kernel, signature(weight), weight)


def plant(num_vertices: int, weight: np.dtype) -> Forest:
    """A forest in which each vertex is a component, for `contract`."""
    forest, xp = make_forest(num_vertices, 0, weight), cupy()
    forest.component[...] = forest.above[...] = xp.arange(num_vertices, dtype=np.int32)
    _, forest.weight[...] = bounds_of(weight)
    forest.ends[...] = NO_EDGE
    return forest


def contract(forest: Forest, weights: Any, end: Any) -> bool:
    """Join components by the lightest edges of vertices to other components; whether any joined.

    Args:
        forest: from `plant`.
        weights: on the GPU, shape (n,), in the dtype that the forest was made for.
        end: the other ends of the edges, int32, shape (n,); -1 where there is none.
    """
    n = len(end)
    now = forest._replace(end=end, control=zeros(CONTROL.size, np.int64), host=signals(HOST.size))
    _kernel(weights.dtype).start([Contraction(weights, now, n)])
    wait(now.host, None)
    return bool(now.host[ROUNDS])
