"""Which sources betweenness is summed over."""

from collections.abc import Iterator, Set
from numbers import Integral
from typing import Any

import numpy as np

from edgewise.errors import ParameterError
from edgewise.graph import Graph
from edgewise.memory import Step, held, in_turn
from edgewise.text import shown


def choosing_sources(graph: Graph, k: Any, sources: Any) -> Step:
    """The memory that it takes to choose sources, which are those of all vertices before some are drawn, and to copy
    the graph from a GPU."""
    chosen = graph.looking_up(sources) if sources is not None else held(8 * graph.num_vertices)
    return in_turn(graph.making(), chosen)


def chosen_sources(name: str, graph: Graph, k: Any, sources: Any, seed: int) -> np.ndarray:
    """The indices of sources, int64: those given, or k drawn at random, or all.

    Raises:
        GraphError: a source that is not in the graph.
        ParameterError: `k` that is no integer from 1 to n; sources that are none, given twice, or beside `k`; a seed
            that is no integer of at least 0.
    """
    n = graph.num_vertices
    if isinstance(seed, bool) or not isinstance(seed, Integral) or seed < 0:
        raise ParameterError(f"{name}: seed is {shown(seed)}; expected an integer of at least 0")
    if sources is not None:
        if k is not None:
            raise ParameterError(
                f"{name}: both k and sources are given; expected one of them, or none for all"
            )
        if isinstance(sources, Set | Iterator):
            sources = list(sources)
        found = np.atleast_1d(graph.index_of(sources)).astype(np.int64)
        if len(found) == 0 or len(np.unique(found)) < len(found):
            problem = "there are none" if len(found) == 0 else "one is given twice"
            raise ParameterError(f"{name}: sources: {problem}; expected a list of different vertices")
        return found
    if k is None:
        return np.arange(n)
    if isinstance(k, bool) or not isinstance(k, Integral) or not 1 <= k <= n:
        possible = (
            f"an integer from 1 to {n:,}, the number of vertices" if n else "none, for there is no vertex"
        )
        raise ParameterError(f"{name}: k is {shown(k)}; expected {possible}")
    return np.random.default_rng(seed).choice(n, int(k), replace=False)
