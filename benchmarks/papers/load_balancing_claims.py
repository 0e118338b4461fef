"""What Raval et al. say of load balancing, each held against what was measured; and their Table I with figures."""

import math
import statistics
from collections.abc import Callable, Iterable
from itertools import product
from typing import NamedTuple

from benchmarks.papers.load_balancing_tables import (
    AS_PRINTED,
    BY_VERTEX,
    DELIVERING,
    EPS,
    KERNEL,
    NAMES,
    OVERHEAD,
    PAPERS,
    RUN,
    WHOLE,
    Found,
    lines_of,
    shown,
    span,
)
from benchmarks.table import markdown

#: The beginnings of graphs' names: the paper's largest, those of small diameter, and road networks.
LARGE, RANDOM, COMPACT, ROADS = ("graph500",), ("ER",), ("rmat", "ER"), ("road",)
SMALL = (*COMPACT, *ROADS)
#: The strategies that the paper calls node-based, without BS, and all that it compares with BS.
NODE_BASED, ALL = ("WD", "NS", "HP"), ("EP", "WD", "NS", "HP")
#: What an NVIDIA K20c has.
K20_BYTES = 4.66e9
#: The mean speed-up by work chunking that is aimed at, and the largest share of split vertices, in percent.
CHUNKING_GOAL, SPLIT_GOAL = 1.8, 5.0
CHUNKING = f"1.11 to 3.125, mean 1.82; goal {CHUNKING_GOAL}"
#: What rounds to the paper's least and largest speed-up lies within its range, as does a percentage that is below this
#: much more than the largest that it prints.
SAID_CHUNKING, ROUNDED = (1.105, 3.1255), 0.5
#: The thresholds that the paper prints for roads and random graphs.
SAID_BOUNDS = (2, 4)
#: What times are compared: whose column is headed so.
COMPARED = {
    "by the kernel's time": KERNEL,
    "by the whole time": WHOLE,
    "by delivering alone": DELIVERING,
}


class Claim(NamedTuple):
    """That strategies take at least `least` percent less time than BS, and less than `limit` percent less: both where
    the paper has a range, or a maximum."""

    text: str
    paper: str
    program: str
    strategies: tuple[str, ...]
    graphs: tuple[str, ...]
    least: float
    limit: float = math.inf


def _of_ep(
    text: str, paper: str, program: str, graphs: tuple[str, ...], least: float, limit: float = math.inf
) -> list[Claim]:
    """A claim about EP: with work chunked by vertex, as the paper does it, and by warp."""
    return [
        Claim(f"{NAMES[program]}: {shown_name}, {text}", paper, program, (name,), graphs, least, limit)
        for name, shown_name in EPS.items()
    ]


def _of_all(text: str, graphs: tuple[str, ...]) -> list[Claim]:
    """That all strategies take at least 20% less than BS for SSSP: with EP by vertex, and by warp."""
    return [
        Claim(f"SSSP: {shown_name}, WD, NS, HP, {text}", "at least 20% shorter", "sssp", each, graphs, 20)
        for name, shown_name in EPS.items()
        for each in [(name, *NODE_BASED)]
    ]


TIMES = (
    *_of_ep("smaller graphs", "60 to 80% shorter", "sssp", SMALL, 60, 80 + ROUNDED),
    *_of_ep("rmat20", "60 to 80% shorter", "sssp", ("rmat",), 60, 80 + ROUNDED),
    Claim("SSSP: WD, rmat20", "better than BS; goal 60%", "sssp", ("WD",), ("rmat",), 60),
    *_of_ep("Graph500", "out of memory; goal 60%", "sssp", LARGE, 60),
    Claim("SSSP: WD, Graph500", "not run; goal 60%", "sssp", ("WD",), LARGE, 60),
    Claim("SSSP: HP, Graph500", "48 to 75% shorter", "sssp", ("HP",), LARGE, 48, 75 + ROUNDED),
    *_of_all("smaller graphs", SMALL),
    *_of_all("Graph500", LARGE),
    *_of_ep("rmat20", "48 to 68% shorter", "bfs", ("rmat",), 48, 68 + ROUNDED),
    *_of_ep("random graphs", "48 to 68% shorter", "bfs", RANDOM, 48, 68 + ROUNDED),
    *_of_ep("roads", "shorter, by up to 10%", "bfs", ROADS, 0, 10 + ROUNDED),
    Claim("BFS: WD, NS, HP, smaller graphs", "worse than BS", "bfs", NODE_BASED, SMALL, -math.inf, 0),
    Claim("BFS: HP, Graph500", "more than twice as fast", "bfs", ("HP",), LARGE, 50),
)
#: Which of WD, NS and HP is the fastest or the slowest on which graphs.
ORDERS: tuple[tuple[str, str, Callable[[Iterable[float]], float], tuple[str, ...]], ...] = (
    ("WD the fastest, rmat20 and random", "WD", min, COMPACT),
    ("NS the slowest, rmat20 and random", "NS", max, COMPACT),
    ("NS the fastest, roads", "NS", min, ROADS),
)


