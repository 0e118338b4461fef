"""The state of all ranks in a folder, so that a run that was interrupted goes on from there, on any number of ranks.

Each rank writes a file of its own: the values of its vertices and edges, one array after the other, and flags of the
vertices that are active. When all files are there, the first rank writes which ones belong together into
``checkpoint.json``, in one step; until then, what it named before counts. So a checkpoint is whole, or there is none.
Older files are removed after that, and all of them when the run has ended.

The first rank holds the lock of the folder while a run goes on, so that no other run removes what it has kept.

The lengths of arrays follow from the graph and the program, so nothing in a file says how much memory to take; and a
file has to have the digest that ``checkpoint.json`` names. Compiled code uses the values, so the folder has to be
the user's own.
"""

import contextlib
import hashlib
import json
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

from edgewise.engine.distributed.group import Group
from edgewise.errors import OutputError, ParameterError
from edgewise.kernels.store import problem
from edgewise.text import shown
from edgewise.whole import replacing

_FORMAT, _NAME, _FILES = 2, "checkpoint.json", "superstep-*-rank-*.state"
#: The most bytes of ``checkpoint.json``: a digest and a first vertex for each of a million ranks take less.
_LONGEST = 1 << 27
#: Digests of the parts of a run, each under a name that stands behind "another" in messages.
Digests = dict[str, str]
#: Told in place of a file without content, for nothing says that there is no file.
_EMPTY = b"empty"


class Found(NamedTuple):
    """A checkpoint that was found.

    Attributes:
        superstep: after which it was written.
        begins: the first vertex of each rank that wrote it, and the number of all.
        digests: of their files.
    """

    superstep: int
    begins: list[int]
    digests: list[str]


