"""Integers inside a user's function that would leave the 64 bits which compiled code has."""

import ast
import copy
import types
from typing import Any

from edgewise.source import compiled_like

_NAME = "_in_64_bits"


def with_overflow_checked(function: types.FunctionType, tree: ast.FunctionDef) -> types.FunctionType:
    """The function, which raises OverflowError where the result of an operation or a call does not fit in 64 bits.

    Args:
        function: of a program, without its overflow found: Python's integers have as many bits as they need.
        tree: its definition.
    """
    made = copy.deepcopy(tree)
    made.body = [_Looking().visit(statement) for statement in made.body]
    return compiled_like(ast.fix_missing_locations(made), function, **{_NAME: _in_64_bits})


def _in_64_bits(value: Any) -> Any:
    if isinstance(value, int) and not -(2**63) <= value < 2**63:
        raise OverflowError(f"{value} does not fit in 64 bits")
    return value


class _Looking(ast.NodeTransformer):
    """Has every result looked at."""

    def _look(self, node: Any) -> Any:
        self.generic_visit(node)
        return ast.copy_location(ast.Call(ast.Name(_NAME, ast.Load()), [node], []), node)

    visit_BinOp = visit_UnaryOp = visit_Call = _look

    def visit_AugAssign(self, node: ast.AugAssign) -> Any:
        """``x += y`` as ``x = x + y``: where x is an element, its index is only asked for, twice."""
        before: Any = copy.deepcopy(node.target)
        before.ctx = ast.Load()
        result = ast.copy_location(ast.BinOp(before, node.op, node.value), node)
        return ast.copy_location(ast.Assign([node.target], self.visit(result)), node)
