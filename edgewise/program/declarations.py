"""The declarations of a program's class. Names, options and values that would mean nothing are refused."""

import ast
import difflib
import keyword
import linecache
import os
import sys
import types
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from edgewise.errors import ProgramError
from edgewise.program.declare import (
    LEFT_OUT,
    WEIGHT,
    Aggregator,
    Combiner,
    EdgeField,
    Fields,
    Parameter,
    Program,
    Start,
    VertexField,
    is_number,
)
from edgewise.program.draws import kinds_of
from edgewise.program.source import all_code
from edgewise.text import shown

#: The scalars that every state has besides the program's own names.
STATE_SCALARS = ("num_vertices", "num_arcs", "superstep")
STATE_ARRAYS = ("out_degree", "in_degree")
EDGE_NAMES = ("source", "target", "index")
HOOKS = ("initialize", "edge_compute", "vertex_compute", "resume", "proceed")
#: The parameters of each function of a program.
PARAMETERS = {
    "initialize": ("v", "state"),
    "edge_compute": ("edge", "state"),
    "vertex_compute": ("v", "message", "state"),
    "resume": ("v", "state"),
    "proceed": ("state",),
    "combine": ("a", "b"),
}
#: The attributes that a program may set beside fields, parameters, aggregators and functions.
SETTINGS = ("combine", "message", "asynchronous", "max_supersteps")
#: Options of a call: no field or parameter may have these names.
_OPTIONS = ("progress", "memory_limit", "check")


class Declarations(NamedTuple):
    """The fields, parameters and aggregators of a program, by name."""

    vertex_fields: dict[str, VertexField]
    edge_fields: dict[str, EdgeField]
    parameters: dict[str, Parameter]
    aggregators: dict[str, Aggregator]


def declarations(program: type[Program]) -> Declarations:
    """Sort the attributes of a class into fields, parameters and aggregators.

    Raises:
        ProgramError: an attribute, an option or a name that means nothing, or something else.
    """
    found = Declarations({}, {}, {}, {})
    kinds = (VertexField, EdgeField, Parameter, Aggregator)
    groups: tuple[dict[str, Any], ...] = found
    for base in reversed(program.__mro__):
        for name, value in vars(base).items():
            for kind, declared in zip(kinds, groups, strict=True):
                declared.pop(name, None)
                if isinstance(value, staticmethod) and isinstance(value.__func__, kind):
                    raise refusal(
                        program, name, ": write @ew.aggregator(...) above @staticmethod, not below it"
                    )
                if isinstance(value, kind):
                    declared[name] = value
                    _check_name(program, name, kind)
    combine = getattr(program, "combine", None)
    if not isinstance(combine, Combiner):
        raise refusal(
            program,
            "combine",
            f" is {shown(combine)}; expected ew.MIN, MAX, SUM, PRODUCT, ANY, ALL, MESSAGES or "
            "ew.combiner(function, identity=...)",
        )
    for group in groups[:3]:
        for name, value in group.items():
            _check_options(program, name, value)
    _check_message_fields(program)
    _check_attributes(program, {name for group in groups for name in group})
    return found


def refusal(program: type[Program], name: str, problem: str) -> ProgramError:
    """The error for an attribute of a program's class."""
    return ProgramError(f"{place_of(program, name)}{program.__name__}.{name}{problem}")


def _check_name(program: type[Program], name: str, kind: type) -> None:
    reserved = {*STATE_SCALARS, *STATE_ARRAYS, *PARAMETERS, *SETTINGS, *_OPTIONS, "values", "self"}
    if name in reserved or (kind is EdgeField and name in EDGE_NAMES):
        raise refusal(program, name, ": this name is taken; choose another")
    if name.startswith("_"):
        raise refusal(program, name, ": a name may not begin with an underscore")


