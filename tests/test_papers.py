"""The reproduction of load balancing: lines of code, and tables from measured rows."""

import math
from pathlib import Path

import numpy as np
import pytest

from benchmarks.papers.load_balancing import FIELDS, distribution
from benchmarks.papers.load_balancing_claims import (
    beside,
    goals_table,
    other_claims,
    strategies_table,
    times_claims,
)
from benchmarks.papers.load_balancing_plots import blocks, draw
from benchmarks.papers.load_balancing_tables import (
    AS_PRINTED,
    DELIVERING,
    KERNEL,
    OVERHEAD,
    WHOLE,
    Found,
    axes,
    chunking_table,
    code_lines,
    graphs_table,
    memory_table,
    ranks,
    ranks_table,
    shorter_table,
    times_table,
)
from benchmarks.table import fill

ROOT = Path(__file__).parent.parent
MEASURED = ROOT / "benchmarks" / "results" / "papers" / "load_balancing-2026-11-28-H100.csv"
DOCUMENT = ROOT / "docs" / "papers" / "load_balancing.md"
#: Kernel, of that delivering, overhead and layout in milliseconds, and bytes of what a strategy makes.
COSTS = {
    "BS": (10, 8, 2, 1, 0),
    "EP": (4, 2, 2, 1, 500),
    "EP, by vertex": (5, 2, 3, 1, 500),
    "EP, no chunking": (8, 3, 4, 1, 500),
    "WD": (5, 3, 4, 1, 0),
    "NS": (12, 7, 3, 1, 200),
    "automatic": (0, 0, 3, 1, 0),
}


@pytest.fixture
def rows(tmp_path: Path) -> Path:
    """Two programs on rmat20, whose degrees have mean 8 and deviation 6; HP ran out of memory."""
    lines = [",".join(FIELDS)]
    for program in ("bfs", "sssp"):
        for strategy, (kernel, delivering, overhead, layout, made) in COSTS.items():
            row: dict[str, object] = dict.fromkeys(FIELDS, "") | {
                "graph": "rmat20", "vertices": 100, "edges": 800, "max_degree": 300, "mean_degree": 8,
                "deviation": 6, "program": program, "strategy": f'"{strategy}"', "ms": kernel + overhead,
                "kernel_ms": kernel, "delivering_ms": delivering, "overhead_ms": overhead, "layout_ms": layout,
                "graph_bytes": 1000, "strategy_bytes": made, "layout_bytes": 0, "run_bytes": 1000, "right": True,
            }  # fmt: skip
            if strategy == "NS":
                row |= {"bound": 30, "max_after": 30, "split_percent": 2.5}
                row |= {"degrees": "0:10 1:60 2:20 4:10", "degrees_after": "0:10 1:70 2:30"}
            lines.append(",".join(str(row[field]) for field in FIELDS))
        row = dict.fromkeys(FIELDS, "") | {
            "graph": "rmat20", "vertices": 100, "edges": 800, "max_degree": 300, "mean_degree": 8, "deviation": 6,
            "program": program, "strategy": "HP", "right": "out of memory: too large",
        }  # fmt: skip
        lines.append(",".join(str(row[field]) for field in FIELDS))
    path = tmp_path / "rows.csv"
    path.write_text("\n".join(lines))
    return path


def cells(table: str, first: str) -> list[str]:
    """The cells of the row of a Markdown table that begins so."""
    return next(
        cells[1:]
        for line in table.splitlines()
        if (cells := [cell.strip() for cell in line.strip("|").split("|")])[0] == first
    )


def test_lines_of_code_are_counted(tmp_path: Path) -> None:
    path = tmp_path / "sample.py"
    path.write_text(
        '"""A module\n\nof three lines."""\n\nimport os  # counts\n\n\n# A comment.\n'
        'def f():\n    """A docstring."""\n    # Another comment.\n'
        '    text = """a string\nthat is code"""\n    return text\n\n\n'
        'class C:\n    """Its docstring."""\n\n    x = os\n'
    )
    assert code_lines(path) == 7


