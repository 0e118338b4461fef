"""Threads below Python that run kernels without each taking the interpreter's lock.

A Python thread that takes a kernel from a queue needs the interpreter's lock to do so, and to report its end: 38 µs for
each of sixteen threads. The workers here are threads that enter the compiled function `serve` once and stay in it. They
wait for a ticket, a number that `call_together` raises, first by reading it again and again, then asleep. With it they
find the address of a function and that of its arguments.

`team_kernel` compiles a kernel ``kernel(thread, size, control, *arguments)`` with two functions around it: one takes
the arguments from memory, and the workers are given its address; the other, ``(crew, size, control, *arguments)``, is
called by Python, puts the arguments into memory and takes part itself as thread 0.
"""

import ctypes
import functools
import inspect
import os
import threading
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from edgewise.errors import ScheduleError
from edgewise.kernels.cache import device_function, kernel
from edgewise.kernels.cpu.atomics import atomic_add, atomic_load, spin_pause, yield_processor
from edgewise.kernels.cpu.pointers import words_at
from edgewise.kernels.words import CPU_LINE, Allocator

#: Words of a crew: the address of `call_together`; the number of workers that have not finished; the function; its
#: arguments.
_CREW = Allocator(0, CPU_LINE)
CALL, LEFT, FUNCTION, ARGUMENTS = _CREW.take_line(), _CREW.take_line(), _CREW.take_line(), _CREW.take()
#: Words of each worker, which follow: its ticket; its mutex and its condition, at most 48 bytes each.
_WORKER = Allocator(0, CPU_LINE)
TICKET, MUTEX, CONDITION = (_WORKER.take_line(count) for count in (1, 6, 6))
_FIRST, _WORDS = _CREW.lines_size, _WORKER.lines_size
#: Words before a kernel's arguments: two for how a call of it failed; the address of its control array.
_CALL = Allocator(0)
_FAILED, _CONTROL = _CALL.take(2), _CALL.take()
#: Words of a kernel's control array, which `edgewise.kernels.cpu.team` uses. CANCEL makes the other threads leave.
CONTROL = Allocator(0, CPU_LINE)
ARRIVED, GENERATION, CANCEL, PROGRESS = (CONTROL.take_line() for _ in range(4))
#: How often a worker reads the ticket before it sleeps: some 50 µs. Algorithms call several kernels in turn.
LOOKS = 2000
#: How often a waiting thread looks before it yields the processor between two looks.
LOOKS_BEFORE_YIELD = 100

_lock, _unlock = (
    types.ExternalFunction(f"pthread_mutex_{name}", types.int32(types.intp)) for name in ("lock", "unlock")
)
_sleep = types.ExternalFunction("pthread_cond_wait", types.int32(types.intp, types.intp))
_wake = types.ExternalFunction("pthread_cond_signal", types.int32(types.intp))


@intrinsic
def _call(typing_context: Any, function: Any, thread: Any, arguments: Any) -> Any:
    """Call the function at an address with the number of a thread and the address of its arguments.

    If it raises, and no other call did before, store what it raised there, and make the other threads leave the kernel.
    """

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        convention, kinds, word = context.call_conv, (types.intp, types.intp), ir.IntType(64)
        kind = convention.get_function_type(types.none, kinds).as_pointer()
        called = builder.inttoptr(args[0], kind)
        status, _ = convention.call_function(builder, called, types.none, kinds, args[1:])
        with builder.if_then(status.is_error, likely=False):
            words = builder.inttoptr(args[2], word.as_pointer())
            place = builder.gep(words, [word(_FAILED)])
            code = builder.sext(status.code, word)
            first = builder.extract_value(builder.cmpxchg(place, word(0), code, "seq_cst", "seq_cst"), 1)
            with builder.if_then(first):
                builder.store(
                    builder.ptrtoint(status.excinfoptr, word), builder.gep(words, [word(_FAILED + 1)])
                )
            control = builder.load(builder.gep(words, [word(_CONTROL)]))
            cancel = builder.gep(builder.inttoptr(control, word.as_pointer()), [word(CANCEL)])
            builder.store_atomic(word(1), cancel, "seq_cst", 8)
        return context.get_dummy_value()

    return types.void(types.intp, types.intp, types.intp), generate


