"""Blocks that several threads scan at once make the edges, and the errors, of a scan in order."""

import gzip
import random
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from edgewise.errors import EdgewiseError, MemoryLimitError, ParseError
from edgewise.io import ahead, read, source, tokens
from edgewise.io.lines import LineLayout

#: Lines that are right, and lines most of which are wrong, of files of integers, with weights, and of names.
_RIGHT = {
    "ids": ["{} {}", "{}\t{}", " {}  {}\t", "{} {}\r", "# {} {}", "", "00{} +{}", "-{} {}", "{} 9223372036854775807"],
    "weights": [
        "{} {} 3", "{}\t{} -7\t", "{} {} 0", "{} {} 0.5\r", "{} {} 1e23", "% {}", "{} {}  12345678901234567890.5",
    ],
    "names": ["v{} {}", "é{}\t{}", "# {}", '{} "{}"'],
}  # fmt: skip
_WRONG = {
    "ids": ["{}", "{} x", "{} {} 3", "{} 1.5", '"{}" {}', "x", "9223372036854775808 {}", "{},{}", "{} {}#", "{} é"],
    "weights": ["{} {}", "{} {} x", "{} {} nan", "{} {} 1e400", "{} {} 9223372036854775808", "{} {} 3 4", "- {} 1"],
    "names": ["{}", "{} {} x"],
}  # fmt: skip


@pytest.fixture
def blocks(monkeypatch: pytest.MonkeyPatch) -> Any:
    """A function that sets the bytes of a block and the number of threads."""

    def cut(size: int, threads: int) -> None:
        monkeypatch.setattr(source, "_BLOCK", size)
        monkeypatch.setenv("EDGEWISE_NUM_THREADS", str(threads))

    return cut


_words = LineLayout.words


def _words_of_no_plain_line(layout: LineLayout) -> np.ndarray:
    """The words of a layout without the short way for plain lines."""
    words = _words(layout)
    words[tokens.PLAIN] = False
    return words


def outcome(path: Path, **options: Any) -> tuple[Any, ...]:
    """The columns of a file's edges with their dtypes, -0.0 told from 0.0, or its error."""
    try:
        graph = read(path, **options)
    except EdgewiseError as error:
        return type(error), str(error)
    columns = graph.sources, graph.targets, graph.vertices, graph.weights
    return tuple(None if column is None else (column.dtype, repr(column.tolist())) for column in columns)


@pytest.mark.parametrize("kind", _RIGHT)
@pytest.mark.parametrize("wrong", [0, 1, 3])
def test_any_blocks_and_threads_make_the_same(
    tmp_path: Path, blocks: Any, monkeypatch: pytest.MonkeyPatch, kind: str, wrong: int
) -> None:
    path, draw = tmp_path / "a.txt", random.Random(f"{kind} {wrong}")
    for _ in range(40):
        kinds = draw.sample(_RIGHT[kind], 4) + [_RIGHT[kind][0]] * draw.choice([1, 30])
        text = [_RIGHT[kind][0], *draw.choices(kinds, k=draw.randrange(60))]
        for _ in range(wrong):
            text.insert(draw.randrange(1, len(text) + 1), draw.choice(_WRONG[kind]))
        limit = draw.choice([9, 10**6, 10**12])
        text = [line.format(draw.randrange(limit), draw.randrange(limit)) for line in text]
        path.write_text("\n".join(text) + "\n" * draw.randrange(2), encoding="utf-8", newline="")
        blocks(2**20, 1)
        with monkeypatch.context() as patched:
            patched.setattr(LineLayout, "words", _words_of_no_plain_line)
            expected = outcome(path)
        for threads in (1, 2, 5):
            blocks(draw.choice([1, 7, 40, 200, 2**20]), threads)
            assert outcome(path) == expected, path.read_text()


