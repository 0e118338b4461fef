"""The source of the user's functions, and whether it is what their code was compiled from."""

import ast
import functools
import inspect
import linecache
import types
from collections.abc import Iterator
from typing import Any, NamedTuple


class Source(NamedTuple):
    """What the file of a function says.

    Attributes:
        tree: the definition; its lines count from 1.
        is_current: whether it compiles to the function's code, which it does not if the file was edited since.
    """

    tree: ast.FunctionDef
    is_current: bool


_sources: dict[types.CodeType, Source] = {}


def source_of(function: types.FunctionType) -> Source | None:
    """The source of a function, kept once it was read; None where there is none, or it is no ``def``."""
    code = function.__code__
    if code not in _sources:
        linecache.checkcache(code.co_filename)
        lines = linecache.getlines(code.co_filename, function.__globals__)
        try:
            tree = _parsed("".join(inspect.getblock(lines[code.co_firstlineno - 1 :])))
        except SyntaxError:
            return None
        if not isinstance(tree, ast.FunctionDef):
            return None
        if code_text(code) not in map(code_text, _compiled(tree, code, _imported("".join(lines)))):
            return Source(tree, is_current=False)
        _sources[code] = Source(tree, is_current=True)
    return _sources[code]


def _parsed(text: str) -> ast.AST | None:
    """The first statement of a text that may be indented."""
    if not text[:1].isspace():
        return next(iter(ast.parse(text).body), None)
    block = ast.parse("if True:\n" + text).body[0]
    assert isinstance(block, ast.If)
    return ast.increment_lineno(block.body[0], -1)


@functools.lru_cache(maxsize=8)
def _imported(text: str) -> tuple[str, ...]:
    """The names that a file imports outside functions and classes: Python compiles calls of their parts in a way of
    its own. None where the file cannot be read as a whole any more."""
    try:
        waiting: list[ast.AST] = [ast.parse(text)]
    except SyntaxError:
        return ()
    found = []
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.Import | ast.ImportFrom):
            found += [
                alias.asname or alias.name.partition(".")[0] for alias in node.names if alias.name != "*"
            ]
        elif not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Lambda):
            waiting.extend(ast.iter_child_nodes(node))
    return tuple(found)


def _compiled(
    tree: ast.FunctionDef, like: types.CodeType, imported: tuple[str, ...]
) -> Iterator[types.CodeType]:
    """The code of a definition, compiled where it sees the same outer variables as another code does, and where the
    same names are imported."""
    owner = like.co_qualname.split(".")[-2:-1]
    name = owner[0] if owner and owner[0].isidentifier() else "_"
    outer = ast.parse(f"def outer({', '.join(like.co_freevars)}):\n    class {name}: pass")
    inner = next(node for node in ast.walk(outer) if isinstance(node, ast.ClassDef))
    inner.body = [ast.FunctionDef(**{**dict(ast.iter_fields(tree)), "decorator_list": []})]
    ast.fix_missing_locations(ast.copy_location(inner.body[0], tree))
    outer.body[:0] = ast.parse("".join(f"import _ as {name}\n" for name in imported)).body
    for code in _nested(compile(outer, like.co_filename, "exec", dont_inherit=True)):
        if code.co_name == tree.name:
            yield code


def _nested(code: types.CodeType) -> Iterator[types.CodeType]:
    """The code objects inside a code object, at any depth."""
    for value in code.co_consts:
        if isinstance(value, types.CodeType):
            yield value
            yield from _nested(value)


def all_code(code: types.CodeType) -> Iterator[types.CodeType]:
    """A code object and those inside it: comprehensions and lambdas."""
    yield code
    yield from _nested(code)


def code_text(code: types.CodeType) -> str:
    """A text that tells what a code object does, without where it stands."""
    counts = (code.co_argcount, code.co_posonlyargcount, code.co_kwonlyargcount)
    names = (code.co_names, code.co_varnames, code.co_freevars, code.co_cellvars)
    body = (code.co_code.hex(), code.co_exceptiontable.hex())
    return f"{code.co_name} {counts} {names} {body} {_constant_text(code.co_consts)}"


def _constant_text(value: Any) -> str:
    """A constant with the types of all its parts, sets in a fixed order."""
    if isinstance(value, types.CodeType):
        return code_text(value)
    if isinstance(value, tuple):
        return f"({', '.join(map(_constant_text, value))})"
    if isinstance(value, frozenset):
        return f"{{{', '.join(sorted(map(_constant_text, value)))}}}"
    return f"{type(value).__name__} {value!r}"
