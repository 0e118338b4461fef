"""Texts and tables that may be read in another way than they show: right, refused, or with a warning."""

import io
import re
import warnings
import zipfile
from typing import Any

import pytest
from io_cases import edges_of

import edgewise as ew
from edgewise.convert.usual_names import is_end, usual_ends
from edgewise.errors import GraphError, GraphWarning, ParseError


@pytest.fixture
def read(file: Any) -> Any:
    """A function that reads a text without a warning."""

    def reads(text: str | bytes, name: str = "a.csv", **options: Any) -> ew.Graph:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            return ew.read(file(text, name), **options)

    return reads


@pytest.mark.parametrize(
    ("header", "ends"),
    [
        ("trip,source,destination,weight", (1, 2)),
        ("id,origin,target,weight", (1, 2)),
        (",caller,callee,weight", (1, 2)),
        ("receiver,sender", (1, 0)),
        ("source,target,origin", (0, 1)),
        ("source_id,source,target_id", (0, 2)),
        ("edge,source,end,weight", None),
        ("source,source,target", None),
    ],
)
def test_usual_names_of_ends(header: str, ends: tuple[int, int] | None) -> None:
    names = header.split(",")
    assert usual_ends(names) == ends
    assert sum(map(is_end, names)) >= (1 if ends is None else 2)


def test_one_usual_name_is_no_reason_to_take_the_first_columns(read: Any) -> None:
    assert edges_of(read("trip,source,destination,weight\n0,7,8,3\n1,8,9,4\n")) == [(7, 8, 3), (8, 9, 4)]
    assert edges_of(read("u,v,from,to\n1,2,3,4\n", weighted=False)) == [(1, 2)]
    text = "edge,source,end,weight\n0,7,8,3\n"
    with pytest.raises(
        ParseError, match=r"header is 'edge', 'source'.*has 'source', not one of each.*columns=\("
    ):
        read(text)
    assert edges_of(read(text, columns=("source", "end"))) == [(7, 8, 3)]
    assert edges_of(read("src,dest,cost\n1,2,3\n")) == [(1, 2, 3)]
    assert edges_of(read("source,object\n1,2\n")) == [(1, 2)], "there are no other columns"
    with pytest.raises(ParseError, match="has 'target', not one of each"):
        read("target,object\n1,2\n")
    with pytest.raises(ParseError, match="has 'source', 'source', 'target', not one of each"):
        read("source,source,target\n1,2,3\n")


def test_frames_with_one_usual_name_are_refused_by_build(tmp_path: Any) -> None:
    pandas = pytest.importorskip("pandas")
    with pytest.raises(GraphError, match="has 'source', not one of each"):
        ew.build(tmp_path / "a.edgewise", [pandas.DataFrame({"key": [1], "source": [2], "end": [3]})])


def test_columns_of_one_name_are_refused(read: Any) -> None:
    for options in ({"columns": ("a", "b")}, {"weight_column": "a", "columns": (0, 1)}):
        with pytest.raises(ParseError, match=r"several columns 'a'; expected one\. Give its number"):
            read("a,b,a\n1,2,3\n", **options)
    with pytest.raises(ParseError, match="several columns 'weight'"):
        read("u,v,weight,weight\n1,2,3,4\n")


def test_numbers_of_rows_are_no_ids_and_no_weights(read: Any, tmp_path: Any) -> None:
    for first in ("", "Unnamed: 0", '""'):
        with pytest.raises(ParseError, match=r"numbers of rows, or labels of a matrix.*columns="):
            read(f"{first},x,y\n0,anna,ben\n")
        assert edges_of(read(f"{first},x,y\n0,anna,ben\n", columns=("x", "y"), weighted=False)) == [
            ("anna", "ben")
        ]
    pyarrow = pytest.importorskip("pyarrow")
    pytest.importorskip("pyarrow.parquet").write_table(
        pyarrow.table({"source": [1], "target": [2], "__index_level_0__": [5]}), tmp_path / "a.parquet"
    )
    with pytest.warns(GraphWarning, match="__index_level_0__', which were left out"):
        assert not ew.read(tmp_path / "a.parquet").weighted


