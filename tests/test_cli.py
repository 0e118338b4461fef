"""The command line: answers, files, refusals in one line, and Ctrl-C."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner, Result

import edgewise as ew
from edgewise import generate
from edgewise.algorithms.betweenness import checkpoint
from edgewise.cli import report
from edgewise.cli.app import app
from edgewise.cli.tasks import algorithms
from edgewise.io.columns import read_columns
from edgewise.kernels import store

ROOT = Path(__file__).resolve().parent.parent
EXAMPLES = ROOT / "examples"
COMMAND = [sys.executable, "-m", "edgewise.cli"]

posix = pytest.mark.skipif(not hasattr(os, "geteuid"), reason="the system has no owners of files")

TOWNS = """# from to km
Lyon Paris 460
Paris Lille 220
Lyon Nice 470
Nice Lyon 470
Metz Metz 1
"""


@pytest.fixture
def towns(tmp_path: Path) -> Path:
    path = tmp_path / "towns.txt"
    path.write_text(TOWNS)
    return path


def invoke(*arguments: object) -> Result:
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


def succeed(*arguments: object) -> str:
    result = invoke(*arguments)
    assert result.exit_code == 0, result.output
    return result.stdout


def refuse(*arguments: object) -> str:
    """The one line of a refusal."""
    result = invoke(*arguments)
    assert result.exit_code == 2, result.output
    assert result.output.startswith("edgewise: error: ")
    assert result.output.count("\n") == 1, "expected one line"
    return result.output


# Answers


def test_bfs_in_json(towns: Path) -> None:
    facts = json.loads(succeed("run", "bfs", towns, "--source", "Lyon", "--json", "--verify", "--top", 3))
    assert facts["algorithm"] == "bfs" and facts["graph"] == str(towns)
    assert (facts["vertices"], facts["edges"], facts["directed"], facts["weights"]) == (5, 5, True, "int64")
    assert facts["reached"] == 4 and facts["depth"] == 2 and facts["verified"] is True
    assert [(each["vertex"], each["level"]) for each in facts["top"]] == [
        ("Lyon", 0),
        ("Paris", 1),
        ("Nice", 1),
    ]
    assert facts["seconds"] >= 0 and facts["supersteps"] >= 2


def test_sssp_to_a_file(towns: Path, tmp_path: Path) -> None:
    output = tmp_path / "out.tsv.gz"
    succeed("run", "sssp", towns, "--source", "Lyon", "--output", output, "--verify")
    columns = read_columns(output)
    assert columns["vertex"] == ["Lyon", "Paris", "Lille", "Nice", "Metz"]
    assert columns["distance"] == ["0", "460", "680", "470", str(2**63 - 1)]
    assert columns["parent"] == ["", "Lyon", "Paris", "Lyon", ""]
    assert sorted(os.listdir(tmp_path)) == ["out.tsv.gz", "towns.txt"]


def test_undirected_and_unweighted(towns: Path) -> None:
    facts = json.loads(
        succeed(
            "run", "sssp", towns, "--source", "Lille", "--undirected", "--unweighted", "--json", "--top", 9
        )
    )
    assert facts["directed"] is False and facts["weights"] is None
    assert [(each["vertex"], each["distance"]) for each in facts["top"]] == [
        ("Lille", 0),
        ("Paris", 1),
        ("Lyon", 2),
        ("Nice", 3),
    ]


def test_components_are_listed_by_size(towns: Path) -> None:
    facts = json.loads(succeed("run", "components", towns, "--json"))
    assert facts["components"] == 2
    assert facts["top"] == [{"component": "Lyon", "size": 4}, {"component": "Metz", "size": 1}]


def test_betweenness_of_edges_by_weights(towns: Path, tmp_path: Path) -> None:
    output, checkpoint = tmp_path / "out.csv", tmp_path / "sums.npz"
    settings = ("weighted=True", "normalized=False", "sources=['Lyon', 'Nice']", f"checkpoint={checkpoint}")
    options = [word for setting in settings for word in ("--set", setting)]
    facts = json.loads(
        succeed("run", "edge_betweenness", towns, *options, "--output", output, "--verify", "--json")
    )
    assert facts["sources"] == 2 and facts["verified"] is True
    # Two of five sources stand for all: from Lyon along three arcs, from Nice over Lyon.
    assert facts["top"][0] == {"source": "Lyon", "target": "Paris", "centrality": 4 * 5 / 2}
    columns = read_columns(output)
    assert list(columns) == ["source", "target", "centrality"]
    assert columns["source"] == ["Lyon", "Lyon", "Paris", "Nice", "Metz"]
    assert sorted(os.listdir(tmp_path)) == ["out.csv", "towns.txt"]


def test_pagerank_of_debian() -> None:
    graph = ROOT / "data" / "debian-bookworm-depends.tsv.gz"
    facts = json.loads(
        succeed("run", "pagerank", graph, "--set", "tol=1e-12", "--set", "max_iterations=500", "--json")
    )
    assert (facts["vertices"], facts["edges"]) == (69864, 340686)
    assert facts["converged"] is True and facts["iterations"] > 50
    assert facts["top"][0]["vertex"] == "libc6" and len(facts["top"]) == 10
    ranks = [each["rank"] for each in facts["top"]]
    assert ranks == sorted(ranks, reverse=True)


def test_text_for_people(towns: Path) -> None:
    text = succeed("run", "pagerank", towns, "--top", 2, "--threads", 1, "--device", "cpu")
    lines = text.splitlines()
    assert lines[0] == f"pagerank on {towns}: 5 vertices, 5 edges, directed, int64 weights"
    assert lines[1].startswith("iterations: ") and "converged: yes" in lines[1]
    assert lines[2].startswith("ran in ") and "edges/s" in lines[2]
    assert lines[4].split() == ["vertex", "rank"]
    assert len(lines) == 7


def test_no_rows_are_shown_if_none_are_wanted(towns: Path) -> None:
    assert "vertex  " not in succeed("run", "pagerank", towns, "--top", 0)
    assert json.loads(succeed("run", "pagerank", towns, "--top", 0, "--json"))["top"] == []


def test_a_program_in_a_file(towns: Path, tmp_path: Path) -> None:
    output = tmp_path / "out.csv"
    program = f"{EXAMPLES / 'sssp.py'}:SSSP"
    text = succeed("run", program, towns, "--source", "Lyon", "--output", output, "--verify")
    assert text.startswith("SSSP on ") and "passed its verifier" in text
    columns = read_columns(output)
    assert dict(zip(columns["vertex"], columns["distance"], strict=True))["Lille"] == "680"


def test_info(towns: Path) -> None:
    facts = json.loads(succeed("info", towns, "--json"))
    assert facts["vertices"] == 5 and facts["self_loops"] == 1 and facts["isolated_vertices"] == 0
    assert facts["max_out_degree"] == 2 and facts["max_out_degree_vertex"] == "Lyon"
    assert (facts["min_weight"], facts["max_weight"]) == (1, 470)
    assert (facts["parallel_edges"], facts["reciprocal_edges"]) == (0, 2)
    text = succeed("info", towns, "--undirected")
    assert "max out degree" in text and "parallel edges         2\n" in text and "reciprocal" not in text


def test_edges_in_both_directions_are_told_of_in_one_line(towns: Path) -> None:
    result = invoke("info", towns, "--undirected", "--json")
    assert result.exit_code == 0
    assert json.loads(result.stdout)["parallel_edges"] == 2
    assert result.stderr.startswith(f"edgewise: warning: {towns} lists 1 edges in both directions")
    assert result.stderr.count("\n") == 1 and 'parallel_edges="first"' in result.stderr
    again = invoke("run", "components", towns, "--undirected")
    assert again.stderr == result.stderr, "once for each command"
    for options in ((), ("--undirected", "--read", "parallel_edges=first")):
        assert invoke("info", towns, *options).stderr == ""


def test_info_on_the_installation() -> None:
    facts = json.loads(succeed("info", "--json"))
    assert facts["edgewise"] == ew.__version__ and facts["threads"] >= 1
    assert "pagerank" in facts["algorithms"]


@posix
def test_info_says_if_compiled_code_is_not_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for mode, text in ((0o700, "{}"), (0o777, "not kept: the folder {} can be written by others (mode 777)")):
        tmp_path.chmod(mode)
        for folder in (tmp_path, tmp_path / "new"):
            monkeypatch.setenv("EDGEWISE_CACHE_DIR", str(folder))
            expected = text if folder == tmp_path else "{}"
            assert json.loads(succeed("info", "--json"))["compiled_code"] == expected.format(folder)
    assert os.listdir(tmp_path) == []
    tmp_path.joinpath("file").touch(0o600)
    monkeypatch.setenv("EDGEWISE_CACHE_DIR", str(tmp_path / "file"))
    assert json.loads(succeed("info", "--json"))["compiled_code"].startswith("not kept: ")


@pytest.mark.parametrize("name", ["g.tsv.gz", "g.csv", "g.txt", "g.mtx"])
def test_generated_graphs_come_back(tmp_path: Path, name: str) -> None:
    text = succeed(
        "generate", "rmat", tmp_path / name, "--set", "scale=6", "--set", "weights=(1, 9)", "--set", "seed=3"
    )
    expected = generate.rmat(6, weights=(1, 9), seed=3)
    assert f"64 vertices, {expected.num_edges:,} edges" in text
    graph = ew.read(tmp_path / name)
    assert graph.num_edges == expected.num_edges
    assert sorted(graph.weights.tolist()) == sorted(expected.weights.tolist())


@pytest.mark.parametrize(
    ("kind", "settings"),
    [
        ("uniform", ("num_vertices=9", "num_edges=20")),
        ("lattice", ("rows=4", "columns=5")),
        ("skewed", ("num_vertices=9",)),
        ("star", ("num_vertices=9",)),
        ("path", ("num_vertices=9",)),
        ("cycle", ("num_vertices=9",)),
    ],
)
def test_every_generator(tmp_path: Path, kind: str, settings: tuple[str, ...]) -> None:
    options = [word for setting in settings for word in ("--set", setting)]
    succeed("generate", kind, tmp_path / "g.mtx", *options)
    expected = getattr(generate, kind)(
        **{name: int(value) for name, value in (s.split("=") for s in settings)}
    )
    assert ew.read(tmp_path / "g.mtx").num_vertices == expected.num_vertices


# Refusals


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
        (("pagerank", "--threads", "0"), "num_threads is 0"),
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


@pytest.mark.parametrize("name", ["missing/out.csv", "out.parquet", "folder.csv", "a" * 260 + ".csv"])
def test_an_output_is_refused_before_the_graph_is_read(tmp_path: Path, name: str) -> None:
    (tmp_path / "folder.csv").mkdir()
    error = refuse("run", "components", tmp_path / "no-such-graph.txt", "--output", tmp_path / name)
    assert name in error and "no-such-graph" not in error
    error = refuse("generate", "path", tmp_path / name, "--set", f"num_vertices={2**40}")
    assert name in error


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
    assert "; memory_limit is 10." in refuse("info", towns, "--memory-limit", 10)
    matrix = tmp_path / "g.mtx"
    matrix.write_text("%%MatrixMarket matrix coordinate pattern general\n100000 100000 1\n1 2\n")
    assert "pagerank needs" in refuse("run", "pagerank", matrix, "--memory-limit", "1.4e6")
    assert "memory_limit is 1.5" in refuse("info", towns, "--memory-limit", 1.5)
    for command in (("info", towns), ("run", "pagerank", towns), ("verify", "pagerank", towns, towns)):
        assert "memory_limit is -5.0; expected" in refuse(*command, "--memory-limit", -5)
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
    for options, name in (((), "=1+1"), (("--quote-formulas",), "'=1+1")):
        succeed("run", "components", tmp_path / "g.txt", "--output", output, *options)
        assert read_columns(output)["vertex"][0] == name


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


# Processes


def test_ctrl_c_during_the_imports() -> None:
    script = (
        "import builtins, os, signal, sys\n"
        "import edgewise_command\n"
        "load = builtins.__import__\n"
        "def interrupt(name, *others):\n"
        "    if name == 'numba':\n"
        "        os.kill(os.getpid(), signal.SIGINT)\n"
        "    return load(name, *others)\n"
        "builtins.__import__ = interrupt\n"
        "edgewise_command.main()\n"
    )
    done = subprocess.run([sys.executable, "-c", script, "info"], capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "")


@pytest.mark.parametrize("module", ["numba", "typer"])
@pytest.mark.parametrize("command", [["-m", "edgewise.cli"], ["-medgewise.cli"]])
def test_ctrl_c_during_the_imports_of_the_module(tmp_path: Path, module: str, command: list[str]) -> None:
    (tmp_path / "sitecustomize.py").write_text(
        "import builtins, os, signal\n"
        "load = builtins.__import__\n"
        "def interrupt(name, *others, **named):\n"
        f"    if name == '{module}':\n"
        "        os.kill(os.getpid(), signal.SIGINT)\n"
        "    return load(name, *others, **named)\n"
        "builtins.__import__ = interrupt\n"
    )
    environment = {**os.environ, "PYTHONPATH": f"{tmp_path}{os.pathsep}{ROOT}"}
    done = subprocess.run([sys.executable, *command, "info"], capture_output=True, text=True, env=environment)
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "")


@pytest.mark.parametrize(
    "command", [["-c", "import edgewise_command; edgewise_command.main()"], ["-m", "edgewise.cli"]]
)
def test_an_ignored_ctrl_c_stays_ignored(tmp_path: Path, command: list[str]) -> None:
    (tmp_path / "sitecustomize.py").write_text(
        "import builtins, os, signal\n"
        "load = builtins.__import__\n"
        "def interrupt(name, *others, **named):\n"
        "    if name in ('numba', 'edgewise.cli.tasks'):\n"
        "        os.kill(os.getpid(), signal.SIGINT)\n"
        "    return load(name, *others, **named)\n"
        "builtins.__import__ = interrupt\n"
        "signal.signal(signal.SIGINT, signal.SIG_IGN)\n"
    )
    environment = {**os.environ, "PYTHONPATH": f"{tmp_path}{os.pathsep}{ROOT}"}
    done = subprocess.run([sys.executable, *command, "info"], capture_output=True, text=True, env=environment)
    assert (done.returncode, done.stderr) == (0, "") and "threads" in done.stdout


def test_ctrl_c_pressed_twice(tmp_path: Path) -> None:
    """The second time while the process ends by the first."""
    (tmp_path / "sitecustomize.py").write_text(
        "import atexit, builtins, os, signal\n"
        "def press():\n"
        "    os.kill(os.getpid(), signal.SIGINT)\n"
        "load = builtins.__import__\n"
        "def interrupt(name, *others, **named):\n"
        "    if name == 'edgewise.cli.tasks':\n"
        "        try:\n"
        "            press()\n"
        "        finally:\n"
        "            press()\n"
        "    return load(name, *others, **named)\n"
        "builtins.__import__ = interrupt\n"
        "atexit.register(press)\n"
    )
    environment = {**os.environ, "PYTHONPATH": f"{tmp_path}{os.pathsep}{ROOT}"}
    done = subprocess.run([*COMMAND, "info"], capture_output=True, text=True, env=environment)
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "")


def test_the_command_itself(towns: Path) -> None:
    command = [
        sys.executable,
        "-c",
        "import edgewise_command; edgewise_command.main()",
        "info",
        towns,
        "--json",
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert json.loads(done.stdout)["edges"] == 5 and done.stderr == ""


def test_a_terminal_of_few_characters(tmp_path: Path) -> None:
    (tmp_path / "g.txt").write_text("€ b\n", encoding="utf-8")
    command = [*COMMAND, "run", "components", tmp_path / "g.txt"]
    environment = {**os.environ, "PYTHONIOENCODING": "latin-1"}
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
    assert r"\u20ac" in done.stdout


def test_a_graph_from_a_pipe() -> None:
    done = subprocess.run(
        [*COMMAND, "info", "/dev/stdin", "--json"],
        input="1 2\n2 3\n",
        capture_output=True,
        text=True,
        check=True,
    )
    assert json.loads(done.stdout)["edges"] == 2


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")
def test_an_answer_that_cannot_be_written() -> None:
    with open("/dev/full", "w") as full:
        done = subprocess.run([*COMMAND, "info"], stdout=full, stderr=subprocess.PIPE, text=True)
    assert done.returncode == 2
    assert done.stderr == "edgewise: error: cannot write the answer: No space left on device\n"


def test_a_pipe_gets_the_answer_and_nothing_else(towns: Path) -> None:
    done = subprocess.run(
        [*COMMAND, "run", "pagerank", towns, "--json"], capture_output=True, text=True, check=True
    )
    assert json.loads(done.stdout)["algorithm"] == "pagerank"
    assert done.stderr == ""


def test_a_warning_is_one_line_beside_the_answer(towns: Path) -> None:
    command = [*COMMAND, "run", "sssp", towns, "--source", "Lille", "--undirected", "--json"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert json.loads(done.stdout)["reached"] == 4
    assert done.stderr.startswith("edgewise: warning: ") and done.stderr.count("\n") == 1


def test_a_refusal_is_no_traceback(tmp_path: Path) -> None:
    done = subprocess.run(
        [*COMMAND, "run", "pagerank", tmp_path / "none.txt"], capture_output=True, text=True
    )
    assert done.returncode == 2 and done.stdout == ""
    assert done.stderr.startswith("edgewise: error: ") and done.stderr.count("\n") == 1


def interrupted(command: list[object], ready: Path | None = None, pattern: str = "") -> tuple[int, float]:
    """Start a command, press Ctrl-C in the middle of it, and return its exit code and the seconds that it took to end.

    The middle is when a file of this pattern is in the folder, else when the process has used two seconds.
    """
    process = subprocess.Popen(
        [*map(str, COMMAND), *map(str, command)], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    try:
        deadline = time.monotonic() + 120
        while time.monotonic() < deadline and process.poll() is None:
            if ready is not None and list(ready.glob(pattern)):
                break
            if ready is None and process_seconds(process.pid) > 6.0:
                break
            time.sleep(0.01)
        assert process.poll() is None, process.communicate()
        started = time.monotonic()
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=30)
        return process.returncode, time.monotonic() - started
    finally:
        process.kill()


def process_seconds(pid: int) -> float:
    """Processor seconds that a process has used."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="needs /proc to see that the run has begun")
