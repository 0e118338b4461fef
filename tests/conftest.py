"""What all tests have in common."""

import gc
from typing import ClassVar

import numpy as np
import pytest
from fixtures import file as file
from fixtures import make as make
from fixtures import towns as towns
from graph_files import saved as saved

from edgewise.engine.cpu import program as cpu_program
from edgewise.engine.cpu.shared import Sizes
from edgewise.engine.cpu.table import rows_of
from edgewise.kernels import costs
from edgewise.kernels.cpu import launch


@pytest.fixture(scope="module", autouse=True)
def what_is_there_stays():
    """The garbage collector looks once at what the files of tests before have left. Compilers keep much: to look at all
    of it again and again took a tenth of the time of all tests."""
    gc.collect()
    gc.freeze()


@pytest.fixture(scope="module")
def threads_even_for_small_graphs():
    """As many threads as there may be, however little the work is worth them."""
    with pytest.MonkeyPatch.context() as patch:
        for module in (costs, launch):
            patch.setattr(module, "best_threads", lambda work, most, rounds=1: most)
        yield


#: Bytes on both sides of an array that nothing may write, and what stands in them.
GUARD, UNWRITTEN = 4096, 0xAB


class Guarded(cpu_program.Workspace):
    """A workspace whose arrays lie between bytes that nothing may write."""

    made: ClassVar[list["Guarded"]] = []

    def __init__(self, *args):
        super().__init__(*args)
        self.whole = []
        self.work = self.between(self.work)
        self.table = rows_of(self.work)
        self.made.append(self)

    def between(self, array):
        if isinstance(array, tuple):
            made = map(self.between, array)
            return array._make(made) if hasattr(array, "_make") else tuple(made)
        whole = np.full(GUARD + array.nbytes + GUARD, UNWRITTEN, np.uint8)
        inner = whole[GUARD : GUARD + array.nbytes]
        inner[:] = array.view(np.uint8)
        self.whole.append(whole)
        return inner.view(array.dtype)

    def is_intact(self):
        return all(
            (end == UNWRITTEN).all() for whole in self.whole for end in (whole[:GUARD], whole[-GUARD:])
        )


@pytest.fixture
def small_pieces(monkeypatch):
    """Programs on the CPU divide graphs of a few vertices, too, and leave next to nothing to one thread. No run writes
    beyond the arrays that it works in."""
    sizes = Sizes(vertices=4, places=16, alone=3, alone_list=1, alone_edges=4, alone_far=2)
    monkeypatch.setattr(cpu_program, "SIZES", sizes)
    monkeypatch.setattr(cpu_program, "Workspace", Guarded)
    Guarded.made.clear()
    yield
    assert all(workspace.is_intact() for workspace in Guarded.made)


def pytest_collection_modifyitems(items):
    """Begin with the simulator: its few tests take long, and would be waited for in the end."""
    items.sort(key=lambda item: not item.path.name.startswith("test_simulated"))
