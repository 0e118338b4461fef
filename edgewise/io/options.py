"""The options of `read`."""

from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from edgewise.errors import ParseError
from edgewise.graph.checks import as_count, check_choice
from edgewise.graph.graph import ParallelEdges, SelfLoops
from edgewise.graph.ids import Ids
from edgewise.memory import as_bytes
from edgewise.numeric import is_integer
from edgewise.progress import Progress
from edgewise.text import shown

Column = int | str
#: What a shell passes on for a tab.
_TABS = ("\\t", "tab")
#: Beyond it, ids counted from a base could leave 64 bits.
_LARGEST_BASE = 2**62


@dataclass(frozen=True)
class ReadOptions:
    """The options of `edgewise.read`, explained there; None means "as the file has it". `vertices` are given as ids."""

    directed: bool | None = None
    weighted: bool | None = None
    columns: tuple[Column, Column] | None = None
    weight_column: Column | None = None
    delimiter: str | None = None
    header: bool | None = None
    comments: str | None = None
    names: bool | None = None
    index_base: int | None = None
    num_vertices: int | None = None
    vertices: Ids | None = None
    parallel_edges: ParallelEdges = "keep"
    self_loops: SelfLoops = "keep"
    progress: Progress = None
    memory_limit: float | str | None = None

    def __post_init__(self) -> None:
        check_choice("parallel_edges", self.parallel_edges, ParallelEdges)
        check_choice("self_loops", self.self_loops, SelfLoops)
        for name in ("directed", "weighted", "header", "names"):
            value = getattr(self, name)
            if value is not None and not isinstance(value, bool | np.bool_):
                raise ParseError(f"{name} is {shown(value)}; expected True, False or None")
        if self.delimiter in _TABS:
            object.__setattr__(self, "delimiter", "\t")
        delimiter = self.delimiter
        if delimiter is not None and not (
            _is_ascii(delimiter) and len(delimiter) == 1 and delimiter not in '\0\r\n"'
        ):
            raise ParseError(
                f"delimiter is {shown(delimiter)}; expected one character of ASCII, no quote or line break"
            )
        if self.comments is not None and not _is_ascii(self.comments):
            raise ParseError(f"comments is {shown(self.comments)}; expected characters of ASCII")
        if not (self.progress is None or isinstance(self.progress, bool) or callable(self.progress)):
            raise ParseError(
                f"progress is {shown(self.progress)}; expected True, False, or a function of a number of bytes"
            )
        self._check_columns()
        self._check_sizes()

    def _check_columns(self) -> None:
        columns = self.columns
        if columns is not None and not (
            isinstance(columns, tuple | list) and len(columns) == 2 and all(map(_is_column, columns))
        ):
            raise ParseError(f"columns is {shown(columns)}; expected two numbers or names, such as (0, 1)")
        if self.weight_column is not None and not _is_column(self.weight_column):
            raise ParseError(f"weight_column is {shown(self.weight_column)}; expected a number or a name")

    def _check_sizes(self) -> None:
        base = self.index_base
        if base is not None and (not is_integer(base) or not -_LARGEST_BASE <= base <= _LARGEST_BASE):
            raise ParseError(f"index_base is {shown(base)}; expected an integer from -2**62 to 2**62")
        as_count(self.num_vertices)
        as_bytes("memory_limit", self.memory_limit)

    def given(self) -> list[str]:
        """The names of the options that differ from their defaults."""
        return [option.name for option in fields(self) if getattr(self, option.name) != option.default]


def _is_ascii(value: Any) -> bool:
    return isinstance(value, str) and value.isascii()


def _is_column(value: Any) -> bool:
    return isinstance(value, str) or is_integer(value)
