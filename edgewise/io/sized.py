"""Files that declare their numbers of vertices and edges before they list edges between vertices 1..n."""

from dataclasses import dataclass, replace

from edgewise.errors import ParseError
from edgewise.graph import Graph
from edgewise.graph.ids import MAX_VERTICES
from edgewise.io.lines import LineLayout, read_edges
from edgewise.io.options import ReadOptions
from edgewise.io.source import TextFile
from edgewise.io.table import make_graph
from edgewise.text import shortened

#: More digits than any size has.
_TOO_LONG = 19


@dataclass(frozen=True)
class Sizes:
    """The sizes that a file declares.

    Attributes:
        line: the number of the line that declares them, from 1; edges come after it.
        num_vertices, num_edges: the sizes.
    """

    line: int
    num_vertices: int
    num_edges: int


def sizes_of(file: TextFile, number: int, line: str, words: list[str], expected: str) -> tuple[int, ...]:
    """Words as sizes of a graph.

    Raises:
        ParseError: words that are not integers, or sizes beyond what a graph may have.
    """
    where = f"{file.path}:{number}"
    if not all(word.isascii() and word.isdecimal() for word in words):
        raise ParseError(f"{where}: got {shortened(line)!r}; expected {expected}")
    if max(len(word.lstrip("0")) for word in words) >= _TOO_LONG:
        raise ParseError(f"{where}: got {shortened(line)!r}; at most 2**31 - 1 vertices can be had")
    return tuple(map(int, words))


def read_sized(file: TextFile, layout: LineLayout, sizes: Sizes, options: ReadOptions) -> tuple[Graph, int]:
    """Read the edges of a file that declares its sizes, and count as `make_graph` does.

    Raises:
        ParseError: another number of edges than declared, and everything that `read_edges` refuses.
        MemoryLimitError: more vertices than there is memory for.
    """
    where, vertices = f"{file.path}:{sizes.line}", sizes.num_vertices
    if vertices > MAX_VERTICES:
        raise ParseError(
            f"{where}: {vertices:,} vertices would need {8 * vertices:,} bytes for ids alone; at most 2**31 - 1 "
            "can be had"
        )
    options = replace(options, num_vertices=vertices, index_base=1)
    edges = read_edges(file, replace(layout, ids=(1, vertices)), options, sizes.line)
    if len(edges.source) != sizes.num_edges:
        raise ParseError(
            f"{file.path} declares {sizes.num_edges:,} entries and holds {len(edges.source):,}; it is truncated, "
            "or its line of sizes is wrong"
        )
    return make_graph(edges, options, file.budget, integers=True)
