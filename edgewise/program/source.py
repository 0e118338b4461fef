"""The source of the user's functions, whether their code was compiled from it, and what they refer to."""

import ast
import copy
import dis
import functools
import inspect
import itertools
import linecache
import os
import types
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

from edgewise.errors import ProgramError


class Source(NamedTuple):
    """The source of a function.

    Attributes:
        tree: the definition; its lines count from 1.
        is_current: whether it compiles to the function's code; it does not if the file was edited since.
        first_line: the line of its first decorator, or of its ``def``.
    """

    tree: ast.FunctionDef
    is_current: bool
    first_line: int


@dataclass(frozen=True, eq=False)
class UserFunction:
    """One function of a program, or a helper that it calls, and where its source stands."""

    name: str
    function: types.FunctionType
    source: Source

    @property
    def tree(self) -> ast.FunctionDef:
        """Its definition."""
        return self.source.tree

    @property
    def file(self) -> str:
        """The file that it stands in."""
        return self.function.__code__.co_filename

    @property
    def first_line(self) -> int:
        """The line of its first decorator, or of its ``def``."""
        return self.source.first_line

    @property
    def arguments(self) -> list[str]:
        """The names of its parameters."""
        return [argument.arg for argument in self.tree.args.args]

    def where(self, line: int | None = None) -> str:
        """The function, file and line, for messages. `line` counts from the first line of the function."""
        shown = self.first_line if line is None else self.first_line + line - 1
        return f"{self.name} in {os.path.basename(self.file)}, line {shown}"

    def has(self, file: str, line: int) -> bool:
        """Whether a line of a file, perhaps given by the end of its path, is one of the function's."""
        lines = range(self.first_line, self.first_line + (self.tree.end_lineno or 1))
        same = os.path.abspath(file) == os.path.abspath(self.file) or self.file.endswith(os.sep + file)
        return same and line in lines

    def refuse(self, node: ast.AST, problem: str) -> ProgramError:
        """The error for a node of this function."""
        return ProgramError(f"{self.where(getattr(node, 'lineno', 1))}: {problem}")


_sources: dict[types.CodeType, Source] = {}


def source_of(function: types.FunctionType) -> Source | None:
    """The source of a function, kept once it was read; None if there is none, or it is not a ``def``."""
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
        if code_text(code) not in map(code_text, _compiled(tree, code)):
            return Source(tree, False, code.co_firstlineno)
        _sources[code] = Source(tree, True, code.co_firstlineno)
    return _sources[code]


def _parsed(text: str) -> ast.AST | None:
    """The first statement of a text that may be indented."""
    if not text[:1].isspace():
        return next(iter(ast.parse(text).body), None)
    block = ast.parse("if True:\n" + text).body[0]
    assert isinstance(block, ast.If)
    return ast.increment_lineno(block.body[0], -1)


def compiled_like(tree: ast.FunctionDef, function: types.FunctionType, **outside: Any) -> types.FunctionType:
    """A function like this one, but compiled from another definition, whose lines count from 1, and with these globals
    besides."""
    moved = ast.increment_lineno(copy.deepcopy(tree), function.__code__.co_firstlineno - 1)
    code = next(_compiled(moved, function.__code__))
    cells = dict(zip(function.__code__.co_freevars, function.__closure__ or (), strict=True))
    closure = tuple(cells[name] for name in code.co_freevars)
    made = types.FunctionType(code, function.__globals__, function.__name__, function.__defaults__, closure)
    return with_others(made, outside)


def rewritten(tree: ast.FunctionDef, function: UserFunction) -> types.FunctionType:
    """A function like that of a program, but compiled from another definition, which is its source from now on."""
    made = compiled_like(ast.fix_missing_locations(tree), function.function)
    _sources[made.__code__] = Source(tree, True, function.first_line)
    return made


def with_others(
    function: types.FunctionType, others: dict[str, Any], code: types.CodeType | None = None
) -> types.FunctionType:
    """The function with other values for some names outside of it, also dotted names, and perhaps with other code."""
    if not others and code is None:
        return function
    cells = dict(zip(function.__code__.co_freevars, function.__closure__ or (), strict=True))
    changed: dict[str, Any] = {}
    for name, value in others.items():
        first, *parts = name.split(".")
        if parts and first not in changed:
            changed[first] = cells[first].cell_contents if first in cells else function.__globals__[first]
        changed[first] = _with_part(changed.get(first), parts, value)
    code = code or function.__code__
    closure = tuple(
        types.CellType(changed[name]) if name in changed else cell
        for name, cell in zip(code.co_freevars, function.__closure__ or (), strict=True)
    )
    made = types.FunctionType(
        code, {**function.__globals__, **changed}, function.__name__, function.__defaults__, closure
    )
    made.__kwdefaults__ = function.__kwdefaults__
    return made


