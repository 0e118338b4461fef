"""Reading graphs takes the memory that it says, and what needs more than there is is refused before."""

import bz2
import gzip
import lzma
import re
import subprocess
import sys
import tracemalloc
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import pytest
from io_cases import MATRIX, edges_of

from edgewise.errors import (
    MemoryLimitError,
    ParseError,
)
from edgewise.io import read, source
from edgewise.io.budget import Budget


def test_sizes_are_refused_before_anything_is_allocated(file: Any) -> None:
    path = file(f"{MATRIX} pattern general\n1000000000 1000000000 1\n1 2\n", "a.mtx")
    tracemalloc.start()
    with pytest.raises(
        MemoryLimitError, match=r"needs at least 12,0.* bytes of memory, .*; memory_limit is 1,000,000,0"
    ):
        read(path, memory_limit=1e9)
    with pytest.raises(MemoryLimitError, match="memory_limit is 100"):
        read(file("0 1\n"), num_vertices=10**9, memory_limit=100)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 5e6


def test_what_is_free_is_the_limit(file: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("edgewise.io.budget.free_memory", lambda: 10)
    with pytest.raises(MemoryLimitError, match=r"10 are free\. Free some"):
        read(file("0 1\n"))
    monkeypatch.setattr("edgewise.io.budget.free_memory", lambda: None)
    assert read(file("0 1\n")).num_edges == 1


@pytest.mark.parametrize("module", [gzip, bz2, lzma])
@pytest.mark.parametrize("line", [b"0 1\n", b"name another\n", b"0123456789"])
def test_little_files_that_become_large_ones(file: Any, module: Any, line: bytes) -> None:
    path = file(module.compress(line * (12 * 10**6 // len(line))))
    tracemalloc.start()
    with pytest.raises(MemoryLimitError, match=r"bytes of memory.*; memory_limit is 20,000,000"):
        read(path, memory_limit=2e7)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 1.05 * 2e7 + 1e7


@pytest.mark.parametrize("name", ["a.txt", "a.csv", "a.mtx", "a.gr", "names.txt"])
def test_a_refused_file_takes_little_memory(file: Any, name: str) -> None:
    start, line = {
        "a.txt": ("", "{} {}\n"),
        "a.csv": ("source,target\n", "{},{}\n"),
        "a.mtx": (f"{MATRIX} pattern general\n800000 800000 800000\n", "{} {}\n"),
        "a.gr": ("p sp 800000 800000\n", "a {} {} 1\n"),
        "names.txt": ("", "v{} v{}\n"),
    }[name]
    path = file(start + "".join(line.format(v, v + 1) for v in range(1, 800_000)), name)
    for limit in (0, 10**7, 2 * 10**7):
        tracemalloc.start()
        with pytest.raises(MemoryLimitError, match=f"memory_limit is {limit:,}"):
            read(path, memory_limit=limit)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert peak <= 1.05 * limit + 1e7


def test_the_graph_of_a_single_block_counts(file: Any) -> None:
    path = file("".join(f"v{v} w{v}\n" for v in range(40_000)))
    limit = 8 * path.stat().st_size + 1  # enough to read its lines
    with pytest.raises(MemoryLimitError, match=f"memory_limit is {limit:,}"):
        read(path, memory_limit=limit)


@pytest.mark.parametrize(
    ("start", "line"), [("", "{} {}\n"), ("source,target,weight\n", "{},{},3\n"), ("", "v{} v{}\n")]
)
@pytest.mark.parametrize("module", [None, gzip])
def test_a_refusal_says_about_what_the_whole_file_needs(
    file: Any, start: str, line: str, module: Any
) -> None:
    text = (start + "".join(line.format(v, v // 2) for v in range(1, 400_000))).encode()
    path, limit, said = file(module.compress(text) if module else text, "a.csv" if start else "a.txt"), 0, []
    graph = None
    while graph is None:
        try:
            graph = read(path, memory_limit=limit)
        except MemoryLimitError as error:
            found = re.search(
                r"at least ([\d,]+) bytes of memory(?:, and about ([\d,]+) for the)?", str(error)
            )
            assert found is not None
            limit = int((found[2] or found[1]).replace(",", ""))
            said.append(limit)
    assert 1 <= len(said) <= 2


@pytest.mark.parametrize("ids", [10**5, 2**31 - 1, 2**60])
@pytest.mark.parametrize(
    "options", [{}, {"directed": False, "self_loops": "drop"}, {"parallel_edges": "sum"}]
)
@pytest.mark.filterwarnings("ignore::edgewise.errors.GraphWarning")
def test_reading_takes_what_it_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ids: int, options: dict
) -> None:
    rng = np.random.default_rng(1)
    path = tmp_path / "graph.txt"
    path.write_text("".join(f"{u} {v} {u % 7}\n" for u, v in rng.integers(0, ids, (100_000, 2)).tolist()))
    read(path, **options)
    said: list[int] = []
    monkeypatch.setattr(source, "_BLOCK", 2**18)
    with mock.patch.object(Budget, "check", lambda self, needed, whole=None: said.append(needed)):
        tracemalloc.start()
        read(path, **options)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    assert peak <= 1.05 * max(said) + 1e7
    assert read(path, memory_limit=max(said), **options).num_edges > 0
    with pytest.raises(MemoryLimitError):
        read(path, memory_limit=max(said) - 1, **options)


@pytest.mark.parametrize(
    ("name", "text", "problem"),
    [
        ("a.txt", "1 " * 10**6, r"a\.txt:1: got '1 1 .*', which has more than 10,000 columns; expected two"),
        ("a.txt", "0 1\n" + "1 " * 10**6, r"a\.txt:2: got '1 1 .*', which has more than 10,000 columns"),
        ("a.csv", "1," * 10**6, r"a\.csv:1: got '1,1,.*', which has more than 10,000 columns"),
        ("a.mtx", f"{MATRIX} pattern general\n" + "1 " * 10**6, "expected 'rows columns entries'"),
        ("a.gr", "p " * 10**6, "expected 'p sp VERTICES ARCS'"),
    ],
)
def test_a_wide_line_is_refused_before_it_is_split(file: Any, name: str, text: str, problem: str) -> None:
    path = file(text + "\n", name)
    tracemalloc.start()
    with pytest.raises(ParseError, match=problem):
        read(path)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak <= 12 * len(text)
    with pytest.raises(MemoryLimitError, match=r"needs at least .* memory_limit is 23,000,000"):
        read(path, memory_limit=23 * 10**6)


@pytest.mark.filterwarnings("ignore:.* left out")
def test_tables_may_have_many_columns(file: Any) -> None:
    assert read(file("0,1" + ",2" * 9998 + "\n", "a.csv")).num_edges == 1
    with pytest.raises(ParseError, match="more than 10,000 columns"):
        read(file("0,1" + ",2" * 9999 + "\n", "a.csv"))


@pytest.mark.parametrize("name", ["a" * 2 * 10**6, '""' * 10**6])
def test_a_long_field_in_quotes_takes_little_memory(name: str) -> None:
    """Of the process: the stack of a regular expression is none of Python's memory."""
    code = f"""
import resource, sys
from edgewise.io.split import split_line
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
assert len(list(split_line('"' + {name[:2]!r} * 10**6 + '",b', ","))) == 2
print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * 1024)
"""
    taken = int(subprocess.run([sys.executable, "-c", code], check=True, capture_output=True).stdout)
    assert taken <= 12 * len(name)


def test_an_xz_file_that_needs_much_memory_to_unpack(file: Any) -> None:
    filters = [{"id": lzma.FILTER_LZMA2, "dict_size": 2**28}]
    path = file(lzma.compress(b"0 1\n", filters=filters), "a.txt.xz")
    with pytest.raises(
        MemoryLimitError,
        match=r"unpacking .*a\.txt\.xz needs at least 268,435,456 bytes of memory; memory_limit is",
    ):
        read(path, memory_limit=1e8)
    delta = [{"id": lzma.FILTER_DELTA, "dist": 4}, filters[0] | {"dict_size": 3 * 2**26}]
    with pytest.raises(MemoryLimitError, match="at least 201,326,592 bytes of memory; memory_limit is 100,"):
        read(file(lzma.compress(b"0 1\n", filters=delta), "b.txt.xz"), memory_limit=1e8)
    assert read(path).num_edges == 1


def test_several_xz_streams(file: Any) -> None:
    parts = [lzma.compress(b"0 1\n1 "), bytes(8), lzma.compress(b"2\n"), bytes(4)]
    assert edges_of(read(file(b"".join(parts)))) == [(0, 1), (1, 2)]
    for broken in (parts[0] + b"garbage!", parts[0] + parts[2][:-5], parts[0][:-1]):
        with pytest.raises(ParseError, match="truncated or damaged"):
            read(file(broken))


def test_memory_that_the_system_does_not_give(file: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def allocate(*arguments: object, **options: object) -> None:
        raise MemoryError("Unable to allocate 64.0 GiB")

    monkeypatch.setattr("edgewise.io.reading.number_vertices", allocate)
    with pytest.raises(MemoryLimitError, match=r"more memory than the system gives \(Unable to allocate 64"):
        read(file("0 1\n"))
