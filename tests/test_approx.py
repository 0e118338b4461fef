"""Approximate graphs: what is added, what stays exact, and how answers are compared."""

import itertools

import networkx as nx
import numpy as np
import pytest
from battery import graphs as battery_graphs

import edgewise as ew
from edgewise.approx.degree import edges_wanted, order_by_degree
from edgewise.approx.measure import compare
from edgewise.errors import GraphError, GraphTypeError, ParameterError

GRAPHS = {
    "skewed": lambda: ew.generate.rmat(9, 6, seed=1, weights=(1, 100)),
    "skewed, floats": lambda: ew.generate.rmat(8, 4, seed=2, weights=(0.0, 1.0)),
    "skewed both ways": lambda: ew.generate.rmat(8, 5, seed=3, directed=False, weights=(1, 9)),
    "streets": lambda: ew.generate.lattice(20, 25, removed=0.2, one_way=0.3, seed=4, weights=(1, 9)),
    "no weights": lambda: ew.generate.rmat(8, 6, seed=5),
    "no weights both ways": lambda: ew.generate.rmat(8, 4, seed=6, directed=False),
}
KNOBS = {"threshold": 0.6, "fill": 1.0, "budget": 1.0}
#: Each technique with knobs that add edges, and with those that add none.
TECHNIQUES = {
    "degrees": (ew.approx.normalize_degrees, KNOBS, {"threshold": 0, "budget": 1.0}),
    "clusters": (
        ew.approx.form_clusters,
        {"threshold": 0.3, "margin": 0.3, "budget": 1.0},
        {"threshold": 1.01, "margin": 1.0, "budget": 1.0},
    ),
}


@pytest.fixture(params=GRAPHS)
def graph(request):
    return GRAPHS[request.param]()


@pytest.fixture(params=TECHNIQUES)
def technique(request):
    """A function, and its knobs."""
    return TECHNIQUES[request.param]


def arcs_of(graph):
    """The weights of arcs by their ends, as the user's ids."""
    ids, weights = graph.vertices, graph.weights
    ends = zip(ids[graph.sources].tolist(), ids[graph.targets].tolist(), strict=True)
    found = {}
    for i, pair in enumerate(ends):
        found.setdefault(pair, []).append(None if weights is None else weights[i].item())
    return found


def test_all_edges_are_there_and_added_ones_are_paths_of_two(graph, technique):
    made = technique[0](graph, **technique[1])
    before, after = arcs_of(graph), arcs_of(made.graph)
    assert made.num_added > 0
    steps = {}
    for (u, x), weights in before.items():
        steps.setdefault(u, []).extend((x, weight) for weight in weights)
    added = 0
    for (u, w), weights in after.items():
        if (u, w) in before:
            assert weights == before[u, w]
            continue
        assert u != w and len(weights) == 1
        lengths = [
            None if first is None else np.asarray(first + second, graph.weight_dtype).item()
            for x, first in steps[u]
            for y, second in steps.get(x, ())
            if y == w
        ]
        if graph.weights is not None and graph.weight_dtype.kind == "f":
            assert np.isclose(weights[0], lengths).any()
        else:
            assert weights[0] in lengths
        added += 1
    assert set(before) <= set(after)
    assert added == made.num_added * (1 if graph.directed else 2)
    assert made.graph.directed == graph.directed
    assert sorted(made.graph.vertices.tolist()) == sorted(graph.vertices.tolist())


def test_rows_keep_their_own_arcs_in_front(graph, technique):
    made = technique[0](graph, **technique[1])
    place = np.empty_like(made.order)
    place[made.order] = np.arange(len(place))
    for new, old in enumerate(made.order.tolist()):
        row = graph.targets[graph.offsets[old] : graph.offsets[old + 1]]
        there = made.graph.targets[made.graph.offsets[new] :][: len(row)]
        np.testing.assert_array_equal(there, place[row])


