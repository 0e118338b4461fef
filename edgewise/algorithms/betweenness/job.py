"""A call to sum dependencies, as every form takes it."""

from typing import Any, NamedTuple

import numpy as np

from edgewise.algorithms.betweenness.checkpoint import COPIES
from edgewise.algorithms.betweenness.cpu import ON_ARCS, Size
from edgewise.algorithms.betweenness.memory import batch_beside, batch_bytes, source_bytes
from edgewise.execution import rest_of
from edgewise.graph import Arrays, Graph


class Job(NamedTuple):
    """A call to sum dependencies.

    Attributes:
        name: what runs, for messages.
        graph: the graph.
        weighted: whether the lengths of arcs are their weights.
        on: what dependencies are on; see `cpu`.
        dtype: that of distances.
        beside: bytes that the sources take, and on one of several ranks sums that it sends and receives.
        checkpoint: the name of a file that keeps the sums of an interrupted run; None for no such file.
        is_target: bool, shape (n,): whether paths to each vertex count; of shape (0,) if all do.
    """

    name: str
    graph: Graph
    weighted: bool
    on: int
    dtype: np.dtype
    beside: int
    checkpoint: Any
    is_target: np.ndarray

    @property
    def asked(self) -> "Job":
        """What is the same on all ranks: not the memory that sources take, for one rank may have looked ids up."""
        return self._replace(beside=0)

    @property
    def in_batches(self) -> bool:
        """Whether a GPU does many sources at a time: for sums on vertices, along paths of the fewest arcs to all."""
        return not self.weighted and self.on != ON_ARCS and len(self.is_target) == 0

    @property
    def told(self) -> tuple[np.ndarray, ...]:
        """What a checkpoint is told of targets: nothing if all vertices are."""
        return (self.is_target,) if len(self.is_target) else ()

    @property
    def num_sums(self) -> int:
        """The number of sums: one for each vertex or arc."""
        return self.graph.num_arcs if self.on == ON_ARCS else self.graph.num_vertices

    def size(self, num_sources: int, num_threads: int, memory_limit: int | None) -> Size:
        """The size of the state on the CPU for `num_sources` sources, with as many at a time as the limit allows."""
        copies = 0 if self.checkpoint is None else COPIES
        size = Size(self.graph.num_vertices, self.num_sums, num_threads, self.dtype, copies)
        return size.with_rows(num_sources, rest_of(memory_limit, self.beside))

    def gpu_bytes(self, num_sources: int, memory_limit: int | None) -> int:
        """The GPU's memory that `num_sources` sources take beside the graph; of fewer at a time under a limit."""
        n, m = self.graph.num_vertices, self.graph.num_arcs
        if not self.in_batches:
            return source_bytes(n, m, self.num_sums) + len(self.is_target)
        if memory_limit is None:
            return batch_bytes(n, m, 1)
        return batch_beside(n, m, num_sources, memory_limit, *self.graph.gpu.sizes(Arrays.BOTH_WAYS))

    def work(self, num_sources: int) -> float:
        """About the nanoseconds that one CPU thread takes for `num_sources` sources."""
        n, m = self.graph.num_vertices, self.graph.num_arcs
        return num_sources * (20 * n + 5 * m) * (3 if self.weighted else 1)
