"""How a run is carried out: never what it computes."""

from dataclasses import dataclass
from typing import Literal

from edgewise.errors import ScheduleError


@dataclass(frozen=True)
class Push:
    """Deliver along the out-edges of active vertices, through the combiner (atomically where threads meet)."""


@dataclass(frozen=True)
class Pull:
    """Deliver by letting each vertex gather over its in-edges, in their order and without atomics."""


@dataclass(frozen=True)
class ThreadMapped:
    """One thread for each vertex, on a GPU."""


@dataclass(frozen=True)
class WarpMapped:
    """A warp of 32 lanes for each vertex, or a virtual warp of 2, 4, 8 or 16, on a GPU (Hong et al., PPoPP 2011).

    Attributes:
        lanes: of the virtual warp.
    """

    lanes: int = 32

    def __post_init__(self) -> None:
        if not isinstance(self.lanes, int) or self.lanes not in (2, 4, 8, 16, 32):
            raise ScheduleError(f"WarpMapped: lanes is {self.lanes!r}; expected 2, 4, 8, 16 or 32")


@dataclass(frozen=True)
class BlockMapped:
    """A block of 1024 threads for each vertex, on a GPU."""


@dataclass(frozen=True)
class Binned:
    """One lane, eight, a warp or a block for a vertex, by its degree, on a GPU (Merrill et al., PPoPP 2012)."""


@dataclass(frozen=True)
class NodeSplitting:
    """Vertices of many edges are split into children of few, a thread for each, on a GPU (Raval et al., section III.B).

    Programs see nothing of it: ids, degrees and fields are those of the graph.

    Attributes:
        max_degree: the most edges that a child has, or "auto" for what most vertices have: the upper edge of the range
            of degrees with most vertices, of `bins` ranges of equal width.
        bins: at least 1.
    """

    max_degree: int | Literal["auto"] = "auto"
    bins: int = 10

    def __post_init__(self) -> None:
        for name in ("max_degree", "bins"):
            value = getattr(self, name)
            whole = isinstance(value, int) and not isinstance(value, bool) and value >= 1
            if not whole and not (name == "max_degree" and value == "auto"):
                raise ScheduleError(f"NodeSplitting: {name} is {value!r}; expected an integer of at least 1")


View = ThreadMapped | WarpMapped | BlockMapped | Binned | NodeSplitting
Balance = View | Literal["auto"]


@dataclass(frozen=True)
class Schedule:
    """The choices of one run. Every part left at its default is chosen at each superstep.

    Attributes:
        delivery: `Push()`, `Pull()`, or "auto" to choose at each superstep from the frontier's edges.
        balance: who does which edges on a GPU, for programs: `ThreadMapped()`, `WarpMapped()`, `BlockMapped()`,
            `Binned()`, `NodeSplitting()`, or "auto": edges dealt out to lanes one by one, or lanes by degree where
            vertices gather.
        num_threads: CPU threads, or None for all processors that the process may use. Answers do not depend
            on it.
    """

    delivery: Push | Pull | Literal["auto"] = "auto"
    num_threads: int | None = None
    balance: Balance = "auto"
