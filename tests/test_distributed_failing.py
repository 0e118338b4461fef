"""Ranks that fail, end, or do not answer: the others end, and the cause is shown."""

import signal
import time

import pytest
from ranks import by_hand, needs_torch, run_ranks, started

pytestmark = needs_torch


def ended_by_hand(*what: str, number: int = 2, **others: str) -> list[tuple[int, str]]:
    """The exit status and the errors of ranks that nothing but themselves ends."""
    ranks = by_hand(number, "ranks_failing.py", *what, **others)
    try:
        errors = [rank.communicate(timeout=100)[1] for rank in ranks]
    finally:
        for rank in ranks:
            rank.kill()
    return [(rank.returncode, text) for rank, text in zip(ranks, errors, strict=True)]


@pytest.mark.slow
def test_ranks_that_end_end_in_order() -> None:
    """A process that ends while threads of its group wait is aborted, now and then."""
    for _ in range(4):
        assert ended_by_hand("nothing") == [(0, ""), (0, "")]


@pytest.mark.more
def test_the_error_of_a_rank_ends_those_that_wait_beside_the_group() -> None:
    assert "the error ended both" in run_ranks(2, "ranks_stopped.py")


@pytest.mark.more
def test_the_error_of_a_rank_is_shown_and_ends_all() -> None:
    done = started(2, "ranks_failing.py", "raises")
    assert done.returncode != 0
    own, others = (
        done.stderr.find(text) for text in ("ValueError: rank 1 has", "DistributedError: rank 0 of 2")
    )
    assert own >= 0
    assert others < 0 or "look for the first error of another rank" in done.stderr
    (zero, error), (one, own_error) = ended_by_hand("raises")
    assert zero != 0
    assert one != 0
    said = "another rank has ended, or did not make this call, which all ranks have to, in time ($EDGEWISE_TIMEOUT"
    assert f"DistributedError: rank 0 of 2: {said}" in error
    assert own_error.rstrip().endswith("ValueError: rank 1 has a mistake of its own")


@pytest.mark.more
def test_the_others_end_when_a_rank_is_killed() -> None:
    started_at = time.monotonic()
    (zero, error), (one, _) = ended_by_hand("is killed")
    assert one == -signal.SIGKILL
    assert zero not in (0, -signal.SIGABRT)
    assert "DistributedError: rank 0 of 2: another rank has ended" in error
    assert time.monotonic() - started_at < 90


@pytest.mark.slow
def test_ranks_in_a_grid_end_in_order_and_when_one_is_killed() -> None:
    """That one speaks with two of the other three."""
    assert ended_by_hand("nothing", "in a grid", number=4) == [(0, "")] * 4
    ended = ended_by_hand("is killed", "in a grid", number=4)
    assert ended.pop(1)[0] == -signal.SIGKILL
    for rank, (status, error) in zip((0, 2, 3), ended, strict=True):
        assert status not in (0, -signal.SIGABRT)
        assert f"DistributedError: rank {rank} of 4: another rank has ended" in error


@pytest.mark.more
@pytest.mark.parametrize("words", [(), ("in a grid",)], ids=["in ranges", "in a grid"])
def test_an_error_of_edgewise_on_one_rank_is_that_of_all(words: tuple[str, ...]) -> None:
    """They end long before they would give up."""
    started_at = time.monotonic()
    ended = ended_by_hand("refuses", *words, number=4 if words else 2)
    for rank, (status, error) in enumerate(ended):
        assert status == 1
        told = "" if rank == 1 else "rank 1: "
        assert error.rstrip().endswith(f"ParameterError: {told}what is wrong here")
    assert time.monotonic() - started_at < 90


@pytest.mark.slow
def test_the_others_end_when_a_rank_is_late() -> None:
    (zero, error), _ = ended_by_hand("is late", EDGEWISE_TIMEOUT="3")
    assert zero not in (0, -signal.SIGABRT)
    assert (
        "did not make this call, which all ranks have to, in time ($EDGEWISE_TIMEOUT seconds, 3 now)" in error
    )


@pytest.mark.slow
def test_ranks_that_do_not_come_are_not_waited_for_without_end() -> None:
    (zero, error), (one, _) = ended_by_hand("ends before", EDGEWISE_TIMEOUT="5")
    assert one == 3
    assert zero not in (0, -signal.SIGABRT)
    assert "DistributedError: the ranks did not find each other in 5 s at 127.0.0.1:" in error


@pytest.mark.more
@pytest.mark.parametrize(
    "what", [pytest.param("has another graph", marks=pytest.mark.slow), "has other arcs"]
)
def test_graphs_that_differ_are_refused_by_all_ranks(what: str) -> None:
    ended = ended_by_hand(what)
    for rank, (status, error) in enumerate(ended):
        assert status == 1
        assert f"DistributedError: PageRank: rank {rank} has a graph of" in error
        assert "expected the same on all ranks, read from the same file" in error


@pytest.mark.more
@pytest.mark.parametrize(
    ("what", "problem"),
    [
        ("has another parameter", ("has another value of damping than rank",)),
        pytest.param("has another limit", ("has another max_supersteps than rank",), marks=pytest.mark.slow),
        ("calls something else", (" calls ", "PageRank", "bfs", "; expected the same call on all ranks")),
    ],
)
def test_calls_that_differ_are_refused_by_all_ranks(what: str, problem: tuple[str, ...]) -> None:
    for status, error in ended_by_hand(what):
        assert status == 1
        assert "DistributedError" in error
        assert all(each in error for each in problem), error