def test_degrees_are_filled_as_asked():
    degree = np.array([16, 12, 11, 4, 0, 10, 9, 8])
    assert edges_wanted(degree, 0.3, 0.85, 4).tolist() == [0, 1, 0, 0, 0, 0, 0, 0]
    assert edges_wanted(degree, 0.4, 0.85, 4).tolist() == [0, 1, 2, 0, 0, 0, 0, 0]
    assert edges_wanted(degree, 0.4, 1.0, 4).tolist() == [0, 4, 5, 0, 0, 0, 1, 2]
    assert edges_wanted(degree, 0.0, 1.0, 4).tolist() == [0] * 8
    assert edges_wanted(degree, 1.0, 1.0, 8).tolist() == [0, 4, 5, 12, 16, 6, 7, 8]
    assert edges_wanted(np.zeros(3, np.int64), 1.0, 1.0, 2).tolist() == [0, 0, 0]
    assert edges_wanted(np.zeros(0, np.int64), 1.0, 1.0, 2).tolist() == []


def test_vertices_of_similar_degree_lie_side_by_side():
    order = order_by_degree(np.array([0, 1, 2, 3, 4, 7, 8, 1, 0, 3]))
    assert order.tolist() == [6, 4, 5, 2, 3, 9, 1, 7, 0, 8]


def test_degrees_come_nearer_to_the_largest_and_never_above_what_is_asked(graph):
    made = ew.approx.normalize_degrees(graph, threshold=0.4, fill=0.9, budget=1.0)
    before, after = graph.out_degree[made.order], made.graph.out_degree
    if not graph.directed:
        assert (after >= before).all()
        return
    for begin in range(0, len(before), 32):
        largest = before[begin : begin + 32].max()
        grown = after[begin : begin + 32] > before[begin : begin + 32]
        assert (after[begin : begin + 32][grown] <= 0.9 * largest).all()
        assert (before[begin : begin + 32][grown] >= 0.6 * largest).all()


@pytest.mark.parametrize("budget", [0.0, 0.001, 0.01, 0.1])
def test_a_budget_holds(graph, technique, budget):
    make, knobs, _ = technique
    made = make(graph, **{**knobs, "budget": budget})
    assert made.num_added <= budget * graph.num_edges
    if make is ew.approx.normalize_degrees and graph.directed:
        assert made.num_added == min(make(graph, **knobs).num_added, int(budget * graph.num_edges))


def test_edges_are_looked_for_some_at_a_time(graph, monkeypatch):
    whole = ew.approx.normalize_degrees(graph, threshold=1.0, fill=1.0, budget=0.5).added
    monkeypatch.setattr("edgewise.approx.degree._AT_A_TIME", 1)
    parts = ew.approx.normalize_degrees(graph, threshold=1.0, fill=1.0, budget=0.5).added
    assert 0 < len(whole.sources) <= graph.num_edges // 2
    for one, other in zip(whole, parts, strict=True):
        np.testing.assert_array_equal(one, other)


def answers(graph, in_order):
    """What algorithms find, by the vertices of the original."""
    source = 3
    found = {
        "distance": in_order(ew.sssp(graph, source).distance),
        "level": in_order(ew.bfs(graph, source).level),
        "rank": in_order(ew.pagerank(graph, tol=1e-12).rank),
        "components": ew.scc(graph).num_components,
    }
    if not graph.directed:
        found["forest"] = ew.mst(graph).total_weight
    return found


def test_the_neutral_knob_gives_the_exact_answers(graph, technique):
    made = technique[0](graph, **technique[2])
    assert made.num_added == 0
    exact, found = answers(graph, lambda values: values), answers(made.graph, made.in_order)
    for name in ("distance", "level", "components"):
        np.testing.assert_array_equal(found[name], exact[name])
    np.testing.assert_allclose(found["rank"], exact["rank"], rtol=1e-9)
    assert found.get("forest") == pytest.approx(exact.get("forest"))


