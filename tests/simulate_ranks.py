"""Ranks on GPUs that tests/simulator.py pretends: threads of this process, which speak by its memory.

``simulate_ranks.py [warps] [NAME]...`` takes some of the programs. With "warps", the simulator has warps of four lanes
(tests/simulated_warps.py), and rows of a few in-edges are long; that is for programs that pull, for merge path counts
on at least as many warps in a block as a warp has lanes.
"""

import sys
import tempfile
import threading
from unittest import mock

import battery
import kept_messages
import numpy as np
import pytest
import rank_cases
import test_engines
from beyond_programs import Reads, lengths
from ranks import code_for_several
from simulated_warps import with_warps
from simulator import SimulatedKernel, pretend
from test_engines import assert_same
from thread_ranks import on_threads, own

import edgewise as ew
from edgewise import distributed
from edgewise.distributed import PreparedRank
from edgewise.engine.distributed import group as groups
from edgewise.engine.distributed import partition
from edgewise.engine.distributed.checkpoint import Checkpoints
from edgewise.engine.distributed.group import Group
from edgewise.errors import DistributedError, MemoryLimitError
from edgewise.execution import Execution
from edgewise.kernels.cuda import launch as cuda_launch
from edgewise.run import Prepared


def pretend_ranks(warps):
    """Pretend a GPU whose kernels run one at a time, with warps of four lanes or of one."""
    if warps:
        with_warps()
    pretend()
    start, alone = SimulatedKernel.start, threading.Lock()

    def start_alone(self, *arguments):
        with alone:
            start(self, *arguments)

    SimulatedKernel.start = start_alone
    make = cuda_launch.fixed_kernel

    def make_alone(*arguments, **how):
        """While a kernel runs, the simulator has put another module in the place of numba's, which makes no kernels."""
        with alone:
            return make(*arguments, **how)

    cuda_launch.fixed_kernel = make_alone


def connect_threads():
    """Have the threads of `on_threads` be the ranks, each with a GPU, of calls with ``distributed=True``."""
    connect = groups.connect
    groups.connect = lambda: vars(own)["group"] if "group" in vars(own) else connect()
    import edgewise.algorithms.common.ranks as common_ranks

    common_ranks.connect = distributed.connect = groups.connect
    code_for_several().start()
    distributed.cuda_problem = lambda: None


class InThread(PreparedRank):
    """A program on one rank, which is a thread."""

    def __init__(self, group, *arguments):
        super().__init__(*arguments)
        self.group = group

    def _made(self, on_gpu, delivery, message):
        from edgewise.engine.distributed import program_cuda
        from edgewise.engine.lowering.compiled import compiled_for
        from edgewise.kernels.cuda.device import device_function

        return program_cuda.DistributedGpuProgram(
            compiled_for(self.spec, device_function), self._binding, message, self.group
        )


def run_on_ranks(size, program, graph, values, folder=None, **how):
    """The outcomes of all ranks, one after the other, each gathered to that of the whole run, and that of a rank.

    With a folder, runs keep checkpoints after each second superstep, and there is one of them; else there are two.
    """
    asked = {"max_supersteps": None, "progress": None, "memory_limit": None, "check": False, "seed": None}

    def run(group):
        prepared = InThread(group, program, graph, "cuda", ew.Schedule())
        if folder is not None:
            prepared.checkpoints = Checkpoints(folder, 2, group, program.__name__)
        try:
            for _ in range(1 if folder else 2):  # the second run is laid out already
                result = prepared.run(dict(values), **{**asked, **how})
        finally:
            if prepared.checkpoints is not None:
                prepared.checkpoints.let_go()
        return result.gather(), result

    return on_threads(size, run)


def values_of(program, graph):
    """Values for a program on a graph."""
    if program is Reads:
        return lengths(graph)
    if program in rank_cases.PROGRAMS.values():
        return rank_cases.values_of(program, graph)
    return {"source": 1} if hasattr(program, "source") else {}


