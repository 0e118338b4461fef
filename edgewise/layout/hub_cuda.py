"""The vertex with the most in-edges, as far as a sample of the arcs tells, on the GPU."""

import functools
import itertools
import math
from typing import Any, NamedTuple

import numpy as np

from edgewise.kernels.cuda.arguments import AtomicUint32s, Uint32s, type_of
from edgewise.kernels.cuda.device import atomic_add, num_threads, thread_index
from edgewise.kernels.cuda.launch import Kernel, fixed_kernel
from edgewise.kernels.cuda.memory import zeros

_GOLDEN = 0.6180339887498949


class Sample(NamedTuple):
    """What `count_kernel` takes.

    Attributes:
        targets: of all arcs.
        counts: shape (n,): zeros.
        step: how far apart arcs of the sample lie, one after the other, around the end of all arcs.
        taken: arcs of the sample.
        m: arcs.
    """

    targets: Uint32s
    counts: AtomicUint32s
    step: int
    taken: int
    m: int


SIGNATURE = (type_of(Sample),)


def count_kernel(it):
    """How often each vertex is the target of an arc of the sample; see `Sample`."""
    for i in range(thread_index(), it.taken, num_threads()):
        atomic_add(it.counts, np.int64(it.targets[i * it.step % it.m]), np.uint32(1))


@functools.cache
def _kernel() -> Kernel:
    return fixed_kernel(count_kernel, SIGNATURE)


def hub_degree(targets: Any, num_vertices: int, taken: int) -> int:
    """The in-degree of the vertex that is most frequent in a sample of arcs.

    To count the arcs of all vertices takes as long as some supersteps.

    Args:
        targets: uint32, shape (m,), m > 0: on the GPU.
        num_vertices: vertices.
        taken: arcs of the sample, no more than m; less than 2**63 / m.
    """
    m = len(targets)
    # Multiples of the golden ratio are evenly spread, and no length of rows is in step with them.
    step = next(step for step in itertools.count(max(1, int(_GOLDEN * m))) if math.gcd(step, m) == 1)
    counts = zeros(num_vertices, np.uint32)
    _kernel().start([Sample(targets, counts, step, taken, m)])
    return int((targets == counts.argmax().astype(np.uint32)).sum())