class Checkpoints:
    """The folder of checkpoints of one run.

    Args:
        folder: its name; it is made if it is not there.
        every: after how many supersteps a checkpoint is written.
        group: the ranks, each of which sees the folder under this name.
        name: what runs, for messages.

    Raises:
        ParameterError: the folder is no path, or the number no positive integer.
        OutputError: the folder cannot be made or written to, or others can write to it.
    """

    def __init__(self, folder: Any, every: Any, group: Group, name: str) -> None:
        if not isinstance(folder, str | os.PathLike) or not os.fspath(folder):
            raise ParameterError(f"{name}: checkpoint is {shown(folder)}; expected the name of a folder")
        if isinstance(every, bool) or not isinstance(every, int) or every < 1:
            raise ParameterError(
                f"{name}: every is {shown(every)}; expected a number of supersteps from 1 on"
            )
        self.folder, self.every, self._group, self._name = Path(folder), every, group, name
        self._written: list[str] = []
        self._locked: int | None = None

    def begin(self, what: Digests) -> Found | None:
        """What an interrupted run has left, the same on all ranks.

        Args:
            what: digests of all that the state depends on.

        Raises:
            ParameterError: what was left is damaged, or of another run.
            OutputError: see above; or another run is using the folder, where its file system knows locks of folders.
        """
        text, refused = b"", ""
        if self._group.rank == 0:
            try:
                self._make_folder()
                self._lock_folder()
                text = self._read_text()
            except OutputError as error:
                refused = str(error)
        texts, flags = self._group.everywhere(
            np.frombuffer(refused.encode() or text, np.uint8), bool(refused)
        )
        self._what = what
        if flags[0]:
            raise OutputError(texts[0].tobytes().decode())
        found = self._parsed(texts[0].tobytes()) if len(texts[0]) else None
        if found is None:
            self._remove_others([])
        return found

    def _remove_others(self, named: list[str]) -> None:
        """Remove the files of states but these; the first rank does."""
        if self._group.rank == 0:
            self._remove([path.name for path in self.folder.glob(_FILES) if path.name not in named])

    def _make_folder(self) -> None:
        """Make the folder, and refuse one that others can write to. Raises OutputError."""
        try:
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        except OSError as error:
            raise OutputError(
                f"{self._name}: cannot make the folder {self.folder}: {error.strerror}"
            ) from None
        reason = problem(self.folder)
        if reason:
            raise OutputError(
                f"{self._name}: the folder of checkpoints {self.folder} {reason}, and a run goes on with what is in "
                "it; name a folder of your own (mode 700)"
            )

    def _lock_folder(self) -> None:
        """Lock the folder until `let_go`, or the end of the process. Raises OutputError if another run has."""
        if fcntl is None:
            return
        try:
            self._locked = os.open(self.folder, os.O_RDONLY)
            fcntl.flock(self._locked, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            self.let_go()
            raise OutputError(
                f"{self._name}: another run is using the folder of checkpoints {self.folder}; name another folder, or "
                "wait for its end"
            ) from None
        except OSError:  # a folder that cannot be read, or a file system without such locks, as NFS
            self.let_go()

    def let_go(self) -> None:
        """Unlock the folder, whether the run has ended or not."""
        if self._locked is not None:
            os.close(self._locked)
        self._locked = None

    def _read_text(self) -> bytes:
        try:
            with open(self.folder / _NAME, "rb") as file:
                return file.read(_LONGEST) or _EMPTY
        except FileNotFoundError:
            return b""
        except OSError as error:
            raise OutputError(f"{self._name}: cannot read {self.folder / _NAME}: {error.strerror}") from None

    def _parsed(self, text: bytes) -> Found:
        """What ``checkpoint.json`` says, checked."""
        try:
            told = json.loads(text)
            number, what = told["format"], told["what"]
            found = Found(told["superstep"], told["begins"], told["digests"])
        except (ValueError, KeyError, TypeError, RecursionError):
            raise self._refusal("is damaged, or no checkpoint") from None
        if number != _FORMAT:
            raise self._refusal(f"is of format {shown(number)}; expected {_FORMAT}")
        if what != self._what:
            raise self._refusal(f"is that of another {differing_parts(self._what, what)}")
        integers = isinstance(found.begins, list) and all(type(each) is int for each in found.begins)
        texts = isinstance(found.digests, list) and all(type(each) is str for each in found.digests)
        if not (
            type(found.superstep) is int
            and 0 < found.superstep < 2**62
            and integers
            and texts
            and len(found.begins) == len(found.digests) + 1 > 1
            and found.begins == sorted(found.begins)
            and found.begins[0] == 0
        ):
            raise self._refusal("is damaged")
        return found

    def _refusal(self, why: str) -> ParameterError:
        return ParameterError(
            f"{self._name}: the checkpoint in {self.folder} {why}; name another folder, or remove this one"
        )

    def restore(self, found: Found, num_vertices: int, arrays: Callable[[slice], Sequence[np.ndarray]],
                take: Callable[[slice, list[np.ndarray]], None]) -> None:  # fmt: skip
        """Read the state of all ranks.

        Args:
            found: what `begin` found.
            num_vertices: of the graph.
            arrays: arrays like those that a rank with some vertices has written, of the same dtypes and shapes.
            take: takes what was read for these vertices.

        Raises:
            ParameterError: on all ranks, if one of them has found a damaged file.
        """
        refused = ""
        try:
            if found.begins[-1] != num_vertices:
                raise self._refusal("is damaged")
            for rank, digest in enumerate(found.digests):
                of = slice(found.begins[rank], found.begins[rank + 1])
                take(of, self._read(self._file_of(found.superstep, rank), digest, arrays(of)))
        except ParameterError as error:
            refused = str(error)
        texts, flags = self._group.everywhere(np.frombuffer(refused.encode(), np.uint8), bool(refused))
        for text, is_refused in zip(texts, flags, strict=True):
            if is_refused:
                raise ParameterError(text.tobytes().decode())
        self._written = self._files_of(found)
        self._remove_others(self._written)

    def _read(self, name: str, digest: str, like: Sequence[np.ndarray]) -> list[np.ndarray]:
        """The arrays of a file."""
        size = sum(each.nbytes for each in like)
        try:
            with open(self.folder / name, "rb") as file:
                data = file.read(size + 1)
        except OSError as error:
            raise self._refusal(f"lacks its file {name} ({error.strerror})") from None
        if len(data) != size or hashlib.sha256(data).hexdigest() != digest:
            raise self._refusal(f"is damaged: {name} is not what was written")
        found, begin = list[np.ndarray](), 0
        for each in like:
            end = begin + each.nbytes
            found.append(np.frombuffer(data[begin:end], each.dtype).reshape(each.shape))
            begin = end
        return found

    def write(self, superstep: int, begins: list[int], arrays: Sequence[np.ndarray]) -> None:
        """Write the state of all ranks after a superstep.

        Args:
            superstep: its number.
            begins: the first vertex of each rank, and the number of all.
            arrays: the state of this rank.

        Raises:
            OutputError: on all ranks, if one of them cannot write; the checkpoint before this one stays.
        """
        rank, data = self._group.rank, b"".join(np.ascontiguousarray(each).tobytes() for each in arrays)
        own = self._file_of(superstep, rank)
        what = {"format": _FORMAT, "what": self._what, "superstep": superstep}
        try:
            found = self._put_by_all(own, data, hashlib.sha256(data).hexdigest())
            index = json.dumps(what | {"begins": begins, "digests": found}).encode()
            self._put_by_all(_NAME, index if rank == 0 else None, "")
        except OutputError:
            self._remove([own])
            raise
        self._remove(self._written if rank == 0 else [])
        self._written = [self._file_of(superstep, each) for each in range(len(found))]

    def _put_by_all(self, name: str, data: bytes | None, told: str) -> list[str]:
        """Write a file, on ranks that have data for it; what each rank tells, once all have written.

        Raises:
            OutputError: on all ranks, if one of them cannot write.
        """
        failed = ""
        try:
            if data is not None:
                self._put(name, data)
        except OSError as error:
            failed = f"{self._name}: cannot write a checkpoint into {self.folder}: {error.strerror or error}"
        texts, problems = self._group.everywhere(
            np.frombuffer((failed or told).encode(), np.uint8), bool(failed)
        )
        found = [text.tobytes().decode() for text in texts]
        if any(problems):
            raise OutputError(found[problems.index(1)])
        return found

    def _put(self, name: str, data: bytes) -> None:
        with replacing(self.folder / name) as aside, open(aside, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())

    def end(self) -> None:
        """Remove what was written, for the run has ended."""
        if self._group.rank == 0:
            self._remove([_NAME, *self._written])
        self._written = []

    def _remove(self, names: list[str]) -> None:
        for name in names:
            with contextlib.suppress(OSError):
                (self.folder / name).unlink()

    def _files_of(self, found: Found) -> list[str]:
        return [self._file_of(found.superstep, rank) for rank in range(len(found.digests))]

    def _file_of(self, superstep: int, rank: int) -> str:
        return f"superstep-{superstep}-rank-{rank}.state"


def differing_parts(own: Digests, others: Any) -> str:
    """The parts of a run of which another one has other digests, or none."""
    told = others if isinstance(others, dict) else {}
    return " and another ".join(name for name in own if told.get(name) != own[name]) or "run"


def digest_of(*parts: Any) -> str:
    """A digest of texts and arrays."""
    found = hashlib.sha256()
    for part in parts:
        if isinstance(part, np.ndarray):
            found.update(f"{part.dtype.str} {part.shape} ".encode())
            found.update(np.ascontiguousarray(part).view(np.uint8).data)
        else:
            found.update(f"{part!r} ".encode())
    return found.hexdigest()
