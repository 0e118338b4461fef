"""Which vertices each rank has: ranges, one after the other."""

from bisect import bisect_left
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from edgewise.engine.cpu.kernel_aggregates import BLOCK


class Ranges(NamedTuple):
    """The vertices of all ranks.

    Attributes:
        rank: this rank.
        begins: the first vertex of each rank, and the number of all, a list of one more than there are ranks.
    """

    rank: int
    begins: list[int]

    @property
    def own(self) -> slice:
        """The vertices of this rank."""
        return self.of(self.rank)

    def of(self, rank: int) -> slice:
        """The vertices of a rank."""
        return slice(self.begins[rank], self.begins[rank + 1])

    def parts(self) -> list[list["Part"]]:
        """In which parts the aggregates of the vertices of each rank are folded; each result is of the vertices of one
        block of `BLOCK`. Of a block that several ranks have vertices of, each vertex has a result of its own."""
        found, first = list[list[Part]](), 0
        for begin, end in pairwise(self.begins):
            whole = min(end, -(-begin // BLOCK) * BLOCK)
            rest = end if end == self.begins[-1] else max(whole, end // BLOCK * BLOCK)
            of_rank = []
            for low, high, length in ((begin, whole, 1), (whole, rest, BLOCK), (rest, end, 1)):
                of_rank.append(Part(first, low, high, length))
                first += of_rank[-1].results
            found.append(of_rank)
        return found


def blocks_of(parts: list[list["Part"]]) -> tuple[np.ndarray, list[slice]]:
    """Where the results of each block of vertices begin, int64, in the order of blocks; and the results of those blocks
    that have several."""
    of = [part for of_rank in parts for part in of_rank]
    blocks = np.concatenate([(part.low + np.arange(part.results) * part.length) // BLOCK for part in of])
    begins = np.flatnonzero(np.diff(blocks, prepend=-1))
    ends = np.append(begins[1:], len(blocks))
    some = np.flatnonzero(ends - begins > 1)
    return begins, [slice(*each) for each in zip(begins[some].tolist(), ends[some].tolist(), strict=True)]


class Part(NamedTuple):
    """Vertices whose aggregates are folded, `length` of them at a time.

    Attributes:
        first: the place of the first result among those of all ranks.
        low, high: the vertices, from `low` to `high` - 1.
        length: how many of them have one result.
    """

    first: int
    low: int
    high: int
    length: int

    @property
    def results(self) -> int:
        """How many results there are."""
        return -(-(self.high - self.low) // self.length)


def by_arcs(rank: int, size: int, offsets: Any) -> Ranges:
    """Ranges of about equally many vertices and arcs together.

    Ranges of very many vertices begin with a block, so that no rank has to tell the aggregates of single vertices.

    Args:
        rank, size: this rank, and how many there are.
        offsets: of the arcs, shape (n + 1,). Few of them are read.
    """
    n = len(offsets) - 1
    places = n + int(offsets[n])
    step = BLOCK if n >= 64 * BLOCK * size else 1
    begins = [
        bisect_left(range(n), of * places // size, key=lambda v: int(offsets[v]) + v) for of in range(1, size)
    ]
    return Ranges(rank, [0, *(min(n, (begin + step // 2) // step * step) for begin in begins), n])
