"""The class of engines, and that of their results."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

import numpy as np

from edgewise.execution import Execution
from edgewise.memory import Step
from edgewise.primitives import endings


class Ending(Enum):
    """Why a run ended; ``str`` gives a text for people."""

    FINISHED, LIMITED, STOPPED = endings.FINISHED, endings.LIMITED, endings.STOPPED

    def __str__(self) -> str:
        return _REASONS[self]


_REASONS = {
    Ending.FINISHED: "no vertex is active",
    Ending.LIMITED: "max_supersteps was reached",
    Ending.STOPPED: "the program's proceed returned False",
}
#: Engines number supersteps on over several runs, as stamps of 32 bits. They begin anew long before these wrap.
LAST_STAMP = 2**31


@dataclass(frozen=True, eq=False)
class Outcome:
    """The final state of a run.

    Attributes:
        vertex_fields: by name, shape (num_vertices,).
        edge_fields: by name, shape (num_arcs,), in CSR order: those that the program writes.
        aggregates: by name, the last values.
        supersteps: how many were run.
        ended: why the run ended.
        notes: how it was carried out, a line for each decision.
        phase_seconds: of a run in rounds on a GPU, by its clock: "delivering" messages, which includes "sharing" arcs
            out and "gathering" over the slots of a message buffer; "computing" vertices; the whole "kernel".
        memory_bytes: of a run on a GPU, the memory of the "graph", of what the "strategy" and the "layout" made for it,
            and of the "run" with its results; empty for other runs.
        counted: what `supersteps` counts, for `explain`: runs by clusters have visits.
    """

    vertex_fields: Mapping[str, np.ndarray]
    edge_fields: dict[str, np.ndarray]
    aggregates: dict[str, Any]
    supersteps: int
    ended: Ending
    notes: tuple[str, ...] = ()
    phase_seconds: dict[str, float] = field(default_factory=dict)
    memory_bytes: dict[str, int] = field(default_factory=dict)
    counted: str = "supersteps"

    @property
    def explanation(self) -> tuple[str, ...]:
        """The lines for `Result.explain`."""
        return (*self.notes, f"ended after {self.supersteps} {self.counted}: {self.ended}")


class AbstractEngine(ABC):
    """A program for one graph and messages of one dtype: laid out once, then run any number of times.

    Attributes:
        memory_kept: about how many bytes are kept from one run to the next.
        held_bytes: the bytes of a GPU's memory that the graph and what all runs share take, which count towards a run's
            limit there; 0 on a CPU, where the limit is for what a run takes beyond these.
        in_order: whether a run on a CPU reads rows one after the other.
    """

    memory_kept: int
    held_bytes: int = 0
    in_order: bool = False

    @abstractmethod
    def is_laid_out(self, limit: int | None, given: dict[str, Any]) -> bool:
        """Whether `lay_out` has ended, so that a run like this fits."""

    @abstractmethod
    def lay_out(self, limit: int | None, given: dict[str, Any]) -> None:
        """Make what all runs share: arrays of the graph, of fields, of a strategy.

        Args:
            limit: on a GPU, the most bytes of its memory that a run may take, the graph included. What does not fit is
                read from the host's memory.
            given: arrays for fields of the run to come, by name.

        Raises:
            MemoryLimitError: there is no room for them.
        """

    @abstractmethod
    def running(self, num_threads: int, given: dict[str, Any]) -> Step:
        """The memory that a run takes beyond what exists, of the device on which the engine runs.

        On a CPU, this includes what is laid out first, if it was not yet. On a GPU, it is known when that has ended.

        Args:
            num_threads: the most threads that the run may have.
            given: arrays for fields, by name.
        """

    @abstractmethod
    def __call__(
        self, run: Execution, parameters: dict[str, Any], given: dict[str, Any], limit: int | None
    ) -> Outcome:
        """Carry out one run.

        Args:
            run: threads and progress.
            parameters: the parameters' values.
            given: arrays for fields, by name.
            limit: the largest number of supersteps, or None.

        Raises:
            ProgramError: a function does what it may not, and the engine notices.
        """
