"""The arrays that hold the names of a text while it is scanned."""

from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np

from edgewise.io import tokens


@dataclass
class NameRoom:
    """Room for names: their bytes, where each ends, its hash, and a hash table of their numbers."""

    pool: np.ndarray = field(default_factory=lambda: np.empty(2**16, np.uint8))
    ends: np.ndarray = field(default_factory=lambda: np.empty(2**12, np.int64))
    hashes: np.ndarray = field(default_factory=lambda: np.empty(2**12, np.uint64))
    slots: np.ndarray = field(default_factory=lambda: np.full(2**13, -1, np.int32))

    def make_room(self, state: np.ndarray, length: int) -> None:
        """Make room for one more name of this length, and for half as many names as the table is long."""
        known, used = int(state[tokens.NAMES]), int(state[tokens.POOL])
        if used + length > len(self.pool):
            pool = np.empty(2 * len(self.pool) + length, np.uint8)
            pool[:used] = self.pool[:used]  # the rest takes memory when it is written
            self.pool = pool
        if 2 * known >= len(self.slots):
            self.ends = np.concatenate([self.ends, np.empty_like(self.ends)])
            self.hashes = np.concatenate([self.hashes, np.empty_like(self.hashes)])
            self.slots = np.full(2 * len(self.slots), -1, np.int32)
            tokens.refill(self.hashes[:known], self.slots)

    def decoded(self, state: np.ndarray) -> list[str]:
        """The names as strings."""
        data, ends = self.pool.data, self.ends[: state[tokens.NAMES]].tolist()
        return [str(data[start:end], "utf-8") for start, end in pairwise([0, *ends])]
