"""NetworkX's own tests of the functions that the backend offers, with their calls led to it."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import networkx as nx
import pytest

from edgewise.nx.backend import FUNCTIONS

HERE = Path(__file__).resolve().parent
pytestmark = pytest.mark.more
#: The files of tests, in `networkx`.
FILES = (
    "algorithms/centrality/tests/test_betweenness_centrality.py",
    "algorithms/centrality/tests/test_betweenness_centrality_subset.py",
    "algorithms/centrality/tests/test_closeness_centrality.py",
    "algorithms/centrality/tests/test_degree_centrality.py",
    "algorithms/centrality/tests/test_eigenvector_centrality.py",
    "algorithms/centrality/tests/test_harmonic_centrality.py",
    "algorithms/centrality/tests/test_katz_centrality.py",
    "algorithms/components/tests/test_connected.py",
    "algorithms/components/tests/test_strongly_connected.py",
    "algorithms/components/tests/test_weakly_connected.py",
    "algorithms/link_analysis/tests/test_hits.py",
    "algorithms/link_analysis/tests/test_pagerank.py",
    "algorithms/shortest_paths/tests/test_generic.py",
    "algorithms/shortest_paths/tests/test_unweighted.py",
    "algorithms/shortest_paths/tests/test_weighted.py",
    "algorithms/tests/test_cluster.py",
    "algorithms/tests/test_core.py",
    "algorithms/tests/test_dag.py",
    "algorithms/tests/test_distance_measures.py",
    "algorithms/traversal/tests/test_bfs.py",
    "algorithms/tree/tests/test_mst.py",
    "tests/test_convert_numpy.py",
    "tests/test_convert_pandas.py",
    "tests/test_convert_scipy.py",
)
#: Tests that fail with the backend, and why.
EXPECTED = {
    "algorithms/tests/test_dag.py::TestDAG::test_topological_sort6": "the test changes the graph while it reads the "
    "order; edgewise gives that of the graph as it was"
}
#: Functions that none of these tests calls; `test_nx_tables` does.
NOT_CALLED = {"graph__new__", "digraph__new__"}


def report_of(folder: Path) -> Any:
    """What became of the tests, and how often each function was called: see `nx_calls`.

    What is not offered runs in NetworkX, so that tests which need it are not given up; what is offered does not.
    """
    assert "edgewise" in nx.utils.backends.backends, "the entry points are not installed: pip install -e ."
    networkx = Path(nx.__path__[0])
    (folder / "pytest.ini").write_text("[pytest]\n")
    written = folder / "report.json"
    paths = os.pathsep.join(map(str, (HERE, HERE.parent)))
    given = {"NETWORKX_TEST_BACKEND": "edgewise", "EDGEWISE_NX_REPORT": str(written), "PYTHONPATH": paths}
    options = (
        f"-q -p no:cacheprovider -p nx_calls -c {folder / 'pytest.ini'} --rootdir {networkx} --fallback-to-nx"
    )
    command = [sys.executable, "-m", "pytest", *options.split(), f"--confcutdir={networkx}"]
    done = subprocess.run(
        [*command, *(str(networkx / file) for file in FILES)],
        env=os.environ | given,
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=280,
    )
    assert written.exists(), done.stdout[-3000:] + done.stderr[-3000:]
    return json.loads(written.read_text())


def test_they_pass_and_every_function_that_is_offered_was_called(tmp_path: Path) -> None:
    report = report_of(tmp_path)  # takes a minute: two tests in two processes would take two
    failed = report["tests"].get("failed", {})
    for name in EXPECTED:
        assert name in failed, f"{name} passes; take it from EXPECTED"
    unexpected = {name: text for name, text in failed.items() if name not in EXPECTED}
    assert not unexpected, "\n\n".join(f"{name}\n{text[-1500:]}" for name, text in unexpected.items())
    assert len(report["tests"]["passed"]) > 1000
    assert sorted(FUNCTIONS.keys() - report["calls"].keys()) == sorted(NOT_CALLED)
    assert sum(report["calls"].values()) > 3 * sum(report["left"].values())
