"""Checks of what a result has beside its arrays: that it still follows from them.

Some attributes are made from the arrays when they are first read, and are kept. A user may have changed them since.
"""

from typing import Any

import numpy as np

from edgewise.errors import GraphError, VerificationError
from edgewise.graph import Graph
from edgewise.numeric import is_number
from edgewise.result import Result
from edgewise.text import shown


def check_derived(result: Result, *names: str) -> None:
    """Check that cached properties of a result still follow from its verified arrays.

    Raises:
        VerificationError: naming the property and the first entry that is wrong.
    """
    for name in names:
        if name not in vars(result):  # nobody has read or changed it
            continue
        given = np.asarray(vars(result)[name])
        expected = np.asarray(getattr(type(result), name).func(result))
        if given.shape != expected.shape:
            raise VerificationError(f"{name} has the shape {given.shape}; expected {expected.shape}")
        right = np.atleast_1d((given == expected) | ((given != given) & (expected != expected)))  # NaN, too
        if not right.all():
            i = int(np.argmin(right))
            got, right_value = (np.atleast_1d(values)[i] for values in (given, expected))
            raise VerificationError(
                f"{name}[{i}] is {shown(got)}; the verified arrays make it {shown(right_value)}"
            )


def check_numbers(result: Result, **expected: float) -> None:
    """Check that numbers among a result's attributes, given by name, are as expected.

    Raises:
        VerificationError: naming the first that is not.
    """
    for name, right in expected.items():
        given = getattr(result, name)
        if not (is_number(given) and given == right):
            raise VerificationError(f"{name} is {shown(given)}; the run makes it {shown(right)}")


def expect_integers(**arrays: np.ndarray) -> None:
    """Check that arrays, given by name, hold integers. Raises VerificationError."""
    for name, array in arrays.items():
        if array.dtype.kind not in "iu":
            raise VerificationError(f"{name} is an array of {array.dtype}; expected integers")


def vertex_shown(graph: Graph, v: int) -> str:
    """The id of the vertex with an index, as errors show it."""
    return shown(graph.ids_of(np.array([v])).tolist()[0])


def expect_each(right: np.ndarray, graph: Graph, name: str, values: np.ndarray, problem: str) -> None:
    """Raise VerificationError for the first vertex whose value, called by a name, is not right."""
    if not right.all():
        v = int(np.argmin(right))
        raise VerificationError(f"vertex {vertex_shown(graph, v)} has the {name} {values[v]}: {problem}")


def index_of_source(graph: Graph, source: Any) -> Any:
    """The index of the source that a result names, or of each of several.

    Raises:
        VerificationError: it is not a vertex of the graph.
    """
    try:
        return graph.index_of(source)
    except GraphError as error:
        raise VerificationError(f"source: {error}") from None
