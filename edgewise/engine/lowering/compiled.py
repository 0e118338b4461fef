"""A program's functions, compiled by numba: types are checked, and numba's errors put in the user's terms."""

import ast
import os
import re
import types as python_types
from collections import namedtuple
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numba
import numpy as np
from numba import types
from numba.core import errors, ir
from numba.core.dispatcher import Dispatcher

from edgewise.engine.lowering.binding import Binding
from edgewise.errors import ProgramError
from edgewise.kernels.cache import program_function
from edgewise.kernels.cpu.pointers import pointer_type
from edgewise.program.declarations import STATE_ARRAYS, STATE_SCALARS
from edgewise.program.helpers import helpers_of, plain_function
from edgewise.program.inspect import Specification
from edgewise.program.source import UserFunction, references, with_others
from edgewise.program.syntax import takes_memory
from edgewise.text import shortened


def state_names(spec: Specification) -> tuple[str, ...]:
    """The names that a state carries: those that some function uses, in a fixed order."""
    declared = (*spec.vertex_fields, *spec.edge_fields, *spec.parameters, *spec.aggregators)
    return tuple(name for name in (*declared, *STATE_SCALARS, *STATE_ARRAYS) if name in spec.state_reads)


def edge_names(spec: Specification) -> tuple[str, ...]:
    """The names that an edge carries: both ends, and those that edge_compute uses."""
    optional = tuple(name for name in ("index", *spec.edge_fields) if name in spec.edge_reads)
    return ("source", "target", *optional)


@dataclass(frozen=True, eq=False)
class CompiledProgram:
    """The functions of a program as dispatchers of numba or numba-cuda, and the tuples that they are called with.

    `messages_class` is only for messages of several fields. `anew` has what replaces the user's own dispatchers.
    """

    functions: dict[str, Any]
    state_class: Any
    edge_class: Any
    messages_class: Any
    anew: dict[Any, Any]


def compiled_for(spec: Specification, compile_function: Callable[[Any], Any]) -> CompiledProgram:
    """The compiled functions of a program, made once for each compiler."""
    if compile_function not in spec.kept:
        spec.kept[compile_function] = compiled_program(spec, compile_function)
    made: CompiledProgram = spec.kept[compile_function]
    return made


def compiled_program(
    spec: Specification, compile_function: Callable[[Any], Any] = program_function
) -> CompiledProgram:
    """Wrap a program's functions for a compiler. Plain Python helpers that they call are compiled along."""
    made: dict[Any, Any] = {}
    functions = {
        name: _compiled(_with_safe_names(function.function), made, compile_function)
        for name, function in spec.functions.items()
    }
    if not spec.sends:
        functions["edge_compute"] = _silent(functions["edge_compute"], spec, compile_function)
    classes = {
        "State": state_names(spec) or ("superstep",),
        "Edge": edge_names(spec),
        "Messages": spec.message_fields,
    }
    safe = {
        name: tuple_class(name, tuple(_SAFE_NAMES.get(field, field) for field in fields))
        for name, fields in classes.items()
    }
    anew = {each: made[each] for each in made if isinstance(each, Dispatcher)}
    return CompiledProgram(functions, safe["State"], safe["Edge"], safe["Messages"], anew)


def _silent(function: Any, spec: Specification, compile_function: Callable[[Any], Any]) -> Any:
    """An edge_compute that returns only None, with a message that it never sends, from which numba infers a dtype."""
    width = len(spec.message_fields)
    message = (0,) * width if width else spec.combine.name not in ("ANY", "ALL") and 0

    def silent(edge: Any, state: Any) -> Any:
        function(edge, state)
        if edge.source < 0:
            return message
        return None

    return compile_function(silent)


def tuple_class(name: str, fields: tuple[str, ...]) -> Any:
    """A class of named tuples with these fields."""
    return namedtuple(name, fields)


#: Tuples have methods of these names, and numba-cuda finds those first.
_SAFE_NAMES = {"count": "count_", "index": "index_"}


def _with_safe_names(function: Any) -> Any:
    """The function with `state.count`, `edge.index` and the like renamed as in the tuples."""
    names = function.__code__.co_names
    if not _SAFE_NAMES.keys() & set(names):
        return function
    code = function.__code__.replace(co_names=tuple(_SAFE_NAMES.get(name, name) for name in names))
    outside = {
        safe: function.__globals__[name] for name, safe in _SAFE_NAMES.items() if name in function.__globals__
    }
    return with_others(function, outside, code)


