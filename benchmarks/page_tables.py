"""The tables of docs/ from the rows of benchmarks, and what is said beside them with figures; see `benchmarks.page`."""

import sys
import textwrap
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

from benchmarks.results import RESULTS, Row, all_needed, as_rows, csv_rows, distinct, named
from benchmarks.table import markdown

CENTRALITIES = RESULTS / "2026-11-29-2-cores-centralities.csv"
CORES_AND_TRIANGLES = RESULTS / "2026-11-28-2-cores-core-triangles.csv"
READING = RESULTS / "2026-11-28-2-cores-reading.csv"
CUGRAPH = RESULTS / "2026-11-27-H100-cugraph.csv"
BEYOND = RESULTS / "2026-11-29-H200-beyond.csv"
DISTRIBUTED = RESULTS / "2026-11-27-2-cores-distributed.csv"
ALGORITHMS = RESULTS / "2026-11-29-2-cores-distributed-algorithms.csv"
DISTRIBUTED_GPU = RESULTS / "2026-11-30-2xH200-distributed.csv"
GRID = RESULTS / "2026-11-29-2-cores-grid.csv"
BUILDING_RANKS = RESULTS / "2026-11-28-2-cores-building-ranks.csv"
NETWORKX = RESULTS / "2026-11-29-2-cores-networkx.csv"
NETWORKX_ON_GPU = RESULTS / "2026-11-29-H200-networkx.csv"
LAYERS = RESULTS / "2026-11-29-H200-layers.csv"
#: Files with rows that say nothing of an answer, for it was not compared.
PARTLY_COMPARED = (NETWORKX, LAYERS)
#: How graphs are named in tables, where otherwise than in rows.
GRAPHS = {"lattice": "lattice 2048 x 2048", "one-way": "the same, 30% one-way"}
#: How algorithms and programs are named in tables.
NAMES = {
    "bfs": "breadth-first search",
    "components": "components",
    "sssp": "shortest paths",
    "pagerank": "PageRank",
    "Components": "components",
    "IntegerPageRank": "PageRank in integers, 20 supersteps",
    "PageRank": "PageRank, 20 supersteps",
}
#: What ranks with GPUs ran.
TASKS = {
    "BFS": "BFS (program)",
    "SSSP": "SSSP (program)",
    "PageRank": "PageRank (program), 20 supersteps",
    "IntegerPageRank": "PageRank in integers (program), 20 supersteps",
    "Components": "components (program)",
    "pagerank": "`pagerank`, float32, 20 iterations",
    "components": "`connected_components`",
    "betweenness": "`betweenness`, 64 sources",
    "bfs": "`bfs`",
    "bfs by pushing": "`bfs`, by pushing",
    "sssp": "`sssp`",
}
#: How many times as fast as the fastest run on one GPU two should be: what counts as such a run, and the aim.
AIMS = {
    "PageRank": (("pagerank", "PageRank"), 1.85),
    "betweenness by sources": (("betweenness",), 1.95),
    "shortest paths": (("sssp", "SSSP"), 1.5),
    "components": (("components", "Components"), 1.5),
    "BFS by pushing": (("bfs by pushing", "BFS"), 1.6),
    "BFS, on one GPU by both directions": (("bfs", "BFS"), 1.15),
}
#: PageRank's billions of arcs a second of each of two GPUs.
AIM_RATE = 25
#: What reads a file, by the beginnings of contenders.
READERS = {
    "polars": "polars, columns",
    "edgewise, columns": "edgewise, columns",
    "edgewise, graph": "edgewise, a finished graph",
    "pandas": "pandas, columns",
    "networkx, graph": "NetworkX, a graph",
}
#: Ways over a graph beyond the GPU's memory that are not of edgewise.
OTHER_WAYS = ("zero-copy", "copied parts", "compacted")
#: Where functions of NetworkX run by edgewise with a GPU.
NETWORKX_DEVICES = ("cpu", "cuda")
#: How the columns "right" and "verified" say that an answer is right.
RIGHT = ("True", "yes")
Rows = list[dict[str, str]]


def is_ours(row: dict[str, str]) -> bool:
    """Whether a row is of edgewise, not of a rival."""
    if "contender" in row:  # of benchmarks.threads it is a number of threads
        return row["contender"].startswith(("edgewise", "default")) or row["contender"].endswith(" threads")
    return not row.get("what", "").startswith(("cuGraph", *OTHER_WAYS))


