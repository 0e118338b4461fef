"""The steps of connected components on the CPU: hook, compress, link, look at the rest.

`label` is a forest: ``label[v]`` is a vertex of the same component with an index of at most v; for a root it is v.
Hooking and linking point a root to a lower vertex, so there are no cycles, whatever threads do at the same time.
Compressing points every vertex to its root.

Linking takes a compare-and-swap and a walk to two roots, for vertices anywhere in memory. Hooking takes neither, and
does most of the work first: every vertex points to the lowest of its first targets; then every root, of which few are
left, points to the lowest tree that one of its targets is in.
"""

from typing import Any

import numpy as np

from edgewise.algorithms.common.largest import find_largest
from edgewise.kernels.cache import device_function
from edgewise.kernels.cpu.atomics import atomic_add, compare_and_swap
from edgewise.kernels.cpu.team import barrier, claim, report, rewind, team_kernel
from edgewise.kernels.words import CPU_LINE, Allocator

#: The number of targets of each vertex that it is hooked to, and of those that are linked before all others.
_HOOKED, _LINKED = 3, 2
#: Vertices handed out at a time, a multiple of the bits in a word.
_PIECE = 1024
#: How many vertices of the sample in one component make that worth skipping.
_ENOUGH = 960
#: Results of the kernel: the label of the largest component and how much of the sample has it, whether arcs of that
#: component were skipped, the number of roots, and that of passes over all vertices.
_FOUND = Allocator(0, CPU_LINE)
LARGEST, SAMPLED, SKIPPED, ROOTS, PASSES = (_FOUND.take() for _ in range(5))
FOUND_WORDS = _FOUND.lines_size

_ONE, _SIX, _LOW_SIX = np.uint64(1), np.uint64(6), np.uint64(63)


@device_function
def _hook(control: Any, slot: Any, offsets: Any, targets: Any, label: Any) -> None:
    """Point each vertex to the lowest of itself and its first targets, without a branch that depends on it."""
    n = len(label)
    while True:
        start = claim(control, slot, _PIECE, n)
        if start == n:
            return
        for v in range(np.uint64(start), np.uint64(min(start + _PIECE, n))):
            first, last = np.int64(offsets[v]), np.int64(offsets[v + _ONE]) - 1
            lowest = np.uint32(v)
            if first <= last:
                for i in range(_HOOKED):
                    lowest = min(lowest, targets[np.uint64(min(first + i, last))])
            label[v] = lowest


@device_function
def _hook_roots(control: Any, slot: Any, offsets: Any, targets: Any, label: Any) -> None:
    """Point each root to the lowest label among its targets, if that is lower."""
    n = len(label)
    while True:
        start = claim(control, slot, _PIECE, n)
        if start == n:
            return
        for v in range(np.uint64(start), np.uint64(min(start + _PIECE, n))):
            if label[v] == v:
                lowest = np.uint32(v)
                for k in range(np.uint64(offsets[v]), np.uint64(offsets[v + _ONE])):
                    lowest = min(lowest, label[targets[k]])
                label[v] = lowest


@device_function
def _compress(control: Any, slot: Any, label: Any) -> Any:
    """Point each vertex to its root. Returns the number of roots in this thread's pieces."""
    n, roots = len(label), np.int64(0)
    while True:
        start = claim(control, slot, _PIECE, n)
        if start == n:
            return roots
        for v in range(np.uint64(start), np.uint64(min(start + _PIECE, n))):
            root = label[v]
            roots += np.int64(root == v)
            while label[root] != root:
                root = label[root]
            label[v] = root


@device_function
def _link(label: Any, u: Any, v: Any) -> None:
    """Join the trees of two vertices: the higher root points to the lower one."""
    a, b = label[u], label[v]
    while a != b:
        high, low = max(a, b), min(a, b)
        above = label[high]
        if above == low or (above == high and compare_and_swap(label, high, high, low)):
            return
        a, b = label[label[high]], label[low]


@device_function
def _link_one(control: Any, slot: Any, offsets: Any, targets: Any, place: Any, label: Any) -> None:
    """Link each vertex to one of its targets, counted from the last, since it was hooked to the first ones."""
    n = len(label)
    while True:
        start = claim(control, slot, _PIECE, n)
        if start == n:
            return
        for v in range(np.uint64(start), np.uint64(min(start + _PIECE, n))):
            k = np.int64(offsets[v + _ONE]) - 1 - place
            if k >= np.int64(offsets[v]):
                _link(label, v, targets[np.uint64(k)])


