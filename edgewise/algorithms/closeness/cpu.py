"""Sums of distances on the CPU: the launches of `cpu_hops` and `cpu_lengths`, and their memory."""

import numpy as np

from edgewise.algorithms.bfs.cpu import ArcsBothWays, arcs_both_ways, levels_from, levels_memory
from edgewise.algorithms.closeness.cpu_hops import (
    LANES,
    make_searches,
    order_by_groups,
    search_all,
    searches_bytes,
)
from edgewise.algorithms.closeness.cpu_lengths import length_searches_bytes, make_length_searches, measure_all
from edgewise.algorithms.closeness.job import Found, Job, found_by_levels, make_found, refusal_of_sum
from edgewise.algorithms.common.lengths import arcs_of, in_arcs_of
from edgewise.execution import Execution, rest_of, threads_of
from edgewise.graph import Made
from edgewise.kernels.cpu.team import run_alone
from edgewise.memory import Step, held, in_turn
from edgewise.schedule import Schedule

#: Bytes for each vertex that is asked for: its index and what is found, twice while that is put into their order, and
#: where that is; and for each vertex while groups are made, and in the result.
_ASKED_BYTES, _VERTEX_BYTES = (2 * 5 + 2) * 8, 9 + 4 * 8
#: Bytes for each vertex while the levels of one search are summed up.
_LEVEL_BYTES = 1 + 4 + 8
#: At most FEW searches go one after the other, each on all threads. So do more in a graph of at least DEEP levels from
#: one of the first PROBES sources, if it has at least FAR_APART vertices for each source: searches that are made at the
#: same time then seldom visit a vertex at the same level.
FEW, DEEP, PROBES, FAR_APART = 8, 64, 3, 20


def sum_distances(job: Job, sources: np.ndarray, run: Execution) -> Found:
    """What is found for each source, in their order.

    Raises:
        GraphError: a sum of distances is more than int64 holds.
    """
    n, count = job.graph.num_vertices, len(sources)
    threads = _threads(job, count, run.num_threads, rest_of(run.memory_limit, _beside(job, count)))
    found = make_found(count, job.dtype)
    if job.weighted:
        if job.turned:
            run.make_in_edges(job.graph)
        arcs = in_arcs_of(job.graph) if job.turned else arcs_of(job.graph)
        lengths = make_length_searches(n, threads, job.dtype)
        run.launch(measure_all, arcs, sources, lengths, found, work=job.work(count))
        if lengths.too_large[0]:
            raise refusal_of_sum(job.name)
        run.explain("a search by weights from each vertex, each by one thread")
        return found
    run.make_in_edges(job.graph)
    both = arcs_both_ways(job.graph)
    both = both.reversed() if job.turned else both
    done = _search_each(job, both, sources, found, run) if count < n else 0
    if done < count:
        left = Found(*(values[done:] for values in found))
        _search_together(job, both, sources[done:], threads, left, run)
    return found


def _search_each(job: Job, arcs: ArcsBothWays, sources: np.ndarray, found: Found, run: Execution) -> int:
    """Search from one source after the other, each on all threads, if these are few, or far apart in a deep graph; how
    many were done."""
    n, count = job.graph.num_vertices, len(sources)
    taken = levels_memory(n, run.num_threads).most + _LEVEL_BYTES * n
    room = rest_of(run.memory_limit, _beside(job, count))
    if (count > FEW and count * FAR_APART > n) or (room is not None and taken > room):
        return 0
    progress, done, deepest = run.progress, 0, 0
    with run.telling(None):
        while done < count and (count <= FEW or done < PROBES or deepest >= DEEP):
            if progress is not None:
                progress(done)
            level, levels = levels_from(int(sources[done]), arcs, run)
            for values, value in zip(found, found_by_levels(level.view(np.int32)), strict=True):
                values[done] = value
            done, deepest = done + 1, max(deepest, levels)
            del level  # before the next are made
    run.explain(f"{done} breadth-first searches, one after the other, on all threads")
    return done


def _search_together(
    job: Job, arcs: ArcsBothWays, sources: np.ndarray, threads: int, found: Found, run: Execution
) -> None:
    """Search from many sources at the same time, from those that are near each other together, and fill `found`."""
    n, count = job.graph.num_vertices, len(sources)
    lanes, state = _lanes(count, run.num_threads), make_searches(n, threads)
    run.explain(f"{lanes} breadth-first searches at a time, on each of at most {threads} threads")
    if count < LANES:
        run.launch(search_all, arcs, sources, lanes, state, found, work=job.work(count))
        return
    order, ordered = _grouped(arcs, sources, n, lanes), make_found(count, job.dtype)
    run.launch(search_all, arcs, order, lanes, state, ordered, work=job.work(count))
    places = np.empty(n, np.int64)
    places[order] = np.arange(count)
    for values, those in zip(found, ordered, strict=True):
        values[:] = those[places[sources]]


def _lanes(count: int, threads: int) -> int:
    """How many searches a thread does at a time: fewer if there are not enough for all threads."""
    return max(1, min(LANES, -(-count // threads)))


def _grouped(arcs: ArcsBothWays, sources: np.ndarray, num_vertices: int, lanes: int) -> np.ndarray:
    """The sources, about each `lanes` of them near each other."""
    order, asked = np.empty(num_vertices, np.int64), np.zeros(num_vertices, bool)
    run_alone(order_by_groups, arcs, lanes * num_vertices // len(sources), asked, order)
    asked[:] = False
    asked[sources] = True
    return order[asked[order]]


def sums_memory(job: Job, count: int, schedule: Schedule, memory_limit: int | None) -> int:
    """The memory that a run for `count` vertices takes, with as many threads as the limit allows, but at least one."""
    making, beside = _making(job), _beside(job, count)
    threads = _threads(job, count, threads_of(job.name, schedule), rest_of(memory_limit, beside))
    return in_turn(making, held(beside - making.kept + threads * _thread_bytes(job))).most


def _making(job: Job) -> Step:
    needs_in_edges = job.turned or not job.weighted
    return job.graph.making(Made.IN_EDGES) if needs_in_edges else job.graph.making()


def _beside(job: Job, count: int) -> int:
    """The bytes that a run takes beside those of its threads."""
    return _making(job).kept + _ASKED_BYTES * count + _VERTEX_BYTES * job.graph.num_vertices


def _thread_bytes(job: Job) -> int:
    size = length_searches_bytes if job.weighted else searches_bytes
    return size(job.graph.num_vertices)


def _threads(job: Job, count: int, most: int, room: int | None) -> int:
    """How many threads have searches of their own: no more than can be used, and than there is room for."""
    useful = count if job.weighted else -(-count // _lanes(count, most))
    fitting = most if room is None else room // max(_thread_bytes(job), 1)
    return max(1, min(useful, most, fitting))
