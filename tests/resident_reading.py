"""Measures what reading a file takes of resident memory beside its limit: ``python tests/resident_reading.py KIND``.

Prints a limit, the peak with it, and whether the file was refused, for each limit from 0 to the one that is enough.
"""

import json
import re
import sys
import tempfile
import warnings
from pathlib import Path

from resident import CLEAR, _settle, read_status

import edgewise as ew
from edgewise.errors import MemoryLimitError

LINES = {
    "long names": (8_000, lambda i: f"{'x' * 3000}{i} a\n"),
    "long names of wide characters": (8_000, lambda i: f"{'x' * 3000}\U0001f600{i} a\n"),
    "names": (200_000, lambda i: f"ж{i} n{i // 3}\n"),
    "weights that Python reads": (400_000, lambda i: "0 1 1e23\n"),
    "long integers": (100_000, lambda i: f"1{i:025d} 2{i // 5:025d}\n"),
    "integers": (800_000, lambda i: f"{i} {i // 7}\n"),
}


def measure(kind: str) -> list[tuple[int, int, bool]]:
    """The limits, the peaks, and whether the file was refused."""
    count, line = LINES[kind]
    folder = Path(tempfile.mkdtemp())
    for name, lines in (("small.txt", 20), ("large.txt", count)):
        (folder / name).write_text("".join(map(line, range(lines))), encoding="utf-8")
    warnings.simplefilter("ignore")
    ew.read(folder / "small.txt")  # loads compiled code
    limit, measured = 0, []
    while not measured or measured[-1][2]:
        _settle()
        before = read_status("VmRSS")
        CLEAR.write_text("5")
        graph = refusal = None
        try:
            graph = ew.read(folder / "large.txt", memory_limit=limit)
        except MemoryLimitError as error:
            refusal = str(error)
        measured.append((limit, read_status("VmHWM") - before, refusal is not None))
        if refusal:
            sizes = re.search(
                r"at least ([\d,]+) bytes of memory(?:, and about ([\d,]+) for the whole)?", refusal
            )
            limit = int((sizes[2] or sizes[1]).replace(",", ""))
    assert graph.num_arcs == count
    return measured


if __name__ == "__main__":
    print(json.dumps(measure(sys.argv[1])))
