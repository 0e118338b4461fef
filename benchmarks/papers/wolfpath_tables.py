"""The tables of docs/papers/wolfpath.md, from what `wolfpath` measured, and what the paper says beside it."""

import itertools
import math
import statistics
from collections.abc import Iterable
from pathlib import Path

from benchmarks.papers.load_balancing_claims import counted
from benchmarks.papers.load_balancing_tables import shown, span
from benchmarks.papers.wolfpath_setup import GRAPHS
from benchmarks.results import csv_rows
from benchmarks.table import lacking, markdown

PROGRAMS = ("BFS", "SSSP")
HOST, KNOWN, GPU = "host", "known", "GPU"
#: Systems that have the same kernel with a flag on the host and without.
SWEEPS = ("edge list", "VWC-like", "CuSha-like", "frontier", "near and far")
LISTS, LAYERED, PLAIN, ONE_PASS = "joined lists", "Layered", "without layers", "joined lists, one pass"
VWC, CUSHA = "VWC-like", "CuSha-like"
CPU_FOUR, CPU_ALL = "CPU, file, 4 threads", "CPU, file, all threads"
BEYOND = (CPU_FOUR, CPU_ALL, "GPU, whole", "GPU, limit", "GPU, limit, Layered")
MEMORY = (
    "CSR", "layered edge list", "layers", "layers and places", "G-Shards", "concatenated windows",
)  # fmt: skip
MADE = (
    "layers, GPU", "layers, GPU, file", "layers, CPU", "layers, CPU, file", "layers, read", "graph's file",
    "CuSha-like",
)  # fmt: skip
#: What the paper's text says.
SAID_COPYING = (90, 1500)
SAID_SPEEDUPS = {CUSHA: 100, VWC: 400}
SAID_BEYOND = {"GraphChi": 3000, "X-Stream": 4000}
SAID_MEMORY = {"layered edge list": 1.37, "concatenated windows": 2.81}
SAID_CUSHA_MEMORY = 2.05
SAID_OPTIMISED = (71, 48)
#: Milliseconds of BFS on the deepest graph with layers; how many times as long it may take beyond memory, making layers
#: as a search, and memory as compressed rows.
BFS_GOAL, BEYOND_GOAL, MAKING_GOAL, MEMORY_GOAL, DEEPEST = 7.0, 1.3, 3, 1.4, "lattice"
#: How many times as fast kernels with a frontier are to be without the flag on the host, and on which graphs.
FLAG_GOAL, FRONTIERS, DEEP = 5, ("near and far", "frontier"), ("road-NE", "lattice")

#: Parts that have rows of each graph.
ON_ALL_GRAPHS = ("flags", "lists", "memory", "preprocessing", "trace")


