"""Generators: the same graph on every machine, and the shape that each promises."""

import hashlib
from typing import Any
from unittest import mock

import numpy as np
import pytest

from edgewise import generate
from edgewise.errors import GraphError, MemoryLimitError
from edgewise.graph import Graph

GTGRAPH = (0.45, 0.15, 0.15, 0.25)

#: Graphs that must never change: measurements and golden answers of others rest on them.
FIXED = {
    "rmat": lambda: generate.rmat(8, 8, seed=1, weights=(1, 100)),
    "rmat of any size": lambda: generate.rmat(num_vertices=300, edge_factor=5, seed=2, weights=(0.0, 1.0)),
    "rmat simple": lambda: generate.rmat(9, 16, GTGRAPH, 3, simple=True, weights=(1, 100)),
    "rmat unshuffled": lambda: generate.rmat(7, 4, GTGRAPH, 4, shuffle=False, directed=False),
    "uniform": lambda: generate.uniform(1000, 5000, 5, weights=(-(2**40), -(2**40) + 9)),
    "lattice": lambda: generate.lattice(20, 30, 0.1, 0.3, 6, weights=(1, 100)),
    "lattice undirected": lambda: generate.lattice(20, 30, 0.5, seed=7, directed=False),
    "skewed": lambda: generate.skewed(500, heavy=3, seed=8),
    "star": lambda: generate.star(50, weights=(1, 5), seed=9),
    "path": lambda: generate.path(50, weights=(1, 5), seed=10),
    "cycle": lambda: generate.cycle(50, directed=False),
}
DIGESTS = {
    "rmat": "4dbe1537b3db568e",
    "rmat of any size": "2143ff6367708b0d",
    "rmat simple": "24997a751deac94d",
    "rmat unshuffled": "fc94bfc56ca213cc",
    "uniform": "4a617ecc39f76a23",
    "lattice": "f4d611568978ad34",
    "lattice undirected": "1004df856750761f",
    "skewed": "d1e71def593b0940",
    "star": "0f119866483ecb52",
    "path": "7131e111c9039603",
    "cycle": "de949e44c71cc7fa",
}


def digest(graph: Graph) -> str:
    """A hash of the offsets, targets and weights as little-endian numbers."""
    found = hashlib.sha256()
    for array in (graph.offsets, graph.targets, graph.weights):
        if array is not None:
            found.update(np.ascontiguousarray(array, array.dtype.newbyteorder("<")).tobytes())
    return found.hexdigest()[:16]


@pytest.mark.parametrize("name", FIXED)
def test_the_same_on_every_machine(name: str) -> None:
    assert digest(FIXED[name]()) == DIGESTS[name]


@pytest.mark.parametrize("threads", [1, 3])
def test_the_same_with_any_number_of_threads(threads: int) -> None:
    with mock.patch.dict("os.environ", EDGEWISE_NUM_THREADS=str(threads)):
        assert digest(generate.rmat(14, 8, seed=1)) == "163496661ac9aae6"


def python_random(seed: int, stream: int, position: int) -> int:
    """The definition of the random numbers, in integers of Python."""
    mask, step = 2**64 - 1, 0x9E3779B97F4A7C15

    def mix(x: int) -> int:
        x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9 & mask
        x = (x ^ x >> 27) * 0x94D049BB133111EB & mask
        return x ^ x >> 31

    key = mix((mix(seed + step & mask) ^ stream) + step & mask)
    return mix(key + position * step & mask)


@pytest.mark.parametrize("seed", [0, 1, 2**64 - 1])
@pytest.mark.parametrize("bound", [1, 10, 2**31 - 1, 2**32])
def test_random_integers_by_their_definition(seed: int, bound: int) -> None:
    numbers = generate._integers(seed, 5, 20, bound, np.int64)
    assert numbers.tolist() == [python_random(seed, 5, i) * bound >> 64 for i in range(20)]


def test_seeds_make_different_graphs() -> None:
    assert len({digest(generate.rmat(8, seed=seed)) for seed in (0, 1, 2, 2**64 - 1)}) == 4
    assert len({digest(generate.uniform(100, 500, seed)) for seed in range(4)}) == 4


def test_rmat_probabilities_of_every_level() -> None:
    """Unshuffled, each bit of source and target is one of two levels' quadrants: count them all."""
    levels = 12
    graph = generate.rmat(levels, 64, (0.4, 0.3, 0.2, 0.1), seed=3, shuffle=False)
    assert graph.num_edges == 64 << levels
    sources, targets = graph.sources, graph.targets
    for level in range(levels):
        quadrant = 2 * (sources >> level & 1) + (targets >> level & 1)
        share = np.bincount(quadrant, minlength=4) / graph.num_edges
        assert np.allclose(share, (0.4, 0.3, 0.2, 0.1), atol=0.004), level


