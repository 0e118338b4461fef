"""Comments by which edge lists that `edgewise.io.write` makes declare what their ids are."""

import re

from edgewise.io.source import BLANKS

#: No line of column names comes after them.
DECLARED_IDS = {True: "# Ids: names", False: "# Ids: integers"}
_NAMES = {text.encode(): names for names, text in DECLARED_IDS.items()}
_DECLARATION = re.compile(
    rb"^[%b]*+(%b)[%b]*+$" % (BLANKS.encode(), b"|".join(_NAMES), BLANKS.encode()), re.M
)


class Declared:
    """What comments declare.

    Attributes:
        names: whether ids are names, as the last declaration says; None without one.
    """

    def __init__(self) -> None:
        self.names: bool | None = None

    def note(self, comments: bytes) -> None:
        """Look at lines of comments."""
        for found in _DECLARATION.finditer(comments):
            self.names = _NAMES[found[1]]
