"""Shortest paths: small graphs that expose bugs, drawn graphs, teams at work, planted errors, bad input."""

import heapq

import battery
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import edgewise as ew
from edgewise.algorithms.common.lengths import unreached_value
from edgewise.algorithms.sssp import cpu, cpu_bellman_ford, cpu_buckets, sssp
from edgewise.algorithms.sssp.asked import Asked
from edgewise.algorithms.sssp.path_tree import looking_for_cycle
from edgewise.algorithms.sssp.verify import verify_paths
from edgewise.algorithms.sssp.weights import narrow_dtype
from edgewise.errors import (
    GraphError,
    MemoryLimitError,
    NegativeCycleError,
    ParameterError,
    ScheduleError,
    VerificationError,
)
from edgewise.graph.csr import Rows
from edgewise.graph.ids import Ids

DTYPES = (np.int32, np.int64, np.float32, np.float64)


def from_one(source, distance):
    """What is asked for by a call from one source."""
    return Asked(np.array([source]), distance.dtype, unreached_value(distance.dtype))


def arcs_of(graph):
    """(source, target, weight), weights as NumPy scalars so that sums round as the graph's dtype does."""
    weights = np.ones(graph.num_arcs, np.int32) if graph.weights is None else graph.weights
    wide = weights if weights.dtype.kind == "f" else weights.astype(object)
    return list(zip(graph.sources.tolist(), graph.targets.tolist(), wide, strict=True))


def by_heap(graph, start):
    """Distances by Dijkstra's algorithm in plain Python."""
    rows = [[] for _ in range(graph.num_vertices)]
    for u, v, w in arcs_of(graph):
        rows[u].append((v, w))
    zero = 0 if graph.weights is None else graph.weights.dtype.type(0)
    distance, waiting = {start: zero}, [(zero, start)]
    while waiting:
        nearest, u = heapq.heappop(waiting)
        if nearest == distance[u]:
            for v, w in rows[u]:
                if v not in distance or nearest + w < distance[v]:
                    distance[v] = nearest + w
                    heapq.heappush(waiting, (distance[v], v))
    return distance


def by_rounds(graph, start):
    """Distances by n rounds over all arcs, or None if a negative cycle can be reached."""
    distance = {start: 0}
    for _ in range(graph.num_vertices + 1):
        before = dict(distance)
        for u, v, w in arcs_of(graph):
            if u in distance and (v not in distance or distance[u] + w < distance[v]):
                distance[v] = distance[u] + w
        if before == distance:
            return distance
    return None


def on_negative_walk(graph):
    """The vertices that a walk of negative weight leads back to, by all pairs (Floyd and Warshall)."""
    n = graph.num_vertices
    lengths = np.full((n, n), np.inf)
    np.minimum.at(lengths, (graph.sources, graph.targets), graph.weights)
    for k in range(n):
        lengths = np.minimum(lengths, lengths[:, [k]] + lengths[[k], :])
    return np.flatnonzero(np.diag(lengths) < 0).tolist()


def with_weights(graph, weights):
    """The same arcs with other weights."""
    weights = None if weights is None else np.asarray(weights)
    return ew.Graph.from_csr(graph.offsets, graph.targets, weights)


def expect_distances(result, expected):
    unreached = unreached_value(result.distance.dtype)
    assert result.distance.tolist() == [expected.get(v, unreached) for v in range(len(result.distance))]
    assert result.num_reached == len(expected)


def check(graph, start, expected, **options):
    """All numbers of threads give the same bits, which are right."""
    first, *others = [
        sssp(graph, graph.vertices[start], schedule=ew.Schedule(num_threads=threads), **options)
        for threads in (1, 2, 3)
    ]
    expect_distances(first, expected)
    assert first.verify(graph)
    for other in others:
        assert other.distance.tobytes() == first.distance.tobytes()
        assert other.parent_index.tobytes() == first.parent_index.tobytes()
    return first


SMALL = {name: graph for name, graph in battery.graphs().items() if graph.num_vertices}


@pytest.mark.parametrize("name", SMALL)
@pytest.mark.parametrize("dtype", [*DTYPES, None], ids=str)
def test_small_graphs(name, dtype, threads_even_for_small_graphs):
    graph = with_weights(SMALL[name], None if dtype is None else SMALL[name].weights.astype(dtype))
    start = int(np.argmax(graph.out_degree))
    result = check(graph, start, by_heap(graph, start))
    assert result.distance.dtype == (dtype or np.int32)
    assert result.parent_index.dtype == np.int32
    last = graph.num_vertices - 1
    check(graph, last, by_heap(graph, last))


