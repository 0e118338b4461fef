"""Edges in files of tables that are no text, such as Parquet, read some rows at a time."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from edgewise.building.pieces import Columns
from edgewise.building.sizes import Room
from edgewise.errors import GraphError, GraphWarning, ParseError, warn
from edgewise.graph.checks import as_count
from edgewise.io.arrays import check_range
from edgewise.io.budget import Budget
from edgewise.io.door import check_options, graph_format
from edgewise.io.formats import EdgeTable
from edgewise.io.options import ReadOptions
from edgewise.io.source import as_path
from edgewise.progress import showing
from edgewise.text import printable


class Tables(Columns):
    """The edges of tables; see `edgewise.building.pieces.Edges`.

    Attributes:
        both_directions, directed, num_vertices: as the caller says.
        base: the smallest id, if `num_vertices` is there.
    """

    def __init__(self, tables: Sequence[EdgeTable], options: ReadOptions, room: Room) -> None:
        self.both_directions, self.directed = options.directed is False, options.directed is not False
        self.num_vertices, self.base = as_count(options.num_vertices), 0
        if self.num_vertices is not None:
            self.base = int(options.index_base or 0)
        self._tables, self._options = tables, options
        super().__init__(self._columns(), room)

    def _columns(self) -> Iterator[tuple[Any, ...]]:
        base = np.int64(self.base)
        for table in self._tables:
            with showing(self._options.progress, "reading tables: bytes") as report:
                for source, target, weight in table.columns(report):
                    check_range(source, target, self._options)
                    if base:
                        source, target = source.astype(np.int64) - base, target.astype(np.int64) - base
                    yield (source, target) if weight is None else (source, target, weight)
            if table.doubt:
                warn(printable(table.doubt), GraphWarning)

    def whole(self, read: int) -> int | None:
        """The number of edges: the tables tell."""
        return sum(table.num_rows for table in self._tables)


def tables_in(paths: Sequence[Any], name: Any, options: ReadOptions, room: Room) -> Tables | None:
    """The tables in files; None if they are text.

    Raises:
        ParseError: a file of a format that is read as a whole.
        GraphError: some files are tables and others text.
    """
    budgets = [Budget(as_path(path), room.limit, room.given) for path in paths]
    found = [graph_format(budget.path, name) for budget in budgets]
    tables = []
    for budget, known in zip(budgets, found, strict=True):
        if known is None:
            continue
        if known.table is None:
            raise ParseError(
                f"{budget.path} is read as {known.name}, which holds a whole graph; expected text or Parquet. "
                "edgewise.read reads it, and graph.save writes the file"
            )
        check_options(budget.path, known, options)
        tables.append(known.table(budget, options))
    if tables and len(tables) < len(found):
        raise GraphError("some files are tables of Parquet and some are text; expected one kind")
    return Tables(tables, options, room) if tables else None
