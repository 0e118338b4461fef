"""Results: the base of what every algorithm and every program returns."""

import functools
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, ClassVar

import numpy as np

from edgewise.convert.tables import for_polars
from edgewise.errors import (
    GraphError,
    MissingDependencyError,
    ParameterError,
    ParseError,
    ProgramError,
    VerificationError,
)
from edgewise.execution import Execution
from edgewise.graph import Graph
from edgewise.graph.ids import with_none
from edgewise.numeric import is_integer
from edgewise.text import listed, shown

#: The columns of a file as text, by name; None where it has null.
Columns = Mapping[str, Sequence[str | None]]
#: The column of a result's table that holds the user's ids.
ID_COLUMN = "vertex"
#: Values that are looked at together.
_PIECE = 2**20


class HostArray:
    """An array of a result. After a run on a GPU it stays there, and is copied when it is first read."""

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    def __set__(self, result: "Result", values: Any) -> None:
        result._arrays[self._name] = values
        result._on_host.pop(self._name, None)

    def __get__(self, result: "Result | None", owner: type) -> Any:
        if result is None:
            return self
        return result.host_array(self._name)


class Result(ABC):
    """The answer of one run. Arrays are indexed 0..n-1 in the order of ``graph.vertices``.

    Attributes:
        algorithm: the name of what ran, as the command line has it.
        graph: the graph that the answer is for.
        supersteps: the number of supersteps (levels, iterations, rounds) that were run.
        seconds: wall time of the run, without compiling.
        compile_seconds: time spent on compiling, or on loading compiled code; 0 when warm.
        layout_seconds: time spent on what is made once for a graph and kept: in-edges, copies and layouts on the GPU.
            It is not part of `seconds`.
    """

    algorithm: ClassVar[str]
    graph: Graph
    supersteps: int
    seconds: float
    compile_seconds: float
    layout_seconds: float
    #: The column that decides which rows are on top.
    _main: str

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        if "verify" in vars(cls):
            cls.verify = _of_unchanged_graph(vars(cls)["verify"])  # type: ignore[assignment,method-assign]

    def __init__(self, graph: Graph, run: Execution, supersteps: int, arrays: dict[str, Any]) -> None:
        self.graph = graph
        self._arrays, self._on_host = arrays, dict[str, np.ndarray]()
        self.supersteps = supersteps
        self.seconds = run.seconds
        self.compile_seconds = run.compile_seconds
        self.layout_seconds = run.layout_seconds
        self._notes = tuple(run.notes)

    @classmethod
    def own_names(cls) -> set[str]:
        """The names that every result of this class has, with the name of the column of ids."""
        classes = [vars(base) for base in cls.__mro__]
        return {ID_COLUMN}.union(*classes, *(each.get("__annotations__", ()) for each in classes))

    @abstractmethod
    def columns(self) -> dict[str, np.ndarray]:
        """The answer as named arrays, one entry for each vertex, vertices in the user's ids."""

    def table(self) -> dict[str, np.ndarray]:
        """The answer as named arrays of one length: the column ``vertex`` (the user's ids), then `columns`."""
        return {ID_COLUMN: self.graph.vertices, **self.columns()}

    def missing(self) -> dict[str, np.ndarray]:
        """Where columns of `table` have no value, only one that stands for none: masks by the names of the columns."""
        return {}

    def missing_of(self, ids: np.ndarray) -> dict[str, np.ndarray]:
        """`missing` of the rows of some vertices, by their ids."""
        missing = self.missing()
        places = self.graph.index_of(ids) if missing else None
        return {name: mask[places] for name, mask in missing.items()}

    @abstractmethod
    def verify(self, graph: Graph) -> bool:
        """Check the answer against the graph. True, or `VerificationError` that names what is wrong."""

    @classmethod
    def verify_columns(cls, graph: Graph, columns: Columns, **given: Any) -> bool:
        """Check an answer that was written to a file, without running anything again.

        Args:
            graph: the graph that it is for.
            columns: those of `table` as texts, by name, or None for null; rows in any order.
                `edgewise.io.columns.read_columns` reads them.
            given: the arguments of the run that are not the defaults.

        Returns:
            True.

        Raises:
            ProgramError: files of this algorithm cannot be verified.
            ParseError: a column is missing, or its values are of another kind.
            GraphError: the source is not in the graph.
            VerificationError: the answer is wrong, or is not an answer for this graph.
        """
        raise ProgramError(
            f"files of {cls.algorithm} cannot be verified: its verifier looks at more than a file has; verify it right "
            "after the run, with --verify"
        )

    def summary(self) -> dict[str, Any]:
        """Facts about the whole answer, by name."""
        return {}

    def top(self, k: int = 10) -> list[tuple[Any, Any]]:
        """The most telling entries, at most `k`, best first: pairs of an id and its value, as Python objects. See
        `top_rows` for their order.

        Raises:
            ParameterError: `k` is not an integer of at least 0.
        """
        rows = self.top_rows(k)
        return list(zip(rows[ID_COLUMN].tolist(), rows[self._main].tolist(), strict=True))

    def top_rows(self, count: int = 10) -> dict[str, np.ndarray]:
        """The most telling rows of `table`: those with the largest finite values in the main column.

        Raises:
            ParameterError: the count is not an integer of at least 0.
        """
        return self._top_rows(self._main, count)

    def _top_rows(
        self, column: str, count: int, *, largest: bool = True, shown: np.ndarray | None = None
    ) -> dict[str, np.ndarray]:
        """The rows of `table` with the largest or smallest values in one column, equal ones in their order.

        Args:
            column: the name of the column that decides.
            count: the most rows to give.
            largest: whether the largest values come first, else the smallest.
            shown: whether each row may be shown; by default, rows with finite values may be.
        """
        count = check_count(count)
        table = self.table()
        rows = first_rows(table[column], count, largest=largest, shown=shown)
        return {name: values[rows] for name, values in table.items()}

    @property
    def edges_per_second(self) -> float | None:
        """Edges looked at in a second of the run, each counted once in every pass over the graph; None if no time
        passed."""
        edges = self.graph.num_edges * self._passes
        return edges / self.seconds if self.seconds > 0 else None

    @property
    def _passes(self) -> int:
        """The number of passes over the edges."""
        return 1

    def host_array(self, name: str) -> np.ndarray:
        """An array of the answer as a NumPy array, copied from the GPU the first time."""
        if name not in self._on_host:
            values = self._arrays[name]
            self._on_host[name] = values if isinstance(values, np.ndarray) else values.get()
        return self._on_host[name]

    def on_device(self, name: str) -> Any:
        """An array of the answer where the run left it: a CuPy array after a run on a GPU, else the NumPy array. Edge
        fields of a program that did not fit on the GPU are NumPy arrays, too.

        Raises:
            KeyError: the result has no such array.
        """
        return self._arrays[name]

    def explain(self) -> str:
        """How the run was carried out and why, a line for each decision."""
        return "\n".join(self._notes)

    def to_frame(self, fields: str | Sequence[str] | None = None) -> Any:
        """The answer as a data frame of the columns of `table`. What is `missing` is null, but floats are inf or NaN.

        Args:
            fields: the columns to give, a list of names or one name, besides that of vertices; None for all.

        Returns:
            A polars DataFrame where polars is installed, else a pandas one, in which integers with nulls have a dtype
            of pandas ("Int32", "Int64").

        Raises:
            MissingDependencyError: neither is installed.
            ParameterError: a field that the result does not have.
        """
        if fields is None:
            return make_frame(self.table(), self.missing())
        if isinstance(fields, str):
            fields = [fields]
        if not isinstance(fields, Iterable):
            raise ParameterError(f"to_frame: got {shown(fields)}; expected the names of columns, a list")
        fields = list(fields)
        check_columns("to_frame", fields, self.columns(), "a list of")
        chosen = {name: values for name, values in self.table().items() if name in {ID_COLUMN, *fields}}
        return make_frame(chosen, self.missing())

    def __getstate__(self) -> dict[str, Any]:
        """What a copy has, in this process or another: everything, arrays in the host's memory."""
        return {
            **vars(self),
            "_arrays": {name: self.host_array(name) for name in self._arrays},
            "_on_host": {},
        }

    def __repr__(self) -> str:
        """The kind of answer, its size and its time."""
        return (
            f"<{type(self).__name__}: {self.graph.num_vertices:,} vertices, {self.supersteps:,} supersteps, "
            f"{self.seconds:.4g} s>"
        )


