"""Figures 7 to 9 of Singh and Nasre and the means of its Tables 6 to 14 from what `graffix` measured, as SVG files, and
the document's tables.

The paper's own curves are lost; where its text says that they have their peak is drawn as a line.
"""

import functools
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks.papers import graffix_said as said
from benchmarks.papers.graffix_claims import FIGURES, claims_table
from benchmarks.papers.graffix_setup import SLOTS, TECHNIQUES
from benchmarks.papers.graffix_tables import ALGORITHMS, BASELINES, Found, blocks, geomean, machine
from benchmarks.papers.load_balancing_plots import save
from benchmarks.papers.wolfpath_plots import COLOURS, draw_bars
from benchmarks.table import show

STYLES = {"SSSP": ":", "PR": "-", "BC": "--"}
#: The files of figures 7 to 9, by their techniques.
FILES = {
    name: f"figure-{FIGURES.get(name, FIGURES['coalescing'])}-{name.replace(', ', '-').replace(' ', '-')}"
    for name in TECHNIQUES
}
MEANS = "tables-6-14"
#: Where rows and figures lie, from the document.
FOLDER = "../../benchmarks/results/papers"


def placed(found: Found, rows: str) -> dict[str, str]:
    """All that is put into the document: tables, figures, and what the rows are of.

    Args:
        found: the rows.
        rows: the name of their file.
    """
    made = {"rows": f"Measured on {machine(found)} ([all rows]({FOLDER}/{rows}))."}
    for file in (*FILES.values(), MEANS):
        made[file] = f"![{file}]({FOLDER}/graffix-{file}.svg)"
    return made | blocks(found, claims_table)


def draw(path: Path, document: Path | None = None) -> None:
    """Draw the figures of a CSV file beside it, print its tables, and put them into a document.

    Args:
        path: of the CSV file.
        document: a Markdown file with places for tables, ``<!-- name -->`` to ``<!-- end -->``.
    """
    found = Found(path)
    show(placed(found, path.name), document)
    figures: dict[str, Callable[[Any], None]] = {
        file: functools.partial(draw_sweep, found=found, technique=name) for name, file in FILES.items()
    }
    save(path.parent, "graffix", figures | {MEANS: functools.partial(draw_means, found=found)})


def draw_sweep(pyplot: Any, found: Found, technique: str) -> None:
    """One of Figures 7 to 9: the speed-up, and the inaccuracy, over the threshold."""
    _, (left, right) = pyplot.subplots(1, 2, figsize=(11, 4))
    for colour, graph in zip(COLOURS, found.graphs("sweep"), strict=False):
        for algorithm in ALGORITHMS:
            swept = found.swept(technique, graph, algorithm)
            if swept:
                line = {"color": colour, "linestyle": STYLES[algorithm], "marker": "."}
                ups = [each.speedup for each in swept.values()]
                left.plot(list(swept), ups, label=f"{algorithm}, {graph}", **line)
                right.plot(list(swept), [each.inaccuracy for each in swept.values()], **line)
    left.axhline(1, color="grey", linewidth=0.6)
    if technique in said.PEAKS:
        left.axvline(said.PEAKS[technique], color="black", linewidth=0.6)
    baselines = ", ".join(dict.fromkeys(row["baseline"] for row in found.of("sweep", technique=technique)))
    for plot, what in ((left, f"speed-up over {baselines}"), (right, "inaccuracy, %")):
        plot.set_xlabel(f"threshold of {technique}")
        plot.set_ylabel(what)
    if left.lines:
        place = {"loc": "upper center", "bbox_to_anchor": (1.1, -0.15)}
        left.legend(ncols=6, fontsize=7, frameon=False, **place)


def draw_means(pyplot: Any, found: Found) -> None:
    """The means of Tables 6 to 14, and how much of ours the new order has."""
    _, plot = pyplot.subplots(figsize=(11, 4))
    pairs = [(technique, baseline) for technique in TECHNIQUES for baseline in BASELINES]
    means = [
        {
            name: geomean(getattr(each, name) for each in found.effects(*pair))
            for name in ("speedup", "by_order")
        }
        for pair in pairs
    ]
    papers = [
        float("nan") if technique == SLOTS else said.MEANS[said.TABLES[technique, baseline]][0]
        for technique, baseline in pairs
    ]
    labels = [f"{technique}\n{baseline}".replace(", ", ",\n") for technique, baseline in pairs]
    heights = {
        "paper": papers,
        "measured": [each["speedup"] for each in means],
        "by the new order alone, which is exact": [each["by_order"] for each in means],
    }
    draw_bars(plot, labels, heights, 2, log=False)
    plot.axhline(1, color="grey", linewidth=0.6)
    plot.tick_params(axis="x", labelsize=5)
    plot.set_ylabel("mean speed-up")
    plot.legend(ncols=3, loc="upper center", bbox_to_anchor=(0.5, -0.15), frameon=False)
