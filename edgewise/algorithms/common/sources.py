"""The vertices that a call asks for: the sources of sums, or those whose values are wanted."""

from collections.abc import Iterator, Set
from typing import Any, NamedTuple

import numpy as np

from edgewise.errors import ParameterError
from edgewise.graph import Graph
from edgewise.memory import Step, held, in_turn
from edgewise.numeric import is_integer
from edgewise.text import shown


class Asked(NamedTuple):
    """The vertices that a call asks for, before any of them is looked up.

    Attributes:
        name: that of the call, for messages.
        graph: the graph whose vertices they are.
        given: the user's ids, or None.
        drawn: the number of sources drawn at random, or None.
        seed: the seed of the drawing.
        argument: the name of the argument that gives them.
    """

    name: str
    graph: Graph
    given: Any
    drawn: int | None
    seed: int
    argument: str = "sources"

    @property
    def number(self) -> int:
        """Their number."""
        if self.given is not None:
            return 1 if self.graph.is_one(self.given) else len(self.given)
        return self.graph.num_vertices if self.drawn is None else self.drawn

    def choosing(self) -> Step:
        """The memory that finding them takes, the indices of all vertices if some are drawn, and copying the graph from
        a GPU."""
        graph = self.graph
        found = held(8 * graph.num_vertices) if self.given is None else graph.looking_up(self.given)
        return in_turn(graph.making(), found)

    def indices(self) -> np.ndarray:
        """Their indices, int64.

        Raises:
            GraphError: one that is not in the graph.
            ParameterError: the list is empty, or one is given twice.
        """
        if self.given is not None:
            found = np.atleast_1d(self.graph.index_of(self.given)).astype(np.int64)
            if len(found) == 0 or len(np.unique(found)) < len(found):
                problem = "there are none" if len(found) == 0 else "one is given twice"
                raise ParameterError(
                    f"{self.name}: {self.argument}: {problem}; expected a list of different vertices"
                )
            return found
        n = self.graph.num_vertices
        if self.drawn is None:
            return np.arange(n)
        return np.random.default_rng(self.seed).choice(n, self.drawn, replace=False)


def asked_sources(name: str, graph: Graph, k: Any, sources: Any, seed: Any) -> Asked:
    """The sources given, or k drawn at random, or all.

    Raises:
        ParameterError: `k` is not an integer from 1 to n, or is given beside sources; the seed is not an integer of at
            least 0.
    """
    n = graph.num_vertices
    if not is_integer(seed) or seed < 0:
        raise ParameterError(f"{name}: seed is {shown(seed)}; expected an integer of at least 0")
    if sources is not None:
        if k is not None:
            raise ParameterError(
                f"{name}: both k and sources are given; expected one of them, or none for all"
            )
        if isinstance(sources, Set | Iterator) and sources not in graph:
            sources = list(sources)
        return Asked(name, graph, sources, None, int(seed))
    if k is None:
        return Asked(name, graph, None, None, int(seed))
    if not (is_integer(k) and 1 <= k <= n):
        possible = (
            f"an integer from 1 to {n:,}, the number of vertices" if n else "none, for there is no vertex"
        )
        raise ParameterError(f"{name}: k is {shown(k)}; expected {possible}")
    return Asked(name, graph, None, int(k), int(seed))


def asked_vertices(name: str, graph: Graph, given: Any) -> Asked:
    """The vertices given by their ids, or all."""
    return asked_sources(name, graph, None, given, 0)._replace(argument="vertices")
