"""The reproduction of Graffix: its rows on small graphs, its second baseline, tables and figures."""

import csv
import math
import statistics
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from simulated import simulated

import edgewise as ew

gpu = pytest.importorskip(
    "edgewise.kernels.cuda.compile", reason="numba-cuda is not installed", exc_type=ImportError
)

from benchmarks.papers import graffix, graffix_access, graffix_said, graffix_setup, graffix_tables  # noqa: E402
from benchmarks.papers.graffix_claims import claims_table  # noqa: E402
from benchmarks.papers.graffix_plots import draw, placed  # noqa: E402
from benchmarks.papers.graffix_setup import (  # noqa: E402
    AT_THE_END,
    COALESCING,
    DIVERGENCE,
    EACH_STEP,
    FASTEST,
    HOST,
    MEMORY,
    NODE,
    ONE_STATE,
    ROWS_GIVEN,
    ROWS_ORDER,
    ROWS_WHOLE,
    SLOTS,
    TECHNIQUES,
    THERE,
    TIGR,
    Case,
)
from benchmarks.papers.graffix_tables import Found, blocks  # noqa: E402
from benchmarks.table import fill  # noqa: E402

ROOT = Path(__file__).parent.parent
DOCUMENT = ROOT / "docs" / "papers" / "graffix.md"
MEASURED = ROOT / "benchmarks" / "results" / "papers" / "graffix-2026-11-29-H200.csv"
HOW = graffix.How("cpu", 1)
FIGURES = 5
Write = Callable[..., Path]


@pytest.fixture(scope="module")
def case() -> Case:
    """R-MAT, in which coalescing replicates vertices at the least threshold."""
    graph = ew.generate.rmat(9, 8, simple=True, weights=(1, 100))
    return Case("rmat9", "rmat26", graph, num_sources=3)


def test_every_graph_stands_for_one_of_the_paper() -> None:
    found = graffix_setup.graphs(7)
    assert {source.like for source in found.values()} == set(graffix_said.PAPER_GRAPHS)
    for name in ("rmat7", "random7"):
        graph = found[name].make()
        assert (graph.num_vertices, graph.directed, str(graph.weight_dtype)) == (128, True, "int32")


def test_sources_are_the_largest_vertex_and_others_with_edges(case: Case) -> None:
    degrees = case.graph.out_degree[case.graph.index_of(case.sources)]
    assert len(set(case.sources)) == 3
    assert degrees[0] == case.graph.out_degree.max() and degrees.min() > 0


@pytest.mark.parametrize("technique", TECHNIQUES)
def test_rows_of_effects_are_right(case: Case, technique: str) -> None:
    value = {MEMORY: 0.3}.get(technique, TECHNIQUES[technique].values[-1 if technique == DIVERGENCE else 0])
    made = case.made(technique, value)
    assert made.num_added > 0
    for algorithm in case.calls:
        row = graffix.evaluated(case, algorithm, made, FASTEST, None, HOW)
        assert set(row) <= set(graffix.FIELDS)
        assert row["right"] and row["balance"] == "auto"
        assert all(row[name] > 0 for name in ("exact_ms", "order_ms", "ms"))
        if algorithm in ("SSSP", "MST", "SCC"):
            assert row["is_exact"] and row["inaccuracy"] == row["reachability"] == 0
        if algorithm == "PR":
            assert 0 < row["inaccuracy"] < 1 and row["largest_error"] > 0


def test_wrong_answers_are_noticed(case: Case) -> None:
    for algorithm, call in case.calls.items():
        wanted = case.answer(case.graph, algorithm)
        result = call.run(case.graph, "cpu", None)
        assert graffix.agrees(result, wanted, call)
        other = np.array(wanted)
        other[...] = np.where(other == np.max(other), other * 2, other)
        assert not graffix.agrees(result, other, call)


def test_approximate_graphs_with_a_schedule_take_the_place_of_a_thread_for_each_vertex(case: Case) -> None:
    exact = ew.Schedule(balance=ew.ThreadMapped())
    coalesced, clustered = case.made(SLOTS), case.made(MEMORY)
    assert isinstance(graffix.schedule_of(coalesced, NODE, exact).balance, ew.Replicated)
    assert graffix.schedule_of(coalesced, TIGR, exact) is exact
    assert graffix.schedule_of(clustered, FASTEST, None) is None


