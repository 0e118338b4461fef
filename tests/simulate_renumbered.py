"""Programs over vertices that are numbered by their rows, on a GPU that tests/simulator.py pretends: the answers of the
CPU, in the user's ids. With the argument "warps" the simulator has warps of several lanes: see
tests/simulated_warps.py."""

import math
import sys
import tempfile
from pathlib import Path
from unittest import mock

import numpy as np
import pytest
import test_layers_programs as layers
from simulated_warps import with_warps
from simulator import pretend

import edgewise as ew
from edgewise.errors import FileChangedError, MemoryLimitError, ProgramError
from edgewise.run import Prepared

DELIVERIES = (ew.Buffered(), ew.Buffered(send="edges"), ew.Pull(), "auto")
LAYOUTS = (
    ew.Layout(threshold=1, renumber=True),
    ew.Layout("linear", num_buckets=3, group_size=3, made_on="cpu", renumber=True),
    ew.Layout("exact", threshold=1, split=False, renumber=True),
)


def graphs():
    """By name: directed and undirected, with rows of each kind; ids that are not indices, an order that stays."""
    random = np.random.default_rng(1)
    ends = random.integers(0, 12, (2, 40)), random.integers(0, 12, 20)
    source, target = np.append(ends[0][0], ends[1]), np.append(ends[0][1], np.full(20, 4))
    names = np.array([f"v{i}" for i in random.permutation(12)], dtype=object)
    yield "hub", ew.Graph.from_edges(names[source], names[target], random.integers(1, 9, 60)), names[5]
    yield "both ways", ew.generate.uniform(10, 16, seed=3, directed=False, weights=(1, 9)), 2
    yield "even", ew.Graph.from_edges(range(6), [*range(1, 6), 0], [2] * 6), 0


def programs(graph, source):
    """Programs with their values, and how far floats may be off."""
    yield layers.SSSP(source=source), 0.0
    yield layers.BFS(source=source), 0.0
    yield layers.Parents(**layers.values_for(graph) | {"root": source}), 0.0
    yield layers.PageRank(tol=1e-2), 1e-9
    if not graph.directed:
        yield layers.KCore(), 0.0


def check_limits():
    """A run has room for both graphs or is refused, with a number that suffices."""
    graph = ew.generate.uniform(10, 40, seed=2, weights=(1, 9))
    schedule, limits = ew.Schedule(ew.Buffered(), layout=LAYOUTS[0]), [0]
    while limits:
        try:
            got = ew.run(
                layers.SSSP(source=0), graph, device="cuda", schedule=schedule, memory_limit=limits[-1]
            )
            break
        except MemoryLimitError as refused:
            # What a run over the moved graph needs is known when that is there; then the number suffices.
            assert graph.placement is None and len(limits) < 20
            assert math.isinf(refused.needed) or not limits[0]
            limits.append(limits[-1] + 500 if math.isinf(refused.needed) else int(refused.needed))
            if not math.isinf(refused.needed):
                assert "on the GPU" in str(refused)
                limits[0] = 1
    assert limits[0] == 1
    layers.same(got, ew.run(layers.SSSP(source=0), graph, device="cpu"))


def check_full():
    """A GPU without room says so, and the number of bytes is not made up."""
    graph = ew.generate.uniform(10, 40, seed=2, weights=(1, 9))
    prepared = ew.prepare(
        layers.SSSP, graph, device="cuda", schedule=ew.Schedule(ew.Buffered(), layout=LAYOUTS[0])
    )
    with (
        mock.patch.object(Prepared, "run", side_effect=MemoryLimitError("full")),
        pytest.raises(MemoryLimitError, match="full"),
    ):
        prepared(source=0)
    assert "on the GPU" in ew.explain(prepared, source=0)
    with pytest.raises(ProgramError):
        ew.prepare(layers.Parents, graph, device="cuda", schedule=ew.Schedule(layout=LAYOUTS[0]))(
            root=0, toll=[1, [2]], start=[0] * 10, friend=[-1] * 10
        )


def check_changed_files():
    """What is kept of a graph from a file is not used once the file was written to."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "a.edgewise"
        ew.generate.uniform(10, 40, seed=2, weights=(1, 9)).save(path)
        prepared = ew.prepare(
            layers.SSSP, ew.load(path), device="cuda", schedule=ew.Schedule(layout=LAYOUTS[0])
        )
        prepared(source=0)
        with open(path, "r+b") as file:
            file.seek(-1, 2)
            file.write(b"x")
        with pytest.raises(FileChangedError):
            prepared(source=0)


def check_without_edges():
    """CuPy refuses to count in nothing; NumPy does not."""
    counted = np.bincount

    def bincount(values, minlength=0):
        assert len(values)
        return counted(values, minlength=minlength)

    graph = ew.Graph.from_edges([], [], num_vertices=4)
    with mock.patch.object(np, "bincount", bincount):
        got = ew.run(layers.PageRank(), graph, device="cuda", schedule=ew.Schedule(layout=LAYOUTS[0]))
    np.testing.assert_allclose(got.rank, 0.25)


def main():
    """Print what agreed; the exit code is 1 where something does not."""
    pretend()
    from edgewise.layout import units

    units.HEAVY, units.HEAVIEST = 3, 8
    if sys.argv[1:] == ["warps"]:
        with_warps()
    for name, graph, source in graphs():
        for program, tolerance in programs(graph, source):
            expected = ew.run(program, graph, device="cpu")
            for layout in LAYOUTS:
                for delivery in DELIVERIES:
                    prepared = ew.prepare(
                        type(program), graph, device="cuda", schedule=ew.Schedule(delivery, layout=layout)
                    )
                    for _ in range(2):  # the second run works in what the first one left
                        got = prepared(**program.values)
                        layers.same(got, expected, tolerance)
                        assert "vertices are numbered by their rows" in got.explain()
        print(name, flush=True)
    check_limits()
    check_full()
    check_without_edges()
    check_changed_files()
    print("limits", flush=True)


if __name__ == "__main__":
    main()
