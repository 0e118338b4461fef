"""The format of files of graphs: a header of one page, arrays at multiples of a page, checksums of their blocks.

All numbers are little-endian. The header, `HEADER`, says where everything lies and ends with a checksum of itself. The
arrays follow in the order of its table, each at the next multiple of `PAGE` bytes; then the checksums of their blocks,
one array's after the other's; the file ends at a multiple of `PAGE` bytes. An array is taken as words of 8 bytes, the
last one filled up with zeros, and `edgewise.graph.file_sums` says what a checksum is. The header holds a checksum of
each array's checksums, so that its own checksum depends on every byte of every array.

Attributes of edges are the arrays "attribute_0", "attribute_1" and so on, of one length, the number of edges of the
graph's input, or of its arcs where there are no "edge_numbers"; truth values are kept as bytes. Their names are in
"attribute_names", in UTF-8 with a zero byte between two names.

A file of a newer version, or with a bit in `features` that is not known, is refused. What is reserved is zero.
"""

import re
from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from edgewise.graph.csr import offset_dtype
from edgewise.graph.ids import Ids, check_plain

#: As PNG's: the first byte is no text, and copying as text would change the line ends.
MAGIC = b"\x89edgewise\r\n\x1a\n"
VERSION = 1
#: Reads as another number where bytes are in another order.
BYTE_ORDER = 0x01020304
#: Bytes: of the header, and what arrays are aligned to.
PAGE = 4096
#: Bytes of an array that one checksum covers, and words of 8 bytes in them.
BLOCK = 2**20
WORD = 8
BLOCK_WORDS = BLOCK // WORD
MOST_ARRAYS = 24
#: Bits of `features`: rows in the order of layers, see `edgewise.graph.layers`; attributes of edges.
LAYERED, WITH_ATTRIBUTES = 1, 2
#: The array that has the names of attributes, its most bytes, and the most attributes that leave room for all others.
NAMES, MOST_NAME_BYTES, MOST_ATTRIBUTES = "attribute_names", 2**16, 14
_ATTRIBUTE = re.compile("attribute_(0|[1-9][0-9]?)")

#: An array's entry in the header: its name and dtype (as NumPy writes it), where it and its checksums begin in the
#: file, in bytes, how many elements it has, and the checksum of its checksums.
ENTRY = np.dtype(
    [
        ("name", "S24"),
        ("dtype", "S8"),
        ("begin", "<u8"),
        ("length", "<u8"),
        ("sums_begin", "<u8"),
        ("sums_checksum", "<u8"),
        ("reserved", "V64"),
    ]
)
_FIELDS = [
    ("magic", "S16"),
    ("version", "<u4"),
    ("byte_order", "<u4"),
    ("features", "<u8"),
    ("header_bytes", "<u8"),
    ("block_bytes", "<u8"),
    ("file_bytes", "<u8"),
    ("num_vertices", "<u8"),
    ("num_arcs", "<u8"),
    ("num_loops", "<u8"),
    ("directed", "u1"),
    ("ids", "u1"),
    ("reserved", "V6"),
    ("num_arrays", "<u8"),
    ("arrays", ENTRY, (MOST_ARRAYS,)),
]
_USED = np.dtype(_FIELDS).itemsize
#: The header as a record of NumPy.
HEADER = np.dtype([*_FIELDS, ("rest", f"V{PAGE - WORD - _USED}"), ("checksum", "<u8")])

#: How ids are kept: none for 0..n-1; an array of integers; texts of strings; integers beyond 64 bits as hexadecimal
#: texts.
RANGE_IDS, INTEGER_IDS, STRING_IDS, LONG_IDS = range(4)
#: Bytes of what tells a graph from others.
KEY_BYTES = 32
#: The dtypes that weights can have.
WEIGHT_DTYPES = tuple(map(np.dtype, ("<i4", "<i8", "<f4", "<f8")))


class Expected(NamedTuple):
    """What an array of a graph has to be.

    Attributes:
        dtypes: those that it may have.
        length: elements, or None where any number is right.
    """

    dtypes: tuple[np.dtype, ...]
    length: int | None


def attribute_arrays(names: Iterable[str]) -> list[str]:
    """Which of these names of arrays are those of attributes."""
    return [name for name in names if _ATTRIBUTE.fullmatch(name)]


