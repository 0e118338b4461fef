"""What is said with figures of the automatic schedule, of clusters and of runs on a GPU; see `benchmarks.page`."""

import textwrap

from benchmarks.automatic import FACTOR, MARGIN_MS, SHARED_BY, WORST, cells, is_beyond
from benchmarks.automatic import table as automatic_table
from benchmarks.page_tables import CUGRAPH, GRAPHS, RESULTS, Rows, listed, significant, table_of, words
from benchmarks.papers.made_once import by_clusters
from benchmarks.schedules import KNOWN, OTHERS, decided_nothing
from benchmarks.table import markdown

#: The rows of the tables on a GPU; of another one; of clusters; of the automatic schedule; and of another process.
GPU = RESULTS / "2026-11-29-H200.csv"
H100 = RESULTS / "2026-11-28-H100.csv"
CLUSTERS = RESULTS / "2026-11-26-H100-clusters.csv"
AUTOMATIC = RESULTS / "automatic-2026-11-28-H100.csv"
AGAIN = RESULTS / "2026-11-28-H100-again.csv"
#: What rows differ by that is noted, in milliseconds.
APART_MS = 0.2
#: How graphs and algorithms are named.
CLUSTERED = {name: GRAPHS.get(name, name) for name in ("lattice", "one-way", "road-NE", "road-FLA")}
TASKS = {"bfs": "a search", "build": "building", "pagerank": "PageRank", "sssp": "shortest paths"}


def automatic_words(rows: Rows) -> str:
    """The table of the automatic schedule, and how many of its cells are as aimed at."""
    found = list(cells(rows))
    good = [not is_beyond(ours, best) for *_, ours, best, _ in found]
    above = sum(fine and ours > FACTOR * best for fine, (*_, ours, best, _) in zip(good, found, strict=True))
    places = [each[:2] for each in found]
    unseen = [fine for fine, place in zip(good, places, strict=True) if decided_nothing(*place)]
    new = [
        fine
        for fine, place in zip(good, places, strict=True)
        if decided_nothing(*place) and place not in KNOWN
    ]
    missed = sum(ours > WORST * best for *_, ours, best, _ in found)
    aims = [
        "met" if sum(good) >= 0.9 * len(good) else "missed",
        f"missed in {missed} of them" if missed else "met",
    ]
    said = words(
        f"Cells are bold if they exceed {FACTOR:.2f} times the best by more than {1000 * MARGIN_MS:.0f} µs.",
        f"{sum(good)} of {len(good)} do not; {above} of these {'is' if above == 1 else 'are'} above {FACTOR:.2f}.",
        f"Of the {len(unseen)} cells of the last {len(OTHERS)} graphs from which no rule came, {sum(unseen)} do not,",
        f"and {sum(new)} of {len(new)} without those that were known when one was made (see below). The aims are nine",
        f"in ten, which is {aims[0]}, and at most {WORST:g} in each cell, which is {aims[1]}.",
    )
    return f"{automatic_table(rows)}\n\n{said}"


def first_runs_words(rows: Rows) -> str:
    """Where runs are by clusters but the first, what first and later runs take, and what is made for them."""
    told = []
    for row in rows:
        if not by_clusters(row["explain"]):
            continue
        made = [float(row[f"layout_ms_of_{runs}"]) for runs in (1, SHARED_BY)]
        first, later = float(row["ms_of_1"]) - made[0], float(row["ms_of_100"]) - made[1] / SHARED_BY
        told.append(
            f"{TASKS.get(row['program'], row['program'])} on {row['graph']} ({significant(first)} ms, then "
            f"{significant(later)}; made once {significant(made[1])})"
        )
    return words(
        "Where clusters pay, they are made for the second run on a graph; the first goes best first. So cells of one",
        f"run are without clusters, and cells of {SHARED_BY} count their making, too. That is so for {listed(told)}.",
    )


def _key(row: dict[str, str]) -> tuple[str, str, str]:
    return row["graph"], row["algorithm"], row["what"]


def _times(rows: Rows) -> dict[tuple[str, str, str], float]:
    """Milliseconds of what was measured, by `_key`."""
    return {_key(row): float(row["ms"]) for row in rows}


def processes_words(rows: Rows, others: Rows) -> str:
    """By how much the same differs between two processes."""
    one, two = map(_times, (rows, others))
    both = [key for key in one if key in two]
    ratios = sorted(two[key] / one[key] for key in both)
    apart = sum(abs(two[key] - one[key]) > APART_MS for key in both)

    def pair(*key: str) -> str:
        return f"{significant(one[key])} and {significant(two[key])}"  # type: ignore[index]

    return words(
        f"Processes differ: of {len(both)} times that the rows of the H100 share with those beside cuGraph below,",
        f"which are of the day before and of other commits, {apart} differ by more than {APART_MS:g} ms; those beside",
        f"cuGraph are {ratios[0]:.2f} to {ratios[-1]:.2f} times as long, {ratios[len(ratios) // 2]:.2f} at the median.",
        f"Betweenness on rmat20 took {pair('rmat20', 'betweenness', 'edgewise')} ms, shortest paths on the lattice",
        f"{pair('lattice', 'sssp', 'edgewise')}, a search on rmat22 {pair('rmat22', 'bfs', 'edgewise')}, and strong",
        f"components of the uniform graph {pair('uniform', 'scc', 'edgewise')}.",
    )


