"""A script for four ranks: whether they form a grid, and that what is counted before a run is what is sent in it.

``ranks_grid.py FOLDER``: graphs are written there.
"""

import os
import sys
from pathlib import Path
from typing import Any

import numpy as np
from components import Components
from ranks_files import BESIDE, M, drawn, resident

import edgewise as ew
from edgewise.engine.distributed import division
from edgewise.engine.distributed.group import connect
from edgewise.errors import DistributedError


class AllSend(ew.Program):
    """All vertices send, in all supersteps, a value that has changed."""

    value = ew.vertex("int32", init=2**20)
    combine = ew.MIN
    message = "int64"

    @staticmethod
    def edge_compute(edge, state):
        return state.value[edge.source] - edge.target % 3

    @staticmethod
    def vertex_compute(v, message, state):
        state.value[v] = int(min(message, state.value[v])) - 1
        return ew.ACTIVE


class Sums(AllSend):
    """Adds floats in one order."""

    combine = ew.SUM
    message = "float64"


class Others(AllSend):
    """Reads a vertex that is no end of the edge."""

    @staticmethod
    def edge_compute(edge, state):
        return state.value[state.num_vertices - 1]


class Marks(AllSend):
    """Writes on edges."""

    used = ew.edge("int32")

    @staticmethod
    def edge_compute(edge, state):
        state.used[edge.index] = state.superstep
        return state.value[edge.source]


class LimitedLabels(Components):
    """With a limit, no vertex waits."""

    max_supersteps = 3


class FewLabels(Components):
    """Not all vertices begin."""

    @staticmethod
    def initialize(v, state):
        state.label[v] = v
        return ew.ACTIVE if v % 64 == 0 else ew.HALT


REFUSED = {
    Sums: "messages are joined in one order, for which ranks gather over the in-edges of their vertices",
    Others: "value may be read at any vertex, so all ranks speak with all",
    Marks: "used is written on edges, which lie with their sources",
}


def line_of(result: Any) -> str:
    """What is said of the grid."""
    (found,) = [
        line for line in result.explain().splitlines() if "has the arcs" in line or "a grid of" in line
    ]
    return str(found)


def sent_in_one_superstep(graph: ew.Graph, ranks: ew.Ranks) -> int:
    """The bytes that all ranks send in one superstep of a run."""
    group, sent = connect(), []
    for limit in (1, 2, 3):
        before = group.sent_bytes
        ew.run(AllSend(), graph, distributed=ranks, max_supersteps=limit)
        sent.append(group.sent_bytes - before)
    return group.total(sent[2] - sent[1])


def check_counts() -> None:
    """What is counted is what is sent, and the smaller of both counts is taken."""
    for name, graph in (
        ("spread", ew.generate.rmat(11, 16, seed=2)),
        ("to hubs", ew.Graph.from_edges(np.repeat(np.arange(4000), 4), np.arange(16_000) % 4 * 1000)),
    ):
        by_ranges, in_grid = (sent_in_one_superstep(graph, ew.Ranks(grid=grid)) for grid in (False, True))
        counted = f"ranges send {by_ranges:,} bytes in a superstep, a grid of 2 by 2 ranks {in_grid:,}"
        is_smaller = name == "spread"
        assert (in_grid < by_ranges) == is_smaller, (name, in_grid, by_ranges)
        for least, takes_grid in ((0, is_smaller), (10**9, False)):
            division._BYTES_OF_WAITING = least
            said = line_of(ew.run(AllSend(), graph.reverse().reverse(), distributed=True, max_supersteps=2))
            assert counted in said, (said, counted)
            assert said.startswith("a grid of 2 by 2" if takes_grid else "each rank has the arcs"), said


def check_refused() -> None:
    """What cannot be in a grid is refused if it is asked for, and told else."""
    graph = ew.Graph.from_edges(np.arange(40), np.arange(1, 41))
    for program, why in REFUSED.items():
        try:
            ew.run(program(), graph, distributed=ew.Ranks(grid=True), max_supersteps=2)
        except DistributedError as error:
            assert f"{program.__name__}: grid is True, but there can be none: {why}; expected 'auto'" in str(
                error
            )
        else:
            raise AssertionError(program)
    said = line_of(ew.run(Others(), graph, distributed=True, max_supersteps=2))
    assert said == f"each rank has the arcs of its vertices, and there is no grid: {REFUSED[Others]}", said
    said = line_of(ew.run(AllSend(), graph, distributed=True, max_supersteps=2, memory_limit="1 GB"))
    assert said.endswith("there is no grid: memory_limit is given, and in a grid ranks copy their arcs"), said
    said = line_of(ew.run(AllSend(), graph, distributed=ew.Ranks(grid=True), max_supersteps=2))
    assert said == "a grid of 2 by 2 ranks, as asked", said
    said = line_of(ew.run(Components(), graph, distributed=True))
    why = "the vertex with the best message begins alone (but with max_supersteps), and in a grid no rank has all "
    why += "its out-edges"
    assert said == f"each rank has the arcs of its vertices, and there is no grid: {why}", said
    said = line_of(ew.run(Components(), graph, distributed=ew.Ranks(grid=True)))
    assert said == "a grid of 2 by 2 ranks, as asked", said
    for program in (FewLabels, LimitedLabels):
        assert "if all vertices send" in line_of(ew.run(program(), graph, distributed=True))
    own, turned = int(os.environ["RANK"]), graph.reverse()
    for _ in range(2):  # the second time, ranks have laid out both
        try:
            ew.run(AllSend(), turned, distributed=ew.Ranks(grid=own == 3), max_supersteps=2)
        except DistributedError as error:
            assert "; expected the same call on all ranks" in str(error)
            others = f"rank {own} has grid={own == 3}, and rank {0 if own == 3 else 3} grid={own != 3}"
            assert others in str(error), str(error)
        else:
            raise AssertionError("ranks differ")
        for grid in (True, False):
            ew.run(AllSend(), turned, distributed=ew.Ranks(grid=grid), max_supersteps=2)


def check_files(folder: Path) -> None:
    """On a file ranks form no grid unless one is asked for, for which each of them reads all rows."""
    path, size, one_superstep = folder / "graph.edgewise", connect().size, {"max_supersteps": 1}
    if connect().rank == 0:
        drawn(4000, M, weights=False).save(path)
    connect().total(0)
    division._BYTES_OF_WAITING = 0  # so that all that sends less is taken
    in_memory = ew.run(AllSend(), drawn(4000, M, weights=False), distributed=True, **one_superstep)
    assert line_of(in_memory).startswith("a grid of 2 by 2 ranks: "), line_of(in_memory)
    for grid in ("auto", True):
        result = ew.run(AllSend(), ew.load(path), distributed=ew.Ranks(grid=grid), **one_superstep)
        np.testing.assert_array_equal(result.value, in_memory.value)
        if grid is True:
            assert line_of(result) == "a grid of 2 by 2 ranks, as asked"
        else:
            why = "each rank reads only its own rows of the file, and in a grid it needs those of others"
            assert line_of(result).endswith(f"there is no grid: {why}"), line_of(result)
        if sys.platform == "linux":  # elsewhere the system does not say which pages are resident
            found = resident(path)
            assert found >= 4 * M if grid is True else found < 4 * M // size + BESIDE, (grid, found)


if __name__ == "__main__":
    check_counts()
    check_refused()
    check_files(Path(sys.argv[1]))
    if connect().rank == 0:
        print("grids are as they should be", flush=True)
    sys.exit(0)
