"""A progress bar for what takes longer than a second, on terminals only."""

import contextlib
import sys
import threading
from collections.abc import Callable, Iterator
from typing import Any

from edgewise.text import on_one_line

#: What a caller says of progress: True for a bar on a terminal, or a function of the amount done.
Progress = bool | Callable[[int], None] | None
#: Work that ends sooner shows nothing, and does not even import rich.
SECONDS_UNTIL_SHOWN = 1.0


def showing(
    progress: Progress, description: str, total: int | None = None
) -> contextlib.AbstractContextManager[Callable[[int], None] | None]:
    """The function that progress is reported to, if any: the caller's, or that of a `progress_bar` of these."""
    if progress is True:
        return progress_bar(description, total)
    return contextlib.nullcontext(progress if callable(progress) else None)


@contextlib.contextmanager
def progress_bar(description: str, total: int | None = None) -> Iterator[Callable[[int], None] | None]:
    """A bar on standard error that appears after a second and goes away at the end.

    Args:
        description: what is going on, and the unit of progress.
        total: the amount at the end, if that is known.

    Yields:
        A function of the amount done so far, or None if standard error is not a terminal.
    """
    if sys.stderr is None or not sys.stderr.isatty():
        yield None
        return
    bar = _LateBar(description, total)
    try:
        yield bar.update
    finally:
        bar.close()


class _LateBar:
    """A bar that a timer shows: a run that compiles or reads first has no progress to report for seconds."""

    def __init__(self, description: str, total: int | None) -> None:
        self._description, self._total, self._done = on_one_line(description), total, 0
        self._lock = threading.Lock()
        self._display: Any = None
        self._timer = threading.Timer(SECONDS_UNTIL_SHOWN, self._show)
        self._timer.daemon = True
        self._timer.start()

    def _show(self) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

        columns = (
            TextColumn("{task.description}", markup=False),
            BarColumn(),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
        )
        with self._lock:
            if self._timer.finished.is_set():
                return
            self._display = Progress(*columns, console=Console(stderr=True), transient=True)
            self._task = self._display.add_task(self._description, total=self._total, completed=self._done)
            self._display.start()

    def update(self, done: int) -> None:
        """Show how much is done."""
        self._done = done
        if self._display is not None:
            self._display.update(self._task, completed=done)

    def close(self) -> None:
        """Take the bar away, or see to it that it never appears."""
        with self._lock:
            self._timer.cancel()
            if self._display is not None:
                self._display.stop()
