"""The programs in numba's simulator. A file of its own, so that it need not wait for the others."""

import pytest
import spread_programs
from simulated import simulated
from test_engines import PROGRAMS

pytest.importorskip(
    "edgewise.kernels.cuda.device", reason="numba-cuda is not installed", exc_type=ImportError
)
pytestmark = pytest.mark.more


def test_programs_give_the_right_answers_in_the_simulator():
    """Four threads, one after another: the logic of the kernel, not what warps and blocks do to each other."""
    assert simulated("simulate.py") == [*PROGRAMS, "reasons", "widest", "least"]


def test_what_a_vertex_sends_along_all_its_edges_is_computed_once_in_the_simulator():
    assert simulated("simulate_spread.py") == [each.__name__ for each in spread_programs.PROGRAMS]
