"""When rows of lists come to a GPU whose memory is too small for them, and when the kernel that sweeps them runs.

Times are those of events of the driver, on the clock of the GPU: around the launch of the kernel in its stream, and
around each copy in the stream of copies (`edgewise.algorithms.sssp.cuda_ring`).
"""

import statistics
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from unittest import mock

import numpy as np

import edgewise as ew
from benchmarks.papers.wolfpath_setup import Case
from edgewise.algorithms.sssp.cuda import Ring
from edgewise.errors import MemoryLimitError
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
    """Shortest paths with the least memory: by sweeps and without layers, and one run by sweeps, traced."""
    source, target, weight = (host_copy(column) for column in case.made[1])
    graph = ew.Graph.from_edges(source, target, weight, num_vertices=case.made[0])
    known, wanted = case.facts | {"part": "trace", "program": "SSSP"}, host_copy(case.distance)
    layered = ew.Schedule(layout=ew.Layered(case.root))
    ew.bfs(graph, case.root, device="cpu", schedule=layered)  # the limit holds for making layers, too
    for system, schedule in (("without layers, limit", ew.Schedule()), ("Layered, limit", layered)):
        how: dict[str, Any] = {"device": "cuda", "schedule": schedule}
        try:
            ew.sssp(graph, case.root, memory_limit=0, **how)
        except MemoryLimitError as refused:
            how["memory_limit"] = refused.needed
        found = [ew.sssp(graph, case.root, **how) for _ in range(repeat + 1)]
        right = all(np.array_equal(each.distance, wanted) for each in found)
        milliseconds = 1e3 * statistics.median(each.seconds for each in found[1:])
        yield known | {"system": system, "ms": milliseconds, "limit": how["memory_limit"], "right": right}
    with traced() as spans:
        ew.sssp(graph, case.root, **how)
    lasts = {span: cupy().cuda.get_elapsed_time(span[0], span[1]) for span in spans}
    # Others are kernels that write first values.
    sweeps = max((span for span in spans if span[2] == "kernel"), key=lasts.__getitem__)
    for span in [sweeps, *(span for span in spans if span[2] == "copy")]:
        begin = cupy().cuda.get_elapsed_time(sweeps[0], span[0])
        of_weight = 4 + graph.weights.dtype.itemsize  # type: ignore[union-attr]
        row = {"system": span[2], "start_ms": begin, "ms": lasts[span], "bytes": of_weight * span[3]}
        yield known | row | {"limit": how["memory_limit"]}
