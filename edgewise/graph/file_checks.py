"""Check the arrays of a file: the checksums of their blocks and their values, in one pass on all threads.

Each function takes an array as `words` of 64 bits and the checksums of its blocks, and returns what is wrong: for each
block one of the codes below, int8. With `blocks`, it looks at these alone, and the others have the code `RIGHT`.

Rows. `walk_arcs` also makes a *print* of a set of arcs, which needs no order and no memory: the sum of mixed numbers,
one for each arc's ends and, if it has one, its weight. Two sets of arcs that differ have the same print with a chance
of 2**-64, unless somebody chose them so. So in-edges are compared with out-edges; and of an undirected graph the arcs
from smaller to larger indices, turned round, are compared with the others by the difference of both prints, which is 0.
"""

from typing import Any, NamedTuple

import numpy as np

from edgewise.graph.csr import Rows, row_of
from edgewise.graph.file_format import BLOCK, BLOCK_WORDS
from edgewise.graph.file_sums import GOLDEN, add_to_blocks, sum_of
from edgewise.kernels.cache import device_function
from edgewise.kernels.cpu.launch import launch, sealed
from edgewise.kernels.cpu.mapped import bring
from edgewise.kernels.cpu.team import claim, team_kernel
from edgewise.kernels.mixing import mix64

#: What can be wrong with a block: nothing; its checksum; a value out of range, or NaN or infinite; the order of values.
RIGHT, WRONG_SUM, WRONG_VALUE, WRONG_ORDER = range(4)
#: Nanoseconds of one thread, for a word that is summed up and an arc that is walked.
_WORD_TIME, _ARC_TIME = 0.5, 2.0
#: Which arcs a print is of: each from its row to its target; each from its target to its row; both arcs of each edge.
OUT_ARCS, IN_ARCS, BOTH_ARCS = range(3)


class RowsPart(NamedTuple):
    """Some rows, and the blocks of an array that their arcs are in."""

    rows: slice
    blocks: slice


class Walked(NamedTuple):
    """What a walk over arcs has found.

    Attributes:
        wrong: the code of each block.
        print: of the arcs.
        loops: the arcs from a vertex to itself.
    """

    wrong: np.ndarray
    print: int
    loops: int


@device_function
def _sum_is(words: Any, sums: Any, b: Any) -> Any:
    """Whether a block has the checksum that was written."""
    first, end = b * BLOCK_WORDS, min((b + 1) * BLOCK_WORDS, len(words))
    bring(words, first, end)
    return sum_of(words, np.int64(0), first, end) == sums[b]


@team_kernel
def _check_below(
    thread: Any,
    size: Any,
    control: Any,
    words: Any,
    sums: Any,
    values: Any,
    zero: Any,
    limit: Any,
    begin: Any,
    stop: Any,
    wrong: Any,
) -> None:
    """Check that all values, unsigned, are below a limit: negative ones, as unsigned numbers, are large.

    zero: of the dtype of the values.
    """
    length = BLOCK // values.itemsize
    while True:
        b = begin + claim(control, 0, 1, stop - begin)
        if b >= stop:
            return
        if not _sum_is(words, sums, b):
            wrong[b] = WRONG_SUM
            continue
        most = zero
        for i in range(np.uint64(b * length), np.uint64(min((b + 1) * length, len(values)))):
            most = max(most, values[i])
        if np.uint64(most) >= limit:
            wrong[b] = WRONG_VALUE


@team_kernel
def _check_finite(
    thread: Any,
    size: Any,
    control: Any,
    words: Any,
    sums: Any,
    values: Any,
    exponent: Any,
    begin: Any,
    stop: Any,
    wrong: Any,
) -> None:
    """Check that no value, as bits, has all bits of its exponent: those are NaN or infinite."""
    length = BLOCK // values.itemsize
    while True:
        b = begin + claim(control, 0, 1, stop - begin)
        if b >= stop:
            return
        if not _sum_is(words, sums, b):
            wrong[b] = WRONG_SUM
            continue
        found = 0
        for i in range(np.uint64(b * length), np.uint64(min((b + 1) * length, len(values)))):
            found += (values[i] & exponent) == exponent
        if found:
            wrong[b] = WRONG_VALUE