def counted(holding: Iterable[bool]) -> str:
    """Yes if all hold, else how many."""
    listed = list(holding)
    if not listed:
        return "not measured"
    if all(listed):
        return "**yes**"
    return "**no**" if len(listed) == 1 else f"**no**, {sum(listed)} of {len(listed)}"


def beside(values: Iterable[float], low: float, high: float) -> str:
    """How many of some numbers lie below, within and above what the paper has."""
    known = [value for value in values if not math.isnan(value)]
    below, above = sum(value < low for value in known), sum(value > high for value in known)
    return f"{below} / {len(known) - below - above} / {above}" if known else "-"


def held(found: Found, claim: Claim, field: str) -> str:
    """What was measured of a claim, whether it holds, and how many times are shorter still."""
    graphs = found.named(*claim.graphs)
    values = [
        found.shorter(claim.program, name, graph, field) for graph in graphs for name in claim.strategies
    ]
    met = counted(claim.least <= value < claim.limit for value in values)
    beyond = sum(value >= claim.limit for value in values) if claim.least > -math.inf else 0
    return f"{span(values, 0, '%')}: {met}" + (f"; {beyond} shorter still" if beyond else "")


def times_claims(found: Found) -> str:
    """What is said of times: by the kernel's, by the whole, and by that of delivering alone."""

    def order(
        program: str, name: str, choose: Callable, of: Iterable[str], graphs: tuple[str, ...], field: str
    ) -> str:
        return counted(
            found.number(graph, program, name, field)
            == choose(found.number(graph, program, each, field) for each in of)
            for graph in found.named(*graphs)
        )

    def between(program: str, field: str) -> str:
        times = [
            [found.number(graph, program, name, field) for name in NODE_BASED]
            for graph in found.named(*SMALL)
        ]
        return counted(min(wd, ns) <= hp <= max(wd, ns) for wd, ns, hp in times)

    fields = COMPARED.values()
    body = [[claim.text, claim.paper, *(held(found, claim, field) for field in fields)] for claim in TIMES]
    for program, shown_name in NAMES.items():
        for name, each in EPS.items():
            of_all = ("BS", name, *NODE_BASED)
            cells = [order(program, name, min, of_all, SMALL, field) for field in fields]
            body.append([f"{shown_name}: {each} the fastest, smaller graphs", "of all", *cells])
        for text, name, choose, graphs in ORDERS:
            cells = [order(program, name, choose, NODE_BASED, graphs, field) for field in fields]
            body.append([f"{shown_name}: {text}", "of WD, NS, HP", *cells])
    cells = [between("sssp", field) for field in fields]
    body.append(["SSSP: HP between WD and NS, smaller graphs", "yes", *cells])
    head = ["claim", "paper", *COMPARED]
    return markdown(head, body, left=len(head))


def other_claims(found: Found) -> str:
    """What is said of answers, memory, degrees and work chunking."""
    body = [
        ["every answer is right", "", counted(row["right"] == "True" for row in found.rows.values())],
        [NO_SHORTAGE, "all but BS and HP did on Graph500", _no_shortage(found)],
        *_memory(found),
        *_splitting(found),
        *_chunking(found),
    ]
    head = ["claim", "paper", "measured", "below / within / above"]
    return markdown(head, [row + [""] * (len(head) - len(row)) for row in body], left=len(head))


