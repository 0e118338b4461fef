"""What a program's kernel does with vertices: find the active ones, compute them, and fold them into aggregates."""

from typing import Any, NamedTuple

import numpy as np

from edgewise.balance.contract import COUNTERS
from edgewise.engine.cuda.control import COUNT, EDGES, UNITS
from edgewise.kernels.cuda.device import device_function, grid_barrier, lane, num_threads, thread_index
from edgewise.primitives.deal import add_to_total, append
from edgewise.primitives.endings import CANCELLED, FINISHED, LIMITED, STOPPED
from edgewise.program.inspect import Specification

#: Vertices are folded into at most FOLDS[0] parts, these into at most FOLDS[1], and so on down to one. That fixes the
#: order of sums.
FOLDS = (65_536, 1024, 32, 1)


class Listing(NamedTuple):
    """How active vertices are listed and counted.

    Attributes:
        list_active: ``list_active(v, active, following, turn, run)``, called by all lanes of a warp at once.
        count_active: ``count_active(edges, active, turn, run)``, called by all threads of a block after `list_active`.
    """

    list_active: Any
    count_active: Any


def make_listing(pushes: bool, list_units: Any) -> Listing:
    """The functions that list and count; `pushes` says whether a list of active vertices is ever used."""

    @device_function
    def list_active(v, active, following, turn, run):
        """List the active vertices of this warp's lanes if a list is used; then the out-degree of this lane's, else 0,
        for it takes a while to look up, and decides nothing where messages are always pulled."""
        if pushes:
            append(following, run.control, COUNT + turn, v, active)
            return list_units(v, active, UNITS + COUNTERS * turn, run)
        return np.int64(0)

    @device_function
    def count_active(edges, active, turn, run):
        """Add this thread's out-edges to the total, or its active vertices if no list counts them."""
        if pushes:
            add_to_total(edges, 0, run.tally, run.control, EDGES + turn)
        else:
            add_to_total(active, 1, run.tally, run.control, COUNT + turn)

    return Listing(list_active, count_active)


@device_function
def vertex_by_index(i: Any, run: Any) -> Any:
    return i


@device_function
def vertex_by_row(i: Any, run: Any) -> Any:
    return np.int64(run.layout.vertices[i])


def make_computing(compute: Any, by_row: bool, everyone: bool, listing: Listing) -> Any:
    """The function that computes the vertices of a superstep.

    Args:
        compute: see `edgewise.engine.cuda.messages.Messages`.
        by_row: whether all vertices, where they are looked at, come in the order of the layout's rows.
        everyone: whether all vertices are active whenever it is called.
    """
    vertex_at = vertex_by_row if by_row else vertex_by_index
    list_active, count_active = listing

    @device_function
    def compute_vertex(v, stamp, state, run):
        """Compute one vertex with its messages; whether it is active next."""
        if compute(v, stamp, state, run):
            run.work.active[v] = stamp + 1
            return True
        return False

    @device_function
    def compute_vertices(n, listed, count, touched, following, turn, everywhere, stamp, state, run):
        """Compute the vertices that are active or got a message, and list those that are active next.

        With `everywhere` all vertices are looked at. Else they are listed[:count], and run.work.touched[:touched].
        """
        end = n if everywhere else count + touched
        edges, active = np.int64(0), np.int64(0)
        for begin in range(thread_index() - lane(), end, num_threads()):
            goes_on, v, i = False, np.int64(0), begin + lane()
            takes = i < end
            if takes:
                v = vertex_at(i, run)
                if everywhere:
                    takes = everyone or run.work.active[v] == stamp or run.received[v] == stamp
                else:
                    v = np.int64(listed[i]) if i < count else np.int64(run.work.touched[i - count])
            if takes:
                goes_on = compute_vertex(v, stamp, state, run)
            if goes_on:
                active += 1
            edges += list_active(v, goes_on, following, turn, run)
        count_active(edges, active, turn, run)

    return compute_vertices


def make_walk_of_threads(body: Any) -> Any:
    """`edgewise.balance.columnar.make_walk` over in-edges, with a thread for each vertex."""

    @device_function
    def walk(low, high, context, run):
        one, other = np.int64(0), np.int64(0)
        for begin in range(low + thread_index() - lane(), high, num_threads()):
            v, first, end = np.int64(-1), np.int64(0), np.int64(0)
            if begin + lane() < high:
                v = begin + lane()
                first, end = np.int64(run.graph.in_offsets[v]), np.int64(run.graph.in_offsets[v + 1])
            found = body(v, first, end, np.int64(1), np.int64(1), context)
            one, other = one + found[0], other + found[1]
        return one, other

    return walk


