"""Generated graphs: one seed gives the same graph on every machine, with any number of threads.

Random numbers are a function of (seed, stream, position), made with 64-bit integers alone, and choices
compare integers with integers. So each edge can be made by itself, in any order, by any device, and no rounding
can turn one edge into another.
"""

import math
from typing import Any

import numpy as np

from edgewise.errors import GraphError
from edgewise.graph import Graph, csr
from edgewise.graph.checks import check_flags
from edgewise.kernels.cache import device_function
from edgewise.kernels.cpu.launch import launch, sealed
from edgewise.kernels.cpu.team import claim, team_kernel
from edgewise.kernels.mixing import mix64
from edgewise.memory import check_free, naming_memory_errors
from edgewise.numeric import is_integer, is_number
from edgewise.text import shown

Range = tuple[int, int] | tuple[float, float]

#: The purposes of random numbers. Two purposes never share a number.
_QUADRANT, _LABEL, _SOURCE, _TARGET, _REMOVED, _ONE_WAY, _WEIGHT, _HEAVY = range(8)
_PIECE = 2**16
#: How often an R-MAT edge is drawn again that falls outside the vertices, if their number is not a power of two.
_MAX_DRAWS = 64


@naming_memory_errors
def rmat(
    scale: int | None = None,
    edge_factor: float = 16,
    probabilities: tuple[float, float, float, float] = (0.57, 0.19, 0.19, 0.05),
    seed: int = 0,
    *,
    num_vertices: int | None = None,
    shuffle: bool = True,
    simple: bool = False,
    directed: bool = True,
    weights: Range | None = None,
) -> Graph:
    """A graph of skewed degrees: each edge falls into one of four quadrants of the matrix, again and again.

    Chakrabarti, Zhan, Faloutsos, "R-MAT: A Recursive Model for Graph Mining" (SDM 2004), section 3. The
    defaults are those of the Graph500 benchmark. O(edges * log(vertices)).

    Args:
        scale: there are ``2**scale`` vertices.
        edge_factor: the number of edges for each vertex.
        probabilities: of the quadrants (low, low), (low, high), (high, low), (high, high) of (source, target).
        seed: 0 to 2**64 - 1.
        num_vertices: any number of vertices, in place of ``scale``: edges of the next power of two that fall
            outside are drawn again.
        shuffle: give the vertices random ids, so that an id says nothing about a degree.
        simple: drop self-loops and all but the first of parallel edges.
        directed: False for an undirected graph.
        weights: None, or the smallest and the largest weight: two integers make int32 weights (int64 where
            they need it), two floats make float64 weights.

    Raises:
        GraphError: an argument out of range.
    """
    check_flags(GraphError, shuffle=shuffle, simple=simple, directed=directed)
    if (scale is None) == (num_vertices is None):
        raise GraphError(
            f"rmat got scale={shown(scale)}, num_vertices={shown(num_vertices)}; expected one of the two"
        )
    if num_vertices is None:
        assert scale is not None
        num_vertices = 1 << _checked("scale", scale, 0, 30)
    num_vertices = _checked("num_vertices", num_vertices, 1, 2**31 - 1)
    if not _is_finite(edge_factor) or not _is_finite(float(edge_factor) * num_vertices):
        raise GraphError(f"edge_factor is {shown(edge_factor)}; expected a number of at least 0")
    num_edges = _checked("the number of edges", round(float(edge_factor) * num_vertices), 0, 2**40)
    _check_room("rmat", num_vertices, num_edges)
    levels = (num_vertices - 1).bit_length()
    limits = _limits(probabilities)
    source, target = np.empty((2, num_edges), np.int32)
    labels = _permutation(num_vertices, seed) if shuffle else None
    launch(
        _rmat,
        _key(seed, _QUADRANT),
        levels,
        limits,
        num_vertices,
        labels,
        source,
        target,
        work=50 * num_edges,
    )
    return _graph(source, target, num_vertices, seed, weights, directed, simple)


@naming_memory_errors
def uniform(
    num_vertices: int,
    num_edges: int,
    seed: int = 0,
    *,
    simple: bool = False,
    directed: bool = True,
    weights: Range | None = None,
) -> Graph:
    """A graph whose edges join two random vertices each. O(edges). The arguments are those of `rmat`."""
    num_vertices = _checked("num_vertices", num_vertices, 1, 2**31 - 1)
    num_edges = _checked("num_edges", num_edges, 0, 2**40)
    _check_room("uniform", num_vertices, num_edges)
    source = _integers(seed, _SOURCE, num_edges, num_vertices)
    target = _integers(seed, _TARGET, num_edges, num_vertices)
    return _graph(source, target, num_vertices, seed, weights, directed, simple)


