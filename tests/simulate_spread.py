"""Run programs of tests/spread_programs.py in the simulator, as on a GPU, and compare them with the reference."""

from simulator import pretend
from spread_programs import PROGRAMS, compare

import edgewise as ew

GRAPHS = {
    "nothing": ew.Graph.from_edges([], [], [], num_vertices=0),
    "no edges": ew.Graph.from_edges([], [], [], num_vertices=3),
    "many to one": ew.Graph.from_edges(range(1, 53), [0] * 52),
    "random": ew.generate.uniform(9, 31, seed=1),
}
REPLICAS = ew.approx.coalesce(ew.generate.rmat(5, 8, seed=3), chunk=4, extra=1, threshold=0.1, device="cpu")


def main():
    """Print the name of each program that agreed; the exit code is 1 where one does not."""
    pretend()
    for program in PROGRAMS:
        compare(program, GRAPHS)
        compare(program, {"replicas": REPLICAS.graph}, [REPLICAS.schedule])
        print(program.__name__)


if __name__ == "__main__":
    main()