def test_numbers_of_a_run(rows: Path) -> None:
    found = Found(rows)
    assert found.shorter("sssp", "EP", "rmat20", KERNEL) == pytest.approx(60)
    assert found.shorter("sssp", "EP", "rmat20", WHOLE) == pytest.approx(100 - 100 * 7 / 13)
    assert found.number("rmat20", "bfs", "EP", WHOLE) == 7
    assert found.number("rmat20", "bfs", "EP", OVERHEAD) == 3
    assert found.chunking("rmat20", "bfs") == 2
    assert found.memory("rmat20", "bfs", "EP") == 2500
    assert found.shorter("sssp", "EP", "rmat20", DELIVERING) == pytest.approx(75)
    assert math.isnan(found.number("rmat20", "sssp", "automatic", KERNEL))
    assert math.isnan(found.number("rmat20", "sssp", "automatic", DELIVERING))
    assert math.isnan(found.number("rmat20", "sssp", "HP", WHOLE))


def test_wrong_answers_are_not_on_the_page(rows: Path) -> None:
    rows.write_text(rows.read_text().replace("True", "False", 1))
    with pytest.raises(
        SystemExit, match=r"wrong answers have no place on the page: rmat20, bfs, .*; measure again"
    ):
        Found(rows)


def test_distributions_of_degrees(rows: Path) -> None:
    degrees = np.repeat([0, 1, 2, 9, 10, 11, 12, 40], [5, 1, 2, 3, 4, 5, 6, 1])
    assert (
        distribution(degrees)
        == "0:5 1:1 2:2 3:0 4:0 5:0 6:0 7:0 8:3 10:9 12:6 14:0 16:0 20:0 23:0 27:0 32:0 39:1"
    )
    starts, heights = Found(rows).distribution("rmat20", "degrees")
    assert (starts, heights) == ([0, 1, 2, 4], [10, 60, 10, 5])


def test_tables(rows: Path) -> None:
    found = Found(rows)
    # sqrt((1,181 - 8) * 8) = 96.9
    assert cells(graphs_table(found), "rmat20")[2:] == [
        "300",
        "8.00",
        "6.00",
        "10.00",
        "1,181",
        "177.40",
        "96.9",
    ]
    assert cells(times_table(found, "bfs"), "rmat20")[1:7:5] == ["4.00 (2.00) + 3.00", "- (-) + -"]
    assert cells(shorter_table(found, "bfs"), "rmat20")[4:] == [
        "-20% / -23% / 12%",
        "- / - / -",
        "- / 69% / -",
    ]
    assert cells(memory_table(found), "rmat20")[1] == "0 (1.25)"
    assert cells(chunking_table(found), "rmat20") == ["2.00"] * 4 + ["1.60", "1.50"] * 2


def test_claims(rows: Path) -> None:
    times, others = times_claims(Found(rows)), other_claims(Found(rows))
    # By the kernel's time, by the whole, by delivering alone.
    assert cells(times, "SSSP: EP by warp, rmat20")[1:] == ["60%: **yes**", "46%: **no**", "75%: **yes**"]
    assert cells(times, "SSSP: EP by vertex, rmat20")[1:] == ["50%: **no**", "31%: **no**", "75%: **yes**"]
    assert cells(times, "BFS: EP by warp, rmat20")[1:3] == ["60%: **yes**", "46%: **no**"]
    assert cells(times, "BFS: EP by vertex, rmat20")[1:] == [
        "50%: **yes**", "31%: **no**", "75%: **no**; 1 shorter still",
    ]  # fmt: skip
    assert cells(times, "SSSP: EP by warp, WD, NS, HP, smaller graphs")[1] == "-20 to 60%: **no**, 2 of 4"
    assert cells(times, "SSSP: EP by vertex, WD, NS, HP, smaller graphs")[1] == "-20 to 50%: **no**, 2 of 4"
    assert cells(times, "SSSP: HP, Graph500")[1] == "-: not measured"
    assert cells(others, "no strategy runs out of memory")[1] == "**no**, 14 of 16"
    assert cells(others, "vertices split, all but random graphs")[1] == "2.50%: **yes**"
    assert cells(others, "threshold of rmat20 / its largest degree")[1] == "0.10"
    speedup = "speed-up by work chunking by"
    assert cells(others, f"{speedup} warp, all graphs, kernel")[1:] == [
        "2.00: **yes**; mean 2.00: **yes**", "0 / 2 / 0",
    ]  # fmt: skip
    assert cells(others, f"{speedup} vertex, all graphs, kernel")[1:] == [
        "1.60: **yes**; mean 1.60: **no**", "0 / 2 / 0",
    ]  # fmt: skip
    strategies = strategies_table(Found(rows))
    assert cells(strategies, "EP")[0].startswith(
        "the shortest kernel by warp in 2 of 2 runs, by vertex in 2;"
    )
    assert cells(strategies, "WD")[0].startswith(
        "the shortest kernel beside EP by warp in 0 of 2 runs, by vertex in 2;"
    )


