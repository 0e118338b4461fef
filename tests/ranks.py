"""Start a script on several ranks: by torchrun, or by hand, so that nothing ends the ranks that are left."""

import importlib.util
import os
import signal
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any
from unittest import mock

import pytest

ROOT = Path(__file__).resolve().parent.parent
#: The mark of tests that start ranks.
needs_torch = pytest.mark.skipif(
    importlib.util.find_spec("torch") is None,
    reason="torch is not installed: make .venv/.distributed, or pip install 'edgewise[distributed]'",
)
#: What torchrun says after the ranks' own errors begins so.
_LAUNCHER = 'Traceback (most recent call last):\n  File "<frozen runpy>"'


def code_for_several() -> Any:
    """While this is entered, algorithms on one rank alone run the code for several."""
    from edgewise.algorithms.common import ranks

    return mock.patch.object(ranks, "is_alone", lambda group: False)


def environment(**others: str) -> dict[str, str]:
    """The environment of a rank, in which this version of edgewise, tests and examples are found."""
    found = {name: value for name, value in os.environ.items() if name not in ("RANK", "WORLD_SIZE")}
    folders = [
        *(str(ROOT / name) for name in ("", "tests", "examples")),
        *found.get("PYTHONPATH", "").split(os.pathsep),
    ]
    return {**found, "PYTHONPATH": os.pathsep.join(filter(None, folders)), "OMP_NUM_THREADS": "1", **others}


def started(
    ranks: int, script: str | Path, *words: str, seconds: float = 60, restarts: int = 0, **others: str
) -> subprocess.CompletedProcess[str]:
    """Start a script of `tests/`, or one by its path, on so many ranks, and wait until it has ended.

    Args:
        ranks: how many.
        script, words: the script, and its arguments.
        restarts: how often all ranks are started again after one has failed.
        seconds: after this time all ranks are killed, and the test fails.
        others: of the environment.
    """
    launcher = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", str(ranks)]
    launcher += ["--max-restarts", str(restarts)]
    process = subprocess.Popen(
        [*launcher, str(ROOT / "tests" / script), *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment(**others),
        start_new_session=True,
    )
    try:
        output, errors = process.communicate(timeout=seconds)
    except subprocess.TimeoutExpired:
        _kill_session(process)
        output, errors = process.communicate()
        pytest.fail(
            f"{ranks} ranks of {script} take more than {seconds} s\n{output}\n{errors}", pytrace=False
        )
    except BaseException:
        _kill_session(process)
        raise
    return subprocess.CompletedProcess(
        process.args, process.returncode, output, errors.partition(_LAUNCHER)[0]
    )


def run_ranks(ranks: int, script: str | Path, *words: str, seconds: float = 60, **others: str) -> str:
    """What a script prints on so many ranks; the test fails with the ranks' errors if one of them fails."""
    done = started(ranks, script, *words, seconds=seconds, **others)
    if done.returncode != 0:
        pytest.fail(f"{ranks} ranks of {script} failed\n{done.stdout}\n{done.stderr}", pytrace=False)
    return done.stdout


def _kill_session(process: subprocess.Popen[str]) -> None:
    """Kill the launcher and its ranks, each of which leads a process group of its own."""
    listed = subprocess.run(
        ["ps", "-o", "pid=", "--ppid", str(process.pid)], capture_output=True, text=True, check=False
    )
    for pid in (*map(int, listed.stdout.split()), process.pid):
        os.kill(pid, signal.SIGKILL)


def by_hand(ranks: int, script: str | Path, *words: str, **others: str) -> list[subprocess.Popen[str]]:
    """Start a script on so many ranks without a launcher."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    place = {"WORLD_SIZE": str(ranks), "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port}
    return [
        subprocess.Popen(
            [sys.executable, str(ROOT / "tests" / script), *words],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=environment(**place, RANK=str(rank), **others),
        )
        for rank in range(ranks)
    ]
