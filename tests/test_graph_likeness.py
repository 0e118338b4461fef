"""Digests of all that graphs hold: what differs in one place changes them, and copies have those of the original."""

import copy
import datetime
import enum
import itertools
import pickle
from fractions import Fraction
from typing import Any

import numba
import numpy as np
import pytest

import edgewise as ew
from edgewise.graph.likeness import checksum_of, digest_of_array, digest_of_graph, digest_of_ids
from edgewise.program.inspect import specification
from edgewise.program.key import program_text

RING = np.array([1, 2, 0])


class Colour(enum.Enum):
    RED = enum.auto()
    BLUE = enum.auto()


KINDS: list[list[Any]] = [
    [0, 1, 2],
    [5, 6, 7],
    [7, 6, 5],
    [2**63, 2**63 + 1, 2**63 + 2],
    [2**70, 1, 2],
    ["a", "b", "c"],
    ["a", "b", "d"],
    ["ab", "", "c"],
    ["a", "b\0", "c"],
    ["a", "b", "\0c"],
    ["1", "2", "3"],
    [(1, "a"), (1, "b"), (2, "a")],
    [(1, "a"), (1, "b"), ("2", "a")],
    [1, "1", 2.5],
    [1, "1", Fraction(5, 3)],
    [Colour.RED, Colour.BLUE, 1],
    [Colour.BLUE, Colour.RED, 1],
    [datetime.date(2020, 1, day) for day in (1, 2, 3)],
    [datetime.date(2020, 1, day) for day in (1, 2, 4)],
    [datetime.datetime(2020, 1, day) for day in (1, 2, 4)],
    [frozenset("ab"), frozenset("cd"), frozenset()],
    [frozenset("ab"), frozenset("ce"), frozenset()],
]


def test_other_ids_have_another_digest() -> None:
    graphs = [ew.Graph.from_csr([0, 1, 2, 3], RING, vertices=ids) for ids in KINDS]
    graphs.append(ew.Graph.from_csr([0, 1, 2, 3], RING[::-1].copy()))
    graphs.append(ew.Graph.from_csr([0, 1, 2, 3], RING, weights=[1, 2, 3]))
    graphs.append(ew.Graph.from_csr([0, 1, 2, 3], RING, weights=[1.0, 2.0, 3.0]))
    assert len({digest_of_graph(graph) for graph in graphs}) == len(graphs)


def test_of_ids_of_which_nothing_else_lasts_the_class_counts() -> None:
    """The text of an object may have its place in memory."""
    objects = [[object(), (1, object())] for _ in range(2)]
    others = [[3, (1, object())], [object(), (2, object())], [object(), (1, 3)]]
    graphs = [ew.Graph.from_csr([0, 1, 1], [1], vertices=ids) for ids in (*objects, *others)]
    found = [digest_of_ids(graph._ids) for graph in graphs]
    assert found[0] == found[1]
    assert len(set(found)) == 4


def test_a_name_among_many_counts() -> None:
    names = [f"user {i}" for i in range(200_000)]
    offsets = np.zeros(len(names) + 1, np.int32)
    before = digest_of_graph(ew.Graph.from_csr(offsets, [], vertices=names))
    for place in (3, 65_535, 65_536, 131_071, 199_999):
        changed = names.copy()
        changed[place] = "x"
        assert digest_of_graph(ew.Graph.from_csr(offsets, [], vertices=changed)) != before
    assert digest_of_graph(ew.Graph.from_csr(offsets, [], vertices=names.copy())) == before


@pytest.mark.parametrize("dtype", ["bool", "int8", "int32", "int64", "float32", "float64"])
@pytest.mark.parametrize("length", [0, 1, 2, 3, 7, 8, 1001])
def test_each_place_of_an_array_counts(dtype: str, length: int) -> None:
    values = np.random.default_rng(length).integers(0, 2, length).astype(dtype)
    before, seen = digest_of_array(values), set()
    for place in range(min(length, 30)):
        for at in (place, length - 1 - place):
            changed = values.copy()
            changed[at] = 1 - changed[at]
            seen.add((at, digest_of_array(changed)))
    assert len({digest for _, digest in seen} | {before}) == 1 + len({at for at, _ in seen})
    assert digest_of_array(np.r_[values, np.zeros(1, dtype)]) != before


