"""What was measured, a row for each call, as CSV."""

import csv
import datetime
import platform
from collections.abc import Iterable
from dataclasses import asdict, dataclass, fields
from pathlib import Path

from edgewise.kernels.cpu.team import available_threads


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


def machine() -> dict[str, str | int]:
    """The columns of a row that say where and when."""
    return {
        "date": datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%d"),
        "machine": processor_name(),
        "cores": available_threads(),
        "python": platform.python_version(),
    }


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


def write_rows(path: Path, rows: Iterable[Row]) -> None:
    """Write rows as CSV, times to four significant digits."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(field.name for field in fields(Row))
        for row in rows:
            values = asdict(row).values()
            writer.writerow(f"{value:.4g}" if isinstance(value, float) else value for value in values)


def read_rows(path: Path) -> list[Row]:
    """The rows of a file that `write_rows` wrote."""
    with path.open(newline="", encoding="utf-8") as file:
        return [Row(**{f.name: f.type(line[f.name]) for f in fields(Row)}) for line in csv.DictReader(file)]
