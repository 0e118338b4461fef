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
from edgewise.engine.cpu.workspace import workspace_bytes
from edgewise.engine.distributed.calls import check_same_call, digests_of_run
from edgewise.engine.distributed.cells import along_cell, cell_bytes
from edgewise.engine.distributed.checkpoint import Checkpoints
from edgewise.engine.distributed.division import Divided, agree
from edgewise.engine.distributed.grid import GridLayout, GridRank
from edgewise.engine.distributed.group import Group
from edgewise.engine.distributed.kernel import make_kernel
from edgewise.engine.distributed.lines import side_of
from edgewise.engine.distributed.partition import Ranges
from edgewise.engine.distributed.rank import Layout
from edgewise.engine.distributed.rank_cpu import CpuRank
from edgewise.engine.distributed.reads import Reads, reads_elsewhere, wanted_by, wanted_of
from edgewise.engine.distributed.rows import all_rows, own_rows, ranges_of, reads_part
from edgewise.engine.lowering.binding import Binding
from edgewise.engine.lowering.compiled import CompiledProgram
from edgewise.engine.lowering.constants import Constants, constant_arrays, laying_out, made_for, taking
from edgewise.execution import Execution
from edgewise.graph import Made
from edgewise.memory import Step, held, in_turn
from edgewise.schedule import Ranks


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
        # A cell of a grid has arcs of other ranks' vertices, so that ranks in a grid read all rows.
        self._reads_part = asked.grid is not True and reads_part(binding, group, self.pulls)
        self.ranges: Ranges = ranges_of(graph, group, self.pulls, self._reads_part)
        self._kind = ("distributed kernel", self.pulls, str(message), binding.dtypes)
        self._laid_out, self._asked, self.memory_kept = False, asked, 0
        self._of_grid: GridLayout | None = None

    def is_laid_out(self, limit: int | None, given: dict[str, Any]) -> bool:
        # Ranks speak while they lay out, so all do if one has to: it may have run other programs meanwhile.
        return agree(self._binding.spec.name, self.group, self._asked, self._laid_out)

    def lay_out(self, limit: int | None, given: dict[str, Any]) -> None:
        spec, graph = self._binding.spec, self._binding.graph
        of_graph: Any = graph
        is_limited = self.group.total(limit is not None) > 0
        if self._reads_part:
            self._arcs, of_graph = own_rows(self._binding, self.group, self.ranges, self.pulls)
        else:
            self._arcs = all_rows(self._binding, self.pulls)
        self._slot_of = (
            self._slots() if spec.keeps_messages else np.empty(0, f"u{graph.offset_dtype.itemsize}")
        )
        self._constants = constant_arrays(self._binding, {}, self.pulls, of_graph)
        reads = reads_elsewhere(spec, "target" if self.pulls else "source")
        alone = self.group.size == 1
        self._reads = Reads(frozenset(), frozenset()) if alone else reads
        of_all = self._binding, self._message, self.group, self.ranges, self._arcs, self._reads, self.pulls
        self._of_grid, self._division = Divided(*of_all).divide(self._asked, is_limited, self._reads_part)
        self._wanted: list[np.ndarray | None] = [None] * self.group.size
        if self._of_grid is not None:
            self._arcs, self.memory_kept = self._of_grid.cell.arcs, self._of_grid.cell.nbytes
            if reads.across:
                self._wanted = [*wanted_of(self._of_grid.cell.targets, self._of_grid.grid.column)]
        elif not alone and (reads.across or self.pulls):
            self._wanted = wanted_by(self._arcs, self.ranges, self.group, self.pulls)
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
        graph, own, offsets = self._binding.graph, self.ranges.own, self._arcs.in_offsets
        mine = slice(int(offsets[own.start]), int(offsets[own.stop]))
        slot_of = np.zeros(graph.num_arcs, f"u{offsets.itemsize}")
        if graph.directed:
            slot_of[mine] = np.arange(mine.start, mine.stop)
        else:
            slot_of[mine] = graph.slots[1][graph.in_arcs[mine]]
        return slot_of

    def running(self, num_threads: int, given: dict[str, Any]) -> Step:
        binding, graph = self._binding, self._binding.graph
        made, of_slots = made_for(binding, given, self.pulls), 0
        of_waiting = graph.num_vertices * binding.spec.best_first
        if binding.spec.keeps_messages:
            made += [] if graph.directed else [Made.IN_ARCS, Made.SLOTS]
            of_slots = graph.offsets.itemsize * graph.num_arcs
        work = workspace_bytes(binding, self._message, num_threads, binding.spec.keeps_messages, False)
        steps: list[Step] = [graph.making(*made)] if made else []
        steps += [laying_out(binding), taking(binding, given, self.pulls)]
        if self._asked.grid is True and side_of(self.group.size) and not self._laid_out:
            steps += [held(cell_bytes(graph.offsets, self.ranges))]
        run = held(binding.result_bytes + work + of_slots + of_waiting)
        return in_turn(*steps, run, held(graph.making(Made.OUT_DEGREE).most))

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
        rank = CpuRank(way, *how) if self._of_grid is None else GridRank(self._of_grid, way, *how)
        run.explain(self._division)
        what = digests_of_run(self._binding, self._message, parameters, given, constants)
        check_same_call(self._binding, what, limit, self.checkpoints, self.group)
        with self.group.in_run():
            return rank.supersteps(limit, what)
