"""Digests of all that graphs hold, by which those of several processes are compared. Of a graph in a file only the
header is read, which has checksums of everything; a graph in memory keeps its digest.
"""

import datetime
import enum
import hashlib
import numbers
from typing import Any

import numpy as np

from edgewise.graph.adjacency import Adjacency
from edgewise.graph.file_rows import FileRows
from edgewise.graph.file_sums import checksum
from edgewise.graph.file_writer import block_sums
from edgewise.graph.ids import Ids

#: Arrays of files that follow from others: in-edges.
_DERIVED = ("in_offsets", "in_sources", "in_weights")
#: Kinds of ids whose text is the same in all processes.
_WRITTEN = str | bytes | numbers.Number | datetime.timedelta
#: Ids that are objects, of which texts exist at one time.
_PIECE = 2**16


def digest_of_graph(graph: Adjacency, *, in_edges: bool = False) -> bytes:
    """A digest of the rows, weights and ids of a graph, and of all else that its file holds if it is in one. Graphs of
    the same content have another one in memory than in a file.

    The first call for a graph in memory reads all of its arrays; the graph keeps the digest.

    Args:
        in_edges: whether those in its file count, too.
    """
    rows = graph._rows
    if isinstance(rows, FileRows):
        header = rows.file.header
        arrays = [
            (name, array.dtype.str, array.length, array.sums_checksum)
            for name, array in header.arrays.items()
            if in_edges or name not in _DERIVED
        ]
        return _digest(header.num_vertices, header.num_loops, header.directed, header.ids, sorted(arrays))
    if "graph" not in graph.digests:
        of_rows = [_told(each) for each in (rows.offsets, rows.targets, rows.weights) if each is not None]
        graph.digests["graph"] = _digest(
            graph.directed, graph.num_vertices, of_rows, digest_of_ids(graph._ids)
        )
    return graph.digests["graph"]


def digest_of_attribute(graph: Adjacency, name: str, values: np.ndarray) -> bytes:
    """The digest of an attribute as values of arcs, by `digest_of_array`; the graph keeps it."""
    key = name, values.dtype
    if key not in graph.digests:
        graph.digests[key] = digest_of_array(values)
    return graph.digests[key]


def digest_of_array(values: np.ndarray) -> bytes:
    """A digest of all of an array of one dimension, at about the rate at which memory is read."""
    return _digest(_told(values))


def checksum_of(values: np.ndarray) -> int:
    """The checksum of an array of one dimension, as the header of a file of it has it."""
    return checksum(block_sums(values).tobytes())


def _told(values: np.ndarray) -> tuple[str, int, int]:
    return values.dtype.str, len(values), checksum_of(values)


def _digest(*parts: Any) -> bytes:
    return hashlib.blake2b(repr(parts).encode(), digest_size=16).digest()


def digest_of_ids(ids: Ids) -> bytes:
    """A digest of all ids. Of those that are neither numbers, texts nor dates, nor tuples or sets of such, only the
    class counts: nothing says what else is the same in all processes. A million names take 0.1 s."""
    if ids.given is None:
        return b""
    if not ids.are_objects:
        return digest_of_array(ids.given)
    found = hashlib.blake2b(digest_size=16)
    for start in range(0, ids.num_vertices, _PIECE):
        texts = ids.given[start : start + _PIECE].tolist()
        are_names = set(map(type, texts)) == {str}
        if not are_names:
            texts = list(map(_lasting, texts))
        found.update(repr((are_names, len(texts))).encode())
        found.update(np.fromiter(map(len, texts), np.int64, len(texts)).data)
        found.update("".join(texts).encode("utf-8", "surrogatepass"))
    return found.digest()


def _lasting(value: Any) -> str:
    """A text of an id that is the same in all processes, as far as it has one, else its class."""
    if isinstance(value, tuple):
        return f"({', '.join(map(_lasting, value))})"
    if isinstance(value, frozenset):
        return f"{{{', '.join(sorted(map(_lasting, value)))}}}"
    kind = type(value).__qualname__
    if isinstance(value, enum.Enum):
        return f"{kind}.{value.name}"
    if isinstance(value, datetime.date | datetime.time):
        return f"{kind} {value.isoformat()}"
    return repr(value) if isinstance(value, _WRITTEN) else kind
