"""Where the rows of a graph lie, and the host's memory that making an array of a graph takes."""

from collections.abc import Iterable
from enum import Enum
from typing import Any

import numpy as np

from edgewise.graph import csr
from edgewise.graph.file_rows import FileRows
from edgewise.graph.gpu_rows import GpuRows
from edgewise.graph.ids import Ids
from edgewise.layout.slots import arranging
from edgewise.memory import Step, give_back, held, in_turn


class Made(Enum):
    """What a graph makes on demand on the host, with the name of the attribute that holds it."""

    IN_EDGES = "_in_edges"
    IN_ARCS = "in_arcs"
    OUT_DEGREE = "out_degree"
    IN_DEGREE = "in_degree"
    SLOTS = "slots"


#: The rows of a graph: in memory, on a GPU, or in a file.
AnyRows = csr.Rows | GpuRows | FileRows


def stored(rows: AnyRows) -> Any:
    """Rows where they lie: CuPy arrays if they were built on a GPU, else NumPy arrays."""
    return rows.on_gpu if isinstance(rows, GpuRows) else rows


def weight_dtype(rows: AnyRows) -> np.dtype | None:
    """The dtype of the weights, or None; a file's weights are not read for it."""
    if isinstance(rows, FileRows):
        return rows.weight_dtype
    weights = stored(rows).weights
    return None if weights is None else np.dtype(weights.dtype)


def needed_on_host(rows: AnyRows) -> int:
    """Bytes that rows on a GPU or in a file will take of the host's memory, for arrays that have no copy there yet."""
    if isinstance(rows, FileRows):
        return rows.not_in_memory
    return rows.not_on_host if isinstance(rows, GpuRows) else 0


def bytes_held(made: Iterable[Any]) -> int:
    """Bytes of the arrays among these values, of the arrays of rows and ids among them, and of what is in files."""
    made = list(made)
    groups = [group for group in made if isinstance(group, AnyRows | Ids)]
    made += [part for group in groups for part in vars(group).values()]
    arrays = {id(array): array for array in made if isinstance(array, np.ndarray)}
    in_files = [rows for rows in groups if isinstance(rows, FileRows)]
    beside = [array for array in arrays.values() if not any(rows.file.holds(array) for rows in in_files)]
    files = {id(rows.file): rows.nbytes for rows in in_files}
    return sum(files.values()) + sum(array.nbytes for array in beside)


def transposed(rows: AnyRows) -> AnyRows:
    """The in-edges of rows: made where these lie, unless they are in a file that has them."""
    if isinstance(rows, GpuRows):
        return rows.transposed()
    if isinstance(rows, FileRows) and rows.in_edges is not None:
        return rows.in_edges
    moved: Any = getattr(rows, "make_in_edges", None)
    if moved is not None:
        return csr.Rows.sealed(moved())
    in_edges = csr.transpose(csr.Rows(rows.offsets, rows.targets, rows.weights)).sealed()
    give_back(2 * len(rows.targets))  # reading the targets of a file again tells whether it has changed
    return in_edges


def making_array(array: Made, rows: AnyRows, num_vertices: int, num_arcs: int, directed: bool) -> Step:
    """The memory that making an array from rows takes.

    Args:
        array: what is made.
        rows: those of the graph.
        num_vertices, num_arcs, directed: of the graph.
    """
    n, m, of_offset = num_vertices, num_arcs, csr.offset_dtype(num_arcs)().itemsize
    if array in (Made.OUT_DEGREE, Made.IN_DEGREE):
        return Step(4 * n, max(4, of_offset + 4 * (of_offset > 4)) * n)
    if array is Made.IN_EDGES:
        weights = weight_dtype(rows)
        of_weight = 0 if weights is None else weights.itemsize
        if isinstance(rows, GpuRows):
            return held(of_offset * (n + 1) + (4 + of_weight) * m)
        return csr.transposing(rows.offsets, rows.targets, of_weight)
    if array is Made.SLOTS:
        return Step(of_offset * (n + 1 + m), of_offset * m + arranging(n, of_offset))
    if directed:
        return Step(of_offset * m, csr.transposing(rows.offsets, rows.targets, of_offset - 4).most)
    arcs, by_target = held(of_offset * m), csr.transposing(rows.offsets, rows.targets, of_offset)
    return Step(arcs.kept, in_turn(arcs, by_target, by_target).most)
