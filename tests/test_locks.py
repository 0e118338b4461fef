"""Processes that need the same compiled code at one time compile it once, and none waits for ever."""

import errno
import os
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numba
import pytest

from edgewise.kernels import cache, store

fcntl = pytest.importorskip("fcntl", reason="the system has no locks of files")
ROOT = Path(__file__).resolve().parent.parent
NAME = "kernel\nkey"

#: Says when it compiles, and then waits for a file; makes the file "waits" when it waits for another process.
COMPILES = """
import sys
import time
from pathlib import Path

import numpy as np

from edgewise.kernels import cache, store
from edgewise.kernels.cpu import pipeline

def seen(*arguments):
    taken = take(*arguments)
    if not taken:
        Path("waits").touch()
    return taken

def slow(answer):
    print("compiles", flush=True)
    until = time.monotonic() + 60
    while not Path(sys.argv[2]).exists() and time.monotonic() < until:
        time.sleep(0.01)
    return answer

take, store._take = store._take, seen
define, pipeline.KernelCompiler.define_pipelines = (
    pipeline.KernelCompiler.define_pipelines, lambda compiler: slow(define(compiler))
)
if sys.argv[1] == "kernel":
    from edgewise.kernels.mixing import mix64
    print(mix64(np.uint64(7)))
else:
    print(cache.kept("question", "edgewise.kernels.mixing", lambda: slow(b"answer")).decode())
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder that does not exist yet, for compiled code."""
    place = tmp_path / "cache"
    monkeypatch.setenv("EDGEWISE_CACHE_DIR", str(place))
    store._is_trusted.cache_clear()
    return place


@pytest.fixture
def compiling(folder):
    """Start a process that compiles, or waits for another one; see `COMPILES`."""
    started = []

    def start(*words):
        started.append(
            subprocess.Popen(
                [sys.executable, "-c", COMPILES, *words],
                cwd=folder.parent,
                env={**os.environ, "PYTHONPATH": str(ROOT)},
                stdout=subprocess.PIPE,
                text=True,
            )
        )
        return started[-1]

    yield start
    for process in started:
        process.kill()
        process.communicate()


def never(*arguments, **keywords):
    raise AssertionError("this is not to be called")


@pytest.mark.parametrize("what", ["kernel", "answer"])
def test_two_processes_compile_once(compiling, what):
    first = compiling(what, "waits")
    assert first.stdout.readline() == "compiles\n"
    second = compiling(what, "waits")
    (answer,) = second.communicate(timeout=100)[0].splitlines()
    assert first.communicate(timeout=100)[0].splitlines() == [answer]


@pytest.mark.parametrize("what", [pytest.param("kernel", marks=pytest.mark.more), "answer"])
def test_a_process_that_is_killed_while_it_compiles_keeps_no_other_waiting(compiling, folder, what):
    killed = compiling(what, "never")
    assert killed.stdout.readline() == "compiles\n"
    other, until = compiling(what, "waits"), time.monotonic() + 60
    while not (folder.parent / "waits").exists() and time.monotonic() < until:
        time.sleep(0.01)
    assert other.poll() is None
    killed.send_signal(signal.SIGKILL)
    told = other.communicate(timeout=100)[0].splitlines()
    assert told[0] == "compiles" and len(told) == 2
    assert compiling(what, "waits").communicate(timeout=100)[0].splitlines() == told[1:]


def a_link(place, elsewhere):
    place.symlink_to(elsewhere)


def a_folder(place, elsewhere):
    place.mkdir()


def a_pipe(place, elsewhere):
    os.mkfifo(place, 0o600)


def a_file_that_others_can_read(place, elsewhere):
    place.touch()
    place.chmod(0o604)


@pytest.mark.parametrize("made", [a_link, a_folder, a_pipe, a_file_that_others_can_read])
def test_what_is_no_file_of_the_user_alone_is_not_locked(folder, monkeypatch, made):
    folder.mkdir(mode=0o700)
    elsewhere = folder.parent / "elsewhere"
    made(folder / "locks", elsewhere)
    with store.turn(NAME):
        assert not store._held
    check_without_locks(monkeypatch)
    assert not elsewhere.exists()


