"""Which values of other ranks' vertices a program reads.

A rank has the values of its own vertices. A function may read those of any vertex, though mostly it is the vertex at
hand, or the other end of an edge. What is not seen to be one of these may be anywhere.
"""

import ast
from typing import NamedTuple

import numpy as np

from edgewise.engine.cpu.arguments import SizedArcs
from edgewise.engine.distributed.group import Group
from edgewise.engine.distributed.partition import Ranges
from edgewise.errors import DistributedError
from edgewise.program.inspect import Specification
from edgewise.program.source import UserFunction

#: Ends of edges that are looked at together: NumPy makes indices of 8 bytes of them.
_ENDS = 1 << 16


class Reads(NamedTuple):
    """Vertex fields by where they are read, beside a rank's own vertices.

    Attributes:
        across: at the other end of an edge.
        anywhere: at any vertex.
    """

    across: frozenset[str]
    anywhere: frozenset[str]


def reads_elsewhere(spec: Specification, own_end: str) -> Reads:
    """Which fields a program reads at vertices that may not be a rank's own.

    Args:
        spec: of the program.
        own_end: "source" or "target": the end of its edges that is a vertex of the rank.

    Raises:
        DistributedError: a function of vertices reads an edge field that edge_compute writes: each rank has the values
            of its own edges alone.
    """
    other_end = {"source": "target", "target": "source"}[own_end]
    across, anywhere = set[str](), set[str]()
    for name, function in spec.functions.items():
        if name == "combine":
            continue
        if name not in ("initialize", "edge_compute"):
            for field, _ in _indexed(function, spec.edge_writes):
                raise DistributedError(
                    f"{function.where()}: state.{field} is read here and written in edge_compute; with "
                    "distributed=True edges may be of another rank: send the value as a message, or run on one rank"
                )
        at_edge = name == "edge_compute"
        for field, index in _indexed(function, set(spec.vertex_fields)):
            if at_edge and _is_end(function, index, other_end):
                across.add(field)
            elif not (_is_end(function, index, own_end) if at_edge else _is_vertex(function, name, index)):
                anywhere.add(field)
    return Reads(frozenset(across - anywhere), frozenset(anywhere))


def _indexed(function: UserFunction, fields: set[str]) -> list[tuple[str, ast.expr | None]]:
    """The vertex fields that a function reads, each with its index; None where there is none."""
    parents = {child: node for node in ast.walk(function.tree) for child in ast.iter_child_nodes(node)}
    state, found = function.arguments[-1], list[tuple[str, ast.expr | None]]()
    for node in ast.walk(function.tree):
        if not (isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name)):
            continue
        if node.value.id != state or node.attr not in fields:
            continue
        parent = parents[node]
        is_indexed = isinstance(parent, ast.Subscript) and parent.value is node
        if is_indexed and isinstance(parent.ctx, ast.Store) and not _is_updated(parents[parent]):  # type: ignore[attr-defined]
            continue
        found.append((node.attr, parent.slice if is_indexed else None))  # type: ignore[attr-defined]
    return found


def _is_updated(statement: ast.AST) -> bool:
    """Whether a statement reads what it assigns to."""
    return isinstance(statement, ast.AugAssign)


def _is_end(function: UserFunction, index: ast.expr | None, end: str) -> bool:
    """Whether an index is an end of the edge at hand."""
    if isinstance(index, ast.Attribute) and isinstance(index.value, ast.Name):
        edge = function.arguments[0]
        return (index.value.id, index.attr) == (edge, end) and not _is_assigned(function, edge)
    return False


def _is_vertex(function: UserFunction, name: str, index: ast.expr | None) -> bool:
    """Whether an index is the vertex at hand."""
    has_vertex = name != "proceed" and isinstance(index, ast.Name)
    vertex = function.arguments[0]
    return has_vertex and index.id == vertex and not _is_assigned(function, vertex)  # type: ignore[union-attr]


def _is_assigned(function: UserFunction, name: str) -> bool:
    """Whether a function assigns to a name."""
    return any(
        (isinstance(node, ast.Name) and node.id == name and isinstance(node.ctx, ast.Store))
        or (isinstance(node, ast.MatchAs) and node.name == name)
        for node in ast.walk(function.tree)
    )


def wanted_by(arcs: SizedArcs, ranges: Ranges, group: Group, pulls: bool) -> list[np.ndarray | None]:
    """For each rank, which of this rank's vertices are at the other ends of its edges: a flag for each. All ranks call
    it.

    Args:
        arcs: the graph.
        ranges, group: the ranks.
        pulls: whether a rank's edges are the in-edges of its vertices.
    """
    offsets, ends = (arcs.in_offsets, arcs.in_sources) if pulls else (arcs.offsets, arcs.targets)
    return [*wanted_of(seen_at_ends(offsets, ends, ranges), group)]


def seen_at_ends(offsets: np.ndarray, ends: np.ndarray, ranges: Ranges) -> list[np.ndarray]:
    """For each rank, which of its vertices are at the other ends of this rank's edges: a flag for each. This rank's own
    have none.

    Args:
        offsets, ends: rows, of all vertices or of those of this rank alone.
        ranges: the vertices of ranks.
    """
    own, seen = ranges.own, np.zeros(ranges.begins[-1], np.bool_)
    end = int(offsets[own.stop])
    for first in range(int(offsets[own.start]), end, _ENDS):
        seen[ends[first : min(end, first + _ENDS)]] = True
    seen[own] = False
    return [seen[ranges.of(rank)] for rank in range(len(ranges.begins) - 1)]


def wanted_of(seen: list[np.ndarray], group: Group) -> list[np.ndarray]:
    """For each rank of a group, which of this rank's vertices it has seen; none for this rank itself. All call it.

    Args:
        seen: for each rank, which of its vertices this one has seen: a flag for each.
        group: the ranks.
    """
    own = seen[group.rank]
    parts = group.exchange([np.packbits(each) for each in seen])[0]
    found = [np.unpackbits(part, count=len(own)).view(np.bool_) for part in parts]
    found[group.rank] = np.zeros_like(own)
    return found
