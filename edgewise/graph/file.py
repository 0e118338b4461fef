"""`load`: graphs from files of edgewise's own format, which are mapped into memory and checked when they are used."""

import os
from typing import Any

import numpy as np

from edgewise.errors import ParseError
from edgewise.graph.file_format import INTEGER_IDS, LONG_IDS, NAMES, RANGE_IDS, STRING_IDS, VERSION
from edgewise.graph.file_map import GraphFile
from edgewise.graph.file_rows import FileRows, ids_in
from edgewise.graph.graph import Graph
from edgewise.text import shown

#: The usual suffix of such files.
SUFFIX = ".edgewise"
_IDS = {
    RANGE_IDS: "0 to n - 1",
    INTEGER_IDS: "integers",
    STRING_IDS: "strings",
    LONG_IDS: "integers beyond 64 bits",
}


def load(path: str | os.PathLike[str]) -> Graph:
    """Open a file that `Graph.save` has written. O(1): a page is read, whatever the size of the file.

    The graph's arrays are the file's, mapped into memory: the system reads what is used, and gives it up when memory is
    short; a run on the CPU with a ``memory_limit`` gives it up in time to stay within that (docs/memory.md). Each array
    is checked when it is first used, its checksums and its values, on all threads; so the first run reads the file as
    fast as the disk gives it, and an array that is not used is never read. Offsets are copied into memory. In-edges
    that are in the file are not made anew.

    The file must not be written to, or cut short, while it is in use: runs and reads of arrays then raise an error
    instead of giving an answer (on Linux; elsewhere a file that is cut short ends the process). It may be replaced by
    another of its name, or removed. A pickled graph holds the name of the file, which must be there, with the same
    content, where it is unpickled; a copied one shares it.

    Args:
        path: of the file.

    Returns:
        The graph. All its arrays are read-only.

    Raises:
        ParseError: there is no such file, or it is none of this format, cut off, damaged, or of a newer version. When
            an array is first used: it is damaged, or has values that no graph has.
        FileChangedError: when a graph is used: the file was written to.
    """
    file = GraphFile(path)
    header = file.header
    if header.layered:
        raise ParseError(
            f"{file.name} has the rows of a graph in layers; load the graph itself, and give this file by "
            "Schedule(layout=Layered(roots, file=...))"
        )
    return Graph(FileRows(file), ids_in(file), header.directed, header.num_loops, header.num_arcs)


def file_facts(graph: Graph) -> dict[str, Any]:
    """What the file of a graph says of itself, by name; nothing for a graph that is in no file. No array is read but
    that of the names of edge attributes."""
    rows = graph._rows
    if not isinstance(rows, FileRows):
        return {}
    header = rows.file.header
    facts = {
        "format": f"edgewise {VERSION}",
        "file_bytes": header.file_bytes,
        "ids": _IDS[header.ids],
        "arrays": [
            f"{name} {array.dtype}"
            for name, array in header.arrays.items()
            if name != NAMES and name not in header.attributes
        ],
    }
    if header.attributes:
        facts["edge_attributes"] = [
            f"{shown(name)} {_dtype(header.arrays[array].dtype)}"
            for name, array in zip(graph.edge_attributes, header.attributes, strict=True)
        ]
    return facts


def _dtype(stored: np.dtype) -> np.dtype:
    """The dtype of an attribute that a file has as this one."""
    return np.dtype(np.bool_) if stored == np.uint8 else stored
