"""The progress bar: only on a terminal, only after a second, and gone at the end."""

import os
import pty
import subprocess
import sys

import pytest

import edgewise as ew

SCRIPT = """
import sys, time
from edgewise import progress
progress.SECONDS_UNTIL_SHOWN = 0.3
with progress.progress_bar("reading", 5) as update:
    print(update is not None)
    for _ in range(int(sys.argv[1])):
        time.sleep(0.3)
        if update:
            update(3)
    if sys.argv[1] == "9":
        raise SystemExit(7)
"""


INTERRUPTED = """
import os, signal, time
from edgewise.cli import app
app.SECONDS_TO_LEAVE = 0.01
app.leave_on_interrupt()
signal.signal(signal.SIGINT, lambda *_: None)
os.kill(os.getpid(), signal.SIGINT)
time.sleep(20)
"""


def shown(steps: int, script: str = SCRIPT) -> tuple[subprocess.CompletedProcess, str]:
    """Run the script with a terminal for standard error, and return what appears there."""
    ours, theirs = pty.openpty()
    try:
        command = [sys.executable, "-c", script, str(steps)]
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=theirs, text=True)
        os.write(theirs, b"END")
        text = b""
        while not text.endswith(b"END"):
            text += os.read(ours, 65536)
        return done, text.decode()
    finally:
        os.close(ours)
        os.close(theirs)


def test_what_is_short_shows_nothing() -> None:
    done, text = shown(0)
    assert done.stdout == "True\n" and text == "END"


@pytest.mark.parametrize(("steps", "code"), [(4, 0), (9, 7)])
def test_what_is_long_shows_a_bar_that_goes_away(steps: int, code: int) -> None:
    done, text = shown(steps)
    assert done.returncode == code
    assert "reading" in text and "3/5" in text
    assert text.endswith("\x1b[2KEND"), "the line of the bar is erased"


def test_an_interrupted_process_shows_the_cursor_again() -> None:
    done, text = shown(0, INTERRUPTED)
    assert done.returncode == 130
    assert text == "\x1b[?25hEND"


def test_a_pipe_sees_nothing() -> None:
    done = subprocess.run([sys.executable, "-c", SCRIPT, "4"], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n" and done.stderr == ""


def test_a_name_with_markup_and_escapes_is_shown_as_it_is() -> None:
    done, text = shown(4, SCRIPT.replace('"reading"', r'"reading [/b]\x1b]0;title\x07"'))
    assert done.returncode == 0
    assert r"reading [/b]\x1b]0;title\x07" in text and "\x07" not in text


class Far(ew.Program):
    """How far a vertex is from the first one."""

    level = ew.vertex("int64", init=-1)
    combine = ew.MIN

    @staticmethod
    def initialize(v, state):
        if v == 0:
            state.level[v] = 0
        return v == 0

    @staticmethod
    def edge_compute(edge, state):
        return state.level[edge.source] + 1

    @staticmethod
    def vertex_compute(v, message, state):
        if state.level[v] < 0:
            state.level[v] = message
            return ew.ACTIVE
        return ew.HALT


@pytest.mark.parametrize("check", [False, True])
def test_a_program_shows_its_supersteps(check: bool) -> None:
    """In plain Python too, where each superstep is long."""
    shown: list[int] = []
    result = ew.run(Far(), ew.generate.path(50), device="cpu", check=check, progress=shown.append)
    assert shown == sorted(shown) and all(0 <= done <= result.supersteps for done in shown)
    assert len(shown) == result.supersteps or not check


READ = """
import sys, time
import edgewise as ew
from edgewise import progress
progress.SECONDS_UNTIL_SHOWN = 0.3
from edgewise.io import lines
keep = lines.Scan._keep
lines.Scan._keep = lambda *given: (time.sleep(1.5), keep(*given))
print(ew.{call}, progress={progress}).num_edges)
"""


@pytest.mark.parametrize(
    ("call", "progress"),
    [("read('{0}'", True), ("read('{0}'", False), ("build('{0}.edgewise', '{0}'", True)],
)
def test_reading_shows_the_bytes_of_the_file(tmp_path, call, progress) -> None:
    (tmp_path / "g.txt").write_text("0 1\n" * 5)
    done, text = shown(0, READ.format(call=call.format(tmp_path / "g.txt"), progress=progress))
    assert done.stdout == "5\n"
    assert ("reading g.txt: bytes" in text and "0/20" in text) == progress
    assert progress or text == "END"