def _compiled(function: Any, made: dict[Any, Any], compile_function: Callable[[Any], Any]) -> Any:
    """A dispatcher for a function, in whose globals dispatchers replace the user's other functions.

    The user's own numba dispatchers are made anew. `made` keeps dispatchers by what they were made of.
    """
    by_numba = isinstance(function, Dispatcher)
    plain = function.py_func if by_numba else function
    if function in made:
        if made[function] is None:
            code = plain.__code__
            raise ProgramError(
                f"{plain.__name__} in {os.path.basename(code.co_filename)}, line {code.co_firstlineno}: it calls "
                "itself by way of another function; put it into one function or a loop"
            )
        return made[function]
    made[function] = None
    replaced = {
        name: _compiled(value, made, compile_function)
        for name, value in references(plain).items()
        if value is not function and _is_replaced(name, value, by_numba)
    }
    now = with_others(plain, replaced)
    made[function] = _anew(function, now) if by_numba else compile_function(now)
    return made[function]


def _is_replaced(name: str, value: Any, by_numba: bool) -> bool:
    """Whether a value that a function refers to is replaced; `by_numba`: the function is a numba dispatcher's."""
    if isinstance(value, Dispatcher):
        return plain_function(value) is not None
    return isinstance(value, python_types.FunctionType) and "." not in name and not by_numba


def _anew(dispatcher: Any, function: Any) -> Any:
    """A dispatcher like the user's, for the same function with the present values of its globals. The user's has the
    values with which it was compiled."""
    pipeline = dispatcher._compiler.pipeline_class
    made = type(dispatcher)(function, dispatcher.locals, dispatcher.targetoptions, pipeline)
    if not dispatcher._can_compile:
        for signature in dispatcher.nopython_signatures:
            made.compile(signature)
        made.disable_compile()
    return made


def numba_type(dtype: np.dtype) -> Any:
    """The numba type of a NumPy dtype."""
    return numba.from_dtype(dtype)


def check_types(compiled: CompiledProgram, binding: Binding, parameters: dict[str, Any]) -> np.dtype:
    """Compile every function for the types that it is called with; check what it returns and stores.

    Returns:
        The dtype of messages: the declared one, or that of what edge_compute returns.

    Raises:
        ProgramError: what numba cannot compile, or a value that does not fit its declared dtype.
    """
    spec = binding.spec
    state = _state_type(compiled, binding, parameters)
    edge = types.NamedTuple(
        [
            numba_type(binding.edge[name]) if name in binding.edge else types.int64
            for name in edge_names(spec)
        ],
        compiled.edge_class,
    )
    sent = _return_type(compiled, spec, "edge_compute", edge, state)
    message = binding.message or _message_dtype(spec.functions["edge_compute"], sent)
    _check_message(spec.functions["edge_compute"], sent, message)
    if spec.combine.name == "user":
        both = numba_type(message)
        _check_fits(
            spec.functions["combine"],
            _return_type(compiled, spec, "combine", both, both),
            message,
            "a combined message",
        )
    votes = {
        "initialize": (types.int64,),
        "resume": (types.int64,),
        "vertex_compute": (types.int64, _incoming_type(compiled, spec, message)),
        "proceed": (),
    }
    for name, arguments in votes.items():
        returned = _return_type(compiled, spec, name, *arguments, state)
        if not isinstance(
            returned, types.Boolean | types.Integer | types.IntegerLiteral | types.BooleanLiteral
        ):
            wanted = "True or False" if name == "proceed" else "ACTIVE or HALT"
            raise ProgramError(f"{spec.functions[name].where()}: it returns {returned}; expected {wanted}")
    for name, dtype in binding.aggregates.items():
        _check_fits(
            spec.functions[name],
            _return_type(compiled, spec, name, types.int64, state),
            dtype,
            "an aggregate",
        )
    return message


def _incoming_type(compiled: CompiledProgram, spec: Specification, message: np.dtype) -> Any:
    """The type of what vertex_compute is given: a message, or arrays of them."""

    def values(dtype: np.dtype) -> Any:
        return types.Array(numba_type(dtype), 1, "A")

    if message.names is not None:
        return types.NamedTuple([values(message[name]) for name in message.names], compiled.messages_class)
    return values(message) if spec.keeps_messages else numba_type(message)


