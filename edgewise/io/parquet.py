"""Tables of edges in Apache Parquet files, one edge in each row, read by pyarrow.

Columns are chosen as in CSV files, by the same rules (`edgewise.io.table`). Ids are integers of any width, or strings.

https://parquet.apache.org/docs/file-format
"""

import contextlib
import os
from collections.abc import Callable, Iterator
from typing import IO, Any, NamedTuple

import numpy as np

from edgewise.errors import (
    EdgewiseError,
    GraphError,
    GraphWarning,
    OutputError,
    ParseError,
    warn,
)
from edgewise.graph import Graph
from edgewise.graph.weights import as_weights
from edgewise.io.arrays import graph_of_columns
from edgewise.io.binary import opened, size_of
from edgewise.io.budget import NAME_BYTES, Budget, bytes_of_graph
from edgewise.io.column_parquet import load_arrow
from edgewise.io.formats import GraphFormat, Report
from edgewise.io.lines import Edges, narrow
from edgewise.io.once import edges_once
from edgewise.io.options import ReadOptions
from edgewise.io.reading import make_graph
from edgewise.io.table import allowed_ids, places_of
from edgewise.io.writing import check_has_edges, check_plain_ids
from edgewise.memory import held, in_turn
from edgewise.text import printable, shown

_MAGIC = b"PAR1"
#: Rows that are read at a time for a graph and for pieces; arcs of a row group that is written.
_ROWS, _FEW_ROWS, _ARCS = 2**20, 2**16, 2**20
#: Bytes of a column that are fetched at a time.
_BUFFER = 2**20
#: Bytes of a row while a batch is read, by Arrow and by NumPy; and of one with names while these are put in order.
_ROW_BYTES, _ORDER_BYTES = 48, 40
#: Bytes of an arc while it is written.
_ARC_BYTES = 60


class _Column(NamedTuple):
    """A column of a file.

    Attributes:
        name: of it.
        kind: its type, that of the values if these are encoded by a dictionary.
        is_text: whether its values are strings.
    """

    name: str
    kind: Any
    is_text: bool


