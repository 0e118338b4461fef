"""Values of vertices that ranks need of each other, each of which makes those of its blocks of vertices.

Blocks are those of one rank, and sums of blocks are told beside values, to be added up in one order on all ranks.
"""

from typing import NamedTuple

import numpy as np

from edgewise.algorithms.common.gather import BLOCK
from edgewise.algorithms.common.ranks import as_values
from edgewise.engine.distributed.group import Group
from edgewise.engine.distributed.partition import Ranges, by_arcs
from edgewise.engine.distributed.reads import seen_at_ends, wanted_of

_FLOAT, _VERTEX = np.dtype(np.float64), np.dtype(np.uint32)


class Needs(NamedTuple):
    """Whose values are needed: indices of vertices, ascending.

    Attributes:
        blocks: the blocks of ranks.
        own: for each rank, which of its vertices this rank needs; none of its own.
        of_others: for each rank, which of this rank's vertices it needs.
    """

    blocks: Ranges
    own: list[np.ndarray]
    of_others: list[np.ndarray]


def blocks_of_ranks(offsets: np.ndarray, group: Group) -> Ranges:
    """The blocks of ranks, which have about as many arcs as each other."""
    ranges = by_arcs(group.rank, group.size, offsets)
    return Ranges(group.rank, [-(-first // BLOCK) for first in ranges.begins])


def vertices_of(blocks: Ranges, num_vertices: int) -> Ranges:
    """The vertices in the blocks of ranks."""
    return Ranges(blocks.rank, [min(num_vertices, BLOCK * first) for first in blocks.begins])


def needed_bytes(num_vertices: int, dtype: np.dtype) -> int:
    """The memory that a rank takes for values of this dtype: whose are needed, and what is sent and received."""
    return (8 + 4 * dtype.itemsize) * num_vertices


def no_needs(blocks: Ranges) -> Needs:
    """Nobody's values are needed, only sums."""
    nobody = [np.empty(0, _VERTEX)] * (len(blocks.begins) - 1)
    return Needs(blocks, nobody, nobody)


def needs_of(offsets: np.ndarray, ends: np.ndarray, blocks: Ranges, group: Group) -> Needs:
    """Whose values ranks need of each other: those at the other ends of the arcs of their own vertices.

    Args:
        offsets, ends: rows, of all vertices or of those of this rank alone.
        blocks, group: the blocks of ranks, and the ranks.
    """
    ranges = vertices_of(blocks, len(offsets) - 1)
    seen = seen_at_ends(offsets, ends, ranges)
    own = [_indices(flags, ranges.of(rank)) for rank, flags in enumerate(seen)]
    return Needs(blocks, own, [_indices(flags, ranges.own) for flags in wanted_of(seen, group)])


def _indices(flags: np.ndarray, of: slice) -> np.ndarray:
    """Which of these vertices have a flag."""
    return (of.start + np.flatnonzero(flags)).astype(_VERTEX)


def tell_needed(values: np.ndarray, sums: np.ndarray, needs: Needs, group: Group) -> None:
    """Fill in the values that this rank needs of others, and the sums of their blocks.

    Args:
        values: shape (n,) or more, of which each rank has those of its vertices.
        sums: float64, shape (k, blocks), of which each rank has those of its blocks; k may be 0.
        needs, group: whose values, and the ranks.
    """
    blocks, rank = needs.blocks, group.rank
    own = np.ascontiguousarray(sums[:, blocks.own]).view(np.uint8).reshape(-1)
    parts = [np.concatenate([own, values[wanted].view(np.uint8)]) for wanted in needs.of_others]
    parts[rank] = own[:0]
    received, _ = group.exchange(parts)
    for other, part in enumerate(received):
        if other != rank:
            theirs = sums[:, blocks.of(other)]
            theirs[:] = as_values(part[: theirs.nbytes], _FLOAT, theirs.size).reshape(theirs.shape)
            wanted = needs.own[other]
            values[wanted] = as_values(part[theirs.nbytes :], values.dtype, len(wanted))
