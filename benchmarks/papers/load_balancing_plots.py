"""Figures 7 to 11 of Raval et al. from what `load_balancing` measured, as SVG files, and the document's tables.

The paper's own bars are lost; what its text says is drawn in black beside ours.
"""

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks.papers import load_balancing_claims as claims
from benchmarks.papers import load_balancing_tables as tables
from benchmarks.papers.load_balancing_setup import GRAPHS
from benchmarks.papers.load_balancing_tables import (
    AS_PRINTED,
    BY_VERTEX,
    EPS,
    KERNEL,
    NAMES,
    OVERHEAD,
    Found,
    axes,
    ranks,
    shown,
)
from benchmarks.table import lacking, show

#: The paper's strategies, and EP whose work chunking is that of a warp.
COLOURS = {
    "BS": "#7f7f7f",
    BY_VERTEX: "#1f77b4",
    "EP": "#8fc1e3",
    "WD": "#2ca02c",
    "NS": "#ff7f0e",
    "HP": "#9467bd",
}
#: What the paper's text says of times as parts of those of BS: by program and strategy, for graphs that begin so.
SAID = {
    ("sssp", BY_VERTEX): {"rmat": (0.2, 0.4), "ER": (0.2, 0.4), "road": (0.2, 0.4)},
    ("sssp", "HP"): {"graph500": (0.25, 0.52)},
    ("bfs", BY_VERTEX): {"rmat": (0.32, 0.52), "ER": (0.32, 0.52), "road": (0.9, 1.0)},
    ("bfs", "HP"): {"graph500": (0.0, 0.5)},
}
SAID_CHUNKING, SAID_MEAN = (1.11, 3.125), 1.82
SAID_BOUNDS = {"rmat": (118, 118), "ER": (2, 4), "road": (2, 4)}
#: Bars end here, in times of the kernel of BS.
HIGHEST = 3.0


def blocks(found: Found) -> dict[str, str]:
    """The tables of the document, by the names of their places in it."""
    kinds = [(graph, f"{program}, {strategy}") for graph, program, strategy in found.rows]
    without = lacking(GRAPHS, found.graphs, kinds)
    return {
        "graphs": tables.graphs_table(found),
        "sssp times": tables.times_table(found, "sssp"),
        "sssp shorter": tables.shorter_table(found, "sssp"),
        "bfs times": tables.times_table(found, "bfs"),
        "bfs shorter": tables.shorter_table(found, "bfs"),
        "beforehand": tables.beforehand_table(found),
        "memory": tables.memory_table(found),
        "splitting": tables.splitting_table(found),
        "chunking": tables.chunking_table(found),
        "goals": without + claims.goals_table(found),
        "claims on times": without + claims.times_claims(found),
        "other claims": without + claims.other_claims(found),
        "ranks": tables.ranks_table(found),
        "strategies": claims.strategies_table(found),
    }


def draw(path: Path, document: Path | None = None) -> None:
    """Draw the figures of a CSV file beside it, print its tables, and put them into a document.

    Args:
        path: of the CSV file.
        document: a Markdown file with places for tables, ``<!-- name -->`` to ``<!-- end -->``.
    """
    found = Found(path)
    show(blocks(found), document)
    save(path.parent, "load_balancing", figures(found))


def figures(found: Found) -> dict[str, Callable[[Any], None]]:
    """What draws each figure with pyplot, by the ends of their files' names."""
    return {
        "figure-7-sssp": lambda pyplot: draw_times(pyplot, found, "sssp"),
        "figure-8-bfs": lambda pyplot: draw_times(pyplot, found, "bfs"),
        "figure-9-ranks": lambda pyplot: draw_ranks(pyplot, found),
        "figure-10-degrees": lambda pyplot: draw_degrees(pyplot, found),
        "figure-11-chunking": lambda pyplot: draw_chunking(pyplot, found),
    }


def save(folder: Path, paper: str, figures: dict[str, Callable[[Any], None]]) -> None:
    """Draw figures, each a function of pyplot, into SVG files named for a paper."""
    import matplotlib

    matplotlib.use("svg")
    # Text stays text, and the same rows give the same file.
    matplotlib.rcParams.update({"svg.fonttype": "none", "svg.hashsalt": "edgewise", "font.size": 8})
    from matplotlib import pyplot

    for name, figure in figures.items():
        figure(pyplot)
        pyplot.tight_layout()
        pyplot.savefig(folder / f"{paper}-{name}.svg", metadata={"Date": None})
        pyplot.close()