class _Table:
    """The columns of edges of a file; see `edgewise.io.formats.EdgeTable`.

    Raises:
        ParseError: no Parquet file, or columns that are not there or cannot be what they are to be.
    """

    def __init__(self, budget: Budget, options: ReadOptions) -> None:
        self._arrow, self._budget = load_arrow(), budget
        with opened(budget) as file:
            self._size = size_of(file)
        with self.explained(), self._open([]) as table:
            schema, self.num_rows = table.schema_arrow, table.metadata.num_rows
            columns = [self._described(each) for each in schema]
        numeric = [self._is_number(column.kind) for column in columns]
        places, self.doubt = places_of(budget.path, [column.name for column in columns], numeric, options)
        self._ends = [columns[place] for place in places[:2]]
        self._weight = None if places[2] is None else columns[places[2]]
        self._wanted = self._ends if self._weight is None else [*self._ends, self._weight]
        self._check(columns)
        if self.num_rows == 0 and options.num_vertices is None and options.vertices is None:
            raise ParseError(f"{budget.path} has no edges; give num_vertices for a graph without any")
        allowed_ids(budget.path, options, self.are_names)

    @property
    def are_names(self) -> bool:
        """Whether ids are strings."""
        return self._ends[0].is_text

    def no_edges(self) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
        """Columns of no rows."""
        weight = (
            None if self._weight is None else as_weights(np.empty(0, self._weight.kind.to_pandas_dtype()))
        )
        return np.empty(0, np.int64), np.empty(0, np.int64), weight

    def columns(self, report: Report) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray | None]]:
        """Sources, targets, and weights or None, some rows at a time."""
        if self.num_rows == 0:
            yield self.no_edges()
        for source, target, weight in self.batches(_FEW_ROWS, report):
            if self.are_names:
                with self.explained():
                    source, target = _as_names(source), _as_names(target)
            yield source, target, weight

    def batches(self, rows: int, report: Report) -> Iterator[tuple[Any, Any, np.ndarray | None]]:
        """The columns, `rows` rows at a time: integers as arrays of NumPy, strings as those of Arrow with a dictionary.

        Raises:
            ParseError: a missing value, a weight that is not finite, or a damaged file.
        """
        wanted, done = self._wanted, 0
        names, text = [column.name for column in wanted], [column.name for column in wanted if column.is_text]
        with self.explained(), self._open(text) as table:
            for batch in table.iter_batches(rows, columns=names):
                arrays = [self._values(batch.column(column.name), column, done) for column in wanted]
                weight = None if self._weight is None else self._finite(arrays[2], done)
                yield arrays[0], arrays[1], weight
                done += batch.num_rows
                if report is not None:
                    report(self._size * done // max(self.num_rows, 1))
        if done != self.num_rows:
            raise ParseError(
                f"{self._budget.path} declares {self.num_rows:,} rows and holds {done:,}; it is damaged"
            )

    @contextlib.contextmanager
    def _open(self, encoded: list[str]) -> Iterator[Any]:
        """The open file, which gives columns of these names with a dictionary."""
        with self._arrow.OSFile(os.fsencode(self._budget.path)) as file:
            yield self._arrow.parquet.ParquetFile(
                file, read_dictionary=encoded, buffer_size=_BUFFER, pre_buffer=False
            )

    @contextlib.contextmanager
    def explained(self) -> Iterator[None]:
        """What is wrong with a file, said as a ParseError."""
        try:
            yield
        except (EdgewiseError, MemoryError):
            raise
        except (self._arrow.ArrowException, OSError, ValueError) as error:
            raise ParseError(f"{self._budget.path} is no Parquet file, or is damaged: {error}") from None

    def _described(self, declared: Any) -> _Column:
        kinds, kind = self._arrow.types, declared.type
        if kinds.is_dictionary(kind):
            kind = kind.value_type
        is_text = kinds.is_string(kind) or kinds.is_large_string(kind) or kinds.is_string_view(kind)
        return _Column(declared.name, kind, is_text)

    def _is_number(self, kind: Any) -> bool:
        return self._arrow.types.is_integer(kind) or self._arrow.types.is_floating(kind)

    def _check(self, columns: list[_Column]) -> None:
        """Refuse columns of other types."""
        path, (source, target), weight = self._budget.path, self._ends, self._weight
        for column in (source, target):
            if not column.is_text and not self._arrow.types.is_integer(column.kind):
                raise ParseError(
                    f"{path}: the column {shown(column.name)} is to have ids and is of type {column.kind}; expected "
                    "integers or strings. columns= names others, such as columns=('source', 'target')"
                )
        if source.is_text != target.is_text:
            raise ParseError(
                f"{path}: of the columns {shown(source.name)} and {shown(target.name)} one has strings and one has "
                "integers; expected one kind of ids"
            )
        if weight is not None and not self._is_number(weight.kind):
            raise ParseError(
                f"{path}: the column {shown(weight.name)} is to have weights and is of type {weight.kind}; expected "
                "integers or floats"
            )
        names = [column.name for column in columns]
        twice = next((each.name for each in self._wanted if names.count(each.name) > 1), None)
        if twice is not None:
            raise ParseError(f"{path} has two columns {shown(twice)}; expected distinct names")

    def _values(self, array: Any, column: _Column, before: int) -> Any:
        """The values of a column, none of which may be missing; `before` is the row of the first."""
        if array.null_count:
            row = before + int(np.argmax(array.is_null().to_numpy(zero_copy_only=False)))
            raise ParseError(
                f"{self._budget.path}: row {row:,}, counted from 0, has no value in the column {shown(column.name)}; "
                "drop such rows first, or fill them"
            )
        encoded = self._arrow.types.is_dictionary(array.type)
        if encoded and array.dictionary.null_count:
            raise ParseError(f"{self._budget.path} has a missing value in a dictionary; fill it first")
        if encoded:
            self._check_indices(array)
        if column.is_text:
            return array if encoded else array.dictionary_encode()
        return (array.dictionary_decode() if encoded else array).to_numpy(zero_copy_only=False)

    def _check_indices(self, array: Any) -> None:
        """Refuse values that are not in their dictionary: pyarrow takes them as they come. Of a dictionary that has a
        value twice, it makes a shorter one."""
        indices, count = array.indices.to_numpy(), len(array.dictionary)
        if len(indices) and not 0 <= indices.min() <= indices.max() < count:
            raise ParseError(
                f"{self._budget.path} is damaged: a dictionary of {count:,} values has none at place {indices.max():,}"
            )

    def _finite(self, values: np.ndarray, before: int) -> np.ndarray:
        """Values as weights."""
        finite = np.isfinite(values)
        if not finite.all():
            at = int(np.argmin(finite))
            raise ParseError(
                f"{self._budget.path}: row {before + at:,}, counted from 0, has the weight {values[at]}; expected "
                "finite numbers. Drop such edges first"
            )
        try:
            return as_weights(values)
        except GraphError as error:
            raise ParseError(f"{self._budget.path}: {error}") from None


def _as_names(array: Any) -> np.ndarray:
    """Strings of an array with a dictionary as objects."""
    used, places = np.unique(array.indices.to_numpy(), return_inverse=True)
    names = np.empty(len(used), object)
    names[:] = array.dictionary.take(load_arrow().array(used)).to_pylist()
    return names[places]


class _Names:
    """Columns of strings, in arrays with dictionaries.

    Attributes:
        num_bytes: about what the strings take of memory, as arrays and as ids.
    """

    def __init__(self) -> None:
        self._columns: tuple[list[Any], list[Any]] = [], []
        self.num_bytes = 0

    def add(self, *ends: Any) -> Iterator[np.ndarray]:
        """Keep arrays of sources and of targets, and give their indices."""
        for arrays, array in zip(self._columns, ends, strict=True):
            known = array.dictionary
            if not arrays or not arrays[-1].dictionary.equals(known):
                self.num_bytes += NAME_BYTES * len(known) + known.nbytes
            arrays.append(array)
            yield array.indices.to_numpy()

    def in_order(self) -> tuple[np.ndarray, np.ndarray, list[str]]:
        """All sources and targets as numbers of names by first appearance, source before target, and these names."""
        count = len(self._columns[0])
        shared = load_arrow().chunked_array([*self._columns[0], *self._columns[1]]).unify_dictionaries()
        numbers = [chunk.indices.to_numpy() for chunk in shared.chunks]
        both = np.empty(2 * sum(map(len, numbers[:count])), np.int32)
        both[0::2], both[1::2] = np.concatenate(numbers[:count]), np.concatenate(numbers[count:])
        known = shared.chunk(0).dictionary
        first = np.full(len(known), -1, np.int64)
        first[both[::-1]] = np.arange(len(both))[::-1]  # of several values for one place, the last one stays
        used = np.flatnonzero(first >= 0)
        order = used[np.argsort(first[used])]
        place = np.empty(len(first), np.int32)
        place[order] = np.arange(len(order))
        both = place[both]
        return both[0::2].copy(), both[1::2].copy(), known.take(load_arrow().array(order)).to_pylist()


def _read(budget: Budget, options: ReadOptions, report: Report) -> tuple[Graph, int]:
    table, names, parts = _Table(budget, options), _Names(), []
    beside = _ROW_BYTES * min(_ROWS, table.num_rows) + _ORDER_BYTES * table.are_names * table.num_rows
    budget.check(8 * table.num_rows + beside)
    for source, target, weight in table.batches(_ROWS, report):
        if table.are_names:
            source, target = names.add(source, target)
        parts.append((_narrowed(source), _narrowed(target), weight))
        budget.check(_bytes_of_graph(parts, options) + beside + names.num_bytes)
    if table.doubt:
        warn(printable(table.doubt), GraphWarning)
    source, target, weight = _joined(parts or [table.no_edges()])
    if not (table.are_names and parts):
        try:
            return graph_of_columns(source, target, weight, options, budget)
        except GraphError as error:
            raise GraphError(f"{budget.path}: {error}") from None
    del parts
    with table.explained():  # strings that are no UTF-8
        source, target, known = names.in_order()
    return make_graph(Edges(source, target, weight, known), options, budget, integers=False)


_Part = tuple[np.ndarray, np.ndarray, np.ndarray | None]


def _narrowed(column: np.ndarray) -> np.ndarray:
    """Ids in 32 bits if they are in 64 and that is exact."""
    return narrow(column) if column.dtype == np.int64 else column


def _bytes_of_graph(parts: list[_Part], options: ReadOptions) -> int:
    """The most bytes taken at one time to make a graph of these edges."""
    ends = sum(source.nbytes + target.nbytes for source, target, _ in parts)
    weights = sum(weight.nbytes for *_, weight in parts if weight is not None)
    return bytes_of_graph(ends, weights, sum(len(source) for source, *_ in parts), options)


def _joined(parts: list[_Part]) -> _Part:
    source, target, weight = zip(*parts, strict=True)
    return (
        np.concatenate(source),
        np.concatenate(target),
        None if weight[0] is None else np.concatenate(weight),
    )


def _write(graph: Graph, file: IO[bytes], suffix: str, progress: Callable[[int], None]) -> None:
    """Write each edge once, ids as integers of 64 bits or strings."""
    arrow = load_arrow()
    check_plain_ids(graph)
    ids = graph.vertices
    if ids.dtype == object and not graph.has_names:
        raise OutputError("there are ids beyond 64 bits, which Parquet has no integers for; use .csv")
    check_has_edges(graph)
    try:
        values = arrow.array(ids, arrow.string() if graph.has_names else None)
    except (UnicodeError, arrow.ArrowException) as error:
        raise OutputError(f"the ids cannot stand in Parquet: {error}; give others") from None
    weight_dtype = graph.weight_dtype
    fields = [("source", values.type), ("target", values.type)]
    if weight_dtype is not None:
        fields.append(("weight", arrow.from_numpy_dtype(weight_dtype)))
    ends = ["source", "target"] if graph.has_names else False
    with arrow.parquet.ParquetWriter(file, arrow.schema(fields), use_dictionary=ends) as writer:
        for source, target, weight, done in edges_once(graph, _ARCS):
            columns = [values.take(arrow.array(source)), values.take(arrow.array(target))]
            if weight is not None:
                columns.append(arrow.array(weight))
            writer.write_batch(arrow.record_batch(columns, schema=writer.schema))
            progress(done)


def _writing(graph: Graph) -> int:
    ids = held((NAME_BYTES if graph.has_names else 8) * graph.num_vertices)
    batch = held(_ARC_BYTES * min(_ARCS, graph.num_arcs))
    return in_turn(graph.making(), graph.reading_ids(), ids, batch).most


PARQUET = GraphFormat(
    name="parquet",
    suffixes=(".parquet", ".pq"),
    looks_like=lambda head: head.startswith(_MAGIC) and b"\0" in head,
    read=_read,
    write=_write,
    writing=_writing,
    options=frozenset({"columns", "weight_column", "weighted", "num_vertices", "index_base"}),
    table=_Table,
)
