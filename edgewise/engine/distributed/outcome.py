"""What a run leaves on one rank, and how it becomes whole."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, final

import numpy as np

from edgewise.engine.contract import Outcome
from edgewise.engine.cpu.arguments import SizedArcs
from edgewise.engine.distributed.group import Group
from edgewise.engine.distributed.partition import Ranges
from edgewise.kernels.door import cuda_door


def arcs_of(arcs: SizedArcs, of: slice, pulls: bool) -> Any:
    """The arcs that a rank with some vertices goes over, as an index: those out of them, or into them if it pulls."""
    if pulls:
        return arcs.in_arcs[int(arcs.in_offsets[of.start]) : int(arcs.in_offsets[of.stop])]
    return slice(int(arcs.offsets[of.start]), int(arcs.offsets[of.stop]))


@dataclass(frozen=True, eq=False, kw_only=True)
class PartOutcome(Outcome):
    """The final state of a run on one rank: fields have values for the rank's own vertices and edges. Those of vertices
    may lie on its GPU.

    Attributes:
        group, ranges: the ranks, and their vertices.
        arcs: the graph, or None if there is one rank.
        pulls: whether a rank's edges are the in-edges of its vertices.
    """

    group: Group
    ranges: Ranges
    arcs: SizedArcs | None
    pulls: bool

    def of_own(self, name: str) -> np.ndarray:
        """A field's values of the rank's own vertices, in the host's memory."""
        return _on_host(self.vertex_fields[name][self.ranges.own])

    def gather(self) -> Outcome:
        """The state of the whole run, on each rank, in the host's memory. All ranks call it."""
        vertex = {name: self.whole(name) for name in self.vertex_fields}
        edge = {name: self._whole(values, self._arcs_of) for name, values in self.edge_fields.items()}
        return Outcome(vertex, edge, self.aggregates, self.supersteps, self.ended, self.notes)

    def whole(self, name: str) -> np.ndarray:
        """A field's values of all vertices, on each rank, in the host's memory. All ranks call it."""
        return self._whole(self.vertex_fields[name], self.ranges.of)

    def _arcs_of(self, rank: int) -> Any:
        assert self.arcs is not None
        return arcs_of(self.arcs, self.ranges.of(rank), self.pulls)

    def _whole(self, values: Any, of: Any) -> np.ndarray:
        if self.group.size == 1:
            return _on_host(values)
        found = np.empty(values.shape, values.dtype)
        own = np.ascontiguousarray(_on_host(values[of(self.group.rank)]))
        for rank, part in enumerate(self.group.everywhere(own.view(np.uint8))[0]):
            found[of(rank)] = part.copy().view(values.dtype)
        return found


@final
class WholeFields(Mapping[str, np.ndarray]):
    """The fields of all vertices, on each rank: one is gathered when it is first looked up, which all ranks do."""

    def __init__(self, outcome: PartOutcome) -> None:
        self._outcome, self._found = outcome, dict[str, np.ndarray]()

    def __getitem__(self, name: str) -> np.ndarray:
        if name not in self._found:
            self._found[name] = self._outcome.whole(name)
        return self._found[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._outcome.vertex_fields)

    def __len__(self) -> int:
        return len(self._outcome.vertex_fields)


def _on_host(values: Any) -> np.ndarray:
    return values if isinstance(values, np.ndarray) else cuda_door().host_copy(values)