PROGRAMS = {
    **{
        name: test_engines.PROGRAMS[name][0]
        for name in (
            "bfs", "sssp", "components", "pagerank", "float sums", "user combiner", "logic and aggregates",
            "edge fields",
        )
    },
    **{name: getattr(test_engines, name) for name in ("Widest", "Mirror")},
    **kept_messages.PROGRAMS,
    **rank_cases.PROGRAMS,
    "edge fields of all kinds": Reads,
}  # fmt: skip
GRAPHS = {
    "star in": battery.graphs()["star in"],
    "random": ew.generate.uniform(8, 24, seed=1, weights=(0, 9)),
    "undirected": ew.Graph.from_edges(
        [0, 1, 2, 2, 5, 0], [1, 2, 3, 5, 6, 6], [3, 1, 4, 1, 5, 9], directed=False, num_vertices=7
    ),
}
#: At most so many supersteps, for each takes seconds here.
MOST = 5
#: Programs whose messages are combined in the order of in-edges, as on a CPU; over long rows, which only warps have,
#: the second one alone.
IN_ORDER = ("float sums", "user combiner", "pagerank")


def compare_checkpoints():
    """A run that has ended on all ranks goes on after the last superstep that was kept, on another number of ranks."""
    program, graph, values = test_engines.PROGRAMS["edge fields"][0], GRAPHS["random"], {}
    expected = Prepared(program, graph, "cpu").reference(values, MOST)

    def fail(done):
        if done == 3:
            raise KeyboardInterrupt

    with tempfile.TemporaryDirectory() as folder:
        with pytest.raises(KeyboardInterrupt):
            run_on_ranks(2, program, graph, values, folder, max_supersteps=MOST, progress=fail)
        for gathered, result in run_on_ranks(3, program, graph, values, folder, max_supersteps=MOST):
            assert_same(gathered, expected, program.asynchronous)
            assert "went on after superstep 2 from" in result.explain()


def compare_calls():
    """Calls of a user on the only rank: alone, and by the code for several."""
    groups._groups[:], distributed.cuda_problem = [Group(0, 1)], lambda: None
    graph, program = GRAPHS["random"], test_engines.PROGRAMS["sssp"][0](source=1)
    expected = ew.run(program, graph, device="cpu")
    with tempfile.TemporaryDirectory() as folder:
        for how, told in (({}, "on the GPU"), ({"checkpoint": folder}, "ranks speak by gloo")):
            result = ew.run(program, graph, distributed=True, device="cuda", **how)
            np.testing.assert_array_equal(result.distance, expected.distance)
            np.testing.assert_array_equal(result.gather().distance, expected.distance)
            assert told in result.explain(), result.explain()
    assert "on a GPU, for each rank has one" in ew.run(program, graph, distributed=True).explain()
    with code_for_several():
        compare_algorithms(graph)
    assert "ranks speak" not in ew.bfs(graph, 1, distributed=True, device="cuda").explain()


def compare_algorithms(graph):
    """Algorithms on the only rank."""
    for find, names in ((ew.bfs, ("level", "parent")), (ew.sssp, ("distance", "parent"))):
        found, plain = find(graph, 1, distributed=True, device="cuda"), find(graph, 1, device="cpu")
        assert "ranks speak by gloo" in found.explain(), found.explain()
        for name in names:
            np.testing.assert_array_equal(getattr(found, name), getattr(plain, name), err_msg=name)
    for where, find in (("random", ew.connected_components), ("undirected", ew.scc)):
        found, plain = (find(GRAPHS[where], **how) for how in ({"distributed": True}, {"device": "cpu"}))
        assert "ranks speak by gloo" in found.explain(), found.explain()
        np.testing.assert_array_equal(found.component, plain.component)
        assert found.verify(GRAPHS[where])


def compare_blocks():
    """Aggregates of several blocks of vertices, some of which several ranks share."""
    partition.BLOCK = 3
    compare("logic and aggregates", PROGRAMS["logic and aggregates"])