def test_rmat_of_any_number_of_vertices() -> None:
    for n in (1, 2, 3, 700, 1000):
        graph = generate.rmat(num_vertices=n, edge_factor=3, seed=n)
        assert (graph.num_vertices, graph.num_edges) == (n, 3 * n)
    corner = generate.rmat(num_vertices=5, edge_factor=2, probabilities=(0, 0, 0, 1))
    assert corner.num_edges == 10


def test_rmat_is_skewed_and_its_ids_are_shuffled() -> None:
    graph = generate.rmat(14, 16, seed=5)
    heaviest = np.argsort(graph.out_degree)[-100:]
    assert graph.out_degree.max() > 40 * 16
    assert 0.4 < heaviest.mean() / graph.num_vertices < 0.6
    plain = generate.rmat(14, 16, seed=5, shuffle=False)
    assert sorted(plain.out_degree) == sorted(graph.out_degree)


@pytest.mark.parametrize(
    "make",
    [
        lambda: generate.rmat(26),
        lambda: generate.uniform(10, 10**12),
        lambda: generate.uniform(2**31 - 1, 10),
        lambda: generate.lattice(40_000, 40_000, weights=(1, 9)),
        lambda: generate.skewed(10**9),
        lambda: generate.skewed(1000, heavy=1000, heavy_degree=2**31 - 1),
        lambda: generate.star(2**31 - 1),
        lambda: generate.path(2**31 - 1),
        lambda: generate.cycle(2**31 - 1, directed=False),
        lambda: Graph.from_edges([0], [1], num_vertices=2**31 - 2),
        lambda: Graph.from_edges([0], [1], num_vertices=2**28, parallel_edges="sum"),
    ],
)
def test_graphs_beyond_memory_are_refused(make: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("edgewise.memory.free_memory", lambda: 4 * 10**9)
    with pytest.raises(
        MemoryLimitError, match=r" needs at least [\d,]+ bytes of memory; 4,000,000,000 are free"
    ):
        make()


def test_a_lack_of_memory_on_the_way_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    def build(*arguments: Any, **options: Any) -> None:
        raise MemoryError("Unable to allocate 3 GiB")

    monkeypatch.setattr("edgewise.graph.csr.build_rows", build)
    with pytest.raises(MemoryLimitError, match=r"from_edges needs more .* \(Unable to allocate 3 GiB\)"):
        Graph.from_edges([0], [1])
    monkeypatch.setattr(Graph, "from_edges", build)
    with pytest.raises(MemoryLimitError, match="path needs more memory than the system gives"):
        generate.path(5)


def test_simple_graphs() -> None:
    graph = generate.rmat(10, 32, seed=1, simple=True, directed=False, weights=(1, 9))
    assert not np.any(graph.sources == graph.targets)
    pairs = graph.sources.astype(np.int64) * graph.num_vertices + graph.targets
    assert len(np.unique(pairs)) == graph.num_arcs < 2 * 32 << 10
    assert np.array_equal(graph.weights[graph.in_arcs], graph.in_weights)
    uniform = generate.uniform(50, 2000, simple=True)
    assert uniform.num_edges < 2000
    assert not np.any(uniform.sources == uniform.targets)


def test_uniform_reaches_every_vertex_alike() -> None:
    graph = generate.uniform(100, 100_000, seed=4)
    for degree in (graph.out_degree, graph.in_degree):
        assert abs(degree - 1000).max() < 5 * np.sqrt(1000)


def test_lattice() -> None:
    whole = generate.lattice(30, 40, removed=0)
    assert whole.num_edges == 2 * (29 * 40 + 30 * 39)
    step = abs(whole.sources - whole.targets)
    assert set(step.tolist()) == {1, 40}
    assert not np.any((step == 1) & (np.minimum(whole.sources, whole.targets) % 40 == 39))
    assert generate.lattice(30, 40, removed=1).num_edges == 0
    assert generate.lattice(1, 1).num_vertices == 1


def test_lattice_removes_and_turns_streets() -> None:
    streets = 199 * 200 * 2
    kept = generate.lattice(200, 200, removed=0.1, directed=False).num_edges
    assert abs(kept / streets - 0.9) < 0.01
    graph = generate.lattice(200, 200, removed=0.0, one_way=0.4, seed=2, weights=(1, 1000))
    assert abs(graph.num_edges / streets - 1.6) < 0.02
    matrix = graph.to_scipy()
    both = matrix.multiply(matrix.T.astype(bool))
    assert (both != both.T).nnz == 0
    forth = np.count_nonzero(graph.targets > graph.sources)
    assert abs(forth / graph.num_edges - 0.5) < 0.01


def test_skewed() -> None:
    graph = generate.skewed(1000, heavy=3, heavy_degree=5000, light_degree=2, seed=1)
    assert sorted(graph.out_degree.tolist()) == [2] * 997 + [5000] * 3
    assert generate.skewed(10, heavy=2).out_degree.max() == 10


def test_star_path_cycle() -> None:
    star, path, cycle = generate.star(4), generate.path(4), generate.cycle(4)
    assert list(zip(star.sources, star.targets, strict=True)) == [(0, 1), (0, 2), (0, 3)]
    assert list(zip(path.sources, path.targets, strict=True)) == [(0, 1), (1, 2), (2, 3)]
    assert list(zip(cycle.sources, cycle.targets, strict=True)) == [(0, 1), (1, 2), (2, 3), (3, 0)]
    assert generate.path(3, directed=False).targets.tolist() == [1, 0, 2, 1]
    for make in (generate.star, generate.path):
        assert (make(1).num_vertices, make(1).num_edges) == (1, 0)
    assert generate.cycle(1).targets.tolist() == [0]


@pytest.mark.parametrize(
    ("bounds", "dtype"),
    [
        ((1, 3), np.int32),
        ((-5, -5), np.int32),
        ((2**31 - 1, 2**31), np.int64),
        ((0.5, 1.5), np.float64),
        ((0, 0.5), np.float64),
    ],
)
def test_weights(bounds: Any, dtype: Any) -> None:
    weights = generate.uniform(10, 3000, weights=bounds).weights
    assert weights is not None
    assert weights.dtype == dtype
    assert bounds[0] <= weights.min() <= weights.max() <= bounds[1]
    if dtype is np.float64:
        assert abs(weights.mean() - sum(bounds) / 2) < 0.02
    else:
        assert set(weights.tolist()) == set(range(bounds[0], bounds[1] + 1))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: generate.rmat(), "scale=None, num_vertices=None"),
        (lambda: generate.rmat(3, num_vertices=8), "scale=3, num_vertices=8"),
        (lambda: generate.rmat(31), "scale is 31; expected an integer from 0 to 30"),
        (lambda: generate.rmat(2.0), r"scale is 2\.0"),
        (lambda: generate.rmat(num_vertices=0), "num_vertices is 0"),
        (lambda: generate.rmat(3, -1), "the number of edges is -8"),
        (lambda: generate.rmat(3, 4, (0.5, 0.5, 0.5, 0.5)), "sum to 1"),
        (lambda: generate.rmat(3, 4, (0.5, 0.5)), "expected four"),
        (lambda: generate.rmat(3, 4, (1.5, -0.5, 0, 0)), "none negative"),
        (lambda: generate.rmat(3, seed=-1), "seed is -1"),
        (lambda: generate.rmat(3, seed=2**64), "seed is 18446744073709551616"),
        (lambda: generate.rmat(3, weights=(2, 1)), r"weights is \(2, 1\)"),
        (lambda: generate.rmat(3, weights=5), "weights is 5"),
        (lambda: generate.rmat(3, weights=(0, 2**33)), "number of different weights"),
        (lambda: generate.rmat(3, weights=(0.0, float("inf"))), "weights is"),
        (lambda: generate.uniform(0, 5), "num_vertices is 0"),
        (lambda: generate.uniform(5, -5), "num_edges is -5"),
        (lambda: generate.lattice(0, 5), "rows is 0"),
        (lambda: generate.lattice(2**16, 2**16), r"rows \* columns is 4294967296"),
        (lambda: generate.lattice(5, 5, removed=1.5), r"removed is 1\.5"),
        (lambda: generate.lattice(5, 5, one_way=-1), "one_way is -1"),
        (lambda: generate.lattice(5, 5, one_way=0.5, directed=False), "expected directed=True"),
        (lambda: generate.skewed(5, heavy=6), "heavy is 6"),
        (lambda: generate.skewed(5, light_degree=-1), "light_degree is -1"),
        (lambda: generate.star(0), "num_vertices is 0"),
        (lambda: generate.path(0), "num_vertices is 0"),
        (lambda: generate.cycle(0), "num_vertices is 0"),
    ],
)
def test_arguments_that_are_refused(make: Any, message: str) -> None:
    with pytest.raises(GraphError, match=message):
        make()


