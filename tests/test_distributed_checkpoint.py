"""Checkpoints of distributed runs: ranks that are killed go on from them, and what is in a folder is checked."""

import json
import os
import stat
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from ranks import needs_torch, started
from thread_ranks import on_threads

from edgewise.engine.distributed.checkpoint import Checkpoints, digest_of
from edgewise.engine.distributed.group import Group
from edgewise.errors import OutputError, ParameterError

WHAT = {"program": "a", "graph": "g", "value of k": "2"}
FIRST, SECOND = np.arange(5.0), np.array([True, False])
MADE: list[Checkpoints] = []


@needs_torch
@pytest.mark.more
def test_runs_whose_ranks_are_killed_go_on(tmp_path: Path) -> None:
    killed = ("sssp", "0", "1", "11", "pagerank", "1", "0", "7", "pair", "2", "1", "5")
    done = started(2, "ranks_checkpoint.py", str(tmp_path), "by-vertices", *killed, seconds=200, restarts=3)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert "attempt 1: sssp: went on after superstep 10" in lines
    assert "attempt 2: pagerank: went on after superstep 6" in lines
    assert "attempt 2: edge fields: from the start" in lines
    assert "attempt 3: pair: went on after superstep 4" in lines


@needs_torch
@pytest.mark.more
def test_another_number_of_ranks_goes_on(tmp_path: Path) -> None:
    done = started(
        2, "ranks_checkpoint.py", str(tmp_path), "by-vertices", "pagerank", "0", "1", "7", seconds=200
    )
    assert done.returncode != 0
    done = started(3, "ranks_checkpoint.py", str(tmp_path), "by-vertices", seconds=200)
    assert done.returncode == 0, done.stderr
    assert "attempt 0: pagerank: went on after superstep 6" in done.stdout.splitlines()


