"""Builds that a full disk, Ctrl-C, an error or a kill ends leave nothing behind."""

import errno
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

import edgewise as ew
from edgewise.building import scratch as scratch_module
from edgewise.errors import OutputError

pytestmark = pytest.mark.more

LIMIT = 10_000_000


def edges_for_faults():
    random = np.random.default_rng(4)
    return [tuple(random.integers(0, 5000, (2, 50_000))) for _ in range(6)]


def test_a_disk_without_room_is_told_before(tmp_path, monkeypatch):
    free = 1_000_000
    usage = type("usage", (), {"free": free})
    monkeypatch.setattr(scratch_module.shutil, "disk_usage", lambda folder: usage)
    with pytest.raises(OutputError, match=f"bytes of disk in {tmp_path}; {free:,} are free. Free some, or"):
        ew.build(tmp_path / "built.edgewise", edges_for_faults(), memory_limit=LIMIT)
    assert os.listdir(tmp_path) == []
    text = "".join(f"{u} {v}\n" for u, v in zip(*edges_for_faults()[0], strict=True))
    (tmp_path / "edges.txt").write_text(text * 4)
    (tmp_path / "edges.txt").rename(tmp_path / "part.txt")
    with pytest.raises(OutputError, match="are free"):
        ew.build(tmp_path / "built.edgewise", tmp_path / "part.txt", memory_limit=4e7)
    assert os.listdir(tmp_path) == ["part.txt"]


@pytest.mark.parametrize("after", [1, 300_000, 2_000_000, 3_500_000])
@pytest.mark.parametrize("options", [{}, {"num_vertices": 5000, "in_edges": True}])
def test_a_disk_that_fills(tmp_path, monkeypatch, after, options):
    """In any of the temporary files."""

    def fill(self, size, count=scratch_module.Scratch.note_written):
        count(self, size)
        if self.written >= after:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(scratch_module.Scratch, "note_written", fill)
    (tmp_path / "built.edgewise").write_bytes(b"before")
    with pytest.raises(OutputError, match=f"temporary files in {tmp_path}: No space left on device"):
        ew.build(tmp_path / "built.edgewise", edges_for_faults(), memory_limit=LIMIT, **options)
    assert os.listdir(tmp_path) == ["built.edgewise"]
    assert (tmp_path / "built.edgewise").read_bytes() == b"before"


@pytest.fixture
def small_disk(tmp_path):
    """A folder on a disk of 3 MB of its own."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=3m", "tmpfs", str(folder)]
    try:
        done = subprocess.run(mount, capture_output=True)
    except OSError:
        done = None
    if done is None or done.returncode:
        pytest.skip("this process may not mount a disk")
    yield folder
    subprocess.run(["umount", str(folder)], check=True)


@pytest.mark.parametrize("count", [7, 8, 12])
def test_a_real_disk_that_fills(small_disk, monkeypatch, count):
    """In the output, or in temporary files before it."""
    monkeypatch.setattr(scratch_module.Scratch, "check_free", lambda *needed: None)
    edges = (edges_for_faults() * 2)[:count]
    with pytest.raises(OutputError, match="No space left on device"):
        ew.build(small_disk / "built.edgewise", edges, num_vertices=5000, memory_limit=LIMIT)
    assert os.listdir(small_disk) == []


@pytest.mark.parametrize("error", [KeyboardInterrupt, ZeroDivisionError])
def test_errors_of_whoever_makes_pieces(tmp_path, error):
    def pieces():
        yield from edges_for_faults()
        raise error

    with pytest.raises(error):
        ew.build(tmp_path / "built.edgewise", pieces(), memory_limit=LIMIT)
    assert os.listdir(tmp_path) == []


#: Builds with files of limited length, as if the disk were full, in the folder that is given.
FILLING = """
import resource, sys, numpy as np, edgewise as ew
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[2]), resource.RLIM_INFINITY))
edges = [tuple(np.random.default_rng(4).integers(0, 5000, (2, 200_000)))]
try:
    ew.build(sys.argv[1] + "/built.edgewise", edges, num_vertices=5000, in_edges=True, memory_limit=10**7)
except ew.errors.OutputError as error:
    print(error)
"""


@pytest.mark.skipif(not hasattr(signal, "SIGXFSZ"), reason="the system does not limit files")
@pytest.mark.parametrize("longest", [1000, 1_250_000])
def test_a_file_that_cannot_grow(tmp_path, longest):
    """In the temporary files first, and then in the output."""
    command = [sys.executable, "-c", FILLING, str(tmp_path), str(longest)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert "File too large" in done.stdout, done
    assert os.listdir(tmp_path) == []


#: Builds, and says when a step begins.
SLOW = """
import sys, time, numpy as np, edgewise as ew
from edgewise.building import spill
from edgewise.graph import file_writer
step = sys.argv[2]
def slow(function):
    def wait(*args):
        print("here", flush=True)
        time.sleep(20)
        return function(*args)
    return wait
owner, name = {"dealing": (spill.Spill, "add"), "writing": (file_writer.GraphWriter, "write")}[step]
setattr(owner, name, slow(getattr(owner, name)))
edges = [tuple(np.random.default_rng(4).integers(0, 5000, (2, 50_000)))]
ew.build(sys.argv[1] + "/built.edgewise", edges, memory_limit=10**7)
"""


def stopped_by(folder: Path, step: str, number: int) -> int:
    """How a build ends that gets a signal in a step."""
    command = [sys.executable, "-c", SLOW, str(folder), step]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "here\n"
        process.send_signal(number)
        return process.wait(timeout=60)


@pytest.mark.parametrize("step", ["dealing", "writing"])
def test_ctrl_c_leaves_nothing(tmp_path, step):
    assert stopped_by(tmp_path, step, signal.SIGINT) != 0
    assert os.listdir(tmp_path) == []


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="the system has no such signal")
def test_what_a_killed_build_leaves(tmp_path):
    """Temporary files have no names. The output has one of its own, which the next build knows."""
    assert stopped_by(tmp_path, "dealing", signal.SIGKILL) == -signal.SIGKILL
    assert os.listdir(tmp_path) == []
    assert stopped_by(tmp_path, "writing", signal.SIGKILL) == -signal.SIGKILL
    (left,) = tmp_path.iterdir()
    assert left.name.endswith(".part")
    os.utime(left, (time.time() - 100,) * 2)
    ew.build(tmp_path / "built.edgewise", [([0], [1])], memory_limit=LIMIT)
    assert os.listdir(tmp_path) == ["built.edgewise"]
