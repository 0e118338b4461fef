"""The reproduction of the Edge-Vertex model: tables, goals and figures from measured rows."""

import csv
import math
import types
from collections.abc import Callable
from importlib.metadata import PackageNotFoundError
from pathlib import Path

import numpy as np
import pytest

from benchmarks import results
from benchmarks.papers import cusha, edge_vertex, edge_vertex_setup
from benchmarks.papers.edge_vertex import FIELDS
from benchmarks.papers.edge_vertex_checks import ALL_RANKS, EACH_RANK, is_permutation, is_sorted, same
from benchmarks.papers.edge_vertex_claims import beside, claims_table, verdict
from benchmarks.papers.edge_vertex_plots import blocks, draw
from benchmarks.papers.edge_vertex_setup import thinned
from benchmarks.papers.edge_vertex_tables import (
    PROGRAMS,
    ROW_MAJOR,
    UNSORTED,
    Found,
    buckets_table,
    bytes_table,
    efficiency_table,
    extra_table,
    gains_table,
    graphs_table,
    phases_table,
    preprocessing_table,
    profile_reads_table,
    profile_table,
    renumbering_table,
    sorts_table,
    speedups_table,
    stage_reads_table,
    stage_times_table,
    times_table,
)
from benchmarks.table import fill

ROOT = Path(__file__).parent.parent
MEASURED = ROOT / "benchmarks" / "results" / "papers" / "edge_vertex-2026-11-28-H100.csv"
DOCUMENT = ROOT / "docs" / "papers" / "edge_vertex.md"
FIGURES = 8
#: Milliseconds: preprocessing, processing, sending, gathering, computing.
COSTS = {
    "Medusa-like": (60, 40, 20, 10, 5),
    "paper": (2, 18, 10, 4, 2),
    "paper, unsorted": (1, 24, 10, 6, 2),
    "paper, row-major": (2, 38, 20, 8, 4),
}
CHECKED = "every answer that is checked is right"
Write = Callable[..., Path]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """Makes a CSV file of rows."""

    def written(*rows: dict[str, object]) -> Path:
        path = tmp_path / "rows.csv"
        with open(path, "w", newline="") as file:
            writer = csv.DictWriter(file, FIELDS)
            writer.writeheader()
            writer.writerows(rows)
        return path

    return written


@pytest.fixture
def rows() -> list[dict[str, object]]:
    """PageRank on RMAT by four systems, one sort, two numbers of buckets, two layouts of the stage."""
    known = {
        "part": "whole",
        "graph": "RMAT",
        "vertices": 100,
        "edges": 800,
        "max_degree": 30,
        "eta_percent": 52,
    }
    found: list[dict[str, object]] = [
        known
        | {
            "program": "PageRank", "system": system, "preprocessing_ms": made, "ms": ms, "sending_ms": sending,
            "gathering_ms": gathering, "computing_ms": computing, "extra_percent": 0.5, "layout_bytes": 4e6,
            "run_bytes": 6e6, "right": True,
        }
        for system, (made, ms, sending, gathering, computing) in COSTS.items()
    ]  # fmt: skip
    found += [
        {"part": "sort", "graph": "1 M", "system": name, "ms": ms, "right": True}
        for name, ms in (("approximate", 0.1), ("radix", 0.4), ("exact", 0.7))
    ]
    found += [
        {
            "part": "buckets",
            "graph": "RMAT",
            "program": "PageRank",
            "buckets": n,
            "ms": ms,
            "extra_percent": 7,
        }
        for n, ms in ((10, 6), (0, 8))
    ]
    found += [
        {
            "part": "stage", "graph": "RMAT", "system": name, "ms": ms, "extra_percent": 1, "warp_percent": warp,
            "warp_percent_computed": 95, "load_percent": 92, "load_percent_computed": 93, "store_percent": 12.5,
            "hit_percent": 80.25, "read_bytes": 2e6, "right": True,
        }
        for name, warp, ms in (("row-major, sorted", 36, 0.25), ("column-major, sorted", 94, 0.2))
    ]  # fmt: skip
    found.append({"part": "baseline", "graph": "RMAT", "system": "SciPy", "preprocessing_ms": 90})
    found.append({
        "part": "profile", "graph": "RMAT", "program": "PageRank", "system": "paper", "warp_percent": 97,
        "load_percent": 91, "store_percent": 17, "read_bytes": 3e6,
    })  # fmt: skip
    return found


def cells(table: str, first: str) -> list[str]:
    """The cells of the row of a Markdown table that begins so."""
    return next(
        cells[1:]
        for line in table.splitlines()
        if (cells := [cell.strip() for cell in line.strip("|").split("|")])[0] == first
    )