def test_where_and_how_an_array_lies_does_not_count(monkeypatch: pytest.MonkeyPatch) -> None:
    """Words are read where they are aligned; others are copied piece by piece, not the whole array."""
    values = np.random.default_rng(2).integers(-9, 9, 100_003).astype(np.int32)
    apart = np.zeros(2 * len(values), np.int32)
    apart[::2] = values
    raw = np.zeros(values.nbytes + 16, np.uint8)
    expected = checksum_of(values)
    for first in range(9):
        raw[first : first + values.nbytes] = values.view(np.uint8)
        if first % 4 == 0:
            assert checksum_of(raw[first : first + values.nbytes].view(np.int32)) == expected
    assert checksum_of(apart[::2]) == expected
    assert checksum_of(values[::-1][::-1]) == expected
    monkeypatch.setattr("edgewise.graph.file_writer._PIECE", 1024)
    assert checksum_of(values) == checksum_of(apart[::2]) == expected


def drawn(directed: bool, weights: bool) -> ew.Graph:
    draw = np.random.default_rng(8)
    columns = draw.integers(0, 50, (2, 301)) * 7
    return ew.Graph.from_edges(*columns, draw.random(301) if weights else None, directed=directed)


@pytest.mark.parametrize(("directed", "weights"), list(itertools.product([True, False], repeat=2)))
def test_graphs_made_otherwise_have_one_digest(directed: bool, weights: bool) -> None:
    graph = drawn(directed, weights)
    copies = [drawn(directed, weights), copy.deepcopy(graph), pickle.loads(pickle.dumps(graph))]
    copies.append(ew.Graph.from_csr(graph.offsets, graph.targets, graph.weights, directed, graph.vertices))
    expected = digest_of_graph(graph)
    graph.make_in_edges()
    assert {digest_of_graph(each) for each in (*copies, graph)} == {expected}
    for part in ("offsets", "targets", "weights"):
        if getattr(graph, part) is not None:
            assert not getattr(graph, part).flags.writeable


def test_a_graph_keeps_its_digest_and_others_made_of_it_do_not() -> None:
    graph = drawn(True, True)
    digest = digest_of_graph(graph)
    assert digest_of_graph(graph) is digest
    others = [graph.reverse(), graph.reorder("hash"), graph.to_undirected(), copy.copy(graph)]
    assert all(not each.digests for each in others)
    assert len({digest, *map(digest_of_graph, others[:3])}) == 4
    assert drawn(False, True).as_directed().digests == {}
    assert digest_of_graph(drawn(False, True).as_directed()) != digest_of_graph(drawn(False, True))


def test_the_digest_of_a_file_is_that_of_its_header(tmp_path: Any) -> None:
    graph = drawn(True, True)
    graph.save(tmp_path / "g", in_edges=True)
    graph.save(tmp_path / "without")
    loaded, without = ew.load(tmp_path / "g"), ew.load(tmp_path / "without")
    found = [digest_of_graph(each, in_edges=way) for each in (loaded, without) for way in (True, False)]
    assert found[1] == found[2] == found[3] != found[0]
    assert loaded.digests == {}
    assert digest_of_graph(graph) not in found


@numba.vectorize(["float64(float64)"])
def doubled(x: Any) -> Any:
    return x + x


FACTOR = 3.0


def helper_of(factor: float) -> Any:
    def helped(x):
        return x * factor

    return helped


def body(number: int, helper: Any) -> type[ew.Program]:
    """A program of which no key can be told, with other constants and a helper."""

    class Body(ew.Program):
        value = ew.vertex("float64")
        combine = ew.SUM

        @staticmethod
        def edge_compute(edge, state):
            return 1.0

        @staticmethod
        def vertex_compute(v, message, state):
            state.value[v] = doubled(message) * number + helper(message) * FACTOR
            return ew.HALT

    return Body


def test_what_can_be_told_of_a_program_without_a_key_is(monkeypatch: pytest.MonkeyPatch) -> None:
    def text(*what: Any) -> str:
        spec = specification(body(*what))
        assert spec.key is None
        return program_text(spec)

    found = [text(1, helper_of(1.0)), text(2, helper_of(1.0)), text(1, helper_of(2.0))]
    assert len(set(found)) == 3
    assert text(1, helper_of(1.0)) == found[0]
    assert "numba.np.ufunc.dufunc.DUFunc" in found[0]
    monkeypatch.setitem(globals(), "FACTOR", 4.0)
    assert text(1, helper_of(1.0)) != found[0]
    monkeypatch.undo()
    assert text(1, helper_of(1.0)) == found[0]
    monkeypatch.setitem(globals(), "doubled", numba.vectorize(["float64(float64)"])(lambda x: 3 * x))
    assert text(1, helper_of(1.0)) != found[0]
