"""Partial sums of betweenness in a file: an interrupted run goes on to the same bits; other files are refused."""

import os
import tracemalloc
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import edgewise as ew
from edgewise.algorithms.betweenness import checkpoint as betweenness_checkpoint
from edgewise.algorithms.betweenness import cpu as betweenness_cpu
from edgewise.algorithms.common.lengths import arcs_of
from edgewise.errors import GraphError, NotKeptWarning, OutputError, ParameterError

pytestmark = pytest.mark.usefixtures("threads_even_for_small_graphs")


class Interruption(Exception):
    """What a progress function raises."""


@pytest.fixture
def graph():
    """Sums of shares that have no end in binary, so that their bits tell the order of adding up."""
    drawn = ew.generate.rmat(7, 6, seed=5)
    weights = np.random.default_rng(5).integers(1, 4, drawn.num_arcs) / 10
    return ew.Graph.from_edges(drawn.sources, drawn.targets, weights, directed=False, num_vertices=128)


def stop_after(enough, error=Interruption):
    def progress(done):
        if done >= enough:
            raise error

    return progress


def interrupt(algorithm, graph, path, enough=10, error=Interruption, threads=2, **options):
    schedule = ew.Schedule(num_threads=threads)
    with pytest.raises(error):
        algorithm(
            graph,
            device="cpu",
            schedule=schedule,
            checkpoint=path,
            progress=stop_after(enough, error),
            **options,
        )


@pytest.mark.parametrize("error", [Interruption, KeyboardInterrupt])
@pytest.mark.parametrize("options", [{}, {"weighted": True}, {"k": 50, "seed": 3}])
@pytest.mark.parametrize("algorithm", [ew.betweenness, ew.edge_betweenness])
def test_an_interrupted_run_goes_on_to_the_same_bits(algorithm, graph, tmp_path, options, error):
    whole, path = algorithm(graph, device="cpu", **options), tmp_path / "sums"
    interrupt(algorithm, graph, path, 10, error, **options)
    assert os.listdir(tmp_path) == ["sums"]
    interrupt(algorithm, graph, str(path), 30, error, threads=1, **options)
    seen = []
    result = algorithm(
        graph,
        device="cpu",
        schedule=ew.Schedule(num_threads=3),
        progress=seen.append,
        checkpoint=path,
        **options,
    )
    # With two threads a batch has 8 sources, with one 4: 16 were done at first, then 32.
    assert "32 of" in result.explain() and min(filter(None, seen)) >= 32 and seen[-1] == result.num_sources
    np.testing.assert_array_equal(result.dependency, whole.dependency)
    np.testing.assert_array_equal(result.centrality, whole.centrality)
    assert os.listdir(tmp_path) == []


def test_other_orders_of_adding_up_have_other_bits(graph):
    """Else the test above could not fail."""
    backwards = list(range(graph.num_vertices))[::-1]
    one, other = ew.betweenness(graph, device="cpu"), ew.betweenness(graph, sources=backwards, device="cpu")
    np.testing.assert_allclose(one.dependency, other.dependency)
    assert not np.array_equal(one.dependency, other.dependency)


def test_a_run_that_is_interrupted_within_a_batch_keeps_those_before(tmp_path, monkeypatch):
    monkeypatch.setattr(betweenness_cpu, "ROWS_OF_THREAD", 10)
    graph, path = ew.generate.lattice(800, 800, directed=False), tmp_path / "sums"
    options = {"k": 16, "device": "cpu", "schedule": ew.Schedule(num_threads=1)}
    seen = []

    def stop(done):
        seen.append(done)
        if seen.count(10) > 1:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        ew.betweenness(graph, checkpoint=path, progress=stop, **options)
    result = ew.betweenness(graph, checkpoint=path, **options)
    assert "10 of 16 sources" in result.explain()
    np.testing.assert_array_equal(result.dependency, ew.betweenness(graph, **options).dependency)