def _of_unchanged_graph(verify: Callable[[Any, Graph], bool]) -> Callable[[Any, Graph], bool]:
    """The method `verify`, which raises FileChangedError if the graph's file was changed before it ended."""

    @functools.wraps(verify)
    def verified(result: Any, graph: Graph) -> bool:
        try:
            passed = verify(result, graph)
        except VerificationError:
            graph.check_unchanged()
            raise
        graph.check_unchanged()
        return passed

    return verified


def first_rows(
    values: np.ndarray, count: int, *, largest: bool = True, shown: np.ndarray | None = None
) -> np.ndarray:
    """The indices of the largest or smallest values, equal ones in their order; see `Result._top_rows`. Values that
    have no order stay in theirs. It takes little memory beside the values."""
    rows = np.empty(0, np.int64)
    for begin in range(0, len(values), _PIECE):
        piece = slice(begin, begin + _PIECE)
        known = np.flatnonzero(is_finite(values[piece]) if shown is None else shown[piece])
        rows = np.concatenate([rows, begin + known])
        keys = values[rows]
        try:
            if largest:
                order = len(keys) - 1 - np.argsort(keys[::-1], kind="stable")[::-1]
            else:
                order = np.argsort(keys, kind="stable")
        except TypeError:  # ids of several kinds have no order
            order = np.arange(len(keys))
        rows = rows[order[:count]]
    return rows