@team_kernel
def _copy_rising(
    thread: Any,
    size: Any,
    control: Any,
    words: Any,
    sums: Any,
    copy: Any,
    values: Any,
    begin: Any,
    stop: Any,
    wrong: Any,
) -> None:
    """Copy words, and check the copy: its checksums, and that its values, within a block, never fall."""
    length, one = BLOCK // values.itemsize, np.uint64(1)
    while True:
        b = begin + claim(control, 0, 1, stop - begin)
        if b >= stop:
            return
        bring(words, b * BLOCK_WORDS, (b + 1) * BLOCK_WORDS)
        for i in range(np.uint64(b * BLOCK_WORDS), np.uint64(min((b + 1) * BLOCK_WORDS, len(words)))):
            copy[i] = words[i]
        if sum_of(copy, np.int64(0), b * BLOCK_WORDS, min((b + 1) * BLOCK_WORDS, len(words))) != sums[b]:
            wrong[b] = WRONG_SUM
            continue
        falls = 0
        for i in range(np.uint64(b * length) + one, np.uint64(min((b + 1) * length, len(values)))):
            falls += values[i] < values[i - one]
        if falls:
            wrong[b] = WRONG_ORDER


@device_function
def _mixed_arc(source: Any, target: Any, weight: Any) -> Any:
    """A number that an arc and its weight, as bits or None, make."""
    ends = mix64((source << np.uint64(32) | target) + GOLDEN)
    return ends if weight is None else mix64(ends + weight)


@team_kernel
def _walk(
    thread: Any,
    size: Any,
    control: Any,
    words: Any,
    sums: Any,
    length: Any,
    offsets: Any,
    targets: Any,
    weights: Any,
    exponent: Any,
    which: Any,
    begin: Any,
    stop: Any,
    first_row: Any,
    num_rows: Any,
    wrong: Any,
    prints: Any,
    loops: Any,
) -> None:
    """Check blocks of `length` targets, or of weights if there are any, and walk those of their arcs that are in rows.

    offsets: of the rows from `first_row` on, of `num_rows` in all.
    """
    limit, zero, one = np.uint64(num_rows), np.uint64(0), np.uint64(1)
    base, low, high = np.uint64(first_row), np.int64(offsets[0]), np.int64(offsets[len(offsets) - 1])
    while True:
        b = begin + claim(control, 0, 1, stop - begin)
        if b >= stop:
            return
        if not _sum_is(words, sums, b):
            wrong[b] = WRONG_SUM
            continue
        first, end = np.uint64(max(b * length, low)), np.uint64(min((b + 1) * length, high))
        most, bad = np.uint32(0), zero
        for i in range(first, end):
            most = max(most, targets[i])
        if weights is not None and exponent:
            for i in range(first, end):
                bad += one if np.uint64(weights[i]) & exponent == exponent else zero
        if np.uint64(most) >= limit or bad:
            wrong[b] = WRONG_VALUE
            continue
        total, met, falls = zero, zero, zero
        k, at = first, row_of(offsets, first)
        while k < end:
            last, row = min(np.uint64(offsets[at + one]), end), base + at
            if which == BOTH_ARCS:
                for i in range(k, last):
                    v = np.uint64(targets[i])
                    weight = None if weights is None else np.uint64(weights[i])
                    mixed = _mixed_arc(min(row, v), max(row, v), weight)
                    total += mixed if row < v else zero - mixed
                    total += mixed if row == v else zero
                    met += one if row == v else zero
            elif which == IN_ARCS:
                for i in range(k, last):
                    weight = None if weights is None else np.uint64(weights[i])
                    total += _mixed_arc(np.uint64(targets[i]), row, weight)
            else:
                for i in range(k, last):
                    weight = None if weights is None else np.uint64(weights[i])
                    total += _mixed_arc(row, np.uint64(targets[i]), weight)
            if which == IN_ARCS:
                for i in range(k + one, last):
                    falls += one if targets[i] < targets[i - one] else zero
            k = last
            at += one
        prints[b], loops[b] = total, met
        if falls:
            wrong[b] = WRONG_ORDER


def check_below(
    words: np.ndarray, sums: np.ndarray, values: np.ndarray, limit: int, blocks: slice | None = None
) -> np.ndarray:
    """Check that integers are at least 0 and below a limit."""
    wrong = np.zeros(len(sums), np.int8)
    unsigned = sealed(values.view(f"u{values.itemsize}"))
    zero, (words, begin, stop) = unsigned.dtype.type(0), _these(words, sums, blocks)
    arrays = (words, sums, unsigned, zero, np.uint64(limit), begin, stop, wrong)
    launch(_check_below, *arrays, work=_WORD_TIME * BLOCK_WORDS * (stop - begin))
    return wrong


