"""What benchmarks say of files that they did not write or may not write, and of numbers of calls that are none."""

import argparse
import sys
from dataclasses import fields
from importlib import import_module
from pathlib import Path

import pytest
from test_benchmarks import row

from benchmarks import results
from benchmarks.results import (
    RESULTS,
    Row,
    all_needed,
    at_least_one,
    dated,
    given_rows,
    new_csv,
    read_rows,
    write_rows,
)


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


@pytest.mark.parametrize("row", ["x,bfs,3", "x,bfs,2"])
def test_rows_of_the_same_are_refused(row: str, tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    path.write_text(f"graph,program,ms\nx,bfs,2\nx,sssp,4\n{row}\n")
    with pytest.raises(SystemExit, match="rows 1 and 3 are both of x, bfs"):
        given_rows(path, ("graph", "program"))


def test_committed_rows_are_of_different_things() -> None:
    for path in RESULTS.rglob("*.csv"):
        assert len(given_rows(path, ())) > 0


@pytest.mark.parametrize("error", [KeyError("rmat20"), ValueError("could not convert"), StopIteration])
def test_files_that_lack_rows_of_tables_are_told_of(error: Exception) -> None:
    with (
        pytest.raises(SystemExit, match=r"a.csv and b.csv: no table can be made"),
        all_needed("a.csv", "b.csv"),
    ):
        raise error


@pytest.mark.parametrize(
    ("module", "option", "columns", "said"),
    [
        ("benchmarks.__main__", "--show", Row, "row 1, of x, x, x, has seconds 'x'; expected a time"),
        ("benchmarks.automatic", "--read", None, "no table can be made"),
    ],
)
def test_a_file_with_a_row_missing_is_told_of(
    module: str,
    option: str,
    columns: type | None,
    said: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Half a run of the automatic schedule, and numbers that are none."""
    program, path = import_module(module), tmp_path / "rows.csv"
    names = [each.name for each in fields(Row)] if columns else list(program.FIELDS)
    path.write_text(f"{','.join(names)}\n{','.join('x' for _ in names)}\n")
    monkeypatch.setattr(sys, "argv", ["program", option, str(path)])
    with pytest.raises(SystemExit, match=f"rows.csv: {said}"):
        program.main()


def test_calls_are_timed_at_least_once() -> None:
    assert at_least_one("3") == 3
    for text in ("0", "-3", "1.5", "many", ""):
        with pytest.raises(argparse.ArgumentTypeError, match="at least 1"):
            at_least_one(text)


def test_files_that_are_there_are_kept(tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    path.write_text("kept")
    with pytest.raises(SystemExit, match=r"rows.csv is there already.* --output"):
        write_rows(path, (pytest.fail("measured") for _ in range(1)))
    assert path.read_text() == "kept"


@pytest.mark.parametrize("name", ["", "file/rows.csv"])
def test_paths_that_cannot_be_written_are_refused_before_anything_is_measured(
    name: str, tmp_path: Path
) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(SystemExit, match=r"cannot be written.* --output"):
        write_rows(tmp_path / name, (pytest.fail("measured") for _ in range(1)))


def test_rows_are_written_as_they_are_made(tmp_path: Path) -> None:
    path = tmp_path / "new" / "rows.csv"

    def measured():
        yield row("edgewise", 0.25)
        assert len(read_rows(path)) == 1
        yield row("igraph", 0.5)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_rows(path, measured())
    assert [each.contender for each in read_rows(path)] == ["edgewise", "igraph"]


def test_a_file_without_rows_is_removed_so_that_the_call_can_be_made_again(tmp_path: Path) -> None:
    for _ in range(2):
        with pytest.raises(KeyboardInterrupt), new_csv(tmp_path / "rows.csv", ("a",)):
            raise KeyboardInterrupt
    with new_csv(None, ("a",)) as write:
        write({"a": 1})
    assert list(tmp_path.iterdir()) == []


#: Programs that measure on a CPU, and what else they have to be told.
PROGRAMS: dict[str, list[str]] = {
    "__main__": [], "peeling": [], "dense_parts": [], "centralities": [], "threads": [], "first_run": [],
    "nx_backend": [], "building": [], "building_ranks": [], "reading": [], "partitions": [], "distributed": [],
    "from_file": ["--folder", "."], "large": ["--device", "cpu"], "cores": ["--device", "cpu"],
    "approx": ["--device", "cpu"],
}  # fmt: skip


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs_refuse_a_file_that_is_there_before_they_measure(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "rows.csv"
    path.write_text("kept")
    program = (
        pytest.importorskip(f"benchmarks.{name}")
        if name != "__main__"
        else import_module("benchmarks.__main__")
    )
    monkeypatch.setattr(sys, "argv", ["benchmarks", *PROGRAMS[name], "--output", str(path)])
    with pytest.raises(SystemExit, match="is there already"):
        program.main()
    assert path.read_text() == "kept"


def test_rows_of_a_day_have_a_place_that_is_free(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(results, "RESULTS", tmp_path)
    for ending in ("-2-cores.csv", "-2-cores-2.csv", "-2-cores-3.csv"):
        path = dated("2-cores")
        assert path.parent == tmp_path and path.name.endswith(ending)
        path.write_text("rows")