class Found:
    """The rows of a CSV file.

    Attributes:
        rows: each a dictionary of what stands in the file.
    """

    def __init__(self, path: Path) -> None:
        self.rows = csv_rows(path)

    def graphs(self, part: str) -> list[str]:
        """The graphs of a part, in the file's order."""
        return list(dict.fromkeys(row["graph"] for row in self.rows if row["part"] == part))

    def number(self, field: str, part: str, graph: str, system: str, **where: str) -> float:
        """A field of the row that has these values; NaN where it was not measured, or the answer was wrong."""
        wanted = {"part": part, "graph": graph, "system": system, **where}
        for row in self.rows:
            if all(row[name] == value for name, value in wanted.items()):
                counts = row["right"] in ("", "True") or system == ONE_PASS
                return float(row[field]) if row[field] and counts else math.nan
        return math.nan

    def of_flags(self, field: str, graph: str, program: str, system: str, flag: str = GPU) -> float:
        """A field of part "flags". BFS over joined lists has a known number of sweeps, and no flag."""
        if system == LISTS and program == "BFS":
            flag = KNOWN
        return self.number(field, "flags", graph, system, program=program, flag=flag)

    def speedup(self, graph: str, program: str, ours: str, other: str, flag: str) -> float:
        """How many times as long another system takes as ours."""
        theirs = self.of_flags("ms", graph, program, other, flag)
        return theirs / self.of_flags("ms", graph, program, ours)

    def without_host(self, graph: str, program: str, system: str, flag: str = GPU) -> float:
        """How many times as fast the same sweeps are in one launch."""
        times = [self.of_flags("ms", graph, program, system, each) for each in (HOST, flag)]
        return times[0] / times[1]

    def copying(self, graph: str, program: str, system: str) -> float:
        """How many times as long copying the flag takes as a sweep and its launch, one after the other."""
        fields = ("copying_us", "computing_us")
        pair = [self.of_flags(field, graph, program, system, HOST) for field in fields]
        return pair[0] / pair[1]

    def waiting(self, graph: str, program: str, system: str) -> float:
        """The same where the clock of the copy runs from the return of the launch: the copy waits for the sweep."""
        fields = ("waiting_us", "launching_us")
        pair = [self.of_flags(field, graph, program, system, HOST) for field in fields]
        return pair[0] / pair[1]

    def beyond(self, program: str, system: str) -> float:
        """Milliseconds of part "beyond"."""
        graph = next(iter(self.graphs("beyond")), "")
        return self.number("ms", "beyond", graph, system, program=program)

    def least(self, graph: str, program: str, system: str) -> float:
        """Milliseconds with the least memory on the GPU."""
        return self.number("ms", "trace", graph, f"{system}, limit", program=program)

    def spans(self, graph: str) -> tuple[tuple[float, float], list[tuple[float, float]]]:
        """When the kernel of part "trace" ran, and when pieces were copied; milliseconds from its start."""
        rows = [
            row for row in self.rows if row["part"] == "trace" and row["graph"] == graph and row["start_ms"]
        ]
        both = {"kernel": list[tuple[float, float]](), "copy": list[tuple[float, float]]()}
        for row in rows:
            begin = float(row["start_ms"])
            both[row["system"]].append((begin, begin + float(row["ms"])))
        return both["kernel"][0], both["copy"]

    def bytes(self, graph: str, system: str, weights: bool = False) -> float:
        """Bytes of a representation."""
        size = self.number("bytes", "memory", graph, system)
        return size + (self.number("weight_bytes", "memory", graph, system) if weights else 0)


def mean(values: Iterable[float]) -> float:
    """The mean of what was measured."""
    known = [value for value in values if not math.isnan(value)]
    return statistics.fmean(known) if known else math.nan


def graphs_table(found: Found) -> str:
    """The graphs, their layers, and lists joined by equation 1."""
    fields = ("vertices", "edges", "layers", "lists")
    part = "flags"
    body = [
        [graph, *(shown(found.number(field, part, graph, "edge list")) for field in fields)]
        for graph in found.graphs(part)
    ]
    return markdown(["graph", *fields], body)


def iterations_table(found: Found, program: str) -> str:
    """Tables 2 and 5: iterations, and milliseconds of the whole run."""
    body = []
    for graph in found.graphs("flags"):
        for system in (*SWEEPS, LISTS, LAYERED, PLAIN):
            flags = (HOST, KNOWN, GPU)
            pairs = [
                [found.number(field, "flags", graph, system, program=program, flag=flag) for flag in flags]
                for field in ("iterations", "ms")
            ]
            cells = [shown(value) for value in pairs[0]] + [shown(value, 3) for value in pairs[1]]
            body.append([graph, system, *cells, shown(found.without_host(graph, program, system), 2)])
    head = [f"iterations, {flag}" for flag in (HOST, KNOWN, GPU)]
    head += [f"ms, {flag}" for flag in (HOST, KNOWN, GPU)]
    return markdown(["graph", program, *head, "host / GPU"], body, left=2)


def copying_table(found: Found) -> str:
    """Table 3: microseconds of a sweep with a flag on the host."""
    fields = ("computing_us", "copying_us", "launching_us", "waiting_us")
    body = []
    for program in PROGRAMS:
        for graph in found.graphs("flags"):
            for system in SWEEPS:
                cells = [shown(found.of_flags(each, graph, program, system, HOST), 1) for each in fields]
                ratios = [found.copying(graph, program, system), found.waiting(graph, program, system)]
                one = found.of_flags("iteration_us", graph, program, system)
                cells = [*cells[:2], shown(ratios[0], 2), *cells[2:], shown(ratios[1], 2), shown(one, 1)]
                body.append([program, graph, system, *cells])
    head = ["computing", "copying", "copying / computing", "launch returns", "copy with wait"]
    return markdown(["", "graph", "µs", *head, "wait / launch", "in one launch"], body, left=3)


