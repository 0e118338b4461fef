"""Edge lists of NetworkX with the attributes of edges: lines "u v {'weight': 3.0, 'color': 'red'}".

Such a file is seen as one of lines "u v 3.0", each as long as before. Attributes are read as Python's literals, and
never evaluated: most lines by a regular expression, others by `ast.literal_eval`.
"""

import ast
import re
from collections.abc import Iterator

from edgewise.errors import GraphWarning, ParseError, warn
from edgewise.io.options import ReadOptions
from edgewise.io.source import BLANKS, TextFile
from edgewise.text import listed, printable, shortened, shown

_WEIGHT = "weight"
_STRING = r"""'(?:[^'\\]|\\.)*+'|"(?:[^"\\]|\\.)*+\""""
_VALUE = rf"(?:{_STRING}|[-+\w.]++(?:\([-+\w.]*+\))?)"
_PAIR = rf"(?:{_STRING}): {_VALUE}"
#: What stands before the attributes, which blanks or a mark end; and a line of attributes without other ones in them.
_ENDS = r"([^{\n]*[ \t,;|])"
_LINE = re.compile(rf"{_ENDS}(\{{\}}|\{{[^:\n]+:.*\}})[{BLANKS}]*".encode())
_FLAT = re.compile(rf"{_ENDS}\{{((?:{_PAIR}(?:, {_PAIR})*+)?)\}}[{BLANKS}]*".encode())
_PAIRS = re.compile(rf"({_STRING}): ({_VALUE})".encode())
#: A number, perhaps one of NumPy; those that are not finite are refused later.
_NUMBER = re.compile(rb"(?:np\.\w+\()?([-+]?(?:[0-9]+\.?[0-9]*(?:[eE][-+]?[0-9]+)?|inf|nan))\)?")
#: Attributes of more bytes are not read by Python, nor names of more attributes kept.
_LONGEST, _MOST_NAMES = 2**12, 1000
#: Lines of other files of NetworkX: two tuples, as of a lattice; a neighbour and its data below the line of a vertex.
_TUPLES = re.compile(rf"[{BLANKS}]*\([^()]*,[^()]*\)[{BLANKS},]+\([^()]*,[^()]*\)")
_NEIGHBOR = re.compile(rf"[{BLANKS}]*[^{BLANKS}]+ (\{{\}}|\{{.+:.*\}})[{BLANKS}]*")


def ends_of(line: str) -> str:
    """A line without the attributes of its edge."""
    match = _LINE.fullmatch(line.encode(errors="replace"))
    return line if match is None else match[1].decode(errors="replace")


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
    if first is None or _LINE.fullmatch(first.encode(errors="replace")) is None:
        return None
    return EdgeData(file, first, comments, options)


