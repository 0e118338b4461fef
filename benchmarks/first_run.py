"""The first run of a program in a new process: `python -m benchmarks.first_run [--device cpu|cuda]`.

Each program of examples/ runs in processes of its own, with a cache of compiled code that is

*cold*
    empty;
*new*
    left by another program;
*edited*
    left by the program before one of its functions was edited;
*warm*
    left by the program.

The clock runs from the import of edgewise to the result: building a small graph and `ew.run`. See docs/benchmarks.md.
"""

import argparse
import json
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path

import edgewise as ew
from benchmarks.options import add_device, add_names
from benchmarks.ours import EXAMPLES
from benchmarks.results import Row, at_least_one, dated, end_without_gpu, machine, write_rows
from benchmarks.table import markdown
from edgewise.kernels.cpu.team import available_threads

STATES = ("cold", "new", "edited", "warm")
VERTICES, EDGES = 1000, 5000

#: What a process does: run the program of a module on a device, print seconds and whether the answer is right.
RUN = f"""
import importlib, json, sys, time
import numpy as np
begun = time.perf_counter()
import edgewise as ew
imported = time.perf_counter()
program = next(
    value for value in vars(importlib.import_module(sys.argv[1])).values()
    if isinstance(value, type) and issubclass(value, ew.Program)
)
random = np.random.default_rng(1)
ends, weight = random.integers(0, {VERTICES}, (2, {EDGES})), random.integers(1, 100, {EDGES})
started = time.perf_counter()
graph = ew.Graph.from_edges(
    *ends, weight, directed=False, num_vertices={VERTICES}, parallel_edges="first", self_loops="drop"
)
given = {{"source": 0, "most": 50.0, "minutes": graph.weights, "toll": graph.weights}}
made = program(**{{name: value for name, value in given.items() if hasattr(program, name)}})
result = ew.run(made, graph, device=sys.argv[2])
arrays = [result.host_array(name) for name in result.fields]
seconds = time.perf_counter() - started
expected = ew.run(made, graph, check=True).fields
right = all(np.allclose(array, expected[name]) for name, array in zip(result.fields, arrays))
print(json.dumps([imported - begun, seconds, graph.num_arcs, right]))
"""


def edited(source: str) -> str:
    """A program's source with one function edited; its answers stay."""
    changed, count = re.subn(
        r"( +)def edge_compute\(edge, state\):.*\n", r"\g<0>\1    edge.target + 1\n", source
    )
    assert count == 1
    return changed


def first_run(folder: Path, cache: Path, name: str, device: str) -> tuple[float, float, int, bool]:
    """What a new process says: seconds of the import and of the run, arcs, whether the answer is right."""
    paths = [str(folder), str(Path(__file__).resolve().parent.parent), os.environ.get("PYTHONPATH", "")]
    environment = {
        **os.environ,
        "EDGEWISE_CACHE_DIR": str(cache),
        "PYTHONPATH": os.pathsep.join(filter(None, paths)),
    }
    command = [sys.executable, "-c", RUN, name, device]
    done = subprocess.run(command, env=environment, cwd=folder, check=True, stdout=subprocess.PIPE, text=True)
    imported, seconds, arcs, right = json.loads(done.stdout)
    return imported, seconds, arcs, right


def in_all_states(
    folder: Path, name: str, other: str, device: str
) -> dict[str, tuple[float, float, int, bool]]:
    """What a process says of a program in each state of the cache."""
    path, own, others = folder / f"{name}.py", folder / "own", folder / "others"
    found = {"cold": first_run(folder, own, name, device), "warm": first_run(folder, own, name, device)}
    source = path.read_text(encoding="utf-8")
    path.write_text(edited(source), encoding="utf-8")
    found["edited"] = first_run(folder, own, name, device)
    path.write_text(source, encoding="utf-8")
    first_run(folder, others, other, device)
    found["new"] = first_run(folder, others, name, device)
    shutil.rmtree(own)
    shutil.rmtree(others)
    return {state: found[state] for state in STATES}


def measure(names: list[str], repeat: int, device: str) -> Iterator[Row]:
    """The rows: `seconds` is the median of the processes, `prepare_seconds` that of importing edgewise."""
    every = sorted(path.stem for path in EXAMPLES.glob("*.py"))
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        for path in EXAMPLES.glob("*.py"):
            shutil.copy(path, folder)
        for name in names:
            other = every[(every.index(name) + 1) % len(every)]
            rounds = [in_all_states(folder, name, other, device) for _ in range(repeat)]
            for state in STATES:
                imported, seconds, arcs, right = zip(*(found[state] for found in rounds), strict=True)
                print(f"{name}, {state}: {statistics.median(seconds):.2f} s", flush=True)
                yield Row(
                    **machine(),
                    graph="random",
                    vertices=VERTICES,
                    arcs=arcs[0],
                    algorithm=name,
                    contender=f"{state}, {device}",
                    version=f"edgewise {ew.__version__}, numba {version('numba')}, llvmlite {version('llvmlite')}",
                    seconds=statistics.median(seconds),
                    fastest=min(seconds),
                    first_seconds=seconds[0],
                    prepare_seconds=statistics.median(imported),
                    calls=repeat,
                    verified="yes" if all(right) else "no",
                    note="from the import of edgewise to the result, in a new process each time",
                    source="0" if name in ("bfs", "sssp", "fastest_below_toll") else "",
                )


def table(rows: list[Row]) -> str:
    """Seconds of each program in each state of the cache."""
    seconds = {(row.algorithm, row.contender.partition(",")[0]): row.seconds for row in rows}
    names = dict.fromkeys(row.algorithm for row in rows)
    body = [[name, *(f"{seconds[name, state]:.2f}" for state in STATES)] for name in names]
    return markdown(["program", *STATES], body, left=1)


def main() -> None:
    """Measure, write the rows, print the table."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.first_run", description="Time first runs of programs."
    )
    add_device(parser, "cpu")
    add_names(parser, "--programs", sorted(path.stem for path in EXAMPLES.glob("*.py")))
    parser.add_argument(
        "--repeat", type=at_least_one, default=3, help="processes for each (default: %(default)s)"
    )
    parser.add_argument(
        "--output", type=Path, help="a new file (default: benchmarks/results/DATE-WHERE-first-run.csv)"
    )
    options = parser.parse_args()
    if options.device == "cuda":
        end_without_gpu()
    where = f"{available_threads()}-cores" if options.device == "cpu" else "GPU"
    output = options.output or dated(f"{where}-first-run")
    rows = write_rows(output, measure(options.programs, options.repeat, options.device))
    print(f"\n{table(rows)}\n\nrows: {output}")


if __name__ == "__main__":
    main()