def test_numbers_of_a_run(write: Write, rows: list[dict[str, object]]) -> None:
    found = Found(write(*rows))
    assert found.whole("RMAT", "PageRank", "paper") == 20
    assert found.speedup("RMAT", "PageRank", "paper") == 5
    assert found.speedup_alone("RMAT", "PageRank", "paper") == pytest.approx(40 / 18)
    assert found.gain("RMAT", UNSORTED) == pytest.approx(20)
    assert found.gain("RMAT", ROW_MAJOR) == pytest.approx(50)
    assert found.preprocessing_ratio("RMAT") == 30
    assert math.isnan(found.speedup("RMAT", "SSSP", "paper"))
    assert math.isnan(found.speedup("Random", "PageRank", "paper"))


def test_wrong_answers_have_no_numbers(write: Write, rows: list[dict[str, object]]) -> None:
    rows[1]["right"] = False
    found = Found(write(*rows))
    assert math.isnan(found.speedup("RMAT", "PageRank", "paper"))
    table = claims_table(found)
    assert (
        cells(table, CHECKED)[1]
        == "**no**, 8 of 9, 9 rows; not checked: 1 of baseline, 2 of buckets, 1 of profile"
    )
    assert cells(table, "PageRank: at least 1.6x over Medusa-like")[1] == "not measured"


def test_tables(write: Write, rows: list[dict[str, object]]) -> None:
    found = Found(write(*rows))
    assert cells(graphs_table(found), "RMAT") == ["100", "800", "30", "52.0%", "555", "52.4%"]
    assert cells(times_table(found, "PageRank"), "RMAT")[:2] == ["60.00 + 40.00", "2.00 + 18.00"]
    assert cells(times_table(found, "PageRank"), "PageRank") == [*COSTS]
    assert cells(times_table(found, "SSSP"), "RMAT") == ["- + -"] * len(COSTS)
    assert cells(speedups_table(found, "PageRank"), "RMAT")[0] == "5.00 / 2.22"
    assert cells(preprocessing_table(found), "RMAT") == [
        "2.00", "60.0", "30.0", "90.0", "45.0", "12", "305", "25",
    ]  # fmt: skip
    assert cells(phases_table(found), "RMAT")[1] == "10.00 / 4.00 / 2.00"
    assert cells(gains_table(found), "RMAT") == [
        "20.0% / 25.0%", "50.0% / 50.0%", "- / -", "12.4%", "5.0% / 20.0%",
    ]  # fmt: skip
    assert cells(sorts_table(found), "1 M") == ["0.100", "0.400", "0.700", "4.00", "7.00", "-"]
    assert cells(buckets_table(found), "RMAT") == ["1.00 (+7.0%)", "0.75 (+7.0%)"]
    assert cells(efficiency_table(found, "warp"), "RMAT") == ["36.0 / 95.0", "94.0 / 95.0", "35.7 → 95.6"]
    assert cells(efficiency_table(found, "store"), "RMAT") == ["12.5", "12.5", "50.5 → 55.4"]
    assert cells(stage_times_table(found), "RMAT") == ["0.250 (+1.00%)", "0.200 (+1.00%)"]
    assert cells(stage_reads_table(found), "RMAT") == ["80.2%, 2.0 MB"] * 2
    assert cells(profile_table(found), "RMAT") == ["97.0 / 91.0 / 17.0", "95.6 / 92.1 / 55.4"]
    assert cells(profile_reads_table(found), "RMAT") == ["3"]
    assert cells(extra_table(found), "RMAT")[:3] == ["0.50%", "0.50%", "-"]
    assert cells(bytes_table(found), "RMAT")[0] == "4 + 6"


