"""Edges from lines of text: a driver of the compiled scan, which explains in the user's terms why it stopped."""

import contextlib
import string
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from functools import partial
from typing import NamedTuple, NoReturn, Protocol

import numpy as np

from edgewise.errors import ParseError
from edgewise.io import tokens
from edgewise.io.ahead import scanned_ahead
from edgewise.io.budget import LONG_INTEGER_BYTES, NAME_BYTES, bytes_of_graph
from edgewise.io.name_room import NameRoom
from edgewise.io.options import ReadOptions
from edgewise.io.source import Block, TextFile
from edgewise.memory import give_back
from edgewise.numeric import first_inexact, is_exact
from edgewise.text import shortened

#: Sources, targets, and weights or None.
Columns = tuple[np.ndarray, np.ndarray, np.ndarray | None]
#: What is wrong with quotes.
UNCLOSED = "are not closed, or are closed before its end; a field in quotes may not go over a line break"
_LIMITS = np.iinfo(np.int64)
#: Bytes of memory for each byte of text while it is read.
SCAN_BYTES = 8
#: What is added to an estimate for the whole file, since lines differ.
_MARGIN = 1.1
#: How many weights Python reads at a time: a list of their places takes 25 times the memory of the text.
_SLOW_PIECE = 2**12


@dataclass(frozen=True)
class LineLayout:
    """Where edges stand in the lines of a file.

    Attributes:
        source, target, weight: the columns, from 0; no weights where `weight` is None.
        num_columns: the number of columns of every line.
        delimiter: between columns; None for any number of spaces and tabs.
        comments: characters that start a line to be skipped.
        names: whether ids are names, else integers.
        only_digits: whether names must be integers.
        ids: the smallest and the largest id allowed, or None.
        whole_weights: whether weights are integers, as far as is known; one fraction makes all of them floats.
        fractions: whether weights may have a fraction.
        form: what each line has, where the format says so and not the first line.
        hint: what to say of a line that has another number of columns.
        mark: the character of ASCII that each line has in its first column, or None.
        careful: whether a comment that has as many columns as an edge is refused.
    """

    source: int = 0
    target: int = 1
    weight: int | None = None
    num_columns: int = 2
    delimiter: str | None = None
    comments: str = "#%"
    names: bool = False
    only_digits: bool = False
    ids: tuple[int, int] | None = None
    whole_weights: bool = True
    fractions: bool = True
    form: str | None = None
    hint: str = ""
    mark: str | None = None
    careful: bool = False

    @property
    def has_weights(self) -> bool:
        """Whether weights are read."""
        return self.weight is not None

    @property
    def are_reals(self) -> bool:
        """Whether the format says that weights are floats, whatever digits they have."""
        return self.form is not None and not self.whole_weights

    def scan(self, file: TextFile) -> "Scan":
        """A scan of a file of such lines."""
        return Scan(file, self)

    def words(self) -> np.ndarray:
        """The layout as the compiled scan takes it."""
        delimiter = tokens.WHITESPACE if self.delimiter is None else ord(self.delimiter)
        weight = -1 if self.weight is None else self.weight
        lowest, highest = self.ids or (_LIMITS.min, _LIMITS.max)
        columns = (self.source, self.target, weight, self.num_columns)
        ordered = columns in ((0, 1, -1, 2), (0, 1, 2, 3))
        plain = ordered and not set(string.digits) & {*self.comments, self.delimiter}
        mark = tokens.NO_MARK if self.mark is None else ord(self.mark)
        words = [delimiter, *columns, lowest, highest, self.only_digits, plain, mark, self.careful]
        return np.array(words, np.int64)


def first_bytes(comments: str) -> np.ndarray:
    """For each byte, whether it starts a comment, shape (256,)."""
    marks = np.zeros(256, np.bool_)
    marks[list(comments.encode())] = True
    return marks


