"""Borůvka's rounds on the CPU: every component takes its lightest edge to another, and such components grow together.

Edges are in a strict order, by weight, then by the lower and the higher index of their ends. So components that take
edges at the same time make no cycle, except a pair that takes one edge from both sides. Such a pair keeps the lower of
its two roots.

A round has four steps, each over a list or range that threads take pieces of. *Look*: each vertex that may still have
an edge to another component finds its lightest, and offers it to its root. *Join*: a root points to the component at
the other end of the lightest edge offered. *Follow*: such chains are shortened. *Rename*: every vertex learns its root.

What makes it fast. Weights are compared before the components of targets, which are read anywhere in memory. A vertex
looks at its arcs again only after its lightest edge came to lie inside its component. Vertices without an edge to
another component leave the list. Once one component has most of the vertices, it takes no more edges, since the other
components take edges to it.

Reference. Borůvka (1926), as Nešetřil, Milková and Nešetřilová, "Otakar Borůvka on minimum spanning tree problem",
Discrete Mathematics 233 (2001), have it.
"""

from typing import Any, NamedTuple

import numpy as np

from edgewise.algorithms.common.largest import SAMPLE, find_largest
from edgewise.algorithms.common.lengths import length
from edgewise.kernels.cache import device_function, inlined_function
from edgewise.kernels.cpu.atomics import atomic_add, atomic_load, compare_and_swap
from edgewise.kernels.cpu.team import barrier, claim, report, rewind, team_kernel
from edgewise.kernels.words import CPU_LINE, Allocator
from edgewise.primitives.vertices import NO_VERTEX

#: Results of the kernel: the number of edges of the forest, and of rounds; a vertex of the component that has most
#: vertices, or -1; the number of vertices and of roots in the lists, of this round and of the next in turns.
_FOUND = Allocator(0, CPU_LINE)
EDGES, ROUNDS, GIANT, LIVE, ROOTS = (_FOUND.take(count) for count in (1, 1, 1, 2, 2))
FOUND_WORDS = _FOUND.lines_size
#: Vertices handed out at a time.
_PIECE = 1024
_LOOK, _JOIN, _FOLLOW, _RENAME = range(4)

_ONE = np.uint64(1)


class Forest(NamedTuple):
    """The state of n vertices; all but `weight` and `edge_weight` are uint32.

    Attributes:
        component: shape (n,): the root of each vertex's component.
        above: shape (n,): of a root, the root that it has joined, or itself.
        chosen: shape (n,): of a root, the vertex whose lightest edge it takes.
        target, weight: shape (n,): the lightest edge of each vertex to another component.
        live, roots: shape (2, n): lists.
        edge_source, edge_target, edge_weight: shape (n,): edges of the forest.
    """

    component: np.ndarray
    above: np.ndarray
    chosen: np.ndarray
    target: np.ndarray
    weight: np.ndarray
    live: np.ndarray
    roots: np.ndarray
    edge_source: np.ndarray
    edge_target: np.ndarray
    edge_weight: np.ndarray


def make_forest(num_vertices: int, weight: np.dtype) -> Forest:
    """A forest that has not begun. The kernel fills what needs values."""
    one = (num_vertices,)
    shapes = [one, one, one, one, one, (2, num_vertices), (2, num_vertices), one, one, one]
    dtypes = [np.uint32] * 4 + [weight] + [np.uint32] * 4 + [weight]
    return Forest(*(np.empty(shape, dtype) for shape, dtype in zip(shapes, dtypes, strict=True)))


def forest_bytes(num_vertices: int, weight: np.dtype) -> int:
    """The memory of a forest, of its sorted edges, and of sorting them."""
    return num_vertices * (10 * 4 + 2 * weight.itemsize) + num_vertices * (8 + 2 * 4 + weight.itemsize)


@device_function
def _plant(control: Any, forest: Any) -> None:
    """Make each vertex a component of its own."""
    n = len(forest.component)
    while True:
        start = claim(control, _RENAME, _PIECE, n)
        if start == n:
            return
        for v in range(np.uint64(start), np.uint64(min(start + _PIECE, n))):
            forest.component[v] = forest.above[v] = forest.live[0, v] = forest.roots[0, v] = v
            forest.chosen[v] = forest.target[v] = NO_VERTEX


@inlined_function
def _lightest(arcs: Any, v: Any, mine: Any, component: Any, weight: Any, target: Any) -> Any:
    """The lightest of a given edge of v and of its arcs to other components."""
    for k in range(np.uint64(arcs.offsets[v]), np.uint64(arcs.offsets[v + _ONE])):
        u, here = arcs.targets[k], length(arcs, k)
        if (here < weight or (here == weight and u < target)) and component[u] != mine:
            weight, target = here, u
    return weight, target


