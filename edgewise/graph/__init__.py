"""The graph: rows of arcs, the user's ids, and what is derived from them on demand."""

from typing import Any

from edgewise.errors import GraphTypeError
from edgewise.graph.graph import Graph
from edgewise.text import shown

__all__ = ["Graph", "check_graph"]


def check_graph(where: str, graph: Any) -> None:
    """Refuse what is no graph, where one is expected.

    Raises:
        GraphTypeError: with what was got.
    """
    if not isinstance(graph, Graph):
        raise GraphTypeError(f"{where}: got {shown(graph)} for the graph, expected an edgewise.Graph")