def test_weighted_paths_components_and_forests_stay_exact_and_nothing_is_reached_that_was_not(
    graph, technique
):
    made = technique[0](graph, **technique[1])
    exact, found = answers(graph, lambda values: values), answers(made.graph, made.in_order)
    assert found["components"] == exact["components"]
    np.testing.assert_array_equal(found["level"] >= 0, exact["level"] >= 0)
    reached = exact["level"] >= 0
    assert (found["level"][reached] <= exact["level"][reached]).all()
    if graph.weights is None:
        assert (found["level"] != exact["level"]).any()
        return
    if graph.weight_dtype.kind == "f":
        np.testing.assert_allclose(found["distance"], exact["distance"], rtol=1e-6)
    else:
        np.testing.assert_array_equal(found["distance"], exact["distance"])
    if not graph.directed:
        assert found["forest"] == exact["forest"]


def test_sums_beyond_the_dtype_are_left_out():
    heavy = 2**31 - 5
    sources = [0, 0, 1, 2, *[6] * 5]
    targets = [1, 2, 4, 5, *range(10, 15)]
    weights = np.array([heavy, 1, heavy, 1, *[1] * 5], np.int32)
    made = ew.approx.normalize_degrees(
        ew.Graph.from_edges(sources, targets, weights, num_vertices=15),
        threshold=1,
        fill=1,
        budget=1.0,
        warp=16,
    )
    assert [each.tolist() for each in made.added] == [[0], [5], [2]]
    real = ew.Graph.from_edges(
        sources, targets, (weights * (2e38 / heavy)).astype(np.float32), num_vertices=15
    )
    made = ew.approx.normalize_degrees(real, threshold=1, fill=1, budget=1.0, warp=16)
    assert [each.tolist() for each in made.added[:2]] == [[0], [5]]


@pytest.mark.parametrize("name", battery_graphs())
def test_odd_graphs_are_changed(name, technique):
    graph = battery_graphs()[name]
    made = technique[0](graph, **technique[1])
    assert made.graph.num_vertices == graph.num_vertices
    assert made.graph.num_edges == graph.num_edges + made.num_added


def test_the_same_edges_are_added_by_any_number_of_threads(graph, monkeypatch):
    found = []
    for threads in (1, 2, 5):
        monkeypatch.setattr(
            "edgewise.approx.degree.best_threads", lambda work, most, threads=threads: threads
        )
        found.append(ew.approx.normalize_degrees(graph, **KNOBS).added)
    for one, other in itertools.pairwise(found):
        for mine, its in zip(one, other, strict=True):
            np.testing.assert_array_equal(mine, its)


def undirected(graph):
    """The graph as networkx has it, without directions."""
    found = nx.Graph()
    found.add_nodes_from(range(graph.num_vertices))
    found.add_edges_from(zip(graph.sources.tolist(), graph.targets.tolist(), strict=True))
    found.remove_edges_from(nx.selfloop_edges(found))
    return found


@pytest.mark.parametrize("name", [*battery_graphs(), *GRAPHS])
def test_clustering_coefficients_are_those_of_networkx(name, monkeypatch):
    graph = battery_graphs()[name] if name in battery_graphs() else GRAPHS[name]()
    expected = nx.clustering(undirected(graph))
    for threads in (1, 3):
        monkeypatch.setattr("edgewise.approx.coefficients.best_threads", lambda *_, threads=threads: threads)
        found = ew.approx.clustering_coefficients(graph)
        np.testing.assert_allclose(found, [expected[v] for v in range(graph.num_vertices)], rtol=1e-12)


@pytest.mark.parametrize("size", [2, 5, 2048])
def test_clusters_are_centres_with_neighbours_of_theirs(graph, size):
    made = ew.approx.form_clusters(graph, threshold=0.4, margin=0.2, budget=1.0, size=size)
    near = undirected(graph)
    begins = made.clusters.tolist()
    assert begins[0] == 0 and sorted(made.order.tolist()) == list(range(graph.num_vertices))
    for begin, end in itertools.pairwise(begins):
        centre, *others = made.order[begin:end].tolist()
        assert len(others) < size and set(others) <= set(near[centre])
    rest = made.order[begins[-1] :]
    assert (np.diff(rest) > 0).all()


