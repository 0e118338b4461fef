"""PageRank.

Result. The stationary distribution of a walk that follows an arc with probability ``damping`` and otherwise jumps.

Idea. Power iteration. Each vertex gathers what its in-neighbours give, in a fixed order, so nothing is written by two
threads. What a vertex gives along one arc is computed once, as soon as its rank is known, so the next iteration takes
one random read for each arc.

Encoding. ``share[v]`` is the rank of v over its out-degree (over the sum of its weights, if they are used). Vertices
without out-arcs give their rank to all by the jump distribution, as in NetworkX. Changes and dangling rank are summed
in blocks of fixed size, and the blocks in order, so the bits do not depend on the number of threads.

Reference. Page, Brin, Motwani and Winograd, "The PageRank citation ranking: bringing order to the Web", 1999; bounds
from Langville and Meyer, "Deeper inside PageRank", Internet Mathematics 1 (2004), section 4.

Steps. `cpu_iterate`: gather, apply, sum up, decide.
"""

import functools
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from edgewise.algorithms.common.derived import check_numbers
from edgewise.algorithms.common.dispatch import Form, begin, no_memory
from edgewise.algorithms.common.distribution import distribution
from edgewise.algorithms.common.lengths import weight_range
from edgewise.algorithms.common.names import WEIGHT, names_elsewhere
from edgewise.algorithms.common.needs import needed_bytes
from edgewise.algorithms.common.numbers import as_float, as_steps
from edgewise.algorithms.common.weighted import uses_weights
from edgewise.algorithms.pagerank.cpu import LIKELY_ITERATIONS, ROUNDS, rank, rank_memory, rank_work
from edgewise.algorithms.pagerank.memory import apart_bytes, apart_lists, in_place_bytes
from edgewise.algorithms.pagerank.verify import Outcome, verify_converged, verify_outcome
from edgewise.algorithms.pagerank.walk import Ranked, Walk
from edgewise.errors import GraphError, ParameterError
from edgewise.execution import Execution, Progress
from edgewise.graph import Arrays, Graph, check_graph
from edgewise.memory import as_bytes
from edgewise.result import Columns, HostArray, SavedColumns
from edgewise.schedule import Buffered, Pull, Schedule
from edgewise.text import shown
from edgewise.vertex_result import VertexResult


class PageRankResult(VertexResult):
    """Ranks that sum to 1.

    Attributes:
        rank: shape (n,), of the dtype asked for.
        iterations: the number of iterations that were run.
        converged: whether `residual` is at most `tol`.
        residual: the sum of absolute changes of the last iteration.
        tol: the tolerance that was asked for.
        damping: the probability of following an arc.
    """

    algorithm = "pagerank"
    _main = "rank"
    rank = HostArray()

    def __init__(
        self,
        graph: Graph,
        run: Execution,
        ranked: Ranked,
        walk: Walk,
        begin: np.ndarray | None,
        tol: float,
        limit: int,
    ) -> None:
        super().__init__(graph, run, ranked.iterations, {"rank": ranked.rank})
        self.iterations, self.residual, self.tol = ranked.iterations, ranked.residual, tol
        self.converged = graph.num_vertices == 0 or (self.iterations > 0 and self.residual <= tol)
        self.damping, self._walk = walk.damping, walk
        self._asked = tol
        self._begin, self._limit, self._shares, self._on_gpu = begin, limit, ranked.shares, run.on_gpu

    def __getstate__(self) -> dict[str, Any]:
        return {**super().__getstate__(), "_shares": functools.partial(np.copy, self._shares())}

    def columns(self) -> dict[str, np.ndarray]:
        """The column ``rank``."""
        return {"rank": self.rank}

    def summary(self) -> dict[str, Any]:
        """The number of ``iterations``, and whether ranks ``converged``."""
        return {"iterations": int(self.iterations), "converged": bool(self.converged)}

    @property
    def _passes(self) -> int:
        return int(self.iterations)

    def verify(self, graph: Graph) -> bool:
        """Check that these are the ranks: see `verify.verify_outcome`."""
        check_graph(f"{type(self).__name__}.verify", graph)
        check_numbers(self, tol=self._asked)
        own, shares = self._walk, self._shares
        same = graph is self.graph and self.damping == own.damping
        walk = own if same else Walk(graph, self.damping, own.jump, own.weighted)
        if not same and graph.num_vertices == self.graph.num_vertices:
            # The weights of each vertex count in proportion only, so another graph may have other scales.
            ratio = np.divide(walk.scale, own.scale, out=np.zeros_like(own.scale), where=own.scale > 0)
            shares = functools.partial(self._scaled_shares, ratio)
        outcome = Outcome(
            self.rank,
            self.iterations,
            self.residual,
            self.converged,
            self.tol,
            self._limit,
            self._begin,
            shares,
            self._on_gpu,
        )
        return verify_outcome(walk, outcome)

    def _scaled_shares(self, ratio: np.ndarray) -> np.ndarray:
        return self._shares() * ratio

    @classmethod
    def verify_columns(
        cls,
        graph: Graph,
        columns: Columns,
        *,
        damping: Any = 0.85,
        tol: Any = None,
        personalization: Any = None,
        weighted: Any = None,
        dtype: Any = np.float64,
        **given: Any,
    ) -> bool:
        """Check ranks that were written to a file and have converged: see `Result.verify_columns`."""
        saved = SavedColumns(graph, columns)
        weighted = uses_weights("pagerank", graph, weighted, by_itself=False)
        checked = check_parameters(graph, damping, tol, 0, weighted, dtype)
        jump = distribution(graph, "pagerank: personalization", personalization)
        walk = Walk(graph, checked.damping, jump, weighted)
        return verify_converged(walk, saved.numbers("rank", checked.kind), checked.enough)


