"""The reproduction of WolfPath: its single sweep and ours, kernels, tables and figures from measured rows."""

import csv
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from simulated import simulated
from wolfpath_sweeps import GRAPHS, Edges, paper_lists, shortest, swept, whole_lists

import edgewise as ew

gpu = pytest.importorskip(
    "edgewise.kernels.cuda.compile", reason="numba-cuda is not installed", exc_type=ImportError
)

from benchmarks.papers import (  # noqa: E402
    wolfpath,
    wolfpath_kernel,
    wolfpath_near_far,
    wolfpath_tables,
)
from benchmarks.papers.wolfpath_tables import Found, blocks, claims_table  # noqa: E402
from benchmarks.table import fill  # noqa: E402

DOCUMENT = Path(__file__).parent.parent / "docs" / "papers" / "wolfpath.md"
MEASURED = (
    DOCUMENT.parent.parent.parent / "benchmarks" / "results" / "papers" / "wolfpath-2026-11-28-H100.csv"
)
FIGURES, H100 = 8, (9, 0)
Write = Callable[..., Path]


def in_layers(edges: Edges, root: int, num_vertices: int, **how: Any) -> list[float]:
    """Distances by edgewise over layers from the root."""
    source, target, weight = (np.array(column, np.int32) for column in zip(*edges, strict=True))
    graph = ew.Graph.from_edges(source, target, weight, num_vertices=num_vertices)
    found = ew.sssp(graph, root, schedule=ew.Schedule(layout=ew.Layered(root)), **how)
    assert "which the graph keeps" in found.explain() and found.verify(graph)
    none = np.iinfo(found.distance.dtype).max
    return [math.inf if each == none else float(each) for each in found.distance.tolist()]


@pytest.mark.parametrize(
    ("name", "by_paper", "by_all_edges", "right"),
    [
        ("second parent", [0, 10, 1, 11], [0, 10, 1, 2], [0, 10, 1, 2]),
        ("back", [0, 1, 10, 2, 11], [0, 1, 3, 2, 11], [0, 1, 3, 2, 4]),
        ("same layer", [0, 1, 2, 3], [0, 1, 2, 11], [0, 1, 2, 3]),
    ],
)
def test_a_single_sweep_loses_distances_and_layers_of_edgewise_do_not(
    name: str, by_paper: list[float], by_all_edges: list[float], right: list[float]
) -> None:
    edges, n = GRAPHS[name], len(right)
    assert swept(paper_lists(edges, 0), 0, n) == by_paper
    assert swept(whole_lists(edges, 0), 0, n) == by_all_edges
    assert shortest(edges, 0, n) == right
    assert in_layers(edges, 0, n) == right


def test_single_sweeps_are_often_wrong_on_drawn_graphs_and_never_too_short() -> None:
    random, wrong = np.random.default_rng(1), [0, 0]
    for _ in range(40):
        n = int(random.integers(3, 9))
        edges = [(*map(int, random.integers(0, n, 2)), int(random.integers(1, 10))) for _ in range(3 * n)]
        right = shortest(edges, 0, n)
        for i, lists in enumerate((paper_lists(edges, 0), whole_lists(edges, 0))):
            found = swept(lists, 0, n)
            assert all(each >= best for each, best in zip(found, right, strict=True))
            wrong[i] += found != right
        assert in_layers(edges, 0, n) == right
    assert min(wrong) > 0


@pytest.mark.gpu
@pytest.mark.parametrize("name", GRAPHS)
def test_sweeps_of_edgewise_lose_no_distance_on_a_gpu(name: str) -> None:
    n = 1 + max(target for _, target, _ in GRAPHS[name])
    assert in_layers(GRAPHS[name], 0, n, device="cuda") == shortest(GRAPHS[name], 0, n)


@pytest.mark.more
def test_every_way_gives_the_right_answer_in_the_simulator() -> None:
    names = ["lattice", "skewed", "second parent", "back", "same layer", "one pass", "rows"]
    assert simulated("simulate_wolfpath.py") == names


