"""Reading graphs: every kind of broken file and option, and drawn files against plain Python."""

import bz2
import gzip
import lzma
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from io_cases import MATRIX, edges_of

from edgewise import generate
from edgewise.errors import (
    GraphError,
    OutputError,
    ParameterError,
    ParseError,
)
from edgewise.io import read, source, write

# ---------------------------------------------------------------- what is refused


@pytest.mark.parametrize(
    ("text", "options", "message"),
    [
        ("0 1\n# c\n1 x\n", {}, r":3: got '1 x'; expected an integer id in column 2.*names=True"),
        ("0 1\n1 2 3\n", {}, ":2: got '1 2 3'; it has 3 columns; expected 2"),
        ("0 1 2\n1 2\n", {}, ":2: got '1 2'; it has 2 columns; expected 3"),
        ("0 1\n1\n", {}, ":2: got '1'; it has 1 columns"),
        ("0 1\n1 2.0\n", {}, ":2: .*expected an integer id in column 2"),
        ("0 1\n1 -\n", {}, ":2: .*expected an integer id"),
        (f"0 1\n{10**20} x\n", {}, ":2: .*expected an integer id in column 2"),
        (f"0 1\n{'9' * 200} x\n", {}, r":2: got '9+\.\.\.'; expected"),
        ("0 1 5\n1 2 x\n", {}, ":2: got '1 2 x'; expected a number as the weight in column 3"),
        ("0 1 5\n1 2 1.5.2\n", {}, "expected a number as the weight"),
        ("0 1 5\n1 2 1e\n", {}, "expected a number as the weight"),
        ("0 1 5\n1 2 1_000\n", {}, "expected a number as the weight"),
        ("0 1 5\n1 2 nan\n", {}, ":2: got '1 2 nan'; expected a finite weight"),
        ("0 1 5\n1 2 -Infinity\n", {}, ":2: .*expected a finite weight"),
        ("0 1 5.0\n1 2 1e400\n", {}, ":2: got '1e400'; expected a finite weight"),
        ("0 1 5\n1 2 9223372036854775808\n", {}, r":2: .*a weight from -2\*\*63 to 2\*\*63 - 1"),
        ("0 1\n1 7\n", {"num_vertices": 5}, ":2: .*expected an id from 0 to 4 in column 2"),
        ("1 1\n0 1\n", {"num_vertices": 5, "index_base": 1}, ":2: .*expected an id from 1 to 5 in column 1"),
        (f"1 1\n1 {10**30}\n", {"num_vertices": 5}, ":2: .*expected an id from 0 to 4 in column 2"),
        ("7\n", {}, "has 1 columns on the first line of data.*delimiter="),
        ("0,1\n", {}, "has 1 columns on the first line"),
        ("0 1\n", {"weighted": True}, "has 2 columns; weighted=True needs a third"),
        ("0 1\n", {"weight_column": 2}, "expected one with number 2"),
        ("0 1\n", {"columns": ("a", "b")}, "the columns 0, 1; there is no column 'a'"),
        ("a b\n0 1\n", {"columns": ("a", "c"), "header": True}, "the columns a, b; there is no column 'c'"),
        ("# only comments\n", {}, "has no edges; give num_vertices"),
        ("0 1\n", {"delimiter": ", "}, "delimiter is ', '; expected one character"),
        ("0 1\n", {"comments": "é"}, "comments is 'é'; expected"),
        (b"a b\nc \xff\xfe\n", {}, r":2: .*expected text in UTF-8"),
    ],
)  # fmt: skip
def test_broken_edge_lists(file: Any, text: Any, options: dict, message: str) -> None:
    path = file(text)
    with pytest.raises(ParseError, match=message) as caught:
        read(path, **options)
    assert str(path) in str(caught.value) or options


