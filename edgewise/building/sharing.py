"""Who builds a file: one process, or several of which each has some of the edges and writes some of the rows."""

from typing import NamedTuple, Protocol

from edgewise.building.integers import Distinct, Numbering
from edgewise.building.sizes import Sizes
from edgewise.building.spill import Spill
from edgewise.graph.file_writer import Writers


class Totals(NamedTuple):
    """Counts of all processes.

    Attributes:
        before: arcs of the processes before this one.
        num_arcs, num_loops: arcs of all, and self-loops.
    """

    before: int
    num_arcs: int
    num_loops: int


class Sharing(Protocol):
    """What processes that build one file tell each other: all of them call the same methods in the same order.

    Attributes:
        size: how many they are.
        is_last: whether this one writes the last rows.
        writers: who write the file; None for this process alone.
    """

    size: int
    is_last: bool
    writers: Writers | None

    def numbering(self, distinct: Distinct) -> Numbering:
        """The numbers of the ids of all processes. Raises MemoryLimitError as `Distinct.finish`."""

    def own_rows(self, spill: Spill, sizes: Sizes) -> tuple[Spill, int]:
        """Arcs of all processes in the rows of this one, in place of its arcs in all rows; and the first row."""

    def totals(self, num_arcs: int, num_loops: int = 0) -> Totals:
        """Add up what each process has."""


class Alone:
    """One process; see `Sharing`."""

    size, is_last = 1, True
    writers: Writers | None = None

    def numbering(self, distinct: Distinct) -> Numbering:
        """The numbers of all ids."""
        return distinct.finish()

    def own_rows(self, spill: Spill, sizes: Sizes) -> tuple[Spill, int]:
        """All arcs are here."""
        return spill, 0

    def totals(self, num_arcs: int, num_loops: int = 0) -> Totals:
        """What there is here."""
        return Totals(0, num_arcs, num_loops)
