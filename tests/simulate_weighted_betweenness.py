"""Run betweenness by weights and of edges on a GPU that tests/simulator.py pretends, with warps of several lanes (see
tests/simulated_warps.py), and compare it with the CPU."""

import itertools
import tempfile
from pathlib import Path

import numpy as np
from paths_by_integers import two_ways
from simulate_betweenness import GRAPHS, compare, squares
from simulated_warps import with_warps
from simulator import pretend

import edgewise as ew
from edgewise.errors import GraphError, ScheduleError

#: Of few values, so that there are several shortest paths.
WEIGHTS = {
    name: (np.array([1, 2, 3]) * unit).astype(dtype)
    for name, unit, dtype in (
        ("int32", 1, np.int32),
        ("int64", 1 << 40, np.int64),
        ("float32", 0.1, np.float32),
        ("float64", 0.1, np.float64),
    )
}


def weighted(graph, name):
    """The graph with weights of a kind."""
    ends = graph.sources, graph.targets
    if not graph.directed:
        first = ends[0] <= ends[1]
        ends = ends[0][first], ends[1][first]
    weights = np.resize(WEIGHTS[name], len(ends[0]))
    return ew.Graph.from_edges(*ends, weights, graph.directed, num_vertices=graph.num_vertices)


def compare_all(graph, kinds):
    """By weights of the next kind, of edges with and without them, and with counts that are taken for too large."""
    n, weights = graph.num_vertices, next(kinds)
    given, sources = weighted(graph, weights), range(0, n, n // 2 + 1)
    compare(given, sources, options={"weighted": True, "endpoints": True})
    compare(graph, sources, ew.edge_betweenness)
    some = np.arange(n // 2, n)
    compare(graph, sources, options={"targets": graph.ids_of(some)})
    compare(given, sources, ew.edge_betweenness, {"weighted": True, "targets": given.ids_of(some)})
    assert "powers" in compare(given, sources, ew.edge_betweenness, {"weighted": True}, LIMIT=0.0)


def compare_powers():
    """Few paths beside so many that they need powers, and paths beside those of the power above; these are of 2**20
    here. See `simulate_betweenness`."""
    from edgewise.algorithms.betweenness.cuda_path_counts import FIRST

    few = {"LARGE": FIRST * 2.0**20, "SMALL": 2.0**-20}
    for limit in (FIRST, FIRST * 2.0**30):
        told = compare(squares(6, 16, 0.5), [0], options={"weighted": True}, LIMIT=limit, **few)
        assert "powers" in told
    for parallel in ((2, 64), (64, 2)):
        source, target, n = two_ways(2, *parallel, times=16)
        graph = ew.Graph.from_edges(source, target, np.ones(len(source)), num_vertices=n)
        told = compare(graph, [0], options={"weighted": True}, LIMIT=FIRST, **few)
        assert "powers" in told


def refused(error, problem, run):
    try:
        run()
    except error as found:
        assert problem in str(found), found
    else:
        raise AssertionError(problem)


def compare_refusals():
    """Weights that are lost, and schedules."""
    lost = ew.Graph.from_edges([0, 1, 1], [1, 2, 3], [1e30, 1.0, 1e30])
    for algorithm in (ew.betweenness, ew.edge_betweenness):
        refused(GraphError, "in float64", lambda run=algorithm: run(lost, weighted=True, device="cuda"))
    compare(lost, [2], options={"weighted": True})
    told = ew.Schedule(balance=ew.MergePath())
    refused(ScheduleError, "of edges", lambda: ew.edge_betweenness(lost, device="cuda", schedule=told))
    to_some = {"targets": [0, 3], "device": "cuda", "schedule": told}
    refused(ScheduleError, "to some targets", lambda: ew.betweenness(lost, **to_some))
    refused(
        ScheduleError, "by weights", lambda: ew.betweenness(lost, weighted=True, device="cuda", schedule=told)
    )


def compare_checkpoints():
    """An interrupted run goes on to the same bits."""
    from edgewise.algorithms.betweenness import cuda as betweenness_cuda

    betweenness_cuda.STEP = 2
    graph = weighted(GRAPHS["two parts"], "float64")
    forms = (
        (ew.betweenness, {"weighted": True}),
        (ew.betweenness, {"memory_limit": 80 * graph.num_vertices}),
        (ew.edge_betweenness, {}),
        (ew.betweenness, {"schedule": ew.Schedule(ew.Buffered())}),
    )
    # In the middle, and when all sources are done.
    for enough, (algorithm, options) in itertools.product((3, 5), forms):
        given = {"device": "cuda", "sources": list(range(5)), **options}
        whole, seen = algorithm(graph, **given), []

        def stop(done, seen=seen, enough=enough):
            seen.append(done)
            if done >= enough:
                raise InterruptedError

        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "sums"
            refused(
                InterruptedError,
                "",
                lambda run=algorithm, given=given, stop=stop, path=path: run(
                    graph, checkpoint=path, progress=stop, **given
                ),
            )
            done = int(np.load(path)["done"])
            assert 0 < done <= seen[-1]
            assert seen[-1] < 5 or done == enough == 5
            result = algorithm(graph, checkpoint=path, **given)
            assert f"{done} of 5 sources" in result.explain()
            assert result.dependency.tobytes() == whole.dependency.tobytes()
            assert not path.exists()


def main():
    """Print the name of each graph on which all agreed; the exit code is 1 where one does not."""
    with_warps()
    pretend()
    kinds = itertools.cycle(WEIGHTS)
    for name, graph in GRAPHS.items():
        compare_all(graph, kinds)
        print(name, flush=True)
    compare_powers()
    compare_refusals()
    compare_checkpoints()


if __name__ == "__main__":
    main()
