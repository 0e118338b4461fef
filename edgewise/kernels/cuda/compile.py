"""How kernels are compiled and kept.

numba-cuda compiles a kernel to PTX, and nvJitLink makes machine code of that, once for each architecture. The code is
kept on disk. Compiling needs no GPU, so tests compile every kernel.
"""

import functools
import hashlib
import re
from collections.abc import Callable
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path
from typing import Any

from edgewise.kernels.cache import counted_as_compiling, kept
from edgewise.kernels.cuda.device import THREADS, cuda

#: How kernels are compiled, which they import no more than this module does.
_HOW = (Path(__file__).with_name("pipeline.py"), Path(__file__).parents[1] / "passes.py")


class _Architecture:
    """Stands for the GPU where numba-cuda asks for it while it compiles."""

    def __init__(self, capability: tuple[int, int]) -> None:
        self.compute_capability = capability


@contextmanager
def _compiling_for(capability: tuple[int, int]) -> Any:
    """Have numba-cuda compile for an architecture without asking a driver for the current device."""
    from numba.cuda import compiler, dispatcher

    from edgewise.kernels.cuda.pipeline import short_compiler

    asked = [(module, module.get_current_device) for module in (compiler, dispatcher)]
    for module, _ in asked:
        module.get_current_device = lambda: _Architecture(capability)
    try:
        with short_compiler():
            yield
    finally:
        for module, original in asked:
            module.get_current_device = original


def compile_kernel(
    function: Callable[..., Any],
    signature: tuple[Any, ...],
    capability: tuple[int, int],
    key: str | None,
    threads: int = THREADS,
) -> bytes:
    """The machine code of a kernel for an architecture, from disk if it was compiled before.

    Args:
        function: the kernel.
        signature: the types of its arguments, see `edgewise.kernels.cuda.arguments`.
        capability: the compute capability, (9, 0) for an H100.
        key: what the code depends on beyond edgewise's sources; None to compile it anew each time.
        threads: the threads of a block; the fewer, the more registers each may have.
    """
    question = None if key is None else f"{_compiler()} {capability} {signature} {key}"
    with counted_as_compiling():
        return kept(
            question,
            function.__module__,
            lambda: to_machine_code(to_ptx(function, signature, capability, threads), capability),
        )


@functools.cache
def _compiler() -> str:
    """numba-cuda's version, and a digest of how it is used."""
    digest = hashlib.sha256(b"".join(each.read_bytes() for each in _HOW))
    return f"{version('numba-cuda')} {digest.hexdigest()}"


def to_ptx(
    function: Callable[..., Any],
    signature: tuple[Any, ...],
    capability: tuple[int, int],
    threads: int = THREADS,
) -> str:
    """The PTX of a kernel for an architecture, where the kernel is named "kernel"."""
    with _compiling_for(capability):
        ptx, _ = cuda.compile(
            function, signature, device=False, abi="numba", cc=capability, launch_bounds=threads
        )
    # The name of a kernel holds the types of all its arguments; a short name replaces it.
    (name,) = re.findall(r"\.visible \.entry (\S+?)\(", ptx)
    return re.sub(rf"\b{re.escape(name)}\b", "kernel", ptx)


def to_machine_code(ptx: str, capability: tuple[int, int]) -> bytes:
    """The machine code of PTX for an architecture."""
    from cuda.core import Linker, LinkerOptions, ObjectCode

    options = LinkerOptions(arch=f"sm_{capability[0]}{capability[1]}")
    return bytes(Linker(ObjectCode.from_ptx(ptx.encode()), options=options).link("cubin").code)
