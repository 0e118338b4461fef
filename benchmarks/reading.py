"""Reading edges from text, beside polars, pandas and NetworkX: `python -m benchmarks.reading --output FILE.csv`.

R-MAT edges in random order are written to files, which then lie in the system's cache: as SNAP writes them (two
integers and a tab between, behind comments), the same compressed with gzip, and as CSV with weights that have a
fraction. Each library reads each file into columns, edgewise also into a finished graph and NetworkX only into one: of
a part of the edges, since it is slow; its times are scaled. All take turns in one process and may use all cores. The
columns have to be those of polars. See docs/benchmarks.md.
"""

import argparse
import gzip
import importlib.metadata
import importlib.util
import shutil
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import edgewise as ew
from benchmarks.contenders import Job
from benchmarks.results import at_least_one, rows_file
from benchmarks.timing import measure_in_turns
from edgewise.io.budget import Budget
from edgewise.io.door import plan_file
from edgewise.io.lines import read_edges
from edgewise.io.options import ReadOptions

FIELDS = (
    "file", "megabytes", "edges", "contender", "version", "seconds", "fastest", "first_seconds", "times_polars",
    "right",
)  # fmt: skip
FILES = ("snap.txt", "snap.txt.gz", "weights.csv")
#: NetworkX reads one edge of this many.
_PART = 50
_COMMENTS = b"# Directed graph\n# FromNodeId\tToNodeId\n"


def make_files(folder: Path, scale: int, num_edges: int) -> None:
    """Write the files, and those of a part of the edges, whose names begin with "part"."""
    import polars

    random = np.random.default_rng(1)
    graph = ew.generate.rmat(scale, num_edges / 2**scale, seed=1)
    order = random.permutation(graph.num_arcs)
    ends = {"source": graph.sources[order], "target": graph.targets[order]}
    for count, name in ((graph.num_arcs, ""), (graph.num_arcs // _PART, "part ")):
        frame = polars.DataFrame({key: column[:count] for key, column in ends.items()})
        with (folder / f"{name}snap.txt").open("wb") as file:
            file.write(_COMMENTS)
            frame.write_csv(file, separator="\t", include_header=False)
        with (
            (folder / f"{name}snap.txt").open("rb") as file,
            gzip.open(folder / f"{name}snap.txt.gz", "wb", compresslevel=6) as packed,
        ):
            shutil.copyfileobj(file, packed)
        weights = random.random(count).round(6)
        frame.with_columns(weight=weights).write_csv(folder / f"{name}weights.csv")


def contenders(path: Path) -> dict[str, Callable[[], Job]]:
    """What reads a file, by name; "polars" is the first."""
    weighted = path.suffix == ".csv"
    how = {"separator": ","} if weighted else {"separator": "\t", "has_header": False, "comment_prefix": "#"}
    found: dict[str, Callable[[], Job]] = {
        "polars": lambda: Job(partial(_polars, path, how), _columns_of_frame, "columns"),
        "edgewise, columns": lambda: Job(partial(_columns, path), _columns_of_edges, "columns"),
        "edgewise, graph": lambda: Job(partial(ew.read, path), lambda graph: graph.num_edges, "graph"),
    }
    if importlib.util.find_spec("pandas"):
        found["pandas"] = lambda: Job(partial(_pandas, path, weighted), _columns_of_frame, "columns")
    if importlib.util.find_spec("networkx"):
        part = path.with_name(f"part {path.name}")
        found["networkx, graph"] = lambda: Job(partial(_networkx, part, weighted), len, "part")
    return found


def _polars(path: Path, how: dict[str, Any]) -> Any:
    import polars

    return polars.read_csv(path, **how)


def _pandas(path: Path, weighted: bool) -> Any:
    import pandas

    return pandas.read_csv(path) if weighted else pandas.read_csv(path, sep="\t", comment="#", header=None)


def _networkx(path: Path, weighted: bool) -> Any:
    import networkx

    if weighted:
        return networkx.read_weighted_edgelist(
            path, delimiter=",", comments="s", nodetype=int, create_using=networkx.MultiDiGraph
        )
    return networkx.read_edgelist(path, nodetype=int, create_using=networkx.MultiDiGraph)


def _columns(path: Path) -> Any:
    file, plan = plan_file(Budget.of(path, None), None, ReadOptions())
    return read_edges(file, plan.layout, plan.options, plan.skip)


def _columns_of_frame(frame: Any) -> list[np.ndarray]:
    return [np.asarray(frame[name]) for name in frame.columns]


def _columns_of_edges(edges: Any) -> list[np.ndarray]:
    return [column for column in (edges.source, edges.target, edges.weight) if column is not None]


def is_right(job: Job, answer: Any, expected: list[np.ndarray]) -> bool:
    """Whether an answer has the edges of columns."""
    if job.form == "columns":
        return all(map(np.array_equal, answer, expected)) and len(answer) == len(expected)
    if job.form == "graph":
        return bool(answer == len(expected[0]))
    return bool(answer == len(np.unique(np.stack(expected[:2])[:, : len(expected[0]) // _PART])))


def rows_of(path: Path, repeat: int) -> list[dict[str, Any]]:
    """A row for each contender that reads a file."""
    outcomes = measure_in_turns(contenders(path), repeat)
    for name, outcome in outcomes.items():
        if outcome.error is not None:
            raise SystemExit(f"{name} failed at {path.name}: {outcome.error!r}")
    first = outcomes["polars"]
    expected, alone = first.job.answer(first.result), first.timing.seconds
    rows = []
    for name, outcome in outcomes.items():
        scale = _PART if outcome.job.form == "part" else 1
        times = outcome.timing
        rows.append({
            "file": path.name,
            "megabytes": round(path.stat().st_size / 1e6, 1),
            "edges": len(expected[0]),
            "contender": name + f", 1/{_PART} of the edges, scaled" * (scale > 1),
            "version": importlib.metadata.version(name.split(",")[0]),
            "seconds": round(scale * times.seconds, 4),
            "fastest": round(scale * min(times.warm or [times.first]), 4),
            "first_seconds": round(scale * times.first, 4),
            "times_polars": round(scale * times.seconds / alone, 2),
            "right": "yes" if is_right(outcome.job, outcome.job.answer(outcome.result), expected) else "no",
            "repeat": len(times.warm),
        })  # fmt: skip
    return rows


def main() -> None:
    """Make the files, measure, and write the rows."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.reading", description=(__doc__ or "").split("\n")[0]
    )
    parser.add_argument("--scale", type=int, default=21, help="2**SCALE vertices (default: %(default)s)")
    parser.add_argument("--edges", type=float, default=10e6, help="(default: %(default).0f)")
    parser.add_argument("--repeat", type=at_least_one, default=9, help="rounds (default: %(default)s)")
    parser.add_argument("--output", type=Path, required=True, help="the CSV file")
    given = parser.parse_args()
    with (
        tempfile.TemporaryDirectory() as folder,
        rows_file(given.output, FIELDS, given.repeat, on_gpu=False) as write,
    ):
        make_files(Path(folder), given.scale, int(given.edges))
        for name in FILES:
            for row in rows_of(Path(folder, name), given.repeat):
                write(row)
                print(
                    f"{name:12} {row['contender']:52} {row['seconds']:8} s {row['times_polars']:8}",
                    flush=True,
                )


if __name__ == "__main__":
    main()
