"""Run the algorithms' CUDA kernels in numba's simulator: `python tests/simulate_algorithms.py`, NUMBA_ENABLE_CUDASIM=1.

NumPy stands for CuPy, and a launch in the simulator for one on a GPU; all else is what a GPU runs. The simulator has
one lane in a warp and here one block of a few threads: what warps and several blocks do to each other is not seen.
"""

import contextlib
import sys

import numpy as np
from numba import cuda, types

import edgewise as ew
from edgewise import execution
from edgewise.graph import graph as graph_module
from edgewise.kernels import gpu


class SimulatedKernel:
    """A kernel in the simulator, with the interface of `edgewise.kernels.gpu.Kernel`."""

    blocks = 1

    def __init__(self, function, kinds, *variant):
        self._kernel = cuda.jit(function(*variant) if variant else function)
        self._kinds = kinds

    def start(self, arguments):
        """Launch, with arguments put together to the tuples that the types say."""
        given = iter(arguments)
        self._kernel[1, gpu.THREADS](
            *(
                tuple(next(given) for _ in range(kind.count))
                if isinstance(kind, types.BaseTuple)
                else next(given)
                for kind in self._kinds
            )
        )


@contextlib.contextmanager
def room(name, needed):
    """There is always room."""
    yield


def pretend():
    """Put NumPy and the simulator where the GPU would be. The algorithms' modules are loaded afterwards."""
    gpu.cupy = lambda: np
    gpu.copy_of = gpu.host_copy = np.array
    gpu.copied = lambda owner, values: values
    gpu.words = lambda values: values
    gpu.wait = lambda host, progress: None
    gpu.pinned, gpu.fixed_kernel, gpu.room = np.zeros, SimulatedKernel, room
    execution.cuda_door = graph_module.cuda_door = lambda: gpu


GRAPHS = {
    "one vertex": ew.Graph.from_edges([], [], np.empty(0, np.int32), num_vertices=1),
    "star out": ew.Graph.from_edges([0] * 67, range(1, 68), [1] * 67),
    "many to one": ew.Graph.from_edges([*range(1, 18), 0], [0] * 17 + [3], range(18)),
    "path": ew.generate.path(12, weights=(0, 3)),
    "random": ew.generate.uniform(12, 40, seed=1, weights=(1, 9)),
    "apart": ew.generate.uniform(20, 14, seed=2, weights=(1, 9)),
    "both ways": ew.generate.uniform(15, 25, seed=3, directed=False, weights=(1, 9)),
}


def same(got, expected, *attributes):
    """Assert that two results are the same in these arrays."""
    for attribute in attributes:
        np.testing.assert_array_equal(
            getattr(got, attribute), getattr(expected, attribute), err_msg=attribute
        )


def compare(graph):
    """Compare all algorithms on a graph with the CPU."""
    for delivery in ("auto", ew.Push(), ew.Pull()):
        schedule = ew.Schedule(delivery=delivery)
        got, expected = (ew.bfs(graph, 0, device=device, schedule=schedule) for device in ("cuda", "cpu"))
        same(got, expected, "level", "parent_index", "supersteps")
    for delta in ("auto", 2.0):
        got, expected = (ew.sssp(graph, 0, device=device, delta=delta) for device in ("cuda", "cpu"))
        same(got, expected, "distance", "parent_index")
    got, expected = (ew.connected_components(graph, device=device) for device in ("cuda", "cpu"))
    same(got, expected, "component", "num_components")
    for weighted in (False, True):
        options = {"max_iterations": 3, "weighted": weighted}
        got, expected = (ew.pagerank(graph, device=device, **options) for device in ("cuda", "cpu"))
        np.testing.assert_allclose(got.rank, expected.rank, rtol=1e-12)
        assert got.verify(graph)


def main():
    """Print the name of each graph on which all agreed; the exit code is 1 where one does not."""
    if not gpu.SIMULATED:
        sys.exit("set NUMBA_ENABLE_CUDASIM=1")
    pretend()
    for name, graph in GRAPHS.items():
        compare(graph)
        print(name, flush=True)


if __name__ == "__main__":
    main()
