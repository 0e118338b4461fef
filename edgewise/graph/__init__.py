"""The graph: rows of arcs, the user's ids, and what is derived from them on demand."""

from edgewise.graph.graph import Graph

__all__ = ["Graph"]
