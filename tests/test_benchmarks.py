"""The harness: wrong answers are found, times are taken in turns, and rows come back from CSV."""

import json
import re
import sys
from pathlib import Path

import numpy as np
import pytest

from benchmarks import first_run, page, page_docs, page_gpu, page_tables
from benchmarks.automatic import summary
from benchmarks.check import disagreement
from benchmarks.contenders import Edges, Job
from benchmarks.large import levels_are_right, permuted
from benchmarks.ours import EXAMPLES, load
from benchmarks.results import Row, machine, read_rows, write_rows
from benchmarks.table import fill, tables
from benchmarks.timing import Timing, measure_in_turns
from edgewise import bfs

INF = np.inf


@pytest.fixture
def edges() -> Edges:
    """0 -> 1 -> 2, 0 -> 2, and 3 apart."""
    source, target = np.array([0, 1, 0], np.int32), np.array([1, 2, 2], np.int32)
    return Edges("small", 4, source, target, np.array([1, 1, 5], np.int32), True, 0)


@pytest.mark.parametrize(
    ("form", "ours", "right", "wrong"),
    [
        ("level", [0, 1, 1, -1], [0, 1, 1, -1], [0, 1, 2, -1]),
        ("parent", [0, 1, 1, -1], [-1, 0, 0, -1], [-1, 0, 1, -1]),  # not the nearest
        ("parent", [0, 1, 1, -1], [0, 0, 0, -1], [-1, 0, -1, -1]),  # falsely unreached
        ("distance", [0, 1, 2, INF], [0.0, 1.0, 2.0, INF], [0, 1, 5, INF]),
        ("rank", [0.25, 0.25, 0.25, 0.25], [0.25, 0.25, 0.25, 0.25 + 1e-12], [0.25, 0.25, 0.25, 0.25 + 1e-6]),
        ("component", [0, 0, 0, 3], [7, 7, 7, 1], [0, 0, 1, 1]),
        ("component", [0, 0, 0, 3], [1, 1, 1, 0], [0, 0, 0, 0]),
        ("total", 7, 7.0, 8),
        ("dependency", [0.0, 1.5, 2, 0], [0.0, 1.5 + 1e-12, 2, 0], [0.0, np.nan, 2, 0]),
        ("arcs", None, 3, 4),
    ],
)
def test_wrong_answers_are_found(edges: Edges, form: str, ours: list, right: list, wrong: list) -> None:
    job = Job(lambda: None, lambda result: result, form)
    assert disagreement(edges, job, np.array(right), np.array(ours)) == ""
    assert disagreement(edges, job, np.array(wrong), np.array(ours)) != ""


def test_a_parent_needs_an_arc(edges: Edges) -> None:
    job = Job(lambda: None, lambda result: result, "parent")
    assert "without an arc" in disagreement(edges, job, np.array([-1, 0, 0, 0]), np.array([0, 1, 1, 1]))


def test_jobs_take_turns_and_failures_are_kept() -> None:
    calls: list[str] = []

    def call(name: str) -> int:
        calls.append(name)
        return len(calls)

    def task(name: str):
        return lambda: Job(
            lambda: call(name), lambda result: result, "level", before=lambda: calls.append(".")
        )

    def failing() -> Job:
        raise MemoryError("too large")

    outcomes = measure_in_turns({"a": task("a"), "b": task("b"), "c": failing}, repeat=3)
    assert "".join(calls) == ".a.b" + ".a.b" + ".b.a" + ".a.b"
    assert len(outcomes["a"].timing.warm) == 3
    assert (outcomes["a"].result, outcomes["b"].result) == (14, 16)  # of the last calls
    assert isinstance(outcomes["c"].error, MemoryError) and outcomes["c"].timing is None


def test_long_jobs_are_repeated_less() -> None:
    def rounds(first: float, warm: float) -> int:
        timing = Timing(0.0, first)
        for number in range(9):
            if timing.wants_round(number):
                timing.warm.append(warm)
        return len(timing.warm)

    assert rounds(0.5, 0.5) == 9
    assert rounds(20.0, 0.5) == 9  # only the first call is long: it compiles
    assert rounds(2.0, 2.0) == 3
    assert rounds(31.0, 0.1) == 0
    assert Timing(0.0, 31.0).seconds == 31.0
    assert Timing(0.0, 9.0, [3.0, 1.0, 2.0]).seconds == 2.0