def test_rows_of_other_parts(case: Case) -> None:
    (row,) = graffix.graph_rows(case, HOW)
    assert row["edges"] == case.graph.num_arcs and "transfer_ms" not in row
    rows = list(graffix.making_rows(case, HOW))
    assert [row["technique"] for row in rows] == list(TECHNIQUES)
    assert all(row["making_seconds"] > 0 and row["place"] == HOST for row in rows)
    # Slots take space even where no edge is added.
    assert all(row["extra_percent"] > 0 for row in rows if row["technique"] in (COALESCING, SLOTS))
    swept = list(graffix.sweep_rows(case, DIVERGENCE, HOW))
    assert {row["threshold"] for row in swept} == set(TECHNIQUES[DIVERGENCE].values)
    assert all(row["right"] for row in swept)


def test_what_warps_read_is_counted() -> None:
    # 33 vertices: the first has 9 edges to 9 values side by side, the second one edge, the last two edges.
    offsets = np.cumsum([0, 9, 1, *[0] * 30, 2])
    ends = np.array([*range(9), 1, 8, 16])
    # Steps: 9 of the first warp and 2 of the other. In the first step both lanes read the sector of values 0 to 7.
    found = graffix_access.access(offsets, ends)
    assert found == graffix_access.Access(12 / (32 * 11), 11 / 12, 9, 10 / 9)
    assert graffix_access.access(np.zeros(3, np.int64), ends[:0]) == graffix_access.Access(1, 0, 0, 0)


def test_rows_of_what_warps_read(case: Case) -> None:
    rows = list(graffix.access_rows(case))
    assert all(set(row) <= set(graffix.FIELDS) for row in rows)
    assert [row["rows"] for row in rows] == [ROWS_GIVEN, *[ROWS_ORDER, ROWS_WHOLE] * (len(TECHNIQUES) - 1)]
    given, by_degree = rows[0], rows[-2]
    assert given["max_degree"] == by_degree["max_degree"] == case.graph.out_degree.max()
    assert given["in_max_degree"] == case.graph.in_degree.max()
    assert by_degree["technique"] == DIVERGENCE and by_degree["lane_fill"] > given["lane_fill"]


@pytest.mark.gpu
def test_a_gpu_makes_graphs_too(case: Case) -> None:
    rows = list(graffix.making_rows(case, graffix.How("cuda", 1)))
    assert [row["place"] for row in rows] == [HOST, THERE] * len(TECHNIQUES)
    for here, there in zip(rows[::2], rows[1::2], strict=True):
        assert [here[name] for name in ("technique", "added", "replicas")] == [
            there[name] for name in ("technique", "added", "replicas")
        ]


def test_swept_rows_are_those_of_the_package(case: Case) -> None:
    call, knobs = case.calls["PR"], TECHNIQUES[DIVERGENCE].knobs
    swept = ew.approx.sweep(
        case.graph, ew.approx.normalize_degrees, call.algorithm, repeat=1, knobs=knobs, **call.options
    )
    rows = [row for row in graffix.sweep_rows(case, DIVERGENCE, HOW) if row["algorithm"] == "PR"]
    for name in ("inaccuracy", "added"):
        assert [row[name] for row in rows] == [getattr(step, name) for step in swept.steps]
    assert rows[-1]["inaccuracy"] > 0


def test_replicas_with_one_state_change_no_answer_and_their_means_do(case: Case) -> None:
    rows = [row for row in graffix.confluence_rows(case, HOW) if row["added"] == 0]
    assert max(row["replicas"] for row in rows) > 0
    for row in rows:
        if row["confluence"] == ONE_STATE:
            assert row["inaccuracy"] == row["reachability"] == 0
    for algorithm in graffix.MERGED:
        for confluence in (EACH_STEP, AT_THE_END):
            off = [row["inaccuracy"] + row["reachability"] for row in rows
                   if (row["algorithm"], row["confluence"]) == (algorithm, confluence)]  # fmt: skip
            assert max(off) > 1e-4


