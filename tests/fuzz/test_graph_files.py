"""Files of graphs with drawn mistakes: refused, or the same graph; never another graph, and never a crash."""

import contextlib
import random
import sys
from pathlib import Path

import numpy as np
import pytest

import edgewise as ew
from edgewise.errors import ParseError
from edgewise.graph.file_format import HEADER, PAGE

sys.path.append(str(Path(__file__).parent.parent))
from graph_files import Changed, same_graphs

#: CI runs the first, `make test-all` all of them.
SEEDS = [0, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(1, 11))]
EXTREMES = (
    0,
    1,
    2,
    3,
    7,
    2**16,
    2**31 - 1,
    2**31,
    2**32 - 1,
    2**32,
    2**40,
    2**62,
    2**63 - 1,
    2**63,
    2**64 - 1,
)


def drawn(draw: random.Random) -> ew.Graph:
    """A graph of any kind."""
    n, m = draw.choice([(1, 0), (1, 2), (5, 9), (40, 200), (700, 3000)])
    ends = [[draw.randrange(n) for _ in range(m)] for _ in range(2)]
    dtype = draw.choice([None, np.int32, np.int64, np.float32, np.float64])
    weights = None if dtype is None else np.array([draw.randrange(100) for _ in range(m)], dtype)
    ids = draw.choice(
        [int, lambda i: 3 * i - 50, lambda i: 2**63 + i, lambda i: f"é{i}", lambda i: 2**64 * (i - 5)]
    )
    count = n if ids is int else None
    columns = [list(map(ids, each)) for each in ends]
    return ew.Graph.from_edges(
        *columns, weights, draw.random() < 0.5, count, number_edges=draw.random() < 0.5
    )


def outcome(path: Path, graph: ew.Graph) -> str:
    """What comes of a file: "refused", "same", or "other"."""
    try:
        loaded = ew.load(path)
        for use in random.Random(path.stat().st_size).sample(
            ["targets", "in_weights", "vertices", "edge_numbers"], 4
        ):
            getattr(loaded, use)  # in any order
        return "same" if same_graphs(loaded, graph) else "other"
    except ParseError:
        return "refused"


