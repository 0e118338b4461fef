"""Files of graphs from a text, by one process and by ranks: `python -m benchmarks.building_ranks --output FILE.csv`.

An R-MAT graph is written as an edge list. Each case is one process, or ranks that torchrun starts, of one machine, and
share its processors. After a small text, for compiled code, the text is built `--repeat` times; the time is
the median of the slowest rank, from when all are ready. A peak is that of one process as Linux counts it, the largest
of all ranks and times, without what it had before. All files have to be the same. See docs/distributed.md.
"""

import argparse
import filecmp
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import edgewise as ew
from benchmarks.building import _status
from benchmarks.results import at_least_one, rows_file
from edgewise.kernels.cpu.team import available_threads

FIELDS = ("case", "ranks", "threads", "vertices", "edges", "limit", "seconds", "before", "peak", "text_bytes")
#: Options of each case; ids are found, unless their number is given.
CASES: dict[str, dict[str, Any]] = {"ids found": {}, "in-edges": {"in_edges": True}, "declared": {}}


def as_rank(work: Path, case: str, limit: int, repeat: int) -> None:
    """Build the file in this process, and print what it took."""
    distributed = "RANK" in os.environ
    options = {"distributed": distributed, "memory_limit": limit, **CASES[case]}
    if case == "declared":
        options["num_vertices"] = json.loads((work / "declared").read_text())
    ew.build(work / "small.edgewise", work / "small.txt", **options)
    before, peak, seconds = _status("VmRSS"), 0, []
    for _ in range(repeat):
        Path("/proc/self/clear_refs").write_text("5")
        _meet(distributed)
        started = time.perf_counter()
        ew.build(work / "out.edgewise", work / "edges.txt", **options)
        seconds.append(time.perf_counter() - started)
        peak = max(peak, _status("VmHWM") - before)
    print(json.dumps({"seconds": seconds, "before": before, "peak": peak}), flush=True)


def _meet(distributed: bool) -> None:
    if distributed:
        from edgewise.engine.distributed.group import connect

        connect().total(0)


def measured(work: Path, case: str, ranks: int, given: argparse.Namespace) -> dict[str, Any]:
    """A row of a case on so many ranks."""
    threads = max(1, available_threads() // ranks)
    launcher = (
        ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", str(ranks)] if ranks > 1 else []
    )
    command = [
        sys.executable,
        *launcher,
        "-m",
        "benchmarks.building_ranks",
        "--work",
        str(work),
        "--case",
        case,
    ]
    command += ["--limit", str(given.limit), "--repeat", str(given.repeat)]
    environment = {**os.environ, "EDGEWISE_NUM_THREADS": str(threads)}
    said = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, env=environment).stdout
    found = [
        json.loads(f"{{{each}") for each in said.split("{")[1:]
    ]  # lines of ranks may run into each other
    seconds = statistics.median(map(max, zip(*(each["seconds"] for each in found), strict=True)))
    most = {name: max(each[name] for each in found) for name in ("before", "peak")}
    return {"case": case, "ranks": ranks, "threads": threads, "seconds": round(seconds, 2), **most}


def main() -> None:
    """Run all cases, and write a file of rows."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--scale", type=int, default=20)
    parser.add_argument("--edges", type=float, default=1e7)
    parser.add_argument("--limit", type=float, default=200e6, help="bytes")
    parser.add_argument("--ranks", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--repeat", type=at_least_one, default=3)
    parser.add_argument("--output", type=Path, help="a .csv file")
    parser.add_argument("--case", help=argparse.SUPPRESS)
    parser.add_argument("--work", type=Path, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.case:
        as_rank(given.work, given.case, int(given.limit), given.repeat)
        return
    with (
        tempfile.TemporaryDirectory() as folder,
        rows_file(given.output, FIELDS, given.repeat, False) as write,
    ):
        work = Path(folder)
        n = 1 << given.scale
        for name, edges in (("small.txt", 20_000), ("edges.txt", int(given.edges))):
            ew.write(ew.generate.rmat(given.scale, edges / n, seed=1), work / name)
        (work / "declared").write_text(str(n))
        graph = ew.generate.rmat(given.scale, given.edges / n, seed=1)
        sizes = {"vertices": n, "edges": graph.num_edges, "text_bytes": (work / "edges.txt").stat().st_size}
        for case in CASES:
            for ranks in given.ranks:
                row = measured(work, case, ranks, given)
                write(row | sizes | {"limit": int(given.limit)})
                print(row, flush=True)
                if ranks != given.ranks[0] and not filecmp.cmp(
                    work / "out.edgewise", work / "first", shallow=False
                ):
                    raise SystemExit(f"{case}: the file of {ranks} ranks differs")
                (work / "out.edgewise").replace(work / "first")


if __name__ == "__main__":
    main()
