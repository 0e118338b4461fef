"""The CPU engine: the arrays of a run, laid out once for a graph, and the call of the kernel."""

import time
from functools import partial
from typing import Any, final

import numpy as np

from edgewise.engine.contract import LAST_STAMP, AbstractEngine, Ending, Outcome
from edgewise.engine.cpu.arguments import NearFar, SizedArcs, Work
from edgewise.engine.cpu.best_first import make_async_kernel
from edgewise.engine.cpu.best_first_lists import RANK, SHARED_WORDS
from edgewise.engine.cpu.kernel import make_kernel
from edgewise.engine.cpu.kernel_aggregates import BLOCK
from edgewise.engine.cpu.shared import (
    AHEAD_WORK,
    ENDED,
    FORM_NAMES,
    FORMS,
    GO_ON,
    LISTED,
    RANGE,
    SIZES,
    SPENT,
    SUPERSTEP,
)
from edgewise.engine.cpu.table import rows_of
from edgewise.engine.cpu.workspace import Workspace, make_buffer, make_near_far, make_work, workspace_bytes
from edgewise.engine.delivery import Delivery
from edgewise.engine.endless import Watch
from edgewise.engine.lowering.accessors import own_array_order
from edgewise.engine.lowering.binding import Binding
from edgewise.engine.lowering.compiled import CompiledProgram
from edgewise.engine.lowering.constants import (
    Constants,
    constant_arrays,
    laying_out,
    made_for,
    taking,
    written_arrays,
)
from edgewise.errors import ProgramError
from edgewise.execution import Execution
from edgewise.graph import Made
from edgewise.graph.attributes import ArcAttribute
from edgewise.kernels.cache import compile_seconds
from edgewise.kernels.costs import PROGRAM_ITEM, best_threads, worth_waking
from edgewise.kernels.cpu.launch import INTERRUPTIBLE
from edgewise.kernels.cpu.pointers import address, addresses
from edgewise.kernels.cpu.team import available_threads
from edgewise.memory import Step, held, in_turn

#: A run looks at ALONE_BUDGET vertices and arcs before it asks for the first time whether more threads are worth it. It
#: looks at no more than LONGEST_BUDGET while the calling thread takes part, which hears of Ctrl-C only afterwards.
ALONE_BUDGET, LONGEST_BUDGET, UNLIMITED = 15_000, 4_000_000, 2**62
#: Nanoseconds to fill the fields of a vertex and to call initialize; the most for a vertex or arc that a first
#: measurement is believed, for other programs may have disturbed it.
FILL_ITEM, MOST_PACE = 3, 20