def goals_table(found: Found) -> str:
    """What was aimed at, and whether it was reached: what is as in the paper before what is not."""
    shorter = [
        Claim(f"SSSP: {EPS.get(name, name)}, {where}", "", "sssp", (name,), graphs, least)
        for name, where, graphs, least in (
            (BY_VERTEX, "rmat20", ("rmat",), 60),
            (BY_VERTEX, "Graph500", LARGE, 60),
            ("EP", "rmat20", ("rmat",), 60),
            ("EP", "Graph500", LARGE, 60),
            ("WD", "rmat20", ("rmat",), 60),
            ("WD", "Graph500", LARGE, 60),
            ("HP", "Graph500", LARGE, 48),
        )
    ]
    body = [
        [
            f"{claim.text}: at least {claim.least:.0f}% shorter than BS",
            *(held(found, claim, field) for field in COMPARED.values()),
        ]
        for claim in shorter
    ]
    body += [
        [f"{text}: at least {CHUNKING_GOAL} times as fast on average", *cells]
        for text, *cells in (
            [text, *(_mean_speedup(found, graphs, strategy, field) for field in (KERNEL, WHOLE))]
            for text, strategy, graphs in _chunked(found)
        )
    ]
    body += [[NO_SHORTAGE, _no_shortage(found)], [BOUNDED, _bounded(found)]]
    body += [
        [f"at most {SPLIT_GOAL:.0f}% of the vertices split, {text}", cell]
        for text, cell in _split(found).items()
    ]
    head = ["goal", *COMPARED]
    return markdown(head, [row + [""] * (len(head) - len(row)) for row in body], left=len(head))


NO_SHORTAGE = "no strategy runs out of memory"
BOUNDED = "largest degree after splitting <= threshold < before"


def _no_shortage(found: Found) -> str:
    return counted(not row["right"].startswith("out of memory") for row in found.rows.values())


def _memory(found: Found) -> list[list[str]]:
    most = [
        found.memory(graph, program, "EP") == max(found.memory(graph, program, name) for name in PAPERS)
        for graph in found.graphs
        for program in NAMES
    ]
    body = [["EP takes the most memory", "yes", counted(most)]]
    for name in ALL:
        sizes = [found.memory(graph, "sssp", name) for graph in found.named(*LARGE)]
        fits = name == "HP"
        met = counted((size <= K20_BYTES) == fits for size in sizes)
        says = f"{'within' if fits else 'over'} the 4.66 GB of a K20c"
        body.append([f"SSSP on Graph500 by {name}", says, f"{span((s / 1e9 for s in sizes), 2)} GB: {met}"])
    return body


def _of_splitting(found: Found, field: str, *graphs: str) -> list[float]:
    return [found.number(graph, "sssp", "NS", field) for graph in found.named(*graphs)]


def _bounded(found: Found) -> str:
    every = zip(
        _of_splitting(found, "max_after", ""), _of_splitting(found, "bound", ""), found.graphs, strict=True
    )
    return counted(after <= bound < found.fact(graph, "max_degree") for after, bound, graph in every)


def _split(found: Found) -> dict[str, str]:
    """The share of vertices that are split, by graphs."""
    cells = {}
    for text, graphs in (("all but random graphs", ("rmat", *ROADS, *LARGE)), ("random graphs", RANDOM)):
        percents = _of_splitting(found, "split_percent", *graphs)
        cells[text] = f"{span(percents, 2, '%')}: {counted(percent <= SPLIT_GOAL for percent in percents)}"
    return cells


def _splitting(found: Found) -> list[list[str]]:
    body = [[BOUNDED, "yes", _bounded(found)]]
    body += [[f"vertices split, {text}", "less than 5%", cell] for text, cell in _split(found).items()]
    share = [
        found.number(g, "sssp", "NS", "bound") / found.fact(g, "max_degree") for g in found.named("rmat")
    ]
    body.append(["threshold of rmat20 / its largest degree", "118 / 1,181 = 0.10", span(share, 2)])
    low, high = SAID_BOUNDS
    for text, graphs in (("roads", ROADS), ("random graphs", RANDOM)):
        bounds = _of_splitting(found, "bound", *graphs)
        met = counted(low <= bound <= high for bound in bounds)
        body.append([f"threshold, {text}", "2 to 4", f"{span(bounds)}: {met}", beside(bounds, low, high)])
    return body


def _chunked(found: Found) -> list[tuple[str, str, list[str]]]:
    """Ways of work chunking and graphs: first the paper's own way on graphs like those on which its EP ran."""
    small = found.named(*SMALL)
    return [
        (f"work chunking {way}, {which}", strategy, graphs)
        for way, strategy in (("by vertex", BY_VERTEX), ("by warp", "EP"))
        for which, graphs in (("smaller graphs", small), ("all graphs", found.graphs))
    ]


