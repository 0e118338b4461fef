"""What a caller of `read` may say about a file."""

from collections.abc import Callable
from dataclasses import dataclass, fields

import numpy as np

from edgewise.errors import GraphError, ParseError
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
        if self.delimiter is not None and not (len(self.delimiter) == 1 and self.delimiter.isascii()):
            raise ParseError(f"delimiter is {self.delimiter!r}; expected one character of ASCII")
        if self.comments is not None and not self.comments.isascii():
            raise ParseError(f"comments is {self.comments!r}; expected characters of ASCII")
        if self.num_vertices is not None and (
            not isinstance(self.num_vertices, int | np.integer) or self.num_vertices < 0
        ):
            raise GraphError(f"num_vertices is {self.num_vertices!r}; expected an integer of at least 0")

    def given(self) -> list[str]:
        """The names of the options that differ from their defaults."""
        return [option.name for option in fields(self) if getattr(self, option.name) != option.default]
