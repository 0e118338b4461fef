"""The radix sort of CUB, by `cuda.compute`: keys with their indices, both of 32 bits."""

from typing import Any


def cub_sort(keys: Any) -> tuple[Any, Any]:
    """Sort keys by the bits that they have, in as few passes as that takes.

    Args:
        keys: uint32 on the GPU.

    Returns:
        The keys in ascending order, and the index of each, uint32.
    """
    import cupy
    from cuda.compute import SortOrder, radix_sort

    indices = cupy.arange(len(keys), dtype=cupy.uint32)
    by_key, order = cupy.empty_like(keys), cupy.empty_like(indices)
    radix_sort(
        d_in_keys=keys,
        d_out_keys=by_key,
        d_in_values=indices,
        d_out_values=order,
        num_items=len(keys),
        order=SortOrder.ASCENDING,
        end_bit=int(keys.max()).bit_length(),
    )
    return by_key, order