def test_sums_that_are_half_added_to_are_not_written(graph, tmp_path):
    path, total = tmp_path / "sums", np.ones(128)
    with (
        pytest.raises(Interruption),
        betweenness_checkpoint.Checkpoint(path, "betweenness", arcs_of(graph)) as kept,
    ):
        kept.keep(9, total)
        total[:50] += 1
        raise Interruption
    assert betweenness_checkpoint.Checkpoint(path, "betweenness", arcs_of(graph)).restore(total, 128) == 9
    np.testing.assert_array_equal(total, np.ones(128))


def test_the_file_is_written_from_time_to_time(graph, tmp_path, monkeypatch):
    path, there = tmp_path / "sums", []

    def look(done):
        there.append(path.exists() and int(np.load(path)["done"]) == done)

    for seconds in (0, 1000):
        monkeypatch.setattr(betweenness_checkpoint, "SECONDS", seconds)
        ew.betweenness(graph, device="cpu", checkpoint=path, progress=look)
        assert there and all(each == (seconds == 0) for each in there)
        there.clear()
        assert not path.exists()


def test_a_run_without_an_interruption_and_one_without_sources(graph, tmp_path):
    path = tmp_path / "sums"
    result = ew.betweenness(graph, device="cpu", checkpoint=path)
    np.testing.assert_array_equal(result.dependency, ew.betweenness(graph, device="cpu").dependency)
    nothing = ew.Graph.from_edges([], [], num_vertices=0)
    assert ew.edge_betweenness(nothing, device="cpu", checkpoint=path).centrality.shape == (0,)
    assert os.listdir(tmp_path) == []


def test_a_link_to_the_file_stays_and_the_file_goes(graph, tmp_path):
    target, link = tmp_path / "sums", tmp_path / "link"
    interrupt(ew.betweenness, graph, target)
    link.symlink_to(target)
    assert ew.betweenness(graph, device="cpu", checkpoint=link).verify(graph)
    assert link.is_symlink() and not target.exists()


def test_how_values_are_scaled_may_change(graph, tmp_path):
    interrupt(ew.betweenness, graph, tmp_path / "sums", normalized=False)
    result = ew.betweenness(graph, device="cpu", checkpoint=tmp_path / "sums")
    np.testing.assert_array_equal(result.centrality, ew.betweenness(graph, device="cpu").centrality)


def test_files_of_other_runs_are_refused(graph, tmp_path):
    path = tmp_path / "sums"
    interrupt(ew.betweenness, graph, path, k=60, seed=1)
    before = path.read_bytes()
    heavier = ew.Graph.from_csr(graph.offsets, graph.targets, graph.weights + 1)
    other_way = np.ascontiguousarray(graph.targets[::-1])
    for run, problem in (
        (lambda: ew.betweenness(graph, k=60, seed=2, checkpoint=path), "is that of other arguments"),
        (lambda: ew.betweenness(graph, checkpoint=path), "is that of other arguments"),
        (
            lambda: ew.betweenness(graph, k=60, seed=1, targets=[0], checkpoint=path),
            "is that of other arguments",
        ),
        (
            lambda: ew.betweenness(graph, k=60, seed=1, endpoints=True, checkpoint=path),
            "is that of other arguments",
        ),
        (lambda: ew.edge_betweenness(graph, k=60, seed=1, checkpoint=path), "is that of other arguments"),
        (
            lambda: ew.betweenness(graph, k=60, seed=1, weighted=True, checkpoint=path),
            "is that of another graph",
        ),
        (
            lambda: ew.betweenness(
                ew.Graph.from_csr(graph.offsets, other_way), k=60, seed=1, checkpoint=path
            ),
            "is that of another graph",
        ),
    ):
        with pytest.raises(ParameterError, match=f"betweenness: the checkpoint .*sums {problem}"):
            run()
        assert path.read_bytes() == before
    # Without weights, other weights make no difference.
    ew.betweenness(heavier, k=60, seed=1, device="cpu", checkpoint=path)