def speedups_table(found: Found) -> str:
    """Figures 3 and 4: how many times as fast as rivals with a flag on the host / with it on the GPU."""
    body = []
    for program in PROGRAMS:
        for graph in found.graphs("flags"):
            cells = [
                " / ".join(shown(found.speedup(graph, program, ours, other, flag), 2) for flag in (HOST, GPU))
                for ours in (LISTS, LAYERED)
                for other in (CUSHA, VWC)
            ]
            body.append([program, graph, *cells])
    head = [f"{ours} over {other}" for ours in (LISTS, LAYERED) for other in (CUSHA, VWC)]
    return markdown(["", "graph", *head], body, left=2)


def breakdown_table(found: Found) -> str:
    """Figure 5: milliseconds of bringing the graph to the GPU, and of computing with the flag as the paper has it."""
    body = []
    for program in PROGRAMS:
        for graph in found.graphs("flags"):
            cells = []
            for system, flag in ((LISTS, GPU), (CUSHA, HOST), (VWC, HOST)):
                parts = [
                    found.of_flags(field, graph, program, system, flag) for field in ("transfer_ms", "ms")
                ]
                cells.append(" + ".join(shown(part, 2) for part in parts))
            body.append([program, graph, *cells])
    return markdown(["ms", "graph", LISTS, CUSHA, VWC], body, left=2)


def beyond_table(found: Found) -> str:
    """Figures 6 and 7: milliseconds, and how many times as fast as the CPU with 4 threads."""
    body = []
    for system in BEYOND:
        cells = []
        for program in PROGRAMS:
            taken = found.beyond(program, system)
            cells += [shown(taken, 1), shown(found.beyond(program, CPU_FOUR) / taken, 1)]
        body.append([system, *cells])
    head = [cell for program in PROGRAMS for cell in (f"{program}, ms", "times as fast")]
    return markdown(["", *head], body)


def trace_table(found: Found) -> str:
    """Section 4.5: copies of rows, and the kernel that sweeps them."""
    body = []
    for graph in found.graphs("trace"):
        kernel, copies = found.spans(graph)
        copied, meanwhile = (
            sum(end - begin for begin, end in copies),
            sum(within(each, kernel) for each in copies),
        )
        times = [found.least(graph, "SSSP", system) for system in (PLAIN, LAYERED)]
        cells = [*times, kernel[1] - kernel[0], copied, meanwhile / copied]
        body.append([graph, *(shown(cell, 2) for cell in cells), shown(len(copies))])
    head = [
        "without layers, ms",
        "Layered, ms",
        "the kernel, ms",
        "copies, ms",
        "share while it runs",
        "copies",
    ]
    return markdown(["graph", *head], body)


def within(span: tuple[float, float], other: tuple[float, float]) -> float:
    """How much of a span of time is in another one."""
    return max(0.0, min(span[1], other[1]) - max(span[0], other[0]))


def memory_table(found: Found) -> str:
    """Figure 8: megabytes without weights, and multiples of CSR without and with them."""
    body = []
    for graph in found.graphs("memory"):
        cells = []
        for system in MEMORY:
            size, base = found.bytes(graph, system), found.bytes(graph, "CSR")
            weighted = found.bytes(graph, system, True) / found.bytes(graph, "CSR", True)
            cells.append(f"{shown(size / 1e6, 1)} ({shown(size / base, 2)}, {shown(weighted, 2)})")
        body.append([graph, *cells])
    return markdown(["MB", *MEMORY], body)


def preprocessing_table(found: Found) -> str:
    """Table 7: milliseconds."""
    body = [
        [graph, *(shown(1e3 * found.number("seconds", "preprocessing", graph, name), 1) for name in MADE)]
        for graph in found.graphs("preprocessing")
    ]
    return markdown(["ms", *MADE], body)


def apart_and_joined(found: Found, graph: str, program: str, system: str) -> tuple[float, float]:
    """Milliseconds with a list for each layer, and with lists joined by equation 1."""
    wanted = ("lists", graph, program, system)
    edges = [int(row["min_edges"]) for row in found.rows
             if (row["part"], row["graph"], row["program"], row["system"]) == wanted]  # fmt: skip
    apart, joined = (
        found.number("ms", *wanted[:2], system, program=program, min_edges=str(each))
        for each in (min(edges, default=0), max(edges, default=0))
    )
    return apart, joined


def lists_table(found: Found) -> str:
    """Figure 9: each layer a list, and lists joined by equation 1."""
    body = []
    for program, system in (("BFS", LISTS), ("SSSP", LISTS), ("SSSP", LAYERED)):
        for graph in found.graphs("lists"):
            apart, joined = apart_and_joined(found, graph, program, system)
            body.append([program, system, graph, shown(apart, 3), shown(joined, 3), shown(apart / joined, 2)])
    return markdown(["", "system", "graph", "ms, apart", "ms, joined", "gain"], body, left=3)


