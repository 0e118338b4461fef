"""Files that are built in bounded memory are those that are made in memory, byte for byte."""

import os
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from resident import CLEAR, is_within, measured_apart
from resident_building import CASES

import edgewise as ew
from edgewise.building.builder import Builder, Wanted
from edgewise.building.pieces import Columns
from edgewise.building.scratch import Scratch
from edgewise.building.sizes import Room, Sizes, least_room, sizes_within
from edgewise.errors import GraphError, MemoryLimitError, ParameterError, ParseError

LIMIT = 10_000_000
WEIGHTS = (None, "int32", "int64", "float32", "float64")
#: So few at a time that every step is taken often: buckets of one row, rows that fill many batches.
TINY = Sizes(batch=3, bucket=4, rows=2, max_buckets=2)


def in_memory(path: Path, *columns, in_edges=False, **options) -> bytes:
    """The file that is made in memory."""
    ew.Graph.from_edges(*columns, **options).save(path, in_edges=in_edges)
    return path.read_bytes()


def built_tiny(path: Path, pieces, sizes=TINY, in_edges=False, **options) -> bytes:
    """The file that is built with these sizes."""
    directed, rule = options.get("directed", True), options.get("parallel_edges", "keep")
    wanted = Wanted(
        path,
        directed,
        not directed,
        options.get("num_vertices"),
        in_edges=in_edges,
        rule=None if rule == "keep" else rule,
        drop_loops=options.get("self_loops") == "drop",
    )
    room = Room(str(path), LIMIT, True)
    with Scratch(path.parent) as scratch:
        Builder(wanted, scratch, room, sizes=sizes).build(Columns(pieces, room))
        assert scratch.held == 0
    return path.read_bytes()


def cut(columns, places):
    """Columns in pieces that begin at these places."""
    bounds = [0, *sorted(min(place, len(columns[0])) for place in places), len(columns[0])]
    return [tuple(column[first:end] for column in columns) for first, end in pairwise(bounds)]


