"""The folder of compiled code: whole files, each under a name that holds all that its code depends on.

Compiled code is loaded by `pickle`, which runs what a file says. So folders and files are used only if they belong to
the user and nobody else can write to them, and a file's digest covers the name that it was written under.
"""

import contextlib
import functools
import hashlib
import os
import stat
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from edgewise.errors import NotKeptWarning, warn

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

_DIGEST_SIZE = hashlib.sha256().digest_size
_PRIVATE, _PRIVATE_FILE = 0o700, 0o600
#: The prefix of files that are being written, by `tempfile.mkstemp`.
_ASIDE = "writing-"
#: Such a file older than this, in seconds, was left by a process that was killed: writing takes less than a second.
_SECONDS_UNTIL_LEFT = 86_400.0
#: The file of locks. Each name has a byte in it that is locked without being there; the file stays empty.
_LOCKS = "locks"
#: Seconds between two looks for a lock, and after which a process gives up: one that is stopped keeps its lock.
#: Compiling a kernel takes less than ten seconds.
_BETWEEN_LOOKS, _MOST_SECONDS = 0.05, 60.0


def cache_directory() -> Path | None:
    """The folder of compiled code: ``$EDGEWISE_CACHE_DIR``, else ``edgewise`` in the user's cache folder.

    None if the folder is in a home, and there is none.
    """
    configured = os.environ.get("EDGEWISE_CACHE_DIR", "")
    if configured and not configured.startswith("~"):
        return Path(configured)
    base = os.environ.get("XDG_CACHE_HOME", "")
    if not configured and os.path.isabs(base):
        return Path(base) / "edgewise"
    path = os.path.expanduser(configured or "~/.cache/edgewise")
    return Path(path) if os.path.isabs(path) else None


def problem(directory: Path) -> str:
    """Why a folder is not used for compiled code; empty if it is used. It need not be there yet."""
    try:
        return _why_not(os.stat(os.path.join(directory, "")))  # an error for a file
    except FileNotFoundError:
        return ""
    except OSError as error:
        return f"cannot be used ({error.strerror})"


def read(name: str) -> bytes | None:
    """The bytes that `write` kept under a name; None if there are none, or they are damaged or perhaps another's."""
    directory = _trusted()
    if directory is None:
        return None
    try:
        with open(directory / _file_of(name), "rb") as file:
            if _why_not(os.fstat(file.fileno())):
                return None
            stored = file.read()
    except OSError:
        return None
    digest, content = stored[:_DIGEST_SIZE], stored[_DIGEST_SIZE:]
    return content if _digest(name, content) == digest else None


def has(name: str) -> bool:
    """Whether there is a file under a name, which `read` may still refuse."""
    directory = _trusted()
    return directory is not None and os.path.exists(directory / _file_of(name))


def write(name: str, content: bytes) -> None:
    """Keep bytes under a name, as a whole file or not at all: two processes may write the same file at one time.

    A folder that cannot be written is not an error: it stays as it is, and the next process starts cold. A process that
    is killed leaves a file behind; the first write of each process clears old ones away.
    """
    directory = _trusted()
    if directory is None:
        return
    _clear_left(str(directory))
    aside = None
    try:
        handle, aside = tempfile.mkstemp(dir=directory, prefix=_ASIDE)
        with os.fdopen(handle, "wb") as file:
            file.write(_digest(name, content) + content)
        os.replace(aside, directory / _file_of(name))
    except OSError:
        if aside is not None:
            with contextlib.suppress(OSError):
                os.unlink(aside)


@contextlib.contextmanager
def turn(name: str) -> Iterator[None]:
    """Lock a name for the block, which finds what `write` then keeps under it. One thread at a time may be in a block.

    If another process has the lock, wait until it keeps something or lets the lock go, also by ending, but at most a
    minute; the block then runs without the lock. So the block looks again for what is kept. Where there are no locks
    nobody waits. A process that has a lock waits for no other one, so that no two wait for each other.
    """
    locked = None if _held else _lock(name)
    if locked is None:
        yield
        return
    with locked:  # closing it ends the lock
        _held.append(locked)
        try:
            yield
        finally:
            _held.clear()


#: The file of locks while a name is locked. A process that closes any handle of a file loses all its locks in the file.
_held: list[IO[bytes]] = []


def _lock(name: str) -> IO[bytes] | None:
    """The file of locks with the lock of a name; None if another process had it meanwhile, or there are no locks."""
    file, byte = _open_locks(), int.from_bytes(_digest(name, b"")[:3])
    if file is None or _take(file, byte):
        return file
    until = time.monotonic() + _MOST_SECONDS
    with file:
        while not (has(name) or _take(file, byte)) and time.monotonic() < until:
            time.sleep(_BETWEEN_LOOKS)
    return None


def _take(file: IO[bytes], byte: int) -> bool:
    """Lock a byte of a file; False if another process has locked it."""
    try:
        fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, byte)
    except BlockingIOError:
        return False
    except OSError:  # the file system has no locks
        pass
    return True


def _open_locks() -> IO[bytes] | None:
    """The file of locks, made if there is none yet; None if it cannot be used, or others could lock it, too."""
    directory = _trusted()
    if directory is None or fcntl is None:
        return None
    try:
        handle = os.open(directory / _LOCKS, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, _PRIVATE_FILE)
    except OSError:
        return None
    found = os.fstat(handle)
    if stat.S_ISREG(found.st_mode) and stat.S_IMODE(found.st_mode) == _PRIVATE_FILE and not _why_not(found):
        return os.fdopen(handle, "r+b", buffering=0)
    os.close(handle)
    return None


@functools.cache
def _clear_left(directory: str) -> None:
    """Remove files that killed processes have left in a folder; once in a process."""
    oldest = time.time() - _SECONDS_UNTIL_LEFT
    with contextlib.suppress(OSError), os.scandir(directory) as entries:
        for entry in entries:
            with contextlib.suppress(OSError):
                if entry.name.startswith(_ASIDE) and entry.stat(follow_symlinks=False).st_mtime < oldest:
                    os.unlink(entry)


def _file_of(name: str) -> str:
    """The name of a file: the first line of `name`, which people can read, and a digest of all of it."""
    title = name.partition("\n")[0]
    return f"{title}-{hashlib.sha256(name.encode()).hexdigest()[:32]}.code"


def _digest(name: str, content: bytes) -> bytes:
    return hashlib.sha256(hashlib.sha256(name.encode()).digest() + content).digest()


def _trusted() -> Path | None:
    """The folder of compiled code, made if there is none yet; None if it cannot be used."""
    directory = cache_directory()
    return directory if directory is not None and _is_trusted(str(directory)) else None


@functools.cache
def _is_trusted(directory: str) -> bool:
    """Whether a folder is the user's own, looked at once; warns if others can write to it."""
    try:
        os.makedirs(directory, mode=_PRIVATE, exist_ok=True)
        reason = _why_not(os.stat(directory))
    except OSError:
        return False
    if reason:
        warn(
            f"compiled code is not kept: the folder {directory!r} {reason}, so that others could have code run in your "
            "name. Set EDGEWISE_CACHE_DIR to a folder of your own (mode 700)",
            NotKeptWarning,
        )
    return not reason


def _why_not(found: os.stat_result) -> str:
    """Why a folder or file cannot be trusted; empty if it can."""
    if not hasattr(os, "geteuid"):
        return ""
    if found.st_uid != os.geteuid():
        return f"belongs to user {found.st_uid}, not to {os.geteuid()}"
    if found.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        return f"can be written by others (mode {stat.S_IMODE(found.st_mode):o})"
    return ""
