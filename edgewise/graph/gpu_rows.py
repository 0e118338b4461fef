"""Rows whose arrays lie on the GPU: they are built there by sorting, and copied to the host when first read there."""

from functools import cached_property
from typing import Any

import numpy as np

from edgewise.errors import GraphError
from edgewise.graph import csr
from edgewise.graph.checks import as_rows
from edgewise.graph.foreign_arrays import as_cupy, lies_on_gpu
from edgewise.graph.id_columns import as_id_column
from edgewise.graph.ids import Ids
from edgewise.graph.weights import as_weights
from edgewise.kernels.cpu.launch import Sealed, sealed
from edgewise.kernels.door import cuda_door

#: Bytes that building takes for each edge, and making in-edges for each arc: both ends as one number, the sort's key
#: and index, and both once more as the sort's buffer.
ARC_BYTES = 32


class GpuRows(Sealed):
    """The arcs of each vertex, one row after another, on the GPU.

    Attributes:
        on_gpu: the rows as CuPy arrays.
    """

    def __init__(self, offsets: Any, targets: Any, weights: Any) -> None:
        self.on_gpu = csr.Rows(offsets, targets, weights)

    @cached_property
    def offsets(self) -> np.ndarray:
        """A copy in the host's memory."""
        return sealed(cuda_door().host_copy(self.on_gpu.offsets))

    @cached_property
    def targets(self) -> np.ndarray:
        """A copy in the host's memory."""
        return sealed(cuda_door().host_copy(self.on_gpu.targets))

    @cached_property
    def weights(self) -> np.ndarray | None:
        """A copy in the host's memory, or None."""
        weights = self.on_gpu.weights
        return None if weights is None else sealed(cuda_door().host_copy(weights))

    @property
    def not_on_host(self) -> int:
        """Bytes of the arrays that have no copy in the host's memory yet."""
        arrays = vars(self.on_gpu).items()
        return sum(each.nbytes for name, each in arrays if each is not None and name not in vars(self))

    def transposed(self) -> "GpuRows":
        """The in-edges: arcs sorted by target, then by source; parallel arcs keep their order.

        Raises:
            MemoryLimitError: the GPU has no room for them.
        """
        from edgewise.graph.keys_cuda import arc_keys

        offsets, targets = self.on_gpu.offsets, self.on_gpu.targets
        weights: Any = self.on_gpu.weights
        with cuda_door().room("making in-edges", ARC_BYTES * len(targets)):
            keys = arc_keys(offsets, targets)
            if weights is None:
                keys.sort()
            else:
                order = cuda_door().cupy().argsort(targets, kind="stable")
                keys, weights = keys[order], weights[order]
            return _rows_of(keys, weights, len(offsets) - 1)


def gpu_column(column: Any, name: str) -> Any:
    """A column of numbers as a CuPy array, not copied where it lies on the GPU already."""
    array = as_cupy(column)
    if array.ndim != 1:
        raise GraphError(f"{name} has shape {array.shape}; expected one dimension, an entry for each edge")
    return array


def given_rows(offsets: Any, targets: Any, weights: Any) -> csr.Rows | GpuRows:
    """Compressed sparse rows from a caller's arrays, which are shared where their dtypes are right: on the GPU if the
    targets lie there, else on the host."""
    if not lies_on_gpu(targets):
        return as_rows(offsets, targets, None if weights is None else as_weights(weights))
    xp = cuda_door().cupy()
    if weights is not None:
        weights = as_weights(as_cupy(weights), xp)
    rows = as_rows(as_cupy(offsets), as_cupy(targets), weights, xp)
    return GpuRows(rows.offsets, rows.targets, rows.weights)


