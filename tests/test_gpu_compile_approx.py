"""Every CUDA kernel that makes approximate graphs compiles, which needs no GPU and says nothing of what is made:
tests/simulate_approx.py runs kernels in numba's simulator, tests/test_gpu_approx.py on a GPU."""

import numpy as np
import pytest

gpu = pytest.importorskip(
    "edgewise.kernels.cuda.compile", reason="numba-cuda is not installed", exc_type=ImportError
)

#: Offsets and weights, each for an architecture.
DTYPES = {
    (9, 0): tuple(map(np.dtype, (np.uint32, np.int32))),
    (7, 5): tuple(map(np.dtype, (np.uint64, np.float64))),
}


def kernels(offsets, weight):
    """The kernels for these dtypes, each as a function and the types of its arguments."""
    from edgewise.approx import coefficients_cuda, degree_cuda, numbering_cuda, rows_cuda

    return {
        "triangles": (coefficients_cuda.count_kernel, coefficients_cuda.signature()),
        "edges of two steps": (degree_cuda.make_find(weight), degree_cuda.signature(offsets, weight)),
        "roots": (
            numbering_cuda.spread_kernel,
            numbering_cuda.signature(numbering_cuda.Spreading, offsets),
        ),
        "numbers": (
            numbering_cuda.number_kernel,
            numbering_cuda.signature(numbering_cuda.Levels, offsets),
        ),
        "rows": (rows_cuda.make_merge(True), rows_cuda.signature(offsets, weight)),
    }


NAMES = ("triangles", "edges of two steps", "roots", "numbers", "rows")


@pytest.mark.parametrize(
    "capability",
    [(9, 0), pytest.param((7, 5), marks=pytest.mark.more)],
    ids=lambda each: f"sm_{each[0]}{each[1]}",
)
@pytest.mark.parametrize("name", NAMES)
def test_every_kernel_compiles(name, capability):
    code = gpu.compile_kernel(*kernels(*DTYPES[capability])[name], capability, None)
    assert code.startswith(b"\x7fELF")
    assert b".text.kernel" in code
