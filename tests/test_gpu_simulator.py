"""The CUDA engine's kernel in numba's simulator, in a process of its own: see tests/simulate.py."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from test_engines import PROGRAMS

pytest.importorskip("edgewise.kernels.gpu", reason="numba-cuda is not installed", exc_type=ImportError)


def test_the_kernel_computes_the_right_answers_in_the_simulator():
    """Three threads, one after another: the logic of the kernel, not what warps and blocks do to each other."""
    here = Path(__file__).resolve().parent
    environment = {**os.environ, "NUMBA_ENABLE_CUDASIM": "1", "PYTHONPATH": str(here.parent)}
    done = subprocess.run(
        [sys.executable, str(here / "simulate.py")],
        env=environment,
        capture_output=True,
        text=True,
        timeout=280,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    assert done.stdout.split("\n")[:-1] == list(PROGRAMS)
