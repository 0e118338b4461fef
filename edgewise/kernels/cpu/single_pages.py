"""Mapped files of which a read maps one page at a time, so that what is resident grows slowly.

Otherwise Linux maps pages around the one that is read: 64 KiB, and newer versions (6.18 does) the whole piece of their
cache that it is in, which may be megabytes. A program that reads at random then has all of a file of 400 MB resident
within a millisecond. A mapping that userfaultfd watches is exempt from that. It is asked here to tell of writes without
waiting for anybody (UFFD_FEATURE_WP_ASYNC, Linux 6.7), and a mapping that is only read has none: so nothing else
changes. It has to be a private mapping, and memory that a GPU reads must not be one, for the driver would copy it: so
the mapping is made anew where it lies, at the beginning and at the end.

Where the system refuses that, as it does in some containers, mappings stay as they are.
"""

import contextlib
import ctypes
import errno
import mmap
import os
import platform
import struct
import sys
from typing import Any, NamedTuple

import numpy as np

#: The number of the call by the machine; its flag for memory that only the process itself reads and writes.
_CALLS, _USER_MODE_ONLY = {"x86_64": 323, "aarch64": 282}, 1
#: Requests (linux/userfaultfd.h): agree on the version and on features; watch a range.
_API, _REGISTER, _VERSION = 0xC018AA3F, 0xC020AA00, 0xAA
_WITHOUT_WAITING, _WRITES = 1 << 15, 2
#: Advice to Linux on mapped memory: map no pages of 2 MiB.
SMALL_PAGES = 15
#: How a mapping takes the place of another; what mmap returns if it fails.
_FIXED, _FAILED = 0x10, ctypes.c_void_p(-1).value


class Singly(NamedTuple):
    """Descriptors of what `map_singly` has begun: that of userfaultfd, and one of the file, which stays open."""

    watch: int
    file: int


def map_singly(mapping: np.ndarray, file: int) -> Singly | None:
    """From now on, map single pages of a mapped file as they are read. Addresses and values stay the same.

    Args:
        mapping: the whole file, uint8.
        file: its descriptor.

    Returns:
        What `map_as_usual` takes; None if this system does not do that.
    """
    call = _CALLS.get(platform.machine())
    if sys.platform != "linux" or call is None:
        return None
    system = ctypes.CDLL(None, use_errno=True)
    watch = system.syscall(call, _USER_MODE_ONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    if watch < 0:
        return None
    with contextlib.ExitStack() as undo:
        undo.callback(os.close, watch)
        with contextlib.suppress(OSError):
            file = os.dup(file)
            undo.callback(os.close, file)
            _ask(watch, _API, "QQQ", _VERSION, _WITHOUT_WAITING, 0)
            _map_again(mapping, file, mmap.MAP_PRIVATE)
            undo.callback(_map_again, mapping, file, mmap.MAP_SHARED)
            size = -(-mapping.nbytes // mmap.PAGESIZE) * mmap.PAGESIZE
            _ask(watch, _REGISTER, "QQQQ", mapping.ctypes.data, size, _WRITES, 0)
            system.madvise(ctypes.c_void_p(mapping.ctypes.data), ctypes.c_size_t(size), SMALL_PAGES)
            undo.pop_all()
            return Singly(int(watch), file)
    return None


def map_as_usual(mapping: np.ndarray, singly: Singly) -> None:
    """End what `map_singly` has begun. If the system refuses it, the mapping stays private, which does no harm."""
    os.close(singly.watch)
    with contextlib.suppress(OSError):
        _map_again(mapping, singly.file, mmap.MAP_SHARED)
    os.close(singly.file)


def _ask(watch: int, request: int, form: str, *words: Any) -> None:
    """Make a request. Raises OSError."""
    import fcntl  # Windows has none

    fcntl.ioctl(watch, request, bytearray(struct.pack(form, *words)))


def _map_again(mapping: np.ndarray, file: int, kind: int) -> None:
    """Map the file again, where it is mapped: the system does that at one stroke. Raises OSError."""
    system = ctypes.CDLL(None, use_errno=True)
    system.mmap.restype = ctypes.c_void_p
    system.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, *[ctypes.c_int] * 3, ctypes.c_long]
    place = system.mmap(mapping.ctypes.data, mapping.nbytes, mmap.PROT_READ, kind | _FIXED, file, 0)
    if place == _FAILED:
        number = ctypes.get_errno() or errno.ENOMEM
        raise OSError(number, os.strerror(number))
