"""Programs on several ranks beside one: times, bytes, and the least that the partition lets ranks send.

`python -m benchmarks.distributed --output FILE.csv` makes an R-MAT graph as a file, and starts 1 and 2 ranks of one
thread each with torchrun. Each rank runs the programs of `examples/`, after one run that is not counted; the plain
engine runs the same on one thread in the process of the one rank, in turns with it. A time is that of the slower rank,
from when all ranks are ready. The bound is a value for each vertex of another rank that a rank has a message for, or
whose value it reads, superstep by superstep: what is sent more says which vertices these are, how many are active, and
what aggregates are. Of algorithms each rank gets the whole answer, which the bound has for all ranks but the one that
may have found it; sums of all ranks it has twice, once to add them and once to tell them.

With `--device cuda`, each rank has a GPU, or shares it with others if there are fewer, and algorithms run, too; the
plain engine has one GPU. One rank runs programs by the code for several, too. A time is that until results lie on GPUs,
or, where all ranks get the whole answer, with that. In place of the bound there is the share of a run, the slowest
rank's, that is spent on exchanges: copies, and waiting for other ranks, included. It is measured in a run of its own,
in which a rank waits for its GPU before each exchange.

With `--ranks 4 9` there are so many. Where ranks may form a grid, programs that push run without one and in one, and
"counted_bytes" is what is said, of the same graph in memory, before a run: the bytes of a superstep in which all
vertices send. "told" counts vertices, as
`benchmarks.partitions` does: once for each rank that another one tells of it, in each superstep.
"""

import argparse
import re
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import edgewise as ew
from benchmarks.distributed_gpu import run_as_gpu_rank
from benchmarks.distributed_tasks import (
    ITERATIONS,
    PROGRAMS,
    drawn_sources,
    nearly_equal,
    programs,
    seconds_of,
    source_id,
    write_rows,
)
from benchmarks.graphs import WEIGHTS
from benchmarks.options import add_device, checked, numbers
from benchmarks.page_tables import TASKS
from benchmarks.results import at_least_one, csv_rows, rows_file
from edgewise.engine.distributed import exchange
from edgewise.engine.distributed.group import Group, connect
from edgewise.engine.distributed.lines import side_of
from edgewise.engine.distributed.partition import by_arcs

FIELDS = (
    "graph", "vertices", "arcs", "program", "ranks", "ms", "plain_ms", "supersteps", "exchanges", "sent_bytes",
    "bound_bytes", "right", "source", "grid", "told", "counted_bytes",
)  # fmt: skip
#: Sources of betweenness on CPUs.
FEW_SOURCES = 4
ONE_THREAD = ew.Schedule(num_threads=1)
#: With `--device cuda`.
FIELDS_GPU = (*FIELDS[:-6], "exchange_share", "channel", "right", "source")
#: The algorithms on CPUs, with what is asked of them, and the arrays of the whole answer, which each rank gets.
ALGORITHMS: dict[str, tuple[Callable[..., Any], dict[str, Any], tuple[str, ...]]] = {
    "bfs": (ew.bfs, {}, ("level", "parent_index")),
    "sssp": (ew.sssp, {}, ("distance", "parent_index")),
    "pagerank": (ew.pagerank, {"tol": 0, "max_iterations": ITERATIONS}, ("rank",)),
    "connected_components": (ew.connected_components, {}, ("component",)),
    "scc": (ew.scc, {}, ("component",)),
    "mst": (ew.mst, {"symmetrize": True}, ("source_index", "target_index", "weight")),
    "topological_order": (ew.topological_order, {}, ("generation",)),
    "core_numbers": (ew.core_numbers, {}, ("core",)),
    "katz": (ew.katz, {"alpha": 1e-5, "tol": 0, "max_iterations": ITERATIONS}, ("centrality",)),
    "eigenvector": (ew.eigenvector, {"tol": 0, "max_iterations": ITERATIONS}, ("centrality",)),
    "hits": (ew.hits, {"tol": 0, "max_iterations": ITERATIONS}, ("hub", "authority")),
    "betweenness": (ew.betweenness, {}, ("centrality",)),
}

#: Those that gather a value of 8 bytes in each superstep, over in-edges or out-edges.
GATHERING = {"pagerank": ("in",), "katz": ("in",), "eigenvector": ("in",), "hits": ("in", "out")}
#: Those whose whole answer is the sum of what ranks have.
SUMMED = ("betweenness",)


