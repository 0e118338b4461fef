"""Algorithms on several ranks of this machine: see `ranks_algorithms.py`, which each of them runs."""

import re

import pytest
from ranks import needs_torch, run_ranks

import edgewise as ew
from edgewise.errors import DistributedError, ParameterError, ScheduleError

RING = ew.Graph.from_edges([0, 1, 2], [1, 2, 0])
CALLS = {
    "bfs": lambda **how: ew.bfs(RING, 0, **how),
    "sssp": lambda **how: ew.sssp(RING, 0, **how),
    "pagerank": lambda **how: ew.pagerank(RING, **how),
    "connected_components": lambda **how: ew.connected_components(RING, **how),
    "scc": lambda **how: ew.scc(RING, **how),
    "mst": lambda **how: ew.mst(RING, symmetrize=True, **how),
    "topological_order": lambda **how: ew.topological_order(RING, **how),
    "core_numbers": lambda **how: ew.core_numbers(RING, **how),
    "triangles": lambda **how: ew.triangles(RING.to_undirected(), **how),
    "closeness": lambda **how: ew.closeness(RING, **how),
    "harmonic": lambda **how: ew.harmonic(RING, **how),
    "eccentricity": lambda **how: ew.eccentricity(RING, **how),
    "eigenvector": lambda **how: ew.eigenvector(RING, **how),
    "katz": lambda **how: ew.katz(RING, **how),
    "hits": lambda **how: ew.hits(RING, **how),
    "betweenness": lambda **how: ew.betweenness(RING, **how),
    "edge_betweenness": lambda **how: ew.edge_betweenness(RING, **how),
}


@pytest.mark.more
@needs_torch
@pytest.mark.parametrize("ranks", [2, 3])
def test_ranks_find_what_one_finds(ranks: int) -> None:
    check(ranks, "few")


@pytest.mark.slow
@needs_torch
@pytest.mark.parametrize("ranks", [2, 3, 4])
def test_ranks_find_what_one_finds_with_all_weights(ranks: int) -> None:
    check(ranks)


def check(ranks: int, *words: str) -> None:
    output = run_ranks(ranks, "ranks_algorithms.py", *words, seconds=600, EDGEWISE_TIMEOUT="200")
    agreeing = re.findall(r"rank (\d) of (\d) agrees", output)  # lines of ranks may run into each other
    assert sorted(agreeing) == [(str(rank), str(ranks)) for rank in range(ranks)]


@pytest.mark.more
@needs_torch
@pytest.mark.parametrize("name", CALLS)
def test_without_ranks_it_is_refused(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("RANK", raising=False)
    with pytest.raises(DistributedError, match=r"not started as one of several: .*torchrun"):
        CALLS[name](distributed=True)


@pytest.mark.parametrize("name", CALLS)
def test_what_ranks_do_not_have_is_refused(name: str) -> None:
    with pytest.raises(ScheduleError, match="expected num_threads alone"):
        CALLS[name](distributed=True, schedule=ew.Schedule(delivery=ew.Pull()))
    with pytest.raises(ParameterError, match="distributed is 1; expected True or False"):
        CALLS[name](distributed=1)
