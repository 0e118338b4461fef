"""The numbers of Singh and Nasre (2020), section 5, as printed."""

from benchmarks.papers.graffix_setup import COALESCING, DIVERGENCE, FASTEST, MEMORY, NODE, SLOTS, TIGR

#: The paper's graphs, in the order of all its tables.
PAPER_GRAPHS = ("rmat26", "random26", "LiveJournal", "USA-road", "twitter")
#: The number of the table of exact times, and of that of a technique over a baseline. The paper has no extra slots.
EXACT_TABLES = {NODE: 2, TIGR: 3, FASTEST: 4}
TABLES = {
    (technique, baseline): number + 3 * place
    for place, baseline in enumerate((NODE, TIGR, FASTEST))
    for technique, number in ((COALESCING, 6), (SLOTS, 6), (MEMORY, 7), (DIVERGENCE, 8))
}
#: Seconds by table and algorithm, for the graphs in their order.
_EXACT: dict[int, dict[str, tuple[float, ...]]] = {
    2: {
        "SSSP": (37, 29, 2, 152, 231),
        "MST": (8996, 10087, 3424, 82, 10943),
        "SCC": (21, 23, 7, 12, 37),
        "PR": (12, 16, 1, 1, 18),
        "BC": (15223, 13127, 1711, 2043, 21462),
    },
    3: {
        "SSSP": (6, 4, 0.046, 12, 17),
        "PR": (0.914, 1.180, 0.452, 0.130, 3.000),
        "BC": (587, 498, 66, 38, 827),
    },
    4: {
        "SSSP": (19, 8, 0.142, 25.139, 53),
        "PR": (1.070, 1.500, 0.530, 0.181, 4.000),
        "BC": (872, 740, 98, 56, 1227),
    },
}
#: Table 5: seconds, and percent of additional space, for the graphs in their order.
_MAKING: dict[str, tuple[tuple[float, ...], tuple[float, ...]]] = {
    COALESCING: ((76, 59, 8, 304, 463), (9, 11, 6, 8, 7)),
    MEMORY: ((155, 107, 21, 348, 532), (5, 8, 5, 4, 7)),
    DIVERGENCE: ((42, 46, 5, 38, 157), (2, 3, 2, 1.5, 4)),
}
#: Tables 6 to 14: speed-up / inaccuracy in percent, for the graphs in their order.
_EFFECT = {
    6: {
        "SSSP": "1.22/12 1.13/10 1.18/11 1.15/9 1.17/12",
        "MST": "1.18/13 1.13/15 1.14/12 1.23/11 1.17/13",
        "SCC": "1.14/8 1.08/14 1.13/7 1.16/11 1.15/12",
        "PR": "1.20/5 1.15/7 1.21/7 1.19/6 1.22/7",
        "BC": "1.17/9 1.12/13 1.15/10 1.19/12 1.14/11",
    },
    7: {
        "SSSP": "1.26/12 1.08/17 1.22/13 1.30/13 1.18/12",
        "MST": "1.22/16 1.10/18 1.18/16 1.20/19 1.16/15",
        "SCC": "1.20/12 1.10/16 1.22/13 1.20/12 1.18/13",
        "PR": "1.32/7 1.16/11 1.26/7 1.30/5 1.22/9",
        "BC": "1.24/14 1.13/18 1.21/16 1.26/15 1.17/13",
    },
    8: {
        "SSSP": "1.06/8 1.03/9 1.07/8 1.12/7 1.09/6",
        "MST": "1.05/10 1.02/11 1.07/8 1.09/10 1.05/9",
        "SCC": "1.04/9 1.00/7 1.04/6 1.05/9 1.06/8",
        "PR": "1.10/4 1.04/9 1.08/5 1.06/8 1.09/8",
        "BC": "1.11/11 1.05/14 1.09/9 1.12/7 1.06/12",
    },
    9: {
        "SSSP": "1.16/12 1.06/10 1.13/11 1.08/9 1.12/12",
        "PR": "1.14/5 1.08/7 1.15/7 1.12/6 1.15/7",
        "BC": "1.09/9 1.05/13 1.07/10 1.11/12 1.06/11",
    },
    10: {
        "SSSP": "1.24/12 1.07/17 1.20/13 1.26/13 1.15/12",
        "PR": "1.30/7 1.14/11 1.26/7 1.28/5 1.22/9",
        "BC": "1.19/14 1.11/18 1.17/16 1.23/15 1.16/13",
    },
    11: {
        "SSSP": "1.02/8 1.01/9 1.02/8 1.04/7 1.03/6",
        "PR": "1.06/4 1.02/9 1.04/5 1.03/8 1.05/8",
        "BC": "1.04/11 1.01/14 1.02/9 1.05/7 1.03/12",
    },
    12: {
        "SSSP": "1.20/12 1.10/10 1.17/11 1.12/9 1.16/12",
        "PR": "1.17/5 1.13/7 1.19/7 1.18/6 1.20/7",
        "BC": "1.11/9 1.07/13 1.09/10 1.16/12 1.09/11",
    },
    13: {
        "SSSP": "1.22/12 1.06/17 1.23/13 1.28/13 1.16/12",
        "PR": "1.27/7 1.12/11 1.19/7 1.25/5 1.17/9",
        "BC": "1.21/14 1.13/18 1.19/16 1.24/15 1.14/13",
    },
    14: {
        "SSSP": "1.07/7 1.03/8 1.06/7 1.08/7 1.05/6",
        "PR": "1.09/5 1.03/6 1.10/5 1.07/8 1.08/8",
        "BC": "1.06/11 1.04/13 1.08/10 1.10/6 1.07/12",
    },
}
#: The means that are printed below these tables: geometric ones, those of inaccuracy, too.
MEANS = {
    6: (1.16, 10), 7: (1.20, 13), 8: (1.07, 8), 9: (1.10, 9), 10: (1.19, 12), 11: (1.03, 8), 12: (1.14, 9),
    13: (1.19, 12), 14: (1.07, 8),
}  # fmt: skip
#: The printed mean of additional space, in percent, and where the text has the peaks of figures 7 to 9.
SPACE = {COALESCING: 8.0, MEMORY: 5.6, DIVERGENCE: 2.3}
PEAKS = {COALESCING: 0.6, SLOTS: 0.6, DIVERGENCE: 0.3}


def exact_seconds(table: int, algorithm: str, like: str) -> float | None:
    """Seconds of an exact run on a graph of the paper; None where it has none."""
    times = _EXACT[table].get(algorithm)
    return None if times is None or like not in PAPER_GRAPHS else times[PAPER_GRAPHS.index(like)]


def making(technique: str, like: str) -> tuple[float, float] | None:
    """Seconds and percent of Table 5; None for what it does not have."""
    if technique not in _MAKING or like not in PAPER_GRAPHS:
        return None
    seconds, percent = _MAKING[technique]
    return seconds[PAPER_GRAPHS.index(like)], percent[PAPER_GRAPHS.index(like)]


def effect(table: int, algorithm: str, like: str) -> tuple[float, float] | None:
    """Speed-up, and inaccuracy in percent, of Tables 6 to 14; None for what they do not have."""
    cells = _EFFECT[table].get(algorithm)
    if cells is None or like not in PAPER_GRAPHS:
        return None
    speedup, percent = cells.split()[PAPER_GRAPHS.index(like)].split("/")
    return float(speedup), float(percent)


def effects(table: int) -> list[tuple[float, float]]:
    """All of a table's pairs."""
    found = (effect(table, algorithm, like) for algorithm in _EFFECT[table] for like in PAPER_GRAPHS)
    return [pair for pair in found if pair is not None]
