"""Files of approximate graphs whose parts are each possible and do not fit each other are refused."""

import numpy as np
import pytest
from test_approx import GRAPHS
from test_approx_saved import ARRAYS, MADE, rewrite, told

import edgewise as ew
from edgewise.errors import ParseError

KNOBS = {
    "degrees": {"threshold": 0.6, "fill": 1.0, "budget": 1.0, "warp": 32},
    "clusters": {"threshold": 0.3, "margin": 0.3, "budget": 1.0, "size": 2048},
    "replicas": {"chunk": 8, "threshold": 0.25, "budget": 1.0, "extra": 3},
}


@pytest.fixture
def folder(request, tmp_path):
    """The folder of a graph that a technique made."""
    MADE[request.param](GRAPHS["skewed"]()).save(tmp_path)
    return tmp_path


def refused(folder, problem, **changes):
    """Assert that files with changes are refused, naming the file and what does not fit."""
    rewrite(folder, **changes)
    with pytest.raises(ParseError, match=f"{ARRAYS} is damaged: {problem}"):
        ew.approx.load(folder)


def arrays_of(folder):
    """The arrays of the archive."""
    with np.load(folder / ARRAYS) as archive:
        return dict(archive)


@pytest.mark.parametrize(
    ("folder", "name", "problem"),
    [
        ("degrees", "magic", "its technique is 'magic'; expected one of normalize_degrees,"),
        (
            "degrees",
            "form_clusters",
            "its knobs are .*; those of form_clusters are threshold, margin, budget",
        ),
        ("clusters", "coalesce", "its knobs are .*; those of coalesce are chunk, threshold, budget"),
        ("replicas", "normalize_degrees", "its knobs are .*; those of normalize_degrees are threshold, fill"),
    ],
    indirect=["folder"],
)
def test_another_technique_is_refused(folder, name, problem):
    refused(folder, problem, about=told(folder, technique=name))


@pytest.mark.parametrize(
    ("folder", "technique", "problem"),
    [
        ("clusters", "degrees", "it has clusters, and is of normalize_degrees"),
        ("replicas", "degrees", "it has slots, and is of normalize_degrees"),
        ("degrees", "clusters", "it has no clusters, and is of form_clusters"),
        ("degrees", "replicas", "it has no slots, and is of coalesce"),
        ("clusters", "replicas", "it has clusters, and is of coalesce"),
    ],
    indirect=["folder"],
)
def test_parts_of_another_technique_are_refused(folder, technique, problem):
    name = MADE[technique](GRAPHS["streets"]()).technique
    refused(folder, problem, about=told(folder, technique=name, knobs=KNOBS[technique]))


@pytest.mark.parametrize(
    ("folder", "changes", "problem"),
    [
        ("degrees", {"fill": 1.5}, "of its knobs, normalize_degrees: fill is 1.5; expected a number from 0"),
        ("degrees", {"threshold": -0.1}, "of its knobs, normalize_degrees: threshold is -0.1"),
        ("degrees", {"budget": float("nan")}, "of its knobs, normalize_degrees: budget is nan"),
        ("degrees", {"warp": 32.0}, "of its knobs, normalize_degrees: warp is 32.0; expected an integer"),
        ("degrees", {"warp": True}, "of its knobs, normalize_degrees: warp is True"),
        ("degrees", {"extra": 1}, "its knobs are"),
        ("clusters", {"threshold": 10**400}, "of its knobs, form_clusters: threshold is an integer of"),
        ("clusters", {"margin": 2}, "of its knobs, form_clusters: margin is 2"),
        ("clusters", {"size": 1}, "of its knobs, form_clusters: size is 1"),
        ("replicas", {"extra": 8}, "of its knobs, coalesce: extra is 8; expected an integer from 0 to 7"),
        ("replicas", {"chunk": 0}, "of its knobs, coalesce: chunk is 0"),
        ("replicas", {"chunk": 16}, "it has chunks of 8 slots; its knob says 16"),
        ("replicas", {"extra": 4}, "a chunk has 1 or 5 vertices; expected from 1 to 4"),
        ("replicas", {"threshold": 2}, "it has replicas, and with a threshold above 1 there are none"),
        ("replicas", {"threshold": 0.9}, "a replica leads to a chunk to which its vertex has too few edges"),
        ("clusters", {"threshold": 1.5}, "it has clusters or edges, and with a threshold above 1"),
        ("clusters", {"size": 2}, "it has a cluster of [0-9]+ vertices; expected at most its size, 2"),
        ("degrees", {"budget": 0}, "it adds [0-9,]+ edges; a budget of 0 of [0-9,]+ allows 0"),
        ("clusters", {"budget": 0.01}, "it adds .* edges; a budget of 0.01 of .* allows"),
        ("replicas", {"budget": 0.0001}, "it adds .* edges; a budget of 0.0001 of .* allows"),
        ("degrees", {"threshold": 0.1}, "it adds edges to a vertex that should get fewer"),
        ("degrees", {"fill": 0.7}, "it adds edges to a vertex that should get fewer"),
        ("degrees", {"warp": 2}, "it adds edges to a vertex that should get fewer"),
    ],
    indirect=["folder"],
)
def test_knobs_with_which_this_is_not_made_are_refused(folder, changes, problem):
    name = {"fill": "degrees", "margin": "clusters", "chunk": "replicas"}
    before = ew.approx.load(folder).knobs
    kind = next(name[knob] for knob in name if knob in before)
    refused(folder, problem, about=told(folder, knobs={**KNOBS[kind], **changes}))


