"""How a run is carried out: never what it computes."""

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class Push:
    """Deliver along the out-edges of active vertices, through the combiner (atomically where threads meet)."""


@dataclass(frozen=True)
class Pull:
    """Deliver by letting each vertex gather over its in-edges, in their order and without atomics."""


@dataclass(frozen=True)
class Schedule:
    """The choices of one run. Every part left at its default is chosen at each superstep.

    Attributes:
        delivery: `Push()`, `Pull()`, or "auto" to choose at each superstep from the frontier's edges.
        num_threads: CPU threads, or None for all processors that the process may use. Answers do not depend
            on it.
    """

    delivery: Push | Pull | Literal["auto"] = "auto"
    num_threads: int | None = None
