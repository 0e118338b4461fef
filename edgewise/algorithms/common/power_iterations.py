"""Power iteration on the CPU: gather over in-edges, scale, compare, decide.

As in `pagerank.cpu_iterate`, threads take blocks of vertices, and sums are made of blocks in their order, so values do
not depend on the number of threads.
"""

from typing import Any, NamedTuple

import numpy as np

from edgewise.algorithms.common.gather import BLOCK, gather_block
from edgewise.kernels.cache import device_function
from edgewise.kernels.cpu.team import barrier, claim, report, rewind, team_kernel

#: How the values of an iteration are scaled: not at all, so that their squares sum to 1, or so that they sum to 1.
AS_THEY_ARE, UNIT_LENGTH, UNIT_SUM = range(3)
#: Places of the counters: iterations done, and whether the last one changed little enough to end.
DONE, CONVERGED = 0, 1
#: Rows of `Values.partial` and places of `Values.sums`: of the lengths, and of the changes.
_LENGTHS, _CHANGES = 0, 1


class Values(NamedTuple):
    """The arrays that iterations change.

    Attributes:
        values: float64, shape (2, n + 1): before an iteration and after it, by turns; the last of each stays 0.
        beside: float64, shape (n + 1,), or (1,) without arcs back: what comes back along the arcs.
        added: float64, shape (n,), or (1,) if it is one number for all: added to what is gathered.
        partial: float64, shape (2, blocks): sums of each block.
        sums: float64, shape (2,): the sums over all blocks.
        counters: int64, shape (2,): zeros.
    """

    values: np.ndarray
    beside: np.ndarray
    added: np.ndarray
    partial: np.ndarray
    sums: np.ndarray
    counters: np.ndarray


@device_function
def _add_up(partial: Any, sums: Any, which: Any) -> None:
    """Add up the sums of blocks, in their order."""
    total = 0.0
    for block in range(partial.shape[1]):
        total += partial[which, block]
    sums[which] = total


@device_function
def _change_of_block(old: Any, new: Any, first: Any, last: Any) -> Any:
    """By how much the values of a block have changed, in sum."""
    change = 0.0
    for v in range(first, last):
        change += abs(new[v] - old[v])
    return change


@device_function
def _length_of_block(new: Any, scaled: Any, first: Any, last: Any) -> Any:
    """The sum of the values of a block, or of their squares."""
    length = 0.0
    if scaled == UNIT_LENGTH:
        for v in range(first, last):
            length += new[v] * new[v]
    else:
        for v in range(first, last):
            length += new[v]
    return length


@device_function
def _gather_all(control: Any, arcs: Any, values: Any, gathered: Any, n: Any) -> None:
    """Gather into the first n entries, by the blocks that this thread gets."""
    blocks = (n + BLOCK - 1) // BLOCK
    while True:
        block = claim(control, 0, 1, blocks)
        if block >= blocks:
            return
        first, last = np.uint64(block * BLOCK), np.uint64(min(n, (block + 1) * BLOCK))
        gather_block(arcs.offsets, arcs.targets, arcs.weights, values, first, last, gathered)


@device_function
def _gather_back(control: Any, size: Any, thread: Any, back: Any, old: Any, beside: Any) -> Any:
    """Gather over out-edges. True if the run was cancelled."""
    _gather_all(control, back, old, beside, len(beside) - 1)
    if barrier(control, size):
        return True
    if thread == 0:
        rewind(control, 0)
    return barrier(control, size)


@device_function
def _scale(control: Any, size: Any, thread: Any, scaled: Any, old: Any, new: Any, state: Any) -> Any:
    """Scale the new values, and sum up by how much they differ from the old ones. True if the run was cancelled."""
    n, blocks = len(new) - 1, state.partial.shape[1]
    if thread == 0:
        _add_up(state.partial, state.sums, _LENGTHS)
        rewind(control, 0)
    if barrier(control, size):
        return True
    length = state.sums[_LENGTHS]
    if scaled == UNIT_LENGTH:
        length = np.sqrt(length)
    if length == 0.0:
        length = 1.0
    while True:
        block = claim(control, 0, 1, blocks)
        if block >= blocks:
            break
        first, last = np.uint64(block * BLOCK), np.uint64(min(n, (block + 1) * BLOCK))
        for v in range(first, last):
            new[v] /= length
        state.partial[_CHANGES, block] = _change_of_block(old, new, first, last)
    return barrier(control, size)


@team_kernel
def iterate(
    thread: Any,
    size: Any,
    control: Any,
    arcs: Any,
    back: Any,
    state: Any,
    kept: Any,
    factor: Any,
    scaled: Any,
    enough: Any,
    limit: Any,
) -> None:
    """Iterate at most `limit` times, until the values change by less than `enough`.

    Args:
        arcs: the in-edges: see `common.lengths.WeightedArcs`.
        back: the out-edges, along which values come back before they go along the arcs; without offsets, they do not.
        state: see `Values`.
        kept, factor: new values are `kept` times the old ones, plus `factor` times what is gathered, plus `added`.
        scaled: how values are scaled then: `AS_THEY_ARE`, `UNIT_LENGTH` or `UNIT_SUM`.
        enough: the change that is small enough.
        limit: the most iterations.
    """
    n, blocks, added = state.values.shape[1] - 1, state.partial.shape[1], state.added
    for iteration in range(limit):
        old, new = state.values[iteration & 1], state.values[(iteration + 1) & 1]
        source = old
        if len(back.offsets):
            if _gather_back(control, size, thread, back, old, state.beside):
                return
            source = state.beside
        while True:
            block = claim(control, 0, 1, blocks)
            if block >= blocks:
                break
            first, last = np.uint64(block * BLOCK), np.uint64(min(n, (block + 1) * BLOCK))
            gather_block(arcs.offsets, arcs.targets, arcs.weights, source, first, last, new)
            for v in range(first, last):
                new[v] = kept * old[v] + factor * new[v] + added[v if len(added) > 1 else np.uint64(0)]
            if scaled == AS_THEY_ARE:
                state.partial[_CHANGES, block] = _change_of_block(old, new, first, last)
            else:
                state.partial[_LENGTHS, block] = _length_of_block(new, scaled, first, last)
        if barrier(control, size):
            return
        if scaled != AS_THEY_ARE and _scale(control, size, thread, scaled, old, new, state):
            return
        if thread == 0:
            _add_up(state.partial, state.sums, _CHANGES)
            state.counters[DONE] = iteration + 1
            state.counters[CONVERGED] = state.sums[_CHANGES] < enough
            report(control, iteration + 1)
            rewind(control, 0)
        if barrier(control, size) or state.counters[CONVERGED] != 0:
            return


@team_kernel
def gather(thread: Any, size: Any, control: Any, arcs: Any, values: Any, gathered: Any) -> None:
    """Sum the values of the neighbours of each vertex, times the weights of the arcs.

    Args:
        arcs: see `common.lengths.WeightedArcs`.
        values: shape (n + 1,); the last one is 0.
        gathered: shape (n,).
    """
    _gather_all(control, arcs, values, gathered, len(gathered))