def row(
    contender: str, seconds: float, graph: str = "rmat18", verified: str = "yes", algorithm: str = "bfs"
) -> Row:
    facts = {
        "vertices": 4,
        "arcs": 3,
        "algorithm": algorithm,
        "version": "1",
        "fastest": seconds,
        "first_seconds": 1.0,
    }
    rest = {"prepare_seconds": 0.0, "calls": 3, "verified": verified, "note": ""}
    return Row(**machine(), graph=graph, contender=contender, seconds=seconds, **facts, **rest)


def test_rows_come_back_from_csv(tmp_path: Path) -> None:
    rows = [row("edgewise", 0.25), row("igraph", float("nan"), verified="MemoryError: too, large")]
    write_rows(tmp_path / "new" / "rows.csv", rows)
    back = read_rows(tmp_path / "new" / "rows.csv")
    assert back[0] == rows[0]
    assert np.isnan(back[1].seconds) and back[1].verified == rows[1].verified


def test_tables_give_ratios_goals_and_means() -> None:
    rows = [
        row(contender, seconds, graph)
        for graph in ("rmat18", "rmat20", "uniform18", "road1024")
        for contender, seconds in (
            ("edgewise", 0.01),
            ("edgewise-plain", 0.03),
            ("scipy", 0.04),
            ("igraph", 0.02),
        )
    ]
    text = tables(rows)
    line = next(line for line in text.splitlines() if line.startswith("| rmat18"))
    assert [cell.strip() for cell in line.strip("|").split("|")][1:] == [
        "0.01", "0.03", "0.04", "0.02", "4.00", "3.40", "2.00", "3.00",
    ]  # fmt: skip
    assert "geometric mean 4.00 x scipy" in text and "Smallest share of a goal: 0.61" in text


def test_wrong_and_failed_answers_are_marked() -> None:
    text = tables(
        [row("edgewise", 0.01), row("scipy", 0.02, verified="level of vertex 3"), row("igraph", float("nan"))]
    )
    assert "0.02 (wrong)" in text and "failed" in text


def test_the_automatic_schedule_is_held_against_the_best_fixed_one() -> None:
    times = {"automatic": (1.1, 2.5), "warp": (1.0, 4.0), "WD": (3.0, 2.0)}
    rows = [
        {
            "graph": graph,
            "program": "bfs",
            "schedule": name,
            "ms_of_1": one,
            "ms_of_100": many,
            "right": right,
        }
        for graph, right in (("a", "True"), ("b", True))
        for name, (one, many) in times.items()
    ]
    rows[-1]["right"] = False
    text = summary(rows)
    assert "| a                      | 1.10, **1.25** |" in text
    assert "a, bfs, 100 runs: 2.500 ms, WD 2.000 ms, 1.25 times as long" in text
    assert (
        "2 of 4 cells within 1.1 x the best + 0.02 ms, of those that decided nothing 0 of 0; the worst 1.25 "
        "(aim: 1.25); 1 results differ"
    ) in text


def test_cells_from_which_a_rule_came_are_not_counted_as_unseen() -> None:
    rows = [
        {
            "graph": graph,
            "program": program,
            "schedule": name,
            "ms_of_1": ms,
            "ms_of_100": 1.0,
            "right": "True",
        }
        for graph in ("rmat18", "road-NE", "soc-Epinions1-sym")
        for program in ("bfs", "pagerank")
        for name, ms in (("automatic", 1.0 if program == "bfs" else 1.2), ("warp", 1.0))
    ]
    assert "of those that decided nothing 5 of 6" in summary(rows)
    said = " ".join(page_gpu.automatic_words(rows).split())
    assert "9 of 12 do not" in said
    assert "Of the 6 cells of the last 4 graphs from which no rule came, 5 do not, and 4 of 4 without" in said


def test_a_cell_above_the_factor_but_within_the_margin_is_told_of() -> None:
    times = {"a": (1.115, 1.0), "b": (1.1, 1.0), "c": (1.13, 1.0)}
    rows = [
        {"graph": graph, "program": "bfs", "schedule": name, "ms_of_1": ms, "ms_of_100": 1.0, "right": "True"}
        for graph, pair in times.items()
        for name, ms in zip(("automatic", "warp"), pair, strict=True)
    ]
    said = " ".join(page_gpu.automatic_words(rows).split())
    assert (
        "if they exceed 1.10 times the best by more than 20 µs. 5 of 6 do not; 1 of these is above 1.10."
        in said
    )


