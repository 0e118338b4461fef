"""The steps of building a file of a graph from edges in pieces.

Without a number of vertices, edges are written to the disk as they come, and their distinct ids are gathered; then
every id has its index. Edges, as indices, are dealt out to buckets of rows on the disk. Each bucket is sorted in
memory, and its rows are written to their final place. In-edges are made in the same way, from arcs by their target.
"""

import contextlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from itertools import chain
from pathlib import Path

import numpy as np

from edgewise.building.integers import Distinct
from edgewise.building.output import Counted, Written
from edgewise.building.pieces import Edges, Piece, ReadAgain
from edgewise.building.rows import Sorting
from edgewise.building.scratch import Scratch
from edgewise.building.sharing import Alone, Sharing
from edgewise.building.sizes import Room, Sizes, sizes_within
from edgewise.building.spill import Spill
from edgewise.building.spool import Spool
from edgewise.errors import GraphError
from edgewise.graph.csr import offset_dtype
from edgewise.graph.file_writer import GraphWriter
from edgewise.graph.ids import Ids
from edgewise.memory import give_back

_OUT, _IN = ("offsets", "targets", "weights"), ("in_offsets", "in_sources", "in_weights")
#: The most bytes of an id and of a weight.
_ID_BYTES, _MOST_WEIGHT_BYTES = 8, 8


@dataclass(frozen=True)
class Wanted:
    """What is built.

    Attributes:
        path: of the file.
        directed: whether edges of the graph have a direction.
        both_directions: whether each edge of the input becomes two arcs.
        num_vertices: None for the ids that occur.
        base: the smallest id, if `num_vertices` is given.
        in_edges: whether the file has in-edges.
        rule: how parallel edges are merged, or None.
        drop_loops: whether self-loops are left out.
    """

    path: Path
    directed: bool = True
    both_directions: bool = False
    num_vertices: int | None = None
    base: int = 0
    in_edges: bool = False
    rule: str | None = None
    drop_loops: bool = False


@dataclass(frozen=True)
class _Disk:
    """Bytes on the disk: edges as they come, arcs by row and by target, and the rows and in-edges of the file."""

    spool: int
    spill: int
    onward: int
    rows: int
    in_rows: int

    @property
    def most(self) -> int:
        """The most bytes at one time."""
        rows = self.onward + self.rows
        return max(self.spool + self.spill, self.spill + rows, rows + self.in_rows)


@dataclass(frozen=True)
class _Dealt:
    """All arcs by row, the ids, the self-loops among the arcs, and what is held in memory from now on."""

    spill: Spill
    ids: Ids
    num_loops: int
    sizes: Sizes


