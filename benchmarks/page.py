"""The tables of README.md from the rows of benchmarks: `python -m benchmarks.page` puts them into their places."""

import csv
from collections.abc import Callable, Iterable
from pathlib import Path

from benchmarks.results import ROOT, Row, read_rows
from benchmarks.table import OURS, PLAIN, fill, markdown

RESULTS = ROOT / "benchmarks" / "results"
#: The rows of the tables on a CPU, and on a GPU.
CPU, GPU = RESULTS / "2026-11-27-2-cores.csv", RESULTS / "2026-11-26-H100.csv"
CPU_ALGORITHMS = {
    "bfs": "BFS",
    "sssp": "SSSP",
    "pagerank": "PageRank",
    "components": "components",
    "build": "build",
}
GPU_ALGORITHMS = {
    "bfs": "BFS",
    "sssp": "SSSP",
    "pagerank": "PageRank, 50, float32",
    "components": "components",
}
MORE_ALGORITHMS = {
    "build": "build",
    "scc": "strong components",
    "mst": "spanning forest",
    "betweenness": "betweenness, 16 sources",
}
#: How graphs are named in tables, where otherwise than in rows.
GRAPHS = {"lattice": "lattice 2048 x 2048", "one-way": "the same, 30% one-way"}
PLACES = "README.md"


def significant(value: float) -> str:
    """A number with three significant digits at most, or all of its whole ones."""
    return f"{value:,.0f}" if value >= 1000 else f"{value:.3g}"


def millions(arcs: int) -> str:
    """A number of arcs."""
    return f"{1e-6 * arcs:.1f} M"


def cpu_table(rows: Iterable[Row]) -> str:
    """Milliseconds on a CPU, and how many times faster that is than the fastest rival."""
    found = {(row.graph, row.algorithm, row.contender): row for row in rows}
    graphs = {row.graph: row.arcs for row in found.values()}

    def cell(graph: str, algorithm: str) -> str:
        seconds = {name: row.seconds for (g, a, name), row in found.items() if (g, a) == (graph, algorithm)}
        ours = seconds[OURS]
        rivals = [each for name, each in seconds.items() if name not in (OURS, PLAIN) and each > 0]
        return f"{significant(1e3 * ours)} ({significant(min(rivals) / ours)})"

    body = [
        [graph, millions(arcs), *(cell(graph, algorithm) for algorithm in CPU_ALGORITHMS)]
        for graph, arcs in graphs.items()
    ]
    return markdown(["graph", "arcs", *CPU_ALGORITHMS.values()], body)


def _gpu_table(
    rows: list[dict[str, str]], algorithms: dict[str, str], cell: Callable[[dict[str, float], str], str]
) -> str:
    """A row for each graph, of cells made of milliseconds by algorithm and what was measured, joined by a colon."""
    graphs = {row["graph"]: int(row["arcs"]) for row in rows}
    body = []
    for graph, arcs in graphs.items():
        times = {
            f"{row['algorithm']}:{row['what']}": float(row["ms"]) for row in rows if row["graph"] == graph
        }
        cells = [cell(times, algorithm) for algorithm in algorithms]
        if any(cells):
            body.append([GRAPHS.get(graph, graph), millions(arcs), *cells])
    return markdown(["graph", "arcs", *algorithms.values()], body)


def gpu_table(rows: list[dict[str, str]]) -> str:
    """Milliseconds on a GPU: of one source and the median of several, and of the program of examples/."""

    def cell(times: dict[str, float], algorithm: str) -> str:
        found = [times.get(f"{algorithm}:{what}") for what in ("edgewise", "median of 16 sources")]
        plain = times.get(f"{algorithm}:plain program")
        shown = " / ".join(significant(each) for each in found if each is not None)
        return f"{shown} ({significant(plain)})" if plain is not None else shown

    return _gpu_table(rows, GPU_ALGORITHMS, cell)


def more_gpu_table(rows: list[dict[str, str]]) -> str:
    """Milliseconds of the other algorithms on a GPU; of building without weights and with them."""

    def cell(times: dict[str, float], algorithm: str) -> str:
        found = [times.get(f"{algorithm}:{what}") for what in ("edgewise", "edgewise, weights")]
        return " / ".join(significant(each) for each in found if each is not None)

    return _gpu_table(rows, MORE_ALGORITHMS, cell)


def blocks() -> dict[str, str]:
    """The tables by the names of their places."""
    with GPU.open(newline="", encoding="utf-8") as file:
        on_gpu = list(csv.DictReader(file))
    return {
        "on a cpu": cpu_table(read_rows(CPU)),
        "on a gpu": gpu_table(on_gpu),
        "more on a gpu": more_gpu_table(on_gpu),
    }


def main() -> None:
    """Put the tables into their places."""
    document: Path = ROOT / PLACES
    document.write_text(fill(document.read_text(encoding="utf-8"), blocks()), encoding="utf-8")


if __name__ == "__main__":
    main()
