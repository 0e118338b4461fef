"""A script for several ranks: results written by ranges, prepared programs, and calls that one rank refuses.

``ranks_calls.py FOLDER few`` takes a part of the files.
"""

import inspect
import pickle
import sys
import warnings
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from components import Components
from pagerank import PageRank
from sssp import SSSP
from test_edge_attributes import Tolled
from test_endless import RING, Stubborn
from test_graph_likeness import doubled

import edgewise as ew
from edgewise.cli.report import RunReport
from edgewise.engine import endless
from edgewise.engine.distributed.group import Group, connect
from edgewise.errors import (
    DistributedError,
    EdgewiseError,
    GraphError,
    GraphWarning,
    OutputError,
    ParameterError,
    ProgramWarning,
)
from edgewise.io.columns import write_columns
from edgewise.program.inspect import specification


class Everything(ew.Program):
    """Fields of all kinds: vertices and none, numbers that are infinite, integers that are missing."""

    nearest = ew.vertex(ew.VERTEX, init=-1)
    steps = ew.vertex("int32", init=ew.INFINITY)
    share = ew.vertex("float32")
    far = ew.vertex("float64", init=ew.INFINITY)
    flag = ew.vertex("bool")
    wrong = ew.parameter("int64", default=-1)
    combine = ew.MIN
    max_supersteps = 2

    @staticmethod
    def edge_compute(edge, state):
        return edge.source if edge.source % 3 else None

    @staticmethod
    def vertex_compute(v, message, state):
        if message < 2**31 - 1 and v % 4:
            state.nearest[v] = message
            state.steps[v] = v % 7
            state.far[v] = v / 3.0
        state.share[v] = v * 0.1
        state.flag[v] = v % 2 == 0
        if v == state.wrong:
            state.nearest[v] = 1000000
        return ew.ACTIVE


IDS = {
    "indices": lambda index: index,
    "integers": lambda index: index * 7 - 90,
    "unsigned": lambda index: index.astype(np.uint64) + np.uint64(2**63),
    "names": lambda index: [f'n{i}, "é"' for i in index],
    "formulas": lambda index: [f"={i}" if i > 300 else f"n{i}" for i in index],
    "returns": lambda index: [f"n{i}\r" if i > 390 else f"n{i}" for i in index],
    "with an empty name": lambda index: [f"n{i}" if i else "" for i in index],
}


def graph_with(ids: str, n: int = 400) -> ew.Graph:
    draw = np.random.default_rng(n)
    source, target = draw.integers(0, max(n, 1), (2, 5 * n))
    give = IDS[ids]
    vertices = None if ids == "indices" else give(np.arange(n))
    count = n if ids == "indices" else None
    return ew.Graph.from_edges(give(source), give(target), None, True, count, vertices=vertices)


