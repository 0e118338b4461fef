"""Write the rows and ids of a graph to a file."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from edgewise.errors import OutputError, ParameterError
from edgewise.graph import csr
from edgewise.graph.file_rows import FileRows
from edgewise.graph.file_writer import GraphWriter
from edgewise.graph.gpu_rows import GpuRows
from edgewise.graph.ids import Ids
from edgewise.kernels.door import cuda_door
from edgewise.text import shown

#: Bytes that are copied from a GPU at a time, and written between two reports of progress.
_PIECE = 2**26


def save_rows(
    path: Any,
    rows: csr.Rows | GpuRows | FileRows,
    in_rows: csr.Rows | GpuRows | FileRows | None,
    edge_numbers: np.ndarray | None,
    ids: Ids,
    directed: bool,
    num_loops: int,
    progress: Callable[[int], None] | None,
) -> None:
    """Write a graph: see `edgewise.Graph.save`."""
    if not isinstance(path, str | os.PathLike):
        raise OutputError(f"path is {shown(path)}; expected the name of a file")
    if not (progress is None or callable(progress)):
        raise ParameterError(
            f"save: progress is {shown(progress)}; expected a function of the number of bytes written"
        )
    arrays = _arrays_of(rows, "offsets", "targets", "weights")
    if in_rows is not None:
        arrays |= _arrays_of(in_rows, "in_offsets", "in_sources", "in_weights")
    if edge_numbers is not None:
        arrays["edge_numbers"] = edge_numbers
    with GraphWriter(
        Path(os.fsdecode(path)),
        num_vertices=ids.num_vertices,
        num_arcs=len(arrays["targets"]),
        directed=directed,
        num_loops=num_loops,
        arrays={name: (values.dtype, len(values)) for name, values in arrays.items()},
        ids=ids,
    ) as file:
        done = 0
        for name, values in arrays.items():
            step = _PIECE // values.dtype.itemsize
            for begin in range(0, len(values), step):
                piece = values[begin : begin + step]
                file.write(
                    name, begin, piece if isinstance(piece, np.ndarray) else cuda_door().host_copy(piece)
                )
                done += piece.nbytes
                if progress is not None:
                    progress(done)


def _arrays_of(
    rows: csr.Rows | GpuRows | FileRows, offsets: str, targets: str, weights: str
) -> dict[str, Any]:
    """The arrays of rows where they lie, by these names."""
    there: Any = rows.on_gpu if isinstance(rows, GpuRows) else rows
    arrays = {offsets: there.offsets, targets: there.targets}
    return arrays if there.weights is None else arrays | {weights: there.weights}
