"""What the reproduction of Zhong et al. (2016) compares: graphs, systems, and how many keys are sorted."""

import contextlib
import importlib.metadata
import re
import shutil
import subprocess
from collections.abc import Callable, Iterable
from dataclasses import replace

import numpy as np

import edgewise as ew
from benchmarks.graphs import GTGRAPH
from benchmarks.papers.load_balancing_setup import Columns, rmat_on_gpu, uniform_on_gpu

#: As the paper has it: a thread for each edge sends, and vertices are numbered by their rows.
BY_EDGES = ew.Buffered(send="edges")
LINEAR = ew.Layout("linear", threshold=1, split=False, renumber=True)
UNSORTED = ew.Layout(None, split=False)
SYSTEMS: dict[str, ew.Schedule] = {
    "Medusa-like": ew.Schedule(BY_EDGES, layout=replace(UNSORTED, group_size=1, made_on="cpu")),
    "paper": ew.Schedule(BY_EDGES, layout=LINEAR),
    "paper, unsorted": ew.Schedule(BY_EDGES, layout=UNSORTED),
    "paper, row-major": ew.Schedule(BY_EDGES, layout=replace(LINEAR, group_size=1)),
    "paper, radix sort": ew.Schedule(BY_EDGES, layout=replace(LINEAR, sort="exact")),
    "paper, numbers kept": ew.Schedule(BY_EDGES, layout=replace(LINEAR, renumber=False)),
    "paper, slots send": ew.Schedule(ew.Buffered(), layout=LINEAR),
    "heavy apart": ew.Schedule(ew.Buffered(), layout=ew.Layout()),
    "heavy apart, renumbered": ew.Schedule(ew.Buffered(), layout=ew.Layout(renumber=True)),
    "pull": ew.Schedule(ew.Pull(), layout=ew.Layout()),
    "pull, renumbered": ew.Schedule(ew.Pull(), layout=ew.Layout(renumber=True)),
    "automatic": ew.Schedule(),
}
#: Of which PageRank is profiled: without sorting and remapping, with one of them, with both, and what else is of
#: interest; and for how many supersteps.
PROFILED = (
    "Medusa-like",
    "paper, row-major",
    "paper, unsorted",
    "paper",
    "paper, numbers kept",
    "paper, slots send",
    "heavy apart",
    "pull",
)
PROFILED_SUPERSTEPS = 3
#: The iterations of PageRank whose whole time counts.
ITERATIONS = 50
SORTED_MILLIONS = (1, 4, 16)
#: With these the largest in-degree of "Journal with hubs" is about the 2,454 that the paper prints for com-LiveJournal.
HUBS = (0.4963, 0.15, 0.15, 0.2037)


def thinned(made: Columns, num_vertices: int, num_edges: int) -> Columns:
    """The first `num_edges` edges among the first `num_vertices` vertices."""
    source, target, weight = made[1]
    kept = (source < num_vertices) & (target < num_vertices)
    return num_vertices, tuple(column[kept][:num_edges].copy() for column in (source, target, weight))


def journal(quadrants: tuple[float, ...]) -> Columns:
    """R-MAT with the numbers of vertices and edges of com-LiveJournal."""
    return thinned(rmat_on_gpu(22, 40_000_000, 1, quadrants), 3_997_962, 34_681_189)


def real(name: str) -> Columns:
    """A graph of the test data on the GPU, with weights from 1 to 100."""
    import cupy

    from tests.golden import load as golden

    graph = golden(name).graph
    weights = np.random.default_rng(1).integers(1, 101, graph.num_arcs)
    ends = (graph.sources, graph.targets, weights)
    return graph.num_vertices, tuple(cupy.asarray(column.astype(np.int32)) for column in ends)


GRAPHS: dict[str, Callable[[], Columns]] = {
    "RMAT": lambda: thinned(rmat_on_gpu(20, 18_500_000, 1, GTGRAPH), 1_000_000, 16_000_000),
    "Random": lambda: uniform_on_gpu(1_000_000, 16_000_000, 1),
    "Journal": lambda: journal(GTGRAPH),
    "Journal with hubs": lambda: journal(HUBS),
    "soc-Epinions1": lambda: real("soc-Epinions1-sym"),
    "cnr-2000": lambda: real("cnr-2000"),
    "actor-collab": lambda: real("actor-collab"),
    "road-NE": lambda: real("road-NE"),
}
#: The graphs that goals are about.
CLAIMED = tuple(name for name in GRAPHS if name != "Journal with hubs")


def versions_of(parts: Iterable[str]) -> str:
    """The versions of what some parts use besides edgewise, of what is there."""
    found = []
    for part, package in (("sort", "cuda-cccl"), ("baseline", "scipy")):
        with contextlib.suppress(importlib.metadata.PackageNotFoundError):
            found += [f"{package} {importlib.metadata.version(package)}"] if part in parts else []
    if {"stage", "profile"} & set(parts) and shutil.which("ncu"):
        said = subprocess.run(["ncu", "--version"], capture_output=True, text=True, check=False).stdout
        found += [f"ncu {version}" for version in re.findall(r"Version (\S+)", said)]
    return "; ".join(found)
