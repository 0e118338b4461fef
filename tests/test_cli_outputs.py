"""The command line: what it writes, to files and to standard output."""

import io
import json
import os
import sys
from pathlib import Path

import polars
import pytest
from cli_cases import invoke, posix, refuse, succeed

import edgewise as ew
from edgewise.cli import answers
from edgewise.errors import OutputError

NAMES = ["\x1b[31mred", "bell\x07", "line\nbreak", "right\u202eleft", "=1+1", '"quoted"']
STEERING = {"\x1b", "\x07", "\u202e", "\n"}


@pytest.fixture
def odd(tmp_path: Path) -> Path:
    """A file with an odd name, of a graph with odd ids: a path through them, and two vertices beside it."""
    ids = [*NAMES, "a", "b"]
    graph = ew.Graph.from_edges([*ids[:-3], "a"], [*ids[1:-2], "b"], [1, 2, 3, 4, 5, 6])
    path = tmp_path / "\x1b[2J\u202e\n.edgewise"
    graph.save(path)
    return path


@pytest.mark.parametrize("suffix", ["csv", "tsv.xz", "json", "jsonl.zst", "parquet"])
@pytest.mark.parametrize(("task", "column"), [("sssp", "distance"), ("bfs", "level")])
def test_results_of_odd_ids_pass_the_verifier(odd: Path, suffix: str, task: str, column: str) -> None:
    output = odd.with_name(f"\x1b]0;\x07.{suffix}")
    result = invoke("run", task, odd, "--source", NAMES[0], "--output", output, "--top", 0)
    assert result.exit_code == 0 and not (STEERING - {"\n"}) & set(result.output)
    verified = succeed("verify", task, odd, output, "--source", NAMES[0])
    assert "passes" in verified and not (STEERING - {"\n"}) & set(verified) and verified.count("\n") == 1
    if suffix == "parquet":
        records = polars.read_parquet(output).to_dicts()
    elif suffix == "json":
        records = json.loads(output.read_text())
    else:
        return
    assert [each["vertex"] for each in records] == [*NAMES, "a", "b"]
    assert [each["parent"] for each in records] == [None, *NAMES[:-1], None, None]
    assert [each[column] for each in records][-2:] == [None, None] and records[0][column] == 0


@pytest.mark.parametrize("suffix", ["json", "parquet"])
def test_a_wrong_result_in_a_file_is_found(towns: Path, tmp_path: Path, suffix: str) -> None:
    output = tmp_path / f"out.{suffix}"
    succeed("run", "bfs", towns, "--source", "Lyon", "--output", output)
    assert "error: " in refuse("verify", "bfs", towns, output, "--source", "Paris")
    integers = tmp_path / "integers.txt"
    integers.write_text("1 2\n2 3\n7 8\n")
    for task in ("bfs", "sssp"):
        succeed("run", task, integers, "--source", 1, "--output", output)
        assert json.loads(succeed("verify", task, integers, output, "--source", 1, "--json")) == {
            "algorithm": task,
            "graph": str(integers),
            "result": str(output),
            "verified": True,
        }


def test_odd_ids_are_shown_everywhere(odd: Path) -> None:
    texts = [
        invoke("run", "bfs", odd, "--source", NAMES[0]).output,
        invoke("run", "bfs", odd, "--source", NAMES[0], "--json").output,
        invoke("run", "bfs", odd, "--source", "\x1b[0m").output,
        invoke("info", odd).output,
        invoke("info", odd, "--json").output,
        invoke("convert", odd, odd.with_name("\x07.edgewise")).output,
        invoke("convert", odd, odd.with_name("\x07.csv"), "--to", "\x1b").output,
        invoke("convert", odd, odd.with_name("\x07.edgewise"), "--json").output,
        invoke("run", "components", odd, "--output", odd.with_name("\x07.csv")).output,
        invoke("run", "components", odd, "--output", odd.with_name("\x07.pdf")).output,
        invoke("run", "components", odd, "--format", "\x1b").output,
    ]
    for text in texts:
        assert text and not {"\x1b", "\x07", "\u202e"} & set(text)
        assert all(len(line) < 1000 for line in text.splitlines())


def test_values_on_standard_output(towns: Path, tmp_path: Path) -> None:
    result = invoke("run", "bfs", towns, "--source", "Lyon", "--output", "-", "--to", "jsonl", "--top", 1)
    records = list(map(json.loads, result.stdout.splitlines()))
    assert [each["level"] for each in records] == [0, 1, 2, 1, None]
    assert result.stderr.startswith("bfs on ") and "Lyon" in result.stderr
    result = invoke("run", "bfs", towns, "--source", "Lyon", "--output", "-", "--json")
    assert (
        result.stdout.startswith("vertex,level,parent\nLyon,0,\n") and json.loads(result.stderr)["depth"] == 2
    )
    result = invoke("run", "bfs", towns, "--source", "Lyon", "--output", "-", "--to", ".parquet")
    (tmp_path / "a.parquet").write_bytes(result.stdout_bytes)
    assert polars.read_parquet(tmp_path / "a.parquet")["level"].to_list() == [0, 1, 2, 1, None]


