"""Edge fields that hold attributes of the graph's edges: the one place where a program and attributes meet."""

import difflib
from collections.abc import Iterable
from typing import Any

from edgewise.engine.lowering.binding import Binding
from edgewise.errors import ProgramError
from edgewise.graph.attributes import ArcAttribute
from edgewise.program.declare import LEFT_OUT, VERTEX, WEIGHT
from edgewise.program.inspect import Specification
from edgewise.text import shown


def with_attributes(binding: Binding, given: dict[str, Any]) -> dict[str, Any]:
    """What is given for a run, and the graph's attributes for edge fields of their names to which nothing is given.

    Nothing is read or made yet: see `edgewise.graph.attributes.ArcAttribute`.

    Raises:
        ProgramError: a field that holds weights or vertices has the name of an attribute; or one that would be 0
            everywhere has nearly such a name.
    """
    spec, attributes = binding.spec, binding.graph.edge_attributes
    if not attributes:
        return given
    filled = dict(given)
    for name, declared in spec.edge_fields.items():
        if name in given:
            continue
        if name not in attributes:
            _check_spelling(spec, name, attributes)
            continue
        if declared.dtype in (WEIGHT, VERTEX):
            kind = "the graph's weights" if declared.dtype is WEIGHT else "vertices"
            raise ProgramError(
                f"{spec.name}.{name} holds {kind}, and the graph has an edge attribute of that name; declare {name} = "
                f"ew.edge({attributes[name].dtype.name!r}) to read the attribute, give {name}=..., or rename the field"
            )
        filled[name] = ArcAttribute(binding.graph, name, binding.edge[name])
    return filled


def _check_spelling(spec: Specification, name: str, attributes: Iterable[str]) -> None:
    """Refuse an edge field that nothing gives a value, if it has nearly the name of an attribute."""
    declared = spec.edge_fields[name]
    if declared.dtype is WEIGHT or declared.init is not LEFT_OUT or name in spec.edge_writes:
        return
    near = difflib.get_close_matches(name, attributes, n=1)
    if near:
        raise ProgramError(
            f"{spec.name}.{name} would be 0 for all edges: the graph has no edge attribute {name!r}, but "
            f"{shown(near[0])}. Rename the field, give {name}=..., or declare init=0 if this is meant"
        )
