"""Programs on several ranks beside one: times, bytes, and the least that the partition lets ranks send.

`python -m benchmarks.distributed --output FILE.csv` makes an R-MAT graph as a file, and starts 1 and 2 ranks of one
thread each with torchrun. Each rank runs the programs of `examples/`, after one run that is not counted; the plain
engine runs the same on one thread in the process of the one rank, in turns with it. A time is that of the slower rank,
from when all ranks are ready. The bound is a value for each vertex of another rank that a rank has a message for, or
whose value it reads, superstep by superstep: what is sent more says which vertices these are, how many are active, and
what aggregates are.

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
import csv
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import edgewise as ew
from benchmarks.graphs import WEIGHTS, source_of
from benchmarks.ours import EXAMPLES, load
from benchmarks.results import csv_rows, rows_file
from edgewise.distributed import PreparedRank, ranks_for
from edgewise.engine.distributed import exchange
from edgewise.engine.distributed.group import Group, connect
from edgewise.engine.distributed.lines import side_of

FIELDS = (
    "graph", "vertices", "arcs", "program", "ranks", "ms", "plain_ms", "supersteps", "exchanges", "sent_bytes",
    "bound_bytes", "right", "source", "grid", "told", "counted_bytes",
)  # fmt: skip
#: With `--device cuda`.
FIELDS_GPU = (*FIELDS[:-6], "exchange_share", "channel", "right", "source")
#: How near sums of floats on a GPU come to those in another order. PageRank has the differences of ranks, too.
CLOSE = {"float64": {"rtol": 1e-9, "atol": 1e-15}, "float32": {"rtol": 1e-4, "atol": 1e-12}}
#: PageRank's ranks move for so many supersteps.
ITERATIONS = 20
#: Sources of betweenness on GPUs.
SOURCES = 64


class IntegerPageRank(ew.Program):
    """PageRank in multiples of 2**-30, whose sums are exact in any order: messages are pushed. All vertices send, in
    each superstep, and take 85% of what they get."""

    rank = ew.vertex("int64", init=2**30)
    combine = ew.SUM
    message = "int64"
    max_supersteps = ITERATIONS

    @staticmethod
    def edge_compute(edge, state):
        return state.rank[edge.source] // state.out_degree[edge.source]

    @staticmethod
    def vertex_compute(v, message, state):
        state.rank[v] = (3 * 2**30 + 17 * message) // 20
        return ew.ACTIVE


def programs(graph: ew.Graph) -> dict[str, tuple[ew.Program, int | None]]:
    """The programs with their parameters, and the most supersteps."""
    source = graph.vertices[source_of(graph)]

    def made(name: str, **values: Any) -> ew.Program:
        found: ew.Program = getattr(load(EXAMPLES / f"{name.lower()}.py"), name)(**values)
        return found

    return {
        "BFS": (made("BFS", source=source), None),
        "SSSP": (made("SSSP", source=source), None),
        "PageRank": (made("PageRank", tol=0.0), ITERATIONS),
        "IntegerPageRank": (IntegerPageRank(), None),
        "Components": (made("Components"), None),
    }


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


def seconds_of(call: Any, group: Group) -> tuple[float, Any]:
    """The seconds that a call takes on the slowest rank, and what it gives."""
    group.total(0)
    started = time.perf_counter()
    found = call()
    spent = int(1e9 * (time.perf_counter() - started))
    return max(group.everywhere(np.empty(0, np.uint8), spent)[1]) / 1e9, found


class Exchanging:
    """Adds up the seconds that a channel takes, while it is in force, from when the GPU has done what it had to."""

    def __init__(self, channel: Any) -> None:
        self.seconds, self._channel = 0.0, type(channel)
        self._exchange, self._share = self._channel.exchange, self._channel.share

    def __enter__(self) -> "Exchanging":
        from edgewise.kernels.cuda.memory import finish

        def timed(call: Callable[[], Any]) -> Any:
            finish()
            started = time.perf_counter()
            found = call()
            finish()
            self.seconds += time.perf_counter() - started
            return found

        def share(*arguments: Any) -> Callable[[], None]:
            timed(lambda: self._share(*arguments)())
            return lambda: None

        self._channel.exchange = lambda *arguments: timed(partial(self._exchange, *arguments))
        self._channel.share = share
        return self

    def __exit__(self, *_: object) -> None:
        self._channel.exchange, self._channel.share = self._exchange, self._share


class ByRanks(PreparedRank):
    """A program on ranks with GPUs, by the code for several even if there is one."""

    def carried_out(self, program: ew.Program, limit: int | None) -> Any:
        """A run with a program's values."""
        how: dict[str, Any] = {"progress": None, "memory_limit": None, "check": False, "seed": None}
        return self.run(dict(program.values), max_supersteps=limit, **how)


