"""What the kernels of both engines need of a program: tuples for its functions, casts and folds, for any compiler."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from edgewise.engine.lowering.binding import Binding
from edgewise.engine.lowering.compiled import CompiledProgram, edge_names, numba_type, state_names
from edgewise.kernels.cache import DeviceFunction
from edgewise.program.declarations import STATE_ARRAYS
from edgewise.program.declare import Combiner
from edgewise.program.inspect import Specification


def own_array_order(spec: Specification) -> list[tuple[str, str]]:
    """The program's own arrays in the order of the table: (kind, name)."""
    order = [("vertex", name) for name in spec.vertex_fields]
    order += [("initial", name) for name in spec.vertex_fields]
    order += [(kind, name) for kind in ("edge", "along", "in_along") for name in spec.edge_fields]
    order += [("parameter", name) for name in spec.parameters]
    order += [(kind, name) for kind in ("aggregate", "partial") for name in spec.aggregators]
    return order + [("degree", name) for name in STATE_ARRAYS]


def own_dtypes(binding: Binding, parameters: dict[str, Any]) -> dict[str, dict[str, np.dtype]]:
    """The dtypes of the program's own arrays, by kind and name."""
    edge = binding.edge
    return {
        "vertex": binding.vertex,
        "initial": binding.vertex,
        "edge": edge,
        "along": edge,
        "in_along": edge,
        "parameter": {name: np.asarray(value).dtype for name, value in parameters.items()},
        "aggregate": binding.aggregates,
        "partial": binding.aggregates,
        "degree": dict.fromkeys(STATE_ARRAYS, np.dtype(np.int32)),
    }


class Glue(NamedTuple):
    """Compiled functions that depend on how many fields there are.

    In them, ``own`` is the tuple of the program's own arrays in the order of `own_array_order`.

    Attributes:
        make_state: ``make_state(own, n, m, superstep)``.
        make_out_edge: ``make_out_edge(source, target, k, index, own)``: the edge of arc `index`, out-edge k.
        make_in_edge: ``make_in_edge(source, target, k, index, own)``: the edge of arc `index`, in-edge k.
        fill_fields: ``fill_fields(start, end, own, supplied)``: set fields of the vertices start to end - 1 to their
            initial values, except fields whose bit in `supplied` is set.
        fold_vertices: ``fold_vertices(part, start, end, step, state, own)``: fold the vertices start, start + step, ...
            below end into a part.
        fold_parts: ``fold_parts(part, end, step, own)``: fold the parts part, part + step, ... below end into `part`.
        set_aggregates: ``set_aggregates(own)``: store part 0 as the aggregates.
    """

    make_state: DeviceFunction
    make_out_edge: DeviceFunction
    make_in_edge: DeviceFunction
    fill_fields: DeviceFunction
    fold_vertices: DeviceFunction
    fold_parts: DeviceFunction
    set_aggregates: DeviceFunction


def make_glue(
    compiled: CompiledProgram,
    binding: Binding,
    uniform: frozenset[str],
    function: Callable[[Any], Any],
) -> Glue:
    """The functions that depend on how many fields there are, written out as source.

    Only names that the program declares (identifiers by Python's rules) and numbers are put into the text.

    Args:
        compiled: the program's functions.
        binding: the program on a graph; only its dtypes matter here.
        uniform: edge fields that have one value for all arcs.
        function: what compiles a function for the engine.
    """
    spec = binding.spec
    slot = {key: f"own[{i}]" for i, key in enumerate(own_array_order(spec))}
    totals = [f"    {slot['aggregate', name]}[0] = {slot['partial', name]}[0]" for name in spec.aggregators]
    text = f"""
def make_state(own, n, m, superstep):
    return State({_state_values(spec, slot)},)

def make_out_edge(source, target, k, index, own):
    return Edge({_edge_values(spec, slot, "along", uniform)},)

def make_in_edge(source, target, k, index, own):
    return Edge({_edge_values(spec, slot, "in_along", uniform)},)

def fill_fields(start, end, own, supplied):
{_fills(spec, slot)}

def fold_vertices(part, start, end, step, state, own):
{_folds(spec, slot, "v in range(start, end, step)", "cast_{0}(function_{0}(v, state))")}

def fold_parts(part, end, step, own):
{_folds(spec, slot, "i in range(part, end, step)", "{1}[i]")}

def set_aggregates(own):
{_lines(totals)}
"""
    scope: dict[str, Any] = {"State": compiled.state_class, "Edge": compiled.edge_class}
    for name, declared in spec.aggregators.items():
        dtype = binding.aggregates[name]
        scope[f"identity_{name}"] = dtype.type(declared.combine.identity(dtype))
        scope[f"cast_{name}"] = make_cast(dtype, function, declared.combine)
        scope[f"combine_{name}"] = function(declared.combine.function)
        scope[f"function_{name}"] = compiled.functions[name]
    exec(text, scope)
    return Glue(*(function(scope[name]) for name in Glue._fields))


