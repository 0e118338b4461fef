"""What a caller of `read` may say about a file."""

from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from edgewise.errors import GraphError, ParseError
from edgewise.graph.checks import check_choice
from edgewise.graph.graph import ParallelEdges, SelfLoops

Column = int | str


@dataclass(frozen=True)
class ReadOptions:
    """The options of `edgewise.read`, where they are explained; None stands for "as the file has it"."""

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
    parallel_edges: ParallelEdges = "keep"
    self_loops: SelfLoops = "keep"
    progress: Callable[[int], None] | None = None

    def __post_init__(self) -> None:
        check_choice("parallel_edges", self.parallel_edges, ParallelEdges)
        check_choice("self_loops", self.self_loops, SelfLoops)
        if self.delimiter is not None and not (_is_ascii(self.delimiter) and len(self.delimiter) == 1):
            raise ParseError(f"delimiter is {self.delimiter!r}; expected one character of ASCII")
        if self.comments is not None and not _is_ascii(self.comments):
            raise ParseError(f"comments is {self.comments!r}; expected characters of ASCII")
        columns = self.columns
        if columns is not None and not (
            isinstance(columns, tuple | list) and len(columns) == 2 and all(map(_is_column, columns))
        ):
            raise ParseError(f"columns is {columns!r}; expected two numbers or names, such as (0, 1)")
        if self.weight_column is not None and not _is_column(self.weight_column):
            raise ParseError(f"weight_column is {self.weight_column!r}; expected a number or a name")
        if self.index_base is not None and not isinstance(self.index_base, int | np.integer):
            raise ParseError(f"index_base is {self.index_base!r}; expected an integer")
        if self.num_vertices is not None and (
            not isinstance(self.num_vertices, int | np.integer) or self.num_vertices < 0
        ):
            raise GraphError(f"num_vertices is {self.num_vertices!r}; expected an integer of at least 0")

    def given(self) -> list[str]:
        """The names of the options that differ from their defaults."""
        return [option.name for option in fields(self) if getattr(self, option.name) != option.default]


def _is_ascii(value: Any) -> bool:
    return isinstance(value, str) and value.isascii()


def _is_column(value: Any) -> bool:
    return isinstance(value, int | str | np.integer) and not isinstance(value, bool)