def test_damaged_files_are_refused(graph, tmp_path):
    path = tmp_path / "sums"
    right = ew.betweenness(graph, device="cpu").dependency
    interrupt(ew.betweenness, graph, path)
    whole = path.read_bytes()
    for length in range(0, len(whole), 37):
        path.write_bytes(whole[:length])
        with pytest.raises(ParameterError, match="is damaged, or no checkpoint"):
            ew.betweenness(graph, device="cpu", checkpoint=path)
    refused = 0
    for place in range(0, len(whole), 11):
        path.write_bytes(whole[:place] + bytes([whole[place] ^ 0x55]) + whole[place + 1 :])
        try:
            result = ew.betweenness(graph, device="cpu", checkpoint=path)
        except ParameterError:
            refused += 1
        else:  # nobody reads some bytes, such as that of the time of day
            np.testing.assert_array_equal(result.dependency, right)
    assert refused > 0.8 * len(whole) / 11


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"done": np.int64(-(10**9))}, "done is -1000000000; expected an integer from 0 to 128"),
        ({"done": np.int64(129)}, "done is 129; expected"),
        ({"done": np.float64(16.0)}, "done is 16.0; expected"),
        ({"done": np.array([16])}, r"done is \[16\]; expected"),
        ({"done": np.bool_(True)}, "done is True; expected"),
        ({"done": np.int64(0)}, "total has values that no sums over 0 sources have"),
        ({"total": np.ones(1)}, r"total is float64 of shape \(1,\); expected float64 of shape \(128,\)"),
        ({"total": np.ones(128, np.float32)}, "total is float32 of shape"),
        ({"total": np.full(128, np.nan)}, "total has values that no sums"),
        ({"total": np.full(128, np.inf)}, "total has values that no sums"),
        ({"total": np.full(128, -1.0)}, "total has values that no sums"),
        ({"total": np.full(128, 1e300)}, "total has values that no sums"),
    ],
)
def test_values_that_no_run_writes_are_refused(graph, tmp_path, changes, problem):
    path = tmp_path / "sums"
    interrupt(ew.betweenness, graph, path)
    with np.load(path) as saved:
        values = dict(saved)
    with open(path, "wb") as file:
        np.savez(file, **{**values, **changes})
    with pytest.raises(ParameterError, match=f"the checkpoint .*sums is damaged: {problem}"):
        ew.betweenness(graph, device="cpu", checkpoint=path)


@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
@pytest.mark.parametrize("member", ["total", "graph", "what", "done", "format", "digest"])
def test_a_member_of_another_size_is_not_read(graph, tmp_path, member, save):
    path = tmp_path / "sums"
    interrupt(ew.betweenness, graph, path)
    with np.load(path) as saved:
        values = dict(saved)
    with open(path, "wb") as file:
        save(file, **{**values, member: np.zeros(10**7)})
    kept = betweenness_checkpoint.Checkpoint(path, "betweenness", arcs_of(graph))
    kept._graph, kept._what = str(values["graph"]), str(values["what"])
    tracemalloc.start()
    with pytest.raises(ParameterError, match="sums is damaged"):
        kept.restore(np.zeros(128), 128)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 10**6


def test_done_and_total_belong_together(graph, tmp_path):
    path = tmp_path / "sums"
    interrupt(ew.betweenness, graph, path)
    with np.load(path) as saved:
        values = dict(saved)
    half = values["total"] / 2
    for changes in ({"done": values["done"] + 1}, {"total": half}, {"digest": np.array("0" * 64)}):
        with open(path, "wb") as file:
            np.savez(file, **{**values, **changes})
        with pytest.raises(
            ParameterError, match="is damaged: done and total are not those that were written"
        ):
            ew.betweenness(graph, device="cpu", checkpoint=path)


def test_files_of_other_formats_are_refused(graph, tmp_path):
    path = tmp_path / "sums"
    interrupt(ew.betweenness, graph, path)
    with np.load(path) as saved:
        values = dict(saved)
    first = {name: values[name] for name in ("graph", "what", "done", "total")}
    for number, written in ((1, first), (3, {**values, "format": 3, "more": 1})):
        with open(path, "wb") as file:
            np.savez(file, **written)
        with pytest.raises(
            ParameterError,
            match=f"is of format {number}, that of another version of edgewise; expected 2; name",
        ):
            ew.betweenness(graph, device="cpu", checkpoint=path)


