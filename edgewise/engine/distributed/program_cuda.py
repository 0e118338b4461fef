"""A program on several ranks, each with a GPU: a rank's part of the graph lies there, and values of all vertices.

As on CPUs (`edgewise.engine.distributed.program`), a rank pushes along the out-edges of its active vertices, or gathers
over the in-edges of its vertices. It pushes if the GPU combines messages by atomic operations, in any order.
"""

from typing import Any, final

import numpy as np

from edgewise.balance.contract import GraphRows
from edgewise.balance.registry import strategy_of
from edgewise.engine.contract import AbstractEngine, Outcome
from edgewise.engine.cuda.arguments import Arcs, offset_dtype, stored
from edgewise.engine.delivery import may_push
from edgewise.engine.distributed.calls import check_same_call, digests_of_run
from edgewise.engine.distributed.channel_cuda import channel_of
from edgewise.engine.distributed.checkpoint import Checkpoints
from edgewise.engine.distributed.exchange_cuda import wanted_on_gpu
from edgewise.engine.distributed.gathering_cuda import LONG
from edgewise.engine.distributed.group import Group
from edgewise.engine.distributed.kernel_cuda import BALANCE, make_rank_kernel, signature
from edgewise.engine.distributed.partition import Ranges, by_arcs
from edgewise.engine.distributed.rank import Layout
from edgewise.engine.distributed.rank_cuda import GpuRank, OnGpu
from edgewise.engine.distributed.reads import Reads, reads_elsewhere, wanted_by
from edgewise.engine.distributed.rows import all_rows
from edgewise.engine.lowering.accessors import own_dtypes
from edgewise.engine.lowering.binding import Binding
from edgewise.engine.lowering.compiled import CompiledProgram
from edgewise.engine.lowering.constants import Constants, constant_arrays
from edgewise.engine.lowering.message_buffer import slot_dtypes
from edgewise.errors import MemoryLimitError
from edgewise.execution import Execution, check_limit
from edgewise.kernels.cuda.compile import compile_kernel
from edgewise.kernels.cuda.device import THREADS
from edgewise.kernels.cuda.launch import Kernel
from edgewise.kernels.cuda.memory import capability, copy_of, device_number, empty, finish, fits, room
from edgewise.memory import Step, held

#: Bytes for each vertex while messages are packed: bitmaps, places, and what is sent and received of them; and flags of
#: those that wait.
_PACKING = 1 + 2 * 4 + 2 * 4 + 1


