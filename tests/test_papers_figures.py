"""The figures of two reproductions hold what their rows say: every number and title of a drawing is in the SVG file.

Nothing is drawn: what the functions write is recorded. So points of lines, which have no text, are not compared.
"""

import re
from collections import Counter
from html import unescape
from pathlib import Path
from typing import Any
from unittest.mock import MagicMock

import numpy as np
import pytest

from benchmarks.papers import edge_vertex_plots, load_balancing_plots

RESULTS = Path(__file__).parent.parent / "benchmarks" / "results" / "papers"
PAPERS = {"edge_vertex": edge_vertex_plots, "load_balancing": load_balancing_plots}


def recorded(figure: Any) -> Counter[str]:
    """The texts and titles that a function writes into its plots."""
    plots = []

    def subplots(rows: int = 1, columns: int = 1, squeeze: bool = True, **_: Any) -> tuple[Any, Any]:
        made = np.empty((rows, columns), object)
        for place in np.ndindex(rows, columns):
            plots.append(plot := MagicMock())
            plot.get_ylim.return_value = (0, 1)
            plot.transData.inverted().transform.return_value = np.array([[0, 0], [1, 1]])
            made[place] = plot
        return MagicMock(), made[0, 0] if squeeze else made

    figure(MagicMock(subplots=subplots))
    written = [call.args[2] for plot in plots for call in plot.text.call_args_list]
    written += [call.args[0] for plot in plots for call in plot.set_title.call_args_list]
    return Counter(text.strip() for text in written)


def texts(svg: str) -> Counter[str]:
    """The texts of an SVG file."""
    return Counter(unescape(text).strip() for text in re.findall(r"<text[^>]*>([^<]*)</text>", svg))


def files() -> list[Path]:
    """The figures of both papers."""
    return [path for paper in PAPERS for path in sorted(RESULTS.glob(f"{paper}-figure-*.svg"))]


@pytest.mark.parametrize("path", files(), ids=lambda path: path.stem)
def test_a_figure_has_the_numbers_of_the_rows(path: Path) -> None:
    paper, _, name = path.stem.partition("-")
    plots = PAPERS[paper]
    (rows,) = RESULTS.glob(f"{paper}-2*.csv")
    written = recorded(plots.figures(plots.Found(rows))[name])
    assert written.total() > 0
    assert not written - texts(path.read_text())


def test_every_figure_has_a_file() -> None:
    for paper, plots in PAPERS.items():
        (rows,) = RESULTS.glob(f"{paper}-2*.csv")
        assert {f"{paper}-{name}" for name in plots.figures(plots.Found(rows))} == {
            path.stem for path in files() if path.stem.startswith(paper)
        }


def test_another_number_is_found() -> None:
    path = RESULTS / "edge_vertex-figure-11-sorts.svg"
    found = edge_vertex_plots.Found(next(RESULTS.glob("edge_vertex-2*.csv")))
    row = next(row for row in found.rows.values() if (row["part"], row["system"]) == ("sort", "merge"))
    row["ms"] = "7.77"
    assert recorded(edge_vertex_plots.figures(found)["figure-11-sorts"]) - texts(path.read_text()) == {
        "7.77": 1
    }
