"""edgewise: graph processing from plain Python.

A program says what happens on one edge and on one vertex; edgewise runs it on every core. See `Program` for the
contract, and `run` and `prepare` to run one.
"""

from edgewise import generate
from edgewise.graph import Graph
from edgewise.io import read
from edgewise.program import (
    ACTIVE,
    ALL,
    ANY,
    HALT,
    INFINITY,
    MAX,
    MIN,
    PRODUCT,
    SUM,
    VERTEX,
    WEIGHT,
    Program,
    aggregator,
    combiner,
    edge,
    parameter,
    vertex,
)
from edgewise.run import prepare, run
from edgewise.schedule import Pull, Push, Schedule

__all__ = [
    "ACTIVE",
    "ALL",
    "ANY",
    "HALT",
    "INFINITY",
    "MAX",
    "MIN",
    "PRODUCT",
    "SUM",
    "VERTEX",
    "WEIGHT",
    "Graph",
    "Program",
    "Pull",
    "Push",
    "Schedule",
    "aggregator",
    "combiner",
    "edge",
    "generate",
    "parameter",
    "prepare",
    "read",
    "run",
    "vertex",
]

__version__ = "0.1.0"
