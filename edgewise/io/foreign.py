"""Graph formats that `edgewise.read` does not read. Their files, which could be taken for edge lists, are refused."""

import re

from edgewise.errors import ParseError
from edgewise.io.declared import DECLARED_IDS
from edgewise.io.source import TextFile

#: Suffixes of file names, the formats that have them, and a package that reads these.
_SUFFIXES = {
    ".gml": ("GML", "networkx"),
    ".gexf": ("GEXF", "networkx"),
    ".xml": ("XML", "networkx"),
    ".net": ("Pajek", "networkx"),
    ".json": ("JSON", "networkx"),
    ".dot": ("DOT", "networkx"),
    ".gv": ("DOT", "networkx"),
    ".lgl": ("LGL", "igraph"),
    ".col": ("a DIMACS problem other than shortest paths", "igraph"),
}
#: How the files begin that Git has in the place of large ones.
_POINTER = b"version https://git-lfs"
#: Stands for GraphML, which is read, but not from a compressed file of another name or a pipe unless it is named.
_GRAPHML = ".graphml"
#: First lines that can hardly be edges, with a suffix of their format.
_FIRST_LINES = (
    (r"(<\?xml[^>]*\?>\s*)?<graphml\b", _GRAPHML),
    (r"<gexf\b", ".gexf"),
    (r"<\?xml\b", ".xml"),
    (r"graph\s*\[(?!\S)", ".gml"),
    (r"(strict\s+)?(di)?graph(\s+\w+|\s+\"[^\"]*\")?\s*\{", ".dot"),
    (r"\*(vertices|network)\b", ".net"),
    (r"[\[{][ \t\r]*$|(\[\s*)?\{\s*\"[^\"]*\"\s*:|\[\s*\[\s*(-?\d+|\"[^\"]*\")\s*,", ".json"),
    (r"p[ \t]+(edge|col|max|min|asn)[ \t]+\d+[ \t]+\d+[ \t\r]*$", ".col"),
)
_PATTERNS = [(re.compile(pattern, re.IGNORECASE | re.MULTILINE), suffix) for pattern, suffix in _FIRST_LINES]
#: Blank lines and comments, those of DIMACS included.
_BEFORE = re.compile(r"(?:[ \t\r]*(?:(?:[#%]|//|c[ \t])[^\n]*|c?)\n)*+\s*+")


def refuse_foreign(file: TextFile) -> None:
    """Refuse a file whose suffix or first line is that of another format.

    Raises:
        ParseError: it is.
    """
    if file.head.startswith(_POINTER):
        raise ParseError(
            f"{file.path} is a pointer of Git LFS, not the file itself; fetch that with 'git lfs pull'"
        )
    suffix, shown_by_line = file.suffix, _suffix_of(file.head.decode(errors="replace"))
    if shown_by_line == _GRAPHML:
        raise ParseError(
            f'{file.path} looks like GraphML (by its first line); give format="graphml" to read it so, or '
            'format="edgelist" to read it as an edge list'
        )
    sign = "suffix"
    if suffix not in _SUFFIXES:
        suffix, sign = shown_by_line, "first line"
    if suffix:
        name, package = _SUFFIXES[suffix]
        raise ParseError(
            f"{file.path} looks like {name} (by its {sign}), which edgewise does not read; convert it to an edge list, "
            f'e.g. with {package}, or give format="edgelist" to read it as one'
        )


def _suffix_of(head: str) -> str:
    """A suffix of the format that the first line after comments shows; nothing if these say that it is an edge list."""
    before = _BEFORE.match(head)
    assert before is not None
    if any(line in before[0] for line in DECLARED_IDS.values()):
        return ""
    return next((suffix for pattern, suffix in _PATTERNS if pattern.match(head, before.end())), "")
