"""Files in memory that another process cuts short: reading what is gone gives zeros instead of ending the process.

Where a mapped file has no bytes any more, a read raises the signal SIGBUS in the thread that reads, which ends the
process unless it is handled. The handler here is compiled: kernels run without the interpreter's lock, so nothing of
Python may run in it. It looks up the address of the read in a table of mappings. If one holds it, the handler puts
zeros in the place of the whole mapping, and sets a flag beside it, which `faulted` reads; the read then goes on. Any
other SIGBUS goes to the handler that was there before, which by default ends the process.

Only Linux on x86-64 and ARM64 has this; elsewhere SIGBUS stays as it is, and `guard` does nothing.
"""

import ctypes
import mmap
import platform
import signal
import sys
import threading
from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from edgewise.kernels.cache import device_function, kernel
from edgewise.kernels.cpu.pointers import words_at

#: Words of the table: for each mapping where it begins, where it ends, and whether a read of it found nothing.
_MAPPINGS, _WORDS = 4096, 3
_BEGIN, _END, _FAULTED = range(_WORDS)
_table = np.zeros(_MAPPINGS * _WORDS, np.int64)
_lock = threading.Lock()
#: The mappings in the table, the highest first.
_free = list(range(_MAPPINGS - 1, -1, -1))

#: Where the system says, in the description of a signal, why it came and which address was read: bytes. Codes above 0
#: are the system's own; others come from processes.
_CODE, _ADDRESS = 8, 16
#: The struct sigaction of both machines: bytes, where its flags are, and flags.
_ACTION_BYTES, _FLAGS, _SIGINFO, _ONSTACK, _RESTART = 152, 136, 4, 0x08000000, 0x10000000
_NORESERVE, _FIXED = 0x4000, 0x10

_map = types.ExternalFunction(
    "mmap", types.intp(types.intp, types.intp, types.int32, types.int32, types.int32, types.intp)
)
_zeros = 0
if sys.platform == "linux":
    _zeros = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | _NORESERVE | _FIXED
_READ = 1
#: Advice to the system on mapped memory: map it now (Linux from 5.14 on; older ones refuse it); it will be read soon.
_POPULATE, _WILL_NEED = 22 if sys.platform == "linux" else 0, 3
#: Words that are read ahead: 16 MiB.
_AHEAD = 2**21
_advise = types.ExternalFunction("madvise", types.int32(types.intp, types.intp, types.int32))


def handled() -> bool:
    """Whether this system is one where files that are cut short can be told."""
    return sys.platform == "linux" and platform.machine() in ("x86_64", "aarch64")


@device_function
def _put_zeros(table: Any, place: Any) -> Any:
    """Put zeros in the place of the mapping with this address, if there is one: 1 if that was done, else 0."""
    words = words_at(table)
    for mapping in range(_MAPPINGS):
        at = _WORDS * mapping
        begin, end = words[at + _BEGIN], words[at + _END]
        if begin <= place < end:
            words[at + _FAULTED] = 1
            flags = np.int32(_zeros)
            return np.int64(_map(begin, end - begin, np.int32(_READ), flags, np.int32(-1), 0) == begin)
    return np.int64(0)


@intrinsic
def _handler(typing_context: Any, table: Any, earlier: Any) -> Any:
    """The address of a handler of SIGBUS, a function of C.

    `table` and `earlier` are the addresses of the table and of the struct sigaction of the handler that was there
    before; they are kept beside the function.
    """
    inner = types.intp, types.intp
    function = typing_context.resolve_value_type(_put_zeros)
    called = typing_context.resolve_function_type(function, inner, {})
    number, word, byte = ir.IntType(32), ir.IntType(64), ir.IntType(8)
    pointer = byte.as_pointer()

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        module, name = builder.module, builder.function.name
        kept = []
        for what, value in zip(("table", "earlier"), args, strict=True):
            variable = ir.GlobalVariable(module, word, f"{name}.{what}")
            variable.initializer, variable.linkage = word(0), "internal"
            builder.store(value, variable)
            kept.append(variable)
        kind = ir.FunctionType(ir.VoidType(), [number, pointer, pointer])
        made = ir.Function(module, kind, f"{name}.handler")
        made.linkage = "internal"
        inside = ir.IRBuilder(made.append_basic_block("entry"))

        def load(base: Any, offset: int, of: Any) -> Any:
            return inside.load(inside.bitcast(inside.gep(base, [word(offset)]), of.as_pointer()))

        came, info, _ = made.args
        convention = context.call_conv
        put = _made_to_call(context, builder, function, called, inner)
        with inside.if_then(inside.icmp_signed(">", load(info, _CODE, number), number(0))):
            given = inside.load(kept[0]), load(info, _ADDRESS, word)
            _, done = convention.call_function(inside, put, types.int64, inner, given)
            with inside.if_then(inside.icmp_signed("!=", done, word(0))):
                inside.ret_void()
        before = inside.inttoptr(inside.load(kept[1]), pointer)
        address, flags = load(before, 0, word), load(before, _FLAGS, number)
        with inside.if_then(
            inside.icmp_unsigned(">", address, word(1))
        ):  # neither the default nor to be ignored
            with inside.if_else(inside.trunc(inside.lshr(flags, number(2)), ir.IntType(1))) as (told, plain):
                with told:
                    inside.call(inside.inttoptr(address, kind.as_pointer()), made.args)
                with plain:
                    short = ir.FunctionType(ir.VoidType(), [number]).as_pointer()
                    inside.call(inside.inttoptr(address, short), [came])
            inside.ret_void()
        _call_system(inside, "sigaction", came, before, pointer(None))
        _call_system(inside, "raise", came)
        inside.ret_void()
        return builder.ptrtoint(made, word)

    return types.intp(table, earlier), generate


