"""Files on several ranks: graphs that are read by parts, and results that are written by parts."""

import json
import re
import signal
import sys
from pathlib import Path

import pytest
from cli_cases import invoke
from ranks import ROOT, by_hand, needs_torch, run_ranks, started

import edgewise as ew
from edgewise.engine.distributed import group as groups
from edgewise.engine.distributed.group import Group
from edgewise.errors import ParameterError, ProgramError

EXAMPLE = ROOT / "examples" / "pagerank.py"


def check(ranks: int, script: str, *words: str) -> None:
    output = run_ranks(ranks, script, *words, seconds=280, EDGEWISE_TIMEOUT="120")
    agreeing = re.findall(r"rank (\d) of (\d) agrees", output)  # lines of ranks may run into each other
    assert sorted(agreeing) == [(str(rank), str(ranks)) for rank in range(ranks)]


@needs_torch
@pytest.mark.more
@pytest.mark.skipif(sys.platform != "linux", reason="the system does not say which pages are resident")
def test_ranks_read_their_rows_alone(tmp_path: Path) -> None:
    check(2, "ranks_files.py", str(tmp_path), "few")


@needs_torch
@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="the system does not say which pages are resident")
def test_three_ranks_read_their_rows_alone(tmp_path: Path) -> None:
    check(3, "ranks_files.py", str(tmp_path))


@needs_torch
@pytest.mark.more
def test_ranks_write_the_file_of_one_process_and_refuse_together(tmp_path: Path) -> None:
    check(2, "ranks_calls.py", str(tmp_path), "few")


@needs_torch
@pytest.mark.slow
def test_three_ranks_write_the_file_of_one_process_and_refuse_together(tmp_path: Path) -> None:
    check(3, "ranks_calls.py", str(tmp_path))


@needs_torch
@pytest.mark.more
def test_the_command_line_writes_by_ranks(tmp_path: Path) -> None:
    graph, alone, together = tmp_path / "g.edgewise", tmp_path / "alone.csv", tmp_path / "together.csv"
    ew.generate.rmat(8, seed=2).save(graph, in_edges=True)
    words = ["run", str(EXAMPLE), str(graph), "--json", "--top", "7", "--output", str(together)]
    done = started(2, ROOT / "edgewise" / "cli" / "__main__.py", *words, "--distributed")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    program, pulled = ew_program(), ew.Schedule(ew.Pull())
    whole = ew.run(program, ew.load(graph), device="cpu", schedule=pulled)
    ew.io.columns.write_columns(alone, whole.table(), missing=whole.missing())
    assert together.read_bytes() == alone.read_bytes()
    assert together.read_text().count("\n") == 257
    assert [row["vertex"] for row in found["top"]] == whole.top_rows(7)["vertex"].tolist()


@needs_torch
@pytest.mark.more
@pytest.mark.skipif(sys.platform != "linux", reason="the system does not say what a process takes")
def test_ranks_build_a_file_together(tmp_path: Path) -> None:
    check(2, "ranks_building.py", str(tmp_path))


@needs_torch
@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="the system does not say what a process takes")
def test_three_ranks_build_a_file_together(tmp_path: Path) -> None:
    check(3, "ranks_building.py", str(tmp_path))


@needs_torch
@pytest.mark.more
def test_a_rank_that_is_killed_leaves_no_file(tmp_path: Path) -> None:
    (tmp_path / "edges.txt").write_text("".join(f"{v} {v + 1}\n" for v in range(100)))
    ranks = by_hand(2, "ranks_building.py", str(tmp_path), "killed", EDGEWISE_TIMEOUT="60")
    try:
        error = ranks[0].communicate(timeout=100)[1]
        ranks[1].communicate(timeout=100)
    finally:
        for rank in ranks:
            rank.kill()
    assert [rank.returncode for rank in ranks] == [1, -signal.SIGKILL]
    assert "DistributedError: rank 0 of 2: another rank has ended" in error
    assert [path.name for path in tmp_path.iterdir()] == ["edges.txt"]


@needs_torch
@pytest.mark.more
def test_the_command_line_builds_by_ranks(tmp_path: Path) -> None:
    text, alone, together = (tmp_path / name for name in ("edges.txt", "alone.edgewise", "together.edgewise"))
    text.write_text("".join(f"{v} {v * v % 91}\n" for v in range(300)))
    words = ["convert", str(text), str(together), "--in-edges", "--undirected", "--json", "--distributed"]
    done = started(2, ROOT / "edgewise" / "cli" / "__main__.py", *words)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["output"] == str(together)
    ew.build(alone, text, in_edges=True, directed=False)
    assert together.read_bytes() == alone.read_bytes()


def test_ranks_build_no_other_format() -> None:
    for output in ("g.tsv", "-"):
        result = invoke("convert", "g.txt", output, "--to", "edgewise", "--distributed")
        assert result.exit_code == 2
        assert "--distributed makes a new file whose name ends in .edgewise" in " ".join(
            result.output.split()
        )


def ew_program() -> ew.Program:
    from edgewise.cli.tasks import _find_program

    return _find_program(EXAMPLE, "")()


@pytest.mark.parametrize(
    ("words", "advice"),
    [
        (("run", "pagerank", "g.tsv"), r"add --distributed, and they run it together, or start it without"),
        (
            ("convert", "g.tsv", "h.edgewise"),
            r"add --distributed, and they run it together, or start it without",
        ),
        (("info", "g.tsv"), r"all of this for itself: start it without torchrun"),
    ],
)
def test_ranks_do_not_run_a_command_each_for_itself(
    words: tuple[str, ...], advice: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TORCHELASTIC_RUN_ID", "none")
    monkeypatch.setenv("WORLD_SIZE", "3")
    result = invoke(*words)
    assert result.exit_code == 2
    text = " ".join(result.output.replace("│", " ").split())
    assert "torchrun has started 3 ranks" in text
    assert re.search(advice, text)
    monkeypatch.setenv("WORLD_SIZE", "1")
    assert "torchrun" not in invoke(*words).output


def test_every_is_refused_without_a_checkpoint(monkeypatch: pytest.MonkeyPatch) -> None:
    result = invoke("run", "prog.py", "g.tsv", "--distributed", "--every", "3")
    assert result.exit_code == 2
    assert "--every is for runs with --checkpoint FOLDER" in " ".join(result.output.split())
    ring, program = ew.Graph.from_edges([0, 1, 2], [1, 2, 0]), ew_program()
    with pytest.raises(
        ProgramError, match=r"every is 3, and only runs with distributed=True keep their state"
    ):
        ew.run(program, ring, every=3)
    monkeypatch.setattr(groups, "_groups", [Group(0, 1)])
    with pytest.raises(ParameterError, match=r"every is 10, .* expected checkpoint=\"folder\" beside it"):
        ew.run(program, ring, distributed=True, every=10)


def test_an_only_rank_prepares_and_writes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(groups, "_groups", [Group(0, 1)])
    ring = ew.Graph.from_edges(["a", "b", "c"], ["b", "c", "a"])
    prepared = ew.prepare(type(ew_program()), ring, distributed=True)
    prepared().write(tmp_path / "ranks.tsv")
    lines = (tmp_path / "ranks.tsv").read_text().splitlines()
    assert lines[0] == "vertex\trank\tshare\tchange"
    assert [line.partition("\t")[0] for line in lines[1:]] == ["a", "b", "c"]
    with pytest.raises(ParameterError, match="expected the name of a file"):
        prepared().write(3)
