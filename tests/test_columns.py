"""Files of columns: what is written comes back, whole or not at all."""

import gzip
import os
from pathlib import Path

import numpy as np
import pytest

from edgewise.errors import GraphWarning, MemoryLimitError, OutputError, ParseError
from edgewise.io.columns import check_writable, read_columns, write_columns

COLUMNS = {
    "vertex": np.array(["libc6", 'with "quotes", and comma', "tab\there"], dtype=object),
    "rank": np.array([0.1, 1e-300, np.inf]),
    "level": np.array([0, -1, 2**40]),
    "short": np.array([0.1, 16777216.0, 3.0], dtype=np.float32),
}


@pytest.mark.parametrize("name", ["a.csv", "a.tsv", "a.csv.gz", "a.tsv.xz"])
def test_values_come_back_exactly(tmp_path: Path, name: str) -> None:
    write_columns(tmp_path / name, COLUMNS)
    back = read_columns(tmp_path / name)
    assert list(back) == list(COLUMNS)
    assert back["vertex"] == COLUMNS["vertex"].tolist()
    assert [int(text) for text in back["level"]] == COLUMNS["level"].tolist()
    assert [float(text) for text in back["rank"]] == COLUMNS["rank"].tolist()
    assert np.array_equal(np.array(back["short"], dtype=np.float32), COLUMNS["short"])
    assert back["short"][0] == "0.1"  # not 0.10000000149011612
    assert os.listdir(tmp_path) == [name]


def test_compression_and_delimiter_follow_the_suffix(tmp_path: Path) -> None:
    write_columns(tmp_path / "a.tsv.gz", {"x": np.array([1]), "y": np.array([2])})
    assert gzip.decompress((tmp_path / "a.tsv.gz").read_bytes()) == b"x\ty\n1\t2\n"


def test_more_rows_than_one_chunk(tmp_path: Path) -> None:
    seen: list[int] = []
    numbers = np.arange(70_000)
    write_columns(tmp_path / "a.csv", {"x": numbers}, progress=seen.append)
    assert list(map(int, read_columns(tmp_path / "a.csv")["x"])) == numbers.tolist()
    assert seen[-1] == 70_000 and seen == sorted(seen) and len(seen) > 1


def test_an_interrupted_write_leaves_what_was_there(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("before")

    def interrupt(done: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_columns(path, {"x": np.arange(10)}, progress=interrupt)
    assert path.read_text() == "before"
    assert os.listdir(tmp_path) == ["a.csv"]


def test_no_vertices(tmp_path: Path) -> None:
    write_columns(tmp_path / "a.csv", {"vertex": np.array([], dtype=np.int64), "rank": np.array([])})
    assert read_columns(tmp_path / "a.csv") == {"vertex": [], "rank": []}


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("a.pdf", r"ends in '\.pdf'; expected \.csv"),
        ("a.parquet.gz", r"ends in '\.parquet'; expected \.csv"),
        ("a", r"ends in 'no suffix'; expected \.csv"),
        ("a.gz", r"expected \.csv, \.tsv, \.json or \.jsonl, each also with \.gz.* or .*, or \.parquet"),
        ("missing/a.csv", "there is no folder"),
        ("file.csv/a.csv", "there is no folder"),
        ("folder.csv", "it is a folder"),
    ],
)
def test_outputs_that_cannot_be_written(tmp_path: Path, name: str, message: str) -> None:
    (tmp_path / "file.csv").write_text("")
    (tmp_path / "folder.csv").mkdir()
    with pytest.raises(OutputError, match=message):
        check_writable(tmp_path / name)
    with pytest.raises(OutputError):
        write_columns(tmp_path / name, {"x": np.arange(3)})


def test_a_writable_output_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("before")
    check_writable(tmp_path / "a.csv")
    check_writable(tmp_path / "b.csv")
    assert (tmp_path / "a.csv").read_text() == "before"
    assert os.listdir(tmp_path) == ["a.csv"]


