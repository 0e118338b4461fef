"""The parts of Python's syntax that compiled functions cannot use."""

import ast

from edgewise.text import shown

#: Statements and operators, with their names in messages.
_KEYWORDS: dict[type[ast.AST], str] = {
    ast.Raise: "raise",
    ast.Assert: "assert",
    ast.Try: "try",
    ast.TryStar: "try",
    ast.With: "with",
    ast.Yield: "yield",
    ast.YieldFrom: "yield from",
    ast.Await: "await",
    ast.AsyncFor: "async for",
    ast.AsyncWith: "async with",
    ast.Global: "global",
    ast.Nonlocal: "nonlocal",
    ast.Import: "import",
    ast.ImportFrom: "import",
    ast.FunctionDef: "def",
    ast.AsyncFunctionDef: "async def",
    ast.ClassDef: "class",
    ast.Lambda: "lambda",
    ast.NamedExpr: ":=",
}
#: Patterns of ``match``.
_PATTERNS: dict[type[ast.AST], str] = {
    ast.MatchSequence: "a sequence pattern",
    ast.MatchMapping: "a mapping pattern",
    ast.MatchClass: "a class pattern",
}
#: Syntax that allocates memory, which kernels never do. (Lists may be folded to tuples: ``x in [1, 2]``.)
_ALLOCATES: dict[type[ast.AST], str] = {
    ast.ListComp: "a list",
    ast.Dict: "a dict",
    ast.DictComp: "a dict",
    ast.Set: "a set",
    ast.SetComp: "a set",
    ast.JoinedStr: "a string",
}
#: Functions of Python that give something else in compiled code, or take memory there.
_BUILTINS = {
    "type": "gives another thing in compiled code; use isinstance(...)",
    "sorted": "makes a list, which takes memory; sort by a loop",
}
#: The most bits of an integer in the source. A value beyond 64 bits must be folded before the run: (2**70 - 1) % 9.
_MOST_BITS = 1024
_INSIDE = "inside a program's function, or a helper that one calls"


def refused_syntax(node: ast.AST, outside: dict[str, object]) -> str | None:
    """Why a node cannot be compiled, and what to write instead; None if nothing speaks against it.

    Args:
        node: a node of a function's source.
        outside: the names that the function finds outside itself, those of Python excepted.
    """
    kind = type(node)
    if kind in _KEYWORDS:
        return f"'{_KEYWORDS[kind]}' cannot be used {_INSIDE}"
    if kind in _PATTERNS:
        return (
            f"{_PATTERNS[kind]} cannot be used {_INSIDE}; a case may have numbers, names, | and if: "
            "compare parts by if"
        )
    if kind in _ALLOCATES:
        return takes_memory(_ALLOCATES[kind])
    if isinstance(node, ast.Constant) and type(node.value) is int and node.value.bit_length() > _MOST_BITS:
        return f"{shown(node.value)} is too large; compiled integers have 64 bits"
    if kind is ast.GeneratorExp:
        return f"a generator expression cannot be used {_INSIDE}; write a for loop"
    if isinstance(node, ast.Starred) and isinstance(node.ctx, ast.Store):
        return f"'{ast.unparse(node)}' takes the rest as a list, which cannot be made here; name each value"
    if isinstance(node, ast.keyword) and node.arg is None:
        return f"'**' cannot be used {_INSIDE}; write each name=value"
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id not in outside:
        name = node.func.id
        return f"{name}(...) {_BUILTINS[name]}" if name in _BUILTINS else None
    return None


def takes_memory(what: str) -> str:
    """Why something that allocates memory is refused, and what to use instead."""
    return (
        f"{what} cannot be made inside a program's function, which takes no memory; use variables, a tuple, or a "
        "field"
    )
