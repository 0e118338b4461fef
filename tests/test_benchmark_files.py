"""What benchmarks say of files that they did not write, and of numbers of calls that are none."""

import argparse
from pathlib import Path

import pytest

from benchmarks.results import at_least_one, given_rows


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (None, "No such file"),
        ("", "has no rows"),
        ("a,b\n", "has no rows"),
        ("a,c\n1,2\n", "lacks the columns b"),
        ("a,b\n1\n", "broken ones"),
        ("a,b\n1,2,3\n", "broken ones"),
    ],
)
def test_files_of_something_else_are_refused(content: str | None, said: str, tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    if content is not None:
        path.write_text(content)
    with pytest.raises(SystemExit, match=said):
        given_rows(path, ("a", "b"))


def test_rows_with_more_columns_are_taken(tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    path.write_text("a,b,c\n1,2,3\n")
    assert given_rows(path, ("a", "b")) == [{"a": "1", "b": "2", "c": "3"}]


def test_calls_are_timed_at_least_once() -> None:
    assert at_least_one("3") == 3
    for text in ("0", "-3", "1.5", "many", ""):
        with pytest.raises(argparse.ArgumentTypeError, match="at least 1"):
            at_least_one(text)
