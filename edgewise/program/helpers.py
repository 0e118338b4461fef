"""Checks of what a program's functions, and the helpers that they call, may do and refer to, in whatever file."""

import ast
import difflib
import enum
import inspect
import random
import types
from collections.abc import Iterator
from typing import Any

import numpy as np
from numba.core.dispatcher import Dispatcher

from edgewise.errors import ProgramError
from edgewise.program.assigned import Paths, paths_through
from edgewise.program.declare import Program, Start
from edgewise.program.draws import kinds_of
from edgewise.program.source import Missing, Source, UserFunction, references, source_of
from edgewise.program.strings import no_strings, string_in
from edgewise.program.syntax import refused_syntax

#: Packages whose plain functions the compiler knows.
_KNOWN_PACKAGES = ("numba", "numpy", "edgewise")


def plain_function(value: Any) -> types.FunctionType | None:
    """The Python function of a user's helper, compiled by numba or not; None for anything else."""
    function = value.py_func if isinstance(value, Dispatcher) else value
    if not isinstance(function, types.FunctionType):
        return None
    return None if (function.__module__ or "").partition(".")[0] in _KNOWN_PACKAGES else function


def helpers_of(function: UserFunction) -> Iterator[UserFunction]:
    """The functions that a function calls, those that these call, and so on, each once."""
    waiting, seen = [function.function], {function.function}
    while waiting:
        for value in references(waiting.pop()).values():
            helper = plain_function(value)
            if helper is not None and helper not in seen:
                seen.add(helper)
                waiting.append(helper)
                yield UserFunction(helper.__name__, helper, source_of(helper) or _unread(helper))


def _unread(function: types.FunctionType) -> Source:
    """A stand-in for a source that cannot be read, such as that of a lambda."""
    empty = ast.parse("def unread(): pass").body[0]
    assert isinstance(empty, ast.FunctionDef)
    return Source(empty, False, function.__code__.co_firstlineno)


def check_helpers(function: UserFunction) -> None:
    """Check what a function of a program refers to, and the helpers that it calls.

    Raises:
        ProgramError: naming the function and line that breaks a rule.
    """
    _check_references(function, function)
    for helper in helpers_of(function):
        _check_parameters(helper)
        if helper.source.is_current:
            check_body(helper)
        else:
            _check_unread(helper)
        _check_references(helper, function)


def check_body(function: UserFunction) -> Paths:
    """Refuse syntax that compiled code does not have, and variables that may have no value.

    Returns:
        The facts about the paths through the function; see `paths_through`.
    """
    outside = references(function.function)
    for statement in function.tree.body:
        for node in ast.walk(statement):
            problem = refused_syntax(node, outside)
            if problem is not None:
                raise function.refuse(node, problem)
    text = string_in(function.tree, outside)
    if text is not None:
        raise function.refuse(text, no_strings(ast.unparse(text)))
    paths = paths_through(function)
    if paths.unassigned is not None:
        node, why = paths.unassigned
        raise function.refuse(node, f"'{node.id}' may have no value here: {why}")
    return paths


def _check_parameters(helper: UserFunction) -> None:
    """Refuse parameters that compiled functions cannot have."""
    code = helper.function.__code__
    if code.co_flags & inspect.CO_VARKEYWORDS or code.co_kwonlyargcount:
        raise ProgramError(
            f"{helper.where()}: a helper may not have '**' or keyword-only parameters, those after a '*'; list them as "
            "plain ones, with defaults if need be"
        )


def _check_unread(helper: UserFunction) -> None:
    """Check what a helper's code shows without its source."""
    code = helper.function.__code__
    if code.co_exceptiontable or code.co_flags & (inspect.CO_GENERATOR | inspect.CO_COROUTINE):
        raise ProgramError(
            f"{helper.where()}: its source cannot be read, and it uses try, with or yield, which cannot be used "
            "inside a program's function, or a helper that one calls"
        )
    for constant in code.co_consts:
        if isinstance(constant, str | bytes) and constant != helper.function.__doc__:
            raise ProgramError(f"{helper.where()}: {no_strings(repr(constant))}")


