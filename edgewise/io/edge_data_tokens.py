"""Compiled code that replaces the attributes of edges, a dictionary as Python writes it, by the value of one of them.

Nothing is evaluated: keys are compared as they are written, and values are passed over, with quotes and brackets."""

from typing import Any

import numpy as np

from edgewise.io.tokens import is_blank
from edgewise.kernels.cache import device_function, kernel

#: Words of the state: where the line that stopped the scan begins, its number, where the key begins and stops that is
#: new; how many keys are known, and whether new ones are passed over.
POSITION, LINE, START, STOP, KEYS, FULL = range(6)
NUM_STATE = 6
#: Reasons to stop the scan.
DONE, NO_ATTRIBUTES, BROKEN, NEW_KEY, NOT_A_NUMBER, MISSING, UNEXPECTED = range(7)
#: What is wanted: the attributes are left out unread, or read; and so that there is a weight in them.
UNREAD, NO_WEIGHT, WEIGHT = range(3)

_NEWLINE, _SPACE = 10, 32
_QUOTES, _BACKSLASH, _COMMA, _COLON, _MARKS = (34, 39), 92, 44, 58, (44, 59, 124)
_OPEN, _CLOSE, _BRACE, _END = 40, 41, 123, 125
_OPENING, _CLOSING = (40, 91, 123), (41, 93, 125)
#: What numbers begin with but digits: signs, a point, the first letters of inf and nan.
_STARTS = (43, 45, 46, 105, 110)
_ZERO, _NINE, _N, _P = 48, 57, 110, 112


@device_function
def _past_blanks(text: Any, p: Any, end: Any) -> Any:
    while p < end and is_blank(text[p]):
        p += np.uint64(1)
    return p


@device_function
def _past_string(text: Any, p: Any, end: Any) -> Any:
    """Behind the string that begins at p, at most the end."""
    quote = text[p]
    p += np.uint64(1)
    while p < end and text[p] != quote:
        p += np.uint64(2) if text[p] == _BACKSLASH else np.uint64(1)
    return min(p + np.uint64(1), end)


@device_function
def _past_value(text: Any, p: Any, end: Any) -> Any:
    """The comma or brace behind the value that begins at p, or the end."""
    depth = 0
    while p < end:
        c = text[p]
        if c in _QUOTES:
            p = _past_string(text, p, end)
        elif depth == 0 and c in (_COMMA, _END):
            return p
        else:
            depth += c in _OPENING
            depth -= c in _CLOSING
            p += np.uint64(1)
    return end


@device_function
def _key_of(text: Any, start: Any, stop: Any, state: Any, pool: Any, ends: Any) -> Any:
    """The number of a key that is known, else -1."""
    for k in range(np.uint64(state[KEYS])):
        first = np.uint64(ends[k - np.uint64(1)]) if k > 0 else np.uint64(0)
        length = np.uint64(ends[k]) - first
        if length == stop - start:
            same = np.uint64(0)
            while same < length and pool[first + same] == text[start + same]:
                same += np.uint64(1)
            if same == length:
                return np.int64(k)
    return np.int64(-1)


@device_function
def _number_in(text: Any, start: Any, stop: Any) -> Any:
    """The digits of a value, which may be of NumPy's: np.float64(1.5); an empty field if it is no number."""
    while stop > start and is_blank(text[stop - np.uint64(1)]):
        stop -= np.uint64(1)
    if stop > start and text[start] == _N and text[start + np.uint64(1)] == _P:
        if text[stop - np.uint64(1)] != _CLOSE:
            return start, start
        while start < stop and text[start] != _OPEN:
            start += np.uint64(1)
        start, stop = min(start + np.uint64(1), stop), stop - np.uint64(1)
    if start >= stop:
        return start, start
    c = text[start]
    digit = c >= _ZERO and c <= _NINE
    return (start, stop) if digit or c in _STARTS else (start, start)


@device_function
def _attributes(text: Any, brace: Any, end: Any, state: Any, pool: Any, ends: Any, is_weight: Any) -> Any:
    """Read the dictionary that begins at a brace. Returns why it stopped, and where the weight begins and stops."""
    one = np.uint64(1)
    first, last = brace, brace
    p = _past_blanks(text, brace + one, end)
    while p < end and text[p] != _END:
        start = p
        if text[p] in _QUOTES:
            p = _past_string(text, p, end)
        else:
            while p < end and text[p] != _COLON:
                p += one
        stop = p
        if p >= end or text[p] != _COLON:
            return BROKEN, first, last
        value = _past_blanks(text, p + one, end)
        p = _past_value(text, value, end)
        if p >= end or p == value:
            return BROKEN, first, last
        key = _key_of(text, start, stop, state, pool, ends)
        if key < 0 and not state[FULL]:
            state[START], state[STOP] = np.int64(start), np.int64(stop)
            return NEW_KEY, first, last
        if key >= 0 and is_weight[key]:
            first, last = _number_in(text, value, p)
            if first == last:
                return NOT_A_NUMBER, first, last
        if text[p] == _COMMA:
            p = _past_blanks(text, p + one, end)
    if p >= end or _past_blanks(text, p + one, end) != end:
        return BROKEN, first, last
    return DONE, first, last


@kernel
def replace_attributes(
    text: Any, state: Any, wanted: Any, is_comment: Any, pool: Any, ends: Any, is_weight: Any
) -> Any:
    """Replace, from ``state[POSITION]`` on, the attributes in each line by its weight or 0, and blanks. Returns why it
    stopped.

    Args:
        text: uint8, whole lines; it is changed.
        state: int64, see the words above.
        wanted: what is wanted, see above.
        is_comment: bool, shape (256,): whether a byte starts a comment.
        pool, ends, is_weight: the bytes of the keys that are known; where each ends; whether it is that of the weight.
    """
    size, one = np.uint64(len(text)), np.uint64(1)
    while np.uint64(state[POSITION]) < size:
        begin = np.uint64(state[POSITION])
        end = begin
        while text[end] != _NEWLINE:
            end += one
        p = _past_blanks(text, begin, end)
        if p < end and not is_comment[text[p]]:
            brace = p
            while brace < end and text[brace] != _BRACE:
                brace += one
            if brace in (end, p):
                return NO_ATTRIBUTES
            before = text[brace - one]
            if not (is_blank(before) or before in _MARKS):
                return NO_ATTRIBUTES
            first, last = brace, brace
            if wanted != UNREAD:
                reason, first, last = _attributes(text, brace, end, state, pool, ends, is_weight)
                if reason != DONE:
                    return reason
                if (wanted == WEIGHT) != (last > first):
                    return MISSING if wanted == WEIGHT else UNEXPECTED
            place = brace
            if last == first:
                text[place] = _ZERO
                place += one
            while first < last:
                text[place] = text[first]
                place += one
                first += one
            while place < end:
                text[place] = _SPACE
                place += one
        state[LINE] += 1
        state[POSITION] = np.int64(end) + 1
    return DONE
