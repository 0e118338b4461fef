"""Run the CUDA engine's kernel in numba's simulator: `python tests/simulate.py`, with NUMBA_ENABLE_CUDASIM=1.

One line is printed for each program that agreed with the reference on every graph and delivery. The simulator has one
lane in a warp and here one block of a few threads: what warps and several blocks do to each other is not seen.
"""

import sys

import numpy as np
from numba import cuda
from test_engines import PROGRAMS, Components

import edgewise as ew
from edgewise.engine.binding import bind, parameter_values
from edgewise.engine.compiled import check_types, compiled_program
from edgewise.engine.constants import constant_arrays
from edgewise.engine.cpu_kernel import ENDINGS, PULL, PUSH
from edgewise.engine.glue import own_array_order
from edgewise.engine.gpu_kernel import (
    CONTROL_WORDS,
    ENDED,
    FOLDS,
    SUPERSTEP,
    make_gpu_kernel,
    stored,
)
from edgewise.inspection import inspect_program
from edgewise.kernels import gpu
from edgewise.run import Prepared

THREADS = 3
GRAPHS = {
    "nothing": ew.Graph.from_edges([], [], [], num_vertices=0),
    "many to one": ew.Graph.from_edges(range(1, 18), [0] * 17, range(17)),
    "random": ew.generate.uniform(8, 24, seed=1, weights=(0, 9)),
}


def simulate(program, graph, values, delivery):
    """The fields, supersteps and ending of a run in the simulator."""
    found = inspect_program(program)
    binding = bind(found, graph)
    parameters = parameter_values(binding, values)
    message = check_types(compiled_program(found), binding, parameters)
    constants = constant_arrays(binding, {}, True)
    n = graph.num_vertices
    arrays = dict(constants.arrays)
    arrays |= {("vertex", name): np.empty(n, dtype) for name, dtype in binding.vertex.items()}
    arrays |= {("edge", name): arrays["edge", name].copy() for name in found.edge_writes}
    arrays |= {("parameter", name): np.array([value]) for name, value in parameters.items()}
    for name, dtype in binding.aggregates.items():
        arrays["aggregate", name] = np.zeros(1, dtype)
        arrays["partial", name] = np.empty(max(1, min(n, FOLDS[0])), dtype)
    identity = found.combine.identity(message)
    control, host = np.zeros(CONTROL_WORDS, np.int64), np.zeros(2, np.int64)
    compiled = compiled_program(found, gpu.device_function)
    kernel = cuda.jit(make_gpu_kernel(compiled, binding, message, constants.uniform))
    kernel[1, THREADS](
        (graph.offsets, graph.targets, graph.in_offsets, graph.in_sources, graph.in_arcs),
        tuple(np.zeros(n, np.uint32) for _ in range(4)),
        tuple(arrays[key] for key in own_array_order(found)),
        np.full(n, identity, stored(message)),
        np.zeros(n, np.uint32),
        control,
        host,
        n,
        graph.num_arcs,
        0,
        -1 if program.max_supersteps is None else program.max_supersteps,
        delivery,
        1,
        constants.supplied,
    )
    fields = {name: arrays["vertex", name] for name in found.vertex_fields}
    fields |= {name: arrays["edge", name] for name in found.edge_writes}
    return fields, int(control[SUPERSTEP]), ENDINGS[int(control[ENDED])]


def main():
    """Compare every program; the exit code is 1 where one differs."""
    if not gpu.SIMULATED:
        sys.exit("set NUMBA_ENABLE_CUDASIM=1")
    for name, (program, values) in PROGRAMS.items():
        for graph_name, graph in GRAPHS.items():
            if "source" in values and graph.num_vertices == 0:
                continue
            if program is Components:
                graph = ew.Graph.from_edges(
                    graph.sources, graph.targets, directed=False, num_vertices=graph.num_vertices
                )
            expected = Prepared(program, graph).reference(values, program.max_supersteps)
            for delivery in (PUSH, PULL):
                fields, supersteps, ended = simulate(program, graph, values, delivery)
                for field, want in (expected.vertex_fields | expected.edge_fields).items():
                    np.testing.assert_allclose(
                        fields[field], want, rtol=1e-6, atol=1e-12, err_msg=f"{name}, {graph_name}: {field}"
                    )
                assert (supersteps, ended) == (expected.supersteps, expected.ended), (name, graph_name)
        print(name, flush=True)


if __name__ == "__main__":
    main()
