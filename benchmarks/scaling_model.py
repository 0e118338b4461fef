"""A model of runs on 2 to 1,024 GPUs, made of counted partitions, runs on one and two GPUs, and figures of networks.

`python -m benchmarks.scaling_tables` puts its tables into docs/design/scaling.md, which says what they mean.

Idea. A run takes, on the rank that has most to do,

    its arcs / the arcs that one GPU does in a second
    + the longer of: its bytes within the host / NVLINK, its bytes between hosts / NETWORK
    + for each superstep: collectives * their latency + messages * MESSAGE.

Values. In an R-MAT graph with shuffled numbers, a vertex that has j of s bits set has on average d(j) = 16 * 2**s *
0.76**(s - j) * 0.24**j in-arcs (Chakrabarti, Zhan, Faloutsos 2004: the two quadrants of each half have 0.57 + 0.19 and
0.19 + 0.05). Each of p ranks has a share of 1 / p of all out-arcs, so that it has none to this vertex with probability
exp(-d / p): the p - 1 ranks that do not own the vertex send (p - 1) (1 - exp(-d / p)) values (`ghosts`). Nothing in
this is fitted. In a grid of r x r ranks the r - 1 ranks of a column send messages, and owners send states to the r - 1
other ranks of a row: twice `ghosts` of r.

Two constants are solved for: `ew.pagerank` on two GPUs exchanges values of one length again and again, and what an
exchange takes at scales 22 and 26, the wait for the other rank with it, gives a latency and a rate (`exchange_line`).

What is fitted to counted partitions of scales 16 to 20, and compared with scale 22: how much more the busiest rank has
than the mean, as a power of x = p * 0.76**s, which is the share that the vertex of most arcs has of a rank's mean; and
how much more searches and shortest paths send than one superstep of all vertices.
"""

import functools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from benchmarks.page_tables import shown_rows
from benchmarks.results import ROOT

RESULTS = ROOT / "benchmarks" / "results"
PARTITIONS, H100 = RESULTS / "2026-11-28-2-cores-partitions.csv", RESULTS / "2026-11-28-H100.csv"
TWO = RESULTS / "2026-11-30-2xH200-distributed.csv"
#: The scales of these runs on one and two GPUs; rates of one GPU are of the second.
SMALL, LARGE = 22, 26
#: For each run: what was measured on one GPU, and how often it goes over all arcs.
MEASURED = {"pagerank": ("pagerank", 20), "bfs": ("BFS", 1), "sssp": ("SSSP", 1)}
#: How often `pagerank` exchanges: before its 20 iterations, after each, and ranks at the end.
EXCHANGES = 22
#: Arcs of a vertex, and the part of them that the likelier half of the vertices has.
DEGREE, LIKELY = 16, 0.76
FITTED, HELD_OUT = (16, 18, 20), 22
VALUE = NUMBER = 4
#: Bytes for each vertex: an offset; and the values that a program of one field has, its message, and its value before.
OFFSET, FIELDS = 8, 12
MEMORY = 141e9


@dataclass(frozen=True)
class Links:
    """Links of GPUs, each way.

    Attributes:
        host: GPUs of a host.
        nvlink, network: bytes a second of a GPU.
        near, far: seconds of a collective within a host, and of one among hosts.
        message: seconds for each message that a rank sends, beside those.
    """

    host: int
    nvlink: float
    network: float
    near: float
    far: float
    message: float


@functools.cache
def measured() -> dict[tuple[str, int, int], dict[str, str]]:
    """The rows of one and two GPUs, by program or algorithm, scale, and number of GPUs."""
    rows = shown_rows(TWO)
    return {(r["program"], int(r["graph"].removeprefix("rmat")), int(r["ranks"])): r for r in rows}


def exchanging(name: str, scale: int) -> tuple[float, float]:
    """The seconds that the slower of two ranks spends on exchanges in a run, and the bytes that a rank sends in it."""
    row = measured()[name, scale, 2]
    return 1e-3 * float(row["ms"]) * float(row["exchange_share"]), int(row["sent_bytes"]) / 2


