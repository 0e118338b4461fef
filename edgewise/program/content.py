"""The content of what a program's functions refer to, as text that changes with any part of it."""

import enum
import functools
import types
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
from numba.core.dispatcher import Dispatcher

from edgewise.program.source import all_references, code_text, constant_text, references


class Unknown(Exception):
    """A value whose content cannot be told."""


def held(value: Any) -> Any:
    """A value as it is kept to tell later whether it changed: a copy, if it may be changed in place."""
    if isinstance(value, np.ndarray | np.void):
        return value.copy()
    if isinstance(value, tuple):
        return (type(value), *map(held, value))
    return {name: held(each) for name, each in value.items()} if isinstance(value, dict) else value


def is_same(value: Any, before: Any) -> bool:
    """Whether a value is still what `held` kept of it."""
    if value is before:
        return True
    if isinstance(value, np.ndarray | np.void) and type(value) is type(before):
        now, then = ((each.dtype, each.shape, each.tobytes()) for each in (value, before))
        return now == then
    if isinstance(value, tuple) and isinstance(before, tuple):
        parts = (type(value), *value)
        return len(before) == len(parts) and all(map(is_same, parts, before))
    if isinstance(value, dict) and isinstance(before, dict):
        same_names = value.keys() == before.keys()
        return same_names and all(
            each is before[name] or is_same(each, before[name]) for name, each in value.items()
        )
    return False


class Seen(NamedTuple):
    """The functions described so far, with their numbers, and what is watched (`Specification.watched`); whether a
    value whose content cannot be told is described by its class and name, instead of raising `Unknown`."""

    numbers: dict[int, int]
    watched: list[tuple[Callable[[], Any], Any]]
    skips_unknown: bool = False

    def unknown(self, kind: Any) -> str:
        """The text of a value of this class whose content cannot be told. Raises Unknown."""
        if not self.skips_unknown:
            raise Unknown
        return f"{kind.__module__}.{kind.__qualname__}"


def describe(value: Any, seen: Seen) -> Iterator[str]:
    """Texts that change when a value, or anything that a function refers to, changes."""
    kind: Any = type(value)
    if isinstance(value, Dispatcher):
        dispatcher: Any = value
        yield f"{sorted(dispatcher.targetoptions.items())} {dispatcher.locals}"
        yield str(dispatcher._can_compile or dispatcher.nopython_signatures)
        value = dispatcher.py_func
    if isinstance(value, types.FunctionType):
        if id(value) in seen.numbers:
            yield f"function {seen.numbers[id(value)]}"
            return
        seen.numbers[id(value)] = len(seen.numbers)
        yield code_text(value.__code__)
        yield from describe(value.__defaults__, seen)
        for name in ("__code__", "__defaults__", "__kwdefaults__"):
            seen.watched.append((functools.partial(getattr, value, name), held(getattr(value, name))))
        for each in all_references(value):
            seen.watched.append((each.look_up, held(each.value)))
        for group in (value.__kwdefaults__ or {}, references(value)):
            yield str(len(group))
            for name, referred in sorted(group.items()):
                yield name
                yield from describe(referred, seen)
    elif isinstance(value, np.generic | np.ndarray) and not value.dtype.hasobject:
        yield f"{kind.__name__} {value.dtype.descr} {value.shape} {value.tobytes().hex()}"
    elif value is None or kind in (bool, int, float, complex, str, bytes):
        yield constant_text(value)
    elif kind is tuple or (isinstance(value, tuple) and _is_named_tuple(kind)):
        yield from () if kind is tuple else describe(kind, seen)
        yield f"tuple {len(value)}"
        for item in value:
            yield from describe(item, seen)
    elif isinstance(value, enum.Enum):
        yield f"member {value.name}"
        yield from describe(kind, seen)
    elif isinstance(value, type):
        yield f"{value.__module__}.{value.__qualname__}"
        yield from _describe_type(value, seen)
    elif isinstance(value, types.BuiltinFunctionType | np.ufunc):
        yield f"{getattr(value, '__module__', '')}.{getattr(value, '__qualname__', value)}"
    else:
        yield seen.unknown(kind)
        yield str(getattr(value, "__name__", ""))
        wrapped = getattr(value, "__wrapped__", None)  # by `numba.vectorize`, say
        yield from describe(wrapped, seen)


def _describe_type(kind: Any, seen: Seen) -> Iterator[str]:
    """The parts of a type that code can depend on: the members of an enumeration, the fields of a named tuple."""
    if issubclass(kind, enum.Enum):
        yield f"{[base.__qualname__ for base in kind.__mro__]} {len(kind.__members__)}"
        for name, member in kind.__members__.items():
            yield name
            yield from describe(member.value, seen)
    elif _is_named_tuple(kind):
        yield str(kind._fields)
        yield from describe(tuple(kind._field_defaults.items()), seen)
    elif kind.__module__ not in ("builtins", "numpy"):
        yield seen.unknown(kind)


def _is_named_tuple(kind: type) -> Any:
    """Whether a type was made by `collections.namedtuple` or is a `typing.NamedTuple`."""
    return kind.__bases__ == (tuple,) and hasattr(kind, "_fields")
