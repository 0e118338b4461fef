"""Measures what building a file takes of resident memory beside its limit: ``python tests/resident_building.py KIND``.

Prints a limit, the peak with it, and whether building was refused, for limits from 0 to one that is enough, and
for a larger one.
"""

import json
import re
import sys
import tempfile
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from resident import CLEAR, _settle, read_status

import edgewise as ew
from edgewise.errors import MemoryLimitError

PIECE, FEW = 50_000, 2_000
LARGER = 100_000_000


def uniform(count: int, n: int, factor: int = 1, weights: str | None = None) -> Iterator[tuple]:
    """Random ends, multiples of `factor`."""
    random = np.random.default_rng(1)
    for _ in range(count // PIECE):
        ends = factor * random.integers(0, n, (2, PIECE))
        yield (*ends, *([] if weights is None else [random.integers(1, 9, PIECE).astype(weights)]))


def hub(count: int) -> Iterator[tuple]:
    """Half of all edges start at one vertex."""
    for source, target in uniform(count, 20_000):
        yield np.where(target % 2, source, 7), target


def names(count: int) -> Iterator[tuple]:
    """Ends with names."""
    for source, target in uniform(count, 60_000):
        for first in range(0, PIECE, FEW):
            ends = source[first : first + FEW], target[first : first + FEW]
            yield tuple([f"town {v}" for v in each.tolist()] for each in ends)


def lines(folder: Path, write: Any) -> Path:
    """A file of text."""
    path = folder / "edges.txt"
    with path.open("w", encoding="utf-8") as file:
        for source, target in uniform(2_000_000, 150_000):
            ends = zip(source.tolist(), target.tolist(), strict=True)
            file.writelines(write(u, v) for u, v in ends)
    return path


CASES: dict[str, tuple[Any, dict[str, Any]]] = {
    "indices": (lambda folder: uniform(12_000_000, 10**6), {"num_vertices": 10**6}),
    "marked ids": (lambda folder: uniform(6_000_000, 10**6, 2), {}),
    "ids in order": (lambda folder: uniform(6_000_000, 10**6, 10**9), {}),
    "all options": (
        lambda folder: uniform(4_000_000, 10**5, 1, "float64"),
        {"directed": False, "parallel_edges": "sum", "self_loops": "drop"},
    ),
    "in-edges": (lambda folder: uniform(6_000_000, 10**6, 1, "int32"), {"in_edges": True}),
    "many vertices": (lambda folder: uniform(2_000_000, 10**6), {"num_vertices": 6 * 10**7}),
    "a hub": (lambda folder: hub(8_000_000), {"in_edges": True}),
    "a hub, merged": (lambda folder: hub(8_000_000), {"parallel_edges": "first"}),
    "names": (lambda folder: names(1_000_000), {}),
    "text": (lambda folder: lines(folder, lambda u, v: f"{u} {v}\n"), {}),
    "text of names": (lambda folder: lines(folder, lambda u, v: f"ж{u} town{v % 1000}\n"), {}),
}


def measure(kind: str) -> list[tuple[int, int, bool]]:
    """The limits, the peaks, and whether building was refused."""
    make, options = CASES[kind]
    folder = Path(tempfile.mkdtemp())
    warnings.simplefilter("ignore")
    edges = make(folder)
    small = [next(iter(edges))] if not isinstance(edges, Path) else folder / "small.txt"
    if isinstance(edges, Path):
        with edges.open(encoding="utf-8") as file:
            small.write_text("".join(next(file) for _ in range(9)), encoding="utf-8")
    for limit in (9e7, None):  # loads compiled code
        ew.build(folder / "small.edgewise", small, memory_limit=limit, **options)
    limit, measured = 0, []
    while not measured or measured[-1][2]:
        measured.append(_peak(make, folder, options, limit))
        limit = max(measured[-1][3], int(1.1 * limit))
    measured.append(_peak(make, folder, options, LARGER))
    return [each[:3] for each in measured]


def _peak(make: Any, folder: Path, options: dict[str, Any], limit: int) -> tuple[int, int, bool, int]:
    """The limit, the peak, whether it was refused, and the least limit that was said then."""
    edges = folder / "edges.txt" if (folder / "edges.txt").exists() else make(folder)
    _settle()
    before = read_status("VmRSS")
    CLEAR.write_text("5")
    least = 0
    try:
        ew.build(folder / "built.edgewise", edges, memory_limit=limit, **options)
    except MemoryLimitError as error:
        least = int(re.search(r"at least ([\d,]+) bytes", str(error))[1].replace(",", ""))
    return limit, read_status("VmHWM") - before, least > 0, least


if __name__ == "__main__":
    print(json.dumps(measure(sys.argv[1])))
