"""Coalescing: the numbers of vertices, where replicas lie, which arcs slots have, and what stays exact."""

import itertools

import numpy as np
import pytest
from battery import graphs as battery_graphs
from golden import NAMES
from golden import load as load_golden
from hypothesis import given, settings
from hypothesis import strategies as st
from test_approx import GRAPHS, answers, arcs_of

import edgewise as ew
from edgewise.approx.chunks import put_in_chunks
from edgewise.approx.copies import in_slots
from edgewise.approx.numbering import number_in_turns
from edgewise.errors import GraphError, GraphTypeError, ParameterError, ScheduleError
from edgewise.graph.csr import Rows

#: Knobs that add edges to all graphs.
KNOBS = {"chunk": 8, "threshold": 0.25, "budget": 1.0, "extra": 3}
#: Golden graphs to which no edges are added: their chunks have none two steps away from who reaches them.
NOTHING_ADDED = ("p2p-Gnutella31", "cit-HepPh-half", "road-NY", "movie-actor")
#: By their sources, the targets and weights of a graph whose levels and numbers are worked out below.
BY_HAND = {
    5: [(7, 1), (1, 1), (2, 5), (3, 2)],
    0: [(1, 1), (4, 1), (6, 1)],
    1: [(8, 1)],
    4: [(8, 1), (9, 1)],
    7: [(9, 1)],
    2: [(4, 1)],
    3: [(1, 1), (4, 6)],
}


def by_hand():
    """The graph `BY_HAND`, of 11 vertices: 5, 0 and 10 are roots."""
    ends = [(u, v, weight) for u, row in BY_HAND.items() for v, weight in row]
    sources, targets, weights = zip(*ends, strict=True)
    return ew.Graph.from_edges(sources, targets, np.array(weights, np.int32), num_vertices=11)


@pytest.fixture(params=GRAPHS)
def graph(request):
    return GRAPHS[request.param]()


