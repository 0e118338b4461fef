"""Files of graphs that change while they are in use, and processes and threads that use them at once."""

import os
import signal
import subprocess
import sys
import textwrap
import threading
import time

import numpy as np
import pytest
from graph_files import drawn, same_graphs

import edgewise as ew
from edgewise.errors import (
    FileChangedError,
    ParseError,
    VerificationError,
)
from edgewise.graph import file_rows
from edgewise.graph.file_format import PAGE
from edgewise.kernels.cpu import mapped

LONG_RUN = """
import sys, edgewise as ew
from edgewise.errors import FileChangedError
graph = ew.load(sys.argv[1])
held = graph.targets
try:
    ew.pagerank(graph, tol=0.0, max_iterations=2500, progress=lambda done: print("running", flush=True))
except FileChangedError as error:
    print("refused:", error)
for use in (lambda: graph.targets, lambda: graph.offsets, lambda: ew.bfs(graph, 0)):
    try:
        use()
    except FileChangedError:
        print("refused again")
print("alive, and what is gone reads as", held[-1])
"""


def start(script, *arguments):
    """A process that runs a script; its output is read as text."""
    command = [sys.executable, "-c", textwrap.dedent(script), *map(str, arguments)]
    pipe = subprocess.PIPE
    return subprocess.Popen(command, stdout=pipe, stderr=subprocess.STDOUT, text=True)


@pytest.mark.more
@pytest.mark.skipif(not mapped.handled(), reason="SIGBUS is not handled here")
@pytest.mark.parametrize("left", [0.0, 0.5, 0.98])
def test_a_file_that_is_cut_during_a_run_ends_it_with_an_error(left, tmp_path):
    path = tmp_path / "g"
    drawn(n=20_000, m=400_000).save(path)
    with start(LONG_RUN, path) as process:
        assert process.stdout.readline() == "running\n"
        os.truncate(path, int(left * path.stat().st_size))
        output = process.communicate(timeout=120)[0]
    assert process.returncode == 0, output
    assert output.count("refused again") == 3 and "was cut short while it was in use" in output
    assert "alive" in output


@pytest.mark.more
def test_a_file_that_is_written_to_during_a_run_ends_it_with_an_error(tmp_path):
    path = tmp_path / "g"
    drawn(n=20_000, m=400_000).save(path)
    with start(LONG_RUN, path) as process:
        assert process.stdout.readline() == "running\n"
        with open(path, "r+b") as file:
            file.seek(100 * PAGE)
            file.write(bytes(PAGE))
        output = process.communicate(timeout=120)[0]
    assert process.returncode == 0, output
    assert output.count("refused again") == 3 and "was written to while it was in use" in output


def test_a_file_that_was_changed_gives_no_answer(saved):
    path, _ = saved
    loaded = ew.load(path)
    result = ew.bfs(loaded, 0)
    assert result.verify(loaded)
    os.truncate(path, path.stat().st_size - 8)
    for use in (
        lambda: loaded.offsets,
        lambda: loaded.weights,
        lambda: loaded.check_unchanged(),
        lambda: ew.pagerank(loaded),
        lambda: result.verify(loaded),
        lambda: loaded.save(path.with_name("other")),
        lambda: ew.load(path),
    ):
        with pytest.raises((FileChangedError, ParseError), match=r"cut short|cut off"):
            use()
    assert os.listdir(path.parent) == [path.name]


def test_a_file_that_changes_while_it_is_copied_or_verified(saved):
    path, _ = saved

    def change(*_):
        os.utime(path, (0, path.stat().st_mtime - 1))

    class Hasty(ew.bfs(ew.load(path), 0).__class__):
        def verify(self, graph):
            change()
            if self is None:
                raise VerificationError("another answer")
            return True

    for result in (ew.bfs(ew.load(path), 0), None):
        with pytest.raises(FileChangedError, match="was written to"):
            Hasty.verify(result, ew.load(path))
    with pytest.raises(FileChangedError, match="was written to"):
        os.utime(path)
        ew.load(path).save(path.with_name("other"), progress=change)
    assert os.listdir(path.parent) == [path.name]


@pytest.mark.more
@pytest.mark.skipif(not mapped.handled(), reason="SIGBUS is not handled here")
def test_a_file_that_was_cut_and_mended_is_still_refused(saved):
    script = """
    import os, sys, edgewise as ew
    from edgewise.errors import FileChangedError
    path = sys.argv[1]
    graph = ew.load(path)
    content, times, held = open(path, "rb").read(), os.stat(path), graph.targets
    os.truncate(path, 0)
    print("gone:", held.tolist() == [0] * len(held))
    open(path, "r+b").write(content)
    os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))
    try:
        print(graph.targets)
    except FileChangedError as error:
        print(error)
    print(ew.load(path).targets.any())
    """
    with start(script, saved[0]) as process:
        output = process.communicate(timeout=120)[0]
    assert process.returncode == 0 and "gone: True" in output and output.endswith("True\n"), output
    assert "was cut short while it was in use" in output


