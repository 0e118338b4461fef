"""Files with drawn mistakes: read as a slow reader reads them, or refused with an error that names the file.

A failure names the format, the seed and the number of the file. The file that was read last stays in the folder of the
test, even if it ended the process. To try one file again, or to draw others, see CONTRIBUTING.md.
"""

import random
import sys
import time
import tracemalloc
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from formats import FORMATS
from mutations import mutated
from reference import Expected, Refused

import edgewise as ew
from edgewise.errors import GraphError, GraphWarning, MemoryLimitError, ParseError
from edgewise.io import source

#: How many files one test draws, and the least share of them that is read, not refused.
FILES, LEAST_READ = 2000, 0.3
#: CI runs the first, `make test-all` all of them: 20,000 files of each format.
SEEDS = [0, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(1, 10))]
#: Seconds of the processor that a file may take. One in MEASURED files is read again to measure its memory: at most
#: four times the file, the graph that it makes, and what readers take of a file of any size.
MOST_SECONDS, MEASURED, SMALL_CHANGE = 2.0, 20, 3 * 2**20
#: Enough for the files here, but for those that declare very many vertices.
LIMIT = 10**7

# What hangs in compiled code cannot be interrupted: the process ends, and the test is named.
pytestmark = pytest.mark.timeout(200, method="thread")


class Case:
    """A drawn file.

    Attributes:
        kind: the name of its format.
        data: its content.
        options: those of `edgewise.read`.
        block: the bytes that are read at a time.
    """

    def __init__(self, kind: str, seed: int, number: int) -> None:
        draw = random.Random(f"{kind} {seed} {number}")
        self.kind, self.number, self._name = kind, number, f"{kind} {seed} {number}"
        known = FORMATS[kind]
        data, self.options = draw.choice(known.seeds)
        self.data = mutated(draw, data, known.comment)
        if known.pack is not None:
            self.data = known.pack(self.data)
            if draw.random() < 0.5:
                self.data = mutated(draw, self.data)
        self.block = draw.choice([8, 50, 2**20])

    def __repr__(self) -> str:
        return f"{self._name}: {self.data!r} read with {self.options}"

    def expected(self) -> Expected | None:
        """What the slow reader reads; None if it refuses."""
        try:
            return FORMATS[self.kind].reference(self.data, **self.options)
        except Refused:
            return None

    def read(self, path: Path) -> ew.Graph | Exception:
        """The graph that edgewise reads, or the error with which it refuses."""
        try:
            return ew.read(path, memory_limit=LIMIT, **self.options)
        except (ParseError, GraphError, MemoryLimitError) as error:
            return error

    def check(self, path: Path) -> bool:
        """Check what edgewise makes of the file. Returns whether it is a graph."""
        path.write_bytes(self.data)
        expected = self.expected()
        started = time.process_time()
        found = self.read(path)
        if time.process_time() - started > MOST_SECONDS:  # the first file of a kind compiles code
            started = time.process_time()
            self.read(path)
            assert time.process_time() - started <= MOST_SECONDS, self
        if self.number % MEASURED == 0:
            self._check_memory(path)
        if isinstance(found, MemoryLimitError):
            assert expected is None or len(expected.vertices) * 8 > LIMIT / 10, (self, found)
            return False
        if isinstance(found, Exception):
            assert expected is None, (self, found)
            assert str(path) in str(found), (self, found)
            return False
        assert expected is not None, (self, edges_of(found))
        check_same(found, expected, self)
        return True

    def _check_memory(self, path: Path) -> None:
        with traced() as peak:
            found = self.read(path)
        of_graph = 100 * (found.num_vertices + found.num_arcs) if isinstance(found, ew.Graph) else 0
        beyond = SMALL_CHANGE + FORMATS[self.kind].beyond
        assert peak[0] <= 4 * len(self.data) + of_graph + beyond, (self, peak[0])


@contextmanager
def traced() -> Iterator[list[int]]:
    """A list that gets the most bytes that Python and NumPy took during the block."""
    peak: list[int] = []
    tracemalloc.start()
    try:
        yield peak
        peak.append(tracemalloc.get_traced_memory()[1])
    finally:
        tracemalloc.stop()


def check_same(graph: ew.Graph, expected: Expected, case: Case) -> None:
    """Compare a graph with what was expected: its kind, its ids and their order, its edges and their weights."""
    assert graph.directed == expected.directed, case
    vertices: Any = expected.vertices
    if isinstance(vertices, range):
        assert np.array_equal(graph.vertices, np.arange(vertices.start, vertices.stop)), case
    else:
        assert graph.vertices.tolist() == vertices, case
    edges = in_order(expected.edges, expected.directed)
    assert edges_of(graph) == edges, (case, edges_of(graph), edges)


def edges_of(graph: ew.Graph) -> list[str]:
    """The edges of a graph with the user's ids, those of an undirected one once each, as text in a fixed order."""
    kept = slice(None) if graph.directed else graph.sources >= graph.targets
    columns = [graph.ids_of(ends[kept]).tolist() for ends in (graph.sources, graph.targets)]
    if graph.weights is not None:
        columns.append(graph.weights[kept].tolist())
    return in_order(list(zip(*columns, strict=True)), graph.directed)


def in_order(edges: list[tuple], directed: bool) -> list[str]:
    """Edges as text, so that 1 is not 1.0, in a fixed order."""
    if not directed:
        edges = [(*sorted(edge[:2], key=repr), *edge[2:]) for edge in edges]
    return sorted(map(repr, edges))


def check_files(kind: str, seed: int, numbers: range, folder: Path) -> float:
    """Check drawn files. Returns the share of them that were read as graphs."""
    path, block = folder / FORMATS[kind].file, source._BLOCK
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            warnings.simplefilter("ignore", GraphWarning)
            read = 0
            for number in numbers:
                case = Case(kind, seed, number)
                source._BLOCK = case.block
                read += case.check(path)
    finally:
        source._BLOCK = block
    return read / len(numbers)


@pytest.mark.parametrize("kind", FORMATS)
def test_whole_files(kind: str, tmp_path: Path) -> None:
    """The files in which mistakes are drawn have none, and both readers read them."""
    known = FORMATS[kind]
    path = tmp_path / known.file
    for number, (data, options) in enumerate(known.seeds):
        case = Case(kind, 0, number)
        case.data, case.options = known.pack(data) if known.pack else data, options
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", GraphWarning)
            assert case.check(path), case


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("kind", FORMATS)
def test_mutated_files(kind: str, seed: int, tmp_path: Path) -> None:
    assert check_files(kind, seed, range(FILES), tmp_path) >= LEAST_READ


if __name__ == "__main__":  # FORMAT SEED [NUMBER]
    given = sys.argv[1], int(sys.argv[2])
    chosen = range(int(sys.argv[3]), int(sys.argv[3]) + 1) if len(sys.argv) > 3 else range(FILES)
    print(f"{check_files(*given, chosen, Path('.')):.0%} of {len(chosen)} files were read")