def _state_type(compiled: CompiledProgram, binding: Binding, parameters: dict[str, Any]) -> Any:
    kinds: dict[str, Any] = dict.fromkeys(STATE_SCALARS, types.int64)
    kinds |= {name: pointer_type(types.int32) for name in STATE_ARRAYS}
    kinds |= {
        name: pointer_type(numba_type(dtype)) for name, dtype in {**binding.vertex, **binding.edge}.items()
    }
    kinds |= {name: numba_type(dtype) for name, dtype in binding.aggregates.items()}
    kinds |= {name: numba.typeof(value) for name, value in parameters.items()}
    names = state_names(binding.spec) or ("superstep",)
    return types.NamedTuple([kinds[name] for name in names], compiled.state_class)


def _return_type(compiled: CompiledProgram, spec: Specification, name: str, *arguments: Any) -> Any:
    """Compile one function for these argument types; what it returns."""
    function, dispatcher = spec.functions[name], compiled.functions[name]
    try:
        dispatcher.compile(arguments)
    except (errors.NumbaError, errors.UnsupportedBytecodeError) as error:
        raise _in_users_terms(function, error, spec.keeps_messages) from None
    except AssertionError as error:  # numba's own checks of what it has no form of
        raise _in_users_terms(function, error, spec.keeps_messages) from error
    result: Any = dispatcher.overloads[arguments]
    _check_stores(function, result.type_annotation)
    return result.signature.return_type


def _in_users_terms(function: UserFunction, error: Exception, keeps_messages: bool) -> ProgramError:
    """numba's message, shortened to what it could not do and the user's line."""
    text = _COLOURS.sub("", str(error))
    owner, line = _place(function, text, getattr(error, "loc", None))
    if "NRT required" in text or "lookup failed for function" in text:
        for node in ast.walk(owner.tree):
            if isinstance(node, ast.List):
                return owner.refuse(node, takes_memory("a list"))
    stored = re.search(r"Cannot cast (.+?) to (\w+): .*\n.*lowering .* = ", text)
    if stored:
        return ProgramError(
            f"{owner.where(line)}: {_plain_kind(stored[1])} is stored into a field of {stored[2]}; expected a number"
        )
    problem = _problem(text)
    if "allocate" in problem and not keeps_messages:
        return ProgramError(f"{owner.where(line)}: {takes_memory('an array')}")
    if _MESSAGES.search(problem) or "allocate" in problem:
        return ProgramError(f"{owner.where(line)}: {_plain_kind(problem)} cannot be used like that; {_USES}")
    return ProgramError(
        f"{owner.where(line)}: numba cannot compile this: {problem}. Functions of a program may use numbers, the "
        "state, the edge, math and numpy scalars"
    )


#: What numba writes for a terminal between the words of a message, where colorama is installed.
_COLOURS = re.compile(r"\x1b\[[0-9;]*m")
#: How numba writes the type of messages that are not combined, which no other array has.
_MESSAGES = re.compile(r"array\([^()]*, 1d, A\)")
_USES = (
    "of messages there are len(...), an index, a slice and a for loop, and nothing that would take memory. They may be "
    "sorted where they lie, by a loop"
)


def _place(function: UserFunction, text: str, location: Any) -> tuple[UserFunction, int]:
    """The innermost function of the user's that a message of numba names, and its line, counted from its first one."""
    places = re.findall(r'(?:File "| at | from )([^"\n]+?)(?:", line | \()(\d+)', text)
    if location is not None:
        places.append((location.filename, location.line))
    users = [function, *helpers_of(function)]
    named = [
        (each, int(line) - each.first_line + 1)
        for file, line in places
        for each in users
        if each.has(file, int(line))
    ]
    if not named:
        return function, 1
    # Of several lines, the last one is that of the statement: others are where it leads to.
    return next(place for place in reversed(named) if place[0] is named[0][0])


def _plain_kind(text: str) -> str:
    """What a message of numba calls by its type, in words."""
    if _MESSAGES.search(text) or "allocate" in text:
        return "an array of messages"
    names = {"none": "None", "Literal[str]": "a string", "unicode_type": "a string"}
    names |= {"Tuple": "a tuple", "UniTuple": "a tuple"}
    return next((name for begin, name in names.items() if text.startswith(begin)), f"a {text}")


#: Characters of a message of numba that are repeated.
_LONGEST_PROBLEM = 300
#: The types of what compilers do not know, in words.
_KINDS = {"type": "a class", "builtin_function_or_method": "a function of Python"}


