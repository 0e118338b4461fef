"""The command line: parameters that are given several times, as lists, or by other names; values that are missing."""

import json
from pathlib import Path

import pytest
from cli_cases import invoke, refuse, succeed

import edgewise as ew
from edgewise.io.columns import read_columns


@pytest.fixture
def parts(tmp_path: Path) -> Path:
    """Two paths of letters, a-b-c and e-f, and a vertex without edges into it."""
    path = tmp_path / "parts.tsv"
    path.write_text("source\ttarget\na\tb\nb\tc\ne\tf\n['a','e']\tg\n")
    return path


@pytest.mark.parametrize("algorithm", ["bfs", "sssp"])
def test_several_sources(algorithm: str, parts: Path, tmp_path: Path) -> None:
    expected = getattr(ew, algorithm)(ew.read(parts), ["a", "e"])
    for name, given in (
        ("options.jsonl", ("--source", "a", "--source", "e")),
        ("list.jsonl", ("--set", 'source=["a", "e"]')),
    ):
        succeed("run", algorithm, parts, *given, "--output", tmp_path / name)
        written = read_columns(tmp_path / name)
        assert written["parent"] == expected.parent.tolist() or written["parent"] == [
            each or None for each in expected.parent.tolist()
        ]
        assert "passes" in succeed("verify", algorithm, parts, tmp_path / name, *given)
        assert invoke("verify", algorithm, parts, tmp_path / name, "--source", "a").exit_code == 2


def test_a_list_of_integers_and_a_name_that_looks_like_a_list(parts: Path, tmp_path: Path) -> None:
    (tmp_path / "n.tsv").write_text("0\t1\n33\t2\n")
    run = ("run", "bfs", tmp_path / "n.tsv", "--json", "--set")
    assert json.loads(succeed(*run, "source=[0,33]"))["reached"] == 4
    assert "no vertex '1.5'; its ids are integers" in refuse(*run, "source=[0,1.5]")
    one = succeed("run", "bfs", parts, "--json", "--set", "source=['a','e']")
    assert [row["vertex"] for row in json.loads(one)["top"]] == ["['a','e']", "g"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("bfs", "--source", "a", "--set", "source=b"), "source is given twice"),
        (("bfs", "--source", "a", "--set", "max_depth=1", "--set", "max_depth=1"), "max_depth=... is given twice"),
        (("scc", "--read", "header=true", "--read", "header=false"), "--read header=... is given twice"),
        (("pagerank", "--source", "a", "--source", "b"), "pagerank has no parameter 'source'"),
        (("sssp", "--source", "a", "--set", "target=['b']"), """no vertex "['b']\""""),
        (("pagerank", "--set", "alpha=0.9"), "as NetworkX has; expected damping"),
        (("bfs", "--set", "sources=a"), "expected source, which takes several, too"),
        (("sssp", "--set", "weight=x"), "expected --set weighted=True for the weights of the graph"),
        (("read",), "there is no algorithm 'read'"),
    ],
)  # fmt: skip
def test_what_is_given_twice_or_by_another_name(
    parts: Path, arguments: tuple[str, ...], message: str
) -> None:
    assert message in refuse("run", arguments[0], parts, *arguments[1:])


def test_a_program_takes_one_source(parts: Path, tmp_path: Path) -> None:
    (tmp_path / "one.py").write_text(
        "import edgewise as ew\n\n\nclass One(ew.Program):\n    source = ew.parameter(ew.VERTEX)\n"
    )
    message = refuse("run", tmp_path / "one.py", parts, "--source", "a", "--source", "b")
    assert "One takes one source; 2 were given" in message


def test_a_program_that_needs_arrays_says_where_they_come_from(parts: Path, tmp_path: Path) -> None:
    text = (
        "import edgewise as ew\n\n\nclass Tolls(ew.Program):\n    toll = ew.{}('float64', init=ew.REQUIRED)\n"
    )
    for kind, message in (("edge", "only .edgewise files keep such"), ("vertex", "which no option gives")):
        (tmp_path / f"{kind}.py").write_text(text.format(kind))
        assert message in refuse("run", tmp_path / f"{kind}.py", parts)


@pytest.mark.parametrize(
    ("name", "algorithm"), [("connected_components", "components"), ("strongly_connected_components", "scc")]
)
def test_names_of_functions_are_names_of_algorithms(parts: Path, name: str, algorithm: str) -> None:
    assert json.loads(succeed("run", name, parts, "--json"))["algorithm"] == algorithm
    assert name not in json.loads(succeed("info", "--json"))["algorithms"]


def test_no_value_is_null_in_json_and_a_dash_in_the_table(parts: Path, tmp_path: Path) -> None:
    (tmp_path / "n.tsv").write_text("0\t1\n")
    for graph, source in ((parts, "a"), (tmp_path / "n.tsv", "0")):
        run = ("run", "bfs", graph, "--source", source, "--top", 1)
        assert json.loads(succeed(*run, "--json"))["top"][0]["parent"] is None
        assert succeed(*run).splitlines()[-1].split() == [source, "0", "-"]


def test_long_ids_are_cut_in_tables_only(tmp_path: Path) -> None:
    graph = ew.Graph.from_edges(["x" * 5000], ["y"])
    graph.save(tmp_path / "g.edgewise")
    for command in (("run", "pagerank"), ("info",)):
        text = succeed(*command, tmp_path / "g.edgewise")
        assert max(map(len, text.splitlines())) < 400 and "xxx..." in text
        assert "x" * 5000 in succeed(*command, tmp_path / "g.edgewise", "--json")


@pytest.mark.parametrize("suffix", ["jsonl", "json.gz", "parquet"])
def test_an_empty_id_is_told_from_null_in_files_that_have_it(tmp_path: Path, suffix: str) -> None:
    file, result = tmp_path / "g.edgewise", tmp_path / f"r.{suffix}"
    ew.Graph.from_edges(["", "b", "x"], ["b", "c", ""]).save(file)
    for algorithm in ("bfs", "sssp"):
        succeed("run", algorithm, file, "--source", "b", "--output", result)
        succeed("verify", algorithm, file, result, "--source", "b")
        assert "vertex ''" in refuse("verify", algorithm, file, result, "--source", "")
        succeed("run", algorithm, file, "--source", "b", "--output", tmp_path / "r.csv", "--quote-formulas")
        message = refuse("verify", algorithm, file, tmp_path / "r.csv", "--source", "b")
        assert "write the result as .jsonl or .parquet" in message


def test_a_null_vertex_is_no_vertex(parts: Path, tmp_path: Path) -> None:
    (tmp_path / "r.jsonl").write_text('{"vertex": null, "component": 0}\n')
    assert "the id of a vertex is null" in refuse("verify", "components", parts, tmp_path / "r.jsonl")
