"""Vertices of an asynchronous program that wait with the first messages that they would send.

If all vertices send at once, worse messages are overtaken by better ones, again and again. So the vertex with the best
message begins alone, as in one process (`edgewise.engine.cpu.best_first`); what it sends mostly reaches most vertices.
Those that were reached send what they have got. The others begin when no vertex is active.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from edgewise.engine.distributed.exchange import joined, separated
from edgewise.engine.distributed.group import Group
from edgewise.program.inspect import Specification

#: Vertices wait if more than one in so many is active at first.
_MANY = 16
#: The best begins alone so often, as long as half of them wait, and what it sent reached few in so many supersteps.
_TIMES_ALONE, _SUPERSTEPS_ALONE = 4, 8


class Waiting:
    """The vertices of one rank that wait.

    Args:
        spec: the program.
        group: the ranks.
        own: this rank's vertices.
        offsets: of the out-edges of all vertices, shape (n + 1,).
        active: the last superstep in which each vertex was active, 0 for none, shape (n,).
        takes_least: whether the least of what `best` finds is the best, not the largest; by the combiner if left out.
        module: NumPy, or what these arrays are of.

    Attributes:
        flags: which vertices wait, if they were never active; bool, shape (n,).
    """

    def __init__(
        self,
        spec: Specification,
        group: Group,
        own: slice,
        offsets: Any,
        active: Any,
        takes_least: bool | None = None,
        module: Any = np,
    ) -> None:
        self._group, self._own, self._offsets, self._active = group, own, offsets, active
        self._may_wait, self._module = spec.best_first, module
        self._takes_least = spec.combine.name == "MIN" if takes_least is None else takes_least
        self.flags = module.zeros(len(active), np.bool_)
        self._are_waiting, self._most, self._times_alone, self._alone_since = False, 0, 0, 0

    def begin(self, total: int) -> bool:
        """Have active vertices wait that have out-edges, if there are many; the others have nothing to send.

        Args:
            total: how many vertices are active, on all ranks.
        """
        own, active = self._own, self._active[self._own]
        if not self._may_wait or total * _MANY <= len(self._active):
            return False
        has_edges = self._offsets[own.start : own.stop] < self._offsets[own.start + 1 : own.stop + 1]
        self.flags[own] = (active != 0) & has_edges
        active[:] = 0
        self._are_waiting = True
        return True

    def release(self, superstep: int, best: Callable[[], tuple[np.ndarray, np.ndarray]]) -> tuple[int, Any]:
        """Make vertices active that wait: the one with the best message as long as most of them wait, then all. If most
        still wait after many supersteps, messages do not let those go on that they reach, and no other begins alone.

        Args:
            superstep: in which they are active.
            best: finds the best first messages of this rank's active vertices: the vertices, and the messages.

        Returns:
            How many they are on all ranks, and the vertices of this rank.
        """
        waiting, active = self.flags[self._own], self._active[self._own]
        if not self._are_waiting:
            return 0, np.empty(0, np.int64)
        waiting &= active == 0
        total, alone = self._group.total(int(self._module.count_nonzero(waiting))), None
        self._most = max(self._most, total)
        active[waiting] = superstep
        was_short = superstep - self._alone_since <= _SUPERSTEPS_ALONE
        if 2 * total > self._most and self._times_alone < _TIMES_ALONE and was_short:
            self._times_alone, self._alone_since = self._times_alone + 1, superstep
            alone = self._best_of_all(*best())
        if alone is None:
            begun = self._module.flatnonzero(waiting) + self._own.start
            waiting[:], self._are_waiting = False, False
            return total, begun
        active[waiting] = 0
        begun = self._module.array([alone] if self._own.start <= alone < self._own.stop else [], np.int64)
        self._active[begun] = superstep
        return 1, begun

    def _best_of_all(self, vertices: np.ndarray, values: np.ndarray) -> int | None:
        """The first vertex with the best message of all ranks; None if there is none."""
        parts = self._group.everywhere(joined([vertices.view(np.uint8), values.view(np.uint8)]))[0]
        pairs = [separated(part, 2) for part in parts]
        vertices = np.concatenate([each.view(vertices.dtype) for each, _ in pairs])
        values = np.concatenate([each.view(values.dtype) for _, each in pairs])
        if not len(vertices):
            return None
        best = values.min() if self._takes_least else values.max()
        return int(vertices[values == best].min())
