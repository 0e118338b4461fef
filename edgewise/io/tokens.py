"""Compiled code that turns lines of bytes into columns of numbers: fields are read where they lie, not as strings.

`scan` takes a block of whole lines and one of two kinds of ids: integers, or names, which are numbered by first
appearance through a hash table. It stops at what it cannot read and says where. Its caller raises an error, or changes
the mode or makes room and calls it again: nothing of the line has been kept.
"""

from typing import Any

import numpy as np

from edgewise.kernels.cache import device_function, inlined_function, kernel
from edgewise.kernels.mixing import mix64

#: Words of the state; START, STOP and COLUMN describe the field that stopped the scan, columns counted from 1. POOL
#: counts the bytes of names in UTF-8, STRINGS those of their characters in Python's strings.
POSITION, LINE, EDGES, SLOW, START, STOP, COLUMN, NAMES, POOL, STRINGS = range(10)
NUM_STATE = 10

#: Reasons to stop the scan.
DONE, NOT_AN_INTEGER, LONG_INTEGER, OUT_OF_RANGE, WRONG_COLUMNS, NOT_A_NUMBER = range(6)
NOT_FINITE, FRACTION, LONG_WEIGHT, OPEN_QUOTE, NO_NAME, FULL, WRONG_MARK, MARKED_DATA = range(6, 14)

#: How weights are read.
NO_WEIGHTS, INTEGERS, FLOATS = range(3)

#: Words of the layout. PLAIN: ids are first, a weight is behind them, and no digit has another meaning. MARK is a byte
#: that each line has alone in its first column, or none. CAREFUL: comments that have as many columns as edges stop the
#: scan.
DELIMITER, SOURCE, TARGET, WEIGHT, COLUMNS, LOWEST, HIGHEST, ONLY_DIGITS, PLAIN, MARK, CAREFUL = range(11)
WHITESPACE, NO_MARK = -1, -1

_NEWLINE, _RETURN, _SPACE, _TAB, _QUOTE = 10, 13, 32, 9, 34
_PLUS, _MINUS, _POINT, _ZERO, _NINE = 43, 45, 46, 48, 57
#: Integers of fewer digits fit 64 bits.
_LONG = 19
_LARGEST = np.uint64(2**63 - 1)
_EXACT_FLOAT = 2**53
#: In UTF-8, bytes from 128 to 191 go on with a character. Python's strings have two bytes for each character, or four,
#: if one of them begins with a byte of at least _TWO_BYTES, or _FOUR_BYTES.
_TWO_BYTES, _FOUR_BYTES = 0xC4, 0xF0
_POWERS = 10.0 ** np.arange(23)


@device_function
def is_blank(c: Any) -> Any:
    return c in (_SPACE, _TAB, _RETURN)


@device_function
def field_at(text: Any, p: Any, end: Any, delimiter: Any) -> Any:
    """The field at p: its start, its stop, where the next one begins (past `end` if there is none), and
    whether it stands in quotes (2: quotes that are not closed at its end)."""
    while p < end and text[p] != delimiter and is_blank(text[p]):
        p += np.uint64(1)
    start = p
    if delimiter == WHITESPACE:
        while p < end and not is_blank(text[p]):
            p += np.uint64(1)
        stop = p
        while p < end and is_blank(text[p]):
            p += np.uint64(1)
        return start, stop, p if p < end else end + np.uint64(1), 0
    if start < end and text[start] == _QUOTE:
        p += np.uint64(1)
        while p < end and (text[p] != _QUOTE or text[p + np.uint64(1)] == _QUOTE):
            p += np.uint64(1) if text[p] != _QUOTE else np.uint64(2)
        stop, quoted = p, 1 if p < end else 2
        p += np.uint64(1)
        while p < end and text[p] != delimiter:
            if not is_blank(text[p]):
                quoted = 2
            p += np.uint64(1)
        return start + np.uint64(1), stop, p + np.uint64(1), quoted
    while p < end and text[p] != delimiter:
        p += np.uint64(1)
    stop = p
    while stop > start and is_blank(text[stop - np.uint64(1)]):
        stop -= np.uint64(1)
    return start, stop, p + np.uint64(1), 0