def test_goals(write: Write, rows: list[dict[str, object]]) -> None:
    table = claims_table(Found(write(*rows)))
    assert cells(table, CHECKED)[1].startswith("**yes**, 9 rows; not checked: 1 of baseline, ")
    assert cells(table, "PageRank: at least 1.6x over Medusa-like") == [
        "1.7 to 2.3x",
        "5.00x: 6 of 7 not measured",
        "0 / 0 / 1",
    ]
    assert cells(table, "more buckets, shorter time")[1] == "**yes**"
    assert cells(table, "over CuSha-like, the whole, SSSP on Random")[:2] == ["2.7x", "-"]
    assert cells(table, "the least and the largest of so many random keys, by CuPy")[1] == "not measured"
    stores = "store efficiency of PageRank at least 55.4%, RMAT and Random, the paper's layout"
    assert cells(table, stores)[1:] == ["17.0%: **no**, 0 of 2", "1 / 0 / 0"]
    assert cells(table, "PageRank: the same without preprocessing")[1] == "2.22x"
    assert cells(table, "SSSP: at least 1.6x over Medusa-like")[1] == "not measured"
    assert cells(table, "gain by remapping: the vertex stage alone")[1] == "20.0%"
    ratio = "preprocessing over that on the CPU"
    assert cells(table, f"{ratio}, Journal: at least 33x")[1] == "not measured"
    assert cells(table, f"{ratio}, every graph: at least 13x")[1] == "30.0x: 6 of 7 not measured"
    sort = "sort of 1 M, 4 M, 16 M keys: at least 3x over the radix sort"
    assert cells(table, sort)[1:] == ["4.00x: 2 of 3 not measured", "1 / 0 / 0"]
    assert cells(table, "gain by sorting: at least 8%")[1] == "20.0%: 6 of 7 not measured"
    both = "RMAT and Random, the paper's layout"
    assert (
        cells(table, f"warp efficiency of PageRank at least 90%, {both}")[1] == "97.0%: 1 of 2 not measured"
    )
    assert cells(table, f"warp efficiency of sums alone, {both}, numbers kept")[1] == "94.0%"
    goal = "load efficiency of PageRank at least 90%, other graphs, heavy apart"
    assert cells(table, goal)[1] == "not measured"


def test_goals_are_held_against_ranges_on_both_sides(write: Write, rows: list[dict[str, object]]) -> None:
    for row in [each for each in rows if each["graph"] == "RMAT"]:
        rows += [row | {"graph": name} for name in ("Journal", "road-NE")]
    table = claims_table(Found(write(*rows)))
    ratio = "preprocessing over that on the CPU"
    assert cells(table, f"{ratio}, Journal: at least 33x") == ["33x", "30.0x: **no**", "1 / 0 / 0"]
    assert cells(table, f"{ratio}, every graph: at least 13x")[2] == "0 / 3 / 0"
    itself = "efficiency of PageRank, other graphs, the paper's layout"
    assert cells(table, f"warp {itself}") == ["89.8 to 95.6%", "97.0%", "0 / 0 / 2"]
    assert cells(table, f"load {itself}") == ["90.1 to 94.1%", "91.0%", "0 / 2 / 0"]
    assert cells(table, f"store {itself}") == ["51.1 to 64.6%", "17.0%", "2 / 0 / 0"]


def test_graphs_have_weights_for_programs_that_read_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(edge_vertex, "built", lambda columns, num_vertices: len(columns))
    monkeypatch.setattr(edge_vertex, "drawn_sources", lambda made: ([0], [1.0]))
    made: tuple = (3, ([0], [1], [5]))
    tasks = edge_vertex.programs(made)
    assert {name: task.weighted for name, task in tasks.items()} == {
        "PageRank": False, "SSSP": True, "HCC": False,
    }  # fmt: skip
    found = [edge_vertex.fresh(made, weighted=tasks[name].weighted) for name in ("PageRank", "SSSP")]
    assert found == [2, 3]


def test_what_the_shards_cost_is_a_median_of_three(monkeypatch: pytest.MonkeyPatch) -> None:
    spent, clock = iter([9.0, 0.003, 0.001, 0.002]), iter([0, 9, 0, 3, 0, 1, 0, 2])
    monkeypatch.setattr(
        cusha, "make_shards", lambda *_: types.SimpleNamespace(preprocessing_seconds=next(spent))
    )
    monkeypatch.setattr(cusha, "pagerank", lambda *_: np.ones(3))
    monkeypatch.setattr(cusha, "finish", lambda: None)
    monkeypatch.setattr(edge_vertex.time, "perf_counter", lambda: next(clock))
    column = types.SimpleNamespace(get=lambda: np.zeros(1, np.int32))
    found = edge_vertex.cusha((3, (column,) * 3), "PageRank", edge_vertex.RANKS, [np.ones(3)])
    assert found == {"preprocessing_ms": 2.0, "ms": 2000, "right": True, "repeat": 3}


def test_a_goal_is_not_reached_by_what_was_not_measured() -> None:
    def met(*values: float) -> str:
        return verdict(values, 2, 9, 0, "x")

    assert met() == met(math.nan) == "not measured"
    assert met(2, 9) == "2 to 9x: **yes**"
    assert met(3, math.nan) == "3x: 1 of 2 not measured"
    assert met(1, 10, 3, math.nan) == "1 to 10x: **no**, 1 of 4"


