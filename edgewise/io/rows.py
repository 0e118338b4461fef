"""Rows of neighbours: the line of a vertex lists the vertices to which its edges lead."""

from dataclasses import dataclass

import numpy as np

from edgewise.errors import ParseError
from edgewise.io import row_tokens, tokens
from edgewise.io.lines import Scan, first_bytes
from edgewise.io.source import TextFile


@dataclass(frozen=True)
class RowLayout:
    """How the lines of a file list neighbours.

    Attributes:
        ids: the smallest and the largest id; there are as many rows, in this order, and blank lines are rows, too.
        leading: numbers before the neighbours of a row.
        weighted: whether an integer behind each neighbour is the weight of the edge.
        keeps_weights: whether these are wanted.
        once: whether each edge stands in the rows of both its ends, with one weight, and is one edge.
        comments: characters that start a line to be skipped.
        hint: what to say of a file whose rows are wrong.
    """

    ids: tuple[int, int]
    leading: int = 0
    weighted: bool = False
    keeps_weights: bool = False
    once: bool = False
    comments: str = ""
    hint: str = ""

    @property
    def has_weights(self) -> bool:
        """Whether weights are read."""
        return self.keeps_weights

    #: Ids are integers.
    names = False

    def scan(self, file: TextFile) -> "RowScan":
        """A scan of a file of such lines."""
        return RowScan(file, self)


class RowScan(Scan):
    """A scan of rows in progress."""

    def __init__(self, file: TextFile, layout: RowLayout) -> None:
        self._file, self._rows = file, layout
        self.state = np.zeros(row_tokens.NUM_ROW_STATE, np.int64)
        lowest, highest = layout.ids
        words = (highest - lowest + 1, lowest, layout.leading, layout.weighted, layout.once)
        self._words = np.array(words, np.int64)
        self._is_comment = first_bytes(layout.comments)
        self._names = None
        self._weight_kind = tokens.INTEGERS if layout.keeps_weights else tokens.NO_WEIGHTS
        self._begin()

    def read(self, text: bytes) -> None:
        """Read a block of whole lines."""
        room, state = len(text) // 2 + 1, self.state
        source, target = np.empty((2, room), np.int32)
        weights = np.empty(room if self._rows.weighted else 0, np.int64)
        state[[tokens.POSITION, tokens.EDGES]] = 0
        buffer = np.frombuffer(text, np.uint8)
        columns = source, target, weights
        reason = int(row_tokens.scan_rows(buffer, state, self._words, self._is_comment, *columns))
        if reason != tokens.DONE:
            self._refuse(reason, text)
        count = int(state[tokens.EDGES])
        kept = weights[:count].copy() if self._weight_kind else None
        self._keep(source[:count].copy(), target[:count].copy(), kept)

    def finish(self) -> None:
        """Refuse a file with too few rows, or whose rows contradict each other."""
        lowest, highest = self._rows.ids
        declared, found = highest - lowest + 1, int(self.state[row_tokens.ROW])
        if found < declared:
            raise ParseError(
                f"{self._file.path} declares {declared:,} vertices and has rows for {found:,}; it is truncated, or its "
                f"line of sizes is wrong{self._rows.hint}"
            )
        if self._rows.once and self.state[row_tokens.BALANCE] != 0:
            raise ParseError(
                f"{self._file.path} has an edge in the row of one of its ends only, or with another weight in the "
                f"other; expected each edge in both rows{self._rows.hint}"
            )

    def _most_edges(self, text: bytes) -> int:
        return most_neighbors(text)

    def _refuse(self, reason: int, text: bytes) -> None:
        """Raise the error that says what the scan stopped at, and what to do."""
        (lowest, highest), rows = self._rows.ids, self._rows
        column = int(self.state[tokens.COLUMN])
        pairs = ", each with its weight" if rows.weighted else ""
        expected = {
            tokens.NOT_AN_INTEGER: f"expected an integer as number {column} of the line",
            tokens.LONG_INTEGER: f"expected an integer of 64 bits as number {column} of the line",
            tokens.OUT_OF_RANGE: f"expected an id from {lowest} to {highest} as number {column}, as many as declared",
            row_tokens.TOO_MANY_ROWS: f"expected no more rows, as {highest - lowest + 1:,} vertices are declared",
            row_tokens.TOO_FEW_NUMBERS: f"it has {column} numbers; expected {rows.leading} and neighbours{pairs}",
        }[reason]
        start = int(self.state[tokens.POSITION])
        self._fail(int(self.state[tokens.LINE]), text[start : text.index(b"\n", start)], expected + rows.hint)


def most_neighbors(text: bytes) -> int:
    """No fewer edges than a block of whole rows holds: each number might be a neighbour."""
    return text.count(b" ") + text.count(b"\t") + text.count(b"\n")
