"""PageRank and components of a graph in a file, within a memory limit: `python -m benchmarks.from_file --folder DIR`.

An R-MAT graph (both arcs of each edge) is built as a file in pieces, a seed for each, with vertices renumbered, unless
the folder has it. Each line is a process of its own, which runs the algorithm on a small file first, so that compiled
code is loaded; "cold" ones have the system forget all files before (that needs root). The first run checks the file as
it reads it. The peak is that of resident memory as Linux counts it, beyond what the process had before; `read` is what
came from the disk. See docs/memory.md.
"""

import argparse
import itertools
import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np

import edgewise as ew
from benchmarks.results import rows_file

#: Edges that are made with one seed.
_MADE = 2**22
#: An odd number: multiples of it, modulo a power of two, are a permutation.
_FACTOR = 2654435761
CASES = ("pagerank", "components")


@dataclass(frozen=True)
class Line:
    """A line of the results; times in seconds, the rest in bytes.

    Attributes:
        first: of the first run, with the check of the file.
        again: of a second run.
        iteration: of PageRank in the second run.
        peak, read: of both runs.
    """

    case: str
    cache: str
    vertices: int
    arcs: int
    file: int
    limit: str
    first: float
    again: float
    iteration: float | None
    peak: int
    read: int
    answer: str


def pieces(scale: int, num_edges: int) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """R-MAT edges."""
    n = 1 << scale
    for seed in range(num_edges // _MADE):
        graph = ew.generate.rmat(scale, _MADE / n, seed=seed, shuffle=False)
        source, target = (
            ((ends.astype(np.int64) * _FACTOR) & (n - 1)).astype(np.int32)
            for ends in (graph.sources, graph.targets)
        )
        yield source, target


def call(case: str, graph: ew.Graph, iterations: int, limit: str | None) -> Any:
    """The result of an algorithm."""
    if case == "pagerank":
        options = {"tol": 0, "max_iterations": iterations}
        return ew.pagerank(graph, device="cpu", memory_limit=limit, **options)  # type: ignore[arg-type]
    return ew.connected_components(graph, device="cpu", memory_limit=limit)


def run(given: argparse.Namespace) -> Line:
    """Run a case in this process."""
    limit = None if given.limit == "none" else given.limit
    call(given.case, ew.load(given.folder / "small.edgewise"), given.iterations, limit)
    path = given.folder / "graph.edgewise"
    if given.cache == "cold":
        os.sync()
        Path("/proc/sys/vm/drop_caches").write_text("3")
    graph, seconds = ew.load(path), []
    before, read = _status("VmRSS"), _read()
    Path("/proc/self/clear_refs").write_text("5")
    for _ in range(2):
        result = None
        started = time.perf_counter()
        result = call(given.case, graph, given.iterations, limit)
        seconds.append(round(time.perf_counter() - started, 2))
    values = result.rank if given.case == "pagerank" else result.component
    return Line(
        given.case,
        given.cache,
        graph.num_vertices,
        graph.num_arcs,
        path.stat().st_size,
        given.limit,
        seconds[0],
        seconds[1],
        round(seconds[1] / given.iterations, 2) if given.case == "pagerank" else None,
        _status("VmHWM") - before,
        _read() - read,
        f"{np.bitwise_xor.reduce(np.frombuffer(values.tobytes(), np.uint32)):08x}",
    )


def _status(field: str) -> int:
    return 1024 * int(re.search(rf"{field}:\s+(\d+)", Path("/proc/self/status").read_text())[1])  # type: ignore[index]


def _read() -> int:
    return int(re.search(r"read_bytes: (\d+)", Path("/proc/self/io").read_text())[1])  # type: ignore[index]


def measure(given: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """The lines of all cases, each of a process; they end if answers differ."""
    options: dict[str, Any] = {"directed": False, "memory_limit": given.limit}
    for name, scale, edges in (("small", 16, 2**22), ("graph", given.scale, int(given.edges))):
        path = given.folder / f"{name}.edgewise"
        if not path.exists():
            ew.build(path, pieces(scale, edges), num_vertices=1 << scale, **options)
    for case in CASES:
        answers = set()
        for limit, cache in itertools.product((given.limit, "none"), ("cold", "warm")):
            command = [sys.executable, "-m", "benchmarks.from_file", "--folder", str(given.folder)]
            command += ["--case", case, "--cache", cache, "--limit", limit]
            command += ["--iterations", str(given.iterations)]
            said = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
            print(said, end="", flush=True)
            line = json.loads(said)
            yield line
            answers.add(line["answer"])
        if len(answers) > 1:
            raise SystemExit(f"{case}: answers differ")


def main() -> None:
    """Make the graph, run all cases, and write a file of results."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--folder", type=Path, required=True, help="where the graph is, or is made")
    parser.add_argument("--scale", type=int, default=25)
    parser.add_argument("--edges", type=float, default=1e9)
    parser.add_argument("--limit", default="2 GB")
    parser.add_argument("--iterations", type=int, default=5)
    parser.add_argument("--output", type=Path, help="a new CSV file")
    parser.add_argument("--case", choices=CASES, help=argparse.SUPPRESS)
    parser.add_argument("--cache", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.case:
        print(json.dumps(asdict(run(given))))
        return
    with rows_file(given.output, [field.name for field in fields(Line)], 1, on_gpu=False) as write:
        for line in measure(given):
            write(line)


if __name__ == "__main__":
    main()