@device_function
def integer_at(text: Any, start: Any, stop: Any) -> Any:
    """An integer of 64 bits, and what is wrong if the field has none."""
    p, negative = start, False
    if p < stop and (text[p] == _MINUS or text[p] == _PLUS):
        negative = text[p] == _MINUS
        p += np.uint64(1)
    if p == stop:
        return np.int64(0), NOT_AN_INTEGER
    while p < stop and text[p] == _ZERO:
        p += np.uint64(1)
    digits, value = stop - p, np.uint64(0)
    while p < stop:
        digit = np.int64(text[p]) - _ZERO
        if digit < 0 or digit > 9:
            return np.int64(0), NOT_AN_INTEGER
        value = value * np.uint64(10) + np.uint64(digit)  # more than 19 digits may wrap, and are then refused
        p += np.uint64(1)
    if digits >= np.uint64(_LONG) and (digits > np.uint64(_LONG) or value > _LARGEST + np.uint64(negative)):
        return np.int64(0), LONG_INTEGER
    return -np.int64(value) if negative else np.int64(value), DONE


@device_function
def _float(text: Any, start: Any, stop: Any) -> Any:
    """A number, and DONE; or FULL if only a long division would be exact; or what is wrong.

    Digits that make an integer below 2**53, times or over a power of ten up to 10**22, are rounded once and so
    exactly: Clinger, "How to Read Floating Point Numbers Accurately" (PLDI 1990), section 3.
    """
    p, negative = start, False
    if p < stop and (text[p] == _MINUS or text[p] == _PLUS):
        negative = text[p] == _MINUS
        p += np.uint64(1)
    if p < stop and (text[p] | 32 == 105 or text[p] | 32 == 110):  # i of infinity, n of nan
        return 0.0, NOT_FINITE
    digits, value, exponent, point = 0, np.int64(0), np.int64(0), False
    while p < stop and (text[p] == _POINT or (text[p] >= _ZERO and text[p] <= _NINE)):
        if text[p] == _POINT:
            if point:
                return 0.0, NOT_A_NUMBER
            point = True
        else:
            digits += 1
            exponent -= point
            exact = value < _EXACT_FLOAT // 10
            value = value * 10 + np.int64(text[p]) - _ZERO if exact else np.int64(_EXACT_FLOAT)
        p += np.uint64(1)
    if digits == 0:
        return 0.0, NOT_A_NUMBER
    if p < stop:
        if text[p] | 32 != 101:  # e
            return 0.0, NOT_A_NUMBER
        power, wrong = integer_at(text, p + np.uint64(1), stop)
        if wrong != DONE:
            return 0.0, NOT_A_NUMBER
        exponent += power
    if value >= _EXACT_FLOAT or exponent > 22 or exponent < -22:
        return 0.0, FULL
    rounded = value * _POWERS[exponent] if exponent >= 0 else value / _POWERS[-exponent]
    return -rounded if negative else rounded, DONE


@device_function
def _string_bytes(pool: Any, p: Any, stop: Any) -> Any:
    """The bytes that Python's string of a name has for its characters."""
    characters, highest = np.int64(0), np.int64(0)
    while p < stop:
        byte = np.int64(pool[p])
        characters += byte < 128 or byte > 191
        highest = max(highest, byte)
        p += np.uint64(1)
    return characters * (1 if highest < _TWO_BYTES else 2 if highest < _FOUR_BYTES else 4)


@device_function
def _name(
    text: Any, start: Any, stop: Any, quoted: Any, state: Any, pool: Any, ends: Any, hashes: Any, slots: Any
) -> Any:
    """The number of a name, a new one if it has not been seen; -1 if there is no room for it."""
    known, used = np.uint64(state[NAMES]), np.uint64(state[POOL])
    if used + (stop - start) > np.uint64(len(pool)) or np.uint64(2) * known >= np.uint64(len(slots)):
        return np.int64(-1)
    fingerprint, p, length = np.uint64(0xCBF29CE484222325), start, np.uint64(0)
    while p < stop:
        pool[used + length] = text[p]
        fingerprint = (fingerprint ^ np.uint64(text[p])) * np.uint64(0x100000001B3)
        p += np.uint64(2) if quoted and text[p] == _QUOTE else np.uint64(1)
        length += np.uint64(1)
    fingerprint = mix64(fingerprint)
    mask = np.uint64(len(slots) - 1)
    slot = fingerprint & mask
    while slots[slot] >= 0:
        k = np.uint64(slots[slot])
        first = np.uint64(ends[k - np.uint64(1)]) if k > 0 else np.uint64(0)
        if hashes[k] == fingerprint and np.uint64(ends[k]) - first == length:
            same = np.uint64(0)
            while same < length and pool[first + same] == pool[used + same]:
                same += np.uint64(1)
            if same == length:
                return np.int64(k)
        slot = (slot + np.uint64(1)) & mask
    slots[slot] = np.int32(known)
    hashes[known] = fingerprint
    ends[known] = np.int64(used + length)
    state[NAMES] += 1
    state[POOL] = np.int64(used + length)
    state[STRINGS] += _string_bytes(pool, used, used + length)
    return np.int64(known)


