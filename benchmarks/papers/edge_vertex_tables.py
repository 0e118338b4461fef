"""The tables of docs/papers/edge_vertex.md, from what `edge_vertex` measured.

The whole is preprocessing and processing; a gain is 1 - whole with / whole without, in percent. What was not measured,
or gave a wrong answer, is NaN: no goal is reached by it.
"""

import math
from collections.abc import Callable
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

from benchmarks.papers.edge_vertex_setup import SYSTEMS
from benchmarks.papers.load_balancing_tables import shown
from benchmarks.results import csv_rows
from benchmarks.table import markdown
from edgewise import Layout

PROGRAMS = ("PageRank", "SSSP", "HCC")
MEDUSA, PAPER, APART, CUSHA = "Medusa-like", "paper", "heavy apart", "CuSha-like"
UNSORTED, ROW_MAJOR, RADIX = "paper, unsorted", "paper, row-major", "paper, radix sort"
#: Among the sorts' rows: only the least and the largest key.
EXTREMES = "extremes"
PHASES = ("sending_ms", "gathering_ms", "computing_ms")
VERTEX_STAGE = PHASES[1:]
#: Efficiencies of Tables 5 and 7.
KINDS = ("warp", "load", "store")
#: The paper's layout in the rows of the vertex stage.
PAPERS_LAYOUT = "column-major, sorted"
#: Systems whose vertices are numbered by their rows, and how many runs of one prepared program are compared.
RENUMBERED = tuple(
    name for name, each in SYSTEMS.items() if isinstance(each.layout, Layout) and each.layout.renumber
)
MANY_RUNS = 100
#: Speedups over Medusa, and gains in percent, that the paper's text has for its graphs.
SAID_SPEEDUPS = {"PageRank": (1.7, 2.3), "SSSP": (1.6, 4.5), "HCC": (1.7, 3.7)}
SAID_GAINS = {UNSORTED: (8, 20), ROW_MAJOR: (10, 25), RADIX: (5.1, 25.1)}
GAIN_NAMES = {UNSORTED: "sorting", ROW_MAJOR: "remapping", RADIX: "approximate over radix sort"}


class Printed(NamedTuple):
    """What the paper prints of a graph; pairs are without and with sorting (warps) or remapping (load, store)."""

    max_degree: float = math.nan
    eta_percent: float = math.nan
    gpu_ms: float = math.nan
    cpu_ms: float = math.nan
    ratio: float = math.nan
    radix_gain: float = math.nan
    warp: tuple[float, float] = (math.nan, math.nan)
    load: tuple[float, float] = (math.nan, math.nan)
    store: tuple[float, float] = (math.nan, math.nan)


#: Journal has the vertices and edges of com-LiveJournal, whose numbers these are.
PRINTED = {
    "RMAT": Printed(555, 52.4, 12, 305, 25, 12.4, (35.7, 95.6), (13.8, 92.1), (50.5, 55.4)),
    "Random": Printed(41, 99.9, 11, 328, 30, 12.9, (68.0, 91.9), (14.5, 90.1), (57.1, 61.9)),
    "Journal": Printed(2454, 76.7, 30, 1002, 33, 21.7, (29.4, 92.1), (19.5, 94.1), (49.4, 51.1)),
}


