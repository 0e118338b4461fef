"""Which vertices a program's functions look at beside the one that they are called for."""

import ast

from edgewise.program.inspect import Specification
from edgewise.program.source import UserFunction


def looks_at_others(spec: Specification) -> bool:
    """Whether edge_compute or vertex_compute may read fields of another vertex than the source of the edge, or the
    vertex that is computed. Where that is not plain from the source, they may."""
    edge_compute, vertex_compute = spec.functions["edge_compute"], spec.functions["vertex_compute"]
    edge, vertex = edge_compute.arguments[0], vertex_compute.arguments[0]
    return not (
        _indexes_only_by(edge_compute, {f"{edge}.source": "vertex", f"{edge}.index": "edge"}, spec)
        and _indexes_only_by(vertex_compute, {vertex: "vertex"}, spec)
    )


def _indexes_only_by(function: UserFunction, allowed: dict[str, str], spec: Specification) -> bool:
    """Whether a function uses the state for nothing but parameters, and arrays at indices each of which is allowed for
    arrays of this kind."""
    state = function.arguments[-1]
    parents = {child: node for node in ast.walk(function.tree) for child in ast.iter_child_nodes(node)}
    for node in ast.walk(function.tree):
        if isinstance(node, ast.Name) and node.id == state:
            name = parents[node]
            if not isinstance(name, ast.Attribute):
                return False
            array = parents[name]
            index = ast.unparse(array.slice) if isinstance(array, ast.Subscript) else ""
            kind = "edge" if name.attr in spec.edge_fields else "vertex"
            if allowed.get(index) != kind and name.attr not in spec.parameters:
                return False
    return True
