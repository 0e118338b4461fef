"""The edges of one text file, of which each rank reads a piece.

The bytes behind the lines without edges are divided equally, and a line is of the rank in whose share it begins. A rank
reads as if all lines before its own had integers as weights, which floats hold; only errors depend on their number. If
that was wrong, it reads once more.
"""

import json
import os
import zlib
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from edgewise import errors
from edgewise.building.files import Files, Seen, check_seen, warn_of, warn_of_names
from edgewise.building.integers import Numbering
from edgewise.building.pieces import Piece, ReadAgain
from edgewise.building.ranks import names_of_all
from edgewise.building.sizes import Room
from edgewise.engine.distributed.group import Group
from edgewise.errors import DistributedError, FileChangedError, GraphError, ParseError
from edgewise.graph.ids import Ids
from edgewise.io.doubts import FirstEdge
from edgewise.io.formats import Plan
from edgewise.io.lines import Behind, LineLayout
from edgewise.io.options import ReadOptions
from edgewise.io.source import STDIN, TextFile, as_path


class _Told(NamedTuple):
    """What a rank tells of its piece.

    Attributes:
        place: its first byte, and the one behind its last; the size of the file, and a checksum of its beginning.
        began, ended: what its first line stands behind, as it was read, and what stands behind its last line.
        seen: the number of edges, and what `FirstEdge.told` gives.
        has_changed: whether the file was written to meanwhile.
        error: the class and the message of what is wrong with the piece; empty if nothing is.
    """

    place: list[int]
    began: Behind
    ended: Behind
    seen: list[Any]
    has_changed: bool
    error: list[str]

    @classmethod
    def of(cls, told: np.ndarray) -> "_Told":
        """What another rank has told."""
        place, began, ended, *others = json.loads(told.tobytes())
        return cls(place, Behind(*began), Behind(*ended), *others)


