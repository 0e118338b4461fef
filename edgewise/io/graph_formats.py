"""The formats that are not lines of edges: which they are, and which one a file is of."""

from collections.abc import Collection
from pathlib import Path
from typing import Any

from edgewise.io.formats import GraphFormat
from edgewise.io.gap import GAP
from edgewise.io.graphml import GRAPHML
from edgewise.io.npz import NPZ
from edgewise.io.parquet import PARQUET
from edgewise.io.source import COMPRESSION_SUFFIXES

GRAPH_FORMATS = (GAP, NPZ, PARQUET, GRAPHML)
#: The bytes at the start of a file that tell a format.
_HEAD_BYTES = 4096
_BY_SUFFIX = {suffix: known for known in GRAPH_FORMATS for suffix in known.suffixes}


def by_suffix(path: Path, packings: Collection[str]) -> GraphFormat | None:
    """The format of files that are called so; `packings` are suffixes of compressions that may follow."""
    *_, before, last = "", "", *(suffix.lower() for suffix in path.suffixes)
    known = _BY_SUFFIX.get(before if last in packings else last)
    return known if known is None or known.packed or last in known.suffixes else None


def by_name(name: Any) -> GraphFormat | None:
    """The format of this name."""
    return next((known for known in GRAPH_FORMATS if isinstance(name, str) and known.name == name), None)


def names() -> list[str]:
    """The names of all of them."""
    return [known.name for known in GRAPH_FORMATS]


def suffixes(packed: bool) -> list[str]:
    """The suffixes of those that may be compressed, or of those that may not."""
    return [suffix for known in GRAPH_FORMATS if known.packed == packed for suffix in known.suffixes]


def by_looks(path: Path) -> GraphFormat | None:
    """The format by the suffix, else by the first bytes; None for another one, or what is no file."""
    known = by_suffix(path, COMPRESSION_SUFFIXES)
    if known is not None:
        return known
    try:
        if not path.is_file():  # a pipe gives its bytes only once
            return None
        with open(path, "rb") as file:
            head = file.read(_HEAD_BYTES)
    except (OSError, ValueError):  # reading it as text says why
        return None
    return next((known for known in GRAPH_FORMATS if known.looks_like(head)), None)
