"""Lines of a text file: which of them are data, and the fields of one, as the compiled scan (`edgewise.io.tokens`) sees
them."""

import re
from collections.abc import Callable, Iterator

from edgewise.io.source import BLANKS, TextFile


def data_lines(
    file: TextFile, comments: str, note: Callable[[bytes], None] | None = None
) -> Iterator[tuple[int, str]]:
    """As `TextFile.data_lines`, without a first line that names a delimiter."""
    for number, line in file.data_lines(comments, note):
        if not (number == 1 and named_delimiter(line)):
            yield number, line


def named_delimiter(line: str) -> str | None:
    """The delimiter that a first line like ``sep=;`` names, as Excel takes it; None if it is another line."""
    match = re.fullmatch(f'"?sep=([,;|\t])"?[{BLANKS}]*', line)
    return match and match[1]


def is_data(line: str, comments: str) -> bool:
    """Whether a line is neither blank nor a comment."""
    text = line.lstrip(BLANKS)
    return bool(text) and text[0] not in comments


def split_line(line: str, delimiter: str | None) -> Iterator[str]:
    """The fields of one line that is not blank, as the compiled scan sees them."""
    return (text for text, _ in _fields(line, delimiter))


def open_quote(line: str, delimiter: str | None) -> int:
    """The number, from 1, of the first field of a line whose quotes are not closed at its end; 0 if there is none."""
    fields = enumerate(_fields(line, delimiter), start=1)
    return next((number for number, (_, is_closed) in fields if not is_closed), 0)


def _fields(line: str, delimiter: str | None) -> Iterator[tuple[str, bool]]:
    """The fields of a line, and whether quotes that open one are closed at its end."""
    if delimiter is None:
        yield from ((match[0], True) for match in re.finditer(f"[^{BLANKS}]+", line))
        return
    mark, blanks = re.escape(delimiter), BLANKS.replace(delimiter, "")
    field = re.compile(rf'[{blanks}]*(?:"((?:[^"]++|"")*+)"([^{mark}]*)|([^{mark}]*))({mark})?')
    place = 0
    text = line if delimiter == "\t" else line.lstrip(BLANKS)
    while match := field.match(text, place):
        quoted, behind, plain, more = match.groups()
        if quoted is None:
            yield plain.strip(BLANKS), not plain.startswith('"')
        else:
            yield quoted.replace('""', '"'), not behind.strip(BLANKS)
        if not more:
            break
        place = match.end()