@final
class CpuProgram(AbstractEngine):
    """A program compiled for the CPU. Calls from several threads are safe.

    Args:
        compiled: the program's functions.
        binding: the program on its graph.
        message: the dtype of messages.
        delivery: which way messages go; in-edges that it needs are made when it is laid out, if they were not yet.
    """

    def __init__(
        self, compiled: CompiledProgram, binding: Binding, message: np.dtype, delivery: Delivery
    ) -> None:
        self._compiled, self._binding, self._message = compiled, binding, message
        self._delivery, self.in_order = delivery, not (delivery.pushes or delivery.buffered)
        #: What kernels depend on besides parameters and uniform fields; the program keeps them for all graphs.
        self._kind = ("cpu kernel", delivery.best_first, delivery.buffered, str(message), binding.dtypes)
        self._free: list[Workspace] = []
        self._row = {key: i for i, key in enumerate(own_array_order(binding.spec))}
        self._laid_out, self.memory_kept = False, 0
        #: What is laid out for attributes of the graph, by the names of the fields that hold them.
        self._of_attributes: dict[frozenset[str], tuple[Constants, np.ndarray]] = {}

    def is_laid_out(self, limit: int | None, given: dict[str, Any]) -> bool:
        return self._laid_out

    def lay_out(self, limit: int | None, given: dict[str, Any]) -> None:
        spec, graph, delivery = self._binding.spec, self._binding.graph, self._delivery
        in_offsets, in_sources, in_arcs = graph.offsets, graph.targets, graph.offsets
        if delivery.in_edges:
            in_offsets, in_sources = graph.in_offsets, graph.in_sources
            in_arcs = graph.in_arcs if spec.needs_arc_index else in_arcs
        if delivery.buffered:
            in_offsets, self._slot_of = graph.slots
        self._arcs = SizedArcs(
            n=graph.num_vertices,
            m=graph.num_arcs,
            offsets=graph.offsets,
            targets=graph.targets,
            in_offsets=in_offsets,
            in_sources=in_sources,
            in_arcs=in_arcs,
        )
        self._graph_table = rows_of(self._arcs)
        self._constants = self._lay_out({}, None)
        self.memory_kept = laying_out(self._binding).kept + self._workspace(available_threads())
        self._laid_out = True

    def running(self, num_threads: int, given: dict[str, Any]) -> Step:
        binding, graph, pull = self._binding, self._binding.graph, self._delivery.in_edges
        steps: list[Step] = []
        made: list[Made] = []
        if not self._laid_out:
            made = [*made_for(binding, {}, pull), *[Made.SLOTS] * self._delivery.buffered]
            steps += graph.making(*made), laying_out(binding)
        if given and not self._keeps(given):
            missing = [each for each in made_for(binding, given, pull) if each not in made]
            steps += graph.making(*missing) if missing else held(0), taking(binding, given, pull)
        spare = any(workspace.num_threads >= num_threads for workspace in self._free)
        work = 0 if spare else self._workspace(num_threads)
        looked_at = graph.num_vertices  # which vertices are active, for `Watch`
        return in_turn(*steps, held(binding.result_bytes + work), held(looked_at))

    def _workspace(self, num_threads: int) -> int:
        """The memory that a workspace takes."""
        way = self._delivery
        return workspace_bytes(self._binding, self._message, num_threads, way.buffered, way.best_first)

    def __call__(
        self, run: Execution, parameters: dict[str, Any], given: dict[str, Any], limit: int | None
    ) -> Outcome:
        spec, arcs = self._binding.spec, self._arcs
        constants, constant_table = self._constants_with(given)
        partials = -(-self._binding.graph.num_vertices // BLOCK)
        own = written_arrays(constants, self._binding, parameters, given, partials)
        workspace = self._take_workspace(run.num_threads)
        shared = np.zeros(SHARED_WORDS, np.int64)
        shared[LISTED] = shared[RANK] = shared[ENDED] = -1
        shared[RANGE : RANGE + len(SIZES)] = SIZES
        table = np.concatenate((constant_table, self._graph_table, workspace.table))
        for key, array in own.items():
            table[self._row[key]] = address(array)
        progress = run.progress
        if limit is None and not self._delivery.best_first:
            written = [values for (kind, _), values in own.items() if kind in ("vertex", "edge")]
            progress = Watch(spec.name, lambda: written, workspace.active, progress)
        arguments = (
            table,
            arcs.n,
            arcs.m,
            np.uint32(workspace.base),
            -1 if limit is None else limit,
            self._delivery.direction,
            self._delivery.in_edges,
            constants.supplied,
        )
        kernel = _named_errors(spec.name, self._kernel(parameters, constants.uniform))
        with run.telling(progress):
            _carry_out(run, kernel, shared, arcs.n, arguments)
        supersteps = int(shared[SUPERSTEP])
        workspace.base += supersteps + 2
        ended = Ending(int(shared[ENDED]))
        self._free.append(workspace)
        return Outcome(
            {name: own["vertex", name] for name in spec.vertex_fields},
            {name: own["edge", name] for name in spec.edge_fields if name in spec.edge_writes},
            {name: own["aggregate", name][0].item() for name in spec.aggregators},
            supersteps,
            ended,
            (*_notes(shared), *self._delivery.why),
        )

    def _kernel(self, parameters: dict[str, Any], uniform: frozenset[str]) -> Any:
        """The kernel for these types of parameters and these uniform edge fields."""
        kind = (*self._kind, uniform, *(type(value) for value in parameters.values()))
        kept = self._binding.spec.kept
        if kind not in kept:
            in_rounds = partial(make_kernel, buffered=self._delivery.buffered)
            make = make_async_kernel if self._delivery.best_first else in_rounds
            kept[kind] = make(self._compiled, self._binding, self._message, parameters, uniform)
        return kept[kind]

    def _take_workspace(self, num_threads: int) -> Workspace:
        """A workspace that no other run uses now."""
        while self._free:
            workspace = self._free.pop()
            if workspace.base < LAST_STAMP and workspace.num_threads >= num_threads:
                return workspace
        return Workspace(self._make_work(num_threads), num_threads)

    def _make_work(self, num_threads: int) -> Work | NearFar:
        """The arrays for a new workspace."""
        spec, graph, message = self._binding.spec, self._binding.graph, self._message
        if self._delivery.best_first:
            return make_near_far(graph.num_vertices, message, num_threads)
        identity = 0 if spec.keeps_messages else spec.combine.identity(message)
        buffer: Any = ()
        if self._delivery.buffered:
            buffer = make_buffer(graph.num_arcs, identity, message, self._slot_of, spec.keeps_messages)
        return make_work(graph.num_vertices, identity, message, num_threads, buffer)

    def _keeps(self, given: dict[str, Any]) -> bool:
        """Whether all that is given are attributes of the graph that were laid out before."""
        of_graph = all(isinstance(values, ArcAttribute) for values in given.values())
        return of_graph and frozenset(given) in self._of_attributes

    def _constants_with(self, given: dict[str, Any]) -> tuple[Constants, np.ndarray]:
        """What `_lay_out` gives for a run; that of attributes of the graph is kept for later runs."""
        if not given:
            return self._constants
        if self._keeps(given):
            return self._of_attributes[frozenset(given)]
        laid_out = self._lay_out(given, self._constants[0])
        of_graph = all(isinstance(values, ArcAttribute) for values in given.values())
        if of_graph and self._of_attributes.setdefault(frozenset(given), laid_out) is laid_out:
            in_order = {name: laid_out[0].arrays["in_along", name] for name in given}
            copies = [
                each for name, each in in_order.items() if each is not laid_out[0].arrays["along", name]
            ]
            self.memory_kept += sum(each.nbytes for each in copies)
        return laid_out

    def _lay_out(self, given: dict[str, Any], shared: Constants | None) -> tuple[Constants, np.ndarray]:
        """The arrays that runs only read, and their addresses in the table's order, for arrays given for fields."""
        binding, none = self._binding, np.empty(0)
        constants = constant_arrays(binding, given, self._delivery.in_edges, binding.graph, shared)
        return constants, addresses(constants.arrays.get(key, none) for key in self._row)


def _named_errors(name: str, kernel: Any) -> Any:
    """The kernel, with errors (such as of an empty ``min``) that name the program and say how to find the line."""

    def named(*arguments: Any) -> None:
        try:
            kernel(*arguments)
        except (ArithmeticError, LookupError, ValueError, StopIteration) as error:
            what = f"{type(error).__name__}{f': {error}' if str(error) else ''}"
            raise ProgramError(
                f"{name}: compiled code ended with {what}; run it with check=True on a small graph to find function, "
                "line and vertex"
            ) from error

    return named


def _carry_out(
    run: Execution, kernel: Any, shared: np.ndarray, num_vertices: int, arguments: tuple[Any, ...]
) -> None:
    """Run the kernel to its end, on as many threads as the schedule asks for or as its work is worth.

    How much work there is shows only on the way. So the kernel begins on few threads, mostly on the calling one alone,
    with a budget of vertices and arcs to look at. When the budget is spent, the kernel returns between two supersteps
    and is called again. It gets more threads if these were worth it for as much work as it has done and is about to do.
    A long run goes on beside the calling thread, which then hears of an interruption (Ctrl-C).
    """
    asked, most = run.schedule.num_threads, run.num_threads
    threads = asked or (most if FILL_ITEM * num_vertices > worth_waking(1, most) else 1)
    pace, seen, ahead = float(PROGRAM_ITEM), 0, num_vertices
    while True:
        long = PROGRAM_ITEM * max(ahead, seen if threads > 1 else 0) > INTERRUPTIBLE
        if threads == 1:
            budget = min(max(ALONE_BUDGET, 2 * seen), seen + LONGEST_BUDGET)
        elif threads not in (asked, most):
            budget = seen + round(worth_waking(threads, most) / pace)
        else:
            budget = UNLIMITED if long else seen + LONGEST_BUDGET
        began = time.perf_counter() - compile_seconds()
        run.launch_on(threads, kernel, shared, budget, *arguments, long=long)
        if shared[ENDED] != GO_ON:
            return
        ahead, spent = int(shared[AHEAD_WORK]), int(shared[SPENT])
        if threads == 1 and seen == 0:
            taken = time.perf_counter() - compile_seconds() - began
            pace = min(max(1e9 * taken / (num_vertices + spent), 1), MOST_PACE)
        if run.progress is not None:
            run.progress(int(shared[SUPERSTEP]))
        seen, rounds = spent + ahead, 5 * max(1, spent // max(ahead, 1))
        threads = asked or max(threads, best_threads(pace * seen, most, rounds))


def _notes(shared: np.ndarray) -> tuple[str, ...]:
    """The line for `Result.explain`: how many supersteps had which form."""
    counts = shared[FORMS : FORMS + len(FORM_NAMES)].tolist()
    forms = [f"{count} {name}" for count, name in zip(counts, FORM_NAMES, strict=True) if count]
    return (f"supersteps: {', '.join(forms)}",) if forms else ()