@names_elsewhere(
    alpha="damping, the probability of following an arc",
    max_iter="max_iterations",
    nstart="start, the ranks to begin with",
    dangling="personalization, by which the rank of vertices without out-arcs is given away, too",
    **WEIGHT,
)
def pagerank(
    graph: Graph,
    *,
    damping: float = 0.85,
    tol: float | None = None,
    max_iterations: int = 200,
    personalization: Mapping[Any, float] | np.ndarray | None = None,
    start: Mapping[Any, float] | np.ndarray | None = None,
    weighted: bool | None = None,
    dtype: Any = np.float64,
    device: str = "auto",
    schedule: Schedule | None = None,
    progress: Progress = None,
    memory_limit: float | str | None = None,
    distributed: bool = False,
) -> PageRankResult:
    """Rank vertices by how often a random walk visits them. Each of several parallel arcs counts.

    Args:
        graph: directed, or undirected (each edge both ways).
        damping: probability of following an arc, 0 to 1.
        tol: end when the absolute changes of an iteration sum to at most this, whatever the number of vertices. Ranks
            are then within ``tol * damping / (1 - damping)`` of the exact ones, in sum. None means 1e-8 in float64 and
            1e-6 in float32, where rounding alone can change about 1e-7 forever; 0 runs all iterations.
        max_iterations: the most iterations. Not converging is not an error: see ``converged``. Iteration k changes at
            most ``2 * damping ** (k - 1)``: 119 are enough for 1e-8 with a damping of 0.85.
        personalization: where jumps, and the rank of vertices without out-arcs, go: {id: value} (others 0), or an
            array of shape (n,) in the order of ``graph.vertices``; not negative, not all 0; uniform if left out. The
            index of a pandas Series has to be 0..n-1 or these ids.
        start: the ranks to begin with, given like `personalization`; uniform if left out.
        weighted: True to follow arcs in proportion to the graph's weights, which must not be negative; False or None
            to follow each alike. NetworkX's ``pagerank`` uses weights if there are any.
        dtype: float64, or float32 for half the memory: each iteration rounds its ranks, so a rank has a relative error
            of about ``1e-7 / (1 - damping)`` at worst. Sums are float64 on the CPU and in a program, and of this dtype
            in the GPU's own kernel.
        device, schedule, progress, memory_limit: see `choose` and `admit` in `edgewise.execution`. There is no
            delivery but ``Pull()``. On a GPU, a schedule with a balance, a layout or a buffer makes it run as a
            program.
        distributed: run on all ranks that torchrun has started, each of which makes this call on the same graph, and
            gets the whole result: on CPUs the same as one process on a CPU, bit for bit. On GPUs (`device`) the result
            does not depend on the number of ranks, bit for bit, and is that of one GPU within rounding. There is
            nothing to choose but ``Schedule(num_threads=...)``, for CPUs.

    Returns:
        A `PageRankResult`. O(n + m) for each iteration.

    Raises:
        ParameterError: a parameter out of its range.
        GraphError: weights that are missing or negative, an id that is not in the graph.
        ScheduleError: a balance or a layout on the CPU, or ``EdgeBased()``, which adds up in any order; ``Push()``.
        DistributedError: `distributed`, and this process is no rank of several, or ranks differ in what they ask for.
    """
    check_graph("pagerank", graph)
    weighted = uses_weights("pagerank", graph, weighted, by_itself=False)
    kind, damping, enough, limit = check_parameters(graph, damping, tol, max_iterations, weighted, dtype)
    jumps, program = personalization is not None, Form("pagerank.program.rank", no_memory, (Pull, Buffered))
    in_place = Form(
        "pagerank.cuda.rank_in_place",
        lambda _: in_place_bytes(graph, kind.itemsize, jumps),
        (Pull,),
        Arrays.IN_EDGES,
        otherwise=program,
    )
    task = begin(
        "pagerank",
        graph,
        device,
        schedule,
        progress,
        memory_limit,
        work=rank_work(graph, min(limit, LIKELY_ITERATIONS)),
        rounds=ROUNDS,
        arrays=Arrays.IN_EDGES,
        cpu=Form(
            rank, lambda _: rank_memory(graph, kind, weighted, personalization, start), (Pull,), in_order=True
        ),
        cuda=Form(
            "pagerank.cuda.rank",
            lambda _: _gpu_memory(graph, kind, weighted, anew=memory_limit is not None),
            (Pull,),
            Arrays.rows(weighted),
            otherwise=Form(
                "pagerank.cuda.rank_apart",
                lambda _: _apart_memory(graph, kind, weighted, jumps),
                (Pull,),
                Arrays(0),
                apart_lists(graph.num_arcs, kind.itemsize, weighted),
                otherwise=program if weighted else in_place,
            ),
        ),
        program=program,
        ranks=_on_ranks(graph, kind, weighted, personalization, start, memory_limit),
        distributed=distributed,
    )
    jump = distribution(graph, "pagerank: personalization", personalization)
    begin_with = distribution(graph, "pagerank: start", start)
    walk = Walk(graph, damping, jump, weighted)
    ranked, run = task.find(walk, begin_with, kind, enough, limit, total=limit)
    return PageRankResult(graph, run, ranked, walk, begin_with, enough, limit)


