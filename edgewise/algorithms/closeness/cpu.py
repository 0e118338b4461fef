"""Sums of distances on the CPU: the launches of `cpu_hops` and `cpu_lengths`, their memory, and lengths as a matrix."""

import numpy as np

from edgewise.algorithms.bfs.cpu import ArcsBothWays, arcs_both_ways
from edgewise.algorithms.closeness.cpu_hops import (
    LANES,
    make_searches,
    order_by_groups,
    search_all,
    searches_bytes,
)
from edgewise.algorithms.closeness.cpu_lengths import length_searches_bytes, make_length_searches, measure_all
from edgewise.algorithms.closeness.job import Found, Job, make_found, refusal_of_sum
from edgewise.algorithms.common.lengths import arcs_of, in_arcs_of
from edgewise.execution import Execution, rest_of, threads_of
from edgewise.graph import Graph, Made
from edgewise.kernels.cpu.launch import launch
from edgewise.kernels.cpu.team import available_threads, run_alone
from edgewise.memory import Step, held, in_turn
from edgewise.schedule import Schedule

#: Bytes for each vertex that is asked for: its index and what is found, twice while that is put into their order, and
#: where that is; and for each vertex while groups are made, and in the result.
_ASKED_BYTES, _VERTEX_BYTES = (2 * 5 + 2) * 8, 9 + 4 * 8


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
    both, lanes = both.reversed() if job.turned else both, _lanes(count, run.num_threads)
    order = _grouped(both, n, lanes) if count == n else sources
    none = np.empty((0, 0), np.int32)
    run.launch(search_all, both, order, lanes, make_searches(n, threads), none, found, work=job.work(count))
    run.explain(f"{lanes} breadth-first searches at a time, on each of at most {threads} threads")
    return found if order is sources else _in_place(found, order, sources)


def _lanes(count: int, threads: int) -> int:
    """How many searches a thread does at a time: fewer if there are not enough for all threads."""
    return max(1, min(LANES, -(-count // threads)))


def _grouped(arcs: ArcsBothWays, num_vertices: int, lanes: int) -> np.ndarray:
    """All vertices, each `lanes` of them near each other."""
    order = np.empty(num_vertices, np.int64)
    run_alone(order_by_groups, arcs, lanes, np.zeros(num_vertices, bool), order)
    return order


def _in_place(found: Found, order: np.ndarray, sources: np.ndarray) -> Found:
    """What is found for all vertices, which comes in some order, in that of the sources."""
    places = np.empty(len(order), np.int64)
    places[order] = np.arange(len(order))
    places = places[sources]
    return Found(*(values[places] for values in found))


def hop_lengths(graph: Graph, sources: np.ndarray) -> np.ndarray:
    """The numbers of arcs on shortest paths from many vertices to all: int32, shape (k, n), -1 where there is no path.

    Args:
        graph: the graph; its in-edges are made if it has none.
        sources: indices of different vertices, shape (k,).
    """
    sources, n = np.asarray(sources, np.int64), graph.num_vertices
    lengths, found = np.full((len(sources), n), -1, np.int32), make_found(len(sources), np.dtype(np.int32))
    lengths[np.arange(len(sources)), sources] = 0
    graph.make_in_edges()
    threads = available_threads()
    lanes, searches = _lanes(len(sources), threads), make_searches(n, threads)
    work = Job("hop_lengths", graph, False, False, lengths.dtype).work(len(sources))
    launch(search_all, arcs_both_ways(graph), sources, lanes, searches, lengths, found, work=work)
    return lengths


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
