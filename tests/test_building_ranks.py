"""Files that ranks build together from one text: those of one process, byte for byte. Ranks are threads here."""

import os
import re
import warnings
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from thread_ranks import OfThread, on_threads

import edgewise as ew
from edgewise.building import builder, integers
from edgewise.building.scratch import Scratch
from edgewise.building.sizes import Sizes
from edgewise.engine.distributed import group as groups
from edgewise.errors import (
    DistributedError,
    EdgewiseError,
    FileChangedError,
    GraphError,
    GraphWarning,
    MemoryLimitError,
    OutputError,
    ParameterError,
    ParseError,
)
from edgewise.io import source as io_source

#: So few at a time that every step is taken often.
TINY = Sizes(batch=6, bucket=4, rows=2, max_buckets=3)
#: Of one vertex, all different neighbours have to fit.
TO_MERGE = Sizes(batch=6, bucket=48, rows=2, max_buckets=3)
LIMIT = 20_000_000


@pytest.fixture(autouse=True, scope="module")
def ranks_that_are_threads():
    """They take little at a time."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(groups, "_groups", OfThread())
        patch.setattr(builder, "sizes_within", lambda *args: TO_MERGE if args[-1] else TINY)
        patch.setattr(io_source, "_BLOCK", 16)
        patch.setattr(io_source, "_SHORT", 3)
        patch.setattr(integers, "_SHARE_OF_MERGE", 24 / LIMIT)
        yield


def outcome(path: Path, text: Path, **options) -> bytes | EdgewiseError:
    """The file that is built, or what is refused."""
    path.unlink(missing_ok=True)
    try:
        ew.build(path, text, **options)
    except EdgewiseError as error:
        return error
    return path.read_bytes()


def together(ranks: int, folder: Path, text: Path, **options) -> bytes | EdgewiseError:
    """The same of several ranks; all of them refuse, with one error, unless they lack memory."""
    path = folder / "together.edgewise"
    path.unlink(missing_ok=True)
    errors = on_threads(
        ranks, lambda group: ew.build(path, text, distributed=True, **options).num_arcs, EdgewiseError
    )
    assert not [name for name in os.listdir(folder) if name.endswith(".part")]
    if not isinstance(errors[0], EdgewiseError):
        return path.read_bytes()
    assert not path.exists()
    plain = {(type(error), re.sub(r"^rank \d+: ", "", str(error))) for error in errors}
    assert len(plain) == 1 or {kind for kind, _ in plain} == {MemoryLimitError}, errors
    kind, message = plain.pop()
    return kind(message.replace(path.name, "alone.edgewise"))


def check_same(folder: Path, content: bytes, name: str = "edges.txt", ranks=(2, 3), **options) -> bytes:
    """Ranks make of a text what one process makes of it; what that is."""
    text = folder / name
    text.write_bytes(content)
    alone = outcome(folder / "alone.edgewise", text, **options)
    for size in ranks:
        found = together(size, folder, text, **options)
        if isinstance(alone, EdgewiseError):
            assert (type(found), str(found)) == (type(alone), str(alone)), content
        else:
            assert found == alone, (content, size, found)
    return alone


@st.composite
def texts(draw):
    """An edge list with some of what such files have, and options."""
    mark = draw(st.sampled_from([" ", "\t", ",", "  "]))
    ids = draw(
        st.sampled_from(
            [
                lambda v: str(v),
                lambda v: str(7 * v - 20),
                lambda v: str(v << 33),
                lambda v: f"n{v}",
                lambda v: f"{v:03}",
            ]
        )
    )
    weights = draw(st.sampled_from([None, "ints", "floats", "both"]))
    weight = {
        "ints": st.integers(-3, 9).map(str) | st.just("-0"),
        "floats": st.sampled_from(["0.5", "-1.25", "1e3", "2.0", "1e23"]),
        "both": st.integers(-3, 9).map(str) | st.sampled_from(["-0", "0.5", "1e23"]),
    }
    end = draw(st.sampled_from(["\n", "\r\n", "\r"]))
    lines = []
    for _ in range(draw(st.integers(1, 25))):
        fields = [ids(draw(st.integers(0, 9))) for _ in range(2)]
        lines.append(mark.join(fields if weights is None else [*fields, draw(weight[weights])]))
        lines += draw(st.sampled_from([[], [], [], [""], ["# no edge"]]))
    wrong = draw(st.sampled_from(["", "", "", "1 x 2 3 4 5", "7", f"1{mark}{'9' * 30}{mark}1"]))
    if wrong:
        lines.insert(draw(st.integers(1, len(lines))), wrong)
    if mark == ",":
        lines.insert(0, "source,target" + (",weight" if weights else ""))
    lines = draw(st.sampled_from([[], [], ["# some", "# comments before"]])) + lines
    content = end.join(lines) + draw(st.sampled_from([end, ""]))
    start = draw(st.sampled_from(["", "", "\ufeff"]))
    options = {
        "directed": draw(st.booleans()),
        "in_edges": draw(st.booleans()),
        "parallel_edges": draw(st.sampled_from(["keep", "first", "min", "sum"])),
        "self_loops": draw(st.sampled_from(["keep", "drop"])),
        "memory_limit": LIMIT,
    }
    if draw(st.booleans()):
        options["num_vertices"] = 12
    return (start + content).encode(), "edges.csv" if mark == "," else "edges.txt", options


@settings(max_examples=150, deadline=None)
@given(texts())
def test_ranks_build_the_file_of_one_process(tmp_path_factory, drawn):
    content, name, options = drawn
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", GraphWarning)
        check_same(tmp_path_factory.mktemp("drawn"), content, name, **options)


EDGES = b"".join(b"%d %d\n" % (u, (u * u + 3) % 17) for u in range(17))


@pytest.mark.parametrize(
    ("name", "content", "options"),
    [
        ("fewer lines than ranks", b"0 1\n", {}),
        ("a line without an end", b"0 1\n1 2\n2 0", {}),
        ("ends of all kinds", b"0 1\r\n1 2\r2 0\n\r\n\r3 1", {}),
        ("a long line across cuts", b"a " + b"b" * 300 + b"\nb a\n", {}),
        ("a comment longer than a piece", b"#" * 200 + b"\n0 1\n1 2\n", {}),
        ("comments at the end", b"0 1\n1 2\n" + b"# none\n" * 30, {}),
        ("no edges", b"# none\n# none\n# none\n", {"num_vertices": 5}),
        ("no edges, with weights", b"# none\n", {"num_vertices": 5, "weighted": False, "in_edges": True}),
        ("ids from a base", b"1 2\n3 1\n2 3\n", {"num_vertices": 3, "index_base": 1}),
        ("integers before a fraction", b"0 1 -0\n" * 9 + b"1 2 0.5\n" + b"2 0 -0\n" * 9, {}),
        (
            "one that floats do not hold before a fraction",
            b"0 1 %d\n" % (2**53 + 1) + b"1 2 3\n" * 9 + b"1 2 .5\n",
            {},
        ),
        ("some before some", b"0 1 3\n" * 9 + b"0 1 %d\n" % -(2**62 + 1) * 9 + b"1 2 .5\n2 0 3\n" * 9, {}),
        ("integers that only floats hold", b"0 1 0.5\n" + b"1 2 %d\n" % 2**70 * 9, {}),
        ("one that floats do not hold", b"0 1 0.5\n" + b"1 2 3\n" * 9 + b"1 2 %d\n" % (2**63 - 1), {}),
        ("names", b"# Ids: names\n" + EDGES * 3, {}),
        ("a first line of sizes", b"3 4\n0 1\n1 2\n2 0\n0 2\n", {"header": True}),
        ("one vertex", b"5 5\n" * 9, {"directed": False}),
        ("a wrong line at the end", EDGES + b"1 x\n", {}),
        *((f"ends of two bytes, {n}", b"0 1\r\n" * n + b"12 3\r\n" * 9 + b"1 x\r\n", {}) for n in range(7)),
        ("wrong lines in all pieces", b"0 1\n1\n" + EDGES + b"1 x\n" + EDGES + b"2\n", {}),
        ("a line that is no text", EDGES + b"\xff \xfe\n" + EDGES, {"names": True}),
        ("zeros", EDGES + b"\0\0\n" + EDGES, {}),
        ("an id beyond 63 bits", EDGES + b"%d 1\n" % 2**64, {}),
        ("an id beyond those declared", EDGES + b"17 1\n", {"num_vertices": 17}),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_texts_that_are_cut_anywhere(tmp_path, name, content, options):
    check_same(tmp_path, content, ranks=(2, 3, 5), **options)


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("edges.csv", "from,to,cost\n" + "".join(f'"n{v}",m{v % 3},{v}\n' for v in range(20))),
        ("edges.csv", "sep=;\n" + "".join(f"{v};{v % 7}\n" for v in range(20))),
        ("edges.csv", "source,target\n0,1\n1,2\n#3,4\n"),
        ("edges.wel", "".join(f"{v} {v % 7} {v / 4}\n" for v in range(20))),
        (
            "edges.mtx",
            "%%MatrixMarket matrix coordinate integer general\n% some\n9 9 8\n"
            + "".join(f"{v} {v + 1} {v}\n" for v in range(1, 9)),
        ),
        (
            "edges.mtx",
            "%%MatrixMarket matrix coordinate pattern symmetric\n9 9 9\n"
            + "".join(f"{v + 1} {v}\n" for v in range(1, 9)),
        ),
        ("edges.gr", "c some\np sp 9 8\n" + "".join(f"a {v} {v + 1} {v}\nc more\n" for v in range(1, 9))),
        (
            "edges.gr",
            "c some\np sp 9 8\n" + "".join(f"a {v} {v + 1} {v}\n" for v in range(1, 9)) + "b 1 2 3\n",
        ),
        ("out.edges", "% sym weighted\n" + "".join(f"{v} {v + 1} {v}\n" for v in range(1, 9))),
        ("edges.txt", "# Undirected graph\n" + "".join(f"{v} {v + 1}\n" for v in range(1, 9))),
    ],
)
@pytest.mark.filterwarnings("ignore::edgewise.errors.GraphWarning")
def test_formats_of_lines(tmp_path, name, content):
    check_same(tmp_path, content.encode(), name, in_edges=True)


def warnings_of(call) -> list[str]:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", GraphWarning)
        assert isinstance(call(), bytes)
    return [str(each.message) for each in caught]


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        (
            "edges.txt",
            "a 1\n" + "".join(f"{v} {v + 1}\n" for v in range(8)) + "NA 1\n",
            "'NA' became a vertex",
        ),
        ("edges.txt", "9 9\n" + "".join(f"{v} {v + 1}\n" for v in range(9)), "the first line, '9 9', has"),
        ("edges.csv", "source,target,price,tax\n" + "0,1,2,3\n" * 9, "left out"),
    ],
)
def test_one_rank_warns(tmp_path, name, content, words):
    text = tmp_path / name
    text.write_text(content)
    told = warnings_of(lambda: together(3, tmp_path, text))
    assert told == warnings_of(lambda: outcome(tmp_path / "alone.edgewise", text))
    assert len(told) == 1
    assert words in told[0]


REFUSED = {
    "edges.txt.gz": (b"\x1f\x8b" + b"\0" * 20, ParseError, "truncated or damaged"),
    "edges.graph": (b"3 2\n2 3\n1\n1\n", ParseError, "has rows of neighbours, which ranks do not read"),
    "edges.adjlist": (b"0 1 2\n1 2\n", ParseError, "has rows of neighbours, which ranks do not read"),
    "edges.edgelist": (
        b"0 1 {'weight': 3}\n" * 9,
        ParseError,
        "has attributes in braces, which ranks do not",
    ),
    "edges.graphml": (b"<graphml/>", ParseError, "is read as graphml, which ranks do not read by pieces"),
    "edges.edgewise": (b"\x89edgewise", ParseError, "holds a whole graph already"),
    "none.txt": (None, ParseError, "there is no file"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_not_cut_is_refused(tmp_path, name):
    content, kind, problem = REFUSED[name]
    if content is not None:
        (tmp_path / name).write_bytes(content)
    error = together(2, tmp_path, tmp_path / name)
    assert isinstance(error, kind)
    assert problem in str(error)


def test_compressed_text_is_refused(tmp_path):
    import gzip

    (tmp_path / "edges.txt.gz").write_bytes(gzip.compress(EDGES))
    error = together(2, tmp_path, tmp_path / "edges.txt.gz")
    assert "is compressed, so it cannot be read by pieces; unpack it first" in str(error)


def test_calls_that_differ_or_have_no_file_are_refused(tmp_path):
    text = tmp_path / "edges.txt"
    text.write_bytes(EDGES)

    def build(edges, **options):
        return on_threads(
            2,
            lambda group: ew.build(
                tmp_path / "g.edgewise", edges, distributed=True, **{k: v(group) for k, v in options.items()}
            ),
            EdgewiseError,
        )

    for error in build(text, in_edges=lambda group: group.rank == 1):
        assert isinstance(error, DistributedError)
        assert "has another path, file or option than rank" in str(error)
    for edges, what in (([text, text], "2 files"), ([([0], [1])], "pieces")):
        for error in build(edges):
            assert isinstance(error, GraphError)
            assert f"the edges are in {what}, and distributed is True; expected one text file" in str(error)
    for error in build(text, nonsense=lambda group: 3):
        assert isinstance(error, ParameterError)
    assert os.listdir(tmp_path) == ["edges.txt"]
    with pytest.raises(ParameterError, match="distributed is 3; expected True or False"):
        ew.build(tmp_path / "g.edgewise", text, distributed=3)


def test_a_file_that_changes_is_refused(tmp_path):
    text = tmp_path / "edges.txt"

    def write(done):
        with text.open("ab") as file:
            file.write(b"0 1\n")

    text.write_bytes(EDGES)
    error = together(2, tmp_path, text, progress=write)
    assert isinstance(error, FileChangedError)
    assert "was written to while ranks read it, as rank" in str(error)


def test_a_rank_that_sees_another_file_is_refused(tmp_path, monkeypatch):
    text = tmp_path / "edges.txt"
    text.write_bytes(EDGES)
    start = io_source.TextFile.line_start

    def other(self, place):
        return start(self, place + 9 * groups._groups[0].rank)

    monkeypatch.setattr(io_source.TextFile, "line_start", other)
    error = together(2, tmp_path, text)
    assert isinstance(error, DistributedError)
    assert "is not the same on all ranks; expected one file that all of them see" in str(error)


def test_too_little_memory_is_refused_by_all(tmp_path):
    text = tmp_path / "edges.txt"
    text.write_bytes(EDGES)
    alone = outcome(tmp_path / "alone.edgewise", text, memory_limit=1000)
    assert isinstance(alone, MemoryLimitError)
    error = together(2, tmp_path, text, memory_limit=1000)
    assert str(error) == str(alone)
    names = b"".join(b"n%d m%d\n" % (v, v) for v in range(2000))
    text.write_bytes(names)
    error = together(2, tmp_path, text, memory_limit=15_400_000)
    assert isinstance(error, MemoryLimitError)


@pytest.mark.parametrize("after", [0, 1, 3, 20, 60])
def test_a_disk_that_fills_for_one_rank(tmp_path, monkeypatch, after):
    text, count, written = tmp_path / "edges.txt", Scratch.note_written, []
    text.write_bytes(EDGES)

    def fill(self, size):
        count(self, size)
        written.append(groups._groups[0].rank)
        if written.count(1) > after and written[-1] == 1:
            raise OSError(28, os.strerror(28))

    monkeypatch.setattr(Scratch, "note_written", fill)
    error = together(2, tmp_path, text, in_edges=True)
    assert isinstance(error, OutputError)
    assert "No space left on device" in str(error)
    assert os.listdir(tmp_path) == ["edges.txt"]


def test_a_folder_that_ranks_do_not_share(tmp_path, monkeypatch):
    text = tmp_path / "edges.txt"
    text.write_bytes(EDGES)
    exists = Path.exists
    monkeypatch.setattr(Path, "exists", lambda self: not self.name.endswith(".part") and exists(self))
    error = together(2, tmp_path, text)
    assert isinstance(error, OutputError)
    assert "a file of another rank is not seen in" in str(error)
