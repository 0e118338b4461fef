"""Graphs from columns of edges that a file holds as arrays: ids are checked here, since no scan of text has done it."""

from typing import Any

import numpy as np

from edgewise.errors import GraphError
from edgewise.graph import Graph
from edgewise.graph.checks import check_lengths
from edgewise.graph.id_columns import as_id_column
from edgewise.io.budget import Budget, bytes_of_graph
from edgewise.io.lines import Edges
from edgewise.io.options import ReadOptions
from edgewise.io.reading import make_graph


def graph_of_columns(
    source: Any, target: Any, weight: np.ndarray | None, options: ReadOptions, budget: Budget
) -> tuple[Graph, int]:
    """The graph of edges between integers. Counts as `make_graph` does.

    Raises:
        GraphError: columns of different lengths, or ids that the number of vertices does not allow.
        MemoryLimitError: the graph does not fit.
    """
    source, target = as_id_column(source, "source"), as_id_column(target, "target")
    check_lengths(source, target, weight)
    check_range(source, target, options)
    of_weights = 0 if weight is None else weight.nbytes
    budget.check(bytes_of_graph(source.nbytes + target.nbytes, of_weights, len(source), options))
    return make_graph(Edges(source, target, weight), options, budget, integers=True)


def check_range(source: np.ndarray, target: np.ndarray, options: ReadOptions) -> None:
    """Refuse integers that the number of vertices does not allow. Raises GraphError."""
    if options.num_vertices is None or len(source) == 0:
        return
    base = int(options.index_base or 0)
    most = base + int(options.num_vertices) - 1
    for name, column in (("source", source), ("target", target)):
        low, high = int(column.min()), int(column.max())
        if low < base or high > most:
            raise GraphError(
                f"the ids in {name} go from {low} to {high}; expected ids from {base} to {most}, as many as "
                "num_vertices says. Leave it out for ids of any size"
            )
