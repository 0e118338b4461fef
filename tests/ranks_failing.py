"""A script for ranks in which something goes wrong on rank 1, as its argument says; with a second one they are in a
grid."""

import os
import signal
import sys
import time

import numpy as np
from pagerank import PageRank
from sssp import SSSP

import edgewise as ew
from edgewise.errors import ParameterError

what, rank = sys.argv[1], int(os.environ["RANK"])
graph = ew.Graph.from_edges(np.arange(50), np.arange(1, 51))


def at(superstep: int) -> None:
    """Called after each superstep."""
    if rank == 1 and superstep == 3:
        if what == "raises":
            raise ValueError("rank 1 has a mistake of its own")
        if what == "refuses":
            raise ParameterError("what is wrong here")
        if what == "is killed":
            os.kill(os.getpid(), signal.SIGKILL)
        if what == "is late":
            time.sleep(20)


if what == "has another graph" and rank == 1:
    graph = ew.Graph.from_edges(np.arange(49), np.arange(1, 50))
if what == "has other arcs" and rank == 1:
    graph = ew.Graph.from_edges(np.arange(50), np.r_[0, np.arange(2, 51)][::-1])
if what == "ends before" and rank == 1:
    sys.exit(3)
if what == "calls something else" and rank == 1:
    ew.bfs(graph, 0, distributed=True)
damping = 0.5 if what == "has another parameter" and rank == 1 else 0.85
limit = 5 if what == "has another limit" and rank == 1 else 20
program, ranks = PageRank(tol=0.0, damping=damping), ew.Ranks()
if sys.argv[2:] == ["in a grid"]:
    program, ranks = SSSP(source=0), ew.Ranks(grid=True)
result = ew.run(program, graph, distributed=ranks, max_supersteps=limit, progress=at)
print(f"rank {rank} ran {result.supersteps} supersteps", flush=True)