def default_tolerance(kind: np.dtype) -> float:
    """The tolerance at which ranks of this dtype are right to the digits that users read."""
    return 1e-6 if kind == np.float32 else 1e-8


def _memory_on_ranks(graph: Graph, kind: np.dtype, weighted: bool, personalization: Any, start: Any) -> int:
    """The memory that a run takes on one of several ranks: that of one rank, and beside it what `needed_bytes` says."""
    needed = needed_bytes(graph.num_vertices, kind)
    return rank_memory(graph, kind, weighted, personalization, start) + needed


def _on_ranks(
    graph: Graph, kind: np.dtype, weighted: bool, personalization: Any, start: Any, memory_limit: Any
) -> Form:
    """The form for several ranks. With GPUs, all of them refuse if one has no room."""

    def memory(_: Schedule) -> int:
        return _memory_on_ranks(graph, kind, weighted, personalization, start)

    def memory_with_gpus(_: Schedule) -> int:
        from edgewise.algorithms.pagerank.gpu_rows import check_room_on_ranks
        from edgewise.engine.distributed.group import connect

        limit = as_bytes("pagerank: memory_limit", memory_limit)
        return check_room_on_ranks(graph, kind, weighted, connect(), limit)

    with_gpus = Form("pagerank.gpu_ranks.rank", memory_with_gpus, arrays=Arrays(0))
    return Form("pagerank.ranks.rank", memory, with_gpus=with_gpus)


def _gpu_memory(graph: Graph, kind: np.dtype, weighted: bool, anew: bool) -> int:
    """The GPU's memory that a run takes beside the graph's rows; `anew`: count what is kept from other runs, too."""
    from edgewise.algorithms.pagerank import cuda

    return cuda.running(graph, kind, weighted, anew).most


def _apart_memory(graph: Graph, kind: np.dtype, weighted: bool, jumps: bool) -> int:
    """The GPU's memory that a run takes whose layout need not lie there.

    Raises:
        MemoryLimitError: the host has no room to make the layout.
    """
    from edgewise.algorithms.pagerank import cuda

    cuda.check_room_apart(graph, weighted, kind)
    return apart_bytes(graph, kind.itemsize, jumps)


class Parameters(NamedTuple):
    """The checked parameters: the dtype of ranks, the damping, the tolerance, the most iterations."""

    kind: np.dtype
    damping: float
    enough: float
    limit: int


def check_parameters(
    graph: Graph, damping: Any, tol: Any, max_iterations: Any, weighted: bool, dtype: Any
) -> Parameters:
    """Refuse parameters out of their ranges, and negative weights."""
    try:
        kind = np.dtype(dtype)
    except Exception:  # NumPy shows the value, which may raise anything
        raise ParameterError(f"pagerank: dtype is {shown(dtype)}; expected float64 or float32") from None
    damping = as_float("pagerank: damping", damping, "a number from 0 to 1", most=1.0)
    enough = (
        default_tolerance(kind) if tol is None else as_float("pagerank: tol", tol, "a number of at least 0")
    )
    limit = as_steps("pagerank: max_iterations", max_iterations)
    if kind not in (np.dtype(np.float32), np.dtype(np.float64)):
        raise ParameterError(f"pagerank: dtype is {kind}; expected float64 or float32")
    if weighted and weight_range(graph)[0] < 0:
        raise GraphError(
            f"pagerank: the weight {weight_range(graph)[0]} is negative; expected weights of at least 0"
        )
    return Parameters(kind, damping, enough, limit)
