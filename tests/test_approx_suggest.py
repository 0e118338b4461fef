"""Thresholds that are chosen, sweeps over a knob, and suggestions from a sample."""

import builtins
import csv

import numpy as np
import pytest

import edgewise as ew
from edgewise.approx import clusters, degree, suggestions, sweeping
from edgewise.errors import (
    GraphError,
    GraphTypeError,
    MissingDependencyError,
    OutputError,
    ParameterError,
)

#: Options that keep calls short.
SHORT = {"repeat": 1, "device": "cpu"}


def skewed(**options):
    return ew.generate.rmat(10, 8, seed=1, weights=(1, 100), **options)


def test_a_low_degree_threshold_is_chosen_for_few_edges_and_for_degrees_near_the_largest():
    assert degree.auto_threshold(np.array([4] * 6 + [5])) == 0.3  # few edges
    assert degree.auto_threshold(np.array([16] * 9 + [31] * 3)) == 0.4
    assert degree.auto_threshold(np.array([16] * 3 + [31] * 9)) == 0.3  # near the largest
    # Buckets count by their vertices, and those of one degree not at all.
    assert degree.auto_threshold(np.array([16] * 3 + [31] * 9 + [32] * 30 + [63] * 10)) == 0.4
    assert degree.auto_threshold(np.array([64] * 8 + [16] * 9 + [31] * 3)) == 0.4
    # Vertices without edges do not count.
    assert degree.auto_threshold(np.array([0] * 99 + [16] * 9 + [31] * 3)) == 0.4
    assert degree.auto_threshold(np.zeros(3, np.int64)) == degree.auto_threshold(np.zeros(0, np.int64)) == 0.3


def test_a_high_cluster_threshold_is_chosen():
    assert clusters.auto_threshold(np.array([0.5, 0.9])) == 0.9
    assert clusters.auto_threshold(np.array([0.6, 0.8])) == 0.8
    assert clusters.auto_threshold(np.array([0.0, 0.1])) == 0.6
    assert clusters.auto_threshold(np.array([1.0, 1.0])) == 0.9
    assert clusters.auto_threshold(np.zeros(0)) == 0.9


@pytest.mark.parametrize("make", [ew.approx.normalize_degrees, ew.approx.form_clusters])
def test_auto_is_the_number_that_it_stands_for(make):
    for graph in (skewed(), ew.generate.lattice(30, 30), ew.generate.star(50, directed=False)):
        made = make(graph, threshold="auto", budget=0.5)
        threshold = made.knobs["threshold"]
        assert isinstance(threshold, float) and 0.3 <= threshold <= 0.9
        assert next(iter(made.knobs)) == "threshold" and f"threshold={threshold}" in repr(made)
        for one, other in zip(made.added, make(graph, threshold=threshold, budget=0.5).added, strict=True):
            np.testing.assert_array_equal(one, other)
    for wrong in ("Auto", "0.3", None):
        with pytest.raises(ParameterError, match=r"threshold is .*; expected a number .*, or 'auto'"):
            make(skewed(), threshold=wrong)
    with pytest.raises(ParameterError, match=r"budget is 'auto'; expected a number from 0 to 1$"):
        make(skewed(), budget="auto")


@pytest.mark.parametrize("technique", sweeping.LADDERS)
def test_a_sweep_evaluates_each_value(technique):
    graph = skewed()
    values = (sweeping.LADDERS[technique].values[0], 0.5, 0.3)
    found = ew.approx.sweep(graph, technique, ew.pagerank, values=values, knobs={"budget": 1.0}, **SHORT)
    assert (found.technique, found.knob) == (technique.__name__, "threshold")
    assert [step.value for step in found.steps] == list(values)
    for step in found.steps:
        made = technique(graph, threshold=step.value, budget=1.0)
        told = ew.approx.evaluate(made, ew.pagerank, **SHORT)
        assert (step.added, step.extra_space) == (made.num_added, made.extra_space)
        assert (step.inaccuracy, step.reachability) == (told.difference.inaccuracy, 0)
        assert min(step.speedup, step.speedup_by_order) > 0
    assert found.steps[0].added == 0 and found.steps[0].inaccuracy < 1e-12
    assert max(step.inaccuracy for step in found.steps) > 1e-4