def paper_ids(graph, chunk):
    """The ids of algorithm 2, with its lowering of levels as it stands there; line 15 rounds up, 19 numbers once."""
    rows = [
        graph.targets[graph.offsets[v] : graph.offsets[v + 1]].tolist() for v in range(graph.num_vertices)
    ]
    level = [np.inf] * len(rows)
    roots = []
    for root in sorted(range(len(rows)), key=lambda v: (-len(rows[v]), v)):
        if level[root] < np.inf:
            continue
        roots.append(root)
        level[root], waiting = 0, [root]
        while waiting:
            v = waiting.pop(0)
            for t in rows[v]:
                if level[v] + 1 < level[t]:
                    level[t] = level[v] + 1
                    waiting.append(t)
    ids = {root: number for number, root in enumerate(roots)}
    free, layer = len(roots), roots
    for depth in range(int(max(level, default=0))):
        free = -(-free // chunk) * chunk
        following = []
        for turn in range(max(len(rows[v]) for v in layer)):
            for v in layer:
                if turn < len(rows[v]) and level[rows[v][turn]] == depth + 1 and rows[v][turn] not in ids:
                    ids[rows[v][turn]] = free
                    following.append(rows[v][turn])
                    free += 1
        layer = following
    return np.array([ids[v] for v in range(len(rows))]), np.array(level)


def slots_of(made):
    """The user's ids of the ends of arcs of each slot: its vertex, and their targets in order."""
    table, graph = made.balance, made.graph
    for vertex, first, end in zip(table.vertex, table.first, table.end, strict=True):
        ids = graph.vertices[graph.targets[first:end]].tolist()
        yield (None if vertex < 0 else int(graph.vertices[vertex])), ids


def test_levels_and_numbers_by_hand():
    """From 5: 7, 1, 2, 3, and beyond 9, 8, 4. From 0, which lowers 4: 1, 4, 6. Nothing leads to 10."""
    found = number_in_turns(by_hand())
    # Of 5 and 0 in turns: 7 and 1, then 4, for 1 has a number, then 2 and 6, then 3. Of 7 and 1: 9 and 8.
    assert found.order.tolist() == [5, 0, 10, 7, 1, 4, 2, 6, 3, 9, 8]
    assert found.begins.tolist() == [0, 3, 9, 11]
    assert found.parent.tolist() == [-1, -1, -1, 0, 1, 1, 0, 1, 0, 3, 4]


def test_a_replica_by_hand():
    """Chunks of 4: 5, 0, 10 | 7, 1, 4, 2 | 6, 3 | 9, 8. Vertex 5 has three edges of four to the second one, and the
    way over 2 to vertex 4 is the shorter one."""
    made = ew.approx.coalesce(by_hand(), chunk=4)
    assert made.copies.vertex.tolist() == [0, 1, 2, 0, 3, 4, 5, 6, 7, 8, -1, -1, 9, 10, -1, -1]
    assert made.copies.to.tolist() == [-1, -1, -1, 1] + [-1] * 12
    assert [each.tolist() for each in made.added] == [[5], [4], [6]]
    of_slots = list(slots_of(made))
    assert of_slots[:5] == [(5, [3]), (0, [1, 4, 6]), (10, []), (5, [7, 1, 2, 4]), (7, [9])]
    assert of_slots[10] == (None, [])
    assert made.copies.num_replicas == 1
    # There is one hole: who has more edges gets it.
    assert ew.approx.coalesce(by_hand(), chunk=4, threshold=0.4).copies.to.tolist() == made.copies.to.tolist()
    assert ew.approx.coalesce(by_hand(), chunk=4, threshold=0.76).copies.num_replicas == 0
    assert ew.approx.coalesce(by_hand(), chunk=4, budget=1 / 15).num_added == 0


def test_free_slots_in_each_chunk_by_hand():
    """Chunks 5, 0, 10 | 7, 1, 4 | 2, 6, 3 | 9, 8 with a free slot each. Of those with two edges of three, 5 comes
    first, and finds a slot for one chunk; 4 has both edges to the last chunk, whose parents are 7 and 1."""
    made = ew.approx.coalesce(by_hand(), chunk=4, extra=1)
    assert made.copies.vertex.tolist() == [0, 1, 2, 0, 3, 4, 5, 5, 6, 7, 8, -1, 9, 10, -1, -1]
    assert np.flatnonzero(made.copies.to >= 0).tolist() == [3, 7]
    assert made.copies.to[[3, 7]].tolist() == [1, 3]


@pytest.mark.parametrize("chunk", [1, 3, 16])
@pytest.mark.parametrize("name", [*battery_graphs(), *GRAPHS])
def test_numbers_are_those_of_the_paper(name, chunk):
    graph = battery_graphs()[name] if name in battery_graphs() else GRAPHS[name]()
    ids, level = paper_ids(graph, chunk)
    found = number_in_turns(graph)
    chunks = put_in_chunks(found, chunk, 0)
    np.testing.assert_array_equal(ids[found.order], chunks.slot)
    np.testing.assert_array_equal(
        level[found.order], np.repeat(np.arange(len(found.begins) - 1), np.diff(found.begins))
    )
    assert sorted(found.order.tolist()) == list(range(graph.num_vertices))
    for place, parent in enumerate(found.parent.tolist()):
        if parent >= 0:
            row = slice(*graph.offsets[found.order[parent] :][:2])
            assert found.order[place] in graph.targets[row]


def check_slots(made):
    """Assert that slots have all arcs, each replica beside a parent of what it leads to, and enough edges to there."""
    copies, table, graph = made.copies, made.balance, made.graph
    own, replicas = np.flatnonzero((copies.vertex >= 0) & (copies.to < 0)), np.flatnonzero(copies.to >= 0)
    np.testing.assert_array_equal(copies.vertex[own], np.arange(graph.num_vertices))
    assert len(copies.vertex) % copies.chunk == 0
    chunk = own // copies.chunk
    seen = np.zeros(graph.num_arcs, int)
    for vertex, to, first, end in zip(copies.vertex, copies.to, table.first, table.end, strict=True):
        seen[first:end] += 1
        if vertex < 0:
            assert first == end
            continue
        assert graph.offsets[vertex] <= first <= end <= graph.offsets[vertex + 1]
        leads = set(chunk[graph.targets[first:end]].tolist())
        taken = set(copies.to[replicas[copies.vertex[replicas] == vertex]].tolist())
        assert leads == {to} if to >= 0 else not leads & taken
    assert (seen == 1).all()
    parents = number_in_turns(made.original).parent
    before = made.renumbered
    for slot in replicas:
        inside = np.flatnonzero(chunk == copies.to[slot])
        assert slot // copies.chunk in chunk[parents[inside][parents[inside] >= 0]]
        row = slice(*before.offsets[copies.vertex[slot] :][:2])
        edges = np.count_nonzero(chunk[before.targets[row]] == copies.to[slot])
        assert edges >= made.knobs["threshold"] * len(inside) - 1e-9


def check_edges(made):
    """Assert that added edges are as long as the shortest path of two, and lead to the chunk of a replica."""
    graph, before, after = made.original, arcs_of(made.original), arcs_of(made.graph)
    steps, lengths = {}, {}
    for (u, x), weights in before.items():
        steps.setdefault(u, []).extend((x, weight) for weight in weights)
    for u, row in steps.items():
        for x, first in row:
            for w, second in steps.get(x, ()):
                lengths.setdefault((u, w), []).append(0 if first is None else first + second)
    chunk = np.flatnonzero((made.copies.vertex >= 0) & (made.copies.to < 0)) // made.copies.chunk
    place = {vertex: i for i, vertex in enumerate(made.order.tolist())}
    pairs = set(zip(made.copies.vertex.tolist(), made.copies.to.tolist(), strict=True))
    ids = graph.vertices
    weights = [None] * made.num_added if made.added.weights is None else made.added.weights.tolist()
    for u, w, weight in zip(made.added.sources.tolist(), made.added.targets.tolist(), weights, strict=True):
        assert u != w and (u, w) not in before and len(after[ids[u], ids[w]]) == 1
        assert (place[u], chunk[place[w]]) in pairs
        least = min(lengths[u, w])
        assert weight is None or weight == pytest.approx(least, rel=1e-6)
    for pair, found in before.items():
        assert after[pair] == found
    arcs = made.num_added * (1 if graph.directed else 2)
    assert sum(map(len, after.values())) == graph.num_arcs + arcs


@pytest.mark.parametrize("extra", [0, 1, 5])
def test_slots_and_edges(graph, extra):
    made = ew.approx.coalesce(graph, **{**KNOBS, "extra": extra})
    check_slots(made)
    check_edges(made)
    assert extra == 0 or made.copies.num_replicas > 0


@pytest.mark.parametrize("name", battery_graphs())
def test_odd_graphs_are_coalesced(name):
    graph = battery_graphs()[name]
    made = ew.approx.coalesce(graph, **{**KNOBS, "threshold": 0})
    check_slots(made)
    check_edges(made)
    assert made.graph.num_vertices == graph.num_vertices
    assert sorted(made.order.tolist()) == list(range(graph.num_vertices))


@settings(deadline=None, max_examples=60)
@given(st.data())
def test_drawn_graphs_are_coalesced(data):
    n, chunk = data.draw(st.integers(1, 30)), data.draw(st.integers(1, 9))
    pairs = data.draw(st.lists(st.tuples(st.integers(0, n - 1), st.integers(0, n - 1)), max_size=120))
    weights = data.draw(st.lists(st.integers(0, 9), min_size=len(pairs), max_size=len(pairs)))
    ends = np.array(pairs, np.int64).reshape(-1, 2).T
    graph = ew.Graph.from_edges(*ends, np.array(weights, np.int32), data.draw(st.booleans()), num_vertices=n)
    made = ew.approx.coalesce(
        graph,
        chunk=chunk,
        extra=data.draw(st.integers(0, chunk - 1)),
        threshold=data.draw(st.floats(0, 1)),
        budget=data.draw(st.floats(0, 1)),
    )
    check_slots(made)
    check_edges(made)
    assert made.num_added <= made.knobs["budget"] * graph.num_edges
    source = data.draw(st.integers(0, n - 1))
    found = ew.sssp(made.graph, source)
    np.testing.assert_array_equal(made.in_order(found.distance), ew.sssp(graph, source).distance)
    assert ew.scc(made.graph).num_components == ew.scc(graph).num_components


def hub(graph):
    """The vertex with most edges."""
    return graph.vertices[graph.out_degree.argmax()]


def test_what_stays_exact_and_what_changes(graph):
    made = ew.approx.coalesce(graph, **KNOBS)
    assert made.num_added > 0
    exact, found = answers(graph, lambda values: values), answers(made.graph, made.in_order)
    assert found["components"] == exact["components"]
    np.testing.assert_array_equal(found["level"] >= 0, exact["level"] >= 0)
    if not graph.directed:
        assert found["forest"] == exact["forest"] or not graph.weighted
    level, changed = ew.bfs(graph, hub(graph)).level, made.in_order(ew.bfs(made.graph, hub(graph)).level)
    np.testing.assert_array_equal(changed >= 0, level >= 0)
    assert (changed <= level).all()
    if graph.weighted:
        distance = made.in_order(ew.sssp(made.graph, hub(graph)).distance)
        compare = np.testing.assert_allclose if distance.dtype.kind == "f" else np.testing.assert_array_equal
        compare(distance, ew.sssp(graph, hub(graph)).distance)


@pytest.mark.parametrize("knobs", [{"threshold": 1.01, "budget": 1.0, "extra": 3}, {"budget": 0, "extra": 3}])
def test_the_neutral_knobs_give_the_exact_answers(graph, knobs):
    made = ew.approx.coalesce(graph, **{**KNOBS, **knobs})
    assert made.num_added == 0
    assert (made.copies.num_replicas == 0) == ("threshold" in knobs)
    exact, found = answers(graph, lambda values: values), answers(made.graph, made.in_order)
    for name in ("distance", "level", "components"):
        np.testing.assert_array_equal(found[name], exact[name])
    np.testing.assert_allclose(found["rank"], exact["rank"], rtol=1e-9)
    assert found.get("forest") == pytest.approx(exact.get("forest"))


@pytest.mark.parametrize("budget", [0.0, 0.001, 0.01, 0.1])
def test_a_budget_holds_and_takes_the_first_edges(graph, budget):
    made = ew.approx.coalesce(graph, **{**KNOBS, "budget": budget})
    whole = ew.approx.coalesce(graph, **KNOBS)
    assert made.num_added == min(whole.num_added, int(budget * graph.num_edges))
    np.testing.assert_array_equal(made.added.targets, whole.added.targets[: made.num_added])


def test_sums_beyond_the_dtype_are_left_out():
    heavy = by_hand()
    for of_second, added in ((2**31 - 6, [4]), (2**31 - 5, [])):
        weights = heavy.weights.copy()
        path = (heavy.sources == 2) & (heavy.targets == 4)
        weights[path] = of_second
        weights[(heavy.sources == 3) & (heavy.targets == 4)] = 2**31 - 1
        other = ew.Graph.from_csr(heavy.offsets, heavy.targets, weights)
        assert ew.approx.coalesce(other, chunk=4).added.targets.tolist() == added


def test_the_same_is_made_by_any_number_of_threads(graph, monkeypatch):
    found = []
    for threads in (1, 2, 5):
        for module in ("copies", "replicas"):
            monkeypatch.setattr(
                f"edgewise.approx.{module}.best_threads", lambda work, most, threads=threads: threads
            )
        made = ew.approx.coalesce(graph, **KNOBS)
        found.append((*made.added, made.copies.vertex, made.copies.to, made.graph.targets, made.balance.end))
    for one, other in itertools.pairwise(found):
        for mine, its in zip(one, other, strict=True):
            np.testing.assert_array_equal(mine, its)


def test_arcs_of_a_slot_stay_in_their_order():
    """Rows with parallel arcs of different weights."""
    made = ew.approx.coalesce(by_hand(), chunk=4)
    targets = np.array([3, 8, 3, 4, 8, 3, 5], np.int32)
    offsets = np.array([0, 7, *[7] * 10])
    found = in_slots(Rows(offsets, targets, np.arange(7, dtype=np.int32)), made.copies)
    assert found.rows.targets.tolist() == [8, 8, 3, 3, 4, 3, 5]
    assert found.rows.weights.tolist() == [1, 4, 0, 2, 3, 5, 6]
    assert (found.first[[0, 3]].tolist(), found.end[[0, 3]].tolist()) == ([0, 2], [2, 7])


def test_space_counts_all_slots():
    made = ew.approx.coalesce(by_hand(), chunk=4)
    rows = 4 * 12 + 8 * 14
    assert made.extra_space == pytest.approx((8 * 1 + 16 * 12) / rows)
    assert "1 edges added" in repr(made)


def test_a_balance_is_that_of_the_graph():
    made = ew.approx.coalesce(by_hand(), chunk=4)
    assert made.balance is made.balance and made.schedule.balance is made.balance
    assert made.balance.is_of(made.graph) and not made.balance.is_of(made.original)
    assert repr(made.balance) == "Replicated(16 slots)"
    with pytest.raises(ScheduleError, match="only runs on a GPU"):
        ew.bfs(made.graph, 5, device="cpu", schedule=made.schedule)
    with pytest.raises(ParameterError, match="normalize_degrees makes no slots"):
        _ = ew.approx.normalize_degrees(by_hand()).balance


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"graph": "graph"}, "graph is 'graph'; expected an edgewise.Graph"),
        ({"vertex": [0, 0]}, "expected an integer for each slot"),
        ({"vertex": 3}, "vertex is 3; expected an integer for each slot"),
        ({"first": np.zeros(3)}, "first is .*; expected an integer for each slot"),
        ({"end": np.zeros(4, int)}, "end is .*; expected an integer for each slot"),
        ({"end": np.array([1, 2, 5])}, "some arc twice or not at all"),
        ({"first": np.array([0, 3, 4])}, "some arc twice or not at all"),
        ({"first": np.array([0, 0, 3])}, "some arc twice or not at all"),
        ({"end": np.array([1, 3, 2])}, "some arc twice or not at all"),
        ({"vertex": np.array([0, 0, 0])}, "arcs of another vertex"),
        ({"vertex": np.array([0, 1, 1])}, "arcs of another vertex"),
        ({"vertex": np.array([0, 9, 1])}, "some arc twice or not at all"),
        (
            {"vertex": np.array([0, 3]), "first": np.array([0, 4]), "end": np.array([4, 4])},
            "a slot has arcs of another vertex",
        ),
        (
            {
                "vertex": np.array([0, 0, 1, 3]),
                "first": np.array([0, 1, 3, 0]),
                "end": np.array([1, 3, 4, 0]),
            },
            "a slot has no vertex of the graph; expected -1 to 2",
        ),
    ],
)
def test_tables_that_have_not_each_arc_once_are_refused(changes, problem):
    graph = ew.Graph.from_edges([0, 0, 0, 1], [1, 1, 2, 0], num_vertices=3)
    right = {"graph": graph, "vertex": np.array([0, 0, 1]), "first": np.array([0, 1, 3])}
    right["end"] = np.array([1, 3, 4])
    assert ew.Replicated(**right).is_of(graph)
    with pytest.raises(ScheduleError, match=problem):
        ew.Replicated(**{**right, **changes})