@device_function
def id_at(
    text: Any,
    start: Any,
    stop: Any,
    quoted: Any,
    state: Any,
    layout: Any,
    pool: Any,
    ends: Any,
    hashes: Any,
    slots: Any,
) -> Any:
    """The id in a field, an integer or the number of a name, and what is wrong if the field has none."""
    if pool is None:
        number, wrong = integer_at(text, start, stop)
        if wrong == DONE and (number < layout[LOWEST] or number > layout[HIGHEST]):
            wrong = OUT_OF_RANGE
        return number, wrong
    if start == stop:
        return np.int64(0), NO_NAME
    if layout[ONLY_DIGITS] and integer_at(text, start, stop)[1] == NOT_AN_INTEGER:
        return np.int64(0), NOT_AN_INTEGER
    number = _name(text, start, stop, quoted, state, pool, ends, hashes, slots)
    return number, FULL if number < 0 else DONE


@device_function
def _weight(
    text: Any, start: Any, stop: Any, state: Any, kind: Any, weights: Any, float_weights: Any, slow: Any
) -> Any:
    """Read the weight of the next edge from a field. Returns what is wrong with it."""
    edge = np.uint64(state[EDGES])
    if kind == INTEGERS:
        number, wrong = integer_at(text, start, stop)
        weights[edge] = number
        if wrong == LONG_INTEGER:
            return LONG_WEIGHT
        if wrong == NOT_AN_INTEGER:
            wrong = _float(text, start, stop)[1]
            return FRACTION if wrong in (DONE, FULL) else wrong
        return DONE
    value, wrong = _float(text, start, stop)
    if wrong == FULL:
        k = np.uint64(state[SLOW])
        slow[k, 0], slow[k, 1] = np.int64(edge), np.int64(start)
        slow[k, 2], slow[k, 3] = np.int64(stop), state[LINE]
        state[SLOW] += 1
        return DONE
    float_weights[edge] = value
    return wrong


@inlined_function
def _digits_at(text: Any, p: Any) -> Any:
    """The digits at p as an integer, where they stop, and whether they are some and fit 64 bits."""
    value, begin = np.uint64(0), p
    digit = np.uint64(text[p]) - np.uint64(_ZERO)
    while digit <= np.uint64(9):  # of what is no digit, this is a large number
        value = value * np.uint64(10) + digit
        p += np.uint64(1)
        digit = np.uint64(text[p]) - np.uint64(_ZERO)
    return np.int64(value), p, p > begin and p - begin < np.uint64(_LONG)


@inlined_function
def _plain_line(
    text: Any,
    begin: Any,
    state: Any,
    layout: Any,
    weight_kind: Any,
    source: Any,
    target: Any,
    weights: Any,
    float_weights: Any,
    slow: Any,
) -> Any:
    """Read a line of two ids in digits, and a weight if there are weights, with one delimiter between two fields: most
    files have hardly any other. Returns whether it is one; of another line, or a wrong one, nothing is kept."""
    delimiter, one = layout[DELIMITER], np.uint64(1)
    u, stop, fits = _digits_at(text, begin)
    between = np.int64(text[stop])
    if not fits or (between != delimiter and (delimiter != WHITESPACE or between not in (_TAB, _SPACE))):
        return False
    v, stop, fits = _digits_at(text, stop + one)
    if not fits or min(u, v) < layout[LOWEST] or max(u, v) > layout[HIGHEST]:
        return False
    start = stop + one
    if weight_kind != NO_WEIGHTS:
        if text[stop] != between:
            return False
        stop = start
        while text[stop] > _QUOTE and text[stop] != between:  # blanks are below a quote
            stop += one
    end = stop + one if text[stop] == _RETURN else stop
    if text[end] != _NEWLINE:
        return False
    if weight_kind != NO_WEIGHTS:
        wrong = _weight(text, start, stop, state, weight_kind, weights, float_weights, slow)
        if wrong != DONE:
            return False
    edge = np.uint64(state[EDGES])
    source[edge], target[edge] = u, v
    state[EDGES] += 1
    state[LINE] += 1
    state[POSITION] = np.int64(end) + 1
    return True