def compare_without_vertices():
    """Aggregates of no vertices are what their combiners begin with."""
    program, graph = PROGRAMS["every aggregator"], battery.graphs()["no vertices"]
    expected = Prepared(program, graph, "cpu").reference({}, MOST)
    for size in (1, 2):
        for gathered, _ in run_on_ranks(size, program, graph, {}, max_supersteps=MOST):
            assert_same(gathered, expected, program.asynchronous)


def compare_refusals():
    """All ranks are refused where one of them has no room."""
    program = test_engines.PROGRAMS["float sums"][0]
    with pytest.raises(MemoryLimitError, match="the limit is 100"):
        run_on_ranks(2, program, GRAPHS["random"], {}, memory_limit=100)
    result = run_on_ranks(2, program, GRAPHS["random"], {}, memory_limit=10**6)[0][1]
    assert "ranks pull" in result.explain() and "through the host's memory" in result.explain()
    check_parts()


def check_parts():
    """A part gives the vertices that it was made of; a bitmap that has other bits than its head says is refused."""
    from edgewise.engine.distributed.bitmaps_cuda import marked  # after `pretend`
    from edgewise.engine.distributed.exchange_cuda import part_of, placed

    flags = np.random.default_rng(1).random(70) < 0.8
    (marks,) = marked([flags.view(np.uint8)], 1)
    part, _ = part_of(marks, lambda places: [])
    assert part.head == -np.count_nonzero(flags)
    np.testing.assert_array_equal(placed(part, slice(30, 100), [])[0], np.flatnonzero(flags))
    beyond = np.array(part.data).view(np.int64)
    beyond[0] &= ~(1 << int(np.flatnonzero(flags)[0]))
    beyond[1] |= 1 << 6  # the place 70
    for wrong in (
        part._replace(head=part.head + 1),
        part._replace(head=part.head - 1),
        part._replace(arrays=[beyond.view(np.uint8)]),
    ):
        with pytest.raises(DistributedError, match="means nothing here"):
            placed(wrong, slice(30, 100), [])


def cliques():
    """Two cliques, 2 to 10 and 11 to 18, and an edge between them that is the third of both its ends or a later one;
    0 and 1 are neighbours of the second clique."""
    inside = [(u, v) for part in (range(2, 11), range(11, 19)) for u in part for v in part if u < v]
    return ew.Graph.from_edges(*zip((0, 11), (1, 11), *inside, (2, 11), strict=True), directed=False)


def with_in_edges(graph, turns=None):
    """A directed graph with its in-edges: a copy, or one arc for each edge of an undirected graph, in turns either way.

    Args:
        graph: the graph.
        turns: of how many edges one goes from the larger to the smaller index; None for a copy.
    """
    ends = graph.sources, graph.targets
    if turns is not None:
        low, high = (each[graph.sources <= graph.targets] for each in ends)
        turned = np.arange(len(low)) % turns == 0
        ends = np.where(turned, high, low), np.where(turned, low, high)
    made = ew.Graph.from_edges(*ends, num_vertices=graph.num_vertices)
    made.make_in_edges()
    return made


def sinks():
    """A directed clique, 0 to 5, and 40 vertices after it, each with an arc from the clique that is no first one."""
    inside = [(u, v) for u in range(6) for v in range(6) if u != v]
    ends = zip(*inside, *((v % 6, v) for v in range(6, 46)), strict=True)
    return with_in_edges(ew.Graph.from_edges(*ends))


