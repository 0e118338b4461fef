"""The command line in a shell: versions, help, completion, and how fast these come."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import typer
from cli_cases import ROOT, app, invoke, succeed

import edgewise as ew
from edgewise.cli import completion
from edgewise.cli.tasks import algorithms, find_generator
from edgewise.errors import ParseError

COMMANDS = typer.main.get_command(app).commands  # type: ignore[attr-defined]
SCRIPT = (
    "import sys\n"
    "import edgewise_command\n"
    "sys.argv[0] = 'edgewise'\n"
    "try:\n"
    "    edgewise_command.main()\n"
    "finally:\n"
    "    assert not {'numpy', 'numba', 'edgewise.graph'} & set(sys.modules)\n"
)


def light(*words: str, **environment: str) -> str:
    """What the command prints, which loads nothing heavy for it."""
    command = [sys.executable, "-c", SCRIPT, *words]
    given = {**os.environ, "PYTHONPATH": str(ROOT), **environment}
    return subprocess.run(command, capture_output=True, text=True, check=True, env=given).stdout


def options_of(name: str) -> set[str]:
    """The options of a command."""
    parameters = COMMANDS[name].params
    every = (option for each in parameters for option in (*each.opts, *each.secondary_opts))
    return {option for option in every if option.startswith("--")}


def test_versions_and_help_come_at_once() -> None:
    versions = light("--version")
    assert re.fullmatch(r"edgewise \S+ \(Python 3\S+, NumPy \S+, Numba \S+\)\n", versions)
    assert f"edgewise {ew.__version__} " in versions
    assert json.loads(light("--version", "--json"))["edgewise"] == ew.__version__
    assert light("run", "-h") == light("run", "--help") and "--memory-limit" in light("run", "-h")


@pytest.mark.parametrize(
    ("line", "offered"),
    [
        ("edgewise run b", "betweenness bfs"),
        ("edgewise generate s", "skewed star"),
        ("edgewise run bfs g.tsv --device cu", "cuda"),
        ("edgewise con", "convert"),
        ("edgewise convert g.tsv o.csv --memory", "--memory-limit"),
        ("edgewise run bfs data/", ""),
        ("edgewise info g.tsv --format m", "matrix-market metis"),
    ],
)
def test_words_are_completed(line: str, offered: str) -> None:
    words = {"COMP_WORDS": line, "COMP_CWORD": str(line.count(" ")), "_EDGEWISE_COMPLETE": "complete_bash"}
    assert light(**words).split() == offered.split()


@pytest.mark.parametrize("file", [r"a\ b.tsv", "'a b.tsv'", '"a b.tsv"'])
def test_words_after_a_word_with_a_blank_are_completed(file: str) -> None:
    line = "\n".join(["edgewise", "run", "bfs", file, "--device", "cu"])
    assert light(COMP_WORDS=line, COMP_CWORD="5", _EDGEWISE_COMPLETE="complete_bash") == "cuda\n"


def test_names_that_are_completed_are_those_that_there_are(towns: Path) -> None:
    assert sorted(completion.ALGORITHMS) == sorted(algorithms())
    with pytest.raises(Exception, match="there is no generator") as refused:
        find_generator("none")
    assert sorted(completion.GENERATORS) == sorted(
        re.findall(r"\w+", str(refused.value).partition("are ")[2])
    )
    with pytest.raises(ParseError) as refused:
        ew.read(towns, format="none")
    listed = str(refused.value).partition("expected ")[2]
    assert sorted(completion.FORMATS) == sorted(re.findall(r"[\w-]+", listed))
    assert completion.algorithms("p") == ["pagerank"] and completion.generators("x") == []


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_scripts_for_shells(shell: str) -> None:
    script = light("--show-completion", shell, _TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION="1")
    assert "_EDGEWISE_COMPLETE" in script and f"complete_{shell}" in script


@pytest.mark.parametrize("name", ["run", "info", "convert", "verify"])
def test_every_command_that_reads_a_graph_reads_it_alike(name: str, towns: Path) -> None:
    expected = "--undirected --directed --weighted --unweighted --delimiter --format --read --memory-limit"
    assert set(expected.split()) <= options_of(name)
    assert "--json" in options_of(name)


def test_readings_by_options(tmp_path: Path) -> None:
    (tmp_path / "g.mtx").write_text("%%MatrixMarket matrix coordinate pattern symmetric\n3 3 2\n2 1\n3 2\n")
    (tmp_path / "g.dat").write_text("a;b;4\nb;c;5\n")
    for options, text in (
        ((tmp_path / "g.mtx",), "2 edges, undirected"),
        ((tmp_path / "g.mtx", "--directed"), "directed"),
        (
            (tmp_path / "g.dat", "--format", "csv", "--delimiter", ";", "--undirected"),
            "undirected, int64 weights",
        ),
        ((tmp_path / "g.dat", "--format", "csv", "--unweighted"), "directed, unweighted"),
    ):
        file, *rest = options
        assert text in succeed("convert", file, tmp_path / "out.edgewise", *rest)


def test_a_wrong_command_line_is_told_of_with_code_2() -> None:
    for line in (("inf",), ("run",), ("info", "--jsno"), ("--json",), ("--json", "info")):
        assert invoke(*line).exit_code == 2
    for both in (("--undirected", "--directed"), ("--unweighted", "--weighted")):
        assert "were given; expected one of them" in invoke("info", "g.tsv", *both).output


def test_the_command_alone_shows_the_help_line_by_line() -> None:
    assert invoke().output.splitlines()[0].startswith("Usage:")
    assert "\\n" not in invoke().output and invoke().exit_code == 2
