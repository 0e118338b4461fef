"""What is no file of a graph, promises more than it holds, or unpacks to more than there is room for, in each format:
refused with what was expected, in little memory."""

import bz2
import gzip
import lzma
import os
import socket
import subprocess
import sys
import tracemalloc
from pathlib import Path
from typing import Any

import pytest
from io_cases import MATRIX, edges_of

from edgewise import build
from edgewise.errors import GraphError, MemoryLimitError, ParseError
from edgewise.graph import Graph
from edgewise.io import pipes, read, write
from edgewise.whole import zstd_module

NETWORK = "<NUMBER OF NODES> {}\n<NUMBER OF LINKS> {}\n<END OF METADATA>\n~ from to length\n"
#: Of each format that declares its sizes: the name of a file, what declares them, and a line with two ids of vertices
#: and, if it may have one, a weight.
SIZED = {
    "matrix-market": ("a.mtx", MATRIX + " real general\n{0} {0} {1}\n", "{} {} {}"),
    "dimacs": ("a.gr", "p sp {} {}\n", "a {} {} {}"),
    "pace": ("a.gr", "p tw {} {}\n", "{} {}"),
    "tntp": ("a.tntp", NETWORK, "{} {} {}"),
    "metis": ("a.graph", "{} {} 001\n", "{0} {2} {1} {2}"),
    "adjacency": ("a.graph-txt", "{}\n", "{} {}"),
}
WEIGHTED = {
    "edgelist": ("a.txt", "0 1 5\n", "{} {} {}"),
    "csv": ("a.csv", "source,target,weight\n1,2,5\n", "{},{},{}"),
    **{name: SIZED[name] for name in ("matrix-market", "dimacs", "tntp", "metis")},
}


def check_refused(path: Any, error: type[Exception], message: str, most: float = 4e6, **options: Any) -> None:
    """A file is refused, and that takes at most this many bytes; the first time compiles code."""
    for _ in range(2):
        tracemalloc.start()
        try:
            with pytest.raises(error, match=message):
                read(path, **options)
            peak = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
    assert peak <= most


# ---------------------------------------------------------------- sizes


@pytest.mark.parametrize("kind", SIZED)
def test_sizes_that_a_file_does_not_hold(file: Any, kind: str) -> None:
    name, start, line = SIZED[kind]
    path = file(start.format(2**31 - 1, 2**59) + line.format(1, 1, 5) + "\n", name)
    declares = r"a\.\S* declares .* and (holds 1|has rows for 1)[;,]"
    check_refused(path, ParseError, declares, memory_limit=2**40)
    needs = r"reading .*a\.\S* needs at least .*memory_limit is 1,000"
    check_refused(path, MemoryLimitError, needs, memory_limit=1000)


@pytest.mark.parametrize("kind", SIZED)
@pytest.mark.parametrize("size", [str(2**31), str(2**62), str(2**64), "9" * 5000])
def test_more_vertices_than_a_graph_can_have(file: Any, kind: str, size: str) -> None:
    name, start, line = SIZED[kind]
    text = start.format(size, 1) + line.format(1, 1, 5) + "\n"
    check_refused(file(text, name), ParseError, r":[1-3]: .* at most 2\*\*31 - 1")


@pytest.mark.parametrize("kind", sorted(SIZED.keys() - {"metis", "adjacency"}))
def test_sizes_of_thousands_of_digits(file: Any, kind: str) -> None:
    name, start, line = SIZED[kind]
    text = start.format(f"{0:05000}3", f"{0:05000}1") + line.format(1, 2, 5) + "\n"
    assert read(file(text, name)).num_vertices == 3
    with pytest.raises(ParseError, match=r":[12]: .*(at most|expected)"):
        read(file(start.format(3, "9" * 5000), name))


# ---------------------------------------------------------------- ids and weights


@pytest.mark.parametrize("kind", SIZED)
@pytest.mark.parametrize("wrong", ["-1", "4", str(2**31), str(2**63), str(2**64), "-" + "9" * 50, "9" * 5000])
def test_ids_that_were_not_declared(file: Any, kind: str, wrong: str) -> None:
    name, start, line = SIZED[kind]
    text = start.format(3, 2) + line.format(1, 2, 5) + "\n" + line.format(2, wrong, 5) + "\n\n"
    with pytest.raises(
        ParseError, match=r":[3-6]: got .*; expected an (id from [01] to [23]|integer of 64 bits)"
    ):
        read(file(text, name))


@pytest.mark.parametrize("kind", WEIGHTED)
@pytest.mark.parametrize("wrong", ["nan", "-NaN", "inf", "+Infinity", "1e999", "-1e400"])
def test_weights_that_are_not_finite(file: Any, kind: str, wrong: str) -> None:
    name, start, line = WEIGHTED[kind]
    text = start.format(3, 2) + line.format(1, 2, 5) + "\n" + line.format(2, 1, wrong) + "\n\n"
    with pytest.raises(ParseError, match=r":[3-6]: got .*; expected a(n| finite) (weight|integer)"):
        read(file(text, name))


