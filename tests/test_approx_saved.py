"""Approximate graphs in files: what comes back, and what is refused."""

import json
import pickle
import zipfile

import numpy as np
import pytest
from test_approx import GRAPHS

import edgewise as ew
from edgewise.errors import OutputError, ParseError

ARRAYS, GRAPH = "approximate.npz", "original.edgewise"
MADE = {
    "degrees": lambda graph: ew.approx.normalize_degrees(graph, threshold=0.6, fill=1.0, budget=1.0),
    "clusters": lambda graph: ew.approx.form_clusters(graph, threshold=0.3, margin=0.3, budget=1.0),
    "replicas": lambda graph: ew.approx.coalesce(graph, chunk=8, threshold=0.25, budget=1.0, extra=3),
    "nothing": lambda graph: ew.approx.form_clusters(graph, threshold=float("inf")),
}


@pytest.fixture(params=MADE)
def made(request):
    return MADE[request.param](GRAPHS["skewed both ways"]())


@pytest.fixture
def saved(tmp_path):
    """The folder of a graph with replicas."""
    MADE["replicas"](GRAPHS["skewed"]()).save(tmp_path / "it")
    return tmp_path / "it"


def same(one, other):
    """Assert that two approximate graphs are the same."""
    assert (one.technique, one.knobs, one.seconds) == (other.technique, other.knobs, other.seconds)
    mine, its = vars(one), vars(other)
    for name in ("order", "clusters"):
        np.testing.assert_array_equal(mine[name], its[name])
    for name in ("added", "copies"):
        assert (mine[name] is None) == (its[name] is None)
        for mine_of, its_of in zip(mine[name] or (), its[name] or (), strict=True):
            np.testing.assert_array_equal(mine_of, its_of)
    for graph, back in ((one.original, other.original), (one.graph, other.graph)):
        for name in ("offsets", "targets", "weights", "vertices"):
            np.testing.assert_array_equal(getattr(graph, name), getattr(back, name))
        assert graph.directed == back.directed


@pytest.mark.parametrize("name", GRAPHS)
@pytest.mark.parametrize("technique", MADE)
def test_what_is_saved_comes_back(name, technique, tmp_path):
    made = MADE[technique](GRAPHS[name]())
    made.save(tmp_path / "it")
    back = ew.approx.load(tmp_path / "it")
    same(made, back)
    assert sorted(path.name for path in (tmp_path / "it").iterdir()) == [ARRAYS, GRAPH]
    if made.copies is not None:
        np.testing.assert_array_equal(back.balance.first, made.balance.first)
    back.save(str(tmp_path / "it"))  # over the files that it has its graph from
    same(made, ew.approx.load(str(tmp_path / "it")))


def test_names_of_vertices_come_back(tmp_path):
    graph = ew.Graph.from_edges(["a", "b", "c", "a"], ["b", "c", "d", "e"])
    made = ew.approx.coalesce(graph, chunk=4)
    made.save(tmp_path / "it")
    same(made, ew.approx.load(tmp_path / "it"))


def test_another_graph_takes_the_place_of_the_first(made, saved):
    made.save(saved)
    same(made, ew.approx.load(saved))


