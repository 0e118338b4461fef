"""The tables of docs/design/scaling.md: `python -m benchmarks.scaling_tables` puts them into their places.

Those of partitions are of counted rows, those of what was measured of the rows of one and two GPUs, and the others of
the model of `benchmarks.scaling_model`.
"""

import argparse
import math
from collections.abc import Callable
from dataclasses import replace

from benchmarks.page_tables import TASKS, faster, significant
from benchmarks.results import ROOT
from benchmarks.scaling_model import (
    A100,
    DEGREE,
    FITTED,
    H200,
    HELD_OUT,
    LARGE,
    SMALL,
    Ways,
    betweenness_seconds,
    counted,
    exchanging,
    fits,
    fits_memory,
    ghosts,
    gigabytes,
    h100_rates,
    h200_rates,
    measured,
    rates,
    seconds,
)
from benchmarks.table import filled, markdown

#: The bytes a second that NVLink 4 has each way.
LINKS = 450e9

DOCUMENT = ROOT / "docs" / "design" / "scaling.md"
SCALES, GPUS = range(26, 37, 2), (2, 8, 64, 1024)
#: Ways to run, from what is built first to all that would lift its limits.
WAYS = {
    "numbers and values": Ways(),
    "numbers kept": Ways(kept=True),
    "grid, kept": Ways("grid", kept=True),
    "combined in hosts, kept": Ways(kept=True, in_host=True),
    "combined in hosts, kept, overlapped": Ways(kept=True, in_host=True, overlap=True),
}
BEST = "combined in hosts, kept, overlapped"
#: Runs of the model, as rows of measured ones are called.
RUNS = {"pagerank": "pagerank", "bfs": "BFS", "sssp": "SSSP"}
Row = dict[str, str]


def partitions_table(rows: list[Row], run: str = "dense") -> str:
    """Of each graph and some numbers of ranks: what crosses, values for each vertex, replication and balance."""
    found = {(r["graph"], r["partition"], int(r["ranks"])): r for r in rows if r["run"] == run}
    body = []
    for graph in dict.fromkeys(graph for graph, *_ in found):
        for ranks in (2, 8, 64, 1024):
            parts = {
                name: found.get((graph, name, ranks)) for name in ("ranges", "hashed", "hubs", "pull", "grid")
            }
            ranges = parts["ranges"]
            assert ranges is not None
            crossing = int(ranges["crossing_arcs"]) / int(ranges["sent_arcs"])
            cells = [
                "" if r is None else f"{int(r['volume']) / int(r['vertices']):.2f}" for r in parts.values()
            ]
            busiest = [
                "" if r is None else f"{int(r['largest_volume']) * ranks / max(int(r['volume']), 1):.2f}"
                for r in (ranges, parts["grid"])
            ]
            balance = [
                "" if r is None else f"{float(r['balance']):.2f}"
                for r in (ranges, parts["hashed"], parts["grid"])
            ]
            body.append(
                [
                    graph,
                    f"{ranks:,}",
                    f"{crossing:.0%}",
                    *cells,
                    " / ".join(filter(None, balance)),
                    " / ".join(filter(None, busiest)),
                ]
            )
    head = ["graph", "ranks", "crossing", "ranges", "hashed", "hubs", "pull", "grid", "balance", "busiest"]
    return markdown(head, body)


def rounds_table(rows: list[Row]) -> str:
    """Of searches and shortest paths: supersteps, values for each vertex, and messages a superstep of a rank."""
    found = {(r["graph"], r["run"], r["partition"], int(r["ranks"])): r for r in rows}
    body = []
    for graph, run in dict.fromkeys((graph, run) for graph, run, *_ in found if run != "dense"):
        cells = [graph, run, found[graph, run, "ranges", 8]["rounds"]]
        for ranks, partition in (
            (8, "ranges"),
            (64, "ranges"),
            (64, "grid"),
            (1024, "ranges"),
            (1024, "grid"),
        ):
            row = found[graph, run, partition, ranks]
            each = int(row["messages"]) / ranks / int(row["rounds"])
            cells.append(f"{int(row['volume']) / int(row['vertices']):.2f} ({each:.3g})")
        body.append(cells)
    return markdown(
        ["graph", "run", "supersteps", "8", "64", "64, grid", "1,024", "1,024, grid"], body, left=2
    )


