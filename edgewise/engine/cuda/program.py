"""The CUDA engine: the arrays of a run on the GPU, laid out once for a graph, and the launch of the kernel."""

from functools import partial
from typing import Any, NamedTuple, final

import numpy as np

from edgewise.balance.contract import SHARED, Plan
from edgewise.balance.registry import strategy_of
from edgewise.engine.contract import LAST_STAMP, AbstractEngine, Ending, Outcome
from edgewise.engine.cuda import best_first, control
from edgewise.engine.cuda.arguments import (
    Arcs,
    Buffer,
    Parts,
    Supersteps,
    Work,
    kept_dtype,
    signature,
    stored_identity,
)
from edgewise.engine.cuda.kernel import make_gpu_kernel
from edgewise.engine.cuda.layout import LaidOut, lay_out
from edgewise.engine.cuda.rows import rows_of
from edgewise.engine.cuda.vertices import FOLDS
from edgewise.engine.cuda.words import Words
from edgewise.engine.delivery import Delivery, may_push
from edgewise.engine.endless import Watch
from edgewise.engine.lowering.accessors import own_array_order, own_dtypes
from edgewise.engine.lowering.binding import Binding, starts_as_weights
from edgewise.engine.lowering.compiled import CompiledProgram
from edgewise.engine.lowering.constants import Constants, constant_arrays, laying_out
from edgewise.engine.lowering.message_buffer import slot_dtypes
from edgewise.errors import MemoryLimitError, ScheduleError
from edgewise.execution import Execution
from edgewise.graph import Arrays, Graph, Needs, Placement
from edgewise.kernels.cuda.arguments import address, packed, words
from edgewise.kernels.cuda.compile import compile_kernel
from edgewise.kernels.cuda.device import THREADS
from edgewise.kernels.cuda.launch import Kernel
from edgewise.kernels.cuda.memory import (
    capability,
    copy_of,
    device_number,
    empty,
    finish,
    full,
    pinned,
    room,
    snapshot,
    wait,
    written_forms,
    zeros,
)
from edgewise.layout.slots import ARC_BYTES
from edgewise.memory import Step, held, in_turn
from edgewise.primitives import near_far_piles
from edgewise.program.declarations import STATE_ARRAYS
from edgewise.program.inspect import Specification


class Report(NamedTuple):
    """What a kernel reports of a run.

    Attributes:
        supersteps: how many were run.
        ending: how the run ended.
        forms: what its supersteps were like.
        phases: see `Outcome.phase_seconds`.
    """

    supersteps: int
    ending: Ending
    forms: str
    phases: dict[str, float]


class SuperstepRuns:
    """Runs of a program in supersteps, by `edgewise.engine.cuda.kernel`, in arrays on the GPU that are kept between
    them."""

    make_kernel, signature = staticmethod(make_gpu_kernel), staticmethod(signature)
    control_words = control.CONTROL.size

    def __init__(
        self,
        graph: Graph,
        arcs: Arcs,
        spec: Specification,
        message: np.dtype,
        plan: Plan,
        layout: LaidOut | None,
        own: Words,
    ) -> None:
        n = graph.num_vertices
        self.words = own
        self._base = 0
        identity, kept = stored_identity(spec.combine, message), kept_dtype(message)
        messages = full(0 if spec.keeps_messages else n, identity, identity.dtype)
        self._active = zeros(n, np.uint32)
        work = Work(self._active, *(empty(n, np.uint32) for _ in range(3)))
        parts = Parts(empty(plan.num_parts, kept), empty(plan.num_parts, np.uint8))
        self._passed = Supersteps(
            graph=packed(arcs),
            work=packed(work),
            own=(),
            messages=words(messages),
            received=words(zeros(n, np.uint32)),
            control=words(own.control),
            host=pinned(2, np.int64),
            n=n,
            m=graph.num_arcs,
            base=0,
            limit=0,
            can_pull=False,
            supplied=0,
            plan=packed(plan.of_run(empty)),
            parts=packed(parts),
            layout=packed(layout.rows if layout else ()),
            buffer=packed(_buffer(spec, message, layout) if layout else ()),
        )
        self.host = self._passed.host
        self._form_names = control.BUFFER_FORM_NAMES if layout and layout.maps else control.FORM_NAMES

    @staticmethod
    def nbytes(
        graph: Graph, spec: Specification, message: np.dtype, plan: Plan, layout: LaidOut | None
    ) -> int:
        """The memory that these arrays take on the GPU."""
        kept = kept_dtype(message).itemsize
        slot = message.itemsize + 1 if spec.keeps_messages else kept
        slots = slot * (layout.num_slots if layout else 0)
        parts = plan.num_parts * (kept + 1)
        received = 0 if spec.keeps_messages else max(4, message.itemsize)
        return graph.num_vertices * (received + 5 * 4) + plan.nbytes() + parts + slots

    def arguments(self, own: tuple[Any, ...], limit: int, pull: bool, supplied: int) -> Supersteps:
        """What the kernel is launched with; `pull`: whether it may."""
        self.host[...] = 0
        return self._passed._replace(own=own, base=self._base, limit=limit, can_pull=pull, supplied=supplied)

    def active(self, superstep: int) -> int:
        """How many vertices are active since a superstep of the run that goes on."""
        return int(np.count_nonzero(snapshot(self._active) >= self._base + superstep))

    def report(self) -> Report:
        """What the kernel reports."""
        words = self.words.host[: self.control_words].tolist()
        self._base += words[control.SUPERSTEP] + 2
        pushes, pulls = words[control.FORMS :][:2]
        shared = words[SHARED]
        forms = written_forms((pushes - shared, shared, pulls), self._form_names)
        phases = {name: 1e-9 * words[word] for name, word in control.PHASES.items()}
        return Report(words[control.SUPERSTEP], Ending(words[control.ENDED]), forms, phases)

    @property
    def worn_out(self) -> bool:
        """Whether the stamps may not suffice for one more run."""
        return self._base >= LAST_STAMP