class Found:
    """The rows of a CSV file.

    Attributes:
        rows: by part, graph, program, system and number of buckets, each a dictionary of what stands in the file.
    """

    def __init__(self, path: Path) -> None:
        keys = ("part", "graph", "program", "system", "buckets")
        self.rows = {tuple(row[key] for key in keys): row for row in csv_rows(path)}

    def listed(self, part: str, field: str) -> list[str]:
        """The values of a field in the rows of a part, each once, in the file's order."""
        return list(dict.fromkeys(row[field] for row in self.rows.values() if row["part"] == part))

    @cached_property
    def systems(self) -> list[str]:
        """The systems by which programs were run, in the file's order."""
        return self.listed("whole", "system")

    def number(
        self, part: str, graph: str, field: str, *, program: str = "", system: str = "", buckets: str = ""
    ) -> float:
        """A field of a row; NaN where it was not measured, or the answer was wrong."""
        row = self.rows.get((part, graph, program, system, buckets), {})
        text = row.get(field)
        return float(text) if text and row.get("right") != "False" else math.nan

    def run(self, graph: str, program: str, system: str, field: str) -> float:
        """A field of a row of a program's run."""
        return self.number("whole", graph, field, program=program, system=system)

    def fact(self, graph: str, field: str) -> float:
        """A number that each row of a graph's runs has."""
        rows = (row for row in self.rows.values() if row["part"] == "whole" and row["graph"] == graph)
        return next((float(row[field]) for row in rows if row[field]), math.nan)

    def whole(self, graph: str, program: str, system: str) -> float:
        """Milliseconds of preprocessing and processing."""
        return sum(self.run(graph, program, system, field) for field in ("preprocessing_ms", "ms"))

    def speedup(self, graph: str, program: str, system: str) -> float:
        """How many times as fast as Medusa-like the whole is."""
        return self.whole(graph, program, MEDUSA) / self.whole(graph, program, system)

    def speedup_alone(self, graph: str, program: str, system: str) -> float:
        """How many times as fast as Medusa-like processing alone is."""
        return self.run(graph, program, MEDUSA, "ms") / self.run(graph, program, system, "ms")

    def gain(self, graph: str, without: str) -> float:
        """By how many percent the paper's layout makes the whole of PageRank shorter than another one."""
        return 100 - 100 * self.whole(graph, "PageRank", PAPER) / self.whole(graph, "PageRank", without)

    def gain_alone(
        self, graph: str, without: str, fields: tuple[str, ...] = ("ms",), system: str = PAPER
    ) -> float:
        """The same for processing, or some of its phases, and any two systems."""
        times = [
            sum(self.run(graph, "PageRank", name, field) for field in fields) for name in (system, without)
        ]
        return 100 - 100 * times[0] / times[1] if times[1] else math.nan

    def preprocessing_ratio(self, graph: str) -> float:
        """How many times as fast preprocessing on the GPU is as that on the CPU."""
        times = [self.run(graph, "PageRank", name, "preprocessing_ms") for name in (MEDUSA, PAPER)]
        return times[0] / times[1]

    def sort(self, graph: str, name: str) -> float:
        """Milliseconds of a sort; `graph` says of how many keys."""
        return self.number("sort", graph, "ms", system=name)

    def bucket(self, graph: str, buckets: str) -> float:
        """The time of PageRank with `buckets` buckets over that without sorting, both without preprocessing."""
        times = [
            self.number("buckets", graph, "ms", program="PageRank", buckets=number)
            for number in (buckets, "0")
        ]
        return times[0] / times[1]

    def stage(self, graph: str, layout: str, field: str) -> float:
        """A field of a row of the vertex stage alone."""
        return self.number("stage", graph, field, system=layout)

    def profile(self, graph: str, system: str, field: str) -> float:
        """A field of a row of PageRank itself under the profiler."""
        return self.number("profile", graph, field, program="PageRank", system=system)


def graphs_table(found: Found) -> str:
    """Table 2."""
    fields = ("vertices", "edges", "max_degree", "eta_percent")
    body = []
    for graph in found.listed("whole", "graph"):
        count, edges, most, eta = (found.fact(graph, field) for field in fields)
        printed = PRINTED.get(graph, Printed())
        cells = [shown(count), shown(edges), shown(most), shown(eta, 1, "%")]
        body.append([graph, *cells, shown(printed.max_degree), shown(printed.eta_percent, 1, "%")])
    return markdown(["graph", "vertices", "edges", "max in-degree", "η", "paper's max", "paper's η"], body)


def times_table(found: Found, program: str) -> str:
    """Preprocessing and processing in milliseconds."""
    body = []
    for graph in found.listed("whole", "graph"):
        pairs = [
            [found.run(graph, program, name, field) for field in ("preprocessing_ms", "ms")]
            for name in found.systems
        ]
        body.append([graph, *(" + ".join(shown(value, 2) for value in pair) for pair in pairs)])
    return markdown([program, *found.systems], body)


def speedups_table(found: Found, program: str) -> str:
    """How many times as fast as Medusa-like: the whole, and processing alone."""
    names = [name for name in found.systems if name != MEDUSA]
    body = []
    for graph in found.listed("whole", "graph"):
        pairs = [
            (found.speedup(graph, program, name), found.speedup_alone(graph, program, name)) for name in names
        ]
        body.append([graph, *(" / ".join(shown(value, 2) for value in pair) for pair in pairs)])
    return markdown([program, *names], body)


def renumbering_table(found: Found) -> str:
    """PageRank: the automatic schedule against the renumbered system that has the shortest 100 runs with what is made
    once, and the runs from which on that has the shorter sum."""
    head = [
        "PageRank",
        "best renumbered",
        "automatic / it: 1 run",
        "100 runs",
        "processing",
        "runs to break even",
    ]
    there = [name for name in RENUMBERED if name in found.systems]
    body = []
    for graph in found.listed("whole", "graph") if there else []:

        def runs(system: str, count: int, graph: str = graph) -> float:
            made, ms = (found.run(graph, "PageRank", system, field) for field in ("preprocessing_ms", "ms"))
            return made + count * ms

        best = min(there, key=lambda system: runs(system, MANY_RUNS))
        ratios = [runs("automatic", count) / runs(best, count) for count in (1, MANY_RUNS)]
        made = [runs(system, 0) for system in ("automatic", best)]
        ms = [found.run(graph, "PageRank", system, "ms") for system in ("automatic", best)]
        even = "never" if ms[1] >= ms[0] else shown(max(0.0, (made[1] - made[0]) / (ms[0] - ms[1])), 1)
        body.append([graph, best, *(shown(ratio, 2) for ratio in (*ratios, ms[0] / ms[1])), even])
    return markdown(head, body, left=2)


