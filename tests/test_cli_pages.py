"""The pages of the command line: every option stands on its command's page, and every example prints what it says."""

import re
import shlex
from pathlib import Path

import pytest
import typer
from cli_cases import ROOT, app
from typer.testing import CliRunner

PAGES = {path.stem: path for path in sorted((ROOT / "docs" / "commands").glob("*.md"))}
COMMANDS = typer.main.get_command(app).commands  # type: ignore[attr-defined]
#: Numbers that differ from run to run stand in such lines.
_TIMES = re.compile(r"ran in|seconds|free|threads")
_NUMBER = re.compile(r"\d+(?:[.,]\d+)*(?:e[-+]?\d+)?(?: [kMG](?= edges))?")


def printed(command: str) -> list[str]:
    """The lines that a command of an example prints, errors and warnings included."""
    line, _, standard_input = command.partition(" < ")
    given = Path(standard_input).read_bytes() if standard_input else None
    return CliRunner().invoke(app, shlex.split(line)[1:], input=given).output.splitlines()


def examples(page: Path) -> list[tuple[str, list[str]]]:
    """The commands of the examples of a page, and the lines that follow each."""
    found = []
    for block in re.findall(r"```console\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL):
        for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            command, *lines = part.splitlines()
            found.append((command, lines))
    return found


def masked(lines: list[str]) -> list[str]:
    """Lines without the numbers that differ from run to run."""
    return [_NUMBER.sub("#", line) if _TIMES.search(line) else line for line in lines]


def test_every_command_has_a_page() -> None:
    assert PAGES.keys() == COMMANDS.keys()
    index = (ROOT / "docs" / "cli.md").read_text(encoding="utf-8")
    assert all(f"](commands/{name}.md)" in index for name in COMMANDS)


@pytest.mark.parametrize("name", PAGES)
def test_every_option_is_on_the_page_and_every_one_there_exists(name: str) -> None:
    parameters = COMMANDS[name].params
    every = (option for each in parameters for option in (*each.opts, *each.secondary_opts))
    options = {option for option in every if option.startswith("-")} | {"-h", "--help"}
    section = PAGES[name].read_text(encoding="utf-8").partition("## Options\n")[2].partition("\n## ")[0]
    first_cells = [line.split("|")[1] for line in section.splitlines() if line.startswith("| `")]
    assert set(re.findall(r"(?<![\w-])--?[a-z][a-z-]*", " ".join(first_cells))) == options


@pytest.mark.parametrize("name", PAGES)
def test_examples_print_what_the_page_says(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "data").symlink_to(ROOT / "data")
    monkeypatch.chdir(tmp_path)
    assert examples(PAGES[name])
    for command, lines in examples(PAGES[name]):
        found = printed(command)
        if lines[-1:] == ["..."]:
            lines = lines[:-1]
            found = found[: len(lines)]
        assert masked(found) == masked(lines), command