def test_first_runs_are_told_of_where_later_ones_are_by_clusters() -> None:
    known = {
        "program": "sssp",
        "ms_of_1": 17.5,
        "layout_ms_of_1": 0.5,
        "ms_of_100": 9.1,
        "layout_ms_of_100": 10.0,
    }
    explained = {"a": "on the GPU by 768 clusters of at most 2,048 vertices", "b": "31 few, 10 push"}
    rows = [known | {"graph": graph, "explain": text} for graph, text in explained.items()]
    said = " ".join(page_gpu.first_runs_words(rows).split())
    assert said.endswith("That is so for shortest paths on a (17 ms, then 9; made once 10).")


DOCUMENTS = page.documents()


@pytest.mark.parametrize("name", DOCUMENTS)
def test_a_document_has_what_the_rows_say(name: str) -> None:
    text, made = (page.ROOT / name).read_text(encoding="utf-8"), DOCUMENTS[name]
    assert all(f"<!-- {place} -->" in text for place in made)
    assert fill(text, made) == text, "python -m benchmarks.page puts tables into their places"
    for place, block in made.items():  # each cell and figure is held
        last = max(block.rfind(digit) for digit in "0123456789")
        changed = block[:last] + str(9 - int(block[last])) + block[last + 1 :]
        other = text.replace(block, changed)
        assert other != text and fill(other, made) == text, place


#: Tables of documents that do not stand on rows.
BY_HAND = {
    "README.md": 0,
    "docs/approx.md": 0,
    "docs/benchmarks.md": 2,
    "docs/distributed.md": 2,
    "docs/gpu.md": 3,
    "docs/layers.md": 1,
    "docs/memory.md": 2,
    "docs/networkx.md": 0,
}


@pytest.mark.parametrize("name", DOCUMENTS)
def test_tables_of_documents_stand_in_places(name: str) -> None:
    text = (page.ROOT / name).read_text(encoding="utf-8")
    outside = re.sub(r"<!-- (?!end).*? -->\n.*?<!-- end -->", "", text, flags=re.DOTALL)
    assert len(re.findall(r"^ *\|[-: |]+\|$", outside, re.MULTILINE)) == BY_HAND[name]


def test_documents_link_to_the_rows_of_their_tables() -> None:
    linked = {
        "README.md": (page.CPU, page.GPU),
        "docs/benchmarks.md": (
            page_tables.CENTRALITIES, page_tables.CORES_AND_TRIANGLES,
            page_tables.READING, page_tables.CUGRAPH, page_gpu.AUTOMATIC,
            page_gpu.GPU, page_tables.BEYOND, page_docs.LARGE, *page_docs.THREADS,
        ),
        "docs/approx.md": (page_docs.APPROX, page_docs.CORES),
        "docs/gpu.md": (page_gpu.CLUSTERS,),
        "docs/layers.md": (page_docs.LAYERS,),
        "docs/memory.md": (page_docs.LARGER,),
        "docs/distributed.md": (
            page_tables.DISTRIBUTED, page_tables.GRID, page_tables.DISTRIBUTED_GPU,
            page_tables.BUILDING_RANKS, page_tables.ALGORITHMS,
        ),
        "docs/networkx.md": (page_tables.NETWORKX, page_tables.NETWORKX_ON_GPU),
    }  # fmt: skip
    assert set(linked) == set(DOCUMENTS)
    for name, paths in linked.items():
        text = (page.ROOT / name).read_text(encoding="utf-8")
        assert all(f"benchmarks/results/{path.name})" in text for path in paths)


