"""PageRank of Zhong et al. 2016 for a profiler: `python -m benchmarks.papers.edge_vertex_profile GRAPH` runs a few
supersteps once with each of `PROFILED`, under Nsight Compute, see `benchmarks.papers.edge_vertex_stage.profiled`.

All supersteps of a run are one kernel, which sends, gathers and computes; so that is what warp execution efficiency and
load and store efficiency are of, as in Tables 5 and 7, whose pairs are of the program.
"""

import sys

import edgewise as ew
from benchmarks.papers.edge_vertex import Ranks, fresh
from benchmarks.papers.edge_vertex_setup import GRAPHS, PROFILED, PROFILED_SUPERSTEPS, SYSTEMS


def main() -> None:
    """Run each system; the profiler starts when all have run once."""
    import cupy

    made = GRAPHS[sys.argv[1]]()
    graph = fresh(made)
    prepared = [ew.prepare(Ranks, graph, device="cuda", schedule=SYSTEMS[name]) for name in PROFILED]
    for run in prepared:
        run(max_supersteps=PROFILED_SUPERSTEPS)
    cupy.cuda.get_current_stream().synchronize()
    cupy.cuda.profiler.start()
    for run in prepared:
        run(max_supersteps=PROFILED_SUPERSTEPS)
    cupy.cuda.get_current_stream().synchronize()
    cupy.cuda.profiler.stop()


if __name__ == "__main__":
    main()
