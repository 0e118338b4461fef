"""PageRank: a dense matrix, drawn graphs, NetworkX's conventions, bad input."""

import pickle
import signal
import subprocess
import sys
import time
import warnings
from fractions import Fraction

import battery
import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import edgewise as ew
from edgewise.algorithms.pagerank import pagerank
from edgewise.algorithms.pagerank.cpu import BLOCK
from edgewise.errors import GraphError, ParameterError, ScheduleError, VerificationError
from edgewise.graph.csr import Rows
from edgewise.graph.ids import Ids


def by_matrix(graph, damping=0.85, jump=None, weights=None):
    """The stationary vector of the dense transition matrix, by solving for it."""
    n = graph.num_vertices
    jump = np.full(n, 1 / n) if jump is None else np.asarray(jump, float) / np.sum(jump)
    matrix = np.zeros((n, n))
    np.add.at(matrix, (graph.targets, graph.sources), np.ones(graph.num_arcs) if weights is None else weights)
    out = matrix.sum(axis=0)
    matrix[:, out > 0] /= out[out > 0]
    matrix[:, out == 0] = jump[:, None]
    return np.linalg.solve(np.eye(n) - damping * matrix, (1 - damping) * jump)


SMALL = {name: graph for name, graph in battery.graphs().items() if 0 < graph.num_vertices <= 1000}


@pytest.mark.parametrize("name", SMALL)
def test_small_graphs(name):
    graph = SMALL[name]
    exact = by_matrix(graph)
    results = [
        pagerank(graph, tol=1e-13, max_iterations=500, schedule=ew.Schedule(num_threads=threads))
        for threads in (1, 2, 3)
    ]
    np.testing.assert_allclose(results[0].rank, exact, rtol=1e-9, atol=1e-12)
    assert results[0].rank.tobytes() == results[1].rank.tobytes() == results[2].rank.tobytes()
    assert results[0].converged
    assert results[0].verify(graph)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"weighted": True},
        {"dtype": np.float32},
        {"personalization": {5: 1.0, 4000: 2.0}},
        {"start": 1.0 + np.arange(4096) % 7},
    ],
    ids=str,
)
def test_threads_share_several_blocks_without_changing_a_bit(options):
    graph = ew.generate.rmat(12, 8, seed=5, weights=(1, 9))
    assert graph.num_vertices > 3 * BLOCK
    first, second, third = (
        pagerank(graph, tol=0, max_iterations=20, schedule=ew.Schedule(num_threads=threads), **options)
        for threads in (1, 2, 3)
    )
    assert first.rank.tobytes() == second.rank.tobytes() == third.rank.tobytes()
    assert first.residual == second.residual == third.residual
    assert first.iterations == 20
    assert not first.converged
    assert first.verify(graph)


def test_offsets_of_64_bits():
    narrow = SMALL["undirected"]
    rows = Rows(narrow.offsets.astype(np.int64), narrow.targets, narrow.weights)
    wide = ew.Graph(rows, Ids(narrow.num_vertices), False, narrow.num_edges)
    assert wide.in_offsets.dtype == np.int64
    for weighted in (False, True):
        first, second = pagerank(narrow, weighted=weighted), pagerank(wide, weighted=weighted)
        assert first.rank.tobytes() == second.rank.tobytes()


@settings(max_examples=60, deadline=None, derandomize=True)
@given(
    n=st.integers(1, 30),
    share=st.floats(0, 4),
    seed=st.integers(0, 2**32),
    damping=st.floats(0, 0.95),
    directed=st.booleans(),
    weighted=st.booleans(),
    personal=st.booleans(),
)
@example(BLOCK + 76, 2.5, 1, 0.85, True, True, True)
@example(2 * BLOCK + 9, 1.5, 2, 0.9, False, False, False)
def test_drawn_graphs(n, share, seed, damping, directed, weighted, personal):
    rng = np.random.default_rng(seed)
    edges, weights = (
        rng.integers(0, n, (2, int(n * share))),
        rng.integers(0, 4, int(n * share)).astype(np.float64),
    )
    graph = ew.Graph.from_edges(*edges, weights, directed=directed, num_vertices=n)
    jump = rng.integers(0, 3, n) + (np.arange(n) == 0) if personal else None
    result = pagerank(
        graph, damping=damping, tol=1e-16, max_iterations=1000, weighted=weighted, personalization=jump
    )
    exact = by_matrix(graph, damping, jump, graph.weights if weighted else None)
    np.testing.assert_allclose(result.rank, exact, rtol=1e-9, atol=1e-12)
    assert result.verify(graph)


