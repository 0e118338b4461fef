"""A script for several ranks: every program on many graphs, compared bit for bit with a run by one process.

``ranks_programs.py few`` takes some of the cases of each program; with ``grid``, ranks are in a grid, which some
programs refuse, and ``few`` are some of the others.
Compiled code is shared by the cache: first each rank compiles its share of the programs.
"""

import sys
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import battery
import golden
import kept_messages
import numpy as np
import rank_cases
import test_engines
import test_properties
from beyond_programs import Reads, lengths
from components import Components
from conftest import Guarded
from fastest_below_toll import FastestBelowToll
from greedy_coloring import GreedyColoring
from k_core import KCore
from label_propagation import LabelPropagation
from pagerank import PageRank
from sssp import SSSP
from test_engines_fields import Swaps, stores_its_message, zeros

import edgewise as ew
from edgewise.distributed import PreparedRank
from edgewise.engine.cpu.shared import Sizes
from edgewise.engine.distributed import rank_cpu as engine_rank
from edgewise.engine.distributed.group import Group, connect
from edgewise.engine.distributed.program import DistributedProgram
from edgewise.engine.lowering.compiled import compiled_for
from edgewise.errors import DistributedError
from edgewise.kernels.cache import program_function

#: Real graphs, and what runs on them.
REAL = {
    "netscience": (KCore, Components, LabelPropagation, GreedyColoring, test_engines.Traffic),
    "wiki-Vote": (PageRank, LabelPropagation, test_engines.BFS),
    "debian-depends": (SSSP, test_engines.Traffic, test_engines.BFS),
}
#: Graphs of the battery that all programs run on. Of the others, each runs on every third.
ALWAYS = ("no vertices", "one vertex", "no edges", "star in", "parallel edges", "undirected")
FEW = (
    "bfs",
    "float sums",
    "edge fields",
    "vote",
    "reads through parents",
    "other names",
    "every aggregator",
    next(iter(test_properties.PROGRAMS)).__name__,
)
FEW_IN_GRID = ("bfs", "every aggregator", "arcs")
FEW_GRAPHS = ("no vertices", "one vertex", "star in", "undirected", "just over a block")
#: Graphs that the other programs run on, with ``few``.
FEWER_GRAPHS = ("star in", "undirected")


class Case(NamedTuple):
    """A run that several ranks and one process carry out.

    Attributes:
        name, where: of the program and of the graph, for messages.
        values: the program's parameters and arrays.
        how: arguments of the run.
        num_threads: of each rank.
    """

    name: str
    where: str
    program: type[ew.Program]
    graph: ew.Graph
    values: dict[str, Any]
    how: dict[str, Any]
    num_threads: int


Values = Callable[[type[ew.Program], ew.Graph], dict[str, Any]]


def programs() -> Iterator[tuple[str, type[ew.Program], Values]]:
    """Names, programs, and what gives their values for a graph."""
    for name, (program, values) in test_engines.PROGRAMS.items():
        yield name, program, lambda _, graph, values=values: values
    for name in ("Least", "Widest", "Highest", "Spread", "Chain", "Mirror"):
        yield name, getattr(test_engines, name), from_source
    for name, program in {**kept_messages.PROGRAMS, "rewritten": kept_messages.Rewritten}.items():
        yield name, program, from_source
    for program in (GreedyColoring, LabelPropagation, Swaps):
        yield program.__name__, program, from_source
    yield "edge fields of all kinds", Reads, lambda _, graph: lengths(graph)
    yield "tolls", FastestBelowToll, tolls
    for name, program in rank_cases.PROGRAMS.items():
        yield name, program, rank_cases.values_of
    for combiner, dtype in ((ew.MIN, "int64"), (ew.PRODUCT, "int32"), (ew.SUM, "float32")):
        yield f"stores {combiner.name} {dtype}", stores_its_message(combiner, dtype), from_source
    yield "zeros", zeros(ew.MIN, "float64", False), from_source
    yield "zeros at once", zeros(ew.MAX, "float64", True), from_source
    for program in test_properties.PROGRAMS:
        yield program.__name__, program, drawn


def from_source(program: type[ew.Program], graph: ew.Graph) -> dict[str, Any]:
    return {"source": 0} if hasattr(program, "source") else {}