class BestFirstRuns:
    """Runs of an asynchronous program, by `edgewise.engine.cuda.best_first`, in arrays on the GPU that are kept between
    them."""

    make_kernel, signature = staticmethod(best_first.make_async_kernel), staticmethod(best_first.signature)
    control_words = near_far_piles.CONTROL.size
    worn_out = False

    def __init__(
        self,
        graph: Graph,
        arcs: Arcs,
        spec: Specification,
        message: np.dtype,
        plan: Plan,
        layout: LaidOut | None,
        own: Words,
    ) -> None:
        n, m = graph.num_vertices, graph.num_arcs
        piles = near_far_piles.make_piles(n, m, message)._replace(control=own.control)
        self.words, self.host = own, piles.host
        out_edges = packed(near_far_piles.OutEdges(arcs.offsets, arcs.targets))
        self._passed = best_first.BestFirst(out_edges, (), packed(piles), empty(n, np.uint8), n, m, 0, 0)

    @staticmethod
    def nbytes(
        graph: Graph, spec: Specification, message: np.dtype, plan: Plan, layout: LaidOut | None
    ) -> int:
        """The memory that these arrays take on the GPU."""
        return near_far_piles.piles_bytes(graph.num_vertices, graph.num_arcs, message) + graph.num_vertices

    def arguments(self, own: tuple[Any, ...], limit: int, pull: bool, supplied: int) -> best_first.BestFirst:
        """What the kernel is launched with; it never pulls."""
        self.host[...] = 0
        return self._passed._replace(own=own, limit=limit, supplied=supplied)

    def report(self) -> Report:
        """What the kernel reports."""
        host = self.host.tolist()
        forms = written_forms(host[near_far_piles.FORMS :], near_far_piles.FORM_NAMES)
        note = f"{forms}; {host[near_far_piles.RISES]} thresholds" if forms else ""
        return Report(host[near_far_piles.SUPERSTEPS], Ending(host[near_far_piles.ENDING]), note, {})


