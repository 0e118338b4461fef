"""A script for several ranks: programs that keep checkpoints, some of whose ranks are killed.

``ranks_checkpoint.py FOLDER (by-vertices | in-grid) [PROGRAM ATTEMPT RANK SUPERSTEP]...``: in the given attempt, the
given rank is killed when the program has done so many supersteps. Answers are compared with those of one process. The
environment's RANKS_DEVICE says where ranks run; on GPUs, floats are the same within rounding.
"""

import os
import signal
import sys
from pathlib import Path

import numpy as np
import test_engines
from rounding import check_rounded

import edgewise as ew


class Pair(ew.Program):
    """Two vertices of different ranks send to each other in every superstep, and all others are silent."""

    value = ew.vertex("int64", init=1)
    combine = ew.SUM
    message = "int64"
    max_supersteps = 9

    @staticmethod
    def initialize(v, state):
        return v == 0 or v == state.num_vertices - 1

    @staticmethod
    def edge_compute(edge, state):
        return state.value[edge.source]

    @staticmethod
    def vertex_compute(v, message, state):
        state.value[v] += message
        return ew.ACTIVE


GRAPH = ew.generate.lattice(24, 24, seed=3, weights=(1, 20))
RUNS = {name: (*test_engines.PROGRAMS[name], GRAPH) for name in ("sssp", "pagerank", "edge fields")}
RUNS["pair"] = Pair, {}, ew.Graph.from_edges([0, 399], [399, 0], num_vertices=400)
IN_GRID = ("sssp", "pair")
DEVICE = os.environ.get("RANKS_DEVICE", "cpu")
ROUNDING = 0 if DEVICE == "cpu" else 1e-12
ROUNDINGS = {"float64": ROUNDING}


def main() -> None:
    folder, way, words = Path(sys.argv[1]), sys.argv[2], sys.argv[3:]
    rank, attempt = int(os.environ["RANK"]), os.environ.get("TORCHELASTIC_RESTART_COUNT", "0")
    for name, (program, values, graph) in RUNS.items():

        def progress(done: int, name: str = name) -> None:
            for i in range(0, len(words), 4):
                if words[i : i + 4] == [name, attempt, str(rank), str(done)]:
                    os.kill(os.getpid(), signal.SIGKILL)

        run = program(**values)
        kept = folder / name.replace(" ", "-")
        ranks = ew.Ranks(grid=way == "in-grid" and name in IN_GRID)
        how = {"checkpoint": kept, "every": 2, "progress": progress, "device": DEVICE}
        result = ew.run(run, graph, distributed=ranks, **how)
        whole, expected = result.gather(), ew.run(run, graph, schedule=ew.Schedule(ew.Pull()), device="cpu")
        for kind in ("fields", "edge_fields"):
            check_rounded(getattr(whole, kind), getattr(expected, kind), ROUNDINGS, name)
        assert whole.supersteps == expected.supersteps
        for aggregate, value in expected.aggregates.items():
            np.testing.assert_allclose(whole.aggregates[aggregate], value, rtol=ROUNDING, atol=ROUNDING)
        assert not list(kept.iterdir())
        if rank == 0:
            went_on = [line for line in result.explain().splitlines() if line.startswith("went on")]
            print(
                f"attempt {attempt}: {name}: {(went_on or ['from the start'])[0].partition(' from ')[0]}",
                flush=True,
            )


if __name__ == "__main__":
    main()