@pytest.mark.parametrize(
    "make",
    [
        lambda: generate.rmat(3, probabilities=(0.5, 0.5, float("nan"), 0)),
        lambda: generate.rmat(4, float("nan")),
        lambda: generate.lattice(5, 5, "a"),
        lambda: generate.path(5, weights=(1, "x")),
    ],
)
def test_values_that_are_no_numbers_are_refused(make):
    with pytest.raises(GraphError, match="expected"):
        make()


@pytest.mark.parametrize("kind", [np.int8, np.int32, np.uint32, np.int64, np.uint64])
def test_integers_of_numpy_are_integers(kind):
    five = kind(5)
    for made in (
        lambda n: generate.rmat(n, n, seed=n),
        lambda n: generate.rmat(num_vertices=n, edge_factor=n, weights=(n, n)),
        lambda n: generate.uniform(n, n, n),
        lambda n: generate.lattice(n, n, seed=n),
        lambda n: generate.skewed(n, n, n, n, n),
        lambda n: generate.star(n, seed=n),
    ):
        one, other = made(five), made(5)
        assert np.array_equal(one.targets, other.targets) and one.num_vertices == other.num_vertices
        assert (one.weights is None) == (other.weights is None)
        assert one.weights is None or np.array_equal(one.weights, other.weights)
