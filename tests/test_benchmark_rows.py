"""Files of rows say of which sources, when and where they are; runs on a GPU are compared exactly, and timed often."""

import csv
import functools
import subprocess
import types

import numpy as np
import pytest

import edgewise as ew
from benchmarks import automatic, gpu, reading, results
from benchmarks.__main__ import measure_graph
from benchmarks.contenders import Edges
from benchmarks.ours import Edgewise
from benchmarks.papers import load_balancing
from edgewise.engine.delivery import FEW_ARCS, decide
from edgewise.program.inspect import inspect_program


def git(folder, *arguments):
    identity = ["-c", "user.name=n", "-c", "user.email=e@example.org"]
    subprocess.run(["git", "-C", str(folder), *identity, *arguments], check=True, capture_output=True)


def test_the_commit_is_that_of_the_sources(tmp_path, monkeypatch):
    monkeypatch.setattr(results, "ROOT", tmp_path.resolve())
    monkeypatch.setenv("EDGEWISE_COMMIT", "told")
    assert results.commit() == "told"
    git(tmp_path, "init", "-q")
    assert results.commit() == "told"  # a repository without a commit
    (tmp_path / "a.py").write_text("1\n")
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "-qm", "one")
    found = results.commit()
    assert len(found) == 12 and int(found, 16) >= 0
    (tmp_path / "a.py").write_text("2\n")
    assert results.commit() == found + "+"
    (tmp_path / "inside").mkdir()
    monkeypatch.setattr(results, "ROOT", (tmp_path / "inside").resolve())
    assert results.commit() == "told"  # that is another project's repository
    monkeypatch.delenv("EDGEWISE_COMMIT")
    assert results.commit() == ""


def test_a_file_of_rows_has_its_provenance(tmp_path, capsys):
    path = tmp_path / "rows.csv"
    with results.rows_file(path, ("graph", "ms"), 7, on_gpu=False) as write:
        write({"graph": "a", "ms": 1.5})
        assert "a,1.5,7," in path.read_text()  # at once
        write({"graph": "b", "repeat": 3})
    with open(path, newline="") as file:
        rows = list(csv.DictReader(file))
    assert tuple(rows[0]) == ("graph", "ms", *results.PROVENANCE)
    assert [(row["graph"], row["ms"], row["repeat"]) for row in rows] == [("a", "1.5", "7"), ("b", "", "3")]
    assert {row["commit"] for row in rows} == {results.commit()}
    assert " cores" in rows[0]["machine"] and rows[0]["machine"] in capsys.readouterr().out
    assert all(f"{name} " in rows[0]["machine"] for name in ("python", "numpy", "numba"))
    assert "numpy " in results.machine()["versions"] and results.machine()["commit"] == results.commit()
    with (
        pytest.raises(ValueError, match="not in fieldnames"),
        results.rows_file(tmp_path / "other.csv", ("ms",), 1, False) as write,
    ):
        write({"graph": "a"})


@pytest.mark.parametrize("name", ["bfs", "sssp", "components", "pagerank"])
def test_answers_that_are_a_little_off_are_wrong(name):
    values = np.arange(100_000, dtype=np.int64) * 1000
    if name == "pagerank":
        values = np.full(100_000, 1e-5)
    field = gpu.FIELDS[name][0]

    def agrees(found):
        return gpu.agrees(name, types.SimpleNamespace(fields={field: found}), values)

    other = values.copy()
    other[77] += 1 if name != "pagerank" else 2e-6
    assert agrees(values.copy()) and not agrees(other)
    if name == "pagerank":
        assert agrees(values * (1 + 1e-7)) and not agrees(values * (1 + 1e-4))


def test_programs_of_examples_have_the_fields_that_are_compared():
    graph = ew.generate.lattice(5, 4, weights=(1, 9), directed=False)
    for name, (field, of_algorithm) in gpu.FIELDS.items():
        program = getattr(gpu.load(gpu.EXAMPLES / f"{name}.py"), automatic.PROGRAMS[name])
        values = {"bfs": {"source": 3}, "sssp": {"source": 3}, "pagerank": automatic.ITERATIONS}.get(name, {})
        found = ew.prepare(program, graph, device="cpu")(**values)
        assert field in found.fields
        exact = {
            "bfs": lambda: ew.bfs(graph, 3),
            "sssp": lambda: ew.sssp(graph, 3),
            "pagerank": lambda: ew.pagerank(graph, tol=0, max_iterations=50),
            "components": lambda: ew.connected_components(graph),
        }[name]()
        assert gpu.agrees(name, found, getattr(exact, of_algorithm))