@pytest.mark.more
@pytest.mark.parametrize("weighted", [False, True], ids=["lengths 1", "weights"])
@pytest.mark.parametrize("way", wolfpath_kernel.WAYS)
def test_sweeps_compile(way: str, weighted: bool) -> None:
    for make, signature in (
        (wolfpath_kernel.make_step, wolfpath_kernel.step_signature()),
        (wolfpath_kernel.make_whole, wolfpath_kernel.whole_signature()),
    ):
        assert b".text.kernel" in gpu.compile_kernel(make(way, weighted), signature, H100, None)


@pytest.mark.more
@pytest.mark.parametrize(
    "weighted", [pytest.param(False, marks=pytest.mark.slow), True], ids=["lengths 1", "weights"]
)
def test_near_and_far_with_a_flag_on_the_host_and_on_the_gpu_compile(weighted: bool) -> None:
    for make, signature in (
        (wolfpath_near_far.make_step, wolfpath_near_far.step_signature()),
        (wolfpath_near_far.make_whole, wolfpath_near_far.whole_signature()),
    ):
        assert b".text.kernel" in gpu.compile_kernel(make(weighted), signature, H100, None)


@pytest.mark.more
def test_supersteps_over_shards_compile() -> None:
    signature = wolfpath_kernel.shard_step_signature()
    for teams in (1, 4):
        kernel = wolfpath_kernel.make_shard_step(teams)
        assert b".text.kernel" in gpu.compile_kernel(kernel, signature, H100, None)


@pytest.mark.gpu
def test_all_rows_are_right_on_a_gpu(tmp_path: Path) -> None:
    from benchmarks.papers import wolfpath_trace
    from benchmarks.papers.load_balancing_setup import uniform_on_gpu

    case = wolfpath.Case("uniform", uniform_on_gpu(3000, 9000, 1))
    found = [*wolfpath.flag_rows(case, 1), *wolfpath.list_rows(case, 1)]
    found += [*wolfpath.preprocessing_rows(case, tmp_path), *wolfpath.beyond_rows(12, "64MB", tmp_path)]
    found += wolfpath_trace.trace_rows(case, 1)
    assert {"kernel", "copy"} < {row["system"] for row in found}
    kept = [row for row in found if row["system"] != wolfpath.ONE_PASS]
    assert [row for row in kept if not row.get("right", True)] == []


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """Makes a CSV file of rows."""

    def written(*rows: dict[str, object]) -> Path:
        path = tmp_path / "rows.csv"
        with open(path, "w", newline="") as file:
            writer = csv.DictWriter(file, wolfpath.FIELDS)
            writer.writeheader()
            writer.writerows(rows)
        return path

    return written


