"""What was measured, a row for each call, as CSV, and of which sources and on which machine."""

import argparse
import contextlib
import csv
import datetime
import itertools
import math
import os
import platform
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass, fields
from importlib.metadata import version
from pathlib import Path
from typing import Any

from edgewise.kernels.cpu.team import available_threads
from edgewise.kernels.door import cuda_door, cuda_problem

#: The last columns of all files of rows: how many calls were timed, of which sources, when and where.
PROVENANCE = ("repeat", "commit", "date", "machine")
#: The columns that say what a row is of: no two rows of a file have the same there.
NAMED_BY = (
    "part", "file", "graph", "edges", "case", "call", "run", "program", "algorithm", "technique", "contender", "what",
    "way", "system", "schedule", "strategy", "partition", "baseline", "cache", "limit", "locked", "layers", "lists",
    "flag", "min_edges", "memory", "buckets", "sources", "ranks", "threads", "grid", "threshold", "added",
    "confluence", "place", "rows", "core_fraction", "device", "start_ms",
)  # fmt: skip
#: The ends of the names of columns that are times, and those of them that are differences of such.
TIMES, DIFFERENCES = ("ms", "seconds"), ("start_ms",)
ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "benchmarks" / "results"


@dataclass(frozen=True)
class Row:
    """One contender at one task on one graph.

    Attributes:
        date, machine, cores, python: where and when.
        graph, vertices, arcs: an undirected edge counts as two arcs.
        algorithm, contender, version: what ran.
        seconds: the median of the warm calls.
        fastest: the shortest of them.
        first_seconds: the first call; compiling and converting included.
        prepare_seconds: what was done before it.
        calls: how many warm calls.
        verified: "yes", or what is wrong.
        note: where the work differs from that of the others.
        commit: see `commit`.
        source: the vertex from which searches and shortest paths go, or nothing.
        versions: those of NumPy and numba.
    """

    date: str
    machine: str
    cores: int
    python: str
    graph: str
    vertices: int
    arcs: int
    algorithm: str
    contender: str
    version: str
    seconds: float
    fastest: float
    first_seconds: float
    prepare_seconds: float
    calls: int
    verified: str
    note: str
    commit: str = ""
    source: str = ""
    versions: str = ""


def machine() -> dict[str, str | int]:
    """The columns of a row that say where and when."""
    return {
        "date": datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%d"),
        "machine": processor_name(),
        "cores": available_threads(),
        "python": platform.python_version(),
        "commit": commit(),
        "versions": _versions("numpy", "numba"),
    }


def _versions(*packages: str) -> str:
    return "; ".join(f"{name} {version(name)}" for name in packages)


def commit() -> str:
    """The commit of the sources, with a "+" behind it if files have changed since. Where there is no repository, what
    ``$EDGEWISE_COMMIT`` says, or nothing."""

    def git(*arguments: str) -> str:
        command = ["git", "-C", str(ROOT), *arguments]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()

    try:
        if Path(git("rev-parse", "--show-toplevel")).resolve() != ROOT:
            return os.environ.get("EDGEWISE_COMMIT", "")
        return git("rev-parse", "--short=12", "HEAD") + "+" * bool(git("status", "--porcelain", "-uno"))
    except (OSError, subprocess.CalledProcessError):
        return os.environ.get("EDGEWISE_COMMIT", "")


def end_without_gpu() -> None:
    """End the process if there is no GPU that can be used."""
    if problem := cuda_problem():
        sys.exit(f"this is measured on a GPU: {problem}")


def versions() -> str:
    """The GPU and the versions of what was used."""
    end_without_gpu()
    facts = cuda_door().facts()
    names = ("cuda_driver", "cupy", "numba-cuda", "cuda-core", "numpy")
    return "; ".join([facts["gpu"], *(f"{name} {facts[name]}" for name in names)])


def provenance(on_gpu: bool, also: str = "") -> dict[str, str]:
    """The columns `PROVENANCE` of what is measured now, without `repeat`. The machine has the versions before it, those
    of other programs that were used, ``also``, too."""
    here = f"{processor_name()}, {available_threads()} cores"
    used = versions() if on_gpu else f"python {platform.python_version()}; {_versions('numpy', 'numba')}"
    where = "; ".join(filter(None, (used, also, here)))
    return {"commit": commit(), "date": datetime.date.today().isoformat(), "machine": where}


def dated(where: str) -> Path:
    """Where rows of today are written if no file is named: the first of the names, then with a number, that is free."""
    name = f"{datetime.datetime.now(datetime.UTC):%Y-%m-%d}-{where}"
    paths = (RESULTS / f"{name}{f'-{number}' * (number > 1)}.csv" for number in itertools.count(1))
    return next(path for path in paths if not path.exists())


