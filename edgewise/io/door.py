"""`read`: the one door to all formats. A format is recognised by its name, its suffix or its content."""

import os
from dataclasses import replace
from pathlib import Path
from typing import Any

from edgewise.errors import GraphError, GraphWarning, ParseError, warn
from edgewise.graph import Graph, load
from edgewise.graph.file import SUFFIX
from edgewise.graph.file_format import MAGIC
from edgewise.graph.given_ids import given_ids
from edgewise.graph.graph import ParallelEdges, SelfLoops
from edgewise.graph.pairs import listed_twice
from edgewise.graph.placed import placed, placing
from edgewise.io.adjacency import ADJACENCY, METIS
from edgewise.io.adjlist import ADJLIST
from edgewise.io.budget import Budget
from edgewise.io.delimited import DELIMITED
from edgewise.io.dimacs import DIMACS
from edgewise.io.edgelist import EDGE_LIST
from edgewise.io.foreign import refuse_foreign
from edgewise.io.formats import Format, GraphFormat, Plan
from edgewise.io.konect import KONECT
from edgewise.io.matrix_market import MATRIX_MARKET
from edgewise.io.options import Column, ReadOptions
from edgewise.io.reading import read_planned
from edgewise.io.source import STDIN, TextFile, as_path
from edgewise.io.tntp import TNTP
from edgewise.memory import as_bytes
from edgewise.progress import Progress, showing
from edgewise.text import printable, shown

#: The formats that are recognised most surely come first.
FORMATS = (MATRIX_MARKET, DIMACS, TNTP, METIS, ADJACENCY, ADJLIST, KONECT, DELIMITED, EDGE_LIST)
#: Those whose suffixes, or first lines, cannot be mistaken.
_SURE = (MATRIX_MARKET, DIMACS, TNTP, METIS, ADJACENCY, ADJLIST, KONECT)
#: The name of the format that `edgewise.load` reads.
_OWN = "edgewise"
_FOR_ALL = frozenset({"directed", "vertices", "parallel_edges", "self_loops", "progress", "memory_limit"})


