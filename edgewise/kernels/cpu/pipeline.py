"""numba's compiler for the CPU without what kernels do not need.

numba compiles each function so that Python can call it: it optimises the function with everything that it calls,
translates that to machine code, and does so again in every function that calls it. Here a function that only kernels
call is simplified by itself. A kernel links all of them, each once, and optimises and translates the whole once.

The passes over a function are numba's own, in its order, so the same programs are accepted and refused.
"""

import functools
from collections.abc import Callable, Iterator
from typing import Any

from numba.core import (
    compiler,
    errors,
    lowering,
    postproc,
    sigutils,
    typed_passes,
    types,
)
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler_lock import global_compiler_lock
from numba.core.compiler_machinery import _pass_registry, register_pass
from numba.core.environment import lookup_environment
from numba.core.registry import CPUDispatcher
from numba.core.targetconfig import ConfigStack

from edgewise.kernels.interruptions import interruptions_wait
from edgewise.kernels.passes import Passes, Refreshed


@functools.cache
def _simplifying_passes(codegen: Any) -> Any:
    """LLVM's passes over a function, made once: that takes longer than to run them."""
    return codegen._function_pass_manager()


class _Library(JITCodeLibrary):
    """The code of a function, each part simplified by itself.

    Without that, the whole cannot be optimised as well: loops in inlined functions keep conditions that do not change
    in them, which made a search that pulls slower (docs/design/compiling.md).
    """

    def add_llvm_module(self, module: Any) -> None:
        module.data_layout = self._codegen._data_layout
        manager, builder = _simplifying_passes(self._codegen)
        for function in module.functions:
            if not function.is_declaration:
                manager.run(function, builder)
        self._final_module.link_in(module)


class FunctionLibrary(_Library):
    """The code of a function that only kernels call: neither linked with what it calls nor translated."""

    def add_linking_library(self, library: Any) -> None:
        self._linking_libraries.append(library)

    def finalize(self) -> None:
        self._finalized = True

    @property
    def behind(self) -> list[Any]:
        """The libraries of the functions that it calls."""
        found: list[Any] = self._linking_libraries
        return found


class KernelLibrary(_Library):
    """The code of a kernel and of all functions that it calls, optimised together.

    Only the kernel's own names are visible to other code of the process. numba numbers functions as they are compiled,
    so functions of two kernels may have the same names if different processes compiled them; the loader would take one
    for the other.
    """

    def finalize(self) -> None:
        self._codegen._check_llvm_bugs()
        own = {function.name for function in self._final_module.functions if not function.is_declaration}
        self._link(list(_reachable(self._linking_libraries)))
        manager, builder = self._codegen._module_pass_manager()
        manager.run(self._final_module, builder)
        for function in self._final_module.functions:
            if function.is_declaration and function.name.startswith("_ZN"):  # as numba names functions
                raise RuntimeError(f"{self.name}: the code of {function.name} is missing; please report this")
            if not (function.is_declaration or function.name in own):
                function.linkage = "internal"
        self._final_module.verify()
        self._finalize_final_module()

    def _link(self, libraries: list[Any]) -> None:
        """Link what is called, until nothing is missing that the libraries have.

        LLVM takes from a library only what the code so far calls. A function may be needed only later: the first
        function whose library names it may turn out not to call it once it is simplified, and another one may.
        """
        found: list[tuple[set[str], Any]] = []
        for library in libraries:
            self._reload_init.update(library._reload_init)
            module = library._get_module_for_linking()
            found.append(({each.name for each in module.functions if not each.is_declaration}, module))
        missing, before = self._undefined(), set[str]()
        while missing != before:
            for names, module in found:
                if names & missing:
                    self._final_module.link_in(module, preserve=True)
            missing, before = self._undefined(), missing

    def _undefined(self) -> set[str]:
        return {each.name for each in self._final_module.functions if each.is_declaration}

    def _finalize_specific(self) -> None:
        super()._finalize_specific()
        for variable in self._final_module.global_variables:
            environment = lookup_environment(variable.name)
            if environment is not None:
                self._codegen.set_env(variable.name, environment)


def _reachable(libraries: list[Any]) -> Iterator[Any]:
    """The libraries and those of the functions that they call, each once."""
    seen, waiting = set(), list(reversed(libraries))
    while waiting:
        library = waiting.pop()
        if library not in seen:
            seen.add(library)
            yield library
            if isinstance(library, FunctionLibrary):
                waiting.extend(reversed(library.behind))


