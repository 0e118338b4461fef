"""A program that reads edge attributes, on a GPU that tests/simulator.py pretends: in the order of arcs, of in-edges,
of layouts, and over vertices that are numbered anew."""

import tempfile
from pathlib import Path

import numpy as np
from attribute_cases import Cheapest, cheapest, graph_of
from simulator import pretend

import edgewise as ew

SCHEDULES = (
    ew.Schedule(),
    ew.Schedule(ew.Pull()),
    ew.Schedule(ew.Buffered()),
    ew.Schedule(ew.Pull(), layout=ew.Layout(threshold=1)),
    ew.Schedule(layout=ew.Layout(threshold=1, renumber=True)),
)


def main():
    """Print what agreed; the exit code is 1 where something does not."""
    pretend()
    with tempfile.TemporaryDirectory() as folder:
        for directed in (True, False):
            path = Path(folder) / f"{directed}.edgewise"
            graph_of(directed).save(path)
            for graph in (graph_of(directed), ew.load(path)):
                for schedule in SCHEDULES:
                    prepared = ew.prepare(Cheapest, graph, device="cuda", schedule=schedule)
                    for _ in range(2):
                        np.testing.assert_array_equal(prepared().least, cheapest(directed))
                    np.testing.assert_array_equal(prepared(toll=np.ones(graph.num_arcs)).least.min(), 1)
    print("attributes", flush=True)


if __name__ == "__main__":
    main()