@dataclass
class Builder:
    """Builds one file.

    Attributes:
        wanted: what is built.
        scratch: temporary files.
        room: the memory that may be taken.
        announce: called with a sentence that says how much disk it takes, as soon as that is known; or None.
        sizes: what is held at one time; by default what fits.
        sharing: the processes that build the file, each from some of the edges.
    """

    wanted: Wanted
    scratch: Scratch
    room: Room
    announce: Callable[[str], None] | None = None
    sizes: Sizes | None = None
    sharing: Sharing = field(default_factory=Alone)
    _weight_bytes: int = 0
    _weight_on_disk: int = 0
    _told: bool = False

    def build(self, edges: Edges) -> None:
        """Write the file.

        Raises:
            GraphError: edges that make no graph.
            MemoryLimitError: the limit is too small.
            OutputError: the disk is full, say.
        """
        self.room.left()
        dealt = self._deal(edges)
        give_back(self.room.limit)
        ids = dealt.ids
        if dealt.spill.dtype is not None:
            self._weight_on_disk = dealt.spill.dtype.itemsize
        num_arcs = self.sharing.totals(dealt.spill.num_arcs).num_arcs
        self._check_disk(num_arcs, ids.num_vertices, _bytes_in_file(ids), arcs_known=True)
        self._write(dealt)

    def _deal(self, edges: Edges) -> _Dealt:
        """Deal edges out, each time that they are read, until they count."""
        while True:
            with contextlib.suppress(ReadAgain):
                pieces = iter(edges)
                first = next(pieces, None)
                if first is not None and first.weight is not None:
                    self._weight_bytes, self._weight_on_disk = _MOST_WEIGHT_BYTES, first.weight.dtype.itemsize
                rest = self._watched(edges, chain([first] if first is not None else [], pieces))
                if self.wanted.num_vertices is None:
                    return self._deal_by_id(edges, rest)
                return self._deal_by_index(self.wanted.num_vertices, rest, edges)
            self.scratch.clear()

    def _watched(self, edges: Edges, pieces: Iterable[Piece]) -> Iterator[Piece]:
        """Pieces of one kind. Checks the disk as soon as a file tells about how many edges it has."""
        count = 0
        for piece in pieces:
            count += len(piece.source)
            yield piece
            whole = None if self._told else edges.whole(count)
            if whole is not None:
                self._check_disk(whole, self.wanted.num_vertices or 0, 0)

    def _sizes(self, num_vertices: int, held: int) -> Sizes:
        left = self.room.left(held, f"the ids of {num_vertices:,} vertices", num_vertices)
        if self.sizes is not None:
            return self.sizes
        wanted = self.wanted
        return sizes_within(left, self._weight_bytes, wanted.both_directions, wanted.rule is not None)

    def _deal_by_index(self, num_vertices: int, pieces: Iterable[Piece], edges: Edges) -> _Dealt:
        """Deal edges out whose ids are 0..n-1, as they come."""
        wanted = self.wanted
        ids = Ids(num_vertices)
        if wanted.base:
            self.room.left(8 * num_vertices, f"the ids of {num_vertices:,} vertices")
            ids = Ids(num_vertices, np.arange(wanted.base, wanted.base + num_vertices))
        sizes = self._sizes(num_vertices, 0 if ids.given is None else ids.given.nbytes)
        spill, loops = Spill(self.scratch, num_vertices, num_vertices, sizes), 0
        for batch in _gathered(_within(pieces, num_vertices, edges), sizes.batch):
            loops += spill.add(*batch, wanted.both_directions, wanted.drop_loops)
        return _Dealt(spill, ids, loops, sizes)

    def _deal_by_id(self, edges: Edges, pieces: Iterable[Piece]) -> _Dealt:
        """Write edges to the disk until all ids have come, and deal them out then."""
        wanted = self.wanted
        spool, distinct = Spool(self.scratch, self._weight_bytes > 0), Distinct(self.scratch, self.room)
        for piece in pieces:
            if not edges.are_names():
                distinct.add(piece.source)
                distinct.add(piece.target)
            spool.add(piece)
        names, numbering = edges.names() if edges.are_names() else (None, self.sharing.numbering(distinct))
        count = numbering.num_vertices
        of_ids = numbering.file_bytes if names is None else _bytes_in_file(names)
        self._check_disk(self.sharing.totals(spool.num_edges).num_arcs, count, of_ids)
        give_back(self.room.limit)
        held = numbering.held_bytes + (numbering.ids_bytes if names is None else edges.held_bytes)
        sizes = self._sizes(count, held)
        spill, loops = Spill(self.scratch, count, count, sizes), 0
        for source, target, weight in spool.batches(sizes.batch):
            indices = numbering.indices_of(source), numbering.indices_of(target)
            del source, target
            loops += spill.add(*indices, weight, wanted.both_directions, wanted.drop_loops)
        spool.close()
        return _Dealt(spill, numbering.finish() if names is None else names, loops, sizes)

    def _write(self, dealt: _Dealt) -> None:
        """Sort all buckets, and write their rows and in-edges."""
        wanted, sharing = self.wanted, self.sharing
        ids, loops, sizes = dealt.ids, dealt.num_loops, dealt.sizes
        count = ids.num_vertices
        spill, first_row = sharing.own_rows(dealt.spill, sizes)
        plain, num_arcs = Sorting(self.scratch, sizes, self.room, count), spill.num_arcs
        sorting = replace(plain, rule=wanted.rule)
        if wanted.rule is not None:
            counted = Counted()
            sorting.sort(spill, counted, first_row)
            num_arcs, loops = counted.num_arcs, counted.num_loops
        before, num_arcs, loops = sharing.totals(num_arcs, loops)
        inward = wanted.in_edges and wanted.directed
        with GraphWriter(
            wanted.path,
            num_vertices=count,
            num_arcs=num_arcs,
            directed=wanted.directed,
            num_loops=0 if wanted.directed else loops,
            arrays=_arrays_of(_OUT, num_arcs, count, spill.dtype)
            | (_arrays_of(_IN, num_arcs, count, spill.dtype) if inward else {}),
            ids=ids,
            writers=sharing.writers,
        ) as writer:
            onward = Spill(self.scratch, count, count, sizes) if inward else None
            rows = Written(writer, _OUT, num_arcs, onward, sizes.batch, before)
            sorting.sort(spill, rows, first_row)
            if sharing.is_last:
                rows.finish(count)
            spill.close()
            if onward is not None:
                onward, first_row = sharing.own_rows(onward, sizes)
                before = sharing.totals(onward.num_arcs).before
                in_rows = Written(writer, _IN, num_arcs, None, sizes.batch, before)
                plain.sort(onward, in_rows, first_row)
                if sharing.is_last:
                    in_rows.finish(count)
                onward.close()

    def _check_disk(self, num_edges: int, count: int, of_ids: int, arcs_known: bool = False) -> None:
        """Refuse to go on without room on the disk for what is still to come, and say once what it takes.

        Args:
            num_edges: all edges or, if `arcs_known`, arcs.
            count: the number of vertices, or 0 where it is not known.
            of_ids: the bytes of their ids in the file, or 0.
            arcs_known: that all edges have been dealt out.
        """
        wanted, of_weight = self.wanted, self._weight_on_disk
        arcs = num_edges * (2 if wanted.both_directions and not arcs_known else 1)
        inward = wanted.in_edges and wanted.directed
        ranks, copies = self.sharing.size, 1 if self.sharing.size == 1 else 2  # of what is told, for a while
        spooled = wanted.num_vertices is None and not arcs_known
        rows = (4 + of_weight) * arcs + np.dtype(offset_dtype(arcs)).itemsize * (count + 1)
        disk = _Disk(
            spool=(2 * _ID_BYTES + of_weight) * num_edges * spooled,
            spill=(6 + of_weight) * arcs * copies,
            onward=(6 + of_weight) * arcs * copies * inward,
            rows=rows + of_ids,
            in_rows=rows * inward,
        )
        name = f"building {wanted.path}"
        # Nobody knows how many arcs merging will leave.
        checked = disk if wanted.rule is None else replace(disk, onward=0, rows=0, in_rows=0)
        held = ranks * self.scratch.held
        self.scratch.check_free(checked.most - held, name)
        if self.announce is not None and not self._told:
            about = "at most " if wanted.rule is not None else ""
            without = "" if count else ", offsets and ids not counted"
            self.announce(
                f"{name} takes {about}about {disk.most:,} bytes of disk in {self.scratch.folder} while it runs, and "
                f"{disk.rows + disk.in_rows:,} in the end{without}; {self.scratch.free + held:,} are free"
            )
        self._told = True


