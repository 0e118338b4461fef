"""The tables of README.md and docs/ from the rows of benchmarks, and what is said beside them with figures:
`python -m benchmarks.page` puts them into their places.

The tables of docs/ are those of `benchmarks.page_docs`, `benchmarks.page_gpu` and `benchmarks.page_tables`.
"""

import argparse
from collections.abc import Callable, Iterable, Sequence

from benchmarks import page_docs, page_gpu, page_tables
from benchmarks.graphs import GRAPHS as CPU_GRAPHS
from benchmarks.page_gpu import CLUSTERS, GPU
from benchmarks.page_tables import GRAPHS, LAYERS, RESULTS, Rows, listed, significant, table_of, words
from benchmarks.results import ROOT, Row, as_rows
from benchmarks.table import OURS, PLAIN, filled, lacking, markdown

#: The rows of the tables on a CPU.
CPU = RESULTS / "2026-11-29-2-cores.csv"
CPU_ALGORITHMS = {
    "bfs": "BFS",
    "sssp": "SSSP",
    "pagerank": "PageRank",
    "components": "components",
    "build": "build",
}
CPU_MORE = {
    "scc": "strong components",
    "mst": "spanning forest",
    "betweenness": "betweenness, 16 sources",
}
GPU_ALGORITHMS = {
    "bfs": "BFS",
    "sssp": "SSSP",
    "pagerank": "PageRank, 50, float32",
    "components": "components",
}
MORE_ALGORITHMS = {"build": "build", **CPU_MORE}


def millions(arcs: int) -> str:
    """A number of arcs."""
    return f"{1e-6 * arcs:.1f} M"


class Task:
    """What one graph and algorithm took on a CPU.

    Attributes:
        ours: the row of edgewise.
        plain: that of the program of examples/, or None.
        best: that of the fastest rival, of those whose answer was right if one was.
    """

    def __init__(self, rows: Sequence[Row]) -> None:
        by_name = {row.contender: row for row in rows}
        self.ours, self.plain = by_name[OURS], by_name.get(PLAIN)
        rivals = [row for name, row in by_name.items() if name not in (OURS, PLAIN) and row.seconds > 0]
        self.best = min(rivals, key=lambda row: (row.verified != "yes", row.seconds))

    @property
    def times_faster(self) -> float:
        """How many times faster edgewise is than the fastest rival."""
        return self.best.seconds / self.ours.seconds


def tasks_of(rows: Iterable[Row]) -> dict[tuple[str, str], Task]:
    """What each graph and algorithm took."""
    found: dict[tuple[str, str], list[Row]] = {}
    for row in rows:
        found.setdefault((row.graph, row.algorithm), []).append(row)
    return {key: Task(each) for key, each in found.items()}


def cpu_table(rows: Iterable[Row], algorithms: dict[str, str] = CPU_ALGORITHMS) -> str:
    """Milliseconds on a CPU, and how many times faster that is than the fastest rival."""
    tasks = tasks_of(rows)
    graphs = {graph: task.ours.arcs for (graph, _), task in tasks.items()}

    def cell(task: Task) -> str:
        wrong = ", wrong" * (task.best.verified != "yes")
        return f"{significant(1e3 * task.ours.seconds)} ({significant(task.times_faster)}{wrong})"

    body = [
        [graph, millions(arcs), *(cell(tasks[graph, algorithm]) for algorithm in algorithms)]
        for graph, arcs in graphs.items()
    ]
    return markdown(["graph", "arcs", *algorithms.values()], body)


def cpu_words(rows: Iterable[Row]) -> str:
    """Which rival is mostly the fastest in that table, in which cells a rival is faster, and what programs take."""
    tasks = {key: task for key, task in tasks_of(rows).items() if key[1] in CPU_ALGORITHMS}
    rivals = [task.best.contender for task in tasks.values()]
    most = max(set(rivals), key=rivals.count)
    slower = {
        f"{CPU_ALGORITHMS[algorithm]} on {graph}": task
        for (graph, algorithm), task in tasks.items()
        if task.times_faster < 1
    }
    named = {"scipy": "SciPy"}
    shortest = listed(
        f"{name} (the shortest calls took {significant(1e3 * task.ours.fastest)} ms, those of "
        f"{named.get(task.best.contender, task.best.contender)} {significant(1e3 * task.best.fastest)})"
        for name, task in slower.items()
    )
    plain = [task.plain.seconds / task.ours.seconds for task in tasks.values() if task.plain]
    said = f"A rival was faster than edgewise in {len(slower)} of them: {shortest}."
    return words(
        f"{named.get(most, most)} is the fastest rival in {rivals.count(most)} of {len(rivals)} cases.",
        said if slower else "None was faster than edgewise.",
        f"The programs of `examples/` take {min(plain):.1f} to {max(plain):.1f} times as long as the built-in",
        "algorithms.",
    )


