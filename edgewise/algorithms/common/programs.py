"""Algorithms as programs, for schedules that their own kernels cannot follow.

Those kernels deal out edges in their own ways; a program runs with every strategy. Answers do not differ.
"""

from typing import Any

from edgewise.algorithms.common.device_graph import laid_out
from edgewise.engine.contract import Outcome
from edgewise.execution import Execution
from edgewise.graph import Graph
from edgewise.kernels.cuda.memory import copy_of
from edgewise.program.declare import Program
from edgewise.run import Prepared


def prepared_for(program: type[Program], graph: Graph, run: Execution) -> Prepared:
    """A program to be carried out as part of a run, by the run's schedule."""
    with run.laying_out():
        return Prepared(program, graph, "cuda", run.schedule)


def prepared_with(program: type[Program], graph: Graph, run: Execution, on_ranks: bool) -> Prepared:
    """A program to be carried out as part of a run, on a GPU, or on all ranks, on their CPUs or GPUs; the outcome of
    these is gathered, in the host's memory."""
    if not on_ranks:
        return prepared_for(program, graph, run)
    from edgewise.algorithms.common.ranks import prepared_on_ranks

    return prepared_on_ranks(program, graph, run.schedule, run.on_gpu)


def carried_out(
    program: type[Program],
    graph: Graph,
    run: Execution,
    given: dict[str, Any],
    limit: int | None,
    on_ranks: bool = False,
) -> Outcome:
    """What a program ends with that is carried out as part of a run, on a GPU or on all ranks, and how, explained.

    Args:
        program, graph, run: what is run, on what, and the run that this is a part of.
        given: parameters, and arrays for fields.
        limit: the most supersteps, or None.
        on_ranks: see `prepared_with`.
    """
    outcome = prepared_with(program, graph, run, on_ranks).carry_out(run, given, limit)
    if on_ranks:
        run.notes.extend(outcome.explanation)
    else:
        explain(run, outcome)
    return outcome


def tell_schedule(run: Execution, what: str) -> None:
    """Explain what runs on the GPU, and by which parts of the schedule."""
    parts = {name: getattr(run.schedule, name) for name in ("delivery", "balance", "layout")}
    told = ", ".join(f"{name} {part}" for name, part in parts.items() if part != "auto")
    run.explain(f"{what} on the GPU{f': {told}' if told else ''}")


def explain(run: Execution, outcome: Outcome) -> None:
    """Explain how a program was carried out."""
    tell_schedule(run, "a program")
    run.notes.extend(outcome.explanation)


def with_both_ways(graph: Graph, weighted: bool, run: Execution, on_ranks: bool = False) -> Graph:
    """The graph with every edge both ways, with or without its weights; it is made once, and the graph keeps it. Ranks
    have it in the host's memory, and take their parts of it to their GPUs."""
    if not graph.directed:
        return graph
    return laid_out(run, "laid out the edges both ways", graph, both_ways, weighted, not on_ranks)


def both_ways(graph: Graph, weighted: bool, on_gpu: bool) -> Graph:
    """A directed graph with every edge both ways, with or without its weights, on the GPU or in the host's memory."""
    edges = columns(graph, weighted, on_gpu)
    return Graph.from_edges(*edges, directed=False, num_vertices=graph.num_vertices)


def columns(graph: Graph, weighted: bool, on_gpu: bool) -> tuple[Any, Any, Any]:
    """The sources, targets and weights of arcs, on the GPU or in the host's memory; None for weights left out."""
    sources, where = (copy_of(graph.sources), graph.gpu) if on_gpu else (graph.sources, graph)
    return sources, where.targets, where.weights if weighted else None


def turned_round(graph: Graph, weighted: bool, run: Execution) -> Graph:
    """The graph with each arc reversed, with or without its weights; it is made once, and the graph keeps it."""
    return laid_out(run, "turned all arcs round", graph, _turned_round, weighted)


def _turned_round(graph: Graph, weighted: bool) -> Graph:
    source, target, weights = columns(graph, weighted, on_gpu=True)
    return Graph.from_edges(target, source, weights, num_vertices=graph.num_vertices)
