"""Files that appear under their names when they are complete, or not at all."""

import bz2
import contextlib
import gzip
import hashlib
import importlib
import lzma
import os
import re
import stat
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any, TextIO, cast

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

from edgewise.errors import MissingDependencyError, OutputError

#: Suffixes of compressed files that are written.
COMPRESSIONS = (".gz", ".bz2", ".xz", ".zst")
#: Names of files that are being written: a digest of the final name, the process and the thread.
_ASIDE = re.compile(r"\.[0-9a-f]{16}\.\d+\.\d+\.part")
#: A file older than this, in seconds, that no process holds was left by a process that was killed.
_SECONDS_UNTIL_LEFT = 60.0


def check_place(path: Path, *sources: Any) -> None:
    """Refuse, before any work, a path that no file can be written to.

    Args:
        path: of the file to be written.
        sources: files that will be read for it.

    Raises:
        OutputError: a folder that is missing or cannot be written to; a folder, a pipe or a device in the place of
            the file; one of the files that are read.
    """
    target = _behind_links(path)
    for source in sources:
        is_read = False
        with contextlib.suppress(OSError, ValueError):  # one of them is not there, or has no name for a file
            is_read = os.path.samefile(source, target)
        if is_read:
            raise OutputError(
                f"cannot write {path}: it is what is read, and would be lost; name another file"
            )
    try:
        if target.is_dir():
            raise OutputError(f"cannot write {path}: it is a folder; name a file in it")
        if not target.parent.is_dir():
            raise OutputError(f"cannot write {path}: there is no folder {target.parent}; make it first")
        with contextlib.suppress(FileNotFoundError):
            if not stat.S_ISREG(target.stat().st_mode):
                raise OutputError(f"cannot write {path}: it is no ordinary file, so it cannot be replaced")
    except OSError as error:
        if isinstance(error, OutputError):
            raise
        raise OutputError(f"cannot write {path}: {error.strerror}") from None
    try:
        with tempfile.TemporaryFile(dir=target.parent):
            pass
    except OSError as error:
        raise OutputError(f"cannot write {path}: {error.strerror} in {target.parent}") from None


def _behind_links(path: Path) -> Path:
    """The file that a symbolic link stands for, so that the link stays when the file is replaced."""
    try:
        return Path(os.path.realpath(path))
    except (OSError, ValueError) as error:  # a NUL, or half a character
        raise OutputError(f"cannot write {str(path)!r}: {error}; expected the name of a file") from None


@contextlib.contextmanager
def written_whole(path: Path) -> Iterator[TextIO]:
    """A text file, compressed as its name ends, that takes its name if the block ends without an error.

    Otherwise it is removed. An older file of that name stays until it is replaced.
    """
    with replacing(path) as aside, open_text(aside, "wt", path.suffix) as file:
        yield file


@contextlib.contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """The name of a new file beside `path`, which replaces `path` if the block ends without an error, else is removed.

    It has the permissions of the file that it replaces, its owner and group as far as the system allows that, and a
    symbolic link stays one. If the process is killed, the file stays; the first process that writes to the folder a
    minute later, or after that, removes it.
    """
    path = _behind_links(path)
    _clear_left(path.parent)
    name = hashlib.sha256(os.fsencode(path.name)).hexdigest()[:16]
    aside = path.with_name(f".{name}.{os.getpid()}.{threading.get_ident()}.part")
    try:
        replaced = _found(path)
        with _held(aside, replaced):
            yield aside
            if replaced is not None:
                _give(aside, replaced)
            os.replace(aside, path)
    finally:
        aside.unlink(missing_ok=True)


def _found(path: Path) -> os.stat_result | None:
    """What the system says of a file, if it exists."""
    try:
        return path.stat()
    except FileNotFoundError:
        return None


def _give(aside: Path, replaced: os.stat_result) -> None:
    """Give a file the owner and group of another, as far as the system allows it; group first, while it is ours.

    Not before it is written: the system may refuse to open files of others in a folder where all can write.
    """
    for user, group in ((-1, replaced.st_gid), (replaced.st_uid, -1)):
        with contextlib.suppress(OSError, AttributeError):  # Windows has no owners
            os.chown(aside, user, group)


@contextlib.contextmanager
def _held(aside: Path, replaced: os.stat_result | None) -> Iterator[None]:
    """Make an empty file with the permissions of another, and hold its lock as long as this process writes to it."""
    with open(aside, "wb") as file:
        if replaced is not None:
            os.chmod(aside, stat.S_IMODE(replaced.st_mode))
        if fcntl is not None:
            with contextlib.suppress(OSError):  # a file system without locks
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield


def _clear_left(folder: Path) -> None:
    """Remove what processes that were killed have left in a folder."""
    with contextlib.suppress(OSError):
        for name in filter(_ASIDE.fullmatch, os.listdir(folder)):
            with contextlib.suppress(OSError):
                _remove_if_left(folder / name)


def _remove_if_left(aside: Path) -> None:
    """Remove a file that no process writes to any more. Raises OSError if one does."""
    if fcntl is None or time.time() - aside.lstat().st_mtime < _SECONDS_UNTIL_LEFT:
        return
    file = os.open(aside, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW)
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        aside.unlink()
    finally:
        os.close(file)


def check_compression(path: Path) -> None:
    """Refuse a compression, by the suffix of a file, whose package is not installed. Raises MissingDependencyError."""
    if path.suffix.lower() == ".zst":
        zstd_module()


def zstd_module() -> Any:
    """Python's module for zstd from version 3.14 on, else its backport.

    Raises:
        MissingDependencyError: neither is there.
    """
    with contextlib.suppress(ImportError):
        return importlib.import_module("compression.zstd")
    with contextlib.suppress(ImportError):
        return importlib.import_module("backports.zstd")
    raise MissingDependencyError(
        "zstd needs Python 3.14 or the package backports.zstd and found neither; run: pip install 'edgewise[zstd]'"
    )


def open_text(path: Path, mode: str, suffix: str) -> TextIO:
    """A file of text in UTF-8, its line breaks left as they are, compressed as a suffix says."""
    opens, how = _opener(suffix, "w" in mode)
    return cast(TextIO, opens(path, mode, encoding="utf-8", newline="", **how))


def open_bytes(path: Path, suffix: str) -> IO[bytes]:
    """A file of bytes to be written, compressed as a suffix says."""
    opens, how = _opener(suffix, writes=True)
    return cast(IO[bytes], opens(path, "wb", **how))


def _opener(suffix: str, writes: bool) -> tuple[Any, dict[str, Any]]:
    """What opens files with the suffix of a compression, or of none, and how much it compresses."""
    suffix = suffix.lower()
    if suffix == ".zst":
        return zstd_module().open, {}
    opens, levels = {
        ".gz": (gzip.open, {"compresslevel": 3}),
        ".bz2": (bz2.open, {}),
        ".xz": (lzma.open, {"preset": 1}),
    }.get(suffix, (open, {}))
    return opens, levels if writes else {}