@pytest.mark.parametrize("scale", [4, 15])
def test_ctrl_c_ends_a_long_run(tmp_path: Path, scale: int) -> None:
    graph = tmp_path / "g.mtx"
    ew.io.write(generate.rmat(scale), graph)
    options = ["--set", "tol=0", "--set", "max_iterations=2000000000", "--output", tmp_path / "out.csv"]
    code, seconds = interrupted(["run", "pagerank", graph, *options])
    assert code == 130
    assert seconds < 5  # one second on a machine that has nothing else to do
    assert os.listdir(tmp_path) == ["g.mtx"]


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="needs /proc to see that the run has begun")
def test_ctrl_c_leaves_a_checkpoint(tmp_path: Path) -> None:
    graph, lattice = tmp_path / "g.mtx", generate.lattice(200, 200)
    ew.io.write(lattice, graph)
    ew.betweenness(lattice, k=1, device="cpu")  # so that the command need not compile
    checkpoint = tmp_path / "sums.npz"
    code, _ = interrupted(["run", "betweenness", graph, "--set", f"checkpoint={checkpoint}"])
    assert code == 130
    assert sorted(os.listdir(tmp_path)) == ["g.mtx", "sums.npz"]
    assert 0 < np.load(checkpoint)["done"] < 40_000


