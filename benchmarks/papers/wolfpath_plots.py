"""Figures 3 to 9 of Zhu et al. and its Table 3 from what `wolfpath` measured, as SVG files, and the document's tables.

The paper's own bars are lost; what its text says is drawn in black beside ours.
"""

import functools
import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from benchmarks.papers.load_balancing_plots import save
from benchmarks.papers.load_balancing_tables import shown
from benchmarks.papers.wolfpath_tables import (
    BEYOND,
    CPU_FOUR,
    CUSHA,
    GPU,
    HOST,
    LAYERED,
    LISTS,
    MEMORY,
    PROGRAMS,
    SAID_BEYOND,
    SAID_COPYING,
    SAID_MEMORY,
    SAID_OPTIMISED,
    SAID_SPEEDUPS,
    SWEEPS,
    VWC,
    Found,
    apart_and_joined,
    blocks,
)
from benchmarks.table import show

COLOURS = ("#1f77b4", "#2ca02c", "#ff7f0e", "#9467bd", "#8c564b", "#7f7f7f")


def draw(path: Path, document: Path | None = None) -> None:
    """Draw the figures of a CSV file beside it, print its tables, and put them into a document.

    Args:
        path: of the CSV file.
        document: a Markdown file with places for tables, ``<!-- name -->`` to ``<!-- end -->``.
    """
    found = Found(path)
    show(blocks(found), document)
    figures: dict[str, Callable[[Any], None]] = {
        "table-3-copying": functools.partial(draw_copying, found=found),
        "figure-3-cusha": functools.partial(draw_speedups, found=found, other=CUSHA),
        "figure-4-vwc": functools.partial(draw_speedups, found=found, other=VWC),
        "figure-5-breakdown": functools.partial(draw_breakdown, found=found),
        "figure-6-7-beyond": functools.partial(draw_beyond, found=found),
        "figure-8-memory": functools.partial(draw_memory, found=found),
        "figure-9-lists": functools.partial(draw_lists, found=found),
        "trace": functools.partial(draw_trace, found=found),
    }
    save(path.parent, "wolfpath", figures)


def draw_bars(
    plot: Any, places: Sequence[str], heights: dict[str, list[float]], digits: int, log: bool = True
) -> None:
    """Bars side by side at each place, with their numbers above.

    Args:
        plot: the axes.
        places: names along the axis.
        heights: of the bars at all places, by what they show; NaN for none.
        digits: of the numbers.
        log: whether the scale is logarithmic.
    """
    width = 0.8 / len(heights)
    for number, (name, values) in enumerate(heights.items()):
        xs = [place + (number - (len(heights) - 1) / 2) * width for place in range(len(places))]
        tops = [0.0 if math.isnan(value) else value for value in values]
        plot.bar(xs, tops, 0.9 * width, color=COLOURS[number], label=name)
        for x, top, value in zip(xs, tops, values, strict=True):
            plot.text(x, top, shown(value, digits), rotation=90, ha="center", va="bottom", fontsize=6)
    if log and any(value > 0 for values in heights.values() for value in values):
        plot.set_yscale("log")
    plot.set_xticks(range(len(places)), places, fontsize=7)
    plot.margins(y=0.2)


def runs(found: Found) -> list[tuple[str, str]]:
    """Each graph with each program."""
    return [(graph, program) for program in PROGRAMS for graph in found.graphs("flags")]


def named(pairs: list[tuple[str, str]]) -> list[str]:
    """Names of runs along an axis."""
    return [f"{program}\n{graph}" for graph, program in pairs]


def draw_copying(pyplot: Any, found: Found) -> None:
    """Table 3: copying the flag as a multiple of computing."""
    _, plot = pyplot.subplots(figsize=(11, 4))
    pairs = runs(found)
    heights = {system: [found.copying(*pair, system) for pair in pairs] for system in SWEEPS}
    draw_bars(plot, named(pairs), heights, 2)
    low, high = SAID_COPYING
    plot.axhspan(low, high, color="black", alpha=0.1, label=f"the paper's text: {low} to {high}")
    plot.set_ylabel("copying the flag / computing")
    plot.set_title("A sweep with a flag that the host reads")
    plot.legend(ncols=5, loc="upper center", bbox_to_anchor=(0.5, -0.15), frameon=False)


def draw_speedups(pyplot: Any, found: Found, other: str) -> None:
    """Figures 3 and 4: how many times as fast as a rival, with its flag on the host and on the GPU."""
    _, plot = pyplot.subplots(figsize=(11, 4))
    pairs = runs(found)
    heights = {
        f"{ours}, flag of {other} on the {flag}": [found.speedup(*pair, ours, other, flag) for pair in pairs]
        for ours in (LISTS, LAYERED)
        for flag in (HOST, GPU)
    }
    draw_bars(plot, named(pairs), heights, 1)
    said = SAID_SPEEDUPS[other]
    plot.axhline(said, color="black", linestyle="--", label=f"the paper's mean: more than {said}")
    plot.set_ylabel(f"time of {other} / ours")
    plot.set_title(f"Speed-up over {other}")
    plot.legend(ncols=3, loc="upper center", bbox_to_anchor=(0.5, -0.15), frameon=False)


