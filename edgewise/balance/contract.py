"""What a strategy is made of, and what it is made for: see `edgewise.balance`."""

from typing import Any, NamedTuple

#: What a unit that is gathered over is, if no part of a vertex: all of it, or what is left of it after a first share,
#: whose message waits to be added to.
WHOLE, MORE = -1, -2
#: Words that a strategy may count in at each superstep; they are 0 when its vertices begin to be listed.
COUNTERS = 3
#: Words of `control`: SHARED counts the supersteps whose vertices sent in equal shares where a strategy might have done
#: otherwise, SHARING_NS adds up the nanoseconds in which shares were found, by the clock of thread 0.
SHARED, SHARING_NS = 43, 44


class Bodies(NamedTuple):
    """What is done with arcs. All are called by all lanes of a warp at once.

    Attributes:
        visit: ``visit(takes, v, key, k, context)``, for those lanes that have out-edge k of vertex v: send along it.
            It returns two numbers that are added up.
        scatter: ``scatter(v, first, end, step, lanes, context)``: send along the out-edges of a unit.
        gather: ``gather(v, first, end, step, lanes, part, context)``: gather over the in-edges of a unit. It is the
            part of that number, which is kept apart, or `WHOLE`, or `MORE`.
        join: ``join(v, first, end, context)``, with the same vertex on all lanes: combine the parts first to end with
            the message that it has, if it has one.
        add: ``add(takes, v, k, context)``, for those lanes that have in-edge k of vertex v: send along it by an atomic
            operation, where messages may be combined in any order.
    """

    visit: Any
    scatter: Any
    gather: Any
    join: Any
    add: Any


class Strategy(NamedTuple):
    """Who does which arcs. All are called by all threads of the grid.

    `run` has the attributes ``graph`` (offsets, targets, in_offsets, in_sources), ``plan`` (the strategy's arrays, see
    `edgewise.engine.cuda.plan`), ``control`` (int64), and, shared by a block, ``tally`` and ``scratch``. `generation`
    is that of the barrier of the grid.

    Attributes:
        list_units: ``list_units(v, active, counter, run)``, by all lanes of a warp at once: note that those lanes'
            vertices that are active will send; the degree of this lane's, or 0. `counter` is the first of the
            `COUNTERS` words of `control` that this superstep counts in.
        push_all: ``push_all(listed, count, counter, generation, context, run)``: send along all out-edges of the
            vertices listed[:count]; the generation afterwards. A barrier of the grid lies before, and follows.
        pull_all: ``pull_all(n, generation, context, run)``: gather over all in-edges.
    """

    list_units: Any
    push_all: Any
    pull_all: Any