@pytest.fixture
def full_disk(monkeypatch):
    """A list: as long as it has something, a writing takes one out and fails."""
    failures, save = [], np.savez

    def write(*args, **arrays):
        if failures:
            failures.pop()
            raise OSError(28, "No space left on device")
        save(*args, **arrays)

    monkeypatch.setattr(np, "savez", write)
    return failures


def test_a_run_goes_on_though_its_checkpoint_cannot_be_written(graph, tmp_path, monkeypatch, full_disk):
    monkeypatch.setattr(betweenness_checkpoint, "SECONDS", -1)
    right, there, path = ew.betweenness(graph, device="cpu").dependency, [], tmp_path / "sums"
    full_disk.extend([None] * 2)
    with pytest.warns(
        RuntimeWarning, match=r"cannot write .*sums: No space left .* The run goes on"
    ) as caught:
        result = ew.betweenness(
            graph,
            device="cpu",
            checkpoint=path,
            schedule=ew.Schedule(num_threads=1),
            progress=lambda done: there.append(path.exists()),
        )
    assert [warning.filename for warning in caught] == [__file__]
    assert not any(there[:2]) and there[-1]
    np.testing.assert_array_equal(result.dependency, right)


@pytest.mark.parametrize("error", [Interruption, KeyboardInterrupt])
def test_an_interrupted_run_says_that_its_checkpoint_cannot_be_written(graph, tmp_path, full_disk, error):
    full_disk.append(None)
    with pytest.warns(NotKeptWarning, match=r"cannot write .*sums: No space left on device. What was done"):
        interrupt(ew.betweenness, graph, tmp_path / "sums", error=error)
    assert os.listdir(tmp_path) == []


def test_foreign_files_are_refused(graph, tmp_path):
    np.savez(tmp_path / "others.npz", total=np.zeros(3))
    np.save(tmp_path / "array.npy", np.zeros(3))
    np.save(tmp_path / "objects.npy", np.array([{}], object), allow_pickle=True)
    (tmp_path / "text.txt").write_text("a\tb\n")
    for path in sorted(tmp_path.iterdir()):
        before = path.read_bytes()
        with pytest.raises(ParameterError, match="is damaged, or no checkpoint"):
            ew.betweenness(graph, device="cpu", checkpoint=path)
        assert path.read_bytes() == before


def test_places_that_are_refused(graph, tmp_path):
    for place, error, problem in (
        (7, ParameterError, "edge_betweenness: checkpoint is 7; expected the name of a file"),
        (tmp_path, OutputError, "it is a folder"),
        (tmp_path / "no" / "sums", OutputError, "there is no folder"),
    ):
        with pytest.raises(error, match=problem):
            ew.edge_betweenness(graph, device="cpu", checkpoint=place)


def test_a_refused_graph_leaves_no_file(tmp_path, monkeypatch):
    """The first two sources are done, and then a weight is lost."""
    monkeypatch.setattr(betweenness_cpu, "ROWS_OF_THREAD", 1)
    graph = ew.Graph.from_edges([0, 1, 2, 3], [1, 2, 3, 4], [1.0, 1.0, 1e20, 1.0])
    with pytest.raises(GraphError, match="a weight is so small"):
        ew.betweenness(
            graph,
            sources=[4, 3, 2],
            weighted=True,
            device="cpu",
            schedule=ew.Schedule(num_threads=1),
            checkpoint=tmp_path / "sums",
        )
    assert os.listdir(tmp_path) == []


def test_two_threads_can_write_the_same_file(tmp_path, graph, monkeypatch):
    """One replaces what the other wrote; neither ends in an error."""
    monkeypatch.setattr(betweenness_checkpoint, "SECONDS", 0)
    whole = ew.betweenness(graph, device="cpu").dependency.tobytes()

    def run(_):
        alone = ew.Schedule(num_threads=1)
        found = ew.betweenness(graph, device="cpu", schedule=alone, checkpoint=tmp_path / "sums")
        return found.dependency.tobytes()

    with ThreadPoolExecutor(2) as threads:
        assert [*threads.map(run, range(4))] == [whole] * 4
