"""Rows and ids in a file: memory-mapped arrays, each checked when it is first used.

An array that has been handed out was checked in full: the checksum of each block, and that offsets go from 0 to the
number of arcs and never fall, indices are those of vertices, weights are finite, and ids are distinct. In-edges have
to ascend in each row, and are compared with the out-edges as soon as both have been used. An undirected graph has to
have every edge in both directions, with one weight: see `edgewise.graph.file_checks` for how that is checked in one
pass. Two things are not checked: whether the arcs of parallel edges of different weights are in the same order in both
directions, which decides only which two arcs of such edges a program with edge fields takes for one edge; and whether
both arcs of an edge have one edge number, and one value of attributes that are in the order of arcs.

Offsets are copied into memory before they are checked, since a kernel that reads an offset twice must find the same
number. A file that changes during a run can then make an answer wrong, and such a run is refused; it cannot change the
length of a row.
"""

from collections.abc import Callable
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np

from edgewise.graph import csr
from edgewise.graph.file_checks import (
    BOTH_ARCS,
    IN_ARCS,
    OUT_ARCS,
    RIGHT,
    WRONG_ORDER,
    WRONG_SUM,
    check_below,
    check_finite,
    copy_rising,
    walk_arcs,
)
from edgewise.graph.file_format import INTEGER_IDS, RANGE_IDS, STRING_IDS
from edgewise.graph.file_header import FileHeader
from edgewise.graph.file_map import GraphFile
from edgewise.graph.ids import Ids
from edgewise.kernels.cpu.launch import sealed
from edgewise.memory import Step, held

#: The names of the arrays of rows: of out-edges, and of in-edges.
_OUT, _IN = ("offsets", "targets", "weights"), ("in_offsets", "in_sources", "in_weights")

#: Bytes of an id that is an object, beside its text; and those that reading it takes beside that.
_OBJECT_BYTES, _READING_BYTES = 72, 184