def check_columns(where: str, names: Iterable[Any], columns: Mapping[str, Any], expected: str) -> None:
    """Refuse names that are not those of columns. Raises ParameterError."""
    for name in names:
        if not isinstance(name, str) or name not in columns:
            raise ParameterError(
                f"{where}: there is no column {shown(name)}; expected {expected} {listed(columns)}"
            )


def check_count(count: Any) -> int:
    """A number of rows. Raises ParameterError for anything but an integer of at least 0."""
    if not is_integer(count) or count < 0:
        raise ParameterError(f"top: k is {shown(count)}; expected an integer of at least 0")
    return int(count)


def is_finite(values: np.ndarray) -> np.ndarray:
    """Whether each value is neither infinite nor the largest integer, which stands for infinity; shape (n,)."""
    if values.dtype.kind == "f":
        return np.isfinite(values)
    return values != np.iinfo(values.dtype).max if values.dtype.kind == "i" else np.ones(len(values), bool)


def no_vertex(graph: Graph) -> Any:
    """The value for "no vertex" among ids: "" among strings, -1 among integers; None if that is the id of a vertex, and
    among other ids."""
    if not graph.has_plain_ids:
        return None
    if graph.has_names:
        return None if (graph.vertices == "").any() else ""
    try:
        graph.index_of(-1)
    except GraphError:
        return -1
    return None


def ids_or_none(graph: Graph, indices: np.ndarray) -> np.ndarray:
    """The user's ids of vertex indices; negative indices become `no_vertex`.

    The array holds Python objects if the ids are objects, or if `no_vertex` does not fit their dtype.
    """
    none = indices < 0
    if not none.any():
        return graph.ids_of(indices)
    if none.all():
        ids = np.zeros(len(indices), graph.vertices.dtype)
    else:
        ids = graph.ids_of(np.where(none, indices.max(), indices))
    nothing = no_vertex(graph)
    if ids.dtype.kind == "u" or nothing is None:
        ids = ids.astype(object)
    ids[none] = nothing
    return ids


