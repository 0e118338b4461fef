"""Searches and shortest paths on ranks with GPUs that tests/simulator.py pretends: threads of this process, as in
simulate_ranks.py. Each rank has a graph of its own, for a graph keeps programs of one rank.

``simulate_ranks_paths.py [warps] NAME...`` takes some of the checks. With "warps", the simulator has warps of four
lanes (tests/simulated_warps.py).
"""

import sys
from unittest import mock

import numpy as np
from simulate_ranks import connect_threads, on_threads, pretend_ranks

import edgewise as ew
from edgewise.engine.distributed import group as groups
from edgewise.engine.distributed.group import sent_for
from edgewise.errors import EdgewiseError, GraphError, MemoryLimitError

#: Some vertices are not reached; some have no arcs, a few in a row; there are hubs.
GRAPHS = {
    "random": lambda: ew.generate.uniform(16, 40, seed=1, weights=(1, 9)),
    "hubs": lambda: ew.generate.rmat(4, 3, seed=4, weights=(1, 9)),
    "lattice": lambda: ew.generate.lattice(2, 3, seed=2, weights=(1, 9)),
    "star out": lambda: ew.Graph.from_edges([2] * 20 + [20], [*range(3, 23), 1], num_vertices=24),
    "undirected": lambda: ew.Graph.from_edges(
        [0, 1, 2, 2, 5, 0, 8, 4], [1, 2, 3, 5, 6, 6, 7, 5], [3, 1, 4, 1, 5, 9, 1, 1], directed=False, num_vertices=9
    ),
    "zero weights": lambda: ew.Graph.from_edges(
        [0, 1, 2, 3, 1, 4, 5, 0], [1, 2, 3, 1, 4, 5, 4, 3], [2, 0, 0, 0, 1, 0, 0, 2], num_vertices=8
    ),
    "zeros, undirected": lambda: ew.generate.uniform(9, 14, seed=5, directed=False, weights=(0, 2)),
    "floats": lambda: _with_lengths(np.float64, LOST),
    "short floats": lambda: _with_lengths(np.float32, LOST),
    "long": lambda: _with_lengths(np.int64, [2**40 + 1, 3, 2**41]),
    "late parents": lambda: ew.generate.uniform(16, 40, seed=21, weights=(1, 9)),
    **{
        f"weights up to {most}": lambda most=most: _with_lengths(np.int32, [most, most - 1, 1])
        for most in (255, 256, 65535, 65536)
    },
    "path": lambda: ew.Graph.from_edges(range(43), range(1, 44), num_vertices=75),
    "hubs, undirected": lambda: ew.generate.rmat(5, 3, seed=4, directed=False),
    "hubs, both ways": lambda: _with_in_edges(ew.generate.rmat(7, 4, seed=4)),
    "one vertex": lambda: ew.Graph.from_edges([], [], np.empty(0, np.int32), num_vertices=1),
}  # fmt: skip


#: Weights of which some are lost in rounding beside others.
LOST = (1e-20, 0.1, 0.3, 1.0, 7.7)


def _with_in_edges(graph):
    """The same graph once its in-edges are there."""
    graph.make_in_edges()
    return graph


def _with_lengths(dtype, lengths):
    """Weights of some lengths."""
    graph = ew.generate.uniform(9, 26, seed=3)
    weights = np.random.default_rng(1).choice(lengths, graph.num_arcs)
    return ew.Graph.from_edges(graph.sources, graph.targets, weights.astype(dtype), num_vertices=9)


def on_ranks(size, call):
    """What a call gives on each of so many ranks: a result, or an error of edgewise."""

    def run(group):
        try:
            return call(group.rank)
        except EdgewiseError as refused:
            group.refuse(refused)
            raise

    return on_threads(size, run, EdgewiseError)


def compare(find, where, source, sizes=(2,), told="", **how):
    """Levels, distances and parents are those of one process, and stay where they were found until they are read;
    `told` is explained."""
    expected = find(GRAPHS[where](), source, device="cpu", **how)
    for size in sizes:

        def call(rank):
            graph = GRAPHS[where]()
            found = find(graph, source, distributed=True, device="cuda", **how)
            again = find(
                graph, source, distributed=True, device="cuda", **how
            )  # the program is laid out already
            return graph, found, again

        ranks = on_ranks(size, call)
        assert len({tuple(found.supersteps for found in both) for _, *both in ranks}) == 1, where
        for graph, *both in ranks:
            for found in both:
                assert "ranks speak by gloo" in found.explain(), found.explain()
                assert told in found.explain(), found.explain()
                assert found.supersteps == expected.supersteps or find is ew.sssp, (where, size)
                for name in ("level", "distance", "parent_index"):
                    if hasattr(expected, name):
                        got, wanted = getattr(found, name), getattr(expected, name)
                        np.testing.assert_array_equal(got, wanted, err_msg=f"{where}, {size} ranks: {name}")
                        assert got.dtype == wanted.dtype, (where, name)
                assert found.verify(graph)