def test_demanded_weights_are_not_keys(read: Any) -> None:
    assert edges_of(read("u,v,key,cost\n1,2,3,4\n", weighted=True)) == [(1, 2, 4)]
    with pytest.raises(ParseError, match="'timestamp', none beside the ids is called like weights"):
        read("u,v,timestamp\n1,2,3\n", weighted=True)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("1, 2\n2, 3\n", "fields that end with ','. If that parts columns, give delimiter=','"),
        ("anna; ben\n", "give delimiter=';'"),
        ("(0, 1)\n(1, 2)\n", "vertices in parentheses"),
        ("1 -> 2\n", "an arrow in the place of a vertex"),
        ("1: 2\n2: 3\n", "a colon behind the first vertex.*format='adjlist'"),
    ],
)
def test_marks_between_blanks_are_refused(read: Any, text: str, message: str) -> None:
    with pytest.raises(ParseError, match=message):
        read(text, "a.txt")
    assert read(text, "a.txt", names=True, weighted=False).num_edges == text.count("\n")


def test_marks_on_some_lines_are_names(read: Any) -> None:
    assert edges_of(read("a, b\nc d\n", "a.txt")) == [("a,", "b"), ("c", "d")]
    assert edges_of(read("1, 2, 0.5\n", "a.txt", delimiter=",")) == [(1, 2, 0.5)]


def test_marks_in_adjacency_lists_are_refused(read: Any) -> None:
    for text, mark in (("0,1,2\n1,2\n3\n", ","), ("0: 1 2\n1:\n", ":"), ("a; b\n", ";")):
        with pytest.raises(ParseError, match=f"which has '{mark}' in it"):
            read(text, "a.adjlist")
    assert edges_of(read("a,b c\n", "a.adjlist", names=True)) == [("a,b", "c")]


@pytest.mark.parametrize("name", ["a.adjlist", "a.txt", "a.tsv", "a.csv"])
def test_braces_as_a_name_are_read_back(tmp_path: Any, name: str) -> None:
    graph = ew.Graph.from_edges(["a", "{}"], ["{}", "b"])
    ew.write(graph, tmp_path / name)
    assert edges_of(ew.read(tmp_path / name)) == edges_of(graph)


def test_ids_with_a_point_are_refused(read: Any) -> None:
    for text in ("1,2.0\n2,3.0\n", "source,target\n1.0,2.0\n,3.0\n", "1e3,2\n"):
        with pytest.raises(ParseError, match=r"among ids that are numbers; expected integers.*names=True"):
            read(text)
    assert read("1,2.0\n", names=True).vertices.tolist() == ["1", "2.0"]
    assert read("1.0,a\n").vertices.tolist() == ["1.0", "a"]


def test_edges_that_start_like_comments_are_refused_in_tables(read: Any) -> None:
    for text in (
        "source,target\n#tag,c\na,b\n",
        "1,2\n" + "3,4\n" * 500_000 + "#5,6\n",
        "a,b\n c,d\n %e,f\n",
    ):
        with pytest.raises(ParseError, match=r":\d+: got ' ?[#%].*as many columns as .*comments=''"):
            read(text)
    text = "# a,b\n1,2\n#3,4\n#note\n# 5,6,7\n"
    assert edges_of(read(text, comments="#")) == [(1, 2)]
    assert edges_of(read("source,target\n#tag,c\n", comments="")) == [("#tag", "c")]
    assert edges_of(read("# a,b\n1,2\n#note\n# 5,6,7\n")) == [(1, 2)]
    assert edges_of(read("1 2\n#3 4\n", "a.txt")) == [(1, 2)]


def test_files_that_say_they_are_undirected(file: Any, tmp_path: Any) -> None:
    ew.write(ew.Graph.from_edges([0], [1], directed=False), tmp_path / "own.txt")
    (tmp_path / "g.csv").write_text("Source,Target,Type,Weight\n1,2,Undirected,1\n")
    for name, what in (("own.txt", "comment '# Undirected graph'"), ("g.csv", "column 'Type'")):
        with pytest.warns(GraphWarning, match=f"{what} says that the graph is undirected.*directed=False"):
            assert ew.read(tmp_path / name).directed
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            assert not ew.read(tmp_path / name, directed=False).directed
            assert ew.read(tmp_path / name, directed=True).directed
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for comment in ("# Undirected: False", "% Directed, not undirected", "# undirected=0"):
            assert ew.read(file(f"{comment}\n1 2\n", "a.txt")).directed
    with pytest.raises(ParseError, match="directed and undirected edges by its column 'Type'"):
        ew.read(file("Source,Target,Type\n1,2,Undirected\n2,3,Directed\n", "a.csv"))


