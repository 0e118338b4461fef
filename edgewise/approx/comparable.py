"""Which values of results can be compared where vertices are numbered otherwise, and which cannot."""

from edgewise.errors import ParameterError
from edgewise.program.declare import VERTEX
from edgewise.program.inspect import Specification
from edgewise.program.movable import Moved, check_movable
from edgewise.result import Result
from edgewise.text import shown

#: What is compared of the results of algorithms: a value for each vertex, or one number.
_OF_VERTICES = {"bfs": "level", "sssp": "distance", "pagerank": "rank", "betweenness": "centrality"}
_NUMBERS = {"scc": "num_components", "components": "num_components", "mst": "total_weight"}
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
    algorithm, known = getattr(result, "algorithm", None), {**_OF_VERTICES, **_NUMBERS}
    if field is None and algorithm not in known:
        raise ParameterError(
            f"evaluate got {shown(result)}; expected the result of one of {', '.join(sorted(known))}, or a field"
        )
    name = known[str(algorithm)] if field is None else field
    if not isinstance(name, str):
        raise ParameterError(f"evaluate: field is {shown(name)}; expected the name of a value of the result")
    is_meaningless = name in _OF_NO_MEANING
    if (prepared := getattr(result, "_prepared", None)) is not None:
        spec: Specification = prepared.spec
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