def written(result: Any, path: Path, **how: Any) -> tuple[bytes, list[str]]:
    """The bytes of a file, and the warnings of writing it."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", GraphWarning)
        if isinstance(result, ew.program_result.ProgramResult):
            write_columns(path, result.table(), missing=result.missing(), **how)
        else:
            result.write(path, **how)
    return path.read_bytes(), [str(each.message).replace(path.name, "FILE") for each in caught]


def check_written(folder: Path, group: Group, few: bool) -> None:
    """Files are those of one process, byte for byte; one rank warns of names that look like formulas."""
    graphs = {name: graph_with(name) for name in (("integers", "formulas", "returns") if few else IDS)}
    graphs |= {"fewer than ranks": graph_with("indices", 1), "nothing": graph_with("indices", 0)}
    for name, graph in graphs.items():
        result = ew.run(Everything(), graph, distributed=True)
        whole = result.gather()
        for suffix in (".csv", ".json") if few else (".csv", ".tsv", ".json", ".jsonl"):
            for how in ({}, {"quote_formulas": True})[: 1 + (suffix in (".csv", ".tsv"))]:
                found, told = written(result, folder / f"ranks{suffix}", **how)
                told_by = group.total(len(told))
                expected, warned = written(whole, folder / f"rank-{group.rank}{suffix}", **how)
                assert found == expected, (name, suffix, found[:200], expected[:200])
                assert told_by == len(warned), (name, suffix, told_by, warned)
                assert not told or [text.partition("rank-")[0] for text in told]
        for count in (0, 1, 5, 1000):
            found, expected = result.leading(count), whole
            reports = [RunReport("some", "graph", each, 0.0, False) for each in (found, expected)]
            assert reports[0]._top(count) == reports[1]._top(count), (name, count)
    assert not [path for path in folder.iterdir() if path.name.endswith(".part")]


def error_of(call: Any) -> EdgewiseError:
    try:
        call()
    except EdgewiseError as error:
        return error
    raise AssertionError("nothing is refused")


def check_refused_files(folder: Path, group: Group) -> None:
    """A file is whole or not there, and an older one stays; each rank has the error of the one that refuses."""
    graph, last = graph_with("integers"), group.rank == group.size - 1
    result = ew.run(Everything(), graph, distributed=True)
    for name in ("file.csv.gz", "file.parquet", "file", "file.npy"):
        error = error_of(lambda name=name: result.write(folder / name))
        assert isinstance(error, OutputError), error
        assert "expected .csv, .tsv, .json or .jsonl" in str(error)
    path = folder / "kept.csv"
    if group.rank == 0:
        path.write_text("old")
    group.total(0)

    def full(done: int) -> None:
        if last:
            raise OSError(28, "No space left on device")

    error = error_of(lambda: result.write(path, progress=full))
    assert isinstance(error, OutputError), error
    assert "No space left on device" in str(error)
    assert last or str(error).startswith(f"rank {group.size - 1}: "), error
    wrong = ew.run(Everything(wrong=399), graph, distributed=True)
    error = error_of(lambda: wrong.write(path))
    assert isinstance(error, GraphError), error
    assert f"Everything.nearest of vertex {399 * 7 - 90} is 1000000, which is no vertex" in str(error)
    error = error_of(lambda: result.write(folder / f"{group.rank}.csv"))
    assert "another file" in str(error)
    assert error_of(lambda: result.write(folder / "none" / "file.csv"))
    group.total(0)
    assert path.read_text() == "old"
    assert not list(folder.glob(".*")), list(folder.glob(".*"))
    result.write(path)
    assert path.read_text().startswith("vertex,nearest,steps,share,far,flag\n")


def check_refused_calls(group: Group) -> None:
    """What one rank refuses ends the call on all of them at once, and the next call goes on."""
    graph, last = graph_with("integers"), group.rank == group.size - 1
    right, unknown = graph.vertices[3], graph.vertices[3] if not last else 5_000_000
    for call in (
        lambda source: ew.run(SSSP(source=source), graph, distributed=True),
        lambda source: ew.sssp(graph, source, weighted=False, distributed=True),
        lambda source: ew.bfs(graph, source, distributed=True),
    ):
        error = error_of(lambda call=call: call(unknown))
        assert isinstance(error, GraphError), error
        assert str(error).startswith("" if last else f"rank {group.size - 1}: the graph has no vertex"), error
        call(right)
    algorithms = [
        find
        for find in vars(ew).values()
        if inspect.isfunction(find)
        and find not in (ew.run, ew.prepare, ew.build)
        and "distributed" in inspect.signature(find).parameters
    ]
    assert len(algorithms) > 15
    both_ways = graph.to_undirected()
    for find in algorithms:
        given = [both_ways if find in (ew.mst, ew.triangles) else graph]
        given += [right] * ("source" in inspect.signature(find).parameters)
        where = {"device": "nowhere" if last else "cpu", "distributed": True}
        error = error_of(partial(find, *given, **where))
        assert str(error).startswith("" if last else f"rank {group.size - 1}: {find.__name__}"), error
        assert "device is 'nowhere'" in str(error), error
        ew.bfs(graph, right, distributed=True)
    other = error_of(
        lambda: ew.run(PageRank(), graph_with("integers" if last else "indices"), distributed=True)
    )
    assert "of other arcs, weights or ids" in str(other), other
    for how in ({"every": 3}, {"every": 10}):
        error = error_of(lambda how=how: ew.run(PageRank(), graph, distributed=True, **how))
        assert isinstance(error, ParameterError), error
        assert 'expected checkpoint="folder" beside it' in str(error)


class Ones(ew.Program):
    """What vertices get is the number of their in-edges."""

    value = ew.vertex("float64")
    combine = ew.SUM
    max_supersteps = 1

    @staticmethod
    def edge_compute(edge, state):
        return 1.0


def without_key(other: bool) -> type[ew.Program]:
    """Two programs of one name, of which neither has a key."""

    class Body(Ones):
        @staticmethod
        def vertex_compute(v, message, state):
            state.value[v] = doubled(message)
            return ew.HALT

    own = Body

    class Body(Ones):
        @staticmethod
        def vertex_compute(v, message, state):
            state.value[v] = doubled(message) + 1.0
            return ew.HALT

    assert specification(own).key is specification(Body).key is None
    assert own.__qualname__ == Body.__qualname__
    return Body if other else own


def check_likeness(folder: Path, group: Group) -> None:
    """What differs on one rank, in one place anywhere, is refused on all; what is the same is not, however made."""
    n, last, place = 150_000, group.rank == group.size - 1, 70_001
    draw = np.random.default_rng(5)
    offsets = np.r_[0, np.sort(draw.integers(0, 2 * n, n - 1)), 2 * n].astype(np.int32)
    targets, weights = draw.integers(1, n, 2 * n).astype(np.int32), draw.random(2 * n)
    names, toll, integers = [f"n{i}" for i in range(n)], draw.random(2 * n), np.arange(n) * 3

    def at(values: Any, value: Any) -> Any:
        """These values, but on the last rank with another one in one place."""
        found = values.copy()
        found[place] = value if last else found[place]
        return found

    def graph(offsets=offsets, targets=targets, weights=weights, vertices=None, toll=toll) -> ew.Graph:
        return ew.Graph.from_csr(offsets, targets, weights, vertices=vertices, edge_attributes={"toll": toll})

    row = int(np.flatnonzero(np.diff(offsets[place:]))[0]) + place
    moved = offsets.copy()
    moved[row] += last
    others = {
        "offset": graph(offsets=moved),
        "target": graph(targets=at(targets, 0)),
        "weight": graph(weights=at(weights, 2.0)),
        "id": graph(vertices=at(integers, 1)),
        "name": graph(vertices=at(names, "another")),
        "no weights": graph(weights=None if last else weights),
    }
    same = graph(vertices=names)
    same.save(folder / f"same-{group.rank}.edgewise")
    others["in a file"] = ew.load(folder / f"same-{group.rank}.edgewise") if last else same
    for name, other in others.items():
        error = error_of(lambda other=other: ew.bfs(other, other.vertices[0], distributed=True))
        assert isinstance(error, DistributedError), (name, error)
        assert "of other arcs, weights or ids, or in a file where this one is not; expected" in str(error), (
            name
        )
    tolled = graph(toll=at(toll, -1.0))
    assert ew.bfs(tolled, 0, distributed=True).graph is tolled
    for differing, call in (
        ("array for toll", lambda: ew.run(Tolled(), tolled, distributed=True)),
        ("array for toll", lambda: ew.run(Tolled(toll=at(toll, -1.0)), same, distributed=True)),
        ("program", lambda: ew.run(without_key(last)(), same, distributed=True)),
    ):
        error = error_of(call)
        assert isinstance(error, DistributedError), error
        assert f"has another {differing} than rank" in str(error), error
    ew.run(without_key(False)(), same, distributed=True)
    if last:
        same = pickle.loads(pickle.dumps(same))
    found = ew.run(Tolled(**({"toll": same.arc_attribute("toll")} if last else {})), same, distributed=True)
    assert found.gather().paid.sum() > 0


def check_prepared(group: Group) -> None:
    """A prepared program runs on ranks, each time with the answer of `ew.run`."""
    graph = graph_with("integers")
    distances = ew.prepare(SSSP, graph, distributed=True)
    for source in graph.vertices[[3, 50, 3]]:
        found, expected = distances(source=source), ew.run(SSSP(source=source), graph, device="cpu")
        np.testing.assert_array_equal(found.distance, expected.distance[found.vertices])
        assert found.group_size == group.size
    assert isinstance(error_of(lambda: distances(source=5_000_000)), GraphError)
    error = error_of(lambda: distances(source=graph.vertices[0], check=True))
    assert isinstance(error, DistributedError), error
    assert "expected a subclass" in str(error_of(lambda: ew.prepare(SSSP(source=1), graph, distributed=True)))


def check_endless(group: Group, ranks: Any = True) -> None:
    """The first rank warns of a run that changes nothing; as an error it ends the run on all ranks."""
    endless.FIRST_LOOK = 0.05
    with warnings.catch_warnings():
        warnings.simplefilter("error", ProgramWarning)
        try:
            ew.run(Stubborn(rest=5), RING, distributed=ranks)
        except ProgramWarning as warning:
            text = str(warning)
            assert "its fields were the same at 3 looks" in text
            assert f" {3 * RING.num_vertices // 4:,} vertices are active" in text
            assert text.startswith("Stubborn: " if group.rank == 0 else "rank 0: Stubborn: ")
    assert ew.run(Stubborn(rest=5), RING, distributed=ranks, max_supersteps=7).supersteps == 7


def began_with(value: Any, dtype: str = "float64", default: int = 1) -> type[ew.Program]:
    """A program whose field has this initial value and dtype; its code is the same for all of them."""

    class Begins(ew.Program):
        x = ew.vertex(dtype, init=value)
        weight = ew.edge(ew.WEIGHT, default=default)
        combine = ew.MIN
        message = "float64"
        max_supersteps = 1

        @staticmethod
        def edge_compute(edge, state):
            return state.x[edge.source] + edge.weight

        @staticmethod
        def vertex_compute(v, message, state):
            state.x[v] = message
            return ew.HALT

    return Begins


def check_declarations(group: Group) -> None:
    """Fields that begin otherwise on other ranks are refused; a limit of supersteps is one for every vertex."""
    graph, rank = graph_with("indices"), group.rank
    for program in (
        began_with(1.0 + rank),
        began_with(1, default=1 + rank),
        began_with(1, ("float64", "float32")[rank % 2]),
    ):
        error = error_of(lambda program=program: ew.run(program(), graph, distributed=True))
        assert isinstance(error, DistributedError) and "has another program than rank" in str(error), error
    pairs = np.arange(20, 40)
    source, target = np.append(np.arange(19), pairs), np.append(np.arange(1, 20), pairs ^ 1)
    path = ew.Graph.from_edges(source, target, num_vertices=40)
    limited = partial(ew.run, Components(), path, device="cpu", max_supersteps=10)
    found = limited(distributed=True).gather()
    expected = limited(schedule=ew.Schedule(ew.Pull()))
    assert found.label.tobytes() == expected.label.tobytes() and found.label[39] == 38


class Nearest(SSSP):
    """Distances from every fourth vertex, none of which another one's messages let go on."""

    source = ew.parameter("int64", default=4)

    @staticmethod
    def initialize(v, state):
        if v % state.source == 0:
            state.distance[v] = 0
            return ew.ACTIVE
        return ew.HALT


