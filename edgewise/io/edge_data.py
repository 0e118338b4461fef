"""Edge lists of NetworkX with the attributes of edges: lines "u v {'weight': 3.0, 'color': 'red'}".

Such a file is seen as one of lines "u v 3.0", each as long as before. Nothing in it is evaluated.
"""

import ast
import re
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from edgewise.errors import ParseError
from edgewise.io import edge_data_tokens as tokens
from edgewise.io.lines import first_bytes
from edgewise.io.options import ReadOptions
from edgewise.io.source import BLANKS, Block, TextFile
from edgewise.text import listed, shortened, shown

_WEIGHT = "weight"
#: The ends of an edge, which blanks or a mark end, and its attributes.
_LINE = re.compile(rf"([^{{\n]*[ \t,;|])(\{{\}}|\{{[^:\n]+:.*\}})[{BLANKS}]*")
#: The most keys that are told apart, and the most bytes of one.
_MOST_KEYS, _LONGEST_KEY = 1000, 2**10
#: Lines of other files of NetworkX: two tuples, as of a lattice; a neighbour and its data below the line of a vertex.
_TUPLES = re.compile(rf"[{BLANKS}]*\([^()]*,[^()]*\)[{BLANKS},]+\([^()]*,[^()]*\)")
_NEIGHBOR = re.compile(rf"[{BLANKS}]*[^{BLANKS}]+ (\{{\}}|\{{.+:.*\}})[{BLANKS}]*")


def ends_of(line: str) -> str:
    """A line without the attributes of its edge."""
    match = _LINE.fullmatch(line)
    return line if match is None else match[1]


def refuse_other_of_networkx(file: TextFile, lines: list[str]) -> None:
    """Refuse tuples as vertices, which blanks do not tell apart, and adjacency lists of several lines a vertex.

    Args:
        file: what is read.
        lines: the first ones that are no comments.

    Raises:
        ParseError: with what to do.
    """
    if lines and _TUPLES.match(lines[0]):
        raise ParseError(
            f"{file.path}: got {shortened(lines[0])!r}, whose vertices are tuples; expected one number or name for "
            "each. Give the graph itself to edgewise.Graph.from_networkx, or number its vertices before you write it: "
            "networkx.convert_node_labels_to_integers(G)"
        )
    if any(map(_NEIGHBOR.fullmatch, lines)):
        raise ParseError(
            f"{file.path} looks like a multi-line adjacency list of NetworkX, which edgewise does not read; write it "
            "with networkx.write_edgelist, or with networkx.write_adjlist"
        )


def edge_data(file: TextFile, first: str | None, comments: str, options: ReadOptions) -> "EdgeData | None":
    """A file of edges with attributes as one of edges with weights; None if it is no such file.

    Args:
        file: what is read.
        first: its first line that is no comment.
        comments: characters that start comments.
        options: what the caller said.

    Raises:
        ParseError: an attribute that is asked for and not there.
    """
    if first is None or _LINE.fullmatch(first) is None:
        return None
    return EdgeData(file, first, comments, options)


