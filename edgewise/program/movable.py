"""Whether a program may run on a graph whose vertices are numbered otherwise, and what it says then.

Functions see vertices as integers. On a moved graph these are places, so a program may use a vertex as the index of an
array of vertices, compare it with another one, or with -1, by ``==`` or ``!=``, keep it in a variable, or store it in a
field of `edgewise.program.declare.VERTEX`, each by a plain assignment: that means the same by either number. Anything
else would give other answers, such as the least label of a component, or the value of vertex 0, and is refused with the
line. So are random numbers, which depend on the vertex.
"""

import ast
from typing import Any, NamedTuple

from edgewise.errors import ProgramError
from edgewise.program.declarations import STATE_ARRAYS
from edgewise.program.declare import REQUIRED, VERTEX
from edgewise.program.inspect import Specification
from edgewise.program.source import UserFunction


class Moved(NamedTuple):
    """How messages speak of a graph whose vertices are numbered otherwise.

    Attributes:
        where: on what the program runs.
        numbers: what gives each vertex a number of its own.
        instead: what to do if the program stays as it is.
    """

    where: str
    numbers: str
    instead: str

    @property
    def advice(self) -> str:
        """What a program may do with vertices."""
        return (
            f"a program {self.where} may use a vertex as an index of vertex fields, compare it with another or with -1 "
            "by == or !=, and keep it by an assignment of its own, x = v, in a variable that only holds vertices or "
            "-1, or in a field of ew.VERTEX. To use it as a number, give each vertex its own: number = ew.vertex(int), "
            f"number={self.numbers}; or {self.instead}"
        )


LAYERS = Moved("over layers", "np.arange(n)", "leave layout at 'auto'")


def check_movable(spec: Specification, moved: Moved = LAYERS) -> None:
    """Refuse a program whose answers depend on how vertices are numbered.

    Args:
        spec: of the program.
        moved: for messages.

    Raises:
        ProgramError: naming the function and the line.
    """
    if spec.draws:
        raise ProgramError(
            f"{spec.name} draws random numbers, which depend on the numbers of vertices; {moved.instead}"
        )
    if spec.keeps_messages:
        raise ProgramError(
            f"{spec.name} asks for all messages in the order of their sources; {moved.instead}"
        )
    for name, function in spec.functions.items():
        if name != "combine":
            _Uses(spec, function, moved, with_vertex=name not in ("proceed", "edge_compute")).check()
    fields: dict[str, Any] = {**spec.vertex_fields, **spec.edge_fields}
    for name, declared in fields.items():
        if declared.dtype is VERTEX and not (declared.init is REQUIRED or declared.init == -1):
            raise ProgramError(
                f"{spec.name}.{name} begins as the index {declared.init}; {moved.where} it may begin as -1, or be given"
            )


