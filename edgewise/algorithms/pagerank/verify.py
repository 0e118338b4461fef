"""A check of PageRank's ranks: all iterations, or the last ones, are repeated in float64 by NumPy's sums.

An iteration brings any two vectors closer by the factor ``damping``, in the sum of absolute differences. So if each
iteration rounds by at most e, ranks differ from those without rounding by ``e + damping * e + damping**2 * e + ...``,
at most e times the iterations and ``e / (1 - damping)``: see `_drift`. `_rounding` bounds e by the additions and
products that lead to a rank. All that is added up is positive, so an iteration takes bounds of the errors of single
ranks to such bounds, too.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from edgewise.algorithms.common.derived import vertex_shown
from edgewise.algorithms.common.gather import BLOCK
from edgewise.algorithms.pagerank.walk import Walk
from edgewise.errors import VerificationError

#: All iterations are repeated if they look at no more than this many vertices and arcs in all: some seconds.
WORK = 1 << 28
#: Roundings that lead to a rank, each by half of its dtype's eps: of a scale, of its product with a rank, of a sum, and
#: of the rank. On a GPU there are more eps, of additions in its dtype: those of most rows, and of arcs that a block
#: looks at together.
_ROUNDINGS, _GPU_ROUNDINGS, _GPU_ARCS = 4, 32, 8192
_EPS = float(np.finfo(np.float64).eps)
#: The most iterations that ranks from a file are taken to have had: with a damping of 1 they could drift ever further.
_LONGEST = 10_000


class Outcome(NamedTuple):
    """The outcome of a run that is verified.

    Attributes:
        rank: shape (n,).
        iterations, residual, converged, tol: as in `PageRankResult`.
        limit: the most iterations.
        begin: the ranks to begin with, float64, shape (n,), or None for uniform ones.
        shares: gives what the last iteration began with: each vertex's rank times its `Walk.scale`.
        on_gpu: whether ranks were found on a GPU, which rounds more often.
    """

    rank: np.ndarray
    iterations: int
    residual: float
    converged: bool
    tol: float
    limit: int
    begin: np.ndarray | None
    shares: Callable[[], np.ndarray]
    on_gpu: bool

    @property
    def precision(self) -> "Precision":
        """How ranks were rounded."""
        return Precision(self.rank.dtype, self.on_gpu)


class Precision(NamedTuple):
    """How ranks were rounded: their dtype, and whether they were, or may have been, found on a GPU."""

    kind: np.dtype
    on_gpu: bool

    @property
    def eps(self) -> float:
        """The distance of 1 and the next number."""
        return float(np.finfo(self.kind).eps)

    def share(self, arcs: float, additions: float) -> float:
        """The share by which a rank may differ from the same one by NumPy, if it is gathered over this number of arcs,
        in its dtype on a GPU, and is made by this number of additions in float64, where NumPy rounds as often."""
        if self.kind == np.float64:
            return self.eps * (_ROUNDINGS + additions)
        more = self.on_gpu * (_GPU_ROUNDINGS + arcs / _GPU_ARCS)
        return self.eps * (_ROUNDINGS / 2 + more) + _EPS * additions


def verify_outcome(walk: Walk, outcome: Outcome) -> bool:
    """Check ranks, and the numbers reported with them, in O(n + m) for each iteration that is repeated.

    All iterations are repeated from the start if that takes at most some seconds (`WORK`). Else the last one is
    repeated, from the shares that it began with, and one more is made. That finds any rank that is off by more than
    rounding, and a reported number of iterations after which ranks would have changed less.

    Raises:
        VerificationError: naming the vertex that is wrong, or what else is.
    """
    rank, n = outcome.rank, walk.graph.num_vertices
    _check_ranks(walk, rank)
    _check_end(outcome, n)
    if n == 0:
        return True
    if outcome.iterations:
        _repeat_last(walk, outcome)
    if outcome.iterations * (n + walk.graph.num_arcs) <= WORK:
        _repeat_all(walk, outcome)
        return True
    _check_fall(walk, outcome)
    return verify_converged(walk, rank, outcome.residual, outcome.on_gpu, outcome.iterations)


def verify_converged(
    walk: Walk, rank: np.ndarray, residual: float, on_gpu: bool = True, iterations: int = _LONGEST
) -> bool:
    """Check ranks of which only the change of the last iteration is known, by their sum and by one more iteration.

    Args:
        walk: what they are ranks of.
        rank: shape (n,).
        residual: the change of the last iteration, or more.
        on_gpu: whether they may have been found on a GPU.
        iterations: how many there were, or more.

    Raises:
        VerificationError: naming the vertex that is wrong, or that would change most.
    """
    _check_ranks(walk, rank)
    if walk.graph.num_vertices == 0:
        return True
    exact, precision = rank.astype(np.float64), Precision(rank.dtype, on_gpu)
    drift = _drift(walk, precision, iterations)
    if not abs(exact.sum() - 1) <= drift:
        raise VerificationError(f"the ranks sum to {exact.sum()}; expected 1 within {drift:.1e}")
    after = next_ranks(walk, exact)
    change = np.abs(after - exact)
    allowed = walk.damping * residual + _rounding(walk, exact, precision) + _rounding(walk, after, precision)
    if not change.sum() <= allowed:
        v = int(np.argmax(change))
        raise VerificationError(
            f"one more iteration changes the ranks by {change.sum():.3e}, expected at most {allowed:.3e}; vertex "
            f"{vertex_shown(walk.graph, v)} by {change[v]:.3e}"
        )
    return True


def next_ranks(walk: Walk, rank: np.ndarray) -> np.ndarray:
    """One iteration in float64."""
    return _followed(walk, rank, 1 - walk.damping)


def _followed(walk: Walk, values: np.ndarray, jumps: float) -> np.ndarray:
    """Ranks, or bounds of their errors, after one step of the walk; `jumps` is what jumps add to their sum."""
    spread = jumps + walk.damping * values[walk.scale == 0].sum()
    return _mixed(walk, spread, _gathered(walk, values * walk.scale))


def _gathered(walk: Walk, shares: np.ndarray) -> np.ndarray:
    """The sum that each vertex gathers over its in-edges, if `shares` go along each arc (of weight 1)."""
    graph = walk.graph
    given = shares[graph.sources]
    if walk.weighted and graph.weights is not None:
        given = given * graph.weights
    return np.bincount(graph.targets, weights=given, minlength=graph.num_vertices)


def _mixed(walk: Walk, spread: float, gathered: np.ndarray) -> np.ndarray:
    """Ranks from the gathered sums and the rank that is handed out by the jump distribution."""
    return spread * _jump(walk) + walk.damping * gathered


def _jump(walk: Walk) -> Any:
    """The jump distribution; one number if it is uniform."""
    return 1 / walk.graph.num_vertices if walk.jump is None else walk.jump


def _rounding(walk: Walk, rank: np.ndarray, precision: Precision) -> float:
    """By how much the ranks that an iteration ends with may differ in sum from the same by NumPy, for rounding."""
    graph, n = walk.graph, walk.graph.num_vertices
    gathered = float(graph.in_degree @ rank)
    additions = gathered + BLOCK + n / BLOCK
    if walk.weighted:  # sums of weights, too, depend on the order
        additions += float(graph.out_degree @ rank)
    return precision.share(gathered, additions)


def _check_ranks(walk: Walk, rank: np.ndarray) -> None:
    """Refuse ranks of another shape, negative ranks and NaN."""
    n = walk.graph.num_vertices
    if rank.dtype.kind != "f":
        raise VerificationError(f"rank is an array of {rank.dtype}; expected floats")
    if rank.shape != (n,):
        raise VerificationError(f"got {rank.shape} ranks, expected one for each of {n} vertices")
    right = rank >= 0
    if not right.all():
        v = int(np.argmin(right))
        raise VerificationError(
            f"vertex {vertex_shown(walk.graph, v)} has the rank {rank[v]}; expected at least 0"
        )


def _check_end(outcome: Outcome, num_vertices: int) -> None:
    """Refuse a residual that is impossible, and `iterations` and `converged` that do not fit it."""
    iterations, residual, tol = outcome.iterations, outcome.residual, outcome.tol
    if not 0 <= residual < np.inf:
        raise VerificationError(f"the residual is {residual}; expected a finite number of at least 0")
    converged = num_vertices == 0 or (iterations > 0 and residual <= tol)
    if outcome.converged != converged:
        raise VerificationError(
            f"converged is {outcome.converged}; after {iterations} iterations the residual is {residual:.3e}, and tol "
            f"{tol:.3e}"
        )
    if not (converged or iterations == outcome.limit) or not 0 <= iterations <= outcome.limit:
        raise VerificationError(
            f"iterations is {iterations}; expected {outcome.limit}, or fewer where they converged"
        )


def _check_fall(walk: Walk, outcome: Outcome) -> None:
    """Refuse a residual that is larger than it can be after the outcome's number of iterations.

    Without rounding, the first iteration changes at most 2, and any other one at most the `damping` of what the one
    before changed. The ranks before and after the last one may have drifted, either way, and their change is rounded.
    """
    iterations, share = outcome.iterations, _share_of_rounding(walk, outcome.precision)
    fall = 2 * walk.damping ** (iterations - 1)
    most = (1 + share) * (fall + 2 * _drift(walk, outcome.precision, iterations))
    if outcome.residual > most:
        raise VerificationError(
            f"the residual is {outcome.residual:.3e}; after {iterations} iterations expected at most {most:.3e}"
        )


def _drift(walk: Walk, precision: Precision, iterations: int) -> float:
    """By how much ranks may differ in sum from those by NumPy after these iterations, whatever they were on the way."""
    drift = _share_of_rounding(walk, precision) / max(1 - walk.damping, 1 / max(iterations, 1))
    return drift * (1 + drift)  # rounding is a share of ranks that have drifted


def _repeat_all(walk: Walk, outcome: Outcome) -> None:
    """Repeat all iterations, and compare ranks and the last change. Rounding is summed up on the way."""
    n, precision = walk.graph.num_vertices, outcome.precision
    rank = np.full(n, 1 / n) if outcome.begin is None else outcome.begin
    before, earlier, rounding = rank, 0.0, precision.eps
    share, least = _share_of_rounding(walk, precision), _least(walk, precision)
    each = share * rank + least
    for _ in range(outcome.iterations):
        before, rank = rank, next_ranks(walk, rank)
        passed = _followed(walk, each, 0.0)
        each = passed + share * (rank + passed) + least
        earlier, rounding = rounding, walk.damping * rounding
        rounding += _rounding(walk, rank, precision) * (1 + rounding)
    what = f"{outcome.iterations} iterations from the start, repeated, give"
    _compare(walk, outcome.rank, rank, rounding, each, what)
    change = np.abs(rank - before).sum()
    if not abs(change - outcome.residual) <= rounding + earlier:
        raise VerificationError(
            f"the residual is {outcome.residual}; the last iteration, repeated, changes {change}"
        )


def _repeat_last(walk: Walk, outcome: Outcome) -> None:
    """Repeat the last iteration.

    The ranks that vertices without out-arcs began it with are not known. So what they handed out is taken from the sum
    of ranks, and the residual is compared with the changes of the other vertices.
    """
    exact, shares = outcome.rank.astype(np.float64), outcome.shares().astype(np.float64)
    precision, gathered, gives = outcome.precision, _gathered(walk, shares), walk.scale > 0
    rounding = _rounding(walk, exact, precision)
    again = _mixed(walk, exact.sum() - walk.damping * gathered.sum(), gathered)
    each = 2 * _share_of_rounding(walk, precision) * again + rounding * _jump(walk) + _least(walk, precision)
    _compare(walk, outcome.rank, again, rounding, each, "the last iteration, repeated, gives")
    change = np.abs(exact[gives] - shares[gives] / walk.scale[gives]).sum()
    # Shares are products of two rounded numbers.
    near = 2 * rounding if outcome.on_gpu else 2 * precision.eps + rounding * (precision.kind == np.float64)
    if change > outcome.residual + near or (gives.all() and change < outcome.residual - near):
        raise VerificationError(
            f"the residual is {outcome.residual}; the last iteration changed {change} of vertices with out-arcs"
        )


def _share_of_rounding(walk: Walk, precision: Precision) -> float:
    """By what share of it any rank may differ after an iteration from the same by NumPy, for rounding."""
    graph, n = walk.graph, walk.graph.num_vertices
    most = int(graph.in_degree.max())
    additions = most + BLOCK + n / BLOCK + (int(graph.out_degree.max()) if walk.weighted else 0)
    return precision.share(most, additions)


def _least(walk: Walk, precision: Precision) -> np.ndarray:
    """By how much a rank may differ after an iteration however small it is, for denormal numbers: itself, and a share
    along each arc, times the weight."""
    tiny = float(np.finfo(precision.kind).tiny)
    least = tiny * (1 + walk.graph.in_degree)
    if walk.weighted:
        least += _gathered(walk, np.full(walk.graph.num_vertices, tiny * precision.eps))
    return least


def _compare(
    walk: Walk, rank: np.ndarray, again: np.ndarray, rounding: float, each: np.ndarray, what: str
) -> None:
    """Refuse ranks that differ from others by more than rounding, in sum or each by itself."""
    difference = np.abs(again - rank)
    shares = difference / each
    one_is_wrong = bool((shares > 1).any())
    if one_is_wrong or not difference.sum() <= rounding:
        v = int(np.argmax(shares if one_is_wrong else difference))
        raise VerificationError(
            f"vertex {vertex_shown(walk.graph, v)} has the rank {rank[v]}; {what} {again[v]}"
        )
