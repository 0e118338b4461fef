"""Programs on several ranks give the answers of one process, bit for bit."""

import pytest
from ranks import needs_torch, run_ranks

pytestmark = needs_torch


@pytest.mark.more
@pytest.mark.parametrize("ranks", [2, 3, 4])
def test_some_programs_give_the_answers_of_one_rank(ranks: int) -> None:
    check(ranks, "few")


@pytest.mark.slow
@pytest.mark.parametrize("ranks", [2, 3, 4])
def test_all_programs_give_the_answers_of_one_rank(ranks: int) -> None:
    check(ranks, "all")


def check(ranks: int, which: str) -> None:
    output = run_ranks(ranks, "ranks_programs.py", which, seconds=280)
    assert "are the same" in output
    if "not run" in output:
        pytest.skip(output.splitlines()[0])
