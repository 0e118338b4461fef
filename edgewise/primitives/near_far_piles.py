"""The arrays of `edgewise.primitives.near_far`, and its words of control."""

from typing import Any, NamedTuple

import numpy as np

from edgewise.kernels.cuda.arguments import AtomicInt64s, AtomicKeys, AtomicUint32s, Int64s, Offsets, Uint32s
from edgewise.kernels.cuda.memory import empty, signals, zeros
from edgewise.kernels.words import Allocator
from edgewise.primitives.block_queues import FEW_CONTROL
from edgewise.primitives.control import TURNS, host_words
from edgewise.primitives.deal import most_pieces
from edgewise.primitives.ordered_keys import key_dtype

#: Words of `control` and of the host's array; kernels may have more behind them.
#: These take turns: how many vertices are near, how many out-edges they have, how many pieces a superstep deals with;
#: how many vertices are far, and the least key of those that the last rise left far; whether the run is to end.
CONTROL, HOST = FEW_CONTROL.more(), host_words()
NEAR = CONTROL.take_line(TURNS)
EDGES, PIECES, FAR, LEAST, ENDED = (CONTROL.take(TURNS) for _ in range(5))
SUPERSTEPS, FORMS, RISES, ENDING = HOST.take(), HOST.take(2), HOST.take(), HOST.take()
FORM_NAMES = ("few", "push")
#: Over the link to the host, rows at random places take eight times as long as rows in order, so all vertices are gone
#: over for near ones if more than one in SCAN is near. Warps take rows of up to DIRECT arcs as they are then. In the
#: GPU's memory the list is as good.
SCAN, DIRECT = 1 << 12, 512


class OutEdges(NamedTuple):
    """The arrays of a graph that the loop needs. Any named tuple with these fields will do."""

    offsets: Offsets
    targets: Uint32s


class Piles(NamedTuple):
    """The arrays of a run.

    Attributes:
        best: (n,): the keys.
        stamps: (2 n,): the last superstep for which a vertex was listed as near; then 1 plus the number of rises before
            it was last listed as far. What is listed at the start is stamped with 1.
        near, other_near, far, other_far: (n,): two pairs of lists; one of a pair is read while the other is filled.
        pieces: see `edgewise.primitives.deal`.
        control: zeros at first, see `CONTROL`.
        host: words in the host's memory, see `HOST`.
        most_listed: of more near or far vertices than that, kernels for graphs that lie apart read no list, but the
            stamps of all vertices.
    """

    best: AtomicKeys
    stamps: AtomicUint32s
    near: Uint32s
    other_near: Uint32s
    pieces: Int64s
    far: Uint32s
    other_far: Uint32s
    control: AtomicInt64s
    host: Int64s
    most_listed: int


def piles_bytes(num_vertices: int, num_arcs: int, value: np.dtype) -> int:
    """The memory that `make_piles` takes on the GPU."""
    return num_vertices * (key_dtype(value).itemsize + 6 * 4) + 8 * most_pieces(num_vertices, num_arcs)


def list_shapes(num_vertices: int, num_arcs: int) -> list[tuple[int, Any]]:
    """The length and the dtype of each list: near, other_near, far, other_far, pieces."""
    return [*[(num_vertices, np.uint32)] * 4, (most_pieces(num_vertices, num_arcs), np.int64)]


def make_piles(
    num_vertices: int,
    num_arcs: int,
    value: np.dtype,
    control: Allocator = CONTROL,
    host: Allocator = HOST,
    lists: list[Any] | None = None,
) -> Piles:
    """Arrays for a run. Only `control` and `host` have particular values: zeros.

    Args:
        num_vertices, num_arcs, value: of the graph; the dtype that keys stand for.
        control, host: the words of a kernel, behind those of this module.
        lists: those of `list_shapes`, if they are there already.
    """
    n = num_vertices
    near, other_near, far, other_far, pieces = lists or [empty(*each) for each in list_shapes(n, num_arcs)]
    words = zeros(control.size, np.int64), signals(host.size)
    best, stamps = empty(n, key_dtype(value)), empty(2 * n, np.uint32)
    return Piles(best, stamps, near, other_near, pieces, far, other_far, *words, n // SCAN)