def test_a_speedup_beyond_the_range_of_the_paper_is_not_as_the_paper_has_it(rows: Path) -> None:
    assert beside([0.5, 1.11, 3.125, 4, math.nan], 1.11, 3.125) == "1 / 2 / 1"
    rows.write_text(rows.read_text().replace(",12,8,3,", ",20,16,3,"))
    name = "speed-up by work chunking by warp, smaller graphs, kernel"
    assert cells(other_claims(Found(rows)), name)[1:] == [
        "4.00: **no**, 0 of 2; mean 4.00: **yes**", "0 / 0 / 2",
    ]  # fmt: skip


def test_goals_begin_with_what_is_as_in_the_paper(rows: Path) -> None:
    table = goals_table(Found(rows))
    first = [line.split("|")[1].strip() for line in table.splitlines()[2:]]
    assert first[0].startswith("SSSP: EP by vertex, rmat20")
    chunking = [name for name in first if name.startswith("work chunking")]
    assert chunking[0].startswith("work chunking by vertex, smaller graphs") and len(chunking) == 4
    assert cells(table, "SSSP: EP by warp, rmat20: at least 60% shorter than BS") == [
        "60%: **yes**", "46%: **no**", "75%: **yes**",
    ]  # fmt: skip
    assert cells(table, chunking[0]) == ["mean 1.60: **no**", "mean 1.44: **no**", ""]
    assert cells(table, "at most 5% of the vertices split, all but random graphs")[0] == "2.50%: **yes**"


def test_ranks(rows: Path) -> None:
    time = axes(Found(rows))["time"]
    assert ranks(time) == {"EP": 1, "WD": 2, "BS": 3, "NS": 4, "HP": 5}
    assert AS_PRINTED[1] == "EP, by vertex"
    assert cells(ranks_table(Found(rows)), "EP by vertex")[0] == "0.50 (1)"
    assert cells(ranks_table(Found(rows)), "EP by warp")[0] == "0.40 (1)"


@pytest.mark.parametrize("measured", [False, True])
def test_figures_are_drawn(rows: Path, measured: bool) -> None:
    pytest.importorskip("matplotlib")
    if measured:
        rows.write_text(MEASURED.read_text())
    draw(rows)
    assert len(list(rows.parent.glob("*.svg"))) == 5


def test_the_document_has_the_tables_of_the_measured_rows() -> None:
    """Lines of code among them: an edit of a strategy makes them anew, by the command that the page names."""
    text, made = DOCUMENT.read_text(), blocks(Found(MEASURED))
    assert fill(text, made) == text
    assert all(f"<!-- {name} -->" in text for name in made)


def test_what_is_beyond_a_range_is_told(rows: Path) -> None:
    rows.write_text(rows.read_text().replace("rmat20", "road"))
    assert cells(times_claims(Found(rows)), "BFS: EP by warp, roads")[1] == "60%: **no**; 1 shorter still"


def test_hp_stands_between_wd_and_ns(rows: Path) -> None:
    found, name = Found(rows), "SSSP: HP between WD and NS, smaller graphs"
    assert cells(times_claims(found), name)[1:] == ["**no**"] * 3  # it ran out of memory
    found.rows["rmat20", "sssp", "HP"] |= {
        "kernel_ms": "6", "delivering_ms": "8", "overhead_ms": "2", "ms": "8", "layout_ms": "1",
    }  # fmt: skip
    assert cells(times_claims(found), name) == ["yes", "**yes**", "**no**", "**no**"]
    found.rows["rmat20", "sssp", "HP"] |= {"delivering_ms": "7", "ms": "12"}
    assert cells(times_claims(found), name)[1:] == ["**yes**"] * 3