def build(
    source: Any,
    target: Any,
    weights: Any,
    num_vertices: int | None,
    *,
    both_directions: bool,
    drop_loops: bool,
) -> tuple[GpuRows, Ids, int]:
    """Rows of the targets of each source, each in the order of the input, built on the current stream.

    Args:
        source, target: integers, shape (m,), CuPy arrays.
        weights: None, or shape (m,).
        num_vertices: as in `Graph.from_edges`.
        both_directions: put each edge into the rows of both its ends, a self-loop once.
        drop_loops: leave out edges from a vertex to itself.

    Returns:
        The rows, the ids, and the number of self-loops in the rows.

    Raises:
        GraphError: ids that are no integers, or an id out of range.
    """
    xp = cuda_door().cupy()
    for name, column in (("source", source), ("target", target)):
        if column.dtype.kind not in "iu":
            raise GraphError(f"{name} has dtype {column.dtype}; expected integers on the GPU")
    if num_vertices is None:
        both = xp.concatenate([source, target])
        if both.dtype.kind not in "iu":
            raise GraphError(f"ids of {source.dtype} and {target.dtype} have no common integers; convert one")
        known, numbers = xp.unique(both, return_inverse=True)
        column = as_id_column(cuda_door().host_copy(known), "source")
        ids = Ids(len(known), column.astype(np.int64) if column.dtype == np.int32 else column)
        source, target = numbers[: len(source)], numbers[len(source) :]
    else:
        ids = Ids(num_vertices)
        _check_in_range(source, target, num_vertices)
    loops = xp.equal(source, target)
    if drop_loops:
        kept = ~loops
        source, target, loops = source[kept], target[kept], loops[kept]
        weights = None if weights is None else weights[kept]
    num_loops = int(xp.count_nonzero(loops))
    if both_directions:
        # Edge by edge, there and back; a loop only there.
        kept = xp.stack([xp.ones_like(loops), ~loops], axis=1).ravel()
        there, back = (source, target), (target, source)
        source, target = (
            xp.stack([one, other], axis=1).ravel()[kept] for one, other in zip(there, back, strict=True)
        )
        weights = None if weights is None else xp.repeat(weights, 2)[kept]
    return _rows(source, target, weights, ids.num_vertices), ids, num_loops


def _check_in_range(source: Any, target: Any, num_vertices: int) -> None:
    """Refuse the first edge that is out of range."""
    xp = cuda_door().cupy()
    # As unsigned integers of 32 bits or more, those below 0 are large.
    wide = (ids.astype(np.int32) if ids.itemsize < 4 else ids for ids in (source, target))
    if not len(source) or all(int(ids.view(f"u{ids.itemsize}").max()) < num_vertices for ids in wide):
        return
    wrong = (source < 0) | (source >= num_vertices) | (target < 0) | (target >= num_vertices)
    edge = int(xp.argmax(wrong))
    raise GraphError(
        f"edge {edge} joins {int(source[edge])} and {int(target[edge])}; num_vertices={num_vertices} allows ids "
        f"from 0 to {num_vertices - 1}. Leave num_vertices out for ids of any size"
    )


def _rows(source: Any, target: Any, weights: Any, num_vertices: int) -> GpuRows:
    """Rows by a stable sort of the sources, words of 32 bits: half the passes of a sort of 64-bit words."""
    xp = cuda_door().cupy()
    source, target = (ids.astype(np.int32, copy=False) for ids in (source, target))
    order = xp.argsort(source, kind="stable")
    keys = xp.stack([target, source], axis=1).view(np.int64).ravel()
    return _rows_of(keys[order], None if weights is None else weights[order], num_vertices)


def _rows_of(keys: Any, weights: Any, num_vertices: int) -> GpuRows:
    """Rows from sorted keys: each has an arc's row in its upper half and its target in its lower half.

    Where a row begins is looked up: CuPy's bincount takes four times as long as the sort.
    """
    xp = cuda_door().cupy()
    begins = xp.searchsorted(keys, xp.left_shift(xp.arange(num_vertices + 1, dtype=np.int64), 32))
    targets = xp.ascontiguousarray(keys.view(np.int32)[::2])
    return GpuRows(begins.astype(csr.offset_dtype(len(keys)), copy=False), targets, weights)
