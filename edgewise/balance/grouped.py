"""One lane for each vertex (thread-mapped), a virtual warp of 2 to 16 lanes, or a warp (warp-mapped).

Reference. Hong, Kim, Oguntebi and Olukotun, "Accelerating CUDA Graph Algorithms at Maximum Warp", PPoPP 2011.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from edgewise.kernels.cuda.device import WARP, device_function, lane, num_threads, thread_index


def make_grouped(lanes: int) -> Callable[[Any, bool], Any]:
    """The view in which each vertex has `lanes` adjacent lanes: a power of 2, at most a warp."""
    wide = min(lanes, WARP)

    def make(body: Any, listed: bool) -> Any:
        @device_function
        def each(vertices, low, high, offsets, scratch, context):
            warp, warps, held = thread_index() // WARP, num_threads() // WARP, WARP // wide
            for begin in range(low + warp * held, high, warps * held):
                i, v, first, end = begin + lane() // wide, np.int64(-1), np.int64(0), np.int64(0)
                if i < high:
                    v = np.int64(vertices[i]) if listed else i
                    first, end = np.int64(offsets[v]) + lane() % wide, np.int64(offsets[v + 1])
                body(v, first, end, np.int64(wide), np.int64(wide), context)

        return each

    return make
