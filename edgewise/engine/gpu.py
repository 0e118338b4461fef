"""The CUDA engine: the arrays of a run on the GPU, laid out once for a graph, and the launch of the kernel."""

from typing import Any

import numpy as np

from edgewise.engine.binding import Binding
from edgewise.engine.compiled import CompiledProgram
from edgewise.engine.constants import Constants, constant_arrays
from edgewise.engine.cpu import LAST_STAMP
from edgewise.engine.cpu_kernel import AUTO, ENDINGS, PULL, PUSH
from edgewise.engine.glue import own_array_order, own_dtypes
from edgewise.engine.gpu_kernel import (
    CONTROL_WORDS,
    ENDED,
    FOLDS,
    FORM_NAMES,
    FORMS,
    SUPERSTEP,
    make_gpu_kernel,
    may_push,
    signature,
    stored,
)
from edgewise.engine.outcome import Outcome
from edgewise.execution import Execution
from edgewise.kernels import gpu
from edgewise.kernels.gpu import Kernel, compile_kernel, copied, words
from edgewise.schedule import Pull, Push


class _Workspace:
    """The arrays on the GPU that a run works in, kept between runs."""

    def __init__(self, num_vertices: int, identity: Any, message: np.dtype) -> None:
        self.base = 0
        self.messages = gpu.full(num_vertices, identity, stored(message))
        self.received, self.active = gpu.zeros(num_vertices, np.uint32), gpu.zeros(num_vertices, np.uint32)
        self.lists = [gpu.empty(num_vertices, np.uint32) for _ in range(3)]
        self.control = gpu.zeros(CONTROL_WORDS, np.int64)
        self.host = gpu.pinned(2, np.int64)

    @staticmethod
    def nbytes(num_vertices: int, message: np.dtype) -> int:
        """The memory that a workspace takes on the GPU."""
        return num_vertices * (stored(message).itemsize + 5 * 4)