class _FunctionLowering(lowering.Lower):
    """Lowering without the environment of a Python function; the few things that need one declare it."""

    def emit_environment_object(self) -> None:
        """Emit nothing."""


@register_pass(mutates_CFG=True, analysis_only=False)
class LowerFunction(typed_passes.NativeLowering):
    """Lower a function that only kernels call."""

    _name = "edgewise_lower_function"

    @property
    def lowering_class(self) -> Any:
        return _FunctionLowering

    def run_pass(self, state: Any) -> bool:
        super().run_pass(state)
        lowered, library = state["cr"], state.library
        called = object()  # what calls know the function by
        state.targetctx.insert_user_function(called, lowered.fndesc, [library])
        state.reload_init.extend(library._reload_init)
        state["cr"] = lowered._replace(cfunc=called)
        return True


class _Start:
    """The state of a compilation when numba chooses passes."""

    func_ir, flags = None, compiler.Flags()


@functools.cache
def _passes_to(lower: Any) -> Passes:
    """numba's passes with another pass for lowering."""
    chosen = compiler.DefaultPassBuilder.define_nopython_pipeline(_Start).passes
    passes = [(lower if kind is typed_passes.NativeLowering else kind, text) for kind, text in chosen]
    return Passes("nopython", passes, _pass_registry, postproc, errors)


class KernelCompiler(compiler.CompilerBase):
    """Compiles kernels."""

    library: Any = KernelLibrary
    lower: Any = typed_passes.NativeLowering

    def define_pipelines(self) -> list[Any]:
        """The passes; they leave code in the library."""
        state = self.state
        state.library = self.library(state.targetctx.codegen(), state.func_id.func_qualname)
        state.library.enable_object_caching()
        return [_passes_to(self.lower)]


class FunctionCompiler(KernelCompiler):
    """Compiles functions that only kernels call."""

    library, lower = FunctionLibrary, LowerFunction

    def __init__(self, typing: Any, target: Any, *rest: Any) -> None:
        if ConfigStack.top_or_none() is None:
            super().__init__(typing, target, *rest)
        else:  # for a function that is being compiled, before which the contexts were asked
            super().__init__(Refreshed(typing), Refreshed(target), *rest)
            self.state.typingctx = typing

    def define_pipelines(self) -> list[Any]:
        """The passes; they translate nothing."""
        self.state.flags.no_compile = True
        return super().define_pipelines()


class Kernel(CPUDispatcher):
    """A function that Python calls."""

    def compile(self, signature: Any) -> Any:
        """Compile the kernel for a signature, or load it, before Ctrl-C is handled. Returns what calls it."""
        with self._cache.turn(signature), interruptions_wait():
            return super().compile(signature)


class Function(CPUDispatcher):
    """A function that only kernels call."""

    def __init__(self, function: Callable[..., Any], options: dict[str, Any]) -> None:
        options = {"nopython": True, "no_cpython_wrapper": True, **options}
        super().__init__(function, targetoptions=options, pipeline_class=FunctionCompiler)

    def __call__(self, *arguments: Any, **keywords: Any) -> Any:
        """Refuse: nothing that Python can call is compiled."""
        raise TypeError(f"{self.__name__} is for kernels only; what Python calls is made by `kernel`")

    def compile(self, signature: Any) -> Any:
        """Compile the function for a signature, once. Returns the object by which calls refer to it.

        numba's own method also times the compiler and LLVM, once for each function that waits for this one.
        """
        arguments, returned = sigutils.normalize_signature(signature)
        with global_compiler_lock, self._compiling_counter:
            if arguments not in self.overloads:
                try:
                    self.overloads[arguments] = self._compiler.compile(arguments, returned)
                except errors.ForceLiteralArg as error:
                    raise error.bind_fold_arguments(self._folded) from None
            return self.overloads[arguments].entry_point

    def _folded(self, arguments: Any, keywords: Any) -> Any:
        return self._compiler.fold_argument_types(arguments, keywords)[1]


class InnerFunction(Function):
    """A function of edgewise's own that only kernels call, compiled once for all constant arguments."""

    def get_call_template(self, arguments: Any, keywords: Any) -> Any:
        """The template of a call, by which numba finds its signature."""
        plain = [_plain(kind) for kind in arguments]
        return super().get_call_template(plain, {name: _plain(kind) for name, kind in keywords.items()})


def _plain(kind: Any) -> Any:
    """The type of an argument; for a constant integer, that of any integer."""
    return kind.literal_type if isinstance(kind, types.IntegerLiteral) else kind
