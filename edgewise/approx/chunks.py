"""Chunks of slots: where coalescing puts vertices, by their levels."""

from typing import NamedTuple

import numpy as np

from edgewise.approx.numbering import Numbering
from edgewise.errors import GraphError


class Chunks(NamedTuple):
    """Where vertices lie, by their places in the new order.

    Attributes:
        size: how many slots a chunk has.
        slot: int64, shape (n,): the slot of each vertex.
        begins: int64, shape (chunks + 1,): the first vertex of each chunk, and n.
    """

    size: int
    slot: np.ndarray
    begins: np.ndarray

    @property
    def of_vertex(self) -> np.ndarray:
        """The chunk of each vertex, int32."""
        return (self.slot // self.size).astype(np.int32)


def chunks_of_levels(begins: np.ndarray, size: int, extra: int) -> tuple[np.ndarray, int]:
    """The first chunk of each level, int64, and how many chunks there are.

    Args:
        begins: int64: where levels begin, and the end of the last one.
        size, extra: see `put_in_chunks`.

    Raises:
        GraphError: slots beyond 2**31.
    """
    of_level = -(-np.diff(begins) // (size - extra))
    num_chunks = int(of_level.sum())
    if num_chunks * size >= 2**31:
        raise GraphError(
            f"coalesce: {num_chunks:,} chunks of {size:,} slots are more than 2**31 slots; take a smaller chunk"
        )
    return np.cumsum(of_level) - of_level, num_chunks


def put_in_chunks(numbering: Numbering, size: int, extra: int) -> Chunks:
    """Put vertices into chunks: a level begins with a new one.

    Args:
        numbering: the vertices.
        size: how many slots a chunk has.
        extra: how many of them have no vertex.

    Raises:
        GraphError: slots beyond 2**31.
    """
    in_level, room = np.diff(numbering.begins), size - extra
    first, num_chunks = chunks_of_levels(numbering.begins, size, extra)
    within = np.arange(len(numbering.order)) - np.repeat(numbering.begins[:-1], in_level)
    chunk = np.repeat(first, in_level) + within // room
    begins = np.zeros(num_chunks + 1, np.int64)
    np.cumsum(np.bincount(chunk, minlength=num_chunks), out=begins[1:])
    return Chunks(size, chunk * size + within % room, begins)
