"""The tables of docs/approx.md, docs/layers.md and docs/memory.md; see `benchmarks.page`."""

from benchmarks.page_tables import GRAPHS, LAYERS, NAMES, RESULTS, Rows, significant, table_of
from benchmarks.table import markdown

APPROX = RESULTS / "2026-11-29-H200-approx.csv"
APPROX_BUILDING = RESULTS / "2026-11-29-H200-approx-building.csv"
CORES = RESULTS / "2026-11-29-H200-cores.csv"
LARGER = RESULTS / "2026-11-29-2-cores-from-file-larger.csv"
#: Making approximate graphs of R-MAT of scale 22: what it is called, and the paper's seconds.
MAKING = {
    "coalesce": ("coalescing", "8 s"),
    "form_clusters": ("clusters", "21 s"),
    "clustering_coefficients": ("of these, coefficients of all vertices", ""),
    "normalize_degrees": ("degrees", "5 s"),
}
#: The least edges of a list of layers, as they stand in rows; the empty one is the default.
LISTS = {
    "1": "1",
    "20000": "20,000",
    "": "135,168 (default)",
    "270336": "270,336",
    "2000000": "2,000,000",
    "1000000000": "one list",
}


def layers_tables(rows: Rows) -> dict[str, str]:
    """Searches and shortest paths without layers and with them, in memory and beyond; and lengths of lists."""
    found = {
        (row["graph"], row["program"], row["way"], row["memory"], row["min_edges"]): float(row["ms"])
        for row in rows
    }
    num_layers = {row["graph"]: f"{int(row['layers']):,}" for row in rows}

    def beside(program: str) -> list[list[str]]:
        return [
            [
                GRAPHS.get(graph, graph),
                num_layers[graph],
                *(
                    significant(found[graph, program, way, memory, ""])
                    for memory in ("all", "least")
                    for way in ("without layers", "layers")
                ),
            ]
            for graph in num_layers
        ]

    lists = [
        [
            GRAPHS.get(graph, graph),
            *(significant(found[graph, "SSSP", "layers", "all", least]) for least in LISTS),
        ]
        for graph in num_layers
        if (graph, "SSSP", "layers", "all", "1") in found
    ]
    from_them = ["from the layers", "search, least memory", "from the layers"]
    return {
        "searches by layers": markdown(["BFS", "layers", "search", *from_them], beside("BFS")),
        "paths by layers": markdown(
            ["SSSP", "layers", "near and far", "sweeps", "near and far, least memory", "sweeps"],
            beside("SSSP"),
        ),
        "lists of layers": markdown(["sweeps, edges of a list", *LISTS.values()], lists),
    }


def approx_table(rows: Rows) -> str:
    """Calls on graphs with normalised degrees: what they gain, and how far their answers are off."""
    found = {(row["graph"], row["call"], row["schedule"], row["threshold"]): row for row in rows}
    body = []
    for graph, call, schedule in dict.fromkeys((row["graph"], row["call"], row["schedule"]) for row in rows):
        low, high = (found[graph, call, schedule, threshold] for threshold in ("0.3", "0.5"))
        off = [
            "exact" if row["is_exact"] == "True" else f"{float(row['inaccuracy']):.2%}" for row in (low, high)
        ]
        body.append(
            [
                NAMES[call],
                GRAPHS.get(graph, graph),
                {"thread": "a thread for each vertex"}.get(schedule, schedule),
                significant(float(low["exact_ms"])),
                *(f"{float(low[name]):.2f}" for name in ("speedup", "speedup_by_order")),
                off[0],
                f"{float(high['speedup']):.2f}",
                off[1],
            ]
        )
    gains = ["speed-up, 0.3", "by the order alone", "inaccuracy", "speed-up, 0.5", "inaccuracy"]
    return markdown(["", "graph", "schedule", "exact, ms", *gains], body, left=3)


def approx_building_table(rows: Rows) -> str:
    """How long making approximate graphs takes, beside what the paper has for a graph of that size."""
    found = {row["technique"]: row for row in rows if row["graph"] == "rmat22"}
    body = [
        [name, *(f"{significant(float(found[key][of]))} s" for of in ("gpu_seconds", "cpu_seconds")), paper]
        for key, (name, paper) in MAKING.items()
    ]
    return markdown(["", "one H200", "16 cores", "the paper, K40c, 69 M edges"], body)


def cores_table(rows: Rows) -> str:
    """Queries on a core, refined, beyond a GPU's memory."""
    body = [
        [
            row["graph"], NAMES[row["call"]], row["device"].rpartition(" in ")[2],
            *(f"{float(row[name]):.1%}" for name in ("core_fraction", "share_right")),
            *(f"{float(row[name]):.1f} ms" for name in ("exact_ms", "core_ms", "both_ms")),
            f"{float(row['core_seconds']):.0f} s",
        ]
        for row in rows
    ]  # fmt: skip
    times = ["exact run", "core alone", "both phases", "finding the core"]
    return markdown(["graph", "", "memory", "core", "right before refinement", *times], body, left=2)


def larger_table(rows: Rows) -> str:
    """Runs over a file that is larger than the machine's memory."""
    body = []
    for row in rows:
        name = NAMES[row["case"]]
        if row["iteration"]:
            name += f", {round(float(row['again']) / float(row['iteration']))} iterations"
        where = {"cold": "on the disk", "warm": "in the cache, as far as it goes"}[row["cache"]]
        body.append([
            name, row["limit"], where, significant(float(row["first"])), significant(float(row["again"])),
            significant(float(row["peak"]) / 1e9), significant(float(row["read"]) / 1e9),
        ])  # fmt: skip
    head = ["", "`memory_limit`", "the file is", "first run, s", "second run, s", "peak, GB", "read, GB"]
    return markdown(head, body, left=3)


def blocks() -> dict[str, dict[str, str]]:
    """What is put into places of the documents, by their names."""
    return {
        "docs/approx.md": {
            "making approximate graphs": table_of(approx_building_table, APPROX_BUILDING),
            "calls on approximate graphs": table_of(approx_table, APPROX),
            "cores beyond memory": table_of(cores_table, CORES),
        },
        "docs/layers.md": table_of(layers_tables, LAYERS),
        "docs/memory.md": {"larger than memory": table_of(larger_table, LARGER)},
    }
