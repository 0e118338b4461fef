"""The command line: refusals in one line, and what is not harmed by a run."""

import json
import os
from pathlib import Path

import numpy as np
import pytest
from cli_cases import invoke, posix, refuse, succeed

import edgewise as ew
from edgewise.algorithms.betweenness import checkpoint
from edgewise.cli import report
from edgewise.cli.tasks import algorithms
from edgewise.errors import OutputError
from edgewise.io.columns import read_columns
from edgewise.kernels import store


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ("pagerang",),
            f"there is no algorithm 'pagerang'; there are {', '.join(algorithms())}.",
        ),
        (("bfs",), "bfs needs source: give --source ID"),
        (("bfs", "--source", "Rome"), "the graph has no vertex 'Rome'"),
        (("pagerank", "--source", "Lyon"), "pagerank has no parameter 'source'; it has damping"),
        (("pagerank", "--set", "dampin=1"), "pagerank has no parameter 'dampin'; it has damping"),
        (("pagerank", "--set", "damping"), "expected NAME=VALUE"),
        (("pagerank", "--set", "damping=two"), "damping is 'two'"),
        (("pagerank", "--device", "tpu"), "device is 'tpu'; expected 'auto', 'cpu' or 'cuda'"),
        (("pagerank", "--threads", "0"), "--threads is 0"),
        (("pagerank", "--read", "colour=1"), "edgewise.read has no parameter 'colour'"),
        (("pagerank", "--read", "columns=(0,7)"), "towns.txt"),
        (("pagerank", "--read", "columns=3"), "columns is 3; expected two numbers or names"),
        (("pagerank", "--read", "weight_column=1.5"), "weight_column is 1.5; expected a number or a name"),
        (("pagerank", "--read", "comments=3"), "comments is 3; expected characters"),
        (("pagerank", "--read", "delimiter=3"), "delimiter is 3; expected one character"),
        (("pagerank", "--read", "index_base=a"), "index_base is 'a'; expected an integer"),
        (("pagerank", "--read", "path=a"), "edgewise.read has no parameter 'path'"),
        (("missing.py:P",), "there is no file missing.py"),
    ],
)
def test_requests_that_make_no_sense(towns: Path, arguments: tuple[str, ...], message: str) -> None:
    assert message in refuse("run", arguments[0], towns, *arguments[1:])


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "there is no file"),
        (b"", "empty"),
        (b"# only a comment\n", "graph.txt"),
        (bytes(range(256)), "graph.txt"),
        (b"0 1\n1 x\n", "graph.txt:2"),
        (b"0 1 2\n1 2\n", "graph.txt:2"),
        (b"0 1 nan\n1 2 3\n", "nan"),
        (b"0 1 inf\n1 2 3\n", "inf"),
    ],
)
def test_graphs_that_cannot_be_read(tmp_path: Path, content: bytes | None, message: str) -> None:
    path = tmp_path / "graph.txt"
    if content is not None:
        path.write_bytes(content)
    options = ["--weighted"] if content is not None and b"0 1 " in content else []
    assert message in refuse("run", "components", path, *options)


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("raise Odd", "Odd: "),
        ("class Silent(Odd):\n    def __str__(self): return 1 / 0\nraise Silent", "Silent: a Silent that"),
        ("class Own(BaseException): pass\nraise Own('why')", "Own: why"),
        ("raise SystemExit(3)", "SystemExit: 3"),
        ("1 / 0", "ZeroDivisionError: division by zero"),
    ],
)
def test_a_program_file_that_raises_an_error(towns: Path, tmp_path: Path, line: str, problem: str) -> None:
    (tmp_path / "odd.py").write_text(f"class Odd(Exception): pass\n{line}\n")
    number = 1 + len(f"{line}\n".splitlines())
    assert f"odd.py:{number}: {problem}" in refuse("run", tmp_path / "odd.py", towns)


