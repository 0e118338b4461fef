"""What ranks that build one file tell each other: ids, arcs by their row, and what each has written.

Whatever is told goes in rounds of bounded size: in each of them a rank sends a part to each other.
"""

import contextlib
import os
from collections.abc import Iterator, Sequence
from itertools import pairwise, zip_longest
from pathlib import Path
from typing import Any

import numpy as np

from edgewise.building.integers import ByTable, Distinct, Numbering
from edgewise.building.names import Names
from edgewise.building.scratch import Scratch
from edgewise.building.sharing import Totals
from edgewise.building.sizes import Room, Sizes
from edgewise.building.spill import Spill, Stretch
from edgewise.engine.distributed.exchange import joined, separated
from edgewise.engine.distributed.group import Group
from edgewise.errors import DistributedError, OutputError
from edgewise.graph.file_writer import Writers
from edgewise.graph.ids import Ids
from edgewise.whole import replacing

_NOTHING = np.empty(0, np.uint8)
#: Bytes of names that are told in a round, by all copies together.
_NAME_BYTES = 2**20


def exchanged(group: Group, rounds: Iterator[Sequence[np.ndarray]]) -> Iterator[tuple[int, np.ndarray]]:
    """What ranks send to this one, round by round until none has anything left, with the rank that sent it.

    Args:
        group: the ranks.
        rounds: what this rank sends: for each round, a part for each rank, uint8.
    """
    nothing = [_NOTHING] * group.size
    while True:
        parts = next(rounds, None)
        received, goes_on = group.exchange(parts or nothing, parts is not None)
        yield from ((rank, part) for rank, part in enumerate(received) if len(part))
        if not any(goes_on):
            return


