"""Files that appear under their name when they are complete, or not at all."""

import contextlib
import gzip
import hashlib
import os
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import TextIO, cast

from edgewise.errors import OutputError


def check_place(path: Path) -> None:
    """Find out before any work whether a file can be written here.

    Raises:
        OutputError: a folder that is missing or cannot be written to, or a folder in the place of the file.
    """
    try:
        if path.is_dir():
            raise OutputError(f"cannot write {path}: it is a folder; name a file in it")
        if not path.parent.is_dir():
            raise OutputError(f"cannot write {path}: there is no folder {path.parent}; make it first")
        with contextlib.suppress(FileNotFoundError):
            path.stat()
    except OSError as error:
        if isinstance(error, OutputError):
            raise
        raise OutputError(f"cannot write {path}: {error.strerror}") from None
    try:
        with tempfile.TemporaryFile(dir=path.parent):
            pass
    except OSError as error:
        raise OutputError(f"cannot write {path}: {error.strerror} in {path.parent}") from None


@contextlib.contextmanager
def written_whole(path: Path) -> Iterator[TextIO]:
    """A text file, compressed if its name ends in .gz, that takes its name if the block ends well.

    It is removed if the block does not; what was there before stays until then.
    """
    with replacing(path) as aside, open_text(aside, "wt", compressed=path.suffix == ".gz") as file:
        yield file


@contextlib.contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """The name of a file beside this one, which it replaces if the block ends well, and which goes away if not."""
    name = hashlib.sha256(os.fsencode(path.name)).hexdigest()[:16]
    aside = path.with_name(f".{name}.{os.getpid()}.{threading.get_ident()}.part")
    try:
        yield aside
        os.replace(aside, path)
    finally:
        aside.unlink(missing_ok=True)


def open_text(path: Path, mode: str, compressed: bool) -> TextIO:
    """A file of text in UTF-8, its line breaks left as they are."""
    if compressed:
        return cast(TextIO, gzip.open(path, mode, compresslevel=3, encoding="utf-8", newline=""))
    return cast(TextIO, open(path, mode, encoding="utf-8", newline=""))