@pytest.mark.parametrize(
    ("text", "name", "message"),
    [
        ("1 2 1289241911.72836\n", "a.txt", "such as 1289241911.72836, look like times"),
        ("1 2 20200101\n", "a.txt", "such as 20200101, look like dates"),
        ("source,target,cost\n1,2,5km\n", "a.csv", "column 'cost', such as '5km', was left out"),
        ("source,target,duration\n1,2,00:05:30\n", "a.csv", "such as '00:05:30', was left out"),
        ("FROM_SUB TO_SUB POST LINK\na b p 1\na c q -1\nc b r 1\n", "a.txt", "has FROM_SUB, TO_SUB above lines of num"),
        ("a NA\nNA b\n", "a.txt", "'NA' became a vertex like other names"),
        ("a nan\n", "a.adjlist", "'nan' became a vertex"),
    ],
)  # fmt: skip
def test_more_doubts_are_said(tmp_path: Any, file: Any, text: str, name: str, message: str) -> None:
    path = file(text, name)
    for reads in (ew.read, lambda path: ew.build(tmp_path / "a.edgewise", path)):
        with pytest.warns(GraphWarning, match=message) as caught:
            reads(path)
        assert len(caught) == 1


def test_trailing_empty_columns_and_words_are_quiet(read: Any) -> None:
    assert not read("source,target,\n1,2,\n").weighted
    assert not read("source,target,relation\n1,2,friend\n").weighted
    assert read("a NA\n", "a.txt", names=True).num_vertices == 2


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("3 2\n2 3\n1\n1\n", "format='metis'; .*format='adjlist'"),
        ("4 4\n2 3 4\n1\n1 4\n1 3\n", "format='metis'"),
        ("3\n1 2\n0\n0\n", "format='adjacency'.*format='adjlist'"),
        (
            "1 2\n2 3\n9\n",
            "as on the first line. If each line has a vertex and its neighbours, give format='adjlist'",
        ),
        (
            "version https://git-lfs.github.com/spec/v1\noid sha256:1\nsize 1\n",
            "pointer of Git LFS.*git lfs pull",
        ),
    ],
)
def test_advice_names_the_format(read: Any, text: str, message: str) -> None:
    with pytest.raises(ParseError, match=message):
        read(text, "a.txt")


def test_lgl_is_refused_by_its_suffix(read: Any) -> None:
    with pytest.raises(ParseError, match="looks like LGL"):
        read("# a\nb\n", "a.lgl")


def test_files_of_excel(read: Any) -> None:
    assert edges_of(read("sep=;\nsource;target\n1;2\n")) == [(1, 2)]
    assert edges_of(read('"sep=\t"\r\n1\t2\r\n')) == [(1, 2)]
    assert edges_of(read("sep=;\n1;2\n", delimiter=";")) == [(1, 2)]
    with pytest.raises(ParseError, match="a field in quotes may not go over a line break"):
        read('a,"b\nc"\n')


def test_a_tab_as_shells_pass_it_on(read: Any) -> None:
    for delimiter in ("\t", "\\t", "tab"):
        assert edges_of(read("1\t2\n", "a.txt", delimiter=delimiter)) == [(1, 2)]


@pytest.mark.parametrize("name", ["A.CSV", "A.TXT.GZ", "A.Edgewise", "A.GRAPHML"])
def test_suffixes_in_capitals_are_written(tmp_path: Any, name: str) -> None:
    ew.write(ew.Graph.from_edges([0], [1]), tmp_path / name)
    assert edges_of(ew.read(tmp_path / name)) == [(0, 1)]
    if re.search("gz$", name, re.IGNORECASE):
        assert (tmp_path / name).read_bytes()[:2] == b"\x1f\x8b"


def test_archives_and_workbooks_are_refused_with_advice(read: Any) -> None:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("a.txt", "1 2\n")
    with pytest.raises(ParseError, match="Unpack another zip file, or save a sheet of a workbook as CSV"):
        read(packed.getvalue(), "a.xlsx")