@naming_memory_errors
def lattice(
    rows: int,
    columns: int,
    removed: float = 0.1,
    one_way: float = 0.0,
    seed: int = 0,
    *,
    directed: bool = True,
    weights: Range | None = None,
) -> Graph:
    """A grid of streets, like the map of a city: a large diameter and small degrees. O(rows * columns).

    Args:
        rows, columns: vertex ``r * columns + c`` stands in row r and column c, and meets its four neighbours.
        removed: the share of streets that are taken away.
        one_way: the share of streets that lead one way only, in a random direction; the others make two arcs.
        seed: 0 to 2**64 - 1.
        directed: False for an undirected graph, which has no one-way streets.
        weights: as in `rmat`; both directions of a street have one weight.

    Raises:
        GraphError: an argument out of range.
    """
    rows = _checked("rows", rows, 1, 2**31 - 1)
    columns = _checked("columns", columns, 1, 2**31 - 1)
    _checked("rows * columns", rows * columns, 1, 2**31 - 1)
    check_flags(GraphError, directed=directed)
    if not _is_finite(one_way):
        raise GraphError(f"one_way is {shown(one_way)}; expected a share from 0 to 1")
    if one_way and not directed:
        raise GraphError(
            f"lattice got one_way={shown(one_way)} for an undirected graph; expected directed=True"
        )
    _check_room("lattice", rows * columns, 2 * rows * columns - rows - columns)
    vertices = np.arange(rows * columns, dtype=np.int32).reshape(rows, columns)
    ends = [(vertices[:, :-1], vertices[:, 1:]), (vertices[:-1], vertices[1:])]
    source, target = (np.concatenate([part.ravel() for part in side]) for side in zip(*ends, strict=True))
    kept = ~_happens(removed, "removed", seed, _REMOVED, len(source))
    source, target = source[kept], target[kept]
    weight = _weights(weights, seed, len(source))
    if directed:
        single = _happens(one_way, "one_way", seed, _ONE_WAY, len(source))
        forth = ~single | (_integers(seed, _SOURCE, len(source), 2) == 0)
        back = ~(single & forth)
        source, target = (
            np.concatenate([source[forth], target[back]]),
            np.concatenate([target[forth], source[back]]),
        )
        weight = None if weight is None else np.concatenate([weight[forth], weight[back]])
    return Graph.from_edges(source, target, weight, directed, rows * columns)


@naming_memory_errors
def skewed(
    num_vertices: int,
    heavy: int = 4,
    heavy_degree: int | None = None,
    light_degree: int = 2,
    seed: int = 0,
    *,
    directed: bool = True,
    weights: Range | None = None,
) -> Graph:
    """A few vertices with very many edges among many with few: work that is hard to share out among threads.

    Args:
        num_vertices: the number of vertices.
        heavy: the number of heavy vertices, chosen at random.
        heavy_degree: the number of edges that start at each heavy vertex; by default ``num_vertices``.
        light_degree: the number of edges that start at every other vertex. All targets are random.
        seed, directed, weights: as in `rmat`.

    Raises:
        GraphError: an argument out of range.
    """
    num_vertices = _checked("num_vertices", num_vertices, 1, 2**31 - 1)
    heavy = _checked("heavy", heavy, 0, num_vertices)
    heavy_degree = num_vertices if heavy_degree is None else heavy_degree
    light_degree = _checked("light_degree", light_degree, 0, 2**31 - 1)
    heavy_degree = _checked("heavy_degree", heavy_degree, 0, 2**31 - 1)
    _check_room("skewed", num_vertices, heavy * heavy_degree + (num_vertices - heavy) * light_degree)
    degree = np.full(num_vertices, light_degree)
    degree[_permutation(num_vertices, seed)[:heavy]] = heavy_degree
    source = np.repeat(np.arange(num_vertices, dtype=np.int32), degree)
    target = _integers(seed, _HEAVY, len(source), num_vertices)
    return _graph(source, target, num_vertices, seed, weights, directed, simple=False)