def test_files_that_are_cut_off_are_refused(saved):
    whole = (saved / ARRAYS).read_bytes()
    for size in {0, 1, 30, len(whole) - 1, *range(100, len(whole), len(whole) // 40)}:
        (saved / ARRAYS).write_bytes(whole[:size])
        with pytest.raises(ParseError, match="is damaged"):
            ew.approx.load(saved)
    (saved / ARRAYS).write_bytes(whole)
    (saved / GRAPH).write_bytes((saved / GRAPH).read_bytes()[:5000])
    with pytest.raises(ParseError):
        ew.approx.load(saved)


def test_changed_bytes_are_refused_or_change_nothing(saved):
    """Times and permissions of an archive's parts are not looked at."""
    right, whole = ew.approx.load(saved), (saved / ARRAYS).read_bytes()
    random, refused = np.random.default_rng(1), 0
    places = {
        *random.integers(0, len(whole), 150).tolist(),
        *range(200),
        *range(len(whole) - 700, len(whole)),
    }
    for place in places:
        changed = bytearray(whole)
        changed[place] ^= 1 << int(random.integers(8))
        (saved / ARRAYS).write_bytes(changed)
        try:
            found = ew.approx.load(saved)
        except ParseError:
            refused += 1
        else:
            same(right, found)
    assert refused > len(places) // 2


def rewrite(folder, **changes):
    """Write the archive again with some arrays in the place of others; None leaves one out."""
    with np.load(folder / ARRAYS) as archive:
        arrays = {**archive, **changes}
    np.savez(folder / ARRAYS, **{name: each for name, each in arrays.items() if each is not None})


def told(folder, **changes):
    """What is told as JSON, with changes, as an array."""
    with np.load(folder / ARRAYS) as archive:
        about = {**json.loads(archive["about"].tobytes()), **changes}
    return np.frombuffer(json.dumps(about).encode(), np.uint8)


def changed(folder, name, change):
    """An array of the archive with a change."""
    with np.load(folder / ARRAYS) as archive:
        values = archive[name].copy()
    change(values)
    return values


def put(place, value):
    """A change: set an element, or several."""

    def change(values):
        values[place] = value

    return change


@pytest.mark.parametrize(
    ("name", "change", "problem"),
    [
        ("order", put(0, 10**6), "its order has not each vertex once"),
        ("order", put(slice(0, 2), 5), "its order has not each vertex once"),
        ("order", put(3, -1), "its order has not each vertex once"),
        ("sources", put(0, 512), "an added edge leads to no vertex"),
        ("targets", put(-1, -1), "an added edge leads to no vertex"),
        ("vertex", put(0, 1), "not each a slot of their own"),
        ("vertex", put(0, -2), "a slot has a vertex or a chunk that does not exist"),
        ("vertex", put(-1, 0), "not each a slot of their own"),
        ("to", put(0, 0), "not each a slot of their own"),
        ("to", put(0, 10**6), "a slot has a vertex or a chunk that does not exist"),
        ("to", put(-1, 0), "two replicas for a chunk, or a replica has no vertex"),
    ],
)
def test_values_that_no_approximate_graph_has_are_refused(saved, name, change, problem):
    rewrite(saved, **{name: changed(saved, name, change)})
    with pytest.raises(ParseError, match=f"approximate.npz is damaged: .*{problem}"):
        ew.approx.load(saved)


def test_arrays_that_do_not_fit_are_refused(saved):
    few, floats = np.arange(3, dtype=np.int32), np.zeros(512)
    for changes, problem in (
        ({"order": few}, "its order has not each vertex once"),
        ({"order": floats}, "order is float64 of shape .*; expected int32"),
        ({"order": np.arange(512, dtype=">i4")}, "order is >i4"),
        ({"order": np.arange(512, dtype=np.int32).reshape(2, 256)}, "expected int32 in one dimension"),
        ({"order": None}, "it has no order"),
        ({"weights": None}, "it has no weights"),
        ({"weights": floats}, "weights is float64"),
        ({"weights": few}, "not as many as their ends or weights"),
        ({"sources": few}, "not as many as their ends or weights"),
        ({"to": None}, "a part of what slots are"),
        ({"to": None, "vertex": None}, "a part of what slots are"),
        ({"to": few}, "its slots are not in chunks"),
        ({"to": few, "vertex": few}, "its slots are not in chunks"),
        ({"clusters": np.array([1, 2])}, "its clusters do not follow each other"),
        ({"clusters": np.array([0, 4, 4])}, "its clusters do not follow each other"),
        ({"clusters": np.array([0, 600])}, "its clusters do not follow each other"),
        ({"clusters": np.zeros(0, np.int64)}, "its clusters do not follow each other"),
        ({"other": few}, "it has 'other.npy', which is no array"),
    ):
        whole = (saved / ARRAYS).read_bytes()
        rewrite(saved, **changes)
        with pytest.raises(ParseError, match=f"is damaged: .*{problem}"):
            ew.approx.load(saved)
        (saved / ARRAYS).write_bytes(whole)


def test_an_added_edge_from_a_vertex_to_itself_is_refused(saved):
    with np.load(saved / ARRAYS) as archive:
        sources = archive["sources"]
    rewrite(saved, targets=sources)
    with pytest.raises(ParseError, match="an added edge leads to no vertex, or to its own"):
        ew.approx.load(saved)


def test_weights_that_are_not_finite_are_refused(tmp_path):
    MADE["replicas"](GRAPHS["skewed, floats"]()).save(tmp_path)
    rewrite(tmp_path, weights=changed(tmp_path, "weights", put(0, np.nan)))
    with pytest.raises(ParseError, match="the weight of an added edge is not finite"):
        ew.approx.load(tmp_path)


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"version": 2}, "it has version 2; this edgewise reads 1, so take a newer one"),
        ({"version": 0}, "it has no version"),
        ({"version": "1"}, "it has no version"),
        ({"technique": 3}, "it says"),
        ({"technique": "\x1b[2J"}, "it says"),
        ({"seconds": -1}, "it says"),
        ({"seconds": float("nan")}, "it says"),
        ({"seconds": True}, "it says"),
        ({"knobs": [1]}, "it says"),
        ({"knobs": {"chunk": "8"}}, "its knobs are"),
        ({"knobs": {"a b": 8}}, "its knobs are"),
        ({"chunk": 0}, "its slots are not in chunks"),
        ({"chunk": None}, "it has a part of what slots are"),
        ({"chunk": 2.5}, "it says"),
        ({"more": 1}, "it says"),
    ],
)
def test_what_is_told_is_checked(saved, changes, problem):
    rewrite(saved, about=told(saved, **changes))
    with pytest.raises(ParseError, match=f"is damaged: {problem}"):
        ew.approx.load(saved)


