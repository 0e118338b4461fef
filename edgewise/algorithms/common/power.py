"""Centralities by power iteration: what they have in common. See `eigenvector`, `katz` and `hits`.

A call is a `Power`, which says what an iteration does. `iterate_on_cpu` carries it out by `power_iterations`, programs
on a GPU do the same, and `repeat` does so by SciPy.
"""

from functools import partial
from typing import Any

import numpy as np

from edgewise.algorithms.common.derived import check_numbers, vertex_shown
from edgewise.algorithms.common.dispatch import Form, begin, no_memory
from edgewise.algorithms.common.distribution import VertexNumbers, distributing
from edgewise.algorithms.common.gather import BLOCK
from edgewise.algorithms.common.lengths import weight_range
from edgewise.algorithms.common.needs import needed_bytes
from edgewise.algorithms.common.numbers import as_float, as_steps
from edgewise.algorithms.common.power_iterations import (
    AS_THEY_ARE,
    DONE,
    UNIT_LENGTH,
    gather,
    iterate,
)
from edgewise.algorithms.common.power_state import Iterated, Power, iterated_to, power_work, values_for
from edgewise.algorithms.common.weighted import uses_weights
from edgewise.errors import GraphError, VerificationError
from edgewise.execution import Execution, Progress
from edgewise.graph import Arrays, Graph, Made, check_graph
from edgewise.memory import held, in_turn
from edgewise.schedule import Buffered, Pull, Schedule
from edgewise.text import shown
from edgewise.vertex_result import VertexResult

#: The iterations that are expected, each with this many barriers.
_LIKELY_ITERATIONS, _BARRIERS = 30, 4
#: The relative difference of values that are repeated by SciPy, all of whose summands are at least 0; the change may be
#: off by this share of the values beside it. Values below the other number count as equal.
TOLERANCE, NOTHING = 1e-8, 1e-290
#: Sums of weights may be from 1 / _EXTREME to _EXTREME.
_EXTREME = 2.0**500


class PowerResult(VertexResult):
    """Values by power iteration.

    Attributes:
        iterations: the number of iterations that were run.
        converged: whether the last one changed the values by less than asked for.
        residual: the sum of absolute changes of the last iteration, before values are normalised for the result.
        tol: the tolerance that was asked for.
        weighted: whether weights counted.
    """

    def __init__(
        self, power: Power, tol: float, run: Execution, iterated: Iterated, arrays: dict[str, Any]
    ) -> None:
        super().__init__(power.graph, run, iterated.iterations, arrays)
        self.iterations, self.residual, self.tol = iterated.iterations, iterated.residual, tol
        self.converged = _has_converged(power, self.iterations, self.residual)
        self.weighted, self._power, self._asked = power.weighted, power, tol

    def summary(self) -> dict[str, Any]:
        """The number of ``iterations``, and whether values ``converged``."""
        return {"iterations": int(self.iterations), "converged": bool(self.converged)}

    @property
    def _passes(self) -> int:
        return int(self.iterations) * (2 if self._power.back else 1)

    def _repeated(self, graph: Graph) -> tuple[np.ndarray, np.ndarray]:
        """Check the numbers of the result; the values and what comes back from them, by SciPy.

        Raises:
            VerificationError: a number that does not fit the others, or the iterations when they are repeated.
        """
        check_graph(f"{type(self).__name__}.verify", graph)
        power = self._power._replace(graph=graph)
        check_numbers(self, tol=self._asked)
        return repeat(power, self.iterations, self.residual, self.converged)


def _has_converged(power: Power, iterations: int, residual: float) -> bool:
    return power.graph.num_vertices == 0 or (iterations > 0 and residual < power.enough)


def checked_power(
    name: str, graph: Graph, weighted: Any, tol: Any, max_iterations: Any
) -> tuple[bool, float, int]:
    """Whether weights count, the tolerance, and the most iterations.

    Raises:
        ParameterError: one of them is none.
        GraphError: weights that are missing or negative, or so large or small that squares of sums leave float64.
    """
    weighted = uses_weights(name, graph, weighted, by_itself=False)
    if weighted:
        least, heaviest = weight_range(graph)
        if least < 0:
            raise GraphError(f"{name}: the weight {least} is negative; expected weights of at least 0")
        if heaviest != 0 and not 1 / _EXTREME <= heaviest <= _EXTREME / max(graph.num_arcs, 1):
            raise GraphError(
                f"{name}: the largest weight is {heaviest}, so squares of sums may leave float64; scale the weights"
            )
    return (
        weighted,
        as_float(f"{name}: tol", tol, "a number of at least 0"),
        as_steps(f"{name}: max_iterations", max_iterations),
    )


