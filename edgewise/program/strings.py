"""Strings in a program's functions: compiled code takes a vertex for different from every string, without an error."""

import ast
from collections.abc import Mapping
from typing import Any

import numpy as np

from edgewise.text import on_one_line, shortened


def no_strings(text: str) -> str:
    """Why a string, as it stands in the source, is refused, and what to do."""
    return (
        f"{shortened(on_one_line(text))}: strings cannot be used in functions of a program, to which a vertex is an "
        "index. For the index of an id, declare a parameter, name = ew.parameter(ew.VERTEX), and give the id to the "
        "program; for anything else, use numbers"
    )


def string_in(tree: ast.FunctionDef, outside: Mapping[str, Any]) -> ast.expr | None:
    """The first string that a function uses: one in its source, or a name outside of it that stands for one, or for
    several. Docstrings and annotations are not used, fields of records, ``record["x"]``, have names, and
    ``float("inf")`` is a number.

    Args:
        tree: the definition of the function.
        outside: the values of names outside of it, as `edgewise.program.source.references` gives them.
    """
    waiting: list[ast.AST] = [*reversed(tree.body), *tree.args.defaults]
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.JoinedStr):  # which has a message of its own
            continue
        if isinstance(node, ast.expr) and _has_string(_value(node, outside)):
            return node
        unused = _unused(node)
        waiting += [child for child in reversed([*ast.iter_child_nodes(node)]) if child is not unused]
    return None


def _unused(node: ast.AST) -> ast.AST | None:
    """The part of a node in which a string may stand."""
    if isinstance(node, ast.Expr):
        return node.value if isinstance(node.value, ast.Constant) else None
    if isinstance(node, ast.AnnAssign):
        return node.annotation
    if isinstance(node, ast.Call) and ast.unparse(node.func) == "float" and len(node.args) == 1:
        return node.args[0] if isinstance(node.args[0], ast.Constant) else None
    if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant | ast.Name):
        return node.slice
    return None


def _value(node: ast.expr, outside: Mapping[str, Any]) -> Any:
    """The value of a constant, or of a name outside of the function, or of a field of a named tuple, else None."""
    if isinstance(node, ast.Constant):
        return node.value
    if not isinstance(node, ast.Name | ast.Attribute):
        return None
    if (name := ast.unparse(node)) in outside:
        return outside[name]
    if isinstance(node, ast.Attribute) and isinstance(owner := _value(node.value, outside), tuple):
        return getattr(owner, node.attr, None)
    return None


def _has_string(value: Any) -> bool:
    """Whether a value is a string, or a plain collection or an array with one."""
    if type(value) in (tuple, list, set, frozenset, dict):
        return any(map(_has_string, value))
    if isinstance(value, np.ndarray):
        return value.dtype.kind in "US"
    return isinstance(value, str | bytes)
