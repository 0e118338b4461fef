"""Strongly connected components as programs: the steps of the kernel in `cuda`, by calls of three programs.

Programs send along out-edges only, so steps against arcs run on the graph with all arcs reversed; the graph keeps it.
*Trim* takes away vertices without an in-edge from their own group, *Reach* finds the vertices that can be reached
inside a group, *Colours* spreads the largest priority inside groups. Between calls, groups are made on the host.

The number of rounds of colours is the depth of a random search tree, O(log n) expected on every graph.
"""

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from edgewise.algorithms.common.programs import prepared_with, tell_schedule, turned_round
from edgewise.errors import MemoryLimitError
from edgewise.execution import Execution, stop_if_explained
from edgewise.graph import Graph
from edgewise.kernels.cuda.memory import host_copy
from edgewise.program.declare import ACTIVE, ANY, HALT, MAX, SUM, Program, vertex
from edgewise.run import Prepared
from edgewise.text import shown

#: The group of vertices whose component is known.
KNOWN = -1


class Trim(Program):
    """Vertices without an in-edge from another vertex of their group, and those without one once these are gone."""

    group = vertex("int32")
    sources = vertex("int32")
    alone = vertex("bool")
    combine = SUM
    message = "int32"

    @staticmethod
    def initialize(v: Any, state: Any) -> Any:
        return ACTIVE if state.group[v] >= 0 else HALT

    @staticmethod
    def edge_compute(edge: Any, state: Any) -> Any:
        if edge.source != edge.target and state.group[edge.source] == state.group[edge.target]:
            return 1
        return None

    @staticmethod
    def vertex_compute(v: Any, message: Any, state: Any) -> Any:
        # All vertices send in the first superstep; then each sends once, when it is taken away.
        state.sources[v] = message if state.superstep == 1 else state.sources[v] - message
        if state.sources[v] == 0 and not state.alone[v]:
            state.alone[v] = True
            return ACTIVE
        return HALT


class Reach(Program):
    """The vertices that arcs inside groups lead to from vertices that are given as reached."""

    group = vertex("int32")
    reached = vertex("bool")
    combine = ANY

    @staticmethod
    def initialize(v: Any, state: Any) -> Any:
        return ACTIVE if state.reached[v] else HALT

    @staticmethod
    def edge_compute(edge: Any, state: Any) -> Any:
        if not state.reached[edge.target] and state.group[edge.source] == state.group[edge.target]:
            return True
        return None

    @staticmethod
    def vertex_compute(v: Any, message: Any, state: Any) -> Any:
        if message and not state.reached[v]:
            state.reached[v] = True
            return ACTIVE
        return HALT


class Colours(Program):
    """The largest colour from which arcs inside a group lead to each vertex."""

    group = vertex("int32")
    colour = vertex("int32")
    combine = MAX
    message = "int32"

    @staticmethod
    def initialize(v: Any, state: Any) -> Any:
        return ACTIVE if state.group[v] >= 0 else HALT

    @staticmethod
    def edge_compute(edge: Any, state: Any) -> Any:
        if state.group[edge.source] == state.group[edge.target]:
            return state.colour[edge.source]
        return None

    @staticmethod
    def vertex_compute(v: Any, message: Any, state: Any) -> Any:
        if message > state.colour[v]:
            state.colour[v] = message
            return ACTIVE
        return HALT


#: Carries out a program with values for its fields; returns one of its fields, and the supersteps.
_CarryOut = Callable[..., tuple[np.ndarray, int]]


def strong_components_on_ranks(graph: Graph, run: Execution) -> tuple[np.ndarray, int, int]:
    """`strong_components` on the GPUs of all ranks."""
    return strong_components(graph, run, on_ranks=True)