class EdgeData(TextFile):
    """A text file of edges with attributes, seen as one of lines of a source, a target, and a weight or 0.

    Attributes:
        weighted: whether there are weights.
    """

    def __init__(self, file: TextFile, first: str, comments: str, options: ReadOptions) -> None:
        vars(self).update(vars(file))  # a pipe is read once
        self._comments = tuple(mark.encode() for mark in comments)
        self._attribute = _WEIGHT if options.weight_column is None else options.weight_column
        self._leaves_all = options.weighted is False
        self._is_quiet = self._leaves_all or options.weight_column is not None
        #: For each attribute as it is written: whether it is the weight.
        self._is_weight: dict[bytes, bool] = {}
        self._left_out: dict[str, None] = {}
        self.weighted = self._has_weights(first, options)

    def _has_weights(self, first: str, options: ReadOptions) -> bool:
        """Whether edges have weights, as the first one tells."""
        if self._leaves_all:
            return False
        attributes = self._names_in(first.encode(errors="replace"))
        if self._attribute in attributes:
            return True
        if options.weighted or options.weight_column is not None:
            names = listed(map(shown, attributes)) or "none"
            raise ParseError(
                f"{self.path} has no attribute {shown(self._attribute)} on its first edge; it has {names}. "
                "weight_column= names another one, and weighted=False leaves all of them out"
            )
        return False

    def _names_in(self, line: bytes) -> list:
        """The names of the attributes in a line."""
        match = _FLAT.fullmatch(line)
        if match is not None:
            return [ast.literal_eval(name.decode()) for name, _ in _PAIRS.findall(match[2])]
        match = _LINE.fullmatch(line)
        assert match is not None
        return list(self._evaluated(match[2], line, None))

    def lines(self) -> Iterator[str]:
        """The lines from the start on, read only as they are asked for."""
        for number, line in enumerate(super().lines(), start=1):
            yield self._plain(line.encode(), number).decode(errors="replace")

    def blocks(self) -> Iterator[bytes]:
        """The lines of the file, a megabyte or more at a time.

        Warns:
            GraphWarning: attributes that were left out.
        """
        number = 0
        for block in super().blocks():
            lines = block.split(b"\n")
            lines.pop()  # a block ends with a line
            yield b"\n".join([self._plain(line, number + k) for k, line in enumerate(lines, start=1)]) + b"\n"
            number += len(lines)
        if self._left_out and not self._is_quiet:
            warn(
                printable(
                    f"{self.path} has attributes of edges that were left out: {listed(map(shown, self._left_out))}. "
                    "weight_column= takes one of them as weights; weighted=False, or weight_column='weight', is quiet"
                ),
                GraphWarning,
            )

    def _plain(self, line: bytes, number: int) -> bytes:
        """A line with its weight, or 0, in place of its attributes."""
        match = (_LINE if self._leaves_all else _FLAT).fullmatch(line)
        if match is None:
            return self._plain_slowly(line, number)
        weight = None
        if not self._leaves_all:
            for name, value in _PAIRS.findall(match[2]):
                is_weight = self._is_weight.get(name)
                if is_weight is None:
                    is_weight = self._notice(name)
                if is_weight:
                    found = _NUMBER.fullmatch(value)
                    if found is None:
                        raise self._no_number(line, number)
                    weight = found[1]
        return self._checked(match[1], weight, line, number)

    def _notice(self, name: bytes) -> bool:
        """Whether the name of an attribute, as it is written, is that of the weight."""
        is_weight = self._named(ast.literal_eval(name.decode(errors="replace")))
        if len(self._is_weight) < _MOST_NAMES:
            self._is_weight[name] = is_weight
        return is_weight

    def _named(self, name: object) -> bool:
        """Whether an attribute is the weight; another one is noted."""
        if name == self._attribute:
            return True
        if len(self._left_out) < _MOST_NAMES:
            self._left_out[shown(name) if not isinstance(name, str) else name] = None
        return False

    def _plain_slowly(self, line: bytes, number: int) -> bytes:
        """`_plain` for a line without attributes, or one whose attributes Python has to read."""
        text = line.strip(BLANKS.encode())
        if not text or text.startswith(self._comments):
            return line
        match = _LINE.fullmatch(line)
        if match is None:
            raise self._refusal(
                line, number, "expected attributes in braces behind the edge, as on the first line"
            )
        weight = None
        for name, value in self._evaluated(match[2], line, number).items():
            if self._named(name):
                if isinstance(value, bool) or not isinstance(value, int | float):
                    raise self._no_number(line, number)
                weight = repr(value).encode()
        return self._checked(match[1], weight, line, number)

    def _checked(self, ends: bytes, weight: bytes | None, line: bytes, number: int) -> bytes:
        """The ends of an edge and its weight, or 0, in as many bytes as the line had."""
        if (weight is not None) != self.weighted:
            name = shown(self._attribute)
            expected = f"expected the attribute {name}, as before" if self.weighted else f"{name} is new here"
            raise self._refusal(line, number, f"{expected}. weighted=False leaves all attributes out")
        return (ends + (weight or b"0")).ljust(len(line))

    def _evaluated(self, text: bytes, line: bytes, number: int | None) -> dict:
        """Attributes as a dictionary."""
        try:
            if len(text) > _LONGEST:
                raise ValueError
            found = ast.literal_eval(text.decode())
            if isinstance(found, dict):
                return found
        except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
            pass
        raise self._refusal(
            line,
            number,
            f"expected attributes as Python writes numbers and strings, in at most {_LONGEST:,} bytes. weighted=False "
            "leaves all of them out",
        )

    def _no_number(self, line: bytes, number: int) -> ParseError:
        return self._refusal(line, number, f"expected a number as the attribute {shown(self._attribute)}")

    def _refusal(self, line: bytes, number: int | None, expected: str) -> ParseError:
        place = self.path if number is None else f"{self.path}:{number}"
        return ParseError(f"{place}: got {shortened(line.decode(errors='replace'))!r}; {expected}")