@naming_memory_errors
def star(num_vertices: int, *, seed: int = 0, directed: bool = True, weights: Range | None = None) -> Graph:
    """Edges from vertex 0 to every other one; weights as in `rmat`."""
    num_vertices = _checked("num_vertices", num_vertices, 1, 2**31 - 1)
    _check_room("star", num_vertices, num_vertices - 1)
    target = np.arange(1, num_vertices, dtype=np.int32)
    return _graph(np.zeros_like(target), target, num_vertices, seed, weights, directed, simple=False)


@naming_memory_errors
def path(num_vertices: int, *, seed: int = 0, directed: bool = True, weights: Range | None = None) -> Graph:
    """Edges from each vertex to the next; weights as in `rmat`."""
    num_vertices = _checked("num_vertices", num_vertices, 1, 2**31 - 1)
    _check_room("path", num_vertices, num_vertices - 1)
    vertices = np.arange(num_vertices, dtype=np.int32)
    return _graph(vertices[:-1], vertices[1:], num_vertices, seed, weights, directed, simple=False)


@naming_memory_errors
def cycle(num_vertices: int, *, seed: int = 0, directed: bool = True, weights: Range | None = None) -> Graph:
    """Edges from each vertex to the next, and from the last to the first; weights as in `rmat`."""
    num_vertices = _checked("num_vertices", num_vertices, 1, 2**31 - 1)
    _check_room("cycle", num_vertices, num_vertices - 1)
    vertices = np.arange(num_vertices, dtype=np.int32)
    return _graph(vertices, np.roll(vertices, -1), num_vertices, seed, weights, directed, simple=False)


def _graph(
    source: np.ndarray,
    target: np.ndarray,
    num_vertices: int,
    seed: int,
    weights: Range | None,
    directed: bool,
    simple: bool,
) -> Graph:
    """A graph of these edges, with weights drawn by their positions."""
    check_flags(GraphError, simple=simple)
    weight = _weights(weights, seed, len(source))
    return Graph.from_edges(
        source,
        target,
        weight,
        directed,
        num_vertices,
        parallel_edges="first" if simple else "keep",
        self_loops="drop" if simple else "keep",
    )


def _check_room(name: str, num_vertices: int, num_edges: int) -> None:
    """Refuse a graph if there is no memory for its rows, a column of its edges, and building the rows."""
    check_free(name, csr.building(num_vertices, num_edges, None, directed=True) + 4 * num_edges)


def _weights(bounds: Range | None, seed: int, count: int) -> np.ndarray | None:
    """Random weights from the smallest to the largest, integers both included."""
    if bounds is None:
        return None
    pair = isinstance(bounds, tuple | list) and len(bounds) == 2
    if not pair or not all(map(_is_finite, bounds)) or bounds[0] > bounds[1]:
        raise GraphError(f"weights is {shown(bounds)}; expected None, or the smallest and the largest weight")
    low, high = bounds
    if is_integer(low) and is_integer(high):
        low, high = (_checked("a weight", bound, -(2**63), 2**63 - 1) for bound in bounds)
        dtype = np.int32 if low >= -(2**31) and high < 2**31 else np.int64
        span = _checked("the number of different weights", high - low + 1, 1, 2**32)
        return (_integers(seed, _WEIGHT, count, span, np.int64) + low).astype(dtype)
    # NumPy rounds after each operation, where compiled code might fuse two of them.
    low, high = float(low), float(high)
    return low + (high - low) * (_integers(seed, _WEIGHT, count, 2**32, np.int64) * 2.0**-32)


def _is_finite(value: Any) -> bool:
    """Whether a value is a finite number that a float can hold."""
    try:
        return is_number(value) and math.isfinite(value)
    except OverflowError:
        return False


def _checked(name: str, value: Any, low: int, high: int) -> int:
    """The value, if it is an integer in the range; GraphError otherwise."""
    if not (is_integer(value) and low <= value <= high):
        raise GraphError(f"{name} is {shown(value)}; expected an integer from {low} to {high}")
    return int(value)


def _key(seed: int, stream: int) -> np.uint64:
    """Where the random numbers of one purpose start."""
    mixed = 0
    for part in (_checked("seed", seed, 0, 2**64 - 1), stream):
        mixed = int(mix64(np.uint64((mixed ^ part) + 0x9E3779B97F4A7C15 & (2**64 - 1))))
    return np.uint64(mixed)


