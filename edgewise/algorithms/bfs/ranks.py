"""Breadth-first search on several ranks: levels by a program, then parents from levels, each rank by its rows.

This is on CPUs; ranks with GPUs do as in `edgewise.algorithms.bfs.ranks_cuda`.
"""

from typing import Any

import numpy as np

from edgewise.algorithms.bfs.cpu import parents_of_levels
from edgewise.algorithms.bfs.levels import BreadthFirst, given_for
from edgewise.algorithms.common.ranks import least_of_ranks, prepared_on_ranks, program_memory
from edgewise.engine.distributed.group import connect
from edgewise.engine.distributed.partition import by_arcs
from edgewise.execution import Execution
from edgewise.graph import Graph
from edgewise.memory import Step, held, in_turn
from edgewise.schedule import Schedule


def search(graph: Graph, sources: np.ndarray, limit: int, run: Execution) -> tuple[Any, Any, int]:
    """Levels, parents and the number of levels, on all ranks; arguments and answers are those of `cpu.search`, or of
    `cuda.search` if the run is on a GPU."""
    if run.on_gpu:
        from edgewise.algorithms.bfs import ranks_cuda

        return ranks_cuda.search(graph, sources, limit, run, connect())
    level, levels = find_levels(graph, sources, limit, run)
    group = connect()
    own = by_arcs(group.rank, group.size, graph.offsets).own
    parent = least_of_ranks(parents_of_levels(graph, level, own, run), group)
    return level, parent.view(np.int32), levels


def find_levels(graph: Graph, sources: np.ndarray, limit: int, run: Execution) -> tuple[np.ndarray, int]:
    """Levels on CPUs, int32, -1 for vertices that were not reached, and the number of levels."""
    program = prepared_on_ranks(BreadthFirst, graph, run.schedule)
    outcome = program.carry_out(run, given_for(graph, sources), min(limit, graph.num_vertices))
    run.notes.extend(outcome.explanation)
    return outcome.vertex_fields["level"], outcome.supersteps


def levels_memory(graph: Graph, schedule: Schedule) -> Step:
    """The memory of `find_levels`."""
    return program_memory(BreadthFirst, graph, schedule, source=0)


def search_memory(graph: Graph, schedule: Schedule) -> Step:
    """The memory of `search`: that of levels, then parents as they are found, joined and told."""
    return in_turn(levels_memory(graph, schedule), held(16 * graph.num_vertices))
