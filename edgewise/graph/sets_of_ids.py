"""Several ids, however they are given."""

from collections.abc import Container, Iterator, Set
from typing import Any


def as_listed(ids: Any, graph: Container[Any]) -> Any:
    """A set of ids, or an iterator over ids, as a list; anything else as it is, and so is a set that is an id."""
    return list(ids) if isinstance(ids, Set | Iterator) and ids not in graph else ids