@pytest.mark.parametrize(
    ("knobs", "problem"),
    [
        ({"chunk": 0}, "chunk is 0; expected an integer of at least 1"),
        ({"chunk": 2.0}, "chunk is 2.0"),
        ({"extra": -1}, "extra is -1"),
        ({"extra": 16}, "extra is 16; expected an integer from 0 to 15"),
        ({"threshold": -0.1}, "threshold is -0.1; expected a number of at least 0"),
        ({"threshold": "0.6"}, "threshold is '0.6'"),
        ({"budget": 1.1}, "budget is 1.1; expected a number from 0 to 1"),
        ({"budget": True}, "budget is True"),
    ],
)
def test_knobs_that_make_no_sense_are_refused(knobs, problem):
    with pytest.raises(ParameterError, match=problem):
        ew.approx.coalesce(by_hand(), **knobs)


def test_what_cannot_be_coalesced_is_refused():
    with pytest.raises(GraphTypeError):
        ew.approx.coalesce("graph")
    with pytest.raises(GraphError, match="3 chunks of 1,000,000,000 slots are more than"):
        ew.approx.coalesce(by_hand(), chunk=10**9)


@pytest.mark.parametrize("name", [name for name in NAMES if name != "actor-collab"])
def test_golden_graphs_are_coalesced(name):
    graph = load_golden(name).graph
    made = ew.approx.coalesce(graph, threshold=0.4, extra=1)
    paths = ew.approx.evaluate(made, ew.sssp, hub(graph), repeat=1)
    assert paths.difference.is_exact
    assert (paths.added == made.num_added > 0) == (name not in NOTHING_ADDED)
    assert ew.scc(made.graph).num_components == ew.scc(graph).num_components
    if not graph.directed:
        assert ew.mst(made.graph).total_weight == ew.mst(graph).total_weight