def _check_references(function: UserFunction, caller: UserFunction) -> None:
    """Refuse what a function may not refer to. `caller` is the program's function that calls it, or itself."""
    for name, value in references(function.function).items():
        where = _line_of(function, name)
        if isinstance(value, Missing):
            raise ProgramError(f"{where}: {_misspelt(name, value)}")
        if _draws_elsewhere(value):
            raise ProgramError(
                f"{where}: {name} draws other numbers in each run, whatever the seed; use ew.random(v, state), or "
                "give the numbers as a field: MyProgram(name=array)"
            )
        if isinstance(value, types.ModuleType):
            raise ProgramError(
                f"{where}: {name} is a module, which is no value here; write {name}.something where it is used"
            )
        if isinstance(value, Start):
            raise ProgramError(
                f"{where}: {name} is only for init=; inside a function use math.inf for floats, or compare with a "
                "parameter"
            )
        if kinds_of(value) and function is not caller:
            raise ProgramError(
                f"{where}: a helper may not draw by {name}; draw in {caller.name} and give the number to "
                f"{function.name}"
            )
        if isinstance(value, type) and not isinstance(value, enum.EnumMeta):
            _check_class(function, name, value)
        _check_call(function, name, value, where)


def _misspelt(name: str, missing: Missing) -> str:
    """The message for a dotted name that leads to nothing."""
    owner = name.rpartition(".")[0]
    known = [each for each in dir(missing.module) if not each.startswith("_")]
    near = difflib.get_close_matches(missing.name, known, n=1)
    return f"{owner} has no '{missing.name}'" + (f"; did you mean {owner}.{near[0]}?" if near else "")


def _check_call(function: UserFunction, name: str, value: Any, where: str) -> None:
    """Refuse a function that calls itself, and a plain function as a part of a module, which compilers do not find."""
    if plain_function(value) is function.function:
        raise ProgramError(f"{where}: {name} calls itself; write it with a loop")
    if "." in name and isinstance(value, types.FunctionType) and plain_function(value) is not None:
        raise ProgramError(
            f"{where}: {name} is a Python function, and is only found under a name of its own; write from "
            f"{value.__module__} import {value.__name__}, and call {value.__name__}"
        )


def _line_of(function: UserFunction, name: str) -> str:
    """The line on which a function first uses a name."""
    for node in ast.walk(function.tree):
        if isinstance(node, ast.Name | ast.Attribute) and ast.unparse(node) == name:
            return function.where(node.lineno)
    return function.where()


def _draws_elsewhere(value: Any) -> bool:
    """Whether a value belongs to Python's or NumPy's random numbers."""
    module = value.__name__ if isinstance(value, types.ModuleType) else getattr(value, "__module__", None)
    owners = (random.Random, np.random.Generator, np.random.RandomState)
    if isinstance(value, owners) or isinstance(getattr(value, "__self__", None), owners):
        return True
    return isinstance(module, str) and (module == "random" or module.split(".")[:2] == ["numpy", "random"])


def _check_class(function: UserFunction, name: str, owner: type) -> None:
    """Refuse a reference to a function of a class, or to any attribute of a program."""
    for node in ast.walk(function.tree):
        if isinstance(node, ast.Attribute) and ast.unparse(node.value) == name:
            part = getattr(owner, node.attr, None)
            if issubclass(owner, Program) and hasattr(Program, node.attr):
                raise function.refuse(
                    node,
                    f"{name}.{node.attr} is a function of a program, which no other can call; write what it does here, "
                    "or in a function outside of classes that is given numbers",
                )
            if issubclass(owner, Program) or inspect.isroutine(part):
                what = "function" if inspect.isroutine(part) else "value"
                raise function.refuse(
                    node,
                    f"{name}.{node.attr} cannot be used inside a program's function; define this {what} outside of "
                    f"classes: {node.attr}",
                )
