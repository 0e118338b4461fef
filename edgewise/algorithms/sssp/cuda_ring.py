# mypy: disable-error-code="assignment"
# (A variable of a kernel may be a Python and a NumPy integer by turns: numba unifies them.)
"""A window of rows that a kernel goes through in order, on a GPU whose memory is too small for all rows.

The arcs of the window lie in a ring. The kernel moves the window on, a list of rows at a time, and says so. Meanwhile
the host has the arcs that follow copied to a stage, by a stream of its own, at the rate of the link; from there the
kernel takes them to the ring. What has not arrived yet it takes from where it lies, and so it reads what is not in the
window: no kernel waits for the host. The first arcs, which may lie on the GPU anyway, are never in the window.

Reference. Zhu et al., "WolfPath", International Journal of Parallel Programming 47 (2019), sections 4.4 and 4.5.
"""

from typing import Any, NamedTuple, final

import numpy as np

from edgewise.errors import DeviceError
from edgewise.kernels.cuda.arguments import Int64s, Offsets, Uint32s, Weights
from edgewise.kernels.cuda.device import (
    block_barrier,
    block_thread,
    device_function,
    load_fresh,
    num_threads,
    thread_index,
)
from edgewise.kernels.cuda.memory import empty, new_stream, pinned, send, send_part, zeros
from edgewise.kernels.cuda.placed import on_gpu
from edgewise.layout.layers import STAGE_PIECES, ring_arcs, stage_arcs


class OutArcs(NamedTuple):
    """Rows with weights, or with another array in their place; and the arcs of a window, on the GPU.

    Attributes:
        offsets, targets, weights: the rows.
        ring_targets, ring_weights: arc k of the window lies at ``k & ring_mask``.
        stage_targets, stage_weights: arc k that follows the window is at ``k & stage_mask`` if it has arrived.
        arrived: shape (1,): the arc after the last one that has.
        ring_mask, stage_mask: lengths, powers of two, less 1.
        there: the first arc that does not lie on the GPU.
    """

    offsets: Offsets
    targets: Uint32s
    weights: Weights
    ring_targets: Uint32s
    ring_weights: Weights
    stage_targets: Uint32s
    stage_weights: Weights
    arrived: Int64s
    ring_mask: int
    stage_mask: int
    there: int


class Windowed(NamedTuple):
    """What a block needs of `OutArcs` to walk rows; and in its shared memory the first arc of the window, and the one
    after its last."""

    offsets: Any
    targets: Any
    weights: Any
    ring_targets: Any
    ring_weights: Any
    ring_mask: Any
    window: Any


@device_function
def windowed(arcs: Any, window: Any) -> Any:
    """`Windowed`, with two words of shared memory for the window, which is empty. It has a barrier of the block."""
    if block_thread() < 2:
        window[block_thread()] = arcs.there
    block_barrier()
    ring = (arcs.ring_targets, arcs.ring_weights, arcs.ring_mask)
    return Windowed(arcs.offsets, arcs.targets, arcs.weights, ring[0], ring[1], ring[2], window)


@device_function
def in_window(k: Any, graph: Any) -> Any:
    """Whether an arc is in the window."""
    return graph.window[0] <= k < graph.window[1]


@device_function
def target_by_window(k: Any, graph: Any) -> Any:
    """The target of an arc, wherever it lies."""
    return np.int64(graph.ring_targets[k & graph.ring_mask] if in_window(k, graph) else graph.targets[k])


def make_move_on(weighted: bool) -> Any:
    """The function that moves the window on.

    Returns:
        ``move_on(first, last, arcs, graph, host, begun_word, control, moved_word)``: the window gets the arcs up to
        `last`, or as many from `first` on as the ring has room for, unless it is there already. Where it ended until
        now is written to a word of the host's array: what is before is no longer needed in the stage. How many arcs
        came into the window, and how many of them had not arrived, is added to two words of `control`. All threads of
        the grid call it, between barriers of the grid.
    """

    @device_function
    def move_on(first, last, arcs, graph, host, begun_word, control, moved_word):
        low, high, slots = graph.window[0], graph.window[1], arcs.ring_mask + 1
        if first > high:
            low = high = first
        last = max(high, min(last, first + slots))
        arrived = load_fresh(arcs.arrived, high >> 62)  # 0: but the compiler would load from there only once
        for k in range(high + thread_index(), last, num_threads()):
            place, staged = k & arcs.ring_mask, k & arcs.stage_mask
            graph.ring_targets[place] = arcs.stage_targets[staged] if k < arrived else arcs.targets[k]
            if weighted:
                graph.ring_weights[place] = arcs.stage_weights[staged] if k < arrived else arcs.weights[k]
        block_barrier()
        if block_thread() == 0:
            graph.window[0] = max(low, last - slots)
            graph.window[1] = last
        if thread_index() == 0:
            host[begun_word] = high
            control[moved_word] += last - high
            control[moved_word + 1] += max(np.int64(0), last - max(high, arrived))

    return move_on


@final
class Ring:
    """The ring of a run, a context: each time that it is called in it, it has as many arcs copied ahead as there is
    room for, and at the end it waits for the copies.

    Attributes:
        arcs: what the kernel takes.
    """

    def __init__(
        self, rows: tuple[Any, Any, Any], weighted: bool, first: int, host: np.ndarray, begun_word: int
    ) -> None:
        """A ring for rows.

        Args:
            rows: offsets, targets and weights, as kernels take them.
            weighted: whether there are weights; else `rows` has another array in their place.
            first: the first arc that the kernel wants.
            host, begun_word: where the kernel says how far its window reached.
        """
        _, targets, weights = rows
        parts = [on_gpu(each) // each.itemsize for each in rows[1 : 2 + weighted]]
        there = min(max(parts), len(targets))
        ring, stage = ring_arcs(len(targets)), stage_arcs(len(targets))
        of_targets = empty(ring, np.uint32), empty(stage, np.uint32)
        of_weights = (empty(ring, weights.dtype), empty(stage, weights.dtype)) if weighted else of_targets
        each = (of_targets[0], of_weights[0], of_targets[1], of_weights[1])
        self.arcs = OutArcs(*rows, *each, zeros(1, np.int64), ring - 1, stage - 1, there)
        self._copies = [(of_targets[1], targets), (of_weights[1], weights)][: 1 + weighted]
        host[begun_word] = max(first, there)
        self._host, self._begun, self._stage, self._there = host, begun_word, stage, there
        self._piece, self._sent = max(1, stage // STAGE_PIECES), 0
        pieces = -(-len(targets) // self._piece)
        self._ends = pinned(pieces, np.int64)
        self._ends[:] = np.minimum((np.arange(pieces) + 1) * self._piece, len(targets))
        self._stream: Any = None

    def __enter__(self) -> None:
        self._stream = new_stream(follows=True)

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is None or not issubclass(kind, DeviceError):
            self._stream.synchronize()

    def __call__(self) -> None:
        begun = int(self._host[self._begun])
        self._sent = max(self._sent, begun // self._piece)
        while self._sent < len(self._ends) and self._ends[self._sent] <= begun + self._stage:
            self._send(max(self._sent * self._piece, self._there), self._ends[self._sent : self._sent + 1])
            self._sent += 1

    def _send(self, first: int, end: np.ndarray) -> None:
        """Start to copy the arcs from `first` to an end, and then that number."""
        with self._stream:
            for stage, values in self._copies:
                send_part(stage, first % self._stage, values, first, int(end[0]) - first)
            send(self.arcs.arrived, end)
