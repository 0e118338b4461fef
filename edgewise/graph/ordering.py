"""The vertices of a graph in another order: by a hash, or as a caller lists them.

A hash spreads vertices evenly over ranges of indices, hubs among them. It also parts neighbours that were near each
other.
"""

from typing import Any

import numpy as np

from edgewise.errors import GraphError
from edgewise.graph.csr import Rows, offset_dtype
from edgewise.graph.file_sums import GOLDEN
from edgewise.graph.given_ids import places_among
from edgewise.graph.id_columns import as_id_column
from edgewise.graph.ids import POSITION_BYTES, Ids, is_sequence
from edgewise.kernels.cpu.launch import sealed
from edgewise.kernels.cpu.team import run_alone, team_kernel
from edgewise.kernels.mixing import mix64
from edgewise.layout.layers import Order, move_rows
from edgewise.memory import Step, held, in_turn
from edgewise.text import shown

#: The order by a hash.
HASH = "hash"
#: Bytes that finding an order takes for each vertex: ids as they are given, sorted, and their places; or hashes and
#: their order.
_FINDING_BYTES = 48


def vertices_in_order(order: Any, ids: Ids) -> np.ndarray:
    """The index of the vertex at each place of an order, int32, shape (n,); see `edgewise.Graph.reorder`.

    Raises:
        GraphError: this is no order of these ids.
    """
    if _is_hash(order):
        return _by_hash(ids.num_vertices)
    if not is_sequence(order):
        raise GraphError(
            f'order is {shown(order)}; expected "hash", or a list or an array of the ids of all vertices'
        )
    column = as_id_column(order, "order")
    found = places_among(column.astype(np.int64) if column.dtype == np.int32 else column, ids)
    if ids.are_plain and column.dtype == object:  # among these 1.0 and True are not 1
        found[[type(each) not in (int, str) for each in column.tolist()]] = -1
    if len(unknown := np.flatnonzero(found < 0)):
        at = int(unknown[0])
        raise GraphError(
            f"order has {shown(column[at : at + 1].tolist()[0])} at {at}, which is no vertex of the graph; expected "
            "the ids of its vertices, each once"
        )
    times = np.bincount(found, minlength=ids.num_vertices)
    if len(twice := np.flatnonzero(times > 1)):
        first, second = np.flatnonzero(found == twice[0])[:2].tolist()
        raise GraphError(
            f"order has {_named(ids, twice)} twice, at {first} and at {second}; expected each id once"
        )
    if len(missing := np.flatnonzero(times == 0)):
        raise GraphError(
            f"order has {len(found):,} ids, and the graph {ids.num_vertices:,} vertices; {_named(ids, missing)} is "
            "missing. Expected the ids of all vertices"
        )
    return found


def _named(ids: Ids, indices: np.ndarray) -> str:
    """The id of the first of some vertices, for a message."""
    return shown(ids.of(indices[:1]).tolist()[0])


def _is_hash(order: Any) -> bool:
    return isinstance(order, str) and order == HASH


def _by_hash(num_vertices: int) -> np.ndarray:
    """The indices of vertices by their hashes."""
    hashes = np.empty(num_vertices, np.uint64)
    run_alone(_hash, hashes)
    return np.argsort(hashes).astype(np.int32)


@team_kernel
def _hash(thread: Any, size: Any, control: Any, hashes: Any) -> None:
    """The numbers that SplitMix64 gives one after the other from seed 0. They differ: `mix64` is a bijection, and so is
    the multiplication by an odd number."""
    for v in range(np.uint64(len(hashes))):
        hashes[v] = mix64((np.uint64(v) + np.uint64(1)) * GOLDEN)


def rows_in_order(vertices: np.ndarray, rows: Rows) -> Rows:
    """Rows in another order, with the places of vertices for targets. The arcs of each row stay in their order.
    O(n + m).

    Args:
        vertices: the vertex at each place, int32, shape (n,).
        rows: those of the graph.
    """
    place = np.empty_like(vertices)
    place[vertices] = np.arange(len(vertices), dtype=np.int32)
    order = Order(sealed(vertices), sealed(place), np.array([0, len(vertices)]))
    return Rows(*move_rows(order, rows.offsets, rows.targets, rows.weights))


def arcs_in_order(vertices: np.ndarray, rows: Rows) -> np.ndarray:
    """For each arc of `rows_in_order`, its index in the rows of the graph, of the dtype of offsets."""
    arcs = np.arange(len(rows.targets), dtype=rows.offsets.dtype)
    moved = rows_in_order(vertices, Rows(rows.offsets, rows.targets, arcs)).weights
    assert moved is not None
    return moved


def reordering(graph: Any, order: Any) -> Step:
    """The memory that `edgewise.Graph.reorder` takes beside the graph. What it keeps is the graph in this order."""
    n, m = graph.num_vertices, graph.num_arcs
    of_offset = offset_dtype(m)().itemsize
    of_weight = 0 if graph.weight_dtype is None else graph.weight_dtype.itemsize
    looked_up = graph.has_object_ids and not _is_hash(order)
    finding = Step(4 * n, (_FINDING_BYTES + POSITION_BYTES * looked_up) * n)
    rows = Step(of_offset * (n + 1) + (4 + of_weight) * m, (3 * of_offset + 4) * n + (4 + of_weight) * m)
    numbers = held(0)
    if graph.edge_attributes or graph.edge_numbers is not None:
        kept = of_offset * m + sum(column.nbytes for column in graph.edge_attributes.values())
        numbers = Step(kept, kept + (4 + of_offset) * m + (2 * of_offset + 4) * n)
    return in_turn(graph.making(), graph.reading_ids(), finding, rows, numbers, held(8 * n))
