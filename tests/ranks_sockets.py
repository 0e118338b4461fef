"""A script for ranks that says whether they use sockets, and whether a search is right."""

import numpy as np

import edgewise as ew
from edgewise.engine.distributed.group import connect

graph = ew.generate.rmat(10, 8, seed=3)
found, expected = ew.bfs(graph, 0, distributed=True, device="cpu"), ew.bfs(graph, 0, device="cpu")
np.testing.assert_array_equal(found.level, expected.level)
print(f"uses sockets: {connect()._sockets is not None}; right", flush=True)
