"""Numbers of shortest paths on a GPU, which leave the range of float64 on lattices.

Counts begin with 2**-960, so they may grow by 2**1920 without leaving that range. Where they grow further, they have
powers beside them, with which counts go on or, where a search begins with them, begin with 1: a number is
``value * 2**(512 * power)``, a sum keeps the largest power and what is one below it. Scaling by powers of two is exact.
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
