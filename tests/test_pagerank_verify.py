"""PageRank: planted errors are found, and right ranks pass."""

import numpy as np
import pytest

import edgewise as ew
from edgewise.algorithms.pagerank import pagerank
from edgewise.algorithms.pagerank import verify as pagerank_verify
from edgewise.algorithms.pagerank.verify import verify_converged
from edgewise.errors import VerificationError


@pytest.fixture(params=["all", "last"])
def repeated(request, monkeypatch):
    """Which iterations a verification repeats."""
    if request.param == "last":
        monkeypatch.setattr(pagerank_verify, "WORK", 0)
    return request.param


def test_planted_errors_are_rejected(repeated):
    graph = ew.generate.rmat(8, 8, seed=1)
    result = pagerank(graph, tol=1e-14, max_iterations=500)
    assert result.verify(graph)
    right = result.rank.copy()
    result.rank[17] += 1e-6
    with pytest.raises(VerificationError, match="repeated, give"):
        result.verify(graph)
    with pytest.raises(VerificationError, match="the ranks sum to"):
        verify_converged(result._walk, result.rank, result.residual)
    result.rank[18] -= 1e-6
    with pytest.raises(VerificationError, match=r"vertex 1[78] has the rank"):
        result.verify(graph)
    with pytest.raises(VerificationError, match=r"vertex 1[78] by"):
        verify_converged(result._walk, result.rank, result.residual)
    result.rank = np.roll(right, 1)
    with pytest.raises(VerificationError, match="repeated, give"):
        result.verify(graph)
    result.rank = right - 2 * right * (np.arange(len(right)) == 3)
    with pytest.raises(VerificationError, match="vertex 3 has the rank"):
        result.verify(graph)
    result.rank = np.where(np.arange(len(right)) == 3, np.nan, right)
    with pytest.raises(VerificationError, match="vertex 3 has the rank nan"):
        result.verify(graph)
    result.rank = right[:-1]
    with pytest.raises(VerificationError, match="expected one for each"):
        result.verify(graph)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_what_is_wrong_is_said_in_plain_numbers(dtype, repeated):
    graph = ew.generate.rmat(8, 8, seed=1)
    result = pagerank(graph, dtype=dtype, max_iterations=3)
    right, result.residual = result.residual, np.float64(1e-5)
    with pytest.raises(
        VerificationError, match=r"the residual is 1e-05; the last iteration.* change[sd] 0\.\d+"
    ):
        result.verify(graph)
    result.residual, result.rank[17] = right, 0.5
    with pytest.raises(VerificationError, match=r"vertex 17 has the rank 0\.5; .* give?s? 0\.\d+$"):
        result.verify(graph)
    with pytest.raises(VerificationError, match=r"the ranks sum to 1\.\d+; expected 1"):
        verify_converged(result._walk, result.rank, 1e-3)


@pytest.mark.parametrize(
    "options", [{}, {"tol": 1e-3}, {"max_iterations": 1}, {"weighted": True}, {"damping": 0.5}]
)
def test_a_rank_off_by_a_millionth_is_rejected_long_before_convergence(options, repeated):
    graph = ew.generate.rmat(12, 8, seed=1, weights=(1, 9))
    result = pagerank(graph, **options)
    assert result.verify(graph)
    result.rank[17] += 1e-6
    result.rank[18] -= 1e-6
    with pytest.raises(VerificationError, match=r"vertex 1[78] has the rank"):
        result.verify(graph)


def stars():
    """Graphs whose sums have many terms: arcs to one vertex, or both ways, and back from it to some."""
    leaves = np.arange(1, 10_001)
    yield ew.Graph.from_edges(np.zeros(999, int), leaves[:999], directed=False)
    yield ew.Graph.from_edges(leaves, np.zeros(10_000, int))
    yield ew.Graph.from_edges([*leaves, *[0] * 7], [0] * 10_000 + [*leaves[::1500]])


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("damping", [0.0, 0.85, 0.999, 1.0])
def test_right_ranks_of_long_sums_pass(damping, dtype, repeated):
    for graph in (*stars(), ew.generate.rmat(12, 8, seed=1)):
        for iterations in (1, 2, 200):
            result = pagerank(graph, damping=damping, dtype=dtype, max_iterations=iterations)
            assert result.verify(graph)
        if dtype == np.float64 and damping > 0:
            result.rank[[0, 1]] += (-1e-9, 1e-9)
            with pytest.raises(VerificationError):
                result.verify(graph)


@pytest.mark.parametrize(
    ("num_vertices", "options"),
    [
        (195, {"tol": 0}),
        (216, {"damping": 0.9}),
        (20, {"damping": 0.9, "tol": 0}),
        (20, {"damping": 0.95, "max_iterations": 400}),
        (20, {"damping": 0.99, "max_iterations": 2000}),
    ],
    ids=str,
)
def test_right_ranks_pass_though_rounding_adds_up_in_float32(num_vertices, options, repeated):
    """On stars, each iteration passes on what the ones before rounded, with changing signs."""
    graph = ew.generate.star(num_vertices, directed=False)
    result = pagerank(graph, dtype=np.float32, **options)
    assert result.verify(graph)
    most = 2 * np.finfo(np.float32).eps / (1 - result.damping)
    right, result.residual = result.residual, 2.5 * most
    with pytest.raises(VerificationError, match="the residual is"):
        result.verify(graph)
    result.residual = right
    result.rank[0] *= np.float32(1.001)
    with pytest.raises(VerificationError, match="vertex 0 has the rank"):
        result.verify(graph)