def test_edges_are_those_that_python_reads(tmp_path: Path, blocks: Any) -> None:
    rng = np.random.default_rng(1)
    ends, weights = rng.integers(0, 2**40, (2000, 2)), rng.random(2000)
    for name, mark in (("a.txt", "\t"), ("b.csv", ",")):
        rows = [f"{u}{mark}{v}{mark}{w}" for (u, v), w in zip(ends.tolist(), weights.tolist(), strict=True)]
        (tmp_path / name).write_text("# a comment\n" * 3 + "\n".join(rows))
        blocks(500, 4)
        graph = read(tmp_path / name, header=False)
        order = np.argsort(ends[:, 0], kind="stable")
        assert graph.ids_of(graph.sources).tolist() == ends[order, 0].tolist()
        assert graph.ids_of(graph.targets).tolist() == ends[order, 1].tolist()
        assert graph.weights is not None
        assert graph.weights.tolist() == weights[order].tolist()


@pytest.mark.parametrize("threads", [1, 2, 4])
@pytest.mark.parametrize("place", [1, 2, 150, 300])
def test_the_first_wrong_line_is_named(tmp_path: Path, blocks: Any, threads: int, place: int) -> None:
    path = tmp_path / "a.txt"
    text = ["0 1"] * 300
    for line in range(place, 301, 7):
        text[line - 1] = f"0 x{line}"
    path.write_text("\n".join(text))
    blocks(50, threads)
    with pytest.raises(ParseError, match=rf"a\.txt:{place}: got '0 x{place}'"):
        read(path, names=False)


def test_a_wrong_line_comes_before_a_file_that_is_cut_off(tmp_path: Path, blocks: Any) -> None:
    path = tmp_path / "a.txt.gz"
    rng = random.Random(1)
    text = [f"{rng.randrange(10**9)} {rng.randrange(10**9)}" for _ in range(30_000)]
    whole = gzip.compress("\n".join(text).encode())
    path.write_bytes(whole[:-500])
    blocks(20_000, 3)
    with pytest.raises(ParseError, match="truncated or damaged"):
        read(path)
    text[25_000] = "wrong"
    path.write_bytes(gzip.compress("\n".join(text).encode())[:-500])
    with pytest.raises(ParseError, match=r"a\.txt\.gz:25001: got 'wrong'"):
        read(path)


def test_reading_ahead_ends_with_the_reading(tmp_path: Path, blocks: Any) -> None:
    """No thread goes on when the caller's function, or a line, ends it."""
    path = tmp_path / "a.txt"
    path.write_text("0 1\n" * 5000)
    blocks(1000, 3)
    seen: list[int] = []

    def stop(done: int) -> None:
        seen.append(done)
        if len(seen) == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        read(path, progress=stop)
    assert seen == [1000, 2000, 3000]
    assert not [thread for thread in threading.enumerate() if "edgewise-reading" in thread.name]


def test_little_memory_is_used_by_one_thread(
    tmp_path: Path, blocks: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What one thread can read within a limit, several can, too: they scan fewer blocks at one time then."""
    path = tmp_path / "a.txt"
    path.write_text("".join(f"{i % 7} {i % 5}\n" for i in range(9000)))
    waiting, in_order = [0], ahead._in_order

    def counted(every: Any, work: Any, has_room: Any, submit: Any, most: int) -> Any:
        def count(*given: Any) -> Any:
            waiting.append(waiting[-1] + 1)
            return submit(*given)

        for block, trial in in_order(every, work, has_room, count, most):
            waiting.append(waiting[-1] - (trial is not None))
            yield block, trial

    monkeypatch.setattr(ahead, "_in_order", counted)
    for size, expected in ((500, [8, 8]), (12_000, [1, 2]), (2**20, [0, 0])):
        accepted = {}
        for threads in (1, 4):
            blocks(size, threads)
            low, high = 0, 2**22
            while low < high:
                middle = (low + high) // 2
                try:
                    read(path, memory_limit=middle)
                    high = middle
                except MemoryLimitError:
                    low = middle + 1
            accepted[threads] = low
        assert accepted[1] == accepted[4]
        found = []
        for limit in (accepted[4], None):
            waiting[:] = [0]
            read(path, memory_limit=limit)
            found.append(max(waiting))
        assert found == expected