def shown_rows(path: Path) -> Rows:
    """The rows of a file that a page shows. The process ends if an answer of edgewise is wrong in one of them."""
    rows = distinct(path, csv_rows(path))
    allowed = (*RIGHT, "") if path in PARTLY_COMPARED else RIGHT
    for number, row in enumerate(rows, 1):
        verdict = row.get("right", row.get("verified", RIGHT[0]))
        if is_ours(row) and verdict not in allowed:
            sys.exit(
                f"{path}: row {number} ({named(row)}) says of an answer of edgewise {verdict!r}, expected one of "
                f"{', '.join(RIGHT)}; no page shows wrong answers: mend what is wrong and measure again"
            )
    return rows


def table_of(make: Callable[..., Any], *paths: Path) -> Any:
    """What is made of the rows of files that a page shows, see `shown_rows`. If rows are missing, the process ends."""
    with all_needed(*paths):
        return make(*map(shown_rows, paths))


def marked(text: str, verdict: object) -> str:
    """A cell, marked if its answer is wrong, or only differs; not if it was not compared."""
    if str(verdict) in (*RIGHT, ""):
        return text
    return f"{text} (differs)" if str(verdict).startswith("differs") else f"{text} (wrong)"


def said_of_answers(rows: Rows) -> str:
    """Whether the answers of these rows are right; those of edgewise are, see `shown_rows`."""
    wrong = sum(row["right"] not in RIGHT for row in rows)
    return (
        f"{wrong} of {len(rows)} answers were wrong, none of edgewise."
        if wrong
        else "Every answer was right."
    )


def significant(value: float) -> str:
    """A number with three significant digits at most, or all of its whole ones."""
    return f"{value:,.0f}" if value >= 1000 else f"{value:.3g}"


def words(*sentences: str) -> str:
    """Sentences as a paragraph."""
    return textwrap.fill(" ".join(sentences), 124, break_long_words=False, break_on_hyphens=False)


def listed(values: Iterable[object]) -> str:
    """Some things with an "and" before the last one."""
    texts = [str(value) for value in values]
    return " and ".join([", ".join(texts[:-1]), texts[-1]] if len(texts) > 1 else texts)


def centralities_table(rows: Sequence[Row], what: str = "centrality") -> str:
    """Seconds of edgewise, and how many times as long each of the others takes."""
    names = list(dict.fromkeys(row.contender for row in rows if row.contender != "edgewise"))
    found = {(row.graph, row.algorithm, row.contender): row for row in rows}
    body = []
    for graph, algorithm in dict.fromkeys((row.graph, row.algorithm) for row in rows):
        ours = found[graph, algorithm, "edgewise"]
        others = [found.get((graph, algorithm, name)) for name in names]
        ratios = [
            "" if each is None else marked(significant(each.seconds / ours.seconds), each.verified)
            for each in others
        ]
        body.append([graph, algorithm, f"{ours.arcs:,}", f"{ours.seconds:.3g} s", *ratios])
    return markdown(["graph", what, "arcs", "edgewise", *names], body, left=2)


def reading_table(rows: Rows) -> str:
    """Seconds of each reader for each file, and the multiple of those of polars."""
    files = {row["file"]: row for row in rows}
    kinds = {".txt": "two integers", ".gz": "the same with gzip", ".csv": "CSV with weights"}
    head = [f"{kinds[Path(name).suffix]}, {float(row['megabytes']):.0f} MB" for name, row in files.items()]
    found = {(row["contender"], row["file"]): row for row in rows}

    def cell(row: dict[str, str]) -> str:
        seconds, times = float(row["seconds"]), float(row["times_polars"])
        text = f"{seconds:.{2 if seconds < 10 else 0}f} s, {times:.{2 if times < 10 else 0}f}"
        return marked(text, row["right"])

    body = []
    for name in dict.fromkeys(row["contender"] for row in rows):
        shown = next(text for begin, text in READERS.items() if name.startswith(begin))
        body.append([shown, *(cell(found[name, file]) for file in files)])
    return markdown(["seconds, times polars", *head], body)


def cugraph_table(rows: Rows) -> str:
    """Milliseconds of edgewise / cuGraph on a GPU, of what both do, and whether all answers are right."""
    found = {
        (row["graph"], row["algorithm"], row["what"].partition(" ")[0]): marked(
            significant(float(row["ms"])), row["right"]
        )
        for row in rows
    }
    heads = {"bfs": "BFS", "sssp": "SSSP", "pagerank": "PageRank, 50, float32", "components": "components"}
    graphs = dict.fromkeys(graph for graph, _, what in found if what == "cuGraph")
    body = [
        [
            graph,
            *(" / ".join(found[graph, name, of] for of in ("edgewise", "cuGraph")) for name in heads),
        ]
        for graph in graphs
    ]
    return f"{markdown(['graph', *heads.values()], body)}\n\n{said_of_answers(rows)}"


