"""Figures 7 to 14 of Zhong et al. from what `edge_vertex` measured, as SVG files, and the document's tables.

The paper's own bars are lost; what its text says is drawn in grey and black beside ours.
"""

import functools
import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from benchmarks.papers.edge_vertex_claims import claims_table
from benchmarks.papers.edge_vertex_setup import GRAPHS
from benchmarks.papers.edge_vertex_tables import (
    APART,
    CUSHA,
    GAIN_NAMES,
    KINDS,
    PAPER,
    PROGRAMS,
    ROW_MAJOR,
    SAID_GAINS,
    SAID_SPEEDUPS,
    UNSORTED,
    VERTEX_STAGE,
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
    remap_table,
    renumbering_table,
    sorts_table,
    speedups_table,
    stage_reads_table,
    stage_times_table,
    times_table,
)
from benchmarks.papers.load_balancing_plots import save
from benchmarks.papers.load_balancing_tables import shown, span
from benchmarks.table import lacking, show

COLOURS = {
    PAPER: "#1f77b4",
    APART: "#2ca02c",
    "pull": "#ff7f0e",
    "automatic": "#9467bd",
    CUSHA: "#8c564b",
}
SORTS = {
    "approximate": "#1f77b4",
    "logarithmic": "#2ca02c",
    "exact": "#d62728",
    "radix": "#ff7f0e",
    "merge": "#9467bd",
    "quick": "#8c564b",
}
#: Extra memory in percent that the paper's text has for two of its graphs.
SAID_EXTRA = {"ego-Gplus": 2.3, "soc-Pokec": 0.89}


def blocks(found: Found) -> dict[str, str]:
    """The tables of the document, by the names of their places in it."""
    return {
        "claims": lacking(GRAPHS, found.listed("whole", "graph")) + claims_table(found),
        "graphs": graphs_table(found),
        **{f"{program} times": times_table(found, program) for program in PROGRAMS},
        **{f"{program} speedups": speedups_table(found, program) for program in PROGRAMS},
        "renumbering": renumbering_table(found),
        "preprocessing": preprocessing_table(found),
        "phases": phases_table(found),
        "gains": gains_table(found),
        "sorts": sorts_table(found),
        "buckets": buckets_table(found),
        **{f"{kind} efficiency": efficiency_table(found, kind) for kind in KINDS},
        "stage reads": stage_reads_table(found),
        "stage times": stage_times_table(found),
        "profile": profile_table(found),
        "profile reads": profile_reads_table(found),
        "remapping": remap_table(found),
        "extra places": extra_table(found),
        "bytes": bytes_table(found),
    }


def draw(path: Path, document: Path | None = None) -> None:
    """Draw the figures of a CSV file beside it, print its tables, and put them into a document.

    Args:
        path: of the CSV file.
        document: a Markdown file with places for tables, ``<!-- name -->`` to ``<!-- end -->``.
    """
    found = Found(path)
    show(blocks(found), document)
    save(path.parent, "edge_vertex", figures(found))


def figures(found: Found) -> dict[str, Callable[[Any], None]]:
    """What draws each figure with pyplot, by the ends of their files' names."""
    drawn: dict[str, Callable[[Any], None]] = {
        f"figure-{number}-{program.lower()}": functools.partial(draw_speedups, found=found, program=program)
        for number, program in enumerate(PROGRAMS, 7)
    }
    return drawn | {
        "figure-10-sorting": functools.partial(draw_gains, found=found, without=UNSORTED),
        "figure-11-sorts": functools.partial(draw_sorts, found=found),
        "figure-12-buckets": functools.partial(draw_buckets, found=found),
        "figure-13-remapping": functools.partial(draw_gains, found=found, without=ROW_MAJOR),
        "figure-14-memory": functools.partial(draw_extra, found=found),
    }


def draw_bars(
    plot: Any,
    places: Sequence[str],
    heights: dict[str, list[float]],
    colours: Sequence[str],
    digits: int,
    low: float = 0,
) -> None:
    """Bars side by side at each place, with their numbers above.

    Args:
        plot: where to draw.
        places: names below the axis.
        heights: by label, a height for each place; NaN is written as not measured.
        colours: one for each label.
        digits: of the numbers.
        low: where bars begin.
    """
    width = 0.8 / len(heights)
    for number, (label, values) in enumerate(heights.items()):
        x = [place + (number - (len(heights) - 1) / 2) * width for place in range(len(values))]
        ends = [low if math.isnan(value) else value for value in values]
        plot.bar(x, [end - low for end in ends], width * 0.9, bottom=low, color=colours[number], label=label)
        for at, end, value in zip(x, ends, values, strict=True):
            text = " not measured" if math.isnan(value) else f" {shown(value, digits)}"
            plot.text(at, max(end, low), text, rotation=90, ha="center", va="bottom", fontsize=6)
    plot.set_xticks(range(len(places)), places)


