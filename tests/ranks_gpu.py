"""A script for ranks with GPUs: ``ranks_gpu.py WHAT CHANNEL``; CHANNEL is how they have to speak, "peer memory", "NCCL"
or "gloo".

``few`` and ``all`` run programs of tests/ranks_programs.py, and compare them bit for bit with the same on one rank, and
within rounding with a run by one process on a CPU. ``algorithms``, ``golden``, ``others``, ``limits``, ``parts`` and
``errors`` are functions here.
"""

import contextlib
import os
import sys
import tempfile
import time
from unittest import mock

import golden
import numpy as np
import pytest
import test_golden
from rank_algorithms import calls_on, compare_algorithm
from ranks import code_for_several
from ranks_programs import FEW, Case, cases, differences, ordinary, undirected
from test_engines import PROGRAMS

import edgewise as ew
from edgewise import distributed
from edgewise.algorithms.common import ranks as algorithms_on_ranks
from edgewise.algorithms.pagerank import gpu_ranks
from edgewise.distributed import PreparedRank
from edgewise.engine.distributed import channel_cuda
from edgewise.engine.distributed import group as groups
from edgewise.engine.distributed.channel_peers import peers_of
from edgewise.engine.distributed.exchange_cuda import Part
from edgewise.engine.distributed.group import Group, connect
from edgewise.engine.distributed.program_cuda import DistributedGpuProgram
from edgewise.engine.lowering.compiled import compiled_for
from edgewise.errors import DeviceWarning, DistributedError, GraphError, MemoryLimitError, ProgramError
from edgewise.kernels.cuda.device import device_function
from edgewise.kernels.cuda.memory import copy_of, host_copy
from edgewise.kernels.door import cuda_door

LATTICE = ew.generate.lattice(30, 40, seed=2, weights=(1, 9))
HUBS = ew.generate.rmat(12, 16, seed=4, weights=(1, 9))
PUSHING = ew.Schedule(delivery=ew.Push())
#: More vertices than a GPU has threads: threads have several each.
WIDE = ew.generate.rmat(20, 2, seed=4, weights=(1, 9))
#: Programs that run on these graphs, too; the first three on the last one.
LARGE = (
    "bfs", "sssp", "components", "float sums", "pagerank", "logic and aggregates", "user combiner", "edge fields",
)  # fmt: skip


class Alone(PreparedRank):
    """A program on one rank, which is not of the group that others are in."""

    def _made(self, on_gpu, delivery, message):
        group = Group(0, 1)
        channel_cuda._channels[group] = channel_cuda.HostChannel(group)
        return DistributedGpuProgram(compiled_for(self.spec, device_function), self._binding, message, group)


def run(prepared, case):
    """A run on one rank by the code for several."""
    how = {"max_supersteps": None, "progress": None, "memory_limit": None, "check": False, "seed": None}
    return prepared.run(dict(case.values), **{**how, **case.how})


def on_ranks(case, group):
    """A run on all ranks; on one rank, too, by the code for several."""
    if group.size == 1:
        return run(PreparedRank(case.program, case.graph, "cuda", ew.Schedule()), case)
    program = case.program(**case.values)
    return ew.run(program, case.graph, distributed=True, device="cuda", **case.how)


def compare_programs(group, channel, few):
    """All runs, with the battery's graphs and those on which warps gather over long rows."""
    found = cases(few)
    for name in LARGE:
        program, values = PROGRAMS[name]
        wide = [("wide", WIDE)] * (name in LARGE[:3])
        for where, graph in (("hubs", HUBS), ("lattice", LATTICE), *wide):
            graph = undirected(graph) if name == "components" else graph
            how = {} if program.asynchronous else {"max_supersteps": 8}
            found.append(Case(name, where, program, graph, values, how, 1))
    wrong = [each for number, case in enumerate(found) for each in compared(number, case, group, channel)]
    if group.total(len(wrong)):
        sys.exit("\n".join([*wrong[:20], f"rank {group.rank} found {len(wrong)} differences"]))
    if group.rank == 0:
        print(f"{len(found)} runs are the same", flush=True)