@functools.cache
def exchange_line() -> tuple[float, float]:
    """The latency of an exchange, in seconds, and the bytes a second beyond it, of `ew.pagerank` on two GPUs."""
    points = []
    for scale in (SMALL, LARGE):
        spent, sent = exchanging("pagerank", scale)
        points.append((sent / EXCHANGES, spent / EXCHANGES))
    (few, short), (many, long) = points
    rate = (many - few) / (long - short)
    return short - few / rate, rate


#: NVLink 4 has 900 GB/s, 450 each way (NVIDIA, Hopper tuning guide), of which NCCL's protocol leaves 370
#: (NVIDIA/nccl-tests issue 212, a maintainer); in its place, what two GPUs had. InfiniBand NDR, 400 Gb/s: 48 to 49 GB/s
#: for a ConnectX-7, and all-to-all has the rate of one adapter for each GPU (NVIDIA/nccl-tests issue 267, maintainers).
#: All-reduces of 4 bytes took 6 us between two H100 with CUDA graphs (NVIDIA/nccl issue 1259), 46 to 50 us among 16
#: GPUs of two hosts with NDR (NVIDIA/nccl issue 1244): hosts add that difference to the measured latency. A message
#: takes 1 us by assumption.
NEAR, NVLINK = exchange_line()
H200 = Links(8, NVLINK, 48e9, NEAR, NEAR + 44e-6, 1e-6)
#: NVLink 3 of an A100, 300 GB/s each way (NVIDIA, Ampere tuning guide), and HDR, 200 Gb/s, less as much.
A100 = Links(8, NVLINK * 300 / 450, 24e9, NEAR, NEAR + 44e-6, 1e-6)


@functools.cache
def telling(scale: int) -> float:
    """The share of vertices that have out-arcs, and so something to tell in `pagerank`."""
    found = 0.0
    for ones in range(scale + 1):
        degree = DEGREE * 2**scale * LIKELY ** (scale - ones) * (1 - LIKELY) ** ones
        found += math.comb(scale, ones) / 2**scale * -math.expm1(-degree)
    return found


@functools.cache
def ghosts(scale: int, ranks: float) -> float:
    """Values that other ranks send for a vertex on average, in a superstep in which all vertices send."""
    total = 0.0
    for ones in range(scale + 1):
        degree = DEGREE * 2**scale * LIKELY ** (scale - ones) * (1 - LIKELY) ** ones
        total += math.comb(scale, ones) / 2**scale * (ranks - 1) * -math.expm1(-degree / ranks)
    return total


def counted() -> list[dict[str, str]]:
    """The rows of counted partitions."""
    return shown_rows(PARTITIONS)


@functools.cache
def rates() -> dict[str, float]:
    """Arcs a second of one H200 at scale 26: of the algorithm for PageRank, of programs for the others."""
    return h200_rates(LARGE)


def h200_rates(scale: int) -> dict[str, float]:
    """The same at this scale."""
    found = {}
    for run, (name, times) in MEASURED.items():
        row = measured()[name, scale, 1]
        found[run] = int(row["arcs"]) * times / (1e-3 * float(row["plain_ms"]))
    return found


def h100_rates() -> dict[str, float]:
    """The same of one H100 on rmat22, by the rows of one GPU alone."""
    rows = {(r["algorithm"], r["what"]): r for r in shown_rows(H100) if r["graph"] == "rmat22"}
    found = {"pagerank": rows["pagerank", "edgewise"]}
    found |= {name: rows[name, "plain program"] for name in ("bfs", "sssp")}
    iterations = {"pagerank": 50}
    return {
        name: int(row["arcs"]) * iterations.get(name, 1) / (1e-3 * float(row["ms"]))
        for name, row in found.items()
    }


