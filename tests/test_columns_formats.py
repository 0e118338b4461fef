"""Files of columns in JSON and Parquet: other programs read the values, and so does edgewise."""

import gzip
import json
import lzma
import os
import sys
from pathlib import Path

import numpy as np
import polars
import pytest

from edgewise.errors import MemoryLimitError, MissingDependencyError, OutputError, ParseError
from edgewise.io.columns import check_writable, read_columns, write_columns

ODD = ["", "a\nb", "\x1b[31m\x07", "\u202e", 'q"\\', "=1+1", "a\rb", "%s", "€", "null"]
COLUMNS = {
    "vertex %s": np.array(ODD, dtype=object),
    "rank": np.array([0.1, 1e-300, np.inf, -np.inf, np.nan, -0.0, 1e22, 5e-324, 2.0, 3.0]),
    "short": np.array([0.1, 16777216, 3, 1e20, 1e-45, 0, 1, 2, 3, 4], dtype=np.float32),
    "level": np.array([0, -1, 2**63 - 1, -(2**63), 4, 5, 6, 7, 8, 9]),
    "mark": np.arange(10) % 3 == 0,
}
MISSING = {"level": np.arange(10) == 1}


def parsed(path: Path) -> list[dict]:
    """The records in a file, by the standard library."""
    opened = {".gz": gzip.open, ".xz": lzma.open}.get(path.suffix, open)
    with opened(path, "rt", encoding="utf-8") as file:  # type: ignore[operator]
        text = file.read()
    return json.loads(text) if ".jsonl" not in path.name else list(map(json.loads, text.splitlines()))


@pytest.mark.parametrize("name", ["a.json", "a.jsonl", "a.json.gz", "a.jsonl.xz"])
def test_records_in_json(tmp_path: Path, name: str) -> None:
    write_columns(tmp_path / name, COLUMNS, missing=MISSING)
    records = parsed(tmp_path / name)
    assert [each["vertex %s"] for each in records] == ODD
    finite = [value if np.isfinite(value) else None for value in COLUMNS["rank"].tolist()]
    assert [each["rank"] for each in records] == finite
    assert np.array_equal(np.array([each["short"] for each in records], np.float32), COLUMNS["short"])
    assert records[0]["short"] == 0.1, "not 0.10000000149011612"
    assert [each["level"] for each in records] == [0, None, *COLUMNS["level"][2:].tolist()]
    assert [each["mark"] for each in records] == COLUMNS["mark"].tolist()
    back = read_columns(tmp_path / name)
    assert back["vertex %s"] == ODD and back["level"][:3] == ["0", None, str(2**63 - 1)]
    assert os.listdir(tmp_path) == [name]


def test_columns_in_parquet(tmp_path: Path) -> None:
    write_columns(tmp_path / "a.parquet", COLUMNS, missing=MISSING)
    frame = polars.read_parquet(tmp_path / "a.parquet")
    assert frame["vertex %s"].to_list() == ODD
    assert np.array_equal(frame["rank"].to_numpy(), COLUMNS["rank"], equal_nan=True)
    assert frame["short"].dtype == polars.Float32 and np.array_equal(
        frame["short"].to_numpy(), COLUMNS["short"]
    )
    assert frame["level"].to_list() == [0, None, *COLUMNS["level"][2:].tolist()]
    assert frame["mark"].to_list() == COLUMNS["mark"].tolist()
    back = read_columns(tmp_path / "a.parquet")
    assert back["vertex %s"] == ODD and back["level"][:3] == ["0", None, str(2**63 - 1)]
    assert np.array_equal(np.array(back["short"], np.float32), COLUMNS["short"])