def compared(number, case, group, channel):
    """The differences of one case, each on a line with the program and the graph; one of the ranks runs it alone."""
    result = on_ranks(case, group)
    assert f"ranks speak by {channel}" in result.explain(), result.explain()
    whole = result.gather()
    if number % group.size != group.rank:
        return []
    alone = run(Alone(case.program, case.graph, "cuda", ew.Schedule()), case).gather()
    wrong = list(differences(whole, alone, in_rounds=not case.program.asynchronous))
    if not (case.program.asynchronous and case.how.get("max_supersteps") is not None):
        try:
            check_nearly(whole, ordinary(case), case.program.asynchronous)
        except AssertionError as error:
            wrong.append(" ".join(str(error).split())[:300])
    before = f"{number}: {case.name} on '{case.where}', rank {group.rank} of {group.size}"
    return [f"{before}: {each}" for each in wrong]


def check_nearly(got, expected, asynchronous):
    """Integers are equal; floats within rounding, for a GPU joins products and sums. Vertices of asynchronous programs
    may wait, so these may take other supersteps."""
    ends = [(each.supersteps, each.ended) for each in (got, expected)]
    assert asynchronous or ends[0] == ends[1], f"it ended after {ends[0]}, expected {ends[1]}"
    for kind in ("fields", "edge_fields"):
        for name, values in getattr(expected, kind).items():
            tolerance = {"float32": 1e-5, "float64": 1e-12}.get(str(values.dtype), 0)
            how = {"rtol": tolerance, "atol": tolerance, "err_msg": f"not that of a CPU: {name}"}
            np.testing.assert_allclose(getattr(got, kind)[name], values, **how)
    for name, value in expected.aggregates.items():
        told = f"aggregate {name} is {got.aggregates[name]!r}, expected about {value!r}"
        assert got.aggregates[name] == pytest.approx(value, rel=1e-5, nan_ok=True), told


def compare_algorithms(group, channel):
    """Algorithms that have forms of their own for ranks with GPUs."""
    compare_paths(group, channel)
    compare_components(group, channel)
    compare_pagerank(group, channel)
    compare_betweenness(group, channel)
    if group.rank == 0:
        print("algorithms are the same", flush=True)


def compare_others(group, channel):
    """Algorithms that are programs on ranks with GPUs, or have a share of the work for each rank."""
    up = HUBS.sources < HUBS.targets
    forward = ew.Graph.from_edges(HUBS.sources[up], HUBS.targets[up], num_vertices=HUBS.num_vertices)
    for name, calls in calls_on(HUBS, forward, HUBS.to_undirected()).items():
        for graph, how in calls:
            compare_algorithm(name, graph, how)
        if group.rank == 0:
            print(f"{name} is the same", flush=True)


def compare_golden(group, channel):
    """Algorithms have the golden answers of every real graph that is there, but the largest; betweenness those of the
    small ones."""
    names = [name for name in golden.NAMES if name != "actor-collab"]
    for name in names:
        real, where = golden.load(name), {"device": "cuda", "distributed": True}
        for check in OF_GOLDEN:
            check(real, where)
        assert f"ranks speak by {channel}" in ew.bfs(real.graph, real.source("hub"), **where).explain()
        if "betweenness" in real.answers and real.graph.num_vertices < 10_000:
            test_golden.test_betweenness(name, where)
    if group.rank == 0:
        print(f"{len(names)} golden graphs have their answers", flush=True)


#: The tests of algorithms on a golden graph.
OF_GOLDEN = (
    test_golden.test_bfs,
    test_golden.test_sssp,
    test_golden.test_components,
    test_golden.test_strong_components,
    test_golden.test_minimum_spanning_forest,
    test_golden.test_core_numbers,
    test_golden.test_triangles,
    test_golden.test_pagerank,
)


def with_in_edges(graph):
    """A directed graph with its in-edges, of one arc for each edge of an undirected graph, in turns either way."""
    low, high = (each[graph.sources <= graph.targets] for each in (graph.sources, graph.targets))
    turned = np.arange(len(low)) % 2 == 0
    ends = np.where(turned, high, low), np.where(turned, low, high)
    made = ew.Graph.from_edges(*ends, num_vertices=graph.num_vertices)
    made.make_in_edges()
    return made