def gpus_words(rows: Rows, others: Rows) -> str:
    """How times on one GPU compare with those on another."""
    one, two = map(_times, (rows, others))
    ratios = sorted(one[key] / two[key] for key in one if key in two)
    return words(
        f"Of {len(ratios)} times the H200 takes {ratios[0]:.2f} to {ratios[-1]:.2f} times as long as the H100,",
        f"{ratios[len(ratios) // 2]:.2f} at the median.",
    )


def goals_words(rows: Rows, of_h100: Rows, *others: Rows) -> str:
    """Which milliseconds that were aimed at were missed, by these rows and on an H100, and there what the same took in
    other processes."""
    processes = [_times(each) for each in others]
    aimed, before = map(_aimed, (rows, of_h100))
    missed, missed_before = ([row for row in some if _is_missed(row)] for some in (aimed, before))

    def elsewhere(row: dict[str, str]) -> list[float]:
        return [times[_key(row)] for times in processes if _key(row) in times]

    turned = [
        row
        for row in before
        if row not in missed_before and max(elsewhere(row), default=0) > float(row["goal_ms"])
    ]

    def said(some: Rows, with_others: bool = True) -> str:
        return listed([_said(row, elsewhere(row) if with_others else []) for row in some])

    return words(
        f"Of {len(aimed)} times that were aimed at on an H100 (`goal_ms`) the H200 missed {len(missed)}:",
        f"{said(missed, with_others=False)}. The H100 missed {len(missed_before)}: {said(missed_before)}. In brackets",
        "are the time, the aim, and what other processes took there: those beside cuGraph, and a later one",
        f"([rows](../benchmarks/results/{AGAIN.name})). Where an aim lies between them, the process decides. Met",
        f"there, and missed by another one: {said(turned)}.",
        "`layout_ms` of the rows is what the first two calls made: clusters are made in the second.",
    )


def _aimed(rows: Rows) -> Rows:
    """The rows that have an aim."""
    return [row for row in rows if row["goal_ms"] and row["what"].startswith("edgewise")]


def _is_missed(row: dict[str, str]) -> bool:
    return float(row["ms"]) > float(row["goal_ms"])


def _said(row: dict[str, str], others: list[float]) -> str:
    """What was measured, with its time, the aim, and others' times."""
    times = listed(list(map(significant, others)))
    return (
        f"{TASKS.get(row['algorithm'], row['algorithm'])} on {row['graph']}"
        f"{' with weights' * ('weights' in row['what'])} ({significant(float(row['ms']))} ms, {row['goal_ms']}"
        f"{'; ' * bool(times)}{times})"
    )


def clusters_table(rows: Rows) -> str:
    """Milliseconds by clusters and otherwise, and what is made once, for the page on GPUs, where it is in a list."""
    of = {(row["graph"], row["algorithm"]): row for row in rows if row["sources"] == "largest"}
    searches, paths = (
        [float(of[name, algorithm]["making_ms"]) for name in ("road-NE", "lattice")]
        for algorithm in ("bfs", "sssp")
    )
    said = textwrap.fill(
        f"On road-NE and the lattice it was {searches[0]:.0f} and {searches[1]:.0f} ms for the first search, and "
        f"{paths[0]:.0f} and {paths[1]:.0f} more for the first shortest paths.",
        122,
    )
    body = [
        [
            shown,
            *(
                f"{float(of[name, algorithm][way]):.1f}"
                for algorithm in ("bfs", "sssp")
                for way in ("otherwise_ms", "clusters_ms")
            ),
        ]
        for name, shown in CLUSTERED.items()
    ]
    head = ["one H100, whole calls, ms", "levels", "by clusters", "near and far", "by clusters"]
    return textwrap.indent(f"{said}\n\n{markdown(head, body)}", "  ")


def blocks() -> dict[str, dict[str, str]]:
    """What is put into places of the documents, by their names."""
    return {
        "docs/benchmarks.md": {
            "gpus": table_of(gpus_words, GPU, H100),
            "processes": table_of(processes_words, H100, CUGRAPH),
            "goals": table_of(goals_words, GPU, H100, CUGRAPH, AGAIN),
            "automatic": table_of(automatic_words, AUTOMATIC),
            "first runs": table_of(first_runs_words, AUTOMATIC),
        },
        "docs/gpu.md": {"clusters": table_of(clusters_table, CLUSTERS)},
    }
