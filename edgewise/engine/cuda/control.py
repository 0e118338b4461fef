"""The words of `control` of the kernel for programs that are run in supersteps, and what they say."""

from edgewise.balance.contract import CONTROL as STRATEGY_CONTROL
from edgewise.balance.contract import COUNTERS, SHARING_NS
from edgewise.primitives.control import TURNS

#: Words of `control`, behind the strategy's. COUNT and EDGES are the active vertices and their out-edges, TOUCHED those
#: that got a first message while being halted, UNITS what the strategy counts; they take turns. FORMS count supersteps
#: by form.
CONTROL = STRATEGY_CONTROL.more()
COUNT, EDGES, TOUCHED = (CONTROL.take(TURNS) for _ in range(3))
SUPERSTEP, ENDED, FORMS = CONTROL.take(), CONTROL.take(), CONTROL.take(2)
UNITS = CONTROL.take_line(COUNTERS * TURNS)
#: Nanoseconds by the clock of thread 0: of delivering messages, of computing vertices, of all; of gathering over slots.
DELIVERING, SETTLING, ALL, GATHERING = (CONTROL.take() for _ in range(4))
#: The words of `Outcome.phase_seconds`.
PHASES = {
    "sharing": SHARING_NS,
    "delivering": DELIVERING,
    "computing": SETTLING,
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
CANCELLED = 3