@contextlib.contextmanager
def new_csv(path: str | Path | None, columns: Iterable[str]) -> Iterator[Callable[[dict[str, Any]], None]]:
    """A new CSV file: a function that writes a row at once. A file that has got no row is removed again.

    The process ends if the file is there already, or cannot be written.

    Args:
        path: of the file; None if nothing is to be written.
        columns: their names.
    """
    if path is None:
        yield lambda row: None
        return
    path = Path(path)
    if path.is_file():
        sys.exit(f"{path} is there already, and is not overwritten; name another file: --output FILE.csv")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        file = path.open("w", newline="", buffering=1, encoding="utf-8")
    except OSError as error:
        sys.exit(f"{path} cannot be written: {error}; name another file: --output FILE.csv")
    count = 0

    def write(row: dict[str, Any]) -> None:
        nonlocal count
        writer.writerow(row)
        count += 1

    with file:
        writer = csv.DictWriter(file, list(columns), lineterminator="\n")
        writer.writeheader()
        try:
            yield write
        finally:
            if count == 0 and path.is_file():
                path.unlink()


@contextlib.contextmanager
def rows_file(
    path: str | Path | None, columns: Iterable[str], repeat: int, on_gpu: bool = True, also: str = ""
) -> Iterator[Callable[[dict[str, Any]], None]]:
    """A new CSV file of rows with these columns and those of `PROVENANCE`: a function that writes a row at once.

    Args:
        path: as in `new_csv`.
        columns: their names.
        repeat: how many calls were timed, of rows that do not say.
        on_gpu: whether on a GPU.
        also: versions of what else was used, by semicolons.
    """
    where = provenance(on_gpu, also)
    print(where["machine"], flush=True)
    with new_csv(path, [*columns, *PROVENANCE]) as write:
        yield lambda row: write({"repeat": repeat} | row | where)


def processor_name() -> str:
    """The processor's model, as the system reports it."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    values = dict(line.split(":", 1) for line in lines if ":" in line)
    names = {key.strip(): value.strip() for key, value in values.items()}
    if "model name" not in names:
        return platform.machine()
    return f"{names['model name']}, family {names.get('cpu family', '?')} model {names.get('model', '?')}"


def write_rows(path: Path | None, rows: Iterable[Row]) -> list[Row]:
    """Write rows as CSV, each as soon as it is made, times to four significant digits; see `new_csv`. Return them."""
    written = []
    with new_csv(path, [field.name for field in fields(Row)]) as write:
        for row in rows:
            values = asdict(row).items()
            write({name: f"{value:.4g}" if isinstance(value, float) else value for name, value in values})
            written.append(row)
    return written


def csv_rows(path: str | Path) -> list[dict[str, str]]:
    """The rows of a CSV file, each a dict of texts by columns."""
    with open(path, newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file, strict=True))


def given_rows(path: str | Path, columns: Iterable[str]) -> list[dict[str, str]]:
    """The rows of a CSV file that a user names; if it is no file with rows of these columns, the process ends."""
    try:
        found = csv_rows(path)
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        sys.exit(f"{path}: {error}; expected a CSV file of rows that this program has measured")
    lacking = [name for name in columns if not found or name not in found[0]]
    if lacking or any(None in (*row, *row.values()) for row in found):  # of another length than the head
        what = (
            f"lacks the columns {', '.join(lacking)}" if found and lacking else "has no rows, or broken ones"
        )
        sys.exit(f"{path} {what}; expected a CSV file of rows that this program has measured")
    for number, row in enumerate(found, 1):
        for name, text in row.items():
            if text and name.endswith(TIMES) and name not in DIFFERENCES and not _is_time(text):
                sys.exit(
                    f"{path}: row {number}, of {named(row)}, has {name} {text!r}; expected a time, or nothing"
                )
    return distinct(path, found)


def _is_time(text: str) -> bool:
    """Whether a text is a time, or NaN, which stands for one that was not measured."""
    try:
        time = float(text)
    except ValueError:
        return False
    return 0 <= time < math.inf or math.isnan(time)


def distinct(path: str | Path, rows: list[dict[str, str]]) -> list[dict[str, str]]:
    """The rows of a file, of which no two are of the same. If two are, the process ends."""
    places: dict[tuple[str, ...], int] = {}
    for number, row in enumerate(rows, 1):
        first = places.setdefault(tuple(row.get(name, "") for name in NAMED_BY), number)
        if first != number:
            sys.exit(
                f"{path}: rows {first} and {number} are both of {named(row)}; remove the one that does not count"
            )
    return rows


def named(row: dict[str, str]) -> str:
    """What a row is of."""
    return ", ".join(row[name] for name in NAMED_BY if row.get(name))


@contextlib.contextmanager
def all_needed(*paths: str | Path) -> Iterator[None]:
    """Tables are made of the rows of files. If one needs rows or numbers that are not there, the process ends."""
    try:
        yield
    except (LookupError, ValueError, StopIteration) as error:
        why = f"{type(error).__name__}: {error}"
        sys.exit(
            f"{' and '.join(map(str, paths))}: no table can be made ({why}); expected all rows of a program"
        )


def at_least_one(text: str) -> int:
    """A number of calls to time, as an argument of a command."""
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of at least 1")
    return int(text)


def as_rows(lines: Iterable[dict[str, str]]) -> list[Row]:
    """The rows of a file that `write_rows` wrote."""
    return [Row(**{f.name: f.type(line[f.name]) for f in fields(Row) if f.name in line}) for line in lines]


def read_rows(path: Path) -> list[Row]:
    """The rows of a file that `write_rows` wrote."""
    return as_rows(csv_rows(path))
