"""Read the header of a file of a graph. It is not trusted: what it says must fit the file, and a graph."""

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from edgewise.errors import ParseError
from edgewise.graph.file_format import (
    BLOCK,
    BYTE_ORDER,
    HEADER,
    LAYERED,
    LONG_IDS,
    MAGIC,
    MOST_ARRAYS,
    MOST_NAME_BYTES,
    NAMES,
    PAGE,
    RANGE_IDS,
    VERSION,
    WITH_ATTRIBUTES,
    WORD,
    attribute_arrays,
    expected_arrays,
    needed_arrays,
    num_blocks,
)
from edgewise.graph.file_sums import checksum
from edgewise.graph.ids import MAX_VERTICES
from edgewise.text import listed, shown

#: More arcs than a file can hold: the limit keeps places within 64 bits.
_MOST_ARCS = 2**56
#: The first bytes of files of other kinds, with what to do.
_FOREIGN = {
    b"\x1f\x8b": "gzip; unpack it first, or read it with edgewise.read if it holds text",
    b"BZh": "bzip2; unpack it first, or read it with edgewise.read if it holds text",
    b"\xfd7zXZ\x00": "xz; unpack it first, or read it with edgewise.read if it holds text",
    b"\x28\xb5\x2f\xfd": "zstd; unpack it first, or read it with edgewise.read if it holds text",
    b"PK\x03\x04": "a zip archive; unpack it first",
    b"\x93NUMPY": "an array of NumPy; make a graph with Graph.from_csr or Graph.from_edges",
    b"\x89HDF": "HDF5; make a graph with Graph.from_csr or Graph.from_edges",
    b"PAR1": "Parquet; make a graph with Graph.from_edges from its columns",
    b"\x7fELF": "a program; name another file",
    b"<": "XML; edgewise.read reads edge lists, CSV, Matrix Market and DIMACS files",
}


@dataclass(frozen=True)
class StoredArray:
    """Where an array lies in a file.

    Attributes:
        dtype: of its elements.
        length: the number of elements.
        begin: its first byte in the file.
        sums_begin: the first byte of the checksums of its blocks.
        sums_checksum: the checksum of these.
    """

    dtype: np.dtype
    length: int
    begin: int
    sums_begin: int
    sums_checksum: int

    @property
    def nbytes(self) -> int:
        """The bytes of the array."""
        return self.length * self.dtype.itemsize

    @property
    def num_blocks(self) -> int:
        """The number of its checksums."""
        return num_blocks(self.nbytes)


@dataclass(frozen=True)
class FileHeader:
    """What a file of a graph says of itself.

    Attributes:
        num_vertices, num_arcs, num_loops, directed: of the graph; self-loops are counted only if it is undirected.
        ids: how ids are kept, see `edgewise.graph.file_format`.
        layered: whether it is one of `edgewise.graph.layers`.
        arrays: where the arrays lie, by name.
        file_bytes: the size of the file.
        checksum: that of the header, which depends on all that the file holds.
    """

    num_vertices: int
    num_arcs: int
    num_loops: int
    directed: bool
    ids: int
    layered: bool
    arrays: dict[str, StoredArray]
    file_bytes: int
    checksum: int

    @property
    def attributes(self) -> list[str]:
        """The arrays that are attributes of edges, in their order."""
        return [f"attribute_{place}" for place in range(len(attribute_arrays(self.arrays)))]


def parse_header(path: Any, content: bytes, size: int) -> FileHeader:
    """The header of a file.

    Args:
        path: of the file, for messages.
        content: its first `PAGE` bytes, or all it has.
        size: its bytes.

    Raises:
        ParseError: it is no file of a graph, a damaged one or one that is cut off, or of a newer version.
    """
    _check_magic(path, content)
    if len(content) < PAGE:
        raise ParseError(f"{path} is cut off: it has {size:,} bytes, fewer than its header. Copy it again")
    fixed = np.frombuffer(content, HEADER, 1)[0]
    _check_version(path, fixed)
    if checksum(content[: PAGE - WORD]) != int(fixed["checksum"]):
        raise _damaged(path, "its header does not have the checksum that it states")
    said = int(fixed["file_bytes"])
    if size < said:
        raise ParseError(f"{path} is cut off: it has {size:,} of {said:,} bytes. Copy it again")
    if size > said:
        raise _damaged(path, f"it has {size:,} bytes; its header says {said:,}")
    _check_reserved(path, fixed)
    header = FileHeader(
        num_vertices=int(fixed["num_vertices"]),
        num_arcs=int(fixed["num_arcs"]),
        num_loops=int(fixed["num_loops"]),
        directed=bool(fixed["directed"]),
        ids=int(fixed["ids"]),
        layered=bool(int(fixed["features"]) & LAYERED),
        arrays=_entries(path, fixed),
        file_bytes=said,
        checksum=int(fixed["checksum"]),
    )
    _check_sizes(path, header)
    _check_attributes(path, header, bool(int(fixed["features"]) & WITH_ATTRIBUTES))
    _check_places(path, header)
    return header


def _damaged(path: Any, problem: str) -> ParseError:
    return ParseError(f"{path} is damaged: {problem}. Copy it again, or make it anew")