def _check_options(program: type[Program], name: str, declared: VertexField | EdgeField | Parameter) -> None:
    """Refuse options of a declaration that would mean nothing, and values that one vertex or edge cannot have."""
    if isinstance(declared, Parameter):
        if isinstance(declared.default, Start):
            raise refusal(
                program, name, f": default={shown(declared.default)}; that is only for init= of a field"
            )
        return
    if isinstance(declared, EdgeField):
        weights = declared.dtype is WEIGHT
        if weights and declared.init is not LEFT_OUT:
            raise refusal(
                program,
                name,
                f": init={shown(declared.init)} would never be used, since ew.WEIGHT makes it the graph's weights; "
                "give default= for graphs without weights, or another dtype",
            )
        if not weights and declared.default is not LEFT_OUT:
            raise refusal(
                program,
                name,
                f": default={shown(declared.default)} is for the weights of an unweighted graph, and this field is no "
                "ew.WEIGHT; give init= for the value of all edges",
            )
        if weights:
            return _check_number(program, name, "default", declared.default)
    _check_number(program, name, "init", declared.init)


def _check_number(program: type[Program], name: str, option: str, value: Any) -> None:
    """Refuse an initial value of all vertices or edges that is not a single number."""
    if value is LEFT_OUT or (option == "init" and isinstance(value, Start)) or is_number(value):
        return
    hint = "one number for all; a field with a value for each is given when the program is made: "
    raise refusal(
        program, name, f": {option}={shown(value)}; expected {hint}{program.__name__}({name}=array)"
    )


def _check_attributes(program: type[Program], declared: set[str]) -> None:
    """Refuse attributes that mean nothing; most are misspelt."""
    known = (*HOOKS, *SETTINGS)
    for base in program.__mro__:
        if base in (Program, object):
            continue
        for name, annotation in vars(base).get("__annotations__", {}).items():
            if name not in vars(base):
                _check_annotation(program, name, annotation, known)
        for name, value in vars(base).items():
            if not (name.startswith("_") or name in known or name in declared):
                _check_attribute(program, name, value, known)
    if not isinstance(program.asynchronous, bool):
        raise refusal(program, "asynchronous", f" is {shown(program.asynchronous)}; expected True or False")


def _check_attribute(program: type[Program], name: str, value: Any, known: tuple[str, ...]) -> None:
    """Refuse an attribute that programs do not have, unless it is code of the user's own."""
    code = isinstance(value, types.FunctionType | staticmethod | classmethod | property | type)
    own = code and not _is_dtype(value)
    near = _near(name, (*HOOKS, "combine") if own else known)
    if near and not own:
        raise refusal(program, name, f" means nothing; did you mean {near}?")
    if near and _may_be_meant_for(near, value) and not _is_used(program, name, value):
        advice = f"did you mean {near}? The name of a function of your own may begin with an underscore"
        raise refusal(program, name, f" means nothing; {advice}")
    if _looks_like_hook(value) and not _is_used(program, name, value):
        raise refusal(
            program,
            name,
            f"({', '.join(_arguments(value))}) is never called; the functions of a program that are: "
            f"{', '.join(HOOKS)}. Define what these call outside of the class, or begin its name with an underscore",
        )
    if kinds_of(value):
        raise refusal(
            program,
            name,
            f": functions do not see the names of their class; write {name} = ... outside of it",
        )
    if not code and not isinstance(value, VertexField | EdgeField | Parameter | Aggregator):
        raise refusal(
            program,
            name,
            " means nothing to a run: a program has fields, parameters, aggregators, "
            f"{', '.join(known)}. Declare {name} = ew.parameter(default={shown(value)}), or begin its name with an "
            "underscore",
        )


def _is_dtype(value: Any) -> bool:
    """Whether a class is one of numbers, which declares a dtype."""
    return isinstance(value, type) and (value in (bool, int, float) or issubclass(value, np.generic))


def _near(name: str, known: tuple[str, ...]) -> str | None:
    """The known name that a misspelt name was likely meant to be."""
    return next(iter(difflib.get_close_matches(name.lower(), known, n=1, cutoff=0.8)), None)


def _check_annotation(program: type[Program], name: str, annotation: Any, known: tuple[str, ...]) -> None:
    """Refuse an annotation without a value where a value was meant: ``max_supersteps: 7``."""
    near = name if name in known else _near(name, known)
    is_value = is_number(annotation) or isinstance(annotation, VertexField | EdgeField | Parameter | Combiner)
    if near or is_value:
        raise refusal(
            program,
            name,
            f" is only annotated, which gives it no value; write {near or name} = ... in the class",
        )


def _function_of(value: Any) -> types.FunctionType | None:
    """The plain function behind an attribute of a class, if there is one."""
    if isinstance(value, staticmethod | classmethod):
        value = value.__func__
    elif isinstance(value, property):
        value = value.fget
    elif isinstance(value, Aggregator | Combiner):
        value = value.function
    value = getattr(value, "py_func", value)  # where numba compiled it
    return value if isinstance(value, types.FunctionType) else None