def _made_to_call(context: Any, builder: Any, function: Any, called: Any, kinds: Any) -> Any:
    """A function of its own, in numba's convention, that calls a compiled function of this signature."""
    convention = context.call_conv
    name = f"{builder.function.name}.called"
    made = ir.Function(builder.module, convention.get_function_type(types.int64, kinds), name)
    made.linkage = "internal"
    inside = ir.IRBuilder(made.append_basic_block("entry"))
    whole = context.get_function(function, called)
    context.add_linking_libs(whole.libs)
    convention.return_value(inside, whole(inside, convention.decode_arguments(inside, kinds, made)))
    return made


def _call_system(builder: Any, name: str, *arguments: Any) -> None:
    """Call a function of the C library that returns an int."""
    kind = ir.FunctionType(ir.IntType(32), [each.type for each in arguments])
    function = builder.module.globals.get(name) or ir.Function(builder.module, kind, name)
    builder.call(function, arguments)


@kernel
def make_handler(table: Any, earlier: Any) -> Any:
    """The address of a handler of SIGBUS, see `_handler`."""
    return _handler(table, earlier)


class _Action:
    """The handler, installed when this is made; the system keeps its address until the process ends."""

    def __init__(self) -> None:
        self._earlier, self._new = (ctypes.create_string_buffer(_ACTION_BYTES) for _ in range(2))
        address = make_handler(_table.ctypes.data, ctypes.addressof(self._earlier))
        flags = _SIGINFO | _ONSTACK | _RESTART
        ctypes.c_int64.from_buffer(self._new, 0).value = address
        ctypes.c_int32.from_buffer(self._new, _FLAGS).value = flags
        for kept in (_table, self._earlier):  # threads may still read a file when the interpreter ends
            ctypes.pythonapi.Py_IncRef(ctypes.py_object(kept))
        ctypes.CDLL(None).sigaction(int(signal.SIGBUS), self._new, self._earlier)


_installed: list[_Action] = []


@device_function
def bring(words: Any, first: Any, end: Any) -> Any:
    """Have the system map words of a file, from `first` to before `end`, all at once, and begin to read those that
    come `_AHEAD` words later. For kernels that read a file in order: without it, each page is asked for by itself."""
    if _POPULATE:
        here, of_word, ahead = words.ctypes.data, 8, np.int64(_AHEAD)
        last = min(end, len(words))
        _advise(here + of_word * first, of_word * (last - first), np.int32(_POPULATE))
        begin, until = (0, end + ahead) if first == 0 else (first + ahead, end + ahead)
        until = min(until, len(words))
        if begin < until:
            _advise(here + of_word * begin, of_word * (until - begin), np.int32(_WILL_NEED))
    return 0


def guard(address: int, size: int) -> int:
    """Handle reads of a mapping that find nothing. Returns its place in the table; -1 where that cannot be done."""
    if not handled():
        return -1
    with _lock:
        if not _installed:
            _installed.append(_Action())
        if not _free:
            return -1
        mapping = _free.pop()
        words = _table[_WORDS * mapping :][:_WORDS]
        words[_FAULTED] = words[_END] = 0
        words[_BEGIN] = address
        words[_END] = address + size  # last: a range that is half there holds no address
    return mapping


def release(mapping: int) -> None:
    """Forget a mapping, before it is taken away."""
    if mapping >= 0:
        _table[_WORDS * mapping + _END] = 0
        _free.append(mapping)


def faulted(mapping: int) -> bool:
    """Whether a read of a mapping found nothing, and zeros stand in its place now."""
    return mapping >= 0 and bool(_table[_WORDS * mapping + _FAULTED])