def meant(content: bytes) -> np.ndarray:
    """Which bytes of a file mean something: not those that fill up pages."""
    header = np.frombuffer(content, HEADER, 1)[0]
    found = np.zeros(len(content), bool)
    found[:PAGE] = True
    for entry in header["arrays"][: int(header["num_arrays"])]:
        nbytes = int(entry["length"]) * np.dtype(entry["dtype"].decode()).itemsize
        begin, sums = int(entry["begin"]), int(entry["sums_begin"])
        found[begin : begin + nbytes] = True
        found[sums : sums + 8 * -(-nbytes // 2**20)] = True
    return found


@pytest.mark.parametrize("seed", SEEDS)
def test_a_bit_that_is_flipped(seed: int, tmp_path: Path) -> None:
    draw = random.Random(seed)
    for _ in range(15):
        graph = drawn(draw)
        graph.save(tmp_path / "g", in_edges=draw.random() < 0.5)
        content = (tmp_path / "g").read_bytes()
        for place in draw.sample(np.flatnonzero(meant(content)).tolist(), 60):
            wrong = bytearray(content)
            wrong[place] ^= 1 << draw.randrange(8)
            (tmp_path / "g").write_bytes(wrong)
            assert outcome(tmp_path / "g", graph) == "refused", place


@pytest.mark.parametrize("seed", SEEDS)
def test_bytes_that_are_replaced(seed: int, tmp_path: Path) -> None:
    """Runs of bytes overwritten, exchanged, moved, left out or doubled."""
    draw = random.Random(seed)
    for _ in range(15):
        graph = drawn(draw)
        graph.save(tmp_path / "g", in_edges=draw.random() < 0.5)
        content = (tmp_path / "g").read_bytes()
        for _ in range(60):
            one, other = sorted(draw.randrange(len(content)) for _ in range(2))
            size = draw.choice([1, 4, 8, 64, PAGE])
            wrong = draw.choice(
                [
                    content[:one] + draw.randbytes(size) + content[one + size :],
                    content[:one] + content[other : other + size] + content[one + size :],
                    content[:one] + content[one + size :],
                    content[:one] + bytes(size) + content[one:],
                    content[:one] + bytes(size) + content[one + size :],
                    content + content[-size:],
                ]
            )
            (tmp_path / "g").write_bytes(wrong)
            assert outcome(tmp_path / "g", graph) in ("refused", "same")


def test_a_file_that_is_cut_anywhere(tmp_path: Path) -> None:
    graph = drawn(random.Random(2))
    graph.save(tmp_path / "g", in_edges=True)
    content = (tmp_path / "g").read_bytes()
    changed = Changed(tmp_path / "g")
    places = {0, 1, 16, PAGE - 1, PAGE, len(content) - 1, *range(0, len(content), PAGE)}
    for entry in changed.header["arrays"][0][: int(changed.header["num_arrays"][0])]:
        begin, nbytes = int(entry["begin"]), int(entry["length"]) * np.dtype(entry["dtype"].decode()).itemsize
        places |= {begin, begin + nbytes, int(entry["sums_begin"]), int(entry["sums_begin"]) + 8}
    for place in sorted(each + beside for each in places for beside in (-1, 0, 1)):
        if 0 <= place < len(content):
            (tmp_path / "g").write_bytes(content[:place])
            assert outcome(tmp_path / "g", graph) == "refused", place
    assert (tmp_path / "g").write_bytes(content) and outcome(tmp_path / "g", graph) == "same"


@pytest.mark.parametrize("seed", SEEDS)
def test_a_header_that_lies(seed: int, tmp_path: Path) -> None:
    """Each word of the header set to extremes, with a right checksum."""
    draw = random.Random(seed)
    graph = drawn(draw)
    graph.save(tmp_path / "g", in_edges=True)
    whole = Changed(tmp_path / "g")
    for place in range(0, PAGE - 8, 8):
        words = np.frombuffer(whole.content, "<u8")
        before = int(words[place // 8])
        beside = [(before + change) % 2**64 for change in (1, -1, PAGE, -PAGE, 2**32)]
        for value in draw.sample([*EXTREMES, *beside], 6):
            changed = Changed(tmp_path / "g")
            changed.content[place : place + 8] = value.to_bytes(8, "little")
            changed.seal_header().write(tmp_path / "wrong")
            assert outcome(tmp_path / "wrong", graph) in ("refused", "same"), (place, value)


@pytest.mark.more
@pytest.mark.parametrize("seed", SEEDS)
def test_values_with_right_checksums(seed: int, tmp_path: Path) -> None:
    """Values of arrays set to extremes, all checksums made anew: algorithms run to their ends, or the file is
    refused."""
    draw = random.Random(seed)
    for _ in range(20):
        graph = drawn(draw)
        graph.save(tmp_path / "g", in_edges=draw.random() < 0.5)
        for _ in range(15):
            changed = Changed(tmp_path / "g")
            entries = changed.header["arrays"][0][: int(changed.header["num_arrays"][0])]
            values = changed.array(draw.choice(entries)["name"].decode())
            if len(values) == 0:
                continue
            bits = values.view(f"u{values.itemsize}")
            for _ in range(draw.choice([1, 1, 2, 50])):
                value = draw.choice([*EXTREMES, graph.num_vertices, graph.num_arcs, draw.randrange(50)])
                bits[draw.randrange(len(bits))] = value % 2 ** (8 * values.itemsize)
            changed.seal().write(tmp_path / "wrong")
            loaded = ew.load(tmp_path / "wrong")
            for run in (lambda g: ew.bfs(g, g.vertices[:1]), ew.pagerank, ew.scc, ew.connected_components):
                if graph.num_vertices:
                    with contextlib.suppress(ParseError):
                        run(loaded)
            if outcome(tmp_path / "wrong", graph) == "other":  # a graph all the same, if another
                made = ew.load(tmp_path / "wrong")
                assert (
                    0
                    <= made.targets.min(initial=0)
                    <= made.targets.max(initial=0)
                    < max(made.num_vertices, 1)
                )
                assert (
                    made.offsets[0] == 0
                    and made.offsets[-1] == made.num_arcs
                    and (np.diff(made.offsets) >= 0).all()
                )
                assert made.weights is None or np.isfinite(made.weights).all()
                assert len(set(made.vertices.tolist())) == made.num_vertices
                back = ew.Graph.from_csr(made.offsets, made.targets, made.weights, made.directed)
                assert np.array_equal(back.in_offsets, made.in_offsets)