def sinks():
    """A directed clique, and many more vertices, each with an arc from it: of two ranks the first one skips these arcs,
    and the other one finds no large tree."""
    size, more = 60, np.arange(60, 5060)
    u, v = (each.ravel() for each in np.indices((size, size)))
    graph = ew.Graph.from_edges(
        np.concatenate([u[u != v], more % size]),
        np.concatenate([v[u != v], more]),
        num_vertices=size + len(more),
    )
    graph.make_in_edges()
    return graph


def compare_paths(group, channel):
    """Levels, distances and parents are those of one process, and stay on the GPU; errors end calls on all ranks."""
    hubs, several = ew.generate.rmat(16, 16, seed=4, weights=(1, 9)), [7, 3, 1000]
    both_ways, wide = undirected(HUBS), ew.generate.rmat(17, 16, seed=4, directed=False)
    pulled = (wide, with_in_edges(wide))
    runs = [(find, graph, 0, {}) for find in (ew.bfs, ew.sssp) for graph in (LATTICE, HUBS, hubs, both_ways)]
    for graph in pulled:
        runs += [
            (ew.bfs, graph, int(graph.out_degree.argmax()), {}),
            (ew.bfs, graph, several, {"max_depth": 3}),
            (ew.bfs, graph, int(graph.out_degree.argmax()), {"schedule": PUSHING}),
        ]
    for graph in (LATTICE, HUBS, both_ways):
        runs += [
            (ew.bfs, graph, several, {"max_depth": 3}),
            (ew.sssp, graph, several, {}),
            (ew.sssp, graph, 0, {"weighted": False, "target": 5}),
            (ew.sssp, graph, 3, {"max_distance": 15}),
            (ew.sssp, graph, several, {"delta": 1}),
            (ew.sssp, graph, 0, {"delta": 1e9}),
        ]
    long = []
    for graph in (LATTICE, HUBS):
        for shift in (0, 33):  # distances of 31 bits, and longer ones
            lengths, ends = graph.weights.astype(np.int64) << shift, (graph.sources, graph.targets)
            wide = ew.Graph.from_edges(*ends, lengths, num_vertices=graph.num_vertices)
            runs.append((ew.sssp, wide, 0, {}))
            long += [wide] * (shift > 0)
    fractions = np.array([1e-20, 0.1, 0.3, 7.7])  # the first is lost beside others
    for values in (np.array([0, 0, 2]), fractions, fractions.astype(np.float32)):
        for graph, directed in ((LATTICE, True), (HUBS, False)):
            weights, n = values[np.minimum(graph.weights, len(values)) - 1], graph.num_vertices
            ends = graph.sources, graph.targets
            made = ew.Graph.from_edges(*ends, weights, directed=directed, num_vertices=n)
            runs += [(ew.sssp, made, source, {}) for source in (0, several)]
    for find, graph, source, how in runs:
        expected, lost = find(graph, source, device="cpu", **how), graph.weighted and graph.weights.min() < 1
        for again in range(2):  # the second time, the program is laid out already
            found = find(graph, source, distributed=True, device="cuda", **how)
            assert ("began again" in found.explain()) == (graph in long and not again), found.explain()
            for name in ("level", "distance", "parent_index"):
                if hasattr(expected, name):
                    assert lost or not isinstance(found.on_device(name), np.ndarray), (find, how, name)
                    np.testing.assert_array_equal(
                        getattr(found, name), getattr(expected, name), err_msg=f"{find.__name__} {how} {name}"
                    )
            found.verify(graph)
            assert f"ranks speak by {channel}" in found.explain(), found.explain()
            assert how or graph not in pulled or " pull" in found.explain(), found.explain()
            assert "schedule" not in how or " pull" not in found.explain(), found.explain()
            assert find is ew.sssp or found.supersteps == expected.supersteps, how
    for find in (ew.bfs, ew.sssp):
        with pytest.raises(MemoryLimitError, match="on the GPU") as refused:
            find(HUBS, 0, distributed=True, device="cuda", memory_limit=100 if group.rank else 10**9)
        assert ("rank 1: " in str(refused.value)) == (group.rank == 0), refused.value
        assert "ranks speak by" in find(LATTICE, 0, distributed=True).explain()
        assert "ranks speak by" not in find(LATTICE, 0, distributed=True, device="cpu").explain()