def test_units_are_measured_once(case: Case, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "rows.csv"
    small = graffix_setup.Source("rmat26", False, lambda: case.graph)
    monkeypatch.setattr(graffix, "graphs", lambda scale: {"rmat9": small})
    units = graffix.units(["graphs", "making", "sweep"], ["rmat9"], HOW)
    assert len(units) == 2 + len(TECHNIQUES)
    graffix.measure(path, units[:2], 9, 3, HOW, math.inf)
    before = path.read_text()
    graffix.measure(path, units[:2], 9, 3, HOW, math.inf)
    assert path.read_text() == before
    graffix.measure(path, units[:3], 9, 3, HOW, 0)  # no time is left for the third
    assert path.read_text() == before
    graffix.measure(path, units[:3], 9, 3, HOW, math.inf)
    assert graffix.done(path) == set(units[:3]) and path.read_text().startswith(before)


def test_parts_leave_graphs_out() -> None:
    found = graffix.units(graffix.PARTS, ["road-FLA", "road-NE"], HOW)
    parts = {graph: {unit.part for unit in found if unit.graph == graph} for graph in ("road-FLA", "road-NE")}
    assert parts["road-FLA"] - parts["road-NE"] == {"sweep"} and "confluence" not in parts["road-FLA"]


@pytest.mark.more
def test_baselines_and_rows_are_right_in_the_simulator() -> None:
    assert simulated("simulate_graffix.py") == ["splitting", "baselines", "confluence"]


@pytest.mark.more
@pytest.mark.parametrize("name", ["bfs", "float sums"])
def test_the_second_baseline_compiles(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    from test_gpu_compile import machine_code

    from benchmarks.papers import graffix_tigr
    from edgewise.balance import registry

    monkeypatch.setitem(registry.STRATEGIES, graffix_tigr.Interleaved, graffix_tigr.InterleavedStrategy)
    schedule = ew.Schedule(balance=graffix_tigr.Interleaved(graffix_tigr.BOUND))
    assert b".text.kernel" in machine_code(name, (9, 0), schedule=schedule)


@pytest.mark.gpu
def test_all_baselines_are_right_on_a_gpu(case: Case) -> None:
    how = graffix.How("cuda", 1)
    for baseline in graffix_setup.baselines("cuda"):
        assert all(row["right"] for row in graffix.effect_rows(case, baseline, how))
    (row,) = graffix.graph_rows(case, how)
    assert row["transfer_ms"] > 0


@pytest.mark.parametrize("table", sorted(graffix_said.MEANS))
def test_the_printed_means_are_those_of_the_printed_numbers(table: int) -> None:
    pairs = graffix_said.effects(table)
    assert len(pairs) == 25 if table < 9 else 15
    ups, off = zip(*pairs, strict=True)
    # Table 10 is cut off, not rounded.
    assert statistics.geometric_mean(ups) == pytest.approx(graffix_said.MEANS[table][0], abs=0.0075)
    assert statistics.geometric_mean(off) == pytest.approx(graffix_said.MEANS[table][1], abs=0.53)


def test_printed_numbers() -> None:
    assert graffix_said.effect(6, "PR", "twitter") == (1.22, 7)
    assert graffix_said.effect(9, "MST", "twitter") is None and graffix_said.effect(6, "PR", "") is None
    assert graffix_said.exact_seconds(4, "SSSP", "USA-road") == 25.139
    assert graffix_said.making(MEMORY, "twitter") == (532, 7)
    assert graffix_said.making(SLOTS, "twitter") is None


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """Makes a CSV file of rows."""

    def written(*rows: dict[str, object]) -> Path:
        path = tmp_path / "rows.csv"
        graffix.write(path, list(rows))
        return path

    return written


def effect(graph: str, algorithm: str, technique: str, baseline: str, **more: Any) -> dict[str, object]:
    """A row of part effect: exact 12 ms, 10 by the order, 8 with edges."""
    known = {
        "part": "effect",
        "graph": graph,
        "like": "rmat26",
        "algorithm": algorithm,
        "technique": technique,
    }
    times = {"exact_ms": 12, "order_ms": 10, "ms": 8, "added": 16, "right": True}
    off = {"inaccuracy": 0.0, "rank_correlation": 1, "reachability": 0, "is_exact": True}
    return known | times | off | {"baseline": baseline} | more


@pytest.fixture
def rows() -> list[dict[str, object]]:
    """Two algorithms with all techniques, a sweep, confluence, and what is known of the graph."""
    known = {"part": "graphs", "graph": "rmat20", "like": "rmat26", "machine": "a GPU; cupy 1"}
    found: list[dict[str, object]] = [
        known | {"vertices": 100, "edges": 1600, "max_degree": 50, "mean_degree": 16, "transfer_ms": 1.5}
    ]
    for technique in TECHNIQUES:
        added = {"threshold": 0.6, "added": 16, "added_percent": 1, "extra_percent": 2.5}
        for place, seconds in ((HOST, 0.02), (THERE, 0.003)):
            making = {"part": "making", "technique": technique, "place": place, "making_seconds": seconds}
            found.append(known | making | added)
        for baseline in (NODE, TIGR, FASTEST):
            found.append(effect("rmat20", "SSSP", technique, baseline))
            changed = {"inaccuracy": 0.05, "is_exact": False, "rank_correlation": 0.875, "ms": 6}
            found.append(effect("rmat20", "PR", technique, baseline, **changed))
        for value, ms, off in ((0.1, 12, 0.01), (0.3, 8, 0.02), (0.6, 6, 0.04)):
            swept = {"part": "sweep", "threshold": value, "ms": ms, "inaccuracy": off}
            swept |= {"added": 0} if value == 0.6 else {}
            found.append(effect("rmat20", "PR", technique, NODE, **swept))
    warps = {
        "part": "access",
        "max_degree": 50,
        "in_max_degree": 60,
        "sectors": 0.5,
        "in_sectors": 1,
        "beside": 2,
    }
    for technique, of in (
        ("", ROWS_GIVEN),
        *((name, of) for name in TECHNIQUES for of in (ROWS_ORDER, ROWS_WHOLE)),
    ):
        fill = {"lane_fill": 0.75 if of == ROWS_WHOLE else 0.5, "in_lane_fill": 0.25, "in_beside": 3}
        if technique != SLOTS:
            found.append(known | warps | fill | {"technique": technique, "rows": of})
    for confluence, off in ((ONE_STATE, 0.0), (EACH_STEP, 0.25), (AT_THE_END, 0.0)):
        merged = {"technique": SLOTS, "confluence": confluence, "threshold": 0.1, "replicas": 30, "added": 0}
        found.append(known | {"part": "confluence", "algorithm": "SSSP", "inaccuracy": off} | merged
                     | {"reachability": 0.01 if confluence == AT_THE_END else 0})  # fmt: skip
    return found


def cells(table: str, *first: str) -> list[str]:
    """The other cells of the row of a Markdown table that begins so."""
    lines = ([cell.strip() for cell in line.strip("|").split("|")] for line in table.splitlines())
    return next(line[len(first) :] for line in lines if line[: len(first)] == list(first))


def test_tables(write: Write, rows: list[dict[str, object]]) -> None:
    made = blocks(Found(write(*rows)), claims_table)
    assert cells(made["graphs"], "rmat20") == ["rmat26", "100", "1,600", "50", "16.0", "1.5"]
    assert cells(made["exact"], TIGR, "rmat20")[:2] == ["12.00 (6)", "- (-)"]
    assert cells(made["making"], DIVERGENCE, "rmat20")[:8] == [
        "0.60", "0.02", "0.003", "42", "2.5%", "2%", "16", "1.0%",
    ]  # fmt: skip
    assert cells(made["access"], "rmat20", "out", "lanes in use") == ["50%", *["50% / 75%"] * 3]
    assert cells(made["access"], "rmat20", "in", "largest degree") == ["60", *["60 / 60"] * 3]
    assert cells(made["means by graph"], MEMORY, TIGR) == ["1.73 / 1.20 / 1.44"]
    assert cells(made["table 6"], "PR", "rmat20") == [
        "2.00", "1.20", "1.20", "1.67", "5.0%", "5%", "0.875", "0%",
    ]  # fmt: skip
    assert cells(made["table 12"], "SSSP", "rmat20")[4:6] == ["exact", "12%"]
    assert cells(made["table 6, extra slots"], "PR", "rmat20")[1] == "-"
    assert cells(made["table 14"], "MST", "rmat20") == ["-"] * 8
    # sqrt(12 / 8 * 12 / 6)
    assert cells(made["means"], MEMORY, TIGR) == ["10", "1.19", "1.73", "1.20", "1.44", "12%", "2.5%"]
    assert cells(made[f"sweep, {DIVERGENCE}"], "PR", "rmat20")[1] == "1.50 / 1.25 / 2.0%"
    assert cells(made["confluence"], "SSSP", "rmat20") == [
        "0.1", "30", "0", "0%", "25.0%", "0% (1.0% unreached)",
    ]  # fmt: skip


def test_the_rows_say_on_what_they_were_measured(write: Write, rows: list[dict[str, object]]) -> None:
    found = placed(Found(write(*rows[:2])), "graffix-day.csv")["rows"]
    assert found == "Measured on a GPU; cupy 1 ([all rows](../../benchmarks/results/papers/graffix-day.csv))."


def test_claims(write: Write, rows: list[dict[str, object]]) -> None:
    table = claims_table(Found(write(*rows)))
    text = "shared memory over node-based, mean speed-up (Table 7)"
    assert cells(table, text) == ["1.20", "1.73, 1.44 by the edges alone", "**yes**"]
    assert cells(table, "coalescing: less over Tigr-like than over node-based")[2] == "**no**"
    assert cells(table, "SSSP, MST, SCC change by 6 to 19%")[2] == "**no**, 0 of 9"
    assert cells(table, "PR changes by 4 to 11%")[1:] == ["5.0% to 5.0%, mean 5.0%", "**yes**"]
    assert cells(table, "BC changes by 6 to 18%")[1:] == ["-", "not measured"]
    assert cells(table, "coalescing: the largest speed-up at 0.6 (Figure 7)")[1:] == ["at 0.60", "**yes**"]
    assert cells(table, "thread divergence: the largest speed-up at 0.3 (Figure 9)")[2] == "**no**"
    assert cells(table, "coalescing: inaccuracy falls with the threshold (Figure 7)")[2] == "**no**"
    assert cells(table, "thread divergence: inaccuracy rises with the threshold (Figure 9)")[2] == "**yes**"
    shared = "shared memory: {} (Figure 8)"
    assert cells(table, shared.format("speed-up rises with the threshold up to 0.9"))[2] == "**yes**"
    assert cells(table, shared.format("inaccuracy rises and then falls with the threshold"))[2] == "**no**"
    assert cells(table, "shared memory: the threshold changes speed-ups by more than 3%")[2] == "**yes**"
    merged = f"replicas without added edges, {EACH_STEP}, change answers"
    assert cells(table, merged)[1:] == ["25.0% to 25.0%, mean 25.0%", "**yes**"]
    # 0.02 s of making, or 0.003 s, and 4 and 6 ms gained in each run
    runs = "coalescing over node-based: runs after which making it on the {} pays"
    assert cells(table, runs.format(HOST))[1] == "4 to 5, in 2 of 2 cases; never in the others"
    assert cells(table, runs.format(THERE))[1] == "1, in 2 of 2 cases; never in the others"
    goal = cells(table, "goal: thread divergence over node-based, where edges, and replicas, are added")
    assert goal == [
        "1.07 at most 8% off",
        "1.73, 1.44 by the edges alone, 2.5% off, in 2 of 2 cases",
        "**yes**",
    ]
    # Nothing is added at 0.6, which is faster.
    best = cells(table, "the same by the best threshold, all of SSSP, PR, BC")
    assert best[1] == "1.50, 1.25 by the edges alone, 2.0% off, at 0.3; 1 of 1 add"
    repeated = "exact runs that were timed four times: largest over least time"
    assert cells(table, repeated)[1] == "1.00, median 1.00"
    assert cells(table, "every answer is that of the CPU on the same graph")[2] == "**yes**"


def test_wrong_answers_have_no_numbers(write: Write, rows: list[dict[str, object]]) -> None:
    for row in rows:
        row |= {"right": False} if row.get("baseline") == TIGR else {}
    found = Found(write(*rows))
    assert found.effect("rmat20", "PR", COALESCING, TIGR) is None
    assert math.isnan(found.exact_ms("rmat20", "PR", TIGR))
    assert cells(graffix_tables.effect_table(found, COALESCING, TIGR), "PR", "rmat20")[0] == "wrong"
    assert cells(claims_table(found), "every answer is that of the CPU on the same graph")[2].startswith(
        "**no**"
    )


def test_refused_calls_have_rows(case: Case, write: Write, rows: list[dict[str, object]]) -> None:
    made = case.made(COALESCING)
    row = graffix.attempted(case, "BC", made, FASTEST, ew.Schedule(balance=ew.ThreadMapped()), HOW)
    assert row["algorithm"] == "BC" and row["right"].startswith("refused: ")
    known = {"part": "effect", "graph": "rmat20", "like": "rmat26", "technique": COALESCING, "baseline": NODE}
    found = Found(write(*rows, known | row))
    assert cells(graffix_tables.effect_table(found, COALESCING, NODE), "BC", "rmat20")[0] == "refused"
    assert cells(claims_table(found), "BC changes by 6 to 18%")[2] == "not measured"


def test_a_call_that_was_refused_is_tried_again(
    case: Case, write: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    units = [graffix.Unit("effect", "rmat9", which) for which in (NODE, TIGR)]
    known = [{"part": "effect", "graph": "rmat9", "baseline": unit.which} for unit in units]
    path = write(
        known[0] | {"algorithm": "PR", "right": True},
        known[0] | {"algorithm": "BC", "right": "refused: not on a GPU"},
        known[1] | {"algorithm": "BC", "right": True},
    )
    assert graffix.done(path) == {units[1]}
    small = graffix_setup.Source("rmat26", False, lambda: case.graph)
    monkeypatch.setattr(graffix, "graphs", lambda scale: {"rmat9": small})
    monkeypatch.setattr(graffix, "warm", lambda: None)
    again = [known[0] | {"algorithm": name, "right": True} for name in ("PR", "BC")]
    monkeypatch.setattr(graffix, "rows", lambda unit, *_: again if unit == units[0] else pytest.fail("done"))
    graffix.measure(path, units, 9, 3, HOW, math.inf)
    found = [(row["baseline"], row["algorithm"], row["right"]) for row in graffix.rows_in(path)]
    assert found == [(TIGR, "BC", "True"), (NODE, "PR", "True"), (NODE, "BC", "True")]
    assert graffix.done(path) == set(units) and list(path.parent.iterdir()) == [path]


def test_the_measured_rows_can_be_gone_on_with(tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    path.write_text(MEASURED.read_text())
    before = graffix.rows_in(path)
    unit = graffix.Unit("graphs", "rmat9", "")
    assert graffix.done(path) == {graffix.unit_of(row) for row in before}
    graffix.put(path, unit, [{"part": unit.part, "graph": unit.graph}])
    assert before == graffix.rows_in(path)[:-1]
    assert graffix.unit_of(graffix.rows_in(path)[-1]) == unit


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("part,graph\ngraphs,rmat9\n", "lacks the columns like, vertices, "),
        (f"{','.join(graffix.COLUMNS)},more\n{',' * len(graffix.COLUMNS)}\n", "has other columns, more;"),
        (f"{','.join(graffix.COLUMNS)}\neffect,rm", "broken ones"),
    ],
)
def test_a_file_of_something_else_is_refused_and_kept(text: str, said: str, tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    path.write_text(text)
    with pytest.raises(SystemExit, match=said):
        graffix.done(path)
    assert path.read_text() == text


def test_a_file_that_cannot_be_written_is_refused_before_anything_is_measured(tmp_path: Path) -> None:
    with pytest.raises(SystemExit, match=r"cannot be written.*--output"):
        graffix.measure(
            tmp_path / "none" / "rows.csv", [graffix.Unit("graphs", "rmat9", "")], 9, 3, HOW, math.inf
        )


def test_the_document_has_a_place_for_every_table(write: Write, rows: list[dict[str, object]]) -> None:
    made, text = placed(Found(write(*rows)), "rows.csv"), DOCUMENT.read_text()
    filled = fill(text, made)
    assert all(f"<!-- {name} -->\n{table}\n<!-- end -->" in filled for name, table in made.items())
    assert text.count("<!-- end -->") == len(made)


def test_the_document_has_the_tables_and_figures_of_the_measured_rows() -> None:
    text, made = DOCUMENT.read_text(), placed(Found(MEASURED), MEASURED.name)
    assert fill(text, made) == text
    figures = [path.name for path in MEASURED.parent.glob("graffix-*.svg")]
    assert len(figures) == FIGURES
    assert all(f"(../../benchmarks/results/papers/{name})" in text for name in figures)


@pytest.mark.parametrize("measured", [False, True])
def test_figures_are_drawn(write: Write, rows: list[dict[str, object]], measured: bool) -> None:
    pytest.importorskip("matplotlib")
    path = write(*rows)
    if measured:
        path.write_text(MEASURED.read_text())
    draw(path)
    assert len(list(path.parent.glob("*.svg"))) == FIGURES
    placed_there = "\n".join(placed(Found(path), path.name).values())
    assert all(f"/{each.name})" in placed_there for each in path.parent.glob("*.svg"))


def test_rows_are_read_as_they_were_written(write: Write, rows: list[dict[str, object]]) -> None:
    path = write(*rows[:3])
    graffix.put(path, graffix.Unit("another", "unit", ""), rows[3:5])
    with open(path, newline="") as file:
        assert [row["part"] for row in csv.DictReader(file)] == [row["part"] for row in rows[:5]]