def tolls(program: type[ew.Program], graph: ew.Graph) -> dict[str, Any]:
    rng = np.random.default_rng(graph.num_arcs)
    minutes, toll = rng.random(graph.num_arcs), rng.integers(0, 9, graph.num_arcs).astype(np.float64)
    return {"source": graph.num_vertices // 2, "most": 6.0, "minutes": minutes, "toll": toll}


def drawn(program: type[ew.Program], graph: ew.Graph) -> dict[str, Any]:
    rng = np.random.default_rng([graph.num_arcs, graph.num_vertices])
    low, high = np.array([(0, 13), (2, 6), (0, 7), (1, 6)]).T
    seed, period, silent, last = rng.integers(low, high).tolist()
    names = rng.permutation(graph.num_vertices)
    return {"name": names, "seed": seed, "period": period, "silent": silent, "last": last}


def undirected(graph: ew.Graph) -> ew.Graph:
    return ew.Graph.from_edges(
        graph.sources, graph.targets, graph.weights, directed=False, num_vertices=graph.num_vertices
    )


def cases(few: tuple[str, ...] | None, others: bool = False) -> list[Case]:
    """All runs, or those of a few programs, and fewer of the others. The runs of one program follow each other, the
    first one on a graph with arcs."""
    found, graphs = list[Case](), battery.graphs()
    for i, (name, program, values_for) in enumerate(programs()):
        is_few = few is not None and name in few
        if few and not (is_few or others):
            continue
        always = (FEW_GRAPHS if is_few else FEWER_GRAPHS) if few else ALWAYS
        for j, (where, graph) in enumerate(sorted(graphs.items(), key=lambda each: each[0] != "undirected")):
            if where not in always and (few or (i + j) % 3):
                continue
            if (
                hasattr(program, "source" if program is not rank_cases.Chosen else "root")
                and not graph.num_vertices
            ):
                continue
            if program in (Components, GreedyColoring, KCore):
                graph = undirected(graph)
            how: dict[str, Any] = {"seed": 7 + j} if program is test_engines.Phases else {}
            if program is test_engines.Spread:  # it has no end
                how = {"max_supersteps": 12}
            values = values_for(program, graph)
            found.append(Case(name, where, program, graph, values, how, 1 + (i + j) % 3))
            if where == "undirected" and (is_few or not few):
                found += at_limits(found[-1])
    return found + real_cases({case.program for case in found if case.name in few} if few else None)


def at_limits(case: Case) -> list[Case]:
    """The same with no superstep, with one, and with as many as it takes and one less."""
    needed = ordinary(case).supersteps if case.program in (test_engines.BFS, KCore, rank_cases.Jumps) else 3
    limits = sorted({0, 1, max(0, needed - 1), needed})
    return [
        case._replace(where=f"{case.where}, {limit} supersteps", how={**case.how, "max_supersteps": limit})
        for limit in limits
    ]


def real_cases(few: set[type[ew.Program]] | None) -> list[Case]:
    """Programs on real graphs, or at most one of a few programs on each."""
    found = []
    for name, runs in REAL.items():
        if name not in golden.NAMES:
            print(f"not run: {name} is not there", flush=True)
            continue
        graph = golden.load(name).graph
        for program in runs if few is None else [each for each in runs if each in few][-1:]:
            source = graph.vertices[int(graph.out_degree.argmax())]
            values = {"source": source} if hasattr(program, "source") else {}
            found.append(Case(program.__name__, name, program, graph, values, {}, 2))
    return found


def ordinary(case: Case) -> Any:
    """The run by one process that pulls, or keeps messages."""
    keeps = case.program.combine is ew.MESSAGES
    schedule = ew.Schedule(ew.Buffered() if keeps else ew.Pull())
    return ew.run(case.program(**case.values), case.graph, device="cpu", schedule=schedule, **case.how)


class Alone(PreparedRank):
    """A program for the only rank of a group."""

    def _made(self, on_gpu: bool, delivery: Any, message: np.dtype) -> DistributedProgram:
        return DistributedProgram(
            compiled_for(self.spec, program_function), self._binding, message, Group(0, 1), ew.Ranks()
        )


def compile_share(found: list[Case], group: Group) -> None:
    """Compile every program once, each by one rank: the kernel of one process, and that of ranks. Ranks of other
    numbers begin elsewhere, so that scripts at the same time share the work."""
    firsts = list({case.program: case for case in reversed(found)}.values())
    start = len(firsts) * (group.size - 2) // 3
    firsts = firsts[start:] + firsts[:start]
    for case in firsts[group.rank :: group.size]:
        prepared = Alone(case.program, case.graph, "cpu", ew.Schedule(num_threads=1))
        limit = {"max_supersteps": 1, "seed": case.how.get("seed")}
        prepared.run(dict(case.values), progress=None, memory_limit=None, check=False, **limit)
        ordinary(case)
    group.total(0)


def first_difference(got: np.ndarray, expected: np.ndarray) -> str:
    """Where arrays differ, bit for bit; a NaN is any NaN."""
    if (got.dtype, got.shape) != (expected.dtype, expected.shape):
        return f": {got.dtype} {got.shape}, expected {expected.dtype} {expected.shape}"
    bits = f"u{got.dtype.itemsize}"
    differs = (got.view(bits) != expected.view(bits)) & ~((got != got) & (expected != expected))
    where = np.flatnonzero(differs)
    if len(where) == 0:
        return ""
    i = where[0]
    return f"[{i}] is {got[i]!r}, expected {expected[i]!r}; {len(where)} of {len(got)} differ"


def differences(got: Any, expected: Any, in_rounds: bool) -> Iterator[str]:
    """What differs between results; of an asynchronous program, whose number of supersteps says nothing, in the end."""
    if not in_rounds and "max_supersteps" in got.ended + expected.ended:
        return
    for kind in ("fields", "edge_fields"):
        ours, theirs = getattr(got, kind), getattr(expected, kind)
        if sorted(ours) != sorted(theirs):
            yield f"{kind} are {sorted(ours)}, expected {sorted(theirs)}"
            continue
        yield from (
            f"{name}{found}" for name in theirs if (found := first_difference(ours[name], theirs[name]))
        )
    for name in ("supersteps", "ended") if in_rounds else ("ended",):
        if getattr(got, name) != getattr(expected, name):
            yield f"{name}: {getattr(got, name)}, expected {getattr(expected, name)}"
    for name, value in expected.aggregates.items():
        if first_difference(np.array([got.aggregates[name]]), np.array([value])):
            yield f"aggregate {name} is {got.aggregates[name]!r}, expected {value!r}"


def compared(number: int, case: Case, group: Group, in_grid: bool, refused: dict[str, str]) -> list[str]:
    """The differences of one case, each with the program and the graph; one of the ranks runs it alone, too. Programs
    that refuse a grid are told, with the reason."""
    schedule = ew.Schedule(num_threads=case.num_threads)
    program, ranks = case.program(**case.values), ew.Ranks(grid=in_grid)
    try:
        result: Any = ew.run(program, case.graph, distributed=ranks, schedule=schedule, **case.how)
    except DistributedError as error:
        if not in_grid:
            raise
        refused[case.name] = str(error)
        return []
    whole = result.gather()
    found = [
        f"{name} of its own vertices {found}"
        for name, values in whole.fields.items()
        if (found := first_difference(result.fields[name], values[result.vertices]))
    ]
    if number % group.size == group.rank:
        found += differences(whole, ordinary(case), not case.program.asynchronous)
    if not all(workspace.is_intact() for workspace in Guarded.made):
        found.append("it wrote beyond its arrays")
    Guarded.made.clear()
    before = f"{case.name} on '{case.where}', rank {group.rank} of {group.size}, {case.num_threads} threads"
    return [f"{before}: {each}" for each in found]


def use_small_pieces() -> None:
    """Ranks divide graphs of a few vertices, too, and what they write beyond their arrays is found."""
    sizes = Sizes(vertices=4, places=16, alone=3, alone_list=1, alone_edges=4, alone_far=2)
    make = engine_rank.make_work
    vars(engine_rank).update(
        SIZES=sizes, make_work=lambda *arguments: Guarded(make(*arguments), arguments[3]).work
    )
    engine_rank.CpuRank._call.__kwdefaults__["step"] = sizes.places


def main() -> None:
    group, in_grid, refused = connect(), "grid" in sys.argv, dict[str, str]()
    few = (FEW_IN_GRID if in_grid else FEW) if "few" in sys.argv else None
    found = cases(few, others=not in_grid)
    compile_share(found, group)
    use_small_pieces()
    wrong = [
        each for number, case in enumerate(found) for each in compared(number, case, group, in_grid, refused)
    ]
    print("\n".join(wrong[:20]), flush=True)
    if group.total(len(wrong)):
        sys.exit(f"rank {group.rank} found {len(wrong)} differences")
    if group.rank == 0:
        for name, error in refused.items():
            print(f"refused: {name}: {error}", flush=True)
        print(
            f"{len(found)} runs of {len({case.program for case in found})} programs are the same", flush=True
        )


if __name__ == "__main__":
    main()