class FileRows:
    """The arcs of each vertex, one row after another, in a file; see `edgewise.graph.csr.Rows`.

    Attributes:
        file: where they lie.
        names: of the arrays.
        make_in_edges: makes the in-edges of rows in layers, see `edgewise.graph.moved`; None for others.
    """

    make_in_edges: Callable[[], csr.Rows] | None = None

    def __init__(self, file: GraphFile, *, inward: bool = False) -> None:
        self.file, self._inward = file, inward
        self.names = _IN if inward else _OUT

    def __reduce__(self) -> tuple[Any, ...]:
        return (_in_rows if self._inward else FileRows), (self.file,)

    @property
    def offsets(self) -> np.ndarray:
        """Where rows begin, in memory."""
        return self._unchanged("_offsets")

    @property
    def targets(self) -> np.ndarray:
        """Where arcs go, mapped."""
        return self._unchanged("_targets")

    @property
    def weights(self) -> np.ndarray | None:
        """The weights of arcs, mapped, or None."""
        return None if self.weight_dtype is None else self._unchanged("_weights")

    @property
    def edge_numbers(self) -> np.ndarray | None:
        """The number of the edge of each arc, mapped, or None."""
        return self._unchanged("_edge_numbers") if "edge_numbers" in self.file.header.arrays else None

    @property
    def weight_dtype(self) -> np.dtype | None:
        """That of the weights, or None; nothing is read."""
        array = self.file.header.arrays.get(self.names[2])
        return None if array is None else array.dtype

    @property
    def offset_dtype(self) -> np.dtype:
        """That of the offsets; nothing is read."""
        return self.file.header.arrays[self.names[0]].dtype

    @property
    def nbytes(self) -> int:
        """Bytes of all arrays in the file but checksums."""
        return sum(array.nbytes for array in self.file.header.arrays.values())

    @property
    def not_in_memory(self) -> int:
        """Bytes of the offsets, those of in-edges included, as long as they have no copy in memory."""
        inward = 0 if self._inward or self.in_edges is None else self.in_edges.not_in_memory
        return inward + (0 if "_offsets" in vars(self) else self.file.header.arrays[self.names[0]].nbytes)

    @cached_property
    def in_edges(self) -> "FileRows | None":
        """The in-edges, if they are in the file."""
        return FileRows(self.file, inward=True) if _IN[0] in self.file.header.arrays else None

    def _unchanged(self, name: str) -> Any:
        """A checked array of a file that has not changed since it was opened."""
        self.file.check_unchanged()
        if name not in vars(self):
            with self.file.lock:
                _ = getattr(self, name)
            self.file.check_unchanged()
        return vars(self)[name]

    @cached_property
    def _offsets(self) -> np.ndarray:
        file, name = self.file, self.names[0]
        offsets, wrong = copy_rising(file.words(name), file.sums(name), file.values(name))
        refuse(file, name, wrong)
        if offsets[0] != 0 or offsets[-1] != file.header.num_arcs:
            raise file.damaged(
                f"{name} go from {offsets[0]:,} to {offsets[-1]:,}, not from 0 to the number of arcs"
            )
        return sealed(offsets)

    @cached_property
    def _targets(self) -> np.ndarray:
        file, name = self.file, self.names[1]
        targets = file.values(name)
        if not self.walks:
            limit = file.header.num_vertices
            refuse(file, name, check_below(file.words(name), file.sums(name), targets, limit))
        else:
            self._walk(name, targets, None)
        return sealed(targets)

    @cached_property
    def _weights(self) -> np.ndarray:
        file, name = self.file, self.names[2]
        weights = file.values(name)
        if not self.walks:
            refuse(file, name, check_finite(file.words(name), file.sums(name), weights))
        else:
            self._walk(name, self.targets, weights)
        return sealed(weights)

    @cached_property
    def _edge_numbers(self) -> np.ndarray:
        file, name = self.file, "edge_numbers"
        numbers = file.values(name)
        limit = int(np.iinfo(numbers.dtype).max)
        for attribute in file.header.attributes:
            limit = file.header.arrays[attribute].length
        refuse(file, name, check_below(file.words(name), file.sums(name), numbers, limit))
        return sealed(numbers)

    def _walk(self, name: str, targets: np.ndarray, weights: np.ndarray | None) -> None:
        """Check targets or weights of rows that have their arcs in a second order as well."""
        file = self.file
        arrays = file.words(name), file.sums(name), self.offsets, targets, weights
        walked = walk_arcs(*arrays, self.which_arcs)
        refuse(file, name, walked.wrong)
        self.check_print(name, walked.print, walked.loops)

    @property
    def walks(self) -> bool:
        """Whether the file has the arcs in a second order as well, with which they are compared."""
        return not self.file.header.directed or _IN[0] in self.file.header.arrays

    @property
    def which_arcs(self) -> int:
        """Which arcs a print is of, see `edgewise.graph.file_checks`."""
        return IN_ARCS if self._inward else OUT_ARCS if self.file.header.directed else BOTH_ARCS

    def check_print(self, name: str, of_arcs: int, loops: int) -> None:
        """Compare the arcs of all rows with those in the second order.

        Args:
            name: of the array, targets or weights.
            of_arcs, loops: their print, and how many are from a vertex to itself.

        Raises:
            ParseError: they are not those of the same edges.
        """
        file, header = self.file, self.file.header
        if not header.directed:
            if of_arcs != 0 or loops != header.num_loops:
                raise file.damaged(
                    "it is said to be undirected, but not every edge has both directions and one weight"
                )
            return
        file.prints[name] = of_arcs
        other = dict(zip(_OUT + _IN, _IN + _OUT, strict=True))[name]
        if file.prints.get(other, of_arcs) != of_arcs:
            raise file.damaged(f"{name} and {other} are not those of the same edges")


def _in_rows(file: GraphFile) -> FileRows:
    """The in-edges in a file."""
    return FileRows(file, inward=True)


