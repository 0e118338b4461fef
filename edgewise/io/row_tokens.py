"""Compiled code that turns lines of neighbours into columns of numbers; see `edgewise.io.tokens`."""

from typing import Any

import numpy as np

from edgewise.io.tokens import (
    COLUMN,
    DONE,
    EDGES,
    LINE,
    NUM_STATE,
    OUT_OF_RANGE,
    POSITION,
    START,
    STOP,
    WHITESPACE,
    field_at,
    integer_at,
)
from edgewise.kernels.cache import device_function, kernel
from edgewise.kernels.mixing import mix64

#: Words of the state behind those of `edgewise.io.tokens`: rows that have ended; a sum over edges that is 0, but for
#: chance, where each stands in the rows of both its ends.
ROW, BALANCE = NUM_STATE, NUM_STATE + 1
NUM_ROW_STATE = NUM_STATE + 2
#: Further reasons to stop the scan: a row behind the last one; numbers before neighbours, or a weight, are missing.
TOO_MANY_ROWS, TOO_FEW_NUMBERS = 20, 21
#: Words of the layout: rows; the least id; numbers before the neighbours of a row; whether each neighbour has a weight
#: behind it; whether each edge stands in both rows, and is kept once.
ROWS, BASE, LEADING, WEIGHTED, ONCE = range(5)
_NEWLINE = 10


@device_function
def _balance(u: Any, v: Any, weight: Any) -> Any:
    """A number of an edge from the row of its lesser end, and minus that number from the row of the other."""
    low, high = np.uint64(min(u, v)), np.uint64(max(u, v))
    mixed = np.int64(mix64((low << np.uint64(32) | high) ^ mix64(np.uint64(weight))))
    return mixed if u < v else -mixed if u > v else np.int64(0)


@device_function
def _row(
    text: Any, begin: Any, end: Any, state: Any, layout: Any, source: Any, target: Any, weights: Any
) -> Any:
    """Read one row behind the edges that were read. Returns why it stopped, where the field begins and ends, its
    column, how many edges there are now, and the balance of those of this row."""
    row, edge, balance = state[ROW] + layout[BASE], np.uint64(state[EDGES]), np.int64(0)
    start, stop, p, _ = field_at(text, begin, end, WHITESPACE)
    column, reason, neighbor, wants_weight = np.int64(0), DONE, np.int64(0), False
    if start < stop and state[ROW] == layout[ROWS]:
        reason = TOO_MANY_ROWS
    while reason == DONE and start < stop:
        number, reason = integer_at(text, start, stop)
        column += 1
        if reason == DONE and column > layout[LEADING]:
            ends = False
            if wants_weight:
                wants_weight, ends = False, True
            else:
                neighbor, ends = number, layout[WEIGHTED] == 0
                wants_weight = layout[WEIGHTED] != 0
                if number < layout[BASE] or number - layout[BASE] >= layout[ROWS]:
                    reason = OUT_OF_RANGE
            if ends and reason == DONE:
                weight = number if layout[WEIGHTED] != 0 else np.int64(0)
                if layout[ONCE] == 0 or row <= neighbor:
                    source[edge], target[edge] = row, neighbor
                    if layout[WEIGHTED] != 0:
                        weights[edge] = weight
                    edge += np.uint64(1)
                balance += _balance(row, neighbor, weight)
        if reason == DONE:
            start, stop, p, _ = field_at(text, min(p, end), end, WHITESPACE)
    if reason == DONE and (wants_weight or column < layout[LEADING]) and state[ROW] < layout[ROWS]:
        reason = TOO_FEW_NUMBERS
    return reason, start, stop, column, np.int64(edge), balance


@kernel
def scan_rows(
    text: Any, state: Any, layout: Any, is_comment: Any, source: Any, target: Any, weights: Any
) -> Any:
    """Read lines from ``state[POSITION]`` on. Returns why it stopped.

    Args:
        text: uint8, whole lines.
        state: int64, see the words here and in `edgewise.io.tokens`.
        layout: int64, see the words above.
        is_comment: bool, shape (256,): whether a byte starts a comment.
        source, target: int32, with room for one edge for every two bytes of text; ids.
        weights: int64, as long, if neighbours have weights, else empty.
    """
    size = np.uint64(len(text))
    while np.uint64(state[POSITION]) < size:
        begin = np.uint64(state[POSITION])
        end = begin
        while text[end] != _NEWLINE:
            end += np.uint64(1)
        first, _, _, _ = field_at(text, begin, end, WHITESPACE)
        if first == end or not is_comment[text[first]]:
            reason, start, stop, column, edges, balance = _row(
                text, begin, end, state, layout, source, target, weights
            )
            if reason != DONE:
                state[START], state[STOP], state[COLUMN] = np.int64(start), np.int64(stop), column
                return reason
            state[EDGES] = edges
            state[BALANCE] += balance
            if state[ROW] < layout[ROWS]:
                state[ROW] += 1
        state[LINE] += 1
        state[POSITION] = np.int64(end) + 1
    return DONE
