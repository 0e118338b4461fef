"""The memory limit of a run on a graph in a file: pages of the file that it reads count, and are given up in time.

The limit is for what the process has resident beyond what it had before, as the kernel counts it. The run's own arrays
take what they are said to need, and pages of the file may take the rest. Two thirds of that, but at most `_MOST_SLACK`,
are left free for what is read between two looks (`edgewise.kernels.cpu.ceiling`).
"""

import contextlib
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from edgewise.graph.file_rows import FileRows
from edgewise.graph.graph import Graph
from edgewise.kernels.cpu.ceiling import Ceiling, below, is_counted, resident_without

#: The fewest bytes for pages of a file, for the run and again for each thread.
_LEAST = 2**26
#: The most bytes that are left free.
_MOST_SLACK = 2**29


def least_pages(graph: Graph, num_threads: int) -> int:
    """The fewest bytes that pages of a graph's file take in a run that has a limit; 0 for a graph in no file."""
    rows = graph._rows
    if not isinstance(rows, FileRows) or not is_counted():
        return 0
    return min(rows.file.header.file_bytes, _LEAST * (1 + num_threads))


def reading_once(graph: Graph) -> contextlib.AbstractContextManager[Any]:
    """While this is entered, pages of a graph's file take no more than the fewest bytes that any limit leaves them.

    For what is found once for a graph, before the limit of a run is looked at.
    """
    return file_pages(graph, least_pages(graph, 1), 1, in_order=True).given_up(0)


class FilePages(NamedTuple):
    """The pages of a graph's file in a run that has a limit.

    Attributes:
        least: the fewest bytes that they take.
        before: resident bytes of the process before the run, without these pages.
        limit: bytes that the run may take.
        mapping: of the file; None if nothing has to be given up.
        file: its descriptor, if single pages are to be mapped (`edgewise.kernels.cpu.single_pages`).
    """

    least: int = 0
    before: int = 0
    limit: int = 0
    mapping: np.ndarray | None = None
    file: int = -1

    def given_up(self, needed: int) -> contextlib.AbstractContextManager[Callable[[], int]]:
        """While this is entered, pages are given up so that what the run takes stays within the limit. Gives a function
        that says how often.

        Args:
            needed: bytes that the run takes beside the pages; 0 as long as that is not known.
        """
        if self.mapping is None:
            return contextlib.nullcontext(lambda: 0)
        room = self.limit - needed
        slack = min(max(room, self.least) * 2 // 3, _MOST_SLACK)
        if needed and self.mapping.nbytes + self.least <= room:
            slack = self.least  # all of it fits, unless the run takes more because it may
        most = self.before + self.limit
        return below(Ceiling(most - slack, most, self.mapping, self.file))


def file_pages(graph: Graph, limit: int, num_threads: int, in_order: bool) -> FilePages:
    """The pages of the file of a graph, if it has one, for a run on the CPU.

    Args:
        graph: what it runs on.
        limit: bytes that it may take.
        num_threads: how many threads it has at most.
        in_order: whether it reads rows one after the other, so that pages around the one that is read are of use.
    """
    least, rows = least_pages(graph, num_threads), graph._rows
    if not isinstance(rows, FileRows) or least < _LEAST * (1 + num_threads):
        return FilePages(least)
    with rows.file.lock:
        mapping = rows.file.mapping
    file = -1 if in_order else rows.file.descriptor
    return FilePages(least, resident_without(mapping), limit, mapping, file)