def check_many_beginnings() -> None:
    """Where most wait after one has begun alone, and its messages went far, the others all begin."""
    rng, n = np.random.default_rng(0), 3000
    source, target = rng.integers(0, n, (2, 3 * n))
    graph = ew.Graph.from_edges(source, target, rng.random(3 * n), num_vertices=n)
    found = ew.run(Nearest, graph, device="cpu", distributed=True)
    expected = ew.run(Nearest, graph, device="cpu", schedule=ew.Schedule(ew.Pull()))
    assert found.gather().distance.tobytes() == expected.distance.tobytes()
    assert found.supersteps < 45, found.supersteps  # 65 if four begin alone, one after the other


def check_results_of_other_runs(folder: Path, group: Group) -> None:
    """Ranks that ask for results of different runs, or for different things of one, are refused, and can go on."""
    graph, rank = graph_with("indices"), group.rank
    first, second = (ew.run(PageRank(tol=0.0), graph, distributed=True, max_supersteps=k) for k in (2, 3))
    mine = second if rank else first
    calls = {
        "gather": mine.gather,
        "write": lambda: mine.write(folder / "mixed.csv"),
        "leading": lambda: first.leading(3 + rank),
        "gather|write": first.gather if rank else lambda: first.write(folder / "mixed.csv"),
    }
    for call, make in calls.items():
        error = error_of(make)
        assert isinstance(error, DistributedError) and "or on the result of another run" in str(error), call
    assert not (folder / "mixed.csv").exists()
    whole = ew.run(PageRank(tol=0.0), graph, device="cpu", schedule=ew.Schedule(ew.Pull()), max_supersteps=2)
    assert first.gather().rank.tobytes() == whole.rank.tobytes()
    assert "gather() gives the whole result" in str(error_of(lambda: pickle.dumps(first)))


