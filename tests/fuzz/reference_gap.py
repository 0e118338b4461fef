"""Serialized graphs of the GAP Benchmark Suite, in plain Python."""

import struct
from collections import Counter

from reference import LARGEST, Expected, refuse_unless

_HEADER = struct.Struct("<Bqq")


def packed_gap(weighted: bool, content: bytes) -> bytes:
    """A serialized graph that some bytes describe, whatever they are: the first says the direction, the second the
    number of vertices, and two, or three with a weight, each edge."""
    directed, count = content[:1] < b"\x80", 1 + sum(content[1:2]) % 9
    step = 2 + weighted
    edges = zip(*(content[2 + place :: step] for place in range(step)), strict=False)
    arcs = sorted((u % count, v % count, *(w - 100 for w in rest)) for u, v, *rest in edges)
    if not directed:
        arcs = sorted(arcs + [(v, u, *w) for u, v, *w in arcs if u != v])
    sides = [arcs, sorted((v, u, *w) for u, v, *w in arcs)][: 1 + directed]
    return _HEADER.pack(directed, len(arcs), count) + b"".join(_rows(side, count) for side in sides)


def _rows(arcs: list[tuple], count: int) -> bytes:
    offsets = [sum(arc[0] < row for arc in arcs) for row in range(count + 1)]
    numbers = [number for arc in arcs for number in arc[1:]]
    return struct.pack(f"<{count + 1}q{len(numbers)}i", *offsets, *numbers)


def read_gap(weighted_file: bool, data: bytes, weighted: bool | None = None) -> Expected:
    """The graph in a file whose name says whether it has weights."""
    refuse_unless(len(data) >= _HEADER.size)
    directed, num_arcs, count = _HEADER.unpack_from(data)
    refuse_unless(directed in (0, 1) and num_arcs >= 0 and 0 <= count <= LARGEST)
    of_rows = 8 * (count + 1) + 4 * (1 + weighted_file) * num_arcs
    refuse_unless(len(data) == _HEADER.size + (1 + directed) * of_rows)
    refuse_unless(weighted_file or not weighted)
    arcs = _arcs(data[_HEADER.size :][:of_rows], count, num_arcs, weighted_file)
    if directed:
        in_arcs = _arcs(data[_HEADER.size + of_rows :], count, num_arcs, weighted_file)
        refuse_unless(Counter(arcs) == Counter((v, u, *w) for u, v, *w in in_arcs))
    else:
        refuse_unless(Counter(arcs) == Counter((v, u, *w) for u, v, *w in arcs))
        arcs = [arc for arc in arcs if arc[0] <= arc[1]]
    if weighted is False:
        arcs = [arc[:2] for arc in arcs]
    return Expected(arcs, bool(directed), range(count))


def _arcs(data: bytes, count: int, num_arcs: int, weighted: bool) -> list[tuple]:
    """The arcs of rows."""
    offsets = struct.unpack_from(f"<{count + 1}q", data)
    numbers = struct.unpack_from(f"<{num_arcs * (1 + weighted)}i", data, 8 * (count + 1))
    refuse_unless(offsets[0] == 0 and offsets[-1] == num_arcs and list(offsets) == sorted(offsets))
    ends = [numbers[k * (1 + weighted) : (k + 1) * (1 + weighted)] for k in range(num_arcs)]
    refuse_unless(all(0 <= end[0] < count for end in ends))
    rows = [row for row in range(count) for _ in range(offsets[row], offsets[row + 1])]
    return [(row, *end) for row, end in zip(rows, ends, strict=True)]
