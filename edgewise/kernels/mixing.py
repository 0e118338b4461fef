"""One mixing of 64 bits, for hash tables and for random numbers that are the same on every machine."""

from typing import Any

import numpy as np

from edgewise.kernels.cache import kernel


@kernel
def mix64(x: Any) -> Any:
    """A bijection of uint64 whose every output bit depends on every input bit.

    The finaliser of SplitMix64: Steele, Lea, Flood, "Fast Splittable Pseudorandom Number Generators" (OOPSLA
    2014), figure 16, with Stafford's constants (variant 13).
    """
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))