@device_function
def _wait(crew: Any, own: Any, seen: Any) -> None:
    """Wait until the ticket of the worker whose words begin at `own` differs from `seen`."""
    words = words_at(crew)
    for _ in range(LOOKS):
        if atomic_load(words, own + TICKET) != seen:
            return
        spin_pause()
    mutex, condition = crew + 8 * (own + MUTEX), crew + 8 * (own + CONDITION)
    _lock(mutex)
    while atomic_load(words, own + TICKET) == seen:
        _sleep(condition, mutex)
    _unlock(mutex)


@kernel
def serve(crew: Any, worker: Any) -> None:
    """The loop of worker number `worker`, counted from 0. A function of address 0 ends it."""
    words, own, seen = words_at(crew), _FIRST + _WORDS * worker, 0
    while True:
        _wait(crew, own, seen)
        seen += 1
        function = words[FUNCTION]
        if function != 0:
            _call(function, worker + 1, words[ARGUMENTS])
        atomic_add(words, LEFT, -1)  # the last look at the words, if this is the end
        if function == 0:
            return


@kernel
def call_together(crew: Any, size: Any, function: Any, arguments: Any) -> None:
    """Call a function on the calling thread and on the first ``size - 1`` workers, and wait until all have finished."""
    words = words_at(crew)
    words[LEFT] = size - 1
    words[FUNCTION] = function
    words[ARGUMENTS] = arguments
    for worker in range(size - 1):
        own = _FIRST + _WORDS * worker
        _lock(crew + 8 * (own + MUTEX))
        atomic_add(words, own + TICKET, 1)
        _unlock(crew + 8 * (own + MUTEX))
        _wake(crew + 8 * (own + CONDITION))
    if function != 0:
        _call(function, 0, arguments)
    looks = 0
    while atomic_load(words, LEFT) > 0:
        spin_pause()
        looks += 1
        if looks > LOOKS_BEFORE_YIELD:
            yield_processor()


@functools.cache
def _compiled() -> int:
    """The address of `call_together`; it and `serve` are compiled, or loaded, at the first call."""
    serve.compile((types.intp,) * 2)
    kinds = (types.intp,) * 4
    call_together.compile(kinds)
    compiled = call_together.overloads[kinds]
    return int(compiled.library.get_pointer_to_function(compiled.fndesc.llvm_func_name))


