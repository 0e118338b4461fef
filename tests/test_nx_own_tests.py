"""NetworkX's own tests of the functions that the backend offers, with their calls led to it."""

import json
import os
import subprocess
import sys
import tomllib
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, NamedTuple

import networkx as nx
import pytest

from edgewise.nx.backend import FUNCTIONS
from edgewise.nx.offered import VERSION

HERE = Path(__file__).resolve().parent
#: The files of tests, in `networkx`.
FILES = (
    "algorithms/approximation/tests/test_kcomponents.py",
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
if VERSION < (3, 5):
    NOT_CALLED |= {"single_target_shortest_path_length"}  # gave something else
#: Seconds for the tests, which take 80 of one core.
LIMIT = 600


class Left(NamedTuple):
    """Calls of a function that is offered which were left to NetworkX for one reason.

    Attributes:
        count: how many calls.
        test: the first test that made one.
    """

    function: str
    reason: str
    count: int
    test: str


def report_of(folder: Path) -> Any:
    """What became of the tests, and which calls were answered or left: see `nx_calls`.

    NetworkX runs what is not offered. It also runs, without a word, what is offered and left to it.
    """
    assert "edgewise" in nx.utils.backends.backends, "the entry points are not installed: pip install -e ."
    networkx = Path(nx.__path__[0])
    (folder / "pytest.ini").write_text("[pytest]\n")
    written = folder / "report.json"
    paths = os.pathsep.join(map(str, (HERE, HERE.parent, networkx.parent)))
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
        timeout=LIMIT,
    )
    assert written.exists(), done.stdout[-3000:] + done.stderr[-3000:]
    return json.loads(written.read_text())


def objections(left: list[Left], allowed: dict[str, dict[str, int]]) -> list[str]:
    """Where the calls that were left are not as a table allows.

    Args:
        allowed: by pattern of reasons, and function, the most calls that may be left.
    """
    told = [
        f"{each.function} leaves calls for an unlisted reason: {each.reason} ({each.test})"
        for each in left
        if not any(
            each.function in functions and fnmatchcase(each.reason, pattern)
            for pattern, functions in allowed.items()
        )
    ]
    for pattern, functions in allowed.items():
        for function, most in functions.items():
            such = [each for each in left if each.function == function and fnmatchcase(each.reason, pattern)]
            count = sum(each.count for each in such)
            if count == 0:
                told.append(
                    f"{function} leaves no call for a listed reason, take it from the table: {pattern}"
                )
            elif count > most:
                told.append(f"{function} leaves {count} calls, {most} are listed: {pattern} ({such[0].test})")
    return told


def test_calls_are_left_only_as_the_table_allows() -> None:
    allowed = {"weight=*: not weighed": {"clustering": 2}, "parallel edges": {"k_core": 1, "k_shell": 1}}
    left = [
        Left("clustering", "weight='a': not weighed", 1, "test_a"),
        Left("clustering", "weight='b': not weighed", 1, "test_b"),
        Left("k_core", "parallel edges", 1, "test_c"),
        Left("k_shell", "parallel edges", 1, "test_d"),
    ]
    assert objections(left, allowed) == []
    assert objections([*left, Left("k_crust", "parallel edges", 1, "test_e")], allowed) == [
        "k_crust leaves calls for an unlisted reason: parallel edges (test_e)"
    ]
    assert objections([*left[1:], left[0]._replace(count=2)], allowed) == [
        "clustering leaves 3 calls, 2 are listed: weight=*: not weighed (test_b)"
    ]
    assert objections(left[:-1], allowed) == [
        "k_shell leaves no call for a listed reason, take it from the table: parallel edges"
    ]


@pytest.mark.more
@pytest.mark.timeout(LIMIT + 60)
def test_they_pass_and_call_every_function_that_is_offered(tmp_path: Path) -> None:
    report = report_of(tmp_path)  # takes a minute: two tests in two processes would take two
    failed = report["tests"].get("failed", {})
    for name in EXPECTED:
        assert name in failed, f"{name} passes; take it from EXPECTED"
    unexpected = {name: text for name, text in failed.items() if name not in EXPECTED}
    assert not unexpected, "\n\n".join(f"{name}\n{text[-1500:]}" for name, text in unexpected.items())
    assert len(report["tests"]["passed"]) > 700  # 767 of NetworkX 3.4.2, 1,322 of 3.5
    assert FUNCTIONS.keys() - report["calls"].keys() == NOT_CALLED, "what is offered answers no call"
    allowed = tomllib.loads((HERE / "nx_left.toml").read_text(encoding="utf-8"))
    told = objections([Left(*each) for each in report["left"]], allowed)
    assert not told, "\n".join(told)