def begin_power(
    name: str,
    graph: Graph,
    device: Any,
    schedule: Schedule | None,
    progress: Progress,
    memory_limit: float | str | None,
    *,
    program: str,
    limit: int,
    back: bool,
    given: tuple[VertexNumbers | None, ...],
    distributed: bool,
) -> Any:
    """A task that iterates: see `dispatch.begin`. Its form takes a `Power` and gives an `Iterated`.

    Args:
        name, graph, device, schedule, progress, memory_limit: see `dispatch.begin`.
        program: the name of the form for a GPU; that for the GPUs of ranks ends in "_on_ranks" beside it.
        limit: the most iterations.
        back: see `Power`.
        given: numbers of vertices that are to be looked up.
        distributed: whether on all ranks.
    """
    n, m = graph.num_vertices, graph.num_arcs
    of_vertices = 8 * (n + 1) * (4 + 2 * back) + 16 * (n // BLOCK + 1)
    on_gpu, on_gpus_of_ranks = Form(program, no_memory, (Pull, Buffered)), f"{program}_on_ranks"

    def memory(schedule: Schedule, told: int = 0) -> int:
        made, used = graph.making(Made.IN_EDGES), held(of_vertices + told)
        return in_turn(distributing(graph, *given), made, used).most

    return begin(
        name,
        graph,
        device,
        schedule,
        progress,
        memory_limit,
        work=power_work(n, m, back) * min(limit, _LIKELY_ITERATIONS),
        rounds=_BARRIERS * _LIKELY_ITERATIONS,
        arrays=Arrays.IN_EDGES,
        cpu=Form(iterate_on_cpu, memory, (Pull,), in_order=True),
        cuda=on_gpu,
        program=on_gpu,
        ranks=Form(
            "common.power_ranks.iterate_on_ranks",
            partial(memory, told=needed_bytes((1 + back) * n, np.dtype(np.float64))),
            in_order=True,
            with_gpus=Form(on_gpus_of_ranks, no_memory),
        ),
        distributed=distributed,
    )


def iterate_on_cpu(power: Power, run: Execution) -> Iterated:
    """Carry the iterations out on the CPU."""
    graph, n = power.graph, power.graph.num_vertices
    if n == 0:
        return Iterated(np.empty(0), np.empty(0), 0, 0.0)
    arcs, out, state = values_for(power, run)
    back = out if power.back else out._replace(offsets=out.offsets[:0])
    how = power.kept, power.factor, power.scaled, power.enough, np.int64(power.limit)
    work = power_work(n, graph.num_arcs, power.back)
    likely, at_most = (work * min(power.limit, most) for most in (_LIKELY_ITERATIONS, power.limit))
    run.launch(
        iterate, arcs, back, state, *how, work=likely, rounds=_BARRIERS * _LIKELY_ITERATIONS, at_most=at_most
    )
    run.explain("pull: each vertex gathers over its in-edges")
    if power.back:
        last = state.values[int(state.counters[DONE]) & 1]
        run.launch(gather, out, last, state.beside[:n], 0, state.partial.shape[1], work=work)
    return iterated_to(state)


def repeat(power: Power, iterations: int, residual: float, converged: bool) -> tuple[np.ndarray, np.ndarray]:
    """Repeat iterations by SciPy's sparse products. Returns the values, and what comes back from them.

    Args:
        power: what is iterated.
        iterations, residual, converged: as the result has them; they have to fit.

    Raises:
        VerificationError: they do not.
    """
    from scipy.sparse import csr_array

    graph, n = power.graph, power.graph.num_vertices
    if len(power.start) != n:
        raise VerificationError(f"the result has {len(power.start):,} vertices; the graph has {n:,}")
    factors = np.ones(graph.num_arcs)
    if power.weighted and graph.weights is not None:
        factors = graph.weights.astype(np.float64)
    out = csr_array((factors, (graph.sources, graph.targets)), shape=(n, n))
    into = out.T.tocsr()
    if not 0 <= iterations <= power.limit or converged != _has_converged(power, iterations, residual):
        raise VerificationError(
            f"iterations is {iterations} and converged {converged}, with a residual of {shown(residual)}; expected at "
            f"most {power.limit} iterations, the last of which changes less than {power.enough}"
        )
    if n and not converged and iterations < power.limit:
        raise VerificationError(
            f"iterations is {iterations}; expected {power.limit}, for they did not converge"
        )
    values, change = power.start, 0.0
    for _ in range(iterations):
        new = (
            power.kept * values
            + power.factor * (into @ (out @ values if power.back else values))
            + power.added
        )
        if power.scaled != AS_THEY_ARE:
            length = np.sqrt(new @ new) if power.scaled == UNIT_LENGTH else new.sum()
            new /= length or 1.0
        values, change = new, float(np.abs(new - values).sum())
    if not abs(change - residual) <= TOLERANCE * (change + values.sum()):
        raise VerificationError(f"the residual is {residual}; the last iteration, repeated, changes {change}")
    return values, out @ values


def compare(graph: Graph, name: str, given: np.ndarray, expected: np.ndarray) -> None:
    """Refuse values that differ from those that were repeated by more than rounding.

    Raises:
        VerificationError: naming the first vertex that is wrong.
    """
    if given.shape != expected.shape:
        raise VerificationError(f"got {given.shape} values of {name}, expected {expected.shape}")
    right = np.isclose(given, expected, rtol=TOLERANCE, atol=NOTHING)
    if not right.all():
        v = int(np.argmin(right))
        raise VerificationError(
            f"{name} of vertex {vertex_shown(graph, v)} is {given[v]}; repeated, it is {expected[v]}"
        )


def divided(values: Any, length: Any) -> Any:
    """Values over a number, or as they are if that is 0."""
    return values / length if length > 0 else values
