"""Files of approximate graphs: a folder with the graph that was given, and an archive of arrays beside it.

`original.edgewise` is the file of a graph (docs/files.md). `approximate.npz` holds arrays as NumPy stores them, not
compressed and never pickled, the digest of the graph that they belong to, and the rest as JSON. Each is written whole
or not at all, the graph first: an archive that does not belong to the graph beside it is refused. Nothing that is read
is trusted.
"""

import json
import math
import os
import struct
import zipfile
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from edgewise.errors import OutputError, ParseError
from edgewise.graph import Graph, load
from edgewise.graph.layers import key_of
from edgewise.text import listed, shown
from edgewise.whole import check_place, replacing

#: The names of the files, and the version of what they hold.
GRAPH, ARRAYS, VERSION = "original.edgewise", "approximate.npz", 1
#: The arrays by their names: those that there always are, and those that there may be. Weights are the graph's kind.
_INDICES, _BYTES = np.dtype(np.int32), np.dtype(np.uint8)
_NEEDED: dict[str, np.dtype] = {
    "about": _BYTES,
    "graph": _BYTES,
    "order": _INDICES,
    "sources": _INDICES,
    "targets": _INDICES,
}
_POSSIBLE: dict[str, np.dtype] = {"clusters": np.dtype(np.int64), "vertex": _INDICES, "to": _INDICES}
#: The kinds of what is told as JSON, beside `version`.
_TOLD: dict[str, tuple[type, ...]] = {
    "technique": (str,),
    "knobs": (dict,),
    "seconds": (int, float),
    "chunk": (int, type(None)),
}
#: The longest header of an array.
_LONGEST_HEADER = 1024
#: What reading an archive that is damaged may raise.
_DAMAGE = (
    zipfile.BadZipFile,
    EOFError,
    OSError,
    RuntimeError,
    LookupError,
    ValueError,
    TypeError,
    struct.error,
)


def save_arrays(path: Any, graph: Graph, told: dict[str, Any], arrays: dict[str, np.ndarray]) -> None:
    """Write an approximate graph to a folder, which is made if it is not there.

    Args:
        path: of the folder.
        graph: the graph that was given.
        told: technique, knobs, seconds and chunk.
        arrays: by their names.

    Raises:
        OutputError: the place cannot be written, or the disk is full.
    """
    folder = _folder(path, OutputError)
    try:
        folder.mkdir(exist_ok=True)
    except (OSError, ValueError) as error:
        raise OutputError(f"cannot make the folder {str(folder)!r}: {error}; name another") from None
    check_place(folder / ARRAYS)
    graph.save(folder / GRAPH)
    about = json.dumps({"version": VERSION, **told}).encode()
    own = {"about": np.frombuffer(about, np.uint8), "graph": np.frombuffer(key_of(graph), np.uint8)}
    try:
        with replacing(folder / ARRAYS) as aside, open(aside, "wb") as file:
            _write(file, own | arrays)
            file.flush()
            os.fsync(file.fileno())
    except OSError as error:
        raise OutputError(f"cannot write {folder / ARRAYS}: {error.strerror}") from None


def load_arrays(path: Any) -> tuple[Graph, dict[str, Any], dict[str, np.ndarray]]:
    """Read an approximate graph from a folder.

    Args:
        path: of the folder.

    Returns:
        The graph that was given; technique, knobs, seconds and chunk; and the arrays by their names. Their kinds,
        lengths and ranges are right; `edgewise.approx.loading` checks whether the technique makes such a graph.

    Raises:
        ParseError: a file is missing, damaged, of a newer version, or does not belong to the other one.
    """
    folder = _folder(path, ParseError)
    if folder.is_file():
        raise ParseError(f"{folder} is a file; expected the folder that Approximate.save wrote")
    graph, file = load(folder / GRAPH), folder / ARRAYS
    needed = dict(_NEEDED)
    if graph.weight_dtype is not None:
        needed["weights"] = graph.weight_dtype
    try:
        found = _read(file, needed | _POSSIBLE)
        missing = [name for name in needed if name not in found]
        if missing:
            raise ValueError(f"it has no {listed(missing)}")
        told = _told(found.pop("about"))
    except FileNotFoundError:
        raise ParseError(f"there is no file {file}; expected a folder that Approximate.save wrote") from None
    except _DAMAGE as error:
        raise damaged(file, str(error) or type(error).__name__) from None
    if found.pop("graph").tobytes() != key_of(graph):
        raise ParseError(f"{file} belongs to another graph than {GRAPH} beside it; save both again")
    problem = _problem(graph.num_vertices, told["chunk"], found)
    if problem is not None:
        raise damaged(file, problem)
    return graph, told, found


def _folder(path: Any, error: type[Exception]) -> Path:
    """The folder of a name, which may not be empty: that would be the folder at hand, whose name is "."."""
    if not isinstance(path, str | os.PathLike) or not os.fspath(path):
        raise error(f"path is {shown(path)}; expected the name of a folder")
    return Path(os.fsdecode(path))


def damaged(file: Path, problem: str) -> ParseError:
    """What is raised for a file with which there is such a problem."""
    return ParseError(f"{file} is damaged: {problem}. Copy it again, or make it anew")