@settings(max_examples=150, deadline=None, derandomize=True)
@given(
    n=battery.sizes(40),
    share=st.floats(0, 4),
    seed=st.integers(0, 2**32),
    dtype=st.sampled_from(DTYPES),
    top=st.sampled_from([0, 1, 2, 10, 1000]),
    fraction=st.sampled_from([1, 3, 10]),
    directed=st.booleans(),
    delta=st.sampled_from(["auto", 1e-9, 0.5, 3, 1e9]),
)
def test_drawn_graphs(n, share, seed, dtype, top, fraction, directed, delta):
    rng = np.random.default_rng(seed)
    edges = rng.integers(0, n, (2, int(n * share)))
    weights = (rng.integers(0, top + 1, edges.shape[1]) / (fraction if dtype(0.5) else 1)).astype(dtype)
    graph = ew.Graph.from_edges(*edges, weights, directed=directed, num_vertices=n)
    result = sssp(graph, 0, delta=delta)
    expect_distances(result, by_heap(graph, 0))
    assert result.verify(graph)


@settings(max_examples=150, deadline=None, derandomize=True)
@given(
    n=st.integers(1, 12),
    share=st.floats(0, 4),
    seed=st.integers(0, 2**32),
    dtype=st.sampled_from(DTYPES),
    least=st.sampled_from([-1, -3]),
    balanced=st.booleans(),
)
def test_drawn_graphs_with_negative_weights(n, share, seed, dtype, least, balanced):
    rng = np.random.default_rng(seed)
    source, target = rng.integers(0, n, (2, int(n * share)))
    weights = rng.integers(least, 20, len(source))
    if balanced:  # every cycle keeps a weight of at least 0, often 0
        height = rng.integers(0, 50, n)
        weights = rng.integers(0, 3, len(source)) + height[target] - height[source]
    graph = ew.Graph.from_edges(source, target, weights.astype(dtype), num_vertices=n)
    expected = by_rounds(graph, 0)
    if expected is None:
        with pytest.raises(NegativeCycleError) as error:
            sssp(graph, 0)
        assert int(str(error.value).split()[2]) in on_negative_walk(graph)
    else:
        result = sssp(graph, 0)
        expect_distances(result, expected)
        assert result.verify(graph)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("delta", ["auto", 0.01, 1e9])
def test_threads_share_the_work(dtype, delta):
    """Large buckets, work that is taken over, entries far ahead of the ring."""
    graph = ew.generate.rmat(13, 8, seed=3)
    weights = np.random.default_rng(1).integers(1, 200, graph.num_arcs).astype(dtype)
    graph = with_weights(graph, weights)
    start = int(np.argmax(graph.out_degree))
    result = check(graph, start, by_heap(graph, start), delta=delta)
    tight = result.distance[graph.sources] + weights == result.distance[graph.targets]
    tight &= result.distance[graph.sources] < result.distance[graph.targets]
    lowest = np.full(graph.num_vertices, graph.num_vertices)
    np.minimum.at(lowest, graph.targets[tight], graph.sources[tight])
    np.testing.assert_array_equal(result.parent_index, np.where(lowest < len(lowest), lowest, -1))


@pytest.mark.parametrize("dtype", DTYPES)
def test_zero_and_negative_weights_on_teams(dtype):
    rng = np.random.default_rng(2)
    n, m = 6000, 40000
    source, target = rng.integers(0, n, (2, m))
    zeros = ew.Graph.from_edges(source, target, rng.integers(0, 3, m).astype(dtype), num_vertices=n)
    check(zeros, 5, by_heap(zeros, 5))
    height = rng.integers(0, 50, n)
    weights = rng.integers(0, 3, m) + height[target] - height[source]
    negative = ew.Graph.from_edges(source, target, weights.astype(dtype), num_vertices=n)
    reduced = by_heap(
        ew.Graph.from_edges(source, target, weights - height[target] + height[source], num_vertices=n), 5
    )
    expected = {v: distance + int(height[v]) - int(height[5]) for v, distance in reduced.items()}
    result = check(negative, 5, expected)
    assert "Bellman-Ford" in result.explain()


