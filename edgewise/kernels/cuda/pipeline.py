"""numba-cuda's compiler without the passes that kernels do not need, see `edgewise.kernels.passes`.

numba-cuda hands the code of a function to NVVM once for each chain of calls that leads to it; `Library` does so once.
"""

import functools
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from numba.cuda import compiler
from numba.cuda.codegen import CUDACodeLibrary
from numba.cuda.core import compiler as compiler_base
from numba.cuda.core import errors, postproc
from numba.cuda.core.compiler_machinery import _pass_registry, register_pass
from numba.cuda.core.targetconfig import ConfigStack

from edgewise.kernels.passes import Passes, Refreshed


class Library(CUDACodeLibrary):
    """The code of a function and of all functions that it calls, each once."""

    @property
    def modules(self) -> list[Any]:
        """The modules of this library and of those that it links, each once."""
        return [library._module for library in self._reachable()]

    def _reachable(self) -> Iterator[Any]:
        """This library and all that it links."""
        seen, waiting = set[Any](), [self]
        while waiting:
            library = waiting.pop()
            if library not in seen and isinstance(library, CUDACodeLibrary):
                seen.add(library)
                yield library
                waiting.extend(library._linking_libraries)


@register_pass(mutates_CFG=False, analysis_only=False)
class CreateLibrary(compiler.CreateLibrary):
    """Create the library that a function is lowered into."""

    _name = "edgewise_create_library"

    def run_pass(self, state: Any) -> bool:
        codegen, name = state.targetctx.codegen(), state.func_id.func_qualname
        state.library = Library(codegen, name, nvvm_options=state.flags.nvvm_options)
        return True


@functools.cache
def _passes() -> Passes:
    """numba-cuda's passes, with `CreateLibrary` in place of its own."""
    (chosen,) = _Start().define_pipelines()
    passes = [
        (CreateLibrary if kind is compiler.CreateLibrary else kind, text) for kind, text in chosen.passes
    ]
    return Passes("cuda", passes, _pass_registry, postproc, errors)


class _Start(compiler.CUDACompiler):
    """A compiler in the state in which numba-cuda chooses passes."""

    def __init__(self) -> None:
        self.state = compiler_base.StateDict(func_ir=None, flags=compiler.CUDAFlags())


class Compiler(compiler_base.CompilerBase):
    """Compiles kernels and the functions that they call."""

    def __init__(
        self, typing: Any, target: Any, library: Any, arguments: Any, returned: Any, flags: Any, *rest: Any
    ):
        if ConfigStack.top_or_none() is None:
            super().__init__(typing, target, library, arguments, returned, flags, *rest)
        else:  # a function called by one that is being compiled, for which the contexts have been refreshed
            super().__init__(Refreshed(typing), Refreshed(target), library, arguments, returned, flags, *rest)
            self.state.typingctx = typing
            self.state.targetctx = compiler_base._make_subtarget(target, flags)

    def define_pipelines(self) -> list[Any]:
        """The passes, as the one pipeline."""
        return [_passes()]


@contextmanager
def short_compiler() -> Iterator[None]:
    """Have numba-cuda compile with `Compiler`."""
    original, compiler.CUDACompiler = compiler.CUDACompiler, Compiler
    try:
        yield
    finally:
        compiler.CUDACompiler = original