@pytest.mark.parametrize("text", [b"", b"{", b"[]", b"\xff\xfe", b"[" * 100_000, b"9" * 10_000])
def test_what_is_no_json_is_refused(saved, text):
    rewrite(saved, about=np.frombuffer(text, np.uint8))
    with pytest.raises(ParseError, match="is damaged"):
        ew.approx.load(saved)


def test_arrays_of_another_graph_are_refused(saved, tmp_path):
    MADE["replicas"](GRAPHS["skewed, floats"]()).save(tmp_path / "other")
    MADE["replicas"](ew.generate.rmat(9, 6, seed=7, weights=(1, 100))).save(tmp_path / "similar")
    for other in ("other", "similar"):
        (saved / ARRAYS).write_bytes((tmp_path / other / ARRAYS).read_bytes())
        with pytest.raises(ParseError, match=r"belongs to another graph|weights is float"):
            ew.approx.load(saved)


class Harm:
    """An object that does harm where it is unpickled."""

    def __reduce__(self):
        return exec, ("raise SystemExit('unpickled')",)


def test_nothing_is_unpickled(saved):
    rewrite(saved, order=np.array([Harm()], object))
    with pytest.raises(ParseError, match="order is object"):
        ew.approx.load(saved)
    (saved / ARRAYS).write_bytes(pickle.dumps(Harm()))
    with pytest.raises(ParseError, match="is damaged"):
        ew.approx.load(saved)


def test_foreign_files_are_refused(saved):
    with np.load(saved / ARRAYS) as archive:
        np.savez_compressed(saved / ARRAYS, **archive)
    with pytest.raises(ParseError, match="is compressed"):
        ew.approx.load(saved)
    with zipfile.ZipFile(saved / ARRAYS, "w") as archive:
        archive.writestr("about.txt", "a text")
    with pytest.raises(ParseError, match=r"it has 'about.txt', which is no array"):
        ew.approx.load(saved)
    (saved / ARRAYS).write_text("source,target\n1,2\n")
    with pytest.raises(ParseError, match="is damaged"):
        ew.approx.load(saved)
    (saved / GRAPH).write_bytes((saved / ARRAYS).read_bytes())
    with pytest.raises(ParseError):
        ew.approx.load(saved)


def test_a_header_that_promises_more_than_there_is_is_refused(saved):
    """Nothing is allocated by what a header says."""
    header = b"{'descr': '<i4', 'fortran_order': False, 'shape': (1000000000000000,), }"
    header += b" " * (117 - len(header)) + b"\n"
    with zipfile.ZipFile(saved / ARRAYS, "w") as archive:
        archive.writestr("order.npy", b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header)
    with pytest.raises(ParseError, match="order has 0 bytes; expected 4,000,000,000,000,000"):
        ew.approx.load(saved)


def test_places_that_do_not_exist_are_refused(saved, tmp_path):
    made = MADE["degrees"](GRAPHS["streets"]())
    for path in (3, None, "", b"it", [1]):
        with pytest.raises(OutputError, match="expected the name of a folder"):
            made.save(path)
        with pytest.raises(ParseError, match="expected the name of a folder"):
            ew.approx.load(path)
    with pytest.raises(OutputError, match="cannot make the folder"):
        made.save(tmp_path / "not there" / "it")
    with pytest.raises(OutputError, match="cannot make the folder"):
        made.save(saved / ARRAYS)
    with pytest.raises(ParseError, match="there is no file"):
        ew.approx.load(tmp_path / "not there")
    with pytest.raises(ParseError, match=r"approximate\.npz is a file; expected the folder"):
        ew.approx.load(saved / ARRAYS)
    (saved / ARRAYS).unlink()
    with pytest.raises(ParseError, match=r"expected a folder that Approximate\.save wrote"):
        ew.approx.load(saved)
    (saved / ARRAYS).mkdir()
    with pytest.raises(OutputError, match="it is a folder"):
        made.save(saved)
    with pytest.raises(ParseError):
        ew.approx.load(saved)


def test_an_archive_that_is_not_written_leaves_the_older_one(saved, monkeypatch):
    older = (saved / ARRAYS).read_bytes()

    def full(*arguments, **options):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("numpy.lib.format.write_array", full)
    with pytest.raises(OutputError, match="No space left on device"):
        MADE["replicas"](GRAPHS["skewed"]()).save(saved)
    assert (saved / ARRAYS).read_bytes() == older
    assert sorted(path.name for path in saved.iterdir()) == [ARRAYS, GRAPH]
