"""The contract of a format: how it is recognised and read. Each format has a file of its own."""

from collections.abc import Callable
from dataclasses import dataclass

from edgewise.graph import Graph
from edgewise.io.options import ReadOptions
from edgewise.io.source import TextFile


@dataclass(frozen=True)
class Format:
    """A format of text files.

    Attributes:
        name: as in ``edgewise.read(path, format=name)``.
        suffixes: of file names, in lower case.
        looks_like: whether the first lines of a file are surely of this format.
        read: makes the graph; for an undirected one, it also counts the edges that the file lists in both directions.
        options: the options that only some formats take, and this one does.
    """

    name: str
    suffixes: tuple[str, ...]
    looks_like: Callable[[TextFile], bool]
    read: Callable[[TextFile, ReadOptions], tuple[Graph, int]]
    options: frozenset[str]