@dataclass(frozen=True)
class Fit:
    """A formula with fitted constants; its largest relative errors, on the scales of the fit and on that held out."""

    formula: Callable[[int, float], float]
    error: float
    held_out: float


def _fit(
    points: Sequence[tuple[int, int, float]], basis: Callable[[int, float], list[float]], plus: float
) -> Fit:
    """Fit log(value - plus) to a linear combination of the basis, for points (scale, ranks, value)."""
    used = [point for point in points if point[0] in FITTED]
    matrix = np.array([basis(s, p) for s, p, _ in used])
    target = np.log([max(value - plus, 1e-3) for *_, value in used])
    constants = np.linalg.lstsq(matrix, target, rcond=None)[0]

    def formula(scale: int, ranks: float) -> float:
        return plus + math.exp(float(np.dot(basis(scale, ranks), constants)))

    def worst(scales: Sequence[int]) -> float:
        return max(abs(formula(s, p) / value - 1) for s, p, value in points if s in scales)

    return Fit(formula, worst(FITTED), worst((HELD_OUT,)))


def _by_hub(scale: int, ranks: float) -> list[float]:
    return [1, math.log(ranks * LIKELY**scale)]


def _by_both(scale: int, ranks: float) -> list[float]:
    return [1, scale, math.log2(ranks), scale * math.log2(ranks)]


@functools.cache
def fits() -> dict[str, Fit]:
    """The fits, by "run partition quantity"."""
    rows = {
        (int(r["graph"].removeprefix("rmat")), r["run"], r["partition"], int(r["ranks"])): r
        for r in counted()
        if r["graph"].startswith("rmat")
    }
    most = 1  # beyond, one vertex has more than a rank's mean; the scales of the model stay below 0.82
    found = {}
    for run in ("dense", "bfs", "sssp"):
        for partition in ("ranges", "grid"):
            points: dict[str, list[tuple[int, int, float]]] = {"balance": [], "busiest": [], "more": []}
            for (scale, ran, divided, p), row in rows.items():
                if (ran, divided) != (run, partition):
                    continue
                total = int(row["bytes"])
                points["more"].append((scale, p, total / int(rows[scale, "dense", partition, p]["bytes"])))
                if p * LIKELY**scale < most:
                    points["balance"].append((scale, p, float(row["balance"])))
                    points["busiest"].append((scale, p, int(row["largest_bytes"]) * p / total))
            for name, basis, plus in (
                ("balance", _by_hub, 1),
                ("busiest", _by_hub, 1),
                ("more", _by_both, 0),
            ):
                found[f"{run} {partition} {name}"] = _fit(points[name], basis, plus)
        rounds = {s: int(r["rounds"]) for (s, ran, *_), r in rows.items() if ran == run}
        found[f"{run} rounds"] = _fit(
            [(s, 2, r) for s, r in rounds.items()], lambda s, _: [1, math.log(s)], 0
        )
    return found


@dataclass(frozen=True)
class Ways:
    """How ranks exchange.

    Attributes:
        partition: "ranges" or "grid".
        kept: numbers are exchanged once, since all supersteps send to the same vertices: a value alone, and no sizes.
        whole: each rank tells each other one the values of all its vertices with out-arcs, whether it needs them or
            not: a value alone, in one exchange, as `ew.pagerank` does. Not in grids, nor with `kept` or `in_host`.
        in_host: the GPUs of a host combine their messages first, over NVLink.
        overlap: computing and exchanging at the same time.
    """

    partition: str = "ranges"
    kept: bool = False
    whole: bool = False
    in_host: bool = False
    overlap: bool = False


