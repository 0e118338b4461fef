"""What all tests have in common."""

import pytest

from edgewise.kernels import costs, launch


@pytest.fixture(scope="module")
def threads_even_for_small_graphs():
    """As many threads as there may be, however little the work is worth them."""
    with pytest.MonkeyPatch.context() as patch:
        for module in (costs, launch):
            patch.setattr(module, "best_threads", lambda work, most, rounds=1: most)
        yield


def pytest_collection_modifyitems(items):
    """Begin with the simulator: its few tests take long, and would be waited for in the end."""
    items.sort(key=lambda item: not item.path.name.startswith("test_simulated"))