def beyond_table(rows: Rows) -> str:
    """Milliseconds of each way over a graph beyond the GPU's memory, by algorithm."""
    found = {(row["what"], row["algorithm"]): row for row in rows}
    names = [name for name in NAMES if any(algorithm == name for _, algorithm in found)]

    def cell(row: dict[str, str] | None) -> str:
        return "" if row is None else marked(significant(float(row["ms"])), row["right"])

    ways = dict.fromkeys(what for what, _ in found)
    body = [[what, *(cell(found.get((what, name))) for name in names)] for what in ways]
    return markdown(["ms", *(NAMES[name] for name in names)], body)


def beyond_words(rows: Rows) -> str:
    """That table, and how many times as long as edgewise the best of the other ways takes."""
    found = {(row["what"], row["algorithm"]): float(row["ms"]) for row in rows}
    names = dict.fromkeys(algorithm for _, algorithm in found)
    best = {
        name: min(ms for (what, each), ms in found.items() if each == name and what in OTHER_WAYS)
        for name in names
    }
    ratios = {NAMES[name]: best[name] / found["limit", name] for name in names}
    times = listed(f"{ratio:.{1 if ratio < 10 else 0}f} ({name})" for name, ratio in ratios.items())
    return f"{beyond_table(rows)}\n\n" + words(
        said_of_answers(rows),
        f"Of the other ways, the best takes {times} times as long as edgewise with the limit.",
    )


def ranks_table(rows: Rows) -> str:
    """Two ranks beside one, and the bytes that they send beside the least that they could."""
    found = {(row["program"], row["ranks"]): row for row in rows}
    body = []
    for name in dict.fromkeys(row["program"] for row in rows):
        one, two = (float(found[name, ranks]["ms"]) for ranks in ("1", "2"))
        sent, bound = (float(found[name, "2"][field]) for field in ("sent_bytes", "bound_bytes"))
        cells = [f"{one:,.0f} ms", f"{two:,.0f} ms", f"{one / two:.2f}", f"{sent / 1e6:.3g} MB"]
        body.append([NAMES.get(name, name), *cells, f"{sent / bound:.2f}"])
    return markdown(["", "one rank", "two ranks", "faster", "sent", "over the bound"], body)


def algorithms_table(rows: Rows) -> str:
    """The bytes that two ranks send in algorithms beside the least that they could, and in how many exchanges."""
    two = [row for row in rows if row["ranks"] == "2"]
    body = [
        [
            f"`{row['program']}`",
            f"{float(row['sent_bytes']) / 1e6:.3g} MB",
            f"{float(row['bound_bytes']) / 1e6:.3g} MB",
            f"{float(row['sent_bytes']) / float(row['bound_bytes']):.2f}",
            row["exchanges"],
        ]
        for row in two
    ]
    return markdown(["", "sent", "bound", "over the bound", "exchanges"], body)


def grid_table(rows: Rows) -> str:
    """What ranks send in ranges and in a grid, on the largest graph."""
    largest = max(int(row["arcs"]) for row in rows)
    found = {(row["program"], row["ranks"], row["grid"]): row for row in rows if int(row["arcs"]) == largest}
    in_grids = [key[:2] for key in found if key[2] == "True"]
    programs = dict.fromkeys(name for name, _ in in_grids)
    body = []
    for name, ranks in sorted(in_grids, key=lambda key: (list(programs).index(key[0]), int(key[1]))):
        pair = [found[name, ranks, grid] for grid in ("False", "True")]
        sent = [float(row["sent_bytes"]) / 1e6 for row in pair]
        counted = [float(row["counted_bytes"]) / 1e6 for row in pair]
        body.append([
            NAMES.get(name, name), ranks, *(f"{each:.3g} MB" for each in sent), f"{sent[1] / sent[0]:.2f}",
            *(f"{each:.3g} MB" for each in counted), " / ".join(row["exchanges"] for row in pair),
        ])  # fmt: skip
    head = ["", "ranks", "ranges", "grid", "of that", "counted, ranges", "counted, grid", "exchanges"]
    return markdown(head, body)