class GpuTask(NamedTuple):
    """What is timed on GPUs.

    Attributes:
        source: where it begins, or "".
        on_ranks: a call that all ranks make together; None if one rank would run as an ordinary call does.
        on_one: the same on one GPU.
        answer: ``answer(result)``: the arrays of the whole answer of either, by name. All ranks call it.
    """

    source: Any
    on_ranks: Callable[[], Any] | None
    on_one: Callable[[], Any]
    answer: Callable[[Any], dict[str, np.ndarray]]


def tasks(graph: ew.Graph, group: Group) -> Iterator[tuple[str, GpuTask]]:
    """Programs, whose names begin with capitals, then algorithms."""
    for name, (program, limit) in programs(graph).items():
        prepared = ByRanks(type(program), graph, "cuda", ew.Schedule())
        yield (
            name,
            GpuTask(
                program.values.get("source", ""),
                partial(prepared.carried_out, program, limit),
                partial(ew.run, program, graph, device="cuda", max_supersteps=limit),
                lambda result: (result.gather() if hasattr(result, "gather") else result).fields,
            ),
        )
    begins = np.flatnonzero(graph.out_degree)
    some = graph.ids_of(np.random.default_rng(1).choice(begins, SOURCES, replace=False))
    for name, find, values, field in (
        ("pagerank", ew.pagerank, {"tol": 0, "max_iterations": ITERATIONS, "dtype": np.float32}, "rank"),
        ("components", ew.connected_components, {}, "component"),
        ("betweenness", ew.betweenness, {"sources": some}, "centrality"),
        ("bfs", ew.bfs, {"source": graph.vertices[source_of(graph)]}, "level"),
        ("sssp", ew.sssp, {"source": graph.vertices[source_of(graph)]}, "distance"),
    ):
        call: Any = partial(find, graph, device="cuda", **values)
        yield (
            name,
            GpuTask(
                values.get("source", ""),
                partial(call, distributed=True) if group.size > 1 else None,
                call,
                lambda result, field=field: {field: getattr(result, field)},
            ),
        )


def run_as_gpu_rank(path: str, repeat: int, output: str, only: str) -> None:
    """Run tasks on this rank's GPU; the first rank writes rows without the columns that all have, after each task. One
    rank leaves its answers beside the graph, with which those of several are compared.

    Args:
        path, repeat, output: the graph's file, how often to run, and the file of the rows.
        only: the names of tasks, by commas; all if there is none.
    """
    graph, found, answers = ew.read(path), list[dict[str, Any]](), Path(path).parent
    group, _ = ranks_for("this", graph, "cuda", None)
    from edgewise.engine.distributed.channel_cuda import channel_of

    channel, known = channel_of(group), {"vertices": graph.num_vertices, "arcs": graph.num_arcs}
    for name, task in tasks(graph, group):
        if only and name not in only.split(","):
            continue
        began, row = time.perf_counter(), {"program": name, "source": task.source, "ranks": group.size}
        result = task.on_ranks() if task.on_ranks else task.on_one()
        answer = task.answer(result)
        row |= known | {"supersteps": result.supersteps, "right": True}
        if group.rank == 0:
            row["right"] = agrees(answers, name, answer, task.on_one, keep=group.size == 1)
        del result, answer
        row |= measured(task, group, channel, repeat)
        found.append(row)
        if group.rank == 0:
            write_rows(output, found)
            print(f"{group.size} {name}: {time.perf_counter() - began:.1f} s", row, flush=True)


def agrees(
    answers: Path, name: str, answer: dict[str, np.ndarray], on_one: Callable[[], Any], *, keep: bool
) -> bool:
    """Whether an answer is that of one GPU: integers exactly. That is kept in a file for each array, or made.

    Args:
        answers: the folder of these files.
        name, answer: what was run, and what it gave.
        on_one: the call on one GPU.
        keep: whether to write the files.
    """
    files = {field: answers / f"{name}-{field}.npy" for field in answer}
    if all(file.exists() for file in files.values()):
        expected = {field: np.load(file) for field, file in files.items()}
    else:
        result = on_one()
        expected = {field: getattr(result, field) for field in answer}
    if keep:
        for field, file in files.items():
            np.save(file, expected[field])
    return all(nearly_equal(answer[field], values) for field, values in expected.items())


def nearly_equal(found: np.ndarray, expected: np.ndarray) -> bool:
    """Whether arrays are equal; sums of floats, in another order, by `CLOSE`."""
    if expected.dtype.kind != "f":
        return np.array_equal(found, expected)
    return np.allclose(found, expected, **CLOSE[expected.dtype.name])


def waited_for(call: Callable[[], Any]) -> Any:
    """What a call gives, when the GPU has done all that it was asked to."""
    from edgewise.kernels.cuda.memory import finish

    found = call()
    finish()
    return found