class Layout(Protocol):
    """How edges stand in a file: in lines of their own, or in rows of neighbours (`edgewise.io.rows`)."""

    @property
    def names(self) -> bool:
        """Whether ids are names."""

    @property
    def has_weights(self) -> bool:
        """Whether weights are read."""

    def scan(self, file: TextFile) -> "Scan":
        """A scan of a file."""


@dataclass
class Edges:
    """Columns of edges: ids as integers, or as indices into `names`; and vertices, all of which edges need not name."""

    source: np.ndarray
    target: np.ndarray
    weight: np.ndarray | None
    names: list[str] | None = None
    vertices: np.ndarray | None = None

    @property
    def nbytes(self) -> int:
        """Bytes of the arrays."""
        return self.source.nbytes + self.target.nbytes + (0 if self.weight is None else self.weight.nbytes)


class LongIdError(Exception):
    """An id has more digits than the scan reads as an integer."""


def read_edges(file: TextFile, layout: Layout, options: ReadOptions, skip: int = 0) -> Edges:
    """All edges of a file.

    Args:
        file: what to read.
        layout: where edges stand in a line.
        options: what the caller said.
        skip: the number of lines at the start that hold no edges.

    Raises:
        ParseError: a line that does not fit the layout.
        LongIdError: an integer id beyond 64 bits; read it as a name.
        MemoryLimitError: the graph of these edges does not fit.
    """
    scan = layout.scan(file)

    def bytes_beside(text: int) -> int:
        return scan.bytes_of_graph(options) + SCAN_BYTES * text

    in_time = scan.ahead(skip, lambda text: file.budget.has_room(bytes_beside(text)))
    with file.showing(options.progress) as report, in_time as blocks:
        for block, trial in blocks:
            file.budget.check(bytes_beside(len(block.text)), partial(scan.bytes_of_whole, options, block))
            if trial is None or not scan.adopt(trial):
                scan.read(block.text)
            if report is not None:
                report(block.after)
    scan.finish()
    file.budget.check(scan.bytes_of_graph(options))
    edges = scan.edges()
    give_back(edges.nbytes)  # what its parts took, which several threads have made
    return edges


class Behind(NamedTuple):
    """What edges stand behind.

    Attributes:
        lines: how many lines.
        has_fractions: whether one of the weights in them has a fraction.
        inexact: the first of their weights, if all are integers, that float64 does not hold exactly; or None.
    """

    lines: int = 0
    has_fractions: bool = False
    inexact: int | None = None


class Trial(NamedTuple):
    """What a scan of a block alone has found.

    Attributes:
        columns: the edges.
        num_lines: of the block.
        first_kind, weight_kind: how weights were read at its start and at its end.
    """

    columns: Columns
    num_lines: int
    first_kind: int
    weight_kind: int