def compare_components(group, channel):
    """Components with one large tree, with one for each half of the vertices, with none, and of directed graphs."""
    n, rng = 3000, np.random.default_rng(5)
    ends = rng.integers(0, n, (2, 4 * n))
    whole = ew.Graph.from_edges(*ends, directed=False, num_vertices=2 * n)
    halves = ew.Graph.from_edges(*np.concatenate([ends, ends + n], axis=1), directed=False)
    bridged = ew.Graph.from_edges(
        *np.concatenate([ends, ends + n, [[n - 1], [2 * n - 1]]], axis=1), directed=False
    )
    apart = ew.Graph.from_edges(*ends[:, : n // 4], directed=False, num_vertices=n)
    hubs = ew.generate.rmat(14, 8, seed=3, directed=False)
    folder = tempfile.TemporaryDirectory()
    inward = [with_in_edges(each) for each in (whole, halves, bridged, apart, hubs)]
    inward[-1].save(f"{folder.name}/hubs.edgewise", in_edges=True)
    in_file = ew.read(f"{folder.name}/hubs.edgewise")
    without = ew.Graph.from_csr(in_file.offsets, in_file.targets)
    for graph in (LATTICE, HUBS, whole, halves, bridged, apart, hubs, *inward, in_file, without, sinks()):
        expected = ew.connected_components(graph, device="cpu")
        for find in (ew.connected_components, *[ew.scc] * (not graph.directed)):
            for _ in range(2):  # the second time, arcs are there already
                found = find(graph, distributed=True, device="cuda")
                np.testing.assert_array_equal(found.component, expected.component)
                assert found.num_components == expected.num_components
                told = found.explain()
                assert f"ranks speak by {channel}" in told, told
                assert "arcs inside it were skipped" in told or graph not in (hubs, inward[-1], in_file), told
                assert "arcs inside it were looked at, too" in told or graph is not without, told
                assert "told the roots of all vertices" in told or graph is not apart, told
                assert "told the roots of all vertices" not in told or graph not in (whole, hubs), told
    with pytest.raises(MemoryLimitError, match="on the GPU") as refused:
        ew.connected_components(
            HUBS, distributed=True, device="cuda", memory_limit=100 if group.rank else 10**9
        )
    assert ("rank 1: " in str(refused.value)) == (group.rank == 0), refused.value
    dense = ew.generate.rmat(10, 400, seed=1)
    with pytest.raises(MemoryLimitError) as refused:
        ew.connected_components(dense, distributed=True, device="cpu", memory_limit=0)
    limit = 10**9 if group.rank else int(refused.value.needed)
    with pytest.warns(DeviceWarning, match="the GPU has no room"):
        found = ew.connected_components(dense, distributed=True, memory_limit=limit)
    np.testing.assert_array_equal(found.component, ew.connected_components(dense, device="cpu").component)
    assert "ranks speak by" not in found.explain()


def compare_pagerank(group, channel):
    """PageRank is that of one rank bit for bit, and that of one GPU within rounding."""
    for graph in (LATTICE, HUBS):
        n = graph.num_vertices
        jumps, begin = np.arange(n) % 5, 1.0 + np.arange(n) % 3
        for how in (
            {},
            {"tol": 0, "max_iterations": 7},
            {"max_iterations": 0},
            {"weighted": True, "personalization": jumps, "start": begin},
            {"dtype": np.float32, "weighted": True, "tol": 0, "max_iterations": 9},
        ):
            found = ew.pagerank(graph, distributed=True, device="cuda", **how)
            assert f"ranks speak by {channel}" in found.explain(), found.explain()
            alone, expected = pagerank_alone(graph, **how), ew.pagerank(graph, device="cuda", **how)
            assert np.asarray(found.rank).tobytes() == np.asarray(alone.rank).tobytes(), how
            assert (found.iterations, found.residual) == (alone.iterations, alone.residual), how
            single = how.get("dtype") is np.float32
            np.testing.assert_allclose(found.rank, expected.rank, rtol=1e-4 if single else 1e-10)
            assert found.iterations == expected.iterations, how
            found.verify(graph)
    assert "ranks speak by" in ew.pagerank(LATTICE, distributed=True).explain()
    assert "ranks speak by" not in ew.pagerank(LATTICE, distributed=True, device="cpu").explain()
    with pytest.raises(MemoryLimitError, match="on the GPU of each rank"):
        ew.pagerank(HUBS, distributed=True, device="cuda", memory_limit=1000)


def pagerank_alone(graph, **how):
    """PageRank on one rank by the code for several, which is not of the group that others are in."""
    group = Group(0, 1)
    channel_cuda._channels[group] = channel_cuda.HostChannel(group)
    with contextlib.ExitStack() as patched:
        patched.enter_context(code_for_several())
        for module in (groups, distributed, algorithms_on_ranks, gpu_ranks):
            patched.enter_context(mock.patch.object(module, "connect", lambda: group))
        return ew.pagerank(graph, distributed=True, device="cuda", **how)


def compare_betweenness(group, channel):
    """Sums are those of one GPU over the sources of each rank, added in the order of ranks; errors end all calls."""
    for graph, count in ((LATTICE, 7), (HUBS, 70), (HUBS, 1)):
        sources = np.random.default_rng(3).permutation(graph.num_vertices)[:count]
        for find in (ew.betweenness, ew.edge_betweenness):
            of_vertices = [{"endpoints": True}] * (find is ew.betweenness)
            for how in ({}, {"weighted": True}, {"normalized": False}, *of_vertices):
                found = find(graph, sources=sources, distributed=True, device="cuda", **how)
                assert f"ranks speak by {channel}" in found.explain(), found.explain()
                total = np.zeros_like(found.dependency)
                for rank in range(group.size):
                    own = sources[count * rank // group.size : count * (rank + 1) // group.size]
                    if len(own):
                        total += find(graph, sources=own, device="cuda", **how).dependency
                np.testing.assert_array_equal(found.dependency, total, err_msg=f"{find.__name__} {how}")
                plain = find(graph, sources=sources, device="cpu", **how)
                np.testing.assert_allclose(found.centrality, plain.centrality, rtol=1e-9, atol=1e-12)
    lost = ew.Graph.from_edges([0, 1, 1], [1, 2, 3], [1e30, 1.0, 1e30])  # from 0, which is a source of rank 0
    with pytest.raises(GraphError, match="in float64" if group.rank == 0 else "rank 0: .* in float64"):
        ew.betweenness(lost, sources=[0, 2, 3], weighted=True, distributed=True, device="cuda")
    with pytest.raises(MemoryLimitError, match="on the GPU"):
        ew.betweenness(HUBS, k=9, distributed=True, device="cuda", memory_limit=1000 if group.rank else 10**9)
    found = ew.betweenness(HUBS, k=9, distributed=True, device="cuda", memory_limit=10**9)
    assert f"ranks speak by {channel}" in found.explain(), found.explain()
    assert "ranks speak by" in ew.betweenness(LATTICE, k=9, distributed=True).explain()
    assert "ranks speak by" not in ew.betweenness(LATTICE, k=9, distributed=True, device="cpu").explain()


def compare_limits(group, channel):
    """All ranks are refused where there is no room; "auto" then goes on on the CPUs."""
    program = PROGRAMS["float sums"][0]
    with pytest.raises(MemoryLimitError, match="on the GPU") as refused:
        ew.run(program, HUBS, distributed=True, device="cuda", memory_limit=1000)
    limit = int(refused.value.needed)
    result = ew.run(program, HUBS, distributed=True, device="cuda", memory_limit=limit)
    assert f"ranks speak by {channel}" in result.explain()
    assert "on a GPU, for each rank has one" in ew.run(program, HUBS, distributed=True).explain()
    _ = LATTICE.in_offsets
    needed = {}
    for device in ("cpu", "cuda"):
        with pytest.raises(MemoryLimitError) as refused:
            ew.run(program, LATTICE, distributed=True, device=device, memory_limit=0)
        needed[device] = group.everywhere(np.empty(0, np.uint8), int(refused.value.needed))[1]
    assert max(needed["cpu"]) < min(needed["cuda"]), needed
    with pytest.warns(DeviceWarning, match="the GPU has no room"):
        result = ew.run(program, LATTICE, distributed=True, memory_limit=max(needed["cpu"]))
    assert "ranks speak by" not in result.explain()
    if group.rank == 0:
        print("limits hold", flush=True)


def exchange_parts(group, channel):
    """Parts of any length arrive as they were sent, by this channel, through the host, and by the memory of each other,
    which ranks on one GPU have, too."""
    found = channel_cuda.channel_of(group)
    assert found.name.startswith(channel), found.name
    others = [channel_cuda.HostChannel(group), peers_of(group) if group.size > 1 else None]
    assert group.size == 1 or others[1] is not None
    for each in [found, *filter(None, others)]:
        for lengths in ((0, 0), (1, 0), (7, 1001), (0, 3), (2**20 + 1, 13), (2**26 + 5, 3), (1, 1)):

            def told(sender, receiver, list_, length):
                rng = np.random.default_rng([sender, receiver, list_, length])
                return rng.integers(0, 256, length if (sender + receiver) % 2 == 0 else length // 2).astype(
                    np.uint8
                )

            sent = [
                [
                    Part(list_ - 5 * rank, [copy_of(told(group.rank, rank, list_, length))])
                    for rank in range(group.size)
                ]
                for list_, length in enumerate(lengths)
            ]
            received, words = each.exchange(sent, group.rank * 2**40 - 1)
            assert words == [rank * 2**40 - 1 for rank in range(group.size)]
            for rank, parts in enumerate(received):
                for list_, (part, length) in enumerate(zip(parts, lengths, strict=True)):
                    assert part.head == list_ - 5 * group.rank
                    np.testing.assert_array_equal(host_copy(part.data), told(rank, group.rank, list_, length))
        for step in (0, 1, 2**20 + 3, 2**26 + 3):
            share_parts(group, each, step)
    if group.rank == 0:
        print("parts arrived", flush=True)


def share_parts(group, channel, step):
    """What each rank has arrives at all others, in the order of the stream, some exchanges after one another."""

    def told(rank, turn):
        return np.random.default_rng([rank, turn]).integers(0, 256, rank * step + turn).astype(np.uint8)

    under_way = []
    for turn in range(3):
        parts = [copy_of(0 * told(rank, turn)) for rank in range(group.size)]
        parts[group.rank] = copy_of(told(group.rank, turn))
        under_way.append((turn, parts, channel.share(parts)))
    for turn, parts, wait in under_way:
        wait()
        for rank, part in enumerate(parts):
            np.testing.assert_array_equal(host_copy(part), told(rank, turn))


def end_runs(group, channel):
    """An error of one rank in the midst of a run ends that of all; from GPU to GPU it is the last run."""
    how = {"distributed": True, "device": "cuda"}
    program = PROGRAMS["sssp"][0](source=0)

    def at(superstep):
        if superstep == 3 and group.rank == group.size - 1:
            raise ProgramError("enough")

    began = time.monotonic()
    with pytest.raises(ProgramError, match="enough"):
        ew.run(program, LATTICE, progress=at, **how)
    assert time.monotonic() - began < 60
    if channel != "gloo" and group.size > 1:
        with pytest.raises(DistributedError, match="start all of them again"):
            ew.run(program, LATTICE, **how)
    else:
        assert ew.run(program, LATTICE, **how).supersteps > 3
    if group.rank == 0:
        print("errors end runs", flush=True)
    if channel == "NCCL":
        os._exit(0)  # NCCL may wait for ever


def main():
    what, channel = sys.argv[1:]
    group = connect()
    cuda_door().use_device(int(os.environ.get("LOCAL_RANK", "0")))
    if channel == "NCCL":
        channel_cuda._channels[group] = channel_cuda.NcclChannel(group)
    if what in ("few", "all"):
        compare_programs(group, channel, FEW if what == "few" else None)
    else:
        parts = {"algorithms": compare_algorithms, "others": compare_others, "limits": compare_limits}
        parts["golden"] = compare_golden
        (parts | {"parts": exchange_parts, "errors": end_runs})[what](group, channel)


if __name__ == "__main__":
    main()