def compare_components(folder=None):
    """Components of graphs with one large component, with two of them, and with none; and of directed graphs with and
    without in-edges, in memory and in a file."""
    if folder is None:
        with tempfile.TemporaryDirectory() as made:
            compare_components(made)
        return
    from edgewise.algorithms.common import own_rows_cuda  # after `pretend`
    from edgewise.algorithms.components import cuda, ranks_cuda

    half = ew.generate.uniform(9, 40, seed=2, directed=False)
    graphs = {
        **GRAPHS,
        "one component": half,
        "two components": ew.Graph.from_edges(
            *([*ends, *(ends + 9)] for ends in (half.sources, half.targets)), directed=False
        ),
        "cliques": cliques(),
        "lattice": ew.generate.lattice(4, 5, seed=1),
        "apart": ew.generate.uniform(20, 7, seed=2, directed=False),
        "hub": ew.Graph.from_edges([7] * 12, range(12), directed=False, num_vertices=14),
        "loop": ew.Graph.from_edges([0], [0], directed=False, num_vertices=1),
        "sinks": sinks(),
    }
    for where, turns in (("random", None), ("one component", 2), ("two components", 2), ("cliques", 3)):
        graphs[f"{where}, directed"] = with_in_edges(graphs[where], turns)
    for inside, where in ((True, "in a file"), (False, "beside a file")):
        graphs["cliques, directed"].save(f"{folder}/{where}.edgewise", in_edges=inside)
        graphs[f"cliques, {where}"] = ew.read(f"{folder}/{where}.edgewise")
        graphs[f"cliques, {where}"].make_in_edges()

    def found(graph, group, limit=None):
        run = Execution(ew.Schedule(), 1, None, on_gpu=True, memory_limit=limit)
        label, number, passes = ranks_cuda.components(graph, run, group)
        return label.copy(), number, passes, "\n".join(run.notes)

    for where, graph in graphs.items():
        expected = ew.connected_components(graph, device="cpu")
        for size in (1, 2, 3, 5):
            for _ in range(2):  # the second time, arcs are there already
                ranks = on_threads(size, lambda group, graph=graph: found(graph, group))
                for label, number, passes, told in ranks:
                    np.testing.assert_array_equal(label, expected.component, err_msg=f"{where}, {size} ranks")
                    assert (number, label.dtype) == (expected.num_components, np.int32), (where, size)
                    kind = where.partition(",")[0]
                    if kind in ("one component", "two components", "cliques") and size == 2:
                        assert "arcs inside it were skipped" in told, (where, told)
                        assert passes == (2 if kind == "one component" else 4), (where, passes)
                    assert graph.has_in_edges or "were skipped" not in told, told
    with mock.patch.object(ranks_cuda, "_MORE", 0):  # no vertex can be listed
        for where in ("apart", "two components", "cliques", "lattice"):
            expected = ew.connected_components(graphs[where], device="cpu")
            for size, rounds in ((2, 1), (3, 2), (5, 3)):
                ranks = on_threads(size, lambda group, where=where: found(graphs[where], group))
                assert len({told[2] for told in ranks}) == 1
                for label, number, passes, told in ranks:
                    np.testing.assert_array_equal(label, expected.component, err_msg=f"{where}, {size} ranks")
                    assert number == expected.num_components, (where, size)
                    missed = told.count("ranks told the roots of all vertices")
                    turns = told.count("of a sample")
                    assert passes == turns + rounds * (turns + missed), (where, size, told)
                    assert missed or where != "apart", size
    # Here a vertex of the other rank's largest tree is in a third one, without being its root.
    ends = (
        [9, 0, 3, 2, 7, 10, 0, 11, 3, 5, 9, 9, 6, 4, 5, 3, 9, 6, 10],
        [8, 0, 1, 1, 6, 11, 0, 8, 1, 5, 8, 11, 7, 6, 5, 0, 8, 5, 9],
    )
    third = ew.Graph.from_edges(*ends, num_vertices=12)
    third.make_in_edges()
    sizes = {"SAMPLE": 4, "SLOTS": 8}
    with mock.patch.multiple(cuda, **sizes), mock.patch.multiple(ranks_cuda, _LISTED=1, _MORE=1, **sizes):
        for label, *_ in on_threads(4, lambda group: found(third, group)):
            np.testing.assert_array_equal(label, ew.connected_components(third, device="cpu").component)
    # With a larger sample, it shows that the vertices of the second rank are in no tree.
    sizes = {"SAMPLE": 16, "SLOTS": 32}
    with mock.patch.multiple(cuda, **sizes), mock.patch.multiple(ranks_cuda, **sizes):
        ranks = on_threads(2, lambda group: found(graphs["sinks"], group))
    for (label, number, passes, told), skipped in zip(ranks, (True, False), strict=True):
        assert (number, passes, ("arcs inside it were skipped" in told)) == (1, 2, skipped), told
        assert not label.any()

    def limits(group):
        with pytest.raises(MemoryLimitError, match="on the GPU") as refused:
            found(graphs["lattice"], group, 100)
        needed = int(refused.value.needed)
        with pytest.raises(MemoryLimitError, match="rank 1: .*on the GPU" if group.rank == 0 else "^conn"):
            found(graphs["lattice"], group, 10**6 if group.rank == 0 else 100)
        assert "ranks speak by gloo" in found(graphs["lattice"], group, needed)[3]
        graph, told = graphs["one component, directed"], "no room for them"
        with pytest.raises(MemoryLimitError) as refused:
            found(graph, group, 0)
        most = group.everywhere(np.empty(0, np.uint8), int(refused.value.needed))[1]
        for limit, has_room in ((max(most), False), (10**6, True), (max(most), False)):
            label, _, _, notes = found(graph, group, limit if group.rank == 0 else 10**6)
            assert (told not in notes, "were skipped" in notes) == (has_room, has_room), notes
            np.testing.assert_array_equal(label, ew.connected_components(graph, device="cpu").component)

    def runs_out(graph, group, *, weighted, inward=False):
        if inward and group.rank == 1:
            raise MemoryLimitError("the GPU's memory is used up")
        return own_part(graph, group, weighted=weighted, inward=inward)

    on_threads(2, limits)
    graph, own_part = with_in_edges(cliques(), 3), own_rows_cuda.own_part
    with mock.patch.object(own_rows_cuda, "own_part", runs_out):
        ranks = on_threads(2, lambda group: found(graph, group))
    for _, number, passes, told in ranks:
        outcome = number, passes, "no room for them" in told, "were skipped" in told
        assert outcome == (1, 2, True, False), told


