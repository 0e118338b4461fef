"""Digests by which graphs of several processes are compared: a graph in a file is not read for it."""

import hashlib
import zlib
from typing import Any

import numpy as np

from edgewise.graph.adjacency import Adjacency
from edgewise.graph.file_rows import FileRows

#: Arrays of files that follow from others: in-edges.
_DERIVED = ("in_offsets", "in_sources", "in_weights")


def digest_in_file(graph: Adjacency, *, in_edges: bool = False) -> bytes:
    """A digest of all that the file of a graph holds, with or without its in-edges, from the checksums in its header;
    nothing for a graph that is in no file."""
    rows = graph._rows
    if not isinstance(rows, FileRows):
        return b""
    header = rows.file.header
    arrays = [
        (name, array.dtype.str, array.length, array.sums_checksum)
        for name, array in header.arrays.items()
        if in_edges or name not in _DERIVED
    ]
    return _digest(header.num_vertices, header.num_loops, header.directed, header.ids, sorted(arrays))


def digest_in_memory(graph: Adjacency, most: int) -> bytes:
    """A digest of the ids of a graph, and of at most so many of its rows and arcs."""
    n, m, weights = graph.num_vertices, graph.num_arcs, graph.weights
    rows = np.linspace(0, n, min(n + 1, most)).astype(np.int64)
    arcs = np.linspace(0, max(0, m - 1), min(m, most)).astype(np.int64)
    some = [graph.offsets[rows], graph.targets[arcs]] + ([] if weights is None else [weights[arcs]])
    looks = [(each.dtype.str, zlib.crc32(np.ascontiguousarray(each).data)) for each in some]
    return _digest(n, m, graph.directed, looks, graph._ids.digest)


def _digest(*parts: Any) -> bytes:
    return hashlib.blake2b(repr(parts).encode(), digest_size=16).digest()
