"""Edge lists as SNAP publishes them: "source target [weight]" by spaces or tabs, # or % for comments.

Leskovec, Krevl, "SNAP Datasets", https://snap.stanford.edu/data.
"""

from edgewise.io.formats import Format, Plan
from edgewise.io.options import ReadOptions
from edgewise.io.source import TextFile
from edgewise.io.table import plan_table


def _plan(file: TextFile, options: ReadOptions) -> Plan:
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