def check_levels():
    """Breadth-first searches."""
    compare(ew.bfs, "random", 1, (1, 2, 3))
    compare(ew.bfs, "star out", 2, (2, 3))
    compare(ew.bfs, "undirected", 0, (1, 2, 3))
    compare(ew.bfs, "hubs", [3, 0], max_depth=2)
    compare(ew.bfs, "lattice", [4, 1])
    compare(ew.bfs, "zeros, undirected", [5, 2], max_depth=1)
    compare(ew.bfs, "one vertex", 0, (2,))
    compare(ew.bfs, "path", 0, (3,), "44 push")  # the host looks after several levels at a time
    compare(ew.bfs, "path", 40, max_depth=0)
    compare(ew.bfs, "random", [1, 5], max_depth=1)
    in_layers = ew.Schedule(layout=ew.Layered(1))

    def call(rank):
        graph = GRAPHS["random"]()
        expected = ew.bfs(
            graph, 1, device="cpu", schedule=in_layers
        )  # layers are at hand now, which ranks do not use
        return expected, ew.bfs(graph, 1, distributed=True, device="cuda")

    for expected, found in on_ranks(2, call):
        np.testing.assert_array_equal(found.parent_index, expected.parent_index)
        assert "ranks speak by gloo" in found.explain(), found.explain()


def check_directions(names=("hubs, undirected", "hubs, both ways")):
    """Breadth-first searches whose levels are pulled, and pushed after some ranks have waited and others have not."""
    from edgewise.algorithms.bfs import ranks_kernels  # after `pretend`

    levels = "levels on the GPUs of ranks: "
    for where, ratio, told in DIRECTIONS:
        if where in names:
            with mock.patch.multiple(ranks_kernels, FEW_EDGES=0, SEARCH_RATIO=ratio):
                for sizes, source, how in (((1, 2, 3), 0, {}), ((2,), [3, 0], {"max_depth": 2})):
                    compare(ew.bfs, where, source, sizes, "" if how else levels + told, **how)
    if "warps" in sys.argv:
        return
    with mock.patch.multiple(ranks_kernels, FEW_EDGES=0, SEARCH_RATIO=1000):
        compare(ew.bfs, "undirected", 0, (2, 5))
        compare(ew.bfs, "undirected", 0, (2,), " push\n", schedule=ew.Schedule(delivery=ew.Push()))
        compare(ew.bfs, "star out", 2, (2,), f"{levels}3 push")  # it has no in-edges


