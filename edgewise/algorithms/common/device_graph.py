"""A graph's arrays on the GPU, brought there when a run first asks for them."""

from typing import Any, NamedTuple

import numpy as np

from edgewise.execution import Execution
from edgewise.graph import Graph
from edgewise.kernels.cuda.arguments import Offsets, Uint32s, Weights
from edgewise.kernels.cuda.memory import finish


class GraphOnGpu(NamedTuple):
    """Out-edges and in-edges as kernels take them, with unsigned offsets."""

    offsets: Offsets
    targets: Uint32s
    in_offsets: Offsets
    in_sources: Uint32s


class WeightedOnGpu(NamedTuple):
    """Out-edges and in-edges with weights, or with other arrays in their place if there are none."""

    offsets: Offsets
    targets: Uint32s
    weights: Weights
    in_offsets: Offsets
    in_sources: Uint32s
    in_weights: Weights


def offset_dtype(on_gpu: GraphOnGpu | WeightedOnGpu) -> np.dtype:
    """The dtype of offsets in kernels."""
    return np.dtype(f"u{on_gpu.offsets.dtype.itemsize}")


def graph_on_gpu(graph: Graph, run: Execution, in_edges: bool = True) -> GraphOnGpu:
    """The graph on the GPU with its in-edges, made if it has none; or with its out-edges in their place."""

    def arrays() -> GraphOnGpu:
        rows = (graph.gpu.offsets, graph.gpu.targets)
        into = (graph.gpu.in_offsets, graph.gpu.in_sources) if in_edges else rows
        return GraphOnGpu(*rows, *into)

    return laid_out(graph, ("arrays", in_edges), arrays, "brought the arrays to the GPU", run)


def weighted_graph_on_gpu(graph: Graph, run: Execution) -> tuple[WeightedOnGpu, np.dtype | None]:
    """The graph on the GPU, in-edges included, and the dtype of its weights if it has any."""
    offsets, targets, in_offsets, in_sources = graph_on_gpu(graph, run)
    lengths, in_lengths = targets, in_sources
    if graph.weighted:
        lengths, in_lengths = laid_out(
            graph,
            "weights",
            lambda: (graph.gpu.weights, graph.gpu.in_weights),
            "brought the weights to the GPU",
            run,
        )
    on_gpu = WeightedOnGpu(offsets, targets, lengths, in_offsets, in_sources, in_lengths)
    return on_gpu, lengths.dtype if graph.weighted else None


def laid_out(graph: Graph, key: Any, make: Any, what: str, run: Execution) -> Any:
    """The result of `make`, once for a graph; it stays on the GPU. Making it is explained and timed apart."""

    def timed() -> Any:
        with run.laying_out(what):
            made = make()
            finish()
            return made

    return graph.gpu.kept(key, timed)