def strong_components(graph: Graph, run: Execution, on_ranks: bool = False) -> tuple[np.ndarray, int, int]:
    """Labels, the number of components, and supersteps of the two searches.

    Args:
        graph: directed, with at least one vertex; it keeps its reverse.
        run: the run; its limit holds for each call of a program.
        on_ranks: whether programs run on all ranks; what is between them, each rank does for itself.
    """
    tell_schedule(run, "programs")
    n = graph.num_vertices
    if on_ranks:
        run.make_in_edges(graph)
    ways = graph, graph.reverse() if on_ranks else turned_round(graph, False, run)
    trims, reaches = (
        [prepared_with(program, way, run, on_ranks) for way in ways] for program in (Trim, Reach)
    )
    colours = prepared_with(Colours, graph, run, on_ranks)

    def carry_out(prepared: Prepared, field: str, **values: np.ndarray) -> tuple[np.ndarray, int]:
        outcome = prepared.carry_out(run, values, None)
        found = outcome.vertex_fields[field]
        return found if on_ranks else host_copy(found), outcome.supersteps

    component, group, supersteps = np.arange(n, dtype=np.int32), np.zeros(n, np.int32), 0
    if not on_ranks:
        stop_if_explained(run, graph, _most_needed(run, (*trims, *reaches, colours), group))
    _trim(trims, group, carry_out)
    if (group != KNOWN).any():
        arcs = np.minimum(ways[0].out_degree, ways[1].out_degree)
        start = int(np.argmax(np.where(group == KNOWN, -1, arcs)))
        supersteps = _search(start, reaches, group, component, carry_out)
        searched, (name,) = np.count_nonzero(component == component[start]), graph.ids_of([start]).tolist()
        run.explain(
            f"{searched:,} of {n:,} vertices are in the component of vertex {shown(name)}: two searches"
        )
    # Any order will do that does not depend on the graph.
    priority, rounds = np.random.default_rng(0).permutation(n).astype(np.int32), 0
    while True:
        _trim(trims, group, carry_out)
        if (group == KNOWN).all():
            break
        rounds += 1
        colour, _ = carry_out(colours, "colour", group=group, colour=priority)
        roots = (colour == priority) & (group != KNOWN)
        collected, _ = carry_out(reaches[1], "reached", group=colour, reached=roots)
        _label(collected, colour, component)
        group = np.where(collected | (group == KNOWN), KNOWN, colour).astype(np.int32)
    run.explain(f"the rest took {rounds:,} rounds of colours; vertices are trimmed before each")
    return component, int(np.count_nonzero(component == np.arange(n))), supersteps


def _most_needed(run: Execution, programs: Iterable[Prepared], group: np.ndarray) -> int:
    """Lay programs out, and give the bytes of the GPU's memory that any takes beside that.

    Raises:
        MemoryLimitError: more is needed than allowed: by the program that needs most.
    """
    needed, refusals = 0, list[MemoryLimitError]()
    for each in programs:
        try:
            needed = max(needed, each.needing(run, {"group": group}))
        except MemoryLimitError as refused:
            refusals.append(refused)
    if refusals:
        raise max(refusals, key=lambda each: each.needed)
    return needed


def _trim(trims: list[Prepared], group: np.ndarray, carry_out: _CarryOut) -> None:
    """Take vertices that are alone by their arcs out of their groups. Their labels are their own from the start."""
    for each in trims:
        alone, _ = carry_out(each, "alone", group=group)
        group[alone] = KNOWN


def _search(
    start: int, reaches: list[Prepared], group: np.ndarray, component: np.ndarray, carry_out: _CarryOut
) -> int:
    """Label the component of a vertex, and group the rest by the searches that reached them. Returns supersteps."""
    sources = np.arange(len(group)) == start
    (forward, there), (backward, back) = (
        carry_out(each, "reached", group=group, reached=sources) for each in reaches
    )
    both = forward & backward
    component[both] = np.argmax(both)
    left = group != KNOWN
    group[left] = forward[left] + 2 * backward[left]
    group[both] = KNOWN
    return there + back


def _label(collected: np.ndarray, colour: np.ndarray, component: np.ndarray) -> None:
    """Label the collected vertices of each colour with the smallest of them."""
    vertices = np.flatnonzero(collected)
    _, first, place = np.unique(colour[vertices], return_index=True, return_inverse=True)
    component[vertices] = vertices[first][place]