@pytest.fixture
def rows() -> list[dict[str, object]]:
    """Both programs on road-NE, its memory, files and lists, and a graph beyond memory."""
    known = {"graph": "road-NE", "vertices": 100, "edges": 300, "layers": 40, "lists": 3, "right": True}
    found: list[dict[str, object]] = []
    times = {"edge list": 12, "VWC-like": 40, "CuSha-like": 20, "frontier": 10, "near and far": 6}
    for program in ("BFS", "SSSP"):
        flags = known | {"part": "flags", "program": program, "transfer_ms": 5, "iterations": 40}
        apart = {"launching_us": 10, "waiting_us": 90, "computing_us": 50, "copying_us": 25}
        for system, ms in times.items():
            found.append(flags | {"system": system, "flag": "host", "ms": ms, "iterations": 41} | apart)
            found.append(flags | {"system": system, "flag": "GPU", "ms": ms / 4, "iteration_us": 45})
        known_flag = "known" if program == "BFS" else "GPU"
        found.append(flags | {"system": "joined lists", "flag": known_flag, "ms": 4})
        found.append(flags | {"system": "Layered", "flag": "GPU", "ms": 2})
        for system, ms in (("CPU, file, 4 threads", 600), ("GPU, limit", 6), ("GPU, limit, Layered", 3)):
            beyond = {"part": "beyond", "graph": "rmat23", "program": program, "right": True}
            found.append(beyond | {"system": system, "ms": ms})
        for edges, ms in ((1, 9), (270_336, 6)):
            found.append(
                known
                | {"part": "lists", "program": program, "system": "joined lists"}
                | {"flag": "GPU", "min_edges": edges, "ms": ms}
            )
    found.append(flags | {"system": "edge list", "flag": "known", "program": "BFS", "ms": 3})
    found.append(
        flags | {"system": "joined lists, one pass", "flag": "known", "wrong_percent": 12.5, "right": False}
    )
    sizes = {"CSR": 1600, "layered edge list": 2400, "layers": 2000, "concatenated windows": 4800}
    memory = known | {"part": "memory", "weight_bytes": 1200}
    found += [memory | {"system": system, "bytes": size} for system, size in sizes.items()]
    trace = known | {"part": "trace", "program": "SSSP"}
    deep = trace | {"graph": "lattice", "program": "BFS"}
    found += [deep | {"system": "Layered, whole", "ms": 2}, deep | {"system": "Layered, limit", "ms": 5}]
    found += [
        deep | {"system": "kernel", "start_ms": 0, "ms": 4},
        deep | {"system": "copy", "start_ms": 0, "ms": 1},
    ]
    found.append(deep | {"part": "flags", "system": "without layers", "flag": "GPU", "ms": 4})
    found.append(flags | {"system": "without layers", "flag": "GPU", "program": "BFS", "ms": 2})
    found += [
        trace | {"system": system, "ms": ms}
        for system, ms in (("without layers, limit", 9), ("Layered, limit", 6))
    ]
    found.append(trace | {"system": "kernel", "start_ms": 0, "ms": 4})
    found += [trace | {"system": "copy", "start_ms": start, "ms": 0.5} for start in (-0.25, 1, 2, 3.75)]
    made = known | {"part": "preprocessing"}
    found.append(made | {"system": "layers, GPU", "seconds": 0.006})
    found.append(made | {"system": "layers, CPU, file", "seconds": 0.02})
    found.append(made | {"system": "CuSha-like", "seconds": 0.01})
    return found


def cells(table: str, *first: str) -> list[str]:
    """The other cells of the row of a Markdown table that begins so."""
    lines = ([cell.strip() for cell in line.strip("|").split("|")] for line in table.splitlines())
    return next(line[len(first) :] for line in lines if line[: len(first)] == list(first))


def test_numbers_of_a_run(write: Write, rows: list[dict[str, object]]) -> None:
    found = Found(write(*rows))
    assert found.copying("road-NE", "BFS", "edge list") == 0.5
    assert found.waiting("road-NE", "BFS", "edge list") == 9
    assert found.without_host("road-NE", "SSSP", "VWC-like") == 4
    assert found.without_host("road-NE", "BFS", "edge list", "known") == 4
    assert found.speedup("road-NE", "BFS", "joined lists", "CuSha-like", "host") == 5
    assert found.speedup("road-NE", "SSSP", "Layered", "VWC-like", "GPU") == 5
    assert math.isnan(found.speedup("lattice", "SSSP", "Layered", "VWC-like", "GPU"))
    assert wolfpath_tables.apart_and_joined(found, "road-NE", "BFS", "joined lists") == (9, 6)


def test_wrong_answers_have_no_numbers(write: Write, rows: list[dict[str, object]]) -> None:
    rows[0]["right"] = False
    found = Found(write(*rows))
    assert math.isnan(found.without_host("road-NE", "BFS", "edge list"))
    assert (
        cells(claims_table(found), "every other answer is right")[2]
        == f"**no**, {len(rows) - 2} of {len(rows) - 1}"
    )


