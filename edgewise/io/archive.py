"""Archives of NumPy arrays (``.npz``), of which no array is loaded before its size is known, and no objects at all.

`numpy.load` takes memory for as many entries as the header of an array promises; here that has to be what the archive's
directory says, and to fit in the budget.
"""

import contextlib
import math
import zipfile
from collections.abc import Iterator
from typing import IO, NamedTuple

import numpy as np

from edgewise.errors import EdgewiseError, ParseError
from edgewise.io.binary import Arrays
from edgewise.io.budget import Budget
from edgewise.io.formats import Report
from edgewise.text import listed, shown

_SUFFIX = ".npy"
_HEADERS = {
    (1, 0): np.lib.format.read_array_header_1_0,
    (2, 0): np.lib.format.read_array_header_2_0,
}
_KINDS = {"i": "integers", "b": "truth values", "f": "floats", "S": "text"}


class _Found(NamedTuple):
    """An array of an archive, the file open where its entries begin."""

    file: IO[bytes]
    shape: tuple[int, ...]
    by_columns: bool
    dtype: np.dtype


class Archive:
    """The arrays of an open archive, by name.

    Attributes:
        names: of the arrays.

    Raises:
        ParseError: a damaged archive, or one without arrays.
    """

    def __init__(self, file: IO[bytes], budget: Budget, report: Report) -> None:
        self._path, self._budget, self._held = budget.path, budget, 0
        self._arrays = Arrays(budget.path, report)
        with self._explained():
            self._zip = zipfile.ZipFile(file)
        names = [name for name in self._zip.namelist() if name.endswith(_SUFFIX)]
        self.names = {name.removesuffix(_SUFFIX) for name in names}
        if not names or len(names) != len(self.names):
            problem = "two arrays of one name" if names else "no arrays"
            raise ParseError(
                f"{self._path} holds {problem}; expected an archive as NumPy writes it (.npz). Unpack another zip "
                "file, or save a sheet of a workbook as CSV"
            )

    def array(self, name: str, kinds: str, dimensions: int) -> np.ndarray:
        """An array.

        Args:
            name: of it.
            kinds: the kinds of dtypes that it may have, as in `numpy.dtype.kind`.
            dimensions: of it.

        Raises:
            ParseError: no such array, another one, or a damaged one.
            MemoryLimitError: it does not fit.
        """
        with self._explained():
            found = self._find(name)
            if found.dtype.kind not in kinds or len(found.shape) != dimensions:
                expected = " or ".join(text for kind, text in _KINDS.items() if kind in kinds)
                raise ParseError(
                    f"{self._path}: the array {shown(name)} is {found.dtype} of shape {found.shape}; expected "
                    f"{expected} of {dimensions} dimension{'s' * (dimensions != 1)}"
                )
            count = math.prod(found.shape)
            self._held += count * found.dtype.itemsize
            self._budget.check(self._held)
            with found.file as file:
                array = self._arrays.read(file, found.dtype, count)
        return array.reshape(found.shape, order="F" if found.by_columns else "C")

    def _find(self, name: str) -> _Found:
        """An array, if the archive says the size that its header does."""
        if name not in self.names:
            raise ParseError(f"{self._path} has no array {shown(name)}; it has {listed(sorted(self.names))}")
        info = self._zip.getinfo(name + _SUFFIX)
        file = self._zip.open(info)
        version = np.lib.format.read_magic(file)
        if version not in _HEADERS:
            raise ParseError(f"{self._path}: the array {shown(name)} has a header of version {version}")
        shape, by_columns, dtype = _HEADERS[version](file)
        if dtype.hasobject:
            raise ParseError(
                f"{self._path}: the array {shown(name)} holds objects of Python, which are never loaded; expected "
                "numbers"
            )
        size = file.tell() + dtype.itemsize * math.prod(shape)
        if size != info.file_size or min(shape, default=0) < 0:
            raise ParseError(
                f"{self._path} is damaged: the array {shown(name)} of shape {shape} takes {size:,} bytes, and the "
                f"archive says {info.file_size:,}"
            )
        return _Found(file, shape, by_columns, dtype)

    @contextlib.contextmanager
    def _explained(self) -> Iterator[None]:
        try:
            yield
        except (EdgewiseError, MemoryError):
            raise
        except Exception as error:  # each method of compression has its own
            raise ParseError(
                f"{self._path} is truncated or damaged: {error}. Fetch or write it again"
            ) from None