class SavedColumns:
    """Columns of text as arrays in the order of the graph's vertices.

    Args:
        graph: the graph that they are for.
        columns: see `Result.verify_columns`.

    Raises:
        ParseError: a column is missing, or its values are of another kind.
        VerificationError: they are not of this graph.
    """

    def __init__(self, graph: Graph, columns: Columns) -> None:
        if not graph.has_plain_ids:
            raise VerificationError(
                "columns of text cannot be verified for a graph whose ids are neither all integers nor all strings; "
                "verify the result itself, result.verify(graph)"
            )
        self.graph, self._columns = graph, columns
        self._rows = np.empty(graph.num_vertices, np.int64)
        vertices = self._indices(self._texts(ID_COLUMN))
        if len(vertices) != graph.num_vertices or len(np.unique(vertices)) != len(vertices):
            different = len(np.unique(vertices))
            raise VerificationError(
                f"the result has {len(vertices):,} rows for {different:,} vertices; expected one for each of "
                f"{graph.num_vertices:,}"
            )
        self._rows[vertices] = np.arange(len(vertices))

    def _texts(self, name: str) -> Sequence[str | None]:
        if name not in self._columns:
            raise ParseError(f"the result has no column {name!r}; it has {listed(self._columns)}")
        return self._columns[name]

    def _indices(self, texts: Sequence[str | None]) -> np.ndarray:
        ids = [text for text in texts if text is not None]
        if len(ids) < len(texts):
            raise VerificationError("the result is not of this graph: the id of a vertex is null")
        try:
            return self.graph.index_of(ids if self.graph.has_names else list(map(int, ids)))
        except (GraphError, ValueError) as error:
            raise VerificationError(f"the result is not of this graph: {error}") from None

    def numbers(self, name: str, dtype: Any, missing: Any = "") -> np.ndarray:
        """A column of numbers, shape (n,), with the value `missing` where there is no text."""
        texts = [text or str(missing) for text in self._texts(name)]
        try:
            return np.array(texts, dtype=dtype)[self._rows]
        except (ValueError, OverflowError) as error:
            raise ParseError(f"column {name!r}: {error}; expected numbers of {np.dtype(dtype)}") from None

    def vertices(self, name: str) -> np.ndarray:
        """A column of ids as indices, int32, shape (n,): -1 where it says "no vertex"; None is written as no text."""
        texts, none = self._texts(name), no_vertex(self.graph)
        if none is None and self.graph.has_names and None not in texts:
            raise VerificationError(
                f"column {name!r} cannot be verified: a vertex has the id '', which stands for no vertex in CSV and "
                "TSV; write the result as .jsonl or .parquet, or verify it right after the run, with --verify"
            )
        nothings: set[str | None] = {None} if none is None else {None, str(none)}
        if not self.graph.has_names:
            nothings.add("")
        index = np.full(len(texts), -1, np.int32)
        index[[text not in nothings for text in texts]] = self._indices(
            [text for text in texts if text not in nothings]
        )
        return index[self._rows]


def make_frame(data: dict[str, np.ndarray], missing: Mapping[str, np.ndarray]) -> Any:
    """A polars DataFrame of these columns, or a pandas one, with nulls for what is missing; floats stay as they are."""
    masks = {name: mask for name, mask in missing.items() if name in data}
    ids = data[ID_COLUMN].dtype if ID_COLUMN in data else np.dtype(object)
    data = dict(data)
    for name, mask in masks.items():
        if data[name].dtype == object:
            data[name] = with_none(data[name][~mask], ~mask)
            if ids.kind in "iu":
                data[name] = np.where(mask, 0, data[name]).astype(ids)
    integers = {name: mask for name, mask in masks.items() if data[name].dtype.kind in "iu"}
    try:
        import polars
    except ImportError:
        pass
    else:
        frame = polars.DataFrame({name: for_polars(values) for name, values in data.items()})
        masked = [
            polars.when(polars.Series(~mask)).then(polars.col(name)).alias(name)
            for name, mask in integers.items()
        ]
        return frame.with_columns(masked)
    try:
        import pandas
    except ImportError:
        raise MissingDependencyError(
            "to_frame() needs polars or pandas and found neither; run: pip install 'edgewise[polars]'"
        ) from None
    return pandas.DataFrame(
        {
            name: pandas.arrays.IntegerArray(np.array(values), integers[name]) if name in integers else values
            for name, values in data.items()
        }
    )
