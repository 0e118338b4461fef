"""Attributes of edges: columns of numbers by name, in the order of the edges that a graph was made from.

A graph shares them with the graphs that are made from it: `edge_numbers` says which edge each arc is of. Programs read
them as edge fields: see `edgewise.engine.lowering.attributes`.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np

from edgewise.errors import GraphError
from edgewise.graph import csr
from edgewise.graph.weights import as_numbers
from edgewise.kernels.cpu.launch import sealed
from edgewise.memory import Step, held
from edgewise.text import shown

#: The dtypes that attributes can have: those of edge fields.
DTYPES = (np.bool_, np.int32, np.int64, np.float32, np.float64)
#: Names of the columns of edges that are no attributes.
TAKEN = ("source", "target", "weight")
#: Values that are brought into another order, or compared, at a time.
_PIECE = 2**16


def as_attributes(given: Any, num_edges: int) -> dict[str, np.ndarray]:
    """Columns of numbers by name, copied, each of shape (num_edges,) and read-only; nothing for None.

    Raises:
        GraphError: no mapping, names that attributes cannot have, or columns of another length or kind.
    """
    if given is None:
        return {}
    if not isinstance(given, Mapping):
        raise GraphError(
            f'edge_attributes is {shown(given)}; expected columns by name, such as {{"capacity": column}}'
        )
    attributes = {}
    for name, column in given.items():
        check_name(name)
        values = as_numbers(column, f"the edge attribute {shown(name)}", DTYPES)
        if len(values) != num_edges:
            raise GraphError(
                f"the edge attribute {shown(name)} has {len(values):,} entries; expected {num_edges:,}, one for each "
                "edge"
            )
        attributes[name] = sealed(values.copy())
    return attributes


def check_name(name: Any) -> None:
    """Refuse what cannot be the name of an attribute. Raises GraphError."""
    if not isinstance(name, str) or not name or "\0" in name:
        raise GraphError(f"an edge attribute has the name {shown(name)}; expected text")
    if name in TAKEN:
        raise GraphError(
            f"an edge attribute has the name {shown(name)}, which is that of another column of edges; give the column "
            "as that, or choose another name"
        )


def check_both_directions(attributes: dict[str, np.ndarray], rows: csr.Rows) -> None:
    """Refuse attributes that differ between the two arcs of an undirected edge. Raises GraphError."""
    if not attributes:
        return
    twins = csr.twin_arcs(rows.offsets, rows.targets)
    for name, values in attributes.items():
        other = in_order(values, twins)
        wrong = np.flatnonzero((values != other) & ((values == values) | (other == other)))
        if len(wrong):
            arc = int(wrong[0])
            raise GraphError(
                f"the edge attribute {shown(name)} is {values[arc]} for arc {arc} and {other[arc]} for arc "
                f"{twins[arc]}, which are those of one undirected edge; expected one value for both"
            )


class ArcAttribute:
    """An attribute of the edges of a graph as values of its arcs; they are made when they are asked for, and the graph
    keeps them.

    Attributes:
        nbytes: of the values.
    """

    def __init__(self, graph: Any, name: str, dtype: np.dtype) -> None:
        self._graph, self._key = graph, (name, dtype)
        self.nbytes = dtype.itemsize * graph.num_arcs

    def values(self) -> np.ndarray:
        """A value for each arc, in the order of ``graph.targets``, of the dtype that was asked for.

        Raises:
            GraphError: a value that this dtype does not have.
        """
        kept = self._graph.arc_attributes
        if self._key not in kept:
            name, dtype = self._key
            column, numbers = self._graph.edge_attributes[name], self._graph.edge_numbers
            values = column if numbers is None else in_order(column, numbers)
            kept[self._key] = sealed(_exactly(values, dtype, name))
        return kept[self._key]

    def making(self) -> Step:
        """The memory that it takes to make the values."""
        if self._key in self._graph.arc_attributes:
            return held(0)
        return Step(self.nbytes, self.nbytes + 8 * self._graph.num_arcs)


def _exactly(values: np.ndarray, dtype: np.dtype, name: str) -> np.ndarray:
    """Values in another dtype, in which each is the same number. Raises GraphError if one is not."""
    if values.dtype == dtype:
        return values
    with np.errstate(invalid="ignore", over="ignore"):
        converted = values.astype(dtype)
    if np.can_cast(values.dtype, dtype) and (values.dtype, dtype) != (np.int64, np.float64):
        return converted
    for start in range(0, len(values), _PIECE):
        before, after = values[start : start + _PIECE], converted[start : start + _PIECE]
        wrong = ~_same(before, after)
        if wrong.any():
            value = before[int(np.argmax(wrong))]
            raise GraphError(
                f"the edge attribute {shown(name)} is {values.dtype} and has {value}, which {dtype} does not hold "
                f"exactly; declare the field as {values.dtype}, or give its values rounded: "
                f"{name}=graph.arc_attribute({shown(name)}).astype({shown(dtype.name)})"
            )
    return converted


def _same(before: np.ndarray, after: np.ndarray) -> np.ndarray:
    """Whether numbers in another dtype are the same. The largest integers round to a float beyond their dtype, which
    does not come back."""
    with np.errstate(invalid="ignore"):
        back = after.astype(before.dtype)
    if after.dtype.kind == "f" and before.dtype.kind == "i":
        return (back == before) & (after < -float(np.iinfo(before.dtype).min))
    if before.dtype.kind == "f" and after.dtype.kind == "i":
        limit = -float(np.iinfo(after.dtype).min)
        return (back == before) & (before >= -limit) & (before < limit)
    return (back == before) | ((before != before) & (after != after))


def in_order(values: np.ndarray, order: np.ndarray) -> np.ndarray:
    """Values in another order; places beyond the last value get some value. It goes in pieces, since NumPy first makes
    wider integers of the order."""
    ordered = np.empty(len(order), values.dtype)
    for start in range(0, len(order), _PIECE):
        piece = slice(start, start + _PIECE)
        np.take(values, order[piece].astype(np.intp), mode="clip", out=ordered[piece])
    return ordered
