"""Fields that have to be the same but for the rounding of floats."""

from collections.abc import Mapping

import numpy as np


def check_rounded(
    got: Mapping[str, np.ndarray],
    expected: Mapping[str, np.ndarray],
    rounding: Mapping[str, float],
    where: str = "",
) -> None:
    """Compare fields of runs that add up floats in another order: integers have to be equal.

    Args:
        got, expected: by name.
        rounding: for each dtype of floats, how far values may be apart: relatively, or for this share of the largest
            float of all fields, for a field may be the difference of others.
        where: for the message.
    """
    floats = [values[np.isfinite(values)] for values in expected.values() if values.dtype.kind == "f"]
    largest = max((np.abs(values).max(initial=0) for values in floats), default=0)
    for name, values in expected.items():
        allowed = rounding.get(str(values.dtype), 0)
        np.testing.assert_allclose(got[name], values, allowed, allowed * largest, err_msg=f"{where} {name}")