class Scan:
    """A scan in progress: the edges read so far, and the arrays that the compiled code writes to. That of rows of
    neighbours is in `edgewise.io.rows`."""

    #: The first of the weights so far that float64 does not hold, if all are integers and their edges were taken.
    _inexact: int | None = None

    def __init__(self, file: TextFile, layout: LineLayout) -> None:
        self._file = file
        self._layout = layout
        self.state = np.zeros(tokens.NUM_STATE, np.int64)
        self._words = layout.words()
        self._is_comment = first_bytes(layout.comments)
        self._names = NameRoom() if layout.names else None
        whole = tokens.INTEGERS if layout.whole_weights else tokens.FLOATS
        self._weight_kind = tokens.NO_WEIGHTS if layout.weight is None else whole
        self._begin()

    def _begin(self) -> None:
        self._parts: list[Columns] = []
        self._num_edges = self._bytes_of_ids = self._bytes_of_weights = 0

    def _keep(self, source: np.ndarray, target: np.ndarray, weight: np.ndarray | None) -> None:
        """Keep the edges of a block."""
        self._parts.append((source, target, weight))
        self._num_edges += len(source)
        self._bytes_of_ids += source.nbytes + target.nbytes
        self._bytes_of_weights += 0 if weight is None else weight.nbytes

    def read(self, text: bytes) -> None:
        """Read a block of whole lines."""
        self._keep(*self._read(text))

    def _read(self, text: bytes) -> Columns:
        """The edges of a block of whole lines."""
        if self._names is not None:
            self._check_encoding(text)
        room = len(text) // 4 + 1  # the shortest line of an edge is "0 1" and its end
        source, target = np.empty((2, room), np.int64)
        weights = np.empty(room if self._weight_kind else 0, np.int64)
        slow_room = (
            len(text) // 9 + 1
        )  # the shortest line with a weight that Python reads is "0 1 1e23" and its end
        slow = np.empty((slow_room if self._weight_kind else 0, 4), np.int64)
        state = self.state
        state[[tokens.POSITION, tokens.EDGES, tokens.SLOW]] = 0
        columns = (source, target, weights, weights.view(np.float64), slow)
        buffer = np.frombuffer(text, np.uint8)

        def read_slowly() -> None:
            self._read_slowly(slow[: state[tokens.SLOW]], text, weights.view(np.float64))

        while reason := self._scan(buffer, columns):
            if reason == tokens.FULL:
                assert self._names is not None
                self._names.make_room(state, int(state[tokens.STOP] - state[tokens.START]))
            elif reason == tokens.FRACTION and self._layout.fractions:
                self._turn_to_floats(weights[: state[tokens.EDGES]], text)
            else:
                read_slowly()  # a line before this one may be wrong
                self._refuse(reason, text)
        count = int(state[tokens.EDGES])
        read_slowly()
        weight = None
        if self._weight_kind:
            kind = np.int64 if self._weight_kind == tokens.INTEGERS else np.float64
            weight = weights[:count].view(kind).copy()
        return narrow(source[:count]), narrow(target[:count]), weight

    @property
    def in_any_order(self) -> bool:
        """Whether a block can be read before those that precede it: not names, which are numbered by first appearance,
        nor rows, whose vertices follow from their place, or are kept as they come."""
        return type(self) is Scan and self._names is None

    def blocks(self, skip: int) -> Iterator[Block]:
        """Blocks of lines of edges, behind this number of other lines."""
        for block in self._file.blocks():
            start = 0
            while skip and start < len(block.text):
                start = block.text.index(b"\n", start) + 1
                skip -= 1
                self.state[tokens.LINE] += 1
            yield block._replace(text=block.text[start:]) if start else block

    def ahead(
        self, skip: int, has_room: Callable[[int], bool]
    ) -> AbstractContextManager[Iterator[tuple[Block, "Trial | None"]]]:
        """The blocks, some with a scan of theirs that another thread has made."""
        return scanned_ahead(self.blocks(skip), self._try if self.in_any_order else None, has_room)

    def _try(self, block: Block) -> "Trial | None":
        """A scan of this block alone. None if something is wrong with it, which takes those before it to explain."""
        scan = Scan(self._file, self._layout)
        scan._weight_kind = first_kind = self._weight_kind
        try:
            return Trial(scan._read(block.text), int(scan.state[tokens.LINE]), first_kind, scan._weight_kind)
        except (ParseError, LongIdError):
            return None

    def adopt(self, trial: "Trial") -> bool:
        """Take over the edges of the next block, unless weights have another kind by now."""
        turned = trial.weight_kind != trial.first_kind
        if trial.first_kind != self._weight_kind or (turned and self._first_inexact() is not None):
            return False
        self._weight_kind = trial.weight_kind
        self.state[tokens.LINE] += trial.num_lines
        self._keep(*trial.columns)
        return True

    def go_on(self, behind: Behind) -> None:
        """Begin behind lines that are read elsewhere."""
        self.state[tokens.LINE], self._inexact = behind.lines, behind.inexact
        if behind.has_fractions:
            self._weight_kind = tokens.FLOATS

    @property
    def behind(self) -> Behind:
        """What the next line stands behind."""
        has_fractions = self._weight_kind == tokens.FLOATS
        return Behind(
            int(self.state[tokens.LINE]), has_fractions, None if has_fractions else self._first_inexact()
        )

    def finish(self) -> None:
        """Check what is known when the whole file was read."""

    @property
    def has_lone_vertices(self) -> bool:
        """Whether there may be vertices that no edge names."""
        return False

    def _scan(self, buffer: np.ndarray, columns: tuple[np.ndarray, ...]) -> int:
        names = self._names
        room = (None,) * 4 if names is None else (names.pool, names.ends, names.hashes, names.slots)
        args = (self._words, self._is_comment, self._weight_kind, *columns, *room)
        return int(tokens.scan(buffer, self.state, *args))

    def bytes_of_graph(self, options: ReadOptions) -> int:
        """The most bytes taken at one time to make a graph of the edges read so far."""
        graph = bytes_of_graph(self._bytes_of_ids, self._bytes_of_weights, self._num_edges, options)
        return graph + self.bytes_of_names()

    def bytes_of_names(self) -> int:
        """The most bytes that the names read so far take."""
        if self._names is None:
            return 0
        of_name = LONG_INTEGER_BYTES if self._layout.only_digits else NAME_BYTES
        used = int(self.state[tokens.POOL])  # twice while the pool grows; beside the strings at the end
        return of_name * int(self.state[tokens.NAMES]) + used + max(used, int(self.state[tokens.STRINGS]))

    def bytes_of_whole(self, options: ReadOptions, block: Block) -> int:
        """About the most bytes that the whole file takes, as the lines read so far and a block that follows tell.

        Before any were read, the edges of a block of integers are counted; how many names a file has is not known
        then.
        """
        if block.before:
            graph = self.bytes_of_graph(options) * block.after / block.before
        elif self._names is None:
            edges = self._most_edges(block.text)
            graph = bytes_of_graph(8 * edges, 8 * edges * bool(self._weight_kind), edges, options)
        else:
            return 0
        return round(_MARGIN * graph / block.share) + SCAN_BYTES * len(block.text)

    def _most_edges(self, text: bytes) -> int:
        """No fewer edges than a block of whole lines holds."""
        return text.count(b"\n")

    def edges(self) -> Edges:
        """All edges that were read, joined."""
        source, target, weight = zip(*self._parts, strict=True)
        self._parts = []
        names = self.take_names()
        weights = np.concatenate(weight) if self._weight_kind else None
        return Edges(np.concatenate(source), np.concatenate(target), weights, names)

    def take(self) -> Columns:
        """The edges of the blocks that were read, the last one only; they are not kept."""
        if self._weight_kind == tokens.INTEGERS:
            self._inexact = self._first_inexact()
        part = self._parts.pop()
        self._begin()
        return part

    def take_names(self) -> list[str] | None:
        """The names that were read, if ids are names; they are not kept."""
        names = None if self._names is None else self._names.decoded(self.state)
        self._names = None
        return names

    def _turn_to_floats(self, weights: np.ndarray, text: bytes) -> None:
        """Make floats of this block's weights, since one has a fraction; other blocks follow when they are joined."""
        inexact = self._first_inexact(weights)
        if inexact is not None:
            expected = f"expected an integer as the weight, since floats do not hold {inexact}, one before it, exactly"
            self._fail_here(text, f"{expected}. Write all with a point, or without")
        self._weight_kind = tokens.FLOATS
        weights.view(np.float64)[:] = weights.astype(np.float64)

    def _first_inexact(self, *more: np.ndarray) -> int | None:
        """The first of the weights so far, integers, that float64 does not hold exactly, or None."""
        if self._inexact is not None:
            return self._inexact
        return first_inexact([*(weight for *_, weight in self._parts if weight is not None), *more])

    def _read_slowly(self, slow: np.ndarray, text: bytes, weights: np.ndarray) -> None:
        """Read weights of many digits, or far from 1, exactly."""
        for first in range(0, len(slow), _SLOW_PIECE):
            for edge, start, stop, line in slow[first : first + _SLOW_PIECE].tolist():
                weights[edge] = float(text[start:stop])
                if not np.isfinite(weights[edge]):
                    self._fail(line, text[start:stop], "expected a finite weight. Drop such edges first")
                digits = text[start:stop].lstrip(b"+-0")
                if not self._layout.are_reals and digits.isdigit() and not is_exact(int(digits)):
                    self._fail(
                        line,
                        text[start:stop],
                        "floats do not hold this integer exactly. Write it with a point",
                    )

    def _check_encoding(self, text: bytes) -> None:
        try:
            text.decode()
        except UnicodeDecodeError as error:
            line = int(self.state[tokens.LINE]) + text.count(b"\n", 0, error.start)
            shown = text[text.rfind(b"\n", 0, error.start) + 1 :].split(b"\n", 1)[0]
            self._fail(line, shown, "expected text in UTF-8. Convert the file first")

    def _refuse(self, reason: int, text: bytes) -> None:
        """Raise the error that says what the scan stopped at, and what to do."""
        state, layout = self.state, self._layout
        if reason == tokens.LONG_INTEGER:
            if layout.ids is None:
                raise LongIdError
            reason = tokens.OUT_OF_RANGE
        lowest, highest = layout.ids or (0, 0)
        column = int(state[tokens.COLUMN])
        expected = {
            tokens.NOT_AN_INTEGER: f"expected an integer id in column {column}"
            + (". For names as ids, give names=True" if layout.ids is None else ""),
            tokens.OUT_OF_RANGE: f"expected an id from {lowest} to {highest} in column {column}, as many as declared",
            tokens.WRONG_COLUMNS: f"it has {column} columns; expected {layout.num_columns}, "
            + (f"as on the first line{layout.hint}" if layout.form is None else f"{layout.form!r}"),
            tokens.NOT_A_NUMBER: f"expected a number as the weight in column {column}",
            tokens.FRACTION: f"expected an integer as the weight in column {column}, as declared",
            tokens.NOT_FINITE: f"expected a finite weight in column {column}. Drop such edges first",
            tokens.LONG_WEIGHT: f"expected a weight from -2**63 to 2**63 - 1 in column {column}, or one with a point",
            tokens.OPEN_QUOTE: f"the quotes in column {column} {UNCLOSED}",
            tokens.NO_NAME: f"expected an id in column {column}, got nothing",
            tokens.WRONG_MARK: f"expected a line that starts with {layout.mark!r}",
            tokens.MARKED_DATA: "it starts like a comment, and has as many columns as the lines of edges. If it is an "
            f"edge, give comments=''; comments={layout.comments!r} says that it is none",
        }[reason]
        self._fail_here(text, expected)

    def _fail_here(self, text: bytes, expected: str) -> NoReturn:
        """Refuse the line that the scan is at."""
        start = int(self.state[tokens.POSITION])
        self._fail(int(self.state[tokens.LINE]), text[start : text.index(b"\n", start)], expected)

    def _fail(self, line: int, shown: bytes, expected: str) -> NoReturn:
        words = shown.decode(errors="replace").rstrip("\r")
        raise ParseError(f"{self._file.path}:{line + 1}: got {shortened(words)!r}; {expected}")


def narrow(column: np.ndarray) -> np.ndarray:
    """A copy in 32 bits if that is exact."""
    limits = np.iinfo(np.int32)
    fits = len(column) == 0 or (column.min() >= limits.min and column.max() <= limits.max)
    return column.astype(np.int32 if fits else np.int64)


def read_edges_of_any_id(file: TextFile, layout: Layout, options: ReadOptions, skip: int = 0) -> Edges:
    """Like `read_edges`, but integer ids may have any number of digits: long ones come as names."""
    with contextlib.suppress(LongIdError):
        return read_edges(file, layout, options, skip)
    assert isinstance(layout, LineLayout)  # rows are of known ids
    return read_edges(file, replace(layout, names=True, only_digits=True), options, skip)
