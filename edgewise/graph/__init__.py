"""The graph: rows of arcs, the user's ids, and what is derived from them on demand."""

from typing import Annotated, Any

from edgewise.errors import GraphTypeError
from edgewise.graph.file import load
from edgewise.graph.file_pages import FilePages, file_pages, least_pages, reading_once
from edgewise.graph.graph import Graph
from edgewise.graph.making import Made
from edgewise.graph.resident import Arrays, Needs, Placement, Resident
from edgewise.text import shown

__all__ = [
    "Arrays",
    "FilePages",
    "Graph",
    "Made",
    "Needs",
    "Placement",
    "Resident",
    "VertexId",
    "VertexIds",
    "check_graph",
    "file_pages",
    "least_pages",
    "load",
    "reading_once",
]

#: The annotations of parameters of algorithms that take the user's id of a vertex, and of those that take several, too.
VertexId = Annotated[Any, "id of a vertex"]
VertexIds = Annotated[Any, "id of a vertex, or ids of several"]


def check_graph(where: str, graph: Any) -> None:
    """Refuse what is no graph, where one is expected.

    Raises:
        GraphTypeError: with what was got.
    """
    if not isinstance(graph, Graph):
        raise GraphTypeError(f"{where}: got {shown(graph)} for the graph, expected an edgewise.Graph")
