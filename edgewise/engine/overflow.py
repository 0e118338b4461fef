"""A user's function in plain Python: where it would differ from compiled code, that is reported, or it is made to do
as compiled code.

Integers in compiled code have 64 bits, even those of NumPy's smaller types. Python's grow as they need, and NumPy's
wrap at their own width. Only in Python, an integer to a negative power is a float, and ``~`` of a bool is no bool.
"""

import ast
import copy
import dis
import types
from typing import Any

import numpy as np

from edgewise.program.helpers import helpers_of, plain_function
from edgewise.program.source import UserFunction, compiled_like, references, source_of, with_others
from edgewise.text import shown

_RESULT, _POWER, _INVERTED = "<result>", "<power>", "<inverted>"


def as_compiled(
    function: UserFunction, strict: bool, made: dict[Any, Any], anew: dict[Any, Any]
) -> types.FunctionType:
    """The function, and its helpers, with NumPy's integers turned into Python's. It stays as it is if it has none.

    Args:
        function: of a program, or a helper.
        strict: whether it raises OverflowError where the result of an operation or a call does not fit in 64 bits, and
            ArithmeticError where Python and compiled code differ.
        made: functions by what they were made of; helpers are added to it.
        anew: what replaces the user's own numba dispatchers. Where results are checked, these run in Python.
    """
    if not strict and not any(map(_has_numpy_integers, (function, *helpers_of(function)))):
        return _with_anew(function.function, anew) if anew else function.function
    tree = copy.deepcopy(function.tree)
    tree.body = [_Looking(strict).visit(statement) for statement in tree.body]
    looks = {_RESULT: _in_64_bits if strict else _plain, _POWER: _power, _INVERTED: _inverted}
    checked = compiled_like(ast.fix_missing_locations(tree), function.function, **looks)
    helpers = {
        name: _helper(value, strict, made, anew)
        for name, value in references(function.function).items()
        if plain_function(value) is not None
    }
    return with_others(checked, helpers)


def _has_numpy_integers(function: UserFunction) -> bool:
    """Whether a function refers to one of NumPy's types of integers."""
    values = references(function.function).values()
    return any(isinstance(value, type) and issubclass(value, np.integer) for value in values)


def _with_anew(function: Any, anew: dict[Any, Any]) -> Any:
    """The function with these dispatchers in place of those that it and its helpers refer to."""
    helpers = {
        name: anew[value] if value in anew else _with_anew(value, anew)
        for name, value in references(function).items()
        if plain_function(value) is not None
    }
    return with_others(function, helpers)


def _helper(value: Any, strict: bool, made: dict[Any, Any], anew: dict[Any, Any]) -> Any:
    """A helper as compiled code has it. It stays as it is if it calls itself or has no source."""
    function = plain_function(value)
    if function not in made and function is not None:
        made[function] = anew.get(value, value)
        source = source_of(function)
        if source is not None and source.is_current:
            made[function] = as_compiled(
                UserFunction(function.__name__, function, source), strict, made, anew
            )
    return made[function]


def _plain(value: Any) -> Any:
    return int(value) if isinstance(value, np.integer) else value


def _in_64_bits(value: Any) -> Any:
    value = _plain(value)
    if isinstance(value, int) and not -(2**63) <= value < 2**63:
        raise OverflowError(f"{shown(value)} does not fit in 64 bits")
    return value


def _power(base: Any, exponent: Any) -> Any:
    if isinstance(base, int) and isinstance(exponent, int) and exponent < 0:
        raise ArithmeticError(
            f"{shown(base)} ** {shown(exponent)}: an integer to a negative power is an integer in compiled code; write "
            "float(...) around the base"
        )
    return base**exponent


def _inverted(value: Any) -> Any:
    if isinstance(value, bool):
        raise ArithmeticError(
            f"~{value}: ~ of a bool is a bool in compiled code, and {~value} in Python; write not"
        )
    return ~value


#: The parts of expressions without names.
_IN_TEXT = (ast.Constant, ast.BinOp, ast.UnaryOp, ast.operator, ast.unaryop)


def _is_folded(node: ast.expr) -> bool:
    """Whether Python makes one constant of an expression. It does not if a value would be too large."""
    code = compile(ast.Expression(node), "<text>", "eval")
    return not any(step.opname.startswith(("BINARY", "UNARY")) for step in dis.get_instructions(code))


class _Looking(ast.NodeTransformer):
    """Makes a function check every result."""

    def __init__(self, strict: bool) -> None:
        self._strict = strict

    def _call(self, name: str, node: Any, *arguments: Any) -> Any:
        return ast.copy_location(ast.Call(ast.Name(name, ast.Load()), [*arguments], []), node)

    def _look(self, node: Any) -> Any:
        self.generic_visit(node)
        return self._call(_RESULT, node, node)

    visit_Call = _look

    def visit_BinOp(self, node: Any) -> Any:
        """An expression that Python computes before the run is checked as a whole."""
        if all(isinstance(each, _IN_TEXT) for each in ast.walk(node)) and _is_folded(node):
            return self._call(_RESULT, node, node)
        op = getattr(node, "op", None)
        if self._strict and isinstance(op, ast.Pow):
            self.generic_visit(node)
            return self._call(_RESULT, node, self._call(_POWER, node, node.left, node.right))
        if self._strict and isinstance(op, ast.Invert):
            self.generic_visit(node)
            return self._call(_INVERTED, node, node.operand)
        return self._look(node)

    visit_UnaryOp = visit_BinOp

    def visit_AugAssign(self, node: ast.AugAssign) -> Any:
        """``x += y`` as ``x = x + y``. If x is an element, its index is evaluated twice."""
        before: Any = copy.deepcopy(node.target)
        before.ctx = ast.Load()
        result = ast.copy_location(ast.BinOp(before, node.op, node.value), node)
        return ast.copy_location(ast.Assign([node.target], self.visit(result)), node)
