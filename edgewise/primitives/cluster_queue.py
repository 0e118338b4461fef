# mypy: disable-error-code="assignment"
# (A variable of a kernel may be a Python and a NumPy integer by turns: numba unifies them.)
"""Clusters that wait for a block to visit them: see `edgewise.primitives.clusters`.

OPEN counts clusters that were woken, and, in its upper half, blocks that work: it is 0 when all is over, for only a
block that works wakes clusters, and it counts these before it stops. A block holds the cluster that it visited last,
and is the only one that may visit it, until it is needed for another one.
"""

from typing import Any, NamedTuple

import numpy as np

from edgewise.kernels.cuda.arguments import AtomicInt64s, AtomicKeys, AtomicUint32s, Int64s
from edgewise.kernels.cuda.device import (
    THREADS,
    atomic_add,
    atomic_exchange,
    atomic_min,
    block_barrier,
    block_index,
    block_thread,
    compare_and_swap,
    device_function,
    fence,
    inlined,
    load_now,
)
from edgewise.kernels.cuda.memory import CANCEL
from edgewise.primitives.control import LOOK, control_words, host_words
from edgewise.primitives.near_far_rise import LARGEST

#: The threads of a block: half of others', so that each may have twice as many registers.
BLOCK = THREADS // 2
#: Words of `control`: OPEN, see above; about how many clusters were woken that no block holds; how many blocks look for
#: one in vain; whether the run is to end; how many visits there were. A word of the host's array: the same number.
CONTROL, HOST = control_words(), host_words()
OPEN, WANTED, IDLE, ENDED, VISITS = (CONTROL.take_line() for _ in range(5))
VISITED = HOST.take()
#: WANTED may be wrong for a while, so a block looks at all clusters if any is open, once in so many looks at it.
PATIENCE = 8
#: What a block that works adds to OPEN; what is told in place of a cluster when all is over.
WORKING, OVER = 1 << 32, -2


class Visits(NamedTuple):
    """The arrays of a run.

    Attributes:
        best: (n,): the keys, by place.
        pending: (clusters,): the least key with which each was woken, or `LARGEST` if it does not wait.
        taken: (clusters,): whether a block visits each.
        control: zeros at first, see `CONTROL`; OPEN is how many clusters wait.
        host: words in the host's memory, see `HOST`.
    """

    best: AtomicKeys
    pending: AtomicInt64s
    taken: AtomicUint32s
    control: AtomicInt64s
    host: Int64s


class Shared(NamedTuple):
    """What the threads of a block share.

    Attributes:
        keys: (MOST,): the keys of the cluster that is visited.
        lowered: (LOWERED,): by turns, whether each warp has lowered a key in a step.
        least, chosen: (1,): the least key of a cluster that waits, and that cluster, or -1; `chosen` is also whether
            the cluster that is visited was woken again.
    """

    keys: Any
    lowered: Any
    least: Any
    chosen: Any


@inlined
def look(looks: Any, it: Any) -> Any:
    """Let the first block look now and then whether the host ends the run; how often this was called. One thread of
    each block calls it."""
    if block_index() == 0 and looks % LOOK == 0 and load_now(it.host, CANCEL) != 0:
        atomic_exchange(it.control, ENDED, 1)
    return looks + 1


@inlined
def wake(c: Any, open_then: Any, it: Any) -> Any:
    """Note that this block works on a cluster that it holds, if it waits; whether it did. One thread calls it.

    Args:
        open_then: by how much OPEN changes then.
    """
    woken = atomic_exchange(it.pending, c, LARGEST) < LARGEST
    fence()
    if woken:
        atomic_add(it.control, OPEN, open_then)
    return woken


@inlined
def _wait(it: Any, shared: Any) -> Any:
    """Wait until a cluster was woken, or all is over; WANTED then. One thread calls it."""
    looks, state, wanted, ended = np.int64(0), np.int64(WORKING), np.int64(0), np.int64(0)
    while state != 0 and ended == 0 and wanted <= 0 and (np.int32(state) <= 0 or looks % PATIENCE != 0):
        # No load waits for another one.
        state, wanted, ended = (
            load_now(it.control, OPEN),
            load_now(it.control, WANTED),
            load_now(it.control, ENDED),
        )
        looks = look(looks, it)
    shared.least[0] = LARGEST
    shared.chosen[0] = OVER if state == 0 or ended != 0 else -1
    return wanted


@device_function
def take(rows: Any, it: Any, shared: Any) -> Any:
    """Take the cluster with the least key of those that wait, and that no block holds; -1 for none now, and `OVER` if
    there will be none. All threads of a block call it."""
    wanted = np.int64(0)
    if block_thread() == 0:
        wanted = np.int64(_wait(it, shared))
    block_barrier()
    least, mine = LARGEST, np.int64(-1)
    if shared.chosen[0] == -1:
        for c in range(block_thread(), rows.num_clusters, BLOCK):
            key, is_taken = load_now(it.pending, c), load_now(it.taken, c)
            if key < least and is_taken == 0:
                least, mine = key, c
        if least < LARGEST:
            atomic_min(shared.least, 0, least)
    block_barrier()
    if least < LARGEST and least == shared.least[0]:
        shared.chosen[0] = mine
    block_barrier()
    if block_thread() == 0 and shared.chosen[0] == -1:
        compare_and_swap(it.control, WANTED, wanted, 0)
    if block_thread() == 0 and shared.chosen[0] >= 0:
        c = shared.chosen[0]
        if compare_and_swap(it.taken, c, np.uint32(0), np.uint32(1)) != 0:
            shared.chosen[0] = -1
        elif not wake(c, WORKING - 1, it):
            atomic_exchange(it.taken, c, np.uint32(0))
            shared.chosen[0] = -1
        else:
            atomic_add(it.control, WANTED, -1)
    block_barrier()
    chosen = shared.chosen[0]
    block_barrier()
    return chosen


@inlined
def rest(c: Any, it: Any) -> Any:
    """Wait, after all is done in a cluster, until it is woken again; whether it was, and not all is over or its block
    needed for others. One thread calls it."""
    fence()
    state, looks, ended = atomic_add(it.control, OPEN, -WORKING) - WORKING, np.int64(0), np.int64(0)
    while state != 0 and ended == 0:
        # No load waits for another one.
        waiting, state, ended = (
            load_now(it.pending, c),
            load_now(it.control, OPEN),
            load_now(it.control, ENDED),
        )
        if waiting < LARGEST:
            return wake(c, WORKING - 1, it)
        if np.int32(state) > 0 and load_now(it.control, IDLE) == 0:
            return False
        looks = look(looks, it)
    return False


@inlined
def give_up(c: Any, it: Any) -> None:
    """Let other blocks have a cluster that this one held. One thread calls it, after a fence."""
    atomic_exchange(it.taken, c, np.uint32(0))
    fence()
    if load_now(it.pending, c) < LARGEST:
        atomic_add(it.control, WANTED, 1)