def _arguments(value: Any) -> tuple[str, ...]:
    function = _function_of(value)
    return function.__code__.co_varnames[: function.__code__.co_argcount] if function else ()


def _may_be_meant_for(hook: str, value: Any) -> bool:
    """Whether a function could be called as a hook: a method of an instance or a class and a property could not."""
    arguments = _arguments(value)
    if arguments[-1:] == ("state",):
        return True
    is_method = not isinstance(value, types.FunctionType | staticmethod) or arguments[:1] in (
        ("self",),
        ("cls",),
    )
    return not is_method and len(arguments) == len(PARAMETERS[hook])


def _looks_like_hook(value: Any) -> bool:
    """Whether a function takes the state, as the functions that a run calls do."""
    return isinstance(value, types.FunctionType | staticmethod) and _arguments(value)[-1:] == ("state",)


def _is_used(program: type[Program], name: str, value: Any) -> bool:
    """Whether anything in the class uses a function of it."""
    for base in program.__mro__:
        for other_name, other in vars(base).items():
            function = _function_of(other)
            if function is None or other_name == name:
                continue
            if function is _function_of(value):  # under a name that is called
                return True
            if any(name in code.co_names for code in all_code(function.__code__)):
                return True
    return False


def _check_message_fields(program: type[Program]) -> None:
    """Refuse a message of several fields that the program cannot have."""
    declared = program.message
    if not isinstance(declared, Fields):
        return
    if program.combine.name != "MESSAGES":
        raise refusal(
            program,
            "message",
            f": messages of several fields are not combined by {program.combine.name}; set combine = "
            "ew.MESSAGES, and go over all messages in vertex_compute",
        )
    names = tuple(declared.dtypes)
    if not names or any(
        not name.isidentifier() or keyword.iskeyword(name) or name.startswith("_") for name in names
    ):
        raise refusal(
            program,
            "message",
            f" has the fields {names}; expected at least one, and none that begins with '_' or is no name in Python",
        )


def place_of(program: type[Program], name: str | None = None) -> str:
    """The place of a class, or of an attribute of it: "roads.py, line 7: "; empty if it is not known."""
    for base in program.__mro__:
        if base in (Program, object):
            break
        if name is None or name in vars(base) or name in vars(base).get("__annotations__", {}):
            return _place_in(base, name)
    return _place_in(program, None)


def _place_in(owner: type, name: str | None) -> str:
    """`place_of` for one class, its bases not searched; its functions know their file, also in a notebook."""
    functions = [function for function in map(_function_of, vars(owner).values()) if function]
    code = [each.__code__ for each in functions if each.__qualname__.startswith(f"{owner.__qualname__}.")]
    file = code[0].co_filename if code else getattr(sys.modules.get(owner.__module__), "__file__", None)
    linecache.checkcache(file)
    try:
        tree = ast.parse("".join(linecache.getlines(file or "")))
    except SyntaxError:
        return ""
    for qualified, node in _classes(tree):
        own = range(node.lineno, (node.end_lineno or node.lineno) + 1)
        if qualified == owner.__qualname__ and (not code or any(c.co_firstlineno in own for c in code)):
            line = next((each.lineno for each in node.body if name in _names(each)), node.lineno)
            return f"{os.path.basename(file or '')}, line {line}: "
    return ""


def _classes(node: ast.AST, prefix: str = "") -> Iterator[tuple[str, ast.ClassDef]]:
    """The classes of a file with their qualified names."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.ClassDef):
            yield f"{prefix}{child.name}", child
            yield from _classes(child, f"{prefix}{child.name}.")
        elif isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef):
            yield from _classes(child, f"{prefix}{child.name}.<locals>.")
        else:
            yield from _classes(child, prefix)


def _names(statement: ast.stmt) -> set[str]:
    """The names that a statement of a class gives a value or an annotation."""
    if isinstance(statement, ast.FunctionDef):
        return {statement.name}
    if not isinstance(statement, ast.Assign | ast.AnnAssign):
        return set()
    targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
    return {node.id for target in targets for node in ast.walk(target) if isinstance(node, ast.Name)}