def measured(task: GpuTask, group: Group, channel: Any, repeat: int) -> dict[str, Any]:
    """The columns of a row that say how long a task takes, and what is sent."""
    row: dict[str, Any] = {"channel": channel.name, "repeat": repeat}
    times: dict[str, list[float]] = {"ms": [], "plain_ms": []}
    if task.on_ranks is not None:
        before = group.sent_bytes, group.exchanges
        with Exchanging(channel) as exchanging:
            total, _ = seconds_of(task.on_ranks, group)
        shares = group.everywhere(np.empty(0, np.uint8), int(1e9 * exchanging.seconds / total))[1]
        row |= {"exchanges": group.exchanges - before[1], "exchange_share": max(shares) / 1e9}
        row["sent_bytes"] = group.total(group.sent_bytes - before[0])
    for _ in range(repeat):
        if task.on_ranks is not None:
            times["ms"].append(1e3 * seconds_of(partial(waited_for, task.on_ranks), group)[0])
        if group.size == 1:
            times["plain_ms"].append(1e3 * seconds_of(partial(waited_for, task.on_one), group)[0])
    return row | {key: statistics.median(each) if each else "" for key, each in times.items()}


def write_rows(path: str, rows: list[dict[str, Any]]) -> None:
    """Write rows as CSV."""
    with open(path, "w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)


def run_as_rank(path: str, repeat: int, output: str) -> None:
    """Run all programs on this rank; the first one writes rows without the columns that all have."""
    group, graph, found = connect(), ew.read(path), list[dict[str, Any]]()
    all_programs, before = programs(graph), dict[str, dict[bool, str]]()
    if side_of(group.size):
        whole = in_memory(path)
        before = {name: counted(program, whole) for name, (program, _) in all_programs.items()}
        del whole
    for name, (program, limit) in all_programs.items():
        counts = before.get(name, {})
        for grid in counts or (False,):
            row = row_of(program, graph, limit, grid, repeat)
            found.append({"program": name, "counted_bytes": counts.get(grid, ""), "repeat": repeat} | row)
    if group.rank == 0:
        write_rows(output, found)


def row_of(
    program: ew.Program, graph: ew.Graph, limit: int | None, grid: bool, repeat: int
) -> dict[str, Any]:
    """Run one program on this rank and the others."""
    group, one_thread = connect(), ew.Schedule(num_threads=1)
    alone = ew.Schedule(ew.Pull(), num_threads=1) if type(program).__name__ == "PageRank" else one_thread
    asked = {"max_supersteps": limit, "device": "cpu"}
    distributed = partial(
        ew.run, program, graph, distributed=ew.Ranks(grid=grid), schedule=one_thread, **asked
    )
    plain = partial(ew.run, program, graph, schedule=alone, **asked)

    whole = distributed().gather()
    expected = plain()
    right = all(np.array_equal(values, whole.fields[key]) for key, values in expected.fields.items())
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
    return {
        **{key: statistics.median(each) if each else "" for key, each in times.items()},
        "vertices": graph.num_vertices,
        "arcs": graph.num_arcs,
        "ranks": group.size,
        "source": program.values.get("source", ""),
        "grid": grid,
        "supersteps": whole.supersteps,
        "exchanges": exchanges,
        "right": right,
        **dict(zip(("sent_bytes", "bound_bytes", "told"), sums, strict=True)),
    }


def main() -> None:
    """Start the ranks, and write all rows."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.distributed", description=__doc__.splitlines()[0]
    )
    parser.add_argument("--scale", default="22", help="of R-MAT graphs, by commas (default: %(default)s)")
    parser.add_argument("--repeat", type=int, default=5, help="runs that are timed (default: %(default)s)")
    parser.add_argument("--output", required=True, help="a CSV file")
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cpu", help="of ranks (default: cpu)")
    parser.add_argument("--ranks", type=int, nargs="+", default=[1, 2], help="how many (default: 1, then 2)")
    parser.add_argument("--only", default="", help="names of programs and algorithms on GPUs, by commas")
    parser.add_argument("--as-rank", metavar="GRAPH", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.as_rank:
        if options.device == "cuda":
            run_as_gpu_rank(options.as_rank, options.repeat, options.output, options.only)
        else:
            run_as_rank(options.as_rank, options.repeat, options.output)
        return
    on_gpu = options.device == "cuda"
    fields = FIELDS_GPU if on_gpu else FIELDS
    with rows_file(options.output, fields, options.repeat, on_gpu=on_gpu) as write:
        for scale in options.scale.split(","):
            for row in rows_of(int(scale), options):
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
            command += ["--only", options.only]
            subprocess.run(command, check=True)
            yield from csv_rows(part)


if __name__ == "__main__":
    main()
