"""Text for a terminal: characters that would steer it are shown instead."""

import re
from collections.abc import Callable, Iterable
from typing import Any

#: Characters that move the cursor, set colours, end lines or turn the direction of text, and halves of characters.
_STEERING = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]")

#: The most characters of a line of a file, and of a value, in a message, and the most bits of an integer.
_LONGEST_LINE, _LONGEST_VALUE, _LONGEST_INTEGER = 60, 200, 600


def printable(text: str) -> str:
    """Text in which steering characters are written as Python writes them, line breaks and tabs excepted."""
    return _STEERING.sub(lambda match: ascii(match[0])[1:-1], text)


def on_one_line(text: str) -> str:
    """`printable` text without line breaks and tabs."""
    return printable(text).replace("\n", r"\n").replace("\t", r"\t")


def shortened(text: str, longest: int = _LONGEST_LINE) -> str:
    """Text for a message: long text is cut."""
    return text if len(text) <= longest else text[:longest] + "..."


def shown(value: Any) -> str:
    """A value as Python writes it, for a message: long text is cut; a long integer becomes its size."""
    if isinstance(value, int) and value.bit_length() > _LONGEST_INTEGER:
        return f"an integer of {value.bit_length():,} bits"
    return shortened(written(value, repr), _LONGEST_VALUE)


def written(value: Any, write: Callable[[Any], str] = str) -> str:
    """The text that `str` or `repr` makes of a value; what the value is, if they make none."""
    kind = type(value).__name__
    try:
        return write(value)
    except KeyboardInterrupt:
        raise
    except ValueError:  # Python refuses to write integers of more than 4,300 digits
        return f"a {kind} with an integer of over 4,300 digits"
    except BaseException:  # the class of a value decides what is raised
        return f"a {kind} that cannot be shown"


def listed(names: Iterable[str]) -> str:
    """Names for a message: if there are many, the first ones."""
    return shortened(", ".join(names), _LONGEST_VALUE)


def html_table(facts: dict[str, str]) -> str:
    """Facts as a table in HTML, for notebooks."""
    rows = "".join(f"<tr><th>{name}</th><td>{value}</td></tr>" for name, value in facts.items())
    return f"<table>{rows}</table>"