def refuse(file: GraphFile, name: str, wrong: np.ndarray) -> None:
    """Raise the error for the first block that is wrong, unless the file has changed, which says more."""
    places = np.flatnonzero(wrong != RIGHT)
    if len(places):
        file.check_unchanged()
        block, code = int(places[0]), int(wrong[places[0]])
        if code == WRONG_SUM:
            some = "one" if len(places) == 1 else f"the first of {len(places):,}"
            raise file.damaged(f"block {block:,} of {name} does not have its checksum ({some} that is wrong)")
        problem = "values out of order" if code == WRONG_ORDER else "values that no such graph has"
        raise file.damaged(f"block {block:,} of {name} has {problem}")


class FileIds(Ids):
    """Ids in a file, which are read and checked when one is first asked for; see `edgewise.graph.ids.Ids`."""

    def __init__(self, file: GraphFile) -> None:
        vars(self).update(num_vertices=file.header.num_vertices, file=file)

    def __reduce__(self) -> tuple[Any, ...]:
        return FileIds, (vars(self)["file"],)

    @cached_property
    def given(self) -> np.ndarray:
        """The ids; integers are mapped, others are Python objects."""
        file: GraphFile = vars(self)["file"]
        with file.lock:
            ids = _integers(file) if file.header.ids == INTEGER_IDS else _objects(file)
        file.check_unchanged()
        return ids

    def reading(self) -> Step:
        """See `Ids.reading`."""
        if "given" in vars(self):
            return held(0)
        n = self.num_vertices
        if not self.are_objects:
            return Step(8 * n, 17 * n)
        texts = self._header.arrays["id_texts"].nbytes
        kept = _OBJECT_BYTES * n + texts
        return Step(kept, kept + _READING_BYTES * n + 2 * texts)

    @property
    def are_names(self) -> bool:
        """See `Ids.are_names`; no id is read."""
        return self._header.ids == STRING_IDS

    @property
    def _header(self) -> FileHeader:
        file: GraphFile = vars(self)["file"]
        return file.header

    @property
    def are_objects(self) -> bool:
        """See `Ids.are_objects`; no id is read."""
        return self._header.ids != INTEGER_IDS

    @property
    def _are_indices(self) -> bool:
        return False


def ids_in(file: GraphFile) -> Ids:
    """The ids of the vertices of a file."""
    return Ids(file.header.num_vertices) if file.header.ids == RANGE_IDS else FileIds(file)


def checked_array(file: GraphFile, name: str) -> np.ndarray:
    """An array of which only the checksums are checked."""
    values = file.values(name)
    refuse(file, name, check_finite(file.words(name), file.sums(name), values.view(np.uint8)))
    return sealed(values)


def _integers(file: GraphFile) -> np.ndarray:
    """Ids that are integers of 64 bits."""
    ids = checked_array(file, "ids")
    in_order = np.sort(ids)
    if (in_order[1:] == in_order[:-1]).any():
        raise file.damaged("it has the same id twice")
    return ids


def _objects(file: GraphFile) -> np.ndarray:
    """Ids that are strings, or integers of any size."""
    name = "id_ends"
    ends, wrong = copy_rising(file.words(name), file.sums(name), file.values(name))
    refuse(file, name, wrong)
    content = checked_array(file, "id_texts").tobytes()
    last = int(ends[-1]) if len(ends) else 0
    if last != len(content) or (len(ends) and ends[0] < 0):
        raise file.damaged(f"the texts of its ids end at {last:,}, not at {len(content):,}")
    made, places = np.empty(len(ends), object), [0, *ends.tolist()]
    try:
        texts = [content[first:end].decode("utf-8", "surrogatepass") for first, end in pairwise(places)]
        made[:] = texts if file.header.ids == STRING_IDS else [int(text, 16) for text in texts]
    except ValueError:
        raise file.damaged("its ids cannot be read") from None
    if len(set(made.tolist())) != len(made):
        raise file.damaged("it has the same id twice")
    made.flags.writeable = False
    return made