_Slots = dict[tuple[str, str], str]


def _lines(statements: list[str]) -> str:
    """The body of a function."""
    return "\n".join(statements or ["    pass"])


def _state_values(spec: Specification, slot: _Slots) -> str:
    """The values of a state, as source."""
    source = {name: slot["vertex", name] for name in spec.vertex_fields}
    source |= {name: slot["edge", name] for name in spec.edge_fields}
    source |= {name: slot["parameter", name] + "[0]" for name in spec.parameters}
    source |= {name: slot["aggregate", name] + "[0]" for name in spec.aggregators}
    source |= {"num_vertices": "n", "num_arcs": "m", "superstep": "superstep"}
    source |= {name: slot["degree", name] for name in STATE_ARRAYS}
    return ", ".join(source[name] for name in state_names(spec)) or "superstep"


def _edge_values(spec: Specification, slot: _Slots, kind: str, uniform: frozenset[str]) -> str:
    """The values of an edge, as source. Constant fields lie in the order of out-edges or of in-edges, by `kind`."""
    values = {"source": "source", "target": "target", "index": "index"}
    for name in spec.edge_fields:
        constant = slot[kind, name] + ("[0]" if name in uniform else "[k]")
        values[name] = f"{slot['edge', name]}[index]" if name in spec.edge_writes else constant
    return ", ".join(values[name] for name in edge_names(spec))


def _fills(spec: Specification, slot: _Slots) -> str:
    """Loops that fill fields."""
    return _lines(
        [
            f"    if (supplied >> {i}) & 1 == 0:\n        for v in range(start, end):\n"
            f"            {slot['vertex', name]}[v] = {slot['initial', name]}[0]"
            for i, name in enumerate(spec.vertex_fields)
        ]
    )


def _folds(spec: Specification, slot: _Slots, loop: str, value: str) -> str:
    """Loops that fold a value, in which {0} is the aggregate's name and {1} its parts, into a part."""
    return _lines(
        [
            f"    total = identity_{name}\n    for {loop}:\n"
            f"        total = cast_{name}(combine_{name}(total, {value.format(name, slot['partial', name])}))\n"
            f"    {slot['partial', name]}[part] = total"
            for name in spec.aggregators
        ]
    )


def cast_and_identity(
    message: np.dtype, combine: Combiner, function: Callable[[Any], Any]
) -> tuple[DeviceFunction, np.generic]:
    """The function that casts a message before it is combined, and the combiner's identity."""
    return make_cast(message, function, combine), message.type(combine.identity(message))


def make_cast(dtype: np.dtype, function: Callable[[Any], Any], combine: Combiner) -> DeviceFunction:
    """A compiled function that casts a value to a dtype by the contract's rule, to be combined."""
    if dtype.kind == "b":
        return function(lambda value: value != 0)
    to = numba_type(dtype)
    if combine.has_one_zero(dtype):
        zero = dtype.type(0)
        return function(lambda value: to(value) + zero)
    return function(lambda value: to(value))