class EdgeData(TextFile):
    """A text file of edges with attributes, seen as one of lines of a source, a target, and a weight or 0.

    Attributes:
        weighted: whether there are weights.
    """

    def __init__(self, file: TextFile, first: str, comments: str, options: ReadOptions) -> None:
        vars(self).update(vars(file))  # a pipe is read once
        self._is_comment = first_bytes(comments)
        self._attribute = _WEIGHT if options.weight_column is None else options.weight_column
        self._is_quiet = options.weighted is False or options.weight_column is not None
        self._keys: list[bytes] = []
        self._names: list[Any] = []
        self._arrange_keys()
        self._wanted = tokens.UNREAD
        if options.weighted is not False:
            self._wanted = tokens.WEIGHT if self._has_weights(first, options) else tokens.NO_WEIGHT

    @property
    def weighted(self) -> bool:
        """Whether there are weights."""
        return self._wanted == tokens.WEIGHT

    def data_lines(
        self, comments: str, note: Callable[[bytes], None] | None = None
    ) -> Iterator[tuple[int, str]]:
        """The lines that are neither blank nor comments; see `TextFile.data_lines`."""
        for number, line in super().data_lines(comments, note):
            text = self._replaced(f"{line}\n".encode(), number - 1)
            yield number, text.decode(errors="replace").removesuffix("\n")

    def blocks(self) -> Iterator[Block]:
        """The lines of the file, a megabyte or more at a time."""
        number = 0
        for block in super().blocks():
            yield block._replace(text=self._replaced(block.text, number))
            number += block.text.count(b"\n")

    @property
    def doubt(self) -> str | None:
        """What to warn of after the file was read: attributes that were left out."""
        left = [shown(name) for name in self._names if name != self._attribute]
        if not left or self._is_quiet:
            return None
        meant = f"weight_column={self._attribute!r}" if self.weighted else "weighted=False"
        return (
            f"{self.path} has attributes of edges that were left out: {listed(left)}. weight_column= takes one as "
            f"weights; {meant} says that this is meant"
        )

    def _has_weights(self, first: str, options: ReadOptions) -> bool:
        """Whether edges have weights, as the first one tells."""
        self._wanted = tokens.WEIGHT
        try:
            self._replaced(f"{first}\n".encode(), None)
        except _WithoutWeightError:
            if options.weighted or options.weight_column is not None:
                raise ParseError(
                    f"{self.path} has no attribute {shown(self._attribute)} on its first edge; it has "
                    f"{listed(map(shown, self._names)) or 'none'}. weight_column= names another one, and "
                    "weighted=False leaves all of them out"
                ) from None
            return False
        return True

    def _replaced(self, lines: bytes, number: int | None) -> bytes:
        """Lines with weights, or 0, in place of attributes.

        Args:
            lines: each with its end.
            number: how many lines the file has before them, or None for its first edge, on a line unknown.

        Raises:
            ParseError: a line without attributes, or with other ones than expected.
        """
        text, state = np.frombuffer(lines, np.uint8).copy(), np.zeros(tokens.NUM_STATE, np.int64)
        state[[tokens.KEYS, tokens.FULL]] = len(self._keys), len(self._keys) >= _MOST_KEYS
        while reason := int(
            tokens.replace_attributes(text, state, self._wanted, self._is_comment, *self._arranged)
        ):
            line = lines[int(state[tokens.POSITION]) :].split(b"\n", 1)[0]
            if reason == tokens.NEW_KEY and self._add(lines[state[tokens.START] : state[tokens.STOP]]):
                state[[tokens.KEYS, tokens.FULL]] = len(self._keys), len(self._keys) >= _MOST_KEYS
                continue
            if reason == tokens.MISSING and number is None:
                raise _WithoutWeightError
            raise self._refusal(
                reason, line, None if number is None else number + int(state[tokens.LINE]) + 1
            )
        return text.tobytes()

    def _add(self, key: bytes) -> bool:
        """Know a key from now on, unless it is none."""
        try:
            name = ast.literal_eval(key.decode()) if len(key) <= _LONGEST_KEY else None
        except (ValueError, SyntaxError, MemoryError, RecursionError):
            name = None
        if not isinstance(name, str | int | float):
            return False
        self._keys.append(key)
        self._names.append(name)
        self._arrange_keys()
        return True

    def _arrange_keys(self) -> None:
        """The keys as compiled code takes them."""
        pool = np.frombuffer(b"".join(self._keys), np.uint8)
        ends = np.cumsum([len(key) for key in self._keys], dtype=np.int64)
        self._arranged = pool, ends, np.array([name == self._attribute for name in self._names], np.bool_)

    def _refusal(self, reason: int, line: bytes, number: int | None) -> ParseError:
        """The error that says what the scan stopped at."""
        name, leaves = shown(self._attribute), ". weighted=False leaves all attributes out"
        expected = {
            tokens.NO_ATTRIBUTES: "expected attributes in braces behind the edge, as on the first line",
            tokens.BROKEN: "expected attributes as Python writes a dictionary" + leaves,
            tokens.NEW_KEY: "expected attributes with strings as their names" + leaves,
            tokens.NOT_A_NUMBER: f"expected a number as the attribute {name}" + leaves,
            tokens.MISSING: f"expected the attribute {name}, as before" + leaves,
            tokens.UNEXPECTED: f"expected no attribute {name}, as before" + leaves,
        }[reason]
        place = self.path if number is None else f"{self.path}:{number}"
        return ParseError(f"{place}: got {shortened(line.decode(errors='replace'))!r}; {expected}")


class _WithoutWeightError(Exception):
    """The first edge has no weight."""
