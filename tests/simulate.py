"""Run programs on a GPU that tests/simulator.py pretends, and compare every delivery with the reference."""

from simulator import pretend
from test_engines import PROGRAMS, Components, assert_same

import edgewise as ew
from edgewise.run import Prepared

GRAPHS = {
    "nothing": ew.Graph.from_edges([], [], [], num_vertices=0),
    "many to one": ew.Graph.from_edges(range(1, 18), [0] * 17, range(17)),
    "random": ew.generate.uniform(8, 24, seed=1, weights=(0, 9)),
}
DELIVERIES = (ew.Schedule(ew.Push()), ew.Schedule(ew.Pull()))
#: Views that a program can be told to take: one that pushes, one that only pulls.
BALANCED = {"bfs": ew.ThreadMapped(), "float sums": ew.BlockMapped()}


def main():
    """Print the name of each program that agreed; the exit code is 1 where one does not."""
    pretend()
    for name, (program, values) in PROGRAMS.items():
        for graph in GRAPHS.values():
            if "source" in values and graph.num_vertices == 0:
                continue
            if program is Components:
                graph = ew.Graph.from_edges(
                    graph.sources, graph.targets, directed=False, num_vertices=graph.num_vertices
                )
            expected = Prepared(program, graph, "cpu").reference(values, program.max_supersteps)
            balanced = (ew.Schedule(balance=BALANCED[name]),) if name in BALANCED else ()
            for schedule in (*DELIVERIES, *balanced):
                result = Prepared(program, graph, "cuda", schedule)(**values)
                assert_same(result, expected, program.asynchronous)
        print(name, flush=True)


if __name__ == "__main__":
    main()