def _check_magic(path: Any, content: bytes) -> None:
    """Refuse a file that does not begin as files of graphs do, and say what it looks like."""
    if content.startswith(MAGIC):
        return
    name = MAGIC[:9]
    if not content:
        looks = "it is empty"
    elif MAGIC.startswith(content):
        raise ParseError(f"{path} is cut off: it has {len(content):,} bytes. Copy it again")
    elif content.startswith((name, name[1:], b"\xc2" + name)):
        looks = "its line ends were changed, as when a file is copied as text; copy it again, as binary"
    else:
        known = next((what for start, what in _FOREIGN.items() if content.startswith(start)), None)
        text = not set(content[:256]) - set(range(32, 127)) - set(b"\t\r\n") - set(range(128, 256))
        text = text and b"\x89" not in content[:1]
        looks = f"it looks like {known}" if known else "it holds other data"
        if not known and text:
            looks = (
                "it looks like text; read it with edgewise.read, or convert it with: edgewise convert. If its name "
                'ends in .edgewise, give it another one, or say how it is to be read: format="edgelist"'
            )
    raise ParseError(f"{path} is no file of a graph of edgewise: {looks}")


def _check_version(path: Any, fixed: Any) -> None:
    order, version = int(fixed["byte_order"]), int(fixed["version"])
    if order == int.from_bytes(BYTE_ORDER.to_bytes(4, "little"), "big"):
        raise ParseError(f"{path} has its bytes in the other order; edgewise reads little-endian files only")
    if order != BYTE_ORDER or version == 0:
        raise _damaged(path, "its header does not begin as it should")
    if version > VERSION:
        raise ParseError(
            f"{path} is of format {version}; this version of edgewise reads format {VERSION}. Update edgewise, or "
            "write the file with an older version"
        )


def _check_reserved(path: Any, fixed: Any) -> None:
    """Refuse what this version does not know."""
    if int(fixed["features"]) not in (0, LAYERED, WITH_ATTRIBUTES):
        raise ParseError(f"{path} uses what this version of edgewise does not know. Update edgewise")
    used = int(fixed["num_arrays"])
    if used > MOST_ARRAYS:
        raise _damaged(path, f"its header lists {used:,} arrays; at most {MOST_ARRAYS} can be had")
    entries = fixed["arrays"]
    reserved = [fixed["reserved"], fixed["rest"], entries["reserved"], entries[used:]]
    as_expected = (int(fixed["header_bytes"]), int(fixed["block_bytes"])) == (PAGE, BLOCK)
    if not as_expected or fixed["directed"] > 1 or any(any(each.tobytes()) for each in reserved):
        raise _damaged(path, "its header has values that no version writes")


def _entries(path: Any, fixed: Any) -> dict[str, StoredArray]:
    """The arrays that a header lists."""
    arrays: dict[str, StoredArray] = {}
    for entry in fixed["arrays"][: int(fixed["num_arrays"])]:
        name, kind = (bytes(entry[each]).decode("ascii", "replace") for each in ("name", "dtype"))
        if kind not in ("<i4", "<i8", "<u8", "<f4", "<f8", "|u1"):
            raise _damaged(path, f"its array {shown(name)} has the dtype {shown(kind)}")
        if name in arrays:
            raise _damaged(path, f"it has the array {shown(name)} twice")
        numbers = (int(entry[each]) for each in ("length", "begin", "sums_begin", "sums_checksum"))
        arrays[name] = StoredArray(np.dtype(kind), *numbers)
    return arrays


def _check_sizes(path: Any, header: FileHeader) -> None:
    """Refuse sizes that no graph has, and arrays that are not those of such a graph."""
    n, m, loops = header.num_vertices, header.num_arcs, header.num_loops
    odd = (m + loops) % 2 if not header.directed else loops
    last_ids = RANGE_IDS if header.layered else LONG_IDS
    if n > MAX_VERTICES or m > _MOST_ARCS or (m and not n) or loops > m or odd or header.ids > last_ids:
        raise _damaged(path, f"no graph has {n:,} vertices, {m:,} arcs and {loops:,} self-loops")
    expected = expected_arrays(n, m, header.directed, header.ids, header.layered, header.arrays)
    needed = needed_arrays(set(header.arrays), header.layered) | (
        set(expected) & {"ids", "id_ends", "id_texts"}
    )
    missing = sorted(needed - set(header.arrays))
    if missing:
        raise _damaged(path, f"it lacks {listed(missing)}")
    for name, array in header.arrays.items():
        wanted = expected.get(name)
        if wanted is None:
            raise _damaged(path, f"it has an array {shown(name)}, which such a graph does not have")
        if array.dtype not in wanted.dtypes or wanted.length not in (None, array.length):
            raise _damaged(path, f"its array {name} has {array.length:,} elements of {array.dtype}")


def _check_attributes(path: Any, header: FileHeader, said: bool) -> None:
    """Refuse attributes of edges that are not announced, of different lengths, or with names of more text than any
    file has."""
    if said != (NAMES in header.arrays):
        raise _damaged(path, "it does not have the attributes of edges that its header announces")
    if len({header.arrays[name].length for name in header.attributes}) > 1:
        raise _damaged(path, "its attributes of edges have different lengths")
    if said and header.arrays[NAMES].length > MOST_NAME_BYTES:
        raise _damaged(path, f"its {NAMES} have more than {MOST_NAME_BYTES:,} bytes")


def _check_places(path: Any, header: FileHeader) -> None:
    """Refuse arrays that do not lie in the file, or that overlap."""
    spans = [(0, PAGE)]
    for name, array in header.arrays.items():
        if array.begin % PAGE or array.sums_begin % WORD:
            raise _damaged(path, f"its array {name} does not begin at a multiple of {PAGE} bytes")
        spans += [
            (array.begin, array.begin + -(-array.nbytes // WORD) * WORD),
            (array.sums_begin, array.sums_begin + WORD * array.num_blocks),
        ]
    spans.sort()
    if spans[-1][1] > header.file_bytes or any(one[1] > other[0] for one, other in pairwise(spans)):
        raise _damaged(path, "its arrays overlap, or do not lie in the file")
