"""Pages of papers say of which graphs rows are missing."""

from pathlib import Path
from typing import Any

import pytest

gpu = pytest.importorskip(
    "edgewise.kernels.cuda.compile", reason="numba-cuda is not installed", exc_type=ImportError
)

from benchmarks.papers import (  # noqa: E402
    edge_vertex_plots,
    edge_vertex_tables,
    graffix_plots,
    graffix_tables,
    load_balancing_plots,
    load_balancing_tables,
    wolfpath_tables,
)
from benchmarks.results import given_rows  # noqa: E402
from benchmarks.table import lacking  # noqa: E402

RESULTS = Path(__file__).parent.parent / "benchmarks" / "results" / "papers"


@pytest.mark.parametrize(
    ("paper", "found", "blocks", "places", "graph"),
    [
        (
            "load_balancing",
            load_balancing_tables.Found,
            load_balancing_plots.blocks,
            ("goals", "claims on times", "other claims"),
            "rmat20",
        ),
        ("wolfpath", wolfpath_tables.Found, wolfpath_tables.blocks, ("claims",), "road-NE"),
        (
            "graffix",
            graffix_tables.Found,
            lambda found: graffix_plots.placed(found, "rows.csv"),
            ("claims",),
            "road-FLA",
        ),
        (
            "edge_vertex",
            edge_vertex_tables.Found,
            edge_vertex_plots.blocks,
            ("claims",),
            "Journal",
        ),
    ],
)
def test_claims_say_which_graphs_are_missing(
    paper: str, found: Any, blocks: Any, places: tuple[str, ...], graph: str, tmp_path: Path
) -> None:
    (path,) = RESULTS.glob(f"{paper}-*.csv")
    lines = path.read_text().splitlines(keepends=True)
    fewer = tmp_path / "rows.csv"
    fewer.write_text("".join(line for line in lines if graph not in line.split(",")[:2]))
    whole, without = blocks(found(path)), blocks(found(fewer))
    for place in places:
        assert without[place].startswith(f"**Without rows of {graph}**: ")
        assert whole[place].startswith("| ")


def test_claims_say_which_kinds_of_rows_are_missing() -> None:
    kinds = [(graph, kind) for graph in ("a", "b") for kind in ("BFS", "SSSP")]
    assert lacking(("a", "b"), ("a", "b"), kinds) == ""
    assert lacking(("a", "b"), ("a", "b"), kinds[:-1]).startswith("**Without rows of b (SSSP)**: ")
    with pytest.raises(ValueError, match="rows of c, where graphs are a, b"):
        lacking(("a", "b"), ("a", "c"))


@pytest.mark.parametrize("text", ["-5", "-inf", "inf", "fast"])
def test_times_that_are_none_are_refused(text: str, tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    path.write_text(f"graph,ms\nrmat20,1.5\nroad-NE,{text}\n")
    with pytest.raises(SystemExit, match=f"row 2, of road-NE, has ms '{text}'; expected a time"):
        given_rows(path, ["graph", "ms"])


def test_a_file_that_is_cut_within_a_cell_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    path.write_text('graph,machine\nrmat20,"a GPU')
    with pytest.raises(SystemExit, match="unexpected end of data"):
        given_rows(path, ["graph"])