def claims_table(found: Found) -> str:
    """What the paper says, what was measured, and whether it is reached."""
    graphs = found.graphs("flags")
    runs = [(graph, program) for graph in graphs for program in PROGRAMS]
    ratios = [found.copying(*run, system) for run in runs for system in SWEEPS]
    low, high = SAID_COPYING
    body = [
        ["copying the flag / computing, a sweep", f"{low} to {high}", span(ratios, 2),
         counted(low <= ratio for ratio in ratios if not math.isnan(ratio))],
    ]  # fmt: skip
    waits = [found.waiting(*run, system) for run in runs for system in SWEEPS]
    met = counted(low <= ratio for ratio in waits if not math.isnan(ratio))
    body.append(["the same, if the copy's time has the wait for the sweep", "", span(waits, 2), met])
    for other, said in SAID_SPEEDUPS.items():
        for ours in (LISTS, LAYERED):
            for flag in (HOST, GPU):
                ups = [found.speedup(*run, ours, other, flag) for run in runs]
                text = f"{ours} over {other}, flag on the {flag}"
                cell = f"mean {shown(mean(ups), 1)}, {span(ups, 2)}"
                body.append([text, f"mean above {said}", cell, counted([mean(ups) > said])])
    body += [*_frontier(found), *_layers(found), *_beyond(found), *_memory(found), *_others(found, runs)]
    return markdown(["claim", "paper, or goal", "measured", "reached"], body, left=4)


def _frontier(found: Found) -> list[list[str]]:
    body = []
    for system, graph, program in itertools.product(FRONTIERS, DEEP, PROGRAMS):
        up = found.without_host(graph, program, system)
        known = [] if math.isnan(up) else [up >= FLAG_GOAL]
        text = f"{system}, {program} on {graph}: one launch over a flag on the host"
        body.append([text, f"goal {FLAG_GOAL}", shown(up, 2), counted(known)])
    return body


def _layers(found: Found) -> list[list[str]]:
    """Goals of layers of a deep graph, of making them, and of their memory."""
    times = {where: found.number("ms", "trace", DEEPEST, f"{LAYERED}, {where}", program="BFS")
             for where in ("whole", "limit")}  # fmt: skip
    search = found.of_flags("ms", DEEPEST, "BFS", PLAIN)
    body = [
        [f"BFS on {DEEPEST} from layers, ms", f"goal {BFS_GOAL}", shown(times["whole"], 2),
         counted(each <= BFS_GOAL for each in [times["whole"]] if not math.isnan(each))],
    ]  # fmt: skip
    for text, other in (("the search in memory", search), ("layers in memory", times["whole"])):
        ratio = times["limit"] / other
        row = [f"BFS on {DEEPEST} from layers beyond memory / {text}", f"goal {BEYOND_GOAL}", shown(ratio, 2)]
        body.append([*row, counted([] if math.isnan(ratio) else [ratio <= BEYOND_GOAL])])
    ratios = []
    for graph in found.graphs("preprocessing"):
        search = found.of_flags("ms", graph, "BFS", PLAIN)
        ratios.append(1e3 * found.number("seconds", "preprocessing", graph, "layers, GPU") / search - 1)
    known = [ratio <= MAKING_GOAL for ratio in ratios if not math.isnan(ratio)]
    body.append(
        ["making layers on the GPU / the search", f"goal {MAKING_GOAL}", span(ratios, 2), counted(known)]
    )
    for system in ("layers", "layers and places"):
        ups = [found.bytes(graph, system) / found.bytes(graph, "CSR") for graph in found.graphs("memory")]
        known = [up <= MEMORY_GOAL for up in ups if not math.isnan(up)]
        body.append([f"memory of {system} / CSR", f"goal {MEMORY_GOAL}", span(ups, 2), counted(known)])
    return body


def _beyond(found: Found) -> list[list[str]]:
    body = []
    for name, said in SAID_BEYOND.items():
        ups = [
            found.beyond(program, CPU_FOUR) / found.beyond(program, system)
            for program in PROGRAMS
            for system in ("GPU, limit", "GPU, limit, Layered")
        ]
        text = f"beyond the GPU's memory, over {name} (here {CPU_FOUR})"
        body.append(
            [
                text,
                f"mean {said}",
                f"mean {shown(mean(ups), 1)}, {span(ups, 1)}",
                counted([mean(ups) >= said]),
            ]
        )
    return body


