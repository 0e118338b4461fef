"""Edge fields that hold attributes of the graph's edges: the one place where a program and attributes meet."""

from typing import Any

from edgewise.engine.lowering.binding import Binding
from edgewise.errors import ProgramError
from edgewise.graph.attributes import ArcAttribute
from edgewise.program.declare import VERTEX, WEIGHT


def with_attributes(binding: Binding, given: dict[str, Any]) -> dict[str, Any]:
    """What is given for a run, and the graph's attributes for edge fields of their names to which nothing is given.

    Nothing is read or made yet: see `edgewise.graph.attributes.ArcAttribute`.

    Raises:
        ProgramError: a field that holds weights or vertices has the name of an attribute.
    """
    spec, attributes = binding.spec, binding.graph.edge_attributes
    if not attributes:
        return given
    filled = dict(given)
    for name, declared in spec.edge_fields.items():
        if name in given or name not in attributes:
            continue
        if declared.dtype in (WEIGHT, VERTEX):
            kind = "the graph's weights" if declared.dtype is WEIGHT else "vertices"
            raise ProgramError(
                f"{spec.name}.{name} holds {kind}, and the graph has an edge attribute of that name; declare {name} = "
                f"ew.edge({attributes[name].dtype.name!r}) to read the attribute, give {name}=..., or rename the field"
            )
        filled[name] = ArcAttribute(binding.graph, name, binding.edge[name])
    return filled
