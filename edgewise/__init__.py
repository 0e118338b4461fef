"""edgewise: graph processing from plain Python.

A program says what happens on one edge and on one vertex; edgewise runs it on every core. See `Program` for the
contract, `run` and `prepare` to run one, and `bfs`, `sssp`, `pagerank`, `connected_components`, `scc`, `mst`,
`betweenness`, `edge_betweenness`, `closeness`, `harmonic`, `eccentricity`, `eigenvector`, `katz`,
`hits`, `core_numbers`, `triangles`, `topological_order` for what is ready made.
"""

from edgewise import early as early  # first, for Ctrl-C during the imports

# isort: split
from edgewise import approx, generate
from edgewise.algorithms.betweenness import betweenness, edge_betweenness
from edgewise.algorithms.bfs import bfs
from edgewise.algorithms.closeness import closeness, eccentricity, harmonic
from edgewise.algorithms.components import connected_components
from edgewise.algorithms.core_numbers import core_numbers
from edgewise.algorithms.eigenvector import eigenvector
from edgewise.algorithms.hits import hits
from edgewise.algorithms.katz import katz
from edgewise.algorithms.mst import mst
from edgewise.algorithms.pagerank import pagerank
from edgewise.algorithms.scc import scc
from edgewise.algorithms.sssp import sssp
from edgewise.algorithms.topological import topological_order
from edgewise.algorithms.triangles import triangles
from edgewise.building import build
from edgewise.explain import explain
from edgewise.graph import Graph, load
from edgewise.io import read, write
from edgewise.moved import prepare, run
from edgewise.program.declare import (
    ACTIVE,
    ALL,
    ANY,
    HALT,
    INFINITY,
    MAX,
    MESSAGES,
    MIN,
    PRODUCT,
    REQUIRED,
    SUM,
    VERTEX,
    WEIGHT,
    Program,
    aggregator,
    combiner,
    edge,
    fields,
    parameter,
    vertex,
)
from edgewise.program.draws import random
from edgewise.schedule import (
    Binned,
    BlockMapped,
    Buffered,
    Clustered,
    EdgeBased,
    HierarchicalProcessing,
    Layered,
    Layout,
    MergePath,
    NodeSplitting,
    Pull,
    Push,
    Ranks,
    Replicated,
    Schedule,
    ThreadMapped,
    WarpMapped,
    WorkloadDecomposition,
)

__all__ = [
    "ACTIVE",
    "ALL",
    "ANY",
    "HALT",
    "INFINITY",
    "MAX",
    "MESSAGES",
    "MIN",
    "PRODUCT",
    "REQUIRED",
    "SUM",
    "VERTEX",
    "WEIGHT",
    "Binned",
    "BlockMapped",
    "Buffered",
    "Clustered",
    "EdgeBased",
    "Graph",
    "HierarchicalProcessing",
    "Layered",
    "Layout",
    "MergePath",
    "NodeSplitting",
    "Program",
    "Pull",
    "Push",
    "Ranks",
    "Replicated",
    "Schedule",
    "ThreadMapped",
    "WarpMapped",
    "WorkloadDecomposition",
    "aggregator",
    "approx",
    "betweenness",
    "betweenness_centrality",
    "bfs",
    "build",
    "closeness",
    "closeness_centrality",
    "combiner",
    "connected_components",
    "core_numbers",
    "eccentricity",
    "edge",
    "edge_betweenness",
    "edge_betweenness_centrality",
    "eigenvector",
    "eigenvector_centrality",
    "explain",
    "fields",
    "generate",
    "harmonic",
    "harmonic_centrality",
    "hits",
    "katz",
    "katz_centrality",
    "load",
    "minimum_spanning_forest",
    "mst",
    "pagerank",
    "parameter",
    "prepare",
    "random",
    "read",
    "run",
    "scc",
    "sssp",
    "strongly_connected_components",
    "topological_order",
    "triangles",
    "vertex",
    "write",
]

#: The names that NetworkX has for these, in full.
betweenness_centrality, edge_betweenness_centrality = betweenness, edge_betweenness
closeness_centrality, harmonic_centrality = closeness, harmonic
eigenvector_centrality, katz_centrality = eigenvector, katz
minimum_spanning_forest, strongly_connected_components = mst, scc

__version__ = "0.1.0"
