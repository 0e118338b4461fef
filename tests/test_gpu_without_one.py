"""What can be tested of the CUDA engine without a GPU: that every kernel compiles for every architecture, and computes
the right answers in numba's simulator. tests/test_gpu.py tests it on a GPU."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from test_engines import PROGRAMS

import edgewise as ew
from edgewise.engine.binding import bind, parameter_values
from edgewise.engine.compiled import check_types, compiled_program
from edgewise.engine.constants import constant_arrays
from edgewise.inspection import inspect_program

gpu = pytest.importorskip("edgewise.kernels.gpu", reason="numba-cuda is not installed", exc_type=ImportError)

OLDEST, NEWEST_MEASURED = (7, 5), (9, 0)
#: The architectures between and beyond, each with a program that uses other parts of the kernel.
OTHERS = [((8, 0), "logic and aggregates"), ((10, 0), "edge fields"), ((12, 0), "pagerank")]


def machine_code(name, capability):
    """The kernel of a program for weighted graphs, compiled anew."""
    from edgewise.engine.gpu_kernel import make_gpu_kernel, signature

    program, values = PROGRAMS[name]
    found = inspect_program(program)
    binding = bind(found, ew.Graph.from_edges([0], [1], [2.5]))
    parameters = parameter_values(binding, values)
    message = check_types(compiled_program(found), binding, parameters)
    kernel = make_gpu_kernel(
        compiled_program(found, gpu.device_function),
        binding,
        message,
        constant_arrays(binding, {}, True).uniform,
    )
    return gpu.compile_kernel(kernel, signature(binding, message, parameters), capability, None)


@pytest.mark.parametrize("capability", [OLDEST, NEWEST_MEASURED])
@pytest.mark.parametrize("name", PROGRAMS)
def test_every_program_compiles(name, capability):
    code = machine_code(name, capability)
    assert code.startswith(b"\x7fELF")
    assert b".text.kernel" in code


@pytest.mark.parametrize(("capability", "name"), OTHERS)
def test_every_architecture_is_compiled_for(capability, name):
    assert b".text.kernel" in machine_code(name, capability)


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


def test_a_gpu_that_cannot_be_used_is_refused_with_the_reason():
    problem = gpu.problem()
    if problem is None:
        pytest.skip("there is a GPU here")
    with pytest.raises(ew.errors.DeviceError, match="device='cuda'"):
        ew.run(PROGRAMS["components"][0], ew.Graph.from_edges([0], [1]), device="cuda")