class GpuProgram:
    """A program compiled for the current GPU and laid out for one graph.

    Args:
        compiled: the program's functions, for the GPU.
        binding: the program on its graph.
        message: the dtype of messages.
        delivery: "auto", `Push()` or `Pull()`.
        pull: whether the graph's in-edges may be used; they are made here if they were not yet.
    """

    def __init__(
        self, compiled: CompiledProgram, binding: Binding, message: np.dtype, delivery: Any, pull: bool
    ) -> None:
        self._compiled, self._binding, self._message = compiled, binding, message
        self._delivery = {Push: PUSH, Pull: PULL}.get(type(delivery), AUTO)
        self._pull = pull or not may_push(binding.found, message)
        self._kernels: dict[Any, Kernel] = {}
        self._free: list[_Workspace] = []
        found, graph = binding.found, binding.graph
        self._order = own_array_order(found)
        columns = ("in_offsets", "in_sources") if self._pull else ("offsets", "targets")
        self._graph = [graph.on_gpu(name) for name in ("offsets", "targets", *columns)]
        needs_arcs = self._pull and found.needs_arc_index
        self._graph.append(copied(graph, graph.in_arcs) if needs_arcs else self._graph[0])
        self._constants = self._lay_out({})
        #: Bytes that a run allocates on the GPU beyond the graph.
        self.memory_needed = binding.result_bytes + _Workspace.nbytes(graph.num_vertices, message)

    def __call__(
        self, run: Execution, parameters: dict[str, Any], given: dict[str, Any], limit: int | None
    ) -> Outcome:
        """Carry out one run; the arguments are those of `edgewise.engine.cpu.CpuProgram`."""
        found, graph = self._binding.found, self._binding.graph
        constants, kept = self._lay_out(given) if given else self._constants
        own = {**kept, **self._run_arrays(parameters, given, constants, kept)}
        workspace = self._take_workspace()
        workspace.control[...] = 0
        workspace.host[...] = 0
        kernel = self._kernel(parameters, constants.uniform)
        control = workspace.control
        arguments: list[Any] = [*self._graph, workspace.active, *workspace.lists]
        arguments += [words(own[key]) if own[key].dtype.kind == "b" else own[key] for key in self._order]
        arguments += [words(values) for values in (workspace.messages, workspace.received, control)]
        arguments += [
            workspace.host,
            graph.num_vertices,
            graph.num_arcs,
            workspace.base,
            -1 if limit is None else limit,
            self._delivery,
            self._pull,
            constants.supplied,
        ]
        wanted = -(-max(graph.num_vertices, graph.num_arcs // 8, 1) // gpu.THREADS)
        kernel.start(arguments, min(kernel.blocks, wanted))
        gpu.wait(workspace.host, run.progress)
        told = gpu.host_copy(control)
        supersteps = int(told[SUPERSTEP])
        workspace.base += supersteps + 2
        ended = ENDINGS[int(told[ENDED])]
        aggregates = {name: gpu.host_copy(own["aggregate", name])[0].item() for name in found.aggregators}
        self._free.append(workspace)
        counts = told[FORMS : FORMS + len(FORM_NAMES)].tolist()
        forms = [f"{count} {name}" for count, name in zip(counts, FORM_NAMES, strict=True) if count]
        return Outcome(
            {name: own["vertex", name] for name in found.vertex_fields},
            {name: own["edge", name] for name in found.edge_fields if name in found.edge_writes},
            aggregates,
            supersteps,
            ended,
            (f"supersteps on the GPU: {', '.join(forms)}",) if forms else (),
        )

    def _lay_out(self, given: dict[str, Any]) -> tuple[Constants, dict[tuple[str, str], Any]]:
        """The arrays that runs only read, and their copies on the GPU, for arrays given for fields."""
        graph = self._binding.graph
        constants = constant_arrays(self._binding, given, self._pull)
        weights = {id(graph.weights): "weights"}
        if self._pull:
            weights[id(graph.in_weights)] = "in_weights"

        def on_gpu(kind: str, values: np.ndarray) -> Any:
            if id(values) in weights:
                return graph.on_gpu(weights[id(values)])
            return copied(graph, values) if kind == "degree" else gpu.copy_of(values)

        copies = {key: on_gpu(key[0], values) for key, values in constants.arrays.items()}
        return constants, copies

    def _run_arrays(
        self, parameters: dict[str, Any], given: dict[str, Any], constants: Constants, kept: dict[Any, Any]
    ) -> dict[tuple[str, str], Any]:
        """The arrays on the GPU that one run writes, and its parameters."""
        binding, n = self._binding, self._binding.graph.num_vertices
        arrays: dict[tuple[str, str], Any] = {}
        for i, (name, dtype) in enumerate(binding.vertex.items()):
            supplied = constants.supplied >> i & 1
            arrays["vertex", name] = kept["initial", name].copy() if supplied else gpu.empty(n, dtype)
        for name in binding.found.edge_writes:
            arrays["edge", name] = kept["edge", name].copy()
        for name, value in parameters.items():
            arrays["parameter", name] = gpu.copy_of(np.array([value]))
        for name, dtype in binding.aggregates.items():
            arrays["aggregate", name] = gpu.zeros(1, dtype)
            arrays["partial", name] = gpu.empty(max(1, min(n, FOLDS[0])), dtype)
        return arrays

    def _kernel(self, parameters: dict[str, Any], uniform: frozenset[str]) -> Kernel:
        """The kernel for these types of parameters and these uniform edge fields."""
        kind = (uniform, *(type(value) for value in parameters.values()))
        if kind not in self._kernels:
            binding, message = self._binding, self._message
            key = binding.found.key
            if key is not None:
                dtypes = own_dtypes(binding, parameters)
                written = sorted(
                    f"{kind} {name} {dtype}" for kind in dtypes for name, dtype in dtypes[kind].items()
                )
                key = "\n".join([key, str(message), *sorted(uniform), *written])
            code = compile_kernel(
                make_gpu_kernel(self._compiled, binding, message, uniform),
                signature(binding, message, parameters),
                gpu.capability(),
                key,
            )
            self._kernels[kind] = Kernel(code)
        return self._kernels[kind]

    def _take_workspace(self) -> _Workspace:
        """A workspace that no other run uses now."""
        while self._free:
            workspace = self._free.pop()
            if workspace.base < LAST_STAMP:
                return workspace
        identity = self._binding.found.combine.identity(self._message)
        return _Workspace(self._binding.graph.num_vertices, identity, self._message)
