"""What a call would do is told without doing it, and the bytes that it names are the fewest that are enough."""

import json
import re
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from test_engines import PROGRAMS, SSSP

import edgewise as ew
from edgewise.errors import GraphError, MemoryLimitError, ParameterError, ProgramError

PULLED, GIVEN = PROGRAMS["float sums"]
CALLS = {
    "bfs": lambda graph: (ew.bfs, graph, 0),
    "bfs by pushing": lambda graph: (ew.bfs, graph, 0, ew.Schedule(delivery=ew.Push())),
    "bfs by pulling": lambda graph: (ew.bfs, graph, 0, ew.Schedule(delivery=ew.Pull())),
    "sssp": lambda graph: (ew.sssp, graph, 0),
    "components": lambda graph: (ew.connected_components, graph),
    "scc": lambda graph: (ew.scc, graph),
    "pagerank": lambda graph: (ew.pagerank, graph),
    "betweenness": lambda graph: (ew.betweenness, graph),
    "edge betweenness": lambda graph: (ew.edge_betweenness, graph),
    "closeness": lambda graph: (ew.closeness, graph),
    "hits": lambda graph: (ew.hits, graph),
    "program": lambda graph: (ew.run, PULLED(**GIVEN), graph),
}


@pytest.fixture(autouse=True)
def two_threads(monkeypatch):
    """Of many threads each takes more than a small graph has, when in-edges are made: less is not enough then."""
    monkeypatch.setenv("EDGEWISE_NUM_THREADS", "2")


def drawn():
    return ew.generate.uniform(500, 8000, seed=1, weights=(1, 9))


def call_of(name, graph):
    """A call of its arguments and of options."""
    function, *args = CALLS[name](graph)
    schedule = args.pop() if isinstance(args[-1], ew.Schedule) else None

    def call(explained=False, **options):
        given = {"device": "cpu", "schedule": schedule, **options}
        return ew.explain(function, *args, **given) if explained else function(*args, **given)

    return call


def bytes_of(text):
    (number,) = re.findall(
        r"on the CPU with at most \d+ threads?; at most ([\d,]+) bytes beyond the graph", text
    )
    return int(number.replace(",", ""))


#: Take less if their limit is lower: fewer sources at a time, no in-edges.
ADAPTS = ("bfs", "betweenness", "edge betweenness", "closeness")


@pytest.mark.parametrize("name", ADAPTS)
def test_the_bytes_that_are_named_are_enough(name):
    graph = drawn()
    call = call_of(name, graph)
    named = bytes_of(call(explained=True))
    assert not graph.has_in_edges, "nothing is made"
    assert call(memory_limit=named).seconds >= 0
    assert bytes_of(call_of(name, drawn())(explained=True, memory_limit=named - 1)) < named


@pytest.mark.parametrize("name", [name for name in CALLS if name not in ADAPTS])
def test_the_bytes_that_are_named_are_the_fewest_that_are_enough(name):
    graph = drawn()
    call = call_of(name, graph)
    named = bytes_of(call(explained=True))
    assert not graph.has_in_edges, "nothing is made"
    assert bytes_of(call(explained=True, memory_limit=named)) == named
    for explained in (True, False):
        with pytest.raises(MemoryLimitError, match=f"needs {named:,} bytes"):
            call(explained, memory_limit=named - 1)
    assert call(memory_limit=named).seconds >= 0


def enough(text):
    return int(re.findall(r"memory_limit=(\d+) is enough for both", text)[0])


def test_ids_that_are_looked_up_count(tmp_path):
    names = [f"town {v}" for v in range(3000)]
    ew.Graph.from_edges(names, names[1:] + names[:1]).save(tmp_path / "towns.edgewise")
    for call in (
        lambda explained, **how: explained(ew.bfs, "town 7", **how),
        lambda explained, **how: explained(ew.run, SSSP(source="town 7"), **how),
    ):

        def on_a_graph(function, what, explain, **how):
            graph = ew.load(tmp_path / "towns.edgewise")
            given = (graph, what) if function is ew.bfs else (what, graph)
            return ew.explain(function, *given, **how) if explain else function(*given, **how)

        named = enough(call(partial(on_a_graph, explain=True), device="cpu"))
        with pytest.raises(MemoryLimitError, match=f"needs {named:,} bytes"):
            call(partial(on_a_graph, explain=False), device="cpu", memory_limit=named - 1)
        assert call(partial(on_a_graph, explain=False), device="cpu", memory_limit=named).supersteps > 0


def test_pages_of_a_file_count(tmp_path):
    drawn().save(tmp_path / "drawn.edgewise")
    graph = ew.load(tmp_path / "drawn.edgewise")
    text = ew.explain(ew.connected_components, graph, device="cpu")
    named = enough(text)
    assert named == bytes_of(text) + (tmp_path / "drawn.edgewise").stat().st_size
    limited = ew.explain(ew.connected_components, graph, device="cpu", memory_limit=2 * named)
    assert (enough(limited), bytes_of(limited)) == (named, bytes_of(text))
    with pytest.raises(MemoryLimitError):
        ew.connected_components(graph, device="cpu", memory_limit=named - 1)
    ew.connected_components(graph, device="cpu", memory_limit=named)


def test_a_prepared_program_is_explained_and_runs_afterwards():
    prepared = ew.prepare(SSSP, drawn(), device="cpu", schedule=ew.Schedule(num_threads=1))
    text = ew.explain(prepared, source=0)
    assert "on the CPU with at most 1 thread; at most" in text
    assert prepared(source=0).distance[0] == 0
    assert ew.explain(prepared, source=0, check=True).startswith("in plain Python")


def test_a_result_says_nothing_of_having_been_explained():
    graph = drawn()
    ew.explain(ew.bfs, graph, 0)
    assert "bytes beyond the graph" not in ew.bfs(graph, 0).explain()


def test_what_is_refused_is_refused_when_it_is_explained(tmp_path):
    graph = drawn()
    with pytest.raises(GraphError, match="no vertex 500"):
        ew.explain(ew.bfs, graph, 500)
    with pytest.raises(ProgramError, match="source"):
        ew.explain(ew.run, SSSP(), graph)
    with pytest.raises(ParameterError, match="expected an algorithm"):
        ew.explain(ew.bfs(graph, 0))
    with pytest.raises(ParameterError, match="expected an algorithm"):
        ew.explain(np.sort, [1])
    with pytest.raises(ParameterError, match="expected an algorithm"):
        ew.explain(graph.save, tmp_path / "kept.edgewise")
    assert list(tmp_path.iterdir()) == []
    assert ew.bfs(graph, 0).level[0] == 0, "later calls run"


def test_the_command_line_explains(tmp_path, capsys):
    from edgewise.cli.app import app

    path = tmp_path / "edges.txt"
    path.write_text("a b\nb c\n")
    options = ["run", "bfs", str(path), "--source", "a", "--explain"]

    def printed(*more):
        app([*options, *more], standalone_mode=False)
        return capsys.readouterr().out

    text = printed()
    assert bytes_of(text) > 0
    assert json.loads(printed("--json")) == {"algorithm": "bfs", "explain": text.splitlines()}
    example = str(Path(__file__).parents[1] / "examples" / "bfs.py")
    app(["run", example, str(path), "--source", "a", "--explain"], standalone_mode=False)
    assert bytes_of(capsys.readouterr().out) > 0
    with pytest.raises(Exception, match="runs nothing"):
        app([*options, "--verify"], standalone_mode=False)
