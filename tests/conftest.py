"""What all tests have in common."""


def pytest_collection_modifyitems(items):
    """Begin with the simulator: its few tests take long, and would be waited for in the end."""
    items.sort(key=lambda item: not item.path.name.startswith("test_simulated"))
