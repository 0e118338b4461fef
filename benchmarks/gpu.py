"""Time the plain programs on a GPU: `python -m benchmarks.gpu`. Graphs as in docs/benchmarks.md, with GPU sizes."""

import argparse
import statistics
import time

import numpy as np

import edgewise as ew
from benchmarks.ours import EXAMPLES, load

GRAPHS = {
    "rmat18": lambda: ew.generate.rmat(18, 16, (0.45, 0.15, 0.15, 0.25), simple=True, weights=(1, 100)),
    "rmat20": lambda: ew.generate.rmat(20, 16, (0.45, 0.15, 0.15, 0.25), simple=True, weights=(1, 100)),
    "uniform20": lambda: ew.generate.uniform(2**20, 2**24, simple=True, weights=(1, 100)),
    "lattice": lambda: ew.generate.lattice(2048, 2048, removed=0.1, weights=(1, 100)),
}


def main() -> None:
    """Print one line for each program and graph: time of the whole call, of supersteps, and the agreement."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.gpu", description=__doc__)
    parser.add_argument("--graphs", default=",".join(GRAPHS))
    parser.add_argument("--repeat", type=int, default=7)
    options = parser.parse_args()
    for name in options.graphs.split(","):
        graph = GRAPHS[name]()
        undirected = ew.Graph.from_edges(
            graph.sources, graph.targets, directed=False, num_vertices=graph.num_vertices
        )
        source = int(graph.out_degree.argmax())
        print(f"{name}: {graph.num_vertices:,} vertices, {graph.num_arcs:,} arcs", flush=True)
        for module, program, values, on in (
            ("bfs", "BFS", {"source": source}, graph),
            ("sssp", "SSSP", {"source": source}, graph),
            ("pagerank", "PageRank", {"tol": 0.0, "max_supersteps": 50}, graph),
            ("components", "Components", {}, undirected),
        ):
            example = getattr(load(EXAMPLES / f"{module}.py"), program)
            expected = ew.prepare(example, on, device="cpu")(**values)
            prepared = ew.prepare(example, on, device="cuda")
            prepared(**values)
            seconds, inside = [], []
            for _ in range(options.repeat):
                start = time.perf_counter()
                result = prepared(**values)
                seconds.append(time.perf_counter() - start)
                inside.append(result.seconds)
            same = all(
                np.allclose(result.fields[f], expected.fields[f], rtol=1e-6, atol=1e-12)
                for f in result.fields
            )
            milliseconds = 1e3 * statistics.median(seconds)
            print(
                f"  {module:<11} {milliseconds:9.3f} ms  {result.supersteps:6} supersteps  "
                f"{1e3 * milliseconds / max(1, result.supersteps):8.2f} µs each  "
                f"{'same' if same else 'DIFFERENT'}  {result.explain().splitlines()[0]}",
                flush=True,
            )


if __name__ == "__main__":
    main()