@needs_torch
@pytest.mark.slow
@pytest.mark.parametrize(
    ("first", "second"), [(("in-grid", 4), ("by-vertices", 3)), (("by-vertices", 2), ("in-grid", 4))]
)
def test_ranks_in_a_grid_and_others_go_on_for_each_other(first: tuple, second: tuple, tmp_path: Path) -> None:
    script = "ranks_checkpoint.py", str(tmp_path)
    (way, ranks), killed = first, ("sssp", "0", "1", "11")
    assert started(ranks, *script, way, *killed, seconds=200).returncode != 0
    way, ranks = second
    done = started(ranks, *script, way, seconds=200)
    assert done.returncode == 0, done.stderr
    assert "attempt 0: sssp: went on after superstep 10" in done.stdout.splitlines()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with a checkpoint after superstep 4."""
    kept = checkpoints(tmp_path / "kept")
    assert kept.begin(WHAT) is None
    kept.write(2, [0, 5], [SECOND, FIRST])
    kept.write(4, [0, 5], [FIRST, SECOND])
    kept.let_go()
    return tmp_path / "kept"


def checkpoints(folder: Path) -> Checkpoints:
    MADE.append(Checkpoints(folder, 2, Group(0, 1), "Some"))
    return MADE[-1]


@pytest.fixture(autouse=True)
def let_go() -> Iterator[None]:
    """Folders stay locked no longer than a test."""
    yield
    for each in MADE:
        each.let_go()
    MADE.clear()


def restored(folder: Path, num_vertices: int = 5, superstep: int = 4) -> list[np.ndarray]:
    kept, taken = checkpoints(folder), list[np.ndarray]()
    try:
        found = kept.begin(WHAT)
        assert found is not None and found.superstep == superstep
        kept.restore(found, num_vertices, lambda of: [FIRST, SECOND], lambda of, arrays: taken.extend(arrays))
    finally:
        kept.let_go()
    return taken


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such locks")
def test_the_folder_of_another_run_is_refused(folder: Path) -> None:
    running, later = checkpoints(folder), checkpoints(folder)
    assert running.begin(WHAT) is not None
    with pytest.raises(OutputError, match=r"another run is using the folder of .*; name another"):
        later.begin(WHAT)
    running.let_go()
    assert later.begin(WHAT) is not None
    later.let_go()


def test_a_folder_that_cannot_be_locked_is_used(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    opened = os.open

    def refused(path: Any, *how: Any, **more: Any) -> int:
        if path == folder:
            raise PermissionError(13, "Permission denied")
        return opened(path, *how, **more)

    monkeypatch.setattr(os, "open", refused)
    assert len(restored(folder)) == 2


def test_the_last_complete_checkpoint_is_restored(folder: Path) -> None:
    (folder / "superstep-6-rank-0.state").write_bytes(b"half")  # of a rank that was killed
    first, second = restored(folder)
    np.testing.assert_array_equal(first, FIRST)
    np.testing.assert_array_equal(second, SECOND)
    assert sorted(path.name for path in folder.iterdir()) == ["checkpoint.json", "superstep-4-rank-0.state"]
    kept = checkpoints(folder)
    kept.begin(WHAT)
    kept.write(6, [0, 5], [FIRST])
    kept.end()
    assert not [path for path in folder.iterdir() if "6" in path.name]


def test_that_of_another_run_is_refused(folder: Path) -> None:
    with pytest.raises(
        ParameterError, match="is that of another program and another value of k; name another"
    ):
        checkpoints(folder).begin(WHAT | {"program": "b", "value of k": "3", "graph": "g"})


@pytest.mark.parametrize("change", ["shorter", "longer", "other bytes", "gone"])
def test_damaged_files_are_refused(folder: Path, change: str) -> None:
    path = folder / "superstep-4-rank-0.state"
    data = path.read_bytes()
    changed = {"shorter": data[:-1], "longer": data + b"0", "other bytes": b"1" + data[1:]}
    if change == "gone":
        path.unlink()
    else:
        path.write_bytes(changed[change])
    with pytest.raises(ParameterError, match=r"superstep-4-rank-0\.state|lacks its file"):
        restored(folder)


@pytest.mark.parametrize(
    "change",
    [
        {"begins": [0]},
        {"begins": [1, 5]},
        {"begins": [0, 7, 5], "digests": ["a", "b"]},
        {"begins": "05"},
        {"begins": [0, 5.0]},
        {"digests": [1]},
        {"superstep": -4},
        {"superstep": "4"},
        {"superstep": 2**70},
        {"format": 1},
        {"what": None},
        [],
        "not JSON",
        "",
        "{" * 100_000,
    ],
    ids=lambda change: str(change)[:40],
)
def test_what_names_the_files_is_checked(folder: Path, change: object) -> None:
    path = folder / "checkpoint.json"
    told = json.loads(path.read_text())
    path.write_text(change if isinstance(change, str) else json.dumps(told | change if change else change))
    with pytest.raises(ParameterError, match=r"the checkpoint in .* (is damaged|is of format|is that of)"):
        restored(folder)
    assert (folder / "superstep-4-rank-0.state").exists()


def test_what_is_refused_is_kept(folder: Path) -> None:
    path = folder / "checkpoint.json"
    told = json.loads(path.read_text())
    path.write_text(json.dumps(told | {"superstep": 5}))
    with pytest.raises(ParameterError, match=r"lacks its file superstep-5-rank-0\.state"):
        restored(folder, superstep=5)
    path.write_text(json.dumps(told))
    first, _ = restored(folder)
    np.testing.assert_array_equal(first, FIRST)


def test_a_graph_of_another_size_is_refused(folder: Path) -> None:
    with pytest.raises(ParameterError, match="is damaged"):
        restored(folder, num_vertices=6)


def test_folders_that_others_can_write_to_are_refused(folder: Path) -> None:
    os.chmod(folder, stat.S_IMODE(folder.stat().st_mode) | stat.S_IWOTH)
    with pytest.raises(OutputError, match=r"can be written by others .*name a folder of your own"):
        checkpoints(folder).begin(WHAT)


@pytest.mark.parametrize("name", ["checkpoint.json", "the state of a rank"])
def test_what_one_rank_cannot_write_is_refused_by_all(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put, is_full = Checkpoints._put, False

    def full_disk(self: Checkpoints, file: str, data: bytes) -> None:
        if is_full and (file == name or (name != "checkpoint.json" and file == self._file_of(3, 1))):
            raise OSError(28, "No space left on device")
        put(self, file, data)

    monkeypatch.setattr(Checkpoints, "_put", full_disk)

    def written(group: Group) -> None:
        kept = Checkpoints(tmp_path, 1, group, "some run")
        assert kept.begin(WHAT) is None
        kept.write(2, [0, 2, 5], [FIRST])
        group.total(0)
        nonlocal is_full
        is_full = True
        kept.write(3, [0, 2, 5], [FIRST])

    for refused in on_threads(2, written, (OutputError,)):
        assert "cannot write a checkpoint into" in str(refused) and "No space left" in str(refused)
    left = ["checkpoint.json", *(f"superstep-2-rank-{rank}.state" for rank in range(2))]
    assert sorted(path.name for path in tmp_path.iterdir()) == left


def test_what_is_no_folder_or_number_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    for path in (tmp_path / "file", tmp_path / "file" / "below"):
        with pytest.raises(OutputError):
            checkpoints(path).begin(WHAT)
    for wrong in ("", None, 3):
        with pytest.raises(ParameterError, match="expected the name of a folder"):
            Checkpoints(wrong, 2, Group(0, 1), "Some")
    for wrong in (0, -1, True, 1.5, "2"):
        with pytest.raises(ParameterError, match="expected a number of supersteps from 1 on"):
            Checkpoints(tmp_path, wrong, Group(0, 1), "Some")


def test_digests_tell_values_dtypes_and_shapes_apart() -> None:
    parts = [
        ("a", 1),
        ("a", 1.0),
        (FIRST,),
        (FIRST.astype(np.float32),),
        (FIRST.reshape(5, 1),),
        (FIRST[:4],),
    ]
    assert len({digest_of(*part) for part in parts}) == len(parts)