def check_finite(
    words: np.ndarray, sums: np.ndarray, values: np.ndarray, blocks: slice | None = None
) -> np.ndarray:
    """Check that floats are finite; of other dtypes only the checksums are checked."""
    wrong = np.zeros(len(sums), np.int8)
    bits, exponent = sealed(values.view(f"u{values.itemsize}")), exponent_of(values.dtype)
    if exponent:
        mask, (words, begin, stop) = bits.dtype.type(exponent), _these(words, sums, blocks)
        arrays = (words, sums, bits, mask, begin, stop, wrong)
        launch(_check_finite, *arrays, work=_WORD_TIME * BLOCK_WORDS * (stop - begin))
        return wrong
    return check_below(words, sums, np.zeros(0, np.uint64), 1, blocks)


def copy_rising(
    words: np.ndarray, sums: np.ndarray, values: np.ndarray, blocks: slice | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Copy integers that should never fall, and check the copy. Returns it, with zeros for other blocks, which take no
    memory, and what is wrong."""
    copy, wrong = np.zeros(len(words), np.uint64), np.zeros(len(sums), np.int8)
    copied, length = copy.view(values.dtype)[: len(values)], BLOCK // values.itemsize
    words, begin, stop = _these(words, sums, blocks)
    arrays = (words, sums, copy, sealed(copied), begin, stop, wrong)
    launch(_copy_rising, *arrays, work=2 * _WORD_TIME * BLOCK_WORDS * (stop - begin))
    starts = np.arange((begin + 1) * length, min(stop * length, len(values)), length)
    if (copied[starts] < copied[starts - 1]).any():
        wrong[begin] = wrong[begin] or WRONG_ORDER
    return copied, wrong


def walk_arcs(
    words: np.ndarray,
    sums: np.ndarray,
    offsets: np.ndarray,
    targets: np.ndarray,
    weights: np.ndarray | None,
    which: int,
    part: RowsPart | None = None,
) -> Walked:
    """Check the targets of rows or, if they are given, the weights, and make the print of the arcs.

    Args:
        words, sums: of the targets, or of the weights.
        offsets: checked, shape (n + 1,).
        targets: shape (m,).
        weights: None, or shape (m,).
        which: which arcs the print is of. In-edges are also checked to ascend in each row.
        part: the rows whose arcs are walked, and the blocks that these are in; None for all.
    """
    wrong, prints, loops = (
        np.zeros(len(sums), np.int8),
        np.zeros(len(sums), np.uint64),
        np.zeros(len(sums), np.int64),
    )
    bits, exponent = None, np.uint64(0)
    if weights is not None:
        bits, exponent = sealed(weights.view(f"u{weights.itemsize}")), np.uint64(exponent_of(weights.dtype))
    length = BLOCK // (targets if weights is None else weights).itemsize
    ends, num_rows = sealed(targets.view(np.uint32)), len(offsets) - 1
    rows, blocks = part or RowsPart(slice(0, num_rows), slice(0, len(sums)))
    words, begin, stop = _these(words, sums, blocks)
    offsets = offsets[rows.start : rows.stop + 1]
    arrays = (words, sums, length, offsets, ends, bits, exponent, which, begin, stop, rows.start, num_rows)
    launch(_walk, *arrays, wrong, prints, loops, work=_ARC_TIME * float(offsets[-1] - offsets[0]))
    return Walked(wrong, int(prints.sum(dtype=np.uint64)), int(loops.sum()))


def _these(words: np.ndarray, sums: np.ndarray, blocks: slice | None) -> tuple[np.ndarray, int, int]:
    """The words up to the last of some blocks, beyond which nothing is read, and the first and the end of these."""
    begin, stop = (0, len(sums)) if blocks is None else (blocks.start, blocks.stop)
    return sealed(words[: stop * BLOCK_WORDS]), begin, stop


def walk_rows(rows: Rows, which: int) -> Walked:
    """`walk_arcs` for rows in memory, which have no checksums: they get those that they have now."""
    column = rows.targets if rows.weights is None else rows.weights
    words = column.view(np.uint8)[: column.nbytes // 8 * 8].view(np.uint64)
    sums = np.zeros(-(-column.nbytes // BLOCK), np.uint64)
    add_to_blocks(sums, 0, words)
    return walk_arcs(sealed(words), sums, sealed(rows.offsets), sealed(rows.targets), rows.weights, which)


def exponent_of(dtype: np.dtype) -> int:
    """The bits of the exponent of floats; 0 for other dtypes."""
    return {np.dtype(np.float32): 0x7F800000, np.dtype(np.float64): 0x7FF0000000000000}.get(dtype, 0)