def test_centres_have_the_coefficient_that_is_asked_for(graph):
    made = ew.approx.form_clusters(graph, threshold=0.3, margin=0.3, budget=0.05)
    before, after = undirected(graph), undirected(made.graph)
    coefficient = ew.approx.clustering_coefficients(made.graph)
    centres = [
        # Edges that came later may have given a centre more neighbours.
        centre
        for centre in made.clusters[:-1].tolist()
        if len(after[centre]) == len(before[made.order[centre]])
    ]
    assert centres and min(coefficient[centres]) >= 0.3 - 1e-9


def test_edges_are_added_where_they_are_missing():
    """A hub with a path of four among its neighbours: three of six pairs, and two at the inner vertices of the path."""
    sources, targets = [0, 0, 0, 0, 1, 2, 3], [1, 2, 3, 4, 2, 3, 4]
    weights = np.array([10, 20, 30, 40, 1, 2, 4])
    graph = ew.Graph.from_edges(sources, targets, weights, directed=False)

    def added(**knobs):
        found = ew.approx.form_clusters(graph, budget=1.0, **knobs).added
        ends = np.sort(np.stack(found[:2]), axis=0).T.tolist()
        return dict(zip(map(tuple, ends), found.weights.tolist(), strict=True))

    assert added(threshold=0.9, margin=0.2) == {}
    # The worst neighbours of vertices 2 and 3, and then of the hub.
    assert added(threshold=0.66, margin=0.2) == {(1, 3): 3, (2, 4): 6, (1, 4): 50}
    assert added(threshold=0.7, margin=0.04) == {(1, 3): 3, (2, 4): 6}
    # The hub becomes a centre by edges between vertices that have a common neighbour.
    assert added(threshold=0.667, margin=0.2) == {(1, 3): 3, (2, 4): 6, (1, 4): 50}
    assert list(added(threshold=0.5, margin=0, size=2)) == list(added(threshold=0.5, margin=0))


@pytest.mark.parametrize(
    ("knobs", "problem"),
    [
        ({"threshold": -0.1}, "threshold is -0.1; expected a number from 0 to 1"),
        ({"fill": "1"}, "fill is '1'"),
        ({"budget": float("nan")}, "budget is nan"),
        ({"budget": True}, "budget is True"),
        ({"warp": 0}, "warp is 0; expected an integer of at least 1"),
        ({"warp": 1.5}, "warp is 1.5"),
        ({"warp": 10**30}, "warp is 10+; expected an integer of at least 1, below 2"),
        ({"threshold": np.complex64(0.3)}, "threshold is .*; expected a number from 0 to 1"),
        ({"margin": 0.1, "threshold": "0.5"}, "threshold is '0.5'; expected a number of at least 0"),
        ({"size": 1}, "size is 1; expected an integer of at least 2"),
        ({"size": 8, "threshold": -1}, "threshold is -1; expected a number of at least 0"),
        ({"margin": 1.5}, "margin is 1.5; expected a number from 0 to 1"),
    ],
)
def test_knobs_that_make_no_sense_are_refused(knobs, problem):
    make = ew.approx.form_clusters if {"size", "margin"} & set(knobs) else ew.approx.normalize_degrees
    with pytest.raises(ParameterError, match=problem):
        make(GRAPHS["streets"](), **knobs)


@pytest.mark.parametrize(
    "call", [ew.approx.normalize_degrees, ew.approx.form_clusters, ew.approx.clustering_coefficients]
)
def test_what_is_no_graph_is_refused(call):
    with pytest.raises(GraphTypeError):
        call("graph")