def _integers(seed: int, stream: int, count: int, bound: int, dtype: type = np.int32) -> np.ndarray:
    """Random integers from 0 to ``bound - 1``, shape (count,); ``bound`` is at most 2**32."""
    numbers: np.ndarray = np.empty(count, dtype)
    launch(_draw, _key(seed, stream), np.uint64(bound), numbers, work=5 * count)
    return numbers


def _happens(share: float, name: str, seed: int, stream: int, count: int) -> np.ndarray:
    """Whether each of ``count`` events of this probability happens."""
    if not _is_finite(share) or not 0 <= share <= 1:
        raise GraphError(f"{name} is {shown(share)}; expected a share from 0 to 1")
    return _integers(seed, stream, count, 2**32, np.int64) < round(float(share) * 2**32)


def _permutation(count: int, seed: int) -> np.ndarray:
    """The numbers below ``count`` in a random order, int32."""
    order = np.argsort(_integers(seed, _LABEL, count, 2**32, np.int64), kind="stable")
    return sealed(order.astype(np.int32))


def _limits(probabilities: tuple[float, float, float, float]) -> np.ndarray:
    """The bounds between quadrants in a 32-bit range, uint64, shape (3,)."""
    several = isinstance(probabilities, tuple | list | np.ndarray) and getattr(probabilities, "ndim", 1) == 1
    four = several and len(probabilities) == 4 and all(map(_is_finite, probabilities))
    if not four or min(probabilities) < 0 or abs(sum(probabilities) - 1) > 1e-6:
        raise GraphError(
            f"probabilities are {shown(probabilities)}; expected four, none negative, that sum to 1"
        )
    ends = np.cumsum(probabilities[:3])
    return sealed(np.array([round(float(end) * 2**32) for end in ends], np.uint64))


@device_function
def _random(key: Any, position: Any) -> Any:
    """The 64 random bits of a position: SplitMix64, whose state after k steps is known without taking them."""
    return mix64(key + position * np.uint64(0x9E3779B97F4A7C15))


@team_kernel
def _draw(thread: Any, size: Any, control: Any, key: Any, bound: Any, numbers: Any) -> None:
    """Random integers below a bound of at most 2**32: the high word of 64 random bits times the bound."""
    low_half, half = np.uint64(0xFFFFFFFF), np.uint64(32)
    while True:
        start = claim(control, 0, _PIECE, len(numbers))
        if start >= len(numbers):
            return
        for i in range(np.uint64(start), np.uint64(min(start + _PIECE, len(numbers)))):
            bits = _random(key, i)
            numbers[i] = np.int64(((bits >> half) * bound + ((bits & low_half) * bound >> half)) >> half)


@device_function
def _rmat_edge(key: Any, levels: Any, low: Any, middle: Any, high: Any) -> Any:
    """One edge: two levels of quadrants from each 64 random bits."""
    one, half, low_half = np.uint64(1), np.uint64(32), np.uint64(0xFFFFFFFF)
    u, v = np.uint64(0), np.uint64(0)
    for pair in range(np.uint64(levels + 1) >> one):
        bits = _random(key, pair)
        for share in (bits >> half, bits & low_half):
            lower = np.uint64(share >= middle)
            u = (u << one) | lower
            v = (v << one) | (np.uint64(share >= low) ^ lower ^ np.uint64(share >= high))
    odd = np.uint64(levels) & one
    return u >> odd, v >> odd


@team_kernel
def _rmat(
    thread: Any,
    size: Any,
    control: Any,
    key: Any,
    levels: Any,
    limits: Any,
    num_vertices: Any,
    labels: Any,
    source: Any,
    target: Any,
) -> None:
    """Draw each edge until its ends are vertices, and give its ends their labels."""
    n, draws = np.uint64(num_vertices), np.uint64(_MAX_DRAWS)
    low, middle, high = limits[0], limits[1], limits[2]
    while True:
        start = claim(control, 0, _PIECE, len(source))
        if start >= len(source):
            return
        first, last = np.uint64(start), np.uint64(min(start + _PIECE, len(source)))
        for e in range(first, last):
            u, v = n, n
            for draw in range(draws):
                if u < n and v < n:
                    break
                u, v = _rmat_edge(_random(key, e * draws + draw), levels, low, middle, high)
            source[e] = np.int32(u if u < n else u % n)
            target[e] = np.int32(v if v < n else v % n)
        if labels is not None:
            for e in range(first, last):  # apart, so that the processor can wait for many labels at once
                u, v = labels[np.uint64(source[e])], labels[np.uint64(target[e])]
                source[e], target[e] = u, v