def test_tables(write: Write, rows: list[dict[str, object]]) -> None:
    made = blocks(Found(write(*rows)))
    assert cells(made["graphs"], "road-NE") == ["100", "300", "40", "3"]
    assert cells(made["bfs"], "road-NE", "edge list") == [
        "41",
        "40",
        "40",
        "12.000",
        "3.000",
        "3.000",
        "4.00",
    ]
    assert cells(made["copying"], "BFS", "road-NE", "frontier") == [
        "50.0", "25.0", "0.50", "10.0", "90.0", "9.00", "45.0",
    ]  # fmt: skip
    assert cells(made["speedups"], "SSSP", "road-NE") == [
        "5.00 / 1.25", "10.00 / 2.50", "10.00 / 2.50", "20.00 / 5.00",
    ]  # fmt: skip
    assert cells(made["breakdown"], "BFS", "road-NE") == ["5.00 + 4.00", "5.00 + 20.00", "5.00 + 40.00"]
    assert cells(made["beyond"], "GPU, limit") == ["6.0", "100.0", "6.0", "100.0"]
    assert cells(made["memory"], "road-NE")[:2] == ["0.0 (1.00, 1.00)", "0.0 (1.50, 1.29)"]
    assert cells(made["preprocessing"], "road-NE")[-1] == "10.0"
    assert cells(made["lists"], "BFS", "joined lists", "road-NE") == ["9.000", "6.000", "1.50"]
    assert cells(made["lists"], "SSSP", "Layered", "road-NE") == ["-", "-", "-"]
    assert cells(made["trace"], "road-NE") == ["9.00", "6.00", "4.00", "2.00", "0.75", "4"]


def test_claims(write: Write, rows: list[dict[str, object]]) -> None:
    table = claims_table(Found(write(*rows)))
    assert cells(table, "copying the flag / computing, a sweep")[1:] == ["0.50", "**no**, 0 of 10"]
    assert cells(table, "Layered over VWC-like, flag on the host")[1:] == ["mean 20.0, 20.00", "**no**"]
    frontier = "frontier, BFS on {}: one launch over a flag on the host"
    assert cells(table, frontier.format("road-NE"))[1:] == ["4.00", "**no**"]
    assert cells(table, frontier.format("lattice"))[1:] == ["-", "not measured"]
    beyond = "beyond the GPU's memory, over GraphChi (here CPU, file, 4 threads)"
    assert cells(table, beyond)[1:] == ["mean 150.0, 100.0 to 200.0", "**no**"]
    assert cells(table, "BFS on lattice from layers, ms") == ["goal 7.0", "2.00", "**yes**"]
    ratio = "BFS on lattice from layers beyond memory / {}"
    assert cells(table, ratio.format("the search in memory"))[1:] == ["1.25", "**yes**"]
    assert cells(table, ratio.format("layers in memory"))[1:] == ["2.50", "**no**"]
    assert cells(table, "making layers on the GPU / the search") == ["goal 3", "2.00", "**yes**"]
    assert cells(table, "memory of layers / CSR") == ["goal 1.4", "1.25", "**yes**"]
    assert cells(table, "memory of layers and places / CSR") == ["goal 1.4", "-", "not measured"]
    assert cells(table, "memory of layered edge list / CSR")[1:] == ["mean 1.50, 1.50", "**no**"]
    weighted = cells(table, "memory of layered edge list / CSR, with weights")
    assert weighted[1:] == ["mean 1.29, 1.29", "**yes**"]
    assert cells(table, "memory of compressed layers / CSR")[1:] == ["mean 1.25, 1.25", "**yes**"]
    assert cells(table, "SSSP: one pass over the lists is enough")[1:] == [
        "12.50% of the distances wrong",
        "**no**",
    ]
    assert cells(table, "optimisations")[1:] == ["1.50 by joined lists", "**yes**"]
    assert cells(table, "every other answer is right")[2] == "**yes**"


def test_the_document_has_a_place_for_every_table(write: Write, rows: list[dict[str, object]]) -> None:
    made, text = blocks(Found(write(*rows))), DOCUMENT.read_text()
    filled = fill(text, made)
    assert all(f"<!-- {name} -->\n{table}\n<!-- end -->" in filled for name, table in made.items())
    assert text.count("<!-- end -->") == len(made)


def test_the_document_has_the_tables_and_figures_of_the_measured_rows() -> None:
    text, made = DOCUMENT.read_text(), blocks(Found(MEASURED))
    assert fill(text, made) == text
    figures = [path.name for path in MEASURED.parent.glob("wolfpath-*.svg")]
    assert len(figures) == FIGURES
    assert all(f"(../../benchmarks/results/papers/{name})" in text for name in figures)


def test_figures_are_drawn(write: Write, rows: list[dict[str, object]]) -> None:
    pytest.importorskip("matplotlib")
    from benchmarks.papers.wolfpath_plots import draw

    path = write(*rows)
    draw(path)
    assert len(list(path.parent.glob("*.svg"))) == FIGURES
