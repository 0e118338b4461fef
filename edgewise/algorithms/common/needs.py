"""Values of vertices that ranks need of each other, each of which makes those of its blocks of vertices.

Blocks are those of one rank, and sums of blocks are told beside values, to be added up in one order on all ranks.
"""

from typing import NamedTuple

import numpy as np

from edgewise.algorithms.common.gather import BLOCK
from edgewise.algorithms.common.ranks import as_values
from edgewise.engine.distributed.group import Group
from edgewise.engine.distributed.partition import by_arcs

_FLOAT, _VERTEX = np.dtype(np.float64), np.dtype(np.uint32)
#: Arcs that are looked at together: NumPy makes indices of 8 bytes of their ends.
_ARCS = 1 << 16


class Needs(NamedTuple):
    """Whose values are needed: indices of vertices, ascending.

    Attributes:
        begins: the first block of each rank, and the number of all.
        own: for each rank, which of its vertices this rank needs; none of its own.
        of_others: for each rank, which of this rank's vertices it needs.
    """

    begins: list[int]
    own: list[np.ndarray]
    of_others: list[np.ndarray]


def blocks_of_ranks(offsets: np.ndarray, group: Group) -> list[int]:
    """The first block of each rank, which have about as many arcs as each other, and the number of all blocks."""
    return [-(-first // BLOCK) for first in by_arcs(group.rank, group.size, offsets).begins]


def vertices_of(blocks: slice, num_vertices: int) -> slice:
    """The vertices of these blocks."""
    return slice(min(num_vertices, BLOCK * blocks.start), min(num_vertices, BLOCK * blocks.stop))


def needed_bytes(num_vertices: int, dtype: np.dtype) -> int:
    """The memory that a rank takes for values of this dtype: whose are needed, and what is sent and received."""
    return (8 + 4 * dtype.itemsize) * num_vertices


def no_needs(begins: list[int]) -> Needs:
    """Nobody's values are needed, only sums."""
    nobody = [np.empty(0, _VERTEX)] * (len(begins) - 1)
    return Needs(begins, nobody, nobody)


def needs_of(offsets: np.ndarray, ends: np.ndarray, begins: list[int], group: Group) -> Needs:
    """Whose values ranks need of each other: those at the other ends of the arcs of their own vertices.

    Args:
        offsets, ends: rows, of all vertices or of those of this rank alone.
        begins: see `Needs`.
        group: the ranks.
    """
    n = len(offsets) - 1
    own = vertices_of(slice(begins[group.rank], begins[group.rank + 1]), n)
    flags = np.zeros(n, np.bool_)
    end = int(offsets[own.stop])
    for first in range(int(offsets[own.start]), end, _ARCS):
        flags[ends[first : min(end, first + _ARCS)]] = True
    needed = np.flatnonzero(flags).astype(_VERTEX)
    cuts = np.searchsorted(needed, [min(n, BLOCK * first) for first in begins])
    of_ranks = np.split(needed, cuts[1:-1])
    of_ranks[group.rank] = needed[:0]
    received = group.exchange([each.view(np.uint8) for each in of_ranks])[0]
    return Needs(begins, of_ranks, [each.view(_VERTEX) for each in received])


def tell_needed(values: np.ndarray, sums: np.ndarray, needs: Needs, group: Group) -> None:
    """Fill in the values that this rank needs of others, and the sums of their blocks.

    Args:
        values: shape (n,) or more, of which each rank has those of its vertices.
        sums: float64, shape (k, blocks), of which each rank has those of its blocks; k may be 0.
        needs, group: whose values, and the ranks.
    """
    begins, rank = needs.begins, group.rank
    own = np.ascontiguousarray(sums[:, begins[rank] : begins[rank + 1]]).view(np.uint8).reshape(-1)
    parts = [np.concatenate([own, values[wanted].view(np.uint8)]) for wanted in needs.of_others]
    parts[rank] = own[:0]
    received, _ = group.exchange(parts)
    for other, part in enumerate(received):
        if other != rank:
            theirs = sums[:, begins[other] : begins[other + 1]]
            theirs[:] = as_values(part[: theirs.size * 8], _FLOAT, theirs.size).reshape(theirs.shape)
            wanted = needs.own[other]
            values[wanted] = as_values(part[theirs.size * 8 :], values.dtype, len(wanted))