def _sent(scale: int, ranks: int, ways: Ways, links: Links) -> tuple[float, float, float]:
    """Of a GPU in a superstep of all vertices: mean bytes within its host, mean bytes between hosts, and messages."""
    own, host = 2.0**scale / ranks, min(links.host, ranks)

    def size(values: float, peers: float) -> float:
        """The bytes of values to peers, about equally many to each."""
        return values * (VALUE if ways.kept else VALUE + min(NUMBER, own / 8 / max(values / peers, 1e-9)))

    if ranks == 1:
        return 0, 0, 0
    if ways.whole:
        told = VALUE * own * telling(scale)
        return (host - 1) * told, (ranks - host) * told, ranks - 1
    if ways.partition == "grid":  # the GPUs of a host are neighbours in a row
        side = math.sqrt(ranks)
        each = size(own * ghosts(scale, side), side - 1)
        near = 2 if ranks <= host else min((host - 1) / (side - 1), 1)
        return near * each, (2 - near) * each, 2 * (side - 1)
    if ways.in_host and ranks > host:
        hosts = ranks // host
        inside = size(own * ghosts(scale, ranks) * (host - 1) / host, host - 1)
        return inside, size(own * ghosts(scale, hosts), hosts - 1), hosts - 1 + host - 1
    near = (host - 1) / (ranks - 1)
    each = size(own * ghosts(scale, ranks), ranks - 1)
    return near * each, (1 - near) * each, ranks - 1


def seconds(run: str, scale: int, ranks: int, ways: Ways = Ways(), links: Links = H200) -> float:
    """The time of an iteration of PageRank ("pagerank"), of a search ("bfs"), or of shortest paths ("sssp")."""
    fit, counts = fits(), {"pagerank": "dense"}.get(run, run)
    compute = DEGREE * 2.0**scale / ranks / rates()[run]
    if ranks == 1:
        return compute
    name = f"{counts} {ways.partition}"
    compute *= fit[f"{name} balance"].formula(scale, ranks)
    more = 1.0
    if not ways.whole:
        more = fit[f"{name} more"].formula(scale, ranks) * fit[f"{name} busiest"].formula(scale, ranks)
    rounds = fit[f"{counts} rounds"].formula(scale, ranks) if counts != "dense" else 1
    near, far, messages = _sent(scale, ranks, ways, links)
    exchange = more * max(near / links.nvlink, far / links.network)
    latency = links.near if ranks <= links.host else links.far
    has_sizes = not (ways.whole or ways.kept)
    collectives = (
        1 if ways.whole else 2 + (has_sizes and ranks > links.host)
    )  # in a host, sizes come with messages
    each = 1 + has_sizes
    exchange += rounds * (collectives * latency + each * messages * links.message)
    return max(compute, exchange) if ways.overlap else compute + exchange


def betweenness_seconds(ranks: int) -> float:
    """The time of the sources of betweenness that were measured, dealt to GPUs of one host. Each rank sends the others
    their shares of its sums, 8 bytes a vertex, and then the sums of its own share."""
    row = measured()["betweenness", LARGE, 1]
    compute, share = 1e-3 * float(row["plain_ms"]) / ranks, 8 * int(row["vertices"]) / ranks
    if ranks == 1:
        return compute
    return compute + 2 * ((ranks - 1) * (share / H200.nvlink + H200.message) + H200.near)


def gigabytes(scale: int, ranks: int, compact: bool, weights: bool = False) -> float:
    """What a GPU holds: offsets, targets, and values of all vertices; if compact, of its own ones and of those that it
    sends to, whose numbers it keeps."""
    own, arcs = 2.0**scale / ranks, DEGREE * 2.0**scale / ranks
    target = 4 if compact or scale < 32 else 8
    values = own * (FIELDS + (VALUE + NUMBER) * ghosts(scale, ranks)) if compact else FIELDS * 2.0**scale
    return 1e-9 * (OFFSET * own + (target + 4 * weights) * arcs + values)


def fits_memory(scale: int, ranks: int, compact: bool, weights: bool = False) -> bool:
    """Whether an H200, of 141 GB, has room."""
    return 1e9 * gigabytes(scale, ranks, compact, weights) <= MEMORY
