"""Drawn files: each is made from the name of a format, a seed and a number, and checked against the slow reader."""

import contextlib
import random
import time
import tracemalloc
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from formats import FORMATS
from mutations import mutated, overwritten
from reference import Expected, Refused, Unsure

import edgewise as ew
from edgewise.errors import GraphError, GraphWarning, MemoryLimitError, ParseError
from edgewise.io import source

#: Seconds of the processor that a file may take. One in MEASURED files is read again to measure its memory: at most
#: four times the file, the graph that it makes, and what readers take of a file of any size.
MOST_SECONDS, MEASURED, SMALL_CHANGE = 2.0, 20, 3 * 2**20
#: Enough for the files here, but for those that declare very many vertices.
LIMIT = 10**7


class Case:
    """A drawn file.

    Attributes:
        data: its content.
        options: those of `edgewise.read`.
        block: the bytes that are read at a time.
    """

    def __init__(self, kind: str, seed: int, number: int) -> None:
        draw = random.Random(f"{kind} {seed} {number}")
        self._format, self._number, self._name = FORMATS[kind], number, f"{kind} {seed} {number}"
        data, self.options = draw.choice(self._format.seeds)
        self.data = mutated(draw, data, self._format.comment)
        if self._format.pack is not None:
            self.data = self._format.pack(self.data)
            if draw.random() < 0.5:
                self.data = (overwritten if self._format.binary else mutated)(draw, self.data)
        self.block = draw.choice([8, 50, 2**20])

    def __repr__(self) -> str:
        return f"{self._name}: {self.data!r} read with {self.options}"

    def expected(self) -> Expected | None:
        """What the slow reader reads; None if it refuses. Raises Unsure."""
        try:
            return self._format.reference(self.data, **self.options)
        except Refused:
            return None

    def write(self, folder: Path) -> Path:
        """Write the file into a folder, and have it read in its blocks."""
        path = folder / self._format.file
        path.write_bytes(self.data)
        source._BLOCK = self.block
        return path

    def read(self, path: Path) -> ew.Graph | Exception:
        """The graph that edgewise reads, or the error with which it refuses."""
        try:
            return ew.read(path, memory_limit=LIMIT, **self.options)
        except (ParseError, GraphError, MemoryLimitError) as error:
            return error

    def check(self, folder: Path) -> bool:
        """Check what edgewise makes of the file. Returns whether it is a graph."""
        path = self.write(folder)
        started = time.process_time()
        found = self.read(path)
        if time.process_time() - started > MOST_SECONDS:  # the first file of a kind compiles code
            started = time.process_time()
            self.read(path)
            assert time.process_time() - started <= MOST_SECONDS, self
        if self._number % MEASURED == 0:
            self._check_memory(path)
        with contextlib.suppress(Unsure):
            self._compare(found, path)
        return isinstance(found, ew.Graph)

    def _compare(self, found: ew.Graph | Exception, path: Path) -> None:
        expected = self.expected()
        if isinstance(found, MemoryLimitError):
            assert expected is None or len(expected.vertices) * 8 > LIMIT / 10, (self, found)
        elif isinstance(found, Exception):
            assert expected is None, (self, found)
            assert str(path) in str(found), (self, found)
        else:
            assert expected is not None, (self, edges_of(found))
            check_same(found, expected, self)

    def _check_memory(self, path: Path) -> None:
        tracemalloc.start()
        try:
            found = self.read(path)
            peak = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
        of_graph = 100 * (found.num_vertices + found.num_arcs) if isinstance(found, ew.Graph) else 0
        assert peak <= 4 * len(self.data) + of_graph + SMALL_CHANGE + self._format.beyond, (self, peak)


@contextlib.contextmanager
def strictly() -> Iterator[None]:
    """Warnings, but for those of edgewise on graphs, are errors; blocks have their size again in the end."""
    block = source._BLOCK
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            warnings.simplefilter("ignore", GraphWarning)
            yield
    finally:
        source._BLOCK = block


def check_files(kind: str, seed: int, numbers: range, folder: Path) -> float:
    """Check drawn files. Returns the share of them that were read as graphs."""
    with strictly():
        return sum(Case(kind, seed, number).check(folder) for number in numbers) / len(numbers)


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
