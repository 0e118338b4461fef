"""Compile with numba, and keep the machine code on disk under a key of our own.

numba's own disk cache looks at the file of the outermost function only. It serves stale code after a function
in another file was edited, and it never serves closures, which is what a user's program compiles to. Here the
key is the content of everything that the code depends on: the sources of the kernel's module and of those of
edgewise's modules that it builds on, the versions of Python, numba and llvmlite, the processor, whether bounds are
checked, the signature, and for a user's program its source and the values that it closes over (see
`edgewise.program.inspect`).
"""

import contextlib
import functools
import hashlib
import os
import pickle
import re
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import llvmlite
import llvmlite.binding
import numba
from numba.core import compiler, config, serialize
from numba.core.compiler_lock import global_compiler_lock

from edgewise.kernels import store
from edgewise.kernels.cpu.pipeline import Function, InnerFunction, Kernel, KernelCompiler

#: A function that only kernels call, on the CPU or a GPU.
DeviceFunction = Callable[..., Any]
#: With ``_nrt`` numba counts references to arrays, atomically, around every call inside a kernel: that made
#: delta-stepping 2.5 times slower. Kernels allocate nothing, so there is nothing to count. Nobody calls kernels from C.
KERNEL_OPTIONS: dict[str, Any] = {
    "nogil": True,
    "error_model": "numpy",
    "boundscheck": False,
    "_nrt": False,
    "no_cfunc_wrapper": True,
}

if hasattr(os, "register_at_fork"):
    # A child has none of the threads that could release the lock of numba's compiler.
    os.register_at_fork(
        before=global_compiler_lock.acquire,
        after_in_parent=global_compiler_lock.release,
        after_in_child=global_compiler_lock.release,
    )


@functools.cache
def _environment_key(module: str, own: bool) -> str:
    """A digest of the compilers' versions, the processor, the sources behind a module (`_sources_behind`), and whether
    numba is told to check bounds."""
    digest = hashlib.sha256()
    features = llvmlite.binding.get_host_cpu_features().flatten()
    host, bounds = llvmlite.binding.get_host_cpu_name(), str(config.BOUNDSCHECK)
    for part in (sys.version, numba.__version__, llvmlite.__version__, host, features, bounds):
        digest.update(part.encode())
    for name, source in sorted(_sources_behind(module, own).items()):
        digest.update(name.encode())
        digest.update(source)
    return digest.hexdigest()


#: A module of which names are imported. Constants do not say where they come from.
_IMPORTED_FROM = re.compile(rb"^from ([.\w]+) import ", re.MULTILINE)


def _sources_behind(module: str, own: bool) -> dict[str, bytes]:
    """The sources, by name, of a module of edgewise and of those that it imports from, directly and indirectly.

    Also of another package, such as benchmarks, if code is its `own`: the key of a user's code has all that counts.
    """
    sources: dict[str, bytes] = {}
    waiting, packages = [module], {"edgewise", module.partition(".")[0] if own else ""}
    while waiting:
        name = waiting.pop()
        if name.partition(".")[0] in packages and name in sys.modules.keys() - sources:
            sources[name] = Path(sys.modules[name].__file__ or "").read_bytes()
            waiting += (each.decode() for each in _IMPORTED_FROM.findall(sources[name]))
            for value in vars(sys.modules[name]).values():
                is_module = isinstance(value, ModuleType)
                where = value.__name__ if is_module else getattr(value, "__module__", None)
                # A package has its own modules as soon as anybody has loaded them.
                if isinstance(where, str) and not (is_module and where.startswith(f"{name}.")):
                    waiting.append(where)
    return sources


_seconds = 0.0


def compile_seconds() -> float:
    """Seconds that this process has spent on compiling kernels and loading compiled ones. It only grows."""
    return _seconds


@contextlib.contextmanager
def counted_as_compiling() -> Iterator[None]:
    """Count the time of the block in `compile_seconds`."""
    started = time.perf_counter(), _seconds
    yield
    _count_since(*started)


def _count_since(started: float, before: float) -> None:
    """Count the time since a moment as compiling; `before` was counted then. What was counted in between is part of
    it, for the compilation of a kernel is under way while the functions that it calls are compiled."""
    global _seconds
    _seconds = max(_seconds, before + time.perf_counter() - started)