def _with_part(module: Any, parts: list[str], value: Any) -> Any:
    """A copy of a module with another value for a part of it, or of a module in it; without parts, the value."""
    if not parts:
        return value
    copied = types.ModuleType(module.__name__)
    vars(copied).update(vars(module))
    setattr(copied, parts[0], _with_part(getattr(module, parts[0]), parts[1:], value))
    return copied


@functools.lru_cache(maxsize=8)
def _imported(text: str) -> tuple[str, ...]:
    """The names that a file imports outside functions and classes: Python compiles calls of their parts differently.
    Empty if the file can no longer be read as a whole."""
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


def _compiled(tree: ast.FunctionDef, like: types.CodeType) -> Iterator[types.CodeType]:
    """The code of a definition, compiled with the outer variables of another code and with the same imported names."""
    imported = _imported("".join(linecache.getlines(like.co_filename)))
    owner = like.co_qualname.split(".")[-2:-1]
    name = owner[0] if owner and owner[0].isidentifier() else "_"
    # A class that is no outer variable of its functions is a global one.
    scope = "" if name in like.co_freevars else f"    global {name}\n"
    outer = ast.parse(f"def _({', '.join(like.co_freevars)}):\n{scope}    class {name}: pass")
    inner = next(node for node in ast.walk(outer) if isinstance(node, ast.ClassDef))
    inner.body = [ast.FunctionDef(**{**dict(ast.iter_fields(tree)), "decorator_list": []})]
    ast.fix_missing_locations(ast.copy_location(inner.body[0], tree))
    outer.body[0].name = "<outer>"  # type: ignore[attr-defined]  # which no function of a user is called
    outer.body[:0] = ast.parse("".join(f"import _ as {name}\n" for name in imported)).body
    for code in _nested(compile(outer, like.co_filename, "exec", dont_inherit=True)):
        if code.co_name == tree.name and code.co_flags & inspect.CO_OPTIMIZED:  # a function, no class
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


class Missing(NamedTuple):
    """The value of a dotted name if a module has no part of that name."""

    module: types.ModuleType
    name: str


class Reference(NamedTuple):
    """The value of a name outside a function, and how to look it up again."""

    name: str
    value: Any
    look_up: Callable[[], Any]


def references(function: types.FunctionType) -> dict[str, Any]:
    """The values that a function refers to outside itself, by dotted name: globals, closure values, parts of modules.

    A dotted name goes as far as it leads through modules.
    """
    return {each.name: each.value for each in all_references(function)}


def all_references(function: types.FunctionType) -> Iterator[Reference]:
    """The references of a function, once for each use of a name."""
    cells = dict(zip(function.__code__.co_freevars, function.__closure__ or (), strict=True))
    for code in all_code(function.__code__):
        # Python does not list instructions with integers of more than 4,300 digits.
        plain = code.replace(co_consts=(None,) * len(code.co_consts))
        steps = [step for step in dis.get_instructions(plain) if step.opname != "EXTENDED_ARG"]
        for i, step in enumerate(steps):
            name = step.argval
            if step.opname == "LOAD_DEREF" and name in cells:
                begin: Callable[[], Any] = functools.partial(getattr, cells[name], "cell_contents")
            elif step.opname == "LOAD_GLOBAL" and name in function.__globals__:
                begin = functools.partial(function.__globals__.get, name)
            else:
                continue
            value, parts = begin(), list[str]()
            for part in itertools.takewhile(
                lambda step: step.opname in ("LOAD_ATTR", "LOAD_METHOD"), steps[i + 1 :]
            ):
                if not isinstance(value, types.ModuleType):
                    break
                parts.append(part.argval)
                value = getattr(value, part.argval, Missing(value, part.argval))
            yield Reference(".".join((name, *parts)), value, functools.partial(_follow, begin, parts))


def _follow(begin: Callable[[], Any], parts: list[str]) -> Any:
    """The present value of a dotted name."""
    value = begin()
    for part in parts:
        value = getattr(value, part, None)
    return value


def code_text(code: types.CodeType) -> str:
    """A text for what a code object does, whatever its file and lines."""
    counts = (code.co_argcount, code.co_posonlyargcount, code.co_kwonlyargcount)
    names = (code.co_names, code.co_varnames, code.co_freevars, code.co_cellvars)
    body = (code.co_code.hex(), code.co_exceptiontable.hex())
    return f"{code.co_name} {counts} {names} {body} {constant_text(code.co_consts)}"


def constant_text(value: Any) -> str:
    """A text for a constant with the types of all its parts, sets in a fixed order."""
    if isinstance(value, types.CodeType):
        return code_text(value)
    if isinstance(value, tuple):
        return f"({', '.join(map(constant_text, value))})"
    if isinstance(value, frozenset):
        return f"{{{', '.join(sorted(map(constant_text, value)))}}}"
    # Python refuses to write integers of more than 4,300 digits, but for those to the base 16.
    return f"{type(value).__name__} {hex(value) if type(value) is int else repr(value)}"