def _problem(text: str) -> str:
    """What a message of numba is about, in one line."""
    missing = re.search(r"No implementation of function (.+?) found for signature:\s*>>> (.+)", text)
    if missing:
        return f"there is no {' '.join(missing[2].split())}"
    if "NRT required" in text:
        return "it takes memory (an array, a list, a string) while it runs"
    outside = re.search(
        r"Untyped global name '(.+?)':.* Cannot determine Numba type of <class '(.+?)'>", text
    )
    if outside:
        return f"it does not know {outside[1]}, {_KINDS.get(outside[2], 'of the type ' + outside[2])}"
    large = re.search(r"Untyped global name '(.+?)':.* (?:Int value is too large|Exceeds the limit)", text)
    if large:
        return f"{large[1]} is, or holds, an integer that does not fit in 64 bits"
    changing = re.search(r"a reflected (list|set)\(.*assigned to variable '(.+?)'", text)
    if changing:
        return f"{changing[2]} is a {changing[1]}, which may change; make it a tuple, or an array of NumPy"
    if "OverloadSelector object" in text:
        return "a value from outside holds what is no constant, such as a list"
    part = re.search(r"Unknown attribute '(.+?)' of type Module\(<module '(.+?)'", text)
    if part:
        return f"it does not know {part[2]}.{part[1]}"
    wanted = [
        part.strip()
        for part in text.splitlines()
        if part.strip()
        and not part.startswith(("Failed in", "During:", "File ", "<source", " ", ">>>", "- "))
    ]
    line = wanted[0] if wanted else text.strip().splitlines()[0] if text.strip() else "it failed"
    return shortened(line, _LONGEST_PROBLEM).rstrip(".:")


def _check_stores(function: UserFunction, annotation: Any) -> None:
    """Refuse a float that is stored into an integer or boolean field, which would be cut silently."""
    blocks = getattr(annotation, "blocks", {})
    for block in blocks.values():
        for statement in block.body:
            if isinstance(statement, ir.SetItem | ir.StaticSetItem):
                array = annotation.typemap[statement.target.name]
                value = annotation.typemap[statement.value.name]
                if isinstance(value, types.Float) and isinstance(array.dtype, types.Integer):
                    line = statement.loc.line - function.first_line + 1
                    raise ProgramError(
                        f"{function.where(line)}: a {value} is stored into a field of {array.dtype}; convert it with "
                        "int(), or declare the field as a float"
                    )


def _message_dtype(function: UserFunction, sent: Any) -> np.dtype:
    """The dtype of messages that a program leaves to edge_compute."""
    kind = sent.type if isinstance(sent, types.Optional) else sent
    kind = types.unliteral(kind)
    if isinstance(kind, types.Boolean):
        return np.dtype(np.bool_)
    if isinstance(kind, types.Integer):
        return np.dtype(np.int64)
    if isinstance(kind, types.Float):
        return np.dtype(np.float32 if kind.bitwidth == 32 else np.float64)
    if kind is types.none:
        raise ProgramError(
            f"{function.where()}: it never sends anything; return a number or a bool where it sends a message, or "
            "write return None on every path"
        )
    raise ProgramError(f"{function.where()}: it returns {kind}; expected a number, a bool or None")


def _check_message(function: UserFunction, sent: Any, message: np.dtype) -> None:
    """Refuse what edge_compute returns if it is no message of this dtype."""
    if message.names is None:
        return _check_fits(function, sent, message, "a message")
    kind = sent.type if isinstance(sent, types.Optional) else sent
    if not isinstance(kind, types.BaseTuple) or len(kind) != len(message.names):
        raise ProgramError(
            f"{function.where()}: it returns {kind}; expected a tuple of {len(message.names)} values: "
            f"{', '.join(message.names)}"
        )
    for name, part in zip(message.names, kind, strict=True):
        _check_fits(function, part, message[name], f"message.{name}")


def _check_fits(function: UserFunction, returned: Any, dtype: np.dtype, what: str) -> None:
    """Refuse a float where an integer is declared, and what is no number."""
    kind = types.unliteral(returned.type if isinstance(returned, types.Optional) else returned)
    if not isinstance(kind, types.Boolean | types.Integer | types.Float):
        raise ProgramError(f"{function.where()}: it returns {kind}; expected {what} of {dtype}")
    if isinstance(kind, types.Float) and dtype.kind == "i":
        raise ProgramError(
            f"{function.where()}: it returns {kind}, but {what} is declared as {dtype}; convert it with int(), or "
            "declare a float"
        )