def test_another_knob_is_swept_and_the_ladder_is_the_default():
    graph = skewed()
    found = ew.approx.sweep(
        graph, ew.approx.normalize_degrees, ew.bfs, 3, knob="budget", values=iter([0, 0.01]), **SHORT
    )
    assert found.knob == "budget" and [step.value for step in found.steps] == [0, 0.01]
    assert [step.added for step in found.steps] == [0, graph.num_edges // 100]
    whole = ew.approx.sweep(graph, ew.approx.normalize_degrees, ew.bfs, 3, **SHORT)
    assert [step.value for step in whole.steps] == [0.0, 0.1, 0.2, 0.3, 0.4, 0.5]


def test_each_ladder_begins_with_what_adds_no_edges():
    for technique, ladder in sweeping.LADDERS.items():
        assert technique(skewed(), **{ladder.knob: ladder.values[0]}).num_added == 0
        assert technique(skewed(), **{ladder.knob: ladder.values[-1]}).num_added > 0


STEPS = tuple(
    sweeping.Step(value, speedup, 1.25, inaccuracy, 0.0, added, added / 1000, 0.5, 0.5 / speedup)
    for value, speedup, inaccuracy, added in ((0.0, 1.2, 0.0, 0), (0.3, 1.5, 0.025, 10), (0.6, 0.9, 0.1, 80))
)


def test_steps_are_written(tmp_path):
    found = ew.approx.Sweep("normalize_degrees", "threshold", STEPS)
    found.to_csv(tmp_path / "steps.csv")
    with open(tmp_path / "steps.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [float(row["threshold"]) for row in rows] == [0.0, 0.3, 0.6]
    assert [sweeping.Step(*map(float, row.values())) for row in rows] == list(STEPS)
    assert list(rows[0]) == ["threshold", *sweeping.Step._fields[1:]]
    with pytest.raises(OutputError):
        found.to_csv(tmp_path / "steps.txt")


def test_steps_are_written_to_the_name_of_a_file():
    found = ew.approx.Sweep("normalize_degrees", "threshold", STEPS)
    for path in (None, "", 3, b"steps.csv", [1]):
        for write, example in ((found.to_csv, "sweep.csv"), (found.plot, "sweep.svg")):
            with pytest.raises(OutputError, match=f"expected the name of a file, such as {example}"):
                write(path)


def test_steps_are_drawn(tmp_path):
    pytest.importorskip("matplotlib")
    found = ew.approx.Sweep("normalize_degrees", "threshold", STEPS)
    found.plot(tmp_path / "steps.svg")
    assert "<svg" in (tmp_path / "steps.svg").read_text()
    with pytest.raises(ParameterError, match="expected a name such as sweep"):
        found.plot(tmp_path / "steps.unknown")
    with pytest.raises(OutputError):
        found.plot(tmp_path / "nowhere" / "steps.svg")


def test_without_matplotlib_a_plot_says_what_to_install(tmp_path, monkeypatch):
    imported = builtins.__import__

    def without(name, *rest):
        if name.partition(".")[0] == "matplotlib":
            raise ImportError(name)
        return imported(name, *rest)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(MissingDependencyError, match=r"pip install 'edgewise\[plot\]'"):
        ew.approx.Sweep("normalize_degrees", "threshold", STEPS).plot(tmp_path / "steps.svg")


@pytest.mark.parametrize("directed", [True, False])
def test_a_sample_is_a_ball_with_all_edges_among_its_vertices(directed):
    graph = skewed(directed=directed)
    start = graph.vertices[graph.out_degree.argmax()].item()
    sample = suggestions.sample_of(graph, 300)
    assert sample.num_vertices == 300 and sample.directed == directed
    level = ew.bfs(graph, start).level.view(np.uint32)
    inside = graph.index_of(sample.vertices)
    assert (np.diff(inside) > 0).all()
    outside = np.setdiff1d(np.arange(graph.num_vertices), inside)
    assert level[inside].max() <= level[outside].min()
    is_in = np.isin(np.arange(graph.num_vertices), inside)
    kept = is_in[graph.sources] & is_in[graph.targets]
    expected = graph.sources[kept], graph.targets[kept], graph.weights[kept]
    found = inside[sample.sources], inside[sample.targets], sample.weights
    for one, other in zip(expected, found, strict=True):
        np.testing.assert_array_equal(one, other)
    again = suggestions.sample_of(graph, 300)
    np.testing.assert_array_equal(again.vertices, sample.vertices)
    assert suggestions.sample_of(graph, graph.num_vertices) is graph
    # Vertices that are not found come last, so a sample has as many as are asked for.
    lonely = ew.Graph.from_edges([0, 1], [1, 0], num_vertices=9)
    assert suggestions.sample_of(lonely, 4, [1]).vertices.tolist()[:2] == [0, 1]
    assert suggestions.sample_of(lonely, 4).num_vertices == 4


def test_suggestions_are_those_of_sweeps_in_their_order():
    graph = ew.generate.rmat(11, 8, seed=2)
    source = int(graph.out_degree.argmax())
    found = ew.approx.suggest(graph, ew.pagerank, start=source, max_inaccuracy=0.002, size=500, **SHORT)
    assert found.sample.num_vertices == 500 and source in found.sample.vertices
    assert len(found.suggestions) == sum(len(ladder.values) for ladder in sweeping.LADDERS.values())
    keys = [(each.inaccuracy > 0.002, -each.speedup) for each in found.suggestions]
    assert keys == sorted(keys) and keys[0][0] is False and any(far for far, _ in keys)
    for each in found.suggestions:
        made = each.make(found.sample)
        told = ew.approx.evaluate(made, ew.pagerank, **SHORT)
        assert each.inaccuracy == told.difference.inaccuracy
        assert each.added_fraction == made.num_added / found.sample.num_edges
        assert each.speedup_by_edges == each.speedup / each.speedup_by_order
        assert each.make(graph).technique == each.technique.__name__
    first = found.suggestions[0]
    long = min(each.exact_seconds for each in found.suggestions) >= suggestions.TOO_SHORT
    assert found.best is (first if long and first.speedup >= suggestions.WORTH else None)
    assert ("too short to tell" in found.reason) is not long


def suggestion(speedup, inaccuracy, exact=0.5):
    return ew.approx.Suggestion(
        ew.approx.normalize_degrees,
        {"threshold": 0.3},
        inaccuracy,
        speedup,
        1.0,
        0.01,
        exact,
        exact / speedup,
    )


def test_nothing_is_chosen_if_nothing_is_faster_or_accurate_enough():
    graph = skewed()

    def chosen(*found):
        return suggestions._chosen(found, 0.05, graph, False)

    best = chosen(suggestion(1.4, 0.02), suggestion(1.2, 0.0), suggestion(2.0, 0.5))
    assert best.best is best.suggestions[0] and "1.40 times as fast" in best.reason
    slow = chosen(suggestion(1.04, 0.02), suggestion(2.0, 0.5))
    assert slow.best is None and "1.04 times as fast as the exact call, and from 1.05 on" in slow.reason
    far = chosen(suggestion(2.0, 0.2), suggestion(1.5, 0.1))
    assert far.best is None and "the least inaccuracy is 10.00%, and 5.00% was asked for" in far.reason


def test_nothing_is_chosen_if_times_are_too_short_to_tell():
    graph = skewed()

    def chosen(*found, is_whole=False):
        return suggestions._chosen(found, 0.05, graph, is_whole)

    short = chosen(suggestion(3.0, 0.02, exact=0.0006), suggestion(1.2, 0.0, exact=0.0005))
    assert short.best is None
    assert "3.00 times as fast as the exact call, but in 0.200 ms instead of 0.600" in short.reason
    assert "the exact call took 0.500 ms at least: below 1 ms times are too short to tell" in short.reason
    assert short.reason.endswith("take a larger size, or evaluate it on the graph itself")
    # One of the times of the exact call is long by chance.
    assert chosen(suggestion(3.0, 0.02, exact=0.003), suggestion(1.2, 0.0, exact=0.0005)).best is None
    slow = chosen(suggestion(1.01, 0.02, exact=0.0005), is_whole=True)
    assert slow.best is None and slow.reason.endswith("too short to tell")
    assert chosen(suggestion(3.0, 0.02, exact=0.001)).best is not None


def test_what_is_chosen_is_tried_again():
    far, slow, lucky, steady = (
        suggestion(9.0, 0.2),
        suggestion(0.9, 0.0),
        suggestion(2.0, 0.01),
        suggestion(1.5, 0.0),
    )
    asked = []

    def again(each):
        asked.append(each)
        return suggestion(1.02, 0.01) if each is lucky else each

    found = suggestions._confirmed([far, slow, lucky, steady], 0.05, again)
    assert asked == [lucky, steady]
    assert [each.speedup for each in found] == [1.5, 1.02, 0.9, 9.0]
    assert suggestions._confirmed([far], 0.05, again) == (far,)
    assert suggestions._confirmed([slow, far], 0.05, again) == (slow, far)
    assert suggestions._confirmed([lucky], 0.05, again)[0].speedup == 1.02
    assert asked == [lucky, steady, lucky]


def test_programs_are_tried_by_a_field():
    graph = skewed()
    strength = ew.approx.suggest(
        graph, lambda each: ew.pagerank(each, device="cpu"), field="rank", size=200, repeat=1
    )
    assert max(each.inaccuracy for each in strength.suggestions) > 0


def test_what_cannot_be_tried_is_refused():
    graph, make = skewed(), ew.approx.normalize_degrees
    for call, problem in (
        (lambda: ew.approx.sweep(graph, ew.bfs, ew.bfs, 3), "expected one of ew.approx.normalize_degrees"),
        (lambda: ew.approx.sweep(graph, [make], ew.bfs, 3), "expected one of ew.approx.normalize_degrees"),
        (lambda: ew.approx.sweep(graph, make, ew.bfs, 3, values=()), "values is empty"),
        (
            lambda: ew.approx.sweep(graph, make, ew.bfs, 3, knob="size"),
            "has no knob 'size'; it has threshold,",
        ),
        (lambda: ew.approx.sweep(graph, make, ew.bfs, 3, knobs={"margin": 1}), "has no knob 'margin'"),
        (
            lambda: ew.approx.sweep(graph, make, ew.bfs, 3, knobs={"threshold": 1}),
            "among the knobs that stay",
        ),
        (lambda: ew.approx.sweep(graph, make, ew.bfs, 3, values=[2]), "threshold is 2"),
        (lambda: ew.approx.suggest(graph, 3), "call is 3; expected one, such as ew.pagerank"),
        (lambda: ew.approx.suggest(graph, ew.bfs, 3, size=1), "size is 1; expected an integer of at least 2"),
        (lambda: ew.approx.suggest(graph, ew.bfs, 3, max_inaccuracy=5), "max_inaccuracy is 5"),
        (lambda: ew.approx.suggest(ew.Graph.from_edges([], []), ew.bfs, 3), "the graph has no vertices"),
    ):
        with pytest.raises(ParameterError, match=problem):
            call()
    with pytest.raises(GraphError):
        ew.approx.suggest(graph, ew.bfs, 10**6, size=100)
    for call in (lambda: ew.approx.sweep(3, make, ew.bfs), lambda: ew.approx.suggest(3, ew.bfs)):
        with pytest.raises(GraphTypeError):
            call()


def test_what_is_swept_has_values_of_its_own():
    graph, make = skewed(), ew.approx.normalize_degrees
    for how, problem in (
        ({"knobs": [1]}, "knobs is .* expected a dict"),
        ({"knob": "warp"}, "give some of 'warp'"),
        ({"values": 0.3}, "values is 0.3; expected several"),
        ({"values": "auto"}, "values is 'auto'; expected several"),
    ):
        with pytest.raises(ParameterError, match=problem):
            ew.approx.sweep(graph, make, ew.bfs, 3, **how)


def test_a_vertex_that_is_not_in_the_sample_is_refused_with_what_to_do():
    graph = skewed()
    sample = suggestions.sample_of(graph, 100)
    outside = np.setdiff1d(graph.vertices, sample.vertices)[:1].tolist()
    told = rf"on a sample of 100 vertices, the graph has no vertex {outside[0]};.* give it as start"
    with pytest.raises(GraphError, match=told):
        ew.approx.suggest(graph, ew.betweenness, sources=outside, size=100, repeat=1)
    ew.approx.suggest(graph, ew.betweenness, sources=outside, start=outside, size=100, repeat=1)


def test_where_a_sample_starts_is_a_vertex():
    with pytest.raises(GraphError):
        ew.approx.suggest(skewed(), ew.pagerank, start=10**6)