def test_conventions():
    graph = ew.Graph.from_edges(["a", "b", "c", "d"], ["b", "c", "a", "a"])
    assert pagerank(graph, max_iterations=0, personalization={"a": 1}).rank.tolist() == [0.25] * 4
    loose = pagerank(graph, tol=1e-2)
    assert loose.converged
    assert loose.iterations < pagerank(graph, tol=1e-9).iterations
    assert loose.residual <= 1e-2 < pagerank(graph, tol=0, max_iterations=loose.iterations - 1).residual
    from_exact = pagerank(graph, tol=1e-9, start=pagerank(graph, tol=0, max_iterations=500).rank)
    assert from_exact.iterations == 1
    by_name = pagerank(graph, tol=1e-15, max_iterations=500, personalization={"d": 2, "a": 6})
    np.testing.assert_allclose(by_name.rank, by_matrix(graph, jump=[6, 0, 0, 2]), rtol=1e-9)
    empty = pagerank(ew.Graph.from_edges([], [], num_vertices=0))
    assert (empty.rank.shape, empty.iterations, empty.converged) == ((0,), 0, True)
    single = pagerank(graph, dtype=np.float32)
    assert single.rank.dtype == np.float32
    assert single.verify(graph)
    np.testing.assert_allclose(single.rank, by_matrix(graph), rtol=1e-5)


@pytest.mark.parametrize(("dtype", "tolerance"), [(np.float64, 1e-8), (np.float32, 1e-6)])
def test_default_ranks_are_right_whatever_the_number_of_vertices(dtype, tolerance):
    core = ew.generate.rmat(10, 8, seed=3)
    graph = ew.Graph.from_edges(core.sources, core.targets, num_vertices=1 << 20)
    result = pagerank(graph, dtype=dtype)
    exact = pagerank(graph, tol=0, max_iterations=300)
    assert result.converged and result.iterations > 5 and result.tol == tolerance
    assert result.residual <= tolerance
    error = np.abs(result.rank.astype(float) - exact.rank).sum()
    assert error <= 0.85 / 0.15 * tolerance + 4 * np.finfo(dtype).eps / 0.15


def with_extreme_weights():
    """Arcs out of four vertices, into one that has none, and the same walk by moderate weights."""
    source = np.array([0, 0, 1, 1, 1, 2, 2, 3, 3])
    target = np.array([1, 2, 0, 2, 4, 3, 4, 0, 1])
    given = np.array([1e308, 1.5e308, 1e-310, 3e-310, 2e-310, 5e-324, 5e-324, 1e300, 1e-300])
    moderate = np.array([2, 3, 1, 3, 2, 1, 1, 1, 0])
    return source, target, given, moderate


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_weights_of_any_size(dtype):
    source, target, given, moderate = with_extreme_weights()
    names = np.array(list("abcde"))
    graph = ew.Graph.from_edges(names[source], names[target], given)
    plain = ew.Graph.from_edges(names[source], names[target], moderate)
    result = pagerank(graph, weighted=True, dtype=dtype)
    assert result.verify(graph) and result.verify(plain)
    exact = by_matrix(plain, weights=plain.weights)
    np.testing.assert_allclose(result.rank, exact, rtol=1e-7 if dtype == np.float64 else 1e-5)
    result.rank = pagerank(graph, dtype=dtype).rank
    with pytest.raises(VerificationError, match=r"vertex '[a-e]' has the rank"):
        result.verify(graph)


