"""The arcs of one rank of a grid, its cell, and what all ranks would send with and without a grid.

Ranges of vertices are dealt to the ranks row by row. The rank in row i and column j has the arcs from the vertices of
row i to those of column j, whoever of the ranks owns these. So the arcs of a vertex are spread over the ranks of its
row, those of a hub, too. (Yoo et al., "A Scalable Distributed Parallel Breadth-First Search Algorithm on BlueGene/L",
SC 2005.)
"""

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from edgewise.engine.cpu.arguments import SizedArcs
from edgewise.engine.distributed.exchange import packed_length
from edgewise.engine.distributed.group import sent_for
from edgewise.engine.distributed.lines import Grid, side_of
from edgewise.engine.distributed.partition import Ranges
from edgewise.engine.lowering.constants import Constants
from edgewise.program.inspect import Specification

#: How many arcs are looked at at a time.
_PIECE = 1 << 20


class Cell(NamedTuple):
    """The arcs of one rank of a grid.

    Attributes:
        arcs: offsets for all vertices of the graph, and targets of these arcs alone. `in_arcs` has the arc of the graph
            that each of them is; there are no in-edges.
        of: the vertices of the row, from which the arcs lead.
        sources: for each rank of the row, which of its vertices have an arc here: a flag for each.
        targets: for each rank of the column, to which of its vertices an arc leads.
    """

    arcs: SizedArcs
    of: slice
    sources: list[np.ndarray]
    targets: list[np.ndarray]

    @property
    def nbytes(self) -> int:
        """The memory that the arcs take."""
        return self.arcs.offsets.nbytes + self.arcs.targets.nbytes + self.arcs.in_arcs.nbytes


def _row_of(ranges: Ranges) -> slice:
    """The vertices of the ranks of this rank's row, which follow each other."""
    side = side_of(len(ranges.begins) - 1)
    first = ranges.rank - ranges.rank % side
    return slice(ranges.begins[first], ranges.begins[first + side])


def cell_of(arcs: SizedArcs, ranges: Ranges, grid: Grid) -> Cell:
    """The cell of this rank. It looks at the arcs of the row, and keeps those that lead to the column.

    Args:
        arcs: the graph.
        ranges, grid: the ranks.
    """
    of, in_column = _row_of(ranges), np.zeros(arcs.n, np.bool_)
    for rank in grid.column.ranks:
        in_column[ranges.of(rank)] = True
    kind, first, end = arcs.offsets.dtype, int(arcs.offsets[of.start]), int(arcs.offsets[of.stop])
    pieces = [np.empty(0, kind)]
    for start in range(first, end, _PIECE):
        found = np.flatnonzero(in_column[arcs.targets[start : min(end, start + _PIECE)]])
        pieces.append((found + start).astype(kind))
    index = np.concatenate(pieces)
    targets, offsets = arcs.targets[index], np.zeros(arcs.n + 1, kind)
    offsets[of.start : of.stop + 1] = np.searchsorted(index, arcs.offsets[of.start : of.stop + 1])
    offsets[of.stop + 1 :] = len(index)
    has_arcs = offsets[1:] != offsets[:-1]
    return Cell(
        SizedArcs(arcs.n, arcs.m, offsets, targets, offsets, targets, index),
        of,
        [has_arcs[ranges.of(rank)] for rank in grid.row.ranks],
        _flags(targets, arcs.n, ranges, grid.column.ranks),
    )


def cell_bytes(offsets: np.ndarray, ranges: Ranges) -> int:
    """The most memory that it takes to make the cell of this rank: as if all arcs of the row led to the column."""
    of, size = _row_of(ranges), offsets.itemsize
    arcs = int(offsets[of.stop]) - int(offsets[of.start])
    return (size + 3) * len(offsets) + (2 * size + 4) * arcs + 16 * _PIECE


def along_cell(constants: Constants, spec: Specification, cell: Cell) -> Constants:
    """What runs only read, with the values of edge fields for the arcs of the cell alone."""
    arrays = dict(constants.arrays)
    for name in set(spec.edge_fields) - constants.uniform:
        arrays["along", name] = arrays["along", name][cell.arcs.in_arcs]
    return constants._replace(arrays=arrays)


def _flags(targets: np.ndarray, n: int, ranges: Ranges, ranks: Iterable[int]) -> list[np.ndarray]:
    """For each of these ranks, which of its vertices are among the targets."""
    seen = np.zeros(n, np.bool_)
    seen[targets] = True
    return [seen[ranges.of(rank)] for rank in ranks]


class Itemsizes(NamedTuple):
    """The bytes of one value.

    Attributes:
        message: of a message.
        sources, targets: of the fields that edge functions read at the sources, and at the targets, of edges.
    """

    message: int
    sources: int
    targets: int


def sent_in_ranges(arcs: SizedArcs, ranges: Ranges, sizes: Itemsizes) -> int:
    """The bytes that the arcs of this rank's vertices cause in a superstep in which all vertices send and change."""
    own = ranges.own
    targets = arcs.targets[int(arcs.offsets[own.start]) : int(arcs.offsets[own.stop])]
    others = [rank for rank in range(len(ranges.begins) - 1) if rank != ranges.rank]
    seen = _flags(targets, arcs.n, ranges, others)
    return _sent(seen, sizes.message) + (_sent(seen, sizes.targets) if sizes.targets else 0)


def sent_in_grid(cell: Cell, grid: Grid, sizes: Itemsizes) -> int:
    """The bytes that the arcs of this rank's cell cause in such a superstep."""
    sources = [each for k, each in enumerate(cell.sources) if k != grid.row.rank]
    targets = [each for k, each in enumerate(cell.targets) if k != grid.column.rank]
    of_fields = _sent(targets, sizes.targets) if sizes.targets else 0
    return _sent(sources, sizes.sources) + _sent(targets, sizes.message) + of_fields


def _sent(flags: list[np.ndarray], itemsize: int) -> int:
    """The bytes that are sent between this rank and owners of vertices, for those with flags."""
    lengths = (packed_length(int(np.count_nonzero(each)), len(each), itemsize) for each in flags)
    return sum(map(sent_for, lengths))
