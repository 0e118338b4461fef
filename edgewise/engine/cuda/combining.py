"""How messages are combined on a GPU, in registers and in memory, in the form in which they are stored."""

from typing import Any, NamedTuple

import numpy as np

from edgewise.engine.cuda.arguments import has_keys, kept_dtype, stored_identity
from edgewise.engine.lowering.accessors import make_cast
from edgewise.engine.lowering.compiled import CompiledProgram
from edgewise.kernels.cuda.device import (
    HALVES,
    atomic_add,
    atomic_max,
    atomic_min,
    device_function,
    shuffle_down,
)
from edgewise.primitives.ordered_keys import key_dtype, make_keys
from edgewise.program.inspect import Specification


class Combining(NamedTuple):
    """A program's combiner for messages of one dtype.

    Attributes:
        identity, nothing: the combiner's identity, and what is stored in memory where no message came.
        absorbing: for ANY and ALL, the value that decides.
        cast, store: device functions that cast to the dtype of messages, and to that in which they are combined.
        encoded, decoded: device functions from a total to what is stored in memory, and back.
        combine_at: ``combine_at(messages, target, value)``: combine a value with the stored one, safely among threads.
        changes: ``changes(stored, value)``: whether combining a value may change the stored one, as it was read before.
        merged: ``merged(total, other)``: two totals combined, in this order.
        sum_lanes: ``sum_lanes(total, lanes)``: the first of each `lanes` adjacent lanes gets their totals combined.
    """

    identity: Any
    nothing: Any
    absorbing: bool
    cast: Any
    store: Any
    encoded: Any
    decoded: Any
    combine_at: Any
    changes: Any
    merged: Any
    sum_lanes: Any


@device_function
def as_it_is(value: Any) -> Any:
    return value


def make_storing(spec: Specification, message: np.dtype) -> tuple[Any, Any, Any, Any]:
    """`encoded`, `decoded`, `combine_at` and `changes` of `Combining`."""
    name, absorbing = spec.combine.name, spec.combine.name == "ANY"
    if has_keys(spec.combine, message):
        key_of, decoded, _, _ = make_keys(message, name == "MIN")
        key_type = key_dtype(message).type

        @device_function
        def encoded(value):
            return key_type(key_of(value))

        @device_function
        def best_at(messages, target, value):
            """NaN is never better."""
            if value == value:
                atomic_min(messages, target, encoded(value))

        return encoded, decoded, best_at, device_function(lambda stored, value: encoded(value) < stored)

    @device_function
    def decide_at(messages, target, value):
        """ANY and ALL: each thread with the deciding value writes it, so all write the same."""
        if (value != 0) == absorbing:
            messages[target] = value

    by_name = {
        "MIN": (atomic_min, lambda stored, value: value < stored),
        "MAX": (atomic_max, lambda stored, value: value > stored),
        "SUM": (atomic_add, lambda stored, value: True),
    }
    deciding = decide_at, lambda stored, value: (value != 0) == absorbing and stored != value
    combine_at, changes = by_name.get(name, deciding)
    return as_it_is, as_it_is, combine_at, device_function(changes)


def make_combining(compiled: CompiledProgram, spec: Specification, message: np.dtype) -> Combining:
    """The combiner of one program for messages of a dtype."""
    kept_as = kept_dtype(message)
    cast, store = (make_cast(dtype, device_function, spec.combine) for dtype in (message, kept_as))
    identity, nothing = kept_as.type(spec.combine.identity(message)), stored_identity(spec.combine, message)
    encoded, decoded, combine_at, changes = make_storing(spec, message)
    combine = compiled.functions.get("combine") or device_function(spec.combine.function)

    @device_function
    def merged(total, other):
        """Two totals combined, in this order."""
        return store(cast(combine(cast(total), cast(other))))

    @device_function
    def sum_lanes(total, lanes):
        """The totals of `lanes` adjacent lanes combined, on the first of them."""
        for step in HALVES:
            if step < lanes:
                total = merged(total, shuffle_down(total, step))
        return total

    absorbing = spec.combine.name == "ANY"
    return Combining(
        identity, nothing, absorbing, cast, store, encoded, decoded, combine_at, changes, merged, sum_lanes
    )
