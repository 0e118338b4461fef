"""The automatic schedule against fixed ones on a GPU: `python -m benchmarks.automatic`. See docs/benchmarks.md.

Four programs of examples/ on nine graphs, with every schedule of benchmarks/schedules.py, each on a graph of its own. A
cell is what one run costs, and what the schedule needs to be made once for the graph (copies of other layouts,
in-edges, clusters). For one run that is what a first run by `edgewise.run` makes, and the median of runs that are as a
first one: none goes by clusters, which are made for the second run. For 100 runs by `edgewise.prepare`, which share
what is made once, it is all that the first two make, and the median of later ones. Runs end when the GPU has done all;
what graphs are built from lies on the GPU, and building and compiling are not counted. All results have to agree with
the built-in algorithm's. `repeat` is how many runs were timed; what is made once is made three times, and the median
counts.
"""

import argparse
import statistics
import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np

import edgewise as ew
from benchmarks.gpu import agrees, built, expected_of, synchronize
from benchmarks.graphs import GTGRAPH, WEIGHTS, source_of
from benchmarks.options import add_names
from benchmarks.ours import EXAMPLES, load
from benchmarks.results import all_needed, at_least_one, given_rows, rows_file
from benchmarks.schedules import FIXED, OTHERS, TUNED, decided_nothing
from benchmarks.table import markdown
from edgewise.kernels.door import cuda_door
from edgewise.run import Prepared


def real(name: str) -> Callable[[], ew.Graph]:
    """A real graph with the weights of its golden answers."""

    def read() -> ew.Graph:
        from tests.golden import load

        return load(name).graph

    return read


GRAPHS: dict[str, Callable[[], ew.Graph]] = {
    "rmat18": lambda: ew.generate.rmat(18, 16, seed=1, simple=True, weights=WEIGHTS),
    "rmat20": lambda: ew.generate.rmat(20, 16, GTGRAPH, seed=1, simple=True, weights=WEIGHTS),
    "uniform20": lambda: ew.generate.uniform(2**20, 2**24, seed=1, simple=True, weights=WEIGHTS),
    "lattice1024": lambda: ew.generate.lattice(1024, 1024, 0.1, seed=1, weights=WEIGHTS),
    **{name: real(name) for name in ("cnr-2000", "road-NE", "actor-collab", "soc-Epinions1-sym")},
    "rmat21-graph500": lambda: ew.generate.rmat(21, 16, seed=2, simple=True, weights=WEIGHTS),
}
#: PageRank's ranks move until then.
ITERATIONS = {"tol": 0.0, "max_supersteps": 50}
PROGRAMS = {"bfs": "BFS", "sssp": "SSSP", "pagerank": "PageRank", "components": "Components"}
#: A schedule whose runs have taken so long is not run again once it was run so often.
LONG_SECONDS, LEAST_REPEAT = 0.2, 15
#: How often what is made once is made.
LAYOUTS = 3
#: A limit that no run reaches. Runs with a limit have no clusters, and neither has the first run on a graph.
AS_A_FIRST_RUN = {"max_supersteps": 10**9}
#: The schedule that is compared with the others.
AUTOMATIC = "automatic"
#: Runs that share what is made once; the bound on automatic over best, a factor and milliseconds, within which nine in
#: ten cells are to be; and the most that the worst cell is to be.
SHARED_BY, FACTOR, MARGIN_MS, WORST = 100, 1.10, 0.02, 1.25
FIELDS = (
    "graph", "program", "schedule", "source", "ms_of_1", "ms_of_100", "layout_ms_of_1", "layout_ms_of_100",
    "right", "explain_of_1", "explain",
)  # fmt: skip


def prepared_for(
    how: Callable[..., Any], program: Any, graph: Callable[[], ew.Graph], schedule: ew.Schedule
) -> Any:
    """A program for a graph and a schedule: in-edges are made at once by `edgewise.prepare`, else when first used."""
    return how(program, graph(), device="cuda", schedule=schedule)


