"""Programs on several ranks give the answers of one process, bit for bit."""

import re

import pytest
from ranks import needs_torch, run_ranks

pytestmark = [needs_torch, pytest.mark.timeout(600)]


@pytest.mark.more
@pytest.mark.parametrize("ranks", [2, 3, 4])
def test_programs_give_the_answers_of_one_rank(ranks: int) -> None:
    check(ranks, "few")


@pytest.mark.slow
@pytest.mark.parametrize("ranks", [2, 3, 4])
def test_programs_give_the_answers_of_one_rank_on_all_graphs(ranks: int) -> None:
    check(ranks, "all")


@pytest.mark.more
def test_some_programs_give_the_answers_of_one_rank_in_a_grid() -> None:
    assert "refused" not in check(4, "few", "grid")


@pytest.mark.slow
@pytest.mark.parametrize("ranks", [4, 9])
def test_all_programs_that_push_give_the_answers_of_one_rank_in_a_grid(ranks: int) -> None:
    output = check(ranks, "all", "grid")
    refused = [line for line in output.splitlines() if line.startswith("refused")]
    assert 10 < len(refused) < 25
    for line in refused:
        assert re.search(
            "messages are joined in one order|is written on edges|may be read at any vertex", line
        )


def check(ranks: int, *which: str) -> str:
    output = run_ranks(ranks, "ranks_programs.py", *which, seconds=540)
    assert "are the same" in output
    if "not run" in output:
        pytest.skip(output.splitlines()[0])
    return output