@final
class DistributedGpuProgram(AbstractEngine):
    """A program compiled for the GPU of one rank of several. All ranks make the same calls.

    Args:
        compiled: the program's functions, for the GPU.
        binding, message, group: as for `edgewise.engine.distributed.program.DistributedProgram`.

    Attributes:
        checkpoints: where the state of the next run is kept, or None.
    """

    memory_kept = 0

    def __init__(self, compiled: CompiledProgram, binding: Binding, message: np.dtype, group: Group) -> None:
        spec, graph = binding.spec, binding.graph
        self._compiled, self._binding, self._message, self.group = compiled, binding, message, group
        self.checkpoints: Checkpoints | None = None
        self.pulls = spec.keeps_messages or not may_push(spec, message)
        self.ranges: Ranges = by_arcs(
            group.rank, group.size, graph.in_offsets if self.pulls else graph.offsets
        )
        #: Whether the rank has only its own arcs there: their indices are then asked for nowhere.
        of_state = spec.state_reads.intersection(spec.edge_fields)
        self._divides = not (spec.needs_arc_index or spec.edge_writes or of_state)
        self._channel, self._laid_out = channel_of(group), False
        self._kind = ("distributed cuda kernel", device_number(), self.pulls, str(message), binding.dtypes)

    def is_laid_out(self, limit: int | None, given: dict[str, Any]) -> bool:
        needed = self.running(0, given).most
        fitting = self._laid_out and (limit is None or self.held_bytes + needed <= limit) and fits(needed)
        # Ranks speak while they lay out, so all do if one has to.
        return self.group.total(fitting) == self.group.size

    def lay_out(self, limit: int | None, given: dict[str, Any]) -> None:
        self._laid_out, refused = False, None
        try:
            self._lay_out(limit, given)
        except MemoryLimitError as error:
            refused = error
        self.group.refuse_together(refused)
        alone, own_end = self.group.size == 1, "target" if self.pulls else "source"
        reads = reads_elsewhere(self._binding.spec, own_end)
        self._reads = Reads(frozenset(), frozenset()) if alone else reads
        self._wanted: list[np.ndarray | None] = [None] * self.group.size
        self._wanted_there = wanted_on_gpu([], 0)
        if not alone and (reads.across or self.pulls):
            self._wanted = wanted_by(self._arcs, self.ranges, self.group, self.pulls)
            own = self.ranges.own
            self._wanted_there = wanted_on_gpu(self._wanted, own.stop - own.start)
        self._laid_out = True

    def _lay_out(self, limit: int | None, given: dict[str, Any]) -> None:
        """Lay out this rank's part of the graph.

        Raises:
            MemoryLimitError: there is no room for it, or for a run.
        """
        spec, graph = self._binding.spec, self._binding.graph
        self._on_gpu: OnGpu | None = None
        of_graph, running = self._bytes_of_graph(), self.running(0, given).most
        check_limit(spec.name, limit, of_graph + running, where="on the GPU")
        self._arcs = all_rows(self._binding, self.pulls)
        _, _, graph_offsets, targets, in_offsets, in_sources, in_arcs = self._arcs
        self._constants = constant_arrays(self._binding, {}, self.pulls, graph)
        with room(f"{spec.name}: the graph", of_graph):
            offsets, ends = (in_offsets, in_sources) if self.pulls else (graph_offsets, targets)
            rows, own = self._rows(offsets), copy_of(ends[self._part(offsets)])
            index = copy_of(in_arcs) if self.pulls and spec.needs_arc_index else rows
            length = self.ranges.own.stop - self.ranges.own.start
            rows_of_rank = GraphRows(length, 0, offset_dtype(self._binding), _no_results, bool)
            self._on_gpu = OnGpu(
                Arcs(rows, own, rows, own, index),
                self._long(),
                self._slots() if spec.keeps_messages else empty(0, offsets.dtype),
                strategy_of(BALANCE).prepare(rows_of_rank, not self.pulls, False),
                self._channel,
                self._copies(self._constants, {}),
                self._constants.supplied,
            )
            finish()
        self.held_bytes = self.memory_kept = of_graph
        with room(spec.name, running):
            pass

    def _part(self, offsets: np.ndarray) -> slice:
        """Which arcs, or in-edges, lie on the GPU."""
        own = self.ranges.own
        return (
            slice(int(offsets[own.start]), int(offsets[own.stop]))
            if self._divides
            else slice(0, int(offsets[-1]))
        )

    def _rows(self, offsets: np.ndarray) -> Any:
        """The offsets of the arcs, or in-edges, that lie on the GPU."""
        part = self._part(offsets)
        return copy_of(
            (np.clip(offsets, part.start, part.stop) - part.start).astype(offsets.dtype, copy=False)
        )

    def _long(self) -> Any:
        """The vertices of this rank with long rows of in-edges, the longest first."""
        own, found = self.ranges.own, np.empty(0, np.int64)
        if self.pulls:
            degrees = np.diff(self._arcs.in_offsets[own.start : own.stop + 1])
            found = np.flatnonzero(degrees >= LONG)
            found = found[np.argsort(-degrees[found].astype(np.int64), kind="stable")] + own.start
        return copy_of(found.astype(np.uint32))

    def _slots(self) -> Any:
        """The slot of each in-edge. Messages are in the order of their sources, as on one rank; in-edges of an
        undirected graph are in that of the input."""
        graph, own, part = self._binding.graph, self.ranges.own, self._part(self._arcs.in_offsets)
        mine = slice(int(graph.in_offsets[own.start]), int(graph.in_offsets[own.stop]))
        found = np.zeros(part.stop - part.start, graph.offsets.dtype)
        slots = np.arange(mine.start, mine.stop) if graph.directed else graph.slots[1][graph.in_arcs[mine]]
        found[mine.start - part.start : mine.stop - part.start] = slots.astype(np.int64) - part.start
        return copy_of(found)

    def _copies(self, constants: Constants, given: dict[str, Any]) -> dict[tuple[str, str], Any]:
        """What runs only read, on the GPU; what is not given is shared with other runs."""
        spec, found = self._binding.spec, dict(self._on_gpu.copies) if self._on_gpu else {}
        for (kind, name), values in constants.arrays.items():
            if (kind, name) in found and name not in given:
                continue
            if kind == "edge":
                is_read = name in spec.edge_writes or name in spec.state_reads
                found[kind, name] = copy_of(values if is_read else values[:1])
            elif kind in ("along", "in_along") and name not in constants.uniform:
                part = self._part(self._arcs.in_offsets if self.pulls else self._arcs.offsets)
                is_read = (kind == "in_along") == self.pulls
                found[kind, name] = copy_of(values[part] if is_read else values[:1])
            else:
                found[kind, name] = copy_of(values)
        return found

    def _bytes_of_graph(self) -> int:
        """The GPU's memory that this rank's part of the graph takes, and what all runs read for fields."""
        binding, graph, spec = self._binding, self._binding.graph, self._binding.spec
        n, m, offsets = graph.num_vertices, graph.num_arcs, graph.in_offsets if self.pulls else graph.offsets
        part, item = self._part(offsets), graph.offsets.itemsize
        arcs, read_whole = part.stop - part.start, spec.edge_writes.union(spec.state_reads)
        index = item * m * (self.pulls and spec.needs_arc_index) + item * arcs * spec.keeps_messages
        of_edges = sum(
            dtype.itemsize * (arcs + m * (name in read_whole)) for name, dtype in binding.edge.items()
        )
        degrees = 4 * n * len(spec.state_reads.intersection(("in_degree", "out_degree")))
        return item * (n + 1) + 4 * arcs + index + of_edges + degrees + 4 * n * self.pulls

    def running(self, num_threads: int, given: dict[str, Any]) -> Step:
        binding, spec, message = self._binding, self._binding.spec, self._message
        graph, own = binding.graph, self.ranges.own
        n, m, length = graph.num_vertices, graph.num_arcs, own.stop - own.start
        kept = 0 if spec.keeps_messages else stored(spec.combine, message).itemsize
        of_vertex = sum(dtype.itemsize for dtype in binding.vertex.values())
        copies = sum(n * binding.vertex[name].itemsize for name in given if name in binding.vertex)
        copies += sum(2 * m * binding.edge[name].itemsize for name in given if name in binding.edge)
        slots = sum(dtype.itemsize for dtype in slot_dtypes(message)) + 1 if spec.keeps_messages else 0
        folded = 2 * length * sum(dtype.itemsize for dtype in binding.aggregates.values())
        written = sum(m * binding.edge[name].itemsize for name in spec.edge_writes)
        messages = n * (8 + kept) + length * (4 + 8 * (not self.pulls)) + slots * m
        packing = n * (_PACKING + 2 * max(kept, of_vertex)) + length * (of_vertex + self.group.size)
        return held(n * of_vertex + copies + written + folded + messages + packing)

    def _kernel(self, parameters: dict[str, Any], uniform: frozenset[str]) -> Kernel:
        """The kernel for these types of parameters and these uniform edge fields."""
        kind = (*self._kind, uniform, *(type(value) for value in parameters.values()))
        kept: dict[Any, Kernel] = self._binding.spec.kept
        if kind not in kept:
            binding, message, key = self._binding, self._message, self._binding.spec.key
            if key is not None:
                dtypes = own_dtypes(binding, parameters)
                written = sorted(
                    f"{kind} {name} {dtype}" for kind in dtypes for name, dtype in dtypes[kind].items()
                )
                key = "\n".join([key, f"rank {self.pulls}", str(message), *sorted(uniform), *written])
            made = make_rank_kernel(self._compiled, binding, message, uniform, self.pulls)
            code = compile_kernel(made, signature(binding, message, parameters), capability(), key, THREADS)
            kept[kind] = Kernel(code, threads=THREADS)
        return kept[kind]

    def __call__(
        self, run: Execution, parameters: dict[str, Any], given: dict[str, Any], limit: int | None
    ) -> Outcome:
        binding, constants, on_gpu = self._binding, self._constants, self._on_gpu
        assert on_gpu is not None
        if given:
            constants = constant_arrays(binding, given, self.pulls, binding.graph, constants)
            on_gpu = on_gpu._replace(copies=self._copies(constants, given), supplied=constants.supplied)
        what = digests_of_run(binding, self._message, parameters, given, constants)
        check_same_call(binding, what, limit, self.checkpoints, self.group)
        nowhere = np.empty(0, np.int64)
        way = Layout(
            binding, self._message, self.group, self.ranges, self._arcs, nowhere, self.pulls, self._reads,
            self._wanted, self.checkpoints,
        )  # fmt: skip
        with self._channel.in_run():
            kernel = self._kernel(parameters, constants.uniform)
            wanted = self._wanted_there
            return GpuRank(way, on_gpu, wanted, kernel, run, parameters, given).supersteps(limit, what)


def _no_results(*_: Any) -> Any:
    """What no strategy for ranks asks of a graph."""
    raise AssertionError("this strategy keeps nothing with a graph")