def check_deep_levels():
    """Levels are told in as few bytes as hold the deepest."""
    from edgewise.algorithms.bfs.ranks_levels import tell_levels  # after `pretend`
    from edgewise.engine.distributed.channel_cuda import HostChannel
    from edgewise.engine.distributed.partition import Ranges

    for deepest, itemsize in ((0, 1), (127, 1), (128, 2), (32767, 2), (32768, 4)):
        level = np.resize(np.array([-1, 0, deepest, deepest // 2], np.int32), 4000)

        def tell(group, level=level, deepest=deepest):
            ranges = Ranges(group.rank, [0, 1500, 4000])
            found = np.full(len(level), 99, np.int32)
            found[ranges.own] = level[ranges.own]
            tell_levels(found, deepest, ranges, HostChannel(group))()
            return found, group.sent_bytes

        for (found, sent), length in zip(on_threads(2, tell), (1500, 2500), strict=True):
            np.testing.assert_array_equal(found, level)
            assert sent == sent_for(length * itemsize), (deepest, sent)


def check_distances():
    """Shortest paths."""
    compare(ew.sssp, "random", 1, (1, 2, 3))
    compare(ew.sssp, "undirected", [0, 7])
    compare(ew.sssp, "hubs", [3, 0], max_distance=9)
    compare(ew.sssp, "lattice", 1, target=4)
    compare(ew.sssp, "star out", 2)
    compare(ew.sssp, "random", 1, weighted=False)
    compare(ew.sssp, "one vertex", 0, (1, 3))
    compare(ew.sssp, "long", 1, (3,))
    compare(
        ew.sssp, "late parents", 1
    )  # the first vertex of the second rank is offered one by the first rank
    for most in (255, 256, 65535, 65536):
        compare(ew.sssp, f"weights up to {most}", 1)
    for delta in (0.5, 2.5, 1e30):
        compare(ew.sssp, "random", 1, (3,), delta=delta)
    check_thresholds()
    check_long()


def check_long():
    """Distances of 31 bits and of more: ranks begin again if one is longer, but not if it is not asked for, nor for the
    same graph."""
    for more, limit, begins_again in ((0, None, False), (1, None, True), (1, 2**31 - 1, True), (1, 9, False)):
        lengths = [5, 2**30, 2**30 - 7 + more]

        def call(rank, lengths=lengths, limit=limit):
            path = ew.Graph.from_edges([0, 1, 2], [1, 2, 3], np.array(lengths))
            how = {"max_distance": limit, "distributed": True, "device": "cuda"}
            found = [ew.sssp(path, 0, **how) for _ in range(2)]
            return [(each.distance, each.parent_index, each.explain()) for each in found]

        expected = np.cumsum([0, *lengths])
        reached = expected <= (2**62 if limit is None else limit)
        for first, again in on_ranks(2, call):
            for distance, parent, told in (first, again):
                assert distance.dtype == np.int64
                np.testing.assert_array_equal(distance, np.where(reached, expected, np.iinfo(np.int64).max))
                np.testing.assert_array_equal(parent, np.where(reached, [-1, 0, 1, 2], -1))
                assert ("began again" in told) == (begins_again and told is first[2]), told
    check_long_once_more()


def check_long_once_more():
    """Ranks look for the same where only some of them know a graph, and all go on on CPUs if one has no room."""
    from edgewise.algorithms.common import own_rows_cuda  # after `pretend`

    def path():
        lengths = np.array([2**30, 2**30, *[1] * 38])
        return ew.Graph.from_edges(range(40), range(1, 41), lengths, num_vertices=3000)

    def known_to_the_first(rank):
        kept = path()
        ew.sssp(kept, 0, distributed=True, device="cuda")
        return ew.sssp(path() if rank else kept, 0, distributed=True, device="cuda")

    found = on_ranks(2, known_to_the_first)
    assert [found[1].distance.tolist()] * 2 == [each.distance.tolist() for each in found]
    assert not any("began again" in each.explain() for each in found)
    usual = own_rows_cuda.room

    def with_little(name, needed):
        if name == "sssp" and needed > 170_000:
            raise MemoryLimitError(f"{name}: no room")
        return usual(name, needed)

    with mock.patch.object(own_rows_cuda, "room", with_little):
        for auto in on_ranks(2, lambda rank: ew.sssp(path(), 0, distributed=True)):
            np.testing.assert_array_equal(auto.distance, found[0].distance)
            assert "on the CPU" in auto.explain() and "ranks speak by" not in auto.explain(), auto.explain()


def check_thresholds():
    """The threshold rises beyond distances that nobody has, and not at all if the first one is above all of them. Of a
    vertex that was lowered since it was far, ranks learn by one more superstep."""
    ends = [0, 1, 2, 3, 4, 0], [1, 2, 3, 4, 5, 5]

    def call(rank):
        path = ew.Graph.from_edges(*ends, [1, 1, 1000, 1, 1, 2000], num_vertices=6)
        found = [ew.sssp(path, 0, delta=delta, distributed=True, device="cuda") for delta in (1, 3, 1e9)]
        return [(each.distance.tolist(), each.supersteps, each.explain()) for each in found]

    for one, some, all_near in on_ranks(2, call):
        assert one[0] == some[0] == all_near[0] == [0, 1, 2, 1002, 1003, 1004]
        for (_, supersteps, told), expected in ((one, (6, 5)), (some, (7, 2)), (all_near, (6, 0))):
            assert supersteps == expected[0] and f"{expected[1]} thresholds" in told, told


def check_special():
    """Weights of 0, which are found on the host if no others lead there, and floats."""
    compare(ew.sssp, "zero weights", 0, (2, 3))
    compare(ew.sssp, "zeros, undirected", [5, 2])
    compare(ew.sssp, "floats", 1)
    compare(ew.sssp, "short floats", [1, 4], (3,))
    compare(ew.sssp, "undirected", 0, weighted=False)


def check_errors():
    """Errors end the call on all ranks: no room on one of them, and a distance that floats do not hold."""
    from edgewise.algorithms.common import ranks_cuda  # after `pretend`

    usual = ranks_cuda.room

    def refused(name, needed):
        if groups.connect().rank == 1:
            raise MemoryLimitError(f"{name}: no room")
        return usual(name, needed)

    for find in (ew.bfs, ew.sssp):
        for limits in ([100, 10**6], [10**6, 100]):
            found = on_ranks(
                2,
                lambda rank, find=find, limits=limits: find(
                    GRAPHS["random"](), 1, distributed=True, device="cuda", memory_limit=limits[rank]
                ),
            )
            assert all(isinstance(each, MemoryLimitError) for each in found), found
        ranks_cuda.room = refused
        try:
            found = on_ranks(
                2, lambda rank, find=find: find(GRAPHS["random"](), 1, distributed=True, device="cuda")
            )
        finally:
            ranks_cuda.room = usual
        assert all(isinstance(each, MemoryLimitError) for each in found), found
        assert "rank 1: " in str(found[0]) and "no room" in str(found[0]), found[0]

    def too_far(rank):
        graph = ew.Graph.from_edges([0, 1, 2], [1, 2, 3], np.array([3e38, 3e38, 1.0], np.float32))
        return ew.sssp(graph, 0, distributed=True, device="cuda")

    for each in on_ranks(2, too_far):
        assert isinstance(each, GraphError) and "more than float32 holds" in str(each), each


def check_rows():
    """Arcs of a row that several warps share, and rows without arcs, in warps of several lanes: shortest paths, and the
    kernels that find parents alone, for programs that push do not run there."""
    from edgewise.algorithms.bfs import ranks_cuda as bfs
    from edgewise.algorithms.common.offers_cuda import offers_of
    from edgewise.algorithms.sssp import ranks_cuda as sssp

    for where, sizes in (("star out", (2,)), ("hubs", (1, 3))):
        compare(ew.sssp, where, 2, sizes)
    gap = ew.Graph.from_edges([0] * 9 + [30, 31] + [33] * 5, [30, *range(1, 8), 33, 35, 35, *range(7, 12)])
    for graph, source in ((gap, 0), (GRAPHS["star out"](), 2), (GRAPHS["random"](), 1)):
        n, m = graph.num_vertices, graph.num_arcs
        levels, paths = ew.bfs(graph, source, device="cpu"), ew.sssp(graph, source, device="cpu")
        weights, weight = (graph.weights, graph.weight_dtype) if graph.weighted else (graph.targets, None)
        for expected, dist, unreached, kernel in (
            (levels, levels.level, -1, bfs._offers_kernel(np.dtype(np.uint32))),
            (
                paths,
                paths.distance,
                2**31 - 1,
                sssp._offers_kernel(np.dtype(np.uint32), weight, np.dtype(np.int32)),
            ),
        ):
            parent = np.full(n, 2**32 - 1, np.uint32)
            for low, high in ((0, n // 3), (n // 3, n)):  # of two ranks, one after the other
                first, end = int(graph.offsets[low]), int(graph.offsets[high])
                offsets = (np.clip(graph.offsets, first, end) - first).astype(np.uint32)
                targets, lengths = graph.targets[first:end], weights[first:end]
                kernel.start([offers_of(offsets, targets, lengths, dist.astype(np.int32), parent, unreached)])
            np.testing.assert_array_equal(parent.view(np.int32), expected.parent_index, err_msg=f"{m} arcs")


#: Where levels are pulled, how many pulled arcs cost as much as a pushed one, and how many levels go which way.
DIRECTIONS = (
    ("hubs, undirected", 1000, "5 pull"),
    ("hubs, undirected", 2, "1 push, 4 pull"),
    ("hubs, both ways", 4, "2 push, 3 pull"),
    ("hubs, both ways", 1000, "5 pull"),
)
CHECKS = {
    "levels": check_levels,
    "directions": check_directions,
    "deep levels": check_deep_levels,
    "distances": check_distances,
    "special": check_special,
    "errors": check_errors,
}


def main():
    """Print what agreed."""
    names = sys.argv[1:]
    pretend_ranks("warps" in names)
    connect_threads()
    from edgewise.algorithms.common import offers_cuda
    from edgewise.primitives import first_match

    offers_cuda.ARCS, first_match.LOOK_ALONE = 6, 2
    for name in names or CHECKS:
        if name == "warps":
            check_rows()
            check_directions(("hubs, undirected",))
        else:
            CHECKS[name]()
        print(name, flush=True)


if __name__ == "__main__":
    main()