@device_function
def _mark(control: Any, slot: Any, label: Any, largest: Any, inside: Any) -> None:
    """Make a bitmap of the largest component."""
    n = len(label)
    while True:
        start = claim(control, slot, _PIECE, n)
        if start == n:
            return
        for first in range(np.uint64(start), np.uint64(min(start + _PIECE, n)), np.uint64(64)):
            bits = np.uint64(0)
            for bit in range(min(np.uint64(64), np.uint64(n) - first)):
                bits |= np.uint64(label[first + bit] == largest) << bit
            inside[first >> _SIX] = bits


@device_function
def _link_rest(
    control: Any, slot: Any, offsets: Any, targets: Any, label: Any, largest: Any, marked: Any, inside: Any
) -> None:
    """Link along all arcs of vertices outside the largest component.

    Vertices inside it are skipped or, if it is marked, linked along their arcs to the outside: a bit of a bitmap tells
    faster than a label which arcs these are.
    """
    n = len(label)
    while True:
        start = claim(control, slot, _PIECE, n)
        if start == n:
            return
        for v in range(np.uint64(start), np.uint64(min(start + _PIECE, n))):
            if label[v] != largest:
                for k in range(np.uint64(offsets[v]), np.uint64(offsets[v + _ONE])):
                    _link(label, v, targets[k])
            elif marked:
                for k in range(np.uint64(offsets[v]), np.uint64(offsets[v + _ONE])):
                    u = np.uint64(targets[k])
                    if (inside[u >> _SIX] >> (u & _LOW_SIX)) & _ONE == 0:
                        _link(label, v, u)


@device_function
def _meet(thread: Any, size: Any, control: Any, passes: Any) -> Any:
    """End a pass; passes use the slots 0 and 1 in turns. True if the run was cancelled."""
    if thread == 0:
        report(control, passes)
        rewind(control, passes & 1)
    return barrier(control, size)


@team_kernel
def connect(
    thread: Any,
    size: Any,
    control: Any,
    offsets: Any,
    targets: Any,
    in_offsets: Any,
    in_sources: Any,
    directed: Any,
    label: Any,
    inside: Any,
    found: Any,
) -> None:
    """Label each vertex with the lowest index in its component, and count the components.

    Args:
        offsets, targets: the rows, unsigned.
        in_offsets, in_sources: the in-edges of a directed graph that has them already; else empty.
        label: uint32, shape (n,), filled here; n is not 0.
        inside: uint64, a bit for each vertex of a directed graph.
        found: int64, the results `LARGEST` to `PASSES`; zeros.
    """
    _hook(control, 0, offsets, targets, label)
    if _meet(thread, size, control, 1):
        return
    passes = 1
    for _ in range(2 if directed else 1):  # undirected neighbours know each other: one round is enough
        _hook_roots(control, 1, offsets, targets, label)
        if _meet(thread, size, control, passes + 1):
            return
        _compress(control, 0, label)
        if _meet(thread, size, control, passes + 2):
            return
        passes += 2
    for place in range(_LINKED + 1):
        if thread == 0:
            found[LARGEST], _, found[SAMPLED] = find_largest(label)
        if barrier(control, size):
            return
        if found[SAMPLED] >= _ENOUGH or place == _LINKED:
            break
        _link_one(control, 1, offsets, targets, place, label)
        if _meet(thread, size, control, passes + 1):
            return
        _compress(control, 0, label)
        if _meet(thread, size, control, passes + 2):
            return
        passes += 2
    largest = np.uint32(found[LARGEST])
    from_both_ends = len(in_sources) > 0 and found[SAMPLED] >= _ENOUGH
    marked = directed and not from_both_ends
    if marked:
        _mark(control, 2, label, largest, inside)
        if barrier(control, size):
            return
    _link_rest(control, 1, offsets, targets, label, largest, marked, inside)
    if _meet(thread, size, control, passes + 1):
        return
    if from_both_ends:
        _link_rest(control, 0, in_offsets, in_sources, label, largest, False, inside)
    if _meet(thread, size, control, passes + 2):
        return
    atomic_add(found, ROOTS, _compress(control, 1, label))
    if thread == 0:
        found[SKIPPED] = not marked
        found[PASSES] = passes + 3