def check_without_a_group() -> None:
    """Calls after the program itself has ended the group say so; the last of all checks."""
    import torch.distributed

    torch.distributed.destroy_process_group()
    error = error_of(lambda: ew.bfs(graph_with("indices"), 0, distributed=True))
    assert isinstance(error, DistributedError) and "destroy_process_group()" in str(error), error


def check_ids_looked_up_before(group: Group) -> None:
    """One rank has looked ids up before, so that sources take less memory there: the call is the same."""
    graph = graph_with("names")
    if group.rank == 0:
        graph.index_of(graph.vertices[:2])
    result = ew.betweenness(graph, sources=graph.vertices[:3], distributed=True)
    expected = ew.betweenness(graph, sources=graph.vertices[:3])
    np.testing.assert_allclose(result.centrality, expected.centrality)


def main() -> None:
    folder, group = Path(sys.argv[1]), connect()
    check_prepared(group)
    check_refused_calls(group)
    check_likeness(folder, group)
    check_written(folder, group, "few" in sys.argv)
    check_refused_files(folder, group)
    check_results_of_other_runs(folder, group)
    check_declarations(group)
    check_ids_looked_up_before(group)
    check_many_beginnings()
    check_endless(group)
    check_without_a_group()
    print(f"rank {group.rank} of {group.size} agrees", flush=True)


if __name__ == "__main__":
    main()
