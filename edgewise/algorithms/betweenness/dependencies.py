"""Sums of dependencies over sources: where they are found, and launches of `cpu.accumulate`: one, or where sums are
kept in a file, one for each batch of sources.
"""

from typing import Any

import numpy as np

from edgewise.algorithms.betweenness.checkpoint import COPIES, Checkpoint
from edgewise.algorithms.betweenness.cpu import ON_ARCS, Size, accumulate, make_accumulation
from edgewise.algorithms.betweenness.lengths import arcs_for, exact_dtype, refusal_of_weights
from edgewise.errors import ScheduleError
from edgewise.execution import Chosen, Execution, choose, rest_of, threads_of
from edgewise.graph import Graph
from edgewise.kernels.costs import levels
from edgewise.memory import as_bytes
from edgewise.schedule import Schedule


def size_for(
    name: str,
    graph: Graph,
    num_sources: int,
    weighted: bool,
    on: int,
    schedule: Schedule | None,
    memory_limit: int | None,
    checkpoint: Any,
    beside: int,
) -> Size:
    """The size of the state for so many sources: see `sum_over`. What the run holds beside it counts for the
    limit, too. Raises GraphError, ParameterError, ScheduleError."""
    limit = as_bytes(f"{name}: memory_limit", memory_limit)
    size = Size(
        num_vertices=graph.num_vertices,
        num_sums=graph.num_arcs if on == ON_ARCS else graph.num_vertices,
        num_threads=threads_of(name, schedule),
        dtype=exact_dtype(name, graph, weighted),
        num_copies=0 if checkpoint is None else COPIES,
    )
    return size.with_rows(num_sources, rest_of(limit, beside))


def source_work(num_vertices: int, num_arcs: int, weighted: bool) -> float:
    """About the nanoseconds that one thread takes for one source."""
    return (20 * num_vertices + 5 * num_arcs) * (3 if weighted else 1)


def sum_over(
    name: str,
    graph: Graph,
    sources: np.ndarray,
    weighted: bool,
    on: int,
    size: Size,
    memory_limit: int | None,
    run: Execution,
    checkpoint: Any,
    as_program: bool = False,
) -> Any:
    """The sums of dependencies over sources, float64, shape (size.num_sums,), on the GPU if the run is there.

    Args:
        name: what runs, for messages.
        graph: the graph.
        sources: int64, shape (k,).
        weighted: whether arcs have the lengths of their weights.
        on: what dependencies are on; see `cpu`.
        size: what `size_for` has for all this.
        memory_limit: bytes that the run may allocate, or None.
        run: the run.
        checkpoint: the name of a file that keeps the sums of an interrupted run; None for no such file.
        as_program: whether it is a program that finds them on the GPU.

    Raises:
        GraphError: a float weight is lost beside a distance.
        ParameterError, OutputError: a file that is no checkpoint of this run, or cannot be written.
    """
    if run.on_gpu and len(sources):
        from edgewise.algorithms.betweenness import cuda

        return cuda.sum_over(name, graph, sources, weighted, on, memory_limit, run, checkpoint, as_program)
    arcs, state, count = arcs_for(graph, weighted), make_accumulation(size), len(sources)

    def add_up(begin: int, end: int) -> None:
        work = (end - begin) * source_work(graph.num_vertices, graph.num_arcs, weighted)
        run.launch(accumulate, arcs, sources, begin, end, on, state, work=work)
        if state.lost[0]:
            raise refusal_of_weights(name)

    if checkpoint is None:
        add_up(0, count)
        return state.total
    with Checkpoint(checkpoint, name, arcs, sources, on) as kept:
        done = kept.begin(state.total, count, run)
        while done < count:
            end = min(done + size.num_rows, count)
            add_up(done, end)
            done = end
            kept.keep(done, state.total)
            if run.progress is not None:
                run.progress(done)
    return state.total


def choose_place(
    name: str, graph: Graph, num_sources: int, weighted: bool, device: Any, schedule: Schedule | None
) -> Chosen:
    """Where dependencies of so many sources are summed; weighted ones are done one after the other on a GPU."""
    n, m = graph.num_vertices, graph.num_arcs
    batches = num_sources if weighted else -(-num_sources // 32)
    return choose(
        name,
        graph,
        device,
        schedule,
        work=num_sources * source_work(n, m, weighted),
        rounds=batches * 2 * levels(n, m),
        arrays=("offsets", "targets", "in_offsets", "in_sources"),
    )


def no_program(name: str, what: str) -> ScheduleError:
    """The refusal of a schedule that has an algorithm run as a program."""
    return ScheduleError(
        f"{name}: {what} this does not run as a program, which a balance, a layout or a buffer asks for on a GPU. "
        "Leave them at 'auto'"
    )