def compare(name, program):
    """Two and three ranks, and one, against the reference."""
    for where, graph in GRAPHS.items():
        values, limit = values_of(program, graph), min(program.max_supersteps or MOST, MOST)
        expected = Prepared(program, graph, "cpu").reference(values, limit)
        whole = None
        if name in (IN_ORDER[1:2] if "warps" in sys.argv else IN_ORDER):
            run = ew.run(
                program(**values), graph, max_supersteps=limit, device="cpu", schedule=ew.Schedule(ew.Pull())
            )
            whole = dict(run.fields)
        for size in (1, 2, 3) if where == "random" else (2,):
            found = run_on_ranks(size, program, graph, values, max_supersteps=limit)
            for rank, (gathered, result) in enumerate(found):
                assert_same(gathered, expected, program.asynchronous)
                for field, array in gathered.fields.items():
                    own = result.fields[field]
                    assert own.tobytes() == array[result.vertices].tobytes(), (name, where, rank, field)
                    same = whole is None or whole[field].tobytes() == array.tobytes()
                    assert same, f"{name} on '{where}', {size} ranks: {field} depends on who computes it"
                if where == "random":
                    whole = dict(gathered.fields)


def main():
    """Print the name of each program that agreed; the exit code is 1 where one does not."""
    pretend_ranks("warps" in sys.argv)
    if "warps" in sys.argv:
        from edgewise.engine.distributed import gathering_cuda, program_cuda

        gathering_cuda.LONG = program_cuda.LONG = 3
    others = {
        "checkpoints": compare_checkpoints,
        "refusals": compare_refusals,
        "blocks": compare_blocks,
        "no vertices": compare_without_vertices,
        "calls": compare_calls,
        "connected components": compare_components,
    }
    for name in [each for each in sys.argv[1:] if each != "warps"] or [*PROGRAMS, *others]:
        if name in PROGRAMS:
            compare(name, PROGRAMS[name])
        else:
            others[name]()
        print(name, flush=True)


if __name__ == "__main__":
    main()
