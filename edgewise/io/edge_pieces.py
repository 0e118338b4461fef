"""The edges of a file of lines, which need not fit in memory."""

from collections.abc import Iterator

from edgewise.io.lines import SCAN_BYTES, Behind, Columns, Layout
from edgewise.io.source import TextFile
from edgewise.progress import Progress


class EdgePieces:
    """The edges of a file, a block of lines at a time; ids are integers of 64 bits, or numbers of names.

    Attributes:
        bytes_of_names: what the names read so far take of memory.
        bytes_of_block: what reading the last block has taken.
    """

    def __init__(
        self, file: TextFile, layout: Layout, progress: Progress, skip: int = 0, behind: Behind | None = None
    ) -> None:
        self._scan, self._showing, self._skip = layout.scan(file), file.showing(progress), skip
        if behind is not None:
            self._scan.go_on(behind)
        self.bytes_of_names = self.bytes_of_block = 0

    def __iter__(self) -> Iterator[Columns]:
        """Read the file once: sources, targets, and weights or None.

        Raises:
            ParseError, LongIdError: as `read_edges`.
        """
        with self._showing as report:
            for block in self._scan.blocks(self._skip):
                self._scan.read(block.text)
                self.bytes_of_names = self._scan.bytes_of_names()
                self.bytes_of_block = SCAN_BYTES * len(block.text)
                yield self._scan.take()
                if report is not None:
                    report(block.after)
        self._scan.finish()

    def names(self) -> list[str]:
        """The names, after all edges have been read."""
        return self._scan.take_names() or []

    @property
    def has_lone_vertices(self) -> bool:
        """Whether there may be vertices that no edge names."""
        return self._scan.has_lone_vertices

    @property
    def behind(self) -> Behind:
        """What edges that follow stand behind."""
        return self._scan.behind