@st.composite
def drawn(draw):
    """Columns, their pieces, and options."""
    n = draw(st.integers(1, 40))
    count = draw(st.integers(0, 120))
    ends = st.integers(0, n - 1) | st.just(n // 2)
    source, target = (
        np.array(draw(st.lists(ends, min_size=count, max_size=count)), np.int64) for _ in range(2)
    )
    columns = [source, target]
    weights = draw(st.sampled_from(WEIGHTS))
    if weights is not None:
        columns.append(np.array(draw(st.lists(st.integers(-9, 9), min_size=count, max_size=count)), weights))
    options = {
        "directed": draw(st.booleans()),
        "parallel_edges": draw(st.sampled_from(["keep", "first", "min", "sum"])),
        "self_loops": draw(st.sampled_from(["keep", "drop"])),
    }
    if draw(st.booleans()):
        options["num_vertices"] = n + draw(st.integers(0, 3))
    pieces = cut(columns, draw(st.lists(st.integers(0, count), max_size=4)))
    sizes = Sizes(
        batch=draw(st.integers(1, 50)),
        bucket=draw(st.integers(1, 50)),
        rows=draw(st.integers(1, 20)),
        max_buckets=draw(st.integers(2, 9)),
    )
    return columns, pieces, sizes, options


@pytest.mark.more
@settings(max_examples=150, deadline=None)
@given(drawn(), st.booleans())
def test_built_as_made_in_memory(tmp_path_factory, case, in_edges):
    columns, pieces, sizes, options = case
    folder = tmp_path_factory.mktemp("drawn")
    expected = in_memory(folder / "made.edgewise", *columns, in_edges=in_edges, **options)
    # A row that is merged has to fit, unless its arcs pass through.
    if options["parallel_edges"] != "keep":
        sizes = Sizes(sizes.batch, 2 * max(len(columns[0]), 1), sizes.rows, sizes.max_buckets)
    assert built_tiny(folder / "built.edgewise", pieces, sizes, in_edges, **options) == expected


@pytest.mark.parametrize("weights", WEIGHTS)
@pytest.mark.parametrize("rule", ["keep", "first", "min", "sum"])
def test_one_row_of_many_arcs(tmp_path, rule, weights):
    """All arcs of a row that is longer than what fits, with few different targets."""
    random = np.random.default_rng(1)
    columns = [np.where(random.random(500) < 0.9, 7, random.integers(0, 9, 500)), random.integers(0, 9, 500)]
    if weights is not None:
        columns.append(random.integers(1, 9, 500).astype(weights))
    sizes = Sizes(batch=5, bucket=20, rows=2, max_buckets=2)
    for in_edges, directed in ((True, True), (False, False)):
        options = {"parallel_edges": rule, "in_edges": in_edges, "directed": directed}
        expected = in_memory(tmp_path / "made.edgewise", *columns, **options)
        assert built_tiny(tmp_path / "built.edgewise", [tuple(columns)], sizes, **options) == expected


IDS = {
    "0 to n - 1": np.array([3, 1, 0, 2, 3, 3]),
    "gaps": np.array([30, 1, 0, 2, 30, 700]),
    "negative": np.array([3, -1, 0, 2, 3, -(2**62)]),
    "large": np.array([3, 2**40, 0, 2, 3, 2**62]),
    "beyond 63 bits": np.array([3, 2**63, 0, 2, 2**64 - 1, 5], np.uint64),
    "small and unsigned": np.array([3, 1, 0, 2, 3, 9], np.uint8),
    "strings": np.array(["c", "a", "", "ж", "c", "x"], object),
    "strings of NumPy": np.array(["c", "a", "bb", "d", "c", "x"]),
}


@pytest.mark.parametrize("directed", [True, False])
@pytest.mark.parametrize("kind", IDS)
def test_ids(tmp_path, kind, directed):
    source = np.tile(IDS[kind], 20)
    target = np.roll(source, 2)
    expected = in_memory(tmp_path / "made.edgewise", source, target, directed=directed)
    for places in ([], [3], [50, 51, 52]):
        pieces = cut([source, target], places)
        assert built_tiny(tmp_path / "built.edgewise", pieces, directed=directed) == expected
        ew.build(tmp_path / "limit.edgewise", pieces, directed=directed, memory_limit=LIMIT)
        assert (tmp_path / "limit.edgewise").read_bytes() == expected


@pytest.mark.parametrize("name", ["none.mtx", "none.gr"])
def test_a_file_without_edges_keeps_the_kind_of_its_weights(tmp_path, name):
    head = "%%MatrixMarket matrix coordinate real general\n5 5 0\n" if name.endswith("mtx") else "p sp 5 0\n"
    (tmp_path / name).write_text(head)
    ew.read(tmp_path / name).save(tmp_path / "made.edgewise")
    assert ew.build(tmp_path / "built.edgewise", tmp_path / name).weighted
    assert (tmp_path / "built.edgewise").read_bytes() == (tmp_path / "made.edgewise").read_bytes()


def test_of_several_files_all_have_weights_or_none(tmp_path):
    with_weights, without = tmp_path / "with.txt", tmp_path / "without.txt"
    with_weights.write_text("5 6 7\n")
    without.write_text("1 2\n3 4\n")
    for files, problem in (
        ([with_weights, without], "has no weights"),
        ([without, with_weights], "has weights"),
    ):
        with pytest.raises(GraphError, match=f"{files[1].name} {problem}, unlike the files before it"):
            ew.build(tmp_path / "built.edgewise", files)
        assert not (tmp_path / "built.edgewise").exists()
        assert ew.build(tmp_path / "whole.edgewise", files, weighted=False).num_edges == 3


@pytest.mark.parametrize("close", [True, False])
def test_ids_on_both_sides_of_what_int64_holds(tmp_path, close):
    """Columns lie below it, beyond it, or on both sides."""
    low, high = 2**63 - 3 if close else 2**62, 2**63 + 1
    below, beyond = np.arange(low, low + 3, dtype=np.uint64), np.arange(high, high + 3, dtype=np.uint64)
    both = np.array([low, high, low + 1], np.uint64)
    for pieces in (
        [(below, beyond)],
        [(below, below), (beyond, beyond)],
        [(beyond, below), (below.astype(np.int64), both)],
        [(below.astype(np.int64), below), (both, beyond)],
    ):
        columns = [
            np.concatenate([each.astype(np.uint64) for each in column])
            for column in zip(*pieces, strict=True)
        ]
        expected = in_memory(tmp_path / "made.edgewise", *columns)
        for limit in (LIMIT, None):
            ew.build(tmp_path / "built.edgewise", pieces, memory_limit=limit)
            assert (tmp_path / "built.edgewise").read_bytes() == expected


def test_ids_that_grow(tmp_path):
    """Ids of each piece are of another kind, and the runs of them are merged more than once."""
    random = np.random.default_rng(2)
    parts = [random.integers(0, 100, 500), random.integers(-50, 50, 500)]
    parts += [random.integers(-(2**50), 2**50, 3000) for _ in range(60)]
    ends = [(part, part[::-1].copy()) for part in parts]
    columns = [np.concatenate(column) for column in zip(*ends, strict=True)]
    expected = in_memory(tmp_path / "made.edgewise", *columns)
    graph = ew.build(tmp_path / "built.edgewise", ends, memory_limit=LIMIT)
    assert (tmp_path / "built.edgewise").read_bytes() == expected
    assert graph.num_vertices == len(np.unique(columns[0]))


def test_dtypes_of_pieces(tmp_path):
    """What pieces have in common is what NumPy makes of them together."""
    pieces = [
        (np.array([0, 1], np.int8), [1, 2], np.array([1, 2], np.int32)),
        (np.array([2**40]), np.array([0], np.uint64), np.array([2**40])),
        ([5], [2**63], [0.5]),
    ]
    columns = [np.concatenate([np.asarray(piece[k]) for piece in pieces]) for k in (2,)]
    ends = [np.array([int(each) for piece in pieces for each in piece[k]], np.uint64) for k in (0, 1)]
    expected = in_memory(tmp_path / "made.edgewise", *ends, *columns)
    for options in ({}, {"directed": False}):
        expected = in_memory(tmp_path / "made.edgewise", *ends, *columns, **options)
        assert built_tiny(tmp_path / "built.edgewise", pieces, **options) == expected
    counted = [(piece[0], [0] * len(piece[0]), piece[2]) for piece in pieces if piece[0][0] < 9]
    graph = ew.build(tmp_path / "counted.edgewise", counted, num_vertices=9, memory_limit=LIMIT)
    assert graph.weights.tolist() == [1.0, 2.0, 0.5] and graph.weights.dtype == np.float64


def test_no_edges(tmp_path):
    for pieces, columns in (
        ([], ([], [])),
        ([([], [])], ([], [])),
        ([([], [], np.empty(0, "f4"))], ([], [], np.empty(0, "f4"))),
    ):
        for options in ({}, {"num_vertices": 0}, {"num_vertices": 7, "directed": False}):
            expected = in_memory(tmp_path / "made.edgewise", *columns, **options)
            assert built_tiny(tmp_path / "built.edgewise", pieces, **options) == expected


def test_frames(tmp_path):
    pandas, polars = pytest.importorskip("pandas"), pytest.importorskip("polars")
    columns = {"weight": [1.5, 2.5], "to": [4, 5], "from": [5, 6]}
    expected = in_memory(tmp_path / "made.edgewise", [5, 6], [4, 5], [1.5, 2.5])
    for frame in (pandas.DataFrame(columns), polars.DataFrame(columns)):
        ew.build(tmp_path / "built.edgewise", [frame], memory_limit=LIMIT)
        assert (tmp_path / "built.edgewise").read_bytes() == expected
    names = pandas.DataFrame({"a": ["x", "y"], "b": ["y", "z"]})
    graph = ew.build(tmp_path / "built.edgewise", iter([names]), memory_limit=LIMIT)
    assert graph.vertices.tolist() == ["x", "y", "z"]


TEXTS = {
    "integers.txt": ("3 1\n1 2\n2 1\n7 7\n3 1\n" * 40, {}),
    "undirected.txt": ("3 1\n1 2\n7 7\n3 1\n" * 40, {"directed": False, "parallel_edges": "first"}),
    "counted.txt": ("3 1\n1 2\n2 1\n5 5\n" * 40, {"num_vertices": 9}),
    "based.txt": ("13 11\n11 12\n" * 40, {"num_vertices": 9, "index_base": 10}),
    "names.csv": ("source,target,weight\nLyon,Nice,4\nNice,Lyon,5\n" * 1, {}),
    "fractions.txt": ("0 1 5\n" * 200_000 + "1 2 0.5\n", {"weighted": True}),
    "graph.gr": ("c roads\np sp 4 3\na 1 2 5\na 2 3 7\na 4 1 1\n", {}),
    "general.mtx": ("%%MatrixMarket matrix coordinate pattern general\n5 5 2\n1 2\n5 5\n", {}),
    "symmetric.mtx": ("%%MatrixMarket matrix coordinate real symmetric\n5 5 3\n2 1 .5\n5 5 2\n5 1 3\n", {}),
    "arcs.mtx": (
        "%%MatrixMarket matrix coordinate real symmetric\n5 5 3\n2 1 .5\n5 5 2\n5 1 3\n",
        {"directed": True},
    ),
}


@pytest.mark.parametrize("name", TEXTS)
def test_text_files(tmp_path, name):
    text, options = TEXTS[name]
    (tmp_path / name).write_text(text)
    ew.read(tmp_path / name, **options).save(tmp_path / "made.edgewise")
    said, read = [], []
    graph = ew.build(
        tmp_path / "built.edgewise",
        tmp_path / name,
        memory_limit="40 MB",
        announce=said.append,
        progress=read.append,
        **options,
    )
    assert (tmp_path / "built.edgewise").read_bytes() == (tmp_path / "made.edgewise").read_bytes()
    assert graph.num_vertices and len(said) == 1 and "bytes of disk" in said[0]
    assert read[-1] == len(text)


def test_an_integer_that_floats_do_not_hold_long_before_a_fraction(tmp_path):
    path = tmp_path / "edges.txt"
    path.write_text(f"0 1 {2**53 + 1}\n" + "0 1 5\n" * 400_000 + "1 2 0.5\n")
    with pytest.raises(
        ParseError, match=r"txt:400002: got '1 2 0.5'; .* do not hold 9007199254740993, one"
    ) as said:
        ew.build(tmp_path / "built.edgewise", path, memory_limit="40 MB", weighted=True)
    with pytest.raises(ParseError) as of_reading:
        ew.read(path, weighted=True)
    assert str(said.value) == str(of_reading.value)


def test_several_text_files(tmp_path):
    for name, text in (("a.txt", "0 1\n5 2\n"), ("b.csv", "target,source\n7,5\n"), ("c.txt", "5 9\n")):
        (tmp_path / name).write_text(text)
    paths = [tmp_path / name for name in ("a.txt", "b.csv", "c.txt")]
    ew.build(tmp_path / "built.edgewise", paths, memory_limit=40e6, directed=False)
    columns = [0, 5, 5, 5], [1, 2, 7, 9]
    expected = in_memory(tmp_path / "made.edgewise", *columns, directed=False)
    assert (tmp_path / "built.edgewise").read_bytes() == expected


@pytest.mark.parametrize(
    "pieces, options, message",
    [
        (7, {}, "edges is 7; expected a file, several, or an iterable"),
        ([7], {}, "piece 0, from its edge 0 on: got 7; expected"),
        ([([1], [2]), ([1],)], {}, "piece 1, from its edge 0 on: got 1 columns"),
        ([([1, 2], [2])], {}, "source has 2, target has 1 entries"),
        ([([1], [2]), ([1], [2], [3])], {}, "piece 1, .*some pieces have weights and some have none"),
        ([([1], [2]), (["a"], ["b"])], {}, "piece 1, .*hold integers and others strings"),
        ([(["a"], ["b"]), ([1], [2])], {}, "piece 1, .*hold integers and others strings"),
        ([(["a"], [1])], {}, "hold integers and others strings"),
        ([([1.5], [2])], {}, "piece 0, .*holds ids of type float"),
        ([([1], [2], [np.nan])], {}, r"weight\[0\] is nan"),
        ([([2**64], [2])], {}, "beyond 64 bits"),
        ([([2**63], [2]), ([-1], [2])], {}, "negative and others beyond 63 bits"),
        ([(np.zeros((2, 2), int), [1, 2])], {}, r"shape \(2, 2\)"),
        ([(5, 6)], {}, "a column is 5; expected an array"),
        ([(["a"], ["b"])], {"num_vertices": 5}, "the ids are strings; leave num_vertices out"),
        (
            [([0] * 9, [1] * 9), ([1, 5], [0, 1])],
            {"num_vertices": 5},
            "edge 10 joins 5 and 1; num_vertices=5",
        ),
        ([([0], [-1])], {"num_vertices": 5}, "edge 0 joins 0 and -1"),
        ([([0], [1])], {"num_vertices": -5}, "num_vertices is -5"),
        ([([0], [1])], {"directed": 1}, "directed is 1"),
        ([([0], [1])], {"in_edges": "no"}, "in_edges is 'no'"),
        ([([0], [1])], {"parallel_edges": "max"}, "parallel_edges is 'max'"),
        ([([0], [1])], {"header": True}, "options for files were given, header"),
        ([([0, 0], [1, 1], [2**31 - 1] * 2)], {"parallel_edges": "sum"}, "add up to more than int64"),
    ],
)
def test_edges_that_are_refused(tmp_path, pieces, options, message):
    if "int64" in message:
        pieces = [(*pieces[0][:2], np.array([2**63 - 1] * 2))]
    with pytest.raises(GraphError, match=message):
        ew.build(tmp_path / "built.edgewise", pieces, memory_limit=LIMIT, **options)
    assert os.listdir(tmp_path) == []


def test_files_that_are_refused(tmp_path):
    output = tmp_path / "built.edgewise"
    for name, text in (("long.txt", f"{10**30} 1\n"), ("short.mtx", TEXTS["general.mtx"][0][:-4])):
        (tmp_path / name).write_text(text)
    (tmp_path / "names.txt").write_text("a b\n")
    with pytest.raises(
        ParseError, match=r"beyond what int64 holds; expected ids up to .* For names as ids, give names=True"
    ):
        ew.build(output, tmp_path / "long.txt", memory_limit=4e7)
    with pytest.raises(ParseError, match="declares 2 entries and holds 1"):
        ew.build(output, tmp_path / "short.mtx", memory_limit=4e7)
    with pytest.raises(GraphError, match="names in one of several files"):
        ew.build(output, [tmp_path / "names.txt"] * 2, memory_limit=4e7)
    with pytest.raises(GraphError, match="not parts of one graph"):
        ew.build(output, [tmp_path / "names.txt", tmp_path / "short.mtx"], memory_limit=4e7)
    with pytest.raises(ParameterError, match="no options colour"):
        ew.build(output, tmp_path / "names.txt", memory_limit=4e7, colour="red")
    with pytest.raises(ParseError, match="holds a whole graph already"):
        ew.build(output, tmp_path / "other.edgewise", memory_limit=4e7)
    assert not output.exists()


def test_the_least_limit_is_said_and_is_enough(tmp_path):
    """For many distinct ids too, which are held in memory."""
    random = np.random.default_rng(3)
    pieces = [tuple(random.integers(0, 2**40, (2, 100_000))) for _ in range(4)]
    limit, refusals = 0, 0
    while True:
        try:
            graph = ew.build(tmp_path / "built.edgewise", iter(pieces), memory_limit=limit)
            break
        except MemoryLimitError as error:
            assert f"memory_limit is {limit:,}" in str(error)
            least = int(str(error).split("at least ")[1].split()[0].replace(",", ""))
            assert least > limit
            limit, refusals = least, refusals + 1
            assert os.listdir(tmp_path) == []
    assert graph.num_vertices > 799_000 and refusals == 2  # one by the limit alone, one by all ids
    assert limit < least_room() + 3 * 8 * graph.num_vertices


def least_said(path, edges, limit, **options):
    """The error that refuses a limit, and the limit that it says works."""
    with pytest.raises(MemoryLimitError) as refused:
        ew.build(path, edges, memory_limit=limit, **options)
    return str(refused.value), int(str(refused.value).split("at least ")[1].split()[0].replace(",", ""))


def test_a_refusal_of_names_says_what_all_of_them_may_take(tmp_path):
    """A file tells how much of it was read; pieces do not."""
    names = [f"town{number:07}" for number in range(200_000)]
    (tmp_path / "towns.txt").write_text("".join(f"{name} {name[4:]}x\n" for name in names))
    built = tmp_path / "built.edgewise"
    refusal, least = least_said(built, tmp_path / "towns.txt", 40_000_000)
    about = int(refusal.split("more may come, about ")[1].split()[0].replace(",", ""))
    assert 40_000_000 < least < about and "for all if the rest is like that" in refusal
    assert ew.build(built, tmp_path / "towns.txt", memory_limit=2 * about).num_vertices == 400_000
    refusal, least = least_said(built, [(names, names)], 10_000_000)
    assert least > 10_000_000 and "names so far; more may come)" in refusal


def test_a_vertex_of_too_many_neighbours_to_merge_is_named(tmp_path):
    """However many they are beside the limit."""
    others = np.arange(1, 3_000_000)
    hub = [(np.zeros(len(others), np.int64), others)] * 2
    options = {"parallel_edges": "first", "num_vertices": 3_000_000}
    refusal, least = least_said(tmp_path / "hub.edgewise", hub, 7_000_000, **options)
    assert "to merge the parallel edges of a vertex with 2,999,999 neighbours" in refusal
    assert ew.build(tmp_path / "hub.edgewise", hub, memory_limit=least, **options).num_edges == 2_999_999


def check_resident_memory(kind):
    measured = measured_apart("resident_building.py", kind)
    assert [refused for *_, refused in measured[-2:]] == [False, False]
    assert is_within(measured), measured


on_linux = pytest.mark.skipif(not os.access(CLEAR, os.W_OK), reason="the peak is told by Linux only")
QUICK = ("marked ids", "many vertices", "text of names")


@pytest.mark.more
@on_linux
@pytest.mark.parametrize("kind", QUICK)
def test_resident_memory_stays_within_the_limit(kind):
    """Whether it is refused or not; and a refusal says what is enough, in the end."""
    check_resident_memory(kind)


@on_linux
@pytest.mark.slow
@pytest.mark.parametrize("kind", [kind for kind in CASES if kind not in QUICK])
def test_resident_memory_stays_within_the_limit_in_all_cases(kind):
    check_resident_memory(kind)


def test_sizes_take_what_there_is():
    for room in (least_room(), 5 * 10**7, 10**9):
        for weight, both, merges in ((0, False, False), (8, True, True)):
            sizes = sizes_within(room, weight, both, merges)
            of_arc = 10 + 2 * weight
            assert sizes.bucket * of_arc + sizes.batch * (24 + 2 * weight) < room
            assert sizes.batch > 1000 and sizes.bucket > 1000
    assert Sizes(9, 9, 2**20).shift_for(2**31 - 1) == 16
    assert Sizes(9, 9, 2**20).shift_for(2**20) == 10
    assert Sizes(9, 9, 5).shift_for(2**20) == 2
    assert Sizes(9, 9, 2**20).shift_for(0) == 0


def test_integers_that_become_floats_are_not_rounded(tmp_path):
    for large in (2**53, 2**53 + 1):
        pieces = [([0], [1], np.array([large])), ([1], [2], np.array([0.5]))]
        if large == 2**53:
            assert ew.build(tmp_path / "g.edgewise", pieces).weights.tolist() == [large, 0.5]
        else:
            with pytest.raises(GraphError, match=f"the weight {large} is an integer, others are floats"):
                ew.build(tmp_path / "h.edgewise", pieces)