def test_a_number_of_threads_that_is_none(towns: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EDGEWISE_NUM_THREADS", "many")
    assert "EDGEWISE_NUM_THREADS is 'many'; expected a positive integer" in refuse("run", "pagerank", towns)


@pytest.mark.parametrize(("size", "vertices"), [("0 0 0", 0), ("3 3 0", 3)])
def test_graphs_without_edges_or_vertices(tmp_path: Path, size: str, vertices: int) -> None:
    graph, output = tmp_path / "graph.mtx", tmp_path / "out.csv"
    graph.write_text(f"%%MatrixMarket matrix coordinate pattern general\n{size}\n")
    for algorithm in ("pagerank", "components"):
        facts = json.loads(succeed("run", algorithm, graph, "--json", "--verify", "--output", output))
        assert facts["vertices"] == len(facts["top"]) == len(read_columns(output)["vertex"]) == vertices
    assert json.loads(succeed("info", graph, "--json"))["vertices"] == vertices
    if vertices == 0:
        assert "the graph has no vertex 1; it has no vertices" in refuse("run", "bfs", graph, "--source", 1)


def test_negative_cycle(tmp_path: Path) -> None:
    (tmp_path / "graph.txt").write_text("0 1 1\n1 2 -3\n2 0 1\n")
    assert "negative" in refuse("run", "sssp", tmp_path / "graph.txt", "--source", 0)


@pytest.mark.parametrize("name", ["missing/out.csv", "out.pdf", "folder.csv", "a" * 260 + ".csv"])
def test_an_output_is_refused_before_the_graph_is_read(tmp_path: Path, name: str) -> None:
    (tmp_path / "folder.csv").mkdir()
    error = refuse("run", "components", tmp_path / "no-such-graph.txt", "--output", tmp_path / name)
    assert name in error and "no-such-graph" not in error
    error = refuse("generate", "path", tmp_path / name, "--set", f"num_vertices={2**40}")
    assert name in error


def test_what_is_read_is_not_overwritten(tmp_path: Path) -> None:
    edges = tmp_path / "own.tsv"
    edges.write_text("1\t2\n2\t3\n")
    (tmp_path / "link.tsv").symlink_to(edges)
    for output in (edges, tmp_path / "link.tsv"):
        error = refuse("run", "components", edges, "--output", output)
        assert "it is what is read" in error
    with pytest.raises(OutputError, match="it is what is read"):
        ew.build(edges, [edges], memory_limit=1e8)
    assert edges.read_text() == "1\t2\n2\t3\n"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("rmatt",), "there is no generator 'rmatt'; there are rmat, uniform, lattice"),
        (("rmat", "--set", "scal=3"), "rmat has no parameter 'scal'; it has scale"),
        (("uniform",), "uniform needs num_vertices: give --set num_vertices=VALUE"),
        (("path", "--set", "num_vertices=-1"), "num_vertices is -1"),
        (("rmat", "--set", "scale=3", "--set", "probabilities=0.3"), "probabilities are 0.3; expected four"),
        (
            ("rmat", "--set", "scale=3", "--set", "probabilities=None"),
            "probabilities are None; expected four",
        ),
        (
            ("rmat", "--set", "scale=3", "--set", "edge_factor=1e308"),
            "edge_factor is 1e+308; expected a number",
        ),
        (
            ("path", "--set", "num_vertices=3", "--set", f"weights=({2**63},{2**63 + 4})"),
            f"a weight is {2**63}",
        ),
    ],
)
def test_graphs_that_cannot_be_generated(tmp_path: Path, arguments: tuple[str, ...], message: str) -> None:
    assert message in refuse("generate", arguments[0], tmp_path / "g.tsv", *arguments[1:])
    assert os.listdir(tmp_path) == []


def test_memory_that_is_not_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def allocate(*arguments: object, **options: object) -> None:
        raise MemoryError("Unable to allocate 64.0 GiB")

    monkeypatch.setattr(ew.Graph, "from_edges", allocate)
    error = refuse("generate", "path", tmp_path / "g.tsv", "--set", "num_vertices=3")
    assert "path needs more memory than the system gives (Unable to allocate 64.0 GiB)" in error