class Crew:
    """A fixed number of workers, asleep until a kernel is called with `address`; they end with this object.

    Raises:
        ScheduleError: the system did not start all threads.
    """

    def __init__(self, workers: int, name: str) -> None:
        words = np.zeros(_FIRST + _WORDS * workers + CPU_LINE, np.int64)
        self.address = -(-words.ctypes.data // (8 * CPU_LINE)) * (8 * CPU_LINE)
        system = ctypes.CDLL(None)
        for worker in range(workers):
            own = self.address + 8 * (_FIRST + _WORDS * worker)
            system.pthread_mutex_init(ctypes.c_void_p(own + 8 * MUTEX), None)
            system.pthread_cond_init(ctypes.c_void_p(own + 8 * CONDITION), None)
        ctypes.c_int64.from_address(self.address + 8 * CALL).value = _compiled()
        for worker in range(workers):
            arguments, called = (self.address, worker), f"{name}-{worker + 1}"
            try:
                threading.Thread(target=serve, args=arguments, name=called, daemon=True).start()
            except RuntimeError as error:
                _dismiss(words, self.address, worker, os.getpid())
                raise ScheduleError(
                    f"the system started {worker + 1} of {workers + 1} threads ({error}); ask for fewer by "
                    "Schedule(num_threads=...) or EDGEWISE_NUM_THREADS"
                ) from error
        self._end = weakref.finalize(self, _dismiss, words, self.address, workers, os.getpid())
        self._end.atexit = False  # a kernel may be running


def _dismiss(words: np.ndarray, address: int, workers: int, process: int) -> None:
    """End the workers, which read the words until then. A forked child has none."""
    if os.getpid() == process:
        call_together(address, workers + 1, 0, 0)


def _hand_over(inner: Any) -> Any:
    """The intrinsic that a kernel's outer function calls: it puts the arguments where all threads find them."""

    @intrinsic
    def hand_over(typing_context: Any, crew: Any, size: Any, control: Any, arguments: Any) -> Any:
        kinds = (types.intp, types.intp, control, *arguments)
        function = typing_context.resolve_value_type(inner)
        called = typing_context.resolve_function_type(function, kinds, {})

        def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            crew_at, size_of, control_of, tuple_of = args
            convention, word, two, four = context.call_conv, ir.IntType(64), kinds[:2], (types.intp,) * 4
            control_at = builder.ptrtoint(
                context.make_array(control)(context, builder, control_of).data, word
            )
            values = [
                word(0),
                word(0),
                control_at,
                size_of,
                control_of,
                *cgutils.unpack_tuple(builder, tuple_of),
            ]
            packed = cgutils.alloca_once_value(builder, cgutils.pack_struct(builder, values))
            at, words = builder.ptrtoint(packed, word), builder.bitcast(packed, word.as_pointer())
            shared = _made_to_unpack(context, builder, function, called, packed.type)
            with builder.if_else(builder.icmp_signed("==", size_of, word(1))) as (alone, together):
                with alone:
                    status, _ = convention.call_function(builder, shared, types.none, two, (word(0), at))
                    with builder.if_then(status.is_error, likely=False):
                        convention.return_status_propagate(builder, status)
                with together:
                    kind = convention.get_function_type(types.none, four).as_pointer()
                    call = builder.inttoptr(builder.load(builder.inttoptr(crew_at, word.as_pointer())), kind)
                    given = (crew_at, size_of, builder.ptrtoint(shared, word), at)
                    convention.call_function(builder, call, types.none, four, given)
                    code, raised = (builder.load(builder.gep(words, [word(_FAILED + i)])) for i in (0, 1))
                    with builder.if_then(builder.icmp_signed("!=", code, word(0)), likely=False):
                        place = convention._get_excinfo_argument(builder.function)
                        builder.store(builder.inttoptr(raised, place.type.pointee), place)
                        builder.ret(builder.trunc(code, ir.IntType(32)))
            return context.get_dummy_value()

        return types.void(types.intp, types.intp, control, arguments), generate

    return hand_over


def _made_to_unpack(context: Any, builder: Any, function: Any, called: Any, packed: Any) -> Any:
    """A function of a thread and an address that calls the kernel with the arguments found there."""
    convention, kinds = context.call_conv, (types.intp, types.intp)
    name = f"{builder.function.name}.unpack"
    made = ir.Function(builder.module, convention.get_function_type(types.none, kinds), name)
    made.linkage = "internal"
    inside = ir.IRBuilder(made.append_basic_block("entry"))
    thread, at = convention.decode_arguments(inside, kinds, made)
    _, _, _, *values = cgutils.unpack_tuple(inside, inside.load(inside.inttoptr(at, packed)))
    whole = context.get_function(function, called)
    context.add_linking_libs(whole.libs)
    whole(inside, (thread, *values))
    convention.return_value(inside, context.get_dummy_value())
    return made


def team_kernel(function: Callable[..., Any] | None = None, *, key: str | None = "") -> Any:
    """Compile a kernel ``kernel(thread, size, control, *arguments)`` for teams; see `edgewise.kernels.cache.kernel`.

    Returns:
        A function ``(crew, size, control, *arguments)`` that runs the kernel on `size` threads, the calling thread
        among them; with one thread it does not use the crew.
    """
    if function is None:
        return functools.partial(team_kernel, key=key)
    arguments = [f"argument_{i}" for i in range(len(inspect.signature(function).parameters) - 3)]
    scope: dict[str, Any] = {"hand_over": _hand_over(device_function(function))}
    parameters = ", ".join(["crew", "size", "control", *arguments])
    handed = "".join(f"{name}, " for name in arguments)
    exec(f"def outer({parameters}):\n    hand_over(crew, size, control, ({handed}))", scope)
    outer = scope["outer"]
    outer.__module__, outer.__name__, outer.__qualname__ = (
        function.__module__,
        function.__name__,
        function.__qualname__,
    )
    return kernel(outer, key=key)