def test_ctrl_c_while_a_file_is_written(tmp_path: Path) -> None:
    output = tmp_path / "g.tsv.gz"
    output.write_bytes(b"before")
    options = ["--set", "num_vertices=10", "--set", "num_edges=5000000"]
    code, _ = interrupted(["generate", "uniform", output, *options], tmp_path, ".*.part")
    assert code == 130
    assert os.listdir(tmp_path) == ["g.tsv.gz"]
    assert output.read_bytes() == b"before"


def test_the_answer_of_a_subprocess_is_that_of_the_library(tmp_path: Path) -> None:
    graph = generate.rmat(8, seed=5)
    ew.io.write(graph, tmp_path / "g.mtx")
    command = [*COMMAND, "run", "pagerank", tmp_path / "g.mtx", "--output", tmp_path / "out.csv"]
    subprocess.run(command, capture_output=True, check=True)
    written = np.array(read_columns(tmp_path / "out.csv")["rank"], dtype=float)
    assert np.array_equal(written, ew.pagerank(ew.read(tmp_path / "g.mtx")).rank)


def test_the_device_is_described_or_why_there_is_none_and_what_mends_it():
    facts = json.loads(succeed("info", "--device", "--json"))
    if facts["gpu"] is None:
        assert facts["device_auto"] == "cpu"
        assert facts["problem"]
    else:
        assert facts["device_auto"] == "cuda"
        assert facts["memory_bytes"] > 0


def test_a_package_that_the_gpu_needs_is_named(monkeypatch):
    from edgewise.kernels import door

    monkeypatch.setattr(door, "_NEEDED", ("numpy", "no_such_package"))
    problem = door.cuda_problem.__wrapped__()
    assert problem.startswith("the package no_such_package is not installed; pip install 'edgewise[cuda13]'")