def test_weights_of_any_size_in_undirected_graphs():
    graph = ew.Graph.from_edges([0, 1, 2], [1, 2, 3], [1e308, 1e308, 5e-324], directed=False)
    result = pagerank(graph, weighted=True, tol=1e-12)
    assert result.verify(graph)
    moderate = np.array([1.0, 1.0, 1.0, 1.0, 0.0, 1.0])  # arcs 0-1, 1-0, 1-2, 2-1, 2-3, 3-2
    np.testing.assert_allclose(result.rank, by_matrix(graph, weights=moderate), rtol=1e-9)


def test_distributions_of_any_size():
    graph = ew.Graph.from_edges([0, 1, 2], [1, 2, 0])
    for name in ("personalization", "start"):
        expected = pagerank(graph, max_iterations=2, **{name: {0: 1, 1: 2}})
        for values in (
            {0: 0.7e308, 1: 1.4e308},
            np.array([0.7e308, 1.4e308, 0.0]),
            {0: 5e-324, 1: 1e-323},
            {0: 10**30, 1: 2 * 10**30, 2: np.int64(0)},
            {0: 10**300, 1: 2 * 10**300, 2: False},
        ):
            result = pagerank(graph, max_iterations=2, **{name: values})
            np.testing.assert_allclose(result.rank, expected.rank, rtol=1e-14)
            assert result.verify(graph)
        with pytest.raises(ParameterError, match=f"{name} has a value beyond float64; scale its values down"):
            pagerank(graph, **{name: {0: 10**400}})


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_the_default_iterations_are_enough(dtype):
    """Ranks on a lattice fall by the damping each time; on rings from one vertex nothing mixes."""
    ring = np.arange(1000)
    for graph, start in (
        (ew.generate.lattice(300, 300, directed=False), None),
        (ew.Graph.from_edges(ring, np.roll(ring, 1)), {0: 1.0}),
    ):
        result = pagerank(graph, start=start, dtype=dtype)
        assert result.converged and 40 < result.iterations < 120


def test_no_tolerance_runs_all_iterations_though_nothing_changes():
    ring = np.arange(8)
    result = pagerank(ew.Graph.from_edges(ring, np.roll(ring, 1)), tol=0, max_iterations=20, damping=0.5)
    assert (result.iterations, result.residual, result.converged) == (20, 0.0, True)


def test_ranks_of_no_iteration_are_the_start():
    graph = ew.generate.rmat(8, 8, seed=1)
    for start in (None, np.arange(graph.num_vertices)):
        result = pagerank(graph, max_iterations=0, start=start)
        assert result.verify(graph)
        result.rank[[17, 18]] += (-1e-6, 1e-6)
        with pytest.raises(VerificationError, match=r"vertex 1[78] has the rank .* 0 iterations"):
            result.verify(graph)
    result = pagerank(graph, max_iterations=1)
    result._begin = pagerank(graph, max_iterations=3).rank
    with pytest.raises(VerificationError, match="1 iterations from the start, repeated"):
        result.verify(graph)


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"damping": 1.1}, "damping is 1.1"),
        ({"damping": float("nan")}, "damping is nan"),
        ({"tol": -1e-6}, "tol is -1e-06"),
        ({"tol": float("inf")}, "tol is inf"),
        ({"tol": 10**400}, "tol is an integer of [0-9,]+ bits; expected a number of at least 0"),
        ({"tol": True}, "tol is True"),
        ({"damping": True}, "damping is True; expected a number from 0 to 1"),
        ({"damping": 10**400}, "damping is an integer of [0-9,]+ bits; expected"),
        ({"damping": np.complex128(0.5)}, "damping is .*0.5.*; expected"),
        ({"max_iterations": -1}, "max_iterations is -1"),
        ({"max_iterations": -(10**30)}, "max_iterations is -10+; expected"),
        ({"max_iterations": np.bool_(True)}, "max_iterations is .*True.*; expected an integer"),
        ({"max_iterations": 3.0}, "max_iterations is 3.0; expected an integer"),
        ({"dtype": np.int32}, "dtype is int32"),
        ({"personalization": {0: 0.0}}, "personalization sums to 0"),
        ({"personalization": np.array([1.0, -1.0, 1.0])}, "negative, NaN or infinite"),
        ({"personalization": np.array([1.0, np.nan, 1.0])}, "negative, NaN or infinite"),
        ({"start": np.ones(4)}, r"shape \(4,\); expected numbers of shape \(3,\)"),
    ],
)
def test_parameters_are_checked(options, problem):
    with pytest.raises(ParameterError, match=problem):
        pagerank(ew.Graph.from_edges([0, 1], [1, 2]), **options)