@kernel
def scan(
    text: Any,
    state: Any,
    layout: Any,
    is_comment: Any,
    weight_kind: Any,
    source: Any,
    target: Any,
    weights: Any,
    float_weights: Any,
    slow: Any,
    pool: Any,
    ends: Any,
    hashes: Any,
    slots: Any,
) -> Any:
    """Read lines from ``state[POSITION]`` on. Returns why it stopped.

    Args:
        text: uint8, whole lines.
        state: int64, see the words above; the position stays at the start of a line that stopped the scan.
        layout: int64, see the words above.
        is_comment: bool, shape (256,): whether a byte starts a comment.
        weight_kind: how weights are read.
        source, target: int64, with room for one edge for every four bytes of text.
        weights, float_weights: the same memory, as integers and as floats.
        slow: int64, shape (room, 4): edge, start, stop and line of weights that Python has to read.
        pool, ends, hashes, slots: names as bytes, their ends, their hashes, a hash table of their numbers;
            all None where ids are integers.
    """
    size, delimiter = np.uint64(len(text)), layout[DELIMITER]
    while np.uint64(state[POSITION]) < size:
        begin = np.uint64(state[POSITION])
        if pool is None:
            columns = source, target, weights, float_weights, slow
            if layout[PLAIN] and _plain_line(text, begin, state, layout, weight_kind, *columns):
                continue
        end = begin
        while text[end] != _NEWLINE:
            end += np.uint64(1)
        p = begin
        while p < end and is_blank(text[p]):
            p += np.uint64(1)
        if p < end and not is_comment[text[p]]:
            if delimiter == _TAB:
                p = begin
            edge, column, reason, slow_before = np.uint64(state[EDGES]), 0, DONE, state[SLOW]
            while p <= end and reason == DONE:
                start, stop, p, quoted = field_at(text, p, end, delimiter)
                if quoted == 2:
                    reason = OPEN_QUOTE
                elif column == layout[SOURCE]:
                    source[edge], reason = id_at(
                        text, start, stop, quoted, state, layout, pool, ends, hashes, slots
                    )
                elif column == layout[TARGET]:
                    target[edge], reason = id_at(
                        text, start, stop, quoted, state, layout, pool, ends, hashes, slots
                    )
                elif column == layout[WEIGHT]:
                    reason = _weight(text, start, stop, state, weight_kind, weights, float_weights, slow)
                elif column == 0 and layout[MARK] != NO_MARK:
                    marked = stop - start == np.uint64(1) and text[start] == layout[MARK]
                    reason = DONE if marked else WRONG_MARK
                column += 1
            if reason == DONE and column != layout[COLUMNS]:
                reason = WRONG_COLUMNS
            if reason != DONE:
                state[START], state[STOP], state[COLUMN] = np.int64(start), np.int64(stop), column
                state[SLOW] = slow_before
                return reason
            state[EDGES] += 1
        elif p < end and layout[CAREFUL]:
            column = 0
            while p <= end:
                _, _, p, _ = field_at(text, p, end, delimiter)
                column += 1
            if column == layout[COLUMNS]:
                return MARKED_DATA
        state[LINE] += 1
        state[POSITION] = np.int64(end) + 1
    return DONE


@kernel
def refill(hashes: Any, slots: Any) -> None:
    """Enter the numbers of all names into an empty hash table."""
    mask = np.uint64(len(slots) - 1)
    for k in range(np.uint64(len(hashes))):
        slot = hashes[k] & mask
        while slots[slot] >= 0:
            slot = (slot + np.uint64(1)) & mask
        slots[slot] = np.int32(k)
