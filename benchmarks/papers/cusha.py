"""CuSha's G-Shards on a GPU, as a rival in the reproduction of Zhong et al. 2016 (section 5.4).

Vertices are cut into windows of consecutive ones. Shard i holds the edges whose targets are in window i, ordered by the
window of their sources; an entry is a source, the source's value, a target, and with weights a weight. A team of
threads takes a shard at a time: it puts its window's values into shared memory, goes over the shard's entries side by
side and combines them with the targets by atomic operations in shared memory, compares the window with what it was, and
if it changed, writes its values to the entries of all shards whose sources are in the window. All supersteps are in one
cooperative launch.

As in CuSha's own program: indices take 32 bits; entries of one window of a shard have no order among themselves (here
that of the input); SSSP and components work in place, so that a shard may see what another one wrote in the same
superstep. PageRank has two arrays of sources' values by turns: its iterations are those of the power method.

What differs, for the sake of speed: a team is a part of a block of 1,024 threads, four, two or one to a block as shared
memory allows, where CuSha launches a smaller block for each shard, and teams take further shards by a counter. A warp
writes back to 32 shards at a time, their entries dealt out to its lanes, where CuSha has a warp for each shard, so that
no lane is idle in a window of few entries. A warp adds up what it has for one vertex of many in-edges before it adds
that to shared memory. Accesses are overlapped by hand.

References. Khorasani, Vora, Gupta, Bhuyan, "CuSha: Vertex-Centric Graph Processing on GPUs", HPDC 2014, sections 3 and
4, and the authors' program (github.com/farkhor/CuSha). Of their two forms this is G-Shards, not concatenated windows.
"""

import functools
import time
from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks.papers.cusha_kernel import (
    CONTROL,
    DTYPES,
    MAX_WINDOW,
    TEAMS,
    WINDOW_ENTRIES,
    ShardArrays,
    ShardRun,
    ShardValues,
    make_kernel,
    signature,
)
from edgewise.graph.csr import build_rows
from edgewise.kernels.cache import compile_seconds
from edgewise.kernels.cuda.launch import Kernel, fixed_kernel
from edgewise.kernels.cuda.memory import copy_of, cupy, empty, finish, zeros


@dataclass(frozen=True)
class Shards:
    """A graph in shards, on the GPU.

    Attributes:
        num_vertices, num_edges: of the graph.
        window: vertices of a window; the last one may have fewer.
        count: windows, and shards.
        windows: int32, shape ((count + 1) * count,): ``windows[i * count + j]`` is where the entries of window i begin
            in shard j, and ``windows[count * count + j]`` is the end of shard j.
        source, target: uint32, shape (num_edges,), of the entries.
        weight: int32, shape (num_edges,), or empty.
        scale: float32, shape (num_vertices,): 1 / out-degree, or 0.
        preprocessing_seconds: what it took to sort the edges in the host's memory and to copy them to the GPU, without
            compiling edgewise's kernels; in a process's first call, with loading those of CuPy.
    """

    num_vertices: int
    num_edges: int
    window: int
    count: int
    windows: Any
    source: Any
    target: Any
    weight: Any
    scale: Any
    preprocessing_seconds: float


def window_for(num_vertices: int, num_edges: int) -> int:
    """The vertices of a window, as CuSha chooses them.

    A shard's window has ``num_edges * (window / num_vertices) ** 2`` entries on average. That is to be 32, so that a
    warp is full when it writes them, as far as shared memory allows. CuSha then rounds up to a fraction of the shared
    memory.
    """
    wanted = np.sqrt(WINDOW_ENTRIES * num_vertices**2 / max(num_edges, 1))
    return int(min(max(np.ceil(wanted), 1), MAX_WINDOW, num_vertices))


