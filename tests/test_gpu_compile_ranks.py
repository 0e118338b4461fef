"""The kernels of ranks on GPUs compile for every architecture, which needs no GPU and says nothing of answers:
tests/simulate_ranks.py runs them in numba's simulator, tests/test_distributed_gpu.py on GPUs."""

import kept_messages
import numpy as np
import pytest
import rank_cases
from test_engines import PROGRAMS

import edgewise as ew
from edgewise.engine.delivery import may_push
from edgewise.engine.lowering.binding import bind, parameter_values
from edgewise.engine.lowering.compiled import check_types, compiled_program
from edgewise.engine.lowering.constants import constant_arrays
from edgewise.program.inspect import inspect_program

gpu = pytest.importorskip(
    "edgewise.kernels.cuda.device", reason="numba-cuda is not installed", exc_type=ImportError
)
gpu_compile = pytest.importorskip("edgewise.kernels.cuda.compile")

OLDEST, NEWEST_MEASURED = (7, 5), (9, 0)
EVERY = {
    **PROGRAMS,
    **{name: (program, {}) for name, program in kept_messages.PROGRAMS.items()},
    **{name: (rank_cases.PROGRAMS[name], {}) for name in ("every dtype", "every aggregator", "other names")},
}
#: Programs that between them use every part of the kernel.
ALL_PARTS = {
    "bfs": (OLDEST,),
    "float sums": (NEWEST_MEASURED,),
    "logic and aggregates": (NEWEST_MEASURED,),
    "median": ((8, 0),),
    "edge fields": ((10, 0),),
    "sssp": ((12, 0),),
}


def machine_code(program, values, capability):
    """A program's kernel for weighted graphs, compiled anew."""
    from edgewise.engine.distributed import kernel_cuda

    found = inspect_program(program)
    binding = bind(found, ew.Graph.from_edges([0], [1], [2.5]))
    parameters = parameter_values(binding, values)
    message = check_types(compiled_program(found), binding, parameters)
    pulls = found.keeps_messages or not may_push(found, message)
    uniform = constant_arrays(binding, {}, pulls, binding.graph).uniform
    made = kernel_cuda.make_rank_kernel(
        compiled_program(found, gpu.device_function), binding, message, uniform, pulls
    )
    types = kernel_cuda.signature(binding, message, parameters)
    return gpu_compile.compile_kernel(made, types, capability, None)


@pytest.mark.parametrize(
    ("name", "capability"), [(name, each) for name, found in ALL_PARTS.items() for each in found]
)
def test_every_part_and_architecture_is_compiled_for(name, capability):
    assert b".text.kernel" in machine_code(*EVERY[name], capability)


@pytest.mark.parametrize("capability", [OLDEST, NEWEST_MEASURED], ids=str)
def test_kernels_for_bitmaps_compile(capability):
    from edgewise.engine.distributed import bitmaps_cuda

    made = [(bitmaps_cuda.list_kernel, bitmaps_cuda.LISTING)]
    made += [
        (bitmaps_cuda.mark_kernel, bitmaps_cuda.marking_types(np.dtype(each))) for each in ("uint8", "uint32")
    ]
    made.append((bitmaps_cuda.select_kernel, bitmaps_cuda.SELECTING))
    made += [
        (bitmaps_cuda.change_kernel, bitmaps_cuda.changing_types(np.dtype(f"u{size}")))
        for size in (1, 2, 4, 8)
    ]
    for kernel, types in made:
        ptx = gpu_compile.to_ptx(kernel, types, capability)
        assert ".f64" not in ptx and ".f32" not in ptx
        assert b".text.kernel" in gpu_compile.to_machine_code(ptx, capability)


@pytest.mark.slow
@pytest.mark.parametrize("capability", [OLDEST, NEWEST_MEASURED], ids=str)
@pytest.mark.parametrize("name", EVERY)
def test_every_program_compiles(name, capability):
    program, values = EVERY[name]
    assert b".text.kernel" in machine_code(program, values, capability)
