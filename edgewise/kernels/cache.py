"""Compile with numba, and keep the machine code on disk under a key of our own.

numba's own disk cache looks at the file of the outermost function only. It serves stale code after a function
in another file was edited, and it never serves closures, which is what a user's program compiles to. Here the
key is the content of everything that the code depends on: all of edgewise's sources, the versions of Python,
numba and llvmlite, the processor, the signature, and for a user's program its source and the values that it
closes over (see `edgewise.program`).
"""

import functools
import hashlib
import os
import pickle
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import llvmlite
import llvmlite.binding
import numba
from numba.core import compiler, serialize

#: Without ``_nrt`` numba counts references to arrays, atomically, around every call inside a kernel: measured, that
#: made delta-stepping 2.5 times slower. Kernels allocate nothing, so there is nothing to count.
KERNEL_OPTIONS: dict[str, Any] = {"nogil": True, "error_model": "numpy", "boundscheck": False, "_nrt": False}


def cache_directory() -> Path:
    """The folder of compiled code: ``$EDGEWISE_CACHE_DIR``, else ``edgewise`` in the user's cache folder."""
    configured = os.environ.get("EDGEWISE_CACHE_DIR")
    if configured:
        return Path(configured)
    base = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    return Path(base) / "edgewise"


@functools.cache
def _environment_key() -> str:
    """A digest of edgewise's sources, the compilers' versions and the processor."""
    digest = hashlib.sha256()
    root = Path(__file__).resolve().parent.parent
    for path in sorted(root.rglob("*.py")):
        digest.update(path.relative_to(root).as_posix().encode())
        digest.update(path.read_bytes())
    features = llvmlite.binding.get_host_cpu_features().flatten()
    host = llvmlite.binding.get_host_cpu_name()
    for part in (sys.version, numba.__version__, llvmlite.__version__, host, features):
        digest.update(part.encode())
    return digest.hexdigest()


_seconds = 0.0


def compile_seconds() -> float:
    """Seconds that this process has spent on compiling kernels and loading compiled ones. It only grows."""
    return _seconds


class DiskCache:
    """What a numba dispatcher asks for compiled code: one file for each signature.

    Files are written aside and renamed, so two processes may write the same one at a time; a file that cannot
    be read is compiled anew, and a folder that cannot be written only costs the next process its warm start.
    """

    def __init__(self, name: str, key: str) -> None:
        self._name = name
        self._key = key
        self._asked = 0.0

    def _path(self, signature: Any) -> Path:
        text = f"{_environment_key()}\n{self._name}\n{self._key}\n{signature}"
        return cache_directory() / f"{self._name}-{hashlib.sha256(text.encode()).hexdigest()[:32]}.code"

    def load_overload(self, signature: Any, target_context: Any) -> Any:
        """The compiled function for this signature, or None, after which numba compiles and saves it."""
        self._asked = time.perf_counter()
        target_context.refresh()
        try:
            payload = pickle.loads(self._path(signature).read_bytes())
        except (OSError, EOFError, pickle.UnpicklingError, AttributeError, ImportError, IndexError):
            return None
        loaded = compiler.CompileResult._rebuild(target_context, *payload)
        self._stop_clock()
        return loaded

    def _stop_clock(self) -> None:
        """Count the time since the code was asked for. numba holds its compiler lock throughout."""
        global _seconds
        _seconds += time.perf_counter() - self._asked

    def save_overload(self, signature: Any, result: Any) -> None:
        """Keep a compiled function for later processes."""
        self._stop_clock()
        if result.library.has_dynamic_globals:  # addresses of this process stand in the code
            return
        path = self._path(signature)
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            handle, aside = tempfile.mkstemp(dir=path.parent, prefix=path.stem)
            with os.fdopen(handle, "wb") as file:
                file.write(serialize.dumps(result._reduce()))
            os.replace(aside, path)
        except OSError:
            return


def kernel(function: Callable[..., Any] | None = None, *, key: str = "") -> Any:
    """Compile a function for the CPU, without the GIL, once for each combination of argument types.

    Args:
        function: the function; without it, a decorator is returned.
        key: what the code depends on beyond edgewise's own sources (a user's functions and closure values).

    Returns:
        The compiled function. Divisions by zero follow NumPy (inf, nan, 0) and indices are not checked.
    """
    if function is None:
        return functools.partial(kernel, key=key)
    dispatcher = numba.njit(function, **KERNEL_OPTIONS)
    dispatcher._cache = DiskCache(f"{function.__module__}.{function.__qualname__}".replace("<locals>", ""), key)
    return dispatcher


device_function = functools.partial(numba.njit, **KERNEL_OPTIONS)