def test_line_numbers_across_blocks(file: Any) -> None:
    lines = ["0 1\n"] * 300
    lines[250] = "0 1 2\n"
    with mock.patch.object(source, "_BLOCK", 40), pytest.raises(ParseError, match=":251: "):
        read(file("".join(lines)))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('a,b\n"a,b\n', ":2: .*quotes in column 1 are not closed"),
        ("a,b\na,\n", ":2: got 'a,'; expected an id in column 2, got nothing"),
        ("a,b\na,b,\n", "has 3 columns; expected 2"),
        ('0,1\n0,"1\n', ":2: .*quotes in column 2 are not closed"),
        ('a,b\n"a"x,b\n', ":2: .*quotes in column 1 are not closed, or are closed before its end"),
        ("source,target\n1,2,3\n", ":1: the header names 2 columns and the first line of data has 3"),
        ("source,target,weight\n1,2\n", ":1: the header names 3 columns and the first line of data has 2"),
        ("0,1\n0,\n", ":2: .*expected an integer id in column 2"),
    ],
)
def test_broken_csv(file: Any, text: str, message: str) -> None:
    with pytest.raises(ParseError, match=message):
        read(file(text, "graph.csv"))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("2 2 1\n1 2\n", ":1: got '2 2 1'; expected '%%MatrixMarket matrix coordinate"),
        ("%%MatrixMarket matrix\n2 2 1\n", ":1: got '%%MatrixMarket matrix'; expected"),
        (
            "%%MatrixMarket matrix array real general\n2 2\n",
            ":1: got a matrix that is array; expected coordinate",
        ),
        (
            f"{MATRIX} complex general\n2 2 1\n1 2 1 0\n",
            "that is complex; expected pattern or integer or unsigned-integer or real",
        ),
        (f"{MATRIX} real skew-symmetric\n2 2 1\n", "skew-symmetric; expected general or symmetric"),
        (f"{MATRIX} real general\n", "has no line 'rows columns entries'"),
        (f"{MATRIX} real general\n2 2\n", ":2: got '2 2'; expected 'rows columns entries'"),
        (f"{MATRIX} real general\n2 2 -1\n", ":2: got '2 2 -1'"),
        (f"{MATRIX} real general\n2 3 1\n1 2 1\n", ":2: the matrix is 2 by 3"),
        (
            f"{MATRIX} real general\n99999999999 99999999999 0\n",
            ":2: .* would need 799,999,999,992 bytes for ids",
        ),
        (f"{MATRIX} real general\n{'9' * 5000} {'9' * 5000} 0\n", r":2: got '9+\.\.\.'; at most 2\*\*31 - 1"),
        (f"{MATRIX} real general\n2 2 2\n1 2 1\n", "declares 2 entries and holds 1"),
        (f"{MATRIX} real general\n2 2 1\n1 2 1\n2 1 1\n", "declares 1 entries and holds 2"),
        (f"{MATRIX} real general\n2 2 1\n1 3 1\n", ":3: got '1 3 1'; expected an id from 1 to 2 in column 2"),
        (f"{MATRIX} real general\n2 2 1\n0 1 1\n", ":3: .*expected an id from 1 to 2 in column 1"),
        (f"{MATRIX} real general\n2 2 1\n1 2\n", ":3: .*2 columns; expected 3"),
        (f"{MATRIX} real general\n2 2 1\n1 2 nan\n", ":3: .*expected a finite weight"),
        (
            f"{MATRIX} integer general\n2 2 2\n1 2 1\n2 1 0.5\n",
            ":4: .*expected an integer as the weight in column 3",
        ),
    ],
)
def test_broken_matrix_market(file: Any, text: str, message: str) -> None:
    with pytest.raises(ParseError, match=message):
        read(file(text, "graph.mtx"))


def test_weights_of_a_pattern_matrix(file: Any) -> None:
    with pytest.raises(ParseError, match="pattern matrix"):
        read(file(f"{MATRIX} pattern general\n2 2 0\n", "a.mtx"), weighted=True)


def test_files_that_are_not_there(tmp_path: Path, file: Any) -> None:
    file("0 1\n", "graph.txt")
    with pytest.raises(ParseError, match=r"no file .*grahp\.txt; did you mean .*graph\.txt\?"):
        read(tmp_path / "grahp.txt")
    with pytest.raises(ParseError, match="there is no folder"):
        read(tmp_path / "nowhere" / "graph.txt")
    with pytest.raises(ParseError, match="is a folder"):
        read(tmp_path)