# ---------------------------------------------------------------- lines


def test_what_a_line_has_beside_an_edge_is_read(file: Any) -> None:
    for text, name, message in (
        ("p sp 3 2\na 1 2 5\nb 2 3 6\n", "a.gr", ":3: got 'b 2 3 6'; expected a line that starts with 'a'"),
        ("p sp 3 2\na 1 2 5\n1 2 3 6\n", "a.gr", ":3: .*expected a line that starts with 'a'"),
        ("p sp 3 1\narc 1 2 5\n", "a.gr", ":2: .*expected a line that starts with 'a'"),
        ("2 1 0 x\n2\n1\n", "a.graph", ":1: got '2 1 0 x'; expected"),
        (NETWORK.format("3 000", 1), "a.tntp", ":1: got '<NUMBER OF NODES> 3 000'; expected <NUMBER OF NODES>"),
        (f"<NUMBER OF NODES> 3\n{NETWORK.format(4, 1)}", "a.tntp", ":2: <NUMBER OF NODES> a second time"),
        (NETWORK.format(3, 1) + "\u2028\n", "a.tntp", ":5: .*expected numbers in 3 columns"),
        ('"a"b,c\n1,2\n', "a.csv", ":1: got '\"a\"b,c'; the quotes in column 1 are not closed"),
        ('a,"b\n1,2\n', "a.csv", ":1: .*the quotes in column 2 are not closed"),
    ):  # fmt: skip
        with pytest.raises(ParseError, match=message):
            read(file(text, name))