@inlined_function
def _lightest_of_all(arcs: Any, v: Any, heaviest: Any, weight: Any, target: Any) -> Any:
    """`_lightest` while each vertex is a component: two loops without branches, for these could not be predicted."""
    least, first, own = heaviest, NO_VERTEX, np.uint32(v)
    for k in range(np.uint64(arcs.offsets[v]), np.uint64(arcs.offsets[v + _ONE])):
        here = length(arcs, k)
        least = min(least, here if arcs.targets[k] != own else heaviest)
    for k in range(np.uint64(arcs.offsets[v]), np.uint64(arcs.offsets[v + _ONE])):
        u = arcs.targets[k]
        first = min(first, u if length(arcs, k) == least and u != own else NO_VERTEX)
    return (least, first) if least < weight or (least == weight and first < target) else (weight, target)


@inlined_function
def _is_lighter(forest: Any, v: Any, u: Any) -> Any:
    """Whether the edge of v comes before that of u."""
    if forest.weight[v] != forest.weight[u]:
        return forest.weight[v] < forest.weight[u]
    v_low, u_low = min(v, forest.target[v]), min(u, forest.target[u])
    if v_low != u_low:
        return v_low < u_low
    return max(v, forest.target[v]) < max(u, forest.target[u])


@inlined_function
def _offer(forest: Any, root: Any, v: Any) -> None:
    """Offer the edge of a vertex to its root."""
    while True:
        before = atomic_load(forest.chosen, root)
        if before != NO_VERTEX and not _is_lighter(forest, v, before):
            return
        if compare_and_swap(forest.chosen, root, before, v):
            return


@device_function
def _look(
    control: Any, rows: Any, in_edges: Any, both: Any, heaviest: Any, forest: Any, found: Any, turn: Any
) -> None:
    """Offer the lightest edges of listed vertices, and list the vertices that have one again.

    Edges to other components only become fewer, so the lightest stays the lightest as long as it leads to another.
    """
    live, count, component = forest.live[turn], found[LIVE + turn], forest.component
    giant, first_round = component[found[GIANT]] if found[GIANT] >= 0 else NO_VERTEX, found[ROUNDS] == 0
    while True:
        start = claim(control, _LOOK, _PIECE, count)
        if start == count:
            return
        kept = np.uint64(start)
        for i in range(np.uint64(start), np.uint64(min(start + _PIECE, count))):
            v = live[i]
            mine, u = component[v], np.uint64(v)
            if mine == giant:
                continue
            target = forest.target[u]
            if target == NO_VERTEX or component[target] == mine:
                weight, target = heaviest, NO_VERTEX
                if first_round:
                    weight, target = _lightest_of_all(rows, u, heaviest, weight, target)
                    if both:
                        weight, target = _lightest_of_all(in_edges, u, heaviest, weight, target)
                else:
                    weight, target = _lightest(rows, u, mine, component, weight, target)
                    if both:
                        weight, target = _lightest(in_edges, u, mine, component, weight, target)
                forest.weight[u], forest.target[u] = weight, target
            if target != NO_VERTEX:
                if first_round:
                    forest.chosen[u] = v
                else:
                    _offer(forest, mine, v)
                live[kept] = v
                kept += _ONE
        _list(live, start, kept, forest.live[1 - turn], found, LIVE + 1 - turn)


@device_function
def _list(listed: Any, start: Any, end: Any, following: Any, found: Any, counter: Any) -> None:
    """Copy a part of a list to the end of the next one."""
    place = np.uint64(atomic_add(found, counter, np.int64(end) - start))
    for i in range(np.uint64(start), np.uint64(end)):
        following[place] = listed[i]
        place += _ONE


@device_function
def _join(control: Any, forest: Any, found: Any, turn: Any) -> None:
    """Let listed roots join others by their lightest edges; list again those that others join and that join none."""
    roots, count, chosen, component = forest.roots[turn], found[ROOTS + turn], forest.chosen, forest.component
    while True:
        start = claim(control, _JOIN, _PIECE, count)
        if start == count:
            return
        end, joined, stay = np.uint64(min(start + _PIECE, count)), np.int64(0), np.int64(0)
        for i in range(np.uint64(start), end):
            root = roots[i]
            v = chosen[root]
            if v != NO_VERTEX:
                other = component[forest.target[v]]
                u = chosen[other]
                is_pair = u != NO_VERTEX and component[forest.target[u]] == root
                if not is_pair or root > other:
                    forest.above[root] = other
                    joined += 1
                else:
                    stay += 1
        place = np.uint64(atomic_add(found, EDGES, joined))
        kept = np.uint64(atomic_add(found, ROOTS + 1 - turn, stay))
        for i in range(np.uint64(start), end):
            root = roots[i]
            v = chosen[root]
            if forest.above[root] != root:
                forest.edge_source[place], forest.edge_target[place] = v, forest.target[v]
                forest.edge_weight[place] = forest.weight[v]
                place += _ONE
            elif v != NO_VERTEX:
                forest.roots[1 - turn, kept] = root
                kept += _ONE