def layout_ms(
    make: dict[str, Callable[[], Any]], values: dict[str, Any], with_clusters: bool
) -> dict[str, float]:
    """What each schedule needs to be made once for a graph: the median, each time for a graph that has nothing yet.

    Schedules take turns, and the first turn does not count.

    Args:
        make: makes a prepared program on a fresh graph, for each schedule.
        values: of runs.
        with_clusters: whether that counts what the automatic schedule makes for the second run, too.
    """
    spent: dict[str, list[float]] = {name: [] for name in make}
    for turn in range(1 + LAYOUTS):
        for name in in_turn(list(make), turn):
            prepared, calls = make[name](), [values | {"max_supersteps": 0}]
            if with_clusters and name == AUTOMATIC:
                calls = [values, values]
            seconds = [prepared(**each).layout_seconds for each in calls]
            if turn > 0:
                spent[name].append(1e3 * sum(seconds))
    return {name: statistics.median(each) for name, each in spent.items()}


def in_turn(names: list[str], turn: int) -> list[str]:
    """The names, beginning with another one at each turn."""
    begin = turn % max(1, len(names))
    return names[begin:] + names[:begin]


def run_ms(
    prepared: dict[str, Any], values: dict[str, Any], repeat: int
) -> dict[str, tuple[float, int, Any]]:
    """The median of the runs of each schedule, which take turns, how many there were, and the last result. Two runs are
    not timed: the second makes clusters, where these pay."""
    spent: dict[str, list[float]] = {name: [] for name in prepared}
    results: dict[str, Any] = {}
    for _ in range(2):
        results = {name: each(**values) for name, each in prepared.items()}
    for turn in range(repeat):
        names = [
            name for name, each in spent.items() if len(each) < LEAST_REPEAT or sum(each) < 1e3 * LONG_SECONDS
        ]
        for name in in_turn(names, turn):
            synchronize()
            started = time.perf_counter()
            results[name] = prepared[name](**values)
            synchronize()
            spent[name].append(1e3 * (time.perf_counter() - started))
    return {name: (statistics.median(each), len(each), results[name]) for name, each in spent.items()}


def rows(graph_name: str, programs: list[str], repeat: int) -> Iterator[dict[str, Any]]:
    """One row for each program and schedule."""
    made = GRAPHS[graph_name]()
    cupy, source = cuda_door().cupy(), source_of(made)
    columns = [cupy.asarray(column) for column in (made.sources, made.targets, made.weights.astype(np.int32))]
    both_ways = [cupy.concatenate([columns[0], columns[1]]), cupy.concatenate([columns[1], columns[0]])]
    given = {"bfs": {"source": source}, "sssp": {"source": source}, "pagerank": ITERATIONS}
    for name in programs:
        program = getattr(load(EXAMPLES / f"{name}.py"), PROGRAMS[name])
        edges, values = both_ways if name == "components" and made.directed else columns, given.get(name, {})

        def fresh(edges: Any = edges) -> ew.Graph:
            return built(edges, made.num_vertices)

        schedules = {AUTOMATIC: ew.Schedule(), **FIXED}
        if name == "pagerank":  # float sums are always pulled, and never in any order
            schedules = {
                key: each
                for key, each in schedules.items()
                if not isinstance(each.delivery, ew.Push) and not isinstance(each.balance, ew.EdgeBased)
            }
        found: dict[str, dict[str, Any]] = {
            key: {"graph": graph_name, "program": name, "schedule": key, "source": values.get("source", "")}
            for key in schedules
        }
        expected = expected_of(name, fresh(), source)
        for runs, how in ((1, Prepared), (SHARED_BY, ew.prepare)):
            make = {key: partial(prepared_for, how, program, fresh, each) for key, each in schedules.items()}
            shared = runs > 1
            asked = values if shared else AS_A_FIRST_RUN | values
            layouts = layout_ms(make, values, shared)
            prepared = {key: each() for key, each in make.items()}
            for key, (each, times, result) in run_ms(prepared, asked, repeat).items():
                found[key] |= {
                    "repeat": min(times, found[key].get("repeat", times)),
                    f"ms_of_{runs}": each + layouts[key] / runs,
                    f"layout_ms_of_{runs}": layouts[key],
                    "right": found[key].get("right", True) and agrees(name, result, expected),
                    "explain" if shared else "explain_of_1": result.explain().replace("\n", "; "),
                }
        yield from found.values()


