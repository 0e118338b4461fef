"""The command line as a process: Ctrl-C, terminals and pipes."""

import json
import os
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from cli_cases import ROOT, succeed

import edgewise as ew
from edgewise import generate
from edgewise.io.columns import read_columns

COMMAND = [sys.executable, "-m", "edgewise.cli"]


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


def test_standard_output_that_is_closed_or_has_no_reader(tmp_path: Path) -> None:
    file = tmp_path / "g.csv"
    file.write_text("source,target\n0,1\n")
    for words in (("info", file, "--brief"), ("convert", file, "-", "--to", "csv")):
        line = shlex.join([*COMMAND, *map(str, words)])
        closed = subprocess.run(f"{line} >&-", shell=True, capture_output=True, text=True)
        message = "edgewise: error: cannot write the answer: standard output is closed\n"
        assert (closed.returncode, closed.stderr) == (2, message)
    reader, writer = os.pipe()
    os.close(reader)
    command = [*COMMAND, "generate", "path", "-", "--to", "csv", "--set", "num_vertices=3"]
    gone = subprocess.run(command, stdout=writer, stderr=subprocess.PIPE)
    os.close(writer)
    assert (gone.returncode, gone.stderr) == (141, b"")


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

    The middle is when a file of this pattern is in the folder, else when the process has used three seconds, which
    is long after it has begun if it need not compile.
    """
    process = subprocess.Popen(
        [*map(str, COMMAND), *map(str, command)], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    try:
        deadline = time.monotonic() + 120
        while time.monotonic() < deadline and process.poll() is None:
            if ready is not None and list(ready.glob(pattern)):
                break
            if ready is None and process_seconds(process.pid) > 3.0:
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


@pytest.mark.more
@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="needs /proc to see that the run has begun")
@pytest.mark.parametrize("scale", [4, 15])
def test_ctrl_c_ends_a_long_run(tmp_path: Path, scale: int) -> None:
    graph = tmp_path / "g.mtx"
    ew.io.write(generate.rmat(scale), graph)
    ew.pagerank(ew.read(graph), max_iterations=1, device="cpu")  # so that the command need not compile
    options = ["--set", "tol=0", "--set", "max_iterations=2000000000", "--output", tmp_path / "out.csv"]
    code, seconds = interrupted(["run", "pagerank", graph, *options])
    assert code == 130
    assert seconds < 5  # one second on a machine that has nothing else to do
    assert os.listdir(tmp_path) == ["g.mtx"]


@pytest.mark.more
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


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")
def test_values_that_cannot_be_written_to_standard_output(towns: Path) -> None:
    with open("/dev/full", "w") as full:
        command = [*COMMAND, "convert", towns, "-", "--to", "csv"]
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True)
    assert done.returncode == 2
    assert done.stderr == "edgewise: error: cannot write the answer: No space left on device\n"