def preprocessing_table(found: Found) -> str:
    """Table 4, and SciPy's conversion to columns."""
    head = ["graph", "GPU", "CPU", "CPU / GPU", "SciPy", "SciPy / GPU"]
    head += ["paper's GPU", "paper's CPU", "paper's CPU / GPU"]
    body = []
    for graph in found.listed("whole", "graph"):
        gpu, cpu = (found.run(graph, "PageRank", name, "preprocessing_ms") for name in (PAPER, MEDUSA))
        scipy = found.number("baseline", graph, "preprocessing_ms", system="SciPy")
        printed = PRINTED.get(graph, Printed())
        cells = [shown(gpu, 2), shown(cpu, 1), shown(found.preprocessing_ratio(graph), 1)]
        cells += [shown(scipy, 1), shown(scipy / gpu, 1)]
        cells += [shown(value) for value in (printed.gpu_ms, printed.cpu_ms, printed.ratio)]
        body.append([graph, *cells])
    return markdown(head, body)


def phases_table(found: Found) -> str:
    """Milliseconds of sending, gathering and computing of PageRank."""
    body, ours = [], [name for name in found.systems if name != CUSHA]
    for graph in found.listed("whole", "graph"):
        phases = [[found.run(graph, "PageRank", name, field) for field in PHASES] for name in ours]
        body.append([graph, *(" / ".join(shown(value, 2) for value in times) for times in phases)])
    return markdown(["PageRank", *ours], body)


def gains_table(found: Found) -> str:
    """Figures 10 and 13 and Table 6: gains of the whole, and of the vertex stage."""
    head = ["graph", *GAIN_NAMES.values(), "paper's over radix sort", "sorting, row-major (processing)"]
    body = []
    for graph in found.listed("whole", "graph"):
        pairs = [
            (found.gain(graph, name), found.gain_alone(graph, name, VERTEX_STAGE)) for name in GAIN_NAMES
        ]
        # Medusa-like has its preprocessing on the CPU, so without it.
        last = [found.gain_alone(graph, MEDUSA, fields, ROW_MAJOR) for fields in (("ms",), VERTEX_STAGE)]
        cells = [" / ".join(shown(value, 1, "%") for value in pair) for pair in (*pairs, last)]
        cells.insert(len(GAIN_NAMES), shown(PRINTED.get(graph, Printed()).radix_gain, 1, "%"))
        body.append([graph, *cells])
    return markdown(head, body)


def sorts_table(found: Found) -> str:
    """Figure 11: milliseconds, and ratios."""
    names = [name for name in found.listed("sort", "system") if name != EXTREMES]
    ratios = [(slow, "approximate") for slow in ("radix", "exact", "merge")]
    body = []
    for graph in found.listed("sort", "graph"):
        cells = [shown(found.sort(graph, name), 3) for name in names]
        cells += [shown(found.sort(graph, slow) / found.sort(graph, fast), 2) for slow, fast in ratios]
        body.append([graph, *cells])
    return markdown(["keys", *names, *(f"{slow} / {fast}" for slow, fast in ratios)], body)


def buckets_table(found: Found) -> str:
    """Figure 12: times over that without sorting, and places more than edges."""
    numbers = sorted(found.listed("buckets", "buckets"), key=int)
    body = []
    for graph in found.listed("buckets", "graph"):
        extra = [
            found.number("buckets", graph, "extra_percent", program="PageRank", buckets=number)
            for number in numbers
        ]
        ratios = [found.bucket(graph, number) for number in numbers]
        pairs = zip(ratios, extra, strict=True)
        body.append([graph, *(f"{shown(ratio, 2)} (+{shown(more, 1, '%')})" for ratio, more in pairs)])
    return markdown(["buckets", *numbers], body)


