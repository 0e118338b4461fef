"""What all tests have in common."""

import pytest

from edgewise.engine import cpu, cpu_kernel
from edgewise.kernels import costs, launch


@pytest.fixture(scope="module")
def threads_even_for_small_graphs():
    """As many threads as there may be, however little the work is worth them."""
    with pytest.MonkeyPatch.context() as patch:
        for module in (costs, launch):
            patch.setattr(module, "best_threads", lambda work, most, rounds=1: most)
        yield


@pytest.fixture
def small_pieces(monkeypatch):
    """Programs on the CPU divide graphs of a few vertices, too, and leave next to nothing to one thread."""
    sizes = cpu_kernel.Sizes(vertices=4, places=16, alone=3, alone_list=1, alone_edges=4, alone_far=2)
    monkeypatch.setattr(cpu, "SIZES", sizes)


def pytest_collection_modifyitems(items):
    """Begin with the simulator: its few tests take long, and would be waited for in the end."""
    items.sort(key=lambda item: not item.path.name.startswith("test_simulated"))
