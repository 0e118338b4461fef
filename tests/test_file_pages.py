"""A run on a graph in a file takes no more resident memory than its limit, pages of the file included."""

import os
import threading
import time

import numpy as np
import pytest
from resident import CLEAR, SLACK, Case, measured

import edgewise as ew
from edgewise.errors import MemoryLimitError
from edgewise.graph import least_pages
from edgewise.kernels.cpu import ceiling

pytestmark = pytest.mark.skipif(not os.access(CLEAR, os.W_OK), reason="the peak is told by Linux only")

THREADS = 2
ALGORITHMS = {
    "bfs": "ew.bfs(g, first, memory_limit=limit)",
    "sssp": "ew.sssp(g, first, memory_limit=limit)",
    "pagerank": "ew.pagerank(g, tol=0, max_iterations=5, memory_limit=limit)",
    "weighted pagerank": "ew.pagerank(g, tol=0, max_iterations=3, weighted=True, memory_limit=limit)",
    "components": "ew.connected_components(g, memory_limit=limit)",
    "scc": "ew.scc(g, memory_limit=limit)",
    "mst": "ew.mst(g, symmetrize=True, memory_limit=limit)",
    "betweenness": "ew.betweenness(g, k=2, memory_limit=limit)",
    "program": "ew.run(P.SSSP(source=first), g, memory_limit=limit)",
    "program that pulls": "ew.run(P.PageRank(tol=1e-2), g, memory_limit=limit)",
}
FEW = ("bfs", "components")


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """Graphs of 190 MB: directed ones with in-edges, and undirected ones; and small ones of their kinds."""
    folder = tmp_path_factory.mktemp("files")
    for directed in (True, False):
        for name, n, m in (("", 600_000, 11_500_000), (".small", 100, 2000)):
            graph = ew.generate.uniform(n, m, seed=1, directed=directed, weights=(1, 99))
            graph.save(folder / f"{directed}{name}", in_edges=directed)
    return folder


@pytest.mark.parametrize(
    "directed, name",
    [
        pytest.param(directed, name, marks=() if directed and name in FEW else pytest.mark.more)
        for directed in (True, False)
        for name in ALGORITHMS
    ],
)
def test_resident_memory_stays_within_the_limit(files, monkeypatch, directed, name):
    monkeypatch.setenv("EDGEWISE_NUM_THREADS", str(THREADS))
    found = measured(Case(f"in {files / str(directed)}", ALGORITHMS[name]))
    print(found)
    assert found.peak <= found.needed + SLACK and found.later <= found.again + SLACK, found