class FilePart(Files):
    """The edges of a rank's piece of a text file; see `edgewise.building.pieces.Edges`.

    Raises:
        ParseError: a file that is not read by pieces.
    """

    def __init__(self, path: Any, name: str | None, options: ReadOptions, room: Room, group: Group) -> None:
        self._group, place = group, as_path(path)
        if place is STDIN or (place.exists() and not place.is_file()):
            raise ParseError(f"{place} is no ordinary file; expected one, of which each rank reads a piece")
        self._identity = _identity(place)
        super().__init__([path], name, options if group.rank == 0 else replace(options, progress=None), room)
        file, plan = self._files[0]
        _check_is_cut(file, plan)
        start = 0
        for _ in range(plan.skip):
            start = file.line_start(start + 1)
        size, length = file.size or 0, (file.size or 0) - start
        cuts = [start + length * rank // group.size for rank in (group.rank, group.rank + 1)]
        begin, end = (file.line_start(cut) for cut in cuts)
        self._place = [begin, end, size, zlib.crc32(file.head)]
        file.narrow(begin, end)
        self._behind = Behind(plan.skip if group.rank == 0 else 0)

    def __iter__(self) -> Iterator[Piece]:
        """The edges, a block of lines at a time; one piece without edges if there are none.

        Raises:
            ReadAgain: other ranks have told what stands before this piece, and it was read as if nothing did.
            ParseError, GraphError: the error of the first line that is wrong, on all ranks.
            FileChangedError: the file was written to meanwhile.
            DistributedError: the file is not the same on all ranks.
        """
        file, plan = self._files[0]
        seen, self._weighted = Seen(), None
        error: Exception | None = None
        try:
            yield from self._edges_of(file, plan, seen, self._behind)
        except (ParseError, GraphError) as problem:
            error = problem
        self._agree(seen, error)
        check_seen(file, plan, seen)
        if self._group.rank == 0:
            warn_of(file, plan, seen)
        if self._weighted is None:
            weight = np.empty(0, np.float64 if self._ended.has_fractions else np.int64)
            none = np.empty(0, np.int32)
            yield Piece(none, none, weight if plan.layout.has_weights else None)

    @property
    def _ended(self) -> Behind:
        assert self._pieces is not None
        return self._pieces.behind

    def _agree(self, seen: Seen, error: Exception | None) -> None:
        """Go on if all ranks have read what they should; `seen` becomes that of all."""
        path, has_changed = self._reading.path, _identity(self._reading.path) != self._identity
        words = [] if error is None else [type(error).__name__, str(error)]
        of_edges = [seen.count, *seen.first_edge.told()]
        own = json.dumps([self._place, self._behind, self._ended, of_edges, has_changed, words]).encode()
        while True:
            parts = self._group.everywhere(np.frombuffer(own, np.uint8))[0]
            told = [_Told.of(part) for part in parts]
            self._check_same_file(path, told)
            again, failed = _wrongly_begun(told, self._files[0][1].skip)
            if not again:
                break
            if self._group.rank in again:
                self._behind = again[self._group.rank]
                raise ReadAgain
        if failed is not None:
            raise getattr(errors, failed.error[0])(failed.error[1]) from None
        seen.count, seen.first_edge = 0, FirstEdge()
        for each in told:
            seen.count += each.seen[0]
            seen.first_edge.follow(each.seen[1:])

    def _check_same_file(self, path: Path, told: list[_Told]) -> None:
        """Refuse a file that has changed, or is another one for one of the ranks."""
        changed = next((rank for rank, each in enumerate(told) if each.has_changed), None)
        if changed is not None:
            raise FileChangedError(
                f"{path} was written to while ranks read it, as rank {changed} found; build the file again"
            )
        begins, ends = [each.place[0] for each in told], [each.place[1] for each in told]
        if len({tuple(each.place[2:]) for each in told}) > 1 or begins[1:] != ends[:-1]:
            raise DistributedError(
                f"{path} is not the same on all ranks; expected one file that all of them see"
            )

    def names(self) -> tuple[Ids, Numbering]:
        """The names of all ranks by first appearance. Warns, on the first rank, as `Files.names` does."""
        own = [] if self._pieces is None else self._pieces.names()
        beside = replace(self._room, reading=self._room.reading + self.held_bytes)
        ids, numbering, self.held_bytes = names_of_all(own, self._group, beside)
        if self._group.rank == 0 and ids.given is not None:
            warn_of_names(*self._files[0], ids.given.tolist())
        return ids, numbering

    def whole(self, read: int) -> int | None:
        """About how many edges all ranks have, from the share of this rank's piece that was read."""
        own = super().whole(read)
        return None if own is None else own * self._group.size


def _wrongly_begun(told: list[_Told], skip: int) -> tuple[dict[int, Behind], _Told | None]:
    """The ranks that have to read again, with what their pieces stand behind; and the first one that has failed, if it
    need not. What stands behind its lines does not count."""
    again, behind = {}, Behind(skip)
    for rank, each in enumerate(told):
        turns = each.ended.has_fractions and behind.inexact is not None
        differs = (behind.has_fractions or turns) and each.began[1:] != behind[1:]
        if differs or (each.error and behind.lines != each.began.lines):
            again[rank] = behind
        if each.error:
            return again, each
        lines = behind.lines + each.ended.lines - each.began.lines
        inexact = each.ended.inexact if behind.inexact is None else behind.inexact
        behind = Behind(lines, behind.has_fractions or each.ended.has_fractions, inexact)
    return again, None


def _check_is_cut(file: TextFile, plan: Plan) -> None:
    """Refuse a file that cannot be read by pieces. Raises ParseError."""
    if file.size is None:
        raise ParseError(
            f"{file.path} is compressed, so it cannot be read by pieces; unpack it first, or build the graph by one "
            "process"
        )
    if type(plan.layout) is not LineLayout or plan.seen is not None:
        what = "attributes in braces" if plan.seen is not None else "rows of neighbours"
        raise ParseError(
            f"{file.path} has {what}, which ranks do not read by pieces; build the graph by one process, or write a "
            "line of numbers or names for each edge"
        )


def _identity(path: Path) -> tuple[int, int, int] | None:
    """What tells whether a file is another one, or was written to; None if there is none."""
    try:
        found = os.stat(path)
    except (OSError, ValueError):  # reading it says why
        return None
    return found.st_ino, found.st_size, found.st_mtime_ns