def add_legend(plot: Any, columns: int) -> None:
    """What is what, below the plot, whose upper fifth is left to numbers."""
    bottom, top = plot.transData.inverted().transform(plot.transAxes.transform([(0, 0), (0, 1.2)]))[:, 1]
    plot.set_ylim(bottom, top)
    plot.legend(ncols=columns, loc="upper center", bbox_to_anchor=(0.5, -0.08), frameon=False)


def draw_speedups(pyplot: Any, found: Found, program: str) -> None:
    """Figures 7 to 9: how many times as fast as Medusa-like, preprocessing included."""
    _, plot = pyplot.subplots(figsize=(11, 3.6))
    graphs = found.listed("whole", "graph")
    heights = {name: [found.speedup(graph, program, name) for graph in graphs] for name in COLOURS}
    said = SAID_SPEEDUPS[program]
    plot.axhspan(*said, color="black", alpha=0.15, zorder=0, label=f"the paper's text: {span(said, 1)}")
    plot.axhline(1, color="black", linewidth=0.6, zorder=0)
    plot.set_yscale("log")
    draw_bars(plot, graphs, heights, list(COLOURS.values()), 1, low=1)
    plot.set_ylabel("time of Medusa-like / time")
    plot.set_title(f"{program}: preprocessing and processing")
    add_legend(plot, len(COLOURS) + 1)


def draw_gains(pyplot: Any, found: Found, without: str) -> None:
    """Figures 10 and 13: by how many percent PageRank is shorter by sorting, or by remapping."""
    _, plot = pyplot.subplots(figsize=(9, 3.4))
    graphs = found.listed("whole", "graph")
    heights = {
        "whole": [found.gain(graph, without) for graph in graphs],
        "processing": [found.gain_alone(graph, without) for graph in graphs],
        "vertex stage": [found.gain_alone(graph, without, VERTEX_STAGE) for graph in graphs],
    }
    said = SAID_GAINS[without]
    plot.axhspan(*said, color="black", alpha=0.15, zorder=0, label=f"the paper's text: {span(said, 0, '%')}")
    plot.axhline(0, color="black", linewidth=0.6, zorder=0)
    draw_bars(plot, graphs, heights, ["#1f77b4", "#2ca02c", "#ff7f0e"], 1)
    plot.set_ylabel("percent shorter")
    plot.set_title(f"PageRank, 50 supersteps: the gain by {GAIN_NAMES[without]}")
    add_legend(plot, 4)


def draw_sorts(pyplot: Any, found: Found) -> None:
    """Figure 11: milliseconds of sorting keys together with their indices."""
    _, plot = pyplot.subplots(figsize=(9, 3.4))
    sizes = found.listed("sort", "graph")
    heights = {name: [found.sort(size, name) for size in sizes] for name in SORTS}
    draw_bars(plot, sizes, heights, list(SORTS.values()), 2)
    plot.set_ylabel("ms")
    plot.set_title("Sorting uniform degrees")
    add_legend(plot, len(SORTS))


def draw_buckets(pyplot: Any, found: Found) -> None:
    """Figure 12: PageRank by the number of buckets, over that without sorting."""
    _, plot = pyplot.subplots(figsize=(7, 3.4))
    numbers = sorted(found.listed("buckets", "buckets"), key=int)
    for graph in found.listed("buckets", "graph"):
        plot.plot([found.bucket(graph, number) for number in numbers], marker="o", label=graph)
    plot.axhline(1, color="black", linewidth=0.6, linestyle=":", zorder=0, label="no sorting")
    plot.set_xticks(range(len(numbers)), numbers)
    plot.set_xlabel("linear buckets; 0: no sorting")
    plot.set_ylabel("time / time without sorting")
    plot.set_title("PageRank, 50 supersteps, preprocessing not counted")
    plot.legend(loc="center left", bbox_to_anchor=(1, 0.5), frameon=False)


def draw_extra(pyplot: Any, found: Found) -> None:
    """Figure 14: places of the message buffer more than edges, in percent."""
    _, plot = pyplot.subplots(figsize=(9, 3.4))
    graphs = found.listed("whole", "graph")
    names = (PAPER, APART, UNSORTED)
    heights = {
        name: [found.run(graph, "PageRank", name, "extra_percent") for graph in graphs] for name in names
    }
    for (graph, percent), style in zip(SAID_EXTRA.items(), ("--", ":"), strict=True):
        label = f"the paper's text: {graph}, {percent}%"
        plot.axhline(percent, color="black", linewidth=0.8, linestyle=style, zorder=0, label=label)
    plot.set_yscale("symlog", linthresh=1)
    draw_bars(plot, graphs, heights, [COLOURS[PAPER], COLOURS[APART], "#7f7f7f"], 2)
    plot.set_ylabel("percent")
    plot.set_title("Places more than edges")
    add_legend(plot, len(names) + len(SAID_EXTRA))