def _memory(found: Found) -> list[list[str]]:
    body, graphs = [], found.graphs("memory")
    for system, said in SAID_MEMORY.items():
        for weights, text in ((False, ""), (True, ", with weights")):
            ups = [
                found.bytes(graph, system, weights) / found.bytes(graph, "CSR", weights) for graph in graphs
            ]
            cell = f"mean {shown(mean(ups), 2)}, {span(ups, 2)}"
            met = counted([mean(ups) <= said])
            body.append([f"memory of {system} / CSR{text}", f"mean {said}", cell, met])
    ups = [found.bytes(graph, "layers") / found.bytes(graph, "CSR") for graph in graphs]
    cell = f"mean {shown(mean(ups), 2)}, {span(ups, 2)}"
    said = SAID_MEMORY["layered edge list"]
    body.append(["memory of compressed layers / CSR", f"mean {said}", cell, counted([mean(ups) <= said])])
    for system in ("layered edge list", "layers"):
        ups = [found.bytes(graph, "concatenated windows") / found.bytes(graph, system) for graph in graphs]
        cell = f"mean {shown(mean(ups), 2)}, {span(ups, 2)}"
        met = counted([mean(ups) >= SAID_CUSHA_MEMORY])
        body.append([f"memory of concatenated windows / {system}", f"mean {SAID_CUSHA_MEMORY}", cell, met])
    return body


def _others(found: Found, runs: list[tuple[str, str]]) -> list[list[str]]:
    """Iterations, preprocessing, lists and answers."""
    fewer = [
        found.of_flags("iterations", graph, "BFS", "edge list", HOST)
        <= found.of_flags("iterations", graph, "BFS", "edge list", KNOWN) + 1
        for graph in found.graphs("flags")
    ]
    body = [["a flag takes no more sweeps than layers, and one that changes nothing", "yes", "",
             counted(fewer)]]  # fmt: skip
    slower = [
        found.number("seconds", "preprocessing", graph, "layers, CPU, file")
        > found.number("seconds", "preprocessing", graph, "CuSha-like")
        for graph in found.graphs("preprocessing")
    ]
    body.append(
        ["preprocessing: layers on the CPU with a file take longer than shards", "yes", "", counted(slower)]
    )
    gains = []
    for graph in found.graphs("lists"):
        apart, joined = apart_and_joined(found, graph, "BFS", LISTS)
        gains.append(apart / joined)
    said = SAID_OPTIMISED[0] / SAID_OPTIMISED[1]
    text = f"BFS, LiveJournal, {SAID_OPTIMISED[0]} to {SAID_OPTIMISED[1]} ms by two other means"
    cell = f"{span(gains, 2)} by joined lists"
    body.append(["optimisations", text, cell, counted(gain >= said for gain in gains)])
    wrong = [found.of_flags("wrong_percent", graph, "SSSP", ONE_PASS, KNOWN) for graph, _ in runs[::2]]
    known = [value == 0 for value in wrong if not math.isnan(value)]
    body.append(["SSSP: one pass over the lists is enough", "yes", f"{span(wrong, 2, '%')} of the distances wrong",
                 counted(known)])  # fmt: skip
    right = [row["right"] == "True" for row in found.rows if row["right"] and row["system"] != ONE_PASS]
    body.append(["every other answer is right", "", "", counted(right)])
    return body


def blocks(found: Found) -> dict[str, str]:
    """The tables of the document, by the names of their places in it."""
    there = set.intersection(*(set(found.graphs(part)) for part in ON_ALL_GRAPHS))
    kinds = [
        (row["graph"], ", ".join(row[name] for name in ("part", "program", "system", "flag") if row[name]))
        for row in found.rows
        if row["part"] in ON_ALL_GRAPHS and row["part"] != "trace" and row["graph"] in there
    ]
    return {
        "claims": lacking(GRAPHS, there, kinds) + claims_table(found),
        "graphs": graphs_table(found),
        "bfs": iterations_table(found, "BFS"),
        "sssp": iterations_table(found, "SSSP"),
        "copying": copying_table(found),
        "speedups": speedups_table(found),
        "breakdown": breakdown_table(found),
        "beyond": beyond_table(found),
        "memory": memory_table(found),
        "preprocessing": preprocessing_table(found),
        "lists": lists_table(found),
        "trace": trace_table(found),
    }