@pytest.mark.parametrize("threads", [1, 3])
def test_entries_that_do_not_fit_are_found_again(threads, monkeypatch):
    def few(num_vertices, num_threads):
        return num_vertices // cpu_buckets.CHUNK + 2 * num_threads + 2

    monkeypatch.setattr(cpu_buckets, "bucket_chunks", few)
    monkeypatch.setattr(cpu, "bucket_chunks", few)
    rng = np.random.default_rng(4)
    source, target = rng.integers(0, 2000, (2, 100_000))
    graph = ew.Graph.from_edges(source, target, rng.integers(1, 10**6, 100_000), num_vertices=2000)
    result = sssp(graph, 0, delta=1e12, schedule=ew.Schedule(num_threads=threads))
    assert "made anew" in result.explain()
    expect_distances(result, by_heap(graph, 0))
    assert result.verify(graph)


@pytest.mark.more
def test_long_paths():
    n = 20_000
    path = ew.Graph.from_edges(np.arange(n - 1), np.arange(1, n), np.full(n - 1, 3, np.int32))
    assert check(path, 0, {v: 3 * v for v in range(n)}).parent[:3].tolist() == [-1, 0, 1]
    still = with_weights(path, np.zeros(n - 1))
    result = check(still, 0, dict.fromkeys(range(n), 0))
    assert result.parent_index[1:].tolist() == list(range(n - 1))


def test_offsets_of_64_bits():
    narrow = SMALL["larger than one range"]
    offsets = narrow.offsets.astype(np.int64)
    rows = Rows(offsets, narrow.targets, narrow.weights)
    wide = ew.Graph(rows, Ids(narrow.num_vertices), True, narrow.num_arcs)
    assert wide.offsets.dtype == np.int64
    check(wide, 7, by_heap(narrow, 7))
    rows = Rows(offsets, narrow.targets, -narrow.weights)
    negative = ew.Graph(rows, Ids(narrow.num_vertices), True, narrow.num_arcs)
    with pytest.raises(NegativeCycleError):
        sssp(negative, 7)


def test_integers_do_not_overflow():
    half = 2**30
    graph = ew.Graph.from_edges([0, 1, 2], [1, 2, 3], np.array([half] * 3, np.int32))
    result = sssp(graph, 0)
    assert result.distance.dtype == np.int64
    assert result.distance.tolist() == [0, half, 2 * half, 3 * half]
    assert result.verify(graph)
    large = with_weights(graph, np.array([2**60] * 3))
    assert sssp(large, 0).distance.tolist() == [0, 2**60, 2**61, 3 * 2**60]
    assert sssp(large, 1).distance[0] == np.iinfo(np.int64).max
    with pytest.raises(GraphError, match="could sum to more than int64 holds"):
        sssp(with_weights(graph, np.array([2**62] * 3)), 0)
    with pytest.raises(GraphError, match="could sum to more than int64 holds"):
        sssp(with_weights(graph, np.array([-(2**62)] * 3)), 0)
    huge = with_weights(graph, np.array([1e308] * 3))
    assert sssp(huge, 2).num_reached == 2
    assert sssp(huge, 2).verify(huge)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("sign", [1, -1])
def test_floats_that_overflow_are_not_taken_for_unreached(dtype, sign):
    large = np.finfo(dtype).max * dtype(0.7) * sign
    graph = ew.Graph.from_edges(list("abcx"), list("bcdy"), np.array([large, large, 1, 1], dtype))
    with pytest.raises(
        GraphError, match=f"vertex 'c' can be reached from 'a', .* more than {dtype.__name__} holds"
    ):
        sssp(graph, "a")
    apart = sssp(graph, "b")
    assert apart.num_reached == 3 and apart.verify(graph)
    assert sssp(graph, "x").distance[graph.index_of("y")] == 1
    distance, parent = (
        np.array([0, large, np.inf, np.inf, np.inf, np.inf], dtype),
        np.array([-1, 0, -1, -1, -1, -1]),
    )
    order = graph.index_of(list("abcdxy"))
    distances, parents = np.empty_like(distance), np.empty(6, np.int32)
    distances[order], parents[order] = distance, np.where(parent < 0, -1, order[0])
    with pytest.raises(VerificationError, match="vertex 'c' with distance inf: an edge"):
        verify_paths(graph, from_one(order[0], distances), distances, parents)


