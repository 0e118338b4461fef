"""Archives of sparse matrices and of columns of edges, read by NumPy."""

import io
import zipfile
import zlib
from collections import Counter

import numpy as np
from reference import LARGEST, Expected, Refused, joined, refuse_unless

_DTYPES = (np.int64, np.float64, np.int32, np.float32, np.bool_)


def packed_npz(content: bytes) -> bytes:
    """An archive that some bytes describe, whatever they are: its kind, the dtype of values, the number of vertices,
    and three bytes for each edge. Of large bytes some arrays are wrong."""
    kind, dtype, count, wrong, *rest = [*content[:4].ljust(4, b"\1"), *content[4:]]
    size = 1 + count % 7
    arcs = [(u % size, v % size if v < 250 else v, w) for u, v, w in zip(*[iter(rest)] * 3, strict=False)]
    if kind % 4 in (0, 3):
        arcs.sort(key=lambda arc: arc[0])
    source, target, values = (np.array([arc[k] for arc in arcs], np.int64) for k in range(3))
    data = (values / 4 if dtype % 5 in (1, 3) else values - 100).astype(_DTYPES[dtype % 5])
    offsets = np.searchsorted(source, np.arange(size + 1)) if len(source) else np.zeros(size + 1, np.int64)
    if wrong >= 250:
        offsets[wrong % len(offsets)] += 1
    shape = np.array([size, size + (count >= 250)])
    rows = {"indptr": offsets, "indices": target.astype(np.int32), "data": data, "shape": shape}
    arrays = [
        rows | {"format": np.array(b"csr")},
        {"row": source, "col": target, "data": data, "shape": shape, "format": np.array("coo")},
        {"edge_index": np.stack([source * 7 - 3, target]), "edge_weight": data},
        {f"adj_{name}": array for name, array in rows.items()},
    ][kind % 4]
    if arrays.get("edge_weight", data).dtype == np.bool_ and dtype % 2:
        arrays.pop("edge_weight", None)
    file = io.BytesIO()
    np.savez(file, **arrays)
    return file.getvalue()


def read_npz(data: bytes, weighted: bool | None = None) -> Expected:
    """The graph in an archive."""
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            found = {
                info.filename.removesuffix(".npy"): _array(archive, info) for info in _arrays_of(archive)
            }
        return _read(found, weighted)
    except (
        OSError,
        ValueError,
        EOFError,
        KeyError,
        TypeError,
        NotImplementedError,
        AttributeError,
        RuntimeError,
    ):
        raise Refused from None
    except (zipfile.BadZipFile, zlib.error, MemoryError, SyntaxError, OverflowError):
        raise Refused from None


_WANTED = {"row", "col", "edge_index", "edge_weight", "format", "indptr", "indices", "data", "shape"}
_WANTED |= {f"adj_{name}" for name in _WANTED}


def _arrays_of(archive: zipfile.ZipFile) -> list[zipfile.ZipInfo]:
    """The arrays that are looked at."""
    arrays = [info for info in archive.infolist() if info.filename.endswith(".npy")]
    refuse_unless(len({info.filename for info in arrays}) == len(arrays))
    return [info for info in arrays if info.filename.removesuffix(".npy") in _WANTED]


def _array(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> np.ndarray:
    """An array, as long as the archive says."""
    content = archive.read(info)
    stream = io.BytesIO(content)
    array = np.lib.format.read_array(stream, allow_pickle=False)
    refuse_unless(len(content) == info.file_size and not stream.read())
    return array


def _read(arrays: dict[str, np.ndarray], weighted: bool | None) -> Expected:
    if "edge_index" in arrays:
        ends = _numbers(arrays["edge_index"], 2)
        refuse_unless(len(ends) == 2)
        weights = _weights(arrays.get("edge_weight"), len(ends[0]), weighted)
        return Expected(joined(list(zip(*ends.tolist(), strict=True)), weights))
    prefix = "" if "format" in arrays else "adj_"
    kind = str(arrays["format"].astype(str)) if "format" in arrays else "csr"
    shape = _numbers(arrays[f"{prefix}shape"], 1).tolist()
    refuse_unless(len(shape) == 2 and shape[0] == shape[1] and 0 <= shape[0] <= LARGEST)
    size = shape[0]
    if kind == "coo":
        source, target = (_numbers(arrays[name], 1).tolist() for name in ("row", "col"))
    else:
        refuse_unless(kind == "csr")
        offsets, target = (_numbers(arrays[prefix + name], 1).tolist() for name in ("indptr", "indices"))
        refuse_unless(len(offsets) == size + 1 and offsets[0] == 0 and offsets[-1] == len(target))
        refuse_unless(offsets == sorted(offsets))
        source = [row for row in range(size) for _ in range(offsets[row], offsets[row + 1])]
    refuse_unless(len(source) == len(target) and all(0 <= end < size for end in source + target))
    weights = _weights(arrays[f"{prefix}data"], len(target), weighted) if weighted is not False else None
    ends = list(zip(source, target, strict=True))
    if kind == "coo":
        total: Counter = Counter()
        for end, weight in zip(ends, weights or [1] * len(ends), strict=True):
            total[end] += weight
        ends, weights = list(total), None if weights is None else list(total.values())
    return Expected(joined(ends, weights), True, range(size))


def _numbers(array: np.ndarray, dimensions: int) -> np.ndarray:
    refuse_unless(array.dtype.kind in "iu" and array.ndim == dimensions)
    return array


def _weights(array: np.ndarray | None, count: int, weighted: bool | None) -> list | None:
    """The values as weights; truth values are none."""
    if array is None or array.dtype == np.bool_ or weighted is False:
        refuse_unless(not weighted)
        return None
    refuse_unless(array.dtype.kind in "iuf" and array.ndim == 1 and len(array) == count)
    refuse_unless(array.dtype.kind != "f" or np.isfinite(array).all())
    return array.tolist()