def test_values_differ_as_they_are_said_to():
    exact = np.array([0.0, 2, 4, 6, np.nan, 8])
    found = np.array([0.0, 2, 3, 9, 1, np.nan])
    told = compare(exact, found)
    assert told.inaccuracy == pytest.approx((0 + 0 + 1 + 3) / 4 / 3)
    assert told.largest_error == 3
    assert told.rank_correlation == pytest.approx(1.0)
    assert told.reachability == pytest.approx(2 / 6)
    assert not told.is_exact
    same = compare(exact, exact)
    assert same.is_exact and same.inaccuracy == same.reachability == 0 and same.top_overlap == 1
    assert compare(np.array([5.0]), np.array([6.0])).inaccuracy == pytest.approx(0.2)
    assert compare(np.zeros(3), np.ones(3)).inaccuracy == 1
    reached = np.full(1000, np.nan)
    reached[:60] = np.arange(60.0)
    turned = reached.copy()
    turned[:60] = turned[:60][::-1]
    assert compare(reached, turned).top_overlap == 0


def test_calls_are_evaluated():
    made = ew.approx.normalize_degrees(GRAPHS["no weights"](), **KNOBS)
    found = ew.approx.evaluate(made, ew.bfs, 3, repeat=1)
    level = made.in_order(ew.bfs(made.graph, 3).level)
    exact = ew.bfs(made.original, 3).level
    both = exact >= 0
    assert found.difference.inaccuracy == pytest.approx(
        np.abs(level - exact)[both].mean() / exact[both].mean()
    )
    assert (
        found.difference.inaccuracy > 0
        and not found.difference.is_exact
        and found.difference.reachability == 0
    )
    assert found.added == made.num_added > 0
    of_rows = made.original.offsets.nbytes + made.original.targets.nbytes
    assert found.extra_space == 4 * made.num_added / of_rows
    assert min(found.exact_seconds, found.renumbered_seconds, found.seconds) > 0
    assert found.speedup == found.exact_seconds / found.seconds
    assert found.speedup_by_order == found.exact_seconds / found.renumbered_seconds
    weighted = ew.approx.normalize_degrees(GRAPHS["skewed"](), **KNOBS)
    assert ew.approx.evaluate(weighted, ew.sssp, 3, repeat=1).difference.is_exact
    assert ew.approx.evaluate(weighted, ew.scc, repeat=1, device="cpu").difference.is_exact
    ranks = ew.approx.evaluate(weighted, ew.pagerank, repeat=2)
    assert (
        0 < ranks.difference.inaccuracy < 1
        and 0 < ranks.difference.rank_correlation < 1
        and 0 < ranks.difference.top_overlap <= 1
    )
    central = ew.approx.evaluate(weighted, ew.betweenness, sources=[1, 2, 3, 5, 8], repeat=1)
    assert central.difference.inaccuracy > 0


class Strength(ew.Program):
    """The sum of the weights of in-edges."""

    strength = ew.vertex("float64")
    weight = ew.edge(ew.WEIGHT, default=1)
    combine = ew.SUM
    message = "float64"
    max_supersteps = 1

    @staticmethod
    def initialize(v, state):
        return ew.ACTIVE

    @staticmethod
    def edge_compute(edge, state):
        return edge.weight

    @staticmethod
    def vertex_compute(v, message, state):
        state.strength[v] = message
        return ew.HALT


def test_programs_are_evaluated_by_a_field():
    made = ew.approx.normalize_degrees(GRAPHS["skewed"](), **KNOBS)
    told = ew.approx.evaluate(made, lambda graph: ew.run(Strength, graph), field="strength", repeat=1)
    exact = ew.run(Strength, made.original).strength
    found = made.in_order(ew.run(Strength, made.graph).strength)
    assert told.difference.inaccuracy == pytest.approx(np.abs(found - exact).mean() / exact.mean())
    assert told.difference.largest_error == np.abs(found - exact).max() > 0
    steps = ew.approx.evaluate(made, ew.bfs, 3, field="num_reached", repeat=1)
    assert steps.difference.is_exact
    with pytest.raises(ParameterError, match="has no numbers by the name 'other'"):
        ew.approx.evaluate(made, ew.bfs, 3, field="other", repeat=1)
    with pytest.raises(ParameterError, match="weight has the shape"):
        both = ew.approx.normalize_degrees(GRAPHS["skewed both ways"](), **KNOBS)
        ew.approx.evaluate(both, ew.mst, field="weight", repeat=1)