def errors_table(rows: list[Row]) -> str:
    """How far the formula, and what is fitted, are from counted rows."""
    body = []
    for partition in ("ranges", "pull", "hashed", "grid"):
        worst: dict[int, float] = {}
        for row in rows:
            if row["run"] == "dense" and row["partition"] == partition and row["graph"].startswith("rmat"):
                scale, ranks = int(row["graph"].removeprefix("rmat")), int(row["ranks"])
                told = 2 * ghosts(scale, ranks**0.5) if partition == "grid" else ghosts(scale, ranks)
                error = abs(told * int(row["vertices"]) / int(row["volume"]) - 1)
                worst[scale] = max(worst.get(scale, 0), error)
        fitted = max(worst[scale] for scale in FITTED)
        body.append([f"values, {partition} (nothing fitted)", f"{fitted:.1%}", f"{worst[HELD_OUT]:.1%}"])
    names = {
        "balance": "busiest rank's arcs",
        "busiest": "busiest rank's bytes",
        "more": "bytes over those of a dense superstep",
    }
    for key, fit in fits().items():
        run, *partition, quantity = key.split()
        if run == "dense" and quantity in ("more", "rounds"):
            continue
        name = ", ".join([names.get(quantity, quantity), run, *partition])
        body.append([name, f"{fit.error:.1%}", f"{fit.held_out:.1%}"])
    return markdown(["largest error", "scales 16 to 20", "scale 22, held out"], body)


def _by_gpus(cell: Callable[[int, int], str]) -> str:
    body = [
        [str(scale), f"{1e-9 * DEGREE * 2**scale:,.1f}", *(cell(scale, ranks) for ranks in GPUS)]
        for scale in SCALES
    ]
    return markdown(["scale", "arcs, 1e9", *(f"{ranks:,} GPUs" for ranks in GPUS)], body)


def memory_table() -> str:
    """Gigabytes of a GPU: as it is, and with values of its own vertices and ghosts only."""

    def cell(scale: int, ranks: int) -> str:
        both = [
            (gigabytes(scale, ranks, compact), fits_memory(scale, ranks, compact))
            for compact in (False, True)
        ]
        return " / ".join(f"{size:,.3g}" if fits_it else f"*{size:,.0f}*" for size, fits_it in both)

    return _by_gpus(cell)


def _times(run: str, ways: Ways) -> str:
    def cell(scale: int, ranks: int) -> str:
        weights = run == "sssp"
        if not fits_memory(scale, ranks, True, weights):
            return ""
        time, one = seconds(run, scale, ranks, ways), seconds(run, scale, 1)
        mark = "" if fits_memory(scale, ranks, False, weights) else "*"
        return f"{significant(1e3 * time)}{mark} ({one / time:.3g}, {one / time / ranks:.0%})"

    return _by_gpus(cell)


def lifts_table() -> str:
    """An iteration of PageRank, and a search, in each way."""
    cases = [(30, 64), (26, 1024), (30, 1024), (36, 1024)]
    rows = [("pagerank", f"PageRank, {name}", ways, H200) for name, ways in WAYS.items()]
    rows += [
        ("bfs", f"BFS, {name}", ways, H200)
        for name, ways in (("numbers and values", Ways()), ("grid", Ways("grid")))
    ]
    slow = replace(H200, network=H200.network / 4)
    rows += [
        ("pagerank", f"PageRank, {name}, a quarter of the network", WAYS[name], slow)
        for name in ("numbers and values", BEST)
    ]
    body = []
    for run, name, ways, links in rows:
        cells = []
        for scale, ranks in cases:
            time, one = seconds(run, scale, ranks, ways, links), seconds(run, scale, 1)
            cells.append(f"{1e3 * time:.3g} ({one / time:.3g}, {one / time / ranks:.0%})")
        body.append([name, *cells])
    return markdown(["way", *(f"scale {scale}, {ranks:,} GPUs" for scale, ranks in cases)], body)


