"""Files that may have been meant in another way than they are read: a warning, or a refusal, says so."""

import re
import warnings
from typing import Any

import pytest
from io_cases import edges_of

import edgewise as ew
from edgewise.errors import GraphWarning, MemoryLimitError, ParseError

TIMES = "1 2 1254192988\n2 3 1254192989\n"
SIZES = "34 3\n0 1\n1 2\n33 0\n"


def quietly(path: Any, **options: Any) -> ew.Graph:
    """A graph that is read without a warning."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return ew.read(path, **options)


@pytest.mark.parametrize(
    ("text", "name", "message", "quiet"),
    [
        (TIMES, "a.txt", "column 2, .* became the weights, .*such as 1254192988, look like times", {"weighted": True}),
        (TIMES, "a.txt", "give weighted=False", {"weighted": False}),
        (TIMES, "a.txt", "look like times", {"weight_column": 2}),
        ("1,2,1254192988000\n", "a.csv", "look like times since 1970", {"weighted": True}),
        ("1 2 3 4\n2 3 4 5\n", "a.txt", "of 4 columns, the columns 2, 3 were left out", {"weighted": False}),
        ("1 2 3 4\n2 3 4 5\n", "a.txt", "of 4 columns", {"columns": (0, 1), "weight_column": 3}),
        ("u,v,cost,time\n1,2,3,4\n", "a.csv", "the columns 'cost', 'time' were left out", {"weight_column": "cost"}),
        ("1 2 friend\n", "a.txt", "of 3 columns, column 2, such as 'friend', was left out", {"weighted": False}),
        ("New York Boston\n", "a.txt", "column 2, such as 'Boston', was left out", {"weighted": False}),
        (SIZES, "a.txt", "the first line, '34 3', has the number of vertices and that of edges", {"header": True}),
        (SIZES, "a.txt", "it became an edge.*header=True leaves the line out", {"header": False}),
        ("3 2\n5 6\n6 9\n", "a.txt", "the first line, '3 2'", {"header": True}),
        ("4 4 3\n1 2 7\n2 3 7\n4 1 7\n", "a.txt", "the first line, '4 4 3'", {"header": True}),
        ("here there\n1 2\n2 3\n", "a.txt", "has here, there above lines of integers", {"header": True}),
        ("here there\n1 2\n2 3\n", "a.txt", "all became names of vertices", {"header": False}),
    ],
)  # fmt: skip
def test_doubts_are_said_once_and_not_when_the_caller_says_what_is_meant(
    file: Any, text: str, name: str, message: str, quiet: dict
) -> None:
    path = file(text, name)
    with pytest.warns(GraphWarning, match=message) as caught:
        ew.read(path)
    assert len(caught) == 1 and str(caught[0].message).startswith(f"{path}: ")
    quietly(path, **quiet)


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("1 2 99999999\n", "a.txt"),
        ("1 2 12541929.5\n", "a.txt"),
        ("1 2 1254192988\n2 3 5\n", "a.txt"),
        ("source,target,weight\n1,2,1254192988\n", "a.csv"),
        ("# Ids: integers\n1 2 1254192988\n", "a.txt"),
        ("1 2 1254192988\n", "a.wel"),
        ("source,target,weight,color\n1,2,3,4\n", "a.csv"),
        ("u,v,color,kind\n1,2,red,x\n", "a.csv"),
        ("34 4\n0 1\n1 2\n33 0\n", "a.txt"),
        ("35 3\n0 1\n1 2\n33 0\n", "a.txt"),
        ("# Ids: integers\n34 3\n0 1\n1 2\n33 0\n", "a.txt"),
        ("0 1\n1 0\n", "a.txt"),
        ("a b\n1 2\n", "a.txt"),
        ("a b\n1 2\n2 c\n", "a.txt"),
        ("a 1\n1 2\n2 3\n", "a.txt"),
    ],
)
def test_what_is_clear_is_quiet(file: Any, text: str, name: str) -> None:
    quietly(file(text, name))


def test_the_line_of_sizes_is_left_out_on_demand(file: Any) -> None:
    assert edges_of(ew.read(file(SIZES), header=True)) == [(0, 1), (1, 2), (33, 0)]
    assert (34, 3) in edges_of(ew.read(file(SIZES), header=False))
    with pytest.raises(
        ParseError, match=r":2: got '1 2 5'; it has 3 columns; expected 2, as '3 1' on line 1.*numbers"
    ):
        ew.read(file("3 1\n1 2 5\n"))


def test_the_line_of_sizes_is_said_when_a_file_is_built(file: Any, tmp_path: Any) -> None:
    built = tmp_path / "graph.edgewise"
    with pytest.warns(GraphWarning, match="the first line, '34 3', has the number of vertices"):
        ew.build(built, file(SIZES))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ew.build(built, file(SIZES.replace("34 3", "34 4")))
        ew.build(built, file(SIZES), header=True)


@pytest.mark.parametrize(
    "first", ["FromNodeId\tToNodeId", "id_1 id_2", "from_id to_id weight", "Source_ID\tTargetID"]
)
def test_names_of_columns_in_edge_lists(file: Any, first: str) -> None:
    path = file(f"{first}\n1 2{' 7' if 'weight' in first else ''}\n")
    with pytest.raises(
        ParseError, match=r"above integers, which looks like names of columns. Give header=True"
    ):
        ew.read(path)
    assert quietly(path, header=True).num_edges == 1


def test_usual_names_are_found_wherever_they_stand(file: Any) -> None:
    assert edges_of(ew.read(file("weight,id_1,id_2\n5,1,2\n", "a.csv"))) == [(1, 2, 5)]
    assert edges_of(ew.read(file("source_id,u,v\n5,1,2\n", "a.csv"), weighted=False)) == [(1, 2)]


@pytest.mark.parametrize("name", ["a.txt", "a.csv", "a.tsv"])
def test_names_of_columns_imply_a_header(file: Any, name: str) -> None:
    mark = {"a.txt": " ", "a.csv": ",", "a.tsv": "\t"}[name]
    path = file("1 from to\n7 1 2\n".replace(" ", mark), name)
    assert edges_of(quietly(path, columns=("from", "to"), weighted=False)) == [(1, 2)]
    assert edges_of(quietly(path, columns=(1, 2), weight_column="1")) == [(1, 2, 7)]
    with pytest.raises(ParseError, match="has no header; there is no column 'from'"):
        ew.read(path, columns=("from", "to"), header=False)
    with pytest.raises(ParseError, match="the columns 1, from, to; there is no column 'here'"):
        ew.read(path, columns=("here", "to"))


@pytest.mark.parametrize(
    ("text", "name", "message"),
    [
        ("graph [\n  node [\n", "a.graph", r"looks like GML \(by its first line\)"),
        ("0 1\n1 2\n2 3\n", "a.graph", "no more rows.*format='edgelist' reads them so"),
        ("4 4\n1 2\n2 3\n3 4\n4 1\n", "a.graph", "one of its ends only.*format='edgelist' reads them so"),
        ("9 4\n1 2\n2 3\n3 4\n", "a.graph", "rows for 3; it is truncated.*format='edgelist' reads them so"),
        ("p sp 3 1\na 1 2\n", "a.gr", "it has 3 columns; expected 4, 'a SOURCE TARGET WEIGHT'$"),
        ("p tw 3 1\n1 2 3\n", "a.gr", "it has 3 columns; expected 2, 'SOURCE TARGET'$"),
        ("%%MatrixMarket matrix coordinate real general\n2 2 1\n1 2\n", "a.mtx", "expected 3, 'ROW COLUMN VALUE'$"),
        ("0 1 2 3\n1 2 3\n2 3\n", "a.txt", "as on the first line. If each line has .* give format='adjlist'$"),
        ("0 1\n1 2 3\n", "a.txt", "expected 2, as '0 1' on line 1. If that line has the numbers of vertices"),
        ("0 1 5\n1 2 3\n1 2\n", "a.txt", "expected 3, as on the first line$"),
        ("1 2\n2 3\n", "a.wel", "has 2 columns; weighted=True needs a third"),
    ],
)  # fmt: skip
def test_messages_say_what_the_format_has(file: Any, text: str, name: str, message: str) -> None:
    with pytest.raises(ParseError, match=message):
        ew.read(file(text, name))


def test_rows_of_metis_that_do_not_look_like_edges_leave_no_hint(file: Any) -> None:
    with pytest.raises(ParseError, match=r"line of sizes is wrong$"):
        ew.read(file("9 4\n2\n1 3\n2\n", "a.graph"))


@pytest.mark.parametrize(("text", "advised"), [("1 2\n", False), ("1 2 3\n", True)])
def test_refusals_of_memory_advise_what_helps(file: Any, text: str, advised: bool) -> None:
    with pytest.raises(MemoryLimitError, match="Raise memory_limit") as caught:
        ew.read(file(text * 1000), memory_limit=100)
    assert bool(re.search("weighted=False", str(caught.value))) == advised
