"""Kernels in numba's simulator, in processes of their own: see tests/simulator.py."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from test_engines import PROGRAMS

pytest.importorskip("edgewise.kernels.gpu", reason="numba-cuda is not installed", exc_type=ImportError)


def simulated(script):
    """The lines that a script prints in the simulator."""
    here = Path(__file__).resolve().parent
    environment = {**os.environ, "NUMBA_ENABLE_CUDASIM": "1", "PYTHONPATH": str(here.parent)}
    done = subprocess.run(
        [sys.executable, str(here / script)],
        env=environment,
        capture_output=True,
        text=True,
        timeout=280,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout.split("\n")[:-1]


def test_programs_give_the_right_answers_in_the_simulator():
    """Four threads, one after another: the logic of the kernel, not what warps and blocks do to each other."""
    assert simulated("simulate.py") == [*PROGRAMS, "widest", "least"]


def test_algorithms_give_the_right_answers_in_the_simulator():
    graphs = ["one vertex", "star out", "many to one", "path", "random", "apart", "both ways"]
    assert simulated("simulate_algorithms.py") == graphs


def test_strategies_keep_the_contract_in_the_simulator():
    done = simulated("check_views.py")
    assert len(done) == 24
    assert {"binned", "outbox", "edge-based", "decomposition", "splitting", "hierarchy"} < set(done)
