"""Algorithms as programs, for schedules that their own kernels cannot follow.

Those kernels deal out edges in their own ways; a program runs with every strategy. Answers do not differ.
"""

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


def tell_schedule(run: Execution, what: str) -> None:
    """Explain what runs on the GPU, and by which parts of the schedule."""
    parts = {name: getattr(run.schedule, name) for name in ("delivery", "balance", "layout")}
    told = ", ".join(f"{name} {part}" for name, part in parts.items() if part != "auto")
    run.explain(f"{what} on the GPU{f': {told}' if told else ''}")


def explain(run: Execution, outcome: Outcome) -> None:
    """Explain how a program was carried out."""
    tell_schedule(run, "a program")
    run.notes.extend(outcome.explanation)


def with_both_ways(graph: Graph, weighted: bool, run: Execution) -> Graph:
    """The graph with every edge both ways, with or without its weights; it is made once, and the graph keeps it."""
    return (
        laid_out(run, "laid out the edges both ways", graph, _both_ways, weighted)
        if graph.directed
        else graph
    )


def _both_ways(graph: Graph, weighted: bool) -> Graph:
    ends = copy_of(graph.sources), graph.gpu.targets
    weights = graph.gpu.weights if weighted else None
    return Graph.from_edges(*ends, weights, directed=False, num_vertices=graph.num_vertices)


def turned_round(graph: Graph, weighted: bool, run: Execution) -> Graph:
    """The graph with each arc reversed, with or without its weights; it is made once, and the graph keeps it."""
    return laid_out(run, "turned all arcs round", graph, _turned_round, weighted)


def _turned_round(graph: Graph, weighted: bool) -> Graph:
    ends = graph.gpu.targets, copy_of(graph.sources)
    weights = graph.gpu.weights if weighted else None
    return Graph.from_edges(*ends, weights, num_vertices=graph.num_vertices)