def cells(found: list[dict[str, Any]]) -> Iterator[tuple[str, str, int, float, float, str]]:
    """Graph, program, runs, the automatic schedule's milliseconds, those of the best fixed one, and its name."""
    for graph, program in dict.fromkeys((row["graph"], row["program"]) for row in found):
        here = [row for row in found if (row["graph"], row["program"]) == (graph, program)]
        for runs in (1, SHARED_BY):
            times = {row["schedule"]: float(row[f"ms_of_{runs}"]) for row in here}
            automatic = times.pop(AUTOMATIC)
            best = min(times, key=times.__getitem__)
            yield graph, program, runs, automatic, times[best], best


def is_beyond(automatic: float, best: float) -> bool:
    """Whether a cell is beyond `FACTOR` times the best and `MARGIN_MS`."""
    return automatic > FACTOR * best + MARGIN_MS


def table(found: list[dict[str, Any]]) -> str:
    """A Markdown table of automatic over best fixed, for one run and for 100. Cells that are beyond are bold."""
    listed = list(cells(found))
    programs = list(dict.fromkeys(program for _, program, *_ in listed))
    shown: dict[str, dict[str, list[str]]] = {}
    for graph, program, _, automatic, best, _ in listed:
        mark = "**" * is_beyond(automatic, best)
        shown.setdefault(graph, {}).setdefault(program, []).append(f"{mark}{automatic / best:.2f}{mark}")
    body = [[graph, *(", ".join(row.get(name, [])) for name in programs)] for graph, row in shown.items()]
    return markdown(["automatic / best fixed", *programs], body)


def summary(found: list[dict[str, Any]]) -> str:
    """That table, the cells that are beyond with the best schedule, and how many are as aimed at."""
    listed = list(cells(found))
    beyond = [
        f"{graph}, {program}, {runs} runs: {automatic:.3f} ms, {which} {best:.3f} ms, "
        f"{automatic / best:.2f} times as long"
        for graph, program, runs, automatic, best, which in listed
        if is_beyond(automatic, best)
    ]
    unseen = [is_beyond(*cell[3:5]) for cell in listed if decided_nothing(*cell[:2])]
    worst = max(automatic / best for *_, automatic, best, _ in listed)
    wrong = sum(str(row["right"]) != "True" for row in found)
    return "\n".join(
        [
            table(found),
            "",
            *beyond,
            f"{len(listed) - len(beyond)} of {len(listed)} cells within {FACTOR:g} x the best + {MARGIN_MS:g} ms, "
            f"of those that decided nothing {unseen.count(False)} of {len(unseen)}; "
            f"the worst {worst:.2f} (aim: {WORST:g}); {wrong} results differ",
        ]
    )


def main() -> None:
    """Measure and write all rows as CSV, or read them; print the summary."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.automatic", description=__doc__.splitlines()[0]
    )
    add_names(parser, "--graphs", (*TUNED, *OTHERS))
    add_names(parser, "--programs", PROGRAMS)
    parser.add_argument(
        "--repeat", type=at_least_one, default=31, help="runs that are timed (default: %(default)s)"
    )
    where = parser.add_mutually_exclusive_group(required=True)
    where.add_argument("--output", help="measure, and write a CSV file")
    where.add_argument("--read", help="a CSV file that was measured")
    options = parser.parse_args()
    if options.read:
        with all_needed(options.read):
            print(summary([*given_rows(options.read, FIELDS)]))
        return
    found: list[dict[str, Any]] = []
    with rows_file(options.output, FIELDS, options.repeat) as write:
        for name in options.graphs:
            for row in rows(name, options.programs, options.repeat):
                write(row)
                found.append(row)
    print(summary(found))


if __name__ == "__main__":
    main()