class _Uses:
    """How one function uses vertices and arcs."""

    def __init__(
        self, spec: Specification, function: UserFunction, moved: Moved, *, with_vertex: bool
    ) -> None:
        arguments, self._moved = function.arguments, moved
        self._function, self._state = function, arguments[-1]
        self._vertex = arguments[0] if with_vertex else None
        self._edge = arguments[0] if function.name == "edge_compute" else None
        declared: dict[str, Any] = {**spec.vertex_fields, **spec.edge_fields}
        self._of_vertices = {name for name, each in declared.items() if each.dtype is VERTEX}
        self._parameters = {name for name, each in spec.parameters.items() if each.dtype is VERTEX}
        self._arrays, self._of_arcs = {*declared, *STATE_ARRAYS}, set(spec.edge_fields)
        self._parents = {
            child: node for node in ast.walk(function.tree) for child in ast.iter_child_nodes(node)
        }
        self._aliases: set[str] = set()
        while (found := self._variables()) != self._aliases:
            self._aliases = found

    def check(self) -> None:
        """Refuse what means something else on a moved graph."""
        for statement in self._function.tree.body:
            for node in ast.walk(statement):
                if self._is_vertex(node) and not self._is_well_used(node):
                    raise self._function.refuse(
                        node, f"{ast.unparse(node)} is used as a number here; {self._moved.advice}"
                    )
                if self._is_arc(node) and not self._is_index(node):
                    raise self._function.refuse(
                        node,
                        f"{ast.unparse(node)} is used as a number; {self._moved.where} it may be an index of edge "
                        "fields only",
                    )
                if isinstance(node, ast.Subscript) and self._is_array(node.value):
                    self._check_index(node)
                if self._is_vertex(node) and isinstance(getattr(node, "ctx", None), ast.Store):
                    self._check_stored(node)

    def _variables(self) -> set[str]:
        """The variables that only ever hold a vertex or -1, as far as is known of others."""
        found: dict[str, list[ast.expr]] = {}
        for node in ast.walk(self._function.tree):
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                parent = self._parents[node]
                value = parent.value if isinstance(parent, ast.Assign) and parent.targets == [node] else None
                found.setdefault(node.id, []).append(value or ast.Constant(0))
        return {name for name, values in found.items() if self._are_vertices(values)}

    def _are_vertices(self, values: list[ast.expr]) -> bool:
        """Whether expressions are vertices or -1, and not all of them are -1."""
        return all(self._is_vertex(each) or _is_none(each) for each in values) and any(
            map(self._is_vertex, values)
        )

    def _is_vertex(self, node: ast.AST) -> bool:
        """Whether an expression is a vertex, or may be -1 instead."""
        if isinstance(node, ast.IfExp):
            return self._are_vertices([node.body, node.orelse])
        if isinstance(node, ast.Name):
            return node.id == self._vertex or node.id in self._aliases
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            of_edge = node.attr in ("source", "target", *self._of_vertices)
            return (node.value.id == self._edge and of_edge) or (
                node.value.id == self._state and node.attr in self._parameters
            )
        return (
            isinstance(node, ast.Subscript)
            and self._is_array(node.value)
            and node.value.attr in self._of_vertices  # type: ignore[attr-defined]
        )

    def _is_arc(self, node: ast.AST) -> bool:
        """Whether an expression is the index of the edge at hand."""
        return (
            isinstance(node, ast.Attribute)
            and isinstance(node.value, ast.Name)
            and (node.value.id, node.attr) == (self._edge, "index")
        )

    def _is_array(self, node: ast.AST) -> bool:
        """Whether an expression is an array of the state."""
        return (
            isinstance(node, ast.Attribute)
            and isinstance(node.value, ast.Name)
            and node.value.id == self._state
            and node.attr in self._arrays
        )

    def _is_index(self, node: ast.AST) -> bool:
        """Whether an expression is the index of an array of the state."""
        parent = self._parents[node]
        return isinstance(parent, ast.Subscript) and parent.slice is node and self._is_array(parent.value)

    def _is_well_used(self, node: ast.AST) -> bool:
        """Whether a vertex is used so that its number does not matter."""
        parent = self._parents[node]
        if not isinstance(getattr(node, "ctx", ast.Load()), ast.Load) or self._is_index(node):
            return True
        if isinstance(parent, ast.IfExp) and node is not parent.test:
            return self._is_vertex(parent) and self._is_well_used(parent)
        if isinstance(parent, ast.Compare):
            others = [each for each in (parent.left, *parent.comparators) if each is not node]
            equality = all(isinstance(op, ast.Eq | ast.NotEq) for op in parent.ops)
            return equality and all(self._is_vertex(each) or _is_none(each) for each in others)
        if not isinstance(parent, ast.Assign) or len(parent.targets) != 1:
            return False
        (target,) = parent.targets
        return self._is_vertex(target) or (isinstance(target, ast.Name) and target.id in self._aliases)

    def _check_index(self, node: ast.Subscript) -> None:
        """Refuse an index that is no vertex, or no edge, but a number, and one of the wrong kind of array."""
        of_arc = self._is_arc(node.slice)
        if not (of_arc or self._is_vertex(node.slice)):
            raise self._function.refuse(
                node,
                f"{ast.unparse(node.slice)} is an index, but a number and no vertex; {self._moved.advice}",
            )
        name = node.value.attr  # type: ignore[attr-defined]
        if of_arc != (name in self._of_arcs):
            kinds = ("an edge", "vertices") if of_arc else ("a vertex", "edges")
            raise self._function.refuse(
                node,
                f"{ast.unparse(node.slice)} is {kinds[0]}, and {name} has values of {kinds[1]}: {self._moved.where} "
                "this would be another value",
            )

    def _check_stored(self, node: ast.AST) -> None:
        """Refuse what is no vertex, or not known to be one, where one is stored."""
        if isinstance(node, ast.Name):
            return  # a variable that only ever holds a vertex
        parent = self._parents[node]
        if not (isinstance(parent, ast.Assign) and (self._is_vertex(parent.value) or _is_none(parent.value))):
            stored = ast.unparse(parent.value) if isinstance(parent, ast.Assign) else ast.unparse(parent)
            raise self._function.refuse(
                node, f"{stored} is stored as a vertex, but is a number; {self._moved.advice}"
            )


def _is_none(node: ast.AST) -> bool:
    """Whether an expression is -1, which is no vertex."""
    return ast.unparse(node) == "-1"
