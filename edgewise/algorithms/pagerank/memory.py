"""The memory that PageRank takes on a GPU, in bytes."""

from edgewise.layout.contract import HEAVY

#: The rows of a group, which a warp takes.
_WARP = 32


def places(num_arcs: int) -> int:
    """About how many places a layout has at most: heavy rows begin at multiples of `ALIGNED`, and in a group of sorted
    rows few places stay empty."""
    return num_arcs + num_arcs // 4 + _WARP * HEAVY


def apart_bytes(num_vertices: int, num_arcs: int, of_rank: int, jumps: bool) -> int:
    """The memory of a run whose layout need not lie on the GPU: of each vertex its number, its rank, its scale, two
    shares and perhaps its jump; where units begin, and what blocks of packed sources have."""
    units = num_vertices // _WARP + min(num_arcs // HEAVY, num_vertices) + 2
    blocks = num_arcs // (8 * _WARP) + units
    return num_vertices * (4 + (4 + jumps) * of_rank) + 2 * of_rank + 8 * units + 12 * blocks


def apart_lists(num_arcs: int, of_rank: int, weighted: bool) -> int:
    """The memory of that layout: sources and weights."""
    return (4 + weighted * of_rank) * places(num_arcs)
