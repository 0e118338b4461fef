"""What every engine's kernel needs of a program: tuples for its functions, casts, folds, in any compiler's form."""

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np

from edgewise.engine.lowering.binding import Binding
from edgewise.engine.lowering.compiled import CompiledProgram, edge_names, numba_type, state_names
from edgewise.program.declarations import STATE_ARRAYS
from edgewise.program.declare import Combiner
from edgewise.program.inspect import Specification


def own_array_order(found: Specification) -> list[tuple[str, str]]:
    """The program's own arrays in the order of the table: (kind, name)."""
    order = [("vertex", name) for name in found.vertex_fields]
    order += [("initial", name) for name in found.vertex_fields]
    order += [(kind, name) for kind in ("edge", "along", "in_along") for name in found.edge_fields]
    order += [("parameter", name) for name in found.parameters]
    order += [(kind, name) for kind in ("aggregate", "partial") for name in found.aggregators]
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


def make_glue(
    compiled: CompiledProgram,
    binding: Binding,
    uniform: frozenset[str],
    function: Callable[[Any], Any],
) -> Any:
    """The functions that depend on how many fields there are, written out as source.

    The text holds names that the program declares (identifiers, by Python's own rules) and numbers, nothing else.
    In it, ``own`` is the tuple of the program's own arrays in the order of `own_array_order`.

    Args:
        compiled: the program's functions.
        binding: the program on a graph; only its dtypes matter here.
        uniform: edge fields that have one value for all arcs.
        function: what compiles a function for the engine.
    """
    found = binding.found
    slot = {key: f"own[{i}]" for i, key in enumerate(own_array_order(found))}
    source = {name: slot["vertex", name] for name in found.vertex_fields}
    source |= {name: slot["edge", name] for name in found.edge_fields}
    source |= {name: slot["parameter", name] + "[0]" for name in found.parameters}
    source |= {name: slot["aggregate", name] + "[0]" for name in found.aggregators}
    source |= {"num_vertices": "n", "num_arcs": "m", "superstep": "superstep"}
    source |= {name: slot["degree", name] for name in STATE_ARRAYS}
    state = ", ".join(source[name] for name in state_names(found))
    edges = {}
    for kind in ("along", "in_along"):
        values = {"source": "source", "target": "target", "index": "index"}
        for name in found.edge_fields:
            written = f"{slot['edge', name]}[index]"
            values[name] = (
                written
                if name in found.edge_writes
                else slot[kind, name] + ("[0]" if name in uniform else "[k]")
            )
        edges[kind] = ", ".join(values[name] for name in edge_names(found))
    fills = [
        f"    if (supplied >> {i}) & 1 == 0:\n        for v in range(start, end):\n"
        f"            {slot['vertex', name]}[v] = {slot['initial', name]}[0]"
        for i, name in enumerate(found.vertex_fields)
    ]
    folds = [
        f"    total = identity_{name}\n    for v in range(start, end, step):\n"
        f"        total = cast_{name}(combine_{name}(total, cast_{name}(function_{name}(v, state))))\n"
        f"    {slot['partial', name]}[part] = total"
        for name in found.aggregators
    ]
    partials = [
        f"    total = identity_{name}\n    for i in range(part, end, step):\n"
        f"        total = cast_{name}(combine_{name}(total, {slot['partial', name]}[i]))\n"
        f"    {slot['partial', name]}[part] = total"
        for name in found.aggregators
    ]
    totals = [f"    {slot['aggregate', name]}[0] = {slot['partial', name]}[0]" for name in found.aggregators]
    nothing, line = ["    pass"], "\n"
    text = f"""
def make_state(own, n, m, superstep):
    return State({state or "superstep"},)

def make_out_edge(source, target, k, index, own):
    return Edge({edges["along"]},)

def make_in_edge(source, target, k, index, own):
    return Edge({edges["in_along"]},)

def fill_fields(start, end, own, supplied):
{line.join(fills or nothing)}

def fold_vertices(part, start, end, step, state, own):
{line.join(folds or nothing)}

def fold_parts(part, end, step, own):
{line.join(partials or nothing)}

def set_aggregates(own):
{line.join(totals or nothing)}
"""
    scope: dict[str, Any] = {"State": compiled.state_class, "Edge": compiled.edge_class}
    for name, declared in found.aggregators.items():
        dtype = binding.aggregates[name]
        scope[f"identity_{name}"] = dtype.type(declared.combine.identity(dtype))
        scope[f"cast_{name}"] = make_cast(dtype, function, declared.combine)
        scope[f"combine_{name}"] = function(declared.combine.function)
        scope[f"function_{name}"] = compiled.functions[name]
    exec(text, scope)
    made = (
        "make_state",
        "make_out_edge",
        "make_in_edge",
        "fill_fields",
        "fold_vertices",
        "fold_parts",
        "set_aggregates",
    )
    return SimpleNamespace(**{name: function(scope[name]) for name in made})


def cast_and_identity(
    message: np.dtype, combine: Combiner, function: Callable[[Any], Any]
) -> tuple[Any, Any]:
    """How a message is cast before it is combined, and what combining begins with."""
    return make_cast(message, function, combine), message.type(combine.identity(message))


def make_cast(dtype: np.dtype, function: Callable[[Any], Any], combine: Combiner) -> Any:
    """A compiled function that casts a value, which is then combined, to a dtype by the contract's rule."""
    if dtype.kind == "b":
        return function(lambda value: value != 0)
    to = numba_type(dtype)
    if combine.has_one_zero(dtype):
        zero = dtype.type(0)
        return function(lambda value: to(value) + zero)
    return function(lambda value: to(value))