class Bound:
    """Counts the bytes of values that a rank sends, and the vertices that it tells of, while it is in force."""

    def __init__(self) -> None:
        self.bytes, self.told, self._part = 0, 0, exchange._part

    def __enter__(self) -> "Bound":
        def part(head: int, which: np.ndarray, arrays: Any) -> np.ndarray:
            self.bytes += sum(each.nbytes for each in arrays)
            self.told += abs(head) if head else len(arrays[0])
            return self._part(head, which, arrays)

        exchange._part = part
        return self

    def __exit__(self, *_: object) -> None:
        exchange._part = self._part


def counted(program: ew.Program, graph: ew.Graph) -> dict[bool, str]:
    """What is counted before a run: the bytes of a superstep in which all vertices send, without a grid and in one;
    nothing if the program's ranks form none.

    Args:
        program: what runs.
        graph: in memory, since nothing is counted for a file, of which ranks read only their own rows.
    """
    told = ew.run(program, graph, max_supersteps=1, device="cpu", distributed=True).explain()
    found = re.search(r"ranges send ([\d,]+) bytes in a superstep, a grid of \d+ by \d+ ranks ([\d,]+)", told)
    counts = [] if found is None else [each.replace(",", "") for each in found.groups()]
    return dict(zip((False, True), counts, strict=False))


def in_memory(path: str) -> ew.Graph:
    """The graph of a file, no longer tied to it."""
    graph = ew.read(path)
    return ew.Graph.from_csr(graph.offsets, graph.targets, graph.weights)


def run_as_rank(path: str, repeat: int, output: str, only: list[str]) -> None:
    """Run programs on this rank, and algorithms where there is no grid, or those in `only`. The first rank writes rows
    without the columns that all have, after each task."""
    group, graph, found = connect(), ew.read(path), list[dict[str, Any]]()
    all_programs, whole = programs(graph), in_memory(path) if side_of(group.size) else None
    known = {
        "vertices": graph.num_vertices,
        "arcs": graph.num_arcs,
        "ranks": group.size,
    }
    for name in only or [*all_programs, *([] if whole else ALGORITHMS)]:
        row = known | {"program": name}
        if name in ALGORITHMS:
            found.append(row | row_of_algorithm(name, graph, repeat))
        else:
            program, limit = all_programs[name]
            counts = {} if whole is None else counted(program, whole)
            for grid in counts or (False,):
                row |= row_of(program, graph, limit, grid, repeat)
                found.append(row | {"counted_bytes": counts.get(grid, "")})
        if group.rank == 0:
            write_rows(output, found)


def row_of(
    program: ew.Program, graph: ew.Graph, limit: int | None, grid: bool, repeat: int
) -> dict[str, Any]:
    """Run one program on this rank and the others."""
    alone = ew.Schedule(ew.Pull(), num_threads=1) if type(program).__name__ == "PageRank" else ONE_THREAD
    asked = {"max_supersteps": limit, "device": "cpu"}
    distributed = partial(
        ew.run, program, graph, distributed=ew.Ranks(grid=grid), schedule=ONE_THREAD, **asked
    )
    plain = partial(ew.run, program, graph, schedule=alone, **asked)
    whole = distributed().gather()
    right = all(np.array_equal(values, whole.fields[key]) for key, values in plain().fields.items())
    found = {"supersteps": whole.supersteps, "right": right, "source": program.values.get("source", "")}
    return found | {"grid": grid} | measured(distributed, plain, repeat)


def row_of_algorithm(name: str, graph: ew.Graph, repeat: int) -> dict[str, Any]:
    """Run one algorithm on this rank and the others, each of which gets the whole answer."""
    group, (find, values, arrays) = connect(), ALGORITHMS[name]
    if name in ("bfs", "sssp"):
        values = {"source": source_id(graph)}
    elif name == "betweenness":
        values = {"sources": drawn_sources(graph, FEW_SOURCES)}
    plain = partial(find, graph, device="cpu", schedule=ONE_THREAD, **values)
    distributed = partial(plain, distributed=True)
    result, expected = distributed(), plain()
    right = all(nearly_equal(getattr(result, each), getattr(expected, each)) for each in arrays)
    row = measured(distributed, plain, repeat)
    times = 2 if name in SUMMED else 1  # the least of an all-reduce: shares are summed, and told
    row["bound_bytes"] += times * (group.size - 1) * sum(getattr(result, each).nbytes for each in arrays)
    for way in GATHERING.get(name, ()):
        needed = values_needed(graph if way == "in" else graph.reverse(), group)
        row["bound_bytes"] += result.supersteps * group.total(8 * needed)
    found = {"supersteps": result.supersteps, "right": right, "source": values.get("source", "")}
    return found | {"grid": False} | row | {"told": "", "counted_bytes": ""}