def _gpu_table(rows: Rows, algorithms: dict[str, str], cell: Callable[[dict[str, float], str], str]) -> str:
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


def gpu_table(rows: Rows) -> str:
    """Milliseconds on a GPU: of one source and the median of several, and of the program of examples/."""

    def cell(times: dict[str, float], algorithm: str) -> str:
        found = [times.get(f"{algorithm}:{what}") for what in ("edgewise", "median of 16 sources")]
        plain = times.get(f"{algorithm}:plain program")
        shown = " / ".join(significant(each) for each in found if each is not None)
        return f"{shown} ({significant(plain)})" if plain is not None else shown

    return _gpu_table(rows, GPU_ALGORITHMS, cell)


def more_gpu_table(rows: Rows) -> str:
    """Milliseconds of the other algorithms on a GPU; of building without weights and with them."""

    def cell(times: dict[str, float], algorithm: str) -> str:
        found = [times.get(f"{algorithm}:{what}") for what in ("edgewise", "edgewise, weights")]
        return " / ".join(significant(each) for each in found if each is not None)

    return _gpu_table(rows, MORE_ALGORITHMS, cell)


def gpu_of(rows: Rows) -> str:
    """The model of the GPU of rows, without its maker."""
    return rows[0]["machine"].split()[1].rstrip(";")


def lattice_words(clusters: Rows, layers: Rows) -> str:
    """What first searches and paths take on a lattice, where later ones go by clusters; and searches by layers."""
    first = {
        row["algorithm"]: float(row["otherwise_ms"])
        for row in clusters
        if (row["graph"], row["sources"]) == ("lattice", "largest")
    }
    by_layers = {
        row["graph"]: float(row["ms"])
        for row in layers
        if (row["program"], row["way"], row["memory"], row["min_edges"]) == ("BFS", "layers", "all", "")
    }
    return words(
        "BFS and SSSP on the lattice above are by clusters, as all but the first run on a graph are there;",
        f"the first search takes {significant(first['bfs'])} ms on an {gpu_of(clusters)}, the first shortest paths",
        significant(first["sssp"]),
        "([docs/gpu.md](docs/gpu.md)). A search from a vertex whose "
        f"layers the graph keeps reads its levels from them: {by_layers['lattice']:.2g} ms on the lattice,",
        f"{by_layers['rmat20']:.2g} on rmat20, on an {gpu_of(layers)} ([docs/layers.md](docs/layers.md)).",
        "These four are of earlier commits,",
        f"in rows [of clusters](benchmarks/results/{CLUSTERS.name}) and [of layers](benchmarks/results/{LAYERS.name}).",
    )


def readme() -> dict[str, str]:
    """What is put into places of README.md, by their names."""

    def of_cpu(rows: Rows) -> dict[str, str]:
        on_cpu = as_rows(rows)
        return {
            "on a cpu": lacking(CPU_GRAPHS, {row.graph for row in on_cpu}) + cpu_table(on_cpu),
            "said of a cpu": cpu_words(on_cpu),
            "more on a cpu": cpu_table(on_cpu, CPU_MORE),
        }

    return {
        **table_of(of_cpu, CPU),
        "on a gpu": table_of(gpu_table, GPU),
        "more on a gpu": table_of(more_gpu_table, GPU),
        "said of a lattice": table_of(lattice_words, CLUSTERS, LAYERS),
    }


def documents() -> dict[str, dict[str, str]]:
    """What is put into places of each document, by its path."""
    made = {"README.md": readme()}
    for module in (page_tables, page_docs, page_gpu):
        for name, blocks in module.blocks().items():
            made[name] = made.get(name, {}) | blocks
    return made


def main() -> None:
    """Put all into their places, or nothing if a place is missing."""
    summary = (__doc__ or "").partition(": ")[0]
    argparse.ArgumentParser(prog="python -m benchmarks.page", description=summary).parse_args()
    texts = {ROOT / name: filled(ROOT / name, made) for name, made in documents().items()}
    for document, text in texts.items():
        document.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