@pytest.mark.parametrize("delta", ["auto", 5e-324, 1.0])
def test_weights_below_normal_floats(delta):
    least = 5e-324
    graph = ew.Graph.from_edges(
        [0, 0, 0, 1, 1, 2], [1, 1, 1, 2, 2, 3], [least, least, 2 * least, 3 * least, least, 0.0]
    )
    check(graph, 0, {0: 0, 1: least, 2: 2 * least, 3: 2 * least}, delta=delta)
    many = ew.Graph.from_edges([0] * 50, [1] * 50, [least] * 50)
    check(many, 0, {0: 0, 1: least}, delta=delta)


def test_sums_that_rounding_leaves_as_they_are():
    graph = ew.Graph.from_edges([0, 1, 2, 3], [1, 2, 3, 1], np.array([1e9, 1e-3, 1e-3, 1e-3], np.float32))
    result = sssp(graph, 0)
    assert result.distance.tolist() == [0, 1e9, 1e9, 1e9]
    assert result.parent_index.tolist() == [-1, 0, 1, 2]
    assert result.verify(graph)


def test_ids_of_all_kinds():
    named = ew.Graph.from_edges(["a", "b", "c"], ["b", "d", "a"], [1.5, 2.0, 1.0])
    result = sssp(named, "a")
    assert result.source == "a"
    assert result.parent.tolist() == ["", "a", "b", ""]
    assert result.columns()["distance"].tolist() == [0.0, 1.5, 3.5, np.inf]
    numbered = ew.Graph.from_edges([10, 30], [30, 20])
    result = sssp(numbered, 30)
    assert dict(zip(numbered.vertices.tolist(), result.parent.tolist(), strict=True)) == {
        10: -1,
        20: 30,
        30: -1,
    }
    assert result.distance.tolist() == [2**31 - 1, 1, 0]
    with pytest.raises(NegativeCycleError, match=r"vertex 'b' is on a cycle of negative weight .* from 'a'"):
        sssp(ew.Graph.from_edges(["a", "c", "b"], ["c", "b", "b"], [1, 1, -1]), "a")
    with pytest.raises(NegativeCycleError):
        sssp(ew.Graph.from_edges(["a", "b"], ["b", "c"], [1, -1], directed=False), "a")
    apart = ew.Graph.from_edges(["a", "c"], ["b", "c"], [1, -1])
    assert sssp(apart, "a").distance[:2].tolist() == [0, 1]


#: 0 -> 1 -> 2 -> 3 and a ring of zero weights 1 -> 2 -> 4 -> 1, with 5 out of reach.
RING = ew.Graph.from_edges([0, 1, 2, 4, 2, 5], [1, 2, 4, 1, 3, 0], [3, 0, 0, 0, 2, 1])
RING_DISTANCE, RING_PARENT = [0, 3, 3, 5, 3, 2**63 - 1], [-1, 0, 1, 2, 2, -1]


@pytest.mark.parametrize(
    ("weights", "dtype", "narrow"),
    [
        ([0, 255], np.int32, np.uint8),
        ([0, 255], np.int64, np.uint8),
        ([1, 256], np.int32, np.uint16),
        ([1, 2**16 - 1], np.int64, np.uint16),
        ([1, 2**16], np.int32, np.int32),
        ([1, 2**16], np.int64, np.int64),
        ([1, 2], np.float32, np.float32),
        (None, None, None),
    ],
)
def test_the_narrowest_dtype_of_weights(weights, dtype, narrow):
    weights = None if weights is None else np.array(weights, dtype)
    assert narrow_dtype(ew.Graph.from_edges([0, 1], [1, 0], weights)) == narrow


def test_ring_of_zero_weights():
    result = sssp(RING, 0)
    assert result.distance.tolist() == RING_DISTANCE
    assert result.parent_index.tolist() == RING_PARENT
    assert result.verify(RING)


