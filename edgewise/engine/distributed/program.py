"""A program on several ranks: each has a range of vertices and computes these.

A rank *pushes* along the out-edges of its active vertices if messages are combined in any order. Messages for one
vertex are combined here first; those for vertices of other ranks go to these, which join them in the order of ranks.
Else it *pulls*: it gathers over the in-edges of its vertices in their order, as one rank would, so that sums of floats
are the same, bit for bit. For that, ranks tell others which vertices are active, and the values that edges read.

After vertices were computed, ranks tell each other the values that functions read elsewhere
(`edgewise.engine.distributed.reads`), those that have changed and only to ranks that read them. Aggregates are folded
in blocks as by one rank; all ranks have all blocks, and join them in one order.

Ranks that push may form a grid (`edgewise.engine.distributed.grid`), if that sends less.
"""

from typing import Any, final

import numpy as np

from edgewise.engine.contract import AbstractEngine, Outcome
from edgewise.engine.cpu.arguments import SizedArcs
from edgewise.engine.cpu.table import unsigned
from edgewise.engine.cpu.workspace import workspace_bytes
from edgewise.engine.distributed.cells import along_cell, cell_bytes
from edgewise.engine.distributed.checkpoint import Checkpoints, digest_of
from edgewise.engine.distributed.division import Divided
from edgewise.engine.distributed.grid import GridLayout, GridRank, wanted_by
from edgewise.engine.distributed.group import Group
from edgewise.engine.distributed.kernel import make_kernel
from edgewise.engine.distributed.lines import side_of
from edgewise.engine.distributed.partition import Ranges, by_arcs
from edgewise.engine.distributed.rank import Layout, Rank
from edgewise.engine.distributed.reads import Reads, reads_elsewhere
from edgewise.engine.lowering.binding import Binding
from edgewise.engine.lowering.compiled import CompiledProgram
from edgewise.engine.lowering.constants import Constants, constant_arrays, laying_out, made_for, taking
from edgewise.errors import DistributedError, EdgewiseError, ProgramError
from edgewise.execution import Execution
from edgewise.graph import Made
from edgewise.graph.attributes import ArcAttribute
from edgewise.memory import Step, held, in_turn
from edgewise.schedule import Ranks

#: Rows and arcs of a graph that a checkpoint's digest is made of.
_LOOKED_AT = 1 << 16


