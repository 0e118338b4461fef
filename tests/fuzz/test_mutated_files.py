"""Files with drawn mistakes: read as a slow reader reads them, or refused with an error of edgewise."""

import bz2
import gzip
import lzma
import random
import warnings
from collections.abc import Callable
from pathlib import Path

import pytest
from reference_reader import Refused, Unknown, read_csv, read_edge_list, read_matrix

import edgewise as ew
from edgewise.errors import EdgewiseError
from edgewise.io import source

#: How many files one test draws; a second or two of work.
FILES = 1500
#: CI runs the first, `make test-all` all of them.
SEEDS = [0, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(1, 31))]

MATRIX = b"%%MatrixMarket matrix coordinate"
WHOLE = {
    "txt": [
        b"# Nodes: 3\n0 1\n1 2\n2 0\n",
        b"0\t1\t5\r\n1\t2\t-7\r\n2\t0\t9223372036854775807\r\n",
        b"1 2 0.5\n2 3 1e-3\n3 1 123456789.123456789123\n",
        b"a b\nb c\nc a\n",
        b"# Ids: names\n02\t2\n2\t3\n",
        b"7 100000000000000000000\n100000000000000000000 007\n",
    ],
    "csv": [
        b"source,target,weight\n1,2,5\n2,3,6\n",
        b'"a, b","say ""hi"""\n" c ",d\n',
        b"0,1\n2,0\n1,1\n",
        b"a,b,0.25\n\nb,c,4\n# c\nc,a,1e22\n",
    ],
    "mtx": [
        MATRIX + b" pattern general\n% c\n4 4 3\n1 2\n3 1\n2 2\n",
        MATRIX + b" integer symmetric\n3 3 2\n2 1 5\n3 1 -6\n",
        MATRIX + b" real general\n3 3 2\n2 1 5\n3 1 0.5e1\n",
    ],
}
ODD = (
    b"", b"\n", b"\r", b"\r\n", b" ", b"\t", b",", b'"', b'""', b"#", b"%", b"-", b"+", b".", b"e", b"0", b"9",
    b"\xff", b"\xc3\xa9", b"\xef\xbb\xbf", b"nan", b"inf", b"1e999", b"1e-999", b"9" * 19, b"9" * 40, b"0x1", b"1_0",
    b"\xd9\xa3", b"\x1c", b"\xc2\xa0", b"\x0b", b"2147483648", b"-9223372036854775808", b"# Ids: names\n", b"x" * 300,
)  # fmt: skip


def mutated(draw: random.Random, data: bytes) -> bytes:
    """A file with a few mistakes in it."""
    for _ in range(draw.randrange(1, 4)):
        place, other = sorted(draw.randrange(len(data) + 1) for _ in range(2))
        data = draw.choice(
            [
                data[:place] + draw.choice(ODD) + data[place:],
                data[:place] + draw.choice(ODD) + data[other:],
                data[:place] + data[place:other] * 2 + data[other:],
                data[:place] + data[min(place + 1, other) :],
                data[:other],
                data[:place] + bytes([draw.randrange(256)]) + data[place + 1 :],
            ]
        )
    return data


def expected_edges(read: Callable[..., list[tuple]], *arguments: object) -> list[tuple] | None:
    """What the slow reader reads; None if it refuses."""
    try:
        return read(*arguments)
    except Refused:
        return None


def edges_of(graph: ew.Graph) -> list[tuple]:
    """The edges of a graph with the user's ids, an undirected one's once each, in a fixed order."""
    kept = slice(None) if graph.directed else graph.sources >= graph.targets
    columns = [graph.ids_of(ends[kept]).tolist() for ends in (graph.sources, graph.targets)]
    if graph.weights is not None:
        columns.append(graph.weights[kept].tolist())
    return sorted(zip(*columns, strict=True), key=repr)


def in_order(edges: list[tuple], directed: bool) -> list[tuple]:
    """Edges as `edges_of` gives them."""
    if not directed:
        edges = [(max(u, v), min(u, v), *weight) for u, v, *weight in edges]
    return sorted(edges, key=repr)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("kind", sorted(WHOLE))
def test_mutated_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str, seed: int) -> None:
    draw = random.Random(f"{kind} {seed}")
    path = tmp_path / f"graph.{kind}"
    for _ in range(FILES):
        data = mutated(draw, draw.choice(WHOLE[kind]))
        header = draw.random() < 0.5
        options = {"txt": {}, "csv": {"delimiter": ",", "header": header}, "mtx": {}}[kind]
        slow = {"txt": (read_edge_list, data), "csv": (read_csv, data, header), "mtx": (read_matrix, data)}[
            kind
        ]
        path.write_bytes(data)
        try:
            expected = expected_edges(*slow)
        except Unknown:
            continue
        monkeypatch.setattr(source, "_BLOCK", draw.choice([8, 50, 2**22]))
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                graph = ew.read(path, memory_limit=10**8, **options)
        except EdgewiseError as error:
            assert expected is None or isinstance(error, MemoryError), (data, options, str(error))
            continue
        assert expected is not None, (data, options, edges_of(graph))
        assert edges_of(graph) == in_order(expected, graph.directed), (data, options)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("module", [gzip, bz2, lzma])
def test_mutated_compressed_files(tmp_path: Path, module: object, seed: int) -> None:
    draw = random.Random(f"{module.__name__} {seed}")
    path = tmp_path / "graph.txt"
    for _ in range(FILES // 5):
        whole = draw.choice(WHOLE["txt"])
        packed = module.compress(whole)
        broken = mutated(draw, packed)
        path.write_bytes(broken)
        try:
            ew.read(path, memory_limit=10**8)
        except EdgewiseError:
            continue
