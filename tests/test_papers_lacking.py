"""Pages of papers say of which graphs rows are missing."""

from pathlib import Path
from typing import Any

import pytest

gpu = pytest.importorskip(
    "edgewise.kernels.cuda.compile", reason="numba-cuda is not installed", exc_type=ImportError
)

from benchmarks.papers import (  # noqa: E402
    graffix_plots,
    graffix_tables,
    load_balancing_plots,
    load_balancing_tables,
    wolfpath_tables,
)

RESULTS = Path(__file__).parent.parent / "benchmarks" / "results" / "papers"


@pytest.mark.parametrize(
    ("paper", "found", "blocks", "places", "graph", "named"),
    [
        (
            "load_balancing",
            load_balancing_tables.Found,
            load_balancing_plots.blocks,
            ("goals", "claims on times", "other claims"),
            "rmat20",
            "rmat20",
        ),
        ("wolfpath", wolfpath_tables.Found, wolfpath_tables.blocks, ("claims",), "road-NE", "road-NE"),
        (
            "graffix",
            graffix_tables.Found,
            lambda found: graffix_plots.placed(found, "rows.csv"),
            ("claims",),
            "random20",
            "random26",
        ),
    ],
)
def test_claims_say_which_graphs_are_missing(
    paper: str, found: Any, blocks: Any, places: tuple[str, ...], graph: str, named: str, tmp_path: Path
) -> None:
    (path,) = RESULTS.glob(f"{paper}-*.csv")
    lines = path.read_text().splitlines(keepends=True)
    fewer = tmp_path / "rows.csv"
    fewer.write_text("".join(line for line in lines if graph not in line.split(",")[:2]))
    whole, without = blocks(found(path)), blocks(found(fewer))
    for place in places:
        assert without[place].startswith(f"**Without rows of {named}**: ")
        assert whole[place].startswith("| ")