def test_a_name_as_long_as_names_may_be(towns: Path, tmp_path: Path) -> None:
    output = tmp_path / ("a" * 251 + ".csv")
    succeed("run", "components", towns, "--output", output)
    assert len(read_columns(output)["vertex"]) == 5


@pytest.mark.parametrize(
    ("text", "edges"), [("false", 2), ("False", 2), ("no", 2), ("0", 2), ("true", 1), ("on", 1), ("None", 1)]
)
def test_booleans(tmp_path: Path, text: str, edges: int) -> None:
    (tmp_path / "g.csv").write_text("from,to\na,b\n")
    options = ("--read", f"header={text}", "--json")
    assert json.loads(succeed("info", tmp_path / "g.csv", *options))["edges"] == edges
    assert "header is 'maybe'; expected true or false" in refuse(
        "info", tmp_path / "g.csv", "--read", "header=maybe"
    )


def test_booleans_of_algorithms_generators_and_programs(towns: Path, tmp_path: Path) -> None:
    def top(*settings: str) -> float:
        options = [word for setting in settings for word in ("--set", setting)]
        return json.loads(succeed("run", "betweenness", towns, "--json", *options))["top"][0]["centrality"]

    assert top("normalized=false") == top("normalized=False", "weighted=no") != top("normalized=true")
    assert "weighted is 'two'; expected true or false" in refuse(
        "run", "pagerank", towns, "--set", "weighted=two"
    )
    settings = ("--set", "num_vertices=4", "--set", "directed=false")
    assert "undirected" in succeed("generate", "path", tmp_path / "g.mtx", *settings)
    (tmp_path / "flag.py").write_text(
        "import edgewise as ew\nclass Flag(ew.Program):\n    on = ew.parameter(bool, default=True)\n"
    )
    program = tmp_path / "flag.py"
    for setting in ("on=maybe", "check=maybe"):
        assert f"{setting[:-6]} is 'maybe'; expected true or false" in refuse(
            "run", program, towns, "--set", setting
        )


@pytest.mark.parametrize("value", ["{[]: 1}", "(" * 500, "0x" + "f" * 5000, "9" * 5000, "\0", "1j", "\\d"])
def test_values_that_are_no_literals(towns: Path, value: str) -> None:
    error = refuse("run", "pagerank", towns, "--set", f"damping={value}")
    assert "damping is" in error and "Warning" not in error


def test_a_memory_limit(towns: Path, tmp_path: Path) -> None:
    assert "; --memory-limit is 10." in refuse("info", towns, "--memory-limit", 10)
    matrix = tmp_path / "g.mtx"
    matrix.write_text("%%MatrixMarket matrix coordinate pattern general\n100000 100000 1\n1 2\n")
    assert "pagerank needs" in refuse("run", "pagerank", matrix, "--memory-limit", "1.4e6")
    assert "--memory-limit is '1.5'" in refuse("info", towns, "--memory-limit", 1.5)
    for command in (("info", towns), ("run", "pagerank", towns), ("verify", "pagerank", towns, towns)):
        assert "--memory-limit is '-5'; expected" in refuse(*command, "--memory-limit", -5)
    succeed("run", "pagerank", towns, "--memory-limit", "1e6")


def test_escapes_are_shown_and_not_sent(tmp_path: Path) -> None:
    graph = tmp_path / "\x1b[31mred.txt"
    graph.write_text("\x1b]0;title\x07a b\u202ec\nb\u202ec \x1b]0;title\x07a\n")
    texts = [
        succeed("run", "bfs", graph, "--source", "\x1b]0;title\x07a"),
        invoke("info", graph, "--undirected").output,
        refuse("info", f"{graph}.\n.txt"),
        refuse("run", "bfs", graph, "--source", "\x1b[2J"),
        refuse("run", "\x1b[2J", graph),
        invoke("info", graph, "--top", "\x1b[2J").output,
        invoke("run", "bfs", graph, "--top", "\x1b[2J").output,
        invoke("\x1b[2J").output,
    ]
    for text in texts:
        assert not {"\x1b", "\x07", "\u202e"} & set(text)
    assert r"\x1b]0;title\x07a" in texts[0] and r"b\u202ec" in texts[0] and r"\x1b[31mred.txt" in texts[1]
    facts = json.loads(succeed("run", "bfs", graph, "--source", "\x1b]0;title\x07a", "--json"))
    assert facts["top"][0]["vertex"] == "\x1b]0;title\x07a"