def values_needed(graph: ew.Graph, group: Group) -> int:
    """Of how many vertices of other ranks a rank needs the values, to gather over the in-edges of its own."""
    own = by_arcs(group.rank, group.size, graph.in_offsets).own
    needed = np.zeros(graph.num_vertices, np.bool_)
    needed[graph.in_sources[int(graph.in_offsets[own.start]) : int(graph.in_offsets[own.stop])]] = True
    needed[own] = False
    return int(np.count_nonzero(needed))


def measured(distributed: Callable[[], Any], plain: Callable[[], Any], repeat: int) -> dict[str, Any]:
    """The columns of a row that say what ranks send in a run, and how long one takes."""
    group = connect()
    before = group.sent_bytes, group.exchanges
    with Bound() as bound:
        distributed()
    sent, exchanges = group.sent_bytes - before[0], group.exchanges - before[1]
    sums = [group.total(each) for each in (sent, bound.bytes, bound.told)]
    times: dict[str, list[float]] = {"ms": [], "plain_ms": []}
    for _ in range(repeat):
        times["ms"].append(1e3 * seconds_of(distributed, group)[0])
        if group.size == 1:
            times["plain_ms"].append(1e3 * seconds_of(plain, group)[0])
    medians = {key: statistics.median(each) if each else "" for key, each in times.items()}
    return (
        medians
        | {"exchanges": exchanges}
        | dict(zip(("sent_bytes", "bound_bytes", "told"), sums, strict=True))
    )


def main() -> None:
    """Start the ranks, and write all rows."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.distributed", description=__doc__.splitlines()[0]
    )
    parser.add_argument(
        "--scale", type=numbers, default="22", help="of R-MAT graphs, by commas (default: %(default)s)"
    )
    parser.add_argument(
        "--repeat", type=at_least_one, default=5, help="runs that are timed (default: %(default)s)"
    )
    parser.add_argument("--output", required=True, help="a CSV file")
    add_device(parser, "cpu", "of ranks ")
    parser.add_argument("--ranks", type=int, nargs="+", default=[1, 2], help="how many (default: 1, then 2)")
    parser.add_argument("--only", help="names of programs and algorithms, by commas (default: all)")
    parser.add_argument(
        "--trace", type=Path, help="with --device cuda, a folder for a trace of each task and rank"
    )
    parser.add_argument("--as-rank", metavar="GRAPH", help=argparse.SUPPRESS)
    options = parser.parse_args()
    known = TASKS if options.device == "cuda" else (*PROGRAMS, *ALGORITHMS)
    only = [] if options.only is None else checked(parser, "--only", options.only, known)
    if options.as_rank:
        if options.device == "cuda":
            run_as_gpu_rank(options.as_rank, options.repeat, options.output, only, options.trace)
        else:
            run_as_rank(options.as_rank, options.repeat, options.output, only)
        return
    on_gpu = options.device == "cuda"
    fields = FIELDS_GPU if on_gpu else FIELDS
    with rows_file(options.output, fields, options.repeat, on_gpu=on_gpu) as write:
        for scale in options.scale:
            for row in rows_of(scale, options):
                write({"graph": f"rmat{scale}"} | row)
                print(row, flush=True)


def rows_of(scale: int, options: argparse.Namespace) -> Iterator[dict[str, str]]:
    """Start the numbers of ranks that are asked for, one after the other, on a graph in a file; the rows they write."""
    with tempfile.TemporaryDirectory() as folder:
        path, part = Path(folder, "rmat.edgewise"), Path(folder, "part.csv")
        graph = ew.generate.rmat(scale, 16, seed=1, weights=WEIGHTS)
        graph.save(path, in_edges=True)
        del graph
        for ranks in options.ranks:
            command = [sys.executable, "-m", "torch.distributed.run", "--standalone"]
            command += ["--nproc-per-node", str(ranks), "-m", "benchmarks.distributed", "--output", str(part)]
            command += ["--repeat", str(options.repeat), "--as-rank", str(path), "--device", options.device]
            if options.only:
                command += ["--only", options.only]
            if options.trace:
                options.trace.mkdir(parents=True, exist_ok=True)
                command += ["--trace", str(options.trace)]
            subprocess.run(command, check=True)
            yield from csv_rows(part)


if __name__ == "__main__":
    main()