def test_values_stand_beside_a_range() -> None:
    assert beside([0.5, 1, 2, 3, 4, math.nan], 1, 3) == "1 / 3 / 1"
    assert beside([math.nan], 1, 3) == beside([], 1, 3) == "-"


def test_files_without_rows_have_tables(write: Write) -> None:
    made = blocks(Found(write()))
    assert "**yes**" not in made["claims"]
    assert {f"{program} {kind}" for program in PROGRAMS for kind in ("times", "speedups")} < set(made)


@pytest.mark.parametrize("which", ["few", "none", "measured"])
def test_figures_are_drawn(write: Write, rows: list[dict[str, object]], which: str) -> None:
    pytest.importorskip("matplotlib")
    path = write(*(rows if which == "few" else []))
    if which == "measured":
        path.write_text(MEASURED.read_text())
    document = path.parent / "document.md"
    made = blocks(Found(path))
    document.write_text("a\n" + "".join(f"<!-- {name} -->\n<!-- end -->\nb\n" for name in made))
    draw(path, document)
    assert len(list(path.parent.glob("edge_vertex-*.svg"))) == FIGURES
    assert document.read_text() == "a\n" + "".join(
        f"<!-- {name} -->\n{table}\n<!-- end -->\nb\n" for name, table in made.items()
    )


def test_the_document_has_the_tables_and_figures_of_the_measured_rows() -> None:
    text, made = DOCUMENT.read_text(), blocks(Found(MEASURED))
    assert fill(text, made) == text
    assert all(f"<!-- {name} -->" in text for name in made)
    figures = [path.name for path in MEASURED.parent.glob("edge_vertex-*.svg")]
    assert len(figures) == FIGURES
    assert all(f"(../../benchmarks/results/papers/{name})" in text for name in figures)


def test_graphs_are_thinned() -> None:
    columns = tuple(np.array(column) for column in ([0, 5, 1, 2, 0], [1, 1, 4, 0, 2], [6, 7, 8, 9, 10]))
    num_vertices, kept = thinned((6, columns), 3, 2)
    assert num_vertices == 3
    assert [column.tolist() for column in kept] == [[0, 2], [1, 0], [6, 9]]


def test_claims_of_the_paper_on_cusha_and_skew(write: Write, rows: list[dict[str, object]]) -> None:
    known, gains = (
        {},
        {"RMAT": 50, "Random": 20, "Journal": 30, "soc-Epinions1": 10, "cnr-2000": 30, "actor-collab": 20},
    )
    etas = {"soc-Epinions1": 50, "cnr-2000": 60, "Journal": 70, "RMAT": 80, "actor-collab": 90, "Random": 100}
    for graph, gain in gains.items():
        known = {
            "part": "whole",
            "graph": graph,
            "eta_percent": etas[graph],
            "preprocessing_ms": 1,
            "right": True,
        }
        systems = {"paper": 99 - gain, UNSORTED: 99, ROW_MAJOR: 99, "Medusa-like": 79, "CuSha-like": 74}
        costs = [("PageRank", system, ms) for system, ms in systems.items()]
        costs += [(program, "Medusa-like", 9) for program in ("SSSP", "HCC")]
        costs += [("SSSP", "CuSha-like", 19), ("HCC", "CuSha-like", 4)]
        rows += [known | {"program": program, "system": system, "ms": ms} for program, system, ms in costs]
    rows = [row for row in rows if row["part"] != "whole" or "vertices" not in row]
    table = claims_table(Found(write(*rows)))
    more = "gain by sorting: more on power-law graphs than on Random"
    assert cells(table, more)[1] == "10.0 to 50.0%, Random 20.0%: **no**, 3 of 5"
    grows = "gain by remapping: grows with η on power-law graphs"
    assert cells(table, grows)[1] == "10.0, 30.0, 30.0, 50.0, 20.0% by η: **no**, 2 of 4 steps"
    slower = "CuSha-like takes longer than Medusa-like, the whole,"
    assert cells(table, f"{slower} SSSP")[1] == "2.00x: 1 of 7 not measured"
    assert cells(table, f"{slower} HCC")[1] == "0.50x: **no**, 0 of 7"
    faster = "CuSha-like is slightly faster than the paper's system, the whole, PageRank"
    assert cells(table, faster)[1] == "0.67 to 1.20x: in 3 of 6"


