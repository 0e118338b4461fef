"""Schedules: how a run is carried out, never what it computes."""

from dataclasses import dataclass
from typing import Any, Literal, get_args

from edgewise.errors import ScheduleError
from edgewise.schedule.balances import (
    FOR_CLUSTERED,
    Balance,
    Binned,
    BlockMapped,
    Clustered,
    EdgeBased,
    HierarchicalProcessing,
    MergePath,
    NodeSplitting,
    Replicated,
    ThreadMapped,
    View,
    WarpMapped,
    WorkloadDecomposition,
)
from edgewise.schedule.layouts import Layered, Layout
from edgewise.schedule.ranks import Ranks
from edgewise.text import shown

__all__ = [
    "FOR_CLUSTERED",
    "Balance",
    "Binned",
    "BlockMapped",
    "Buffered",
    "Clustered",
    "EdgeBased",
    "HierarchicalProcessing",
    "Layered",
    "Layout",
    "MergePath",
    "NodeSplitting",
    "Pull",
    "Push",
    "Ranks",
    "Replicated",
    "Schedule",
    "ThreadMapped",
    "View",
    "WarpMapped",
    "WorkloadDecomposition",
    "check_schedule",
    "is_auto",
]


@dataclass(frozen=True)
class Push:
    """Deliver along the out-edges of active vertices, through the combiner (atomically where threads meet)."""


@dataclass(frozen=True)
class Pull:
    """Deliver by letting each vertex gather over its in-edges, in their order and without atomics."""


@dataclass(frozen=True, repr=False)
class Buffered:
    """Deliver through a message buffer: each in-edge has a slot of its own, those of a vertex lie together.

    There are no atomic operations, and every combiner works, also one that needs all messages at once
    (`edgewise.program.declare.MESSAGES`, which is delivered only so). For each edge it takes a slot and 4 bytes that
    name it, 12 on a GPU (8 and 20 from 2**31 edges on).

    Reference: Zhong et al. (2016), section 3.2.4.

    Attributes:
        send: who writes to slots on a GPU in a superstep in which more than a fifth of the edges send: "slots", a
            thread for each slot, so that writes lie side by side; or "edges", a thread for each edge as in the paper,
            so that reads do. Otherwise the edges of active vertices are shared out as `Schedule.balance` says.

    Raises:
        ScheduleError: `send` is neither.
    """

    send: Literal["slots", "edges"] = "slots"

    def __post_init__(self) -> None:
        if not (isinstance(self.send, str) and self.send in ("slots", "edges")):
            raise ScheduleError(f"Buffered: send is {shown(self.send)}; expected 'slots' or 'edges'")

    def __repr__(self) -> str:
        return "Buffered()" if self.send == "slots" else f"Buffered(send={self.send!r})"


@dataclass(frozen=True)
class Schedule:
    """The choices for one run. Every part left at its default is chosen for the graph and at each superstep.

    Attributes:
        delivery: `Push()`, `Pull()`, `Buffered()`, or "auto" to choose at each superstep from the frontier's edges.
        balance: which threads do which edges on a GPU: `ThreadMapped()`, `WarpMapped()`, `BlockMapped()`, `Binned()`,
            `EdgeBased()`, `WorkloadDecomposition()`, `MergePath()`, `NodeSplitting()`, `HierarchicalProcessing()`, or
            the `Replicated` of an approximate graph, with which algorithms run as programs; `Clustered()` for searches,
            shortest paths and asynchronous programs; or "auto": eight lanes for each vertex that sends, or equal blocks
            of edges if one has many; where vertices gather, lanes by degree, or equal blocks of edges.
        layout: on a GPU, the order of what vertices gather over: `Layout`, for `Pull()` and `Buffered()`. For searches,
            shortest paths and programs, `Layered`, on the CPU, too. Or "auto": on a GPU, searches from vertices for
            which there are layers read their levels from these.
        num_threads: the exact number of CPU threads, on the CPU; or None for as many as the work is worth, at most the
            processors that the process may use, or ``$EDGEWISE_NUM_THREADS``. Answers do not depend on it.
    """

    delivery: Push | Pull | Buffered | Literal["auto"] = "auto"
    num_threads: int | None = None
    balance: Balance = "auto"
    layout: Layout | Layered | Literal["auto"] = "auto"


def is_auto(choice: Any) -> bool:
    """Whether a part of a schedule is "auto". Only strings are compared with it: arrays, say, cannot be."""
    return isinstance(choice, str) and choice == "auto"


def check_schedule(name: str, schedule: Schedule, on_gpu: bool) -> None:
    """Refuse a balance or a layout that is unknown, or on a CPU, or that contradicts the rest of the schedule.

    Raises:
        ScheduleError: with what is possible.
    """
    if not is_auto(schedule.layout):
        if not (on_gpu and isinstance(schedule.layout, Layout)):
            raise ScheduleError(
                f"{name}: layout is {shown(schedule.layout)}; only runs on a GPU can be told where edges lie, by "
                "edgewise.Layout(), and only bfs, sssp and programs run over edgewise.Layered(). Leave it at 'auto'"
            )
        if schedule.layout.renumber:
            raise ScheduleError(
                f"{name}: only ew.run and ew.prepare number vertices anew, by Layout(renumber=True), and answer in the "
                "user's ids; leave renumber at False"
            )
        if isinstance(schedule.delivery, Push):
            raise ScheduleError(
                f"{name}: a layout says where what vertices gather over lies, and Push() has them gather nothing; set "
                "delivery to Pull() or Buffered()"
            )
        if not is_auto(schedule.balance) and not isinstance(schedule.delivery, Buffered):
            raise ScheduleError(
                f"{name}: a layout says who gathers over which edges, and so does balance={shown(schedule.balance)}; "
                "give one of them, or set delivery to Buffered(), where the balance says who sends"
            )
    if isinstance(schedule.balance, Clustered) and not on_gpu:
        raise ScheduleError(
            f"{name}: {FOR_CLUSTERED}; this run is on the CPU: leave balance at 'auto', or give device='cuda', which "
            "tells why if none can be used"
        )
    if isinstance(schedule.balance, Clustered) and not is_auto(schedule.delivery):
        raise ScheduleError(
            f"{name}: delivery is {shown(schedule.delivery)}, and runs by clusters have none; leave it, or balance, at "
            "'auto'"
        )
    if is_auto(schedule.balance):
        return
    kinds = (*(kind for kind in get_args(View) if kind is not Replicated), Clustered)
    possible = (
        f"{', '.join(f'{kind.__name__}()' for kind in kinds)}, or by the balance of an approximate graph"
    )
    if not isinstance(schedule.balance, View | Clustered):
        raise ScheduleError(
            f"{name}: balance is {shown(schedule.balance)}{_hint(schedule.balance, kinds)}; expected 'auto', or, on a "
            f"GPU, who does which edges, by {possible}"
        )
    if not on_gpu:
        raise ScheduleError(
            f"{name}: balance is {shown(schedule.balance)}; only runs on a GPU can be told who does which edges, by "
            f"{possible}. Leave it at 'auto'"
        )


def _hint(balance: Any, kinds: tuple[type, ...]) -> str:
    """What to write for the name of a kind, or for a kind itself; nothing for anything else."""
    given = balance.__name__ if isinstance(balance, type) else balance
    for kind in kinds:
        if isinstance(given, str) and given.lower().replace("_", "") == kind.__name__.lower():
            return f", which is written ew.{kind.__name__}()"
    return ""
