"""Standard input and pipes, and files compressed with zstd."""

import bz2
import gzip
import io
import lzma
import os
import sys
import threading
from pathlib import Path
from typing import Any

import pytest
from io_cases import edges_of
from typer.testing import CliRunner

import edgewise as ew
from edgewise.cli.app import app
from edgewise.errors import MemoryLimitError, MissingDependencyError, ParseError
from edgewise.whole import zstd_module

TEXT = b"0 1\n1 2\n"
ZSTD = zstd_module()
PACKINGS: dict[str, Any] = {
    "plain": bytes,
    "gzip": gzip.compress,
    "bzip2": bz2.compress,
    "xz": lzma.compress,
    "zstd": ZSTD.compress,
}


class Piped(io.RawIOBase):
    """Standard input of some bytes, which come once, a few at a time."""

    def __init__(self, content: bytes) -> None:
        self._content, self.times_read = io.BytesIO(content), 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        self.times_read += 1
        return self._content.readinto(memoryview(buffer)[:1000])


@pytest.fixture
def stdin(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Gives standard input some bytes."""

    def give(content: bytes) -> io.TextIOWrapper:
        wrapper = io.TextIOWrapper(io.BufferedReader(Piped(content)))
        monkeypatch.setattr(sys, "stdin", wrapper)
        return wrapper

    return give


@pytest.mark.parametrize("packing", PACKINGS)
@pytest.mark.parametrize("path", ["-", Path("-")])
def test_standard_input(stdin: Any, packing: str, path: Any) -> None:
    wrapper = stdin(PACKINGS[packing](TEXT))
    assert edges_of(ew.read(path)) == [(0, 1), (1, 2)]
    assert not wrapper.buffer.closed


def test_standard_input_of_all_formats_and_in_blocks(stdin: Any, tmp_path: Path) -> None:
    stdin(b"p sp 3 1\na 1 3 7\n")
    assert edges_of(ew.read("-")) == [(1, 3, 7)]
    stdin(b"a,b\n1,2\n")
    assert edges_of(ew.read("-")) == [(1, 2)]
    stdin(b"a b {'weight': 3}\n" * 100_000)
    assert ew.read("-").num_edges == 100_000
    stdin(TEXT)
    assert edges_of(ew.build(tmp_path / "graph.edgewise", "-")) == [(0, 1), (1, 2)]


def test_standard_input_that_is_refused(stdin: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    stdin(b"")
    with pytest.raises(ParseError, match=r"^<stdin> is empty"):
        ew.read("-")
    stdin(b"0 1\n0 1 2\n")
    with pytest.raises(ParseError, match=r"^<stdin>:2: got '0 1 2'"):
        ew.read("-")
    stdin(TEXT * 10_000)
    with pytest.raises(MemoryLimitError, match="reading <stdin> needs"):
        ew.read("-", memory_limit=10_000)
    for missing in (None, io.StringIO("0 1\n")):
        monkeypatch.setattr(sys, "stdin", missing)
        with pytest.raises(ParseError, match="standard input gives no bytes"):
            ew.read("-")


def test_a_file_called_so_is_read_by_its_folder(stdin: Any, tmp_path: Path, monkeypatch: Any) -> None:
    (tmp_path / "-").write_text("7 8\n")
    monkeypatch.chdir(tmp_path)
    stdin(TEXT)
    assert edges_of(ew.read("./-")) == [(7, 8)]
    assert edges_of(ew.read("-")) == [(0, 1), (1, 2)]


@pytest.mark.parametrize("packing", PACKINGS)
def test_pipes(tmp_path: Path, packing: str) -> None:
    reading, writing = os.pipe()
    content = PACKINGS[packing](TEXT * 50_000)

    def fill() -> None:
        with open(writing, "wb") as file:
            file.write(content)

    thread = threading.Thread(target=fill)
    thread.start()
    try:
        assert ew.read(f"/dev/fd/{reading}").num_edges == 100_000
    finally:
        thread.join()
        os.close(reading)


def test_the_command_line_reads_standard_input(tmp_path: Path) -> None:
    result = CliRunner().invoke(app, ["info", "-"], input=gzip.compress(TEXT))
    assert result.exit_code == 0 and vertices_of(result.output) == 3
    result = CliRunner().invoke(app, ["convert", "-", str(tmp_path / "graph.csv")], input=TEXT)
    assert result.exit_code == 0, result.output
    assert (tmp_path / "graph.csv").read_text() == "source,target\n0,1\n1,2\n"


def vertices_of(output: str) -> int:
    """The number of vertices that `info` shows."""
    return next(int(line.split()[1]) for line in output.splitlines() if line.startswith("vertices"))


# ---------------------------------------------------------------- zstd


def test_zstd_is_unpacked_as_it_is_read(tmp_path: Path) -> None:
    path = tmp_path / "graph.txt.zst"
    path.write_bytes(ZSTD.compress(b"0 1\n1 ") + ZSTD.compress(b"2\n"))
    assert edges_of(ew.read(path)) == [(0, 1), (1, 2)]
    path.write_bytes(ZSTD.compress(b"#" * 50_000_000 + b"\n0 1\n"))
    assert path.stat().st_size < 10_000
    with pytest.raises(MemoryLimitError, match="memory_limit is 5,000,000"):
        ew.read(path, memory_limit=5_000_000)
    path.write_bytes(ZSTD.compress(TEXT)[:-3])
    with pytest.raises(ParseError, match="is truncated or damaged"):
        ew.read(path)
    path.write_bytes(ZSTD.compress(TEXT)[:6] + b"\xff" * 20)
    with pytest.raises(ParseError, match="is truncated or damaged"):
        ew.read(path)


def test_windows_of_zstd_count_for_the_limit(tmp_path: Path) -> None:
    path = tmp_path / "graph.txt.zst"
    compressor = ZSTD.ZstdCompressor(options={ZSTD.CompressionParameter.window_log: 28})
    path.write_bytes(compressor.compress(TEXT) + compressor.flush())
    with pytest.raises(MemoryLimitError, match=r"unpacking .* needs more than 134,217,728 bytes of memory"):
        ew.read(path, memory_limit=200_000_000)
    assert ew.read(path, memory_limit=600_000_000).num_edges == 2


def test_without_a_module_for_zstd_a_message_says_how_to_get_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "graph.txt.zst"
    path.write_bytes(ZSTD.compress(TEXT))
    graph = ew.read(path)
    for name in ("compression.zstd", "backports.zstd"):
        monkeypatch.setitem(sys.modules, name, None)
    for work in (lambda: ew.read(path), lambda: ew.write(graph, path)):
        with pytest.raises(MissingDependencyError, match=r"pip install 'edgewise\[zstd\]'"):
            work()
    assert path.read_bytes() == ZSTD.compress(TEXT)


@pytest.mark.parametrize(
    ("suffix", "kind"),
    [
        ("npz", "a zip archive.*npz has to be a file"),
        ("parquet", "a table of Parquet.*copy it to a file first"),
        ("edgewise", "a graph of edgewise.*copy it to a file first"),
    ],
)
def test_binary_graphs_are_read_from_files_only(tmp_path: Path, stdin: Any, suffix: str, kind: str) -> None:
    ew.write(ew.Graph.from_edges([0], [1]), tmp_path / f"a.{suffix}")
    content = (tmp_path / f"a.{suffix}").read_bytes()
    (tmp_path / f"{suffix}.gz").write_bytes(gzip.compress(content))
    stdin(content)
    for path in ("-", tmp_path / f"{suffix}.gz"):
        with pytest.raises(ParseError, match=f"holds {kind}"):
            ew.read(path)


def test_own_format_from_standard_input(stdin: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    ew.write(ew.Graph.from_edges([0], [1]), "a.edgewise")
    os.rename("a.edgewise", "-")
    with pytest.raises(ParseError, match=r"<stdin> is a pipe; expected a file of edgewise's own"):
        ew.read("-", format="edgewise")