def building_table(rows: Rows) -> str:
    """Seconds and peaks of files that one process, or ranks, build of a text."""
    body = [
        [
            f"{int(row['edges']) / 1e6:.0f} M", row["case"], row["ranks"], f"{float(row['seconds']):.2f} s",
            f"{int(row['peak']) / 1e6:.0f} MB", f"{int(row['before']) / 1e6:.0f} MB",
        ]
        for row in rows
    ]  # fmt: skip
    return markdown(["lines", "", "ranks", "time", "peak", "had before"], body, left=2)


def faster(one: float, two: float) -> str:
    """How many times as fast as one two are."""
    return f"{one / two:.{2 if one / two >= 0.1 else 3}f}"


def two_gpus_table(rows: Rows) -> str:
    """One GPU, and one and two ranks with a GPU each, by the tasks that were run and scale; what two exchange."""
    found = {(row["program"], row["graph"], row["ranks"]): row for row in rows}
    body = []
    for name in TASKS:
        for graph in dict.fromkeys(row["graph"] for row in rows if row["program"] == name):
            one, two = (found[name, graph, ranks] for ranks in ("1", "2"))
            plain, alone, ms = float(one["plain_ms"]), one["ms"], float(two["ms"])
            sent = significant(float(two["sent_bytes"]) / 1e6)
            body.append([
                TASKS[name], graph.removeprefix("rmat"), significant(plain),
                significant(float(alone)) if alone else "", significant(ms), faster(plain, ms),
                f"{float(two['exchange_share']):.0%}", two["exchanges"], f"{sent} MB",
            ])  # fmt: skip
    head = ["ms", "scale", "one GPU", "one rank", "two ranks", "faster", "exchanging", "exchanges", "sent"]
    return markdown(head, body)


def aims_table(rows: Rows) -> str:
    """How many times as fast as one GPU two are on the largest graph, and what was aimed at, of what was run. One GPU
    is an ordinary call, or one rank if that was faster."""
    largest = max(int(row["arcs"]) for row in rows)
    of_largest = [row for row in rows if int(row["arcs"]) == largest]
    body, run = [], {row["program"] for row in of_largest}
    for name, (counted, aim) in AIMS.items():
        if run.isdisjoint(counted):
            continue
        fastest = [
            min(
                float(row[key])
                for row in of_largest
                if row["program"] in counted and row["ranks"] == ranks
                for key in ("ms", "plain_ms")
                if row[key]
            )
            for ranks in ("1", "2")
        ]
        met = "met" if fastest[0] >= aim * fastest[1] else "missed"
        body.append([name, *map(significant, fastest), faster(*fastest), f"{aim:g}", met])
    (two,) = [row for row in of_largest if (row["program"], row["ranks"]) == ("pagerank", "2")]
    rate = float(two["supersteps"]) * largest / 2 / (1e6 * float(two["ms"]))
    met = "met" if rate >= AIM_RATE else "missed"
    body.append(["PageRank, 1e9 arcs a second and GPU", "", "", f"{rate:.3g}", f"{AIM_RATE}", met])
    return markdown(["", "one GPU, ms", "two, ms", "measured", "aim", ""], body)


def _ms(row: Row | None, field: str) -> str:
    """Milliseconds of a row, or nothing."""
    if row is None:
        return ""
    seconds = getattr(row, field)
    return marked(f"{1000 * seconds:,.{1 if seconds < 0.1 else 0}f}", row.verified)


def networkx_tables(rows: Sequence[Row]) -> dict[str, str]:
    """Functions by NetworkX and by its backends, with the conversion and after it; and conversions to edgewise."""
    names = dict.fromkeys(["edgewise", *(row.contender for row in rows if row.contender != "networkx")])
    functions, conversions = [], []
    for algorithm in dict.fromkeys(row.algorithm for row in rows):
        found = {row.contender: row for row in rows if row.algorithm == algorithm}
        ours = found["edgewise"]
        if "networkx" not in found:
            conversions.append([algorithm, f"{ours.seconds / (ours.arcs / 2e6):.3f}"])
            continue
        shown = [_ms(found.get(name), field) for name in names for field in ("first_seconds", "seconds")]
        base = found["networkx"]
        functions.append([algorithm, _ms(base, "seconds"), *shown, f"{base.seconds / ours.seconds:.0f}"])
    backends = [f"{name}, {when}" for name in names for when in ("with conversion", "converted")]
    return {
        "functions of networkx": markdown(
            ["function", "NetworkX", *backends, "NetworkX by edgewise"], functions
        ),
        "conversions": markdown(["conversion", "seconds for a million edges"], conversions),
    }


