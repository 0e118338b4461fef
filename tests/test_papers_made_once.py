"""What a run makes once counts, in-edges and clusters, too: fakes in place of a GPU."""

import sys
import types
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import edgewise as ew
from benchmarks.papers import edge_vertex, load_balancing, made_once
from benchmarks.papers.made_once import MadeOnce, by_clusters, in_edges_ms, pulled

CLUSTERS = "on the GPU by 768 clusters of at most 2,048 vertices, which were visited 1,601 times"
PULLED = "supersteps on the GPU: 50 pull over all vertices; pulled: float64 messages"
BEST_FIRST = "supersteps on the GPU: 31 few, 10 push; 7 thresholds"


def result(
    layout: float, seconds: float, explained: str = BEST_FIRST, layout_bytes: int = 0, supersteps: int = 50
) -> Any:
    """A result of a run that took so long."""
    return types.SimpleNamespace(
        layout_seconds=layout,
        seconds=seconds,
        explain=lambda: explained,
        memory_bytes={"layout": layout_bytes, "run": 8},
        phase_seconds={},
        supersteps=supersteps,
        on_device=lambda name: np.ones(3),
    )


def preparing(*runs: Any) -> Callable[..., Any]:
    """Prepares programs each of which gives these results, one after the other, and the last one ever after."""

    def prepare(*_: Any, **__: Any) -> Any:
        left = list(runs)
        return lambda **values: left.pop(0) if len(left) > 1 else left[0]

    return prepare


def test_clusters_are_made_for_the_second_run() -> None:
    runs = result(0.001, 0.017), result(0.033, 0.008, CLUSTERS), result(0, 0.008, CLUSTERS)
    found = made_once.made_once(preparing(*runs), {})
    assert found[:3] == (1, 17, 33)
    assert found.prepared() is runs[2]
    assert found.row() == {"first_ms": 17, "clusters_ms": 33}


def test_a_second_run_that_is_not_by_clusters_makes_none() -> None:
    found = made_once.made_once(preparing(result(0.002, 0.005), result(0.001, 0.004)), {})
    assert found.clusters_ms == 0 and found.before_ms == 2


def test_the_first_graph_does_not_count() -> None:
    firsts = iter([9, 1, 3, 2])
    found = made_once.made_once(lambda: preparing(result(0, next(firsts)))(), {})
    assert found.first_ms == 2000


def test_what_a_run_says_of_itself() -> None:
    assert by_clusters(CLUSTERS) and not by_clusters(PULLED)
    assert pulled(PULLED) and not pulled(BEST_FIRST)


@pytest.fixture
def no_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing waits for a GPU, and graphs have in-edges that are made when asked for."""
    memory = types.SimpleNamespace(finish=lambda: None)
    monkeypatch.setitem(sys.modules, "edgewise.kernels.cuda.memory", memory)
    monkeypatch.setattr(made_once.time, "perf_counter", Clock())


class Clock:
    """Time that goes on when something is made."""

    now = 0.0

    def __call__(self) -> float:
        return Clock.now


class Graph:
    """A graph whose in-edges take 2 s and 1 s."""

    @property
    def gpu(self) -> "Graph":
        return self

    @property
    def in_offsets(self) -> None:
        Clock.now += 2

    @property
    def in_sources(self) -> None:
        Clock.now += 1


@pytest.mark.usefixtures("no_gpu")
def test_in_edges_are_timed() -> None:
    assert in_edges_ms(Graph) == pytest.approx(3000)


@pytest.mark.usefixtures("no_gpu")
@pytest.mark.parametrize(
    ("explained", "layout_bytes", "made"),
    [(PULLED, 0, 3000), (PULLED, 64, 7), (BEST_FIRST, 0, 0), (CLUSTERS, 0, 33)],
)
def test_what_the_automatic_schedule_makes_is_preprocessing(
    monkeypatch: pytest.MonkeyPatch, explained: str, layout_bytes: int, made: float
) -> None:
    monkeypatch.setattr(edge_vertex, "fresh", lambda *_: Graph())
    monkeypatch.setattr(edge_vertex, "preprocessing", lambda *_: 7.0)
    runs = result(0.001, 0.017), result(0.033, 0.008, explained, layout_bytes)
    monkeypatch.setattr(edge_vertex.ew, "prepare", preparing(*runs))
    monkeypatch.setattr(edge_vertex, "caller", lambda *_: lambda **values: (runs[1], np.ones(3)))
    found = edge_vertex.measured((3, ()), edge_vertex.RANKS, ew.Schedule(), 2, [np.ones(3)])
    assert found["preprocessing_ms"] == pytest.approx(made)
    assert found["first_ms"] == pytest.approx(17) and found["right"]
    assert set(found) <= set(edge_vertex.FIELDS)
    pulls = ew.Schedule(ew.Pull(), layout=ew.Layout())
    found = edge_vertex.measured((3, ()), edge_vertex.RANKS, pulls, 2, [np.ones(3)])
    assert found["preprocessing_ms"] == 7 and "first_ms" not in found


@pytest.mark.usefixtures("no_gpu")
def test_fewer_supersteps_than_asked_for_are_not_right(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(edge_vertex, "fresh", lambda *_: Graph())
    monkeypatch.setattr(edge_vertex, "preprocessing", lambda *_: 7.0)
    early = result(0.001, 0.017, supersteps=5)
    monkeypatch.setattr(edge_vertex, "caller", lambda *_: lambda **values: (early, np.ones(3)))
    pulls = ew.Schedule(ew.Pull(), layout=ew.Layout())
    found = edge_vertex.measured((3, ()), edge_vertex.RANKS, pulls, 2, [np.ones(3)])
    assert found["right"] is False


def test_clusters_are_overhead(monkeypatch: pytest.MonkeyPatch) -> None:
    once = MadeOnce(1.0, 17.0, 33.0, lambda **values: result(0, 0.008, CLUSTERS))
    monkeypatch.setattr(load_balancing, "made_once", lambda *_: once)
    found, _ = load_balancing.measured((3, ()), "sssp", "automatic", 0, 2)
    assert found["layout_ms"] == 34 and found["clusters_ms"] == 33 and found["first_ms"] == 17
    assert set(found) <= {*load_balancing.FIELDS, "repeat"}
