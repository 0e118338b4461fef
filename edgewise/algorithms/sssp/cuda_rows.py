"""Rows of a graph whose arcs lie in the order of their weights, for kernels that read the beginnings of rows.

An arc is one word: the weight's bits above the target, or the source of an in-edge. The words of weights of at least 0
have their order. They are made on the host, and lie as the graph's placement says.
"""

from typing import Any, NamedTuple

import numpy as np

from edgewise.algorithms.common.lengths import weight_range
from edgewise.graph import Graph
from edgewise.kernels.cache import device_function
from edgewise.kernels.costs import best_threads
from edgewise.kernels.cpu.launch import INTERRUPTIBLE, launch_on, sealed
from edgewise.kernels.cpu.team import available_threads, claim, team_kernel
from edgewise.kernels.cuda.arguments import Int64s, Offsets, Uint8s
from edgewise.kernels.cuda.memory import copy_of
from edgewise.memory import check_free

#: Rows that a thread sorts at a time, and about the nanoseconds that an arc takes for each digit.
_STEP, _ARC_NS = 64, 8
#: Longer rows are sorted digit by digit; the values of a digit.
_SHORT, _DIGIT = 32, 256
#: The bytes of an arc's word.
WORD_BYTES = 8
#: Integers up to this one are sorted: a distance has 31 bits here, so paths of at least 32 arcs can be told.
_HEAVIEST = 1 << 26
#: The mean out-degree from which it pays: shorter rows are read whole in any case.
_LONG = 8


class SortedRows(NamedTuple):
    """Out-edges and in-edges, where the GPU reads them.

    Attributes:
        offsets, in_offsets: shape (n + 1,).
        arcs, in_arcs: shape (m,), in each row by weight.
        floors, in_floors: shape (n,): the upper bits of each row's least weight, on the GPU.
        shift: how many bits are missing in them.
    """

    offsets: Offsets
    arcs: Int64s
    floors: Uint8s
    in_offsets: Offsets
    in_arcs: Int64s
    in_floors: Uint8s
    shift: int


def suit(graph: Graph, distance: np.dtype) -> bool:
    """Whether words hold this graph's weights, and distances of this dtype, and rows are long enough to be sorted."""
    if not graph.weighted or graph.num_arcs < _LONG * graph.num_vertices:
        return False
    return distance == np.float32 or (distance.kind == "i" and bool(weight_range(graph)[1] <= _HEAVIEST))


def sorted_rows(graph: Graph) -> SortedRows:
    """The rows of a graph with weights of at least 0, sorted by weight.

    Raises:
        MemoryLimitError: the host has no room for them.
    """
    gpu = graph.gpu
    check_free("sorting arcs by weight", _host_bytes(graph))
    heaviest = np.array(weight_range(graph)[1], graph.weight_dtype)
    bits = max(1, int(_bits(heaviest.reshape(1))[0]).bit_length())

    def made(offsets: Any, ends: Any, weights: Any) -> tuple[Any, Any]:
        arcs, floors = _sorted(offsets, ends, weights, bits)
        return gpu.placed(arcs), copy_of(floors)

    out = gpu.offsets, *made(graph.offsets, graph.targets, graph.weights)
    inward = out
    if graph.directed:
        inward = gpu.in_offsets, *made(graph.in_offsets, graph.in_sources, graph.in_weights)
    return SortedRows(*out, *inward, _shift(bits))


def _host_bytes(graph: Graph) -> int:
    """The host's memory that it takes to sort rows: in-edges, words, and those that stay there if a part does not."""
    words, ways = WORD_BYTES * graph.num_arcs, 1 + graph.directed
    stays = words - graph.gpu.part(words)
    copied = words if stays < words else 0
    of_arc = 4 + np.dtype(graph.weight_dtype).itemsize
    in_edges = 0 if graph.has_in_edges or not graph.directed else of_arc * graph.num_arcs
    return copied + ways * stays + in_edges


def _shift(bits: int) -> int:
    return max(0, bits - 8)


def _bits(weights: Any) -> Any:
    """Weights as integers of the same order; -0.0 is less than 0."""
    return weights.view(np.int32) if weights.dtype.kind == "f" else weights


def _sorted(offsets: Any, ends: Any, weights: Any, bits: int) -> tuple[np.ndarray, np.ndarray]:
    """The words of all arcs, sorted, and the floors of rows, for weights whose `_bits` are below 2**bits."""
    arcs, floors = np.empty(len(ends), np.int64), np.full(len(offsets) - 1, 255, np.uint8)
    digits = -(-bits // 8)
    work = _ARC_NS * digits * len(ends)
    threads = best_threads(work, available_threads())
    room = np.empty((threads, int(np.diff(offsets).max(initial=0))), np.int64)
    counts = np.empty((threads, _DIGIT), np.int64)
    given = sealed(offsets), sealed(ends.view(np.uint32)), sealed(_bits(weights))
    filled = arcs, floors, _shift(bits)
    launch_on(threads, _sort, *given, digits, room, counts, *filled, long=work > INTERRUPTIBLE)
    return arcs, floors


@team_kernel
def _sort(
    thread: Any,
    size: Any,
    control: Any,
    offsets: Any,
    ends: Any,
    bits: Any,
    digits: Any,
    room: Any,
    counts: Any,
    arcs: Any,
    floors: Any,
    shift: Any,
) -> None:
    """Write the words of all arcs, sort each row by weight, and note the upper bits of its least one."""
    n, other, count = len(offsets) - 1, room[thread], counts[thread]
    while True:
        first = claim(control, 0, _STEP, n)
        if first >= n:
            break
        for v in range(first, min(first + _STEP, n)):
            begin, length = np.int64(offsets[v]), np.int64(offsets[v + 1]) - np.int64(offsets[v])
            row = arcs[begin : begin + length]
            passes = digits if length > _SHORT else 0
            words = other if passes % 2 == 1 else row
            for i in range(length):
                weight = np.int64(bits[begin + i])
                words[i] = (weight << 32 if weight > 0 else np.int64(0)) | np.int64(ends[begin + i])
            if passes == 0:
                _insert(row)
            for digit in range(passes):
                source, to = (other, row) if (passes - digit) % 2 == 1 else (row, other)
                _by_digit(source, length, 32 + 8 * digit, count, to)
            if length > 0:
                floors[v] = row[0] >> 32 >> shift


@device_function
def _insert(row: Any) -> None:
    """Sort a short row."""
    for i in range(1, len(row)):
        word, k = row[i], i
        while k > 0 and row[k - 1] > word:
            row[k] = row[k - 1]
            k -= 1
        row[k] = word


@device_function
def _by_digit(source: Any, length: Any, shift: Any, count: Any, to: Any) -> None:
    """Sort by eight bits, and leave equal ones in their order."""
    count[:] = 0
    for i in range(length):
        count[source[i] >> shift & (_DIGIT - 1)] += 1
    before = np.int64(0)
    for digit in range(_DIGIT):
        held = count[digit]
        count[digit] = before
        before += held
    for i in range(length):
        digit = source[i] >> shift & (_DIGIT - 1)
        to[count[digit]] = source[i]
        count[digit] += 1
