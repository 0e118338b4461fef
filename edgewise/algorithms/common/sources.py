"""Several sources, however they are given."""

from collections.abc import Iterator, Set
from typing import Any

from edgewise.graph import Graph


def as_sources(graph: Graph, source: Any) -> Any:
    """A set of ids, or an iterator over ids, as a list; anything else as it is, and so is a set that is an id."""
    return list(source) if isinstance(source, Set | Iterator) and source not in graph else source