def test_files_that_are_no_text(file: Any) -> None:
    with pytest.raises(ParseError, match="is empty"):
        read(file(b""))
    with pytest.raises(ParseError, match="is empty"):
        read(file(gzip.compress(b""), "a.txt.gz"))
    with pytest.raises(ParseError, match="binary data; expected text in UTF-8"):
        read(file(bytes(range(256))))
    with pytest.raises(ParseError, match=r"text in UTF-16 .*iconv"):
        read(file("0 1\n".encode("utf-16")))
    with pytest.raises(ParseError, match=r"Arrow or Feather .*from_arrow"):
        read(file(b"ARROW1\0\0", "a.feather"))


@pytest.mark.parametrize("module", [gzip, bz2, lzma])
def test_truncated_and_damaged_files(file: Any, module: Any) -> None:
    rng = np.random.default_rng(1)
    text = "".join(f"{u} {v}\n" for u, v in rng.integers(0, 10**6, (20_000, 2)).tolist())
    packed = module.compress(text.encode())
    with pytest.raises(ParseError, match="truncated or damaged"):
        read(file(packed[:-100]))
    with pytest.raises(ParseError, match="truncated or damaged"):
        read(file(packed[: len(packed) // 2] + b"garbage!" * 10 + packed[len(packed) // 2 :]))


def test_options_that_are_refused(file: Any) -> None:
    with pytest.raises(GraphError, match="parallel_edges is 'max'"):
        read(file("0 1\n"), parallel_edges="max")
    with pytest.raises(GraphError, match="num_vertices is -1"):
        read(file("0 1\n"), num_vertices=-1)


# ---------------------------------------------------------------- against plain Python

BLANKS = st.sampled_from([" ", "\t", "  ", " \t "])
NUMBERS = st.one_of(
    st.integers(-(10**18) + 1, 10**18 - 1).map(str),
    st.floats(allow_nan=False, allow_infinity=False).map(repr),
    st.decimals(-100, 100, places=6).map(str),
)
NAMES = st.text(st.characters(codec="utf-8", exclude_categories=["Cc", "Cs", "Z"]), min_size=1, max_size=6)


@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(st.tuples(st.integers(-20, 20), st.integers(0, 10**18 - 1), NUMBERS), min_size=1, max_size=30),
    BLANKS,
    st.sampled_from(["\n", "\r\n", " \n", "\n\n", "\n# c\n"]),
    st.integers(8, 200),
)
@example([(0, 1, "9007199254740993"), (1, 0, "0.5")], " ", "\n", 100)
@pytest.mark.filterwarnings("ignore:.*look like times")
def test_numbers_against_python(file: Any, edges: list, blank: str, end: str, block: int) -> None:
    text = "".join(f"{u}{blank}{v}{blank}{w}{end}" for u, v, w in edges)
    path, integers = file(text), [w for *_, w in edges if w.lstrip("-").isdigit()]
    whole = len(integers) == len(edges)
    with mock.patch.object(source, "_BLOCK", block):
        if not whole and any(int(w) != float(w) for w in integers):
            with pytest.raises(ParseError, match=r"floats do not hold .* exactly"):
                read(path)
            return
        graph = read(path)
    number = int if whole else float
    expected = sorted(((u, v, number(w)) for u, v, w in edges), key=lambda edge: edge[0])
    assert edges_of(graph) == expected


@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.tuples(NAMES, NAMES), min_size=1, max_size=40), st.integers(8, 200))
def test_names_against_python(file: Any, pairs: list, block: int) -> None:
    text = "".join(f"{a} {b}\n" for a, b in pairs)
    with mock.patch.object(source, "_BLOCK", block):
        graph = read(file(text), names=True, comments="")
    names = list(dict.fromkeys(name for pair in pairs for name in pair))
    assert graph.vertices.tolist() == names
    assert edges_of(graph) == sorted(pairs, key=lambda pair: names.index(pair[0]))


