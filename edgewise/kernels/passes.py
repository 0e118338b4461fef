"""The passes of numba and of numba-cuda over a function, run without what they do between two passes."""

from typing import Any


class Passes:
    """Passes over a function, one after the other.

    After each pass, and inside of most, the compilers find out anew which variables live where at the start of blocks,
    which only generators need. They also check themselves, and tell listeners of times.

    Args:
        name: what messages call the passes together.
        passes: the classes of the passes, and what messages call them.
        registry: where the passes are found.
        postproc, errors: the compiler's modules of these names.
    """

    def __init__(
        self,
        name: str,
        passes: list[tuple[Any, str]],
        registry: Any,
        postproc: Any,
        errors: Any,
    ) -> None:
        registered = [(registry.get(kind), description) for kind, description in passes]
        self._passes = [(each.pass_inst, each.mutates_CFG, description) for each, description in registered]
        for each, _, _ in self._passes:
            each.analysis = {type(each): None}
        self._postproc, self._errors = postproc, errors
        self._quick = _without_live_variables(postproc)
        self.pipeline_name = name
        #: numba stores the times of passes here.
        self.exec_times: dict[str, Any] = {}

    def run(self, state: Any) -> None:
        """Run the passes. The caller holds the compiler's lock."""
        original, self._postproc.PostProcessor = self._postproc.PostProcessor, self._quick
        try:
            for each, changes, description in self._passes:
                self._run(each, description, state)
                if changes:
                    self._quick(state.func_ir).run()
        finally:
            self._postproc.PostProcessor = original

    def _run(self, each: Any, description: str, state: Any) -> None:
        """Run one pass."""
        try:
            each.run_pass(state)
        except self._errors.NumbaError as error:
            error.args = (f"Failed in {self.pipeline_name} mode pipeline (step: {description})\n{error}",)
            raise


def _without_live_variables(postproc: Any) -> Any:
    """The compiler's class that brings a function into the form that passes expect, without what generators need."""

    class Quick(postproc.PostProcessor):
        def run(self, emit_dels: bool = False, extend_lifetimes: bool = False) -> None:
            function = self.func_ir
            if function.is_generator:
                return super().run(emit_dels, extend_lifetimes)
            function.blocks = postproc.transforms.canonicalize_cfg(function.blocks)
            function.variable_lifetime = postproc.VariableLifetime(function.blocks)
            function.generator_info = None
            if emit_dels:
                self._insert_var_dels(extend_lifetimes=extend_lifetimes)

    return Quick


class Refreshed:
    """A typing context that was refreshed, and does not look for new declarations again."""

    def __init__(self, context: Any) -> None:
        self._context = context

    def refresh(self) -> None:
        """Do nothing."""

    def __getattr__(self, name: str) -> Any:
        return getattr(self._context, name)