def draw_times(pyplot: Any, found: Found, program: str) -> None:
    """Figures 7 and 8: kernel and overhead of each strategy on each graph, in times of the kernel of BS."""
    _, plot = pyplot.subplots(figsize=(11, 4))
    width = 0.84 / len(COLOURS)
    for number, name in enumerate(COLOURS):
        for place, graph in enumerate(found.graphs):
            x = place + (number - (len(COLOURS) - 1) / 2) * width
            unit = found.number(graph, program, "BS", KERNEL)
            parts = [found.number(graph, program, name, field) / unit for field in (KERNEL, OVERHEAD)]
            top = draw_bar(plot, x, width * 0.9, name, parts, place == 0)
            for beginning, (low, high) in SAID.get((program, name), {}).items():
                if graph.startswith(beginning):
                    plot.plot([x, x], [low, high], color="black", marker="_", linewidth=1.5)
                    top = max(top, high)
            label = "not measured" if math.isnan(sum(parts)) else f"{parts[0]:.2f}"
            if sum(parts) > HIGHEST:
                label += f", whole {sum(parts):.1f}"
            plot.text(x, top + 0.04, label, rotation=90, ha="center", va="bottom", fontsize=6)
    plot.plot([], [], color="black", marker="_", label="the paper's text (whole times)")
    if program == "sssp":
        plot.axhline(
            0.8, color="black", linewidth=0.6, linestyle=":", label="20% shorter: the paper's text, all"
        )
    plot.set_xticks(range(len(found.graphs)), found.graphs)
    plot.set_ylim(0, plot.get_ylim()[1] * (1.1 if plot.get_ylim()[1] < HIGHEST else 1.3))
    plot.set_ylabel("time / kernel time of BS")
    plot.set_title(f"{NAMES[program]}: kernel (solid, with its number) and overhead (light)")
    plot.legend(ncols=8, loc="upper center", bbox_to_anchor=(0.5, -0.08), frameon=False)


def draw_bar(plot: Any, x: float, width: float, name: str, parts: list[float], labelled: bool) -> float:
    """A bar of kernel and overhead, cut off at `HIGHEST`; where it ends."""
    if math.isnan(sum(parts)):
        return 0.0
    top = min(sum(parts), HIGHEST)
    plot.bar(x, top, width, color=COLOURS[name], alpha=0.35)
    plot.bar(
        x, min(parts[0], HIGHEST), width, color=COLOURS[name], label=EPS.get(name, name) if labelled else None
    )
    return top


def draw_ranks(pyplot: Any, found: Found) -> None:
    """Figure 9: ranks by time, memory and lines of code, EP by vertex."""
    _, plot = pyplot.subplots(figsize=(6, 3.4))
    columns = axes(found, AS_PRINTED)
    for name in AS_PRINTED:
        heights = [ranks(values)[name] for values in columns.values()]
        text = EPS.get(name, name)
        plot.plot(heights, color=COLOURS[name], marker="o", label=text)
        plot.text(-0.05, heights[0], text, ha="right", va="center")
        plot.text(len(columns) - 0.95, heights[-1], text, ha="left", va="center")
    plot.set_xticks(range(len(columns)), ["kernel time", *list(columns)[1:]])
    plot.set_yticks(range(1, len(AS_PRINTED) + 1))
    plot.set_xlim(-0.5, len(columns) - 0.5)
    plot.set_ylabel("rank")
    plot.set_title("Ranks: the nearer to the bottom, the better")


def draw_degrees(pyplot: Any, found: Found) -> None:
    """Figure 10: how many vertices have how many out-edges, before and after node splitting."""
    columns = 5
    rows = -(-len(found.graphs) // columns)
    _, plots = pyplot.subplots(rows, columns, figsize=(11, 2.4 * rows), squeeze=False)
    for plot, graph in zip(plots.flat, found.graphs, strict=False):
        for field, colour, label in (
            ("degrees", "#d62728", "before"),
            ("degrees_after", "#2ca02c", "after node splitting"),
        ):
            plot.step(*found.distribution(graph, field), where="mid", color=colour, label=label)
        bound = found.number(graph, "sssp", "NS", "bound")
        plot.axvline(bound, color="#2ca02c", linewidth=0.8, linestyle="--", label="threshold")
        for beginning, (low, high) in SAID_BOUNDS.items():
            if graph.startswith(beginning):
                plot.axvspan(low - 0.5, high + 0.5, color="black", alpha=0.15, label="the paper's threshold")
        plot.set_xscale("symlog", linthresh=1)
        plot.set_xlim(left=-0.2)
        plot.set_yscale("log")
        plot.set_title(f"{graph}: {found.number(graph, 'sssp', 'NS', 'split_percent'):.2g}% split")
    for plot in plots.flat[len(found.graphs) :]:
        plot.axis("off")
    for plot in plots[-1]:
        plot.set_xlabel("out-degree")
    for plot in plots[:, 0]:
        plot.set_ylabel("vertices")
    plots[0, 0].legend(fontsize=6)


def draw_chunking(pyplot: Any, found: Found) -> None:
    """Figure 11: the speed-up of EP by work chunking, by vertex as in the paper, and by warp."""
    _, plot = pyplot.subplots(figsize=(11, 3.4))
    runs = [(strategy, program) for strategy in (BY_VERTEX, "EP") for program in NAMES]
    for number, (strategy, program) in enumerate(runs):
        ups = [found.chunking(graph, program, KERNEL, strategy) for graph in found.graphs]
        places = [place + (number - (len(runs) - 1) / 2) * 0.22 for place in range(len(ups))]
        plot.bar(places, ups, 0.2, label=f"{NAMES[program]}, {EPS[strategy]}")
        for x, up in zip(places, ups, strict=True):
            plot.text(x, 0 if math.isnan(up) else up, shown(up, 2), ha="center", va="bottom", fontsize=6)
    plot.axhspan(*SAID_CHUNKING, color="black", alpha=0.08, zorder=0, label="the paper's text: 1.11 to 3.125")
    plot.axhline(
        SAID_MEAN, color="black", linewidth=1, linestyle="--", zorder=0, label=f"its mean: {SAID_MEAN}"
    )
    plot.set_xticks(range(len(found.graphs)), found.graphs)
    plot.set_ylabel("kernel time without / with work chunking")
    plot.set_title("Edge-based: work chunking")
    plot.legend(loc="upper center")