@pytest.mark.skipif(not mapped.handled(), reason="SIGBUS is not handled here")
@pytest.mark.parametrize("handler", ["none", "faulthandler", "sent"])
def test_other_faults_end_the_process_as_before(handler, tmp_path):
    script = """
    import faulthandler, mmap, os, signal, sys
    import edgewise as ew
    if sys.argv[2] == "faulthandler":
        faulthandler.enable()
    ew.Graph.from_edges([0], [1]).save(sys.argv[1])
    print(ew.load(sys.argv[1]).targets, flush=True)
    if sys.argv[2] == "sent":
        os.kill(os.getpid(), signal.SIGBUS)
    with open(sys.argv[1], "r+b") as file:
        view = mmap.mmap(file.fileno(), 0)
        os.truncate(sys.argv[1], 0)
        print(view[5])
    """
    with start(script, tmp_path / "g", handler) as process:
        output = process.communicate(timeout=120)[0]
    assert output.startswith("[1]") and process.returncode == -signal.SIGBUS
    assert ("Fatal Python error: Bus error" in output) == (handler == "faulthandler")


# A process that is killed.


@pytest.mark.more
def test_a_process_killed_while_saving_leaves_the_older_file(tmp_path):
    path = tmp_path / "g"
    older = drawn()
    older.save(path)
    script = """
    import sys, numpy as np, edgewise as ew
    source, target = np.random.default_rng(1).integers(0, 1000, (2, 300_000))
    graph = ew.Graph.from_edges(source, target, num_vertices=1000)
    while True:
        graph.save(sys.argv[1], progress=lambda done: print(done, flush=True))
    """
    new = ew.Graph.from_edges(*np.random.default_rng(1).integers(0, 1000, (2, 300_000)), num_vertices=1000)
    for delay in (0.0, 0.001, 0.003, 0.01, 0.02):
        with start(script, path) as process:
            process.stdout.readline()
            time.sleep(delay)
            process.kill()
            process.communicate()
        found = ew.load(path)
        assert same_graphs(found, older) or same_graphs(found, new)
    left = set(os.listdir(tmp_path)) - {"g"}
    assert all(name.startswith(".") and name.endswith(".part") for name in left)
    for name in left:  # as if a minute had passed
        os.utime(tmp_path / name, (0, 0))
    older.save(path)
    assert os.listdir(tmp_path) == ["g"] and same_graphs(ew.load(path), older)


def test_a_process_killed_while_saving_leaves_no_file_of_that_name(tmp_path):
    script = """
    import os, signal, sys, numpy as np, edgewise as ew
    graph = ew.Graph.from_edges(*np.random.default_rng(1).integers(0, 1000, (2, 300_000)))
    graph.save(sys.argv[1], progress=lambda done: os.kill(os.getpid(), signal.SIGKILL))
    """
    for older in (None, b"older"):
        if older:
            (tmp_path / "g").write_bytes(older)
        with start(script, tmp_path / "g") as process:
            process.communicate(timeout=120)
        assert process.returncode == -signal.SIGKILL
        assert (tmp_path / "g").exists() == bool(older) and (
            older is None or (tmp_path / "g").read_bytes() == older
        )


def test_threads_that_use_a_file_at_once_check_it_once(saved, monkeypatch):
    path, graph = saved
    graph.save(path)
    loaded, calls, found = ew.load(path), [], []
    check = file_rows.check_below

    def counted(*arguments):
        calls.append(arguments)
        time.sleep(0.05)
        return check(*arguments)

    monkeypatch.setattr(file_rows, "check_below", counted)
    threads = [threading.Thread(target=lambda: found.append(loaded.targets)) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(calls) == 1 and len(found) == 8 and all(each is found[0] for each in found)


def test_a_file_that_is_cut_before_its_first_use_is_refused(tmp_path):
    path = tmp_path / "g"
    drawn().save(path)
    for use in (lambda graph: ew.bfs(graph, 0), lambda graph: graph.targets, lambda graph: graph.out_degree):
        graph, whole = ew.load(path), path.read_bytes()
        os.truncate(path, 5000)
        with pytest.raises(FileChangedError, match="was cut short while it was in use"):
            use(graph)
        path.write_bytes(whole)
