"""The vertex stage of Zhong et al. 2016 alone: every vertex adds up the floats in its slots, by one kernel.

`python -m benchmarks.papers.edge_vertex_stage GRAPH` runs it once for each of `LAYOUTS`; under Nsight Compute
(`profiled`) that gives warp execution efficiency and load and store efficiency of Tables 5 and 7. `expected` computes
them from the layout. The kernel goes over rows as the engine does (`edgewise.balance.columnar`), with a body that does
nothing else.
"""

import csv
import functools
import io
import shutil
import statistics
import subprocess
import sys
from collections.abc import Collection
from typing import Annotated, Any, NamedTuple

import numpy as np

from benchmarks.papers.edge_vertex_remap import TOGETHER
from benchmarks.papers.edge_vertex_setup import GRAPHS
from edgewise.balance.columnar import make_columnar
from edgewise.kernels.cuda.arguments import Elements, packed, type_of
from edgewise.kernels.cuda.device import HALVES, WARP, atomic_add, device_function, lane, shuffle_down
from edgewise.kernels.cuda.launch import Kernel, fixed_kernel
from edgewise.kernels.cuda.memory import cupy, finish, zeros
from edgewise.layout.slots import arrange
from edgewise.layout.slots_cuda import LayoutArrays, layout_arrays
from edgewise.layout.units import Units

#: Layouts of Tables 5 and 7, and heavy vertices apart.
LAYOUTS: dict[str, dict[str, Any]] = {
    "row-major, unsorted": {"sort": None, "group_size": 1, "split": False},
    "row-major, sorted": {"sort": "linear", "group_size": 1, "split": False},
    "column-major, unsorted": {"sort": None, "split": False},
    "column-major, sorted": {"sort": "linear", "split": False},
    "column-major, exactly sorted": {"sort": "exact", "split": False},
    "heavy apart": {"sort": "logarithmic", "split": True},
}
METRICS = {
    "warp_percent": "smsp__thread_inst_executed_per_inst_executed.ratio",
    "load_percent": "smsp__sass_average_data_bytes_per_sector_mem_global_op_ld.pct",
    "store_percent": "smsp__sass_average_data_bytes_per_sector_mem_global_op_st.pct",
    "hit_percent": "l1tex__t_sector_hit_rate.pct",
    "read_bytes": "dram__bytes_read.sum",
}
#: Values of four bytes in a sector of memory.
IN_SECTOR = 8


class Stage(NamedTuple):
    """What the kernel takes: see `edgewise.balance.columnar`; the slots, zeros for a sum of each vertex, vertices."""

    layout: LayoutArrays
    slots: Annotated[Any, Elements(np.float32)]
    sums: Annotated[Any, Elements(np.float32, atomic=True)]
    n: int


def signature() -> tuple[Any, ...]:
    """The type of the kernel's argument."""
    return (type_of(Stage),)


@device_function
def _four(slots: Any, k: Any, step: Any) -> Any:
    """The sum of four slots, which are loaded at once."""
    one, two, three, four = slots[k], slots[k + step], slots[k + 2 * step], slots[k + 3 * step]
    return (one + two) + (three + four)


@device_function
def _add_up(v: Any, first: Any, end: Any, step: Any, lanes: Any, part: Any, stage: Any) -> None:
    slots, k, total = stage.slots, first, np.float32(0)
    while k + 7 * step < end:
        total += _four(slots, k, step) + _four(slots, k + 4 * step, step)
        k += 8 * step
    if k + 3 * step < end:
        total += _four(slots, k, step)
        k += 4 * step
    while k < end:
        total += slots[k]
        k += step
    if lanes > 1:
        for half in HALVES:
            total += shuffle_down(total, half)
        if lane() == 0:
            atomic_add(stage.sums, v, total)
    elif v >= 0:
        stage.sums[v] = total


_gather_all = make_columnar(_add_up)


def stage_kernel(it):
    """Write the sum of each vertex's slots; see `Stage`."""
    _gather_all(np.int64(0), it.n, np.int64(0), it, it)


@functools.cache
def _kernel() -> Kernel:
    return fixed_kernel(stage_kernel, signature())


def started(units: Units, slots: Any, times: int = 1) -> Any:
    """Start the kernel `times` times; the sums, which rows that lie apart are added to each time."""
    sums, n = zeros(len(units.vertices), np.float32), len(units.vertices)
    stage = packed(Stage(layout_arrays(units), slots, sums, n))
    for _ in range(times):
        _kernel().start([stage])
    return sums


