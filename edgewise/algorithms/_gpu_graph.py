"""A graph's arrays on the GPU, copied when a run first asks for them."""

from typing import Any, NamedTuple

import numpy as np

from edgewise.execution import Execution
from edgewise.graph import Graph
from edgewise.kernels.gpu import copied, resident


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


def graph_on_gpu(graph: Graph, run: Execution, in_edges: bool = True) -> GraphOnGpu:
    """The graph on the GPU; its in-edges, too, made if it has none, or else its out-edges in their place."""

    def copy() -> GraphOnGpu:
        rows = (copied(graph, graph.offsets), copied(graph, graph.targets))
        columns = (copied(graph, graph.in_offsets), copied(graph, graph.in_sources)) if in_edges else rows
        return GraphOnGpu(rows, columns, np.dtype(f"u{graph.offsets.itemsize}"))

    return laid_out(graph, ("arrays", in_edges), copy, "copied the arrays to the GPU", run)


def laid_out(graph: Graph, key: Any, make: Any, what: str, run: Execution) -> Any:
    """Something that is made once for a graph and stays on the GPU; making it is told and timed apart."""

    def timed() -> Any:
        with run.laying_out(what):
            return make()

    return resident(graph, key, timed)
