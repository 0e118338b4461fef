"""Files that declare their numbers of vertices and edges before they list edges between vertices 1..n."""

from dataclasses import dataclass, replace

from edgewise.errors import ParseError
from edgewise.graph.ids import MAX_VERTICES
from edgewise.io.formats import Plan
from edgewise.io.lines import LineLayout
from edgewise.io.options import ReadOptions
from edgewise.io.rows import RowLayout
from edgewise.io.source import TextFile
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
    return tuple(
        int(word.lstrip("0") or "0") for word in words
    )  # Python refuses thousands of digits, zeros or not


def plan_sized(
    file: TextFile, layout: LineLayout | RowLayout, sizes: Sizes, options: ReadOptions, base: int = 1
) -> Plan:
    """How to read the edges of a file that declares its sizes, and whose ids are from a base on.

    Raises:
        ParseError: more vertices than a graph may have.
    """
    where, vertices = f"{file.path}:{sizes.line}", sizes.num_vertices
    if vertices > MAX_VERTICES:
        raise ParseError(
            f"{where}: {vertices:,} vertices would need {8 * vertices:,} bytes for ids alone; at most 2**31 - 1 "
            "can be had"
        )
    directed = options.directed is not False
    return Plan(
        replace(layout, ids=(base, base + vertices - 1)),
        replace(options, num_vertices=vertices, index_base=base),
        sizes.line,
        both_directions=not directed,
        directed=directed,
        declared=sizes.num_edges,
    )


def plan_undirected(
    file: TextFile, layout: LineLayout | RowLayout, sizes: Sizes, options: ReadOptions
) -> Plan:
    """How to read the edges of a file that declares its sizes and that its edges have no direction.

    With directed=True the graph is one of arcs all the same, in both directions of each edge.

    Raises:
        ParseError: more vertices than a graph may have.
    """
    plan = plan_sized(file, layout, sizes, replace(options, directed=False))
    return replace(plan, directed=bool(options.directed))


def check_declared(file: TextFile, plan: Plan, num_edges: int) -> None:
    """Refuse another number of edges than the file declares. Raises ParseError."""
    if plan.declared is not None and num_edges != plan.declared:
        raise ParseError(
            f"{file.path} declares {plan.declared:,} entries and holds {num_edges:,}; it is truncated, "
            "or its line of sizes is wrong"
        )