@pytest.mark.parametrize(
    ("distance", "parent", "problem"),
    [
        ({3: 4}, {}, "vertex 3 with distance 4: expected that of an edge from its parent"),
        ({3: 6}, {}, "vertex 3 with distance 6: an edge gives it a smaller distance"),
        ({0: 1, 1: 4, 2: 4, 4: 4, 3: 6}, {}, "vertex 0 with distance 1: expected 0 at the source"),
        ({3: 2**63 - 1}, {3: -1}, "vertex 3 .* an edge gives it a smaller distance"),
        ({5: 7}, {}, "vertex 5 with distance 7: expected a parent"),
        ({5: 7}, {5: 0}, "vertex 5 with distance 7: expected that of an edge from its parent"),
        ({}, {1: 4}, "expected parents that lead to the source"),
        ({1: 0, 2: 0, 4: 0, 3: 2}, {1: 4}, "expected parents that lead to the source"),
        ({}, {3: 1}, "vertex 3 with distance 5: expected that of an edge from its parent"),
        ({}, {3: -1}, "vertex 3 with distance 5: expected a parent where"),
        ({}, {5: 0}, "vertex 5 .* expected a parent where"),
        ({}, {0: 5}, "vertex 0 with distance 0: expected a parent where"),
        ({}, {3: 6}, "vertex 3 .* expected a parent that is in the graph"),
    ],
)
def test_planted_errors_are_rejected(distance, parent, problem):
    distances, parents = np.array(RING_DISTANCE), np.array(RING_PARENT, np.int32)
    assert verify_paths(RING, from_one(0, distances), distances, parents)
    for array, changes in ((distances, distance), (parents, parent)):
        array[list(changes)] = list(changes.values())
    with pytest.raises(VerificationError, match=problem):
        verify_paths(RING, from_one(0, distances), distances, parents)


def test_planted_errors_in_floats_are_rejected():
    graph = with_weights(RING, RING.weights / np.float32(3))
    result = sssp(graph, 0)
    assert result.verify(graph)
    right = result.distance[3]
    for wrong in (np.nextafter(right, 0), np.nextafter(right, 9), np.nan):
        result.distance[3] = wrong
        with pytest.raises(VerificationError, match="vertex 3"):
            result.verify(graph)
    result.distance[3] = right
    other = ew.Graph.from_edges([0], [1])
    with pytest.raises(VerificationError, match="6 distances and 6 parents, but 2 vertices"):
        result.verify(other)


@pytest.mark.parametrize(
    ("options", "error", "problem"),
    [
        ({"source": 77}, GraphError, "no vertex 77"),
        ({"source": "a"}, GraphError, "no vertex 'a'"),
        ({"delta": 0}, ParameterError, "delta is 0; expected a positive number"),
        ({"delta": float("nan")}, ParameterError, "delta is nan"),
        ({"delta": float("inf")}, ParameterError, "delta is inf"),
        ({"delta": "wide"}, ParameterError, "delta is 'wide'"),
        ({"delta": True}, ParameterError, "delta is True; expected a positive number"),
        ({"delta": 10**400}, ParameterError, "delta is an integer of 1,329 bits; expected a positive number"),
        ({"delta": 1j}, ParameterError, "delta is 1j; expected"),
        ({"delta": np.ones(2)}, ParameterError, r"delta is array.* expected a positive number"),
        ({"device": "tpu"}, ScheduleError, "device is 'tpu'"),
        ({"schedule": ew.Schedule(delivery=ew.Pull())}, ScheduleError, "this algorithm has Push"),
        ({"memory_limit": 10}, MemoryLimitError, "the limit is 10"),
    ],
)
def test_bad_input(options, error, problem):
    with pytest.raises(error, match=problem):
        sssp(RING, **{"source": 0, **options})


def test_no_vertices():
    with pytest.raises(GraphError, match="it has no vertices"):
        sssp(battery.graphs()["no vertices"], 0)


def test_progress_counts_supersteps():
    graph = ew.generate.lattice(300, 300, seed=1)
    seen = []
    result = sssp(graph, 0, delta=0.5, progress=seen.append)
    assert all(0 <= done <= result.supersteps for done in seen)
    assert result.supersteps > 10


@pytest.mark.parametrize("dtype", DTYPES)
def test_memory_of_a_search_with_negative_weights_is_that_of_its_arrays(dtype):
    n, dtype = 1000, np.dtype(dtype)
    said = cpu_bellman_ford.searching(n, dtype)
    search = cpu_bellman_ford.make_search(
        n, np.array([0]), dtype.type(np.inf if dtype.kind == "f" else np.iinfo(dtype).max)
    )
    arrays = sum(array.nbytes for array in search) - search.words.nbytes
    assert said.most == arrays + looking_for_cycle(n)
    assert said.kept == search.distance.nbytes + search.parent.nbytes