def _write(file: BinaryIO, arrays: dict[str, np.ndarray]) -> None:
    """Write an archive of arrays."""
    with zipfile.ZipFile(file, "w") as archive:
        for name, values in arrays.items():
            with archive.open(f"{name}.npy", "w", force_zip64=True) as member:
                np.lib.format.write_array(member, values, version=(1, 0), allow_pickle=False)


def _read(file: Path, expected: dict[str, np.dtype]) -> dict[str, np.ndarray]:
    """The arrays of an archive, of these names and dtypes. Raises one of `_DAMAGE`."""
    found = {}
    with zipfile.ZipFile(file) as archive:
        for info in archive.infolist():
            name = info.filename.removesuffix(".npy")
            if name not in expected or name in found or name == info.filename:
                raise ValueError(
                    f"it has {shown(info.filename)}, which is no array of such a file, or is twice"
                )
            if info.compress_type != zipfile.ZIP_STORED or info.file_size != info.compress_size:
                raise ValueError(f"{name} is compressed")
            found[name] = _array(archive, info, name, expected[name])
    return found


def _array(archive: zipfile.ZipFile, info: zipfile.ZipInfo, name: str, expected: np.dtype) -> np.ndarray:
    """An array of an archive. Nothing is read beyond its size, which is that in the file."""
    with archive.open(info) as member:
        if np.lib.format.read_magic(member) != (1, 0):
            raise ValueError(f"{name} is in another format of NumPy")
        shape, _, dtype = np.lib.format.read_array_header_1_0(member, max_header_size=_LONGEST_HEADER)
        if dtype != expected or len(shape) != 1:
            raise ValueError(f"{name} is {dtype} of shape {shape}; expected {expected} in one dimension")
        content = member.read()
    if len(content) != shape[0] * dtype.itemsize:
        raise ValueError(f"{name} has {len(content):,} bytes; expected {shape[0] * dtype.itemsize:,}")
    return np.frombuffer(content, dtype)


def _told(about: np.ndarray) -> dict[str, Any]:
    """What is told as JSON. Raises ValueError."""
    told = json.loads(about.tobytes())
    version = told.pop("version", None) if isinstance(told, dict) else None
    if not isinstance(version, int) or version < 1:
        raise ValueError("it has no version")
    if version > VERSION:
        raise ValueError(
            f"it has version {shown(version)}; this edgewise reads {VERSION}, so take a newer one"
        )
    right = told.keys() == _TOLD.keys() and all(
        isinstance(told[name], kinds) and not isinstance(told[name], bool) for name, kinds in _TOLD.items()
    )
    if not right or not told["technique"].isidentifier() or not 0 <= told["seconds"] < math.inf:
        raise ValueError(f"it says {shown(told)}; expected {listed(_TOLD)}")
    if not all(name.isidentifier() and isinstance(each, int | float) for name, each in told["knobs"].items()):
        raise ValueError(f"its knobs are {shown(told['knobs'])}; expected numbers by their names")
    return told


def _problem(n: int, chunk: int | None, arrays: dict[str, np.ndarray]) -> str | None:
    """What is wrong with arrays for a graph of n vertices, or None."""
    order, sources, targets, clusters, vertex, to = (
        arrays.get(name) for name in ("order", "sources", "targets", "clusters", "vertex", "to")
    )
    assert order is not None and sources is not None and targets is not None
    weights = arrays.get("weights", sources)
    there = np.zeros(n, np.bool_)
    if len(order) == n and _are_within(order, 0, n):
        there[order] = True
    if len(order) != n or not there.all():
        return "its order has not each vertex once"
    if not len(sources) == len(targets) == len(weights):
        return "its added edges are not as many as their ends or weights"
    if not (_are_within(sources, 0, n) and _are_within(targets, 0, n)) or (sources == targets).any():
        return "an added edge leads to no vertex, or to its own"
    if not np.isfinite(weights).all():
        return "the weight of an added edge is not finite"
    if clusters is not None and not (
        len(clusters) and clusters[0] == 0 and clusters[-1] <= n and (np.diff(clusters) > 0).all()
    ):
        return "its clusters do not follow each other from 0 on"
    if not (vertex is None) == (to is None) == (chunk is None):
        return "it has a part of what slots are, and not all"
    if vertex is None or to is None or chunk is None:
        return None
    if chunk < 1 or len(vertex) != len(to) or len(vertex) % chunk or len(vertex) >= 2**31:
        return "its slots are not in chunks"
    if not (_are_within(vertex, -1, n) and _are_within(to, -1, len(to) // chunk)):
        return "a slot has a vertex or a chunk that does not exist"
    replicas = to >= 0
    own, copied = vertex[(vertex >= 0) & ~replicas], vertex[replicas].astype(np.int64)
    if not np.array_equal(own, np.arange(n)):
        return "its vertices have not each a slot of their own, in their order"
    if (copied < 0).any() or len(np.unique(copied << 32 | to[replicas])) != len(copied):
        return "a vertex has two replicas for a chunk, or a replica has no vertex"
    return None


def _are_within(values: np.ndarray, low: int, high: int) -> bool:
    """Whether all values are from `low` to before `high`."""
    return len(values) == 0 or bool(low <= values.min() <= values.max() < high)
