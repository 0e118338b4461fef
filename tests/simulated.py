"""Running a script in numba's simulator, in a process of its own: see tests/simulator.py."""

import os
import subprocess
import sys
from pathlib import Path


def simulated(script, *arguments):
    """The lines that a script prints in the simulator."""
    here = Path(__file__).resolve().parent
    environment = {**os.environ, "NUMBA_ENABLE_CUDASIM": "1", "PYTHONPATH": str(here.parent)}
    done = subprocess.run(
        [sys.executable, str(here / script), *arguments],
        env=environment,
        capture_output=True,
        text=True,
        timeout=280,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout.split("\n")[:-1]
