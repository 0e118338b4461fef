"""Searches in the order of NetworkX, from Python: see `cpu_search`."""

import math
from collections.abc import Iterator
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from edgewise.graph.csr import Rows
from edgewise.kernels.cpu.launch import INTERRUPTIBLE, launch_on
from edgewise.nx.cpu_search import search_both_ways, search_levels, search_strong_components

#: Nanoseconds of a search for each vertex and each arc, about.
_PER_VERTEX, _PER_ARC = 5, 4


class Levels(NamedTuple):
    """What a breadth-first search has reached.

    Attributes:
        order: int32, shape (reached,): the vertices in the order in which they were reached, first the sources.
        parent: int32, shape (reached,): the vertex from which each was reached; of a source itself.
        starts: int64, shape (levels + 1,): where each level begins in `order`; at last, where that ends.
    """

    order: np.ndarray
    parent: np.ndarray
    starts: np.ndarray

    @property
    def level(self) -> np.ndarray:
        """The level of each vertex of `order`, int64."""
        return np.repeat(np.arange(len(self.starts) - 1), np.diff(self.starts))


def alone(kernel: Any, rows: Rows, *args: Any) -> None:
    """Run a kernel on one core over these rows; Ctrl-C ends a long one."""
    work = _PER_VERTEX * len(rows.offsets) + _PER_ARC * len(rows.targets)
    launch_on(1, kernel, rows.offsets, rows.targets, *args, long=work > INTERRUPTIBLE)


def breadth_first(rows: Rows, sources: list[int], limit: float | None = None) -> Levels:
    """A breadth-first search from different sources.

    Args:
        limit: the highest level to look for, as NetworkX takes it: any number, or None for all.
    """
    n = len(rows.offsets) - 1
    highest = n if limit is None or limit >= n else math.ceil(max(limit, 0))
    order, parent = np.empty(n, np.int32), np.full(n, -1, np.int32)
    order[: len(sources)] = parent[sources] = sources
    starts, found = np.empty(n + 2, np.int64), np.array([len(sources), 0])
    alone(search_levels, rows, highest, order, parent, starts, found)
    reached, levels = found.tolist()
    return Levels(order[:reached], parent[order[:reached]], starts[: levels + 1])


def path_between(rows: Rows, in_rows: Rows, source: int, target: int) -> list[int] | None:
    """The vertices of the path that a search from both ends finds first, or None."""
    if source == target:
        return [source]
    n = len(rows.offsets) - 1
    queues, (before, after) = np.empty((2, n), np.int32), np.full((2, n), -1, np.int32)
    queues[:, 0], before[source], after[target] = (source, target), source, target
    found = np.array([-1])
    alone(search_both_ways, rows, in_rows.offsets, in_rows.targets, queues, before, after, found)
    meeting = int(found[0])
    return None if meeting < 0 else [*reversed(walk(before, meeting)), *walk(after, meeting)[1:]]


def pieces(items: list[Any], starts: list[int]) -> Iterator[list[Any]]:
    """The pieces of a list that begin at these places."""
    return (items[begin:end] for begin, end in pairwise([*starts, len(items)]))


def walk(following: np.ndarray, vertex: int) -> list[int]:
    """The vertices from one on, each followed by that which `following` has for it, to the one that follows itself."""
    path = [vertex]
    while (after := int(following[path[-1]])) != path[-1]:
        path.append(after)
    return path


def strong_components(rows: Rows) -> np.ndarray:
    """The strong component of each vertex, int32, shape (n,), numbered in NetworkX's order."""
    n = len(rows.offsets) - 1
    first, low, path, waiting = np.zeros((4, n), np.int32)
    following, component = np.empty(n, np.int64), np.full(n, -1, np.int32)
    found = np.zeros(1, np.int64)
    alone(search_strong_components, rows, first, low, path, following, waiting, component, found)
    return component