def test_runs_are_timed_often_whatever_they_take(monkeypatch):
    waits, calls, clock = [], [], iter(range(10**6))
    monkeypatch.setattr(automatic, "synchronize", lambda: waits.append(len(calls)))
    monkeypatch.setattr(automatic.time, "perf_counter", lambda: next(clock))  # each run takes a second
    prepared = {name: lambda name=name: calls.append(name) or name for name in ("a", "b")}
    found = automatic.run_ms(prepared, {}, 31)
    assert found == {"a": (1000, automatic.LEAST_REPEAT, "a"), "b": (1000, automatic.LEAST_REPEAT, "b")}
    assert len(calls) == 4 + 2 * automatic.LEAST_REPEAT
    # The GPU is waited for before and after each timed run.
    assert waits == [count for run in range(4, len(calls)) for count in (run, run + 1)]


def test_what_is_made_once_has_the_clusters_of_the_second_run():
    asked = []

    def prepared(name):
        calls = []

        def call(**values):
            calls.append(values)
            asked.append((name, values))
            ends = values.get("max_supersteps") == 0
            return types.SimpleNamespace(layout_seconds=[0.001, 0.02, 1][len(calls) - 1] * (1 if ends else 2))

        return call

    make = {name: lambda name=name: prepared(name) for name in (automatic.AUTOMATIC, "warp")}
    for with_clusters, of_automatic in ((False, 1), (True, 42)):
        asked.clear()
        found = automatic.layout_ms(make, {"source": 3}, with_clusters)
        assert found == pytest.approx({automatic.AUTOMATIC: of_automatic, "warp": 1})
        assert {name for name, values in asked if "max_supersteps" not in values} == (
            {automatic.AUTOMATIC} if with_clusters else set()
        )
    assert gpu.made_once_ms(prepared("bfs")) == pytest.approx(42)


def test_algorithms_run_first_on_graphs_with_layouts_and_clusters(monkeypatch):
    clustered = pytest.importorskip("edgewise.balance.clustered", exc_type=ImportError)
    shared, streets = (make() for make in gpu.FIRST)
    assert shared.num_arcs > FEW_ARCS
    assert streets.num_vertices >= clustered.LEAST_VERTICES
    assert streets.num_arcs <= clustered.MEAN_DEGREE * streets.num_vertices
    calls = []

    def built_in(graph, source):
        def call(name):
            calls.append((name, graph))
            return types.SimpleNamespace(layout_seconds=1)

        return {name: functools.partial(call, name) for name in ("bfs", "mst")}

    monkeypatch.setattr(gpu, "FIRST", (lambda: shared, lambda: streets))
    monkeypatch.setattr(gpu, "built_in", built_in)
    gpu.run_first(["mst"])
    assert calls == [("mst", shared)] * 2 + [("mst", streets)] * 2


def test_runs_that_are_as_a_first_one_have_no_clusters():
    program = inspect_program(gpu.load(gpu.EXAMPLES / "sssp.py").SSSP)
    way = decide(program, np.dtype("int64"), ew.Schedule(), False, True)
    assert way.may_cluster
    assert not way.limited("SSSP", automatic.AS_A_FIRST_RUN["max_supersteps"]).may_cluster


def test_files_of_rows_have_the_source_of_searches():
    for columns in (automatic.FIELDS, gpu.COLUMNS, load_balancing.FIELDS):
        assert "source" in columns
    ends = np.arange(8, dtype=np.int32)
    edges = Edges("ring", 8, ends, np.roll(ends, 1), np.ones(8, np.int64), True, 7)
    rows = list(measure_graph(edges, [Edgewise], ["bfs", "sssp", "pagerank"], 1))
    assert [row.source for row in rows] == ["7", "7", ""]
    assert all("numpy " in row.versions and "numba " in row.versions for row in rows)
    assert {row.commit for row in rows} == {results.commit()}


def test_every_reader_finds_the_same_edges(tmp_path):
    reading.make_files(tmp_path, 8, 2000)
    for name in reading.FILES:
        rows = reading.rows_of(tmp_path / name, 1)
        assert len(rows) == 5 and {row["right"] for row in rows} == {"yes"}
    columns = [np.arange(4), np.arange(4)]
    job = reading.Job(None, None, "columns")
    assert reading.is_right(job, columns, columns)
    assert not reading.is_right(job, [columns[0], columns[1] + 1], columns)