def test_renumbering_is_weighed_over_many_runs(write: Write, rows: list[dict[str, object]]) -> None:
    known = {"part": "whole", "program": "PageRank", "right": True}
    costs = {"pull, renumbered": (6, 4), "heavy apart, renumbered": (1, 9), "automatic": (2, 6)}
    found = Found(write(*(
        known | {"graph": graph, "system": system, "preprocessing_ms": made, "ms": more * (system != "automatic") + ms}
        for graph, more in (("RMAT", 0), ("Random", 2.5))
        for system, (made, ms) in costs.items()
    )))  # fmt: skip
    table = renumbering_table(found)
    assert cells(table, "RMAT") == ["pull, renumbered", "0.80", "1.48", "1.50", "2.0"]
    assert cells(table, "Random")[-1] == "never"
    assert "RMAT" not in renumbering_table(Found(write(*rows[-3:])))


def test_sorts_are_checked() -> None:
    keys = np.array([3, 1, 2], np.uint32)
    up, down = np.array([1, 2, 0]), np.array([0, 2, 1])
    by_radix, inverse = (keys[down], np.array([0, 2, 1])), np.array([2, 0, 1])
    assert is_sorted("exact", by_radix, keys) and not is_sorted("exact", (keys[up], inverse), keys)
    assert is_sorted("merge", (keys[up], up), keys) and not is_sorted("quick", (keys[up], down), keys)
    assert is_sorted("approximate", (keys[down], down), keys)
    assert not is_sorted("approximate", (keys[up], up), keys)
    assert not is_sorted("logarithmic", (keys[up], down), keys)


@pytest.mark.parametrize("name", ["merge", "quick", "radix"])
def test_a_sort_that_leaves_keys_out_is_wrong(name: str) -> None:
    keys = np.array([3, 1, 2, 1], np.uint32)
    order = np.argsort(keys, kind="stable")
    assert is_sorted(name, (keys[order], order), keys)
    for wrong in (np.full(4, 1), order[:3], order[:0], np.r_[order, order[-1]], [1, 1, 2, 0], order - 4):
        index = np.array(wrong, order.dtype)
        assert not is_sorted(name, (keys[index], index), keys), wrong
    assert not is_sorted(name, (keys[order][:3], order), keys)
    assert not is_sorted(name, (np.zeros(4, np.uint32), order), keys)
    assert not is_permutation(np.array([0, 4, 1, 2]), 4) and is_permutation(np.array([], np.int64), 0)


def test_extremes_are_those_of_the_keys() -> None:
    keys = np.array([3, 1, 2], np.uint32)
    assert is_sorted("extremes", (1, 3), keys)
    assert not any(is_sorted("extremes", wrong, keys) for wrong in ((0, 3), (1, 2), (3, 1)))


def test_answers_agree_but_for_rounding() -> None:
    ranks = np.full(1000, 1e-3, np.float32)
    assert same(np.nextafter(ranks, np.float32(1)), ranks)
    one = ranks.copy()
    one[5] *= 1 + 3 * EACH_RANK  # within what all together may differ by
    assert not same(one, ranks)
    assert not same(ranks * np.float32(1 + 3 * ALL_RANKS), ranks)  # within what each may
    assert not same(ranks[:-1], ranks) and not same(ranks[:1], ranks)
    assert not same(np.full(1000, np.nan, np.float32), ranks)
    assert same(np.array([1, 2]), np.array([1, 2]))
    assert not same(np.array([1, 3]), np.array([1, 2])) and not same(np.array([1]), np.array([1, 1]))


def test_rows_name_the_versions_of_what_their_parts_use(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "ncu").write_text(
        "#!/bin/sh\necho 'Copyright (c) 2018-2025'\necho 'Version 2025.3.1.0 (build 1)'\n"
    )
    (tmp_path / "ncu").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    versions = {"cuda-cccl": "1.2", "scipy": "3.4"}
    monkeypatch.setattr("importlib.metadata.version", versions.__getitem__)
    every = "cuda-cccl 1.2; scipy 3.4; ncu 2025.3.1.0"
    assert edge_vertex_setup.versions_of(edge_vertex.PARTS) == every
    assert edge_vertex_setup.versions_of(["baseline", "whole"]) == "scipy 3.4"
    assert edge_vertex_setup.versions_of(["stage"]) == "ncu 2025.3.1.0"
    path = tmp_path / "rows.csv"
    with results.rows_file(path, ("ms",), 1, on_gpu=False, also=every) as write:
        write({"ms": 1})
    assert f"; {every}; " in results.csv_rows(path)[0]["machine"]


def test_versions_of_what_is_not_there_are_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    def version(package: str) -> str:
        raise PackageNotFoundError(package)

    monkeypatch.setenv("PATH", "")
    monkeypatch.setattr("importlib.metadata.version", version)
    assert edge_vertex_setup.versions_of(edge_vertex.PARTS) == ""
