"""Cores of graphs on a GPU that tests/simulator.py pretends: what they begin ends exactly, also with so little memory
that the edges of the graph are read from the host."""

import gc
import re

import numpy as np
import pytest
from simulate_beyond import PAGE
from simulator import pretend

import edgewise as ew
from edgewise.errors import MemoryLimitError
from edgewise.graph import resident
from examples.components import Components
from examples.sssp import SSSP

GRAPHS = {
    "one way": lambda: ew.generate.uniform(14, 60, seed=1, weights=(0, 9)),
    "both ways": lambda: ew.generate.uniform(14, 50, seed=2, directed=False, weights=(1, 9)),
}


def calls(graph):
    """Calls with their arguments, the same run on the CPU, and the field that is compared."""
    yield ew.sssp, (0,), ew.sssp(graph, 0, device="cpu"), "distance"
    yield ew.bfs, (0,), ew.bfs(graph, 0, device="cpu"), "level"
    yield SSSP(source=0), (), ew.run(SSSP(source=0), graph, device="cpu"), "distance"
    if not graph.directed:
        components = ew.connected_components(graph, device="cpu")
        yield ew.connected_components, (), components, "component"
        yield Components, (), ew.run(Components, graph, device="cpu"), "label"


def with_least_memory(run):
    """A run with the least limit with which it begins."""
    limit = 0
    while True:
        try:
            return run(limit)
        except MemoryLimitError as refused:
            (needed,) = re.findall(r"needs ([\d,]+) bytes on the GPU", str(refused))
            assert int(needed.replace(",", "")) > limit
            limit = int(needed.replace(",", ""))


def main():
    """Print the name of each graph on which all agreed; the exit code is 1 where one does not."""
    pretend()
    resident.LARGE_PAGE, resident.RESERVE = PAGE, 0
    gc.freeze()
    for name, make in GRAPHS.items():
        for number in range(len(list(calls(make())))):
            graph = make()  # what was laid out for one call is not there for the next
            call, arguments, exact, field = list(calls(graph))[number]
            core = ew.approx.core_graph(graph, num_sources=1, fraction=0, device="cpu")

            def run(limit, call=call, arguments=arguments, core=core):
                return ew.approx.two_phase(core, call, *arguments, device="cuda", memory_limit=limit)

            for told in (with_least_memory(run), run(None)):
                np.testing.assert_array_equal(getattr(told.result, field), getattr(exact, field))
                assert told.result.verify(graph) and "on the GPU" in told.result.explain()
            assert "read from the host" in with_least_memory(run).result.explain()
            with pytest.raises(MemoryLimitError):
                run(0)
        print(name, flush=True)


if __name__ == "__main__":
    main()
