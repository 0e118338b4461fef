"""The tables of docs/approx.md, docs/layers.md and docs/memory.md, and what docs/benchmarks.md says of threads and of a
graph that fits in no GPU; see `benchmarks.page`."""

from statistics import median

from benchmarks.page_tables import (
    GRAPHS,
    LAYERS,
    NAMES,
    RESULTS,
    Rows,
    listed,
    processor,
    significant,
    table_of,
    words,
)
from benchmarks.table import markdown

APPROX = RESULTS / "2026-11-29-H200-approx.csv"
APPROX_BUILDING = RESULTS / "2026-11-29-H200-approx-building.csv"
CORES = RESULTS / "2026-11-29-H200-cores.csv"
LARGER = RESULTS / "2026-11-29-2-cores-from-file-larger.csv"
LARGE = RESULTS / "2026-11-29-H200-large.csv"
THREADS = tuple(RESULTS / f"{name}-cores-threads.csv" for name in ("2026-11-29-16", "2026-11-28-2"))
#: Runs are short if one thread takes less, long if the default takes more, in seconds; and a few calls.
SHORT_SECONDS, LONG_SECONDS, FEW_CALLS = 3e-4, 1e-3, 2
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


def large_words(rows: Rows) -> str:
    """Seconds of first and second calls on a graph that fits in no GPU, and how fast PageRank reads it."""
    places = {"False": "NumPy's array", "True": "the driver's memory"}
    heads = [f"{place}: {call}" for place in places.values() for call in ("first call", "second")]
    found = {(row["algorithm"], row["locked"]): row for row in rows}
    body = [
        [
            NAMES[name],
            *(
                f"{float(found[name, locked][call]):.3g} s"
                for locked in places
                for call in ("first", "second")
            ),
        ]
        for name in dict.fromkeys(row["algorithm"] for row in rows)
    ]
    reading = []
    for locked, place in places.items():
        row = found["pagerank", locked]
        seconds, link = float(row["iteration"]), 1e-9 * float(row["link"])
        rate = 4e-9 * int(row["arcs"]) / seconds
        reading.append(
            f"{seconds:.2f} s from {place}, {rate:.0f} GB/s, {rate / link:.0%} of what copies reached there"
        )
    arcs, vertices = (int(rows[0][each]) for each in ("arcs", "vertices"))
    gpu = processor(rows[0]["machine"])
    said = words(
        f"{vertices:,} vertices and {arcs:,} arcs, {4e-9 * arcs:.0f} GB of targets, on one {gpu}, of whose memory",
        f"`memory_limit` leaves {rows[0]['limit']}. An iteration of PageRank reads all targets in sequence: in",
        f"{listed(reading)}.",
    )
    return f"{markdown(['', *heads], body)}\n\n{said}"


def threads_words(*files: Rows) -> str:
    """What the default number of threads costs beside the best, and what all threads cost beside the default."""
    return "\n\n".join(map(_threads_of_machine, files))


def _threads_of_machine(rows: Rows) -> str:
    pairs: dict[str, dict[str, float]] = {}
    calls: dict[str, int] = {}
    for row in rows:
        pair = f"{row['algorithm']} on {row['graph']}"
        pairs.setdefault(pair, {})[row["contender"]] = float(row["seconds"])
        calls[pair] = min(int(row["calls"]), calls.get(pair, int(row["calls"])))
    cores, machine = rows[0]["cores"], listed(sorted({row["machine"] for row in rows}))
    arcs, bounds = [int(row["arcs"]) for row in rows], (1.2, 1.35)
    default = {pair: seconds.pop("default") for pair, seconds in pairs.items()}
    costs = {pair: default[pair] / min(seconds.values()) for pair, seconds in pairs.items()}
    of_all = {pair: seconds[f"{cores} threads"] / default[pair] for pair, seconds in pairs.items()}
    short = [of_all[pair] for pair, seconds in pairs.items() if seconds["1 threads"] < SHORT_SECONDS]
    within = [sum(cost <= bound for cost in costs.values()) for bound in bounds]
    beyond = sorted((pair for pair, cost in costs.items() if cost > bounds[1]), key=default.__getitem__)
    long = [
        f"{pair} ({costs[pair]:.2f}, {significant(1e3 * default[pair])} ms, calls: {calls[pair]})"
        for pair in beyond
        if default[pair] > LONG_SECONDS
    ]
    few, brief = sum(each <= FEW_CALLS for each in calls.values()), len(beyond) - len(long)
    return words(
        f"On {cores} cores ({machine}), with graphs of {min(arcs)} to {1e-6 * max(arcs):.3g} M arcs, the",
        f"default takes at most {bounds[0]} times as long as the best number for {within[0]} of {len(costs)} pairs of",
        f"run and graph, at most {bounds[1]} times for {within[1]}; {median(costs.values()):.2f} times at the median,",
        f"and {max(costs.values()):.2f} at most. Of the {len(beyond)} pairs beyond, {brief} take less",
        f"than {1e3 * LONG_SECONDS:g} ms, for which waking other threads takes as long again"
        + (f"; the others are {listed(long)}." if long else "."),
        f"With all {cores} threads runs take {median(of_all.values()):.2f} times as long as with the default at the",
        f"median, {median(short):.2f} times if one thread takes less than {1e3 * SHORT_SECONDS:g} ms. One or two calls",
        f"of each number count for {few} of the pairs, for others more.",
    )


def blocks() -> dict[str, dict[str, str]]:
    """What is put into places of the documents, by their names."""
    return {
        "docs/approx.md": {
            "making approximate graphs": table_of(approx_building_table, APPROX_BUILDING),
            "calls on approximate graphs": table_of(approx_table, APPROX),
            "cores beyond memory": table_of(cores_table, CORES),
        },
        "docs/benchmarks.md": {
            "large": table_of(large_words, LARGE),
            "threads": table_of(threads_words, *THREADS),
        },
        "docs/layers.md": table_of(layers_tables, LAYERS),
        "docs/memory.md": {"larger than memory": table_of(larger_table, LARGER)},
    }
