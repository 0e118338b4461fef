"""Where numba is told to check bounds, kernels that read or write beyond an array raise IndexError; `make test-bounds`
runs tests so. Pointers to the words that a crew of threads shares have no length and are not checked; negative indices
count from the end, as in Python."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.more

KERNELS = """
import numpy as np
import edgewise as ew
from edgewise.errors import ProgramError
from edgewise.kernels.cpu.atomics import atomic_add
from edgewise.kernels.cache import device_function
from edgewise.kernels.cpu.team import run_alone, team, team_kernel

@device_function
def value(values, i):
    return values[i]

@team_kernel
def read(thread, size, control, values, i):
    values[0] = value(values, np.uint64(i))

@team_kernel
def write(thread, size, control, values, i):
    atomic_add(values, i, 1)

class Beyond(ew.Program):
    place = ew.vertex("int64")
    value = ew.vertex("int64")
    combine = ew.MAX
    max_supersteps = 1

    @staticmethod
    def edge_compute(edge, state):
        return 1

    @staticmethod
    def vertex_compute(v, message, state):
        state.value[v] = state.place[state.place[v]]
        return False

def program(place, delivery):
    graph = ew.Graph.from_csr([0, 1, 2], [1, 0])
    program = Beyond(place=np.array([0, place]))
    ew.run(program, graph, device="cpu", schedule=ew.Schedule(delivery))

room = np.zeros(4, np.int64)
calls = {
    "read": lambda i: run_alone(read, room[:3], i),
    "read by two threads": lambda i: team(2).run(read, room[:3], i),
    "atomic": lambda i: run_alone(write, room[:3], i),
    "program": lambda i: program(i - 1, "auto"),
    "buffered program": lambda i: program(i - 1, ew.Buffered()),
}
"""
NAMES = ("read", "read by two threads", "atomic")


def raising(folder, check, names=NAMES):
    """Those of the calls that are told of with index 3 of 3, for which there is memory; with 2 none does."""
    script = (
        KERNELS
        + f"""
for name in {names}:
    calls[name](2)
    try:
        calls[name](3)
    except (IndexError, ProgramError) as error:
        assert "index is out of bounds" in str(error)
        print(name)
"""
    )
    environment = {
        **os.environ,
        "EDGEWISE_CACHE_DIR": str(folder),
        "PYTHONPATH": str(Path(__file__).parents[1]),
    }
    environment.pop("NUMBA_BOUNDSCHECK", None)
    environment |= {"NUMBA_BOUNDSCHECK": "1"} if check else {}
    path = folder / "beyond.py"
    path.write_text(script)
    command = [sys.executable, str(path)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=250)
    assert done.returncode == 0, done.stderr
    return tuple(done.stdout.split("\n")[:-1])


@pytest.fixture
def folder(tmp_path):
    tmp_path.chmod(0o700)
    return tmp_path


def test_kernels_that_check_bounds_and_kernels_that_do_not_are_kept_apart(folder):
    assert raising(folder, check=False) == ()
    assert raising(folder, check=True) == NAMES
    assert raising(folder, check=False) == ()


def test_programs_check_bounds(folder):
    names = ("program", "buffered program")
    assert raising(folder, True, names) == names