def test_a_path_that_is_none_and_a_number_that_is_none_are_refused(tmp_path):
    with pytest.raises(ParseError, match="path is None; expected the name of a file"):
        read(None)
    (tmp_path / "a.txt").write_text("0 1\n")
    with pytest.raises(GraphError, match="num_vertices is 'x'; expected an integer"):
        read(tmp_path / "a.txt", num_vertices="x")


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"directed": "no"}, ParseError, "directed is 'no'; expected True, False or None"),
        ({"header": "false"}, ParseError, "header is 'false'; expected True, False or None"),
        ({"index_base": 10**30, "num_vertices": 3}, ParseError, "expected an integer from"),
        ({"index_base": 10**5000}, ParseError, "index_base is an integer of 16,610 bits"),
        ({"num_vertices": 10**30}, GraphError, r"at most 2\*\*31 - 1 can be had"),
        ({"num_vertices": 10**5000}, GraphError, "num_vertices is an integer of 16,610 bits"),
        ({"num_vertices": 3, "names": True}, GraphError, "the ids are names; leave num_vertices out"),
        ({"parallel_edges": "max"}, GraphError, "parallel_edges is 'max'; expected one of"),
        ({"weight_column": 10**5000}, ParseError, "an integer of 16,610 bits, counted from 0"),
        ({"delimiter": "\n"}, ParseError, "expected one character of ASCII, no quote or line break"),
        ({"memory_limit": "1 giga"}, ParameterError, "memory_limit is '1 giga'; expected a number of bytes"),
        ({"memory_limit": 1.5}, ParameterError, "memory_limit is 1.5; expected a number of bytes"),
        ({"memory_limit": float("inf")}, ParameterError, "memory_limit is inf; expected a number of bytes"),
        (
            {"memory_limit": -5},
            ParameterError,
            "memory_limit is -5; expected a number of bytes of at least 0",
        ),
        (
            {"progress": 3},
            ParseError,
            "progress is 3; expected True, False, or a function of a number of bytes",
        ),
    ],
)
def test_options_out_of_range(file: Any, options: dict, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        read(file("0 1\n"), **options)


def test_numbers_of_vertices_beside_names(file: Any) -> None:
    with pytest.raises(GraphError, match="the ids are names; leave num_vertices out"):
        read(file("a b\n"), num_vertices=3)


def test_integers_that_python_does_not_read(file: Any) -> None:
    path = file(f"{'9' * 5000} 1\n")
    with pytest.raises(ParseError, match=r"has an id of 5,000 digits, too many for an integer.*names=True"):
        read(path)
    assert read(path, names=True).num_vertices == 2


@pytest.mark.parametrize("path", ["a\0b", "\ud800", "/proc/self/mem", "x" * 5000])
def test_paths_that_are_none(path: str) -> None:
    with pytest.raises(ParseError, match="cannot read"):
        read(path)
    with pytest.raises(OutputError, match=r"cannot write|there is no"):
        write(generate.path(3), f"{path}.txt")


@pytest.mark.parametrize("before", ["", "5 6 1\n" * 300_000])
@pytest.mark.parametrize("between", ["", "5 6 1\n" * 300_000])
def test_integers_that_become_floats_are_not_rounded(file: Any, before: str, between: str) -> None:
    """Across blocks that are scanned ahead, too."""
    large, line = 2**53 + 1, 2 + (before + between).count("\n")
    text = f"{before}1 2 {large}\n{between}2 3 1.5\n"
    with pytest.raises(
        ParseError, match=rf":{line}: got '2 3 1.5'.*floats do not hold {large}, one before it, exactly"
    ):
        read(file(text))
    assert read(file(text.replace(str(large), str(large - 1)))).weights.max() == large - 1


def test_integers_beyond_floats_in_a_column_of_these(file: Any) -> None:
    for value in ("9007199254740993", "-0009007199254740993"):
        with pytest.raises(ParseError, match=rf":2: got '{value}'; floats do not hold this integer exactly"):
            read(file(f"1 2 1.5\n2 3 {value}\n"))
    for value in ("9007199254740993.0", "9007199254740992", "1e20"):
        assert read(file(f"1 2 1.5\n2 3 {value}\n")).weights.tolist() == [1.5, float(value)]
