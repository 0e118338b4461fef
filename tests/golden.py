"""Real graphs with golden answers, which independent libraries agree on; see data/README.md.

`load` reads a graph by the rules of the golden answers: parallel arcs are collapsed to the one of the smallest
weight, self-loops are kept, and a graph without weights has ``1 + ((31 u + 17 v) mod 100)``, u and v being ids
(u the smaller one in undirected graphs).
"""

import functools
import gzip
import json
import lzma
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse

from edgewise.graph import Graph
from edgewise.graph.csr import Rows
from edgewise.graph.ids import Ids
from edgewise.io import read

_ROOT = Path(__file__).resolve().parents[1]
#: Where graphs are: those of the repository, and larger ones beside it, if they are there.
FOLDERS = (_ROOT / "data", _ROOT.parent / "shared" / "data")


def _found() -> dict[str, tuple[Path, dict[str, Any]]]:
    """The folder of each graph by name, and how the graph is to be read. The first folder that has it counts."""
    found: dict[str, tuple[Path, dict[str, Any]]] = {}
    for folder in FOLDERS:
        if folder.is_dir():
            for spec in json.loads((folder / "graphs.json").read_text(encoding="utf-8")):
                found.setdefault(spec["name"], (folder, spec))
    return found


_FOUND = _found()
#: The graphs that are there.
NAMES = tuple(_FOUND)
#: The names as parameters of tests. The largest graph takes as long as all others.
CASES = tuple(
    pytest.param(name, marks=pytest.mark.slow) if name == "actor-collab" else name for name in NAMES
)


@dataclass(frozen=True)
class Golden:
    """A graph and what is known about it.

    Attributes:
        graph: weighted.
        answers: the content of ``golden/NAME.json``.
        numbers: the id of each vertex in index order, int64, as the checksums use it; names are numbered.
    """

    graph: Graph
    answers: dict[str, Any]
    numbers: np.ndarray

    def source(self, label: str) -> Any:
        """The user's id of a source, "hub" or "first"."""
        facts = self.answers["sources"][label]
        return facts.get("name", facts["id"])


@functools.lru_cache(maxsize=2)
def load(name: str) -> Golden:
    """A golden graph by name, one of `NAMES`."""
    folder, spec = _FOUND[name]
    graph = _graph(folder / spec["file"], spec)
    numbers = np.arange(graph.num_vertices) if spec.get("names") else graph.vertices.astype(np.int64)
    if not spec["weighted"]:
        graph = _with_golden_weights(graph, numbers)
    return Golden(graph, answers(name), numbers)


def answers(name: str) -> dict[str, Any]:
    """The content of ``golden/NAME.json``."""
    folder, _ = _FOUND[name]
    return json.loads((folder / "golden" / f"{name}.json").read_text(encoding="utf-8"))


@functools.cache
def structure(name: str) -> dict[str, Any]:
    """What at least two libraries say of core numbers, loops dropped, arcs in and out counted, and of triangles,
    directions dropped, too. A checksum sums (id mod 1009 + 1) times the value."""
    path = Path(__file__).with_name("golden_structure.json")
    return json.loads(path.read_text(encoding="utf-8"))[name]


def _graph(path: Path, spec: dict[str, Any]) -> Graph:
    if spec["format"] in ("edgelist", "csv", "mtx"):
        return read(path, directed=spec["directed"], weighted=spec["weighted"], parallel_edges="min")
    open_compressed = {".gz": gzip.open, ".xz": lzma.open}.get(path.suffix, open)
    with open_compressed(path, "rb") as file:
        source, target, weight, ids = _READERS[spec["format"]](file.read(), spec)
    return Graph._from_indices(source, target, weight, spec["directed"], ids, "min")


def _with_golden_weights(graph: Graph, numbers: np.ndarray) -> Graph:
    u, v = numbers[graph.sources], numbers[graph.targets]
    if not graph.directed:
        u, v = np.minimum(u, v), np.maximum(u, v)
    weights = (1 + (31 * u + 17 * v) % 100).astype(np.int64)
    loops = 2 * graph.num_edges - graph.num_arcs
    return Graph(Rows(graph.offsets, graph.targets, weights), graph._ids, graph.directed, loops)


_Arcs = tuple[np.ndarray, np.ndarray, np.ndarray | None, Ids]


def _read_metis(data: bytes, spec: dict[str, Any]) -> _Arcs:
    """A header "n m 0", then line i with the neighbours of i, from 1."""
    header, _, rows = data.partition(b"\n")
    n = int(header.split()[0])
    return _row_of_each_number(rows, n), _numbers(rows) - 1, None, _from_one(n)


def _read_adjtxt(data: bytes, spec: dict[str, Any]) -> _Arcs:
    """The number of vertices, then a line of successors for each, from 0."""
    header, _, rows = data.partition(b"\n")
    return _row_of_each_number(rows, int(header)), _numbers(rows), None, Ids(int(header))


def _read_gr(data: bytes, spec: dict[str, Any]) -> _Arcs:
    """DIMACS ("p sp n m", "a u v w") or PACE ("p tw n m", "u v"), from 1."""
    lines = data[data.index(b"\np ") + 1 :] if data.startswith(b"c") else data
    header, _, rest = lines.partition(b"\n")
    n, m = map(int, header.split()[2:])
    if b"\na " in rest:
        rest = b"\n".join(line[1:] for line in rest.splitlines() if line.startswith(b"a"))
    table = _numbers(rest).reshape(m, -1)
    return table[:, 0] - 1, table[:, 1] - 1, table[:, 2] if spec["weighted"] else None, _from_one(n)


def _read_tntp(data: bytes, spec: dict[str, Any]) -> _Arcs:
    """A transportation network table; the weight is the column "length"."""
    lines = data.decode().splitlines()
    (n,) = (int(line.split(">")[1]) for line in lines if line.startswith("<NUMBER OF NODES>"))
    first = 1 + next(i for i, line in enumerate(lines) if line.startswith("~") and "init_node" in line)
    fields = [line.split() for line in lines[first:] if line.strip()]
    u, v = (np.array([int(row[k]) for row in fields]) - 1 for k in (0, 1))
    return u, v, np.array([float(row[3]) for row in fields]), _from_one(n)


def _read_projection(data: bytes, spec: dict[str, Any]) -> _Arcs:
    """Members of the first `rows` vertices of an adjtxt file; two are joined if they share one."""
    group, member, _, ids = _read_adjtxt(data, spec)
    k, n = spec["rows"], ids.num_vertices
    ones = np.ones(len(group), np.int32)
    belongs = scipy.sparse.csr_array((ones, (group, member - k)), shape=(k, n - k))
    shared = scipy.sparse.triu(belongs.T @ belongs, k=1).tocoo()
    return shared.row, shared.col, None, Ids(n - k, np.arange(k, n))


_READERS = {
    "metis": _read_metis,
    "adjtxt": _read_adjtxt,
    "gr": _read_gr,
    "tntp": _read_tntp,
    "projection": _read_projection,
}


def _from_one(n: int) -> Ids:
    return Ids(n, np.arange(1, n + 1))


def _numbers(text: bytes) -> np.ndarray:
    return np.fromstring(text, dtype=np.int64, sep=" ")


def _row_of_each_number(rows: bytes, n: int) -> np.ndarray:
    """The line, from 0, that each number stands on."""
    text = np.frombuffer(rows, np.uint8)
    blank = text <= ord(" ")
    starts = np.flatnonzero(~blank & np.concatenate([[True], blank[:-1]]))
    ends = np.flatnonzero(text == ord("\n"))[:n]
    return np.searchsorted(ends, starts)
