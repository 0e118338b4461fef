"""A graph's arrays on the GPU, brought there when a run first asks for them."""

import contextlib
from collections import defaultdict
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple, TypeVar

import numpy as np

from edgewise.execution import Execution
from edgewise.graph import Graph
from edgewise.graph.resident import part
from edgewise.kernels.cuda.arguments import Offsets, Uint32s, Weights
from edgewise.kernels.cuda.memory import empty, finish
from edgewise.kernels.cuda.placed import empty_divided, place

_Made = TypeVar("_Made")


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
    return laid_out(run, "brought the arrays to the GPU", graph, _arrays, in_edges)


def weighted_graph_on_gpu(
    graph: Graph, run: Execution, narrow: np.dtype | None = None, in_edges: bool = True
) -> tuple[WeightedOnGpu, np.dtype | None]:
    """The graph on the GPU, and the dtype of its weights if it has any.

    Args:
        graph: the graph.
        run: the run that this is.
        narrow: a dtype that holds all weights: they have it if the graph does not fit on the GPU.
        in_edges: whether with its in-edges, or with its out-edges in their place.
    """
    offsets, targets, in_offsets, in_sources = graph_on_gpu(graph, run, in_edges)
    lengths, in_lengths = targets, in_sources
    if graph.weighted:
        narrow = None if graph.placement is None or narrow == graph.weight_dtype else narrow
        inward = in_edges and graph.directed
        lengths, in_lengths = laid_out(run, "brought the weights to the GPU", graph, _weights, narrow, inward)
    on_gpu = WeightedOnGpu(offsets, targets, lengths, in_offsets, in_sources, in_lengths)
    return on_gpu, lengths.dtype if graph.weighted else None


@contextlib.contextmanager
def lists(graph: Graph, *wanted: tuple[int, Any]) -> Iterator[list[Any]]:
    """Arrays that a run fills from their beginning, and reads in order, by length and dtype.

    They lie on the GPU. If the graph does not fit there, only their first parts do, as `Resident.place` decided; making
    such arrays takes long, so the graph keeps them for later runs.
    """
    placement = graph.placement
    if placement is None:
        yield [empty(*each) for each in wanted]
        return
    spare = graph.gpu.kept(_spare_lists)
    taken = [spare[each].pop() if spare[each] else _divided(*each, placement.lists) for each in wanted]
    yield taken
    for each, array in zip(wanted, taken, strict=True):
        spare[each].append(array)


def _spare_lists(graph: Graph) -> defaultdict[tuple[int, Any], list[Any]]:
    """Lists that no run uses now, by length and dtype."""
    return defaultdict(list)


def _divided(length: int, dtype: Any, share: float) -> Any:
    return empty_divided(length, dtype, part(length * np.dtype(dtype).itemsize, share))


def laid_out(run: Execution, what: str, graph: Graph, make: Callable[..., _Made], *arguments: Any) -> _Made:
    """The result of ``make(graph, *arguments)``, made once and kept on the GPU (`Resident.kept`). Making it is
    explained, by `what`, and timed apart."""
    if graph.gpu.has(make, *arguments):
        return graph.gpu.kept(make, *arguments)
    with run.laying_out(what):
        made = graph.gpu.kept(make, *arguments)
        finish()
    return made


def _arrays(graph: Graph, in_edges: bool) -> GraphOnGpu:
    rows = graph.gpu.offsets, graph.gpu.targets
    return GraphOnGpu(*rows, *((graph.gpu.in_offsets, graph.gpu.in_sources) if in_edges else rows))


def _weights(graph: Graph, narrow: np.dtype | None, inward: bool) -> tuple[Any, Any]:
    if narrow is None:
        lengths = graph.gpu.weights
        return lengths, graph.gpu.in_weights if inward else lengths
    lengths = _narrowed(graph, graph.weights, narrow)
    return lengths, _narrowed(graph, graph.in_weights, narrow) if inward else lengths


def _narrowed(graph: Graph, weights: Any, dtype: np.dtype) -> Any:
    """Weights in fewer bytes; of these, the graph's placement says how many lie on the GPU."""
    share = 1.0 if graph.placement is None else graph.placement.arcs
    return place(weights.astype(dtype), part(len(weights) * dtype.itemsize, share))
