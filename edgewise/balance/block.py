"""A block for each vertex (block-mapped)."""

from typing import Any

import numpy as np

from edgewise.kernels.cuda.device import block_index, block_size, block_thread, device_function, num_blocks


def make_block_mapped(body: Any, listed: bool) -> Any:
    """The view of one block for each vertex."""

    @device_function
    def each(vertices, low, high, offsets, scratch, context):
        for i in range(low + block_index(), high, num_blocks()):
            v = np.int64(vertices[i]) if listed else np.int64(i)
            first, end = np.int64(offsets[v]) + block_thread(), np.int64(offsets[v + 1])
            body(v, first, end, block_size(), block_size(), context)

    return each