def test_a_blank_row_at_the_end_of_a_block_counts(file: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    for block in range(1, 20):
        monkeypatch.setattr("edgewise.io.source._BLOCK", block)
        assert edges_of(read(file("4\r1 2\r\r0 3 3\r\r", "a.graph-txt"))) == [
            (0, 1), (0, 2), (2, 0), (2, 3), (2, 3),
        ]  # fmt: skip


# ---------------------------------------------------------------- compressed files


@pytest.mark.parametrize("module", [gzip, bz2, lzma, zstd_module()])
@pytest.mark.parametrize("given", [True, False])
def test_a_gigabyte_in_a_small_file(
    file: Any, module: Any, given: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("edgewise.io.budget.free_memory", lambda: 3 * 10**7)
    limit = {"memory_limit": 3e7} if given else {}
    for text in (b"0 1\n", b"some more\n", b"0"):
        packed = module.compress(text * (2**20 // len(text))) * 1024
        path = file(packed, "a.txt.packed")
        assert path.stat().st_size < 5e6
        check_refused(path, MemoryLimitError, "30,000,000", most=5e7, **limit)
    path = file(module.compress(bytes(2**20)) * 1024, "a.txt.packed")
    check_refused(path, ParseError, "holds binary data", most=1.5e7, **limit)


@pytest.mark.parametrize("module", [gzip, bz2, lzma, zstd_module()])
def test_what_follows_a_compressed_stream(file: Any, module: Any) -> None:
    whole = module.compress(b"0 1\n")
    padding = () if module is zstd_module() else (bytes(7), module.compress(b"") + bytes(512))
    for end in (b"", module.compress(b""), *padding):
        assert edges_of(read(file(whole + end))) == [(0, 1)]
    assert edges_of(read(file(whole + module.compress(b"1 2\n")))) == [(0, 1), (1, 2)]
    for end in (b"\n", b"rest", b"\0rest", b"x" + module.compress(b"1 2\n"), module.compress(b"1 2\n")[:-3]):
        with pytest.raises(ParseError, match="truncated or damaged"):
            read(file(whole + end))


# ---------------------------------------------------------------- what is no ordinary file


def test_devices_and_sockets(tmp_path: Path) -> None:
    for name, message in (("zero", "binary data"), ("null", "is empty"), ("urandom", "binary data")):
        check_refused(f"/dev/{name}", ParseError, f"/dev/{name} .*{message}")
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(tmp_path / "socket"))
        with pytest.raises(ParseError, match=r"cannot read .*socket: No such device"):
            read(tmp_path / "socket")


def test_a_pipe_is_read_once_a_process_writes_to_it(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    code = f"import time; time.sleep(0.2); open({str(tmp_path / 'pipe')!r}, 'w').write('0 1\\n1 2\\n')"
    with subprocess.Popen([sys.executable, "-c", code]):
        assert edges_of(read(tmp_path / "pipe")) == [(0, 1), (1, 2)]


def test_a_pipe_to_which_nobody_writes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pipes, "_PATIENCE", 0.1)
    os.mkfifo(tmp_path / "pipe")
    before = os.listdir("/proc/self/fd")
    with pytest.raises(
        ParseError, match=r"is a pipe that no process has opened .*for 0\.1 seconds; start that"
    ):
        read(tmp_path / "pipe")
    assert len(os.listdir("/proc/self/fd")) <= len(before)


def test_a_file_that_may_not_be_read(tmp_path: Path) -> None:
    code = f"""
import os
import edgewise as ew
if os.geteuid() == 0:
    os.seteuid(65534)
try:
    ew.read({str(tmp_path / "a.txt")!r})
except ew.errors.ParseError as error:
    print(error)
"""
    (tmp_path / "a.txt").write_text("0 1\n")
    (tmp_path / "a.txt").chmod(0)
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert said.startswith(f"cannot read {tmp_path / 'a.txt'}: Permission denied")


def test_names_beside_a_number_of_vertices(file: Any) -> None:
    with pytest.raises(GraphError, match=r"a\.txt: num_vertices is given and the ids are names"):
        read(file("a b\n", "a.txt"), num_vertices=3)


# ---------------------------------------------------------------- formats that are no lines of edges


def test_a_small_file_with_weights_takes_little_memory(tmp_path: Path) -> None:
    write(Graph.from_edges([0, 1], [1, 2], [5, 6]), tmp_path / "a.wsg")
    assert read(tmp_path / "a.wsg", memory_limit=1000).num_edges == 2


def test_an_encoding_that_is_none(file: Any) -> None:
    path = file("<?xml version='1.0' encoding='U-8'?>\n<graphml/>\n", "a.graphml")
    check_refused(path, ParseError, r"a\.graphml: unknown encoding: U-8; expected XML in UTF-8")


def test_strings_that_are_no_text(tmp_path: Path) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    buffers = [None, pyarrow.py_buffer(b"\0\0\0\0\2\0\0\0"), pyarrow.py_buffer(b"\xff\xfe")]
    names = pyarrow.Array.from_buffers(pyarrow.string(), 1, buffers)
    parquet.write_table(pyarrow.table({"source": names, "target": names}), tmp_path / "a.parquet")
    check_refused(tmp_path / "a.parquet", ParseError, r"a\.parquet .*damaged: .*can't decode")
    with pytest.raises(ParseError, match="can't decode"):
        build(tmp_path / "built", tmp_path / "a.parquet")


def test_only_blanks_end_names_of_adjacency_lists(file: Any) -> None:
    assert read(file("7 100\u00a0000\n", "a.adjlist")).vertices.tolist() == ["7", "100\u00a0000"]


@pytest.mark.parametrize("mark", [b"", b"# ", b" \t% "])
def test_lines_before_the_first_edge_are_counted(tmp_path: Path, mark: bytes) -> None:
    """Across blocks of the file, and as those who declare ids or sizes see them."""
    before = (mark + b"\n") * 70_000
    (tmp_path / "a.txt").write_bytes(before + b"# Ids: names \r\n" + before + b"1 2\n1\n")
    with pytest.raises(ParseError, match=r"a\.txt:140003: got '1'"):
        read(tmp_path / "a.txt")
    (tmp_path / "a.txt").write_bytes(before + b"# Ids: names \r\n" + before + b"1 2\n")
    assert read(tmp_path / "a.txt").vertices.tolist() == ["1", "2"]
    (tmp_path / "a.csv").write_bytes(before + b"source,target\n" + before + b"a,b\n")
    assert read(tmp_path / "a.csv").vertices.tolist() == ["a", "b"]
    (tmp_path / "a.mtx").write_bytes(
        b"%%MatrixMarket matrix coordinate pattern general\n" + b"% \n\n" * 70_000 + b"2 2 x\n"
    )
    with pytest.raises(ParseError, match=r"a\.mtx:140002: got '2 2 x'"):
        read(tmp_path / "a.mtx")


@pytest.mark.parametrize("name", ["a.txt", "a.csv", "a.graph"])
def test_lines_of_edges_are_short(tmp_path: Path, name: str) -> None:
    (tmp_path / f"{name}.gz").write_bytes(gzip.compress(b"1 " * 2**23 + b"1 " * 2**20, 1))
    with pytest.raises(
        ParseError, match=r"has a line of more than 16,777,216 bytes; expected an edge in each line"
    ):
        read(tmp_path / f"{name}.gz")


def test_tags_of_xml_are_short(tmp_path: Path) -> None:
    path = tmp_path / "a.graphml"
    node = '<graphml>{}<graph edgedefault="directed"><node id="{}">{}</node></graph></graphml>'
    path.write_text(node.format("", "a" * 2**21, ""))
    with pytest.raises(
        ParseError, match=r"a\.graphml:1: got a tag or a comment of more than 1,048,576 bytes; expect"
    ):
        read(path)
    many = "<!--" + "x" * 10_000 + "-->"
    path.write_text(node.format(many * 120, "a", "<data>" + "x" * 2**21 + "</data>"))
    assert read(path).vertices.tolist() == ["a"]
