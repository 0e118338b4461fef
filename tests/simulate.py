"""Run programs on a GPU that tests/simulator.py pretends, and compare every delivery with the reference."""

import re

import numpy as np
import pytest
from replicated import balance_for, replicated
from simulator import pretend
from test_engines import PROGRAMS, Components, Least, Widest, assert_same

import edgewise as ew
from edgewise.errors import MemoryLimitError
from edgewise.graph import Graph
from edgewise.graph.gpu_rows import GpuRows
from edgewise.run import Prepared

GRAPHS = {
    "nothing": ew.Graph.from_edges([], [], [], num_vertices=0),
    "many to one": ew.Graph.from_edges(range(1, 18), [0] * 17, range(17)),
    "random": ew.generate.uniform(8, 24, seed=1, weights=(0, 9)),
}
DELIVERIES = (ew.Schedule(ew.Push()), ew.Schedule(ew.Pull()))
#: Ways of giving arcs out that a program can be told to take, for programs that push, and for such that only pull.
BALANCED = {
    "bfs": [ew.ThreadMapped(), ew.EdgeBased(), ew.HierarchicalProcessing(2), replicated],
    "sssp": [ew.NodeSplitting(2), ew.WorkloadDecomposition(), ew.EdgeBased(chunking=False), replicated],
    "float sums": [
        ew.BlockMapped(),
        ew.NodeSplitting(3),
        ew.MergePath(),
        ew.HierarchicalProcessing(2, depth=2),
        replicated,
    ],
    "user combiner": [ew.NodeSplitting(), ew.WorkloadDecomposition(), ew.HierarchicalProcessing(2**63)],
    "logic and aggregates": [ew.NodeSplitting(1), ew.MergePath(), ew.EdgeBased(), ew.EdgeBased("vertex")],
    "edge fields": [ew.WorkloadDecomposition(), ew.HierarchicalProcessing(1), replicated],
}
#: Parameters with which a program ends sooner: here, a superstep takes a second.
SHORTER = {"pagerank": {"tol": 1.0}}


def compare_widest():
    """The best of floats of both signs, one of them not a number: best first, pushed and pulled in rounds."""
    graph = GRAPHS["random"]
    weight = np.random.default_rng(1).normal(0, 100, graph.num_arcs)
    weight[3] = np.nan
    values = {"source": 1, "weight": weight}
    expected = Prepared(Widest, graph, "cpu").reference(values, None)
    for schedule in (ew.Schedule(), *DELIVERIES[1:], ew.Schedule(balance=ew.ThreadMapped())):
        assert_same(Prepared(Widest, graph, "cuda", schedule)(**values), expected, True)


def compare_least():
    """A vertex that has not sent yet is not lost when what it will send falls below the threshold."""
    graphs = [ew.Graph.from_edges([0, 0, 3], [1, 2, 1], num_vertices=4)]
    graphs += [ew.generate.uniform(9, 14, seed=seed) for seed in range(8)]
    for graph in graphs:
        values = {"value": np.array([50, 40, 60, 10, 30, 70, 5, 90, 20])}
        values["value"] = values["value"][: graph.num_vertices]
        expected = Prepared(Least, graph, "cpu").reference(values, None)
        assert_same(Prepared(Least, graph, "cuda")(**values), expected, True)


