"""Arrays whose pages are locked for a GPU beside arrays whose pages are not, with a driver that only keeps account.

It does what CUDA's documentation and CuPy's code say: memory is locked in ranges that do not overlap, a copy of memory
that is locked in part is refused, and CuPy asks for an array's first byte only. tests/test_gpu_beyond.py asks a real
driver."""

import mmap
import types

import numpy as np
import pytest

from edgewise.kernels.cuda import memory, placed

PAGE, LARGE = 4096, memory.OWN_PAGES


class Refused(Exception):
    """The driver refuses."""


class Driver:
    """Locked ranges of addresses by their beginnings, and CuPy's functions over arrays that stay on the host."""

    CUDARuntimeError, memcpyDefault = Refused, 4

    def __init__(self):
        self.ranges, self.staged = {}, 0
        self.cuda = types.SimpleNamespace(runtime=self, alloc_pinned_memory=self.pinned)

    def hostRegister(self, begin, size, flags):
        if any(begin < at + length and at < begin + size for at, length in self.ranges.items()):
            raise Refused
        self.ranges[begin] = size

    def hostUnregister(self, begin):
        del self.ranges[begin]

    def locked(self, address):
        return any(at <= address < at + length for at, length in self.ranges.items())

    def pointerGetAttributes(self, address):
        return types.SimpleNamespace(type=int(self.locked(address)))

    def pinned(self, size):
        room = mmap.mmap(-1, size + PAGE)
        self.ranges[np.frombuffer(room, np.uint8).ctypes.data] = size + PAGE
        self.staged += 1
        return room

    def copied(self, values):
        pages = range(values.ctypes.data // PAGE, (values.ctypes.data + values.nbytes - 1) // PAGE + 1)
        if len({self.locked(page * PAGE) for page in pages}) == 2:
            raise Refused
        return values.copy()

    def asarray(self, values):
        return self.copied(values) if self.locked(values.ctypes.data) else values.copy()


@pytest.fixture
def driver(monkeypatch):
    found = Driver()
    monkeypatch.setattr(memory, "cupy", lambda: found)
    monkeypatch.setattr(memory, "_copied", found.copied)
    return found


def mapped(size):
    return np.frombuffer(mmap.mmap(-1, size), np.uint8)


def test_an_array_in_the_heap_is_not_locked(driver):
    many = [np.empty(2**24, np.uint8) for _ in range(8)]
    del many[0]  # from then on malloc takes such arrays from the heap
    many += [np.empty(2**24, np.uint8) for _ in range(8)]
    begin, end = memory._heap()
    inside = [array for array in many if begin <= array.ctypes.data < end(0)]
    if not inside:
        pytest.skip("this system's malloc puts arrays of 16 MiB into pages of their own")
    assert memory.lock(inside[0]) is None
    assert not driver.ranges
    np.testing.assert_array_equal(memory.copy_of(inside[0]), inside[0])


def test_an_array_with_pages_of_its_own_is_locked_whole(driver):
    values = mapped(LARGE + 5)
    begin = memory.lock(values)
    assert driver.ranges == {begin: LARGE + PAGE}
    assert begin == values.ctypes.data
    assert memory.is_locked(values)
    assert memory.is_locked(values[7:-7])
    memory.unlock(begin)
    assert not memory.is_locked(values)


@pytest.mark.parametrize("size", [1, 100, PAGE, 3 * PAGE, LARGE])
@pytest.mark.parametrize("side", ["before", "after", "between"])
def test_a_neighbour_of_locked_arrays_is_copied(driver, side, size):
    """Views of one buffer that meet within a page."""
    cut = LARGE + 10
    buffer = mapped(2 * cut + size)
    buffer[:: PAGE // 2] = 7
    first, values, last = buffer[:cut], buffer[cut : cut + size], buffer[cut + size :]
    locked = {"before": [last], "after": [first], "between": [first, last]}[side]
    begins = [memory.lock(array) for array in locked]
    assert None not in begins[:1]
    whole = all(driver.locked(values.ctypes.data + at) for at in range(0, size, min(size, PAGE // 4)))
    whole = whole and driver.locked(values.ctypes.data + size - 1)
    assert memory.is_locked(values) == whole
    np.testing.assert_array_equal(memory.copy_of(values), values)
    assert driver.staged == (side != "before" and not whole)


def test_a_part_of_a_locked_array_holds_what_locks_it(driver):
    values = mapped(2 * LARGE)
    whole = placed._locked_in_place(values)
    part = placed._locked_in_place(values[PAGE:-PAGE])
    del whole
    assert memory.is_locked(values)
    del part
    assert not driver.ranges