def _speedups(found: Found, graphs: list[str], strategy: str, field: str) -> list[float]:
    ups = [found.chunking(graph, program, field, strategy) for graph in graphs for program in NAMES]
    return [up for up in ups if not math.isnan(up)]


def _mean_speedup(found: Found, graphs: list[str], strategy: str, field: str) -> str:
    ups = _speedups(found, graphs, strategy, field)
    if not ups:
        return "not measured"
    mean = statistics.fmean(ups)
    return f"mean {shown(mean, 2)}: {counted([mean >= CHUNKING_GOAL])}"


def _chunking(found: Found) -> list[list[str]]:
    """The range of speed-ups is held against the paper's, and the mean against the goal."""
    body = []
    for (text, strategy, graphs), (what, field) in product(
        _chunked(found), {"kernel": KERNEL, "run": RUN}.items()
    ):
        ups, (low, high) = _speedups(found, graphs, strategy, field), SAID_CHUNKING
        within = counted(low <= up <= high for up in ups)
        cell = f"{span(ups, 2)}: {within}; {_mean_speedup(found, graphs, strategy, field)}" if ups else within
        body.append([f"speed-up by {text}, {what}", CHUNKING, cell, beside(ups, low, high)])
    return body


def strategies_table(found: Found) -> str:
    """Table I: what each strategy is good and bad for."""
    runs = [(graph, program) for graph in found.graphs for program in NAMES]
    large, small, roads = found.named(*LARGE), found.named(*SMALL), found.named(*ROADS)

    def times_least(name: str, graph: str, program: str, names: tuple[str, ...] = PAPERS) -> float:
        others = [found.number(graph, program, other, KERNEL) for other in names]
        return found.number(graph, program, name, KERNEL) / min(t for t in others if not math.isnan(t))

    def wins(name: str, names: tuple[str, ...] = PAPERS) -> int:
        return sum(times_least(name, *run, names) == 1 for run in runs)

    def large_gain(name: str) -> str:
        gains = (found.shorter("sssp", name, graph, KERNEL) for graph in large)
        return f"SSSP on Graph500 {span(gains, 0, '%')} shorter"

    def memory(name: str) -> str:
        multiples = (found.memory(*run, name) / found.memory(*run, "BS") for run in runs)
        return f"{span(multiples, 2)} times the memory of BS"

    def overhead(name: str) -> str:
        fields = (OVERHEAD, WHOLE)
        parts = [[found.number(graph, "sssp", name, field) for field in fields] for graph in roads]
        return f"overhead {span((100 * over / whole for over, whole in parts), 0, '%')} of SSSP on roads"

    lines = {name: f"{lines_of(name)} lines" for name in PAPERS}
    slow = span((times_least("BS", graph, "sssp") for graph in large), 1)
    worse = span((found.ratio("sssp", "HP", graph, KERNEL) for graph in small), 2)
    unchunked = span((found.chunking(*run) for run in runs), 2)
    degrees = [(found.fact(g, "max_degree"), found.number(g, "sssp", "NS", "max_after")) for g in large]
    fewer = span((before / after for before, after in degrees), 1)
    percents = span((found.number(graph, "sssp", "NS", "split_percent") for graph in found.graphs), 2, "%")
    body = [
        [
            "BS",
            f"{lines['BS']}; the CSR graph and no more",
            f"SSSP on Graph500 takes {slow} times the fastest",
        ],
        [
            "EP",
            f"the shortest kernel by warp in {wins('EP')} of {len(runs)} runs, by vertex in "
            f"{wins(BY_VERTEX, AS_PRINTED)}; {lines['EP']}",
            f"{memory('EP')}; without work chunking {unchunked} times the kernel time by warp",
        ],
        [
            "WD",
            f"the shortest kernel beside EP by warp in {wins('WD')} of {len(runs)} runs, by vertex in "
            f"{wins('WD', AS_PRINTED)}; {large_gain('WD')}; {memory('WD')}",
            f"{lines['WD']}, merge path included; {overhead('WD')}",
        ],
        [
            "NS",
            f"{large_gain('NS')}, with the largest degree divided by {fewer}; {lines['NS']}",
            f"{memory('NS')}; splits {percents} of the vertices",
        ],
        [
            "HP",
            f"{large_gain('HP')}; {memory('HP')}",
            f"{worse} times the kernel time of BS for SSSP on smaller graphs; {lines['HP']} with those of WD",
        ],
    ]
    return markdown(["strategy", "for it", "against it"], body, left=3)
