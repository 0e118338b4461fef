"""Where edges lie: what `edgewise.schedule.Schedule` may say of it."""

import os
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from edgewise.errors import ScheduleError
from edgewise.layout.bucket_sort import LIMIT, SCALES
from edgewise.schedule.balances import is_whole
from edgewise.text import shown


@dataclass(frozen=True)
class Layout:
    """The order of in-edges, or of their slots in a message buffer, on a GPU: rows are sorted by in-degree, and groups
    of rows lie column by column. A thread gathers over each row.

    Reference: Zhong et al. (2016), sections 4.1 and 4.2.

    Attributes:
        sort: by buckets, of equal ratio ("logarithmic") or of equal width ("linear", as in the paper); "exact"; or None
            to leave vertices in their order. All are stable: vertices of one bucket stay in their order.
        num_buckets: the number of buckets of these two sorts, 1 to 1,000,000.
        threshold: vertices are left in their order if the largest and the smallest in-degree differ by less than this.
        group_size: the rows in a group, at least 1. A warp has 32; 1 leaves the places of a row together (row-major).
        split: whether rows of more than 48 edges lie apart, for a warp each, from 2049 edges for a block each.
        made_on: "gpu" or "cpu", where the layout is computed.
        renumber: whether vertices are numbered by their rows, as in the paper: rows, the ends of edges, weights and
            fields are moved on the GPU, so that what belongs to neighbouring rows lies side by side, and a vertex is
            computed as soon as its slots are gathered over. Answers are in the user's ids. For programs
            (`edgewise.run`, `edgewise.prepare`) that do not depend on the numbers of vertices; the graph keeps its
            moved rows, which take as much memory as its own.
    """

    sort: Literal["logarithmic", "linear", "exact"] | None = "logarithmic"
    num_buckets: int = 1000
    threshold: int = 8
    group_size: int = 32
    split: bool = True
    made_on: Literal["gpu", "cpu"] = "gpu"
    renumber: bool = False

    def __post_init__(self) -> None:
        for name, expected in (
            ("sort", (None, *SCALES)),
            ("split", (True, False)),
            ("made_on", ("gpu", "cpu")),
            ("renumber", (True, False)),
        ):
            value = getattr(self, name)
            if not any(value is each or (isinstance(value, str) and value == each) for each in expected):
                possible = " or ".join(map(repr, expected))
                raise ScheduleError(f"Layout: {name} is {shown(value)}; expected {possible}")
        for name, least, most in (
            ("num_buckets", 1, LIMIT),
            ("threshold", 1, 2**32),
            ("group_size", 1, 2**20),
        ):
            value = getattr(self, name)
            if not is_whole(value, least) or value > most:
                raise ScheduleError(
                    f"Layout: {name} is {shown(value)}; expected an integer from {least} to {most:,}"
                )


def of_renumbered(layout: Layout) -> Layout:
    """The layout of a graph whose vertices are numbered by the rows of this one: they are in that order already."""
    return replace(layout, renumber=False, sort=None)


class _Several(tuple[Any, ...]):
    """Ids that were given as a list. A plain tuple can be the id of one vertex."""


@dataclass(frozen=True, eq=False, repr=False)
class Layered:
    """The rows of a graph in the order of its breadth-first layers from some roots: those of a layer, and those of the
    next one, lie side by side. Made once, kept with the graph, and in a file if one is named.

    A search from the roots themselves then reads its levels from the layers, and searches nothing; other searches, and
    programs, run over the rows in that order. Shortest paths sweep over the layers on a GPU: consecutive layers are
    joined to lists, and the first list in which a distance has fallen is swept until none falls any more.

    Reference: Zhu et al. (2019), sections 3 and 4.

    Attributes:
        roots: the user's id of a vertex, or a sequence of them, which is copied.
        file: the name of a file: it is read if it is there, and must then be that of this graph, with these weights,
            and of these roots; else it is written. "beside" stands for one beside the file of a graph that was loaded
            from one; it is made anew if the graph has changed, or the file is damaged. None for no file.
        min_edges: the fewest edges of a list but the last, at least 1; None for as many as threads run at a time on the
            GPU (equation 1).
    """

    roots: Any
    file: str | os.PathLike[str] | None = None
    min_edges: int | None = None

    def __post_init__(self) -> None:
        roots = self.roots.to_numpy() if hasattr(self.roots, "to_numpy") else self.roots
        if isinstance(roots, np.ndarray):
            roots = roots.copy()
            roots.flags.writeable = False
        object.__setattr__(self, "roots", _Several(roots) if isinstance(roots, list | range) else roots)
        if not (self.file is None or isinstance(self.file, str | os.PathLike)) or self.file == "":
            raise ScheduleError(
                f"Layered: file is {shown(self.file)}; expected the name of a file, 'beside' or None"
            )
        if self.min_edges is not None and not is_whole(self.min_edges, 1):
            raise ScheduleError(
                f"Layered: min_edges is {shown(self.min_edges)}; expected an integer of at least 1, or None"
            )

    @property
    def root_ids(self) -> Any:
        """The roots, for `Graph.index_of`: a list is several of them, and a tuple can be one."""
        return list(self.roots) if isinstance(self.roots, _Several) else self.roots

    def __repr__(self) -> str:
        given = ((name, value) for name, value in vars(self).items() if name == "roots" or value is not None)
        return f"Layered({', '.join(f'{name}={shown(value)}' for name, value in given)})"

    def __eq__(self, other: object) -> bool:
        return self._key == other._key if isinstance(other, Layered) else NotImplemented

    def __hash__(self) -> int:
        return hash(self._key)

    @property
    def _key(self) -> tuple[Any, ...]:
        """What tells this from others."""
        roots = tuple(self.roots.tolist()) if isinstance(self.roots, np.ndarray) else self.roots
        return roots, None if self.file is None else os.fsdecode(self.file), self.min_edges