def test_what_is_said_of_a_cpu_is_what_rows_say() -> None:
    rows = [
        row(name, seconds, graph, algorithm=algorithm)
        for graph, ours in (("a", 0.02), ("b", 0.05))
        for algorithm in page.CPU_ALGORITHMS
        for name, seconds in (("edgewise", ours), ("scipy", 0.04), ("igraph", 0.06), ("edgewise-plain", 0.1))
    ]
    said = " ".join(page.cpu_words(rows).split())
    assert said.startswith(
        "SciPy is the fastest rival in 10 of 10 cases. A rival was faster than edgewise in 5 of"
    )
    assert "BFS on b (the shortest calls took 50 ms, those of SciPy 40)" in said and "BFS on a" not in said
    assert said.endswith("take 2.0 to 5.0 times as long as the built-in algorithms.")
    right = [each for each in rows if each.graph == "a"]
    assert "None was faster than edgewise." in page.cpu_words(right)


def test_a_rival_whose_answer_is_wrong_is_the_fastest_only_where_no_other_is_right() -> None:
    rows = [row("edgewise", 0.01), row("igraph", 0.02, verified="no"), row("scipy", 0.05)]
    assert "| 10 (5) |" in page.cpu_table(rows, {"bfs": "BFS"})
    assert "| 10 (2, wrong) |" in page.cpu_table(rows[:2], {"bfs": "BFS"})


def test_what_rows_lack_is_told() -> None:
    whole = {
        "algorithm": "bfs", "source": "7", "calls": "9", "commit": "ab", "date": "2026-11-27", "machine": "a",
        "versions": "numpy 2",
    }  # fmt: skip
    assert page_tables.lacking([whole]) == []
    other = whole | {"algorithm": "pagerank", "source": "", "commit": "cd+", "versions": ""}
    assert page_tables.lacking([whole, other]) == [
        "versions (1 rows)", "one commit (2)", "commits without changes",
    ]  # fmt: skip
    assert page_tables.lacking([whole | {"source": "", "calls": "", "date": ""}]) == [
        "source", "repeat", "date",
    ]  # fmt: skip
    assert page_tables.lacking([whole | {"source": "", "what": "median of 16 sources"}]) == []


def test_a_table_shows_what_rows_say() -> None:
    shown = page.cpu_table(
        row(name, seconds, algorithm=algorithm)
        for algorithm in page.CPU_ALGORITHMS
        for name, seconds in (
            ("edgewise", 0.0123456),
            ("scipy", 0.05),
            ("igraph", 0.025),
            ("edgewise-plain", 0.001),
        )
    )
    assert shown.count("12.3 (2.03)") == len(page.CPU_ALGORITHMS)
    known = {"graph": "lattice", "arcs": "15090862"}
    times = {
        ("bfs", "edgewise"): "1.23456",
        ("bfs", "median of 16 sources"): "1234.5",
        ("bfs", "plain program"): "9",
    }
    rows = [known | {"algorithm": name, "what": what, "ms": ms} for (name, what), ms in times.items()]
    assert "| lattice 2048 x 2048 | 15.1 M | 1.23 / 1,234 (9) |" in page.gpu_table(rows)


def test_a_large_graph_has_every_arc_in_both_directions() -> None:
    for scale in (1, 2, 5, 10):
        graph = permuted(scale, 3)
        n, source, target = graph.num_vertices, graph.sources.astype(np.int64), graph.targets
        np.testing.assert_array_equal(np.sort(source * n + target), np.sort(target * np.int64(n) + source))
        assert (graph.out_degree == 6).all()
        assert (np.diff(target.reshape(n, 6)) >= 0).all()


def test_wrong_levels_of_a_large_graph_are_found() -> None:
    graph = permuted(10, 3)
    level = bfs(graph, 5).level
    assert levels_are_right(graph, level, 5)
    for vertex, wrong in ((5, 1), (7, level[7] + 1), (9, -1)):
        assert not levels_are_right(graph, np.where(np.arange(1024) == vertex, wrong, level), 5)


@pytest.mark.parametrize("name", sorted(path.stem for path in EXAMPLES.glob("*.py")))
def test_first_runs_give_each_program_what_it_needs(name, monkeypatch, capsys) -> None:
    monkeypatch.setattr(sys, "argv", ["", name, "cpu"])
    monkeypatch.setitem(sys.modules, name, load(EXAMPLES / f"{name}.py"))
    exec(first_run.RUN, {})
    *_, arcs, right = json.loads(capsys.readouterr().out)
    assert arcs > first_run.EDGES
    assert right
    assert first_run.edited((EXAMPLES / f"{name}.py").read_text(encoding="utf-8"))
