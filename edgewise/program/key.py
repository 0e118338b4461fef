"""The key of a program: a text that changes with its code and with anything that it refers to."""

import functools
from collections.abc import Iterator
from typing import Any

import numpy as np

from edgewise.program.content import Seen, Unknown, describe, held
from edgewise.program.declare import Program
from edgewise.program.helpers import helpers_of
from edgewise.program.source import all_references, constant_text


def program_key(spec: Any) -> str | None:
    """The text of `Specification.key`. Its parts are `watched` from now on."""
    try:
        parts = list(_parts(spec, Seen({}, spec.watched)))
    except Unknown:
        spec.watched += [
            (each.look_up, held(each.value))
            for own in spec.functions.values()
            for function in (own, *helpers_of(own))
            for each in all_references(function.function)
        ]
        return None
    for base in spec.program.__mro__:
        if base not in (Program, object):
            spec.watched.append((functools.partial(_attributes, base), held(_attributes(base))))
    return "\n".join(parts)


def program_text(spec: Any) -> str:
    """What can be told of a program without a key: as its key, but of a value that cannot be told only the class and
    the name, with that of the program."""
    name = f"{spec.program.__module__}.{spec.program.__qualname__}"
    return "\n".join([name, *_parts(spec, Seen({}, [], skips_unknown=True))])


def _parts(spec: Any, seen: Seen) -> Iterator[str]:
    """The lines of a key."""
    yield np.__version__
    for group in (spec.vertex_fields, spec.edge_fields, spec.parameters, spec.aggregators):
        for name, value in group.items():
            yield f"{name}:{type(value).__name__}"
    for each in (spec.combine, *(declared.combine for declared in spec.aggregators.values())):
        yield f"{each.name} {constant_text(each.identity(np.dtype(np.float64)))}"
    yield str(spec.program.asynchronous)
    for function in spec.functions.values():
        yield from describe(function.function, seen)


def declared_text(spec: Any) -> str:
    """The dtypes, initial values and defaults of a program, which the code of its kernels does not depend on."""
    groups = (spec.vertex_fields, spec.edge_fields, spec.parameters, spec.aggregators)
    return "\n".join(
        f"{name}: {[constant_text(getattr(value, part, None)) for part in ('dtype', 'init', 'default')]}"
        for group in groups
        for name, value in group.items()
    )


def _attributes(owner: type) -> dict[str, Any]:
    """The attributes of a class that can be parts of a program."""
    return {name: value for name, value in vars(owner).items() if not name.startswith("_")}
