"""The words of `control` of the kernel for supersteps."""

from edgewise.balance.contract import CONTROL as STRATEGY_CONTROL
from edgewise.balance.contract import COUNTERS, SHARING_NS
from edgewise.primitives.control import TURNS

#: Words of `control`, behind the strategy's. COUNT, EDGES, TOUCHED and UNITS take turns: how many vertices are active,
#: how many out-edges these have (0 where messages are always pulled), how many halted vertices got a message, and what
#: the strategy counts. FORMS count supersteps by form.
CONTROL = STRATEGY_CONTROL.more()
COUNT, EDGES, TOUCHED = (CONTROL.take(TURNS) for _ in range(3))
SUPERSTEP, ENDED, FORMS = CONTROL.take(), CONTROL.take(), CONTROL.take(2)
UNITS = CONTROL.take_line(COUNTERS * TURNS)
#: Nanoseconds by the clock of thread 0: delivering messages, computing vertices, the whole run, gathering over slots.
DELIVERING, COMPUTING, ALL, GATHERING = (CONTROL.take() for _ in range(4))
#: The words of `Outcome.phase_seconds`.
PHASES = {
    "sharing": SHARING_NS,
    "delivering": DELIVERING,
    "computing": COMPUTING,
    "kernel": ALL,
    "gathering": GATHERING,
}
PUSH_LIST, PULL_ALL = range(2)
FORM_NAMES = ("push from a list", "push from a list in equal shares", "pull over all vertices")
BUFFER_FORM_NAMES = (
    "push from a list into slots",
    "push from a list into slots in equal shares",
    "fill all slots",
)
