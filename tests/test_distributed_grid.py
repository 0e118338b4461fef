"""Ranks in a grid: who has which arcs, what is counted, and what is refused."""

from itertools import product
from pathlib import Path

import numpy as np
import pytest
from ranks import needs_torch, run_ranks
from test_engines import BFS

import edgewise as ew
from edgewise import distributed
from edgewise.engine.cpu.arguments import SizedArcs
from edgewise.engine.distributed.cells import (
    Cell,
    Itemsizes,
    cell_bytes,
    cell_of,
    sent_in_grid,
    sent_in_ranges,
)
from edgewise.engine.distributed.exchange import packed
from edgewise.engine.distributed.group import Group, sent_for
from edgewise.engine.distributed.lines import Grid, Line, side_of
from edgewise.engine.distributed.partition import Ranges, by_arcs
from edgewise.errors import DistributedError, ProgramError, ScheduleError

GRAPHS = {
    "no vertices": ew.Graph.from_edges([], []),
    "one vertex": ew.Graph.from_edges([0], [0]),
    "star out": ew.Graph.from_edges(np.zeros(30, int), np.arange(1, 31)),
    "star in": ew.Graph.from_edges(np.arange(1, 31), np.zeros(30, int)),
    "spread": ew.generate.rmat(8, 8, seed=1),
    "parallel edges": ew.Graph.from_edges([0, 0, 0, 5, 5], [5, 5, 0, 0, 0], num_vertices=9),
}


def arcs_of(graph: ew.Graph) -> SizedArcs:
    offsets, targets = graph.offsets, graph.targets
    return SizedArcs(graph.num_vertices, graph.num_arcs, offsets, targets, offsets, targets, offsets)


def grid_by_hand(rank: int, size: int) -> Grid:
    """The grid of a rank, which cannot speak."""
    whole, side = Group(rank, size), side_of(size)
    row, column = divmod(rank, side)
    return Grid(
        Line(whole, range(row * side, row * side + side), None), Line(whole, range(column, size, side), None)
    )


def cells(graph: ew.Graph, size: int) -> list[tuple[Ranges, Grid, Cell]]:
    """The cells of all ranks."""
    found = []
    for rank in range(size):
        ranges, grid = by_arcs(rank, size, graph.offsets), grid_by_hand(rank, size)
        found.append((ranges, grid, cell_of(arcs_of(graph), ranges, grid)))
    return found


def owner_of(ranges: Ranges, vertex: int) -> int:
    return next(rank for rank in range(len(ranges.begins) - 1) if vertex < ranges.begins[rank + 1])


def test_which_numbers_of_ranks_form_a_grid() -> None:
    assert [side_of(size) for size in (1, 2, 3, 4, 5, 8, 9, 15, 16, 1024)] == [0, 0, 0, 2, 0, 0, 3, 0, 4, 32]


@pytest.mark.parametrize("name", GRAPHS)
@pytest.mark.parametrize("size", [4, 9, 16])
def test_each_arc_is_in_one_cell(name: str, size: int) -> None:
    graph, side, seen = GRAPHS[name], side_of(size), list[int]()
    sources = np.repeat(np.arange(graph.num_vertices), np.diff(graph.offsets))
    for rank, (ranges, grid, cell) in enumerate(cells(graph, size)):
        index, row, column = cell.arcs.in_arcs, rank // side, rank % side
        seen += index.tolist()
        assert (cell.arcs.n, cell.arcs.m) == (graph.num_vertices, graph.num_arcs)
        assert cell.arcs.targets.tolist() == graph.targets[index].tolist()
        counts = np.bincount(sources[index], minlength=graph.num_vertices)
        assert np.diff(cell.arcs.offsets).tolist() == counts.tolist()
        assert cell.arcs.offsets.dtype == index.dtype == graph.offsets.dtype
        for arc in index.tolist():
            assert owner_of(ranges, sources[arc]) // side == row
            assert owner_of(ranges, graph.targets[arc]) % side == column
        for flags, ranks, ends in (
            (cell.sources, grid.row.ranks, sources[index]),
            (cell.targets, grid.column.ranks, graph.targets[index]),
        ):
            for each, other in zip(flags, ranks, strict=True):
                of = ranges.of(other)
                assert (np.flatnonzero(each) + of.start).tolist() == sorted(
                    {v for v in ends.tolist() if of.start <= v < of.stop}
                )
        assert cell.nbytes < cell_bytes(graph.offsets, ranges)
    assert sorted(seen) == list(range(graph.num_arcs))


