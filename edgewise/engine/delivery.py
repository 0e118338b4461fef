"""How messages reach vertices: what a schedule means for a program on a graph.

Every engine but the reference, which has no choice, takes the `Delivery` that `decide` gives. No engine asks the
schedule how messages go, which threads do which arcs on a GPU, or where these lie. One choice is left to the GPU's
engine: whether it makes a layout that the schedule did not ask for (`Delivery.without_layout`, `by_threads`,
`by_merge_path`).
"""

from typing import NamedTuple

import numpy as np

from edgewise.errors import ScheduleError
from edgewise.layout.contract import HEAVY
from edgewise.primitives.direction import AUTO, PULL, PUSH, SUM_RATIO
from edgewise.program.inspect import Specification
from edgewise.schedule import (
    FOR_CLUSTERED,
    Balance,
    Buffered,
    Clustered,
    Layout,
    MergePath,
    Pull,
    Push,
    Replicated,
    Schedule,
    ThreadMapped,
)

#: A single run on fewer arcs than these makes no layout. Of 0.8 M arcs one takes 1.4 ms more to make than what merge
#: path needs, and 50 supersteps of PageRank were 0.52 ms shorter by it (an H100). That is one graph; none of 0.9 to 3 M
#: arcs was measured.
FEW_ARCS = 2**20


class Delivery(NamedTuple):
    """How messages reach vertices.

    Attributes:
        pushes: whether active vertices may send along their out-edges; into slots if `buffered`.
        pulls: whether vertices may gather over their in-edges. With both, each superstep decides.
        in_edges: whether a run has in-edges, or a layout in their place. Without them it only pushes.
        buffered: whether messages go through a message buffer, whose slots are gathered over.
        by_edges: on a GPU, whether a thread for each edge writes to its slot where many edges send, not one for each
            slot.
        fused: on a GPU, whether a vertex is computed as soon as its slots are gathered over, by the same thread; or its
            in-edges, if `spreads`.
        alike: on a GPU, whether what a vertex sends is the same along all of its out-edges, and no message decides.
        best_first: whether vertices are computed in any order, those with the best messages first; they only push.
        by_clusters: by which clusters, on a GPU, or None.
        may_cluster: whether runs without a limit may have clusters where these pay.
        layout: on a GPU, how in-edges or slots are laid out; None for the graph's own in-edges.
        balance: on a GPU, which threads do which arcs.
        why: for `Result.explain`.
        layout_is_spare: whether the schedule did not ask for the layout, and the graph's own in-edges would do.
        takes_longer: whether making that layout takes a run longer than it saves.
    """

    pushes: bool
    pulls: bool
    in_edges: bool
    buffered: bool = False
    by_edges: bool = False
    fused: bool = False
    alike: bool = False
    best_first: bool = False
    by_clusters: Clustered | None = None
    may_cluster: bool = False
    layout: Layout | None = None
    balance: Balance = "auto"
    why: tuple[str, ...] = ()
    layout_is_spare: bool = False
    takes_longer: bool = False

    def limited(self, name: str, limit: int | None) -> "Delivery":
        """This delivery for runs of at most so many supersteps, if a number is given.

        Args:
            name: of the program.
            limit: the number, or None.

        Raises:
            ScheduleError: clusters were asked for, which have no supersteps.
        """
        if limit is not None and self.by_clusters:
            raise ScheduleError(
                f"{name}: max_supersteps is {limit}, and runs by clusters have no supersteps; leave it out, or leave "
                "balance at 'auto'"
            )
        return self if limit is None else self._replace(may_cluster=False)

    @property
    def spreads(self) -> bool:
        """Whether vertices that pull while all send compute what they send once, before any gathers: on a GPU, with a
        layout or a thread for each vertex, of which replicas only send."""
        by_vertices = self.layout is not None or isinstance(self.balance, ThreadMapped | Replicated)
        return self.alike and self.in_edges and by_vertices

    @property
    def direction(self) -> int:
        """AUTO, PUSH or PULL of `edgewise.primitives.direction`."""
        return PULL if not self.pushes else AUTO if self.in_edges else PUSH

    def at_once(self, num_arcs: int) -> "Delivery":
        """This delivery for one run on so many arcs: if they are few, a layout takes longer than it saves."""
        return self._replace(takes_longer=self.layout_is_spare and num_arcs < FEW_ARCS)

    def by_threads(self) -> "Delivery":
        """This delivery where rows of in-edges are short and even: a thread gathers over each, and a layout would only
        move vertices apart."""
        return self._over_in_edges(
            ThreadMapped(), f"a thread for each vertex: none has more than {HEAVY} in-edges"
        )

    def by_merge_path(self) -> "Delivery":
        """This delivery where a layout takes longer than it saves, and is not there yet."""
        return self._over_in_edges(
            MergePath(), f"no layout for a run on fewer than {FEW_ARCS:,} edges; edgewise.prepare makes one"
        )

    def _over_in_edges(self, balance: Balance, why: str) -> "Delivery":
        """This delivery over the graph's own in-edges."""
        return self._replace(
            layout=None, layout_is_spare=False, takes_longer=False, balance=balance, why=(*self.why, why)
        )

    def without_layout(self) -> "Delivery":
        """This delivery where there is no room for a layout: vertices gather over the graph's own in-edges."""
        return self._replace(
            layout=None, layout_is_spare=False, why=(*self.why, "there was no room for a layout")
        )


