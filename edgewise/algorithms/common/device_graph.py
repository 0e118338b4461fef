"""A graph's arrays on the GPU, brought there when a run first asks for them."""

from typing import Any, NamedTuple

import numpy as np

from edgewise.execution import Execution
from edgewise.graph import Graph
from edgewise.kernels.cuda.arguments import pointer, tuple_of
from edgewise.kernels.cuda.memory import finish, resident


class GraphOnGpu(NamedTuple):
    """Arrays on the GPU.

    Attributes:
        rows: offsets and targets.
        columns: in_offsets and in_sources.
        offsets: the dtype of both offsets, unsigned.
    """

    rows: tuple[Any, Any]
    columns: tuple[Any, Any]
    offsets: np.dtype


def graph_types(offsets: np.dtype) -> Any:
    """The type of a kernel's argument of rows and columns, for graphs with offsets of this dtype."""
    vertex = np.dtype(np.uint32)
    return tuple_of([pointer(dtype) for dtype in (offsets, vertex, offsets, vertex)])


def graph_on_gpu(graph: Graph, run: Execution, in_edges: bool = True) -> GraphOnGpu:
    """The graph on the GPU; its in-edges, too, made if it has none, or else its out-edges in their place."""

    def arrays() -> GraphOnGpu:
        rows = (graph.on_gpu("offsets"), graph.on_gpu("targets"))
        columns = (graph.on_gpu("in_offsets"), graph.on_gpu("in_sources")) if in_edges else rows
        return GraphOnGpu(rows, columns, np.dtype(f"u{rows[0].dtype.itemsize}"))

    return laid_out(graph, ("arrays", in_edges), arrays, "brought the arrays to the GPU", run)


def weighted_graph_types(offsets: np.dtype, weight: np.dtype) -> Any:
    """The same with weights of this dtype: offsets, targets, weights, in_offsets, in_sources, in_weights."""
    vertex = np.dtype(np.uint32)
    return tuple_of([pointer(dtype) for dtype in (offsets, vertex, weight, offsets, vertex, weight)])


def weighted_graph_on_gpu(graph: Graph, run: Execution) -> tuple[list[Any], tuple[np.dtype, np.dtype | None]]:
    """The arrays of `weighted_graph_types`, in-edges included, something else for weights where there are none; and
    the dtypes of offsets and of weights."""
    on_gpu = graph_on_gpu(graph, run)
    lengths = in_lengths = on_gpu.rows[1]
    if graph.weighted:
        lengths, in_lengths = laid_out(
            graph,
            "weights",
            lambda: (graph.on_gpu("weights"), graph.on_gpu("in_weights")),
            "brought the weights to the GPU",
            run,
        )
    arrays = [*on_gpu.rows, lengths, *on_gpu.columns, in_lengths]
    return arrays, (on_gpu.offsets, lengths.dtype if graph.weighted else None)


def laid_out(graph: Graph, key: Any, make: Any, what: str, run: Execution) -> Any:
    """Something that is made once for a graph and stays on the GPU; making it is told and timed apart."""

    def timed() -> Any:
        with run.laying_out(what):
            made = make()
            finish()
            return made

    return resident(graph, key, timed)
