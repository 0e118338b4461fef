"""Whether the ranks of a program form a grid."""

import ast
from typing import NamedTuple

import numpy as np

from edgewise.engine.cpu.arguments import SizedArcs
from edgewise.engine.distributed.cells import Itemsizes, cell_of, sent_in_grid, sent_in_ranges
from edgewise.engine.distributed.grid import GridLayout
from edgewise.engine.distributed.group import Group
from edgewise.engine.distributed.lines import grid_of, side_of
from edgewise.engine.distributed.partition import Ranges
from edgewise.engine.distributed.reads import Reads, reads_elsewhere, wanted_of
from edgewise.engine.lowering.binding import Binding
from edgewise.errors import DistributedError
from edgewise.program.declare import ACTIVE
from edgewise.program.inspect import Specification
from edgewise.program.source import all_references
from edgewise.schedule import Ranks

#: In a grid, ranks wait for each other once more in a superstep, which takes as long as sending about so many bytes
#: (0.1 ms at 1 GB/s). So each rank has to send so many fewer in a grid.
_BYTES_OF_WAITING = 100_000


class Divided(NamedTuple):
    """A program on ranks that have ranges of vertices.

    Attributes:
        binding, message, group, ranges, arcs, reads, pulls: as in `edgewise.engine.distributed.rank.Layout`.
    """

    binding: Binding
    message: np.dtype
    group: Group
    ranges: Ranges
    arcs: SizedArcs
    reads: Reads
    pulls: bool

    def divide(self, asked: Ranks, is_limited: bool, in_part: bool) -> tuple[GridLayout | None, str]:
        """The grid, or None if there is none; and why, for `Result.explain`.

        Args:
            asked: how the run is to be divided.
            is_limited: whether any rank has a limit of memory.
            in_part: whether ranks read only the rows of their own vertices.

        Raises:
            DistributedError: a grid is asked for, and there cannot be one.
        """
        group, by_vertices = self.group, "each rank has the arcs of its vertices"
        if group.size == 1:
            return None, by_vertices
        if asked.grid is False:
            return None, f"{by_vertices}, as asked"
        why = self._why_no_grid()
        if why and asked.grid is True:
            raise DistributedError(
                f"{self.binding.spec.name}: grid is True, but there can be none: {why}; expected 'auto', which takes a "
                "grid where it can, if that sends less"
            )
        if asked.grid == "auto" and is_limited:
            why = why or "memory_limit is given, and in a grid ranks copy their arcs"
        if asked.grid == "auto" and in_part:
            why = (
                why or "each rank reads only its own rows of the file, and in a grid it needs those of others"
            )
        if asked.grid == "auto" and _best_begins_alone(self.binding.spec):
            why = why or (
                "the vertex with the best message begins alone (but with max_supersteps), and in a grid no rank has "
                "all its out-edges"
            )
        if why:
            return None, f"{by_vertices}, and there is no grid: {why}"
        grid, in_grid = grid_of(group), f"a grid of {side_of(group.size)} by {side_of(group.size)} ranks"
        cell, fields = cell_of(self.arcs, self.ranges, grid), self._fields_at_sources()
        why = f"{in_grid}, as asked"
        if asked.grid == "auto":
            sizes = self._itemsizes()
            of_ranges = group.total(sent_in_ranges(self.arcs, self.ranges, sizes))
            of_cells = group.total(sent_in_grid(cell, grid, sizes))
            counted = f"if all vertices send, ranges send {of_ranges:,} bytes in a superstep, {in_grid} {of_cells:,}"
            if of_cells + group.size * _BYTES_OF_WAITING >= of_ranges:
                return None, f"{by_vertices}: {counted}, which waits once more"
            why = f"{in_grid}: {counted}"
        return GridLayout(grid, cell, fields, wanted_of(cell.sources, grid.row)), why

    def _why_no_grid(self) -> str:
        """Why these ranks can form no grid; empty if they can."""
        spec, size = self.binding.spec, self.group.size
        if side_of(size) == 0:
            return f"there are {size} ranks, which is not the square of a number"
        if self.pulls:
            return (
                "messages are joined in one order, for which ranks gather over the in-edges of their vertices"
            )
        if spec.edge_writes:
            return f"{', '.join(sorted(spec.edge_writes))} is written on edges, which lie with their sources"
        if self.reads.anywhere:
            return f"{', '.join(sorted(self.reads.anywhere))} may be read at any vertex, so all ranks speak with all"
        return ""

    def _fields_at_sources(self) -> list[str]:
        """The fields that edge functions read at the sources of edges."""
        return sorted(reads_elsewhere(self.binding.spec, "target").across)

    def _itemsizes(self) -> Itemsizes:
        """The bytes of what ranks tell each other of a vertex."""
        of = self.binding.vertex
        sources = sum(of[name].itemsize for name in self._fields_at_sources())
        targets = sum(of[name].itemsize for name in self.reads.across)
        return Itemsizes(self.message.itemsize, sources, targets)


def _best_begins_alone(spec: Specification) -> bool:
    """Whether all vertices are active at first, as far as the text of the program tells, and the best begins alone. A
    limit of the run, with which none waits, is not known yet."""
    if not spec.best_first or spec.program.max_supersteps is not None:
        return False
    function = spec.functions["initialize"]
    values = {each.name: each.value for each in all_references(function.function)}
    returned = [node.value for node in ast.walk(function.tree) if isinstance(node, ast.Return)]
    return all(
        each is not None
        and (each.value if isinstance(each, ast.Constant) else values.get(ast.unparse(each))) is ACTIVE
        for each in returned
    )


def agree(name: str, group: Group, asked: Ranks, is_laid_out: bool) -> bool:
    """Whether all ranks have laid out. Raises DistributedError if they ask to be divided in different ways."""
    choices = (False, True, "auto")
    told = group.everywhere(np.empty(0, np.uint8), 2 * choices.index(asked.grid) + is_laid_out)[1]
    for rank, word in enumerate(told):
        other = choices[word // 2]
        if other != asked.grid:
            raise DistributedError(
                f"{name}: rank {group.rank} has grid={asked.grid!r}, and rank {rank} grid={other!r}; expected the "
                "same call on all ranks"
            )
    return all(word % 2 for word in told)