@device_function
def _follow(control: Any, forest: Any, found: Any, turn: Any) -> None:
    """Point each listed root, and all on the way, to the root of the component that it has joined; reset `chosen`."""
    roots, count, above = forest.roots[turn], found[ROOTS + turn], forest.above
    while True:
        start = claim(control, _FOLLOW, _PIECE, count)
        if start == count:
            return
        for i in range(np.uint64(start), np.uint64(min(start + _PIECE, count))):
            at = roots[i]
            forest.chosen[at] = NO_VERTEX
            end, left = at, count
            while above[end] != end and left > 0:  # weights that differ by direction make circles
                end, left = above[end], left - 1
            while at != end:
                following = above[at]
                above[at] = end
                at = following


@device_function
def _rename(control: Any, forest: Any) -> None:
    """Tell each vertex its root."""
    n, component, above = len(forest.component), forest.component, forest.above
    while True:
        start = claim(control, _RENAME, _PIECE, n)
        if start == n:
            return
        for v in range(np.uint64(start), np.uint64(min(start + _PIECE, n))):
            component[v] = above[component[v]]


@team_kernel
def grow(
    thread: Any,
    size: Any,
    control: Any,
    rows: Any,
    in_edges: Any,
    both: Any,
    heaviest: Any,
    forest: Any,
    found: Any,
) -> None:
    """Find a minimum spanning forest.

    Args:
        rows, in_edges: out-edges and in-edges, as of `common.lengths.arcs_of`; each edge is in both, or in `rows` from
            both of its ends.
        both: whether to look at both.
        heaviest: no weight is above it.
        forest: see `Forest`; filled here.
        found: int64, (FOUND_WORDS,): see EDGES; zeros, -1 for GIANT, the number of vertices for LIVE and ROOTS.
    """
    _plant(control, forest)
    turn = 0
    while True:
        if barrier(control, size):
            return
        before = found[EDGES]
        if thread == 0:
            rewind(control, _RENAME)
            report(control, before)
        _look(control, rows, in_edges, both, heaviest, forest, found, turn)
        if barrier(control, size):
            return
        if thread == 0:
            rewind(control, _LOOK)
            found[LIVE + turn] = 0
        _join(control, forest, found, turn)
        if barrier(control, size):
            return
        if found[EDGES] == before:
            return
        if thread == 0:
            rewind(control, _JOIN)
            found[ROUNDS] += 1
        _follow(control, forest, found, turn)
        if barrier(control, size):
            return
        if thread == 0:
            rewind(control, _FOLLOW)
            found[ROOTS + turn] = 0
        _rename(control, forest)
        if barrier(control, size):
            return
        if thread == 0 and found[GIANT] < 0:
            _, vertex, count = find_largest(forest.component)
            if 2 * count > SAMPLE:
                found[GIANT] = vertex
        turn = 1 - turn


@device_function
def _sort_by(
    keys: Any, source: Any, target: Any, weight: Any, begins: Any, low: Any, high: Any, heavy: Any
) -> None:
    """Sort edges by their keys, stably; `begins` is overwritten."""
    for i in range(len(begins)):
        begins[i] = 0
    for i in range(np.uint64(len(keys))):
        begins[keys[i] + _ONE] += 1
    for i in range(1, len(begins)):
        begins[i] += begins[i - 1]
    for i in range(np.uint64(len(keys))):
        place = np.uint64(begins[keys[i]])
        begins[keys[i]] += 1
        low[place], high[place], heavy[place] = source[i], target[i], weight[i]


@team_kernel
def sort_edges(
    thread: Any, size: Any, control: Any, source: Any, target: Any, weight: Any, begins: Any, spare: Any
) -> None:
    """Sort edges by their lower ends, then by their higher ends, by one thread, in O(n + k).

    Args:
        source, target: uint32, shape (k,): afterwards the lower and the higher end of each edge.
        weight: shape (k,).
        begins: int64, shape (n + 1,).
        spare: three arrays like these.
    """
    for i in range(np.uint64(len(source))):
        source[i], target[i] = min(source[i], target[i]), max(source[i], target[i])
    low, high, heavy = spare
    _sort_by(target, source, target, weight, begins, low, high, heavy)
    _sort_by(low, low, high, heavy, begins, source, target, weight)
