"""What layouts are made of, wherever they are made."""

from typing import Any, NamedTuple

from edgewise.primitives.vertices import HUB

#: In-degrees above which a row is left to a warp, and to a block.
HEAVY, HEAVIEST = 48, HUB
#: What `numbers` of `Units` are.
HEAVIEST_UNITS, HEAVY_UNITS, ROWS_OF_GROUP, PLACES = range(4)
#: Heavy rows begin at multiples of ALIGNED places: 32 bytes of values of four bytes, a sector of a GPU's memory.
ALIGNED = 8


class Units(NamedTuple):
    """The places of rows. Units are the heaviest rows, the heavy ones, then groups of `group_size` rows.

    Attributes:
        vertices: uint32, (n,): the vertex of each row.
        rows: uint32, (n,): the row of each vertex.
        degrees: uint32, (n,): how many places of each row are taken.
        begin: int64, (units + 1,): where a unit's places begin.
        heaviest, heavy, groups: how many units there are of each kind.
        group_size: rows in a group; the last may have fewer, and has as many places.
        size: all places.
        numbers: int64, (4,): heaviest, heavy, group_size and size, beside the other arrays in memory.
        in_order: whether rows are known to be in the order of vertices.
    """

    vertices: Any
    rows: Any
    degrees: Any
    begin: Any
    heaviest: int
    heavy: int
    groups: int
    group_size: int
    size: int
    numbers: Any
    in_order: bool