class ByRanks:
    """Ranks that build one file, each the rows of a range of vertices; see `edgewise.building.sharing.Sharing`."""

    def __init__(self, group: Group, scratch: Scratch, room: Room) -> None:
        self._group, self._scratch, self._room = group, scratch, room
        self.size, self.is_last = group.size, group.rank == group.size - 1
        self.writers: Writers | None = _WritersOfRanks(group)

    def numbering(self, distinct: Distinct) -> Numbering:
        """The numbers of the ids of all ranks: each is told all of them."""
        whole, size = Distinct(self._scratch, self._room), self.size
        rounds = ([_packed_ids(ids)] * size for ids in distinct.in_order(size))
        for _, part in exchanged(self._group, rounds):
            whole.add(_unpacked_ids(part))
        return whole.finish()

    def own_rows(self, spill: Spill, sizes: Sizes) -> tuple[Spill, int]:
        """The arcs of all ranks in the rows of this one, and its first row. Those of lower ranks come first, as their
        edges do in the file."""
        group, own_dtype = self._group, str(spill.dtype or "")
        told = group.everywhere(joined([spill.counts.view(np.uint8), _bytes_of(own_dtype)]))[0]
        counts, texts = zip(*(separated(each, 2) for each in told), strict=True)
        if {len(each) for each in counts} != {spill.counts.nbytes}:
            raise DistributedError(
                "ranks deal arcs out to different numbers of buckets; expected the same call on all"
            )
        dtypes = [np.dtype(text.tobytes().decode()) if len(text) else None for text in texts]
        bounds = _shared_out(sum(each.view(np.int64) for each in counts), group.size)
        first, end = (
            min(bound << spill.shift, spill.num_rows) for bound in bounds[group.rank : group.rank + 2]
        )
        own = Spill(self._scratch, end - first, spill.num_vertices, sizes, spill.shift)
        # Arcs are copied up to six times, all of which take no more than a batch of edges.
        most = max(sizes.batch // (2 * group.size), 1)
        streams = [map(_packed_arcs, spill.stretches(*pair, most)) for pair in pairwise(bounds)]
        for source, part in exchanged(group, zip_longest(*streams, fillvalue=_NOTHING)):
            own.add_dealt(_unpacked_arcs(part, bounds[group.rank], dtypes[source]), source)
        spill.close()
        weights = {dtype for dtype in dtypes if dtype is not None}
        own.dtype = np.result_type(*weights) if weights else None
        return own, first

    def totals(self, num_arcs: int, num_loops: int = 0) -> Totals:
        """The sums over all ranks, and the arcs of the ranks before this one."""
        loops, arcs = self._group.everywhere(np.array([num_loops], np.int64).view(np.uint8), num_arcs)
        return Totals(
            sum(arcs[: self._group.rank]), sum(arcs), sum(int(each.view(np.int64)[0]) for each in loops)
        )


def names_of_all(own: list[str], group: Group, room: Room) -> tuple[Ids, Numbering, int]:
    """The names of all ranks by first appearance: those of the first rank come first. All ranks call it.

    Args:
        own: the names of this rank, by first appearance.
        group: the ranks.
        room: for the names of all ranks, which each of them keeps.

    Returns:
        The names, the vertices that the places of this rank's names stand for, and the bytes that names take.

    Raises:
        MemoryLimitError: the names do not fit.
    """
    names = Names(room)
    for rank in range(group.size):
        of_rank = (name for name in own if name not in names) if rank == group.rank else iter(())
        rounds = ([part] * group.size for part in _in_parts(of_rank, _NAME_BYTES // group.size))
        for _, part in exchanged(group, rounds):
            names.add(part.tobytes().decode().split("\n"))
    table = names.add(own)
    held, ids = names.held_bytes, names.finish()
    return ids, ByTable(ids.num_vertices, table), held


def _in_parts(names: Iterator[str], most: int) -> Iterator[np.ndarray]:
    """Names as bytes, a line each, about `most` bytes at a time. Those of a text have no line breaks in them."""
    some, length = list[str](), 0
    for name in names:
        some.append(name)
        length += len(name)
        if length >= most:
            yield _bytes_of("\n".join(some))
            some, length = [], 0
    if some:
        yield _bytes_of("\n".join(some))


def _bytes_of(text: str) -> np.ndarray:
    return np.frombuffer(text.encode(), np.uint8)


def _packed_ids(ids: np.ndarray) -> np.ndarray:
    """Ids in order as bytes: the first one and a bitmap, if that is shorter."""
    first, span = int(ids[0]), int(ids[-1]) - int(ids[0]) + 1
    if span > 8 * len(ids):
        return np.concatenate([np.array([0], np.int64), ids.astype(np.int64)]).view(np.uint8)
    marks = np.zeros(span, np.bool_)
    marks[ids - first] = True
    return np.concatenate([np.array([span, first], np.int64).view(np.uint8), np.packbits(marks)])


def _unpacked_ids(part: np.ndarray) -> np.ndarray:
    """The ids of `_packed_ids`, int64."""
    span = int(part[:8].view(np.int64)[0])
    if span == 0:
        return part[8:].view(np.int64)
    return np.flatnonzero(np.unpackbits(part[16:], count=span)) + part[8:16].view(np.int64)[0]


def _shared_out(counts: np.ndarray, ranks: int) -> list[int]:
    """The first bucket of each rank, and the number of all.

    Args:
        counts: the arcs of each bucket. Ranks get about equally many arcs and buckets together.
        ranks: how many there are.
    """
    shares = counts / max(1, int(counts.sum())) + 1 / len(counts)
    middles = np.cumsum(shares) - shares / 2
    places = np.searchsorted(middles, 2 * np.arange(1, ranks) / ranks)
    return [0, *places.tolist(), len(counts)]


def _packed_arcs(arcs: Stretch) -> np.ndarray:
    """Arcs of some buckets as bytes."""
    weights = [] if arcs.weights is None else [arcs.weights]
    columns = [np.array([arcs.first], np.int64), arcs.bounds, arcs.rows, arcs.targets, *weights]
    return joined([column.view(np.uint8) for column in columns])


def _unpacked_arcs(part: np.ndarray, first: int, dtype: np.dtype | None) -> Stretch:
    """The arcs of `_packed_arcs`, with buckets counted from `first`."""
    dtypes: list[Any] = [np.int64, np.int64, np.uint16, np.int32, *([] if dtype is None else [dtype])]
    parts = separated(part, len(dtypes))
    columns = [each.view(kind) for each, kind in zip(parts, dtypes, strict=True)]
    number, bounds, rows, targets = columns[:4]
    return Stretch(int(number[0]) - first, bounds, rows, targets, None if dtype is None else columns[4])


class _WritersOfRanks:
    """Ranks that write one file in a folder that all of them see; see `edgewise.graph.file_writer.Writers`."""

    def __init__(self, group: Group) -> None:
        self._group, self.is_first = group, group.rank == 0

    @contextlib.contextmanager
    def aside(self, path: Path) -> Iterator[Path]:
        """The file that the first rank makes. At the end all wait until it has its name."""
        if self.is_first:
            with replacing(path) as aside:
                self._group.everywhere(np.frombuffer(os.fsencode(aside.absolute()), np.uint8))
                yield aside
        else:
            aside = Path(os.fsdecode(self._group.everywhere(_NOTHING)[0][0].tobytes()))
            if not aside.exists():
                raise OutputError(
                    f"cannot write {path}: a file of another rank is not seen in {aside.parent}; expected a folder "
                    "that all ranks share"
                )
            yield aside
        self._group.total(0)

    def tell_first(self, own: Sequence[np.ndarray]) -> list[list[np.ndarray]]:
        """Tell the first rank of arrays; what the others tell it."""
        group, told = self._group, joined([each.view(np.uint8) for each in own])
        parts = group.exchange([_NOTHING if self.is_first else told, *[_NOTHING] * (group.size - 1)])[0]
        found = [separated(part, len(own)) for part in parts if len(part)]
        return [[each.view(np.uint64) for each in of_rank] for of_rank in found]
