"""Measures what a call takes of resident memory beside what edgewise says that it needs, in a process of its own.

``python tests/resident.py CASE...`` prints a line for each case; `measured` does one for a test.
"""

import contextlib
import ctypes
import functools
import gc
import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

import numpy as np

sys.path.insert(0, str(Path(__file__).parent.parent / "examples"))

STATUS, CLEAR = Path("/proc/self/status"), Path("/proc/self/clear_refs")
#: What a peak may be above the limit: a share of it, and bytes, for threads' stacks and what allocators round up.
SHARE, SLACK = 1.05, 10_000_000


class Case(NamedTuple):
    """A call, as text, on a graph by its name; see `make_graph`, and `_prepared` for the names in the text. `given` is
    what that calls `given`, made before."""

    graph: str
    call: str
    given: str = "{}"


class Measured(NamedTuple):
    """Bytes: what edgewise says that it needs, the peak with that for the limit; and both for the next call."""

    needed: int
    peak: int
    again: int
    later: int

    @property
    def is_within(self) -> bool:
        pairs = (self.peak, self.needed), (self.later, self.again)
        return all(peak <= SHARE * needed + SLACK for peak, needed in pairs)


def _graph(kind: str, size: float) -> tuple[np.ndarray, np.ndarray, int]:
    """The ends of edges, and the number of vertices: `size` times those of the full graph."""
    random = np.random.default_rng(1)
    n, m = {
        "plain": (300_000, 4_000_000),
        "long": (4_000_000, 2_000_000),
        "parallel": (2_000, 4_000_000),
        "star": (3_000_000, 3_000_000),
        "sink": (3_000_000, 3_000_000),
        "clique": (1_000, 1_000_000),
        "many": (1_000_000, 3_000_000),
        "growing": (700_000, 700_000),
    }[kind]
    n, m = max(20, int(n * size)), max(60, int(m * size))
    if kind in ("star", "sink"):
        m = n - 1
        leaves, centre = np.arange(1, n, dtype=np.int32), np.zeros(m, np.int32)
        return (centre, leaves, n) if kind == "star" else (leaves, centre, n)
    skewed = (n * random.random(m) ** 3).astype(np.int32)
    return skewed, random.integers(0, n, m, dtype=np.int32), n


def make_graph(name: str, size: float = 1.0):
    """A graph by its kind and what it has: "plain weights=float32 undirected", for one, or "plain names", where ids are
    strings, or "sparse", integers with gaps, in any order. Nothing is made beside it. "in PATH" is the graph in a file,
    or for a smaller size the one in PATH with ".small" behind it."""
    import edgewise as ew
    from edgewise.graph import csr
    from edgewise.graph.ids import Ids, named_ids

    kind, *words = name.split()
    if kind == "in":
        return ew.load(words[0] + ("" if size == 1 else ".small"))
    source, target, n = _graph(kind, size)
    weights, directed = None, "undirected" not in words
    for word in words:
        if match := re.fullmatch(r"weights=(\w+)(?:\*(\S+))?(-)?", word):
            weights = np.random.default_rng(2).integers(1, 1000, len(source)).astype(match[1])
            weights *= np.dtype(match[1]).type(float(match[2] or 1))
            if match[3]:  # from higher to lower vertices, so that there is no negative cycle
                source, target = np.maximum(source, target), np.minimum(source, target)
                weights[source != target] *= -1
    rows, _ = csr.build_rows(source, target, weights, n, both_directions=not directed)
    loops = int(np.count_nonzero(source == target))
    if "names" in words:
        ids = named_ids([f"town {v}" for v in range(n)])
    else:
        ids = Ids(n, 7 * np.random.default_rng(4).permutation(n) if "sparse" in words else None)
    return ew.Graph(rows, ids, directed, loops)


def read_status(field: str) -> int:
    return 1024 * int(re.search(rf"{field}:\s+(\d+)", STATUS.read_text())[1])