class Large(Strength):
    """Integers that float64 does not tell apart."""

    strength = ew.vertex("int64")
    message = "int64"

    @staticmethod
    def edge_compute(edge, state):
        return 1

    @staticmethod
    def vertex_compute(v, message, state):
        state.strength[v] = 2**60 + message
        return ew.HALT


class Draws(Strength):
    @staticmethod
    def vertex_compute(v, message, state):
        state.strength[v] = ew.random(v, state)
        return ew.HALT


def test_what_depends_on_the_numbers_of_vertices_is_not_compared():
    made = ew.approx.normalize_degrees(GRAPHS["skewed"](), **KNOBS)
    large = ew.approx.evaluate(made, lambda graph: ew.run(Large, graph), field="strength", repeat=1)
    assert not large.difference.is_exact
    central = ew.approx.normalize_degrees(GRAPHS["skewed"](), threshold=0)
    told = ew.approx.evaluate(central, ew.betweenness, sources=[1, 2, 3, 5, 8], repeat=1)
    assert told.difference.inaccuracy < 1e-12
    for call, options, problem in (
        (ew.betweenness, {"k": 8}, "k draws other sources"),
        (ew.scc, {"field": "component"}, "vertices, labels or times"),
        (ew.sssp, {"source": 3, "field": "parent_index"}, "vertices, labels or times"),
        (ew.scc, {"field": "seconds"}, "vertices, labels or times"),
        (lambda graph: ew.run(Draws, graph), {"field": "strength"}, "draws random numbers"),
        (3, {}, "expected an Approximate and a call"),
    ):
        with pytest.raises(ParameterError, match=problem):
            ew.approx.evaluate(made, call, repeat=1, **options)
    with pytest.raises(ParameterError, match="expected an Approximate and a call"):
        ew.approx.evaluate(GRAPHS["skewed"](), ew.scc)
    with pytest.raises(GraphError, match="masked"):
        made.in_order(np.ma.masked_less(np.arange(512), 3))
    assert made == made and made != central


def test_limits_that_are_met_exactly_count():
    sources = [0] * 10 + [1] * 7 + [2, 3]
    targets = [*range(2, 12), *range(2, 9), 20, 21]
    graph = ew.Graph.from_edges(sources, targets, num_vertices=32)
    assert ew.approx.normalize_degrees(graph, threshold=0.3, budget=1.0).num_added == 1
    ends = [(0, i) for i in range(1, 6)] + list(itertools.combinations(range(1, 6), 2))[:7]
    graph = ew.Graph.from_edges(*zip(*ends, strict=True), directed=False)
    assert ew.approx.form_clusters(graph, threshold=0.8, margin=0.1, budget=1.0).num_added > 0


def test_what_cannot_be_evaluated_is_refused():
    made = ew.approx.normalize_degrees(GRAPHS["streets"]())
    with pytest.raises(ParameterError, match="repeat is 0"):
        ew.approx.evaluate(made, ew.bfs, 3, repeat=0)
    with pytest.raises(ParameterError, match="expected the result of one of"):
        ew.approx.evaluate(made, lambda graph: 3)
    with pytest.raises(GraphError, match="expected a value for each of the 500 vertices"):
        made.in_order(np.zeros(3))
    assert "edges added to" in repr(made)


def test_a_call_that_does_not_use_its_graph_is_refused():
    graph = ew.generate.lattice(5, 5)
    made = ew.approx.normalize_degrees(graph)
    with pytest.raises(ParameterError, match="the call ran on"):
        ew.approx.evaluate(made, lambda given: ew.pagerank(graph), repeat=1)


def test_an_integer_beyond_all_floats_is_no_threshold():
    with pytest.raises(ParameterError, match="form_clusters: threshold is an integer of"):
        ew.approx.form_clusters(ew.generate.lattice(3, 3), threshold=10**400)