def make_computing_rows(make_walk: Any, gather_and_compute: Any, listing: Listing) -> Any:
    """The function that gathers for all vertices and computes them, each as soon as it has its message.

    Args:
        make_walk: makes what goes over rows: of a layout, as `edgewise.balance.columnar.make_walk`, or of in-edges.
        gather_and_compute: see `edgewise.engine.cuda.messages.Messages`.
    """
    list_active, count_active = listing

    @device_function
    def compute_row(v, first, end, step, lanes, context):
        stamp, everyone, state, run, following, turn = context
        goes_on = gather_and_compute(v, first, end, step, lanes, (stamp, everyone, state, run))
        if goes_on:
            run.work.active[v] = stamp + 1
        edges = list_active(max(v, np.int64(0)), goes_on, following, turn, run)
        return edges, np.int64(1 if goes_on else 0)

    walk = make_walk(compute_row)

    @device_function
    def compute_rows(n, listed, count, touched, following, turn, everywhere, stamp, state, run):
        """Compute the vertices that are active or get a message, and list those that are active next. The arguments are
        those of `compute_vertices`, which looks at all vertices."""
        context = (stamp, count == n, state, run, following, turn)
        edges, active = walk(np.int64(0), n, context, run)
        count_active(edges, active, turn, run)

    return compute_rows


def make_folding(glue: Any) -> Any:
    """The function that evaluates the aggregates."""
    fold_vertices, fold_parts, set_aggregates = glue.fold_vertices, glue.fold_parts, glue.set_aggregates
    folds = FOLDS

    @device_function
    def aggregate(n, state, own, control, generation):
        """Fold all vertices into the aggregates, which every thread may read afterwards; the barrier's generation."""
        me, parts = thread_index(), min(np.int64(folds[0]), n)
        for part in range(me, parts, num_threads()):
            fold_vertices(part, part, n, parts, state, own)
        generation = grid_barrier(control, generation)
        for fewer in folds[1:]:
            for part in range(me, min(np.int64(fewer), max(parts, 1)), num_threads()):
                fold_parts(part, parts, fewer, own)
            parts = min(np.int64(fewer), parts)
            generation = grid_barrier(control, generation)
        if me == 0:
            set_aggregates(own)
        return grid_barrier(control, generation)

    return aggregate


def make_asking(vote: Any, listing: Listing) -> Any:
    """The function that calls `vote` for all vertices and lists those that are active."""
    list_active, count_active = listing

    @device_function
    def ask(n, state, stamp, listed, turn, run):
        edges, active = np.int64(0), np.int64(0)
        for begin in range(thread_index() - lane(), n, num_threads()):
            starts, v = False, begin + lane()
            if v < n and vote(v, state):
                starts = True
                run.work.active[v] = stamp
                active += 1
            edges += list_active(v, starts, listed, turn, run)
        count_active(edges, active, turn, run)

    return ask


def make_resuming(spec: Specification, make_state: Any, ask: Any, aggregate: Any) -> Any:
    """The function that resumes a run; `ask` calls the program's resume for all vertices."""
    has_aggregates = spec.folds_always
    has_late_aggregates = bool(spec.aggregators) and not has_aggregates

    @device_function
    def resume_run(n, m, superstep, stamp, listed, turn, generation, run):
        """Call resume for all vertices, none of which is active, and list those that are active then."""
        # All threads have to read that no vertex is active before the count changes.
        generation = grid_barrier(run.control, generation)
        state = make_state(run.own, n, m, superstep)
        if has_late_aggregates:
            generation = aggregate(n, state, run.own, run.control, generation)
        ask(n, make_state(run.own, n, m, superstep), stamp, listed, turn, run)
        generation = grid_barrier(run.control, generation)
        if has_aggregates:
            generation = aggregate(n, state, run.own, run.control, generation)
        return generation

    return resume_run


def make_starting(spec: Specification, glue: Any, ask: Any, aggregate: Any) -> Any:
    """The function that begins a run; `ask` calls the program's initialize for all vertices."""
    make_state, fill_fields, has_aggregates = glue.make_state, glue.fill_fields, spec.folds_always

    @device_function
    def start_run(n, m, base, supplied, generation, run):
        """Fill fields, call initialize for all vertices and list the active ones."""
        for v in range(thread_index(), n, num_threads()):
            fill_fields(v, v + 1, run.own, supplied)
        generation = grid_barrier(run.control, generation)
        state = make_state(run.own, n, m, 0)
        ask(n, state, base + 1, run.work.frontier, np.int64(0), run)
        generation = grid_barrier(run.control, generation)
        if has_aggregates:
            generation = aggregate(n, state, run.own, run.control, generation)
        return generation

    return start_run


def make_ending(spec: Specification, make_state: Any, proceed: Any) -> Any:
    """The function that says whether a run ends."""
    has_proceed = spec.has_proceed

    @device_function
    def ending(n, m, own, superstep, count, limit, cancelled, resumed):
        """Why the run ends before the next superstep, as the number of an `Ending`, or -1 if it goes on. The program is
        asked once after each superstep, not when vertices have `resumed`."""
        if cancelled:
            return CANCELLED
        if has_proceed and superstep > 0 and not resumed and not proceed(make_state(own, n, m, superstep)):
            return STOPPED
        if count == 0:
            return FINISHED
        return LIMITED if superstep == limit else -1

    return ending
