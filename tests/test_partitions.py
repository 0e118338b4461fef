"""What ranks exchange is counted right, and the tables of docs/design/scaling.md are those of the counts."""

from dataclasses import replace

import numpy as np
import pytest

import edgewise as ew
from benchmarks import partitions, scaling_tables
from benchmarks.scaling_model import EXCHANGES, H200, LARGE, SMALL, Ways, exchanging, ghosts, seconds, telling
from benchmarks.table import fill

GRAPHS = {
    "rmat": ew.generate.rmat(7, 6, seed=3, weights=(1, 9)),
    "lattice": ew.generate.lattice(9, 7, weights=(1, 9)),
    "uniform": ew.generate.uniform(50, 400, seed=5, directed=False, weights=(1, 9)),
}
RUNS = {"dense": partitions.dense, "bfs": partitions.search, "sssp": partitions.relaxation}


def naive(graph, rounds, partition, ranks):
    """The values, bytes, messages and arcs of a partition, a Python loop over arcs; all as `Tally` has them."""
    pull, grid, side = partition == "pull", partition == "grid", round(ranks**0.5)
    arcs = list(zip(graph.sources.tolist(), graph.targets.tolist(), strict=True))
    degree = [0] * graph.num_vertices
    for source, target in arcs:
        degree[target if pull else source] += 1
    before = np.cumsum([0, *degree])
    owner = [
        int(min((before[v] + before[v + 1]) * ranks // (2 * len(arcs)), ranks - 1))
        for v in range(len(degree))
    ]
    if partition == "hashed":
        owner = [(v * 0x9E3779B97F4A7C15 % 2**64) * ranks >> 64 for v in range(len(degree))]
    in_degree = [sum(target == v for _, target in arcs) for v in range(len(degree))]
    hubs = {v for v in range(len(degree)) if partition == "hubs" and in_degree[v] >= 4 * ranks}
    found = dict.fromkeys(("volume", "bytes", "messages", "largest_volume", "largest_arcs", "crossing"), 0)
    for active in rounds:
        values, held = set(), [0] * ranks
        for source, target in arcs:
            if source not in active:
                continue
            found["crossing"] += owner[source] != owner[target]
            holder = owner[target if pull else source]
            if grid:
                holder = owner[source] // side * side + owner[target] % side
            held[holder] += 1
            if grid or pull:
                values.add((owner[source], holder, source, owner[source]))
            if not pull and target not in hubs:
                values.add((holder, owner[target], target, owner[target]))
        values = {value for value in values if value[0] != value[1]}
        each = 2 * (ranks - 1) * len(hubs) / ranks
        found["volume"] += len(values) + round(ranks * each)
        found["bytes"] += 4 * round(ranks * each)
        found["largest_arcs"] += max(held)
        ends = [sum(value[end] == rank for value in values) for end in (0, 1) for rank in range(ranks)]
        found["largest_volume"] += int(max(ends) + each)
        by_ranks = {}
        for sender, receiver, vertex, own in values:
            by_ranks.setdefault((sender, receiver, own), set()).add(vertex)
        for (*_, own), vertices in by_ranks.items():
            found["bytes"] += 4 * len(vertices) + min(4 * len(vertices), -(-owner.count(own) // 8))
        found["messages"] += len(by_ranks)
    return found


@pytest.mark.parametrize("partition", partitions.PARTITIONS)
@pytest.mark.parametrize("name", GRAPHS)
def test_what_ranks_exchange_is_counted(name, partition):
    graph = GRAPHS[name]
    for run, make in RUNS.items():
        rounds = make(graph)
        tallies = partitions.tallies_of(graph, rounds, partition, (2, 4, 16))
        assert [tally.ranks for tally in tallies] == ([16, 4] if partition == "grid" else [16, 4, 2])
        for tally in tallies:
            expected = naive(graph, [set(active.tolist()) for active in rounds], partition, tally.ranks)
            assert {key: getattr(tally, key) for key in expected} == expected, (run, tally.ranks)


def test_rounds_are_those_of_the_algorithms():
    graph = GRAPHS["rmat"]
    reached = ew.bfs(graph, int(np.argmax(graph.out_degree))).level >= 0
    levels = partitions.search(graph)
    assert sorted(np.concatenate(levels).tolist()) == np.flatnonzero(reached).tolist()
    assert set(np.concatenate(partitions.relaxation(graph)).tolist()) == set(np.flatnonzero(reached).tolist())


def test_values_of_rmat_graphs_follow_from_their_parameters():
    graph = ew.generate.rmat(14, 16)
    for partition in ("ranges", "grid"):
        for tally in partitions.tallies_of(graph, partitions.dense(graph), partition, (4, 16, 64)):
            side = round(tally.ranks**0.5)
            told = 2 * ghosts(14, side) if partition == "grid" else ghosts(14, tally.ranks)
            assert tally.volume / graph.num_vertices == pytest.approx(told, rel=0.02)


def test_more_links_are_never_slower():
    for run in ("pagerank", "bfs", "sssp"):
        assert seconds(run, 30, 2) < seconds(run, 30, 1) < seconds(run, 32, 1)
    kept, hosts = Ways(kept=True), Ways(kept=True, in_host=True)
    times = [seconds("pagerank", 34, 1024, ways) for ways in (Ways(), kept, hosts)]
    assert times == sorted(times, reverse=True)
    assert seconds("pagerank", 34, 8, kept) == seconds("pagerank", 34, 8, hosts)  # one host
    grid = [seconds("pagerank", 34, 4, Ways("grid"), replace(H200, network=rate)) for rate in (1e9, 1e12)]
    assert grid[0] == grid[1]  # nothing leaves the host


def test_exchanges_take_what_two_gpus_measured():
    for scale in (SMALL, LARGE):
        spent, sent = exchanging("pagerank", scale)
        # One of ranks, of all vertices; the others, before and after iterations, of those with out-arcs.
        told = 1 + (EXCHANGES - 1) * telling(scale)
        assert sent == pytest.approx(told * 4 * 2**scale / 2, rel=1e-3)
        assert spent == pytest.approx(EXCHANGES * H200.near + sent / H200.nvlink, rel=1e-3)


def test_what_all_tell_all_is_longer_than_what_they_need():
    whole, kept = (seconds("pagerank", 30, 64, ways) for ways in (Ways(whole=True), Ways(kept=True)))
    assert whole > kept


def test_tables_are_those_of_the_rows():
    text = scaling_tables.DOCUMENT.read_text(encoding="utf-8")
    made = scaling_tables.blocks()
    assert all(f"<!-- {name} -->" in text for name in made)
    assert fill(text, made) == text, "run python -m benchmarks.scaling_tables"
