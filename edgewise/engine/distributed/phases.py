"""The phases of a superstep on one rank, between which ranks speak with each other."""

from enum import IntEnum


class Phase(IntEnum):
    """What a call of the kernel carries out, on the vertices from `low` to `high` - 1, by pieces of `step`.

    FILL sets fields to their initial values. START and RESUME ask vertices whether they are active. LIST lists active
    vertices. SEND_LISTED and SEND push messages, from a list and from all active vertices; GATHER pulls them. COMBINE
    joins messages of other ranks to those that are here. COMPUTE_LISTED and COMPUTE compute vertices. FOLD evaluates
    aggregates of `step` vertices together, TOTAL joins the results from `low` on; PROCEED asks whether to
    go on. BEST finds the best first message of active vertices, and its vertex, for each thread.
    """

    FILL = 0
    START = 1
    RESUME = 2
    LIST = 3
    SEND_LISTED = 4
    SEND = 5
    GATHER = 6
    COMBINE = 7
    COMPUTE_LISTED = 8
    COMPUTE = 9
    FOLD = 10
    TOTAL = 11
    PROCEED = 12
    BEST = 13
