"""Numbers of shortest paths on a GPU, which leave the range of float64 on lattices.

Counts begin with 2**-960 in place of 1, so they may grow by a factor of 2**1920 within that range. Where they grow
further, each has a power beside it and is ``value * 2**(512 * power)``. Counts that a search has so far are given
powers then; in a search that has powers from its start, counts begin with 1. A sum has the larger power of its two
terms; a term whose power is smaller by 2 or more is left out. Scaling by powers of two is exact.
"""

from typing import Any

from edgewise.kernels.cuda.device import device_function

#: Counts without powers begin with this, and may grow so large; with powers, so large, and are then scaled down.
FIRST, LIMIT = 2.0**-960, 2.0**960
LARGE, SMALL = 2.0**512, 2.0**-512


def make_plus(with_powers: bool) -> Any:
    """``plus(a, p, b, q)``: the sum of two counts with their powers, and its power."""
    if not with_powers:

        @device_function
        def plus(a, p, b, q):
            return a + b, p

        return plus

    @device_function
    def plus_with_powers(a, p, b, q):
        """The sum of a * 2**(512 p) and b * 2**(512 q)."""
        if b == 0.0 or (a != 0.0 and p > q + 1):
            return a, p
        if a == 0.0 or q > p + 1:
            return b, q
        if p == q:
            return a + b, p
        if p > q:
            return a + b * SMALL, p
        return a * SMALL + b, q

    return plus_with_powers
