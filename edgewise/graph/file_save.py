"""Write the rows and ids of a graph to a file."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from edgewise.errors import GraphError, OutputError, ParameterError
from edgewise.graph.checks import check_flags
from edgewise.graph.file_attributes import attributes_as_arrays
from edgewise.graph.file_writer import GraphWriter
from edgewise.graph.ids import Ids
from edgewise.kernels.door import cuda_door
from edgewise.text import shown

#: Bytes that are copied from a GPU at a time, and written between two reports of progress.
_PIECE = 2**26


def save_graph(
    graph: Any, path: Any, ids: Ids, in_edges: Any, progress: Callable[[int], None] | None
) -> None:
    """Write a graph with these ids: see `edgewise.Graph.save`."""
    check_flags(GraphError, in_edges=in_edges)
    if not isinstance(path, str | os.PathLike):
        raise OutputError(f"path is {shown(path)}; expected the name of a file")
    if not (progress is None or callable(progress)):
        raise ParameterError(
            f"save: progress is {shown(progress)}; expected a function of the number of bytes written"
        )
    arrays = _arrays_of(graph.stored, "offsets", "targets", "weights")
    if in_edges and graph.directed:
        arrays |= _arrays_of(graph.stored_in_edges, "in_offsets", "in_sources", "in_weights")
    on_gpu = set(arrays) if graph.built_on_gpu else set()
    if graph.edge_numbers is not None:
        arrays["edge_numbers"] = graph.edge_numbers
    arrays |= attributes_as_arrays(graph.edge_attributes)
    with GraphWriter(
        Path(os.fsdecode(path)),
        num_vertices=graph.num_vertices,
        num_arcs=graph.num_arcs,
        directed=graph.directed,
        num_loops=0 if graph.directed else 2 * graph.num_edges - graph.num_arcs,
        arrays={name: (values.dtype, len(values)) for name, values in arrays.items()},
        ids=ids,
    ) as file:
        done = 0
        for name, values in arrays.items():
            step = _PIECE // values.dtype.itemsize
            for begin in range(0, len(values), step):
                piece = values[begin : begin + step]
                file.write(name, begin, cuda_door().host_copy(piece) if name in on_gpu else piece)
                done += piece.nbytes
                if progress is not None:
                    progress(done)
        graph.check_unchanged()


def _arrays_of(rows: Any, offsets: str, targets: str, weights: str) -> dict[str, Any]:
    """The arrays of rows where they lie, by these names."""
    arrays = {offsets: rows.offsets, targets: rows.targets}
    return arrays if rows.weights is None else arrays | {weights: rows.weights}
