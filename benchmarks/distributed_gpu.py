"""Programs and algorithms on ranks with GPUs, for `benchmarks.distributed`."""

import statistics
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import edgewise as ew
from benchmarks.distributed_tasks import (
    ITERATIONS,
    SOURCES,
    drawn_sources,
    nearly_equal,
    programs,
    seconds_of,
    source_id,
    write_rows,
)
from edgewise.distributed import PreparedRank, ranks_for
from edgewise.engine.distributed.group import Group


class Exchanging:
    """Adds up the seconds that a channel takes, while it is in force, from when the GPU has done what it had to."""

    def __init__(self, channel: Any) -> None:
        self.seconds, self._channel, self._is_timing = 0.0, type(channel), False
        self._own = {name: call for name, call in vars(self._channel).items() if name in _EXCHANGES}

    def _timed(self, call: Callable[[], Any]) -> Any:
        from edgewise.kernels.cuda.memory import finish

        if self._is_timing:  # an exchange that is made of another one
            return call()
        finish()
        started, self._is_timing = time.perf_counter(), True
        try:
            found = call()
            finish()
        finally:
            self._is_timing = False
        self.seconds += time.perf_counter() - started
        return found

    def __enter__(self) -> "Exchanging":
        for name, timed in _EXCHANGES.items():
            setattr(self._channel, name, timed(getattr(self._channel, name), self._timed))
        return self

    def __exit__(self, *_: object) -> None:
        for name in _EXCHANGES:  # others are inherited
            delattr(self._channel, name)
        for name, call in self._own.items():
            setattr(self._channel, name, call)


def _at_once(call: Callable[..., Any], timed: Callable[..., Any]) -> Callable[..., Any]:
    """A method that exchanges."""
    return lambda *arguments: timed(partial(call, *arguments))


def _made(call: Callable[..., Any], timed: Callable[..., Any]) -> Callable[..., Any]:
    """A method that gives what exchanges."""

    def made(*arguments: Any) -> Callable[[], Any]:
        exchange = call(*arguments)
        return lambda: timed(exchange)

    return made


def _started(call: Callable[..., Any], timed: Callable[..., Any]) -> Callable[..., Any]:
    """A method that gives what starts an exchange, which gives what waits for that."""

    def made(*arguments: Any) -> Callable[[], Callable[[], None]]:
        start = call(*arguments)

        def started() -> Callable[[], None]:
            timed(lambda: start()())
            return lambda: None

        return started

    return made


#: How the methods of a channel are timed that exchange something.
_EXCHANGES = {"exchange": _at_once, "exchanging": _started, "exchanging_lists": _made}


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
    some, source = drawn_sources(graph, SOURCES), source_id(graph)
    for name, find, values, field in (
        ("pagerank", ew.pagerank, {"tol": 0, "max_iterations": ITERATIONS, "dtype": np.float32}, "rank"),
        ("components", ew.connected_components, {}, "component"),
        ("betweenness", ew.betweenness, {"sources": some}, "centrality"),
        ("bfs", ew.bfs, {"source": source}, "level"),
        ("bfs by pushing", ew.bfs, {"source": source, "schedule": ew.Schedule(delivery=ew.Push())}, "level"),
        ("sssp", ew.sssp, {"source": source}, "distance"),
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


def run_as_gpu_rank(path: str, repeat: int, output: str, only: list[str], trace: Path | None) -> None:
    """Run tasks on this rank's GPU; the first rank writes rows without the columns that all have, after each task. One
    rank leaves its answers beside the graph, with which those of several are compared.

    Args:
        path, repeat, output: the graph's file, how often to run, and the file of the rows.
        only: the names of tasks; all if there is none.
        trace: a folder for what the GPU of each rank did in one more run, as `chrome://tracing` shows it, or None.
    """
    graph, found, answers = ew.read(path), list[dict[str, Any]](), Path(path).parent
    group, _ = ranks_for("this", graph, "cuda", None)
    from edgewise.engine.distributed.channel_cuda import channel_of

    channel, known = channel_of(group), {"vertices": graph.num_vertices, "arcs": graph.num_arcs}
    for name, task in tasks(graph, group):
        if only and name not in only:
            continue
        began, row = time.perf_counter(), {"program": name, "source": task.source, "ranks": group.size}
        result = task.on_ranks() if task.on_ranks else task.on_one()
        answer = task.answer(result)
        row |= known | {"supersteps": result.supersteps, "right": True}
        if group.rank == 0:
            row["right"] = agrees(answers, name, answer, task.on_one, keep=group.size == 1)
        del result, answer
        row |= measured(task, group, channel, repeat)
        if trace is not None and task.on_ranks is not None:
            write_trace(task.on_ranks, trace / f"{name}-{group.rank}.json.gz", group)
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


def write_trace(call: Callable[[], Any], path: Path, group: Group) -> None:
    """Write what this rank's GPU and host do in a call."""
    from torch.profiler import ProfilerActivity, profile

    group.total(0)
    with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]) as profiled:
        waited_for(call)
    profiled.export_chrome_trace(str(path))
    group.total(0)


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