def read(
    path: str | os.PathLike[str],
    *,
    format: str | None = None,  # noqa: A002 (the word that every user looks for)
    directed: bool | None = None,
    weighted: bool | None = None,
    columns: tuple[Column, Column] | None = None,
    weight_column: Column | None = None,
    delimiter: str | None = None,
    header: bool | None = None,
    comments: str | None = None,
    names: bool | None = None,
    index_base: int | None = None,
    num_vertices: int | None = None,
    vertices: Any = None,
    parallel_edges: ParallelEdges = "keep",
    self_loops: SelfLoops = "keep",
    progress: Progress = None,
    memory_limit: float | str | None = None,
) -> Graph:
    """Read a graph from a text file, plain or compressed with gzip, bzip2, xz or zstd (before Python 3.14 with the
    extra ``edgewise[zstd]``), from Parquet, sparse matrices (.npz), GAP's serialized graphs or GraphML, or from a file
    of edgewise's own, which `edgewise.load` opens at once.

    Integer weights of a text make an int64 graph, others a float64 one; those of binary files keep their dtypes.
    Integer ids are ordered by value and may have any number of digits; names are numbered by first appearance.
    O(bytes). Where a text has integer ids, blocks of lines are scanned by as many threads as runs may have, at most
    eight.

    Args:
        path: the file; "-" for standard input. The bytes of a pipe, as they come, are kept in memory while it is read.
        format: "edgelist" (SNAP; .el and .wel of GAP; of NetworkX with attributes in braces), "csv" (also TSV),
            "matrix-market", "dimacs" (.gr, of PACE, too), "tntp" (weights are its column "length" unless
            `weight_column` names another), "metis" (.graph, .metis), "adjacency" (.graph-txt: the number of vertices,
            then a line of successors for each from 0 on, as WebGraph writes it), "adjlist" (of NetworkX: lines of a
            vertex and its neighbours), "konect" (out.*: "% sym weighted" above the edges), "parquet" (with the
            extra ``edgewise[parquet]``), "npz" (`scipy.sparse.save_npz`, or the array ``edge_index``), "gap" (.sg,
            .wsg), "graphml" or "edgewise"; None to tell by suffix or content. Files that look like GML, GEXF, Pajek,
            JSON or DOT are then refused. `docs/files.md` says what each format takes.
        directed: False to give each edge both directions. Default: True, but a symmetric Matrix Market file, a graph
            of PACE or METIS, one of KONECT that says "sym", and one of GAP or GraphML that says so are undirected;
            True makes arcs both ways of their edges. A sparse matrix has to be symmetric to be undirected, unless
            `parallel_edges` joins entries. Of "u v" and "v u", each line becomes an edge of its own, with a warning.
        weighted: False to leave weights out, True to demand them. Default: where a column is called "weight", or
            where there are three columns and the remaining one has a number on the first line of data. A header may
            call it "cost", "length", "distance", "capacity" or "value"; another name leads to a warning, and columns
            whose names say otherwise, such as "id", "year" or "type", are never taken. A missing value ("NA", "-", ...)
            or a decimal comma on that line is refused, and so is a word above a number. Of attributes in braces,
            "weight" is the weight; each edge has it, or none. A .wel file has weights.
        columns: those of sources and targets, by number from 0 or by the name in the header. Default: those that the
            header calls "source" and "target", or "src" and "dst", "from" and "to", "u" and "v", "node1" and "node2",
            or else such as "FromNodeId" and "ToNodeId", "id_1" and "id_2", "origin" and "destination"; else the first
            two. Refused where more than two have one such name without its partner, or where one of them has no name.
        weight_column: the column of weights, by number or name; or the name of an attribute in braces or in GraphML.
        delimiter: between columns; "tab" is a tab. Default: spaces and tabs in edge lists; in CSV files whichever of
            tab, comma, semicolon, bar the first line has, else spaces.
        header: whether the first line names the columns. Default: True if `columns` or `weight_column` has names; else
            False for edge lists, which are refused if the line has such usual names above integers; CSV files have a
            header if the line has usual names such as "source" and "target", or words above integers. A file with
            "# Ids: ..." has none.
        comments: characters that start a line to be skipped. Default: "#%", but such a line of a CSV file with as many
            columns as an edge, behind the first edge or the header, is refused.
        names: whether ids are names. Default: as a comment "# Ids: names" or "# Ids: integers" says, which
            `edgewise.write` puts into edge lists; else if the first edge has an id that is no integer, but numbers
            with a point are refused then, and so are fields between blanks that all end with a comma or the like.
        index_base, num_vertices: the ids are ``index_base`` (0 by default) to ``index_base + num_vertices - 1``, with
            those of vertices without edges. Not with names.
        vertices: the ids of all vertices in their order, those without edges, too, as in `Graph.from_edges`.
        parallel_edges, self_loops: as in `Graph.from_edges`: ``parallel_edges="first"`` reads a file that
            lists each undirected edge in both directions.
        progress: True for a bar on a terminal, or a function of the number of bytes that have been read.
        memory_limit: bytes that reading may take, the graph included. Default: the memory that is free.

    Warns:
        GraphWarning: an undirected graph that keeps parallel edges, from a file that lists edges in both
            directions: degrees count them twice. A column of numbers that was taken as weights, or left out, by
            its name. Where `weighted` and `weight_column` are not given: columns, or attributes, that were left out,
            and weights that look like times or dates. Where `header` is not given: a first line that has the numbers
            of vertices and edges of the rest, or words above integers. Where `directed` is not given: a comment, or a
            column "Type", that says undirected. Where `names` is not given: names such as "NA".

    Raises:
        ParseError: a missing, empty, truncated or binary file, or a line that cannot be read; with its number.
        GraphError: edges that make no graph with these options.
        MemoryLimitError: a graph, a number of vertices or a line that needs more memory than allowed.
        MissingDependencyError: a file compressed with zstd, or Parquet, and no module that reads it.
    """
    if not isinstance(path, str | os.PathLike):
        raise ParseError(f"path is {shown(path)}; expected the name of a file")
    options = ReadOptions(
        directed, weighted, columns, weight_column, delimiter, header, comments, names, index_base,
        num_vertices, given_ids(vertices, num_vertices), parallel_edges, self_loops, progress, memory_limit,
    )  # fmt: skip
    place = as_path(path)
    if is_own(place, format):
        return _load(path, options)
    graph, mirrored = _read(place, format, options)
    if mirrored:
        warn(listed_twice(printable(str(place)), mirrored, "line", options.directed is False), GraphWarning)
    return graph