def networkx_devices_table(rows: Sequence[Row]) -> str:
    """A Markdown table of the functions on a GPU beside the CPU, in milliseconds."""
    by_name: dict[str, dict[str, Row]] = {}
    for row in rows:
        by_name.setdefault(row.algorithm, {})[row.contender] = row
    body = []
    for name, found in by_name.items():
        cpu, gpu = (found[f"edgewise, {device}"] for device in NETWORKX_DEVICES)
        times_of = (cpu.first_seconds, cpu.seconds, gpu.first_seconds, gpu.seconds)
        body.append([name, *(f"{1e3 * each:,.1f}" for each in times_of), f"{cpu.seconds / gpu.seconds:.2f}"])
    parts = [f"{where}, {when}" for where in ("CPU", "GPU") for when in ("with conversion", "converted")]
    return markdown(["function", *parts, "CPU by GPU"], body)


def lacking(rows: Rows) -> list[str]:
    """What rows of a file do not tell of where they are from, and how many if some do."""

    def has_source(row: dict[str, str]) -> bool:
        named = {row.get(key, "").lower() for key in ("algorithm", "program", "call", "run")}
        of_several = "sources" in row.get("what", "")
        return not named & {"bfs", "sssp"} or of_several or bool(row.get("source") or row.get("sources"))

    told: dict[str, Callable[[dict[str, str]], bool]] = {
        "source": has_source,
        "repeat": lambda row: bool(row.get("repeat") or row.get("calls")),
        "commit": lambda row: bool(row.get("commit")),
        "date": lambda row: bool(row.get("date")),
        "machine": lambda row: bool(row.get("machine")),
        "versions": lambda row: "numpy" in row.get("machine", "") + row.get("versions", ""),
    }
    missing = {name: sum(not has(row) for row in rows) for name, has in told.items()}
    commits = {row.get("commit", "") for row in rows} - {""}
    return [
        *(
            name if count == len(rows) else f"{name} ({count:,} rows)"
            for name, count in missing.items()
            if count
        ),
        *([f"one commit ({len(commits)})"] if len(commits) > 1 else []),
        *(["commits without changes"] if any(each.endswith("+") for each in commits) else []),
    ]


def lacking_table() -> str:
    """The committed files of rows: on what machine and of what commit they are, and what they lack."""
    files = {path: csv_rows(path) for path in sorted(RESULTS.rglob("*.csv"))}
    body = [
        [
            path.relative_to(RESULTS).as_posix(),
            _only({processor(row.get("machine", "")) for row in rows}),
            _only({row.get("commit", "")[:8] for row in rows}),
            ", ".join(lacking(rows)),
            f"{len(rows):,}",
        ]
        for path, rows in files.items()
    ]
    return markdown(["file", "machine", "commit", "lacks", "rows"], body, left=4)


def processor(machine: str) -> str:
    """The GPU or the processor of a machine, which stands before the versions, or after them."""
    parts = machine.split("; ")
    return parts[-1] if parts[0].startswith("python") else parts[0]


def _only(values: set[str]) -> str:
    """The value that all rows have, or how many there are."""
    return next(iter(values)) if len(values) == 1 else f"{len(values)} of them"


def blocks() -> dict[str, dict[str, str]]:
    """What is put into places of the documents, by their names."""
    return {
        "docs/benchmarks.md": {
            "centralities": table_of(lambda rows: centralities_table(as_rows(rows)), CENTRALITIES),
            "cores and triangles": table_of(
                lambda rows: centralities_table(as_rows(rows), "what"), CORES_AND_TRIANGLES
            ),
            "reading": table_of(reading_table, READING),
            "cugraph": table_of(cugraph_table, CUGRAPH),
            "beyond": table_of(beyond_words, BEYOND),
            "lacking": lacking_table(),
        },
        "docs/distributed.md": {
            "building": table_of(building_table, BUILDING_RANKS),
            "ranks": table_of(ranks_table, DISTRIBUTED),
            "algorithms": table_of(algorithms_table, ALGORITHMS),
            "grid": table_of(grid_table, GRID),
            "two gpus": table_of(two_gpus_table, DISTRIBUTED_GPU),
            "aims": table_of(aims_table, DISTRIBUTED_GPU),
        },
        "docs/networkx.md": table_of(lambda rows: networkx_tables(as_rows(rows)), NETWORKX)
        | {
            "functions on a gpu": table_of(
                lambda rows: networkx_devices_table(as_rows(rows)), NETWORKX_ON_GPU
            )
        },
    }