def _prepared(case: Case, graph):
    """The call as a function of its limit. `x` and `each` are a number for each vertex and arc, `first` is the id of
    vertex 0, `ids` a tenth of the vertices, `some` values for these, and `prepared` prepares a program once."""
    import resident_programs

    import edgewise as ew

    scope = {"ew": ew, "g": graph, "P": resident_programs}
    scope["x"] = np.random.default_rng(3).random(graph.num_vertices)
    scope["each"] = np.random.default_rng(3).integers(1, 9, graph.num_arcs)
    scope["first"] = graph.ids_of([0]).tolist()[0]
    scope["ids"] = graph.ids_of(scope["x"].argsort()[: graph.num_vertices // 10]).tolist()
    scope["prepared"] = functools.cache(lambda program, **options: ew.prepare(program, graph, **options))
    scope["some"] = dict.fromkeys(scope["ids"], 1)
    scope["file"] = str(Path(tempfile.mkdtemp()) / "kept.npz")
    scope["given"] = eval(case.given, scope)
    code = compile(case.call, "case", "eval")

    def call(limit):
        scope["limit"] = limit
        return eval(code, scope)

    return call


def _needed(call) -> int:
    from edgewise.errors import MemoryLimitError

    try:
        call(0)
    except MemoryLimitError as error:
        return int(re.search(r"needs ([\d,]+) bytes", str(error))[1].replace(",", ""))
    return 0


def _settle() -> None:
    gc.collect()
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL("libc.so.6").malloc_trim(0)


def measure(case: Case) -> Measured:
    """Measure in this process, the refused call too; kernels are compiled before, on a small graph."""
    _prepared(case, make_graph(case.graph, 1e-5))(None)
    _prepared(case, make_graph(case.graph, 1e-5))(10**12)
    call = _prepared(case, make_graph(case.graph))
    return Measured(*_peak(call), *_peak(call))


def _peak(call) -> tuple[int, int]:
    """What a call says that it needs, and the peak with that for the limit."""
    _settle()
    before = read_status("VmRSS")
    CLEAR.write_text("5")
    needed = _needed(call)
    _settle()
    call(needed)
    return needed, read_status("VmHWM") - before


def measured(case: Case) -> Measured:
    """Measure in a process of its own."""
    command = [sys.executable, __file__, "--one", json.dumps(case)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=Path(__file__).parent)
    if done.returncode:
        raise AssertionError(f"{case.graph}: {case.call}\n{done.stderr[-3000:]}")
    return Measured(*json.loads(done.stdout))


def is_within(measured: list[tuple[int, int, bool]]) -> bool:
    """Whether all peaks are within their limits, of limits, peaks, and whether the call was refused."""
    return all(peak <= SHARE * limit + SLACK for limit, peak, _ in measured)


def measured_apart(script: str, kind: str) -> list[tuple[int, int, bool]]:
    """What a script beside this one measures, in a process of its own; in another one if too much was taken, for one
    that compiles takes memory for that, too."""
    command = [sys.executable, script, kind]
    for _ in range(2):
        done = subprocess.run(command, capture_output=True, text=True, cwd=Path(__file__).parent, check=True)
        found: list[tuple[int, int, bool]] = json.loads(done.stdout)
        if is_within(found):
            break
    return found


if __name__ == "__main__":
    if sys.argv[1:2] == ["--one"]:
        print(json.dumps(measure(Case(*json.loads(sys.argv[2])))))
        sys.exit()
    from resident_cases import CASES

    for name, case in CASES.items():
        if len(sys.argv) == 1 or any(re.search(wanted, name) for wanted in sys.argv[1:]):
            try:
                found = measured(case)
            except AssertionError as error:
                print(f"{name:45} FAILED {error}", flush=True)
                continue
            mark = "" if found.is_within else f"  TOO MUCH {found.peak / max(found.needed, 1):.2f}"
            mark += "  generous" * (found.needed > 1.3 * found.peak + SLACK)
            sizes = " ".join(f"{each / 1e6:9.1f}" for each in found)
            print(f"{name:45} {sizes}{mark}", flush=True)