@final
class GpuProgram(AbstractEngine):
    """A program compiled for the current GPU.

    Args:
        compiled: the program's functions, for the GPU.
        binding: the program on its graph.
        message: the dtype of messages.
        delivery: which way messages go, and who does which arcs; in-edges that it needs are made when it is laid out,
            if they were not yet and there is room.

    Raises:
        ScheduleError: the strategy combines messages in an order that these do not allow.
    """

    def __init__(
        self, compiled: CompiledProgram, binding: Binding, message: np.dtype, delivery: Delivery
    ) -> None:
        self._compiled, self._binding, self._message = compiled, binding, message
        spec, strategy = binding.spec, strategy_of(delivery.balance)
        if strategy.any_order and not (delivery.buffered or may_push(spec, message)):
            raise ScheduleError(
                f"{spec.name}: {type(delivery.balance).__name__}() combines messages in any order, by atomic "
                f"operations, which {message} messages by {spec.combine.name} do not allow; WorkloadDecomposition() "
                "has equal shares, too"
            )
        self._asked = self._delivery = delivery
        self._strategy = strategy
        self._form: type[SuperstepRuns] | type[BestFirstRuns] = (
            BestFirstRuns if delivery.best_first else SuperstepRuns
        )
        self._free: list[_Workspace] = []
        self._order = own_array_order(spec)
        self._layout: LaidOut | None = None
        self._laid_out_for: _For | None = None
        self.memory_kept = 0

    def is_laid_out(self, limit: int | None, given: dict[str, Any]) -> bool:
        made, placement = self._laid_out_for, self._binding.graph.placement
        if made is None or made.placement != placement:
            return False
        if limit is None:
            return made.limit is None or placement is None
        fits = self.held_bytes + self.running(0, given).most <= limit
        return fits and (placement is None or made.limit == limit)

    def lay_out(self, limit: int | None, given: dict[str, Any]) -> None:
        try:
            self._lay_out_as(self._asked, limit, given)
        except MemoryLimitError:
            if not self._asked.layout_is_spare:
                raise
            self._lay_out_as(self._asked.without_layout(), limit, given)

    def _lay_out_as(self, delivery: Delivery, limit: int | None, given: dict[str, Any]) -> None:
        """Lay out what this delivery needs."""
        spec, graph, self._delivery = self._binding.spec, self._binding.graph, delivery
        inward = delivery.in_edges and delivery.layout is None
        arrays = self._arrays_read(inward)
        self._layout = self._laid_out_for = None
        self._free.clear()
        pushes = delivery.pushes and not delivery.best_first
        self._plan = self._strategy.prepare(rows_of(graph), pushes, inward)
        beside = self.running(0, given).most + self._plan.shared_nbytes() + self._constant_bytes()
        if delivery.layout is not None:
            beside += ARC_BYTES * graph.num_arcs
        making = graph.gpu.place(spec.name, Needs(arrays, beside), limit)
        with room(f"{spec.name}: the graph", making.most):
            offsets, targets = graph.gpu.offsets, graph.gpu.targets
            in_offsets, in_sources, in_arcs = offsets, targets, offsets
            if inward:
                in_offsets, in_sources = graph.gpu.in_offsets, graph.gpu.in_sources
            if delivery.layout is not None:
                with_arcs = bool(spec.edge_fields) or spec.needs_arc_index
                self._layout = lay_out(graph, delivery.layout, delivery.buffered, with_arcs)
                if not delivery.buffered:
                    in_sources = self._layout.sources
            if delivery.in_edges and spec.needs_arc_index:
                in_arcs = self._layout.arcs if self._layout else graph.gpu.in_arcs
            self._arcs = Arcs(offsets, targets, in_offsets, in_sources, in_arcs)
            self._constants = self._lay_out({}, None)
        apart = delivery.best_first and graph.placement is not None
        ways = delivery.pushes, delivery.pulls, delivery.buffered, delivery.layout is not None, apart
        self._how = f"{self._form.__name__} {ways} {self._strategy.code_key}"
        #: What kernels depend on besides parameters and uniform fields; the program keeps them for all graphs.
        self._kind = ("cuda kernel", device_number(), self._how, str(self._message), self._binding.dtypes)
        self.memory_kept = self.running(0, {}).most
        own = self._layout.sizes() if self._layout else {}
        copies, weights = self._constants.copies, self._weight_fields()
        fields = {id(each): each.nbytes for (_, name), each in copies.items() if name not in weights}
        of_graph = graph.gpu.there(arrays)
        self.held_bytes = of_graph + self._plan.shared_nbytes() + sum(fields.values()) + sum(own.values())
        self._memory = {
            "graph": of_graph + sum(fields.values()),
            "strategy": self._plan.shared_nbytes(),
            "layout": sum(own.values()),
            "run": self.memory_kept,
        }
        finish()
        self._laid_out_for = _For(limit, graph.placement)
        self._where = () if graph.placement is None else (str(graph.placement),)

    def _constant_bytes(self) -> int:
        """The most bytes that arrays which all runs read take beside the graph's."""
        binding = self._binding
        fields = [
            *binding.vertex.values(),
            *binding.edge.values(),
            *(np.dtype(np.int32) for _ in STATE_ARRAYS),
        ]
        degrees = 4 * binding.graph.num_vertices * len(binding.spec.state_reads.intersection(STATE_ARRAYS))
        return laying_out(binding).kept + sum(dtype.itemsize for dtype in fields) + degrees

    def _arrays_read(self, inward: bool) -> Arrays:
        """The graph's arrays that runs read."""
        weighted = bool(self._weight_fields())
        arrays = Arrays.both_ways(weighted) if inward else Arrays.rows(weighted)
        return arrays | Arrays.IN_ARCS if inward and self._binding.spec.needs_arc_index else arrays

    def _weight_fields(self) -> set[str]:
        """The edge fields that are the graph's weights unless something is given for them."""
        fields = self._binding.spec.edge_fields
        return {name for name in fields if starts_as_weights(self._binding, name, {})}

    def running(self, num_threads: int, given: dict[str, Any]) -> Step:
        binding, graph, layout = self._binding, self._binding.graph, self._layout
        own = self._form.nbytes(graph, binding.spec, self._message, self._plan, layout)
        # Copies of what is given: of values of arcs in the order of out-edges, and in that of in-edges.
        places = graph.num_arcs + self._delivery.in_edges * (layout.units.size if layout else graph.num_arcs)
        copies = sum(
            graph.num_vertices * binding.vertex[name].itemsize for name in given if name in binding.vertex
        )
        copies += sum(places * binding.edge[name].itemsize for name in given if name in binding.edge)
        ordering = layout.arcs.nbytes if layout and layout.arcs is not None else 0  # see `LaidOut.in_order`
        return in_turn(Step(copies, copies + ordering * bool(given)), held(binding.result_bytes + own))

    def __call__(
        self, run: Execution, parameters: dict[str, Any], given: dict[str, Any], limit: int | None
    ) -> Outcome:
        spec, graph = self._binding.spec, self._binding.graph
        laid_out = self._lay_out(given, self._constants) if given else self._constants
        constants = laid_out.constants
        workspace, own = self._take_workspace(parameters), self._run_arrays(laid_out)
        kernel = self._kernel(parameters, constants.uniform)
        passed = {**laid_out.passed, **workspace.passed, **{key: _word(own[key]) for key in own}}
        limits = (-1 if limit is None else limit, self._delivery.in_edges, constants.supplied)
        ordered = tuple(passed[key] for key in self._order)
        arguments = workspace.form.arguments(ordered, *limits)
        wanted = -(-max(graph.num_vertices, graph.num_arcs // 8, 1) // THREADS)
        workspace.words.send(parameters)
        kernel.start([arguments], min(kernel.blocks, wanted))
        workspace.words.receive()
        progress = run.progress
        if limit is None and isinstance(workspace.form, SuperstepRuns):
            state = partial(map, snapshot, own.values())
            progress = Watch(spec.name, state, workspace.form.active, progress)
        wait(workspace.form.host, progress)
        report = workspace.form.report()
        aggregates = {name: workspace.words.aggregate(name) for name in spec.aggregators}
        self._free.append(workspace)
        return Outcome(
            {name: own["vertex", name] for name in spec.vertex_fields},
            {name: own["edge", name] for name in spec.edge_fields if name in spec.edge_writes},
            aggregates,
            report.supersteps,
            report.ending,
            (
                *((f"supersteps on the GPU: {report.forms}",) if report.forms else ()),
                *self._where,
                *self._delivery.why,
                *self._plan.notes,
                *(self._layout.notes if self._layout else ()),
            ),
            report.phases,
            self._memory,
        )

    def _lay_out(self, given: dict[str, Any], shared: "_Constants | None") -> "_Constants":
        """The arrays that runs only read, and their copies on the GPU, for arrays given for fields. What is not given
        is shared with other runs, if it was made before."""
        graph, layout = self._binding.graph, self._layout
        in_edges = self._delivery.in_edges
        before = shared.constants if shared else None
        constants = constant_arrays(self._binding, given, in_edges and layout is None, graph.gpu, before)
        copies = dict(shared.copies) if shared else {}
        on_gpu: dict[int, Any] = {}
        for (kind, name), values in constants.arrays.items():
            if (kind, name) in copies and name not in given:
                continue
            if id(values) not in on_gpu:
                on_gpu[id(values)] = copy_of(values)
            copies[kind, name] = on_gpu[id(values)]
            if in_edges and layout is not None and kind == "in_along" and name not in constants.uniform:
                copies[kind, name] = layout.in_order(copies[kind, name])
        return _Constants(constants, copies, {key: _word(values) for key, values in copies.items()})

    def _run_arrays(self, laid_out: "_Constants") -> dict[tuple[str, str], Any]:
        """The fields that one run writes, on the GPU."""
        binding, copies = self._binding, laid_out.copies
        arrays: dict[tuple[str, str], Any] = {}
        for i, (name, dtype) in enumerate(binding.vertex.items()):
            supplied = laid_out.constants.supplied >> i & 1
            n = binding.graph.num_vertices
            arrays["vertex", name] = copies["initial", name].copy() if supplied else empty(n, dtype)
        for name in binding.spec.edge_writes:
            arrays["edge", name] = copies["edge", name].copy()
        return arrays

    def _kernel(self, parameters: dict[str, Any], uniform: frozenset[str]) -> Kernel:
        """The kernel for these types of parameters and these uniform edge fields."""
        kind = (*self._kind, uniform, *(type(value) for value in parameters.values()))
        kept: dict[Any, Kernel] = self._binding.spec.kept
        if kind not in kept:
            binding, message = self._binding, self._message
            key = binding.spec.key
            if key is not None:
                dtypes = own_dtypes(binding, parameters)
                written = sorted(
                    f"{kind} {name} {dtype}" for kind in dtypes for name, dtype in dtypes[kind].items()
                )
                key = "\n".join([key, self._how, str(message), *sorted(uniform), *written])
            code = compile_kernel(
                self._form.make_kernel(self._compiled, binding, message, uniform, self._delivery),
                self._form.signature(binding, message, parameters, self._delivery),
                capability(),
                key,
            )
            kept[kind] = Kernel(code)
        return kept[kind]

    def _take_workspace(self, parameters: dict[str, Any]) -> "_Workspace":
        """A workspace that no other run uses now."""
        while self._free:
            workspace = self._free.pop()
            if not workspace.form.worn_out:
                return workspace
        binding, n = self._binding, self._binding.graph.num_vertices
        dtypes = own_dtypes(binding, parameters)
        kinds = {
            (kind, name): dtypes[kind][name] for kind in ("parameter", "aggregate") for name in dtypes[kind]
        }
        own = Words(self._form.control_words, kinds)
        partials = {
            ("partial", name): empty(max(1, min(n, FOLDS[0])), dtype)
            for name, dtype in binding.aggregates.items()
        }
        arguments = (self._arcs, binding.spec, self._message, self._plan, self._layout)
        form = self._form(binding.graph, *arguments, own)
        passed = {key: _word(values) for key, values in {**own.arrays, **partials}.items()}
        return _Workspace(form, own, partials, passed)


class _For(NamedTuple):
    """What a program was laid out for: the limit of a run, and where the graph lies."""

    limit: int | None
    placement: Placement | None


class _Constants(NamedTuple):
    """What runs only read (`edgewise.engine.lowering.constants`), its copies on the GPU, and what is passed for
    these."""

    constants: Constants
    copies: dict[tuple[str, str], Any]
    passed: dict[tuple[str, str], Any]


class _Workspace(NamedTuple):
    """What a run works in: arrays of its form, words, parts of aggregates, and what is passed for these two."""

    form: SuperstepRuns | BestFirstRuns
    words: Words
    partials: dict[tuple[str, str], Any]
    passed: dict[tuple[str, str], Any]


def _buffer(spec: Specification, message: np.dtype, layout: LaidOut) -> Any:
    """A message buffer, as kernels take it; an empty tuple if there is none."""
    size = layout.num_slots
    if layout.maps is None:
        return ()
    if not spec.keeps_messages:
        return Buffer(layout.maps, empty(size, kept_dtype(message)), empty(0, np.uint8))
    slots = tuple(words(empty(size, dtype)) for dtype in slot_dtypes(message))
    return Buffer(layout.maps, slots, zeros(size, np.uint8))


def _word(values: Any) -> Any:
    """What is passed for one of the program's own arrays."""
    return words(values) if values.dtype.kind == "b" else address(values)
