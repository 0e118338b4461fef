"""What a program makes once for a graph, and what its first run takes.

In-edges and layouts are made before the first run, clusters (`edgewise.balance.clustered`) before the second: a first
run does without them. So a time of later runs stands beside that of the first, and what was made for it counts.
"""

import re
import statistics
import time
from collections.abc import Callable
from typing import Any, NamedTuple

#: On how many graphs that nothing was made for yet; the first does not count, as CuPy takes memory from the driver.
PREPARED = 4


class MadeOnce(NamedTuple):
    """Medians, in milliseconds.

    Attributes:
        before_ms: what was made before the first run.
        first_ms: the first run itself, compiling not counted.
        clusters_ms: what was made before the second run, if that is by clusters; else 0.
        prepared: a program, ready for its third run.
    """

    before_ms: float
    first_ms: float
    clusters_ms: float
    prepared: Any

    def row(self) -> dict[str, float]:
        """What rows say of a first run."""
        return {"first_ms": self.first_ms, "clusters_ms": self.clusters_ms}


def made_once(prepare: Callable[[], Any], values: dict[str, Any], times: int = PREPARED) -> MadeOnce:
    """Run a program twice on each of some graphs.

    Args:
        prepare: prepares the program for a graph that nothing was made for yet.
        values: the parameters of the runs.
        times: how many graphs; the first does not count.
    """
    spent = []
    for _ in range(times):
        prepared = prepare()
        first, second = prepared(**values), prepared(**values)
        clusters = second.layout_seconds if by_clusters(second.explain()) else 0.0
        spent.append((first.layout_seconds, first.seconds, clusters))
    return MadeOnce(*(1e3 * statistics.median(each) for each in zip(*spent[1:], strict=True)), prepared)


def by_clusters(explained: str) -> bool:
    """Whether a run went by clusters, as its `explain()` says."""
    return re.search(r"\bby [\d,]+ clusters\b", explained) is not None


def pulled(explained: str) -> bool:
    """Whether a run gathered over in-edges, as its `explain()` says."""
    return re.search(r"\d pull\b", explained) is not None


def in_edges_ms(fresh: Callable[[], Any], times: int = PREPARED) -> float:
    """Milliseconds in which the in-edges of a graph on the GPU are made: the median, the first not counted."""
    from edgewise.kernels.cuda.memory import finish

    spent = []
    for _ in range(times):
        gpu = fresh().gpu
        finish()
        started = time.perf_counter()
        gpu.in_offsets, gpu.in_sources  # noqa: B018  made when they are asked for
        finish()
        spent.append(1e3 * (time.perf_counter() - started))
    return statistics.median(spent[1:])
