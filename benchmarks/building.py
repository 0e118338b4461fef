"""Files of graphs from edges that need not fit in memory, and graphs made in memory: `python -m benchmarks.building`.

R-MAT edges are made in pieces, a seed for each, renumbered and shuffled within the piece, and written to a file of
integers, which every case reads again in pieces; its reading is part of every time. Each case is a process of its own,
and runs once after a small run that loads compiled code. The peak is that of the process as Linux counts it, Python and
NumPy included; bytes written and read are those of the process's system calls, without the edges, so that they do not
depend on what the system keeps in memory. All files have to be the same. See docs/building.md.
"""

import argparse
import filecmp
import json
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np

import edgewise as ew
from benchmarks.results import rows_file

#: Edges that are made with one seed, and those of a piece that is handed over.
_MADE, _PIECE = 2**22, 2**18
#: An odd number: multiples of it, modulo a power of two, are a permutation.
_FACTOR = 2654435761
#: Options of each case; "memory" makes the graph in memory and saves it.
CASES: dict[str, dict[str, Any]] = {
    "built": {},
    "memory": {},
    "built, in-edges": {"in_edges": True},
    "memory, in-edges": {"in_edges": True},
    "built, ids found": {"num_vertices": None},
    "memory, ids found": {"num_vertices": None},
    "built, undirected, float32 weights": {"directed": False, "weights": True},
}


@dataclass(frozen=True)
class Line:
    """A line of the results; times in seconds, the rest in bytes."""

    case: str
    vertices: int
    edges: int
    limit: int | None
    seconds: float
    edges_per_second: float
    before: int
    peak: int
    written: int
    read: int
    file: int


def make_edges(path: Path, scale: int, num_edges: int) -> None:
    """Write R-MAT edges as pairs of int32."""
    n, random = 1 << scale, np.random.default_rng(1)
    with path.open("wb") as file:
        for seed in range(num_edges // _MADE):
            graph = ew.generate.rmat(scale, _MADE / n, seed=seed, shuffle=False)
            order = random.permutation(_MADE)
            ends = np.stack([graph.sources[order], graph.targets[order]], axis=1)
            ((ends.astype(np.int64) * _FACTOR) & (n - 1)).astype(np.int32).tofile(file)


def pieces(path: Path, weights: bool) -> Iterator[tuple[np.ndarray, ...]]:
    """The edges of a file in pieces."""
    with path.open("rb") as file:
        while len(ends := np.fromfile(file, np.int32, 2 * _PIECE)):
            source, target = np.ascontiguousarray(ends.reshape(-1, 2).T)
            yield (source, target, (source ^ target).astype(np.float32)) if weights else (source, target)


def run(case: str, edges: Path, output: Path, scale: int, limit: int) -> Line:
    """Run a case in this process."""
    options = {"num_vertices": 1 << scale, **CASES[case]}
    weights = options.pop("weights", False)
    in_memory = case.startswith("memory")
    for _ in range(2):
        _make(in_memory, [next(pieces(edges, weights))], output, options, limit)
    num_edges = edges.stat().st_size // 8
    before, counted = _status("VmRSS"), _io()
    Path("/proc/self/clear_refs").write_text("5")
    started = time.perf_counter()
    _make(in_memory, pieces(edges, weights), output, options, limit)
    seconds = time.perf_counter() - started
    after = _io()
    return Line(
        case,
        1 << scale,
        num_edges,
        None if in_memory else limit,
        round(seconds, 2),
        round(num_edges / seconds),
        before,
        _status("VmHWM"),
        after["wchar"] - counted["wchar"],
        after["rchar"] - counted["rchar"] - edges.stat().st_size,
        output.stat().st_size,
    )


def _make(in_memory: bool, parts: Any, output: Path, options: dict[str, Any], limit: int) -> None:
    """Make a file of the edges in pieces."""
    if not in_memory:
        ew.build(output, parts, memory_limit=limit, **options)
        return
    given = {name: value for name, value in options.items() if name != "in_edges"}
    columns = [np.concatenate(column) for column in zip(*parts, strict=True)]
    ew.Graph.from_edges(*columns, **given).save(output, in_edges=options.get("in_edges", False))


def _status(field: str) -> int:
    return 1024 * int(re.search(rf"{field}:\s+(\d+)", Path("/proc/self/status").read_text())[1])  # type: ignore[index]


def _io() -> dict[str, int]:
    lines = Path("/proc/self/io").read_text().splitlines()
    return {name: int(value) for name, value in (line.split(": ") for line in lines)}


def main() -> None:
    """Run all cases, and write a file of results."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--scale", type=int, default=24)
    parser.add_argument("--edges", type=float, default=200e6)
    parser.add_argument("--limit", type=float, default=500e6, help="bytes")
    parser.add_argument("--folder", type=Path, default=Path(tempfile.gettempdir()))
    parser.add_argument("--output", type=Path, help="a new CSV file")
    parser.add_argument("--case", help=argparse.SUPPRESS)
    parser.add_argument("--work", type=Path, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.case:
        line = run(given.case, given.work / "edges", given.work / "out", given.scale, int(given.limit))
        print(json.dumps(asdict(line)))
        return
    columns = [field.name for field in fields(Line)]
    with (
        rows_file(given.output, columns, 1, on_gpu=False) as write,
        tempfile.TemporaryDirectory(dir=given.folder) as folder,
    ):
        work = Path(folder)
        make_edges(work / "edges", given.scale, int(given.edges))
        for case in CASES:
            command = [sys.executable, "-m", "benchmarks.building", "--case", case, "--work", str(work)]
            command += ["--scale", str(given.scale), "--limit", str(given.limit)]
            said = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
            write(json.loads(said))
            print(said, end="", flush=True)
            _check_same(case, work)


def _check_same(case: str, work: Path) -> None:
    """Keep a file that was built; compare the one made in memory with the one built before."""
    if case.startswith("built"):
        (work / "out").replace(work / "built")
    elif not filecmp.cmp(work / "built", work / "out", shallow=False):
        raise SystemExit(f"{case}: the file differs from the one that was built")


if __name__ == "__main__":
    main()
