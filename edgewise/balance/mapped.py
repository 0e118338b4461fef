"""A view (`grouped`, `block`, or lanes by degree) as a strategy: vertices send and gather by the same view."""

from typing import Any, ClassVar, NamedTuple, final

import numpy as np

from edgewise.balance.contract import WHOLE, Bodies, GraphRows, Plan, Strategy, Traversal
from edgewise.kernels.cuda.device import device_function
from edgewise.primitives.deal import list_nothing
from edgewise.schedule import Balance


def make_pull(view: Any, gather: Any) -> Any:
    """The function `Traversal.pull_all` by which vertices gather with the lanes of a view."""

    @device_function
    def gather_whole(v, first, end, step, lanes, context):
        gather(v, first, end, step, lanes, np.int64(WHOLE), context)

    gather_all = view(gather_whole, False)

    @device_function
    def pull_all(low, high, generation, context, run):
        gather_all(run.graph.in_sources, low, high, run.graph.in_offsets, run.scratch, context)
        return generation

    return pull_all


def make_mapped(view: Any, bodies: Bodies) -> Traversal:
    """The functions of a view's strategy."""
    scatter_all = view(bodies.scatter, True)

    @device_function
    def push_all(listed, count, counter, generation, context, run):
        scatter_all(listed, np.int64(0), count, run.graph.offsets, run.scratch, context)
        return generation

    return Traversal(list_nothing, push_all, make_pull(view, bodies.gather))


class NoArrays(NamedTuple):
    """The arrays of a strategy that has none."""


@final
class MappedStrategy(Strategy):
    """Each vertex has the lanes that a view gives it."""

    arrays: ClassVar[type] = NoArrays

    def __init__(self, choice: Balance, view: Any) -> None:
        super().__init__(str(choice))
        self._view = view

    def prepare(self, rows: GraphRows, pushes: bool, pulls: bool) -> Plan:
        return Plan(NoArrays(), rows.offsets)

    def make(self, bodies: Bodies) -> Traversal:
        return make_mapped(self._view, bodies)
