"""Where arrays lie at runs one after the other beyond the GPU's memory, in numba's simulator."""

import pytest
from simulated import simulated

pytest.importorskip(
    "edgewise.kernels.cuda.device", reason="numba-cuda is not installed", exc_type=ImportError
)
#: Each needs a process of its own, for it changes what the GPU is.
NAMES = (
    "host_parts",
    "refused_limit",
    "no_room_for_a_layout",
    "second_run",
    "too_far",
    "not_too_far",
    "pieces",
    "no_room_on_the_gpu",
    "explained",
    "made_graph",
    "least_of_all_forms",
)


@pytest.mark.more
@pytest.mark.parametrize("name", NAMES)
def test_placements(name):
    assert simulated("simulate_placements.py", name) == ["ok"]
