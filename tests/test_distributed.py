"""Programs on several ranks give the answers of one process, bit for bit."""

import pytest
from ranks import needs_torch, run_ranks

pytestmark = needs_torch


def test_two_ranks_give_the_answers_of_one() -> None:
    assert "are the same" in run_ranks(2, "ranks_programs.py", "few", seconds=240)


@pytest.mark.more
@pytest.mark.parametrize("ranks", [2, 3, 4])
def test_ranks_give_the_answers_of_one(ranks: int) -> None:
    output = run_ranks(ranks, "ranks_programs.py", "all", seconds=280)
    assert "are the same" in output
    if "not run" in output:
        pytest.skip(output.splitlines()[0])