def expected_arrays(
    num_vertices: int,
    num_arcs: int,
    directed: bool,
    ids: int,
    layered: bool = False,
    names: Iterable[str] = (),
) -> dict[str, Expected]:
    """All arrays that a file of such a graph may have, by name; or one of a graph in layers.

    Args:
        num_vertices, num_arcs, directed, ids, layered: as in the header.
        names: of the arrays that it has, by which it may have attributes of edges.
    """
    offset, index = np.dtype(offset_dtype(num_arcs)), np.dtype(np.int32)
    rows = (
        Expected((offset,), num_vertices + 1),
        Expected((index,), num_arcs),
        Expected(WEIGHT_DTYPES, num_arcs),
    )
    arrays = dict(zip(("offsets", "targets", "weights"), rows, strict=True))
    if layered:
        places = Expected((np.dtype(np.int64),), None)
        arrays |= {"vertices": Expected((index,), num_vertices), "begins": places, "roots": places}
        return arrays | {"graph": Expected((np.dtype(np.uint8),), KEY_BYTES)}
    if directed:
        arrays |= zip(("in_offsets", "in_sources", "in_weights"), rows, strict=True)
    arrays["edge_numbers"] = Expected((index, np.dtype(np.int64)), num_arcs)
    names = set(names)
    if NAMES in names:
        arrays[NAMES] = Expected((np.dtype(np.uint8),), None)
    of_edges = Expected((np.dtype(np.uint8), *WEIGHT_DTYPES), None if "edge_numbers" in names else num_arcs)
    arrays |= dict.fromkeys(sorted(attribute_arrays(names)), of_edges)
    if ids == INTEGER_IDS:
        arrays["ids"] = Expected((np.dtype(np.int64), np.dtype(np.uint64)), num_vertices)
    elif ids in (STRING_IDS, LONG_IDS):
        arrays["id_ends"] = Expected((np.dtype(np.int64),), num_vertices)
        arrays["id_texts"] = Expected((np.dtype(np.uint8),), None)
    return arrays


def needed_arrays(names: set[str], layered: bool = False) -> set[str]:
    """The arrays that must be there beside those of these names."""
    needed = {"offsets", "targets"} | ({"vertices", "begins", "roots", "graph"} if layered else set())
    if names & {"in_offsets", "in_sources", "in_weights"}:
        needed |= {"in_offsets", "in_sources"} | ({"in_weights"} if "weights" in names else set())
    if "in_weights" in names:
        needed.add("weights")
    if count := len(attribute_arrays(names)):
        needed |= {NAMES, *(f"attribute_{place}" for place in range(count))}
    elif NAMES in names:
        needed.add("attribute_0")
    return needed


def ids_as_arrays(ids: Ids) -> tuple[int, dict[str, np.ndarray]]:
    """How ids are kept, and the arrays that hold them."""
    if ids.given is None:
        return RANGE_IDS, {}
    check_plain(ids)
    if ids.given.dtype != object:
        return INTEGER_IDS, {"ids": ids.given}
    given = ids.given.tolist()
    strings = all(isinstance(each, str) for each in given)
    texts = given if strings else [f"{each:x}" for each in given]
    encoded = [text.encode("utf-8", "surrogatepass") for text in texts]
    ends = np.cumsum(np.fromiter(map(len, encoded), np.int64, len(encoded)), dtype=np.int64)
    joined = np.frombuffer(b"".join(encoded), np.uint8)
    return STRING_IDS if strings else LONG_IDS, {"id_ends": ends, "id_texts": joined}


def num_blocks(num_bytes: int) -> int:
    """The number of checksums of an array of this many bytes."""
    return -(-num_bytes // BLOCK)


def aligned(num_bytes: int) -> int:
    """A place at a multiple of a page, at or after this one."""
    return -(-num_bytes // PAGE) * PAGE


def make_header(
    num_vertices: int,
    num_arcs: int,
    num_loops: int,
    directed: bool,
    ids: int,
    arrays: dict[str, tuple[np.dtype, int]],
    layered: bool = False,
) -> np.ndarray:
    """The header of a file of these arrays (their dtypes and lengths, by name), shape (1,), without checksums."""
    header = np.zeros(1, HEADER)
    fixed = header[0]
    fixed["features"] = LAYERED * layered | WITH_ATTRIBUTES * (NAMES in arrays)
    fixed["magic"], fixed["version"], fixed["byte_order"] = MAGIC, VERSION, BYTE_ORDER
    fixed["header_bytes"], fixed["block_bytes"] = PAGE, BLOCK
    fixed["num_vertices"], fixed["num_arcs"], fixed["num_loops"] = num_vertices, num_arcs, num_loops
    fixed["directed"], fixed["ids"], fixed["num_arrays"] = directed, ids, len(arrays)
    entries, place = fixed["arrays"], PAGE
    for entry, (name, (dtype, length)) in zip(entries, arrays.items(), strict=False):
        entry["name"], entry["dtype"] = name.encode(), dtype.newbyteorder("<").str.encode()
        entry["begin"], entry["length"] = place, length
        place = aligned(place + length * dtype.itemsize)
    for entry, (dtype, length) in zip(entries, arrays.values(), strict=False):
        entry["sums_begin"] = place
        place += WORD * num_blocks(length * dtype.itemsize)
    fixed["file_bytes"] = aligned(place)
    return header