def efficiency_table(found: Found, kind: str) -> str:
    """Tables 5 and 7: "warp", "load" or "store" efficiency, measured and computed, and the paper's pair."""
    layouts = found.listed("stage", "system")
    fields = [f"{kind}_percent"] if kind == "store" else [f"{kind}_percent", f"{kind}_percent_computed"]
    body = []
    for graph in found.listed("stage", "graph"):
        cells = [
            " / ".join(shown(found.stage(graph, layout, field), 1) for field in fields) for layout in layouts
        ]
        pair = getattr(PRINTED.get(graph, Printed()), kind)
        body.append([graph, *cells, "-" if math.isnan(pair[0]) else f"{pair[0]} → {pair[1]}"])
    return markdown([kind, *layouts, "paper"], body)


def profile_table(found: Found) -> str:
    """Tables 5 and 7 of PageRank itself: warp, load and store efficiency, and the paper's, sorted and remapped."""
    body = []
    for graph in found.listed("profile", "graph"):
        cells = [
            " / ".join(shown(found.profile(graph, system, f"{kind}_percent"), 1) for kind in KINDS)
            for system in found.listed("profile", "system")
        ]
        printed = [getattr(PRINTED.get(graph, Printed()), kind)[1] for kind in KINDS]
        body.append([graph, *cells, " / ".join(shown(value, 1) for value in printed)])
    return markdown(["PageRank", *found.listed("profile", "system"), "the paper's"], body)


def profile_reads_table(found: Found) -> str:
    """Megabytes that PageRank itself reads from the GPU's memory."""
    systems = found.listed("profile", "system")
    body = [
        [graph, *(shown(found.profile(graph, system, "read_bytes") / 1e6) for system in systems)]
        for graph in found.listed("profile", "graph")
    ]
    return markdown(["MB", *systems], body)


def stage_reads_table(found: Found) -> str:
    """Of the vertex stage alone: sectors found in the L1 cache, and megabytes read from the GPU's memory."""

    def cell(hits: float, read: float) -> str:
        return f"{shown(hits, 1, '%')}, {shown(read / 1e6, 1)} MB"

    return _stage_table(found, "reads", ("hit_percent", "read_bytes"), cell)


def _stage_table(
    found: Found, corner: str, fields: tuple[str, str], cell: Callable[[float, float], str]
) -> str:
    """A cell for each graph and layout of the vertex stage alone, from two fields of its row."""
    layouts = found.listed("stage", "system")
    body = []
    for graph in found.listed("stage", "graph"):
        pairs = [[found.stage(graph, layout, field) for field in fields] for layout in layouts]
        body.append([graph, *(cell(*pair) for pair in pairs)])
    return markdown([corner, *layouts], body)


def stage_gains(found: Found, graph: str) -> tuple[float, float]:
    """By how many percent sorting, and remapping, make the vertex stage alone shorter."""
    best, *without = (
        found.stage(graph, layout, "ms")
        for layout in (PAPERS_LAYOUT, "column-major, unsorted", "row-major, sorted")
    )
    unsorted, row_major = (100 - 100 * best / other for other in without)
    return unsorted, row_major


def stage_times_table(found: Found) -> str:
    """Milliseconds of the vertex stage alone, and places more than edges."""

    def cell(ms: float, more: float) -> str:
        return f"{shown(ms, 3)} (+{shown(more, 2, '%')})"

    return _stage_table(found, "ms", ("ms", "extra_percent"), cell)


def remap_table(found: Found) -> str:
    """Remapping at run time: milliseconds each time, and megabytes of buffers."""
    ways = found.listed("remap", "system")
    body = []
    for graph in found.listed("remap", "graph"):
        pairs = [
            [found.number("remap", graph, field, system=way) for field in ("ms", "run_bytes")] for way in ways
        ]
        body.append([graph, *(f"{shown(ms, 3)}, {shown(size / 1e6, 1)} MB" for ms, size in pairs)])
    return markdown(["remapping", *ways], body) if body else "Not measured yet."


def extra_table(found: Found) -> str:
    """Figure 14: places more than edges for PageRank, in percent, and for edges both ways."""
    names = (UNSORTED, PAPER, APART)
    pairs = [(program, name) for program in ("PageRank", "HCC") for name in names]
    body = [
        [
            graph,
            *(shown(found.run(graph, program, name, "extra_percent"), 2, "%") for program, name in pairs),
        ]
        for graph in found.listed("whole", "graph")
    ]
    return markdown(["graph", *(f"{program}, {name}" for program, name in pairs)], body)


def bytes_table(found: Found) -> str:
    """Megabytes of the layout and of a run of PageRank."""
    body, ours = [], [name for name in found.systems if name != CUSHA]
    for graph in found.listed("whole", "graph"):
        sizes = [
            [found.run(graph, "PageRank", name, field) / 1e6 for field in ("layout_bytes", "run_bytes")]
            for name in ours
        ]
        body.append([graph, *(" + ".join(shown(size) for size in pair) for pair in sizes)])
    return markdown(["MB", *ours], body)