def is_own(path: Path, name: Any = None) -> bool:
    """Whether a file is to be loaded, not read: it is of edgewise's own format, or is called so."""
    if name is not None:
        return isinstance(name, str) and name == _OWN
    if path.suffix.lower() == SUFFIX:
        return True
    try:
        if not path.is_file():  # a pipe gives its bytes only once
            return False
        with open(path, "rb") as file:
            return file.read(len(MAGIC)) == MAGIC
    except (OSError, ValueError):  # reading it as text says why
        return False


def _read(place: Path, name: Any, options: ReadOptions) -> tuple[Graph, int]:
    """The graph in a file that is not of edgewise's own; counts as `edgewise.io.reading.make_graph` does."""
    budget = Budget.of(place, as_bytes("memory_limit", options.memory_limit))
    known = graph_format(place, name)
    with budget.kept():
        if known is None:
            graph, mirrored = read_planned(*plan_file(budget, name, options))
        else:
            check_options(place, known, options)
            with showing(options.progress, f"reading {place.name}: bytes") as report:
                graph, mirrored = known.read(budget, options, report)
        if options.vertices is None:
            return graph, mirrored
        budget.check(placing(graph))
        try:
            return placed(graph, options.vertices), mirrored
        except GraphError as error:
            raise GraphError(f"{place}: {error}") from None


def _load(path: str | os.PathLike[str], options: ReadOptions) -> Graph:
    """The graph in a file of edgewise's own."""
    useless = [name for name in options.given() if name not in ("progress", "memory_limit")]
    if useless:
        raise ParseError(
            f"{path} is read as {_OWN}, which has no option {', '.join(useless)}: it holds a whole graph"
        )
    if as_path(path) is STDIN:
        raise ParseError(f"{STDIN} is a pipe; expected a file of {_OWN}'s own. Copy it to a file first")
    return load(path)


def plan_file(budget: Budget, name: Any, options: ReadOptions) -> tuple[TextFile, Plan]:
    """Find the format of a file, and how to read it."""
    file = TextFile(budget.path, budget)
    chosen = _by_name(name) if name is not None else _by_looks(file)
    check_options(file.path, chosen, options)
    plan = chosen.plan(file, options)
    read_from = plan.seen or file
    read_from.budget = replace(budget, weighted=plan.layout.has_weights)
    return read_from, plan


def graph_format(path: Path, name: Any = None) -> GraphFormat | None:
    """The format of a file that is not one of lines of edges, by the name of the format, the suffix or the content."""
    # Not loaded with edgewise, but with the first file.
    from edgewise.io.graph_formats import by_looks, by_name

    return by_looks(path) if name is None else by_name(name)


def is_whole(path: Path) -> bool:
    """Whether a file holds a whole graph, which `edgewise.build` does not take."""
    known = graph_format(path)
    return is_own(path) or (known is not None and known.table is None)


def check_options(path: Path, chosen: Format | GraphFormat, options: ReadOptions) -> None:
    """Refuse options that a format does not have."""
    useless = [name for name in options.given() if name not in chosen.options | _FOR_ALL]
    if useless:
        raise ParseError(f"{path} is read as {chosen.name}, which has no option {', '.join(useless)}")


def _by_name(name: Any) -> Format:
    for known in FORMATS:
        if isinstance(name, str) and known.name == name:
            return known
    from edgewise.io.graph_formats import names

    raise ParseError(
        f"format is {shown(name)}; expected {', '.join([*(known.name for known in FORMATS), *names(), _OWN])}"
    )


def _by_looks(file: TextFile) -> Format:
    """The format by the suffix, else the first that recognises the content, else an edge list. Files that are called
    edge lists may be of a format whose first lines cannot be mistaken.

    Raises:
        ParseError: the file is of a format that is not read.
    """
    by_suffix = next((known for known in FORMATS if file.suffix in known.suffixes), None)
    if by_suffix in _SURE:
        return by_suffix
    if by_suffix is not DELIMITED:
        sure = next((known for known in _SURE if known.looks_like(file)), None)
        if sure is not None:
            return sure
    refuse_foreign(file)
    return by_suffix or (DELIMITED if DELIMITED.looks_like(file) else EDGE_LIST)