def limits_table() -> str:
    """Where more GPUs stop paying: the number for which a run is fastest, and the most of which half is used."""
    numbers = [2**k for k in range(11)]

    def cell(run: str, scale: int, ways: Ways) -> str:
        speed = {p: seconds(run, scale, 1) / seconds(run, scale, p, ways) for p in numbers}
        best = max(speed, key=speed.__getitem__)
        half = max(p for p in numbers if speed[p] >= p / 2)
        return f"{best:,} ({speed[best]:.3g}), {half:,}"

    cases = [("PageRank", "pagerank", Ways()), ("PageRank, all lifts", "pagerank", WAYS[BEST])]
    cases += [("BFS", "bfs", Ways()), ("SSSP", "sssp", Ways())]
    body = [[str(scale), *(cell(run, scale, ways) for _, run, ways in cases)] for scale in SCALES]
    return markdown(["scale", *(name for name, *_ in cases)], body)


def figures_table() -> str:
    """What the model takes from measurements of two GPUs, and from others."""
    nvlink = f"{1e-9 * H200.nvlink:.0f} GB/s each way"
    near, far = (f"{1e6 * each:.0f} µs" for each in (H200.near, H200.far))
    links = (
        "links have 450 (NVIDIA, Hopper tuning guide), of which NCCL leaves 370 (NVIDIA/nccl-tests issue 212)"
    )
    body = [
        ["NVLink 4", nvlink, f"measured, `pagerank` on two H200; {links}"],
        ["collective in a host", near, "measured likewise; 6 µs between two H100 in NVIDIA/nccl issue 1259"],
        [
            "InfiniBand NDR",
            "400 Gb/s a GPU, 48 GB/s",
            "NVIDIA/nccl-tests issue 267: 48 to 49, and all-to-all has one adapter's rate",
        ],
        [
            "collective among hosts",
            far,
            "44 µs more than in a host: 46 to 50 µs on 16 GPUs of two hosts in NVIDIA/nccl issue 1244, in place of "
            "those 6; assumed for 128 hosts",
        ],
        ["each message", f"{1e6 * H200.message:.0f} µs", "assumed"],
    ]
    return markdown(["figure", "value", "source"], body, left=3)


def rates_table() -> str:
    """1e9 arcs a second of one GPU, measured."""
    columns = {
        "H100, rmat22": h100_rates(),
        f"H200, scale {SMALL}": h200_rates(SMALL),
        f"H200, scale {LARGE}": rates(),
    }
    body = [
        [TASKS[name], *(f"{1e-9 * each[run]:.3g}" for each in columns.values())] for run, name in RUNS.items()
    ]
    return markdown(["1e9 arcs a second", *columns], body)


def exchanges_table() -> str:
    """What two GPUs spent on exchanges, and sent, and the rate of what they sent more at the larger scale; none where
    waiting hides it, so that it is more than the links have."""
    body = []
    for name in dict.fromkeys(name for name, _, ranks in measured() if ranks == 2):
        (short, few), (long, many) = (exchanging(name, scale) for scale in (SMALL, LARGE))
        rate = (many - few) / (long - short) if long > short else math.inf
        cells = [
            f"{1e3 * spent:.3g} / {significant(1e-6 * sent)}" for spent, sent in ((short, few), (long, many))
        ]
        body.append([TASKS[name], *cells, f"{1e-9 * rate:.3g}" if rate < LINKS else ""])
    return markdown(["ms / MB of a rank", f"scale {SMALL}", f"scale {LARGE}", "GB/s of the difference"], body)