def may_push(spec: Specification, message: np.dtype) -> bool:
    """Whether a GPU may combine messages by atomic operations, in any order."""
    return spec.combine.name in ("MIN", "MAX", "SUM", "ANY", "ALL") and not spec.combine.ordered(message)


def stops_early(spec: Specification, message: np.dtype) -> bool:
    """Whether a vertex may stop gathering at one message that decides the result."""
    return spec.combine.name in ("ANY", "ALL") and message.kind == "b" and not spec.edge_writes


def check_delivery(spec: Specification, schedule: Schedule) -> None:
    """Refuse a delivery that combines messages if the program asks for all of them, and what only algorithms have.

    Raises:
        ScheduleError: with what is possible.
    """
    if isinstance(schedule.balance, Clustered) and not spec.takes_clusters:
        raise ScheduleError(
            f"{spec.name}: {FOR_CLUSTERED}; this program is none of these: leave balance at 'auto'"
        )
    if spec.keeps_messages and isinstance(schedule.delivery, Push | Pull):
        raise ScheduleError(
            f"{spec.name}: {type(schedule.delivery).__name__}() combines messages two at a time, and combine = "
            "ew.MESSAGES asks for all of them; leave delivery at 'auto', or set it to Buffered()"
        )


def decide(
    spec: Specification, message: np.dtype, schedule: Schedule, in_edges: bool, on_gpu: bool
) -> Delivery:
    """How messages of a program reach vertices.

    Args:
        spec: the program.
        message: the dtype of messages.
        schedule: one that `edgewise.schedule.check_schedule` accepts.
        in_edges: whether the graph has in-edges, or is to have them.
        on_gpu: whether the run is on a GPU.
    """
    asked = schedule.delivery
    if isinstance(schedule.balance, Clustered):
        if message.kind not in "if":
            raise ScheduleError(
                f"{spec.name}: {FOR_CLUSTERED}; messages of this program are {message}: leave balance at 'auto'"
            )
        return Delivery(
            pushes=True, pulls=False, in_edges=False, best_first=True, by_clusters=schedule.balance
        )
    only_push, only_pull = isinstance(asked, Push), isinstance(asked, Pull)
    through_slots = isinstance(asked, Buffered)
    layout = schedule.layout if isinstance(schedule.layout, Layout) else None
    by_itself = schedule.balance == "auto"
    if spec.keeps_messages or through_slots:
        way = Delivery(pushes=True, pulls=False, in_edges=False, buffered=True)
        if not on_gpu:
            return way._replace(why=("messages went through a buffer",))
        why = () if through_slots else ("through a message buffer: MESSAGES are not combined",)
        by_edges = isinstance(asked, Buffered) and asked.send == "edges"
        return way._replace(by_edges=by_edges, layout=layout or Layout(), balance=schedule.balance, why=why)
    in_edges = only_pull or (not only_push and (in_edges or spec.combine.ordered(message)))
    best_first = spec.best_first and message.kind in "if" and not only_pull
    if not on_gpu:
        return Delivery(pushes=not only_pull, pulls=in_edges, in_edges=in_edges, best_first=best_first)
    pushes = may_push(spec, message) and not only_pull
    spare = not pushes and by_itself and layout is None
    layout = Layout() if spare else layout
    # If one message decides, pushing is as fast as pulling for a frontier of any size.
    pulls = not pushes or not (only_push or (layout is None and stops_early(spec, message)))
    way = Delivery(
        pushes=pushes,
        pulls=pulls,
        in_edges=pulls,
        layout=layout,
        balance=schedule.balance,
        layout_is_spare=spare,
    )
    if best_first and by_itself and layout is None:
        return way._replace(in_edges=False, best_first=True, may_cluster=spec.takes_clusters)
    if pushes and pulls and layout is None and not in_edges:
        lacking = "pushed: the graph has no in-edges; edgewise.prepare makes them"
        return way._replace(in_edges=False, why=(lacking,))
    way = way._replace(alike=pulls and spec.sends_alike and not stops_early(spec, message))
    asked_for = only_push if pushes else only_pull
    return way if asked_for else way._replace(why=(_reason(spec, message, pushes, pulls),))


def _reason(spec: Specification, message: np.dtype, pushes: bool, pulls: bool) -> str:
    """Why a run on a GPU pushes, or pulls, or both."""
    if pushes and pulls:
        return f"pulled when more than one in {SUM_RATIO} edges sends, else pushed"
    if pushes:
        return f"pushed: one message decides what {spec.combine.name} gives"
    in_order = spec.combine.ordered(message)
    why = "are combined in a fixed order" if in_order else "have no atomic operation"
    return f"pulled: {message} messages by {spec.combine.name} {why}"