def draw_breakdown(pyplot: Any, found: Found) -> None:
    """Figure 5: bringing the graph to the GPU, and computing. The paper's numbers are lost."""
    _, plot = pyplot.subplots(figsize=(11, 4))
    pairs, heights = runs(found), {}
    for system, flag in ((LISTS, GPU), (CUSHA, HOST), (VWC, HOST)):
        for what, field in (("transfer", "transfer_ms"), ("computing", "ms")):
            heights[f"{system}, {what}"] = [found.of_flags(field, *pair, system, flag) for pair in pairs]
    draw_bars(plot, named(pairs), heights, 1)
    plot.set_ylabel("ms")
    plot.set_title("Transfer of the graph, and computing")
    plot.legend(ncols=3, loc="upper center", bbox_to_anchor=(0.5, -0.15), frameon=False)


def draw_beyond(pyplot: Any, found: Found) -> None:
    """Figures 6 and 7: how many times as fast as the CPU engine over a file."""
    _, plot = pyplot.subplots(figsize=(8, 4))
    heights = {
        program: [found.beyond(program, CPU_FOUR) / found.beyond(program, system) for system in BEYOND]
        for program in PROGRAMS
    }
    draw_bars(plot, [system.replace(", ", ",\n") for system in BEYOND], heights, 1)
    for (name, said), style in zip(SAID_BEYOND.items(), ("--", ":"), strict=True):
        plot.axhline(said, color="black", linestyle=style, label=f"the paper's mean over {name}: {said}")
    plot.set_ylabel(f"time of {CPU_FOUR} / time")
    plot.set_title("Beyond the GPU's memory; the CPU engine stands in for GraphChi and X-Stream")
    plot.legend(ncols=2, loc="upper left", frameon=False)


def draw_memory(pyplot: Any, found: Found) -> None:
    """Figure 8: bytes without weights as multiples of CSR."""
    _, plot = pyplot.subplots(figsize=(10, 4))
    graphs = found.graphs("memory")
    heights = {
        system: [found.bytes(graph, system) / found.bytes(graph, "CSR") for graph in graphs]
        for system in MEMORY
    }
    draw_bars(plot, graphs, heights, 2, log=False)
    for (system, said), style in zip(SAID_MEMORY.items(), ("--", ":"), strict=True):
        plot.axhline(said, color="black", linestyle=style, label=f"the paper's mean: {system} {said}")
    plot.set_ylabel("bytes / bytes of CSR")
    plot.set_title("Memory of representations, without weights")
    plot.legend(ncols=4, loc="upper center", bbox_to_anchor=(0.5, -0.1), frameon=False)


def draw_lists(pyplot: Any, found: Found) -> None:
    """Figure 9: how many times as fast by joining layers to lists."""
    _, plot = pyplot.subplots(figsize=(8, 4))
    graphs, heights = found.graphs("lists"), {}
    for program, system in (("BFS", LISTS), ("SSSP", LISTS), ("SSSP", LAYERED)):
        pairs = [apart_and_joined(found, graph, program, system) for graph in graphs]
        heights[f"{program}, {system}"] = [apart / joined for apart, joined in pairs]
    draw_bars(plot, graphs, heights, 2, log=False)
    without, having = SAID_OPTIMISED
    label = f"the paper's text, BFS on LiveJournal, by two other means: {without} / {having}"
    plot.axhline(without / having, color="black", linestyle="--", label=label)
    plot.set_ylabel("time with a list for each layer / with joined lists")
    plot.set_title("Joining layers to lists")
    plot.legend(loc="upper right", frameon=False)


def draw_trace(pyplot: Any, found: Found) -> None:
    """Section 4.5: when rows were copied while the kernel ran."""
    graphs = found.graphs("trace")
    _, plots = pyplot.subplots(max(1, len(graphs)), figsize=(10, 1 + len(graphs)), squeeze=False)
    for graph, (plot,) in zip(graphs, plots, strict=False):
        kernel, copies = found.spans(graph)
        for place, spans in enumerate(([kernel], copies)):
            bars = [(begin, end - begin) for begin, end in spans]
            plot.broken_barh(bars, (place - 0.4, 0.8), color=COLOURS[place])
        plot.set_yticks([0, 1], ["kernel", "copies"], fontsize=7)
        plot.set_title(graph, loc="left", fontsize=8)
    plots[-1][0].set_xlabel("ms")
