"""A graph that fits in no GPU: `python -m benchmarks.large`. See docs/benchmarks.md.

Each of 2**scale vertices has edges to its images under random permutations: two arcs for each of them, written where
they stay. All degrees are the same, so all ranks are. Levels of the search are checked for random vertices: the least
of the neighbours' is one less. Times are of whole calls, the second one of two.
"""

import argparse
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import edgewise as ew
from benchmarks.options import add_device
from benchmarks.results import end_without_gpu, rows_file
from edgewise.graph.csr import Rows, offset_dtype
from edgewise.graph.ids import Ids
from edgewise.kernels.cache import device_function
from edgewise.kernels.cpu.launch import launch
from edgewise.kernels.cpu.team import available_threads, claim, team_kernel
from edgewise.kernels.door import cuda_door

#: Vertices that a thread takes at a time, and about the nanoseconds that an arc takes.
_STEP, _ARC_NS = 4096, 5
FIELDS = (
    "algorithm", "first", "second", "run", "iteration", "seconds_laying_out", "explain", "right", "source",
    "vertices", "arcs", "limit", "locked", "link",
)  # fmt: skip
#: Vertices whose levels are checked.
SAMPLED = 100_000


@device_function
def _image(v: Any, numbers: Any, bits: Any, backwards: Any) -> Any:
    """The image of a vertex, or the vertex whose image it is. `numbers`: two odd ones, their inverses, and a shift."""
    mask = (np.uint64(1) << np.uint64(bits)) - np.uint64(1)
    half = np.uint64((bits + 1) // 2)
    first, second = (numbers[3], numbers[2]) if backwards else (numbers[0], numbers[1])
    v = np.uint64(v)
    if backwards:
        v = (v - numbers[4]) & mask
    v = (v * first) & mask
    v ^= v >> half
    v = (v * second) & mask
    return v if backwards else (v + numbers[4]) & mask


@team_kernel
def _write(thread: Any, size: Any, control: Any, numbers: Any, bits: Any, targets: Any) -> None:
    """Write the rows of all vertices, each in ascending order."""
    degree = 2 * len(numbers)
    n = len(targets) // degree
    while True:
        start = claim(control, 0, _STEP, n)
        if start >= n:
            break
        for v in range(start, min(start + _STEP, n)):
            begin = v * degree
            for i in range(degree):
                target = np.int32(_image(v, numbers[i // 2], bits, i % 2 == 1))
                k = begin + i
                while k > begin and targets[k - 1] > target:
                    targets[k] = targets[k - 1]
                    k -= 1
                targets[k] = target


def permuted(scale: int, permutations: int, seed: int = 1, locked: bool = False) -> ew.Graph:
    """The undirected graph of ``2**scale`` vertices and twice as many arcs of each as there are permutations; `locked`:
    in memory that the driver gives, which a GPU reads faster than memory that is locked afterwards."""
    rng, n, degree = np.random.default_rng(seed), 1 << scale, 2 * permutations
    numbers = rng.integers(0, n // 2, (permutations, 5)).astype(np.uint64) * np.uint64(2) + np.uint64(1)
    for row in numbers:
        row[2:4] = [pow(int(odd), -1, n) for odd in row[:2]]
    targets = _locked(n * degree) if locked else np.empty(n * degree, np.int32)
    launch(_write, numbers, scale, targets, work=_ARC_NS * len(targets))
    offsets = np.arange(0, n * degree + 1, degree, dtype=offset_dtype(n * degree))
    return ew.Graph(Rows(offsets, targets, None), Ids(n), False, 0)


def _locked(length: int) -> np.ndarray:
    """An array of the driver's memory, int32; CuPy's pool would take up to twice as much."""
    cuda = cuda_door().cupy().cuda
    memory = cuda.PinnedMemoryPointer(cuda.PinnedMemory(4 * length), 0)
    return np.frombuffer(memory, np.int32, length)


def levels_are_right(graph: ew.Graph, level: np.ndarray, source: int) -> bool:
    """Whether levels of random vertices follow from those of their neighbours."""
    n = graph.num_vertices
    some = np.random.default_rng(2).choice(n, min(n, SAMPLED), replace=False)
    around = graph.targets[graph.offsets[some][:, None] + np.arange(graph.num_arcs // n)]
    least, mine = level[around].min(axis=1), level[some]
    return bool(level[source] == 0 and np.all((some == source) | (mine == least + 1)))


def measured(name: str, call: Callable[[], Any], iterations: int) -> tuple[dict[str, Any], Any]:
    """A row of two calls, of which the second counts, times in seconds; and its result."""
    seconds, laying_out = [], []
    for _ in range(2):
        start = time.perf_counter()
        result = call()
        seconds.append(time.perf_counter() - start)
        laying_out.append(result.layout_seconds)
    each = result.seconds / iterations
    explained = result.explain().replace("\n", "; ")
    print(
        f"{name}: {seconds[0]:.1f} s, then {seconds[1]:.2f} s; run {result.seconds:.3f} s, {each:.3f} s an iteration"
    )
    print(f"  {explained}", flush=True)
    row = {
        "algorithm": name,
        "first": seconds[0],
        "second": seconds[1],
        "run": result.seconds,
        "iteration": each,
        "seconds_laying_out": laying_out[0],
        "explain": explained,
    }
    return row, result


def rows(graph: ew.Graph, how: dict[str, Any], iterations: int) -> Iterator[dict[str, Any]]:
    """Search, components and PageRank, each checked."""
    n, source = graph.num_vertices, 0
    row, result = measured("bfs", lambda: ew.bfs(graph, source, **how), 1)
    yield row | {"right": levels_are_right(graph, result.level, source), "source": source}
    del result
    row, result = measured("components", lambda: ew.connected_components(graph, **how), 1)
    yield row | {
        "right": result.num_components == 1 and bool((result.component == result.component[0]).all())
    }
    del result
    options: dict[str, Any] = {"tol": 0, "max_iterations": iterations, "dtype": np.float32}
    row, result = measured("pagerank", lambda: ew.pagerank(graph, **options, **how), iterations)
    alike = bool(np.allclose(result.rank * n, 1, rtol=1e-4))  # all vertices have as many edges
    yield row | {"right": alike and result.iterations == iterations}


def main() -> None:
    """Make the graph, run on it, and write a CSV file."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.large", description=__doc__.splitlines()[0])
    parser.add_argument("--scale", type=int, default=30, help="2**SCALE vertices (default: %(default)s)")
    parser.add_argument("--permutations", type=int, default=10, help="two arcs each (default: %(default)s)")
    parser.add_argument("--iterations", type=int, default=5, help="of PageRank (default: %(default)s)")
    add_device(parser)
    parser.add_argument("--memory-limit", help="default: what is free")
    parser.add_argument(
        "--locked", action="store_true", help="arcs in memory that the driver gives, for a GPU"
    )
    parser.add_argument("--output", help="a CSV file")
    given = parser.parse_args()
    if given.locked:
        end_without_gpu()
    with rows_file(given.output, FIELDS, 1, given.device == "cuda") as write:
        started = time.perf_counter()
        graph = permuted(given.scale, given.permutations, locked=given.locked)
        made = time.perf_counter() - started
        print(f"{graph} in {made:.1f} s on {available_threads()} threads", flush=True)
        known: dict[str, Any] = {"vertices": graph.num_vertices, "arcs": graph.num_arcs}
        known |= {"limit": given.memory_limit, "locked": given.locked}
        if given.device == "cuda":
            known["link"] = cuda_door().link_rate()
            print(f"copies to the GPU: {1e-9 * known['link']:.1f} GB/s", flush=True)
        right = True
        for row in rows(
            graph, {"device": given.device, "memory_limit": given.memory_limit}, given.iterations
        ):
            write(row | known)
            right = right and row["right"]
    print("all right" if right else "WRONG")


if __name__ == "__main__":
    main()
