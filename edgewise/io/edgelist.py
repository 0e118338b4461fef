"""Edge lists as SNAP publishes them: "source target [weight]" by spaces or tabs, # or % for comments.

Those of the GAP Benchmark Suite have no comments: .el without weights, .wel with them.

Leskovec, Krevl, "SNAP Datasets", https://snap.stanford.edu/data.
"""

from dataclasses import replace

from edgewise.errors import OutputError
from edgewise.graph import Graph
from edgewise.io.declared import DECLARED_IDS
from edgewise.io.formats import Format, Plan
from edgewise.io.options import ReadOptions
from edgewise.io.source import TextFile
from edgewise.io.table import plan_table
from edgewise.io.writing import LineWriter, check_has_no_weights


def _plan(file: TextFile, options: ReadOptions) -> Plan:
    """A .wel file has a weight on each line."""
    if file.suffix == ".wel" and options.weighted is None and options.weight_column is None:
        options = replace(options, weighted=True)
    return plan_table(file, options, options.delimiter, usual_header=False)


EDGE_LIST = Format(
    name="edgelist",
    suffixes=(".txt", ".edges", ".edgelist", ".el", ".wel", ".snap"),
    looks_like=lambda file: file.head.startswith(b"#"),
    plan=_plan,
    options=frozenset(
        {
            "columns",
            "comments",
            "delimiter",
            "header",
            "index_base",
            "names",
            "num_vertices",
            "weight_column",
            "weighted",
        }
    ),
)


def _comment(graph: Graph) -> str:
    kind = "Directed" if graph.directed else "Undirected"
    sizes = f"# Nodes: {graph.num_vertices} Edges: {graph.num_edges}"
    return f"# {kind} graph\n{sizes}\n{DECLARED_IDS[graph.has_names]}\n"


def _check_ids_of_gap(graph: Graph) -> None:
    """Refuse ids that the tools of GAP do not read."""
    if graph.vertices.dtype == object or graph.vertices.min(initial=0) < 0:
        raise OutputError("files of GAP have ids from 0 on, and no names; use .txt or .csv")


def _check_el(graph: Graph) -> None:
    _check_ids_of_gap(graph)
    check_has_no_weights(graph, ".wel, .txt or .csv")


def _check_wel(graph: Graph) -> None:
    _check_ids_of_gap(graph)
    if not graph.weighted:
        raise OutputError(
            "each line of this format has a weight, and the graph has none; use .el, .txt or .csv"
        )


WRITER = LineWriter("\t", _comment, marks=" \t", declares_ids=True)
TSV_WRITER = LineWriter("\t", _comment, marks="\t", declares_ids=True)
EL_WRITER = LineWriter(" ", check=_check_el)
WEL_WRITER = LineWriter(" ", check=_check_wel)
