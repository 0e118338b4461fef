"""When rows of lists come to a GPU whose memory is too small for them, and when the kernel that sweeps them runs.

Times are those of events of the driver, on the clock of the GPU: around the launch of the kernel in its stream, and
around each copy in the stream of copies (`edgewise.algorithms.sssp.cuda_ring`).
"""

import itertools
import statistics
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any
from unittest import mock

import numpy as np

import edgewise as ew
from benchmarks.papers.wolfpath_setup import PROGRAMS, Case
from edgewise.algorithms.sssp.cuda import Ring
from edgewise.errors import MemoryLimitError
from edgewise.graph.layers import drop_layers
from edgewise.kernels.cuda.launch import Kernel
from edgewise.kernels.cuda.memory import cupy, finish, host_copy

#: An event before, one after, what happened between them, and how many arcs were copied.
Span = tuple[Any, Any, str, int]


@contextmanager
def traced() -> Iterator[list[Span]]:
    """Collects the spans of copies and of kernels that are started meanwhile."""
    spans: list[Span] = []
    send, start = Ring._send, Kernel.start

    def now(stream: Any) -> Any:
        event = cupy().cuda.Event()
        event.record(stream)
        return event

    def noted_send(self: Ring, first: int, end: np.ndarray) -> None:
        before = now(self._stream)
        send(self, first, end)
        spans.append((before, now(self._stream), "copy", int(end[0]) - first))

    def noted_start(self: Kernel, *arguments: Any) -> None:
        stream = cupy().cuda.get_current_stream()
        before = now(stream)
        start(self, *arguments)
        spans.append((before, now(stream), "kernel", 0))

    with mock.patch.object(Ring, "_send", noted_send), mock.patch.object(Kernel, "start", noted_start):
        yield spans
    finish()


def trace_rows(case: Case, repeat: int) -> Iterator[dict[str, Any]]:
    """Runs with the least memory, over layers and without, and one run by sweeps, traced."""
    source, target, weight = (host_copy(column) for column in case.made[1])
    graph = ew.Graph.from_edges(source, target, weight, num_vertices=case.made[0])
    known, of_weight = case.facts | {"part": "trace"}, 4 + graph.weights.dtype.itemsize  # type: ignore[union-attr]
    layered = ew.Schedule(layout=ew.Layered(case.root))
    systems = {"Layered, limit": layered, "without layers, limit": ew.Schedule(), "Layered, whole": layered}
    for program, (system, schedule) in itertools.product(PROGRAMS, systems.items()):
        call, field = (ew.sssp, "distance") if program == "SSSP" else (ew.bfs, "level")
        wanted = host_copy(case.distance if program == "SSSP" else case.level)
        if schedule is not layered:
            drop_layers(graph)
        how: dict[str, Any] = {"device": "cuda", "schedule": schedule}
        if "limit" in system:
            how["memory_limit"] = least_memory(call, graph, case.root, **how)
        found = [call(graph, case.root, **how) for _ in range(repeat + 1)]
        right = all(np.array_equal(getattr(each, field), wanted) for each in found)
        row = {"program": program, "system": system, "limit": how.get("memory_limit", "")}
        yield (
            known | row | {"ms": 1e3 * statistics.median(each.seconds for each in found[1:]), "right": right}
        )
    how = {"device": "cuda", "schedule": layered}
    how["memory_limit"] = least_memory(ew.sssp, graph, case.root, **how)
    with traced() as spans:
        ew.sssp(graph, case.root, **how)
    lasts = {span: cupy().cuda.get_elapsed_time(span[0], span[1]) for span in spans}
    # Others are kernels that write first values.
    sweeps = max((span for span in spans if span[2] == "kernel"), key=lasts.__getitem__)
    for span in [sweeps, *(span for span in spans if span[2] == "copy")]:
        begin = cupy().cuda.get_elapsed_time(sweeps[0], span[0])
        row = {"system": span[2], "start_ms": begin, "ms": lasts[span], "bytes": of_weight * span[3]}
        yield known | row | {"program": "SSSP", "limit": how["memory_limit"]}


def least_memory(call: Callable[..., Any], graph: ew.Graph, source: Any, **how: Any) -> int:
    """The fewest bytes with which a call runs on a GPU."""
    try:
        call(graph, source, memory_limit=0, **how)
    except MemoryLimitError as refused:
        return int(refused.needed)
    raise AssertionError("it runs without memory")
