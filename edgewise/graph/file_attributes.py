"""Attributes of edges in a file: each is checked when it is first used."""

from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import Any

import numpy as np

from edgewise.errors import GraphError
from edgewise.graph.attributes import check_name
from edgewise.graph.file_checks import check_below
from edgewise.graph.file_format import MOST_ATTRIBUTES, MOST_NAME_BYTES, NAMES
from edgewise.graph.file_map import GraphFile
from edgewise.graph.file_rows import checked_array, refuse
from edgewise.kernels.cpu.launch import sealed
from edgewise.text import listed, shown


class FileAttributes(Mapping[str, np.ndarray]):
    """The attributes of a graph in a file, by name; mapped arrays, but truth values are views of bytes."""

    def __init__(self, file: GraphFile) -> None:
        self._file, self._checked = file, dict[str, np.ndarray]()

    def __reduce__(self) -> tuple[Any, ...]:
        return FileAttributes, (self._file,)

    def __repr__(self) -> str:
        """Their names; no values are read for it."""
        return f"<edge attributes in a file: {listed(map(shown, self._arrays))}>"

    def __len__(self) -> int:
        """How many there are; nothing is read for it."""
        return len(self._file.header.attributes)

    def __iter__(self) -> Iterator[str]:
        return iter(self._arrays)

    def __contains__(self, name: object) -> bool:
        return len(self) > 0 and name in self._arrays

    def __getitem__(self, name: str) -> np.ndarray:
        array, file = self._arrays[name], self._file
        file.check_unchanged()
        if name not in self._checked:
            with file.lock:
                self._checked[name] = _checked(file, array)
            file.check_unchanged()
        return self._checked[name]

    @cached_property
    def _arrays(self) -> dict[str, str]:
        """The array of the file that holds each attribute, by its name."""
        file, arrays = self._file, self._file.header.attributes
        if not arrays:
            return {}
        file.check_unchanged()
        try:
            names = checked_array(file, NAMES).tobytes().decode("utf-8", "surrogatepass").split("\0")
            for name in names:
                check_name(name)
        except (UnicodeDecodeError, GraphError):
            raise file.damaged("the names of its edge attributes cannot be read") from None
        if len(names) != len(arrays) or len(set(names)) != len(arrays):
            raise file.damaged(f"it has {len(set(names)):,} names for {len(arrays):,} edge attributes")
        return dict(zip(names, arrays, strict=True))


def _checked(file: GraphFile, array: str) -> np.ndarray:
    """The values of an attribute."""
    values = file.values(array)
    if values.dtype != np.uint8:
        return checked_array(file, array)
    refuse(file, array, check_below(file.words(array), file.sums(array), values, 2))
    return sealed(values.view(np.bool_))


def attributes_as_arrays(attributes: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """The arrays of a file that hold these attributes.

    Raises:
        GraphError: more than a file can hold.
    """
    if not attributes:
        return {}
    joined = "\0".join(attributes).encode("utf-8", "surrogatepass")
    if len(attributes) > MOST_ATTRIBUTES or len(joined) > MOST_NAME_BYTES:
        raise GraphError(
            f"the graph has {len(attributes):,} edge attributes with names of {len(joined):,} bytes; a file holds at "
            f"most {MOST_ATTRIBUTES}, with names of {MOST_NAME_BYTES:,} bytes. Make the graph with fewer"
        )
    arrays = {NAMES: np.frombuffer(joined, np.uint8)}
    for place, values in enumerate(attributes.values()):
        arrays[f"attribute_{place}"] = values.view(np.uint8) if values.dtype == np.bool_ else values
    return arrays
