"""Ways to run over a graph that is larger than a GPU's memory, compared in one run: `python -m benchmarks.beyond`.

Edgewise in memory, with a limit, and with all arcs in the host's memory; and the ways of other systems, built from its
parts (`benchmarks.beyond_ways`). Times are wall times of whole calls until the GPU has finished, the best of a few
after one that is not counted; results stay on the GPU. What is made once for a graph is made before: layouts, locked
memory, buffers. Each answer is compared with that of the run in memory. See docs/benchmarks.md.
"""

import argparse
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np

import edgewise as ew
from benchmarks.gpu import synchronize
from benchmarks.graphs import source_of
from benchmarks.options import add_names
from benchmarks.page_tables import beyond_table
from benchmarks.results import at_least_one, dated, rows_file, versions
from edgewise.graph import Needs
from edgewise.graph.resident import Placement, Resident
from edgewise.kernels.door import cuda_door
from edgewise.memory import Step, as_bytes, held, in_turn
from edgewise.result import Result

ALGORITHMS = ("bfs", "components", "sssp", "pagerank")
#: The ways in order. Compacting all rows for PageRank would be copying parts with more work, so it is left out.
IN_MEMORY, LIMIT, ON_HOST = "in memory", "limit", "arcs on the host"
IN_PLACE, COPIED, COMPACTED = "zero-copy", "copied parts", "compacted"
WAYS = (IN_MEMORY, LIMIT, ON_HOST, IN_PLACE, COPIED, COMPACTED)
#: Bytes of a vertex on the GPU in the ways of other systems: offsets, lists, values or ranks, flags.
OF_VERTEX = {"bfs": 14, "components": 22, "sssp": 14, "pagerank": 29}
#: Arcs that are compacted at a time; iterations of PageRank and its damping; the value of what is not reached.
COMPACTED_ARCS, ITERATIONS, DAMPING, UNREACHED = 1 << 24, 10, 0.85, 2**31 - 1
#: Calls that take more seconds are timed once.
LONG = 2.0
FIELDS = (
    "graph", "vertices", "arcs", "limit", "algorithm", "source", "what", "ms", "first_ms", "calls", "supersteps",
    "link_bytes", "right", "explain",
)  # fmt: skip


class Run(NamedTuple):
    """What a call gave: edgewise's result, or an array on the GPU; and supersteps."""

    answer: Any
    supersteps: int


class Timed(NamedTuple):
    """Calls that were timed: the seconds of the first, which is not counted, and those of the others; the last run."""

    first: float
    others: list[float]
    run: Run


def timed(call: Callable[[], Run], repeat: int) -> Timed:
    """Call once, and then until calls are `repeat`, or take `LONG`."""

    def clocked() -> tuple[float, Run]:
        synchronize()
        start = time.perf_counter()
        run = call()
        synchronize()
        return time.perf_counter() - start, run

    (first, run), others = clocked(), list[float]()
    while len(others) < repeat and not (others and others[-1] > LONG):
        del run  # its arrays take memory on the GPU
        seconds, run = clocked()
        others.append(seconds)
    return Timed(first, others, run)


def of_edgewise(name: str, graph: ew.Graph, source: int, **how: Any) -> Callable[[], Run]:
    """An algorithm of edgewise as a call."""

    def call() -> Run:
        if name == "bfs":
            found: Any = ew.bfs(graph, source, device="cuda", **how)
        elif name == "sssp":
            found = ew.sssp(graph, source, device="cuda", **how)
        elif name == "components":
            found = ew.connected_components(graph, device="cuda", **how)
        else:
            options: dict[str, Any] = {"damping": DAMPING, "tol": 0, "max_iterations": ITERATIONS}
            found = ew.pagerank(graph, dtype=np.float32, device="cuda", **options, **how)
        return Run(found, found.supersteps)

    return call


