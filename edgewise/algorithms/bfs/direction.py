"""The direction of a search that a schedule asks for."""

from edgewise.primitives.direction import AUTO, PULL, PUSH
from edgewise.schedule import Pull, Push, Schedule


def forced_direction(schedule: Schedule) -> int:
    """The direction of all levels that a schedule asks for, or AUTO."""
    return {Push: PUSH, Pull: PULL}.get(type(schedule.delivery), AUTO)
