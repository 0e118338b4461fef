"""A program on ranks in a grid: each computes its own vertices, and goes over the arcs of its cell.

A superstep has two exchanges. In each row, owners tell the others which of their vertices are active, and the values
that edge functions read at sources; only what a cell has arcs of. Ranks go over the arcs of their cells, and combine
messages for one vertex. In each column, messages go to their owners, which join them in the order of rows. So a rank
speaks with the others of its row and of its column, and no more. Messages are combined in any order, so answers are
those of one rank, bit for bit.

Values that are read at targets are told in columns when they have changed. Aggregates go along rows, and then, with
those of the whole row, along columns: all ranks have them, and no rank sends more than to all others directly.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple, final

import numpy as np

from edgewise.engine.cpu.kernel_decide import LIST_ADVANTAGE
from edgewise.engine.cpu.shared import FLIP, LISTED
from edgewise.engine.distributed.cells import Cell
from edgewise.engine.distributed.exchange import joined, packed, separated, unpacked
from edgewise.engine.distributed.lines import Grid
from edgewise.engine.distributed.phases import Phase
from edgewise.engine.distributed.rank import UNKNOWN, Layout
from edgewise.engine.distributed.rank_cpu import CpuRank
from edgewise.kernels.costs import PROGRAM_ITEM
from edgewise.primitives.vertices import NO_VERTEX


class GridLayout(NamedTuple):
    """What a rank of a grid needs beside its `Layout`, whose `arcs`, `reads` and `wanted` are those of the grid.

    Attributes:
        grid, cell: the grid, and this rank's arcs.
        fields: vertex fields that are read at sources.
        wanted: for each rank of the row, which of this rank's vertices have arcs in its cell: a flag for each.
    """

    grid: Grid
    cell: Cell
    fields: list[str]
    wanted: list[np.ndarray]


@final
class GridRank(CpuRank):
    """One run on one rank of a grid.

    Args:
        of_grid: the grid.
        laid_out, how: see `CpuRank`.
    """

    def __init__(self, of_grid: GridLayout, laid_out: Layout, *how: Any) -> None:
        super().__init__(laid_out, *how)
        self._grid, self._cell, fields, self._wanted_in_row = of_grid
        self._told = [self._fields["vertex", name] for name in fields]

    def _active_vertices(self) -> int:
        return self._grid.total(self._count)

    def _hold(self, total: int) -> bool:
        return False  # a cell has not all out-edges of a vertex, of which the best message is one

    def _push(self) -> int:
        self._superstep += 1
        shared, own, offsets = self._shared, self._own, self._cell.arcs.offsets
        mine = self._active_own()
        others, of_row = self._tell_row(mine)
        volume, most = len(mine) + len(others), (own.stop - own.start) // LIST_ADVANTAGE
        if volume < most:
            active = np.concatenate([mine, others])
            volume += int((offsets[active + 1].astype(np.int64) - offsets[active]).sum())
        self._listed = volume < most
        if self._listed:
            if shared[LISTED] < 0:
                self._call(Phase.LIST)
                self._next_list()
            end = int(shared[LISTED])
            self._list[end : end + len(others)] = others
            shared[LISTED] = end + len(others)
            self._call(Phase.SEND_LISTED, work=PROGRAM_ITEM * volume)
            shared[LISTED] = end  # the list of vertices to compute
        else:
            work = PROGRAM_ITEM * (volume + len(self._cell.arcs.targets))
            self._call(Phase.SEND, of=self._cell.of, work=work)
        return self._deliver(self._grid.column, self._grid.column.ranks, of_row)

    @property
    def _list(self) -> np.ndarray:
        """The list of active vertices."""
        return self._work.frontier if self._shared[FLIP] == 0 else self._work.other_frontier

    def _active_own(self) -> np.ndarray:
        """The active vertices of this rank, ascending."""
        if self._shared[LISTED] < 0:
            return np.flatnonzero(self._work.active[self._own] == self._superstep) + self._own.start
        listed = self._list[: self._shared[LISTED]]
        return np.sort(listed[listed != NO_VERTEX]).astype(np.int64)

    def _tell_row(self, mine: np.ndarray) -> tuple[np.ndarray, int]:
        """Tell the others of the row which vertices are active, and take what they tell.

        Args:
            mine: the active vertices of this rank.

        Returns:
            Those of the others that have arcs here, and how many are active in the row.
        """
        own, row, parts = self._own, self._grid.row, list[np.ndarray]()
        for wanted in self._wanted_in_row:
            chosen = mine[wanted[mine - own.start]]
            parts.append(packed(chosen, own, [values[chosen] for values in self._told]))
        received, counts = row.exchange(parts, self._count)
        found, dtypes = list[np.ndarray](), [values.dtype for values in self._told]
        for rank, part in zip(row.ranks, received, strict=True):
            vertices, told = unpacked(part, self._ranges.of(rank), dtypes)
            self._work.active[vertices] = self._superstep
            for values, new in zip(self._told, told, strict=True):
                values[vertices] = new
            found.append(vertices)
        return np.concatenate(found), sum(counts)

    def _share(self) -> None:
        """Tell the ranks of the column what has changed of values that they read, and all ranks what aggregates are."""
        row, column = self._grid
        told, folds, of_row = list[list[np.ndarray]](), bool(self._spec.aggregators), 0
        self._total = UNKNOWN
        if folds:
            found, counts = row.everywhere(self._folded(), self._count)
            self._take_of_row(row.ranks, found)
            told, of_row = [[joined(found)] * column.size], sum(counts)
        if self._reads.across:
            told.append(self._across.changes())
        if not told:
            return
        received, counts = column.exchange([joined(parts) for parts in zip(*told, strict=True)], of_row)
        for rank, part in zip(column.ranks, received, strict=True):
            pieces = separated(part, len(told))
            if folds:
                first = rank - rank % row.size
                self._take_of_row(range(first, first + row.size), separated(pieces[0], row.size))
            if self._reads.across:
                self._take(self._across, rank, pieces[-1])
        if folds:
            self._join_folded()
            self._total = sum(counts)

    def _take_of_row(self, ranks: Sequence[int], told: list[np.ndarray]) -> None:
        """Take what the aggregates of the ranks of a row are."""
        for rank, part in zip(ranks, told, strict=True):
            self._take_folded(rank, part)
