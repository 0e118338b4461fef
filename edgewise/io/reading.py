"""Graphs from the edges of files, as the plan of a format says."""

import numpy as np

from edgewise.errors import GraphWarning, ParseError, warn
from edgewise.graph import Graph
from edgewise.graph.checks import as_count
from edgewise.graph.csr import build_rows
from edgewise.graph.id_columns import as_id_column
from edgewise.graph.ids import Ids, named_ids
from edgewise.graph.numbering import number_vertices
from edgewise.graph.pairs import count_mirrored
from edgewise.io.budget import Budget
from edgewise.io.doubts import missing_doubt, sizes_doubt
from edgewise.io.formats import Plan
from edgewise.io.lines import Edges, read_edges, read_edges_of_any_id
from edgewise.io.options import ReadOptions
from edgewise.io.sized import check_declared
from edgewise.io.source import TextFile
from edgewise.text import printable


def read_planned(file: TextFile, plan: Plan) -> tuple[Graph, int]:
    """Read the edges of a file, and count as `make_graph` does.

    Warns:
        GraphWarning: a column of numbers whose name does not say that it has weights.

    Raises:
        ParseError: another number of edges than declared, and everything that `read_edges` refuses.
    """
    names = plan.layout.names
    read = read_edges if names or plan.declared is not None else read_edges_of_any_id
    edges = read(file, plan.layout, plan.options, plan.skip)
    check_declared(file, plan, len(edges.source))
    found = [
        sizes_doubt(edges) if plan.may_begin_with_sizes else None,
        missing_doubt(edges.names) if plan.are_names_by_looks and edges.names else None,
    ]
    graph, mirrored = make_graph(edges, plan.options, file.budget, integers=not names)
    for doubt in [*plan.doubts, *(f"{file.path}: {doubt}" for doubt in found if doubt)]:
        warn(printable(doubt), GraphWarning)
    return graph.as_directed() if plan.directed else graph, mirrored


def make_graph(edges: Edges, options: ReadOptions, budget: Budget, integers: bool) -> tuple[Graph, int]:
    """The graph of these edges, directed by default. `integers` says whether ids are integers.

    Returns:
        The graph; and if it is undirected and keeps parallel edges, the number of pairs of vertices that the file joins
        both by "u v" and by "v u".
    """
    source, target, ids = _numbered(edges, options, budget, integers)
    parallel, loops = options.parallel_edges, options.self_loops
    directed = options.directed is not False
    if directed or parallel != "keep":
        columns = {
            id(column): column for column in (edges.source, edges.target, source, target, edges.weight)
        }
        held = sum(column.nbytes for column in columns.values() if column is not None)
        how = parallel, loops, lambda needed: budget.check(held + needed)
        return Graph._from_indices(source, target, edges.weight, directed, ids, *how), 0
    rows, num_loops = build_rows(
        source,
        target,
        edges.weight,
        ids.num_vertices,
        both_directions=True,
        drop_loops=loops == "drop",
        mark_reversed=True,
    )
    mirrored = count_mirrored(rows)
    return Graph(rows, ids, directed=False, num_loops=num_loops), mirrored


def _numbered(
    edges: Edges, options: ReadOptions, budget: Budget, integers: bool
) -> tuple[np.ndarray, np.ndarray, Ids]:
    """Both columns as indices, and the ids."""
    source, target = edges.source, edges.target
    if edges.names is not None and integers:
        return _by_value(edges, budget)
    if edges.names is not None:
        return source, target, named_ids(edges.names)
    if options.num_vertices is not None and options.index_base:
        base, count = int(options.index_base), int(options.num_vertices)
        return source - base, target - base, Ids(count, np.arange(base, base + count))
    held = sum(column.nbytes for column in (source, target, edges.weight) if column is not None)
    given, count = as_count(options.num_vertices), len(source)
    if edges.vertices is not None and given is None:
        source, target = (np.concatenate([column, edges.vertices]) for column in (source, target))
    source, target, ids = number_vertices(source, target, given, lambda needed: budget.check(held + needed))
    return source[:count], target[:count], ids


def _by_value(edges: Edges, budget: Budget) -> tuple[np.ndarray, np.ndarray, Ids]:
    """Indices of integers that were read as names, in the order of their values; 7 and 007 are one."""
    assert edges.names is not None
    try:
        values = list(map(int, edges.names))
    except ValueError:  # Python refuses to convert very long ones
        longest = max(map(len, edges.names))
        raise ParseError(
            f"{budget.path} has an id of {longest:,} digits, too many for an integer. For names as ids, give "
            "names=True"
        ) from None
    ordered = sorted(set(values))
    position = {value: index for index, value in enumerate(ordered)}
    index = np.array([position[value] for value in values], np.int32)
    return index[edges.source], index[edges.target], Ids(len(ordered), as_id_column(ordered, "ids"))