def milliseconds(units: Units, slots: Any, repeat: int) -> float:
    """The median time of the kernel by the GPU's events, of several that follow each other."""
    xp, found = cupy(), []
    for _ in range(repeat + 1):
        begin, end = xp.cuda.Event(), xp.cuda.Event()
        begin.record()
        started(units, slots, TOGETHER)
        end.record()
        end.synchronize()
        found.append(xp.cuda.get_elapsed_time(begin, end) / TOGETHER)
    return statistics.median(found[1:])


def expected(units: Units) -> tuple[float, float]:
    """Percentages computed from a layout: lanes at work, of those of the warps that still have a row to walk; and bytes
    asked for, of those of the sectors of memory that lanes of a warp touch in one step."""
    xp = cupy()
    degrees = units.degrees.astype(np.int64)
    alone, size = units.heaviest + units.heavy, units.group_size
    m = int(degrees.sum())
    row = xp.repeat(xp.arange(len(degrees)), degrees.get().tolist())
    step = xp.arange(m) - (xp.cumsum(degrees) - degrees)[row]
    grouped = row - alone
    first = units.begin[xp.where(row < alone, row, alone + grouped // size)]
    place = first + xp.where(row < alone, step, grouped % size + step * size)
    # Of a heavy row, 32 places are one step of a warp; the others have a lane for each row.
    warp = xp.where(row < alone, row, alone + grouped // WARP)
    turn = xp.where(row < alone, step // WARP, step)
    steps = len(xp.unique((warp << 32) + turn))
    order = xp.lexsort(xp.stack([place // IN_SECTOR, turn, warp]))
    keys = [values[order] for values in (warp, turn, place // IN_SECTOR)]
    changes = sum((xp.diff(values) != 0).astype(np.int32) for values in keys)
    sectors = 1 + int(xp.count_nonzero(changes))
    return 100 * m / (WARP * steps), 100 * m / (IN_SECTOR * sectors)


def laid_out(targets: Any, num_vertices: int) -> dict[str, Units]:
    """Every layout of a graph's targets on the GPU."""
    return {name: arrange(targets, num_vertices, "u4", arcs=False, **how)[0] for name, how in LAYOUTS.items()}


def profiled(graph_name: str, module: str, names: Collection[str]) -> dict[str, dict[str, float]]:
    """What Nsight Compute measures of a kernel for each name; nothing where it is not installed, or not allowed to.

    Args:
        graph_name: of `GRAPHS`.
        module: one that runs the kernel once for each name, in their order, as a command with the graph's name.
        names: of layouts or systems.
    """
    if shutil.which("ncu") is None:
        return {}
    command = [
        "ncu",
        "--csv",
        "--profile-from-start",
        "off",
        "--clock-control",
        "none",
        "--print-units",
        "base",
    ]
    command += ["--kernel-name", "kernel"]  # of edgewise, not of CuPy
    command += ["--metrics", ",".join(METRICS.values()), sys.executable, "-m", module, graph_name]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    lines = [line for line in done.stdout.splitlines() if line.startswith('"')]
    found: dict[int, dict[str, float]] = {}
    for row in csv.DictReader(io.StringIO("\n".join(lines))):
        name = next(name for name, metric in METRICS.items() if metric == row["Metric Name"])
        value = float(row["Metric Value"].replace(",", ""))
        found.setdefault(int(row["ID"]), {})[name] = 100 * value / WARP if name == "warp_percent" else value
    if len(found) != len(names):
        print(f"ncu: {len(found)} kernels of {len(names)}: {done.stdout[-300:]} {done.stderr[-300:]}")
        return {}
    return dict(zip(names, (found[key] for key in sorted(found)), strict=True))


def main() -> None:
    """Run the kernel once for each layout, for a profiler that starts when it is told to."""
    num_vertices, (_, targets, *_) = GRAPHS[sys.argv[1]]()
    made = laid_out(targets, num_vertices)
    slots = cupy().ones(max(units.size for units in made.values()), np.float32)
    started(next(iter(made.values())), slots)
    finish()
    cupy().cuda.profiler.start()
    for units in made.values():
        started(units, slots)
    finish()
    cupy().cuda.profiler.stop()


if __name__ == "__main__":
    main()