@pytest.mark.parametrize("name", GRAPHS)
@pytest.mark.parametrize("sizes", [Itemsizes(8, 0, 0), Itemsizes(4, 12, 0), Itemsizes(1, 8, 4)])
def test_counts_are_those_of_pairs_of_ranks_and_vertices(name: str, sizes: Itemsizes) -> None:
    graph, size, side = GRAPHS[name], 9, 3
    made = cells(graph, size)
    ranges = made[0][0]
    owners = [owner_of(ranges, v) for v in range(graph.num_vertices)]
    sources = np.repeat(np.arange(graph.num_vertices), np.diff(graph.offsets)).tolist()
    arcs = list(zip(sources, graph.targets.tolist(), strict=True))
    by_vertices = {(owners[u], v) for u, v in arcs}
    to_owners = {(owners[u] // side * side + owners[v] % side, v) for u, v in arcs}
    from_owners = {(owners[u] // side * side + owners[v] % side, u) for u, v in arcs}

    def bytes_of(pairs: set[tuple[int, int]], itemsize: int, speak: list[tuple[int, int]]) -> int:
        total = 0
        for rank, owner in speak:
            vertices = np.array(sorted(v for who, v in pairs if (who, owners[v]) == (rank, owner)), np.int64)
            values = [np.zeros(len(vertices), np.uint8)] * itemsize
            total += sent_for(len(packed(vertices, ranges.of(owner), values)))
        return total

    everyone = [(a, b) for a, b in product(range(size), repeat=2) if a != b]
    rows = [(a, b) for a, b in everyone if a // side == b // side]
    columns = [(a, b) for a, b in everyone if a % side == b % side]
    expected = bytes_of(by_vertices, sizes.message, everyone)
    in_grid = bytes_of(from_owners, sizes.sources, rows) + bytes_of(to_owners, sizes.message, columns)
    if sizes.targets:
        expected += bytes_of(by_vertices, sizes.targets, everyone)
        in_grid += bytes_of(to_owners, sizes.targets, columns)
    assert sum(sent_in_ranges(arcs_of(graph), each, sizes) for each, _, _ in made) == expected
    assert sum(sent_in_grid(cell, grid, sizes) for _, grid, cell in made) == in_grid


@pytest.mark.parametrize("wrong", ["grid", 1, None, 0.5, [True]])
def test_what_is_no_choice_is_refused(wrong: object) -> None:
    with pytest.raises(ScheduleError, match=r"Ranks: grid is .*; expected True, False or 'auto'"):
        ew.Ranks(grid=wrong)


@pytest.mark.parametrize("wrong", ["grid", 1, None, ew.Ranks])
def test_what_divides_no_run_is_refused(wrong: object) -> None:
    with pytest.raises(ProgramError, match=r"run: distributed is .*; expected True, False or ew\.Ranks\(\)"):
        ew.run(ew.Program, GRAPHS["spread"], distributed=wrong)


def test_a_grid_on_gpus_is_refused_before_one_is_looked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(distributed, "cuda_problem", lambda: pytest.fail("a GPU is looked for"))
    monkeypatch.setattr(distributed, "connect", lambda: pytest.fail("ranks are connected"))
    with pytest.raises(
        DistributedError, match=r"grid is True, and device is 'cuda'; .* expected 'cpu', or grid"
    ):
        ew.run(BFS(source=0), GRAPHS["spread"], distributed=ew.Ranks(grid=True), device="cuda")


@needs_torch
@pytest.mark.more
def test_what_is_counted_is_sent_and_the_smaller_is_taken(tmp_path: Path) -> None:
    assert "grids are as they should be" in run_ranks(4, "ranks_grid.py", str(tmp_path), seconds=100)


@needs_torch
@pytest.mark.slow
@pytest.mark.parametrize("ranks", [4, 9])
def test_an_error_before_any_exchange_ends_the_run_on_all(ranks: int) -> None:
    assert "errors are told to all" in run_ranks(ranks, "ranks_grid_errors.py", seconds=250)
