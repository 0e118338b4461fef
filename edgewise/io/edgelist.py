"""Edge lists as SNAP publishes them: "source target [weight]" by spaces or tabs, # or % for comments.

Leskovec, Krevl, "SNAP Datasets", https://snap.stanford.edu/data.
"""

from edgewise.graph import Graph
from edgewise.io.formats import Format
from edgewise.io.options import ReadOptions
from edgewise.io.source import TextFile
from edgewise.io.table import read_table


def _read(file: TextFile, options: ReadOptions) -> tuple[Graph, int]:
    return read_table(file, options, options.delimiter, usual_header=False)


EDGE_LIST = Format(
    name="edgelist",
    suffixes=(".txt", ".edges", ".edgelist", ".el", ".wel", ".snap"),
    looks_like=lambda file: file.head.startswith(b"#"),
    read=_read,
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
