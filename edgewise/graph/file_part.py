"""Some rows of a graph in a file, such as those of one rank of several: of each array only their part is checked.

What is checked is what `edgewise.graph.file_rows` checks, block by block. Whether in-edges are those of the out-edges,
and whether each edge of an undirected graph has both directions, only shows in sums over all arcs: `sums` has those of
these rows, and `join` takes what the parts of all rows have together.
"""

from functools import cached_property

import numpy as np

from edgewise.graph.file_checks import RowsPart, check_below, check_finite, copy_rising, walk_arcs
from edgewise.graph.file_format import BLOCK
from edgewise.graph.file_rows import FileRows, refuse
from edgewise.kernels.cpu.launch import sealed


class FilePart:
    """The arcs of some rows in a file. Arrays have the lengths of those of all rows, so that places are the same.

    Args:
        rows: all rows.
        own: those that are used.

    Attributes:
        own: the same.

    Raises:
        ParseError: the rows end before they begin, as they do where offsets fall; and by the arrays, see
            `edgewise.graph.file_rows.FileRows`.
        FileChangedError: the file was written to.
    """

    def __init__(self, rows: FileRows, own: slice) -> None:
        self.own, self._rows, self._file, self._names = own, rows, rows.file, rows.names
        self._seen = dict[str, tuple[int, int]]()
        if own.stop < own.start:
            raise self._file.damaged(f"{self._names[0]} fall")

    @cached_property
    def offsets(self) -> np.ndarray:
        """Where rows begin, in memory; zeros for other rows, which take no memory."""
        file, name, own = self._file, self._names[0], self.own
        values = file.values(name)
        blocks = _blocks(own.start, own.stop + 1, values.itemsize)
        offsets, wrong = copy_rising(file.words(name), file.sums(name), values, blocks)
        refuse(file, name, wrong)
        first, last, m = int(offsets[own.start]), int(offsets[own.stop]), file.header.num_arcs
        is_first, is_last = own.start == 0, own.stop == len(offsets) - 1
        if first < 0 or last > m or (is_first and first != 0) or (is_last and last != m):
            raise file.damaged(f"{name} go from {first:,} to {last:,}, not from 0 to the number of arcs")
        file.check_unchanged()
        return sealed(offsets)

    @cached_property
    def targets(self) -> np.ndarray:
        """Where arcs go, mapped; those of other rows are not checked."""
        return self._checked(self._names[1], None)

    @cached_property
    def weights(self) -> np.ndarray | None:
        """The weights of arcs, mapped, or None; those of other rows are not checked."""
        return None if self._rows.weight_dtype is None else self._checked(self._names[2], self.targets)

    def _checked(self, name: str, targets: np.ndarray | None) -> np.ndarray:
        """Targets or, if these are given, weights."""
        file, offsets, own = self._file, self.offsets, self.own
        values = file.values(name)
        blocks = _blocks(int(offsets[own.start]), int(offsets[own.stop]), values.itemsize)
        words, sums = file.words(name), file.sums(name)
        if self._rows.walks:
            ends, weights = (values, None) if targets is None else (targets, values)
            which, part = self._rows.which_arcs, RowsPart(own, blocks)
            walked = walk_arcs(words, sums, offsets, ends, weights, which, part)
            wrong, self._seen[name] = walked.wrong, (walked.print, walked.loops)
        elif targets is None:
            wrong = check_below(words, sums, values, file.header.num_vertices, blocks)
        else:
            wrong = check_finite(words, sums, values, blocks)
        refuse(file, name, wrong)
        file.check_unchanged()
        return sealed(values)

    @property
    def sums(self) -> np.ndarray:
        """The sums over the arcs of these rows, of each array that was checked and not joined yet, uint64."""
        return np.array([each for seen in self._seen.values() for each in seen], np.uint64)

    def join(self, sums: np.ndarray) -> None:
        """Take the sums over the arcs of all rows, those of `sums` of all parts added. Raises ParseError."""
        for place, name in enumerate(self._seen):
            self._rows.check_print(name, *sums[2 * place : 2 * place + 2].tolist())
        self._seen.clear()


def _blocks(begin: int, end: int, itemsize: int) -> slice:
    """The blocks that hold some elements of an array."""
    return slice(begin * itemsize // BLOCK, -(-end * itemsize // BLOCK)) if begin < end else slice(0, 0)
