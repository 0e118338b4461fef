"""What Raval et al. say of load balancing, each held against what was measured; and their Table I with figures."""

import math
import statistics
from collections.abc import Callable, Iterable
from itertools import product
from typing import NamedTuple

from benchmarks.papers.load_balancing_tables import (
    BY_VERTEX,
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
CHUNKING = "1.11 to 3.125, mean 1.82; goal 1.8"


#: A percentage that the paper prints as the largest is one that is below this much more.
ROUNDED = 0.5


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


TIMES = (
    Claim("SSSP: EP, smaller graphs", "60 to 80% shorter", "sssp", ("EP",), SMALL, 60, 80 + ROUNDED),
    Claim("SSSP: EP, rmat20", "60 to 80% shorter", "sssp", ("EP",), ("rmat",), 60, 80 + ROUNDED),
    Claim("SSSP: WD, rmat20", "better than BS; goal 60%", "sssp", ("WD",), ("rmat",), 60),
    Claim("SSSP: EP, Graph500", "out of memory; goal 60%", "sssp", ("EP",), LARGE, 60),
    Claim("SSSP: WD, Graph500", "not run; goal 60%", "sssp", ("WD",), LARGE, 60),
    Claim("SSSP: HP, Graph500", "48 to 75% shorter", "sssp", ("HP",), LARGE, 48, 75 + ROUNDED),
    Claim("SSSP: EP, WD, NS, HP, smaller graphs", "at least 20% shorter", "sssp", ALL, SMALL, 20),
    Claim("SSSP: EP, WD, NS, HP, Graph500", "at least 20% shorter", "sssp", ALL, LARGE, 20),
    Claim("BFS: EP, rmat20", "48 to 68% shorter", "bfs", ("EP",), ("rmat",), 48, 68 + ROUNDED),
    Claim("BFS: EP, random graphs", "48 to 68% shorter", "bfs", ("EP",), RANDOM, 48, 68 + ROUNDED),
    Claim("BFS: EP, roads", "shorter, by up to 10%", "bfs", ("EP",), ROADS, 0, 10 + ROUNDED),
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


def times_claims(found: Found) -> str:
    """What is said of times: by the kernel's, and by the whole."""

    def cell(claim: Claim, field: str) -> str:
        graphs = found.named(*claim.graphs)
        values = [
            found.shorter(claim.program, name, graph, field) for graph in graphs for name in claim.strategies
        ]
        met = counted(claim.least <= value < claim.limit for value in values)
        beyond = sum(value >= claim.limit for value in values) if claim.least > -math.inf else 0
        return f"{span(values, 0, '%')}: {met}" + (f"; {beyond} shorter still" if beyond else "")

    def order(program: str, name: str, choose: Callable, graphs: tuple[str, ...], field: str) -> str:
        return counted(
            found.number(graph, program, name, field)
            == choose(found.number(graph, program, other, field) for other in NODE_BASED)
            for graph in found.named(*graphs)
        )

    fields = (KERNEL, WHOLE)
    body = [[claim.text, claim.paper, *(cell(claim, field) for field in fields)] for claim in TIMES]
    body += [
        [
            f"{shown_name}: {text}",
            "of WD, NS, HP",
            *(order(program, name, choose, graphs, field) for field in fields),
        ]
        for program, shown_name in NAMES.items()
        for text, name, choose, graphs in ORDERS
    ]
    return markdown(["claim", "paper", "by the kernel's time", "by the whole time"], body, left=4)


def other_claims(found: Found) -> str:
    """What is said of answers, memory, degrees and work chunking."""
    right = [row["right"] for row in found.rows.values()]
    body = [
        ["every answer is right", "", counted(text == "True" for text in right)],
        [
            "no strategy runs out of memory",
            "all but BS and HP did on Graph500",
            counted(not text.startswith("out of memory") for text in right),
        ],
        *_memory(found),
        *_splitting(found),
        *_chunking(found),
    ]
    return markdown(["claim", "paper", "measured"], body, left=3)


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


def _splitting(found: Found) -> list[list[str]]:
    def values(field: str, *graphs: str) -> list[float]:
        return [found.number(graph, "sssp", "NS", field) for graph in found.named(*graphs)]

    every = zip(values("max_after", ""), values("bound", ""), found.graphs, strict=True)
    bounded = counted(after <= bound < found.fact(graph, "max_degree") for after, bound, graph in every)
    body = [["largest degree after splitting <= threshold < before", "yes", bounded]]
    for text, graphs in (("all but random graphs", ("rmat", *ROADS, *LARGE)), ("random graphs", RANDOM)):
        percents = values("split_percent", *graphs)
        met = counted(percent <= SPLIT_GOAL for percent in percents)
        body.append([f"vertices split, {text}", "less than 5%", f"{span(percents, 2, '%')}: {met}"])
    share = [
        found.number(g, "sssp", "NS", "bound") / found.fact(g, "max_degree") for g in found.named("rmat")
    ]
    body.append(["threshold of rmat20 / its largest degree", "118 / 1,181 = 0.10", span(share, 2)])
    for text, graphs in (("roads", ROADS), ("random graphs", RANDOM)):
        bounds = values("bound", *graphs)
        body.append(
            [f"threshold, {text}", "2 to 4", f"{span(bounds)}: {counted(2 <= b <= 4 for b in bounds)}"]
        )
    return body


def _chunking(found: Found) -> list[list[str]]:
    body = []
    of_graphs = {"all graphs": found.graphs, "smaller graphs": found.named(*SMALL)}
    ways = {"": "EP", ", by vertex": BY_VERTEX}
    for (way, strategy), (which, graphs) in product(ways.items(), of_graphs.items()):
        for what, field in (("kernel", KERNEL), ("run", RUN)):
            ups = [found.chunking(graph, program, field, strategy) for graph in graphs for program in NAMES]
            known = [up for up in ups if not math.isnan(up)]
            mean = statistics.fmean(known) if known else math.nan
            met = counted([mean >= CHUNKING_GOAL] if known else [])
            cell = f"{span(known, 2)}, mean {shown(mean, 2)}: {met}" if known else met
            body.append([f"speed-up by work chunking{way}, {which}, {what}", CHUNKING, cell])
    return body


def strategies_table(found: Found) -> str:
    """Table I: what each strategy is good and bad for."""
    runs = [(graph, program) for graph in found.graphs for program in NAMES]
    large, small, roads = found.named(*LARGE), found.named(*SMALL), found.named(*ROADS)

    def times_least(name: str, graph: str, program: str) -> float:
        others = [found.number(graph, program, other, KERNEL) for other in PAPERS]
        return found.number(graph, program, name, KERNEL) / min(t for t in others if not math.isnan(t))

    def wins(name: str) -> str:
        return (
            f"the shortest kernel in {sum(times_least(name, *run) == 1 for run in runs)} of {len(runs)} runs"
        )

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
            f"{wins('EP')}; {lines['EP']}",
            f"{memory('EP')}; without work chunking {unchunked} times the kernel time",
        ],
        [
            "WD",
            f"{wins('WD')}; {large_gain('WD')}; {memory('WD')}",
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
