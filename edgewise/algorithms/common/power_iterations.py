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
LENGTHS, CHANGES = 0, 1


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
def _gather_all(control: Any, arcs: Any, values: Any, gathered: Any, n: Any, begin: Any, end: Any) -> None:
    """Gather into entries of blocks from `begin` to before `end`, by those that this thread gets."""
    while True:
        block = begin + claim(control, 0, 1, end - begin)
        if block >= end:
            return
        first, last = np.uint64(block * BLOCK), np.uint64(min(n, (block + 1) * BLOCK))
        gather_block(arcs.offsets, arcs.targets, arcs.weights, values, first, last, gathered)


@device_function
def _gather_back(control: Any, size: Any, thread: Any, back: Any, old: Any, beside: Any) -> Any:
    """Gather over out-edges. True if the run was cancelled."""
    n = len(beside) - 1
    _gather_all(control, back, old, beside, n, 0, (n + BLOCK - 1) // BLOCK)
    if barrier(control, size):
        return True
    if thread == 0:
        rewind(control, 0)
    return barrier(control, size)


@device_function
def _renew(
    control: Any,
    arcs: Any,
    source: Any,
    old: Any,
    new: Any,
    state: Any,
    kept: Any,
    factor: Any,
    scaled: Any,
    begin: Any,
    end: Any,
) -> None:
    """Make the new values of blocks from `begin` to before `end`, not scaled, and the sums of those that this thread
    gets: of changes, or of what they are scaled by."""
    n, added = len(new) - 1, state.added
    while True:
        block = begin + claim(control, 0, 1, end - begin)
        if block >= end:
            return
        first, last = np.uint64(block * BLOCK), np.uint64(min(n, (block + 1) * BLOCK))
        gather_block(arcs.offsets, arcs.targets, arcs.weights, source, first, last, new)
        for v in range(first, last):
            new[v] = kept * old[v] + factor * new[v] + added[v if len(added) > 1 else np.uint64(0)]
        if scaled == AS_THEY_ARE:
            state.partial[CHANGES, block] = _change_of_block(old, new, first, last)
        else:
            state.partial[LENGTHS, block] = _length_of_block(new, scaled, first, last)


@device_function
def _divide(control: Any, scaled: Any, old: Any, new: Any, state: Any, begin: Any, end: Any) -> None:
    """Scale the new values of blocks from `begin` to before `end` by the sums of all, and sum up for each block by how
    much they differ from the old ones."""
    n = len(new) - 1
    length = state.sums[LENGTHS]
    if scaled == UNIT_LENGTH:
        length = np.sqrt(length)
    if length == 0.0:
        length = 1.0
    while True:
        block = begin + claim(control, 0, 1, end - begin)
        if block >= end:
            return
        first, last = np.uint64(block * BLOCK), np.uint64(min(n, (block + 1) * BLOCK))
        for v in range(first, last):
            new[v] /= length
        state.partial[CHANGES, block] = _change_of_block(old, new, first, last)


@device_function
def _scale(control: Any, size: Any, thread: Any, scaled: Any, old: Any, new: Any, state: Any) -> Any:
    """Scale the new values, and sum up by how much they differ from the old ones. True if the run was cancelled."""
    if thread == 0:
        _add_up(state.partial, state.sums, LENGTHS)
        rewind(control, 0)
    if barrier(control, size):
        return True
    _divide(control, scaled, old, new, state, 0, state.partial.shape[1])
    return barrier(control, size)


@device_function
def _end_iteration(iteration: Any, enough: Any, state: Any) -> None:
    """Count an iteration, and say whether its values have changed little enough."""
    _add_up(state.partial, state.sums, CHANGES)
    state.counters[DONE] = iteration + 1
    state.counters[CONVERGED] = state.sums[CHANGES] < enough


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
    blocks = state.partial.shape[1]
    for iteration in range(limit):
        old, new = state.values[iteration & 1], state.values[(iteration + 1) & 1]
        source = old
        if len(back.offsets):
            if _gather_back(control, size, thread, back, old, state.beside):
                return
            source = state.beside
        _renew(control, arcs, source, old, new, state, kept, factor, scaled, 0, blocks)
        if barrier(control, size):
            return
        if scaled != AS_THEY_ARE and _scale(control, size, thread, scaled, old, new, state):
            return
        if thread == 0:
            _end_iteration(iteration, enough, state)
            report(control, iteration + 1)
            rewind(control, 0)
        if barrier(control, size) or state.counters[CONVERGED] != 0:
            return


@team_kernel
def gather(
    thread: Any, size: Any, control: Any, arcs: Any, values: Any, gathered: Any, begin: Any, end: Any
) -> None:
    """Sum the values of the neighbours of each vertex, times the weights of the arcs.

    Args:
        arcs: see `common.lengths.WeightedArcs`.
        values: shape (n + 1,); the last one is 0.
        gathered: shape (n,).
        begin, end: the blocks of vertices.
    """
    _gather_all(control, arcs, values, gathered, len(gathered), begin, end)


@team_kernel
def renew(
    thread: Any,
    size: Any,
    control: Any,
    arcs: Any,
    source: Any,
    old: Any,
    new: Any,
    state: Any,
    kept: Any,
    factor: Any,
    scaled: Any,
    begin: Any,
    end: Any,
) -> None:
    """The part of an iteration in which some blocks of vertices gather; see `iterate`.

    Args:
        source: shape (n + 1,): what is gathered; the last one is 0.
        old, new: rows of the values.
        begin, end: the blocks.
    """
    _renew(control, arcs, source, old, new, state, kept, factor, scaled, begin, end)


@team_kernel
def scale(
    thread: Any, size: Any, control: Any, scaled: Any, old: Any, new: Any, state: Any, begin: Any, end: Any
) -> None:
    """The part of an iteration in which the values of some blocks are scaled, after `add_lengths`."""
    _divide(control, scaled, old, new, state, begin, end)


@team_kernel
def add_lengths(thread: Any, size: Any, control: Any, state: Any) -> None:
    """Add up what values are scaled by; by one thread."""
    _add_up(state.partial, state.sums, LENGTHS)


@team_kernel
def end_iteration(thread: Any, size: Any, control: Any, iteration: Any, enough: Any, state: Any) -> None:
    """Count an iteration, and say whether its values have changed little enough; by one thread."""
    _end_iteration(iteration, enough, state)