@contextlib.contextmanager
def _turn(name: str | None) -> Iterator[None]:
    """Wait for another process that compiles what is to be kept under a name, and have others wait for the block.

    The block looks again whether it is kept, or compiles it. None is for what is not kept, which nobody waits for, as
    for what is there already. The lock of numba's compiler comes first: threads take both in one order, and no process
    forks in between.
    """
    with contextlib.ExitStack() as turn:
        if name is not None and not store.has(name):
            turn.enter_context(global_compiler_lock)
            with counted_as_compiling():
                turn.enter_context(store.turn(name))
        yield


class DiskCache:
    """A numba dispatcher's cache of compiled code: one file for each signature.

    Code that cannot be read or is damaged is compiled anew.
    """

    def __init__(self, module: str, name: str, key: str | None) -> None:
        self._module = module
        self._name = name
        self._key = key
        self._asked = 0.0, 0.0

    def _stored_as(self, signature: Any) -> str:
        return f"{self._name}\n{_environment_key(self._module, not self._key)}\n{self._key}\n{signature}"

    def turn(self, signature: Any) -> contextlib.AbstractContextManager[None]:
        """The block in which numba loads or compiles the function for a signature: at one time, one process of the user
        compiles it, and others wait to load it."""
        return _turn(None if self._key is None else self._stored_as(signature))

    def load_overload(self, signature: Any, target_context: Any) -> Any:
        """The compiled function for this signature; after None, numba compiles and saves it.

        numba's own cache has the target load all that it can compile before it looks at the disk, which takes
        0.7 s in a new process. Compiled code needs none of it, and the compiler asks for it by itself.
        """
        self._asked = time.perf_counter(), _seconds
        if self._key is None:
            return None
        content = store.read(self._stored_as(signature))
        if content is None:
            return None
        try:
            loaded = compiler.CompileResult._rebuild(target_context, *pickle.loads(content))
        except ImportError:
            # Compiled code names the modules of a user's functions, which need not be importable.
            return None
        self._stop_clock()
        return loaded

    def _stop_clock(self) -> None:
        """Count the time since the code was asked for. numba holds its compiler lock throughout."""
        _count_since(*self._asked)

    def save_overload(self, signature: Any, result: Any) -> None:
        """Keep a compiled function for later processes."""
        self._stop_clock()
        if (
            self._key is None or result.library.has_dynamic_globals
        ):  # addresses of this process stand in the code
            return
        store.write(self._stored_as(signature), serialize.dumps(result._reduce()))


def kept(question: str | None, module: str, answer: Callable[[], bytes]) -> bytes:
    """The answer to a question about code, kept on disk beside compiled code.

    Args:
        question: all that the answer depends on beyond edgewise itself; None to ask anew each time.
        module: the module that, with its imports, holds the code that finds the answer.
        answer: finds the answer.
    """
    if question is None:
        return answer()
    name = f"answer\n{_environment_key(module, True)}\n{question}"
    with _turn(name):
        content = store.read(name)
        if content is None:
            content = answer()
            store.write(name, content)
    return content


def kernel(function: Callable[..., Any] | None = None, *, key: str | None = "") -> Any:
    """Compile a function for the CPU, without the GIL, once for each combination of argument types.

    Args:
        function: the function; without it, a decorator is returned.
        key: what the code depends on beyond edgewise's own sources (a user's functions and closure values);
            None if that cannot be told; then the code is not kept.

    Returns:
        The compiled function. Divisions by zero follow NumPy (inf, nan, 0). Indices are not checked, unless the
        environment says NUMBA_BOUNDSCHECK=1.
    """
    if function is None:
        return functools.partial(kernel, key=key)
    options = {"nopython": True, **KERNEL_OPTIONS}
    dispatcher = Kernel(function, targetoptions=options, pipeline_class=KernelCompiler)
    dispatcher._cache = DiskCache(function.__module__, function.__qualname__.rpartition(".")[2], key)
    return dispatcher


def device_function(function: Callable[..., Any], **options: Any) -> Any:
    """Compile a function of edgewise's own that only kernels call."""
    return InnerFunction(function, {**KERNEL_OPTIONS, **options})


def program_function(function: Callable[..., Any]) -> Any:
    """Compile a function of a user's program, which only kernels call."""
    return Function(function, KERNEL_OPTIONS)


#: `device_function` for functions that are called for each vertex, or have a long loop, in one or two places. A call
#: passes the descriptors of arrays in memory, which takes longer than a short row does; the function reads them again
#: after each of its stores.
inlined_function: Callable[..., Any] = functools.partial(device_function, forceinline=True)