def test_numbers_of_numpy_and_huge_ones_are_numbers():
    graph = ew.generate.rmat(8, 8, seed=1)
    expected = pagerank(graph, damping=0.5, tol=1e-9)
    for options in (
        {"damping": np.float64(0.5), "tol": np.float64(1e-9), "max_iterations": np.int32(200)},
        {"damping": np.float32(0.5), "tol": 1e-9, "max_iterations": 10**30},
        {"damping": Fraction(1, 2), "tol": 1e-9, "max_iterations": np.uint64(2**64 - 1)},
    ):
        result = pagerank(graph, **options)
        assert result.rank.tobytes() == expected.rank.tobytes() and type(result.damping) is float
        assert result.verify(graph)
    assert pagerank(graph, tol=10**30).iterations == 1


def test_graphs_are_checked():
    with pytest.raises(GraphError, match="has no weights"):
        pagerank(ew.Graph.from_edges([0], [1]), weighted=True)
    with pytest.raises(GraphError, match=r"the weight -2\.0 is negative"):
        pagerank(ew.Graph.from_edges([0], [1], np.array([-2.0])), weighted=True)
    with pytest.raises(GraphError, match="7"):
        pagerank(ew.Graph.from_edges([0], [1]), personalization={7: 1.0})
    with pytest.raises(ScheduleError, match="Pull"):
        pagerank(ew.Graph.from_edges([0], [1]), schedule=ew.Schedule(delivery=ew.Push()))


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"personalization": {0: "x"}}, "personalization has the values \\['x'\\]; expected numbers"),
        ({"dtype": "foo"}, "dtype is 'foo'; expected float64 or float32"),
    ],
)
def test_values_of_the_wrong_kind_are_refused(options, expected):
    with pytest.raises(ParameterError, match=expected):
        pagerank(ew.Graph.from_edges([0, 1], [1, 2]), **options)


ENDLESS = """
import numpy as np
import edgewise as ew
graph = ew.Graph.from_edges(np.arange(300), (np.arange(300) + 1) % 300)
ew.pagerank(graph, max_iterations=1, device="cpu")  # compiled before
print("begun", flush=True)
ew.pagerank(graph, tol=0, max_iterations=10**10, device="cpu")
"""


def test_ctrl_c_ends_many_iterations_of_little_work():
    with subprocess.Popen(
        [sys.executable, "-c", ENDLESS], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout.readline() == "begun\n"
        time.sleep(0.5)
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=20)
    assert errors.rstrip().endswith("KeyboardInterrupt")


def test_weights_near_the_largest_float_need_no_warning():
    graph = ew.Graph.from_edges([0, 1, 2], [1, 2, 0], [1e308, 1e308, 1e-310], directed=False)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert ew.pagerank(graph, weighted=True).verify(graph)


@pytest.mark.parametrize("option", ["personalization", "start"])
def test_lists_of_different_lengths_are_refused(option):
    with pytest.raises(ParameterError, match=f"{option} is .*expected numbers in one dimension"):
        ew.pagerank(ew.generate.path(5), **{option: [[0], [1, 2]]})


def test_ranks_survive_pickling():
    graph = ew.generate.path(5)
    copy = pickle.loads(pickle.dumps(ew.pagerank(graph)))
    assert copy.verify(copy.graph)