@pytest.mark.parametrize(
    ("module", "failing", "number"), [(os, "open", errno.EROFS), (fcntl, "lockf", errno.ENOLCK)]
)
def test_a_folder_that_cannot_be_written_and_a_file_system_without_locks(
    folder, monkeypatch, module, failing, number
):
    def fail(*arguments, **keywords):
        raise OSError(number, os.strerror(number))

    with monkeypatch.context() as patched:
        patched.setattr(module, failing, fail)
        check_without_locks(patched, writes=module is not os)


def check_without_locks(monkeypatch, writes=True):
    """Code is found and kept without a lock, and nobody waits."""
    monkeypatch.setattr(time, "sleep", never)
    for _ in range(2):
        assert cache.kept("question", "edgewise.kernels.mixing", lambda: b"answer") == b"answer"
    kept = cache.kept("question", "edgewise.kernels.mixing", never if writes else lambda: b"again")
    assert kept == (b"answer" if writes else b"again")
    assert not store._held


def test_a_folder_that_is_not_used_has_no_locks(folder):
    folder.mkdir()
    folder.chmod(0o777)
    with pytest.warns(RuntimeWarning, match="can be written by others"), store.turn(NAME):
        assert not store._held
    assert list(folder.iterdir()) == []


def test_the_lock_is_the_users_alone_and_ends_with_an_error(folder):
    with pytest.raises(ValueError, match="no code"), store.turn(NAME):
        (locked,) = store._held
        assert not locked.closed
        raise ValueError("no code")
    assert locked.closed and not store._held
    (file,) = folder.iterdir()
    assert file.stat().st_mode & 0o777 == 0o600 and file.stat().st_size == 0


def test_a_kernel_that_cannot_be_compiled_leaves_no_lock(folder):
    def wrong(x):
        return x + "no number"

    with pytest.raises(numba.TypingError):
        cache.kernel(wrong)(1)
    assert not store._held


def test_a_process_that_has_a_lock_waits_for_no_other(folder, monkeypatch):
    with store.turn(NAME):
        monkeypatch.setattr(store, "_take", never)
        with store.turn("other\nkey"):
            assert len(store._held) == 1
        assert len(store._held) == 1
    assert not store._held


def test_a_lock_of_a_stopped_process_is_waited_for_no_longer_than_a_while(folder, monkeypatch):
    monkeypatch.setattr(store, "_take", lambda *arguments: False)
    monkeypatch.setattr(store, "_MOST_SECONDS", 0.1)
    with store.turn(NAME):
        assert not store._held


def test_who_waits_goes_on_when_the_code_is_there_or_the_lock_is_free_and_then_has_no_lock(
    folder, monkeypatch
):
    """Code that cannot be kept is compiled by all that have waited at one time, not by one after the other."""
    monkeypatch.setattr(store, "_take", lambda *arguments: False)
    slept = []
    monkeypatch.setattr(time, "sleep", lambda seconds: slept.append(store.write(NAME, b"code")))
    with store.turn(NAME):
        assert store.read(NAME) == b"code" and not store._held
    assert len(slept) == 1
    tried = iter([False, True])
    monkeypatch.setattr(store, "_take", lambda *arguments: next(tried))
    with store.turn("other\nkey"):
        assert not store._held
    assert list(tried) == []


def test_what_is_kept_is_loaded_without_a_lock(folder, monkeypatch):
    def triple(x):
        return x * 3

    assert cache.kernel(triple)(2) == 6
    assert cache.kept("question", "edgewise.kernels.mixing", lambda: b"answer") == b"answer"
    monkeypatch.setattr(store, "turn", never)
    again = cache.kernel(triple)
    assert again(2) == 6 and sum(again._cache_hits.values()) == 1
    assert cache.kept("question", "edgewise.kernels.mixing", never) == b"answer"


def test_threads_of_a_process_compile_once(folder):
    asked = []

    def answer():
        asked.append("answer")
        time.sleep(0.05)
        return b"answer"

    def ask(_):
        return cache.kept("question", "edgewise.kernels.mixing", answer)

    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(ask, range(4))) == [b"answer"] * 4
    assert asked == ["answer"] and not store._held


def test_waiting_counts_as_compiling(folder, monkeypatch):
    monkeypatch.setattr(store, "_take", lambda *arguments: False)
    monkeypatch.setattr(store, "_MOST_SECONDS", 0.1)
    before = cache.compile_seconds()
    cache.kept("question", "edgewise.kernels.mixing", lambda: b"answer")
    assert cache.compile_seconds() - before >= 0.1