def compare_reasons():
    """A program says why its messages go which way, and where the graph lies if it does not fit."""

    def explained(name, delivery="auto", in_edges=False, memory_limit=None):
        program, values = PROGRAMS[name]
        graph = ew.generate.uniform(8, 24, seed=1, weights=(0, 9))
        prepared = Prepared(program, graph, "cuda", ew.Schedule(delivery), in_edges)
        result = prepared(**values, memory_limit=memory_limit)
        assert_same(result, prepared.reference(values, program.max_supersteps), False)
        return result.explain()

    assert "pushed: the graph has no in-edges" in explained("edge fields")
    assert "pushed: one message decides what ANY gives" in explained("bfs", in_edges=True)
    assert "messages by SUM are combined in a fixed order" in explained("float sums", ew.Push())
    assert "pulled when more than one in 3 edges sends" in explained("edge fields", in_edges=True)
    compare_single_runs()
    even, hub = ew.generate.uniform(8, 24, seed=1), ew.Graph.from_edges(range(1, 60), [0] * 59)
    for graph, told in (
        (even, "a thread for each vertex: none has more than 48 in-edges"),
        (hub, "laid out on"),
    ):
        assert graph.in_offsets[-1] == graph.num_arcs  # in-edges are there
        program, values = PROGRAMS["float sums"]
        prepared = ew.prepare(program, graph, device="cuda")
        result = prepared(**values)
        assert_same(result, prepared.reference(values, program.max_supersteps), False)
        assert told in result.explain()
        with pytest.raises(MemoryLimitError) as refused:
            prepared(**values, memory_limit=0)
        for limit in (int(refused.value.needed), None):  # where the graph lay before decides nothing
            assert (told in prepared(**values, memory_limit=limit).explain()) or graph is hub
    for name, in_edges, of_graph in (
        ("edge fields", True, 72),
        ("edge fields", False, 36),
        ("float sums", True, 36),
    ):
        with pytest.raises(MemoryLimitError) as refused:
            explained(name, in_edges=in_edges, memory_limit=0)
        (least,) = re.findall(r"needs ([\d,]+) bytes on the GPU for what vertices have", str(refused.value))
        least = int(least.replace(",", ""))
        assert f"{of_graph} of" in explained(name, in_edges=in_edges, memory_limit=least)
        assert "read from the host's memory" not in explained(name, in_edges=in_edges, memory_limit=10**6)


def compare_single_runs():
    """A single run on few edges makes no layout, but takes one that the graph has, and threads where rows are short."""
    threads, merged = "a thread for each vertex: none has", "no layout for a run on fewer than"
    even, hub = ([0, 1, 2, 3], [1, 2, 3, 0]), (list(range(1, 60)), [0] * 59)
    program, values = PROGRAMS["float sums"]
    expected = [
        Prepared(program, ew.Graph.from_edges(*columns), "cpu").reference(values, program.max_supersteps)
        for columns in (even, hub)
    ]

    def explained(graph, limit=None, prepare=Prepared):
        result = prepare(program, graph, device="cuda")(**values, memory_limit=limit)
        assert_same(result, expected[graph.num_vertices > 4], False)
        return result.explain()

    def graphs(columns):
        host = ew.Graph.from_edges(*columns)
        rows = GpuRows(np.array(host.offsets), np.array(host.targets), None)
        return host, Graph(rows, host._ids, True, 0, host.num_arcs)

    for columns, told in ((even, threads), (hub, merged)):
        for graph in graphs(columns):
            assert told in explained(graph, 10**6)
            assert told in explained(graph) and told in explained(graph)
            assert graph.has_in_edges
            if told is merged:
                assert "laid out on" in explained(graph, prepare=ew.prepare)
                assert "laid out on" in explained(graph)


def main():
    """Print the name of each program that agreed; the exit code is 1 where one does not."""
    pretend()
    for name, (program, values) in PROGRAMS.items():
        values = SHORTER.get(name, values)
        for graph in GRAPHS.values():
            if "source" in values and graph.num_vertices == 0:
                continue
            if program is Components:
                graph = ew.Graph.from_edges(
                    graph.sources, graph.targets, directed=False, num_vertices=graph.num_vertices
                )
            expected = Prepared(program, graph, "cpu").reference(values, program.max_supersteps)
            ways = DELIVERIES[1:] if name in ("float sums", "user combiner") else DELIVERIES  # always pulled
            balanced = [
                ew.Schedule(way.delivery, balance=balance_for(graph, balance))
                for way in ways
                for balance in BALANCED.get(name, [])
                if graph is GRAPHS["random"] or graph.num_vertices == 17
            ]
            for schedule in (*ways, *balanced):
                result = Prepared(program, graph, "cuda", schedule)(**values)
                assert_same(result, expected, program.asynchronous)
        print(name, flush=True)
    compare_reasons()
    print("reasons", flush=True)
    compare_widest()
    print("widest", flush=True)
    compare_least()
    print("least", flush=True)


if __name__ == "__main__":
    main()