def two_table() -> str:
    """Two GPUs, by the model and as measured."""
    whole = Ways(whole=True)
    modelled = {
        "pagerank": [20 * seconds("pagerank", LARGE, ranks, whole) for ranks in (1, 2)],
        "betweenness": [betweenness_seconds(ranks) for ranks in (1, 2)],
        "BFS": [seconds("bfs", LARGE, ranks) for ranks in (1, 2)],
        "SSSP": [seconds("sssp", LARGE, ranks) for ranks in (1, 2)],
    }
    body = []
    for name, (one, two) in modelled.items():
        ms = 1e3 * one, float(measured()[name, LARGE, 2]["ms"])
        alone = measured()[name, LARGE, 1]["ms"]
        cells = [f"{significant(each)} ({faster(ms[0], each)})" for each in (1e3 * two, ms[1])]
        body.append(
            [TASKS[name], significant(ms[0]), significant(float(alone)) if alone else "", *cells,
             f"{1e-3 * ms[1] / two:.2f}"]
        )  # fmt: skip
    head = [f"ms, scale {LARGE}", "one GPU", "one rank", "two GPUs, model", "two GPUs, measured", "of that"]
    return markdown(head, body)


def published_table() -> str:
    """Published figures, what the model says of the nearest case, and what was measured."""

    def speed_ups(name: str, run: str = "") -> list[str]:
        model = f"{seconds(run, LARGE, 1) / seconds(run, LARGE, 2):.2f}" if run else ""
        one, two = (measured()[name, LARGE, ranks] for ranks in (1, 2))
        return [model, faster(float(one["plain_ms"]), float(two["ms"]))]

    grid = Ways("grid")
    #: An A100 has 2.0 of the 4.8 TB/s of an H200, and arcs have weights, twice the bytes.
    told = seconds("pagerank", 38, 2048, grid, A100) + DEGREE * 2**38 / 2048 / rates()["pagerank"] * (
        2 * 4.8 / 2.0 - 1
    )
    per_gpu = DEGREE * 2**32 / 32 / seconds("pagerank", 32, 32) * 1e-9
    row = measured()["pagerank", LARGE, 2]
    ours = 20 * int(row["arcs"]) / 2 / (1e-3 * float(row["ms"])) * 1e-9
    body = [
        ["two GPUs, PageRank, speed-up", "1.85 (Gunrock)", *speed_ups("pagerank", "pagerank")],
        ["two GPUs, SSSP", "1.44 (Gunrock)", *speed_ups("SSSP", "sssp")],
        ["two GPUs, components", "1.46 (Gunrock)", *speed_ups("components")],
        ["two GPUs, BFS", "1.58 (Gunrock)", *speed_ups("BFS", "bfs")],
        [
            "PageRank, 32 GPUs, 1e9 arcs a second and GPU",
            "21.5 (cuGraph, A100, a web crawl)",
            f"{per_gpu:.3g} (R-MAT 32)",
            f"{ours:.3g} (two GPUs, R-MAT {LARGE})",
        ],
        [
            "PageRank, scale 38, 2,048 A100, seconds an iteration",
            "1.54 (cuGraph)",
            f"{told:.2g} (grid, links of an A100)",
            "",
        ],
    ]
    return markdown(["case", "published", "model", "ours, measured"], body, left=2)


def blocks() -> dict[str, str]:
    """The tables by the names of their places."""
    rows = counted()
    return {
        "partitions": partitions_table(rows),
        "rounds": rounds_table(rows),
        "errors": errors_table(rows),
        "memory": memory_table(),
        "pagerank": _times("pagerank", Ways()),
        "bfs": _times("bfs", Ways()),
        "sssp": _times("sssp", Ways()),
        "lifts": lifts_table(),
        "limits": limits_table(),
        "published": published_table(),
        "figures": figures_table(),
        "rates": rates_table(),
        "exchanges": exchanges_table(),
        "two": two_table(),
    }


def main() -> None:
    """Put the tables into their places."""
    summary = (__doc__ or "").partition(": ")[0]
    argparse.ArgumentParser(prog="python -m benchmarks.scaling_tables", description=summary).parse_args()
    DOCUMENT.write_text(filled(DOCUMENT, blocks()), encoding="utf-8")


if __name__ == "__main__":
    main()