@final
class DistributedProgram(AbstractEngine):
    """A program compiled for one rank of several. All ranks make the same calls.

    Args:
        compiled: the program's functions.
        binding: the program on its graph, which is the same on all ranks.
        message: the dtype of messages.
        group: the ranks.
        asked: how the run is divided among them.

    Attributes:
        checkpoints: where the state of the next run is kept, or None.
    """

    def __init__(
        self, compiled: CompiledProgram, binding: Binding, message: np.dtype, group: Group, asked: Ranks
    ) -> None:
        spec, graph = binding.spec, binding.graph
        self._compiled, self._binding, self._message, self.group = compiled, binding, message, group
        self.checkpoints: Checkpoints | None = None
        self.pulls = spec.keeps_messages or spec.combine.ordered(message)
        offsets = graph.in_offsets if self.pulls else graph.offsets
        self.ranges: Ranges = by_arcs(group.rank, group.size, offsets)
        self._kind = ("distributed kernel", self.pulls, str(message), binding.dtypes)
        self._laid_out, self._asked, self.memory_kept = False, asked, 0
        self._of_grid: GridLayout | None = None

    def is_laid_out(self, limit: int | None, given: dict[str, Any]) -> bool:
        # Ranks speak while they lay out, so all do if one has to: it may have run other programs meanwhile.
        return self.group.total(self._laid_out) == self.group.size

    def lay_out(self, limit: int | None, given: dict[str, Any]) -> None:
        spec, graph = self._binding.spec, self._binding.graph
        in_offsets, in_sources, in_arcs = graph.offsets, graph.targets, graph.offsets
        if self.pulls:
            in_offsets, in_sources = graph.in_offsets, graph.in_sources
            in_arcs = graph.in_arcs if spec.needs_arc_index else in_arcs
        self._arcs = SizedArcs(
            graph.num_vertices, graph.num_arcs, graph.offsets, graph.targets, in_offsets, in_sources, in_arcs
        )
        self._slot_of = self._slots() if spec.keeps_messages else np.empty(0, unsigned(graph.offsets).dtype)
        self._constants = constant_arrays(self._binding, {}, self.pulls, graph)
        reads = reads_elsewhere(spec, "target" if self.pulls else "source")
        alone = self.group.size == 1
        self._reads = Reads(frozenset(), frozenset()) if alone else reads
        of_all = self._binding, self._message, self.group, self.ranges, self._arcs, self._reads, self.pulls
        self._of_grid, self._division = Divided(*of_all).divide(self._asked, limit is not None)
        self._wanted: list[np.ndarray | None] = [None] * self.group.size
        if self._of_grid is not None:
            self._arcs, self.memory_kept = self._of_grid.cell.arcs, self._of_grid.cell.nbytes
            if reads.across:
                self._wanted = [*wanted_by(self._of_grid.grid.column, self._of_grid.cell.targets)]
        elif not alone and (reads.across or self.pulls):
            self._wanted = self._wanted_by()
        self._of_rank = self._along(self._constants)
        self._laid_out = True

    def _along(self, constants: Constants) -> Constants:
        """What runs only read, with edge fields of this rank's arcs, if these are not the graph's own."""
        if self._of_grid is None:
            return constants
        return along_cell(constants, self._binding.spec, self._of_grid.cell)

    def _slots(self) -> np.ndarray:
        """The slot of each in-edge of this rank. Messages are in the order of their sources, as on one rank; in-edges
        of an undirected graph are in that of the input."""
        graph, own = self._binding.graph, self.ranges.own
        mine = slice(int(graph.in_offsets[own.start]), int(graph.in_offsets[own.stop]))
        slot_of = np.zeros(graph.num_arcs, unsigned(graph.offsets).dtype)
        if graph.directed:
            slot_of[mine] = np.arange(mine.start, mine.stop)
        else:
            slot_of[mine] = graph.slots[1][graph.in_arcs[mine]]
        return slot_of

    def _wanted_by(self) -> list[np.ndarray | None]:
        """For each rank, which of this rank's vertices are at the other ends of its edges: a flag for each."""
        arcs, own, ranges = self._arcs, self.ranges.own, self.ranges
        offsets, ends = (arcs.in_offsets, arcs.in_sources) if self.pulls else (arcs.offsets, arcs.targets)
        seen = np.zeros(arcs.n, np.bool_)
        seen[ends[int(offsets[own.start]) : int(offsets[own.stop])]] = True
        seen[own] = False
        parts = [np.packbits(seen[ranges.of(rank)]) for rank in range(self.group.size)]
        return [
            np.unpackbits(part, count=own.stop - own.start).view(np.bool_)
            for part in self.group.exchange(parts)[0]
        ]

    def running(self, num_threads: int, given: dict[str, Any]) -> Step:
        binding, graph = self._binding, self._binding.graph
        made, of_slots = made_for(binding, given, self.pulls), 0
        if binding.spec.keeps_messages:
            made += [] if graph.directed else [Made.IN_ARCS, Made.SLOTS]
            of_slots = graph.offsets.itemsize * graph.num_arcs
        work = workspace_bytes(binding, self._message, num_threads, binding.spec.keeps_messages, False)
        steps: list[Step] = [graph.making(*made)] if made else []
        steps += [laying_out(binding), taking(binding, given, self.pulls)]
        if self._asked.grid is True and side_of(self.group.size) and not self._laid_out:
            steps += [held(cell_bytes(graph.offsets, self.ranges))]
        return in_turn(
            *steps, held(binding.result_bytes + work + of_slots), held(graph.making(Made.OUT_DEGREE).most)
        )

    def kernel(self, parameters: dict[str, Any], uniform: frozenset[str]) -> Any:
        """The kernel for these types of parameters and these uniform edge fields."""
        of_cell = self._of_grid is not None and self._binding.spec.needs_arc_index
        kind = (*self._kind, of_cell, uniform, *(type(value) for value in parameters.values()))
        kept = self._binding.spec.kept
        if kind not in kept:
            kept[kind] = make_kernel(
                self._compiled, self._binding, self._message, parameters, uniform, self.pulls, of_cell
            )
        return kept[kind]

    def __call__(
        self, run: Execution, parameters: dict[str, Any], given: dict[str, Any], limit: int | None
    ) -> Outcome:
        constants = (
            constant_arrays(self._binding, given, self.pulls, self._binding.graph, self._constants)
            if given
            else self._constants
        )
        way = Layout(
            self._binding,
            self._message,
            self.group,
            self.ranges,
            self._arcs,
            self._slot_of,
            self.pulls,
            self._reads,
            self._wanted,
            self.checkpoints,
        )
        of_rank = self._along(constants) if given else self._of_rank
        how = self.kernel(parameters, constants.uniform), run, parameters, given, of_rank
        rank = Rank(way, *how) if self._of_grid is None else GridRank(self._of_grid, way, *how)
        run.explain(self._division)
        what = self._digest(parameters, given, constants)
        self._check_same_call(what, limit)
        try:
            return rank.supersteps(limit, what)
        except EdgewiseError:
            raise
        except BaseException:
            self.group.has_failed = True
            raise

    def _check_same_call(self, what: str, limit: int | None) -> None:
        """Refuse runs that differ between ranks in their values, their limit, or in whether they keep checkpoints."""
        name, group = self._binding.spec.name, self.group
        own = digest_of(
            what, limit, self.checkpoints and (self.checkpoints.every, str(self.checkpoints.folder))
        )
        for rank, told in enumerate(group.everywhere(np.frombuffer(own.encode(), np.uint8))[0]):
            if told.tobytes() != own.encode():
                raise DistributedError(
                    f"{name}: rank {group.rank} has another program, or other parameters, values or options than rank "
                    f"{rank}; expected the same call on all ranks, with the same max_supersteps, seed and checkpoint"
                )
        if self.checkpoints and self._binding.spec.key is None:
            raise ProgramError(
                f"{name}: a checkpoint cannot tell whether the program is the same when it goes on, for it refers to "
                "something whose value cannot be told; declare it as ew.parameter"
            )

    def _digest(self, parameters: dict[str, Any], given: dict[str, Any], constants: Constants) -> str:
        """A digest of what the state of a run depends on; of arcs and attributes of a large graph, of some of them."""
        spec, graph = self._binding.spec, self._binding.graph
        some = np.linspace(0, max(0, graph.num_arcs - 1), min(graph.num_arcs, _LOOKED_AT)).astype(np.int64)
        arcs = [graph.targets[some], *([] if graph.weights is None else [graph.weights[some]])]
        rows = np.linspace(0, graph.num_vertices, min(graph.num_vertices + 1, _LOOKED_AT)).astype(np.int64)
        values: list[Any] = []
        for name in sorted(given):
            kind = "initial" if name in spec.vertex_fields else "edge"
            of_graph = isinstance(given[name], ArcAttribute)
            values += name, constants.arrays[kind, name][some] if of_graph else constants.arrays[kind, name]
        code = spec.key or f"{spec.program.__module__}.{spec.program.__qualname__}"
        counts = graph.num_vertices, graph.num_arcs, str(self._message)
        return digest_of(code, sorted(parameters.items()), *counts, graph.offsets[rows], *arcs, *values)