def make_shards(
    num_vertices: int,
    source: np.ndarray,
    target: np.ndarray,
    weight: np.ndarray | None = None,
    window: int | None = None,
) -> Shards:
    """Sort edges into shards, by one counting sort on all cores of the CPU (`build_rows`), and copy them to the GPU.

    Args:
        num_vertices: at least 1.
        source, target: int32, shape (num_edges,), in the host's memory; num_edges < 2**31.
        weight: int32, shape (num_edges,), or None.
        window: vertices of a window, at most `MAX_WINDOW`; None for `window_for`.
    """
    started, compiled = time.perf_counter(), compile_seconds()
    window = window or window_for(num_vertices, len(source))
    count = -(-num_vertices // window)
    ends = target if weight is None else np.stack([target, weight], axis=1).view(np.int64).ravel()
    key = target // window * np.int32(count) + source // window
    rows, _ = build_rows(key, source, ends, max(count**2, num_vertices))
    begin = rows.offsets[: count**2 + 1]
    windows = np.empty((count + 1, count), np.int32)
    windows[:count] = begin[:-1].reshape(count, count).T
    windows[count] = begin[count::count]
    assert rows.weights is not None
    moved = rows.weights.view(np.int32).reshape(len(source), 1 if weight is None else 2)
    columns = [rows.targets, *(np.ascontiguousarray(column) for column in moved.T)]
    on_gpu = [copy_of(column) for column in (windows.ravel(), *columns)]
    scale = _scale(on_gpu[1], num_vertices)
    finish()
    return Shards(
        num_vertices,
        len(source),
        window,
        count,
        *on_gpu[:3],
        on_gpu[3] if weight is not None else empty(0, np.int32),
        scale,
        time.perf_counter() - started - (compile_seconds() - compiled),
    )


def _scale(source: Any, num_vertices: int) -> Any:
    """1 / out-degree, or 0, float32, on the GPU."""
    xp = cupy()
    degree = xp.bincount(source, minlength=num_vertices)
    return xp.where(xp.greater(degree, 0), xp.divide(1, xp.maximum(degree, 1)), 0).astype(np.float32)


def pagerank(shards: Shards, iterations: int = 50) -> Any:
    """Ranks after `iterations` iterations with damping 0.85, float32, shape (num_vertices,), on the GPU.

    Vertices without out-edges give their rank to all alike. Sums of messages are float32, in any order.
    """
    buffers = [empty(shards.num_edges, np.float32) for _ in range(2)]
    return _run("pagerank", shards, buffers, zeros(iterations + 1, np.float64), iterations)


def sssp(shards: Shards, source: int) -> Any:
    """The least sum of weights over all paths from a vertex, int32, shape (num_vertices,), on the GPU.

    2**31 - 1 where there is no path. Weights are not negative, and no distance reaches 2**31 - 1.

    Raises:
        ValueError: the edges have no weights.
    """
    if len(shards.weight) < shards.num_edges:
        raise ValueError("sssp: the shards have no weights; expected make_shards(..., weight=...)")
    return _run("sssp", shards, [empty(shards.num_edges, np.int32)] * 2, zeros(1, np.float64), source)


def components(shards: Shards) -> Any:
    """The smallest vertex of each vertex's component, int32, shape (num_vertices,), on the GPU.

    Each edge is given both ways.
    """
    return _run("components", shards, [empty(shards.num_edges, np.int32)] * 2, zeros(1, np.float64), 0)


def _run(kind: str, shards: Shards, buffers: list[Any], sums: Any, argument: int) -> Any:
    """Run a program to the end."""
    values = empty(shards.num_vertices, DTYPES[kind])
    kernel = _kernel(kind, teams_for(shards.window))
    scale = shards.scale if kind == "pagerank" else values
    arrays = ShardArrays(shards.windows, shards.source, shards.target, shards.weight)
    run = ShardRun(
        arrays,
        ShardValues(values, *buffers, scale),
        sums,
        zeros(CONTROL.size, np.int64),
        n=shards.num_vertices,
        entries=shards.num_edges,
        window=shards.window,
        count=shards.count,
        argument=argument,
    )
    kernel.start([run])
    finish()
    return values


def teams_for(window: int) -> int:
    """The most teams whose windows have room in shared memory."""
    return next(teams for teams in TEAMS if window <= MAX_WINDOW // teams)


@functools.cache
def _kernel(kind: str, teams: int) -> Kernel:
    return fixed_kernel(make_kernel, signature(kind), kind, teams)
