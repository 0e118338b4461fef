"""Opening files that may be named pipes: the system waits until a process writes to one, however long that takes."""

import contextlib
import os
import stat
import threading
from concurrent.futures import Future
from pathlib import Path
from typing import IO

from edgewise.errors import ParseError

#: Seconds for which a pipe may have no process that writes to it.
_PATIENCE = 10.0


def open_bytes(path: Path) -> IO[bytes]:
    """A file, opened to be read.

    Raises:
        OSError, ValueError: as `open`.
        ParseError: a named pipe that no process opens to write to it within ten seconds.
    """
    if not stat.S_ISFIFO(os.stat(path).st_mode):
        return open(path, "rb")
    opened: Future[IO[bytes]] = Future()
    threading.Thread(target=_open, args=(path, opened), daemon=True).start()
    try:
        return opened.result(_PATIENCE)
    except TimeoutError:
        raise ParseError(
            f"{path} is a pipe that no process has opened to write to it, for {_PATIENCE:g} seconds; start that "
            "process first"
        ) from None
    finally:
        if not opened.done():  # Ctrl-C, too
            opened.add_done_callback(lambda late: late.result().close())
            with contextlib.suppress(OSError):
                os.close(os.open(path, os.O_WRONLY | os.O_NONBLOCK))  # the thread waits for this


def _open(path: Path, opened: "Future[IO[bytes]]") -> None:
    """Open a pipe; this ends when a process writes to it."""
    try:
        opened.set_result(open(path, "rb"))  # noqa: SIM115 (closed by whom it is for)
    except OSError as error:
        opened.set_exception(error)