def _bytes_in_file(ids: Ids) -> int:
    """About the bytes that ids take in a file."""
    given = ids.given
    if given is None:
        return 0
    return sum(map(len, given)) + 8 * len(given) if given.dtype == object else int(given.nbytes)


def _arrays_of(
    names: tuple[str, str, str], num_arcs: int, num_vertices: int, weights: np.dtype | None
) -> dict[str, tuple[np.dtype, int]]:
    """The dtypes and lengths of the arrays of rows, by these names."""
    arrays = {
        names[0]: (np.dtype(offset_dtype(num_arcs)), num_vertices + 1),
        names[1]: (np.dtype(np.int32), num_arcs),
    }
    return arrays if weights is None else arrays | {names[2]: (weights, num_arcs)}


def _within(pieces: Iterable[Piece], num_vertices: int, edges: Edges) -> Iterator[Piece]:
    """Pieces whose ids are 0..n-1. Raises GraphError for the first edge with another id."""
    before = 0
    for piece in pieces:
        if edges.are_names():
            raise GraphError("num_vertices is given and the ids are strings; leave num_vertices out")
        source, target, _ = piece
        wrong = (source < 0) | (source >= num_vertices) | (target < 0) | (target >= num_vertices)
        if wrong.any():
            at = int(np.argmax(wrong))
            raise GraphError(
                f"edge {before + at} joins {source[at]} and {target[at]}; num_vertices={num_vertices} allows ids "
                f"from 0 to {num_vertices - 1}. Leave num_vertices out for ids of any size"
            )
        before += len(source)
        yield piece


def _gathered(pieces: Iterable[Piece], most: int) -> Iterator[Piece]:
    """Batches of `most` edges, but the last one and those before weights of another dtype; ids become int32."""
    batch, filled = None, 0
    for piece in pieces:
        dtype = None if piece.weight is None else piece.weight.dtype
        if batch is not None and batch.weight is not None and batch.weight.dtype != dtype:
            yield _first(batch, filled)
            batch = None
        if batch is None:
            weight = None if dtype is None else np.empty(most, dtype)
            batch, filled = Piece(np.empty(most, np.int32), np.empty(most, np.int32), weight), 0
        done = 0
        while True:
            count = min(most - filled, len(piece.source) - done)
            for column, values in zip(batch, piece, strict=True):
                if column is not None and values is not None:
                    column[filled : filled + count] = values[done : done + count]
            filled, done = filled + count, done + count
            if filled == most:
                yield batch
                filled = 0
            if done == len(piece.source):
                break
    if batch is not None:
        yield _first(batch, filled)


def _first(batch: Piece, count: int) -> Piece:
    """The first edges of a batch."""
    source, target, weight = batch
    return Piece(source[:count], target[:count], None if weight is None else weight[:count])