def test_formulas_in_an_output(tmp_path: Path) -> None:
    (tmp_path / "g.txt").write_text("=1+1 b\n")
    output = tmp_path / "out.csv"
    for options, name, told in (((), "=1+1", 1), (("--quote-formulas",), "'=1+1", 0)):
        result = invoke("run", "components", tmp_path / "g.txt", "--output", output, *options)
        assert read_columns(output)["vertex"][0] == name
        assert (
            result.stderr.count("\n")
            == told
            == result.stderr.count("such as '=1+1'. To open it in one, write it")
        )
        assert "with --quote-formulas, which puts" in result.stderr or not told
    refused = refuse(
        "run", "components", tmp_path / "g.txt", "--output", f"{output}.json", "--quote-formulas"
    )
    assert "its names stay as they are; leave out --quote-formulas" in refused
    assert invoke("run", "components", tmp_path / "g.txt", "--output", f"{output}.jsonl").stderr == ""


def test_an_output_keeps_its_permissions_and_its_link(towns: Path, tmp_path: Path) -> None:
    target, link = tmp_path / "there.csv", tmp_path / "out.csv"
    target.write_text("before")
    target.chmod(0o604)
    link.symlink_to(target)
    succeed("run", "components", towns, "--output", link)
    assert link.is_symlink() and target.stat().st_mode & 0o777 == 0o604
    assert len(read_columns(target)["vertex"]) == 5


@posix
def test_an_unused_cache_folder_is_told_of_in_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tmp_path.chmod(0o777)
    monkeypatch.setenv("EDGEWISE_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(report, "installation_facts", lambda algorithms: {"kept": store.read("kernel\nkey")})
    result = invoke("info")
    assert result.exit_code == 0 and result.stdout == "kept  none\n"
    assert result.stderr.startswith("edgewise: warning: compiled code is not kept: the folder")
    assert result.stderr.count("\n") == 1


def test_a_checkpoint_that_cannot_be_written_is_told_of_in_one_line(
    towns: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def write(*arguments: object, **arrays: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(np, "savez", write)
    monkeypatch.setattr(checkpoint, "SECONDS", -1)
    result = invoke("run", "betweenness", towns, "--set", f"checkpoint={tmp_path / 'sums'}")
    assert result.exit_code == 0
    assert result.stderr.startswith("edgewise: warning: betweenness: cannot write")
    assert result.stderr.count("\n") == 1


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="needs to give files away")
def test_an_output_keeps_its_owner_and_group(towns: Path, tmp_path: Path) -> None:
    output, new = tmp_path / "there.csv", tmp_path / "new.csv"
    output.write_text("before")
    output.chmod(0o640)
    os.chown(output, 12_345, 54_321)
    tmp_path.chmod(0o1777)
    for path in (output, new):
        succeed("run", "components", towns, "--output", path)
    there = output.stat()
    assert (there.st_uid, there.st_gid, there.st_mode & 0o777) == (12_345, 54_321, 0o640)
    assert (new.stat().st_uid, new.stat().st_gid) == (os.geteuid(), os.getegid())


@posix
def test_an_output_is_written_where_files_cannot_be_given_away(
    towns: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    output, asked = tmp_path / "there.csv", []

    def chown(*owner: object) -> None:
        asked.append(owner[1:])
        raise PermissionError

    monkeypatch.setattr(os, "chown", chown)
    output.write_text("before")
    succeed("run", "components", towns, "--output", output)
    assert asked == [(-1, output.stat().st_gid), (output.stat().st_uid, -1)]
    assert len(read_columns(output)["vertex"]) == 5
