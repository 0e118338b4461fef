"""Files of graphs for tests: drawn graphs, the bytes of a file that are changed, and checksums made anew."""

from pathlib import Path

import numpy as np
import pytest

import edgewise as ew
from edgewise.graph.file_format import BLOCK, HEADER, PAGE

MASK = 2**64 - 1


def mixed(x: int) -> int:
    """The mixing of the format, on Python's integers."""
    x = ((x ^ (x >> 30)) * 0xBF58476D1CE4E5B9) & MASK
    x = ((x ^ (x >> 27)) * 0x94D049BB133111EB) & MASK
    return x ^ (x >> 31)


def slow_checksum(words: list[int], first: int = 0) -> int:
    """The checksum of words, as the format's description defines it."""
    return (
        sum(mixed((word + (first + i + 1) * 0x9E3779B97F4A7C15) & MASK) for i, word in enumerate(words))
        & MASK
    )


def checksum(content: bytes, first: int = 0) -> int:
    """The same, by NumPy."""
    words = np.frombuffer(content, "<u8")
    x = words + np.arange(first + 1, first + 1 + len(words), dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return int((x ^ (x >> np.uint64(31))).sum(dtype=np.uint64))


class Changed:
    """The bytes of a file of a graph, to be changed and written again.

    Attributes:
        content: all bytes.
        header: the header as a record, a view of them.
    """

    def __init__(self, path: Path) -> None:
        self.content = bytearray(path.read_bytes())
        self.header = np.frombuffer(self.content, HEADER, 1)[0:1]

    def entry(self, name: str) -> np.void:
        """The entry of an array in the header, a view of it."""
        entries = self.header["arrays"][0]
        return entries[[each["name"].decode() for each in entries].index(name)]

    def array(self, name: str) -> np.ndarray:
        """An array, a view of it."""
        entry = self.entry(name)
        dtype = np.dtype(entry["dtype"].decode())
        return np.frombuffer(self.content, dtype, int(entry["length"]), int(entry["begin"]))

    def seal(self) -> "Changed":
        """Make all checksums anew, so that they are right for what is there now."""
        for entry in self.header["arrays"][0][: int(self.header["num_arrays"][0])]:
            dtype, begin = np.dtype(entry["dtype"].decode()), int(entry["begin"])
            end = begin + -(-int(entry["length"]) * dtype.itemsize // 8) * 8
            sums = [
                checksum(self.content[place : min(place + BLOCK, end)], (place - begin) // 8)
                for place in range(begin, end, BLOCK)
            ]
            written = np.array(sums, "<u8").tobytes()
            place = int(entry["sums_begin"])
            self.content[place : place + len(written)] = written
            entry["sums_checksum"] = checksum(written)
        return self.seal_header()

    def seal_header(self) -> "Changed":
        """Make the checksum of the header anew."""
        self.header["checksum"] = checksum(self.content[: PAGE - 8])
        return self

    def write(self, path: Path) -> Path:
        """Write the bytes to a new file."""
        path.unlink(missing_ok=True)
        path.write_bytes(self.content)
        return path


def read_all(graph: ew.Graph) -> list[np.ndarray | None]:
    """All that a file has of a graph."""
    return [
        graph.offsets,
        graph.targets,
        graph.weights,
        graph.in_offsets,
        graph.in_sources,
        graph.in_weights,
        graph.edge_numbers,
        graph.vertices,
    ]


def same_graphs(one: ew.Graph, other: ew.Graph) -> bool:
    """Whether two graphs have equal arrays of equal dtypes, and are of one kind."""
    sizes = [(graph.num_vertices, graph.num_arcs, graph.num_edges, graph.directed) for graph in (one, other)]
    return sizes[0] == sizes[1] and all(
        mine is theirs or (mine.dtype == theirs.dtype and np.array_equal(mine, theirs))
        for mine, theirs in zip(read_all(one), read_all(other), strict=True)
    )


#: Ids of every kind, from indices.
IDS = {
    "range": lambda index: index,
    "integers": lambda index: index * 7 - 100,
    "unsigned": lambda index: index.astype(np.uint64) + np.uint64(2**63),
    "strings": lambda index: [f"n{i} é\ud800\n" if i else "" for i in index],
    "long": lambda index: [(-1) ** int(i) * (2**70 + int(i)) for i in index],
}


def drawn(ids="range", weights=None, directed=True, n=40, m=200, seed=1, **how):
    """A graph of drawn edges."""
    draw = np.random.default_rng(seed)
    source, target = draw.integers(0, max(n, 1), (2, m))
    values = None if weights is None else (draw.random(m) * 100).astype(weights)
    count = n if ids == "range" else None
    return ew.Graph.from_edges(IDS[ids](source), IDS[ids](target), values, directed, count, **how)


@pytest.fixture
def saved(tmp_path):
    """A file of a directed graph with weights and in-edges, and the graph."""
    graph = drawn(weights=np.float32)
    graph.save(tmp_path / "g.edgewise", in_edges=True)
    return tmp_path / "g.edgewise", graph
