"""XML as a stream of elements: nothing is expanded, nothing is fetched, and no tree is kept.

A document type (DTD) is refused before anything in it is looked at, so that there are no entities to grow.
"""

from collections.abc import Iterator
from typing import NamedTuple

from edgewise.errors import ParseError
from edgewise.io.formats import Report
from edgewise.io.source import TextFile

#: Bytes that are parsed at a time: so few elements wait that Python's garbage collector does not look at them.
_PIECE = 2**13
#: The most bytes of a tag or a comment, which is read from its start again with each piece.
_LONGEST_TAG = 2**20
#: The most characters of the text of an element that are kept.
_LONGEST_TEXT = 10_000


class Element(NamedTuple):
    """The start or the end of an element.

    Attributes:
        name: without its namespace.
        attributes: of the start; names with a namespace come after it and a blank. None at the end.
        text: at the end, the text of an element that holds nothing else, its first 10,000 characters; else "".
        line: where the start or the end stands, from 1.
    """

    name: str
    attributes: dict[str, str] | None
    text: str
    line: int


def elements(file: TextFile, leaves: frozenset[str], report: Report) -> Iterator[Element]:
    """The elements of a document in their order; what stands in the `leaves` beside text is left out. The number of
    bytes of text that have been read is reported.

    Raises:
        ParseError: text that is no XML, a document type, or a tag of more than a megabyte.
    """
    from xml.parsers import expat

    parser, done = _Parser(file, leaves), 0
    try:
        for block in file.chunks():
            for start in range(0, len(block), _PIECE):
                yield from parser.feed(block[start : start + _PIECE])
            done += len(block)
            if report is not None:
                report(done)
        yield from parser.feed(b"", last=True)
    except ParseError:
        raise
    except expat.ExpatError as error:
        raise ParseError(
            f"{file.path}:{error.lineno}: {expat.ErrorString(error.code)}; expected XML. Mend the file, or "
            "write it again; format= names another format"
        ) from None
    except (LookupError, ValueError) as error:  # an encoding that expat does not know
        raise ParseError(f"{file.path}: {error}; expected XML in UTF-8") from None


class _Parser:
    """Turns blocks of text into elements."""

    def __init__(self, file: TextFile, leaves: frozenset[str]) -> None:
        from xml.parsers import expat

        self._path, self._leaves = file.path, leaves
        self._found: list[Element] = []
        self._depth, self._text = 0, ""
        self._fed = self._told = 0
        self._expat = expat.ParserCreate(namespace_separator=" ")
        self._expat.buffer_text = True
        self._expat.StartElementHandler, self._expat.EndElementHandler = self._start, self._end
        self._expat.CommentHandler = self._expat.ProcessingInstructionHandler = self._tell
        self._expat.CharacterDataHandler, self._expat.StartDoctypeDeclHandler = self._add, self._refuse

    def feed(self, block: bytes, last: bool = False) -> list[Element]:
        """The elements that start or end in a block."""
        self._fed += len(block)
        self._expat.Parse(block, last)
        if self._fed - self._told > _LONGEST_TAG:
            raise ParseError(
                f"{self._path}:{self._expat.CurrentLineNumber}: got a tag or a comment of more than {_LONGEST_TAG:,} "
                "bytes; expected shorter ids and attributes"
            )
        found, self._found = self._found, []
        return found

    def _tell(self, *_: object) -> None:
        """Note that something ended."""
        self._told = self._fed

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        self._tell()
        plain = name.rpartition(" ")[2]
        if self._depth or plain in self._leaves:
            self._depth += 1
            if self._depth > 1:
                return
            self._text = ""
        self._found.append(Element(plain, attributes, "", self._expat.CurrentLineNumber))

    def _end(self, name: str) -> None:
        self._tell()
        if self._depth:
            self._depth -= 1
            if self._depth:
                return
        self._found.append(Element(name.rpartition(" ")[2], None, self._text, self._expat.CurrentLineNumber))
        self._text = ""

    def _add(self, text: str) -> None:
        self._tell()
        if self._depth == 1 and len(self._text) < _LONGEST_TEXT:
            self._text += text[:_LONGEST_TEXT]

    def _refuse(self, *_: object) -> None:
        raise ParseError(
            f"{self._path}:{self._expat.CurrentLineNumber}: got a document type (DTD), which may define entities; "
            "expected none. Remove <!DOCTYPE ...>"
        )
