"""What comments above edges declare: what ids are, in edge lists that `edgewise.io.write` makes, and the direction."""

import re

from edgewise.io.doubts import says_undirected
from edgewise.io.source import BLANKS
from edgewise.text import shortened

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
        undirected: what calls the graph undirected, for a message, or None.
    """

    def __init__(self) -> None:
        self.names: bool | None = None
        self.undirected: str | None = None

    def note(self, comments: bytes) -> None:
        """Look at lines of comments."""
        for found in _DECLARATION.finditer(comments):
            self.names = _NAMES[found[1]]
        if b"undirected" in comments.lower():
            for line in comments.decode(errors="replace").split("\n"):
                if says_undirected(line):
                    self.undirected = f"the comment {shortened(line)!r}"
