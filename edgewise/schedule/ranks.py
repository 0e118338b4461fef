"""How a distributed run divides a graph among its ranks."""

from dataclasses import dataclass
from typing import Literal

from edgewise.errors import ScheduleError
from edgewise.text import shown


@dataclass(frozen=True)
class Ranks:
    """How a program's run is divided among ranks, as in ``ew.run(program, graph, distributed=ew.Ranks(grid=True))``.

    Attributes:
        grid: True for ranks in a square grid, which divides arcs by both of their ends, where the number of ranks is a
            square and the program pushes its messages; False for ranks that have the arcs of their own vertices; "auto"
            for the one of the two that sends less, as counted before the first run. Answers do not depend on it.

    Raises:
        ScheduleError: `grid` is none of these.
    """

    grid: bool | Literal["auto"] = "auto"

    def __post_init__(self) -> None:
        if not (isinstance(self.grid, bool) or (isinstance(self.grid, str) and self.grid == "auto")):
            raise ScheduleError(f"Ranks: grid is {shown(self.grid)}; expected True, False or 'auto'")