def test_a_folder_without_permission(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(**options: object) -> None:  # root may write everywhere, so the system's answer is played
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("tempfile.TemporaryFile", refuse)
    with pytest.raises(OutputError, match=r"cannot write .*a\.csv: Permission denied in "):
        check_writable(tmp_path / "a.csv")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "is empty; expected a line of column names"),
        (b"x,y\n1,2\n3\n", r":3: 1 fields; expected 2"),
        (b"\xff\xfe\x00", "cannot read"),
    ],
)
def test_results_that_cannot_be_read(tmp_path: Path, content: bytes, message: str) -> None:
    path = tmp_path / "a.csv"
    path.write_bytes(content)
    with pytest.raises(ParseError, match=message):
        read_columns(path)


def test_a_missing_or_truncated_file(tmp_path: Path) -> None:
    with pytest.raises(ParseError, match=r"cannot read .*No such file"):
        read_columns(tmp_path / "a.csv")
    write_columns(tmp_path / "a.csv.gz", {"x": np.arange(1000)})
    whole = (tmp_path / "a.csv.gz").read_bytes()
    (tmp_path / "a.csv.gz").write_bytes(whole[:-20])
    with pytest.raises(ParseError, match="cannot read"):
        read_columns(tmp_path / "a.csv.gz")


def test_names_of_any_characters(tmp_path: Path) -> None:
    names = np.array(["a\rb", "a\nb", "a\0b", "", '"'], dtype=object)
    write_columns(tmp_path / "a.csv", {"vertex": names, "x": np.arange(5)})
    assert read_columns(tmp_path / "a.csv")["vertex"] == names.tolist()
    for wrong in ("\ud800", 10**5000):
        with pytest.raises(OutputError, match="cannot write"):
            write_columns(tmp_path / "b.csv", {"vertex": np.array([wrong], dtype=object)})
    assert os.listdir(tmp_path) == ["a.csv"]


def test_formulas_are_quoted_on_request(tmp_path: Path) -> None:
    columns = {"vertex": np.array(["=1+1", "a", "-b", ""], dtype=object), "x": np.array([-1, 2, 3, 4])}
    with pytest.warns(GraphWarning, match=r"such as '=1\+1'\. .* with quote_formulas=True"):
        write_columns(tmp_path / "a.csv", columns)
    assert read_columns(tmp_path / "a.csv")["vertex"] == ["=1+1", "a", "-b", ""]
    write_columns(tmp_path / "a.csv", columns, quote_formulas=True)
    assert read_columns(tmp_path / "a.csv") == {
        "vertex": ["'=1+1", "a", "'-b", ""],
        "x": ["-1", "2", "3", "4"],
    }


def test_different_names_stay_different_when_formulas_are_quoted(tmp_path: Path) -> None:
    names = ["=6", "'=6", "''=6", "'6", "6", "'", "it's"]
    columns = {"vertex": np.array(names, dtype=object)}
    write_columns(tmp_path / "a.csv", columns, quote_formulas=True)
    assert read_columns(tmp_path / "a.csv")["vertex"] == ["'" + each for each in names[:3]] + names[3:]


def test_results_that_do_not_fit(tmp_path: Path) -> None:
    (tmp_path / "a.csv.gz").write_bytes(gzip.compress(b"x\n" + b"1\n" * 10**6))
    with pytest.raises(MemoryLimitError, match="memory_limit is 1,000,000"):
        read_columns(tmp_path / "a.csv.gz", 10**6)
    (tmp_path / "a.csv.gz").write_bytes(gzip.compress(b"x" * 2**25))
    with pytest.raises(ParseError, match="has a line of more than 16,777,216 characters"):
        read_columns(tmp_path / "a.csv.gz")
    for path in (Path("a\0.csv"), Path("\ud800.csv")):
        with pytest.raises(ParseError, match="cannot read"):
            read_columns(path)
    (tmp_path / "a.csv.gz").write_bytes(b"\x1f\x8b\x08" + b"\xff" * 100)
    with pytest.raises(ParseError, match="cannot read"):
        read_columns(tmp_path / "a.csv.gz")
