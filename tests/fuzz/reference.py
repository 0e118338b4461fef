"""What files of graphs mean, in plain Python: slow, and written apart from `edgewise.io`. What all readers share."""

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass

BLANKS = " \t"
#: The most vertices that a graph may have.
LARGEST = 2**31 - 1


class Refused(Exception):
    """A file that is no graph."""


class Unsure(Exception):
    """A file of which the slow reader does not know whether it is understood."""


@dataclass
class Expected:
    """The graph that a file means.

    Attributes:
        edges: (source, target) or (source, target, weight), with the ids of the file.
        directed: whether edges have a direction; one without any stands here once.
        vertices: the ids in order; by default those of the edges: integers by value, names as they appear.
    """

    edges: list[tuple]
    directed: bool = True
    vertices: Sequence | None = None

    def __post_init__(self) -> None:
        if self.vertices is None:
            ends = list(dict.fromkeys(end for edge in self.edges for end in edge[:2]))
            self.vertices = ends if any(isinstance(end, str) for end in ends) else sorted(ends)


def refuse_unless(right: object) -> None:
    """Refuse the file if something is not as it has to be."""
    if not right:
        raise Refused


def lines_of(data: bytes) -> list[str]:
    """The lines of a file of text; bytes that are no UTF-8 become halves of characters."""
    refuse_unless(data and b"\0" not in data)
    text = data.decode("utf-8-sig", errors="surrogateescape")
    return text.replace("\r\n", "\n").replace("\r", "\n").split("\n")


def is_data(line: str, comments: str) -> bool:
    """Whether a line is neither blank nor a comment."""
    text = line.strip(BLANKS)
    return bool(text) and text[0] not in comments


def words_of(line: str) -> list[str]:
    """What stands between blanks."""
    return re.findall(r"[^ \t]+", line)


def is_integer(text: str) -> bool:
    """Whether a field is an integer in digits."""
    return re.fullmatch(r"[+-]?[0-9]+", text) is not None


def integer(text: str) -> int:
    """An integer in digits, of a length that Python reads."""
    refuse_unless(is_integer(text) and len(text) <= 4000)
    return int(text)


def integer64(text: str) -> int:
    """An integer of 64 bits."""
    value = integer(text)
    refuse_unless(-(2**63) <= value < 2**63)
    return value


def id_in(text: str, lowest: int, count: int) -> int:
    """An id of a file that declares them."""
    value = integer(text)
    refuse_unless(lowest <= value < lowest + count)
    return value


def number(text: str) -> float:
    """A finite number in decimal digits; its exponent has 64 bits."""
    match = re.fullmatch(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE]([+-]?[0-9]+))?", text)
    refuse_unless(match)
    if match[1]:
        integer64(match[1])
    value = float(text)
    refuse_unless(math.isfinite(value))
    return value


def value_of(text: str) -> float | None:
    """A field as a number of Python, if it is one."""
    try:
        return float(text)
    except ValueError:
        return None


def weights_of(texts: list[str]) -> list[int] | list[float]:
    """Weights: integers of 64 bits if all are integers, else floats, which hold all integers among them exactly."""
    fraction = next((place for place, text in enumerate(texts) if not is_integer(text)), len(texts))
    whole = list(map(integer64, texts[:fraction]))
    if fraction == len(texts):
        return whole
    values = [*map(float, whole), *map(number, texts[fraction:])]
    refuse_unless(
        all(int(text) == value for text, value in zip(texts, values, strict=True) if is_integer(text))
    )
    return values


def joined(ends: list[tuple], weights: Sequence | None) -> list[tuple]:
    """Edges with their weights, if there are any."""
    return ends if weights is None else [(*end, weight) for end, weight in zip(ends, weights, strict=True)]


def size(text: str) -> int:
    """A size that a file declares: digits, and at most 18 of them behind zeros."""
    refuse_unless(re.fullmatch("0*[0-9]{1,18}", text))
    return int(text.lstrip("0") or "0")


def num_vertices(text: str) -> int:
    """A number of vertices that a file declares."""
    count = size(text)
    refuse_unless(count <= LARGEST)
    return count
