"""Compiled code that turns lines of a vertex and its neighbours into columns of ids; see `edgewise.io.tokens`."""

from typing import Any

import numpy as np

from edgewise.io.tokens import (
    COLUMN,
    DONE,
    EDGES,
    LINE,
    NUM_STATE,
    POSITION,
    START,
    STOP,
    WHITESPACE,
    field_at,
    id_at,
)
from edgewise.kernels.cache import kernel

#: Words of the state behind those of `edgewise.io.tokens`: lines of the block that name a vertex, and lines of the file
#: that name no neighbour of it.
HEADS, ALONE = NUM_STATE, NUM_STATE + 1
NUM_ADJLIST_STATE = NUM_STATE + 2
_NEWLINE = 10


@kernel
def scan_adjlist(
    text: Any,
    state: Any,
    layout: Any,
    is_comment: Any,
    source: Any,
    target: Any,
    heads: Any,
    pool: Any,
    ends: Any,
    hashes: Any,
    slots: Any,
) -> Any:
    """Read lines from ``state[POSITION]`` on. Returns why it stopped.

    Args:
        text: uint8, whole lines.
        state: int64, see the words here and in `edgewise.io.tokens`.
        layout: int64, see the words in `edgewise.io.tokens`; columns mean nothing.
        is_comment: bool, shape (256,): whether a byte starts a comment, which goes to the end of the line.
        source, target, heads: int64, with room for an id for every two bytes of text.
        pool, ends, hashes, slots: names, as in `edgewise.io.tokens`.
    """
    size = np.uint64(len(text))
    while np.uint64(state[POSITION]) < size:
        begin = np.uint64(state[POSITION])
        end = begin
        while text[end] != _NEWLINE:
            end += np.uint64(1)
        last = begin
        while last < end and not is_comment[text[last]]:
            last += np.uint64(1)
        edge, head, column, reason = np.uint64(state[EDGES]), np.int64(0), np.int64(0), DONE
        start, stop, p, _ = field_at(text, begin, last, WHITESPACE)
        while reason == DONE and start < stop:
            number, reason = id_at(text, start, stop, 0, state, layout, pool, ends, hashes, slots)
            column += 1
            if column == 1:
                head = number
            else:
                source[edge], target[edge] = head, number
                edge += np.uint64(1)
            if reason == DONE:
                start, stop, p, _ = field_at(text, min(p, last), last, WHITESPACE)
        if reason != DONE:
            state[START], state[STOP], state[COLUMN] = np.int64(start), np.int64(stop), column
            return reason
        if column:
            heads[np.uint64(state[HEADS])] = head
            state[HEADS] += 1
            state[ALONE] += column == 1
        state[EDGES] = np.int64(edge)
        state[LINE] += 1
        state[POSITION] = np.int64(end) + 1
    return DONE
