"""Numbers packed line by line are the numbers that went in."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from edgewise.layout.packed import ALIGNED, HAS_EMPTY, LINES, pack


def unpacked(packed, lanes, count, empty):
    """The numbers of each unit, by line, read bit by bit."""
    units = []
    for unit, lines in enumerate(count.tolist()):
        found = []
        for block in range(packed.begin[unit], packed.begin[unit + 1]):
            base = ALIGNED * int(packed.places[block])
            at = base + LINES
            for line in range(LINES):
                byte = int(packed.widths[block]) >> 8 * line & 0xFF
                width, low = byte & (HAS_EMPTY - 1), int(packed.words[base + line])
                size = -(-width * lanes // 32)
                bits = sum(int(word) << 32 * i for i, word in enumerate(packed.words[at : at + size]))
                codes = [bits >> width * lane & ((1 << width) - 1) for lane in range(lanes)]
                none = (1 << width) - 1 if byte & HAS_EMPTY else -1
                found.append([empty if code == none else low + code for code in codes])
                at += size
        assert all(number == empty for line in found[lines:] for number in line)
        units.append(found[:lines])
    return units


@settings(max_examples=80, deadline=None)
@given(st.data())
def test_drawn_numbers(data):
    lanes = data.draw(st.sampled_from([1, 4, 32]))
    counts = data.draw(st.lists(st.integers(0, 20), max_size=6))
    largest = data.draw(st.sampled_from([1, 2, 100, 2**20, 2**31 - 2]))
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32)))
    total = sum(counts)
    values = rng.integers(0, largest, lanes * total).astype(np.uint32)
    values[rng.random(len(values)) < data.draw(st.sampled_from([0, 0.1, 0.9, 1]))] = largest
    count = np.array(counts, np.int64)
    first = np.cumsum(count) - count
    packed = pack(values, lanes, first, np.ones(len(counts), np.int64), count, largest)
    lines = values.reshape(total, lanes).tolist()
    expected = [lines[a : a + b] for a, b in zip(first.tolist(), counts, strict=True)]
    assert unpacked(packed, lanes, count, largest) == expected


def test_units_may_take_turns():
    values = np.arange(7 * 32, dtype=np.uint32) * 3
    first, step, count = np.array([0, 1, 2]), np.array([3, 3, 3]), np.array([3, 2, 2])
    packed = pack(values, 32, first, step, count, 10**6)
    lines = values.reshape(7, 32).tolist()
    assert unpacked(packed, 32, count, 10**6) == [lines[0::3], lines[1::3], lines[2::3]]


@pytest.mark.parametrize("span", [0, 1, 31, 32, 1000])
def test_a_line_takes_as_many_bits_as_its_range(span):
    values = np.full(32, 5, np.uint32)
    values[7] += span
    one = np.array([1])
    packed = pack(values, 32, np.array([0]), one, one, 2**31)
    assert int(packed.widths[0]) == int(span).bit_length()
    assert len(packed.words) == -(-(LINES + int(span).bit_length()) // ALIGNED) * ALIGNED