def test_right_ranks_pass_though_everything_moves_each_time(repeated):
    leaves = np.arange(1, 1000)
    weights = np.random.default_rng(1).random(999)
    graph = ew.Graph.from_edges(np.zeros(999, int), leaves, weights, directed=False)
    for dtype in (np.float64, np.float32):
        for iterations in (1001, 1002):
            result = pagerank(
                graph, damping=1, start={0: 1}, weighted=True, dtype=dtype, max_iterations=iterations
            )
            assert result.residual > 1.999 and result.verify(graph)
    result.residual += 1e-3
    with pytest.raises(VerificationError, match="the residual is"):
        result.verify(graph)


@pytest.mark.parametrize("jump", [1e-22, 1e-27])
def test_shares_below_normal_numbers_pass_though_weights_make_them_large(jump, repeated):
    graph = ew.Graph.from_edges([0, 2], [1, 2], [2.0**60, 1.0])
    result = pagerank(graph, weighted=True, dtype=np.float32, personalization={0: jump, 2: 1})
    assert result.verify(graph)
    result.rank[1] = 1e-20
    with pytest.raises(VerificationError, match="vertex 1 has the rank"):
        result.verify(graph)


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"residual": np.nan}, "the residual is nan; expected a finite number"),
        ({"residual": np.inf}, "the residual is inf; expected a finite number"),
        ({"residual": 1e9}, "the residual is "),
        ({"residual": 1e-3}, "the residual is "),
        ({"residual": 0.0}, "converged is False; after 3 iterations"),
        ({"residual": 0.0, "converged": True}, "the residual is 0.0; the last iteration"),
        ({"converged": True}, "converged is True; after 3 iterations the residual is"),
        ({"iterations": 50}, "iterations is 50; expected 3"),
        ({"iterations": 50, "_limit": 50}, "repeated, give|the residual is"),
        ({"iterations": 2}, "iterations is 2; expected 3"),
        ({"iterations": 0, "_limit": 0}, "0 iterations from the start, repeated, give"),
        ({"_limit": 2}, "iterations is 3; expected 2"),
        ({"damping": 0.5}, "repeated, give"),
    ],
)
def test_what_is_said_of_the_iterations_is_checked(changes, problem, repeated):
    ring = np.arange(100)
    graph = ew.Graph.from_edges(ring, ring // 2)  # every vertex has an out-arc
    result = pagerank(graph, max_iterations=3)
    assert result.verify(graph) and not result.converged
    for name, value in changes.items():
        setattr(result, name, value)
    with pytest.raises(VerificationError, match=problem):
        result.verify(graph)


@pytest.mark.parametrize("damping", [0.85, 0.999])
@pytest.mark.parametrize("work", [pagerank_verify.WORK, 0], ids=["all repeated", "the last repeated"])
def test_one_small_rank_that_is_wrong_is_found_in_float32(damping, work, monkeypatch):
    monkeypatch.setattr(pagerank_verify, "WORK", work)
    graph = ew.generate.rmat(14, 8, seed=1)
    result = pagerank(graph, damping=damping, dtype=np.float32, tol=0, max_iterations=60)
    assert result.verify(graph)
    lowest = int(np.argmin(result.rank))
    for wrong in (0.0, 1.5 * result.rank[lowest]):
        changed = result.rank.copy()
        changed[lowest] = wrong
        right, result.rank = result.rank, changed
        with pytest.raises(VerificationError, match=f"vertex {lowest} has the rank"):
            result.verify(graph)
        result.rank = right


@pytest.mark.parametrize("seed", range(8))
def test_in_float32_one_rank_that_is_off_by_a_hundred_thousandth_is_found(seed):
    random = np.random.default_rng(seed)
    graph = ew.Graph.from_edges(*random.integers(0, 60, (2, 150)), num_vertices=60)
    result = ew.pagerank(graph, dtype=np.float32)
    assert result.verify(graph)
    result.rank[random.integers(60)] *= np.float32(1.00001)
    with pytest.raises(VerificationError):
        result.verify(graph)


def test_in_float32_relabelled_iterations_and_residuals_are_found_beyond_rounding():
    graph = ew.generate.rmat(16, seed=1)

    def is_refused(**changed):
        result = ew.pagerank(graph, dtype=np.float32)
        for name, value in changed.items():
            setattr(result, name, value)
        with pytest.raises(VerificationError):
            result.verify(graph)

    right = ew.pagerank(graph, dtype=np.float32)
    assert right.verify(graph)
    is_refused(iterations=right.iterations - 1)
    is_refused(iterations=200, residual=0.0)
    is_refused(residual=0.0)