@pytest.mark.parametrize("folder", KNOBS, indirect=True)
@pytest.mark.parametrize("graph", ["skewed", "skewed both ways"])
def test_edges_that_are_twice_or_were_there_are_refused(folder, graph):
    kind = {"normalize_degrees": "degrees", "form_clusters": "clusters", "coalesce": "replicas"}
    made = MADE[kind[ew.approx.load(folder).technique]](GRAPHS[graph]())
    made.save(folder)
    whole = arrays_of(folder)
    sources, targets = whole["sources"], whole["targets"]
    twice = {"sources": sources.copy(), "targets": targets.copy()}
    twice["sources"][1], twice["targets"][1] = sources[0], targets[0]
    refused(folder, "it adds an edge twice", **twice)
    if not made.original.directed:
        twice["sources"][1], twice["targets"][1] = targets[0], sources[0]
        refused(folder, "it adds an edge twice", **twice)
    original = made.original
    arc = np.flatnonzero(original.sources != original.targets)[0]
    there = {"sources": sources.copy(), "targets": targets.copy()}
    there["sources"][0], there["targets"][0] = original.sources[arc], original.targets[arc]
    refused(folder, "it adds an edge that the graph has", **there)


@pytest.mark.parametrize("folder", KNOBS, indirect=True)
@pytest.mark.parametrize("graph", ["skewed", "skewed both ways", "skewed, floats"])
def test_edges_that_are_shorter_than_a_path_are_refused(folder, graph):
    technique = ew.approx.load(folder).technique
    kind = {"normalize_degrees": "degrees", "form_clusters": "clusters", "coalesce": "replicas"}
    MADE[kind[technique]](GRAPHS[graph]()).save(folder)
    whole = arrays_of(folder)["weights"]
    for weight in (-1, 0, *((10**6,) if technique == "coalesce" else ())):
        weights = whole.copy()
        weights[0] = weight
        refused(folder, "it adds an edge that is not as long as a path between its ends", weights=weights)


@pytest.mark.parametrize("folder", ["clusters"], indirect=True)
def test_edges_that_are_not_along_a_path_are_refused(folder):
    made = ew.approx.load(folder)
    arrays, graph = arrays_of(folder), made.original
    source = int(arrays["sources"][0])
    steps = ew.bfs(graph, source).level
    far = np.flatnonzero((steps < 0) | (steps > 2))[0]
    targets = arrays["targets"].copy()
    targets[0] = far
    refused(folder, "it adds an edge between vertices that are not two steps apart", targets=targets)


@pytest.mark.parametrize("folder", ["clusters"], indirect=True)
def test_clusters_of_no_neighbours_are_refused(folder):
    clusters = arrays_of(folder)["clusters"]
    refused(folder, "a vertex of a cluster is no neighbour of its first", clusters=np.delete(clusters, 1))
    refused(folder, "a vertex of a cluster is no neighbour of its first", clusters=np.append(clusters, 512))


@pytest.mark.parametrize("folder", ["replicas"], indirect=True)
def test_slots_of_another_graph_are_refused(folder):
    whole = arrays_of(folder)
    vertex, to = whole["vertex"], whole["to"].copy()
    replica, free = np.flatnonzero(to >= 0)[0], np.flatnonzero(vertex < 0)[0]
    to[replica] = len(vertex) // 8 - 1
    refused(folder, "a replica leads to a chunk to which its vertex has too few edges", to=to)
    to = whole["to"].copy()
    moved = vertex.copy()
    moved[free], to[free], moved[replica], to[replica] = vertex[replica], to[replica], -1, -1
    rewrite(folder, vertex=moved, to=to)
    assert ew.approx.load(folder).num_added == len(whole["sources"])  # the same slots elsewhere
    none = np.full(8, -1, np.int32)
    more = {"vertex": np.append(vertex, none), "to": np.append(whole["to"], none)}
    refused(folder, "a chunk has 0 or 5 vertices; expected from 1 to 5", **more)
    moved[:] = np.where(whole["to"] >= 0, -1, vertex)
    refused(
        folder,
        "it adds an edge from a vertex to a chunk for which it has no replica",
        vertex=moved,
        to=np.full_like(to, -1),
    )
