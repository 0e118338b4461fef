"""Which values of results can be compared where vertices are numbered otherwise, and which cannot."""

from typing import Any

import numpy as np

from edgewise.approx.transformed import Approximate
from edgewise.errors import ParameterError
from edgewise.program.declare import VERTEX
from edgewise.program.inspect import Specification
from edgewise.program.movable import Moved, check_movable
from edgewise.result import Result
from edgewise.text import shown

#: What is compared of the results of algorithms: a value for each vertex, or one number.
OF_VERTICES = {"bfs": "level", "sssp": "distance", "pagerank": "rank", "betweenness": "centrality"}
NUMBERS = {"scc": "num_components", "components": "num_components", "mst": "total_weight"}
#: What else they have for each vertex, and times, which all results have.
_OF_NO_MEANING = ("component", "parent", "parent_index")
_TIMES = ("seconds", "compile_seconds", "layout_seconds", "edges_per_second")
#: How messages speak of a program whose answers depend on how vertices are numbered.
_RENUMBERED = Moved(
    "over renumbered vertices",
    "made.original.index_of(graph.vertices)",
    "run it on made.original and made.graph, and compare what does not depend on numbers",
)


def name_of(result: Result, field: str | None) -> str:
    """The name of what is compared of a result.

    Args:
        result: of an algorithm or a program.
        field: the name that was asked for, or None.

    Raises:
        ParameterError: it has nothing to compare, or what has another meaning where vertices are numbered otherwise.
        ProgramError: a program that gives other answers there, with the line.
    """
    algorithm, known = getattr(result, "algorithm", None), {**OF_VERTICES, **NUMBERS}
    if field is None and algorithm not in known:
        raise ParameterError(
            f"evaluate got {shown(result)}; expected the result of one of {', '.join(sorted(known))}, or a field"
        )
    name = known[str(algorithm)] if field is None else field
    if not isinstance(name, str):
        raise ParameterError(f"evaluate: field is {shown(name)}; expected the name of a value of the result")
    spec = spec_of(result)
    if spec is None:
        is_meaningless = name in _OF_NO_MEANING
    else:
        if spec.draws:
            raise ParameterError(
                "evaluate: a program that draws random numbers draws others for vertices in another order"
            )
        check_movable(spec, _RENUMBERED)
        if name in spec.edge_fields:
            raise ParameterError(
                f"evaluate: {name} has values of edges; expected a vertex field, or an aggregate"
            )
        is_meaningless = name in spec.vertex_fields and spec.vertex_fields[name].dtype is VERTEX
    if is_meaningless or name in _TIMES:
        raise ParameterError(
            f"evaluate: {shown(name)} has vertices, labels or times, whose differences mean nothing; expected numbers, "
            "such as distances or ranks"
        )
    return name


def spec_of(result: Result) -> Specification | None:
    """What is known of the program whose result it is, or None."""
    prepared = getattr(result, "_prepared", None)
    return None if prepared is None else prepared.spec


def check_given(
    made: Approximate, spec: Specification, given: dict[str, Any], renumbered: dict[str, Any]
) -> None:
    """Refuse values for vertices or edges that a program was not given in the order of each graph.

    Args:
        made: the approximate graph.
        spec: of the program.
        given, renumbered: the values by their names, for the graph itself, and for that in the new order.

    Raises:
        ParameterError: with how to give them.
    """
    for fields, order, how in (
        (spec.vertex_fields, made.order, "values[made.original.index_of(graph.vertices)]"),
        (
            spec.edge_fields,
            _order_of_arcs(made) if given.keys() & spec.edge_fields else None,
            "graph.weights",
        ),
    ):
        for name in fields.keys() & given.keys() & renumbered.keys():
            values = np.asarray(given[name])
            if fields[name].dtype is VERTEX:
                place = np.empty(len(made.order), np.int64)
                place[made.order] = np.arange(len(place))
                values = np.where(values < 0, -1, place[values])
            if not np.allclose(np.asarray(renumbered[name]), values[order], equal_nan=True):
                raise ParameterError(
                    f"evaluate: {name} of {spec.name} is not in the order of the graph that the call got, which is "
                    f"numbered otherwise; make it of that graph, such as {name}={how}"
                )


def _order_of_arcs(made: Approximate) -> np.ndarray:
    """The arcs of the graph in the order of those of the renumbered one."""
    graph = made.original
    starts, degree = (each[made.order].astype(np.int64) for each in (graph.offsets[:-1], graph.out_degree))
    return np.arange(graph.num_arcs) + np.repeat(starts - np.cumsum(degree) + degree, degree)