@pytest.mark.parametrize("name", ["a.json", "a.jsonl", "a.parquet"])
def test_more_rows_than_one_chunk_and_none(tmp_path: Path, name: str) -> None:
    seen: list[int] = []
    numbers = np.arange(70_000, dtype=np.uint64)
    write_columns(tmp_path / name, {"x": numbers}, progress=seen.append)
    assert seen[-1] == 70_000 and seen == sorted(seen)
    assert list(map(int, read_columns(tmp_path / name)["x"])) == numbers.tolist()
    write_columns(tmp_path / name, {"vertex": numbers[:0], "rank": np.array([])})
    assert sum(map(len, read_columns(tmp_path / name).values())) == 0
    assert name.endswith(".parquet") or parsed(tmp_path / name) == []


def test_ids_of_python_objects_in_parquet(tmp_path: Path) -> None:
    for ids, kind in (([-1, 2**62], polars.Int64), ([0, 2**63], polars.UInt64), (["a", ""], polars.String)):
        column = np.array([*ids, -1], dtype=object)
        missing = {"vertex": np.array([False, False, True])}
        write_columns(tmp_path / "a.parquet", {"vertex": column}, missing=missing)
        found = polars.read_parquet(tmp_path / "a.parquet")["vertex"]
        assert found.dtype == kind and found.to_list() == [*ids, None]
    for wrong, what in (
        ([2**64], "integers of over 64 bits"),
        (["a", 1], "int and str"),
        ([-1, 2**63], "64 bits"),
    ):
        with pytest.raises(OutputError, match=f"column 'vertex' has .*{what}, which Parquet has no type for"):
            write_columns(tmp_path / "b.parquet", {"vertex": np.array(wrong, dtype=object)})
    assert os.listdir(tmp_path) == ["a.parquet"]


def test_large_ids_in_json(tmp_path: Path) -> None:
    write_columns(tmp_path / "a.jsonl", {"vertex": np.array([2**70, -(10**40)], dtype=object)})
    assert [each["vertex"] for each in parsed(tmp_path / "a.jsonl")] == [2**70, -(10**40)]
    with pytest.raises(OutputError, match="cannot write"):
        write_columns(tmp_path / "b.json", {"vertex": np.array([10**5000], dtype=object)})
    assert os.listdir(tmp_path) == ["a.jsonl"]


@pytest.mark.parametrize("name", ["a.json", "a.jsonl", "a.parquet"])
def test_an_interrupted_write_leaves_what_was_there(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text("before")

    def interrupt(done: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_columns(tmp_path / name, {"x": np.arange(10)}, progress=interrupt)
    assert (tmp_path / name).read_text() == "before" and os.listdir(tmp_path) == [name]


def test_parquet_without_pyarrow_is_refused_before_a_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    monkeypatch.setitem(sys.modules, "pyarrow.parquet", None)
    with pytest.raises(MissingDependencyError, match=r"pip install 'edgewise\[parquet\]'"):
        check_writable(tmp_path / "a.parquet")
    check_writable(tmp_path / "a.json")


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.jsonl", b'{"x": 1}\n{"y": 1}\n', r"a\.jsonl:2: a record of other names"),
        ("a.jsonl", b'{"x": 1}\n\n7\n', r"a\.jsonl:3: expected an object of JSON"),
        ("a.json", b'[\n{"x": 1},\n{"x": }\n]\n', r"a\.json:3: no JSON"),
        ("a.json", b"[" * 100_000, r"a\.json:1: no JSON"),
        ("a.json", b"\xff\xfe", "cannot read"),
        ("a.json.xz", b"\xfd7zXZ\x00junk", "cannot read"),
        ("a.parquet", b"PAR1 and nothing more", "cannot read"),
        ("a.parquet", b"", "cannot read"),
    ],
)
def test_results_that_cannot_be_read(tmp_path: Path, name: str, content: bytes, message: str) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(ParseError, match=message):
        read_columns(tmp_path / name)


def test_results_that_do_not_fit(tmp_path: Path) -> None:
    columns = {"x": np.zeros(300_000, np.int64)}
    for name in ("a.jsonl.xz", "a.parquet"):
        write_columns(tmp_path / name, columns)
        with pytest.raises(MemoryLimitError, match="memory_limit is 5,000,000"):
            read_columns(tmp_path / name, 5 * 10**6)