def test_graphs_on_standard_output(towns: Path, tmp_path: Path) -> None:
    result = invoke("convert", towns, "-", "--to", "csv")
    assert (
        result.stdout.startswith("source,target,weight\n") and "standard output: 5 vertices" in result.stderr
    )
    result = invoke("generate", "cycle", "-", "--to", "edgewise", "--set", "num_vertices=5", "--undirected")
    (tmp_path / "cycle.edgewise").write_bytes(result.stdout_bytes)
    assert repr(ew.load(tmp_path / "cycle.edgewise")) == repr(ew.generate.cycle(5, directed=False))
    facts = json.loads(succeed("generate", "path", tmp_path / "p.mtx", "--set", "num_vertices=4", "--json"))
    assert (facts["output"], facts["edges"], facts["directed"]) == (str(tmp_path / "p.mtx"), 3, True)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("convert", "{}", "-"), "standard output needs a format: give --to csv"),
        (("convert", "{}", "-", "--to", "pdf"), "ends in '.pdf'; expected"),
        (("convert", "{}", "-", "--to", "../a.csv"), "standard output needs a format"),
        (("convert", "{}", "a.csv", "--to", "tsv"), "--to tsv is for standard output"),
        (("generate", "path", "-", "--set", "num_vertices=4"), "standard output needs a format"),
        (("run", "scc", "{}", "--output", "-", "--to", "mtx"), "ends in '.mtx'; expected"),
        (("run", "scc", "{}", "--output", "missing/a.json"), "there is no folder "),
        (("run", "scc", "{}", "--output", "a.parquet.gz"), "ends in '.parquet'; expected"),
        (("info", "{}", "--format", "csv", "--read", "format=csv"), "format is given twice"),
        (("info", "{}", "--format", "word"), "format is 'word'; expected"),
    ],
)
def test_outputs_that_make_no_sense(towns: Path, arguments: tuple[str, ...], message: str) -> None:
    assert message in refuse(*(word.format(towns) for word in arguments))


def test_a_format_without_an_output(towns: Path) -> None:
    result = invoke("run", "scc", towns, "--to", "csv")
    assert result.exit_code == 2 and "--to is the format of --output -" in " ".join(result.output.split())


class Terminal(io.StringIO):
    """A terminal in the place of standard output."""

    def isatty(self) -> bool:
        return True


def test_a_terminal_gets_no_binary_and_no_escapes(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = Terminal()
    monkeypatch.setattr(sys, "stdout", terminal)
    for suffix in ("parquet", "csv.gz", "edgewise"):
        with pytest.raises(OutputError, match=f"cannot show {suffix}"), answers.placed("-", suffix):
            raise AssertionError("it was let through")
    with answers.placed("-", "csv") as aside:
        aside.write_text("\x1b[31mred,\u202e,€\n1\t\x07\n", encoding="utf-8")
    assert terminal.getvalue() == "\\x1b[31mred,\\u202e,€\n1\t\\x07\n"


@posix
def test_what_fails_leaves_standard_output_empty(
    towns: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)
    result = invoke("run", "bfs", towns, "--source", "Rome", "--output", "-")
    assert result.exit_code == 2 and result.stdout == "" and result.stderr.count("\n") == 1
    assert os.listdir(tmp_path) == ["towns.txt"]


def test_formulas_in_a_converted_graph(tmp_path: Path) -> None:
    (tmp_path / "g.tsv").write_text("=1+1\tb\n-c\tb\n")
    told = invoke("convert", tmp_path / "g.tsv", tmp_path / "out.csv")
    assert told.exit_code == 0 and (tmp_path / "out.csv").read_text() == "source,target\n=1+1,b\n-c,b\n"
    assert (
        told.stderr.count("\n") == 1
        and "such as '=1+1'. " in told.stderr
        and "--quote-formulas" in told.stderr
    )
    quiet = invoke("convert", tmp_path / "g.tsv", tmp_path / "out.csv", "--quote-formulas")
    assert quiet.stderr == "" and (tmp_path / "out.csv").read_text() == "source,target\n'=1+1,b\n'-c,b\n"
    assert invoke("convert", tmp_path / "g.tsv", tmp_path / "out.tsv").stderr == ""
    for limit in ((), ("--memory-limit", "1GB")):
        refused = refuse("convert", tmp_path / "g.tsv", tmp_path / "out.edgewise", "--quote-formulas", *limit)
        assert "has no place for what quote_formulas asks for" in refused


def test_messages_on_standard_output_name_no_temporary_file(tmp_path: Path) -> None:
    ew.Graph.from_edges(["=1"], ["b"]).save(tmp_path / "g.edgewise")
    assert "standard output (--to exe) ends in '.exe'" in refuse(
        "convert", tmp_path / "g.edgewise", "-", "--to", "exe"
    )
    warned = invoke("convert", tmp_path / "g.edgewise", "-", "--to", "csv").stderr
    assert "warning: standard output (--to csv) has names that a spreadsheet takes for formulas" in warned
    assert "RESULT is read from a file" in refuse(
        "verify", "bfs", tmp_path / "g.edgewise", "-", "--source", "b"
    )
