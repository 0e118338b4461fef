"""Edges in text files, read a block of lines at a time."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from edgewise.building.integers import Numbering
from edgewise.building.pieces import Piece
from edgewise.building.sizes import Room
from edgewise.errors import GraphError, GraphWarning, ParseError, warn
from edgewise.graph.ids import Ids, named_ids
from edgewise.io.budget import Budget
from edgewise.io.door import is_own, plan_file
from edgewise.io.doubts import FirstEdge, missing_doubt
from edgewise.io.edge_pieces import EdgePieces
from edgewise.io.formats import Plan
from edgewise.io.lines import Behind, LongIdError
from edgewise.io.options import ReadOptions
from edgewise.io.sized import check_declared
from edgewise.io.source import TextFile, as_path
from edgewise.text import printable

#: Bytes of memory that reading takes: a block of lines, its columns, and what a decompressor holds.
READING_BYTES = 8_000_000
#: The memory of a block of lines is taken to be a multiple of this.
_BLOCK_STEP = 1_000_000
#: How often names are held at one time: as strings, and as bytes that are written.
_COPIES = 2


@dataclass(frozen=True)
class _Ends:
    """What all files of one graph have in common."""

    both_directions: bool
    directed: bool
    num_vertices: int | None
    base: int


@dataclass
class Seen:
    """What was seen of the edges of a file.

    Attributes:
        count: how many there are.
        first_edge: whether the first one may be a line of sizes.
        may_lack_vertices: whether there may be vertices that no edge names.
    """

    count: int = 0
    first_edge: FirstEdge = field(default_factory=FirstEdge)
    may_lack_vertices: bool = False


class Files:
    """The edges of text files; see `edgewise.building.pieces.Edges`.

    Attributes:
        both_directions, directed: as in `Plan`.
        num_vertices: that the caller or the files declare, or None.
        base: the smallest id, if `num_vertices` is there.
        held_bytes: what names take of memory so far.
    """

    def __init__(self, paths: Sequence[Any], name: str | None, options: ReadOptions, room: Room) -> None:
        self._room, self._files, self.held_bytes = room, [], 0
        for path in paths:
            budget = Budget(as_path(path), room.limit, room.given)
            if is_own(budget.path, name):
                raise ParseError(
                    f"{budget.path} holds a whole graph already; expected text. edgewise.load opens it"
                )
            self._files.append(plan_file(budget, name, options))
        ends = {_ends_of(plan) for _, plan in self._files}
        if len(ends) != 1:
            raise GraphError(
                "the files are not parts of one graph: some are directed and some not, or they declare other sizes"
            )
        found = ends.pop()
        self.both_directions, self.directed = found.both_directions, found.directed
        self.num_vertices, self.base = found.num_vertices, found.base
        if len(self._files) > 1 and self.are_names():
            raise GraphError(
                "ids are names in one of several files; expected integers, or one file. Or give the edges in pieces"
            )
        self._weighted: bool | None = None
        self._empty: Piece | None = None
        self._pieces: EdgePieces | None = None
        self._reading: TextFile = self._files[0][0]
        self._number = 0

    def __iter__(self) -> Iterator[Piece]:
        """The edges of each file, a block of lines at a time; one piece without edges if there are none."""
        for number, (file, plan) in enumerate(self._files):
            self._number, self._reading = number, file
            seen = Seen()
            yield from self._edges_of(file, plan, seen)
            check_seen(file, plan, seen)
            warn_of(file, plan, seen)
        if self._weighted is None and self._empty is not None:
            yield self._empty  # with weights of the declared kind

    def _edges_of(
        self, file: TextFile, plan: Plan, seen: Seen, behind: Behind | None = None
    ) -> Iterator[Piece]:
        """The edges of a file, or of the lines of it that stand behind others."""
        skip = plan.skip if behind is None else 0
        self._pieces = EdgePieces(file, plan.layout, plan.options.progress, skip, behind)
        base = np.int64(self.base)
        try:
            for source, target, weight in self._pieces:
                self.held_bytes = _COPIES * self._pieces.bytes_of_names
                # Blocks end with a line: the next one may be a little longer.
                block = -(-self._pieces.bytes_of_block // _BLOCK_STEP) * _BLOCK_STEP
                self._room.left(block, "a block of lines")
                if self.held_bytes:
                    share = self._share_read
                    self._room.left(self.held_bytes + block, "names and a block of lines", share=share)
                seen.count += len(source)
                if plan.may_begin_with_sizes and not plan.layout.names:
                    seen.first_edge.add(source, target, weight)
                if self.num_vertices is not None and base:
                    source, target = source - base, target - base
                piece = Piece(source, target, weight)
                if len(source):
                    self._check_weights(weight is not None)
                    yield piece
                else:
                    self._empty = piece
        except LongIdError:
            raise ParseError(
                f"{file.path} has integer ids beyond what int64 holds; expected ids up to 2**63 - 1. edgewise.read "
                "takes longer ones, and pieces take uint64. For names as ids, give names=True"
            ) from None
        seen.may_lack_vertices = self._pieces.has_lone_vertices and self.num_vertices is None

    def _check_weights(self, weighted: bool) -> None:
        """Refuse files of which some have weights. Raises GraphError."""
        if self._weighted is not None and self._weighted != weighted:
            raise GraphError(
                f"{self._reading.path} has {'' if weighted else 'no '}weights, unlike the files before it; expected "
                "weights in all of them or in none. weighted=False leaves them out"
            )
        self._weighted = weighted

    def are_names(self) -> bool:
        """Whether ids are names."""
        return any(plan.layout.names for _, plan in self._files)

    def names(self) -> tuple[Ids, Numbering]:
        """The names by first appearance. Warns of those that usually stand for a missing value."""
        names = [] if self._pieces is None else self._pieces.names()
        warn_of_names(*self._files[0], names)  # names are in one file
        return named_ids(names), Numbering(len(names))

    def whole(self, read: int) -> int | None:
        """About how many edges there are, from the share of the files that was read."""
        share = self._share_read
        return round(read / share) if share else None

    @property
    def _share_read(self) -> float:
        """How much of the files was read, from 0 to 1."""
        sizes = [file.packed_size for file, _ in self._files]
        done = sum(sizes[: self._number]) + self._reading.share_read * sizes[self._number]
        return done / sum(sizes) if done else 0.0


def check_seen(file: TextFile, plan: Plan, seen: Seen) -> None:
    """Refuse a file with other edges than it declares, or with vertices that no edge names. Raises ParseError."""
    check_declared(file, plan, seen.count)
    if seen.may_lack_vertices and not plan.layout.names:
        raise ParseError(
            f"{file.path} has vertices without neighbours, which no edge may name; give num_vertices to keep them, "
            "or take edgewise.read"
        )


def warn_of(file: TextFile, plan: Plan, seen: Seen) -> None:
    """Warn of what may have been meant otherwise, when a file was read."""
    sizes = seen.first_edge.doubt()
    for doubt in [*([f"{file.path}: {sizes}"] if sizes else []), *plan.doubts]:
        warn(printable(doubt), GraphWarning)


def warn_of_names(file: TextFile, plan: Plan, names: list[str]) -> None:
    """Warn of names that usually stand for a missing value."""
    doubt = missing_doubt(names) if plan.are_names_by_looks else None
    if doubt:
        warn(printable(f"{file.path}: {doubt}"), GraphWarning)


def _ends_of(plan: Plan) -> _Ends:
    base, count = plan.options.index_base, plan.options.num_vertices
    return _Ends(plan.both_directions, plan.directed, None if count is None else int(count), int(base or 0))
