"""What an engine hands back."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np


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
        phase_seconds: of a GPU's run in rounds, by its clock: "delivering" messages, of that "sharing" out arcs before
            and "gathering" over the slots of a message buffer, "computing" vertices, and the whole "kernel".
        memory_bytes: on the GPU: of the "graph", of what the "strategy" and the "layout" made for it, and of the "run",
            its results included; empty for other runs.
    """

    vertex_fields: dict[str, np.ndarray]
    edge_fields: dict[str, np.ndarray]
    aggregates: dict[str, Any]
    supersteps: int
    ended: str
    notes: tuple[str, ...] = ()
    phase_seconds: dict[str, float] = field(default_factory=dict)
    memory_bytes: dict[str, int] = field(default_factory=dict)

    @property
    def explanation(self) -> tuple[str, ...]:
        """The lines for `Result.explain`."""
        return (*self.notes, f"ended after {self.supersteps} supersteps: {self.ended}")