@contextmanager
def arcs_on_the_host() -> Iterator[None]:
    """Have algorithms of edgewise read all arcs in the host's memory: only offsets and lists lie on the GPU."""
    usual = Resident.place

    def place(resident: Resident, name: str, needs: Needs, limit: int | None) -> Step:
        whole, offsets = resident.sizes(needs.arrays)
        there = offsets + needs.lists
        resident._placed(Placement(0.0, 1.0, False, there, whole - offsets))
        return in_turn(resident.making(needs.arrays), held(needs.lists))

    Resident.place = place  # type: ignore[assignment, method-assign]
    try:
        yield
    finally:
        Resident.place = usual  # type: ignore[method-assign]


def forget(graph: ew.Graph) -> None:
    """Give up all that lies on the GPU for a graph, and unlock its arrays."""
    synchronize()
    graph.residents.clear()
    graph.programs.clear()
    graph.itself.placement = None
    cuda_door().give_back()


def of_others(
    what: str, name: str, graph: ew.Graph, source: int, limit: int
) -> tuple[Callable[[], Run], Callable[[], int]]:
    """An algorithm in another system's way as a call, and the bytes that came over the link so far."""
    from benchmarks.beyond_kernels import WEIGHTED
    from benchmarks.beyond_ways import Compacted, Copied, InPlace, Slots, Way, rank, relax
    from edgewise.graph import csr

    xp, n, inward = cuda_door().cupy(), graph.num_vertices, graph.stored_in_edges
    out = graph.stored if name == "sssp" else csr.Rows(graph.stored.offsets, graph.stored.targets, None)
    inward = csr.Rows(inward.offsets, inward.targets, None)
    all_rows = {"components": [out, inward], "pagerank": [inward]}.get(name, [out])
    columns = 1 + (name == "sssp")
    longest = max(int(np.diff(rows.offsets).max()) for rows in all_rows)
    most = max((limit - OF_VERTEX[name] * n) // (2 * 4 * columns), longest)
    ways: list[Way]
    if what == IN_PLACE:
        ways = [InPlace(rows) for rows in all_rows]
    elif what == COPIED:
        slots = Slots(most, name == "sssp")
        ways = [Copied(rows, slots) for rows in all_rows]
    else:
        slots = Slots(max(longest, min(most, COMPACTED_ARCS)), name == "sssp")
        ways = [Compacted(rows, slots) for rows in all_rows]

    out_degree = xp.asarray(graph.out_degree) if name == "pagerank" else None

    def ranks() -> Run:
        return Run(rank(ways[0], out_degree, ITERATIONS, DAMPING), ITERATIONS)

    def values() -> Run:
        if name == "components":
            value, flags = xp.arange(n, dtype=np.int32), xp.ones(n, np.uint8)
        else:
            value, flags = xp.full(n, UNREACHED, np.int32), xp.zeros(n, np.uint8)
            value[source], flags[source] = 0, 1
        return Run(value, relax(ways, value, flags, {"bfs": 1, "sssp": WEIGHTED}.get(name, 0)))

    return (ranks if name == "pagerank" else values), lambda: sum(way.moved for way in ways)


def answer_of(name: str, run: Run) -> np.ndarray:
    """The answer on the host, with `UNREACHED` for what was not reached."""
    found = run.answer
    if isinstance(found, Result):
        fields = {"bfs": "level", "components": "component", "sssp": "distance", "pagerank": "rank"}
        values = getattr(found, fields[name])
    else:
        values = cuda_door().host_copy(found)
    if name == "bfs":
        return np.where(values < 0, UNREACHED, values)
    if name == "sssp":
        return np.where(values == np.iinfo(values.dtype).max, UNREACHED, values)
    return values


def agrees(name: str, answer: np.ndarray, expected: np.ndarray) -> bool:
    """Whether two answers are equal; ranks, but for rounding."""
    if name == "pagerank":
        return bool(np.allclose(answer, expected, rtol=1e-3, atol=0))
    return np.array_equal(answer, expected)


def rows(
    graph: ew.Graph, limit: int, ways: list[str], algorithms: list[str], repeat: int, verify: bool
) -> Iterator[dict[str, Any]]:
    """One row for each way and algorithm."""
    graph.in_offsets  # noqa: B018  in-edges belong to the graph
    source, expected = source_of(graph), dict[str, np.ndarray]()
    known = {"vertices": graph.num_vertices, "arcs": graph.num_arcs, "limit": limit}

    def measured(
        what: str, name: str, call: Callable[[], Run], moved: Callable[[], int] | None = None
    ) -> dict[str, Any]:
        timing = timed(call, repeat)
        answer, run, right = answer_of(name, timing.run), timing.run, True
        calls = 1 + len(timing.others)
        if name not in expected:
            expected[name] = answer
            right = not verify or run.answer.verify(graph)
        return known | {
            "algorithm": name,
            "source": source if name in ("bfs", "sssp") else "",
            "what": what,
            "ms": round(1e3 * min(timing.others), 3),
            "first_ms": round(1e3 * timing.first, 3),
            "calls": len(timing.others),
            "supersteps": run.supersteps,
            "link_bytes": moved() // calls if moved else "",
            "right": right and agrees(name, answer, expected[name]),
            "explain": run.answer.explain().replace("\n", "; ") if isinstance(run.answer, Result) else "",
        }

    for name in algorithms:
        yield measured(IN_MEMORY, name, of_edgewise(name, graph, source))
    if LIMIT in ways:
        for name in algorithms:
            yield measured(LIMIT, name, of_edgewise(name, graph, source, memory_limit=limit))
    forget(graph)
    if ON_HOST in ways:
        with arcs_on_the_host():
            for name in algorithms:
                if name != "pagerank":  # it has a packed layout of its own, see "limit"
                    yield measured(ON_HOST, name, of_edgewise(name, graph, source))
    for what in (IN_PLACE, COPIED, COMPACTED):
        for name in algorithms:
            if what in ways and (what, name) != (COMPACTED, "pagerank"):
                forget(graph)
                yield measured(what, name, *of_others(what, name, graph, source, limit))


def line(row: dict[str, Any]) -> str:
    """A row to print."""
    moved = f"{row['link_bytes']:,} bytes" if row["link_bytes"] != "" else ""
    text = (
        f"{row['what']:<16} {row['algorithm']:<10} {row['ms']:10.3f} ms  first {row['first_ms']:9.1f}  "
        f"{row['supersteps']:3} supersteps  {moved:>22}  {'right' if row['right'] else 'WRONG'}  {row['explain']}"
    )
    return text.rstrip()


def main() -> None:
    """Print a line for each measurement, write them all as CSV, and print a table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.beyond", description=__doc__.splitlines()[0])
    parser.add_argument("--scale", type=int, default=25, help="of an R-MAT graph (default: %(default)s)")
    parser.add_argument("--limit", default="1GB", help="memory on the GPU (default: %(default)s)")
    add_names(parser, "--ways", WAYS, what="names; the first one always runs")
    add_names(parser, "--algorithms", ALGORITHMS)
    parser.add_argument(
        "--repeat", type=at_least_one, default=3, help="calls that are timed (default: %(default)s)"
    )
    parser.add_argument("--verify", action="store_true", help="verify the answers of the runs in memory, too")
    parser.add_argument("--output", help="a new CSV file (default: benchmarks/results/DATE-GPU-beyond.csv)")
    options = parser.parse_args()
    limit = as_bytes("--limit", options.limit)
    assert limit is not None
    path = options.output or dated(f"{versions().split(';')[0].replace(' ', '-')}-beyond")
    given = options.ways, options.algorithms, options.repeat, options.verify
    found = []
    with rows_file(path, FIELDS, options.repeat) as write:
        started = time.perf_counter()
        graph = ew.generate.rmat(options.scale, 16, weights=(1, 100))
        graph.in_offsets  # noqa: B018
        print(f"{graph} in {time.perf_counter() - started:.1f} s", flush=True)
        for row in rows(graph, limit, *given):
            found.append(row)
            write({"graph": f"rmat{options.scale}"} | row)
            print(line(row), flush=True)
    print(beyond_table(found))


if __name__ == "__main__":
    main()
