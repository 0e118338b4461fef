"""Warps of several lanes in numba's simulator, which has warps of one lane: what lanes tell each other is then seen.

A vote or a shuffle waits until all lanes of the warp have come to one. Where a lane does not come, because it took
another branch, the wait ends with an error after a while; a GPU would hang there or give any answer.
"""

import threading

import numpy as np

from edgewise.kernels.cuda import device as cuda_device

#: Lanes of a warp, threads of the one block, and how long lanes wait for each other.
LANES, THREADS, SECONDS = 4, 8, 60

_barriers = [threading.Barrier(LANES) for _ in range(THREADS // LANES)]
_given = np.empty((THREADS // LANES, LANES), object)


def _exchange(value):
    """What all lanes of the warp give, and the number of this lane."""
    warp, lane = divmod(threading.current_thread().threadIdx.x, LANES)
    _given[warp, lane] = value
    _barriers[warp].wait(SECONDS)
    given = list(_given[warp])
    _barriers[warp].wait(SECONDS)
    return given, lane


def _ballot(flag):
    given, _ = _exchange(bool(flag))
    return np.uint32(sum(1 << lane for lane, flag in enumerate(given) if flag))


def _shuffle(value, from_lane):
    given, _ = _exchange(value)
    return given[from_lane % LANES]


def _shuffle_up(value, lanes):
    given, lane = _exchange(value)
    return given[lane - lanes] if lane >= lanes else value


def _shuffle_down(value, lanes):
    given, lane = _exchange(value)
    return given[lane + lanes] if lane + lanes < LANES else value


def with_warps():
    """Give the simulator such warps. To be called before kernels are loaded."""
    cuda_device.WARP, cuda_device.THREADS, cuda_device.WARPS = LANES, THREADS, THREADS // LANES
    cuda_device.HALVES = tuple(LANES >> step for step in range(1, LANES.bit_length()))
    cuda_device.ballot, cuda_device.warp_barrier = _ballot, lambda: _exchange(None)
    cuda_device.shuffle, cuda_device.shuffle_up, cuda_device.shuffle_down = (
        _shuffle,
        _shuffle_up,
        _shuffle_down,
    )
